"""The laws that prices of plans obey, and what is refused."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adyton.accounting.pld.pairs import DominatingPair, GaussianPair, LaplacePair, RandomizedResponsePair
from adyton.accounting.pld.pld import delta_up, epsilon_up
from adyton.errors import InvalidRequest
from adyton.kernel.accounting import gaussian
from literature.finite_pair import FinitePair
from literature.pld_from_below import delta_down, epsilon_down

MILLIONTH = 1e-6
few = settings(deadline=None, max_examples=25)
reaches = st.floats(-3, 0.7).map(lambda x: Fraction(f"{10**x:.6g}"))
any_slot = st.one_of(reaches.map(LaplacePair), reaches.map(RandomizedResponsePair), reaches.map(GaussianPair))
plans = st.lists(st.tuples(any_slot, st.integers(1, 30)), min_size=1, max_size=4)
deltas = st.floats(-9, -2).map(lambda x: 10**x)


@few
@given(plans, deltas, st.randoms(use_true_random=False))
def test_law_n_slots_are_one_slot_of_n_and_order_leaves_no_trace(
    plan: list[tuple[DominatingPair, int]], delta: float, random: Any
) -> None:
    singles = [(pair, 1) for pair, times in plan for _ in range(times)]
    random.shuffle(singles)
    assert epsilon_up(plan, delta) == epsilon_up(singles, delta)


@few
@given(plans, deltas, any_slot)
def test_law_more_slots_and_less_delta_cost_more(
    plan: list[tuple[DominatingPair, int]], delta: float, extra: DominatingPair
) -> None:
    price = epsilon_up(plan, delta)
    assert epsilon_up([*plan, (extra, 1)], delta) >= price * (1 - 3e-5) - 1e-9
    assert epsilon_up(plan, delta / 2) >= price * (1 - 3e-5) - 1e-9
    assert epsilon_up(plan, delta) >= epsilon_down(plan, delta)


@few
@given(
    st.sampled_from([LaplacePair, RandomizedResponsePair, GaussianPair]),
    reaches,
    st.floats(1, 2),
    st.integers(1, 200),
    deltas,
)
def test_law_less_noise_costs_more(kind: Any, e0: Fraction, factor: float, k: int, delta: float) -> None:
    little, much = [(kind(e0), k)], [(kind(e0 * Fraction(factor)), k)]
    assert epsilon_up(much, delta) >= epsilon_up(little, delta) * (1 - 3e-5) - 1e-9


@few
@given(reaches, st.integers(1, 300), deltas)
def test_law_tight_is_not_above_loose(e0: Fraction, k: int, delta: float) -> None:
    """Laplace <= randomized response <= basic composition, and <= advanced composition."""
    laplace, optimal = (
        epsilon_up([(LaplacePair(e0), k)], delta),
        epsilon_up([(RandomizedResponsePair(e0), k)], delta),
    )
    e, slack = float(e0), 1 + 3e-5
    advanced = math.sqrt(2 * k * math.log(1 / delta)) * e + k * e * e / 2
    assert laplace <= optimal * slack
    assert optimal <= k * e * slack
    assert optimal <= advanced * slack


@few
@given(st.lists(st.tuples(reaches, st.integers(1, 50)), min_size=1, max_size=4), deltas)
def test_law_gaussians_compose_exactly(parts: list[tuple[Fraction, int]], delta: float) -> None:
    mu = math.sqrt(sum(times * float(mu) ** 2 for mu, times in parts))
    found = epsilon_up([(GaussianPair(m), times) for m, times in parts], delta)
    assert found == pytest.approx(gaussian.epsilon_up(mu, delta), rel=1e-6, abs=1e-8)


def test_law_delta_and_epsilon_are_inverse() -> None:
    plan: list[tuple[DominatingPair, int]] = [(LaplacePair("0.1"), 30), (GaussianPair("0.2"), 3)]
    epsilon = epsilon_up(plan, 1e-5)
    assert delta_up(plan, epsilon) == pytest.approx(1e-5, rel=2e-3)


def test_law_nothing_is_free_and_certainty_has_no_price() -> None:
    assert epsilon_up([], MILLIONTH) == 0
    assert epsilon_up([(LaplacePair(1), 0)], MILLIONTH) == 0
    same = (Fraction(1, 2), Fraction(1, 2))
    assert epsilon_up([(FinitePair(same, same), 5)], MILLIONTH) == 0
    told = FinitePair((1, 0), (0, 1))
    assert epsilon_up([(told, 1)], MILLIONTH) == math.inf
    assert delta_up([(told, 1)], 3.0) == 1
    assert delta_down([(told, 1)], 3.0) == pytest.approx(1 - math.exp(-1))


def test_law_pure_composition_has_delta_zero_at_its_end() -> None:
    assert delta_up([(RandomizedResponsePair("0.25"), 4)], 1.00001) == 0
    assert delta_up([(RandomizedResponsePair("0.25"), 4)], 0.9999) > 0


def test_law_many_different_multiplicities() -> None:
    """A thousand different counts make a dozen groups; the total is what Gaussian intuition says."""
    plan = [(RandomizedResponsePair(Fraction(1000 + i, 10**6)), 1 + i % 200) for i in range(400)]
    mu = math.sqrt(sum(times * float(pair.epsilon0) ** 2 for pair, times in plan))  # type: ignore[arg-type]
    assert epsilon_up(plan, MILLIONTH) == pytest.approx(gaussian.epsilon_up(mu, MILLIONTH), rel=2e-3)


@pytest.mark.parametrize("delta", [0, 1, -1, math.nan, 1e-300])
def test_law_an_impossible_delta_is_refused(delta: float) -> None:
    with pytest.raises(InvalidRequest, match="delta must be"):
        epsilon_up([(LaplacePair(1), 1)], delta)


@pytest.mark.parametrize("epsilon", [-1, math.nan, math.inf, 501])
def test_law_an_impossible_epsilon_is_refused(epsilon: float) -> None:
    with pytest.raises(InvalidRequest, match="epsilon must be"):
        delta_up([(LaplacePair(1), 1)], epsilon)


@pytest.mark.parametrize("kind", [LaplacePair, RandomizedResponsePair, GaussianPair])
@pytest.mark.parametrize("value", [0, -1, "nan", "inf", 101, None, True, "1e99999"])
def test_law_impossible_pairs_are_refused(kind: Any, value: Any) -> None:
    with pytest.raises(InvalidRequest):
        kind(value)


@pytest.mark.parametrize("times", [-1, 1.5, "2", True, 10**10])
def test_law_impossible_multiplicities_are_refused(times: Any) -> None:
    with pytest.raises(InvalidRequest):
        epsilon_up([(LaplacePair(1), times)], MILLIONTH)


@pytest.mark.parametrize(
    ("p", "q"), [((1,), (Fraction(1, 2),) * 2), ((Fraction(1, 2),), (1,)), ((2, -1), (1, 0)), ((), ())]
)
def test_law_what_is_no_pair_of_laws_is_refused(p: Any, q: Any) -> None:
    with pytest.raises(InvalidRequest):
        FinitePair(p, q)


@pytest.mark.parametrize("exponent", [60, 400])
def test_law_losses_beyond_the_lattice_are_refused_in_words(exponent: int) -> None:
    rare = Fraction(1, 10**exponent)
    with pytest.raises(InvalidRequest, match="a loss is at most 100"):
        FinitePair((rare, 1 - rare), (Fraction(1, 2), Fraction(1, 2)))
