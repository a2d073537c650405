"""Composition by the textbooks: adaptive transcripts with exact laws, the numbers of the worked examples, laws."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from random import Random

import mpmath as mp
import pytest
from composition_oracle import (
    Kernel,
    Law,
    adaptively,
    epsilon_of,
    exp_down,
    hockey_stick,
    random_kernel,
    warner,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from adyton.accounting.textbook.composition import Slots, advanced, basic, basic_total, same, strong
from adyton.accounting.textbook.concentrated import gdp_epsilon, zcdp_epsilon
from adyton.accounting.textbook.corollaries import approximate_epsilon0, cautious_epsilon0
from adyton.accounting.textbook.optimal import optimal
from adyton.errors import InvalidRequest
from adyton.kernel.accounting.rules import accounting_named
from adyton.kernel.privacy import GaussianCost, Guarantee, PureCost

BOB = Fraction(math.exp(-32))
THEOREMS = (basic, advanced, strong, optimal)
epsilons = st.floats(-6, 1.3).map(lambda x: Fraction(f"{10**x:.3g}"))
deltas = st.floats(-30, -0.1).map(lambda x: Fraction(10**x))
counts = st.integers(1, 10**6)
slots = st.lists(
    st.tuples(epsilons.map(lambda e: Guarantee(e, Fraction(0))), st.integers(1, 50)), min_size=1, max_size=4
)


def transcript(seed: int) -> tuple[list[Fraction], tuple[Law, Law]]:
    """Three adaptive steps: which kernel comes second and third depends on every output before it."""
    rng = Random(seed)
    most = [rng.choice([2, 3, 5]) for _ in range(3)]
    prices = [Fraction(0)] * 3
    kernels: dict[tuple[int, ...], Kernel] = {}

    def choose(past: tuple[int, ...]) -> Kernel:
        if past not in kernels:
            kernels[past] = random_kernel(rng, 3, most[len(past)])
            prices[len(past)] = max(prices[len(past)], epsilon_of(kernels[past]))
        return kernels[past]

    laws = adaptively(3, choose)
    return prices, laws


@cache
def adaptive_transcripts() -> list[tuple[list[Fraction], tuple[Law, Law]]]:
    return [transcript(seed) for seed in range(30)]


def holds_for_adaptive_transcripts(theorem, delta: Fraction) -> None:
    for prices, (p, q) in adaptive_transcripts():
        epsilon = theorem([(Guarantee(e, Fraction(0)), 1) for e in prices], delta)
        assert hockey_stick(p, q, exp_down(epsilon)) <= delta


def test_theorem_BASIC_COMPOSITION_prints_no_less_than_the_sum() -> None:
    """Mutant: a float above the sum, which is printed as a decimal below it."""
    assert basic([(Guarantee(Fraction(1, 10), Fraction(0)), 3)], Fraction(0)) == 0.3
    together = Fraction(1, 10) + 3 * Fraction(1, 10**18)
    found = basic([(Guarantee(together, Fraction(0)), 1)], Fraction(0))
    assert Fraction(repr(found)) >= together
    assert found < 0.1 + 1e-15


@pytest.mark.parametrize("delta", [Fraction(1, 10**6), Fraction(1, 100), Fraction(1, 5), Fraction(1, 2)])
def test_theorem_BASIC_COMPOSITION_covers_adaptive_transcripts(delta: Fraction) -> None:
    holds_for_adaptive_transcripts(basic, delta)


@pytest.mark.parametrize("delta", [Fraction(1, 10**6), Fraction(1, 100), Fraction(1, 5), Fraction(1, 2)])
def test_theorem_ADVANCED_COMPOSITION_covers_adaptive_transcripts(delta: Fraction) -> None:
    holds_for_adaptive_transcripts(advanced, delta)


@pytest.mark.parametrize("delta", [Fraction(1, 10**6), Fraction(1, 100), Fraction(1, 5), Fraction(1, 2)])
def test_theorem_STRONG_COMPOSITION_covers_adaptive_transcripts(delta: Fraction) -> None:
    holds_for_adaptive_transcripts(strong, delta)


@pytest.mark.parametrize("factor", [Fraction(1), Fraction(3, 2), Fraction(2), Fraction(4)])
def test_theorem_BASIC_COMPOSITION_covers_deltas_chosen_adaptively(factor: Fraction) -> None:
    """Each kernel is read at ``factor``, so that its delta is not 0; the second one depends on the first output."""
    for seed in range(40):
        rng = Random(seed)
        first = random_kernel(rng, 3, 6)
        second = [random_kernel(rng, 3, 6) for _ in range(3)]
        p, q = adaptively(2, lambda past, f=first, s=second: s[past[0]] if past else f)
        own = [hockey_stick(dict(enumerate(k[0])), dict(enumerate(k[1])), factor) for k in (first, *second)]
        allowed = own[0] + max(own[1:])
        assert hockey_stick(p, q, factor**2) <= allowed
        if factor > 1 and allowed < 1:
            each = Fraction(math.log(factor))
            parts = [(Guarantee(each, own[0]), 1), (Guarantee(each, max(own[1:])), 1)]
            assert basic_total(parts) == Guarantee(2 * each, allowed)


def randomized_response_tail(e: Fraction, k: int, epsilon: float) -> mp.mpf:
    """The probability that the privacy loss of k randomized responses exceeds epsilon, at 50 digits."""
    with mp.workdps(50):
        x = mp.mpf(e.numerator) / e.denominator
        q = 1 / (1 + mp.exp(x))
        wrong = [i for i in range(k + 1) if (k - 2 * i) * x > epsilon]
        return mp.fsum(mp.binomial(k, i) * q**i * (1 - q) ** (k - i) for i in wrong)


@pytest.mark.parametrize(("e", "k"), [("0.5", 12), ("0.1", 100), ("1", 30), ("2", 9)])
@pytest.mark.parametrize("delta", ["1e-6", "1e-3", "0.1", "0.5"])
def test_theorem_STRONG_COMPOSITION_its_tail_is_below_delta(e: str, k: int, delta: str) -> None:
    """The proof shows more than the statement: the loss itself stays below epsilon but for delta."""
    epsilon = strong(same(e, k), Fraction(delta))
    assert randomized_response_tail(Fraction(e), k, epsilon) <= Fraction(delta)


@settings(deadline=None)
@given(epsilons, counts, deltas)
def test_theorem_ADVANCED_COMPOSITION_is_the_formula_rounded_up(e: Fraction, k: int, delta: Fraction) -> None:
    with mp.workdps(50):
        x, d = mp.mpf(e.numerator) / e.denominator, mp.mpf(delta.numerator) / delta.denominator
        deviation = x * mp.sqrt(2 * k * -mp.log(d))
        for theorem, drift in ((advanced, mp.expm1(x)), (strong, mp.tanh(x / 2))):
            truth, found = deviation + k * x * drift, theorem(same(e, k), delta)
            assert truth <= found <= truth * (1 + mp.mpf(2) ** -51)


# Worked examples -------------------------------------------------------------------------------------------

TABLE = [
    ("0.01", 10, (0.10000, 0.16723, 0.16673, 0.09903)),
    ("0.01", 1000, (10.00000, 1.76276, 1.71226, 1.36545)),
    ("0.001", 10000, (10.00000, 0.53566, 0.53065, 0.39681)),
    ("0.1", 100, (10.00000, 6.30823, 5.75611, 4.77457)),
]


@pytest.mark.parametrize(("e", "k", "expected"), TABLE)
def test_the_table_of_composition(e: str, k: int, expected: tuple[float, ...]) -> None:
    found = [theorem(same(e, k), Fraction(1, 10**6)) for theorem in THEOREMS]
    assert found == pytest.approx(list(expected), abs=5.1e-6)


def test_bob_in_ten_thousand_databases() -> None:
    """k = 10,000, epsilon 1, delta exp(-32): the slide's 1/800 is right, and its argument does not show it."""
    assert 1 / approximate_epsilon0(1, 10_000, BOB) == pytest.approx(800, rel=1e-14)
    bob = same(Fraction(1, 800), 10_000)
    assert advanced(bob, BOB) == pytest.approx(1.015635, abs=5e-7)
    assert strong(bob, BOB) == pytest.approx(1.007812, abs=5e-7)
    assert optimal(bob, BOB) == pytest.approx(0.891611, abs=5e-7)
    assert 1 / cautious_epsilon0(1, 10_000, BOB) == pytest.approx(1600, rel=1e-14)
    assert advanced(same(Fraction(1, 1600), 10_000), BOB) == pytest.approx(0.504, abs=5e-4)


