"""What the answers of a planned study say: every noise in its weight, the number of units, and where the plan ends."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

import adyton
from adyton.certify import Absent, Interval
from adyton.curator.distribution import Distribution
from adyton.curator.plan import make_plan
from adyton.curator.population import Counted, Population, Standing
from adyton.curator.price import price_of
from adyton.errors import InvalidRequest
from adyton.mechanisms import GaussianNoise, GeometricNoise
from adyton.privacy import Guarantee, Neighbours, PrivacyUnit
from adyton.query.sql import parse
from adyton.schema import BooleanColumn, CategoryColumn, IntegerColumn, Table
from adyton.study import Study, Validity
from adyton.validity.planned import PlannedSchedule
from adyton.validity.unequal import NOISE_SHARE

ROWS, QUESTIONS = 5000, 10
COLUMNS = (
    IntegerColumn("age", 0, 100),
    CategoryColumn("region", ("north", "south", "east")),
    BooleanColumn("smoker"),
)
TABLE = Table("t", COLUMNS, ROWS)


def planned(
    filter_name: str = "gdp", neighbours: Neighbours = "replace", questions: int = QUESTIONS, **more: Any
) -> Study:
    delta = Fraction(0) if filter_name == "pure" else Fraction(1, 10**6)
    declared = Validity(Fraction(9, 10), questions=questions, tolerance=Fraction(1, 3), beyond="answer")
    return Study(
        TABLE,
        PrivacyUnit(neighbours),
        Guarantee(Fraction(200), delta),
        filter_name,
        validity=declared,
        **more,
    )


def schedule_of(study: Study) -> PlannedSchedule:
    schedule = Population(study).schedule
    assert isinstance(schedule, PlannedSchedule)
    return schedule


def normal_excess(u: float) -> float:
    """E (|N| - u)_+."""
    return float(2 * (norm.pdf(u) - u * norm.sf(u)))


def point_of(study: Study) -> tuple[Distribution, Standing, float]:
    """A distribution of eight points in each of three regions, where it stands, and what it adds for the rows."""
    sql = "SELECT region, CDF(age, 10, 20, 30, 40, 50, 60, 70, 80) FROM t GROUP BY region"
    plan = make_plan(study, parse(sql, TABLE), price_of(epsilon="0.01"), study.allowed)
    (part,) = plan.parts
    assert isinstance(part, Distribution)
    population = Population(study)
    at = population.position(1, 0, plan.values(plan.question.cells))
    return part, Standing(population, at, ROWS), float(population.drift(part.only, at, ROWS))


BINS, CELLS = 9, 3


@pytest.mark.parametrize("fraction", [0.0, 0.1, 0.5, 1.0])
def test_theorem_CENTRED_HINGE_PLAN_every_point_of_a_distribution_keeps_its_part(fraction: float) -> None:
    """Wherever the rows lie: the one normal of a point has an excess of at most 1 / (bins and groups) of the whole."""
    study = planned()
    part, standing, drift = point_of(study)
    error, sigma = part._population_error(standing), float(part.mechanism.scales[0])
    assert not isinstance(error, Absent)
    for left in range(1, BINS):
        right = BINS - left
        rounding = ((1 - fraction) * left + fraction * right) / 2
        spread = sigma * math.hypot((1 - fraction) * math.sqrt(left), fraction * math.sqrt(right))
        u = (error(fraction, left, right) - drift - rounding) / spread
        used = spread * normal_excess(u) / ROWS * BINS * CELLS
        assert 0.05 * float(schedule_of(study).excess) < used <= float(schedule_of(study).excess) * (1 + 1e-6)


def test_theorem_CENTRED_HINGE_PLAN_every_bin_of_a_distribution_keeps_its_part() -> None:
    """Geometric noise: each of the bins by itself, with weight 1."""
    study = planned("pure")
    part, standing, drift = point_of(study)
    error, scale = part._population_error(standing), float(part.mechanism.scales[0])
    assert not isinstance(error, Absent)
    for fraction, left in ((0.0, 1), (0.3, 4), (1.0, 8)):
        bins = (1 - fraction) * left + fraction * (BINS - left)  # in their weights
        u = ((error(fraction, left, BINS - left) - drift) / bins - 1) / scale
        used = scale * math.exp(-u) / ROWS * BINS * CELLS
        assert used == pytest.approx(float(schedule_of(study).excess), rel=1e-6)


@pytest.mark.parametrize("filter_name", ["gdp", "zcdp", "pure"])
def test_theorem_CENTRED_HINGE_PLAN_a_count_at_the_price_of_the_plan_has_its_tolerance(
    filter_name: str,
) -> None:
    """But for a step of rounding; and the tolerance is not promised with room to spare."""
    study = planned(filter_name)
    with adyton.open(study, data=sample()) as asker:
        seen: Any = asker.preview("SELECT COUNT(*) FROM t WHERE smoker").population["count"]
    promised = schedule_of(study).tolerance * ROWS
    assert 0.999 * promised < seen.half_width <= promised * (1 + 1e-5) + 1.01


# The number of units ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("noise", "filter_name"), [(GaussianNoise, "gdp"), (GeometricNoise, "pure")])
def test_theorem_CENTRED_HINGE_PLAN_every_count_has_an_equal_part_of_the_failure(
    noise: Any, filter_name: str
) -> None:
    """A count may be too low by its noise: all of them together but for a hundredth of the failure."""
    population, scale, released = Population(planned(filter_name, "add-or-remove")), 40.0, 4321
    each = float(schedule_of(planned(filter_name, "add-or-remove")).counting) / QUESTIONS
    assert each == pytest.approx(0.1 / 100 / QUESTIONS)
    for number in (1, QUESTIONS):
        counted = Counted(released, scale, noise.name, number)
        above = population.units_at_most(counted) - released
        too_low = (
            norm.sf((above + 0.5) / scale) if noise is GaussianNoise else math.exp(-(above + 1) / scale) / 2
        )
        assert each / 100 < too_low <= each


def test_theorem_CENTRED_HINGE_PLAN_only_private_sizes_are_paid_for() -> None:
    public, private = schedule_of(planned()), schedule_of(planned(neighbours="add-or-remove"))
    assert public.counting == 0
    assert private.counting == Fraction(1, 1000)
    assert public.tolerance < private.tolerance < 1.01 * public.tolerance


# Where the plan ends ----------------------------------------------------------------------------------------


def sample() -> pd.DataFrame:
    dice = np.random.default_rng(3)
    return pd.DataFrame(
        {
            "age": dice.integers(0, 101, ROWS),
            "region": dice.choice(["north", "south", "east"], ROWS),
            "smoker": dice.random(ROWS) < 0.5,
        }
    )


def test_theorem_CENTRED_HINGE_PLAN_no_answer_beyond_the_planned_number_has_an_interval() -> None:
    """Two questions were planned, and no third has a part of the excess; repeating one is no third question."""
    with adyton.open(planned(questions=2), data=sample()) as asker:
        found = []
        for age in (10, 20, 10, 30, 20):
            answer = asker.ask(f"SELECT COUNT(*) FROM t WHERE age < {age}", scale=1000)
            ((value,),) = [row.values.values() for row in answer.rows]
            found.append(value.population_interval)
    assert [isinstance(one, Interval) for one in found] == [True, True, True, False, True]
    assert "beyond the 2 questions" in str(found[3])
    assert (found[2], found[4]) == (found[0], found[1])


# Keys that may be found -------------------------------------------------------------------------------------


@pytest.mark.parametrize("declared", ["plan", "stability"])
def test_theorem_HINGE_WITH_DELTA_a_study_that_may_find_keys_has_wider_intervals(declared: str) -> None:
    """By 3 f / failure, f all of keys_delta, at every level's own failure."""
    limit, keys_delta = Guarantee(Fraction(1), Fraction(1, 10**4)), Fraction(5, 10**5)
    validity = (
        Validity(Fraction(9, 10), questions=10, tolerance=Fraction(1, 3))
        if declared == "plan"
        else Validity(Fraction(9, 10), stability=Fraction(1, 10))
    )
    plain, leaky = (
        Population(Study(TABLE, PrivacyUnit("replace"), limit, validity=validity, keys_delta=delta)).schedule
        for delta in (Fraction(0), keys_delta)
    )
    assert plain is not None
    assert leaky is not None
    failure = 0.1 if declared == "plan" else 0.1 * (1 - float(NOISE_SHARE)) / len(plain.levels)
    added = 3 * 5e-5 / failure
    for level, without in zip(leaky.levels, plain.levels, strict=True):
        assert level.width - without.width == pytest.approx(added, rel=1e-6)


def test_theorem_HINGE_WITH_DELTA_a_plan_that_keys_make_too_wide_is_refused() -> None:
    """The tolerance is that of the answers, which pay for keys that may be found whether they are or not."""
    limit, delta = Guarantee(Fraction(1, 10), Fraction(1, 5000)), Fraction(1, 6000)
    table, unit = Table("t", COLUMNS, 1000), PrivacyUnit("replace")
    generous = Validity(Fraction(95, 100), questions=5, tolerance=Fraction(1, 2))
    best = schedule_of(Study(table, unit, limit, validity=generous)).tolerance
    exactly = Validity(Fraction(95, 100), questions=5, tolerance=Fraction(best))
    Study(table, unit, limit, validity=exactly)
    with pytest.raises(InvalidRequest, match="keys_delta") as caught:
        Study(table, unit, limit, validity=exactly, keys_delta=delta)
    enough = Fraction(caught.value.message.split("within ")[1].split()[0])
    with_room = Validity(Fraction(95, 100), questions=5, tolerance=enough)
    study = Study(table, unit, limit, validity=with_room, keys_delta=delta)
    assert schedule_of(study).tolerance <= enough < 1.01 * schedule_of(study).tolerance
