"""What a selection pays: the exact law of the choice on all small tables, as a study would price it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from selection_oracle import exponential, peeling

import adyton
from adyton.kernel.accounting.noisy_reading import stability_units
from adyton.kernel.exact import units_up
from adyton.kernel.privacy import ADJACENCIES, Adjacency, Guarantee, PrivacyUnit, PureCost
from adyton.kernel.schema import IntegerColumn, Table
from adyton.kernel.special.mechanisms.composed_cost import ComposedCost
from adyton.planning.price import price_of
from adyton.planning.selecting import SelectionPlan, plan_selection
from adyton.query.selecting import BestOf
from adyton.study import Study
from support.shorthands import ordered

ACCOUNTING_NAMES = ("gdp", "zcdp", "pure")
VALUES = tuple(range(-2, 3))  # of the only column
ROUNDING = 1e-9
SUMS = [adyton.sum_of("x"), adyton.sum_of("-x"), adyton.sum_of("x", where="x > 1")]
COUNTS = [adyton.count("x < 0"), adyton.count("x = 1"), adyton.count("x > 1")]


def study(accounting: str, adjacency: Adjacency, rows: int = 1) -> Study:
    person = {"person": "who", "rows": rows} if rows > 1 else {}
    columns = (IntegerColumn("x", -2, 2), *([IntegerColumn("who", 0, 99)] if rows > 1 else []))
    delta = Fraction(0) if accounting == "pure" else Fraction(1, 10**6)
    table = Table("t", columns, 3, **({"person": "who"} if rows > 1 else {}))
    return Study(table, PrivacyUnit(adjacency, **person), Guarantee(Fraction(2), delta), accounting)


def plan_of(known: Study, asked: BestOf, **price: Any) -> SelectionPlan:
    return plan_selection(known, asked.on(known.table), price_of(**(price or {"share": 1})), known.allowed)


def adds(value: int, candidates: list[Any]) -> tuple[int, ...]:
    """What a row with this value adds to each score."""
    if candidates is SUMS:
        return (value, -value, value * (value > 1))
    return (int(value < 0), int(value == 1), int(value > 1))


def law(plan: SelectionPlan, scores: Sequence[int]) -> list[float]:
    machine, signed = plan.machine, [s if plan.selection.largest else -s for s in scores]
    if machine.flips:
        return [float(p) for p in peeling(signed, machine.k, machine.rate).values()]
    if machine.k == 1:
        return [float(p) for p in exponential(signed, machine.rate)]
    chances = []
    for order in itertools.permutations(range(len(signed)), machine.k):
        left, chance = list(range(len(signed))), 1.0
        for place in order:
            chance *= float(exponential([signed[i] for i in left], machine.rate)[left.index(place)])
            left.remove(place)
        chances.append(chance)
    return chances


def pairs(candidates: list[Any], adjacency: Adjacency, rows: int) -> Iterator[tuple[Any, Any]]:
    """Scores of all tables of one unit more than a common rest; a unit has up to ``rows`` rows."""
    units = {
        tuple(np.sum([adds(v, candidates) for v in own], axis=0).tolist()) if own else (0, 0, 0)
        for size in range(rows + 1)
        for own in itertools.combinations_with_replacement(VALUES, size)
    }
    rest = [(0, 0, 0), (4, 0, -3), (-90, 0, -90), (0, -90, -90)]  # far apart, it becomes sharp
    for base in rest:
        some = [tuple(np.add(base, unit).tolist()) for unit in sorted(units)]
        if adjacency == "add-remove":
            yield from ((base, one) for one in some)
        else:
            yield from itertools.combinations(some, 2)


def worst(plan: SelectionPlan, candidates: list[Any], adjacency: Adjacency, rows: int) -> float:
    found, laws = 0.0, {}
    for one, other in pairs(candidates, adjacency, rows):
        for scores in (one, other):
            laws.setdefault(scores, np.log(law(plan, scores)))
        found = max(found, float(np.abs(laws[one] - laws[other]).max()))
    return found


@pytest.mark.parametrize("accounting", ACCOUNTING_NAMES)
@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("candidates", [SUMS, COUNTS])
@pytest.mark.parametrize(("most", "rows"), [(1, 1), (2, 1), (1, 2)])
def test_theorem_SELECTION_VALIDITY_the_law_moves_as_far_as_was_paid_for(
    accounting: str, adjacency: Adjacency, candidates: list[Any], most: int, rows: int
) -> None:
    """Mutants: a span without the negative side; ``exchanged`` with the span of the study's neighbors."""
    known = study(accounting, adjacency, rows)
    plan = plan_of(known, adyton.best_of(candidates, most, largest=most == 1))
    epsilon = plan.machine.cost().pure
    assert epsilon is not None
    moved = worst(plan, candidates, adjacency, rows)
    assert moved <= float(epsilon) + ROUNDING
    exchanged = worst(plan, candidates, "replace-one", rows)
    assert exchanged <= float(plan.measurement.exchanged) + ROUNDING
    assert plan.amount <= known.allowed < plan.amount * 1.000001 + 10**6
    if most == 1:
        assert moved > 0.9 * float(epsilon)
        assert exchanged > 0.9 * float(plan.measurement.exchanged)
    if adjacency == "add-remove":
        assert plan.measurement.exchanged == 2 * epsilon
    else:
        assert plan.measurement.exchanged == epsilon


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("accounting", ACCOUNTING_NAMES)
@pytest.mark.parametrize("with_value", [False, True])
def test_theorem_SELECTION_VALIDITY_what_the_receipt_says(
    accounting: str, adjacency: Adjacency, with_value: bool
) -> None:
    known = study(accounting, adjacency)
    plan = plan_of(known, adyton.best_of(COUNTS, 2, with_value=with_value))
    order = ordered(known, plan)
    values = [] if plan.values is None else [(plan.values.radius(plan.candidates.one_value), 2)]
    assert bool(values) == with_value
    if accounting == "pure":
        assert order.pure == 0
        assert order.radius == stability_units(
            ComposedCost(((PureCost(plan.measurement.exchanged), 1), *values))
        )
    else:
        assert order.pure == units_up(plan.measurement.exchanged) > 0
        assert order.radius == (stability_units(ComposedCost(tuple(values))) if values else 0)


@pytest.mark.parametrize("accounting", ACCOUNTING_NAMES)
def test_theorem_SELECTION_VALIDITY_a_value_is_paid_for_beside_the_choice(accounting: str) -> None:
    known = study(accounting, "replace-one")
    alone, valued = (plan_of(known, adyton.best_of(SUMS, 2, with_value=v)) for v in (False, True))
    assert alone.amount <= known.allowed
    assert valued.amount <= known.allowed
    assert valued.machine.epsilon < alone.machine.epsilon
    assert valued.values is not None
    one = known.rule.amount(valued.values.cost(valued.candidates.one_value))
    choice = known.rule.amount(valued.machine.cost())
    assert math.isclose(choice + 2 * one, valued.amount, rel_tol=1e-9)
    box = valued.candidates.one_value.boxes[0]
    assert box == (-2, 2)
