"""The same plans, priced by dp-accounting and by us.

dp-accounting is composed one by one, because it forgets multiplicities; the last test says where, and fails the
day it no longer does.  Its own rounding is far below the tolerances here at the steps that are used.
"""

from __future__ import annotations

import math
from functools import cache, reduce
from typing import Any

import numpy as np
import pytest
from dp_accounting import dp_event, privacy_accountant
from dp_accounting.pld import pld_privacy_accountant
from dp_accounting.pld import privacy_loss_distribution as peer

from adyton.accounting.pld import pld
from adyton.accounting.pld.pairs import DominatingPair, GaussianPair, LaplacePair, RandomizedResponsePair
from support.tries import crossed

STEP = 1e-4


@cache
def theirs(pair: DominatingPair, step: float = STEP) -> Any:
    """The discretised pair of dp-accounting, which composing does not change."""
    match pair:
        case LaplacePair(e0):
            return peer.from_laplace_mechanism(1 / float(e0), value_discretization_interval=step)
        case GaussianPair(mu):
            return peer.from_gaussian_mechanism(1 / float(mu), value_discretization_interval=step)
        case RandomizedResponsePair(e0):
            lies = 2 / (1 + math.exp(float(e0)))  # the share of answers that are a fair coin
            return peer.from_randomized_response(lies, 2, value_discretization_interval=step)
        case _:
            raise AssertionError(pair)


@cache
def one_by_one(*pairs: DominatingPair) -> Any:
    return reduce(lambda a, b: a.compose(b), map(theirs, pairs))


@pytest.mark.parametrize(
    ("pair", "times"),
    crossed(
        [LaplacePair("0.1"), LaplacePair("0.5"), GaussianPair("0.2"), RandomizedResponsePair("0.3")],
        [1, 7, 40],
    ),
)
def test_equal_slots_cost_what_they_cost_there(pair: DominatingPair, times: int) -> None:
    expected = one_by_one(*[pair] * times)
    for delta in (1e-2, 1e-6, 1e-9):
        found = pld.epsilon_up([(pair, times)], delta)
        assert found == pytest.approx(expected.get_epsilon_for_delta(delta), rel=5e-4, abs=2e-4)


def test_a_mixed_plan_costs_what_it_costs_there() -> None:
    numbers = np.random.default_rng(7)
    kinds: list[Any] = [LaplacePair, GaussianPair, RandomizedResponsePair]
    pairs = [kinds[i % 3](float(e)) for i, e in enumerate(np.exp(numbers.uniform(-4, -1, 30)))]
    expected = one_by_one(*pairs)
    for delta in (1e-3, 1e-6):
        found = pld.epsilon_up([(pair, 1) for pair in pairs], delta)
        assert found == pytest.approx(expected.get_epsilon_for_delta(delta), rel=2e-3)
    assert pld.delta_up([(pair, 1) for pair in pairs], 1.0) == pytest.approx(
        expected.get_delta_for_epsilon(1.0), rel=1e-2
    )


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0, 2.0])
def test_deltas_agree(epsilon: float) -> None:
    plan: list[tuple[DominatingPair, int]] = [(LaplacePair("0.2"), 12), (GaussianPair("0.3"), 2)]
    expected = one_by_one(*(pair for pair, times in plan for _ in range(times))).get_delta_for_epsilon(
        epsilon
    )
    assert pld.delta_up(plan, epsilon) == pytest.approx(expected, rel=3e-3)


def test_a_thousand_laplaces_at_equal_tightness() -> None:
    """Aligned with the lattice (0.001 divides 0.01) they are as tight as we are; not aligned, a hundred times looser."""
    found = pld.epsilon_up([(LaplacePair("0.01"), 1000)], 1e-6)
    finest = theirs(LaplacePair("0.01"), 1e-4).self_compose(1000).get_epsilon_for_delta(1e-6)
    aligned = theirs(LaplacePair("0.01"), 1e-3).self_compose(1000).get_epsilon_for_delta(1e-6)
    askew = theirs(LaplacePair("0.01"), 3e-4).self_compose(1000).get_epsilon_for_delta(1e-6)
    assert 0 < found - finest < 6e-6
    assert found == pytest.approx(aligned, abs=1e-6)
    assert askew - finest > 1e-4


def test_dp_accounting_forgets_the_multiplicity_of_randomized_response() -> None:
    """Five releases priced as one.  This is why the oracle above is composed one by one."""
    replace = privacy_accountant.NeighboringRelation.REPLACE_ONE
    event = dp_event.RandomizedResponseDpEvent(noise_parameter=0.5, num_buckets=2)

    def price(count: int, calls: int) -> float:
        accountant = pld_privacy_accountant.PLDAccountant(replace)
        for _ in range(calls):
            accountant.compose(event, count)
        return float(accountant.get_epsilon(1e-6))

    assert price(count=5, calls=1) == price(count=1, calls=1)
    assert price(count=1, calls=5) > 4 * price(count=1, calls=1)
    five = [(RandomizedResponsePair(math.log(3)), 5)]
    assert pld.epsilon_up(five, 1e-6) == pytest.approx(price(count=1, calls=5), rel=1e-3)
