"""Accuracy per slice: public groups of items, and one score that answers all of them."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

import numpy as np

from adyton.errors import InvalidRequest
from adyton.holdout.methods.base import Ends, HoldoutSize
from adyton.holdout.methods.gaussian import GaussianPlan
from adyton.holdout.methods.gaussian_plans import GaussianWish, plan_gaussian
from adyton.holdout.metrics import Array, one_list
from adyton.kernel.exact import float_down, float_up, rational
from adyton.kernel.exact.outward import MANY, UNIT_ROUNDOFF
from adyton.kernel.special.scores import ScoreBlocks
from adyton.validity.plans.tilts import at_level
from adyton.validity.subset.tails import Way
from adyton.validity.subset.widths import least_share, price_of

_MOST_SLICES = 1000


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """``codes``: for each item the place of its group among ``names``."""

    names: tuple[str, ...]
    sizes: tuple[int, ...]
    codes: Array = field(repr=False)


@dataclass(frozen=True, slots=True)
class SlicesPlan:
    """Every slice is a holdout of its own with fresh noise; all of them are scored at once.

    Claim:    with probability 1 - failure the intervals of every slice of every score hold, and so do those
              of the mean of all items; one score costs an item what the score of its own slice costs.
    Assumes:  as GaussianPlan; the groups are public and were fixed in advance.
    Source:   derived here.  Theorem: SLICES.
    """

    frame: HoldoutSize
    scores: int
    names: tuple[str, ...]
    sizes: tuple[int, ...]
    scales: tuple[float, ...]
    reaches: tuple[tuple[float, float], ...]
    expected: Fraction | None = None
    name: ClassVar[str] = "slices"
    accounting: ClassVar[str] = "gdp"

    def __post_init__(self) -> None:
        many = {len(self.names), len(self.sizes), len(self.scales), len(self.reaches)}
        if len(many) > 1 or sum(self.sizes) != self.frame.items:
            raise ValueError

    @property
    def theorems(self) -> tuple[str, ...]:
        return ("SLICES", *self.part(0).theorems)

    @property
    def blocks(self) -> tuple[ScoreBlocks, ...]:
        """The noise of each slice."""
        return tuple(ScoreBlocks((self.scores,), (scale,)) for scale in self.scales)

    def part(self, i: int) -> GaussianPlan:
        blocks = ScoreBlocks((self.scores,), (self.scales[i],))
        frame = part_of(self.frame, self.sizes[i], len(self.sizes))
        return GaussianPlan(frame, blocks, self.reaches[i], self.expected)

    def shares(self, text: str) -> list[Fraction]:
        return [self.part(i).share(released) for i, released in enumerate(json.loads(text))]

    def slice_ends(self, text: str, number: int) -> list[Ends]:
        return [self.part(i).ends([x], [number])[0] for i, x in enumerate(json.loads(text))]

    def widths(self) -> list[float]:
        return [self.part(i).half_width() for i in range(len(self.names))]

    def half_width(self) -> float:
        """Of the slice with the widest interval."""
        return max(self.widths())

    def overall(self, text: str) -> Fraction:
        """The mean of all items."""
        return Fraction(sum(json.loads(text)), self.frame.whole)

    def overall_ends(self, text: str, number: int) -> Ends:
        """Of the mean of all items: one query, whose noise is that of all slices together.

        Theorem: SLICES.
        """
        items, stray = self.frame.items, Fraction(len(self.sizes), 2 * self.frame.steps)
        total = Fraction(sum(json.loads(text)), self.frame.steps)
        noise, spent, low, high = _whole(self, number)
        bottom = _least(total - stray, items, noise, _way(items, spent, *low))
        top = items - _least(items - total - stray, items, noise, _way(items, spent, *high))
        return bottom / items - self.frame.rounding, top / items + self.frame.rounding

    def settings(self) -> dict[str, str | int]:
        facts: dict[str, str | int] = {"scores": self.scores, "names": json.dumps(self.names)}
        facts |= {"sizes": json.dumps(self.sizes), "scales": json.dumps(self.scales)}
        facts |= {"reach": json.dumps(self.reaches)}
        return facts if self.expected is None else {**facts, "expected": str(self.expected)}


@lru_cache(maxsize=4096)
def _whole(plan: SlicesPlan, number: int) -> tuple[float, Fraction, tuple[float, float], tuple[float, float]]:
    """Of the mean of all items: its noise, what was spent before it, and for both ends the part kept and
    the level.

    One more claim beside those of the slices, with the same failure, dealt out evenly among the scores.
    """
    scales = [Fraction(scale) / plan.frame.steps for scale in plan.scales]
    noise = float_up(
        Fraction(math.sqrt(float_up(sum((x * x for x in scales), Fraction(0)))) * (1 + 10 * UNIT_ROUNDOFF))
    )
    each = sum((size / (4 * x * x) for size, x in zip(plan.sizes, scales, strict=True)), Fraction(0))
    spent = (number - 1) * each / plan.frame.items
    failure = plan.frame.failure / (len(plan.sizes) + 1)
    level = math.log(float_down(failure / (2 * plan.scores)) * (1 - MANY))
    kept = [
        float(at_level(plan.frame.items, noise, share, np.array([float(spent)]), np.array([level])).kept[0])
        for share in _shares(plan.expected)
    ]
    return noise, spent, (kept[0], level), (kept[1], level)


def _shares(expected: Fraction | None) -> tuple[float | None, float | None]:
    """Of the values, and of what they lack to 1."""
    return (None, None) if expected is None else (float(expected), float(1 - expected))


def _way(items: int, spent: Fraction, kept: float, level: float) -> Way:
    return Way(1.0, 0.0, level) if spent == 0 else Way(1 - kept, price_of(items, spent, kept), level)


def _least(answer: Fraction, units: int, noise: float, way: Way) -> Fraction:
    return Fraction(float(least_share(np.array([float(answer)]), units, noise, [way])[0])) * units


def part_of(frame: HoldoutSize, size: int, slices: int) -> HoldoutSize:
    """A slice has its own items and its share of the failure; the mean of all has one too.  Theorem:
    SLICES."""
    return replace(frame, items=size, failure=frame.failure / (slices + 1))


def groups_from(given: object, items: int) -> Groups:
    raw = one_list(given, "groups")
    if raw.size != items:
        raise InvalidRequest(f"{items:,} groups are needed, one for each item, not {raw.size:,}")
    if raw.dtype.kind not in "biuU":
        raise InvalidRequest("groups must be strings or whole numbers")
    names, codes, sizes = np.unique(raw, return_inverse=True, return_counts=True)
    if names.size > _MOST_SLICES:
        raise InvalidRequest(f"at most {_MOST_SLICES:,} groups, not {names.size:,}")
    return Groups(
        tuple(str(name) for name in names), tuple(int(size) for size in sizes), codes.astype(np.uint16)
    )


def plan_slices(frame: HoldoutSize, groups: Groups, wish: GaussianWish) -> SlicesPlan:
    """As many scores as the smallest slice allows, and for each slice the best noise for so many."""
    frames = [part_of(frame, size, len(groups.sizes)) for size in groups.sizes]
    firsts = [_named(name, f, wish) for name, f in zip(groups.names, frames, strict=True)]
    k = min(made.scores for made in firsts)
    so_many = replace(wish, tolerance=None, scores=k)
    plans = [made if made.scores == k else plan_gaussian(made.frame, so_many) for made in firsts]
    scales, reaches = (made.blocks.scales[0] for made in plans), (made.reach for made in plans)
    return SlicesPlan(frame, k, groups.names, groups.sizes, tuple(scales), tuple(reaches), wish.expected)


def _named(name: str, frame: HoldoutSize, wish: GaussianWish) -> GaussianPlan:
    try:
        return plan_gaussian(frame, wish)
    except InvalidRequest as refused:
        raise InvalidRequest(f"group {name!r}: {refused}") from None


def restored_slices(frame: HoldoutSize, settings: dict[str, str | int]) -> SlicesPlan:
    """From the file of a holdout; KeyError, ValueError or TypeError if it cannot be read."""
    names, sizes, scales, reaches = (
        json.loads(str(settings[key])) for key in ("names", "sizes", "scales", "reach")
    )
    if type(settings["scores"]) is not int or any(type(size) is not int for size in sizes):
        raise TypeError
    expected = rational(settings["expected"], "expected") if "expected" in settings else None
    return SlicesPlan(
        frame, settings["scores"], tuple(names), tuple(sizes), tuple(map(float, scales)),
        tuple((float(low), float(high)) for low, high in reaches), expected,
    )  # fmt: skip
