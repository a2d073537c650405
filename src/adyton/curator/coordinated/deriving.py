"""What follows from batches that were measured together: nothing is read, and nothing charged.

Of every such batch that this study was answered, what was measured is stored, with how.  A count that is a
sum of its cells, and in the row space of its strategy, is determined already.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from adyton.certify import Answer, Bound, Certificate, Proof
from adyton.curator.certifying import rows_of_many
from adyton.curator.shaping import shaped
from adyton.errors import InvalidRequest
from adyton.kernel.accounting.noisy_reading import LEVEL
from adyton.kernel.ledger import Ledger, Receipt
from adyton.kernel.ledger.base import counted
from adyton.kernel.ledger.texts import Stored
from adyton.planning.coordinated.inferred import Derived, MeasuredIntegers, measurement_from_text
from adyton.planning.coordinated.linear import LinearBatch, linears_of, problem_of
from adyton.planning.known import assumptions_of
from adyton.planning.plan import QueryPlan
from adyton.planning.readings import readings_of
from adyton.population.base import PopulationContext
from adyton.population.position import Position
from adyton.query.canonical import canonical_text
from adyton.query.request import AS_ASKED, Request, request_of

if TYPE_CHECKING:
    from adyton.curator.curator import Curator

_MOST = 256  # receipts that are looked at, the newest first
_MOST_TEXTS = 2000  # of a batch, which are read again
_DETERMINED = 1e-6  # of a row, that floats may be off by


@dataclass(frozen=True, slots=True)
class Earlier:
    """A batch that was answered: its cells, and what was measured."""

    receipt: Receipt
    problem: LinearBatch
    measurement: MeasuredIntegers


def derive(curator: Curator, request: Request) -> Answer:
    """The narrowest of what the batches of this study determine.  InvalidRequest where none does."""
    found = _narrowest(curator, request)
    if found is None:
        raise InvalidRequest(
            "this does not follow from what was measured for a batch of this study: ask it; nothing was "
            "charged"
        )
    return _answer(curator, *found)


def offered(curator: Curator, request: Request) -> dict[str, Bound]:
    """How far each value is determined already; nothing where it is not."""
    found = _narrowest(curator, request)
    return {} if found is None else {part.name: part.bound(None) for part in found[1].parts}


def _narrowest(curator: Curator, request: Request) -> tuple[Earlier, QueryPlan] | None:
    found = [(earlier, plan) for earlier in _earlier(curator) if (plan := _plan(curator, request, earlier))]
    return min(found, key=lambda pair: _widest(pair[1]), default=None)


def _widest(plan: QueryPlan) -> float:
    return max(part.widest for part in plan.parts if isinstance(part, Derived))


def _earlier(curator: Curator) -> Iterator[Earlier]:
    """The newest first."""
    for receipt in _receipts(curator._ledger):
        text, texts = curator._ledger.recall(receipt.number), receipt.order.texts
        if text is None or len(texts) > _MOST_TEXTS:
            continue
        problem = _problem(curator, texts)
        if json.loads(receipt.order.detail)[-1] == problem.digest:  # another version may divide differently
            yield Earlier(receipt, problem, measurement_from_text(text))


def _receipts(ledger: Ledger) -> Iterator[Receipt]:
    yield from ledger.find("workload", after=max(0, ledger.count() - _MOST))


def _problem(curator: Curator, texts: Sequence[str]) -> LinearBatch:
    """The cells follow from the texts alone."""
    queries = tuple(request_of(text, *curator.study.tables).query for text in texts)
    unit = curator.study.unit_of(queries[0].table)
    return problem_of(queries, tuple(reading for q in queries for reading in readings_of(q, unit)))


def _plan(curator: Curator, request: Request, earlier: Earlier) -> QueryPlan | None:
    """How the query follows from what was measured, if it does."""
    query, noise = request.query, earlier.measurement.noise
    readings = readings_of(query, curator.study.unit_of(query.table))
    try:
        linears = linears_of(query, readings, earlier.problem)
        norms = [noise.measuring.norms(linear) for linear in linears]
    except InvalidRequest:
        return None
    if any(own.off.max() > _DETERMINED for own in norms):
        return None
    parts = [Derived(r, li, noise, own) for r, li, own in zip(readings, linears, norms, strict=True)]
    theorems = ("DERIVED-ANSWERS", "PUBLIC-CELLS", "POST-PROCESSING", *noise.mechanism.theorems)
    certificate = Certificate(theorems, assumptions_of(curator.study, query.table))
    planned = (query, canonical_text(query), tuple(parts), certificate)
    return QueryPlan(*planned, None, None, request.shape, request.remarks)


def _answer(curator: Curator, earlier: Earlier, plan: QueryPlan) -> Answer:
    receipt, purse = earlier.receipt, curator._purse
    stored = [Stored([[earlier.measurement] for _ in plan.parts])]
    context = PopulationContext(curator._population, Position.of(counted(curator._ledger, receipt)), None)
    (rows,) = rows_of_many([plan], stored, context)
    shown = rows if plan.shape == AS_ASKED else shaped(rows, plan, 0, lambda: stored, context)
    return Answer(
        query=plan.title,
        rows=shown,
        **purse.account(0),
        more=None,
        receipt=Proof(receipt.number, receipt.digest, receipt.previous),
        certificate=plan.certificate,
        rows_hidden=len(rows) - len(shown),
        known=plan.shown,
        hidden=plan.hidden,
        remarks=plan.remarks,
        free=f"it follows from what receipt {receipt.number} paid for; its intervals, at {LEVEL * 100:g} %, "
        "hold simultaneously for all that is derived from it",
    )
