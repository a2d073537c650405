"""A plan inside a study: how much noise that many queries may have to stay within a tolerance.

The levels of a study and the parts of rows that it keeps are those of the plan, fixed before the first
query.  What is planned for a rare share, a small spread or a small group guarantees nothing: it chooses the
noise, and if the truth is otherwise the interval is wider, never wrong.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

import numpy as np

from adyton.arithmetic.search import edge, minimise
from adyton.kernel.exact import float_down
from adyton.kernel.exact.cells import Floats
from adyton.validity.plans.expected import Expected
from adyton.validity.plans.noise_plan import Noise
from adyton.validity.subset.tails import Before, KnownLevels, Way, ways_after
from adyton.validity.subset.widths import hoeffding_width, variance_width

OF_THE_COUNT = 1 / 8  # of the level of a mean, for how many rows there are
_COUNTED = 1.04  # of the width of a mean: how many rows there are is known up to noise
_LEAST_PART = 0.05  # with 100 units or more, a part of the rows has at least five
_LOOKS = 160  # places at which a plan is judged
_STEPS, _HALVINGS, _BLOCKS = 40, 20, 24


@dataclass(frozen=True, slots=True)
class StudyPlan:
    """Noise of query j as a share of the units, and what it costs."""

    units: int
    queries: int
    failure: Fraction
    expected: Expected
    scales: tuple[float, ...]  # block after block
    ends: tuple[int, ...]  # the last query of each block
    rising: bool = True  # levels, as what was spent rises and the noise does not fall

    @property
    def levels(self) -> KnownLevels:
        return KnownLevels(self.queries, rising=self.rising)

    def scale(self, query: int) -> float:
        """Beyond the plan: as the last one of it."""
        block = int(np.searchsorted(self.ends, query))
        return self.scales[min(block, len(self.scales) - 1)]

    def radius(self, query: int) -> Fraction:
        """What a query may spend: (1/2)**2 in units of its noise, and more for a mean."""
        return self._of_a_mean / (2 * self.units * Fraction(self.scale(query))) ** 2

    def before(self, query: int) -> Fraction:
        """What all queries before this one spend, if all spend what they may."""
        total, done = Fraction(0), 0
        for end, scale in zip(self.ends, self.scales, strict=True):
            here = min(end, query - 1) - done
            if here <= 0:
                break
            total, done = total + here / (2 * self.units * Fraction(scale)) ** 2, done + here
        return total * self._of_a_mean

    @property
    def _of_a_mean(self) -> Fraction:
        """How much more a mean spends than a count for the same noise: it reads a sum and a count."""
        means = self.expected.spread is not None or self.expected.group is not None
        return Fraction(5, 2) if means else Fraction(1)

    def kept(self, query: int) -> float | None:
        """The part of the rows that is best for this query of the plan; None beyond it."""
        return None if query > self.queries else self._kept(query, self.before(query))

    def _kept(self, query: int, before: Fraction) -> float | None:
        spent, noise = float(before) * self._spent, self.units * self.scale(query)
        variance = variance_of(self.expected)
        spread = self.units * (0.25 if variance is None else variance)
        level = math.log(float(self.failure) * self.levels.share(query) / 2)
        return best_part(self.units * spent / 2, -level * spread / (noise**2 + spread))

    @property
    def _spent(self) -> float:
        """The final radius that is expected, as a part of the full one."""
        variance = variance_of(self.expected)
        return 1.0 if variance is None else min(1.0, 4 * variance)

    def width(self, query: int, last: int | None = None) -> float:
        """How wide the answer of a query is, as a share of the units: at most, with the level of
        ``query`` and after all queries before ``last``.
        """
        later = query if last is None else last
        return float(self._widths_of([self.scale(later)], self._ways(query, later))[0])

    def _ways(self, query: int, later: int) -> list[Way]:
        before = self.before(later)
        level = float_down(self.failure) * self.levels.share(query) / 2
        level *= 1 if self._of_a_mean == 1 else 1 - OF_THE_COUNT
        kept = None if later > self.queries else self._kept(later, before)
        return ways_after(Before(before * Fraction(self._spent)), self.units, level, kept)

    def _widths_of(self, scales: Sequence[float], ways: Sequence[Way]) -> Floats:
        """Of answers with these scales, for each of which the ways say what they pay."""
        scale, variance = np.array([self.units * one for one in scales]), variance_of(self.expected)
        if variance is None:
            width = hoeffding_width(self.units, np.array([1.0]), scale, ways)
        else:
            width = variance_width(np.array([self.units * variance]), np.array([1.0]), scale, ways)
        known = 1 if self._of_a_mean == 1 else _COUNTED
        return width * known / (self.units * float(self.expected.group or 1))

    @property
    def tolerance(self) -> float:
        """Within which every answer of the plan stays, queries with the same noise judged by the last."""
        return max(self._widths())

    def stays(self, within: float) -> bool:
        """Whether ``tolerance`` is at most that, with fewer looks where it is not."""
        return all(width <= within for width in self._widths())

    def _widths(self) -> Iterator[float]:
        """At every place where a plan is judged: the last one first, which is mostly the widest, then all
        that pay in as many ways together.
        """
        k = self.queries
        looks = np.rint(k * (np.arange(_LOOKS + 1) / _LOOKS) ** 2).astype(np.int64)
        looks = np.unique(np.append(looks, self.ends))[::-1]
        places = [(int(first) + 1, int(last)) for last, first in pairwise(looks)]
        yield self.width(*places[0])
        alike: dict[int, list[tuple[float, list[Way]]]] = {}
        for first, last in places[1:]:
            ways = self._ways(first, last)
            alike.setdefault(len(ways), []).append((self.scale(last), ways))
        for some in alike.values():
            scales = [scale for scale, _ in some]
            together = [_beside(own) for own in zip(*(ways for _, ways in some), strict=True)]
            yield from self._widths_of(scales, together).tolist()


def _beside(ways: Sequence[Way]) -> Way:
    """One way of each of many answers, as arrays."""
    return Way(*(np.array([getattr(way, name) for way in ways]) for name in Way.__slots__))


def variance_of(expected: Expected) -> float | None:
    """Of one unit's part, if values are in 0..1; None if nothing is expected."""
    group = float(expected.group or 1)
    if expected.share is not None:
        return float(expected.share * (1 - expected.share)) * group
    if expected.spread is not None:
        return float(expected.spread) ** 2 * group
    return group / 4 if group < 1 else None


