"""Numbers that carry a promise: computed with many digits, then rounded to the safe side.

A width may be too large, never too small.  Floats choose the parameters of a bound, because every choice is
valid; the bound itself is evaluated here, with at least thirty digits more than cancellation can take away.
"""

from __future__ import annotations

import math
import threading
from fractions import Fraction
from typing import Any

from adyton.errors import InvalidRequest
from adyton.exact import float_down, float_up, rational

SAFE = 1 + 1e-12
"""Pays for the roundings of a formula of a few floats without cancellation: some hundred of 1e-16 each."""

_MOST_DIGITS = 400
_threads = threading.local()


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


def probability(value: object, what: str) -> Fraction:
    """A number strictly between 0 and 1, exactly as written."""
    number = rational(value, what)
    if not 0 < number < 1:
        raise InvalidRequest(f"{what} must be above 0 and below 1, not {value}")
    return number


def failure_of(confidence: object) -> Fraction:
    """1 - confidence, without rounding: 0.95 leaves exactly 1/20."""
    return 1 - probability(confidence, "confidence")


def whole(value: object, what: str, least: int = 1) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise InvalidRequest(f"{what} must be a whole number of at least {least}, not {value!r}")
    return value


def not_negative(value: float, what: str) -> float:
    if not value >= 0:  # NaN fails this test too
        raise InvalidRequest(f"{what} must be at least 0, not {value}")
    return value


def square_root_up(value: Fraction) -> float:
    """The least float, or the one after it, whose square is not below ``value``."""
    near = math.sqrt(float_up(value))
    return near if Fraction(near) ** 2 >= value else math.nextafter(near, math.inf)


__all__ = [
    "SAFE",
    "digits",
    "down",
    "failure_of",
    "float_down",
    "float_up",
    "not_negative",
    "probability",
    "square_root_up",
    "up",
    "whole",
]
