"""The routes of the textbooks as half-widths: each is held against the tail that it rests on, and against an attack."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adyton.validity.methods import METHODS, ROUTES
from adyton.validity.planner import plan
from adyton.validity.routes import dp_width, expected_width, max_information_width, yes_no_width
from adyton.validity.textbook.accuracy import fixed_width, forking_width
from adyton.validity.textbook.generalization import (
    LEAST_SECOND_TAKE,
    epsilon_for_query,
    first_take,
    query_tail,
    second_take,
)
from adyton.validity.textbook.stability import expected_error, tv_from_multiplicative

SIZES = st.integers(200, 10**8), st.integers(1, 10**4), st.fractions("1e-9", "0.5")


def parts(rows: int, queries: int, failure: Fraction, tolerance: float, scale: float) -> tuple[float, float]:
    """tau and epsilon, from what was returned: the noise is ``scale`` ln(2k / failure), each answer has epsilon / k."""
    return tolerance - scale * math.log(2 * queries / failure), queries / (rows * scale)


@given(*SIZES)
def test_theorem_LAPLACE_ROUTES_privacy_rests_on_its_tail(rows: int, queries: int, failure: Fraction) -> None:
    """Mutants: the failure instead of its half; epsilon without ln 2 / (2n); noise for one query."""
    found = dp_width(rows, queries, failure)
    if found is None:
        return
    tau, epsilon = parts(rows, queries, failure, found.tolerance, found.scale)
    assert query_tail(rows, Fraction(tau)) <= failure / 2 * (1 + Fraction(1, 10**9))
    assert epsilon <= epsilon_for_query(rows, Fraction(tau)) * (1 + 1e-9) + 1e-12


@given(*SIZES)
def test_theorem_LAPLACE_ROUTES_max_information_rests_on_one_of_two_tails(
    rows: int, queries: int, failure: Fraction
) -> None:
    """Mutants: epsilon = 2 tau; the second take without its least exponent."""
    found = max_information_width(rows, queries, failure)
    if found is None:
        return
    tau, epsilon = parts(rows, queries, failure, found.tolerance, found.scale)
    takes = [take(rows, Fraction(1, rows), Fraction(tau)) for take in (first_take, second_take)]
    assert any(
        epsilon <= allowed * (1 + 1e-9) and tail <= failure / 2 * (1 + Fraction(1, 10**9))
        for allowed, tail in takes
    )
    if epsilon > takes[0][0] * (1 + 1e-9):
        assert rows * tau**2 >= LEAST_SECOND_TAKE * (1 - 1e-9)


def test_theorem_LAPLACE_ROUTES_hold_against_a_vote() -> None:
    """Coins are asked with the noise of the route, and then how many rows agree with most of them.

    Of 100 studies none misses, where each may with probability .05.  Without noise every vote is off by more than
    .05, which is less than tau.  Its law is far from both: in 100 studies no outcome is in doubt.
    """
    rows, queries, failure = 2000, 300, Fraction(1, 20)
    rng = np.random.default_rng(4)
    for width in (dp_width, max_information_width):
        found = width(rows, queries + 1, failure)
        assert found is not None
        tau, _ = parts(rows, queries + 1, failure, found.tolerance, found.scale)
        missed = broken = 0
        for _ in range(50):
            coins = rng.integers(0, 2, (rows, queries), dtype=np.int8)
            noise = rng.laplace(0, found.scale, queries + 1)
            means = coins.mean(0)
            for noisy, most in ((noise, found.tolerance), (noise * 0, 0.05)):
                answers = means + noisy[:-1]
                score = (2 * coins.astype(np.int64) - 1) @ np.where(answers >= 0.5, 1, -1)
                last = (score > 0).mean() + (score == 0).mean() / 2 + noisy[-1]
                worst = max(np.abs(answers - 0.5).max(), abs(last - 0.5))
                missed += most == found.tolerance and worst > most
                broken += most != found.tolerance and worst > most
        assert missed == 0
        assert broken == 50
        assert tau > 0.05


def test_theorem_LAPLACE_ROUTES_the_expectation_is_one() -> None:
    """The mean of the largest error of 200 studies of 20 fixed coins, and of their vote, is below the bound; and the
    bound is what ``expected_error`` says at its own epsilon.  Mutant: no ln k in the noise."""
    rows, queries = 5000, 20
    found = expected_width(rows, queries + 1)
    epsilon = (queries + 1) / (rows * found.scale)
    noise = found.scale * sum(1 / j for j in range(1, queries + 2))
    assert found.tolerance >= expected_error(tv_from_multiplicative(epsilon), noise) * (1 - 1e-9)
    for other in (0.5 * epsilon, 2 * epsilon):
        worse = tv_from_multiplicative(other) + (queries + 1) * (1 + math.log(queries + 1)) / (rows * other)
        assert worse > found.tolerance
    rng, errors = np.random.default_rng(5), []
    for _ in range(200):
        coins = rng.integers(0, 2, (rows, queries))
        answers = coins.mean(0) + rng.laplace(0, found.scale, queries)
        score = (2 * coins - 1) @ np.where(answers >= 0.5, 1, -1)
        last = (score > 0).mean() + (score == 0).mean() / 2 + rng.laplace(0, found.scale)
        errors.append(max(np.abs(answers - 0.5).max(), abs(last - 0.5)))
    assert np.mean(errors) + 6 * np.std(errors) / 200**0.5 < found.tolerance


@pytest.mark.parametrize("queries", [1, 2, 10, 60])
def test_theorem_FORKING_PATHS_of_yes_and_no_is_the_counted_tree(queries: int) -> None:
    counted = forking_width(1000, queries, "0.05")
    assert counted <= yes_no_width(1000, queries, "0.05") <= math.sqrt(2) * counted


def test_every_route_of_the_sources_is_a_line_and_none_is_recommended() -> None:
    made = plan(rows=20_000, queries=5)
    lines = {option.method: option for option in (*made.options, *made.routes)}
    assert [route.method for route in made.routes] == [route.name for route in ROUTES]
    assert {"dp-generalizes", "max-information", "laplace", "rounding"} <= {method.name for method in METHODS}
    assert lines["fixed queries"].value == pytest.approx(fixed_width(20_000, 5, Fraction(1, 20)))
    assert lines["fixed queries"].value < lines["forking paths"].value < lines["description length"].value  # type: ignore[operator]
    assert all(route.applies for route in made.routes)
    assert made.recommended not in {route.method for route in made.routes}
    assert "expectation" in str(lines["stability"].applies)
    json = {entry["method"]: entry for entry in made.to_json()["methods"]}  # type: ignore[union-attr]
    assert json["forking paths"]["applies"] == "each answer is only yes or no"
    assert "applies" not in json["rounding"]
    assert plan(rows=20_000, queries=5, group="0.5").routes == ()


@pytest.mark.parametrize(
    "name", [route.name for route in ROUTES] + ["dp-generalizes", "max-information", "rounding, counted"]
)
def test_what_a_route_offers_it_certifies(name: str) -> None:
    """Queries within a tolerance, and rows for them, are those whose width was found to be within it."""
    method = next(one for one in (*METHODS, *ROUTES) if one.name == name)
    tolerance, failure = Fraction(1, 20), Fraction(1, 20)
    asked = method.queries(200_000, tolerance, failure).value
    assert asked
    width = method.width(200_000, int(asked), failure, plan(rows=10, queries=1).expected)
    assert width is not None
    assert width.value is not None
    assert width.value <= tolerance
    rows = method.rows(7, tolerance, failure).value
    fewer = method.width(int(rows or 0) - 1, 7, failure, plan(rows=10, queries=1).expected)
    assert rows
    assert fewer is None or fewer.value is None or fewer.value > tolerance
