"""A plan of queries whose noise may differ: the joint form with an equal excess for each."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import product

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adyton.errors import InvalidRequest
from adyton.kernel.accounting.noisy_reading import NoisyReading
from adyton.kernel.privacy import Adjacency, Guarantee, PrivacyUnit, PureCost
from adyton.kernel.schema import BooleanColumn, CategoryColumn, IntegerColumn, Table
from adyton.planning.measures.spread import Spread
from adyton.planning.part import MeasurePlan
from adyton.planning.plan import QueryPlan, make_plan
from adyton.planning.price import price_of
from adyton.population.base import PopulationContext
from adyton.population.hinge import HingePopulation
from adyton.population.subset import SubsetPopulation
from adyton.query.sql.read import parse
from adyton.study import Study, Validity
from adyton.study.validity import claims_failure, gaussian_plan
from adyton.validity.hinge.noise_part import laplace_multiplier, laplace_threshold
from adyton.validity.hinge.planned import PlannedSchedule
from adyton.validity.hinge.stability import stability_width
from support.curators import standing_of

logs = st.floats(-40, 0)


@given(logs)
def test_theorem_CENTRED_HINGE_PLAN_thresholds_keep_the_mean_excess(power: float) -> None:
    """With fifty digits: never above what is allowed, and a threshold lower by 1e-7 would be."""
    excess = Fraction(10**power)
    with mpmath.workdps(50):
        v, most = laplace_threshold(excess), mpmath.mpf(excess.numerator) / excess.denominator
        assert mpmath.exp(-mpmath.mpf(v)) <= most
        assert v == 0 or mpmath.exp(-mpmath.mpf(v - 1e-7)) > most


def test_theorem_CENTRED_HINGE_PLAN_laplace_noise() -> None:
    """At the planned noise the width is b (ln(k / beta) + 1) + t2; the noise is that of a pure guarantee."""
    plan = PlannedSchedule.plan(10**5, 100, "0.05")
    scale = plan.excess * 100 / Fraction(5, 100)
    noise = laplace_multiplier("0.05", 100) * float(scale)
    t2 = stability_width(math.sqrt(plan.cap), "0.05")
    assert plan.tolerance == pytest.approx(noise + t2, rel=1e-9)
    assert float(plan.cap) == pytest.approx(100 * math.pi / 2 / (2e5 * float(scale)) ** 2, rel=1e-6)


@settings(deadline=None, max_examples=40)
@given(st.floats(-3, 3), st.integers(1, 1000))
def test_theorem_CENTRED_HINGE_PLAN_a_query_keeps_to_its_part(power: float, noises: int) -> None:
    """However large its noise: the excess of all its noises together, in ranges, is what was planned for one."""
    plan = PlannedSchedule.plan(10**4, 50, "0.1")
    relative = Fraction(10**power) * plan.excess * 100
    b = plan.threshold(relative, noises)
    assert noises * float(relative) * math.exp(-b) <= float(plan.excess) * (1 + 1e-9)


def hidden_and_distance(
    first_noise: float, after_low: float, after_high: float, rows: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Fair bits; the noise of the second answer is chosen by the first.  Density, |E[Z_1|T]|, |E[Z_2|T]|, X_T."""
    reach = 16 * max(first_noise, after_low, after_high)
    grid, step = np.linspace(-reach, 1 + reach, 1201, retstep=True)
    first, second = np.meshgrid(grid, grid, indexing="ij")
    noise = np.where(first < 0.5, after_low, after_high)
    density, one_given, row_is_one = np.zeros((3, *first.shape))
    two_given = np.zeros_like(first)
    for sample in product((0, 1), repeat=rows):
        mean = sum(sample) / rows
        z1, z2 = first - mean, second - mean
        here = np.exp(-np.abs(z1) / first_noise - np.abs(z2) / noise) / (4 * first_noise * noise)
        here *= step**2 / 2**rows
        density += here
        one_given += here * z1
        two_given += here * z2
        row_is_one += here * sample[0]
    some = np.maximum(density, 1e-300)
    return density, np.abs(one_given / some), np.abs(two_given / some), np.abs(row_is_one / some - 0.5)


@pytest.mark.parametrize("failure", [0.5, 0.2, 0.05])
@pytest.mark.parametrize("rows", [2, 4])
def test_theorem_CENTRED_HINGE_PLAN_few_rows_and_adaptive_noise(rows: int, failure: float) -> None:
    """All of it integrated: what both answers hide and how far a row is from the population, at once."""
    plan = PlannedSchedule.plan(rows, 2, failure)
    scale = float(plan.excess * 2) / failure  # the planned noise
    scales = (1.1 * scale, 0.95 * scale, 3 * scale)
    spent = [PureCost(Fraction(1 / (2 * rows * s))).gdp for s in scales]
    assert spent[0] + max(spent[1:]) <= plan.cap
    density, one, two, distance = hidden_and_distance(*scales, rows)
    assert density.sum() == pytest.approx(1, abs=1e-3)
    widths = [plan.threshold(Fraction(s)) * s for s in scales]
    second = np.where(np.linspace(0, 1, 1201)[:, None] < 0.5, widths[1], widths[2])
    t = plan.stability(plan.cap)

    def failing(factor: float) -> float:
        wrong = (one + distance > factor * (widths[0] + t)) | (two + distance > factor * (second + t))
        return float((density * wrong).sum())

    assert failing(1.0) <= failure
    assert failing(0.2) > failure  # the integral can see failures


