"""Max-information: exact for finite tables and for randomized response on many rows."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from adyton.errors import InvalidRequest
from adyton.validity.textbook.max_information import (
    after_processing,
    bits,
    event_bound,
    independent_rows_nats,
    loose_independent_rows_nats,
    max_divergence,
    max_information,
    pure_nats,
    together,
)

Array = np.ndarray[Any, np.dtype[np.float64]]


@st.composite
def tables(draw: st.DrawFn) -> Array:
    shape = draw(st.integers(2, 3)), draw(st.integers(2, 3))
    weights = np.array(draw(st.lists(st.floats(0, 1), min_size=9, max_size=9)))[: shape[0] * shape[1]] + 0.001
    return (weights / weights.sum()).reshape(shape)


@settings(max_examples=150)
@given(tables(), st.floats(0, 0.5))
def test_theorem_MAX_INFORMATION_over_all_events(table: Array, failure: float) -> None:
    """Every event of rows and transcript: none has more than exp(I) q + beta, and some has as much."""
    information = max_information(table.tolist(), failure)
    apart = np.outer(table.sum(axis=1), table.sum(axis=0)).ravel()
    p = table.ravel()
    gaps = [
        p[list(event)].sum() - math.exp(information) * apart[list(event)].sum()
        for event in (np.flatnonzero(mask) for mask in product((0, 1), repeat=p.size))
    ]
    assert max(gaps) <= failure + 1e-9
    assert max(gaps) >= failure - 1e-9
    assert max_information(table.T.tolist(), failure) == pytest.approx(information, abs=1e-9)
    if failure == 0:
        mutual = float((p * np.log(p / apart)).sum())
        assert mutual <= information + 1e-12


def test_theorem_MAX_INFORMATION_of_privacy() -> None:
    """(epsilon, delta)-DP is a divergence: randomized response that publishes the truth with probability delta."""
    epsilon, delta = 0.7, 0.1
    keep = math.exp(epsilon) / (1 + math.exp(epsilon))
    p = [(1 - delta) * keep, (1 - delta) * (1 - keep), delta, 0]
    q = [(1 - delta) * (1 - keep), (1 - delta) * keep, 0, delta]
    assert max_divergence(p, q, delta) == pytest.approx(epsilon)
    assert math.isinf(max_divergence(p, q, delta / 2))
    assert bits(math.log(2)) == pytest.approx(1)
    with pytest.raises(InvalidRequest):
        max_divergence(p, q, 1.0)


@settings(max_examples=100)
@given(st.lists(st.floats(0.05, 1), min_size=8, max_size=8), st.floats(0, 0.2), st.floats(0, 0.2))
def test_theorem_MAX_INFORMATION_COMPOSITION_two_adaptive_answers(
    weights: list[float], first: float, second: float
) -> None:
    """A joint law of one bit of data and two answers; the second bound holds given the first answer."""
    joint = (np.array(weights) / sum(weights)).reshape(2, 2, 2)  # rows, first, second
    one = max_information(joint.sum(axis=2).tolist(), first)
    given_first = [joint[:, t, :] / joint[:, t, :].sum() for t in (0, 1)]
    two = max(max_information(part.tolist(), second) for part in given_first)
    information, failure = together([(max(one, 0), first), (max(two, 0), second)])
    assert max_information(joint.reshape(2, 4).tolist(), min(failure, 0.99)) <= information + 1e-9
    merged = joint.sum(axis=2)
    assert (
        max_information(merged.tolist(), first)
        <= after_processing(max_information(joint.reshape(2, 4).tolist(), first)) + 1e-9
    )


def randomized_response(rows: int, epsilon: float, failure: float) -> float:
    """The max-information of releasing fair bits by randomized response: agreements decide."""
    keep = math.exp(epsilon) / (1 + math.exp(epsilon))
    agree = np.arange(rows + 1)
    return max_divergence(
        binom.pmf(agree, rows, keep).tolist(), binom.pmf(agree, rows, 0.5).tolist(), failure
    )


@pytest.mark.parametrize(("rows", "epsilon"), [(1, 0.5), (5, 0.2), (20, 1.0), (50, 2.0)])
def test_theorem_MAX_INFORMATION_PURE_randomized_response(rows: int, epsilon: float) -> None:
    assert randomized_response(rows, epsilon, 0.0) <= pure_nats(rows, str(epsilon))


@pytest.mark.parametrize("failure", [0.3, 0.05, 0.001])
@pytest.mark.parametrize(
    ("rows", "epsilon"), [(10, 0.5), (100, 0.2), (2000, 0.1), (10_000, 0.1), (10_000, 0.01)]
)
def test_theorem_MAX_INFORMATION_INDEPENDENT_randomized_response(
    rows: int, epsilon: float, failure: float
) -> None:
    bound = independent_rows_nats(rows, str(epsilon), failure)
    assert randomized_response(rows, epsilon, failure) <= bound
    assert bound <= loose_independent_rows_nats(rows, str(epsilon), failure)


def test_theorem_MAX_INFORMATION_INDEPENDENT_half_the_drift_is_refuted() -> None:
    rows, epsilon, failure = 10_000, 0.1, 0.05
    half = rows * epsilon**2 / 16 + epsilon * math.sqrt(rows * math.log(1 / failure) / 2)
    assert randomized_response(rows, epsilon, failure) > half


def test_theorem_MAX_INFORMATION_INDEPENDENT_of_the_page() -> None:
    assert independent_rows_nats(10**4, "0.01", "0.01") == pytest.approx(1.642, abs=5e-4)
    assert loose_independent_rows_nats(10**4, "0.01", "0.01") == pytest.approx(2.128, abs=5e-4)
    assert independent_rows_nats(2, "0.1", "0.0001") <= pure_nats(2, "0.1")


@settings(max_examples=100)
@given(tables(), st.integers(0, 300), st.integers(0, 2**9 - 1))
def test_theorem_EVENT_INFLATION_of_any_event(table: Array, thousandths: int, mask: int) -> None:
    failure = thousandths / 1000
    information = max(0.0, max_information(table.tolist(), failure))
    event = np.array(
        [[mask >> (3 * i + j) & 1 for j in range(table.shape[1])] for i in range(table.shape[0])]
    )
    fresh = float(table.sum(axis=1) @ event @ table.sum(axis=0))
    joint = float((table * event).sum())
    assert joint <= event_bound(min(1.0, fresh), information, failure) + 1e-9
    assert event_bound("0.5", 800.0) == 1
    with pytest.raises(InvalidRequest):
        event_bound("0.5", -1.0)
