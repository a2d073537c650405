"""Floats rounded to the safe side, and what roundings may cost: the one set of margins.

A width may be too large, never too small.  Floats choose the parameters of a bound, because every choice is
valid; the bound itself is evaluated with fractions, with mpmath (``digits``), or with floats and a margin.
"""

from __future__ import annotations

import math
import threading
from fractions import Fraction
from typing import Any

SAFE = 1 + 1e-12
"""Pays for the roundings of a formula of a few floats without cancellation: some hundred of 1e-16 each."""

_MOST_DIGITS = 400
_threads = threading.local()


def float_up(value: Fraction) -> float:
    """The least float that is not below ``value``."""
    near = float(value)
    return near if Fraction(near) >= value else math.nextafter(near, math.inf)


def printed_up(value: Fraction) -> float:
    """The float that prints as ``value``, or else the next whose printed decimal is not below it."""
    near = float(value)
    return near if Fraction(repr(near)) >= value else math.nextafter(near, math.inf)


def float_down(value: Fraction) -> float:
    """The greatest float that is not above ``value``."""
    return 0.0 - float_up(-value)  # not minus zero


def ratio_up(numerator: int, denominator: int) -> float:
    """``float_up`` of a quotient of whole numbers, fast enough for every cell of a long table."""
    near = numerator / denominator  # of two integers Python rounds correctly
    n, d = near.as_integer_ratio()
    return near if n * denominator >= numerator * d else math.nextafter(near, math.inf)


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
    return near if near >= value else math.nextafter(near, math.inf)


def down(value: Any) -> float:
    """The greatest float that is not above a number of mpmath's."""
    near = float(value)
    return near if near <= value else math.nextafter(near, -math.inf)


def square_root_up(value: Fraction) -> float:
    """The least float, or the one after it, whose square is not below ``value``."""
    near = math.sqrt(float_up(value))
    return near if Fraction(near) ** 2 >= value else math.nextafter(near, math.inf)
