"""Studies that round their answers, through real curators: what is rounded had its noise before.

What is rounded to a tenth of its range says nearly all that its noise says: if it was rounded first, or got
less noise, this would show.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path

from adyton.audit.cases.questions import Known, mu_of, release_of
from adyton.audit.cases.questions_asked import Case, study_of, tables_of
from adyton.audit.cases.trial import AuditTarget, Listed, Trial
from adyton.audit.replay import compare, run_both
from adyton.certify import Promise
from adyton.study import Validity

_FILTERS = ("gdp", "zcdp")
_GRID = Fraction(1, 10)
_STUDIES = {
    "count": Case(("SELECT COUNT(*) FROM people WHERE age > 98",)),
    "mean of a group": Case(("SELECT AVG(age) FROM people WHERE age > 20",)),
    "sum, a person": Case(("SELECT SUM(income) FROM people",), persons=True),
}
_AMOUNT = 3  # its place in what a trace says of a receipt


def _trials(filter_name: str, target: AuditTarget) -> Iterator[Trial]:
    for name, case in _STUDIES.items():
        yield _trial(name, case, filter_name, target)


def _trial(name: str, case: Case, filter_name: str, target: AuditTarget) -> Trial:
    declared = Validity(Fraction(19, 20), method="rounding", grid=_GRID)
    study = replace(study_of(case, "replace", filter_name, target), validity=declared)
    with tempfile.TemporaryDirectory() as folder:
        tables = tables_of(case, "replace", Path(folder))
        runs = run_both(
            study, tables, case.asked[0], target.bits, target.tables.open, {"epsilon": target.epsilon}
        )
    amount = runs[0].public["receipts"][0][_AMOUNT]
    return Trial(
        f"{filter_name} rounding study",
        name,
        "replace",
        release_of(runs[0].plans, target.bits),
        (Known(runs[0].exact, None), Known(runs[1].exact, None)),
        Promise(study.epsilon_of(amount), float(study.limit.delta)),
        mu=mu_of(study, amount),
        replayed=compare(*runs),
    )


ENTRIES: tuple[Listed, ...] = tuple(
    (
        f"{name}-rounding",
        f"answers of a study that rounds them, {name} filter",
        partial(_trials, name),
        (),
    )
    for name in _FILTERS
)
