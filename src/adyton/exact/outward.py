"""Floats rounded to the safe side, and what roundings may cost: the one set of margins.

A width may be too large, never too small.  Floats choose the parameters of a bound, because every choice is
valid; the bound itself is evaluated with fractions, with mpmath (``digits``), or with floats and a margin.
"""

from __future__ import annotations

import math
import threading
from fractions import Fraction
from typing import Any

UNIT_ROUNDOFF = 2.0**-53
"""u: a sum, product, quotient or root of floats is within u of the truth, relatively (IEEE 754, to nearest).
n of them on the way to a positive number, without cancellation, are within n u / (1 - n u) of it."""

FEW = 8 * UNIT_ROUNDOFF
"""2**-50: up to seven such operations on floats that were exact before, or on integers below 2**53."""

CANCELLED = 32 * UNIT_ROUNDOFF
"""2**-48, of the sum of the absolute terms of a sum that may cancel: up to thirty operations on them."""

SEVERAL = 1e-13
"""900 u: one function of the C library that is trusted to 64 u, after a subtraction that multiplies its error
by at most nine; or a short series without cancellation."""

MANY = 1e-12
"""9007 u: some hundred operations, and functions of the C library and of scipy that are trusted to 64 u each
(exp, log, tanh, erfc, ndtr, ndtri), where nothing is lost to cancellation or it is bounded by the terms."""

STEEP = 1e-10
"""900,000 u: a few such functions where an exponent or a cancellation multiplies errors by at most 1,500
each: whoever uses it derives the factor."""

COARSE = 1e-9
"""What iterates until it is content: inverses of scipy (betaincinv, which a test holds against fifty digits)
and eigensystems."""

MPMATH = Fraction(1, 2**150)
"""mpmath with 200 bits: its exp and log are trusted but for the last 50 of them."""

UP = 1 + FEW
SAFE = 1 + MANY
"""Factors for what may be too large, never too small."""

_MOST_DIGITS = 400
_threads = threading.local()


def next_up(value: float) -> float:
    """The least float above ``value``."""
    return math.nextafter(value, math.inf)


def next_down(value: float) -> float:
    """The greatest float below ``value``."""
    return math.nextafter(value, -math.inf)


def float_up(value: Fraction) -> float:
    """The least float that is not below ``value``."""
    near = float(value)
    return near if Fraction(near) >= value else next_up(near)


def printed_up(value: Fraction) -> float:
    """The float that prints as ``value``, or else the next whose printed decimal is not below it."""
    near = float(value)
    return near if Fraction(repr(near)) >= value else next_up(near)


def float_down(value: Fraction) -> float:
    """The greatest float that is not above ``value``."""
    return 0.0 - float_up(-value)  # not minus zero


def ratio_up(numerator: int, denominator: int) -> float:
    """``float_up`` of a quotient of whole numbers, fast enough for every cell of a long table."""
    near = numerator / denominator  # of two integers Python rounds correctly
    n, d = near.as_integer_ratio()
    return near if n * denominator >= numerator * d else next_up(near)


def ratio_down(numerator: int, denominator: int) -> float:
    """``float_down`` of a quotient of whole numbers."""
    return 0.0 - ratio_up(-numerator, denominator)  # not minus zero


def digits(count: int) -> Any:
    """This thread's mpmath with ``count`` decimal digits: anybody may change the shared one at any time."""
    if not hasattr(_threads, "mp"):
        from mpmath import mp  # imported late: 0.1 s, needed only for widths

        own = mp.clone()
        own.dps = _MOST_DIGITS  # pi and ln 2 are kept for all threads; made this long now, they do not change
        own.log(own.pi)
        _threads.mp = own
    context = _threads.mp
    context.dps = min(count, _MOST_DIGITS)
    return context


def up(value: Any) -> float:
    """The least float that is not below a number of mpmath's."""
    near = float(value)
    return near if near >= value else next_up(near)


def down(value: Any) -> float:
    """The greatest float that is not above a number of mpmath's."""
    near = float(value)
    return near if near <= value else next_down(near)


def square_root_up(value: Fraction) -> float:
    """The least float, or the one after it, whose square is not below ``value``."""
    near = math.sqrt(float_up(value))
    return near if Fraction(near) ** 2 >= value else next_up(near)
