"""Privacy loss distributions against exact sums and integrals, and the laws that they obey."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pld_oracle as truth
import pytest
import scipy.fft
from hypothesis import given, settings
from hypothesis import strategies as st

from adyton.accounting.pld import convolve, lattice, pairs, profile, slots, steering
from adyton.accounting.pld.lattice import step_up
from adyton.accounting.pld.pairs import DominatingPair, GaussianPair, LaplacePair, RandomizedResponsePair
from adyton.accounting.pld.pld import delta_up, epsilon_up
from adyton.kernel.exact.outward import UNIT_ROUNDOFF
from literature.finite_pair import FinitePair
from literature.pld_from_below import delta_down, epsilon_down, optimistic, step_down

MILLIONTH = 1e-6
few = settings(deadline=None, max_examples=25)
reaches = st.floats(-3, 0.7).map(lambda x: Fraction(f"{10**x:.6g}"))
steps = st.floats(-2.5, 0).map(lambda x: step_up(10**x))
shares = st.floats(0, 1)


def lattice_delta(law: lattice.Lattice, step: float, epsilon: float) -> float:
    losses = (law.start + np.arange(len(law.masses))) * step
    return float(law.infinite + np.sum(law.masses * np.maximum(0, -np.expm1(epsilon - losses))))


def exact_delta(pair: DominatingPair, epsilon: float) -> float:
    match pair:
        case LaplacePair(e0):
            return float(truth.laplace_once(truth.real(Fraction(e0)), truth.real(epsilon)))
        case RandomizedResponsePair(e0):
            return float(truth.binary([Fraction(e0)], epsilon))
        case FinitePair(p, q):
            return float(truth.finite([(p, q)], epsilon))  # type: ignore[list-item]
        case _:
            raise AssertionError(pair)


@st.composite
def finite_pairs(draw: st.DrawFn, outputs: int = 4) -> FinitePair:
    """Any two laws on a few outputs; some outputs are impossible under one of them."""
    weights = st.lists(st.integers(0, 9), min_size=outputs, max_size=outputs).filter(any)
    p, q = draw(weights), draw(weights)
    return FinitePair(tuple(Fraction(x, sum(p)) for x in p), tuple(Fraction(x, sum(q)) for x in q))


one_pair = st.one_of(reaches.map(LaplacePair), reaches.map(RandomizedResponsePair), finite_pairs())


# One pair on its lattice


@settings(deadline=None, max_examples=150)
@given(one_pair, steps, st.floats(-1.5, 1.5))
def test_theorem_CONNECT_THE_DOTS_dominates_everywhere(
    pair: DominatingPair, step: float, ratio: float
) -> None:
    epsilon = ratio * max(pair.reach, step)
    exact = exact_delta(pair, epsilon)
    assert lattice_delta(pair.pessimistic(step), step, epsilon) >= exact * (1 - 1e-13) - 1e-15
    assert lattice_delta(optimistic(pair, step), step, epsilon) <= exact * (1 + 1e-13) + 1e-15


@settings(deadline=None, max_examples=100)
@given(one_pair, steps, st.integers(-8, 8))
def test_theorem_CONNECT_THE_DOTS_touches_the_curve_at_the_dots(
    pair: DominatingPair, step: float, dot: int
) -> None:
    touched = lattice_delta(pair.pessimistic(step), step, dot * step)
    assert touched == pytest.approx(exact_delta(pair, dot * step), rel=1e-12, abs=1e-14)


@settings(deadline=None, max_examples=100)
@given(one_pair, steps)
def test_theorem_CONNECT_THE_DOTS_keeps_the_mass_of_both_laws(pair: DominatingPair, step: float) -> None:
    law = pair.pessimistic(step)
    losses = (law.start + np.arange(len(law.masses))) * step
    assert float(law.masses.sum()) + law.infinite == pytest.approx(1, abs=1e-13)
    assert float((law.masses * np.exp(-losses)).sum()) <= 1 + 1e-13
    if pair.symmetric and law.infinite == 0:
        assert float((law.masses * np.exp(-losses)).sum()) == pytest.approx(1, abs=1e-13)


@settings(deadline=None, max_examples=100)
@given(st.floats(1e-12, 1e6))
def test_law_steps_are_rounded_and_their_multiples_are_exact(width: float) -> None:
    low, high = step_down(width), step_up(width)
    assert low <= width <= high <= width * (1 + 2**-20)
    assert all(Fraction(i * high) == i * Fraction(high) for i in (3, 2**20 + 1, 2**31 - 1))


@settings(deadline=None, max_examples=60)
@given(reaches, st.floats(0.01, 30))
def test_law_steering_knows_the_moments(e0: Fraction, theta: float) -> None:
    e, t = truth.real(e0), truth.real(theta)
    two = mpmath.log((mpmath.exp(e * (1 + t)) + mpmath.exp(-e * t)) / (1 + mpmath.exp(e)))
    density = mpmath.quad(lambda x: mpmath.exp((x - e) / 2 + t * x) / 4, [-e, 0, e])
    three = mpmath.log(mpmath.exp(t * e) / 2 + mpmath.exp(-(1 + t) * e) / 2 + density)
    assert RandomizedResponsePair(e0).log_mgf(theta) == pytest.approx(float(two), rel=1e-9, abs=1e-12)
    assert LaplacePair(e0).log_mgf(theta) == pytest.approx(float(three), rel=1e-9, abs=1e-12)


# Round-off


@pytest.mark.parametrize("bits", [6, 10, 14, 18])
@pytest.mark.parametrize("shape", ["flat", "spike", "uneven"])
def test_theorem_PLD_ROUND_OFF_numpy_keeps_the_accuracy_that_is_assumed(bits: int, shape: str) -> None:
    """16 n u is assumed for each entry; against extended precision, less than 1 n u is found."""
    size = 1 << bits
    masses = {
        "flat": np.ones(size),
        "spike": np.exp(-np.arange(size) / 5.0),
        "uneven": np.arange(size) % 97.0,
    }[shape]
    masses = masses / masses.sum()
    exact = scipy.fft.rfft(masses.astype(np.longdouble))
    wrong = np.abs(np.fft.rfft(masses) - exact).max() / masses.sum()
    assert wrong < 1.0 * bits * UNIT_ROUNDOFF


def test_theorem_PLD_ROUND_OFF_numpy_powers_are_as_accurate_as_assumed() -> None:
    """exp(n log z) for unit factors, against extended precision."""
    z = np.fft.rfft(LaplacePair("0.3").pessimistic(step_up(0.01)).masses, 4096)
    for n in (3, 1000, 10**6):
        exact = np.exp(n * np.log(z.astype(np.clongdouble)))
        assert np.abs(np.exp(n * np.log(z)) - exact).max() < n * 8 * UNIT_ROUNDOFF


@few
@given(st.integers(1, 400), st.floats(-3, 0).map(lambda x: Fraction(f"{10**x:.4g}")), st.floats(0, 0.98))
def test_theorem_PLD_ROUND_OFF_randomized_response_is_between_the_bounds(
    k: int, e0: Fraction, share: float
) -> None:
    """delta from 1e-1 down to where floats end: the errors are relative to delta."""
    epsilon = share * min(float(k * e0), math.sqrt(k) * float(e0) * 30 + k * float(e0) ** 2)
    exact = truth.randomized_response(e0, k, epsilon)
    if exact < 1e-280:
        return
    mixture = [(RandomizedResponsePair(e0), k)]
    assert delta_down(mixture, epsilon) <= exact <= delta_up(mixture, epsilon)
    if epsilon < 0.9 * k * e0:
        assert delta_up(mixture, epsilon) <= float(exact) * 1.01
        assert delta_down(mixture, epsilon) >= float(exact) * 0.98


@few
@given(st.lists(reaches, min_size=2, max_size=7), shares)
def test_theorem_PLD_ROUND_OFF_different_slots_are_between_the_bounds(
    e0: list[Fraction], share: float
) -> None:
    epsilon = share * float(sum(e0))
    exact = truth.binary(e0, epsilon)
    plan = [(RandomizedResponsePair(x), 1) for x in e0]
    assert delta_down(plan, epsilon) <= exact <= delta_up(plan, epsilon)
    assert delta_up(plan, epsilon) <= float(truth.binary(e0, epsilon * (1 - 1e-3))) * 1.02 + 1e-4


@few
@given(reaches, reaches, shares)
def test_theorem_PLD_ROUND_OFF_two_laplaces_are_between_the_bounds(
    a: Fraction, b: Fraction, share: float
) -> None:
    epsilon = share * float(a + b)
    exact = truth.laplace_twice(a, b, epsilon)
    plan = [(LaplacePair(a), 1), (LaplacePair(b), 1)]
    assert delta_down(plan, epsilon) <= exact * (1 + mpmath.mpf(10) ** -20)
    assert delta_up(plan, epsilon) >= exact * (1 - mpmath.mpf(10) ** -20)


@few
@given(
    st.integers(1, 60),
    st.floats(0.01, 0.5).map(Fraction),
    st.floats(-2.5, 1).map(lambda x: Fraction(10**x)),
    shares,
)
def test_theorem_PLD_ROUND_OFF_a_gaussian_part_needs_no_lattice(
    k: int, e0: Fraction, mu: Fraction, share: float
) -> None:
    epsilon = share * (float(k * e0) + 6 * float(mu) + float(mu) ** 2)
    e0, mu = Fraction(str(float(e0))), Fraction(str(float(mu)))
    exact = truth.randomized_response_and_gaussian(e0, k, mu, epsilon)
    plan: list[tuple[DominatingPair, int]] = [(RandomizedResponsePair(e0), k), (GaussianPair(mu), 1)]
    if exact > 1e-250:
        assert delta_down(plan, epsilon) <= exact <= delta_up(plan, epsilon)
        assert delta_up(plan, epsilon) <= float(exact) * 1.01


@few
@given(st.lists(finite_pairs(3), min_size=1, max_size=4), st.floats(0, 3))
def test_theorem_PLD_ROUND_OFF_asymmetric_pairs_have_the_worse_direction(
    plan: list[FinitePair], epsilon: float
) -> None:
    """Asymmetric pairs are priced in the worse direction."""
    there = truth.finite([(p.first, p.second) for p in plan], epsilon)  # type: ignore[misc]
    back = truth.finite([(p.second, p.first) for p in plan], epsilon)  # type: ignore[misc]
    found = delta_up([(p, 1) for p in plan], epsilon)
    assert max(there, back) * (1 - mpmath.mpf(10) ** -25) <= found
    assert delta_down([(p, 1) for p in plan], epsilon) <= max(there, back) * (1 + mpmath.mpf(10) ** -25)


@pytest.mark.parametrize("delta", [0.3, 1e-3, 1e-12, 1e-60, 1e-250])
@pytest.mark.parametrize(("e0", "k"), [("0.01", 1000), ("0.5", 40), ("0.003", 100_000)])
def test_theorem_PLD_ROUND_OFF_every_delta_is_tight(e0: str, k: int, delta: float) -> None:
    plan = [(LaplacePair(e0), k)]
    low, high = epsilon_down(plan, delta), epsilon_up(plan, delta)
    assert low <= high <= max(low * (1 + 6e-5), low + 1e-6)


# The whole


@pytest.mark.parametrize(
    ("e0", "k", "optimal", "laplace"),
    [
        ("0.01", 10, 0.09903, 0.09898),
        ("0.01", 1000, 1.36545, 1.36292),
        ("0.001", 10000, 0.39681, 0.39673),
        ("0.1", 100, 4.77457, 4.69267),
    ],
)
def test_theorem_PLD_PRICES_A_PLAN_known_compositions(
    e0: str, k: int, optimal: float, laplace: float
) -> None:
    assert epsilon_up([(RandomizedResponsePair(e0), k)], MILLIONTH) == pytest.approx(
        optimal, rel=1e-5, abs=6e-6
    )
    assert epsilon_up([(LaplacePair(e0), k)], MILLIONTH) == pytest.approx(laplace, rel=1e-5, abs=6e-6)


def test_theorem_PLD_PRICES_A_PLAN_a_thousand_and_100_000_laplaces() -> None:
    assert 1.362925 <= epsilon_up([(LaplacePair("0.01"), 1000)], MILLIONTH) <= 1.363025
    assert epsilon_up([(LaplacePair("0.01"), 100_000)], MILLIONTH) == pytest.approx(19.38167, abs=1e-3)
    assert epsilon_up([(GaussianPair("0.02"), 1000)], MILLIONTH) == pytest.approx(2.921601, abs=5e-7)


def stream(n: int) -> list[tuple[DominatingPair, int]]:
    """The mixed stream that other accountants were measured on."""
    numbers = np.random.default_rng(7)
    epsilons = np.exp(numbers.uniform(math.log(1e-4), math.log(1e-1), 10_000))
    kinds = numbers.integers(0, 3, 10_000)
    make: list[Any] = [LaplacePair, GaussianPair, RandomizedResponsePair]
    return [(make[kind](float(epsilon)), 1) for epsilon, kind in zip(epsilons[:n], kinds[:n], strict=True)]


@pytest.mark.parametrize(("n", "best"), [(100, 1.0480), (1000, 3.8907), (10_000, 15.8954)])
def test_theorem_PLD_PRICES_A_PLAN_of_different_slots(n: int, best: float) -> None:
    assert best * (1 - 5e-5) <= epsilon_up(stream(n), MILLIONTH) <= best * 1.002


def kairouz_oh_viswanath(e0: Fraction, k: int, lies: int) -> mpmath.mpf:
    e = truth.real(e0)
    terms = (
        mpmath.binomial(k, i) * (mpmath.exp((k - i) * e) - mpmath.exp((k - 2 * lies + i) * e))
        for i in range(lies)
    )
    return mpmath.fsum(terms) / (1 + mpmath.exp(e)) ** k


@few
@given(st.integers(2, 60), st.floats(0.01, 0.6).map(lambda x: Fraction(f"{x:.3f}")), st.data())
def test_theorem_PLD_PRICES_A_PLAN_randomized_response_composes_optimally(
    k: int, e0: Fraction, data: st.DataObject
) -> None:
    lies = data.draw(st.integers(1, k // 2))
    guaranteed = kairouz_oh_viswanath(e0, k, lies)
    plan = [(RandomizedResponsePair(e0), k)]
    epsilon = float((k - 2 * lies) * e0)
    assert delta_up(plan, epsilon) == pytest.approx(float(guaranteed), rel=2e-3)
    assert delta_up(plan, epsilon) >= guaranteed * (1 - mpmath.mpf(10) ** -14)


# Mistakes that the tests above would see

PLAN: list[tuple[DominatingPair, int]] = [(RandomizedResponsePair("0.11"), 37)]


def sees_a_mistake(epsilon: float = 1.7) -> bool:
    exact = truth.randomized_response(Fraction("0.11"), 37, epsilon)
    found = delta_up(PLAN, epsilon)
    return bool(found < exact or found > exact * mpmath.mpf("1.01"))


def test_theorem_PLD_ROUND_OFF_the_right_code_passes() -> None:
    assert not sees_a_mistake()


def test_theorem_CONNECT_THE_DOTS_rounding_the_wrong_way_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RandomizedResponsePair, "pessimistic", optimistic)
    assert sees_a_mistake()


def test_theorem_CONNECT_THE_DOTS_shares_exchanged_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairs, "share_above", lambda x, h: 1 - lattice.share_above(x, h))
    monkeypatch.setattr(pairs, "share_below", lambda x, h: 1 - lattice.share_below(x, h))
    assert sees_a_mistake()


def test_theorem_PLD_ROUND_OFF_a_forgotten_tail_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A window of one standard deviation whose tails are not charged."""
    monkeypatch.setattr(convolve, "_OUTSIDE", 0.01)
    monkeypatch.setattr(convolve, "_CHARGED", 0.0)
    assert sees_a_mistake(2.6)


