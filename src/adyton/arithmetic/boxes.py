"""Arithmetic with intervals, one for each row, rounded outwards.

Claim:    if every argument lies in its interval, the function of them, where it has a value, lies in the one
          that is given.
Assumes:  floats as in IEEE 754, rounded to nearest; log, exp and pow of the C library are right to 1e-12.
Source:   Moore 1966, Interval Analysis.  Theorem: BOX-OF-PARTS.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from adyton.kernel.exact import float_down, float_up
from adyton.kernel.exact.cells import Floats
from adyton.kernel.exact.outward import MANY

LARGEST_WHOLE = 2.0**53  # below it every whole number is a float


@dataclass(frozen=True, slots=True)
class Box:
    """The ends of an interval in each row; infinite where nothing is known on that side."""

    low: Floats
    high: Floats

    @classmethod
    def of(cls, value: Fraction, rows: int) -> Box:
        """The narrowest around a number."""
        return cls(np.full(rows, float_down(value)), np.full(rows, float_up(value)))

    @classmethod
    def everything(cls, rows: int) -> Box:
        return cls(np.full(rows, -np.inf), np.full(rows, np.inf))

    def at(self, places: npt.NDArray[np.int64]) -> Box:
        return Box(self.low[places], self.high[places])

    def where(self, chosen: npt.NDArray[np.bool_], other: Box) -> Box:
        """This where ``chosen``, elsewhere the other."""
        return Box(np.where(chosen, self.low, other.low), np.where(chosen, self.high, other.high))

    def hull(self, other: Box) -> Box:
        return Box(np.minimum(self.low, other.low), np.maximum(self.high, other.high))


def outward(low: Floats, high: Floats) -> Box:
    """One float further out, for one rounding; what cannot be told apart from anything is everything."""
    low, high = np.nextafter(low, -np.inf), np.nextafter(high, np.inf)
    return Box(np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high))


def _trusted(low: Floats, high: Floats) -> Box:
    """What a function of the C library gave."""
    with np.errstate(all="ignore"):
        low = np.where(np.isfinite(low), low - np.abs(low) * MANY, low)
        high = np.where(np.isfinite(high), high + np.abs(high) * MANY, high)
    return outward(low, high)


def _plus(a: Box, b: Box) -> Box:
    return outward(a.low + b.low, a.high + b.high)


def negative(a: Box) -> Box:
    return Box(0.0 - a.high, 0.0 - a.low)


def _times(a: Box, b: Box) -> Box:
    ends = [_product(x, y) for x in (a.low, a.high) for y in (b.low, b.high)]
    return outward(np.minimum.reduce(ends), np.maximum.reduce(ends))


def _product(x: Floats, y: Floats) -> Floats:
    """0 times what is not known is 0."""
    return np.where((x == 0) | (y == 0), 0.0, x * y)


def _over(a: Box, b: Box) -> Box:
    """Where the divisor may be 0 nothing is known."""
    apart = (b.low > 0) | (b.high < 0)
    least, most = np.where(apart, b.low, 1.0), np.where(apart, b.high, 1.0)
    found = _times(a, outward(1.0 / most, 1.0 / least))
    return found.where(apart, Box.everything(len(a.low)))


def _absolute(a: Box) -> Box:
    inside = (a.low <= 0) & (a.high >= 0)
    ends = np.abs(a.low), np.abs(a.high)
    return Box(np.where(inside, 0.0, np.minimum(*ends)), np.maximum(*ends))


def _rising(function: Callable[[Floats], Floats]) -> Callable[[Box], Box]:
    """A function that is exact in floats and never falls."""
    return lambda a: Box(function(a.low), function(a.high))


def _root(a: Box) -> Box:
    """It has a value where the number is not below 0."""
    low, high = np.maximum(a.low, 0.0), np.maximum(a.high, 0.0)
    found = outward(np.sqrt(low), np.sqrt(high))
    return Box(np.maximum(0.0, found.low), found.high)


def _logarithm(function: Callable[[Floats], Floats]) -> Callable[[Box], Box]:
    def of(a: Box) -> Box:
        return _trusted(function(np.maximum(a.low, 0.0)), function(np.maximum(a.high, 0.0)))

    return of


def _exponential(a: Box) -> Box:
    found = _trusted(np.exp(a.low), np.exp(a.high))
    return Box(np.maximum(0.0, found.low), found.high)


def _power(a: Box, exponent: Box) -> Box:
    """The exponent is a literal.  A whole one is a product; any other needs a number not below 0."""
    if not len(a.low):
        return a
    n = float(exponent.low[0] + exponent.high[0]) / 2
    if n < 0:
        positive = Box(-exponent.high, -exponent.low)
        return _over(Box.of(Fraction(1), len(a.low)), _power(a, positive))
    whole = n == int(n)
    base = a if whole else Box(np.maximum(a.low, 0.0), np.maximum(a.high, 0.0))
    if whole and int(n) % 2 == 0:
        base = _absolute(base)
    found = _trusted(np.power(base.low, n), np.power(base.high, n))
    return Box(np.maximum(0.0, found.low), found.high) if (base.low >= 0).all() else found


def _rounded(a: Box, digits: Box) -> Box:
    """The number times a power of ten is taken a float further out before it is rounded."""
    if not len(a.low):
        return a
    power = 10.0 ** round(float(digits.low[0] + digits.high[0]) / 2)
    grown = outward(a.low * power, a.high * power)
    grown = outward(grown.low, grown.high)
    low, high = _half_away(grown.low), _half_away(grown.high)
    return outward(low / power, high / power)


def _unrounded(a: Box, step: Box) -> Box:
    """What was rounded to multiples of a step was at most half of it away; so is a mean of such."""
    half = step.high / 2
    return outward(a.low - half, a.high + half)


def _half_away(values: Floats) -> Floats:
    return np.where(values >= 0, np.floor(values + 0.5), np.ceil(values - 0.5))


def _greatest(*boxes: Box) -> Box:
    return Box(np.maximum.reduce([b.low for b in boxes]), np.maximum.reduce([b.high for b in boxes]))


def _least(*boxes: Box) -> Box:
    return Box(np.minimum.reduce([b.low for b in boxes]), np.minimum.reduce([b.high for b in boxes]))


def _rest(value: Box, divisor: Box) -> Box:
    """What is left of a division by a whole number that is truncated: exact for floats.  Where both ends have
    the same quotient it rises between them; otherwise it is anything below the divisor with that sign.
    """
    size = np.abs(divisor.low)
    low, high = np.fmod(value.low, size), np.fmod(value.high, size)
    small = (np.abs(value.low) < LARGEST_WHOLE) & (np.abs(value.high) < LARGEST_WHOLE)
    rises = small & (value.low - low == value.high - high) & ((value.low >= 0) == (value.high >= 0))
    anything = Box(np.where(value.low < 0, -size, 0.0), np.where(value.high > 0, size, 0.0))
    return Box(low, high).where(rises, anything)


BOXES: dict[str, Callable[..., Box]] = {
    "+": _plus,
    "-": lambda a, b: _plus(a, negative(b)),
    "*": _times,
    "/": _over,
    "MOD": _rest,
    "NEG": negative,
    "ABS": _absolute,
    "SIGN": _rising(np.sign),
    "FLOOR": _rising(np.floor),
    "CEIL": _rising(np.ceil),
    "TRUNC": _rising(np.trunc),
    "ROUND": _rounded,
    "SQRT": _root,
    "LN": _logarithm(np.log),
    "LOG10": _logarithm(np.log10),
    "LOG2": _logarithm(np.log2),
    "EXP": _exponential,
    "POWER": _power,
    "GREATEST": _greatest,
    "LEAST": _least,
    "NULLIF": lambda a, _: a,
    "UNROUNDED": _unrounded,
}