def test_theorem_CENTRED_HINGE_PLAN_counts_take_their_part_of_the_failure() -> None:
    whole = PlannedSchedule.plan(10**5, 1000, "0.05")
    less = PlannedSchedule.plan(10**5, 1000, "0.05", counting="0.0005")
    assert less.counting == Fraction(5, 10**4)
    assert less.tolerance == pytest.approx(PlannedSchedule.plan(10**5, 1000, "0.0495").tolerance)
    assert whole.tolerance < less.tolerance < 1.01 * whole.tolerance
    leaky = PlannedSchedule.plan(10**5, 1000, "0.05", delta="1e-6")
    assert leaky.tolerance == pytest.approx(whole.tolerance + 3e-6 / 0.05)


def test_a_plan_refuses_what_it_cannot_certify() -> None:
    plan = PlannedSchedule.plan(10**5, 100, "0.05")
    assert not plan.covers(plan.cap * 2)
    with pytest.raises(InvalidRequest, match="beyond"):
        plan.stability(plan.cap * 2)
    with pytest.raises(InvalidRequest, match="1e-290"):
        plan.threshold(Fraction(10) ** 300)
    assert PlannedSchedule.plan(1, 10**6, "0.05").tolerance > 1


TABLE = Table(
    "t",
    (
        IntegerColumn("age", 0, 100),
        CategoryColumn("region", ("north", "south", "east")),
        BooleanColumn("smoker"),
        IntegerColumn("income", 0, 2**24),
    ),
    5000,
)


ASKED = [
    "SELECT COUNT(*) FROM t",
    "SELECT SUM(age) FROM t WHERE smoker",
    "SELECT AVG(age) FROM t",
    "SELECT AVG(income) FROM t",
    "SELECT region, COUNT(*), AVG(age), SUM(age) FROM t GROUP BY region",
    "SELECT VARIANCE(age), PROPORTION(smoker) FROM t",
    "SELECT MEDIAN(age) FROM t",
]


def asked(
    sql: str, rows: int, adjacency: Adjacency, accounting: str
) -> tuple[Study, QueryPlan, PopulationContext]:
    person = "who" if rows > 1 else None
    table = replace(TABLE, person=person)
    study = Study(
        table,
        PrivacyUnit(adjacency, person, rows),
        Guarantee(Fraction(1), Fraction(0) if accounting == "pure" else Fraction(1, 10**9)),
        accounting,
        validity=Validity(Fraction(9, 10), queries=10, tolerance=Fraction(1, 3)),
    )
    plan = make_plan(study, parse(sql, table), price_of(epsilon="0.01"), study.allowed)
    return study, plan, standing_of(study, 5000, values=plan.values(plan.query.cells))


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("sql", ASKED)
def test_theorem_CENTRED_HINGE_PLAN_noises_of_an_answer_share_the_excess(
    sql: str, rows: int, adjacency: Adjacency
) -> None:
    """Added up again from the widths that the curator shows: every noise, in its weight, over its own range.

    The steps of a count are fewer than those of an income, so the mean in steps, a weight, may be 16.  The
    count behind a variance has a part in each of its two claims.
    """
    _, plan, context = asked(sql, rows, adjacency, "pure")
    population = context.population
    assert isinstance(population, HingePopulation)
    schedule = population.schedule
    assert isinstance(schedule, PlannedSchedule)
    total = 0.0
    claims = [one for part in plan.parts for one in claims_of(part)]
    for part in claims:
        boxes = part.reading.sensitivity.boxes
        low, high = boxes[0]
        length = 5000 * rows * (high - low if len(boxes) == 2 else max(high, 0) - min(low, 0))
        weights = [1.0] if len(boxes) == 1 else [1.0, boxes[0][1] / boxes[1][0]]
        for hidden, scale, weight in zip(
            population._hidden(part, context), part.mechanism.scales, weights, strict=True
        ):
            u = float((hidden - 1) / scale)
            total += plan.query.cells * part.times * weight * float(scale) * math.exp(-u) / length
        drifts = [population._drift(part, replace(context, units=units)) for units in (4000, 5000, 6000)]
        width = Fraction(schedule.stability(Fraction(0)))
        assert drifts == [length * width, length * width, length * width * 6 / 5]
    assert 0.99 * float(schedule.excess) < total <= float(schedule.excess) * (1 + 1e-6)


def claims_of(part: MeasurePlan) -> list[NoisyReading]:
    return [part.mean, part.square] if isinstance(part, Spread) else [part.only]


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
@pytest.mark.parametrize("sql", ASKED)
def test_theorem_PAY_AS_YOU_GO_all_claims_of_an_answer_share_its_level(
    sql: str, adjacency: Adjacency
) -> None:
    """Every claim that an interval rests on, in every cell, and every comparison of a search."""
    study, plan, context = asked(sql, 1, adjacency, "gdp")
    population = context.population
    assert isinstance(population, SubsetPopulation)
    claims = plan.query.cells * sum(one.times for part in plan.parts for one in claims_of(part))
    used = claims * population._certain(context).level
    level = float(claims_failure(study.validity, study.unit.adjacency)) * gaussian_plan(study).levels.share(1)
    assert 0.999 * level < used <= level * (1 + 1e-12)
