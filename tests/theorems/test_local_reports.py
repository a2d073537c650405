"""Reports of the local model, all of them: every pair of lists of answers, every list of reports, exactly.

What a calibrated mechanism does is told by the words at which its coin turns over.  Then the least delta is a
sum of fractions: it would refute the epsilon and delta of a survey file, whichever way the budget was divided.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import product

import pytest
from mpmath import mp
from noise_oracle import Script

from adyton.kernel.mechanisms.gaussian import GaussianNoise
from adyton.kernel.mechanisms.geometric import GeometricNoise
from adyton.kernel.privacy import Guarantee
from adyton.kernel.special.mechanisms.randomized_response import RandomizedResponse
from adyton.kernel.special.mechanisms.sparse.numeric_sparse import one_integer
from adyton.surveys import CategoryQuestion, NumberQuestion, Survey, dividing
from adyton.surveys.dividing import MOVED, _by_mu, _by_optimum, _by_parts

Law = list[Fraction]  # of one report, by its value
LIMITS = [Guarantee("0.3", 0), Guarantee(1, "1e-6"), Guarantee(2, "0.01"), Guarantee("0.05", "0.4")]
SIZES = [(2,), (5,), (2, 3), (3, 2, 4), (2, 2, 2, 2, 2)]
WAYS = {"parts": _by_parts, "optimum": _by_optimum, "mu": _by_mu}
FEW = 4  # steps of a number whose reports can all be looked at


def e_to(x: Fraction) -> Fraction:
    """The sum of the series of e**x, not above it for x >= 0, and within 1e-40 of it for x <= 3."""
    total, term = Fraction(1), Fraction(1)
    for n in range(1, 60):
        term = term * x / n
        total += term
    return total


def law_of(mechanism: RandomizedResponse, value: int) -> Law:
    """By the coin of ``release``, which turns over at one word, and by all steps that follow its other side."""
    sides, others = mechanism.truth.denominator, mechanism.categories - 1
    shift, step = 64 - (sides - 1).bit_length(), 64 - (others - 1).bit_length()

    def told(coin: int, second: int) -> int:
        words = [coin << shift] + ([second << step] if others > 1 else [])
        return mechanism.release([value], Script(*words))[0]

    turn = mechanism.truth.numerator
    assert [told(coin, 0) for coin in (0, turn - 1)] == [value] * 2
    assert all(told(coin, second) != value for coin in (turn, sides - 1) for second in range(others))
    law = [Fraction(0)] * mechanism.categories
    law[value] = Fraction(turn, sides)
    for second in range(others):
        law[told(turn, second)] += (1 - law[value]) / others
    return law


def least_delta(here: Sequence[Law], there: Sequence[Law], epsilon: Fraction) -> Fraction:
    """The sum of P - e**epsilon Q over all lists of reports where that is above 0."""
    odds, total = e_to(epsilon), Fraction(0)
    for told in product(*(range(len(law)) for law in here)):
        p = math.prod((law[x] for law, x in zip(here, told, strict=True)), start=Fraction(1))
        q = math.prod((law[x] for law, x in zip(there, told, strict=True)), start=Fraction(1))
        total += max(Fraction(0), p - odds * q)
    return total


def worst_delta(laws: Sequence[Sequence[Law]], epsilon: Fraction) -> Fraction:
    """Over all pairs of lists of answers; ``laws`` of a query are those of its answers.

    Answers are alike, so the first list may have the answer 0 and the other one 0 or 1; where all answers
    are few, all pairs are tried.
    """
    few = math.prod(map(len, laws)) <= 6
    firsts = list(product(*(range(len(own)) for own in laws))) if few else [(0,) * len(laws)]
    seconds = product(*(range(len(own) if few else 2) for own in laws))
    return max(
        least_delta(
            [own[v] for own, v in zip(laws, first, strict=True)],
            [own[w] for own, w in zip(laws, second, strict=True)],
            epsilon,
        )
        for first, second in product(firsts, list(seconds))
    )


def queries_of(sizes: Sequence[int]) -> tuple[CategoryQuestion, ...]:
    return tuple(
        CategoryQuestion(f"q{place}", tuple(f"v{value}" for value in range(size)))
        for place, size in enumerate(sizes)
    )


def laws_of(mechanisms: Sequence[RandomizedResponse]) -> list[list[Law]]:
    return [[law_of(one, value) for value in range(one.categories)] for one in mechanisms]


@pytest.mark.parametrize("budget", LIMITS, ids=str)
@pytest.mark.parametrize("categories", [2, 3, 5])
def test_theorem_RANDOMIZED_RESPONSE_WITH_DELTA_of_all_pairs_of_answers(
    budget: Guarantee, categories: int
) -> None:
    """Mutants: delta times the categories; truth rounded up; a coin that is honest once more."""
    made = RandomizedResponse.for_guarantee(budget, categories)
    worst = worst_delta(laws_of([made]), budget.epsilon)
    assert budget.delta - Fraction(1, 2**55) <= worst <= budget.delta


@pytest.mark.parametrize("budget", LIMITS, ids=str)
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_theorem_LOCAL_REPORTS_of_all_pairs_of_lists_of_answers(
    sizes: tuple[int, ...], budget: Guarantee
) -> None:
    """Each way of dividing a budget, and the one that a survey takes.

    Mutants: parts, the optimum or mu**2 of one query fewer; the whole delta for each query.
    """
    queries = queries_of(sizes)
    ways = [way(queries, budget) for way in WAYS.values()] if budget.delta else []
    for chosen in (*ways, Survey("s", queries, budget).randomizers):
        assert worst_delta(laws_of(chosen), budget.epsilon) <= budget.delta


def test_theorem_LOCAL_REPORTS_two_people_of_whom_one_differs() -> None:
    """All reports of both, for every pair of tables that differ in all answers of one person."""
    budget = Guarantee(1, "0.05")
    laws = laws_of(Survey("s", queries_of((2, 2)), budget).randomizers)
    lists = list(product(range(2), range(2)))
    for mine, yours, other in product(lists, lists, lists):
        here = [own[v] for own, v in zip([*laws, *laws], (*mine, *other), strict=True)]
        there = [own[v] for own, v in zip([*laws, *laws], (*yours, *other), strict=True)]
        assert least_delta(here, there, budget.epsilon) <= budget.delta


# With numbers ------------------------------------------------------------------------------------------------


def geometric_law(noise: GeometricNoise, value: int) -> Law:
    """Of a report of 0..FEW.  Beyond both ends all reports say the same, so each end has all of them."""
    ratio = Fraction(round(2**200 / e_to(1 / noise.scales[0])), 2**200)  # of the chances of two neighbors
    chance = (1 - ratio) / (1 + ratio)
    law = [chance * ratio ** abs(x - value) for x in range(FEW + 1)]
    law[0], law[FEW] = (ratio ** abs(x - value) / (1 + ratio) for x in (0, FEW))
    assert abs(sum(law) - 1) < Fraction(1, 10**30)
    return law


@pytest.mark.parametrize(
    ("way", "budget"), [("parts", Guarantee(1, 0)), ("optimum", Guarantee(2, "0.01"))], ids=str
)
def test_theorem_LOCAL_REPORTS_of_categories_and_numbers(
    monkeypatch: pytest.MonkeyPatch, way: str, budget: Guarantee
) -> None:
    """Numbers of few steps, with geometric noise: every answer against every other.

    Mutant: a number with a tenth less noise.
    """
    monkeypatch.setattr(dividing, "MOVED", one_integer(FEW))
    queries = (*queries_of((3,)), NumberQuestion("a", 0, 1), NumberQuestion("b", 0, 1))
    category, *numbers = WAYS[way](queries, budget)
    assert isinstance(category, RandomizedResponse)
    laws = laws_of([category])
    for noise in numbers:
        assert isinstance(noise, GeometricNoise)
        laws.append([geometric_law(noise, value) for value in range(FEW + 1)])
    ends = [[own[0], own[-1]] for own in laws]
    for choice in (ends, [laws[0], laws[1]]):
        worst = max(
            least_delta(here, there, budget.epsilon)
            for here, there in product(list(product(*choice)), repeat=2)
        )
        assert worst <= budget.delta + Fraction(1, 10**30)


@pytest.mark.parametrize("sizes", [(2,), (2, 3)], ids=str)
@pytest.mark.parametrize("numbers", [1, 3])
def test_theorem_LOCAL_REPORTS_of_categories_and_numbers_by_mu(sizes: tuple[int, ...], numbers: int) -> None:
    """Gaussian noises are one, of the sum of their squares; rounding them tells no more.  To 40 digits.

    Mutant: mu**2 of one query fewer.
    """
    budget = Guarantee(1, "0.001")
    queries = (*queries_of(sizes), *(NumberQuestion(f"n{i}", 0, 1) for i in range(numbers)))
    chosen = _by_mu(queries, budget)
    laws = laws_of([one for one in chosen if isinstance(one, RandomizedResponse)])
    moved = [MOVED.l2_diameter_squared(one.scales) for one in chosen if isinstance(one, GaussianNoise)]
    assert len(moved) == numbers
    with mp.workdps(40):
        mu, total = mp.sqrt(mp.mpf(sum(moved).numerator) / sum(moved).denominator), mp.mpf(0)
        for told in product(*(range(len(own)) for own in laws)):
            p, q = (
                math.prod((own[v][x] for own, x in zip(laws, told, strict=True)), start=Fraction(1))
                for v in (0, 1)
            )
            odds = mp.exp(1) * mp.mpf((q / p).numerator) / (q / p).denominator
            place = -mp.log(odds) / mu
            one_side = mp.ncdf(place + mu / 2) - odds * mp.ncdf(place - mu / 2)
            total += mp.mpf(p.numerator) / p.denominator * one_side
        assert 0 < total <= mp.mpf(budget.delta.numerator) / budget.delta.denominator
