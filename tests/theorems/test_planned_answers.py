"""What the answers of a planned study say: every noise in its weight, the number of units, and where the plan ends."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

import adyton
from adyton.certify import Interval
from adyton.errors import InvalidRequest
from adyton.kernel.privacy import Adjacency, Guarantee, PrivacyUnit
from adyton.kernel.schema import BooleanColumn, CategoryColumn, IntegerColumn, Table
from adyton.planning.measures.distribution import Distribution
from adyton.planning.plan import make_plan
from adyton.planning.price import price_of
from adyton.population.base import Counted, PopulationContext
from adyton.population.hinge import HingePopulation
from adyton.query.sql.read import parse
from adyton.study import Study, Validity
from adyton.study.validity import FOR_COUNTS, FOR_THEIR_NOISE, claims_failure, gaussian_plan
from adyton.validity.described import FOR_DESCRIBED
from adyton.validity.hinge.peeling import NOISE_SHARE
from adyton.validity.hinge.planned import PlannedSchedule
from support.curators import standing_of
from support.worlds import study_with

ROWS, QUERIES = 5000, 10
LEFT = 1 - FOR_DESCRIBED - FOR_THEIR_NOISE  # of the failure, for what does not go by descriptions
COLUMNS = (
    IntegerColumn("age", 0, 100),
    CategoryColumn("region", ("north", "south", "east")),
    BooleanColumn("smoker"),
)
TABLE = Table("t", COLUMNS, ROWS)


def planned(
    accounting: str = "gdp", adjacency: Adjacency = "replace-one", queries: int = QUERIES, **more: Any
) -> Study:
    declared = Validity(Fraction(9, 10), queries=queries, tolerance=Fraction(1, 3), beyond_plan="answer")
    return study_with(TABLE, accounting, adjacency, 200, validity=declared, **more)


def schedule_of(study: Study) -> PlannedSchedule:
    schedule = HingePopulation(study).schedule
    assert isinstance(schedule, PlannedSchedule)
    return schedule


BINS, CELLS = 9, 3


def point_of(study: Study) -> tuple[Distribution, PopulationContext]:
    """A distribution of eight points in each of three regions, and where it stands."""
    sql = "SELECT region, CDF(age, 10, 20, 30, 40, 50, 60, 70, 80) FROM t GROUP BY region"
    plan = make_plan(study, parse(sql, TABLE), price_of(epsilon="0.5"), study.allowed)
    (part,) = plan.parts
    assert isinstance(part, Distribution)
    values = plan.values(plan.query.cells)
    assert values == BINS * CELLS
    return part, standing_of(study, ROWS, values=values)


def off_at_the_ends(study: Study, left: int, fraction: float) -> Iterator[tuple[float, float]]:
    """The ends of the interval of a point, and by how much more than its fraction lies to its left, in rows."""
    part, context = point_of(study)
    bins = np.array([float(left)]), np.array([float(BINS - left)])
    sides = np.array([fraction * ROWS / 3]), np.array([(1 - fraction) * ROWS / 3])
    alone = replace(part.only, nats=None)  # the theorem of the plan, without the query's description
    for end in context.population.cumulated(alone, *sides, bins, context)[:2]:
        f = float(end[0])
        yield f, abs(float((1 - f) * sides[0][0] - f * sides[1][0]))


@pytest.mark.parametrize("fraction", [0.1, 0.5, 0.9])
def test_theorem_SUBSET_MEANS_every_point_of_a_distribution_keeps_its_part(fraction: float) -> None:
    """At the ends of an interval there is room for the one normal of a point, at its part of the level.

    Bins left and right of it count in their weights, their roundings as well; and there is not much more room
    than for noise and rows together.
    """
    study = planned()
    part, _ = point_of(study)
    sigma = float(part.mechanism.scales[0])
    level = (
        float(claims_failure(study.validity, study.unit.adjacency))
        * gaussian_plan(study).levels.share(1)
        / (BINS * CELLS)
    )
    z = norm.isf(level / 2)
    for left in (1, 4, 8):
        right = BINS - left
        for f, off in off_at_the_ends(study, left, fraction):
            assert 0 < f < 1
            spread = sigma * math.hypot((1 - f) * math.sqrt(left), f * math.sqrt(right))
            rounding = ((1 - f) * left + f * right) / 2
            rows = math.sqrt(ROWS / 3 / 4)
            assert z * spread + rounding <= off <= 1.6 * z * math.hypot(spread, rows) + rounding


@pytest.mark.parametrize("fraction", [0.1, 0.5, 0.9])
def test_theorem_CENTRED_HINGE_PLAN_every_bin_keeps_its_part(fraction: float) -> None:
    """Geometric noise: each of the bins by itself, in its weight, with its part of the excess."""
    study = planned("pure")
    part, context = point_of(study)
    population, scale = context.population, float(part.mechanism.scales[0])
    assert isinstance(population, HingePopulation)
    each = float(population._noise(part.only, context, part.mechanism.scales[0]))
    used = scale * math.exp(-each / scale) / ROWS * BINS * CELLS
    assert used == pytest.approx(float(schedule_of(study).excess), rel=1e-6)
    drift = float(population._drift(part.only, context))
    for left in (1, 4, 8):
        for f, off in off_at_the_ends(study, left, fraction):
            bins = (1 - f) * left + f * (BINS - left)
            if 0 < f < 1:  # otherwise everything is possible on that side
                assert off >= ((each + 1) * bins + drift) * (1 - 1e-9)


@pytest.mark.parametrize("accounting", ["gdp", "zcdp", "pure"])
def test_theorem_CENTRED_HINGE_PLAN_a_count_at_the_price_has_its_tolerance(
    accounting: str,
) -> None:
    """But for a step of rounding; and the tolerance is not guaranteed with room to spare.

    With Gaussian noise the first answer is narrower than later ones, of which the widest has the tolerance.
    """
    study = planned(accounting)
    with adyton.open(study, data=sample()) as asker:
        seen: Any = asker.preview("SELECT COUNT(*) FROM t WHERE smoker").population["count"]
    if accounting == "pure":
        guaranteed = schedule_of(study).tolerance * ROWS
        assert 0.999 * guaranteed < seen.half_width <= guaranteed * (1 + 1e-5) + 1.01
        return
    plan = gaussian_plan(study)
    assert 0.999 * plan.tolerance < max(plan.width(j) for j in range(1, QUERIES + 1)) <= plan.tolerance
    assert plan.tolerance <= 1 / 3
    assert seen.half_width <= plan.width(1) * ROWS * (1 + 1e-5) + 1.01


# The number of units ----------------------------------------------------------------------------------------


def test_theorem_CENTRED_HINGE_PLAN_counts_have_equal_parts_of_the_failure() -> None:
    """A count may be too low by its noise: all of them together but for a hundredth of what is left."""
    study, scale, released = planned("pure", "add-remove"), 40.0, 4321
    each = float(schedule_of(study).counting) / QUERIES
    assert each == pytest.approx(0.1 * float(LEFT) / 100 / QUERIES)
    for number in (1, QUERIES):
        counted = Counted(released, scale, number)
        above = HingePopulation(study).units_at_most(counted) - released
        too_low = math.exp(-(above + 1) / scale) / 2
        assert each / 100 < too_low <= each


def test_theorem_CENTRED_HINGE_PLAN_only_private_sizes_are_paid_for() -> None:
    public, private = schedule_of(planned("pure")), schedule_of(planned("pure", adjacency="add-remove"))
    assert public.counting == 0
    assert private.counting == LEFT / 1000
    assert public.tolerance < private.tolerance < 1.01 * public.tolerance


def test_theorem_PLANNED_NOISE_only_private_sizes_are_paid_for() -> None:
    public, private = planned(), planned(adjacency="add-remove")
    assert (
        claims_failure(public.validity, public.unit.adjacency)
        - claims_failure(private.validity, private.unit.adjacency)
        == Fraction(1, 10) * FOR_COUNTS
    )
    assert gaussian_plan(private).scale(1) < gaussian_plan(public).scale(1)


# Where the plan ends ----------------------------------------------------------------------------------------


def sample() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    return pd.DataFrame(
        {
            "age": rng.integers(0, 101, ROWS),
            "region": rng.choice(["north", "south", "east"], ROWS),
            "smoker": rng.random(ROWS) < 0.5,
        }
    )


def test_theorem_CENTRED_HINGE_PLAN_no_answer_beyond_it_has_an_interval(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two queries were planned, and no third has a part of the excess; repeating one is no third query.

    Of queries without a description: one that has one needs no plan.
    """
    monkeypatch.setattr(Study, "nats", lambda *_: None)
    with adyton.open(planned("pure", queries=2), data=sample()) as asker:
        found = []
        for age in (10, 20, 10, 30, 20):
            answer = asker.ask(f"SELECT COUNT(*) FROM t WHERE age < {age}", scale=1000)
            ((value,),) = [row.values.values() for row in answer.rows]
            found.append(value.population_interval)
    assert [isinstance(one, Interval) for one in found] == [True, True, True, False, True]
    assert "beyond the 2 queries" in str(found[3])
    assert (found[2], found[4]) == (found[0], found[1])