def best_part(before: float, own: float) -> float | None:
    """c with the least before / c + own / (1 - c); None after nothing."""
    if before <= 0:
        return None
    part = math.sqrt(before) / (math.sqrt(before) + math.sqrt(own))
    return min(max(part, _LEAST_PART), 1 - 1e-6)


@lru_cache(maxsize=128)
def planned_study(
    units: int, queries: int, failure: Fraction, tolerance: Fraction, expected: Expected, noise: Noise
) -> StudyPlan:
    """The plan with the most noise that stays within ``tolerance``; if none does, one that comes near it.

    Claim:    with probability 1 - failure each of the queries, chosen in the light of the answers before
              it, is within ``plan.tolerance`` of the population, if it has values in 0..1, spends no more
              than planned, and, where something is expected of it, is as expected.
    Assumes:  as ``hoeffding_width``.
    Source:   derived here.  Theorem: PLANNED-NOISE.
    """
    within = float_down(tolerance)
    if noise == "decreasing":
        return _decreasing(units, queries, failure, within, expected)

    levels = (True, False)
    plans = [_constant(units, queries, failure, within, expected, rising=rising) for rising in levels]
    fit = [plan for plan in plans if plan.tolerance <= within]
    return max(fit, key=lambda plan: plan.scales) if fit else min(plans, key=lambda plan: plan.tolerance)


def _constant(
    units: int, queries: int, failure: Fraction, within: float, expected: Expected, *, rising: bool
) -> StudyPlan:
    """Of all scales the largest that stays within; levels that rise suit many queries, equal ones few."""

    def plan(scale: float) -> StudyPlan:
        return StudyPlan(units, queries, failure, expected, (scale,), (queries,), rising=rising)

    best = minimise(lambda x: plan(x).width(queries), within / 1000, within, _STEPS)
    if not plan(best).stays(within):
        return plan(best)
    return plan(edge(lambda x: plan(x).stays(within), best, within, halvings=_HALVINGS))


def _decreasing(units: int, queries: int, failure: Fraction, within: float, expected: Expected) -> StudyPlan:
    """Block after block the most noise with which its last query is within the tolerance."""
    ends = tuple(np.unique(np.ceil(np.linspace(0, queries, _BLOCKS + 1))[1:].astype(np.int64)).tolist())
    scales: tuple[float, ...] = ()
    for end in ends:

        def width(scale: float, end: int = end, before: tuple[float, ...] = scales) -> float:
            tried = (*before, scale)
            plan = StudyPlan(
                units, queries, failure, expected, tried, (*ends[: len(tried) - 1], queries), rising=False
            )
            return plan.width(end)

        best = minimise(width, within / 1000, within, _STEPS // 2)
        most = edge(lambda x, w=width: w(x) <= within, best, within, halvings=_HALVINGS)  # type: ignore[misc]
        scales = (*scales, most)
    return StudyPlan(units, queries, failure, expected, scales, ends, rising=False)
