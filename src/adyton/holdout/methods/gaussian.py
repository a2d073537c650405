"""The default: every score with fresh Gaussian noise, so many of them that all intervals hold at once."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

import numpy as np

from adyton.holdout.methods.base import Ends, HoldoutSize
from adyton.kernel.exact import float_up
from adyton.kernel.exact.cells import Floats
from adyton.kernel.special.scores import ScoreBlocks
from adyton.validity.plans.planned_scores import ScoreEnds, Side
from adyton.validity.plans.score_plans import table_of, wish_for
from adyton.validity.subset.tails import Way
from adyton.validity.subset.widths import hoeffding_width, least_share, price_of

Parts = tuple[Floats, Floats, Floats]
SLACK = Fraction(1, 4000)  # the best location is found up to half of this
"""Of a width: plans are made for so much less, so that no search for the ends of an interval exceeds it."""


@dataclass(frozen=True, slots=True)
class GaussianPlan:
    """Sums of values with rounded Gaussian noise; the scales of ``blocks`` are in steps of the sum.

    ``reach`` is what the plan was made for: how far the ends of an interval are below and above a score, of
    any score or of one that is as ``expected``.

    Claim:    with probability 1 - failure the intervals of all scores and comparisons, each of predictions
              chosen in the light of all scores before it, hold at once; the items are mu-GDP with mu**2 the
              sum of the squares of steps / scale.
    Assumes:  items are independent draws from the population; nobody has seen them otherwise; the noise is
              fresh; all that ``blocks``, ``reach`` and ``expected`` say was fixed in advance.
    Source:   derived here.  Theorem: HOLDOUT-SCORES.
    """

    frame: HoldoutSize
    blocks: ScoreBlocks
    reach: tuple[float, float]
    expected: Fraction | None = None
    anytime: bool = False
    name: ClassVar[str] = "gaussian"
    accounting: ClassVar[str] = "gdp"

    @property
    def theorems(self) -> tuple[str, ...]:
        return ("HOLDOUT-SCORES", "SUBSET-SHARES", "ROUNDED-GAUSSIAN-IS-GDP", "GDP-FILTER")

    @property
    def scores(self) -> int:
        return self.blocks.scores

    def share(self, released: int) -> Fraction:
        return Fraction(released, self.frame.whole)

    def half_width(self) -> float:
        """Half the length of the interval of a score as expected; without an expectation, of every score."""
        inner = (Fraction(self.reach[0]) + Fraction(self.reach[1])) / 2 / (1 - SLACK)
        return float_up(inner + margin(self.frame))

    def ends(self, released: Sequence[int], numbers: Sequence[int]) -> list[Ends]:
        """Of the intervals of these scores, for the mean over the population.  Theorem: HOLDOUT-SCORES."""
        items, stray = self.frame.items, self.frame.rounding
        found = self._sums(released, numbers, items, 0)
        return [(low / items - stray, high / items + stray) for low, high in found]

    def difference_ends(self, released: Sequence[int], numbers: Sequence[int], differing: int) -> list[Ends]:
        """The same for differences of two scores that differ in at most so many items.

        By the part and the level of the score whose place it takes: which of the two is asked may depend on
        what was released before, and one law of that bounds both only if the part is the same.
        Theorem: PAIRED-COMPARISON.
        """
        items, stray = self.frame.items, 2 * self.frame.rounding
        found = self._sums(released, numbers, differing, differing)
        return [
            ((2 * low - differing) / items - stray, (2 * high - differing) / items + stray)
            for low, high in found
        ]

    def _sums(self, released: Sequence[int], numbers: Sequence[int], units: int, middle: int) -> list[Ends]:
        """Ends of expected sums of ``units`` values in [0, 1]; a difference counts how often the first is
        better, which is half of it and of the units: ``middle`` is 0 for a score.

        With weights two bounds on the moments hold, of which the better may be taken: that of so many coins,
        and Hoeffding's, by the squares of the weights.  Theorem: WEIGHTED-SCORES.
        """
        scale = 2 * self.frame.steps if not middle else 4 * self.frame.steps
        halves = Fraction(middle, 2)
        below = [halves + Fraction(2 * x - 1, scale) for x in released]  # before it was rounded
        above = [units - halves - Fraction(2 * x + 1, scale) for x in released]
        ways = [Way(*map(np.concatenate, zip(*self._ways(numbers), strict=True)))]
        noise = np.array([self.blocks.scale(j) / self.frame.steps for j in numbers])  # exact: a power of two
        answers, noises = np.array([float(x) for x in below + above]), np.concatenate([noise, noise])
        found = [Fraction(float(share)) * units for share in least_share(answers, units, noises, ways)]
        if self.frame.squares is not None:
            widths = hoeffding_width(float_up(self.frame.squares), np.array([1.0]), noises, ways)
            shorter = [x - Fraction(float(width)) for x, width in zip(below + above, widths, strict=True)]
            found = list(map(max, found, shorter))
        count = len(numbers)
        return [(found[i], units - found[count + i]) for i in range(count)]

    def _ways(self, numbers: Sequence[int]) -> tuple[Parts, Parts]:
        """How both ends pay for the scores before theirs: by parts and levels that were fixed in advance."""
        sides = [table(self).sides(j) for j in numbers]
        before = [in_values(self).spent_before(j) for j in numbers]
        low, high = (_parts(self.frame, before, [side[end] for side in sides]) for end in (0, 1))
        return low, high

    def settings(self) -> dict[str, str | int]:
        facts: dict[str, str | int] = {"scores": self.scores, "reach": json.dumps(self.reach)}
        facts |= {"counts": json.dumps(self.blocks.counts), "scales": json.dumps(self.blocks.scales)}
        facts |= {} if self.expected is None else {"expected": str(self.expected)}
        return {**facts, "anytime": "yes"} if self.anytime else facts


def margin(frame: HoldoutSize) -> Fraction:
    """Half a step of the sum for the rounded noise, and what rounding the values of items can do."""
    return Fraction(1, 2 * frame.whole) + frame.rounding


def squares_of(frame: HoldoutSize) -> float | None:
    """As plans need it."""
    return None if frame.squares is None else float_up(frame.squares)


def in_values(plan: GaussianPlan) -> ScoreBlocks:
    """The noise of the plan in units of values instead of steps."""
    return _in_values(plan.blocks, plan.frame.steps)


@lru_cache(maxsize=4096)
def _in_values(blocks: ScoreBlocks, steps: int) -> ScoreBlocks:
    return ScoreBlocks(blocks.counts, tuple(scale / steps for scale in blocks.scales))


def table(plan: GaussianPlan) -> ScoreEnds:
    """Parts kept and levels of each score; part of what a holdout guaranteed when it was made."""
    expected = None if plan.expected is None else float(plan.expected)
    wish = wish_for(
        plan.frame.items, plan.frame.failure, plan.reach, expected, plan.anytime, squares_of(plan.frame)
    )
    return table_of(wish, in_values(plan))


def _parts(frame: HoldoutSize, before: Sequence[Fraction], sides: Sequence[Side]) -> Parts:
    """Fresh parts, prices and levels."""
    counted = frame.items if frame.squares is None else frame.squares
    fresh = [1.0 if spent == 0 else 1 - side.kept for spent, side in zip(before, sides, strict=True)]
    price = [
        0.0 if spent == 0 else price_of(counted, spent, 1 - part)
        for spent, part in zip(before, fresh, strict=True)
    ]
    return np.array(fresh), np.array(price), np.array([side.log_level for side in sides])
