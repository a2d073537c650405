"""The terms of a PMW run: what is fixed when it is opened, as text in the ledger and back."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from fractions import Fraction

from adyton.certify import Certificate
from adyton.errors import InvalidRequest
from adyton.kernel.exact import rational
from adyton.kernel.ledger import Receipt
from adyton.kernel.mechanisms import GaussianNoise
from adyton.kernel.mechanisms.geometric import GeometricNoise
from adyton.kernel.schema import Table, day_number
from adyton.kernel.special.mechanisms.sparse.numeric_sparse import NumericSparse
from adyton.kernel.special.monitor import Pmw
from adyton.kernel.terms.measures import Count
from adyton.monitors.plan import certificate_of, detail_of, machine_from
from adyton.monitors.pmw.run import PrivateMwPlan
from adyton.planning.readings import readings_of
from adyton.query.conditions.atoms import Axes, Bins, axes_of_columns
from adyton.query.nodes import Query
from adyton.study import Study

KeptBins = tuple[tuple[str, int | tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True)
class Terms:
    """``rows``: how many units there are, if that is public; otherwise a total with noise of ``total_scale``
    is released first.  ``threshold``: a guess that is wrong by so many rows is found out, but for noise.
    """

    columns: tuple[str, ...]
    bins: KeptBins
    cells: int
    queries: int
    rows: int | None
    total_scale: Fraction | None
    threshold: int
    machine: NumericSparse

    @property
    def updates(self) -> int:
        return self.machine.sparse.positives

    @property
    def total(self) -> GaussianNoise | GeometricNoise | None:
        """The noise of the number of all rows, where that is private."""
        if self.total_scale is None:
            return None
        return (GaussianNoise if self.machine.gaussian else GeometricNoise)((self.total_scale,))

    def measurement(self, study: Study) -> Pmw:
        """What the kernel prices, and compares later."""
        if self.total is None:
            return Pmw(self.machine, self.threshold, self.rows)
        (everybody,) = readings_of(Query(study.table, (("count", Count()),)), study.unit)
        return Pmw(self.machine, self.threshold, None, self.total, everybody)

    def axes(self, table: Table) -> Axes:
        return axes_of_columns(table, self.columns, dict(self.bins))

    def run(self, total: int) -> PrivateMwPlan:
        """With ``total`` units; the guess is corrected by what is measured, however small."""
        return PrivateMwPlan(self.cells, total, self.machine, self.threshold, gap=0.5 / total)

    @property
    def text(self) -> str:
        plural = "" if self.updates == 1 else "S"
        return (
            f"PMW OVER {self.cells} CELLS OF {', '.join(self.columns)} FOR {self.queries} QUERIES "
            f"HALTING AFTER {self.updates} UPDATE{plural}"
        )

    @property
    def detail(self) -> str:
        scale = None if self.total_scale is None else repr(float(self.total_scale))
        facts = [self.columns, self.bins, self.cells, self.queries, self.rows, scale, self.threshold]
        return json.dumps(["pmw", *facts, detail_of(self.machine)])

    def certificate(self, study: Study) -> Certificate:
        compared = certificate_of(study, self.machine)
        own = ("PMW-PRIVACY", "PMW-ERROR", "PUBLIC-CELLS", *(self.total.theorems if self.total else ()))
        return Certificate(tuple(dict.fromkeys((*own, *compared.theorems))), compared.assumptions)


def terms_of(receipt: Receipt) -> Terms:
    """The terms that a receipt paid for; InvalidRequest if it paid for something else."""
    terms = terms_in(receipt)
    if terms is None:
        raise InvalidRequest(f"receipt {receipt.number} did not pay for PMW")
    return terms


def terms_in(receipt: Receipt) -> Terms | None:
    """The terms that a receipt paid for; None if it paid for something else."""
    order = receipt.order
    terms = _terms_in(order.detail) if order.kind == "pmw" else None
    if terms is None or terms.detail != order.detail:
        return None
    return terms


def _terms_in(detail: str) -> Terms | None:
    try:
        kind, columns, bins, cells, queries, rows, scale, threshold, own = json.loads(detail)
        machine = machine_from(own)
        if kind != "pmw" or not isinstance(machine, NumericSparse):
            return None
        kept = tuple((name, given if isinstance(given, int) else tuple(given)) for name, given in bins)
        total_scale = None if scale is None else Fraction(float(scale))
        return Terms(tuple(columns), kept, cells, queries, rows, total_scale, threshold, machine)
    except (ValueError, TypeError, InvalidRequest):
        return None


def kept_bins(axes: Axes, bins: Mapping[str, Bins]) -> KeptBins:
    """Bins of the columns of these axes in one spelling: a day is its number, an edge is a fraction."""
    names = {axis.subject.column.name.casefold(): axis.subject.column.name for axis in axes.axes}
    kept: dict[str, int | tuple[str, ...]] = {}
    for name, given in bins.items():
        own = names.get(name.casefold())
        if own is None:
            raise InvalidRequest(f"bins are given for {name!r}, which is not among the columns")
        kept[own] = given if isinstance(given, int) else tuple(_edge(name, edge) for edge in given)
    return tuple(sorted(kept.items()))


def _edge(name: str, edge: object) -> str:
    exact = Fraction(day_number(edge)) if isinstance(edge, date) else rational(edge, f"bins of {name}")
    return str(exact)


def checked_columns(columns: object) -> tuple[str, ...]:
    if isinstance(columns, str) or not isinstance(columns, Sequence) or not columns:
        raise InvalidRequest('columns are a list of names, as in ["age", "region"]')
    if not all(isinstance(name, str) for name in columns):
        raise InvalidRequest("the names of columns are text")
    return tuple(columns)
