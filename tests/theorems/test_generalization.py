"""From privacy to the population: randomized response on every table, and the constants of the proofs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from adyton.errors import InvalidRequest
from adyton.validity.published.six_epsilon import laplace_width, six_epsilon_tail
from adyton.validity.textbook.generalization import (
    LEAST_SECOND_TAKE,
    chosen_event,
    epsilon_for_event,
    epsilon_for_query,
    first_take,
    query_tail,
    second_take,
)


def agreement(rows: int, epsilon: float, at_least: int) -> tuple[float, float]:
    """Pr["rows agree with the transcript in at least so many places"] for fresh rows, and for the true ones."""
    keep = math.exp(epsilon) / (1 + math.exp(epsilon))
    return float(binom.sf(at_least - 1, rows, 0.5)), float(binom.sf(at_least - 1, rows, keep))


@pytest.mark.parametrize("rows", [4, 10, 40, 200])
def test_theorem_DP_GENERALIZES_randomized_response(rows: int) -> None:
    """Fair bits, each released with the largest epsilon allowed; the event is "the rows are near the transcript"."""
    seen = 0
    for at_least in range(rows // 2, rows + 1):
        fresh, _ = agreement(rows, 1.0, at_least)
        if 1e-30 < fresh < 0.3:
            epsilon = epsilon_for_event(rows, fresh)
            chosen = agreement(rows, epsilon, at_least)[1]
            assert chosen <= chosen_event(fresh)
            seen += 1
    assert seen >= 1


def test_theorem_DP_GENERALIZES_the_test_would_see_a_wrong_epsilon() -> None:
    """Three times the epsilon breaks 3 sqrt(beta) for randomized response on 200 bits."""
    rows, at_least = 200, 125
    fresh, _ = agreement(rows, 1.0, at_least)
    assert agreement(rows, 3 * epsilon_for_event(rows, fresh), at_least)[1] > chosen_event(fresh)


def test_theorem_DP_GENERALIZES_numbers_of_the_seed() -> None:
    assert epsilon_for_query(10**4, "0.05") == pytest.approx(0.049652, abs=5e-7)
    assert query_tail(10**4, "0.05") == pytest.approx(5.9e-11, rel=0.01)
    assert epsilon_for_query(10, "0.01") == 0
    beta = 2 * math.exp(-2 * 500 * 0.1**2)
    assert query_tail(500, "0.1") == pytest.approx(chosen_event(beta))
    assert epsilon_for_query(500, "0.1") == pytest.approx(epsilon_for_event(500, beta))


def test_theorem_MAX_INFORMATION_GENERALIZES_both_takes() -> None:
    epsilon, tail = first_take(10**4, "0.0001", "0.05")
    assert epsilon == pytest.approx(0.0025)  # tau**2 for a mean
    assert tail == pytest.approx(2 * math.exp(-25))
    epsilon, tail = second_take(10**4, "0.0001", "0.05")
    assert epsilon == pytest.approx(0.05)
    assert tail == pytest.approx(2 * math.exp(-0.75 * 25))


def test_theorem_MAX_INFORMATION_GENERALIZES_from_5_958_on() -> None:
    def excess(r: float) -> float:
        return 2 * math.exp(-r * (1.5 - math.sqrt(0.5))) + 2 * math.exp(-r) - 2 * math.exp(-0.75 * r)

    assert excess(LEAST_SECOND_TAKE) <= 0 < excess(LEAST_SECOND_TAKE - 0.001)
    rows = 10**4
    for ratio in (1.0, 5.9, 5.958, 8.0, 30.0):
        tolerance = math.sqrt(ratio / rows)
        tail = second_take(rows, "0.0001", tolerance)[1]
        proved = 2 * math.exp(-ratio * (1.5 - math.sqrt(0.5))) + 2 * math.exp(-ratio)
        assert min(1.0, proved) * (1 - 1e-9) <= tail <= proved * (1 + 1e-3) + 2 * math.exp(-0.75 * ratio)


@pytest.mark.parametrize("rows", [20, 100])
def test_theorem_MAX_INFORMATION_GENERALIZES_randomized_response(rows: int) -> None:
    """f is the share of agreements with the transcript: for true rows it strays less than guaranteed."""
    for tolerance in (0.2, 0.3, 0.4):
        at_least = math.ceil(rows * (0.5 + tolerance) - 1e-9)
        for take in (first_take, second_take):
            epsilon, tail = take(rows, 1 / rows, tolerance)
            assert agreement(rows, epsilon, at_least)[1] <= tail


@settings(max_examples=120)
@given(st.floats(0, 1), st.floats(12, 500), st.integers(0, 10**6), st.floats(0, 1))
def test_theorem_SIX_EPSILON_contradiction_of_the_proof(
    where: float, square: float, millionths: int, of_p: float
) -> None:
    """For every epsilon, n, delta and p above the claimed tail the two bounds of the proof contradict."""
    epsilon = 0.2 * (0.001**where)
    rows = math.ceil(square / epsilon**2)
    delta = millionths / 10**6 * epsilon / 16 * (1 - 1e-12)
    tail = six_epsilon_tail(rows, epsilon, delta)
    if tail >= 1:
        return
    p = tail + (1 - tail) * of_p**4
    times = math.ceil(1 / p)
    upper = math.expm1(2 * epsilon) + times * delta + 2 / (epsilon * rows) * math.log(2 * times)
    lower = -6 * epsilon * math.expm1(times * math.log1p(-p)) if p < 1 else 6 * epsilon
    assert lower > upper


def test_theorem_SIX_EPSILON_window() -> None:
    assert 6 * math.sqrt(12 / 10**4) == pytest.approx(0.208, abs=5e-4)
    assert six_epsilon_tail(10**4, "0.035", 0) == pytest.approx(math.exp(-(0.035**2) * 10**4 / 8))
    assert six_epsilon_tail(10**6, "0.1", "0.001") == pytest.approx(0.04)
    for epsilon, delta in (("0.034", 0), ("0.21", 0), ("0.1", "0.01"), ("0.1", "-0.001")):
        with pytest.raises(InvalidRequest):
            six_epsilon_tail(10**4, epsilon, delta)
    assert laplace_width(100, 1, "0.05") is None


@pytest.mark.parametrize(
    ("rows", "queries", "tolerance"), [(10**6, 14, 0.05), (10**5, 1, 0.1), (10**6, 124, 0.1)]
)
def test_theorem_SIX_EPSILON_with_laplace_noise(rows: int, queries: int, tolerance: float) -> None:
    width = laplace_width(rows, queries, "0.05")
    assert width is not None
    assert width.tolerance <= tolerance
    more = laplace_width(rows, queries + 1 + queries // 60, "0.05")
    assert more is not None
    assert more.tolerance > tolerance


@pytest.mark.parametrize(("rows", "queries"), [(10**5, 3), (10**6, 100)])
def test_theorem_SIX_EPSILON_laplace_parameters_satisfy_the_theorem(rows: int, queries: int) -> None:
    """Recomputed from the scale alone: some epsilon and delta in the window keep the whole failure below 5 %."""
    width = laplace_width(rows, queries, "0.05")
    assert width is not None
    best = 1.0
    for epsilon in np.linspace(math.sqrt(12 / rows), width.tolerance / 6, 1500):
        noise = width.tolerance - 6 * epsilon
        each = 1 / (rows * width.scale)
        for delta in (epsilon * 0.05 * share / 4 for share in np.linspace(0.01, 0.99, 99)):
            strong = each * math.sqrt(-2 * queries * math.log(delta)) + queries * each * math.tanh(each / 2)
            spent = min(queries * each, strong)
            if noise > 0 and spent <= epsilon * (1 + 1e-9):
                transfer = max(4 * delta / epsilon, math.exp(-(epsilon**2) * rows / 8))
                best = min(best, transfer + queries * math.exp(-noise / width.scale))
    assert best <= 0.051  # a grid finds the parameters only nearly
