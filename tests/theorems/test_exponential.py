"""The exponential mechanism: its law, its guarantee on all small tables, its range and its error."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from noise_oracle import Script
from selection_oracle import (
    APPROVALS,
    ROUNDING,
    approvals,
    exponential,
    fit,
    neighboring,
    tables,
    worst_ratio,
)

from adyton.errors import InvalidRequest
from adyton.kernel.exact import UNITS_PER_ONE
from adyton.kernel.privacy import ADJACENCIES, Adjacency, BoundedRangeCost
from adyton.kernel.special.mechanisms.exponential_weights import choose
from adyton.kernel.special.mechanisms.selection.exponential import ExponentialMechanism
from adyton.kernel.special.mechanisms.selection.scores import ScoreSensitivity, gaps_below_best, whole
from adyton.noise_intervals.selections import classical_chance, exp_up, exponential_chance, shortfall_of
from support.randomness import Seeded
from support.tries import often

ALARM = 1e-8  # of each test of fit, were its bits fresh; they are fixed, so it never wavers
ONE = Fraction(1)
HAIR = ("dark", "brown", "blond", "red")
TENTH = Fraction(1, 10)
GENERAL, MONOTONE = ScoreSensitivity(ONE), ScoreSensitivity(ONE, monotone=True)
SCORES = st.lists(st.integers(-40, 40), min_size=1, max_size=7)


def mechanism(
    scores: list[int], epsilon: Fraction, sensitivity: ScoreSensitivity
) -> ExponentialMechanism[int]:
    return ExponentialMechanism(tuple(range(len(scores))), epsilon, sensitivity)


@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_theorem_SCORE_SPAN_of_counts_is_the_largest_move_of_a_difference(adjacency: Adjacency) -> None:
    def difference(table: tuple[object, ...]) -> int:
        first, second, _ = approvals(table)
        return first - second

    largest = max(abs(difference(a) - difference(b)) for a, b in neighboring(APPROVALS, 3, adjacency))
    assert ScoreSensitivity.of_counts(adjacency).span == largest


@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize("bound", [Fraction(1, 3), ONE, Fraction(7)])
def test_theorem_SCORE_SPAN_bounds_every_difference(bound: Fraction, monotone: bool) -> None:
    ends = (0, bound) if monotone else (-bound, 0, bound)
    moves = (abs(a - b) for a, b in itertools.product(ends, repeat=2))
    assert ScoreSensitivity(bound, monotone).span == max(moves)


@given(SCORES, st.fractions(Fraction(1, 50), 3), st.fractions(Fraction(1, 9), 9), st.booleans())
@settings(max_examples=60, deadline=None, derandomize=True)
def test_theorem_EXPONENTIAL_MECHANISM_has_the_law_of_the_book(
    scores: list[int], epsilon: Fraction, bound: Fraction, monotone: bool
) -> None:
    """exp(epsilon * score / (2 * bound)), and without the 2 for monotone scores."""
    law = mechanism(scores, epsilon, ScoreSensitivity(bound, monotone)).law(scores)
    expected = exponential(scores, epsilon / bound if monotone else epsilon / (2 * bound))
    assert np.allclose(law, [float(p) for p in expected], rtol=1e-11, atol=0)


@pytest.mark.parametrize(
    "scores", [[3, 1, 0, 3], [0, 0, 0], [5], [10**30, 10**30 - 2, -(10**30)], [0, -(2**63), -1]]
)
def test_theorem_EXPONENTIAL_MECHANISM_releases_by_its_law(scores: list[int]) -> None:
    """Also the fewer releases see a rate of one and a half times; one that is a fiftieth off is seen below."""
    chosen, bits = mechanism(scores, Fraction(3, 2), GENERAL), Seeded(21)
    runs = often(1500, 4000)
    taken = Counter(chosen.release(scores, bits) for _ in range(runs))
    law = [float(p) for p in exponential(scores, Fraction(3, 4))]
    assert fit([taken[i] for i in range(len(scores))], law) > ALARM if len(scores) > 1 else taken == {0: runs}


@pytest.mark.parametrize(("sensitivity", "rate"), [(GENERAL, Fraction(1, 200)), (MONOTONE, Fraction(1, 100))])
def test_theorem_EXPONENTIAL_MECHANISM_releases_at_the_rate_of_the_book(
    sensitivity: ScoreSensitivity, rate: Fraction
) -> None:
    """The same bits give the same choice as the sampler makes, whose law is exact, at epsilon / (2 * bound)."""
    scores = list(range(1000))
    selection = mechanism(scores, Fraction(1, 100), sensitivity)
    gaps = np.arange(999, -1, -1).astype(np.uint64)
    taken = [(selection.release(scores, Seeded(s)), choose(gaps, rate, Seeded(s))) for s in range(40)]
    assert all(a == b for a, b in taken)
    assert any(b != choose(gaps, rate * 51 / 50, Seeded(s)) for s, (_, b) in enumerate(taken))


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("epsilon", [Fraction(1, 5), ONE, Fraction(3)])
def test_theorem_EXPONENTIAL_MECHANISM_on_every_pair_of_small_tables(
    adjacency: Adjacency, epsilon: Fraction
) -> None:
    selection = ExponentialMechanism((0, 1, 2), epsilon, ScoreSensitivity.of_counts(adjacency))
    worst = worst_ratio(neighboring(APPROVALS, 4, adjacency), lambda t: selection.law(approvals(t)))
    assert worst <= selection.cost().epsilon + ROUNDING
    assert worst > 0.6 * epsilon  # so that a tenth less caution would show on more rows


def test_theorem_EXPONENTIAL_MECHANISM_the_claim_is_attained_in_the_limit() -> None:
    """One candidate rises and all others fall: with many others the ratio comes as near to exp(epsilon) as
    you like, so a mechanism with a rate of 1.1 times as much is refuted.
    """
    before, after = [0] + [20] * 1500, [1] + [19] * 1500

    def loss(epsilon: Fraction) -> float:
        selection = mechanism(before, epsilon, GENERAL)
        return math.log(selection.law(after)[0] / selection.law(before)[0])

    assert 0.999 <= loss(ONE) <= 1
    assert loss(ONE * 11 / 10) > 1.09


def test_theorem_EXPONENTIAL_MECHANISM_monotone_form_fails_if_rows_change() -> None:
    """The monotone form is refuted when rows are replaced."""
    careless = ExponentialMechanism((0, 1, 2), ONE, MONOTONE)
    worst = worst_ratio(neighboring(APPROVALS, 3, "replace-one"), lambda t: careless.law(approvals(t)))
    assert worst > 1.2


PRICES = (300, 301, 400, 401)  # cents


def revenue(offers: list[int], price: int, units: int | None = None) -> int:
    buyers = sum(offer >= price for offer in offers)
    return price * (buyers if units is None else min(buyers, units))


def test_theorem_EXPONENTIAL_MECHANISM_the_price_that_sells_best() -> None:
    """Alice offers 3, Bob 4.  Both buy at 3, which brings 6; only where a single unit is for sale does 3
    bring 3.  A cent above the best price half is lost, and a cent above the highest everything:
    noise on the price itself would be useless.
    """
    offers = [300, 400]
    assert [revenue(offers, p) for p in PRICES] == [600, 301, 400, 0]
    assert [revenue(offers, p, units=1) for p in PRICES] == [300, 301, 400, 0]
    selection = ExponentialMechanism(PRICES, Fraction(5), ScoreSensitivity(Fraction(401), monotone=True))
    law = selection.law([revenue(offers, p) for p in PRICES])
    assert PRICES[int(np.argmax(law))] == 300
    bits = Seeded(22)
    assert selection.release([revenue(offers, p) for p in PRICES], bits) in PRICES


def test_theorem_DECLARED_RANGE_candidates_from_the_data_give_a_row_away() -> None:
    """Prices that are the offers themselves: without Bob a price of 4 cannot be released, with him it can, so
    no epsilon holds.  Declared prices keep the guarantee on the same tables.
    """
    with_bob, without = [300, 400], [300]
    assert 400 in with_bob
    assert 400 not in without

    def from_data(offers: list[int]) -> dict[int, float]:
        candidates = tuple(sorted(set(offers)))
        careless = ExponentialMechanism(candidates, TENTH, ScoreSensitivity(Fraction(400), monotone=True))
        law = careless.law([revenue(offers, p) for p in candidates])
        return dict(zip(candidates, law, strict=True))

    assert from_data(with_bob)[400] > 0.48
    assert from_data(without).get(400, 0.0) == 0.0
    declared = ExponentialMechanism(PRICES, TENTH, ScoreSensitivity(Fraction(401), monotone=True))
    a, b = (declared.law([revenue(offers, p) for p in PRICES]) for offers in (with_bob, without))
    assert np.abs(np.log(a) - np.log(b)).max() <= 0.1


@pytest.mark.parametrize(
    ("others", "true"), [((400, 400, 400), 0.019813), ((400, 400, 0), 0.013297), ((400, 0, 0), 0.006693)]
)
def test_theorem_EXPONENTIAL_UTILITY_hair_colours(others: tuple[int, ...], true: float) -> None:
    """Dark hair has a count of 500 and the others at most 400: how often is dark not the answer?"""
    selection = ExponentialMechanism(HAIR, TENTH, GENERAL)
    missed = 1 - selection.law([500, *others])[0]
    assert missed == pytest.approx(true, abs=5e-7)
    bound = exponential_chance(selection.rate, Fraction(100), 4)
    assert missed <= float(bound) * (1 + 1e-12)
    assert float(bound) == pytest.approx(0.019813, abs=5e-7)
    classical = classical_chance(selection.rate, Fraction(100), 4)
    assert float(classical) == pytest.approx(4 * math.exp(-5)) == pytest.approx(0.026952, abs=5e-7)
    assert classical <= Fraction(27, 1000)


def test_theorem_EXPONENTIAL_UTILITY_hair_colors_when_people_come_or_go() -> None:
    """Counts then all move the same way, and half the noise is enough."""
    selection = ExponentialMechanism(HAIR, TENTH, ScoreSensitivity.of_counts("add-remove"))
    assert 1 - selection.law([500, 400, 400, 400])[0] == pytest.approx(1.4e-4, abs=5e-6)
    assert float(exponential_chance(selection.rate, Fraction(100), 4)) == pytest.approx(1.362e-4, abs=1e-7)


@given(SCORES, st.fractions(Fraction(1, 50), 3), st.integers(1, 60))
@settings(max_examples=200, deadline=None, derandomize=True)
def test_theorem_EXPONENTIAL_UTILITY_holds_for_all_scores(
    scores: list[int], epsilon: Fraction, shortfall: int
) -> None:
    selection = mechanism(scores, epsilon, GENERAL)
    law = exponential(scores, selection.rate)
    missed = sum(p for p, s in zip(law, scores, strict=True) if s <= max(scores) - shortfall)
    best = scores.count(max(scores))
    bound = exponential_chance(selection.rate, Fraction(shortfall), len(scores), best)
    assert float(missed) <= float(bound) * (1 + 1e-12)
    assert bound <= classical_chance(selection.rate, Fraction(shortfall), len(scores), best)
    assert bound <= exponential_chance(selection.rate, Fraction(shortfall), len(scores))


@given(st.integers(1, 6), st.integers(1, 6), st.fractions(Fraction(1, 50), 3), st.integers(1, 60))
@settings(max_examples=100, deadline=None, derandomize=True)
def test_theorem_EXPONENTIAL_UTILITY_is_attained(best: int, others: int, epsilon: Fraction, gap: int) -> None:
    rate = mechanism([0], epsilon, GENERAL).rate
    missed = sum(exponential([gap] * best + [0] * others, rate)[best:])
    assert float(exponential_chance(rate, Fraction(gap), best + others, best)) == pytest.approx(
        float(missed), rel=1e-12
    )


@given(st.integers(1, 10**6), st.fractions(Fraction(1, 1000), 50), st.floats(0.01, 1 - 1e-9))
@settings(max_examples=100, deadline=None, derandomize=True)
def test_theorem_EXPONENTIAL_UTILITY_error_is_the_least(
    number: int, epsilon: Fraction, confidence: float
) -> None:
    """At the scores that are worst for it: all others a point lower than the error that is stated."""
    selection = ExponentialMechanism(tuple(range(number)), epsilon, GENERAL)
    error = shortfall_of(selection, confidence)
    failure = 1 - Fraction(str(confidence))

    def missed(gap: int) -> Fraction:
        return exponential_chance(selection.rate, Fraction(gap), number)

    assert missed(error + 1) <= failure
    assert error == 0 or missed(error) > failure


@given(st.fractions(0, 3000))
@settings(max_examples=100, deadline=None, derandomize=True)
def test_theorem_EXPONENTIAL_UTILITY_is_rounded_up(x: Fraction) -> None:
    assert float(exp_up(x)) >= math.exp(-float(x)) * (1 - 1e-12)
    assert x > 700 or float(exp_up(x)) <= math.exp(-float(x)) * (1 + 1e-12)


def test_law_gaps_are_exact_at_the_ends_of_64_bits_and_beyond() -> None:
    scores = [2**63 - 1, -(2**63), 0, 2**63 - 2]
    assert gaps_below_best(whole(scores)).tolist() == [0, 2**64 - 1, 2**63 - 1, 1]
    assert gaps_below_best(whole(np.array(scores))).tolist() == [0, 2**64 - 1, 2**63 - 1, 1]
    assert gaps_below_best(whole([10**40, 10**40 - 3, 0])).tolist() == [0, 3, 2**64 - 1]


@pytest.mark.parametrize(
    "scores", [[1.0, 2.0], [True, False], [1, 2, 3], [1, 2.5], np.array([1.0, 2.0]), ["1", "2"]]
)
def test_law_scores_are_whole_numbers_one_for_each_candidate(scores: list[int]) -> None:
    with pytest.raises(InvalidRequest):
        ExponentialMechanism(("a", "b"), ONE, GENERAL).release(scores, Script())


def test_law_declarations_that_guarantee_nothing_are_refused() -> None:
    for candidates, epsilon, bound in (
        ((), ONE, ONE),
        (("a",), Fraction(0), ONE),
        (("a",), Fraction(-1), ONE),
    ):
        with pytest.raises(InvalidRequest):
            ExponentialMechanism(candidates, epsilon, ScoreSensitivity(bound))
    with pytest.raises(InvalidRequest):
        ScoreSensitivity(Fraction(0))
    for confidence in (0, 1, -1, 2, "nan", 1.5):
        with pytest.raises(InvalidRequest):
            shortfall_of(ExponentialMechanism(("a", "b"), ONE, GENERAL), confidence)


def test_law_cost_is_what_was_declared() -> None:
    assert ExponentialMechanism(("a",), TENTH, GENERAL).cost() == BoundedRangeCost(TENTH)
    assert ExponentialMechanism(("a",), Fraction(1, UNITS_PER_ONE), GENERAL).release([7], Seeded(1)) == "a"
    assert sum(1 for _ in tables(APPROVALS, 2)) == 1 + 8 + 36
