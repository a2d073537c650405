"""Numbers for people: the digits that matter, and intervals that are never shown narrower than they are."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal

_LONG = 1e15  # from here on nobody reads all digits
_FINEST = -12
_MOST_DIGITS = 400  # more than any float has before its point
_LOPSIDED = 20  # a side of an interval may be a twentieth longer than the other to count as alike


def number(value: float, precision: float = 0.0, *, step: float = 0.0) -> str:
    """``value`` with the digits that matter where ``precision`` is how far off it may be.

    ``step``: values are multiples of it, so no finer digit is shown.
    """
    return _written(value, _place(value, precision, step), ROUND_HALF_EVEN)


def ends(low: float, high: float, precision: float = 0.0, *, step: float = 0.0) -> str:
    """Both ends of an interval with the digits that matter, rounded outwards."""
    first = _written(low, _place(low, precision, step), ROUND_FLOOR)
    return f"{first} .. {_written(high, _place(high, precision, step), ROUND_CEILING)}"


def half_width(value: float, low: float, high: float, *, step: float = 0.0) -> str | None:
    """How far the ends are from ``value`` as it is shown, rounded up; None if the sides differ too much.

    What is shown as value and half-width contains the interval.
    """
    precision = (high - low) / 2
    if not all(map(math.isfinite, (value, low, high))):
        return None
    place = _place(value, precision, step)
    middle = _rounded(value, place, ROUND_HALF_EVEN)
    below, above = middle - _rounded(low, place, ROUND_FLOOR), _rounded(high, place, ROUND_CEILING) - middle
    half, lopsided = max(below, above), abs(above - below)
    if lopsided > Decimal(1).scaleb(place) and lopsided * _LOPSIDED > half:
        return None
    return _text(half, place)


def _place(value: float, precision: float, step: float) -> int:
    """The power of ten of the last digit that is shown."""
    scale = precision if precision > 0 and math.isfinite(precision) else abs(value)
    if not scale or not math.isfinite(value):
        return 0
    last = math.floor(math.log10(scale)) - 1
    if abs(value) >= _LONG:
        return last if precision > 0 else last - 4
    finest = math.floor(math.log10(step)) if step > 0 else _FINEST
    return min(0, max(_FINEST, finest, last))


def _written(value: float, place: int, rounding: str) -> str:
    return _text(_rounded(value, place, rounding), place) if math.isfinite(value) else str(value)


def _rounded(value: float, place: int, rounding: str) -> Decimal:
    exact = Decimal(repr(round(value, 9 - place) + 0.0))  # what comes after are roundings of floats
    shown = exact.quantize(Decimal(1).scaleb(place), rounding, Context(prec=_MOST_DIGITS))
    return shown if shown else abs(shown)  # not minus zero


def _text(shown: Decimal, place: int) -> str:
    if abs(shown) < Decimal(_LONG):
        return f"{shown:,f}"
    return f"{shown:.{max(0, shown.adjusted() - place)}e}".replace("e+", "e")
