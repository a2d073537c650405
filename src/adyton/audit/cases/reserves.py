"""Studies that keep a reserve, through real curators: a unit inside of it, one outside, one that comes in.

What differs inside of the reserve must not be seen at all: not one integer may move.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from adyton.audit.cases.queries import trial_of
from adyton.audit.cases.queries_asked import OLD, YOUNG, QueryCase, study_of, tables_of
from adyton.audit.cases.trial import AuditTarget, Trial, for_each_accounting
from adyton.audit.replay import Replay, Trace, all_of, compare, run_both
from adyton.kernel.privacy import Adjacency
from adyton.study import Study, Validity

READ = "a unit of the reserve was read"
_COUNT, _OLD_ONES = "SELECT COUNT(*) FROM people", "SELECT COUNT(*) FROM people WHERE age > 98"
_SUM = "SELECT SUM(age) FROM people"
_SPENT = 5  # its place in what a trace says of a receipt


@dataclass(frozen=True, slots=True)
class _Keeping:
    """A query, the neighbors, how much is kept, and where the unit that differs is, by its name."""

    asked: str
    adjacency: Adjacency
    share: Fraction
    persons: tuple[str, str] | None = None
    inside: bool = False  # on both sides


# The row that differs is the thirteenth: its hash is 0.398 of all.  Those of the persons u0 and u1 are above
# 0.6, and those of u2 and u3 below 0.25.
_STUDIES = {
    "a row, not in the reserve": _Keeping(_OLD_ONES, "replace-one", Fraction(1, 4)),
    "a row in the reserve": _Keeping(_OLD_ONES, "replace-one", Fraction(1, 2), inside=True),
    "a person, into the reserve": _Keeping(_COUNT, "replace-one", Fraction(1, 2), ("u0", "u2")),
    "a person in the reserve": _Keeping(_SUM, "replace-one", Fraction(1, 2), ("u2", "u3"), inside=True),
    "a person who leaves": _Keeping(_COUNT, "add-remove", Fraction(1, 2), ("u0", "u0")),
    "a person who leaves the reserve": _Keeping(
        _COUNT, "add-remove", Fraction(1, 2), ("u2", "u2"), inside=True
    ),
}


def _trials(accounting: str, target: AuditTarget) -> Iterator[Trial]:
    for name, keeping in _STUDIES.items():
        yield _trial(name, keeping, accounting, target)


def _trial(name: str, keeping: _Keeping, accounting: str, target: AuditTarget) -> Trial:
    case = QueryCase((keeping.asked,))
    if keeping.persons is not None:
        here, there = (
            (row.replace("u", who, 1),) * 2 for row, who in zip((OLD, YOUNG), keeping.persons, strict=True)
        )
        case = replace(case, here=here, there=there, persons=True)
    study = _study(case, keeping, accounting, target)
    with tempfile.TemporaryDirectory() as folder:
        tables = tables_of(case, keeping.adjacency, Path(folder))
        runs = run_both(
            study, tables, keeping.asked, target.bits, target.tables.open, {"epsilon": target.epsilon}
        )
    spent = runs[0].public["receipts"][0][_SPENT]
    named, found = f"{accounting} study with a reserve", _compared(runs, keeping)
    return trial_of(named, name, study, [runs], spent, found, target)


def _study(case: QueryCase, keeping: _Keeping, accounting: str, target: AuditTarget) -> Study:
    """A pure one answers also what it cannot certify."""
    pure: dict[str, Any] = {"stability": 1, "beyond_plan": "answer"} if accounting == "pure" else {}
    declared = Validity(Fraction(19, 20), reserve=keeping.share, **pure)
    return replace(study_of(case, keeping.adjacency, accounting, target), validity=declared)


def _compared(runs: tuple[Trace, Trace], keeping: _Keeping) -> Replay:
    found = compare(*runs)
    if not keeping.inside or runs[0].exact == runs[1].exact:
        return found
    return all_of([found], READ)


ENTRIES = for_each_accounting("reserve", "queries of a study with a reserve", _trials)
