"""The second look at draws that are in doubt: many at once, with about ninety bits.

A level x solves F(x) = p for a falling F, the normal tail or exp(-x).  Floating point gives x but for 2**-47;
one step of Newton's method doubles the digits, if F(x) - p is known to a hundred bits.  It is: two floats
stand for one number, and F is a Taylor polynomial about the nearest multiple of 1/64, whose coefficients
mpmath works out once.  What is still in doubt afterwards is left to mpmath.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from adyton.kernel.exact.cells import Floats
from adyton.kernel.exact.doubled import two_product, two_sum

Words = npt.NDArray[np.uint64]
Pair = tuple[Floats, Floats]  # the sum of both is meant

ERROR = 2.0**-88  # of a level and of 1, after the step: see "The second look" on the theorem pages
UNREAD = 2.0**-115  # over p: 128 digits were read, the last 64 of them as one float
_PER_ONE = 64  # points of the table
_TERMS, _LONG = 19, 9  # of a polynomial; of these with two floats
_PRECISION = 200


class Taylor:
    """Coefficients about k / 64, made when they are first needed: ``derive(mp, x)`` gives ``_TERMS`` of them.

    They are the derivatives of F at x over factorials.
    """

    def __init__(self, derive: Callable[[Any, Any, int], Sequence[Any]], largest: int) -> None:
        self._derive = derive
        self._high = np.zeros((largest * _PER_ONE + 1, _TERMS))
        self._low = np.zeros((largest * _PER_ONE + 1, _LONG))
        self._known = np.zeros(largest * _PER_ONE + 1, np.bool_)
        self._lock = threading.Lock()

    def less(self, x: Floats, p: Pair, mp: Any) -> Floats:
        """F(x) - p, but for 2**-96 of F(x), and of the difference 2**-52."""
        k = np.rint(x * _PER_ONE).astype(np.int64)
        self._make(np.unique(k), mp)
        d = x - k / _PER_ONE  # exact: both are multiples of the last digit of x, and close together
        high, low = self._high[k], self._low[k]
        short = high[:, -1]
        for j in range(_TERMS - 2, _LONG - 1, -1):
            short = short * d + high[:, j]
        total: Pair = (short, np.zeros_like(short))
        for j in range(_LONG - 1, 0, -1):
            total = _add(_times(total, d), (high[:, j], low[:, j]))
        start = _add((high[:, 0], low[:, 0]), (-p[0], -p[1]))
        left = _add(start, _times(total, d))
        return left[0] + left[1]

    def _make(self, wanted: npt.NDArray[np.int64], mp: Any) -> None:
        with self._lock:
            for k in wanted[~self._known[wanted]].tolist():
                mp.prec = _PRECISION
                for j, exact in enumerate(self._derive(mp, mp.mpf(k) / _PER_ONE, _TERMS)):
                    self._high[k, j] = float(exact)
                    if j < _LONG:
                        self._low[k, j] = float(exact - self._high[k, j])
                self._known[k] = True


def normal_tail(mp: Any, x: Any, terms: int) -> list[Any]:
    """The derivatives of the normal density are Hermite's polynomials times it, with changing signs."""
    density, polynomials = mp.npdf(x), [mp.mpf(1), x]
    while len(polynomials) < terms:
        n = len(polynomials) - 1
        polynomials.append(x * polynomials[-1] - n * polynomials[-2])
    signed = [-density * (-1) ** j * h / mp.factorial(j + 1) for j, h in enumerate(polynomials)]
    return [mp.erfc(x / mp.sqrt(2)) / 2, *signed[: terms - 1]]


def exponential(mp: Any, x: Any, terms: int) -> list[Any]:
    value = mp.exp(-x)
    return [value * (-1) ** j / mp.factorial(j) for j in range(terms)]


def pair_of(prefixes: npt.NDArray[np.int64], more: Words) -> Pair:
    """The p whose 128 binary places are ``prefixes`` and ``more``."""
    upper, lower = prefixes >> 32, prefixes & 0xFFFFFFFF
    high, low = two_sum(upper.astype(float) * 2.0**-32, lower.astype(float) * 2.0**-64)
    return two_sum(high, low + more.astype(np.float64) * 2.0**-128)


def floor_of(scale: float, level: Pair, shift: float) -> tuple[npt.NDArray[np.int64], Floats]:
    """floor(scale * level + shift), and how far above it the number lies, but for 2**-36."""
    product, rest = two_product(level[0], scale)
    base = np.floor(product)
    above = (product - base) + (rest + scale * level[1] + shift)
    more = np.floor(above)
    return base.astype(np.int64) + more.astype(np.int64), above - more


def less_number(x: Floats, high: float, low: float) -> Pair:
    """x - (high + low)."""
    difference, rest = two_sum(x, np.full_like(x, -high))
    return difference, rest - low


def _add(a: Pair, b: Pair) -> Pair:
    high, low = two_sum(a[0], b[0])
    return two_sum(high, low + (a[1] + b[1]))


def _times(a: Pair, b: Floats) -> Pair:
    high, low = two_product(a[0], b)
    return high, low + a[1] * b