@pytest.mark.parametrize("delta", [0.5, 0.1, 1e-6, 1e-300])
@pytest.mark.parametrize("target", ["1", "0.5", "1e-3"])
def test_theorem_CAUTIOUS_COROLLARY_stays_inside(target: str, delta: float) -> None:
    for k in (1, 2, 10, 1000, 10**6):
        e = cautious_epsilon0(target, k, Fraction(delta))
        assert advanced(same(Fraction(e), k), Fraction(delta)) <= Fraction(target)


def test_theorem_CAUTIOUS_COROLLARY_needs_its_assumptions() -> None:
    with pytest.raises(InvalidRequest, match="proved for"):
        cautious_epsilon0("1.01", 10, "1e-6")
    with pytest.raises(InvalidRequest, match="proved for"):
        cautious_epsilon0(1, 10, "0.6")
    unproved = 1 / (2 * math.sqrt(2 * -math.log(0.9)))
    assert advanced(same(Fraction(unproved), 1), Fraction("0.9")) > 1


# Laws ------------------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=60)
@given(slots, deltas)
def test_law_n_charges_are_one_charge_of_n_in_any_order(parts: Slots, delta: Fraction) -> None:
    one_by_one = [(price, 1) for price, times in reversed(parts) for _ in range(times)]
    for theorem in THEOREMS:
        assert theorem(parts, delta) == theorem(one_by_one, delta)


