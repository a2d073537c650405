"""What a holdout asks the kernel for: its scores, comparisons and choices as measurements, with prices."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from adyton.holdout.classes.uniform_plan import UniformPlan
from adyton.holdout.labels import GAP, SCORE
from adyton.holdout.methods.baselines import RoundingPlan, SplitPlan
from adyton.holdout.methods.choosing import choosing_rate
from adyton.holdout.methods.gaussian import GaussianPlan
from adyton.holdout.methods.restoring import Plan, PricedPlan
from adyton.holdout.methods.slices import SlicesPlan
from adyton.kernel.accounting.rules import accounting_named
from adyton.kernel.measurement import AnyMeasurement
from adyton.kernel.price import Label, Priced, price
from adyton.kernel.privacy import PrivacyUnit
from adyton.kernel.protection import Protection
from adyton.kernel.schema import IntegerColumn, Table
from adyton.kernel.sensitivity import Coordinate, Reading, Sensitivity
from adyton.kernel.special.scores import ExactScore, ModelVote, NoisyScore, ScoreBlocks, ScoreGrid
from adyton.kernel.terms.buckets import Bucket
from adyton.kernel.terms.expressions import Square
from adyton.kernel.terms.leaves import EVERY_ROW, ValueOf
from adyton.kernel.terms.measures import Sum

_VOTED = "part of a choice"


@dataclass(frozen=True, slots=True, eq=False)
class Measures:
    """Of one plan: the private table, what its readings are, and what they cost."""

    plan: Plan
    protection: Protection = field(init=False)
    amount: int = field(init=False)  # of one score, or of a staged method as a whole
    _score: Reading = field(init=False)
    _gap: Reading = field(init=False)

    def __post_init__(self) -> None:
        plan, steps = self.plan, self.plan.frame.steps
        score, gap = IntegerColumn(SCORE, 0, steps), IntegerColumn(GAP, -steps, steps)
        table, groups = Table("items", (score, gap)), tuple[Bucket, ...]()
        if isinstance(plan, SlicesPlan) and len(plan.names) > 1:
            group = IntegerColumn("group", 0, len(plan.names) - 1)
            table, groups = Table("items", (score, gap, group)), (Bucket("group", ValueOf(group)),)
        parts = plan.scores if isinstance(plan, SplitPlan) else 1
        unit, rule = PrivacyUnit("replace-one", parts=parts), accounting_named(plan.accounting)
        set_once = partial(object.__setattr__, self)
        set_once("protection", Protection(table, unit, rule, holdout=True))
        set_once("_score", _reading(table, ValueOf(score), groups))
        set_once("_gap", _reading(table, ValueOf(gap)))
        whole = self.scored("") if isinstance(plan, PricedPlan) else plan.measurement
        set_once("amount", self.priced(whole, "").due.amount)

    @property
    def budget(self) -> int:
        """What may ever be charged: every score, or the one price of a staged method."""
        return self.plan.scores * self.amount if isinstance(self.plan, PricedPlan) else self.amount

    def priced(self, measurement: AnyMeasurement, query: str, detail: str | None = None) -> Priced:
        return price(measurement, self.protection, Label((query,), detail or self.plan.name))

    def reading(self, name: str) -> Reading:
        """The sum of what the submission is worth, which the reader of labels knows by this name."""
        return replace(self._score, name=name)

    def reading_beside(self, name: str) -> Reading:
        """That of the first of two, by how much it is more than the other's, and the squares of that."""
        gap = self._gap.coordinates[0]
        assert isinstance(gap.value, ValueOf)
        return replace(
            self._score, name=name, coordinates=(*self._score.coordinates, gap, Coordinate(Square(gap.value)))
        )

    def scored(self, name: str) -> AnyMeasurement:
        """One score, as the plan releases it."""
        plan, readings = self.plan, (self.reading(name),)
        match plan:
            case GaussianPlan():
                return NoisyScore(readings, (plan.blocks,))
            case SlicesPlan():
                return NoisyScore(readings, plan.blocks)
            case RoundingPlan():
                return ExactScore(readings, ScoreGrid(plan.cells, 0, plan.frame.whole, plan.cells - 1))
            case SplitPlan() | UniformPlan():
                return ExactScore(readings)
        raise TypeError("a staged method has no price for one score")

    def compared(self, plan: GaussianPlan, name: str) -> AnyMeasurement:
        """A difference of two sums: it has twice the range of a sum, and twice the noise.

        Theorem: PAIRED-COMPARISON.
        """
        twice = ScoreBlocks(plan.blocks.counts, tuple(2 * scale for scale in plan.blocks.scales))
        return NoisyScore((replace(self._gap, name=name),), (twice,))

    def voted(
        self, plan: GaussianPlan, names: Sequence[str], earlier: Sequence[int] | None = None
    ) -> AnyMeasurement:
        """A place of a choice among submissions; after all ``earlier`` ones it is made.  Before that nothing
        is read, and one of them says what a place costs.
        """
        known = names if earlier is not None else names[:1]
        readings, rate = tuple(map(self.reading, known)), partial(choosing_rate, plan)
        places = None if earlier is None else tuple(earlier)
        return ModelVote(readings, plan.blocks, rate, plan.frame.greater_is_better, places)

    def last(self, name: str) -> AnyMeasurement:
        return ExactScore((self.reading(name),), last=True)


def _reading(table: Table, value: ValueOf, groups: tuple[Bucket, ...] = ()) -> Reading:
    coordinates = (Coordinate(value),)
    cells = 1 if not groups else groups[0].value.lattice.high + 1
    sensitivity = Sensitivity((coordinates[0].box,), cells, "replace-one")
    return Reading(
        "", Sum(value), EVERY_ROW, coordinates, groups, sensitivity, table=table, groups=len(groups)
    )


@dataclass(frozen=True, slots=True)
class ScoreTexts:
    """How the ledger keeps what was released.  Satisfies ``Written``.  ``listed``: numbers of slices."""

    listed: bool = False

    def made(self, noisy: Any) -> str:
        if noisy is None:
            return _VOTED
        found = noisy if isinstance(noisy, list) else [noisy]
        return json.dumps(found) if self.listed else str(found[0])

    def text(self, kept: str) -> str:
        return kept

    def read(self, text: str) -> str:
        return text

    def final_cost(self, number: int, kept: str) -> None:
        return None
