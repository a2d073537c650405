"""The privacy loss of pure mechanisms as a list of numbers and their probabilities, bounded from above."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from adyton.arithmetic.search import edge
from adyton.kernel.exact import float_up
from adyton.kernel.exact.cells import Floats
from adyton.kernel.exact.outward import COARSE, UNIT_ROUNDOFF

_FAINT = 1e-290  # terms below it, relative to the largest, are bounded together
_DEVIATIONS = 40  # exp(-40**2 / 2) is far below _FAINT


@dataclass(frozen=True, slots=True)
class Losses:
    """An upper bound of the law of a privacy loss L: probability ``masses[j]`` at ``losses[j]``.

    ``beyond`` bounds the probability of everything that is not listed, and counts as an infinite loss.
    """

    losses: Floats
    masses: Floats
    beyond: float

    def delta_up(self, epsilon: float) -> float:
        """E max(0, 1 - exp(epsilon - L)), rounded up: the delta of this loss at ``epsilon``.

        The difference epsilon - L is known to 3 u (epsilon + |L|) and is moved down by 4; what follows are
        sums and products of positive numbers, expm1 is trusted to 8 u.
        """
        gap = epsilon - self.losses - 4 * UNIT_ROUNDOFF * (epsilon + np.abs(self.losses))
        shares = -np.expm1(np.minimum(gap, 0.0))
        # Not a dot: its threads wait for each other.
        summed = float((self.masses * shares).sum()) + self.beyond
        return summed * (1 + (2 * len(self.masses) + 64) * UNIT_ROUNDOFF)

    def epsilon_up(self, delta: float, highest: float) -> float:
        """The least epsilon, rounded up, at which delta_up is not above ``delta``; ``highest`` if none is."""

        def enough(epsilon: float) -> bool:
            return self.delta_up(epsilon) <= delta

        return 0.0 if enough(0.0) else edge(enough, highest, 0.0, close=1e-13)


@lru_cache(maxsize=64)
def binomial_losses(epsilon: Fraction, times: int) -> Losses:
    """The privacy loss of ``times`` randomized responses: (k - 2 i) epsilon, i binomial.

    Probabilities are taken relative to one of the largest and divided by their own sum.  So no factorial
    and no logarithm of a large number occurs.  A term n steps away is known to 12 n u, for exp is trusted
    to 8 u; the margin is twice that.  Only sums and quotients of positive numbers follow.
    """
    each = float_up(epsilon)  # a larger epsilon reveals more
    against, weights, beyond = _relative_binomial(each, times)
    error = (24 * len(weights) + 64) * UNIT_ROUNDOFF
    whole = float(np.sum(weights)) * (1 - error)  # without what is left out: smaller, the safe side
    return Losses((times - 2 * against) * each, weights * ((1 + error) / whole), beyond * (1 + error) / whole)


def _relative_binomial(epsilon: float, times: int) -> tuple[Floats, Floats, float]:
    """i, C(k, i) exp(-i epsilon) relative to a term near its maximum, and a bound on the sum of all others.

    From i to i + 1 the term is multiplied by (k - i) / (i + 1) * exp(-epsilon), a factor that falls in i.
    """
    lie = 1 / (1 + math.exp(epsilon))
    middle = min(times, math.floor((times + 1) * lie))
    reach = math.ceil(_DEVIATIONS * math.sqrt(times * lie)) + 60
    down = np.arange(middle, max(0, middle - reach), -1, dtype=np.float64)  # steps from i to i - 1
    up = np.arange(middle, min(times, middle + reach), dtype=np.float64)  # steps from i to i + 1
    with np.errstate(under="ignore"):
        lower = np.cumprod(down / (times - down + 1) * math.exp(epsilon))
        upper = np.cumprod((times - up) / (up + 1) * math.exp(-epsilon))
    lower, upper = lower[lower >= _FAINT], upper[upper >= _FAINT]
    first, last = middle - len(lower), middle + len(upper)
    weights = np.concatenate([lower[::-1], [1.0], upper])
    before = _rest(float(weights[0]), first / (times - first + 1) * math.exp(epsilon))
    after = _rest(float(weights[-1]), (times - last) / (last + 1) * math.exp(-epsilon))
    return np.arange(first, last + 1, dtype=np.float64), weights, before + after


def _rest(weight: float, ratio: float) -> float:
    """What follows a term whose next one is ``ratio`` of it falls at least as fast as a geometric series.

    Where the first ratio is not below 1 nothing was left out for being faint, and ``reach`` is far too small:
    infinity, which is valid.  Below 1 - 1e-5 the subtraction multiplies the error of the ratio, 70 u, by at
    most 10**5, which COARSE covers.
    """
    return weight * ratio / (1 - ratio) * (1 + COARSE) if ratio < 1 - 1e-5 else math.inf
