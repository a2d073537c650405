"""Selections through a real curator: asked and charged on two neighboring tables, then sampled.

The plan says which mechanism was bought, and the engine reads every score once; after that the mechanism,
which is all of a selection that is random, is run as often as there are samples.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

from adyton.audit.cases.queries import claim_of
from adyton.audit.cases.queries_asked import QueryCase, study_of, tables_of
from adyton.audit.cases.trial import AuditTarget, Trial, for_each_accounting
from adyton.audit.exact import OutputLaw, law_of
from adyton.audit.replay import Movement, Replay
from adyton.audit.watching import watch, with_the_same_words
from adyton.kernel.ledger import Receipt
from adyton.kernel.noise import Bits
from adyton.kernel.privacy import ADJACENCIES, Adjacency
from adyton.kernel.sensitivity import Sensitivity
from adyton.kernel.special.mechanisms.selection.exponential import ExponentialMechanism
from adyton.kernel.special.mechanisms.selection.permute_and_flip import PermuteAndFlip
from adyton.planning.price import price_of
from adyton.planning.selecting import SelectionPlan, plan_selection
from adyton.query.queries import count
from adyton.query.selecting import BestOf, best_of
from adyton.study import Study

_CASE = QueryCase(())
# Nobody but the unit that differs: half of the counts have it on one table, half on the other.
_WHERE = ("age > 90", "age > 95", "age < 10", "age < 5")


@dataclass(frozen=True, slots=True)
class SelectionRun:
    """One selection: what was charged, what it said, the scores behind it, and what was done, in order."""

    receipt: Receipt
    said: list[dict[str, Any]]
    scores: tuple[int, ...]
    sensitivities: tuple[Sensitivity, ...]
    events: tuple[str, ...]


def _selections(accounting: str, target: AuditTarget) -> Iterator[Trial]:
    for adjacency in ADJACENCIES:
        for most, with_value in ((1, False), (2, True)):
            yield _trial(accounting, adjacency, most, with_value, target)


def _trial(accounting: str, adjacency: Adjacency, most: int, with_value: bool, target: AuditTarget) -> Trial:
    study = study_of(_CASE, adjacency, accounting, target)
    asked = best_of([count(where) for where in _WHERE], most, with_value=with_value)
    price = price_of(epsilon=target.epsilon)
    plan = plan_selection(study, asked.on(study.table), price, study.allowed)
    with tempfile.TemporaryDirectory() as folder:
        tables = tables_of(_CASE, adjacency, Path(folder))
        run = partial(_run, study, asked, target)
        first, second = with_the_same_words(run, tables, target.bits)
    alone = most == 1 and not with_value
    return Trial(
        f"{accounting} selection",
        f"the best {most} of {len(_WHERE)} counts" + (", with values" if with_value else ""),
        adjacency,
        _release(plan, target.bits),
        (first.scores, second.scores),
        claim_of(study, first.receipt.order.amount),
        replayed=_compared(first, second),
        laws=(_law(plan, first.scores), _law(plan, second.scores)) if alone else None,
        slow=True,
    )


def _run(study: Study, asked: BestOf, target: AuditTarget, data: Path, bits: Bits) -> SelectionRun:
    with target.tables.open(study, data) as opened:
        curator, watched = watch(opened, bits)
        said = curator.ask(asked, epsilon=target.epsilon).records()
        scores = tuple(int(columns[0][0]) for columns in watched.exact_integers)
        moved = tuple(reading.sensitivity for reading in watched.readings)
        return SelectionRun(curator.receipts()[0], said, scores, moved, tuple(watched.events))


def _release(plan: SelectionPlan, bits: Bits) -> Callable[[tuple[int, ...]], tuple[Any, ...]]:
    def release(scores: tuple[int, ...]) -> tuple[Any, ...]:
        places = plan.machine.release(scores, bits)
        if plan.values is None:
            return places
        noisy = plan.values.release([[scores[place] for place in places]], bits)[0]
        return (*places, *map(int, noisy))

    return release


def _law(plan: SelectionPlan, scores: tuple[int, ...]) -> OutputLaw:
    machine = plan.machine
    kind = PermuteAndFlip if machine.flips else ExponentialMechanism
    one = kind(machine.candidates, machine.epsilon, machine.sensitivity)
    return law_of(one.law(scores))


def _compared(first: SelectionRun, second: SelectionRun) -> Replay:
    """The charge must not differ, nor what the engine was asked, and no score by more than allowed."""
    faults = []
    orders = [(run.receipt.number, run.receipt.order, run.receipt.spent) for run in (first, second)]
    if orders[0] != orders[1]:
        faults.append("the receipt differs")
    if _steps(first) != _steps(second):
        faults.append("the control flow differs")
    shapes = [[sorted(row) for row in run.said] for run in (first, second)]
    if shapes[0] != shapes[1]:
        faults.append("the shape of the answer differs")
    one = (Fraction(1),)
    movements = [
        Movement(where, Fraction(gap), own.l1_diameter(one), Fraction(gap) ** 2, own.l2_diameter_squared(one))
        for where, own, a, b in zip(_WHERE, first.sensitivities, first.scores, second.scores, strict=True)
        for gap in [abs(a - b)]
    ]
    faults += [f"{m.name} moved farther than its sensitivity allows" for m in movements if m.too_far]
    return Replay(first.receipt.order.query, tuple(faults), tuple(movements))


def _steps(run: SelectionRun) -> list[str]:
    """How many words a choice reads may depend on scores, by coins that must read on: see the mechanisms."""
    return [event for event in run.events if not event.startswith("bits")]


ENTRIES = for_each_accounting("selections", "selections through a curator", _selections)
