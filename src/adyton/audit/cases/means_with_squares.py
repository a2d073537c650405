"""Means that release the squares of their values too, through real curators.

Squares have a twentieth of the price, so a fault of their noise hardly shows among all three numbers.  So
they are tried alone too: a column with Gaussian noise of its own is a release of its own.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from adyton.audit.cases.queries import ReadIntegers, mu_of, release_of
from adyton.audit.cases.queries_asked import MIDDLE, QueryCase, study_of, tables_of
from adyton.audit.cases.trial import AuditedMechanism, AuditTarget, Trial, gaussian_claim, gaussian_mu
from adyton.audit.replay import Trace, compare, run_both
from adyton.kernel.accounting import gaussian
from adyton.kernel.exact.outward import SAFE
from adyton.kernel.privacy import ADJACENCIES, Adjacency, Guarantee
from adyton.planning.measures.mean_with_squares import MeanWithSquares
from adyton.study import Study, Validity

_MEAN = QueryCase(("SELECT AVG(age) FROM people",), times=250)  # with fewer rows squares would not pay
_FROM_THE_MIDDLE = replace(_MEAN, there=(MIDDLE,))  # from there to an end a square moves farthest
_AMOUNT = 3  # its place in what a trace says of a receipt
_SQUARES = MeanWithSquares.columns.index("squares")


def _trials(target: AuditTarget) -> Iterator[Trial]:
    mu = gaussian_mu(target, "Gaussian")
    for adjacency in ADJACENCIES:
        study, runs = _asked(_MEAN, adjacency, target, mu)
        whole = mu_of(study, runs[0].public["receipts"][0][_AMOUNT])
        assert whole is not None
        dearer = mu * whole / _mu_of_squares(runs[0], adjacency)
        alone, both = _asked(_FROM_THE_MIDDLE, adjacency, target, dearer)
        yield _trial(
            "the squares of a mean", alone, both, _mu_of_squares(both[0], adjacency), target, _SQUARES
        )
        yield _trial("a mean and its squares", study, runs, whole, target)


def _asked(
    case: QueryCase, adjacency: Adjacency, target: AuditTarget, mu: float
) -> tuple[Study, tuple[Trace, Trace]]:
    """For about this mu.  The delta of the study is small, as it has many rows."""
    small = study_of(replace(case, times=1), adjacency, "gdp", target)
    rows = len(case.others) + 1
    delta = min(target.delta, Fraction(1, 2 * rows))
    study = replace(
        small,
        table=replace(small.table, rows=rows),
        budget=Guarantee(small.budget.epsilon, delta),
        validity=Validity(Fraction(19, 20)),
    )
    price = {"epsilon": gaussian.epsilon_up(mu, float(delta))}
    with tempfile.TemporaryDirectory() as folder:
        tables = tables_of(case, adjacency, Path(folder))
        runs = run_both(study, tables, case.asked[0], target.bits, target.tables.open, price)
    if not isinstance(runs[0].plans[0].parts[0], MeanWithSquares):
        raise AssertionError("this mean does not release its squares")
    return study, runs


def _mu_of_squares(run: Trace, adjacency: Adjacency) -> float:
    """What is claimed of them: from one end of their box to the other, or from none to either end."""
    only = run.plans[0].parts[0].only
    low, high = only.reading.sensitivity.boxes[_SQUARES]
    moved = high - low if adjacency == "replace-one" else max(high, -low)
    return float(Fraction(moved) / only.mechanism.scales[_SQUARES]) * SAFE


def _trial(
    name: str,
    study: Study,
    runs: tuple[Trace, Trace],
    mu: float,
    target: AuditTarget,
    column: int | None = None,
) -> Trial:
    """With one column of what is released, or all of them."""
    release = release_of(runs[0].plans, target.bits)

    def shown(known: Any, n: int) -> Any:
        released = release(known, n)
        return released if column is None else released[:, column]

    return Trial(
        "gdp query",
        name,
        study.unit.adjacency,
        shown,
        (ReadIntegers(runs[0].exact), ReadIntegers(runs[1].exact)),
        gaussian_claim(mu, target),
        mu=mu,
        replayed=compare(*runs),
    )


ENTRIES = (
    AuditedMechanism("gdp-means-with-squares", "means that release the squares of their values", _trials),
)
