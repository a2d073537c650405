"""Lines: z * scale + shift for many z at once, rounded exactly as the fraction would be.

Down, to the nearest, or up.  Two floats stand for one number, so that its rounding is known unless it lies
within 2**-100 of a float or of the middle between two; those few are computed as fractions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from operator import truediv
from typing import Any

import numpy as np
import numpy.typing as npt

from adyton.kernel.exact.cells import _ROOM, Array, Floats, largest
from adyton.kernel.exact.doubled import two_product, two_sum
from adyton.kernel.exact.outward import ratio_down, ratio_up

Rounding = Callable[[int, int], float]

_FEW = 24  # fewer are done faster one by one

_BLOCK = 1 << 13  # at a time; the arrays of one block stay in the processor's cache

_ERROR = 2.0**-100  # of all terms: some ten roundings of the smaller float, each at most 2**-105

_TINY = 2.0**-900  # below it the error of a product may be lost


@dataclass(frozen=True, slots=True)
class Line:
    """z -> z * ``scale`` + ``shift``, for whole numbers z or for floats.

    Claim:    ``down`` is the greatest float that is not above the fraction, ``up`` the least that is not
              below it, ``near`` the nearest, to even where two are.
    Assumes:  floats as in IEEE 754, rounded to nearest; results between 2**-900 and 2**900, or 0.
    Source:   error-free sums and products: Dekker 1971, Knuth.  Theorem: NOISE-INTERVAL.
    """

    scale: Fraction
    shift: Fraction = Fraction(0)

    def down(self, z: Any) -> Floats:
        return self._rounded(np.asarray(z), ratio_down, _down)

    def up(self, z: Any) -> Floats:
        return self._rounded(np.asarray(z), ratio_up, _up)

    def near(self, z: Any) -> Floats:
        return self._rounded(np.asarray(z), truediv, _near)  # of two integers Python rounds correctly

    def _rounded(self, z: Array, one: Rounding, many: _Many) -> Floats:
        if z.size <= _FEW or z.dtype == object or (z.dtype == np.int64 and largest(z) > _ROOM):
            return self._by_fractions(z, one)
        line, out = _Doubled.of(self), np.empty(z.shape)
        for start in range(0, z.size, _BLOCK):
            block = z[start : start + _BLOCK]
            high, low, error = line.at(block)
            found, doubtful = many(high, low, error)
            doubtful |= line.too_small(block, high, low)
            if doubtful.any():
                found[doubtful] = self._once_each(block[doubtful], one)
            out[start : start + _BLOCK] = found
        return out + 0.0  # not minus zero

    def _once_each(self, z: Array, one: Rounding) -> Floats:
        """What is in doubt is often one and the same number, such as a bound."""
        found, others = np.full(len(z), self._by_fractions(z[:1], one)[0]), z != z[0]
        if others.any():
            different, places = np.unique(z[others], return_inverse=True)
            found[others] = self._by_fractions(different, one)[places]
        return found

    def _by_fractions(self, z: Array, one: Rounding) -> Floats:
        a, b = self.scale.as_integer_ratio()
        c, d = self.shift.as_integer_ratio()
        top, plus, bottom = a * d, c * b, b * d
        if z.dtype == np.float64:
            pairs = [x.as_integer_ratio() for x in z.tolist()]
            return np.array([one(n * top + plus * m, bottom * m) for n, m in pairs], float)
        return np.array([one(x * top + plus, bottom) for x in z.tolist()], float)


_Many = Callable[[Floats, Floats, Floats], tuple[Floats, npt.NDArray[np.bool_]]]


@dataclass(frozen=True, slots=True)
class _Doubled:
    """A line whose two numbers are sums of two floats, but for 2**-105 of them."""

    scale: tuple[float, float]
    shift: tuple[float, float]
    exact: bool

    @classmethod
    def of(cls, line: Line) -> _Doubled:
        scale, shift = _two_floats(line.scale), _two_floats(line.shift)
        exact = Fraction(scale[0]) == line.scale and Fraction(shift[0]) == line.shift
        return cls(scale, shift, exact)

    def at(self, z: Array) -> tuple[Floats, Floats, Floats]:
        """The nearest float, what is left, and by how much both together may be wrong."""
        near = z.astype(float)
        product, rest = two_product(near, self.scale[0])
        small = rest + near * self.scale[1]
        whole = z.dtype == np.int64
        if whole and largest(z) > 2**53:
            small += (z - near.astype(np.int64)) * self.scale[0]
        total, left = two_sum(product, self.shift[0])
        error = (np.abs(product) + abs(self.shift[0])) * _ERROR
        if self.exact and not (whole and largest(z) > 2**53):
            error[(rest == 0) | (left == 0)] = 0.0  # nothing was rounded
        high, low = two_sum(total, left + (small + self.shift[1]))
        return high, low, error

    def too_small(self, z: Array, high: Floats, low: Floats) -> npt.NDArray[np.bool_]:
        small = np.asarray((np.abs(high) < _TINY) & ((high != 0) | (low != 0)))
        if z.dtype == np.float64:
            small |= (np.abs(z) < _TINY) & (z != 0)
        return small


def _down(high: Floats, low: Floats, error: Floats) -> tuple[Floats, npt.NDArray[np.bool_]]:
    return np.where(low < 0, np.nextafter(high, -np.inf), high), _touching(low, error)


def _up(high: Floats, low: Floats, error: Floats) -> tuple[Floats, npt.NDArray[np.bool_]]:
    return np.where(low > 0, np.nextafter(high, np.inf), high), _touching(low, error)


def _near(high: Floats, low: Floats, error: Floats) -> tuple[Floats, npt.NDArray[np.bool_]]:
    return high, (high + (low + error) != high) | (high + (low - error) != high)


def _touching(low: Floats, error: Floats) -> npt.NDArray[np.bool_]:
    """Whether the fraction may be the float itself, or on its other side."""
    return (np.abs(low) <= error) & (error > 0)


def _two_floats(value: Fraction) -> tuple[float, float]:
    high = float(value)
    return high, float(value - Fraction(high))