# Keys that may be found -------------------------------------------------------------------------------------


@pytest.mark.parametrize("declared", ["plan", "stability"])
def test_theorem_HINGE_WITH_DELTA_discovering_groups_widens_intervals(declared: str) -> None:
    """By 3 f / failure, f all of discovery_delta, at every level's own failure, without what is kept for descriptions."""
    discovery_delta = Fraction(5, 10**5)
    validity = (
        Validity(Fraction(9, 10), queries=10, tolerance=Fraction(1, 3))
        if declared == "plan"
        else Validity(Fraction(9, 10), stability=Fraction(1, 10))
    )
    plain, leaky = (
        HingePopulation(
            Study(
                TABLE,
                PrivacyUnit("replace-one"),
                Guarantee(Fraction(1), delta),
                "pure",
                validity=validity,
                discovery_delta=delta,
            )
        ).schedule
        for delta in (Fraction(0), discovery_delta)
    )
    assert plain is not None
    assert leaky is not None
    failure = 0.1 * float(LEFT)
    failure *= 1 if declared == "plan" else (1 - float(NOISE_SHARE)) / len(plain.levels)
    added = 3 * 5e-5 / failure
    for level, without in zip(leaky.levels, plain.levels, strict=True):
        assert level.width - without.width == pytest.approx(added, rel=1e-6)


def test_theorem_HINGE_WITH_DELTA_a_plan_too_wide_with_keys_is_refused() -> None:
    """The tolerance is that of the answers, which pay for groups that may be discovered whether they are or not."""
    delta = Fraction(1, 6000)
    table, unit = Table("t", COLUMNS, 1000), PrivacyUnit("replace-one")

    def study(tolerance: Fraction, keys: Fraction = Fraction(0)) -> Study:
        declared = Validity(Fraction(95, 100), queries=5, tolerance=tolerance)
        return Study(
            table, unit, Guarantee(Fraction(1, 10), keys), "pure", validity=declared, discovery_delta=keys
        )

    best = schedule_of(study(Fraction(1))).tolerance
    study(Fraction(best))
    with pytest.raises(InvalidRequest, match="discovery_delta") as caught:
        study(Fraction(best), delta)
    enough = Fraction(caught.value.message.split("within ")[1].split()[0])
    made = study(enough, delta)
    assert schedule_of(made).tolerance <= enough < 1.01 * schedule_of(made).tolerance
