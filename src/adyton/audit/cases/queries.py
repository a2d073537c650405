"""Whole queries through a real curator, on neighboring tables that move the integers as far as can be.

The curator itself makes the plan and reads each table once; after that the release, which is all of a
query that is random, is repeated as often as there are samples.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from adyton.audit.cases.queries_asked import QUERIES, QueryCase, study_of, tables_of
from adyton.audit.cases.trial import AuditTarget, Trial
from adyton.audit.replay import Replay, Trace, aligned, compare, keys_of, run_both
from adyton.certify import RoundedGuarantee
from adyton.kernel.engine import DiscoveredGroup
from adyton.kernel.exact import UNITS_PER_ONE
from adyton.kernel.exact.outward import SAFE
from adyton.kernel.measurement import Columns
from adyton.kernel.noise import Bits
from adyton.kernel.privacy import Adjacency
from adyton.kernel.searching import SearchLevels
from adyton.kernel.sensitivity import Reading
from adyton.kernel.special.discovery import GroupDiscovery
from adyton.kernel.special.mechanisms.workloads.measured import Measured
from adyton.planning.coordinated.choosing import CoordinatedBatch
from adyton.planning.measures.search import Search
from adyton.planning.part import MeasurePlan
from adyton.planning.plan import PricedBatch, QueryPlan, make_batch
from adyton.planning.price import price_of
from adyton.query.request import request_of
from adyton.study import Study

__all__ = ["QUERIES", "ReadIntegers", "ask_both", "claim_of", "mu_of", "trial_of"]

Outputs = npt.NDArray[np.int64]
_AT_ONCE = 4096  # cells that are searched together
_MANY = 3  # numbers in an output: comparing them all takes long


@dataclass(frozen=True, slots=True)
class ReadIntegers:
    """What one table gives: its integers and, for groups that nobody declared, all keys of both tables."""

    exact: list[Columns]
    keys: Sequence[DiscoveredGroup] | None = None


def ask_both(name: str, adjacency: Adjacency, accounting: str, target: AuditTarget) -> Trial:
    """Ask query ``name`` of both tables through the curator, and prepare to release it many times."""
    case = QUERIES[name]
    study = study_of(case, adjacency, accounting, target)
    asked: Any = list(case.asked) if len(case.asked) > 1 else case.asked[0]
    with tempfile.TemporaryDirectory() as folder:
        tables = tables_of(case, adjacency, Path(folder))
        runs = run_both(study, tables, asked, target.bits, target.tables.open, {"epsilon": target.epsilon})
    for run in runs:
        if run.refused is not None:
            raise run.refused
    batch = _batch(study, case, target)
    if runs[0].public["receipts"][0][2] != batch.detail:
        raise AssertionError("the plan that is sampled is not the plan that was charged")
    release = release_of(batch.plans, target.bits)
    if isinstance(batch, CoordinatedBatch):
        release = _together(batch, target.bits)
    keys, (first, second) = keys_of(*runs), runs
    known = ReadIntegers(aligned(first, second), keys), ReadIntegers(aligned(second, first), keys)
    return Trial(
        f"{accounting} query",
        name,
        adjacency,
        release,
        known,
        claim_of(study, batch.amount),
        mu=mu_of(study, batch.amount),
        replayed=compare(*runs),
        slow=release(known[0], 1).shape[1] > _MANY,
    )


def trial_of(
    mechanism: str,
    name: str,
    study: Study,
    runs: Sequence[tuple[Trace, Trace]],
    amount: int,
    replayed: Replay,
    target: AuditTarget,
) -> Trial:
    """All that these queries released together, for what was charged for them."""
    here, there = (ReadIntegers([read for run in runs for read in run[side].exact]) for side in (0, 1))
    release = release_of([plan for first, _ in runs for plan in first.plans], target.bits)
    claim, mu = claim_of(study, amount), mu_of(study, amount)
    return Trial(
        mechanism, name, study.unit.adjacency, release, (here, there), claim, mu=mu, replayed=replayed
    )


def claim_of(study: Study, amount: int) -> RoundedGuarantee:
    return RoundedGuarantee(study.epsilon_of(amount), float(study.budget.delta))


def mu_of(study: Study, amount: int) -> float | None:
    """What a gdp study charges is mu**2; discovering groups has a delta beside it."""
    if study.accounting != "gdp" or study.discovery_delta:
        return None
    return math.sqrt(amount / UNITS_PER_ONE) * SAFE


def release_of(plans: Sequence[QueryPlan], bits: Bits) -> Callable[[ReadIntegers, int], Outputs]:
    def release(known: ReadIntegers, n: int) -> Outputs:
        """n rows; a column for each integer that the query releases."""
        exact, released = iter(known.exact), []
        for plan in plans:
            if plan.discovery is not None:
                return _found(plan, plan.discovery, known, n, bits)
            for part in plan.parts:
                released += _of_part(part, next(exact), n, bits)
        return np.concatenate(released, axis=1)

    return release


def _together(batch: CoordinatedBatch, bits: Bits) -> Callable[[ReadIntegers, int], Outputs]:
    own = batch.noise.mechanism

    def release(known: ReadIntegers, n: int) -> Outputs:
        many = replace(own, strategy=_Repeated(own.strategy, n))
        return many.release(batch.measurement.histogram(known.exact), bits).reshape(n, -1)

    return release


@dataclass(frozen=True, slots=True)
class _Repeated:
    """What a strategy measures, so many times: to be given noise, never to be priced."""

    of: Measured
    times: int
    name = "repeated"

    @property
    def rows(self) -> int:
        return self.of.rows * self.times

    def measure(self, histogram: Any) -> Outputs:
        return np.tile(self.of.measure(histogram), self.times)

    def l2_diameter_squared(self, adjacency: Adjacency) -> int:
        raise AssertionError("this is not priced")

    def l1_diameter(self, adjacency: Adjacency) -> int:
        raise AssertionError("this is not priced")

    def l2_radius_squared(self) -> Fraction:
        raise AssertionError("this is not priced")

    def l1_radius(self) -> int:
        raise AssertionError("this is not priced")


def _of_part(part: MeasurePlan, exact: Columns, n: int, bits: Bits) -> list[Outputs]:
    if isinstance(part, Search):
        most = max(1, _AT_ONCE // part.only.reading.sensitivity.cells)
        blocks = [min(most, n - start) for start in range(0, n, most)]
        return [np.concatenate([_searched(part, exact[0], block, bits) for block in blocks])]
    repeated = [list(column) * n for column in exact]
    return [
        np.array(column, dtype=np.int64).reshape(n, -1)
        for column in part.only.mechanism.release(repeated, bits)
    ]


def _searched(part: Search, counts: Sequence[int], n: int, bits: Bits) -> Outputs:
    """n searches at once, as if they were those of n times as many groups."""
    reading = part.only.reading
    many = replace(reading.sensitivity, cells=reading.sensitivity.cells * n)
    wide = SearchLevels(replace(part.only, reading=replace(reading, sensitivity=many)))
    if wide.first_bins != SearchLevels(part.only).first_bins:
        raise AssertionError("the searches that are sampled are not the one that was charged")
    released = wide.release([list(counts) * n], _nothing, bits)
    return np.concatenate([np.array(column, dtype=np.int64).reshape(n, -1) for column in released], axis=1)


def _found(plan: QueryPlan, discovery: GroupDiscovery, known: ReadIntegers, n: int, bits: Bits) -> Outputs:
    """For each key of either table whether it is shown, its values if so, and the noisy number of keys."""
    assert known.keys is not None
    counts, size = known.exact[0][0], len(known.keys)
    kept = discovery.release([(i,) for i in range(size * n)], [list(counts) * n], 1, bits)
    shown = np.zeros((n * size, 1), np.int64)
    shown[kept.places] = 1
    occurring = sum(1 for units in counts if units)
    (number,) = discovery.number.mechanism.release([[occurring] * n], bits)
    outputs, exact = [shown.reshape(n, size), np.array(number, np.int64).reshape(n, 1)], iter(known.exact[1:])
    for part in plan.parts:
        passed = [[column[i % size] for i in kept.places] for column in next(exact)]
        for column in part.only.mechanism.release(passed, bits):
            values = np.zeros(n * size, np.int64)
            values[kept.places] = column
            outputs.append(values.reshape(n, size))
    return np.concatenate(outputs, axis=1)


def _nothing(reading: Reading) -> Columns:
    raise AssertionError("a search over one level reads nothing more")


def _batch(study: Study, case: QueryCase, target: AuditTarget) -> PricedBatch:
    asked = [request_of(sql, study.table) for sql in case.asked]
    return make_batch(study, asked, price_of(epsilon=target.epsilon), study.allowed)