@pytest.mark.parametrize("compose", [zcdp_epsilon, gdp_epsilon])
@pytest.mark.parametrize("cost", [PureCost(Fraction(1, 7)), GaussianCost(Fraction(1, 11))])
def test_law_n_charges_are_one_charge_of_n_for_costs(compose, cost) -> None:
    delta = Fraction(1, 10**6)
    assert compose([(cost, 60)], delta) == compose([(cost, 1)] * 60, delta) > compose([(cost, 59)], delta)


def test_the_concentrated_sums_are_those_of_the_filters() -> None:
    cost, delta = GaussianCost(Fraction(1, 2500)), Fraction(1, 10**6)
    for compose, name in ((zcdp_epsilon, "zcdp"), (gdp_epsilon, "gdp")):
        filter_ = accounting_named(name)
        assert compose([(cost, 1000)], delta) == pytest.approx(
            filter_.epsilon(1000 * filter_.amount(cost), delta), rel=1e-12
        )
    assert gdp_epsilon([(cost, 1000)], delta) == pytest.approx(2.921601, abs=5e-7)


@settings(deadline=None, max_examples=150)
@given(epsilons, st.integers(1, 10**5), deltas)
def test_law_tight_is_never_above_loose(e: Fraction, k: int, delta: Fraction) -> None:
    """optimal <= strong <= advanced and optimal <= basic, for every epsilon; zcdp is above optimal too."""
    parts = same(e, k)
    best = optimal(parts, delta) * (1 - 1e-10)
    assert best <= strong(parts, delta) <= advanced(parts, delta)
    assert best <= basic(parts, delta)
    assert best <= zcdp_epsilon([(PureCost(e), k)], delta)


