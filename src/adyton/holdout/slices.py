"""Accuracy per slice: public groups of items, and one score that answers all of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np

from adyton.errors import InvalidRequest
from adyton.exact import float_up
from adyton.holdout.gaussian import Gaussian, plan_gaussian
from adyton.holdout.methods import Frame
from adyton.holdout.metrics import Array, Steps, one_list
from adyton.noise import Bits

_MOST_SLICES = 1000


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """``codes``: for each item the place of its group among ``names``."""

    names: tuple[str, ...]
    sizes: tuple[int, ...]
    codes: Array = field(repr=False)


@dataclass(frozen=True, slots=True)
class Slices:
    """Every slice is a holdout of its own with fresh noise; all of them are scored at once.

    Claim:    with probability 1 - failure every slice of every score is within ``half_width`` of its
              population, and so is the mean of all items; one score costs an item what the score of its own
              slice costs.
    Assumes:  as Gaussian; the groups are public and were fixed in advance.
    Source:   derived here.  Theorem: SLICES.
    """

    frame: Frame
    scores: int
    names: tuple[str, ...]
    sizes: tuple[int, ...]
    scales: tuple[float, ...]
    name: ClassVar[str] = "slices"
    currency: ClassVar[str] = "gdp"

    def __post_init__(self) -> None:
        if not len(self.names) == len(self.sizes) == len(self.scales) or sum(self.sizes) != self.frame.items:
            raise ValueError

    @property
    def theorems(self) -> tuple[str, ...]:
        return ("SLICES", *self.part(0).theorems)

    @property
    def price(self) -> int:
        return max(self.part(i).price for i in range(len(self.names)))

    @property
    def radius(self) -> int:
        return max(self.part(i).radius for i in range(len(self.names)))

    def part(self, i: int) -> Gaussian:
        return Gaussian(part_of(self.frame, self.sizes[i], len(self.sizes)), self.scores, self.scales[i])

    def release_all(self, values: Steps, codes: Array, bits: Bits) -> str:
        """The noisy sum of each slice."""
        sums = np.bincount(codes, weights=values, minlength=len(self.names))  # floats, exact below 2**53
        return json.dumps([self.part(i).release(int(exact), bits) for i, exact in enumerate(sums)])

    def shares(self, text: str) -> list[Fraction]:
        return [self.part(i).share(released) for i, released in enumerate(json.loads(text))]

    def widths(self) -> list[float]:
        return [self.part(i).half_width(1) for i in range(len(self.names))]

    def half_width(self, number: int) -> float:
        """Of the slice with the widest interval."""
        return max(self.widths())

    def overall(self, of_slices: Sequence[Fraction]) -> Fraction:
        """The mean of all items, or its half-width, from those of the slices."""
        return (
            sum((n * x for n, x in zip(self.sizes, of_slices, strict=True)), Fraction(0)) / self.frame.items
        )

    def overall_width(self) -> float:
        return float_up(self.overall([Fraction(width) for width in self.widths()]))

    def settings(self) -> dict[str, str | int]:
        facts: dict[str, str | int] = {"scores": self.scores, "names": json.dumps(self.names)}
        return {**facts, "sizes": json.dumps(self.sizes), "scales": json.dumps(self.scales)}


def part_of(frame: Frame, size: int, slices: int) -> Frame:
    """A slice has its own items and its share of the failure.  Theorem: SLICES."""
    return replace(frame, items=size, failure=frame.failure / slices)


def groups_from(given: object, items: int) -> Groups:
    raw = one_list(given, "groups")
    if raw.size != items:
        raise InvalidRequest(f"{items:,} groups are needed, one for each item, not {raw.size:,}")
    if raw.dtype.kind not in "biuU":
        raise InvalidRequest("groups must be texts or whole numbers")
    names, codes, sizes = np.unique(raw, return_inverse=True, return_counts=True)
    if names.size > _MOST_SLICES:
        raise InvalidRequest(f"at most {_MOST_SLICES:,} groups, not {names.size:,}")
    return Groups(
        tuple(str(name) for name in names), tuple(int(size) for size in sizes), codes.astype(np.uint16)
    )


def plan_slices(frame: Frame, groups: Groups, tolerance: Fraction | None, scores: int | None) -> Slices:
    """As many scores as the smallest slice allows, and for each slice the best noise for so many."""
    frames = [part_of(frame, size, len(groups.sizes)) for size in groups.sizes]
    firsts = [_named(name, f, tolerance, scores) for name, f in zip(groups.names, frames, strict=True)]
    k = min(made.scores for made in firsts)
    plans = [made if made.scores == k else plan_gaussian(made.frame, None, k) for made in firsts]
    return Slices(frame, k, groups.names, groups.sizes, tuple(made.scale for made in plans))


def _named(name: str, frame: Frame, tolerance: Fraction | None, scores: int | None) -> Gaussian:
    try:
        return plan_gaussian(frame, tolerance, scores)
    except InvalidRequest as refused:
        raise InvalidRequest(f"group {name!r}: {refused}") from None


def restored_slices(frame: Frame, settings: dict[str, str | int]) -> Slices:
    """From the file of a holdout; KeyError, ValueError or TypeError if it cannot be read."""
    names, sizes, scales = (json.loads(str(settings[key])) for key in ("names", "sizes", "scales"))
    if type(settings["scores"]) is not int or any(type(size) is not int for size in sizes):
        raise TypeError
    return Slices(frame, settings["scores"], tuple(names), tuple(sizes), tuple(float(s) for s in scales))
