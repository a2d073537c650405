"""Mutual information of rows and answers: exact for small tables, in every bound that uses it."""

from __future__ import annotations

import math
from itertools import product

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_tables import SMALL, Small

from adyton.errors import InvalidRequest
from adyton.validity.published.mutual_information import (
    best_exponent,
    threshold_after,
)
from adyton.validity.published.rogers import rrsstw_width, sum_width
from literature.information import (
    event_probability,
    expected_gap,
    gap_square,
    information_of,
    simple_event_probability,
)
from literature.quoted import first_release_width


def information(small: Small) -> float:
    """I(S; T) in nats, by quadrature."""
    total = 0.0
    for _, weight, density in small.samples:
        positive = density > 1e-300
        ratio = np.log(np.where(positive, density, 1) / np.where(positive, small.density, 1))
        total += weight * float((density * ratio).sum() * small.cell)
    return total


def functions(small: Small) -> list[tuple[float, ...]]:
    return list(product((0.0, 1.0), repeat=len(small.law)))


@pytest.mark.parametrize("small", SMALL)
def test_theorem_MUTUAL_INFORMATION_OF_ANSWERS_small_tables(small: Small) -> None:
    bound = information_of(small.n, small.mu0() ** 2)
    assert information(small) <= bound
    assert information(small) > bound / 8  # so a forgotten factor of 8 would be seen
    assert information_of(100, "0.5") == pytest.approx(25)


@pytest.mark.parametrize("small", SMALL)
def test_theorem_MUTUAL_INFORMATION_GAP_small_tables(small: Small) -> None:
    """For every transcript the query with the largest expected gap, and the largest expected square."""
    nats = information(small)
    gaps, squares = [], []
    for function in functions(small):
        truth = float(small.law @ np.array(function))
        off = [
            (sum(function[x] for x in sample) / small.n - truth, weight * density)
            for sample, weight, density in small.samples
        ]
        gaps.append(sum(o * d for o, d in off))
        squares.append(sum(o * o * d for o, d in off))
    chosen = float(np.max(gaps, axis=0).sum() * small.cell)
    square = float(np.max(squares, axis=0).sum() * small.cell)
    assert chosen <= expected_gap(nats, small.n)
    assert square <= gap_square(nats, small.n)


@pytest.mark.parametrize("small", SMALL)
@pytest.mark.parametrize("fixed", [0.05, 0.2, 0.4])
def test_theorem_EVENTS_AFTER_INFORMATION_small_tables(small: Small, fixed: float) -> None:
    """The event is chosen for every transcript: the likeliest samples whose prior is at most ``fixed``."""
    nats = information(small)
    prior = np.array([weight for _, weight, _ in small.samples])
    joint = np.stack([weight * density for _, weight, density in small.samples])
    order = np.argsort(-joint / prior[:, None, None], axis=0)
    taken = np.cumsum(prior[order], axis=0) <= fixed + 1e-12
    chosen = float((np.take_along_axis(joint, order, axis=0) * taken).sum() * small.cell)
    bound = event_probability(fixed, nats)
    assert chosen <= bound <= simple_event_probability(fixed, nats) + 1e-9


@settings(max_examples=25, deadline=None)
@given(st.floats(-10, -0.1), st.floats(-6, 1.5))
def test_theorem_EVENTS_AFTER_INFORMATION_is_never_below_fifty_digits(log_q: float, log_nats: float) -> None:
    q, nats = 10**log_q, 10**log_nats
    p = event_probability(q, nats)
    assert q <= p <= 1
    with mpmath.workdps(50):
        exact_q, exact_p = mpmath.mpf(str(q)), mpmath.mpf(p)
        if p < 1:
            kl = exact_p * mpmath.log(exact_p / exact_q)
            kl += (1 - exact_p) * mpmath.log((1 - exact_p) / (1 - exact_q))
            assert kl >= nats
    assert p == 1 or threshold_after(p, nats) <= q * (1 + 1e-9)


def test_theorem_EVENTS_AFTER_INFORMATION_edges() -> None:
    assert event_probability("0.01", 0.0) == pytest.approx(0.01)
    assert event_probability("0.01", 10.0) == 1
    assert threshold_after("0.05", 0.0) == pytest.approx(0.05, rel=1e-9)
    assert threshold_after("0.05", 100.0) == 0
    assert event_probability(threshold_after("0.05", 0.3), 0.3) == pytest.approx(0.05, rel=1e-9)
    with pytest.raises(InvalidRequest):
        event_probability("0.05", -1.0)


def test_theorem_RRSSTW_MONITOR_published_widths() -> None:
    assert round(first_release_width(10**5, 50, "0.05"), 5) == 0.06622
    assert round(first_release_width(10**6, 1000, "0.05"), 5) == 0.04474


@pytest.mark.parametrize(
    ("rows", "tolerance", "queries"),
    [(10**5, 0.05, 16), (10**6, 0.05, 1532), (10**4, 0.1, 2), (10**5, 0.1, 263), (10**6, 0.1, 21184)],
)
def test_theorem_RRSSTW_MONITOR_certified_queries(rows: int, tolerance: float, queries: int) -> None:
    assert rrsstw_width(rows, queries, "0.05").tolerance <= tolerance
    assert rrsstw_width(rows, int(queries * 1.01) + 1, "0.05").tolerance > tolerance
    assert rrsstw_width(rows, queries, "0.05", centred=True).tolerance < 0.85 * tolerance


@pytest.mark.parametrize("small", SMALL)
@pytest.mark.parametrize("centred", [False, True])
def test_theorem_RRSSTW_MONITOR_small_tables(small: Small, centred: bool) -> None:
    for failure in (0.5, 0.2, 0.05):
        width = sum_width(small.n, 2, failure, small.sigma, centred=centred)
        assert small.probability(small.errors() > width) <= failure


@settings(max_examples=50)
@given(st.floats(-6, 6), st.floats(1e-6, 1 - 1e-6))
def test_law_the_best_exponent_is_the_least(log_nats: float, share: float) -> None:
    nats = 10**log_nats
    assert best_exponent(nats) <= (2 * nats - math.log(1 - share)) / share * (1 + 1e-6)
