"""How sharply models may be chosen among in the place of scores, so that all intervals hold as before."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np

from adyton.arithmetic.search import largest_real_within
from adyton.holdout.methods.gaussian import GaussianPlan, in_values, table
from adyton.kernel.exact import float_down
from adyton.kernel.exact.outward import SAFE, digits

_WITHOUT = 1.0  # the part kept by claims that do not exist: a choice in the last place of all


@lru_cache(maxsize=1024)
def choosing_rate(plan: GaussianPlan, numbers: tuple[int, ...]) -> Fraction:
    """Of the exponential mechanism on sums in steps, taking the places of the scores with these numbers.

    Claim:    the intervals of all other scores, which count these places as scores, hold as they would
              without the choice, whatever the number of candidates.
    Assumes:  as GaussianPlan; the numbers are known before anything is read.
    Source:   derived here.  Theorem: CHOICE-AS-SCORES.
    """
    blocks = in_values(plan)
    allowed = sum((1 / Fraction(blocks.scale(number)) ** 2 for number in numbers), Fraction(0))
    kept = _least_kept(plan, max(numbers))

    def spent(rate: float) -> float:
        return rate**2 * _more_than_half_its_square(rate / (2 * kept)) * SAFE

    found = largest_real_within(spent, float_down(allowed), float(allowed) ** 0.5)
    return Fraction(found) / plan.frame.steps


def _least_kept(plan: GaussianPlan, number: int) -> float:
    """The smallest part of the items that a claim after this place keeps: there a choice weighs most."""
    made = table(plan)
    first = int(np.searchsorted(np.array(made.ends), number + 1))
    later = [side.kept for side in (*made.low[first:], *made.high[first:]) if side.kept > 0]
    return min(later, default=_WITHOUT)


def _more_than_half_its_square(a: float) -> float:
    """(exp(a) - 1 - a) / (a**2 / 2), which is 1 + a / 3 + ..., rounded up."""
    if a > 600:
        return float("inf")
    mp = digits(60)
    x = mp.mpf(a)
    return float(2 * (mp.expm1(x) - x) / x**2) * SAFE if a > 0 else 1.0
