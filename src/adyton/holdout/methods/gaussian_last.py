"""The interval of a last score without noise: the tail of the items themselves, at a level that has paid."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from adyton.arithmetic.search import edge
from adyton.holdout.methods.base import Ends, HoldoutSize
from adyton.holdout.methods.gaussian import GaussianPlan, in_values, table
from adyton.holdout.metrics import COARSE
from adyton.kernel.exact import float_down, float_up
from adyton.kernel.exact.outward import FEW, MANY, SAFE
from adyton.validity.binomial import least_probability
from adyton.validity.plans.planned_scores import Side
from adyton.validity.subset.widths import price_of

_FAINTEST = -200.0  # the logarithm of a level from which on tails are counted exactly


def last_ends(plan: GaussianPlan, exact: int, number: int) -> Ends:
    """Of the interval of the exact sum that closes the holdout in place ``number``.

    Claim:    together with the intervals of all scores before it, it contains the population mean with
              probability 1 - failure, whichever predictions the scores before led to, and whenever they led
              to the end.
    Assumes:  as GaussianPlan; the sum is the last thing that is learned about the items.
    Source:   derived here.  Theorem: LAST-EXACT-SCORE.
    """
    frame, made = plan.frame, table(plan)
    levels = [_log_level(plan, number, made.ends, side) for side in (made.low, made.high)]
    low = _least(frame, exact, levels[0])
    high = 1 - _least(frame, frame.whole - exact, levels[1])
    return low - frame.rounding, high + frame.rounding


def _log_level(plan: GaussianPlan, number: int, ends: tuple[int, ...], sides: tuple[Side, ...]) -> float:
    """ln of how rare what was seen must be: places that nobody will use any more lend their levels.

    Those of one piece of the plan keep the same part c of the items, so their levels are added up.  With the
    first place nothing was learned, and all of them are.
    """
    spent = in_values(plan).spent_before(number)
    counted = plan.frame.items if plan.frame.squares is None else plan.frame.squares
    found, everything, last = [-math.inf], 0.0, 0
    for end, side in zip(ends, sides, strict=True):
        places = end - max(last, number - 1)
        last = end
        if places <= 0:
            continue
        level = math.log(places) + side.log_level
        everything += math.exp(level)
        if spent and 0 < side.kept < 1:
            found.append((level - price_of(counted, spent, side.kept)) / (1 - side.kept) * SAFE)
    return max(found) if spent else math.log(everything) * SAFE


def _least(frame: HoldoutSize, exact: int, log_level: float) -> Fraction:
    """The lower end of the mean: several bounds of one tail, of which the best may be taken."""
    share = Fraction(exact, frame.whole)
    if log_level == -math.inf:
        return Fraction(0)
    found = [_by_coins(float_down(share), frame.items, log_level)]
    if frame.squares is not None:
        width = math.sqrt(float_up(frame.squares) * -log_level / 2) * SAFE
        found.append(share - Fraction(width) / frame.items)
    if frame.steps == COARSE and frame.squares is None and log_level > _FAINTEST:
        found.append(_counted(exact // COARSE, frame.items, log_level))
    return max(found)


def _counted(hits: int, items: int, log_level: float) -> Fraction:
    """By the binomial tail itself; at most (hits - 1) / items, where it bounds that of unlike items too."""
    level = math.exp(log_level) * (1 - MANY)
    low = float(least_probability(np.array([hits]), items, level)[0])
    return min(Fraction(low), Fraction(max(hits - 1, 0), items))


def _by_coins(share: float, items: int, log_level: float) -> Fraction:
    """By Chernoff's inequality: below it the relative entropy is more than the level allows.

    FEW: where mean and share are near each other, a quotient that is rounded near 1 moves its logarithm.
    """

    def rejected(mean: float) -> bool:
        parts = (_term(share, mean), _term(1 - share, 1 - mean))
        return items * (sum(parts) - MANY * sum(map(abs, parts)) - FEW) >= -log_level

    return Fraction(edge(rejected, 0.0, share)) if share > 0 else Fraction(0)


def _term(x: float, p: float) -> float:
    if x == 0:
        return 0.0
    return math.inf if p <= 0 else x * math.log(x / p)
