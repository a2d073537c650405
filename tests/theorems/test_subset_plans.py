"""Plans by the subset theorem, against fifty digits, exact sums, and themselves query by query."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from itertools import pairwise

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr
from scipy.stats import binom

from adyton.errors import InvalidRequest
from adyton.validity.plans import decreasing
from adyton.validity.plans.decreasing import missed
from adyton.validity.plans.expected import ANYTHING, Expected, share_moments
from adyton.validity.plans.misses import (
    KEPT_FOR_COSTS,
    Costs,
    Deviations,
    TangentPoint,
    best_choice,
    log_misses,
)
from adyton.validity.plans.noise_plan import NoisePlan
from adyton.validity.plans.plans import queries_within, rows_needed, within
from adyton.validity.plans.study_plans import _LOOKS, StudyPlan
from support.tries import crossed

FAILURE = Fraction(1, 20)
MP = mpmath.mp.clone()
MP.dps = 50
HOPES = [
    ANYTHING,
    Expected.of(share="0.02"),
    Expected.of(share="0.02", alike=True),
    Expected.of(spread="0.2"),
    Expected.of(spread="0.2", alike=True),
    Expected.of(group="0.3"),
    Expected.of(share="0.1", group="0.3", alike=True),
]


def coin(share, tilt):
    """log E exp(tilt (X - E X)) of a coin."""
    p, s = MP.mpf(share), MP.mpf(tilt)
    return MP.log(1 - p + p * MP.exp(s)) - s * p


def exact_moments(expected, tilt):
    """Both sides, in fifty digits and by other formulas: the worst share is searched for."""
    s = MP.mpf(tilt)
    if expected.share is not None:
        share = MP.mpf(expected.share.numerator) / expected.share.denominator
    elif expected.spread is not None:
        spread = MP.mpf(expected.spread.numerator) / expected.spread.denominator
        share = (1 - MP.sqrt(1 - 4 * spread**2)) / 2
    else:
        share = None
    if share is None:
        up = down = s**2 / 8
    else:
        worst = 1 / s - 1 / MP.expm1(s)
        up = coin(min(share, worst), s)
        down = coin(share, -s) if expected.spread is None else up
    if expected.group is None:
        return up, down
    part = MP.mpf(expected.group.numerator) / expected.group.denominator
    return MP.log(1 + part * MP.expm1(up)), MP.log(1 + part * MP.expm1(down))


def exact_log_misses(rows, tolerance, noise, spent, location, fresh, expected):
    y, f, sigma = MP.mpf(location), MP.mpf(fresh), MP.mpf(noise)
    tail = MP.erfc(y / MP.sqrt(2)) / 2
    h = MP.npdf(y) / tail
    head = MP.log(tail) + h * y
    if expected.group is not None:
        head = max(head, MP.mpf(0))
    price = f / (1 - f) * MP.mpf(spent) if spent else MP.mpf(0)
    moments = exact_moments(expected, h / (sigma * f * rows))
    base = head - h / sigma * MP.mpf(tolerance) + price
    return MP.log(sum(MP.exp(base + f * rows * one) for one in moments))


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.floats(0, 1), min_size=3, max_size=3),
    st.lists(st.floats(0.001, 1), min_size=3, max_size=3),
    st.floats(0.01, 30),
)
def test_theorem_EXPECTED_MOMENTS_of_any_values_in_the_range(values, weights, tilt):
    """Shares and spreads: the moments of three values are below those of what they have."""
    x, w = np.array(values), np.array(weights) / sum(weights)
    mean = float(w @ x)
    spread = math.sqrt(max(float(w @ (x - mean) ** 2), 1e-12))
    up = math.log(float(w @ np.exp(tilt * (x - mean))))
    down = math.log(float(w @ np.exp(-tilt * (x - mean))))
    if mean > 0.5:
        up, down = down, up
    s = np.array(tilt)
    if 1e-9 < mean < 1 - 1e-9:
        known = Expected.of(share=min(Fraction(mean), 1 - Fraction(mean))).moments(s)
        assert up <= known.up + 1e-12
        assert down <= known.down + 1e-12
        assert known.down <= known.up + 1e-15
    known = Expected.of(spread=min(Fraction(spread), Fraction(1, 2))).moments(s)
    assert max(up, down) <= min(known.up, known.down) + 1e-9


def test_theorem_EXPECTED_MOMENTS_of_a_spread_are_attained_by_a_coin():
    for share in (0.01, 0.2, 0.4):
        known = Expected.of(spread=Fraction(math.sqrt(share * (1 - share)))).moments(np.array(0.7))
        assert float(known.up) == pytest.approx(float(coin(share, 0.7)), rel=1e-9)


@pytest.mark.parametrize("share", [1e-6, 0.01, 0.3, 0.5])
@pytest.mark.parametrize("tilt", [1e-6, 9e-4, 1.1e-3, 0.5, 4.0, 60.0, 290.0])
def test_theorem_EXPECTED_MOMENTS_are_never_below_fifty_digits(share, tilt):
    one = share_moments(share, np.array(tilt))
    below = 1e-14 * one.size
    smaller = [float(coin(share * part, tilt)) for part in np.linspace(0, 1, 201)]
    assert max(smaller) <= float(one.up) + below
    assert max(float(coin(share * part, -tilt)) for part in np.linspace(0, 1, 201)) <= float(one.down) + below
    step = 1e-4 * tilt
    near = [share_moments(share, np.array(tilt + move)).up for move in (-step, step)]
    assert float(one.slope) == pytest.approx(float(near[1] - near[0]) / (2 * step), rel=1e-4, abs=1e-9)


@pytest.mark.parametrize("part", [0.05, 0.4, 0.9])
@pytest.mark.parametrize("share", [0.05, 0.5])
@pytest.mark.parametrize("tilt", [0.1, 1.0, 5.0])
def test_theorem_EXPECTED_MOMENTS_of_a_group(part, share, tilt):
    known = Expected.of(share=Fraction(share), group=Fraction(part)).moments(np.array(tilt))
    exact = math.log(
        1 - part + part * (share * math.exp(tilt * (1 - share)) + (1 - share) * math.exp(-tilt * share))
    )
    assert exact <= float(known.up) + 1e-12
    assert share == 0.5 or exact == pytest.approx(float(known.up), rel=1e-9)


@pytest.mark.parametrize("share", [0.5, 0.05, 0.002])
@pytest.mark.parametrize("rows", [20, 500])
def test_theorem_EXPECTED_MOMENTS_deviations_of_shares(share, rows):
    table = Deviations(Expected.of(share=Fraction(share)))
    counts = np.arange(rows + 1)
    for exponent in (0.001, 0.02, 0.3):
        beyond = float(table.beyond(np.array(exponent)))
        for p in np.linspace(0, share, 21)[1:]:
            chance = float(binom.pmf(counts, rows, p)[counts / rows - p > beyond].sum())
            assert chance <= math.exp(-rows * exponent)
        best = max((exponent + float(share_moments(share, np.array(s)).up)) / s for s in (1e-3, 1.0, 100.0))
        assert beyond <= best


@pytest.mark.parametrize("expected", HOPES, ids=str)
@pytest.mark.parametrize("rows", [50, 10**4, 10**8])
def test_theorem_PLANNED_EXPECTATION_misses_are_never_below_fifty_digits(expected, rows):
    rng = np.random.default_rng(rows)
    for _ in range(12):
        location, fresh = rng.uniform(-1, 8), rng.uniform(0.01, 0.99)
        noise = math.exp(rng.uniform(-2, 1)) / math.sqrt(rows)
        tolerance, spent = noise * rng.uniform(0.5, 12), rng.uniform(0, 5)
        found = log_misses(
            rows,
            tolerance,
            noise,
            np.array([spent]),
            TangentPoint(np.array([location]), np.array([fresh])),
            expected,
        )
        exact = exact_log_misses(rows, tolerance, noise, spent, location, fresh, expected)
        assert exact <= float(found[0]) <= exact + 1e-8 * (1 + abs(exact)) + 1e-6


@pytest.mark.parametrize("expected", HOPES, ids=str)
def test_theorem_PLANNED_EXPECTATION_no_other_choice_is_better(expected):
    """Up to a little: the choice is the best for the larger of both sides."""
    rows, tolerance, noise, spent = 10**4, 0.05, np.array([0.006]), np.array([4.0])
    choice, _ = best_choice(rows, tolerance, noise, spent, expected)
    best = float(log_misses(rows, tolerance, noise, spent, choice, expected)[0])
    for move in (0.9, 0.99, 1.01, 1.1):
        for other in (
            TangentPoint(choice.location * move, choice.fresh),
            TangentPoint(choice.location, np.minimum(choice.fresh * move, 0.999)),
        ):
            assert best <= float(log_misses(rows, tolerance, noise, spent, other, expected)[0]) + 0.02


@pytest.mark.parametrize("rows", [20, 300])
@pytest.mark.parametrize("share", [0.5, 0.1, 0.02])
@pytest.mark.parametrize("noises", [(0.3, 0.3), (2.0, 0.5), (0.7, 3.0)])
def test_theorem_PLANNED_EXPECTATION_query_two_follows_answer_one(rows, share, noises):
    """Query two is the coin or its complement, by answer one: exactly, both sides, for many tolerances."""
    first, second = (noise / rows for noise in noises)
    expected = Expected.of(share=Fraction(share))
    spent = np.array([1 / (8 * rows * first**2)])
    counts = np.arange(rows + 1)
    gaps, chances = counts / rows - share, binom.pmf(counts, rows, share)
    for tolerance in np.array([0.5, 1, 2, 3, 5]) * (math.sqrt(share / rows) + second):
        choice, _ = best_choice(rows, tolerance, np.array([second]), spent, expected)
        bound = math.exp(float(log_misses(rows, tolerance, second, spent, choice, expected)[0]))
        high = ndtr(gaps / first)
        over = high * ndtr((gaps - tolerance) / second) + (1 - high) * ndtr((-gaps - tolerance) / second)
        under = high * ndtr((-gaps - tolerance) / second) + (1 - high) * ndtr((gaps - tolerance) / second)
        assert float(chances @ (over + under)) <= bound


@pytest.mark.parametrize("rows", [60, 400])
@pytest.mark.parametrize("part", [0.1, 0.5])
@pytest.mark.parametrize("share", [0.1, 0.5])
def test_theorem_PLANNED_EXPECTATION_of_a_mean_over_a_group(rows, part, share):
    """Fixed in advance, exactly over all counts; the group may also be larger than was planned for."""
    expected = Expected.of(share=Fraction(share), group=Fraction(part))
    scale = 0.8 / rows
    away = scale * math.sqrt(1 + 4 * (share - 0.5) ** 2)
    for tolerance in (0.15, 0.4):
        room = tolerance * part
        choice, _ = best_choice(rows, room, np.array([scale * expected.noise]), np.zeros(1), expected)
        choice = TangentPoint(choice.location, np.ones(1))
        bound = math.exp(
            float(log_misses(rows, room, scale * expected.noise, np.zeros(1), choice, expected)[0])
        )
        for true in (part, min(1.3 * part, 0.9)):
            total, counts = 0.0, np.arange(rows + 1)
            for size in range(rows + 1):
                inside = np.arange(size + 1)
                gap = (inside - share * size) / rows
                miss = ndtr((gap - tolerance * true) / away) + ndtr((-gap - tolerance * true) / away)
                total += binom.pmf(counts[size], rows, true) * float(binom.pmf(inside, size, share) @ miss)
            assert total <= bound or bound >= 1


def test_theorem_PLANNED_EXPECTATION_costs_of_queries_that_are_alike():
    """Exactly at their equation: n D(s) = (sqrt A + sqrt log 1/level)**2, u the slope there; 1/4 at most."""
    rows, share, level = 10**4, 0.02, 1e-6
    costs = Costs(rows, Expected.of(share=Fraction(share), alike=True), math.log(level))
    variance = share * (1 - share)
    for spent in (0.0, 1.0, 30.0, 1000.0):
        wanted = (math.sqrt(spent) + math.sqrt(-math.log(level))) ** 2 / rows
        u = MP.findroot(
            lambda x, wanted=wanted: (
                (variance + x) * MP.log((variance + x) / variance)
                + (1 - variance - x) * MP.log((1 - variance - x) / (1 - variance))
                - wanted
            ),
            MP.mpf(math.sqrt(2 * variance * wanted)),
        )
        cost = float(costs.at(np.array([spent]))[0])
        assert min(variance + u, 0.25) <= cost <= 1.001 * min(variance + u, 0.25) + 1e-9
    assert float(Costs(rows, ANYTHING, 0.0).at(np.zeros(1))[0]) == 0.25
    assert float(Costs(rows, Expected.of(group="0.3"), 0.0).at(np.zeros(1))[0]) == pytest.approx(0.5)
    grouped = Costs(rows, Expected.of(group=Fraction(variance), alike=True), math.log(level))
    assert float(grouped.at(np.zeros(1))[0]) == pytest.approx(float(costs.at(np.zeros(1))[0]), rel=1e-6)


@pytest.mark.parametrize("share", [0.05, 0.3])
def test_theorem_PLANNED_EXPECTATION_alike_when_answer_one_chose(share):
    """Two queries, all alike: the sample variance of the first is charged, and all chances are summed exactly."""
    rows, first, second, tolerance = 200, 0.02, 0.02, 0.12
    expected = Expected.of(share=Fraction(share), alike=True)
    level = 1e-3
    cost = Costs(rows, expected, math.log(level)).at(np.zeros(1))
    spent = cost / (2 * rows * first**2)
    assert float(cost[0]) < 0.25 or share == 0.3
    bound = level
    for paid, noise, fresh in ((np.zeros(1), first, True), (spent, second, False)):
        choice, _ = best_choice(rows, tolerance, np.array([noise]), paid, expected)
        choice = TangentPoint(choice.location, np.ones(1)) if fresh else choice
        bound += math.exp(float(log_misses(rows, tolerance, noise, paid, choice, expected)[0]))
    counts = np.arange(rows + 1)
    gaps, chances = counts / rows - share, binom.pmf(counts, rows, share)
    once = ndtr((gaps - tolerance) / first) + ndtr((-gaps - tolerance) / first)
    again = ndtr((gaps - tolerance) / second) + ndtr((-gaps - tolerance) / second)
    assert float(chances @ np.minimum(once + again, 1)) <= bound


def missed_query_by_query(rows, plan, expected):
    """Every query with its own cost and its own bound in fifty digits, for choices made anew."""
    room = plan.tolerance * float(expected.group or 1)
    costs = Costs(rows, expected, math.log(KEPT_FOR_COSTS * float(FAILURE) / plan.queries))
    total, spent = (KEPT_FOR_COSTS * float(FAILURE) if expected.variance else 0.0), 0.0
    asked = []
    for query in range(1, plan.queries + 1):
        sigma = plan.scale_of(query) * math.sqrt(1 if expected.group is None else 2)
        asked.append((sigma, spent))
        spent += float(costs.at(np.array([spent]))[0]) / (2 * rows * sigma**2)
    (location, fresh), _ = best_choice(rows, room, *np.array(asked).T, expected)
    for (sigma, before), y, part in zip(asked, location.tolist(), fresh.tolist(), strict=True):
        part = part if before else 1 - 1e-15
        total += math.exp(exact_log_misses(rows, room, sigma, before, y, part, expected))
    return total


@pytest.mark.parametrize("noise", ["constant", "decreasing"])
@pytest.mark.parametrize("expected", HOPES, ids=str)
def test_theorem_PLANNED_NOISE_recomputed_query_by_query(noise, expected):
    rows, queries = 3000, 90
    plan = within(rows, queries, FAILURE, noise, expected)
    assert plan is not None
    total = missed_query_by_query(rows, plan, expected)
    assert total <= float(FAILURE)
    assert noise == "decreasing" or total >= 0.9 * float(FAILURE)
    if len(plan.scales) > 1:
        assert missed(rows, plan, FAILURE, expected) <= float(FAILURE)
        assert all(before > after for before, after in pairwise(plan.scales))


@pytest.mark.parametrize("expected", HOPES, ids=str)
def test_theorem_PLANNED_NOISE_a_plan_of_single_queries_is_judged_as_it_is(expected):
    """Never below fifty digits, and hardly above: every block is one query."""
    rows, scales = 3000, np.geomspace(0.02, 0.004, 40)
    wide = 0.11 if expected.group is None else 0.45
    plan = NoisePlan(wide, (1,) * len(scales), tuple(map(float, scales)))
    exact, found = missed_query_by_query(rows, plan, expected), missed(rows, plan, FAILURE, expected)
    assert exact <= found <= 1.02 * exact


def test_theorem_PLANNED_NOISE_a_rough_plan_that_misses_is_shortened(monkeypatch):
    """A rough plan that misses too often is shortened."""
    monkeypatch.setattr(decreasing, "missed", lambda rows, plan, failure, expected: plan.queries / 2000)
    plan = queries_within(10**4, Fraction("0.1"), FAILURE, "decreasing")
    assert plan is not None
    assert 90 <= plan.queries <= 100


@pytest.mark.parametrize(
    ("rows", "tolerance", "constant", "falling"),
    [
        (10**4, "0.1", 721, 1246),
        (10**5, "0.05", 3929, 7243),
        (10**5, "0.1", 50754, 99722),
        (10**6, "0.1", 3698176, 7714164),
    ],
)
def test_theorem_PLANNED_NOISE_number_of_queries(rows, tolerance, constant, falling):
    same = queries_within(rows, Fraction(tolerance), FAILURE)
    less = queries_within(rows, Fraction(tolerance), FAILURE, "decreasing")
    assert same is not None
    assert less is not None
    assert 0.999 * constant <= same.queries <= 1.001 * constant
    assert 0.99 * falling <= less.queries <= 1.03 * falling


@pytest.mark.parametrize(
    ("rows", "queries", "tolerance"), [(10**4, 10, 0.0323), (10**5, 100, 0.0187), (10**6, 1000, 0.0110)]
)
def test_theorem_PLANNED_EXPECTATION_half_widths_of_constant_noise(rows, queries, tolerance):
    plan = within(rows, queries, FAILURE)
    assert plan is not None
    assert 0.99 * tolerance <= plan.tolerance <= tolerance


@pytest.mark.parametrize(
    ("queries", "alike", "tolerance"),
    [(100, False, 0.0081), (100, True, 0.0042), (1000, False, 0.0158), (1000, True, 0.0078)],
)
def test_theorem_PLANNED_EXPECTATION_half_widths_of_rare_shares(queries, alike, tolerance):
    plan = within(10**5, queries, FAILURE, expected=Expected.of(share="0.01", alike=alike))
    assert plan is not None
    assert 0.92 * tolerance <= plan.tolerance <= tolerance


@pytest.mark.parametrize(
    ("asked", "queries"),
    crossed([*itertools.product(["constant", "decreasing"], HOPES)], [1, 2, 7, 100, 1000, 3000]),
)
def test_law_the_three_inverses_agree(asked, queries):
    """Usually whatever is hoped for with both kinds of noise, and every number of queries with both of them."""
    rows, (noise, expected) = 40_000, asked
    plan = within(rows, queries, FAILURE, noise, expected)
    assert plan is not None
    assert plan.queries == queries
    tolerance = Fraction(plan.tolerance) * Fraction(1002, 1000)
    back = queries_within(rows, tolerance, FAILURE, noise, expected)
    assert back is not None
    assert 0.98 * queries <= back.queries <= 1.2 * queries + 1
    found = rows_needed(queries, tolerance, FAILURE, noise, expected)
    assert found is not None
    assert 0.97 * rows <= found[0] <= 1.01 * rows


def test_law_a_rarer_query_is_never_wider():
    def width(**hopes):
        plan = within(10**5, 50, FAILURE, "decreasing", Expected.of(**hopes))
        assert plan is not None
        return plan.tolerance

    for alike in (False, True):
        widths = [width(share=share, alike=alike) for share in ("0.001", "0.01", "0.1", "0.5")]
        assert widths == sorted(widths)
        assert width(share="0.99", alike=alike) == width(share="0.01", alike=alike)
    assert width(share="0.01", alike=True) < width(share="0.01")


def test_scales_of_a_plan():
    plan = NoisePlan(0.1, (2, 3), (0.5, 0.25))
    assert [plan.scale_of(j) for j in (1, 2, 3, 5, 9)] == [0.5, 0.5, 0.25, 0.25, 0.25]
    assert NoisePlan.constant(0.1, 4, 0.3).scale_of(9) == 0.3


def test_where_nothing_can_be_certified():
    assert queries_within(10, Fraction("0.01"), FAILURE) is None
    assert queries_within(10, Fraction("0.01"), FAILURE, "decreasing") is None
    assert within(3, 10**6, FAILURE) is None
    assert within(3, 10**6, FAILURE, "decreasing") is None
    assert rows_needed(10**15, Fraction(1, 10**9), FAILURE) is None
    assert rows_needed(10**15, Fraction(1, 10**9), FAILURE, "decreasing") is None


@pytest.mark.parametrize(
    "bad",
    [
        {"share": 0},
        {"share": 1},
        {"spread": 0},
        {"spread": "0.6"},
        {"group": 1},
        {"share": "0.1", "spread": "0.1"},
    ],
)
def test_expectations_that_no_query_has_are_refused(bad):
    with pytest.raises(InvalidRequest):
        Expected.of(**bad)


@pytest.mark.parametrize(
    "expected",
    [ANYTHING, Expected(share=Fraction(1, 20)), Expected(spread=Fraction(1, 5), group=Fraction(1, 3))],
)
@pytest.mark.parametrize(
    ("units", "scales", "ends", "rising"),
    [
        (20_000, (0.01,), (300,), True),
        (20_000, (0.01, 0.008), (170, 300), False),
        (500, (0.02,), (7,), False),
    ],
)
def test_theorem_PLANNED_NOISE_a_study_judges_all_places_as_each_alone(units, scales, ends, rising, expected):
    """To the last bit.  Mutant: all of them pay what one of them pays."""
    plan = StudyPlan(units, ends[-1], Fraction(1, 20), expected, scales, ends, rising=rising)
    looks = np.rint(plan.queries * (np.arange(_LOOKS + 1) / _LOOKS) ** 2).astype(int).tolist()
    alone = [plan.width(first + 1, last) for first, last in pairwise(sorted({*looks, *ends}))]
    assert sorted(plan._widths()) == sorted(alone)
    assert plan.tolerance == max(alone)
