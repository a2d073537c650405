"""Two studies with one shared budget, through real curators: one unit differs in the data of both of them.

The output of a trial is the answers of both studies, and its claim is what their shared budget says is spent:
all of it, half by the first study and the rest by the second.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from pathlib import Path

from adyton.audit.cases.queries import trial_of
from adyton.audit.cases.queries_asked import OLD, QueryCase, study_of, tables_of
from adyton.audit.cases.split_studies import as_gdp, told_apart
from adyton.audit.cases.trial import AuditTarget, Trial, for_each_accounting
from adyton.audit.replay import Replay, Trace, all_of, compare, run_both
from adyton.curator import Curator
from adyton.kernel.exact import UNITS_PER_ONE
from adyton.kernel.privacy import Adjacency, Guarantee
from adyton.ledgers.shared_budget import SharedBudget
from adyton.study import Study

_TABLES = ("visits", "bills")
_COUNTS = ("SELECT COUNT(*) FROM visits WHERE age > 98", "SELECT COUNT(*) FROM bills WHERE income > 99")
_SHARES = ("0.5", "1")  # of what the shared budget has left
_SUMS = ("SELECT SUM(age) FROM visits", "SELECT COUNT(*) FROM bills WHERE income > 99")


@dataclass(frozen=True, slots=True)
class _Sharing:
    """A query for each of two studies, the neighbors, and whether a unit is a person."""

    asked: tuple[str, str]
    adjacency: Adjacency
    persons: bool


_SHARED_BUDGETS = {
    "a row of each": _Sharing(_COUNTS, "replace-one", persons=False),
    "a person in both": _Sharing(_SUMS, "replace-one", persons=True),
    "a person who leaves both": _Sharing(_COUNTS, "add-remove", persons=True),
}


def _trials(accounting: str, target: AuditTarget) -> Iterator[Trial]:
    for name, sharing in _SHARED_BUDGETS.items():
        yield _trial(name, sharing, accounting, target)


def _trial(name: str, sharing: _Sharing, accounting: str, target: AuditTarget) -> Trial:
    case = QueryCase(sharing.asked, here=(OLD, OLD) if sharing.persons else (OLD,), persons=sharing.persons)
    own = study_of(case, sharing.adjacency, accounting, target)
    with tempfile.TemporaryDirectory() as folder:
        tables = tables_of(case, sharing.adjacency, Path(folder))
        budget = Guarantee(target.epsilon, own.budget.delta)
        opened = partial(
            _in_its_shared_budget, target, {table: _shared_budget(table, own, budget) for table in tables}
        )
        runs = [
            run_both(_named(own, table), tables, asked, target.bits, opened, {"share": share})
            for table, asked, share in zip(_TABLES, sharing.asked, _SHARES, strict=True)
        ]
        spent = [_spent(_beside(table)) for table in tables]
    found = _compared(own, runs, spent)
    return trial_of(f"{accounting} shared budget of two studies", name, own, runs, spent[0], found, target)


def _named(study: Study, name: str) -> Study:
    """A study of the same units: its columns, and a table of its own."""
    return replace(study, table=replace(study.table, name=name), shared_budget=Path())


def _shared_budget(table: Path, study: Study, budget: Guarantee) -> Path:
    """For all studies of these units, as small as what is claimed."""
    SharedBudget.create(
        _beside(table),
        epsilon=budget.epsilon,
        delta=budget.delta,
        accounting=study.accounting,
        unit=study.unit.word,
        adjacency=study.unit.adjacency,
    ).close()
    return _beside(table)


def _beside(table: Path) -> Path:
    return table.with_suffix(".shared_budget")


def _in_its_shared_budget(
    target: AuditTarget, shared_budgets: dict[Path, Path], study: Study, data: Path
) -> Curator:
    """Each of the two neighboring worlds has a shared budget of its own."""
    return target.tables.open(replace(study, shared_budget=shared_budgets[data]), data)


def _spent(path: Path) -> int:
    with SharedBudget(path) as shared_budget:
        return shared_budget.totals().spent


def _compared(study: Study, runs: Sequence[tuple[Trace, Trace]], spent: Sequence[int]) -> Replay:
    """Nothing may differ in any answer; and together they tell apart at most what the budget was charged."""
    faults = []
    if spent[0] != spent[1]:
        faults.append(f"the shared budgets differ: {spent[0]} and {spent[1]}")
    if _apart(study, runs) > _paid(study, spent[0]):
        faults.append("the answers of both studies tell apart more than their shared budget was charged")
    return all_of([compare(*both) for both in runs], *faults)


def _apart(study: Study, runs: Sequence[tuple[Trace, Trace]]) -> Fraction:
    l1, l2_squared = told_apart(runs)
    return l1 if study.accounting == "pure" else l2_squared


def _paid(study: Study, spent: int) -> Fraction:
    return Fraction(spent, UNITS_PER_ONE) if study.accounting == "pure" else as_gdp(study, spent)


ENTRIES = for_each_accounting("shared-budgets", "two studies that share a budget", _trials)
