"""Studies that round their answers, through real curators: what is rounded had its noise before.

What is rounded to a tenth of its range says nearly all that its noise says: if it was rounded first, or got
less noise, this would show.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

from adyton.audit.cases.queries import trial_of
from adyton.audit.cases.queries_asked import QueryCase, study_of, tables_of
from adyton.audit.cases.trial import AuditTarget, Trial, for_each_accounting
from adyton.audit.replay import compare, run_both
from adyton.study import Validity

_GRID = Fraction(1, 10)
_STUDIES = {
    "count": QueryCase(("SELECT COUNT(*) FROM people WHERE age > 98",)),
    "mean of a group": QueryCase(("SELECT AVG(age) FROM people WHERE age > 20",)),
    "sum, a person": QueryCase(("SELECT SUM(income) FROM people",), persons=True),
}
_AMOUNT = 3  # its place in what a trace says of a receipt


def _trials(accounting: str, target: AuditTarget) -> Iterator[Trial]:
    for name, case in _STUDIES.items():
        yield _trial(name, case, accounting, target)


def _trial(name: str, case: QueryCase, accounting: str, target: AuditTarget) -> Trial:
    declared = Validity(Fraction(19, 20), method="rounding", grid=_GRID)
    study = replace(study_of(case, "replace-one", accounting, target), validity=declared)
    with tempfile.TemporaryDirectory() as folder:
        tables = tables_of(case, "replace-one", Path(folder))
        runs = run_both(
            study, tables, case.asked[0], target.bits, target.tables.open, {"epsilon": target.epsilon}
        )
    amount = runs[0].public["receipts"][0][_AMOUNT]
    return trial_of(f"{accounting} rounding study", name, study, [runs], amount, compare(*runs), target)


ENTRIES = for_each_accounting("rounding", "answers of a study that rounds them", _trials, ("gdp", "zcdp"))
