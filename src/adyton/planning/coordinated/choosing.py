"""Whether a batch is answered together, and by which strategy: whatever is narrowest at one price.

All of it follows from the queries, the price and the study.  What gains less than two per cent is left as
it was: each value with noise of its own.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from itertools import islice
from typing import get_args

from adyton.certify import Certificate
from adyton.errors import InvalidRequest
from adyton.kernel.accounting.noisy_reading import stability_units
from adyton.kernel.privacy import PrivacyUnit
from adyton.kernel.sensitivity import Reading
from adyton.kernel.special.mechanisms.workloads.measured import GaussianMeasured, GeometricMeasured
from adyton.kernel.special.workload import Workload
from adyton.planning.coordinated.candidates import StrategyName, measurings
from adyton.planning.coordinated.inferred import Inferred, StrategyNoise
from adyton.planning.coordinated.linear import LinearBatch, Set, problem_of
from adyton.planning.coordinated.measuring import Measuring, Norms
from adyton.planning.plan import Outline, PricedBatch, QueryPlan
from adyton.planning.price import units_of
from adyton.planning.readings import histogram_of_axes
from adyton.study.validity import refuse_where_rounded

_GAIN = 1.02
_SURE = 1e-6  # of a row, that floats may be off by
_ROUNDS = 100
_A_LITTLE = Fraction(10005, 10000)


@dataclass(frozen=True, slots=True)
class CoordinatedBatch(PricedBatch):
    """A batch whose values all follow from one measurement."""

    noise: StrategyNoise = field(kw_only=True)
    problem: LinearBatch = field(kw_only=True)
    unit: PrivacyUnit = field(kw_only=True)
    gain: float = field(kw_only=True)  # times less variance than each for itself; at a named width, less cost
    at_least: int = field(kw_only=True)  # is charged, even if the noise costs a little less

    @property
    def detail(self) -> str:
        """What is measured is stored with its answer: another machine may find another optimum."""
        kind = self.noise.measuring.kind
        sizes = (f"{self.problem.values} values", f"{self.problem.cells} cells")
        return json.dumps(["together", kind, *sizes, self.problem.digest])

    @property
    def tables(self) -> Sequence[Set]:
        """The axes of the tables that are read, in the order of the readings."""
        return [tuple(self.problem.kept[i] for i in kept) for kept in self.noise.measuring.tables]

    @property
    def readings(self) -> list[Reading]:
        return list(self.measurement.readings)

    @property
    def measurement(self) -> Workload:
        """What the kernel prices and releases."""
        counted = [histogram_of_axes(self.problem.axes, by, self.unit) for by in self.tables]
        tables = tuple(zip(self.noise.measuring.tables, counted, strict=True))
        return Workload(tables, self.noise.mechanism, self.at_least)


def coordinated(outline: Outline, plain: PricedBatch, left: int, strategy: str | None) -> PricedBatch:
    """The batch with one strategy for all; ``plain`` where that is not possible, or no better."""
    known: dict[str | None, StrategyName | None] = {None: None, **{n: n for n in get_args(StrategyName)}}
    if strategy not in known:
        raise InvalidRequest(f"unknown strategy {strategy!r}; known: {', '.join(get_args(StrategyName))}")
    pure = outline.study.rule.capped and outline.study.validity is not None
    if strategy == "independent" or (strategy is None and pure):  # which would lose population intervals
        return plain
    try:
        found = _best(outline, plain, left, known[strategy])
    except InvalidRequest:
        if strategy is not None:
            raise
        return plain
    return found if strategy is not None or found.gain >= _GAIN else plain


def _best(outline: Outline, plain: PricedBatch, left: int, strategy: StrategyName | None) -> CoordinatedBatch:
    study, unit, price = outline.study, outline.unit, plain.price
    refuse_where_rounded(study, "a batch that is measured together")
    if study.parts > 1 or price.by == "scale":
        raise InvalidRequest("answers are coordinated at a width, an epsilon or a share, of all units")
    queries = tuple(asking.query for asking in outline.requests)
    readings = tuple(one.reading for one in outline.measured)
    problem = problem_of(queries, readings)
    best = _narrowest(problem, unit, study.rule.noise.gaussian, strategy)
    if price.by == "within":
        noise = best.within([float(price.of(r.name)) * (r.public_rows or 1) for r in readings])
        at_least, amount = 1, study.rule.amount(noise.mechanism.cost(unit.adjacency))
        gain = plain.amount / amount
    else:
        at_least = amount = units_of(study, price, left)
        noise = best.at(study.rule.noise_cost(amount))
        gain = _spread_of(plain) / best.spread(noise)
    radius = stability_units(noise.mechanism.radius())
    plans = _plans(plain, problem, noise, best.norms)
    return CoordinatedBatch(
        plans,
        amount,
        radius,
        price,
        plain,
        noise=noise,
        problem=problem,
        unit=unit,
        gain=gain,
        at_least=at_least,
    )


@lru_cache(maxsize=4)
def _narrowest(
    problem: LinearBatch, unit: PrivacyUnit, gaussian: bool, strategy: StrategyName | None
) -> _Candidate:
    found = [
        _Candidate(m, problem, unit, gaussian)
        for m in measurings(problem, unit.adjacency, gaussian, strategy)
    ]
    sure = [one for one in found if all(own.off.max() <= _SURE for own in one.norms)]
    if not sure:
        raise InvalidRequest("no strategy was found that determines all of these values")
    return min(sure, key=lambda one: one.spread(one.at(Fraction(1))))


class _Candidate:
    """A way to measure a problem, and the norms of all its values."""

    def __init__(self, measuring: Measuring, problem: LinearBatch, unit: PrivacyUnit, gaussian: bool) -> None:
        self._measuring, self._unit, self._gaussian = measuring, unit, gaussian
        self.norms: list[Norms] = [measuring.norms(linear) for linear in problem.linears]

    def at(self, cost: Fraction) -> StrategyNoise:
        kind = GaussianMeasured if self._gaussian else GeometricMeasured
        mechanism = kind.for_cost(self._measuring.strategy, self._unit.adjacency, cost, self._unit.rows)
        return StrategyNoise(self._measuring, mechanism)

    def spread(self, noise: StrategyNoise) -> float:
        """The sum of all squared widths."""
        return sum(float((noise.widths(own) ** 2).sum()) for own in self.norms)

    def within(self, named: Sequence[float]) -> StrategyNoise:
        """The most noise, nearly, with which no value is wider than is named for its measure."""
        cost = Fraction(1)
        for _ in range(_ROUNDS):
            noise = self.at(cost)
            widest = [float(noise.widths(own).max()) for own in self.norms]
            over = max(width / most for width, most in zip(widest, named, strict=True))
            if 1 >= over > 0.99:
                return noise
            cost *= Fraction(over) ** (2 if self._gaussian else 1) * _A_LITTLE
        raise InvalidRequest("no noise was found for these widths: name an epsilon or a share")


def _spread_of(plain: PricedBatch) -> float:
    """The sum of all squared widths, in rows, where each value has noise of its own."""
    total = 0.0
    for plan in plain.plans:
        for part in plan.parts:
            reading = part.only.reading
            half = part.bound(None).half_width
            assert half is not None
            total += (half * (reading.public_rows or 1)) ** 2 * reading.cells
    return total


def _plans(
    plain: PricedBatch, problem: LinearBatch, noise: StrategyNoise, norms: Sequence[Norms]
) -> tuple[QueryPlan, ...]:
    in_order = iter(zip(problem.linears, norms, strict=True))
    plans = []
    for plan in plain.plans:
        parts = tuple(
            Inferred(part.only.reading, linear, noise, own, part.only.nats)
            for part, (linear, own) in zip(plan.parts, islice(in_order, len(plan.parts)), strict=True)
        )
        plans.append(replace(plan, parts=parts, certificate=_certificate(noise, plan.certificate)))
    return tuple(plans)


def _certificate(noise: StrategyNoise, plain: Certificate) -> Certificate:
    """Instead of the theorems on noise of its own."""
    alone = {"L1-SENSITIVITY", "L2-SENSITIVITY", "NOISE-INTERVAL", "DISJOINT-FILTERS", "CELLS-THAT-CAN-MATCH"}
    special = {"marginals": ("RESIDUAL-STRATEGY",), "product": ("PRODUCT-STRATEGY",)}
    own = (*noise.mechanism.theorems, *special.get(noise.measuring.kind, ()), "PUBLIC-CELLS")
    kept = tuple(name for name in plain.theorems if name not in alone)
    return replace(
        plain, theorems=tuple(dict.fromkeys((*own, "MATRIX-MECHANISM-ERROR", "COORDINATED-ANSWERS", *kept)))
    )
