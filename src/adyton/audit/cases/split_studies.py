"""Studies that split their units, through real curators: all their queries, and all that was charged.

Each query reads a part of its own, and what is charged is the greatest price.  So the output of a trial is
the transcript of the whole study, and its claim is what the last receipt says is spent.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

from adyton.audit.cases.queries import trial_of
from adyton.audit.cases.queries_asked import OLD, YOUNG, QueryCase, study_of, tables_of
from adyton.audit.cases.trial import AuditTarget, Trial, for_each_accounting
from adyton.audit.noise_seen import distances, gaps
from adyton.audit.replay import Replay, Trace, all_of, compare, run_both
from adyton.curator import Curator
from adyton.kernel.exact import UNITS_PER_ONE
from adyton.kernel.privacy import Adjacency
from adyton.study import Study, Validity

_COUNTS = ("SELECT COUNT(*) FROM people", "SELECT COUNT(*) FROM people WHERE age IS NOT NULL")
_OLD_ONES = ("SELECT COUNT(*) FROM people WHERE age > 98", "SELECT COUNT(*) FROM people WHERE age > 97")
_SUMS = ("SELECT SUM(income) FROM people", "SELECT SUM(income) FROM people WHERE age >= 0")
_TRIED = 64  # names: that all of them are in one of two parts is a 1e-19 event
_SPENT = 5  # its place in what a trace says of a receipt


@dataclass(frozen=True, slots=True)
class _Splitting:
    """Two queries, the neighbors, and whether an exchanged person comes to another part."""

    asked: tuple[str, str]
    adjacency: Adjacency
    persons: bool
    moves: bool = False


_STUDIES = {
    "a row": _Splitting(_OLD_ONES, "replace-one", persons=False),
    "a person, to another part": _Splitting(_COUNTS, "replace-one", persons=True, moves=True),
    "a person, in one part": _Splitting(_SUMS, "replace-one", persons=True),
    "a person who leaves": _Splitting(_COUNTS, "add-remove", persons=True),
}


def _trials(accounting: str, target: AuditTarget) -> Iterator[Trial]:
    for name, splitting in _STUDIES.items():
        yield _trial(name, splitting, accounting, target)


def _trial(name: str, splitting: _Splitting, accounting: str, target: AuditTarget) -> Trial:
    case = QueryCase(splitting.asked, persons=splitting.persons)
    study = _study(case, splitting.adjacency, accounting, target)
    price = {"epsilon": target.epsilon}
    with tempfile.TemporaryDirectory() as folder:
        case = _placed(case, splitting, study, Path(folder), target, price)
        tables = tables_of(case, splitting.adjacency, Path(folder))
        runs = [_run(study, tables, case.asked, number, target, price) for number in range(len(case.asked))]
    spent = runs[-1][0].public["receipts"][-1][_SPENT]
    found = _compared(study, runs, spent)
    return trial_of(f"{accounting} split study", name, study, runs, spent, found, target)


def _study(case: QueryCase, adjacency: Adjacency, accounting: str, target: AuditTarget) -> Study:
    declared = Validity(Fraction(19, 20), queries=len(case.asked), method="split")
    return replace(study_of(case, adjacency, accounting, target), validity=declared)


def _run(
    study: Study, tables: tuple[Any, Any], asked: Sequence[str], number: int, target: AuditTarget, price: Any
) -> tuple[Trace, Trace]:
    """A query on both tables, by curators that were asked those before it."""
    opened = partial(_after, target, asked[:number], price)
    return run_both(study, tables, asked[number], target.bits, opened, price)


def _after(target: AuditTarget, asked: Sequence[str], price: Any, study: Study, data: Path) -> Curator:
    curator = target.tables.open(study, data)
    for sql in asked:
        curator.ask(sql, **price)
    return curator


def _placed(
    case: QueryCase, splitting: _Splitting, study: Study, folder: Path, target: AuditTarget, price: Any
) -> QueryCase:
    """An exchanged person has another name, which is in another part or in the same one.

    Parts follow from names by a salted hash, so names are tried: whether the first part has as many rows.
    Persons have as many rows as they may, all alike.
    """
    if not splitting.persons:
        return case
    if splitting.adjacency == "add-remove":
        return replace(case, here=(OLD, OLD))
    for number in range(1, _TRIED):
        tried = replace(case, here=(_named(OLD, 0),) * 2, there=(_named(YOUNG, number),) * 2)
        tables = tables_of(tried, splitting.adjacency, folder)
        first, second = _run(study, tables, _COUNTS, 0, target, price)
        if (first.exact != second.exact) == splitting.moves:
            return tried
    raise AssertionError("a hash sends all persons to one part, or no two of them")


def _named(row: str, number: int) -> str:
    _, values = row.split(",", 1)
    return f"u{number},{values}"


def _compared(study: Study, runs: Sequence[tuple[Trace, Trace]], spent: int) -> Replay:
    """Nothing may differ in any query; and together they tell apart at most what was paid."""
    faults = []
    if told_apart(runs)[1] > as_gdp(study, spent):
        faults.append("all answers together tell the two tables apart by more than was charged")
    return all_of([compare(*both) for both in runs], *faults)


def told_apart(runs: Sequence[tuple[Trace, Trace]]) -> tuple[Fraction, Fraction]:
    """In units of the noise: distances, and squared ones, which are mu**2 of Gaussian answers."""
    sums = squares = Fraction(0)
    for first, second in runs:
        noisy = [one for plan in first.plans for one in plan.noisy]
        for one, a, b in zip(noisy, first.exact, second.exact, strict=True):
            moved = gaps(one.reading, a, b)
            assert moved is not None  # nothing here is a search
            l1, l2_squared = distances(moved, one.mechanism.scales)
            sums, squares = sums + l1, squares + l2_squared
    return sums, squares


def as_gdp(study: Study, spent: int) -> Fraction:
    """As mu**2: rho of a zcdp study is half of it."""
    return Fraction(spent, UNITS_PER_ONE) * (2 if study.accounting == "zcdp" else 1)


ENTRIES = for_each_accounting(
    "split", "all queries of a study that splits its units", _trials, ("gdp", "zcdp")
)
