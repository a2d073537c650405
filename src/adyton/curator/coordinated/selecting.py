"""A selection through the walk: the better way, the choice under its receipt, and what is shown of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from adyton.certify import (
    Absent,
    Answer,
    Bound,
    Chosen,
    Intervals,
    KeyColumn,
    KeyedRows,
    KeyLabel,
    Preview,
    RowKeys,
    Step,
    Values,
)
from adyton.curator.certifying import PopulationClaims
from adyton.curator.previewing import offer, previews
from adyton.curator.purse import Purse, plan_as_charged
from adyton.curator.releasing import AskedBefore, Release
from adyton.curator.remarks import in_no_group
from adyton.errors import LedgerCorrupt
from adyton.kernel.accounting.noisy_reading import LEVEL
from adyton.kernel.exact import Number, float_down, float_up
from adyton.kernel.ledger import Receipt
from adyton.kernel.special.choice import ChosenPlaces
from adyton.planning.known import known_of, left_out_rows
from adyton.planning.price import Price
from adyton.planning.selecting import AllValues, SelectionPlan, better, plan_all_values, plan_selection
from adyton.query.conditions.possible_cells import cell_codes
from adyton.query.labels import group_values
from adyton.query.selecting import NAMED, Selection

_ASK_AGAIN = Absent("it was chosen and answered under one receipt: ask for it as a query of its own")


@dataclass(frozen=True, slots=True)
class WrittenChoice:
    """How a choice is written down, and perhaps the values of what was chosen."""

    plan: SelectionPlan

    def made(self, noisy: ChosenPlaces) -> ChosenPlaces:
        return noisy

    def text(self, kept: ChosenPlaces) -> str:
        return json.dumps({"chosen": list(kept.places), "values": list(map(str, kept.values))})

    def read(self, text: str) -> ChosenPlaces:
        try:
            stored = json.loads(text)
            kept = ChosenPlaces(tuple(map(int, stored["chosen"])), tuple(map(int, stored["values"])))
        except (ValueError, TypeError, KeyError):
            kept = ChosenPlaces(())
        selection, valued = self.plan.selection, self.plan.values is not None
        inside = all(0 <= place < selection.candidates for place in kept.places)
        numbers = (len(set(kept.places)), len(kept.values))
        if not inside or numbers != (selection.most, selection.most if valued else 0):
            raise LedgerCorrupt("what is stored for a selection cannot be read")
        return kept

    def final_cost(self, number: int, kept: ChosenPlaces) -> None:
        return None


@dataclass(frozen=True, slots=True)
class Selecting:
    """From a selection and the words of a price to what would be, or was, released."""

    selection: Selection
    purse: Purse
    claims: PopulationClaims
    asked: AskedBefore

    def plans(self, price: Price, lefts_before: Iterable[int]) -> tuple[SelectionPlan | AllValues, Chosen]:
        """The better way, or the one that was paid for before; and how near it comes.

        ``lefts_before``: what a share may be a share of, if it paid for this very selection before.
        """
        planned, left = partial(self._plans, price), self.purse.left_now
        return plan_as_charged(planned, left, lefts_before, lambda before: self._known(before[0]))

    def _plans(self, price: Price, left: int) -> tuple[SelectionPlan | AllValues, Chosen]:
        selected = plan_selection(self.purse.study, self.selection, price, left)
        released = plan_all_values(self.purse.study, self.selection, price, left)
        taken = better(selected, released)
        if released is not None and taken is selected and not self._known(selected) and self._known(released):
            taken = released
        other = selected if taken is released else released
        beside = None if other is None or price.by == "within" else float_up(other.within)
        return taken, Chosen(
            self.selection.candidates,
            self.selection.most,
            self.selection.largest,
            LEVEL,
            float_up(taken.within),
            isinstance(taken, SelectionPlan),
            beside,
        )

    def _known(self, plan: SelectionPlan | AllValues) -> bool:
        return self.asked.knows(plan)

    def release(self, plan: SelectionPlan) -> Release[ChosenPlaces]:
        planned = partial(plan_selection, self.purse.study, self.selection, left=self.purse.left_now)
        return Release(plan, (plan.price, planned, 1), WrittenChoice(plan))

    def answer(
        self,
        plan: SelectionPlan,
        chosen: Chosen,
        receipt: Receipt,
        read: Callable[[], ChosenPlaces],
        repeated: bool,
    ) -> Answer:
        kept, purse = read(), self.purse
        name, measure = self.selection.queries[0].measures[0]
        return Answer(
            query=self.selection.title,
            rows=KeyedRows(_keys(self.selection, kept.places), _values(plan, name, kept)),
            **purse.paid(receipt, repeated=repeated),
            more=None if repeated else purse.times_again(receipt.order, receipt),
            certificate=plan.certificate,
            known={name: known_of(measure)} if plan.values is not None else {},
            left_out_rows=left_out_rows(purse.study, self.selection.queries[0]),
            remarks=self._remarks(),
            chosen=chosen,
        )

    def preview(
        self, plan: SelectionPlan | AllValues, chosen: Chosen, expect: Number | Mapping[str, Number] | None
    ) -> Preview:
        purse = self.purse
        if isinstance(plan, AllValues):
            (preview,) = previews(plan.batch, expect, purse, self.claims, self.asked)
            return replace(preview, chosen=chosen, certificate=preview.certificate.citing("NOISY-ORDER"))
        name = self.selection.queries[0].measures[0][0]
        bounds: dict[str, Bound] = {}
        if plan.values is not None:
            bounds[name] = Bound(LEVEL, float_up(plan.values.error(LEVEL) * plan.candidates.step))
        return Preview(
            query=self.selection.title,
            keys=RowKeys({}, self.selection.most),
            bounds=bounds,
            population=dict.fromkeys(bounds, _ASK_AGAIN),
            **offer(plan, self.release(plan).advice, purse, self.asked),
            steps=(self._step(plan),),
            certificate=plan.certificate,
            left_out_rows=left_out_rows(purse.study, self.selection.queries[0]),
            remarks=self._remarks(),
            later=self.claims.later(plan.radius, plan.pure),
            chosen=chosen,
        )

    def _remarks(self) -> tuple[str, ...]:
        whole = self.selection.whole
        return () if whole is None else in_no_group(whole.query, whole.shape)

    def _step(self, plan: SelectionPlan) -> Step:
        machine, one = plan.machine, float(plan.candidates.step)
        name = "permute-and-flip" if machine.flips else "exponential mechanism"
        rounds = f" ({machine.k} rounds)" if machine.k > 1 else ""
        cost = self.purse.amount(plan.amount)
        moved = float(machine.sensitivity.span) * one
        return Step("choice", name + rounds, (float(1 / machine.rate) * one,), moved, cost)


def _keys(selection: Selection, places: Sequence[int]) -> RowKeys:
    """The groups that were chosen, or the names of the queries."""
    columns: Mapping[str, list[KeyLabel]]
    if selection.whole is None:
        columns = {NAMED: [selection.names[place] for place in places]}
    else:
        query = selection.queries[0]
        codes, _ = cell_codes(query)
        shown = dict(selection.whole.shape.names)
        columns = {
            shown.get(group.name, group.name): [group_values(group)[own[place]] for place in places]
            for group, own in zip(query.by, codes, strict=True)
        }
    each = np.arange(len(places), dtype=np.int32)
    return RowKeys({name: KeyColumn(labels, each) for name, labels in columns.items()}, len(places))


def _values(plan: SelectionPlan, name: str, kept: ChosenPlaces) -> dict[str, Values]:
    if plan.values is None:
        return {}
    half, step = plan.values.error(LEVEL), plan.candidates.step
    value = np.array([float(one * step) for one in kept.values])
    low = np.array([float_down((one - half) * step) for one in kept.values])
    high = np.array([float_up((one + half) * step) for one in kept.values])
    return {name: Values(value, Intervals(LEVEL, low, high), _ASK_AGAIN)}
