"""Quotients of two sums of Gaussian values: all that the two sums do not reject, as Fieller has it.

Claim:    the interval contains the exact quotient, if its divisor is not 0, with at least the level.
Source:   Fieller 1954, Some problems in interval estimation.  Theorem: BOX-OF-PARTS.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from adyton.arithmetic.boxes import Box
from adyton.arithmetic.search import edges
from adyton.certify.linear import GaussianValue, LinearCombination, quantile_up
from adyton.kernel.exact.cells import Floats
from adyton.kernel.exact.outward import CANCELLED, MANY, SAFE
from adyton.query.released.answered import Truths

_DOUBLED, _HALVED = 60, 50


@dataclass(frozen=True, slots=True)
class _Quotient:
    """``top`` and ``bottom`` as released, their variances in units of the level, and what rounding adds."""

    top: Floats
    bottom: Floats
    squares: tuple[Floats, Floats, Floats]  # of the top, of the bottom, and their product
    rounding: tuple[Floats, Floats]

    def rejected(self, t: Floats) -> Floats:
        """Below 0 only if t, and every number below it, is rejected; not below the true function."""
        top, bottom, both = self.squares
        terms = top + t * t * bottom + 2 * np.abs(t * both)
        square = np.maximum(0.0, top - 2 * t * both + t * t * bottom) + MANY * terms
        margin = CANCELLED * (np.abs(t * self.bottom) + np.abs(self.top))
        room = (np.sqrt(square) + self.rounding[0] + np.abs(t) * self.rounding[1]) * SAFE
        return np.asarray(t * self.bottom - self.top + room + margin, np.float64)

    def mirrored(self) -> _Quotient:
        top, bottom, both = self.squares
        return replace(self, top=-self.top, squares=(top, bottom, -both))

    def rises(self) -> Truths:
        """Whether the divisor is so far from 0 that the function above rises everywhere."""
        return np.asarray(self.bottom > (np.sqrt(self.squares[1]) + self.rounding[1]) * SAFE * SAFE)

    def low(self) -> Floats:
        """A number that is rejected, close to the greatest one below those that are not."""
        guess = self.top / self.bottom
        step = np.abs(guess) * CANCELLED + (np.sqrt(self.squares[0]) + self.rounding[0]) / self.bottom
        step = np.maximum(step, np.finfo(float).tiny)
        for _ in range(_DOUBLED):
            step = np.where(self.rejected(guess - step) < 0, step, 2 * step)
        found = self.rejected(guess - step) < 0
        end = edges(lambda t: self.rejected(t) < 0, guess - step, guess, _HALVED)
        return np.where(found, end, -np.inf)


def ratio_box(
    top: tuple[LinearCombination, Floats, Floats],
    bottom: tuple[LinearCombination, Floats, Floats],
    gaussian: Mapping[str, GaussianValue],
    level: float,
) -> Box:
    """Of two sums, each with its released value and what the roundings on the way to it may have cost."""
    (one, a, slack_a), (other, b, slack_b) = top, bottom
    z = quantile_up(level)
    squares = (one.product(one, gaussian), other.product(other, gaussian), one.product(other, gaussian))
    rounding = (one.rounding(gaussian) + slack_a, other.rounding(gaussian) + slack_b)
    sign = np.where(b < 0, -1.0, 1.0)
    scaled = (z * z * squares[0], z * z * squares[1], z * z * squares[2])
    with np.errstate(all="ignore"):
        quotient = _Quotient(a * sign, np.abs(b), scaled, rounding)
        rises = quotient.rises() & np.isfinite(a)
        low, high = quotient.low(), -quotient.mirrored().low()
    return Box(low, high).where(rises, Box.everything(len(a)))