@settings(deadline=None, max_examples=60)
@given(epsilons, st.integers(1, 10**4), deltas)
def test_law_monotone_in_every_parameter(e: Fraction, k: int, delta: Fraction) -> None:
    for theorem in THEOREMS:
        here = theorem(same(e, k), delta) * (1 - 1e-10)
        assert here <= theorem(same(e * Fraction(11, 10), k), delta)
        assert here <= theorem(same(e, k + 1), delta)
        assert here <= theorem(same(e, k), delta / 2)


@pytest.mark.parametrize("theorem", [advanced, strong, optimal])
def test_law_own_deltas_are_taken_from_the_total(theorem) -> None:
    pure, own = same("0.1", 10), same("0.1", 10, "1e-8")
    assert (
        theorem(pure, Fraction("1e-6"))
        < theorem(own, Fraction("1e-6"))
        <= theorem(pure, Fraction("9e-7")) * (1 + 1e-9)
    )
    with pytest.raises(InvalidRequest, match="releases have between them"):
        theorem(own, Fraction("1e-7"))


@pytest.mark.parametrize("leak", [Fraction(1, 100), Fraction(1, 10)])
def test_law_releases_that_leak_are_covered(leak: Fraction) -> None:
    """Randomized response that tells outright with probability ``leak``: the worst (epsilon, delta) release."""
    p, q = adaptively(4, lambda past: warner(Fraction(2), leak))
    own = [(Guarantee(Fraction(math.log(2)) + Fraction(1, 10**15), leak), 4)]
    for theorem in (basic, advanced, strong, optimal):
        delta = 4 * leak + Fraction(1, 10)
        assert hockey_stick(p, q, exp_down(theorem(own, delta))) <= delta


BAD = [
    lambda: same(0, 1),
    lambda: same(-1, 1),
    lambda: same(float("nan"), 1),
    lambda: same(float("inf"), 1),
    lambda: same(True, 1),
    lambda: same("1e999", 1),
    lambda: same(1, 0),
    lambda: same(1, -3),
    lambda: same(1, 10**9 + 1),
    lambda: same(1, True),
    lambda: same(1, 1.5),  # type: ignore[arg-type]
    lambda: same(1, 1, 1),
    lambda: same(1, 1, -1),
    lambda: approximate_epsilon0(1, 0, "1e-6"),
    lambda: approximate_epsilon0(1, 1, 0),
    lambda: cautious_epsilon0("nan", 1, "1e-6"),
    lambda: zcdp_epsilon([], Fraction(1, 2)),
    lambda: gdp_epsilon([(PureCost(Fraction(1)), 0)], Fraction(1, 2)),
]


@pytest.mark.parametrize("call", BAD)
def test_bad_input_is_refused(call) -> None:
    with pytest.raises(InvalidRequest):
        call()


@pytest.mark.parametrize("theorem", [advanced, strong, optimal])
@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1), Fraction(-1), Fraction(2), Fraction(1, 10**301)])
def test_a_bad_delta_is_refused(theorem, delta: Fraction) -> None:
    with pytest.raises(InvalidRequest):
        theorem(same(1, 1), delta)


@pytest.mark.parametrize("theorem", THEOREMS)
@pytest.mark.parametrize(
    "parts",
    [
        [],
        [(Guarantee(Fraction(501), Fraction(0)), 1)],
        [(Guarantee(Fraction(1, 10**10), Fraction(0)), 1)],
        [(Guarantee(Fraction(1), Fraction(0)), 0)],
    ],
)
def test_bad_slots_are_refused(theorem, parts: Slots) -> None:
    with pytest.raises(InvalidRequest):
        theorem(parts, Fraction(1, 100))


def test_three_times_a_tenth_is_three_tenths() -> None:
    assert basic(same("0.1", 3), Fraction(1, 2)) == 0.3
    third = basic(same(Fraction(1, 3), 2), Fraction(1, 2))
    assert Fraction(repr(third)) >= Fraction(2, 3)