def test_theorem_PLD_ROUND_OFF_a_forgotten_multiplicity_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def forgetful(view: Any, these: Any) -> Any:
        return sum(view(slot) for slot, _ in these)

    for module in (convolve, steering, slots):
        monkeypatch.setattr(module, "fold", forgetful)
    assert sees_a_mistake()


def test_theorem_PLD_ROUND_OFF_a_forgotten_tilt_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profile.Profile, "_exponent", lambda self, epsilon: self.total.log_scale)
    assert sees_a_mistake()


def test_theorem_PLD_ROUND_OFF_directions_must_not_be_mixed() -> None:
    """A pair and its reverse do not cancel: taken the wrong way round, the price would be too low."""
    pair = FinitePair((Fraction(99, 100), Fraction(1, 100)), (Fraction(1, 2), Fraction(1, 2)))
    one_way = max(
        truth.finite([(pair.first, pair.second)] * 3, 1.5),  # type: ignore[list-item]
        truth.finite([(pair.second, pair.first)] * 3, 1.5),  # type: ignore[list-item]
    )
    mixed = truth.finite(
        [(pair.first, pair.second), (pair.second, pair.first), (pair.first, pair.second)], 1.5
    )  # type: ignore[list-item]
    assert mixed != pytest.approx(float(one_way), rel=0.05)
    assert delta_up([(pair, 3)], 1.5) >= one_way
    assert delta_up([(pair, 3)], 1.5) == delta_up([(pair.backwards(), 3)], 1.5)
