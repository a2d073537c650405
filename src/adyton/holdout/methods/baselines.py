"""Two older ways without noise: fresh items for every score, and scores rounded to a coarse grid."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar, TypeVar

from adyton.arithmetic.search import largest_that_holds
from adyton.errors import InvalidRequest
from adyton.holdout.methods.base import Ends, HoldoutSize
from adyton.holdout.metrics import COARSE
from adyton.kernel.exact import float_up
from adyton.validity.published.compressibility import Rounded, counted_rounding_width
from adyton.validity.splitting import exact_splitting_width, splitting_width

_MOST = 10**9
_Baseline = TypeVar("_Baseline", "SplitPlan", "RoundingPlan")


@dataclass(frozen=True, slots=True)
class SplitPlan:
    """Score j rests on the j-th of ``scores`` equal parts of the items, in the order in which they are kept.

    Its claim is that of ``splitting_width``.
    """

    frame: HoldoutSize
    scores: int
    name: ClassVar[str] = "split"
    accounting: ClassVar[str] = "pure"
    theorems: ClassVar[tuple[str, ...]] = ("SAMPLE-SPLITTING",)

    @property
    def each(self) -> int:
        return self.frame.items // self.scores

    def share(self, released: int) -> Fraction:
        return Fraction(released, self.each * self.frame.steps)

    def half_width(self) -> float:
        return _split_width(self.frame, self.scores)

    def ends(self, released: Sequence[int], numbers: Sequence[int]) -> list[Ends]:
        return [around(self.share(one), self.half_width()) for one in released]

    def settings(self) -> dict[str, str | int]:
        return {"scores": self.scores}


@dataclass(frozen=True, slots=True)
class RoundingPlan:
    """The middle of one of ``cells`` equal cells of [0, 1].

    Its claim is that of ``counted_rounding_width``.
    """

    frame: HoldoutSize
    scores: int
    name: ClassVar[str] = "rounding"
    accounting: ClassVar[str] = "pure"
    theorems: ClassVar[tuple[str, ...]] = ("FORKING-PATHS",)

    @property
    def cells(self) -> int:
        return _rounded(self.frame, self.scores).levels

    def share(self, released: int) -> Fraction:
        return Fraction(2 * released + 1, 2 * self.cells)

    def ends(self, released: Sequence[int], numbers: Sequence[int]) -> list[Ends]:
        return [around(self.share(one), self.half_width()) for one in released]

    def half_width(self) -> float:
        return float_up(Fraction(_rounded(self.frame, self.scores).tolerance) + self.frame.rounding)

    def settings(self) -> dict[str, str | int]:
        return {"scores": self.scores}


def around(value: Fraction, half: float) -> Ends:
    return value - Fraction(half), value + Fraction(half)


@lru_cache(maxsize=256)
def _split_width(frame: HoldoutSize, scores: int) -> float:
    made = splitting_width(frame.items, scores, frame.failure)
    if made is not None and frame.steps == COARSE and frame.items // scores <= 10**5:
        made = exact_splitting_width(frame.items, scores, frame.failure)
    return math.inf if made is None else float_up(Fraction(made) + frame.rounding)


@lru_cache(maxsize=256)
def _rounded(frame: HoldoutSize, scores: int) -> Rounded:
    return counted_rounding_width(frame.items, scores, frame.failure)


def plan_baseline(
    kind: type[_Baseline], frame: HoldoutSize, tolerance: Fraction | None, scores: int | None
) -> _Baseline:
    """As many scores as the tolerance allows, or so many if that is certified."""
    if scores is None and tolerance is None:
        raise InvalidRequest("give a tolerance, or how many scores there will be, or both")
    if scores is None:
        scores = largest_that_holds(lambda k: kind(frame, k).half_width() <= (tolerance or 0), _MOST)
    if scores < 1:
        raise InvalidRequest(f"{frame.items:,} items certify no score within {float(tolerance or 0):g}")
    made = kind(frame, scores)
    width = made.half_width()
    if width >= 1 or (tolerance is not None and width > tolerance):
        raise InvalidRequest(
            f"{scores:,} scores from {frame.items:,} items are certified within {width:.4g} by {kind.name}"
        )
    return made
