"""Multiplicative weights: the potential falls as guaranteed, and an update can be needed only so often."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adyton.errors import InvalidRequest
from adyton.monitors.pmw.guess import (
    CellDistribution,
    most_updates,
    mw_update,
)
from adyton.planning.coordinated.linear_query import BoxQuery, WeightedQuery
from support.tries import often

masses = st.floats(0, 1) | st.sampled_from([0.0, 1.0, 1e-9])


def distributions(cells: int) -> st.SearchStrategy[np.ndarray]:
    lists = st.lists(masses, min_size=cells, max_size=cells).filter(lambda m: sum(m) > 1e-6)
    return lists.map(lambda m: np.array(m) / sum(m))


def relative_entropy(p: np.ndarray, log_weights: np.ndarray) -> float:
    inside = p > 0
    return float((p[inside] * (np.log(p[inside]) - log_weights[inside])).sum())


@given(data=st.data(), cells=st.integers(1, 6), denominator=st.integers(1, 5), step=st.floats(-6, 6))
@settings(deadline=None, derandomize=True, max_examples=often(120, 300))
def test_theorem_MW_POTENTIAL_falls_by_step_times_gap_less_an_eighth(
    data: st.DataObject, cells: int, denominator: int, step: float
) -> None:
    """The potential falls by at least step times gap less an eighth of its square."""
    p = data.draw(distributions(cells))
    before = np.log(data.draw(distributions(cells)) * 0.999 + 0.001 / cells)
    before -= math.log(np.exp(before).sum())
    weights = data.draw(st.lists(st.integers(0, denominator), min_size=cells, max_size=cells))
    query, q = WeightedQuery(weights, denominator), np.array(weights) / denominator
    after = before.copy()
    returned = mw_update(after, query, step)
    assert np.allclose(returned, np.exp(after))
    assert returned.sum() == pytest.approx(1)
    assert np.allclose(
        returned, np.exp(before) * np.exp(step * q) / (np.exp(before) * np.exp(step * q)).sum()
    )
    fall = relative_entropy(p, before) - relative_entropy(p, after)
    assert fall >= step * float((p - np.exp(before)) @ q) - step**2 / 8 - 1e-10


def test_theorem_MW_POTENTIAL_has_no_better_constant() -> None:
    """One of two equally likely cells: a fall of 2 g**2 and no more, up to the next order in g."""
    for g in (1e-2, 1e-3):
        p, before = np.array([0.5 + g, 0.5 - g]), np.log([0.5, 0.5])
        falls = []
        for rate in (3.5, 4.0, 4.5):
            after = before.copy()
            mw_update(after, WeightedQuery([1, 0]), rate * g)
            falls.append((relative_entropy(p, before) - relative_entropy(p, after)) / g**2)
        assert 2 <= falls[1] <= 2 + 20 * g
        assert falls[1] == max(falls)


@given(data=st.data(), cells=st.integers(2, 40), gap=st.floats(0.1, 0.5), slack=st.floats(0, 1))
@settings(deadline=None, derandomize=True, max_examples=100)
def test_theorem_MW_UPDATES_are_never_more(data: st.DataObject, cells: int, gap: float, slack: float) -> None:
    """The worst query each time, until no query has the gap left; the gap is known only roughly."""
    p = data.draw(distributions(cells))
    guess, updates = CellDistribution(cells), 0
    while True:
        query = WeightedQuery((p > guess.weights).astype(np.int64))
        true = float(p @ query.weights) - guess.answer(query)  # the total variation
        if true < gap:
            break
        heard = gap + slack * 2 * (true - gap)  # any number with heard >= gap and 2 true - heard >= gap
        guess.correct(query, min(heard, 2 * true - gap))
        updates += 1
        assert updates <= most_updates(cells, gap)


def test_theorem_MW_UPDATES_is_about_as_many_as_a_stubborn_case_needs() -> None:
    """Everything in one of 2**16 cells, found by halving with the least gap: more than half of the bound."""
    cells, gap = 2**16, 0.49
    p = np.zeros(cells)
    p[0] = 1.0
    guess, updates = CellDistribution(cells), 0
    for level in range(16):
        query = BoxQuery((cells,), {0: range(cells >> (level + 1))})
        while float(p[0]) - guess.answer(query) >= gap:
            guess.correct(query, gap)
            updates += 1
    assert 0.3 * most_updates(cells, gap) < updates <= most_updates(cells, gap)


def test_a_guess_of_ten_million_cells_is_updated_in_memory() -> None:
    guess = CellDistribution(10**7)
    query = BoxQuery((10,) * 7, {0: [1, 2], 6: [3]})
    assert guess.answer(query) == pytest.approx(0.02)
    guess.correct(query, 0.3)
    lifted = 0.02 * math.exp(1.2)
    assert guess.answer(query) == pytest.approx(lifted / (lifted + 0.98))
    assert guess.weights.sum() == pytest.approx(1)


def test_nonsense_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="cells"):
        CellDistribution(0)
    with pytest.raises(InvalidRequest, match="cells"):
        CellDistribution(3).answer(WeightedQuery([1, 0]))
    for gap in (0.0, 1.5):
        with pytest.raises(InvalidRequest, match="gap"):
            most_updates(10, gap)
