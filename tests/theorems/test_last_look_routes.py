"""P-values after queries, by every route: exact error probabilities against the best test there is.

Rows are coins, and what is released depends on their number of heads; so a sample is that number, its law is
binomial, and the best test after a transcript is found by sorting.  Nothing is simulated here.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import ndtr
from scipy.stats import binom, norm

from adyton.kernel.accounting.noisy_reading import stability_units
from adyton.kernel.exact import UNITS_PER_ONE
from adyton.kernel.privacy import PureCost
from adyton.validity.last_look.best import Route, routes_after
from adyton.validity.last_look.leakage import (
    comparisons_nats,
    gaussian_rate,
    geometric_rate,
    numbers_nats,
    pure_distance,
)
from adyton.validity.last_look.posterior import (
    InformationGiven,
    MaxInformation,
    MutualInformation,
    PosteriorPValues,
    SubsetPValues,
    all_rows_exchanged,
)
from adyton.validity.last_look.told import NoisyIntegers, ReleasedTotals

TWENTIETH = Fraction(1, 20)
FAR = 120  # answers so far outside have no weight


def geometric(heads: np.ndarray, answers: np.ndarray, epsilon: float) -> np.ndarray:
    """The law of a count with two-sided geometric noise of scale 1 / epsilon, a line for each count."""
    return math.tanh(epsilon / 2) * np.exp(-epsilon * np.abs(answers[None, :] - heads[:, None]))


def noisy_count(heads: np.ndarray, epsilon: float) -> np.ndarray:
    """The same law with all answers below 0 taken as 0, and all above the greatest as that: they say the same."""
    law = geometric(heads, heads, epsilon)
    law[:, 0] = np.exp(-epsilon * heads) / (1 + math.exp(-epsilon))
    law[:, -1] = law[::-1, 0]
    assert np.allclose(law.sum(1), 1)
    return law


def given(prior: np.ndarray, heads: np.ndarray, answer: float, epsilon: float) -> np.ndarray:
    """The law of the number of heads, given one noisy count, however far outside that is."""
    far = np.abs(answer - heads)
    joint = prior * np.exp(-epsilon * (far - far.min()))
    return joint / joint.sum()


def best_rejection(prior: np.ndarray, joint: np.ndarray, threshold: float) -> float:
    """The greatest joint mass of samples whose prior mass is at most ``threshold``, by a randomised test."""
    order = np.argsort(-joint / prior)
    before = np.cumsum(prior[order]) - prior[order]
    part = np.clip((threshold - before) / prior[order], 0, 1)
    return float((part * joint[order]).sum())


def coins(rows: int, bias: float = 0.5) -> tuple[np.ndarray, np.ndarray]:
    heads = np.arange(rows + 1)
    return heads, np.maximum(binom.pmf(heads, rows, bias), 1e-290)


BOUNDS = [PosteriorPValues, MaxInformation, InformationGiven, all_rows_exchanged]


@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize(
    ("rows", "epsilon"), [(1, "3"), (5, "1/2"), (200, "1/5"), (200, "1/50"), (2000, "1/20")]
)
@pytest.mark.parametrize("alpha", [Fraction(3, 5), TWENTIETH, Fraction(1, 1000)])
def test_theorem_POSTERIOR_P_VALUES_no_transcript_makes_tests_err_more(bound, rows, epsilon, alpha):
    """For each answer by itself, although answers far outside are as telling as pure noise allows."""
    heads, prior = coins(rows)
    answers = np.unique(np.linspace(-FAR, rows + FAR, 41).round())
    threshold, e = bound(rows, Fraction(epsilon)).threshold(alpha), float(Fraction(epsilon))
    after_each = [given(prior, heads, answer, e) for answer in answers]
    assert max(best_rejection(prior, law, threshold) for law in after_each) <= float(alpha)


def test_theorem_POSTERIOR_P_VALUES_half_of_the_exponent_is_refuted():
    """With half of the exponent it would be refuted."""
    rows, epsilon = 200, Fraction(1, 5)
    heads, prior = coins(rows)
    law = given(prior, heads, rows + FAR, float(epsilon))
    threshold = PosteriorPValues(rows, epsilon * Fraction(7, 10)).threshold(TWENTIETH)
    assert best_rejection(prior, law, threshold) > 1.2 / 20


@pytest.mark.parametrize("rows", [3, 40, 5000])
@pytest.mark.parametrize("epsilon", [Fraction(1, 1000), Fraction(1, 50), Fraction(1)])
@pytest.mark.parametrize("alpha", [Fraction(1, 2), TWENTIETH, Fraction(1, 10**6)])
def test_theorem_POSTERIOR_P_VALUES_max_information_is_never_better(rows, epsilon, alpha):
    moments, information = PosteriorPValues(rows, epsilon), MaxInformation(rows, epsilon)
    most = all_rows_exchanged(rows, epsilon).threshold(alpha)
    assert information.threshold(alpha) <= max(moments.threshold(alpha), most) * (1 + 1e-9)
    p = max(moments.threshold(alpha), 1e-200)
    assert min(moments.level(p), all_rows_exchanged(rows, epsilon).level(p)) <= information.level(p) * (
        1 + 1e-8
    )


def test_theorem_POSTERIOR_P_VALUES_numbers():
    """5,000 rows and one answer of epsilon 1/50; and the part that each wins."""
    numbers = [bound(5000, Fraction(1, 50)).threshold(TWENTIETH) for bound in BOUNDS]
    assert numbers == pytest.approx([0.0068975, 0.0036449, 0.00012744, 1.86e-45], rel=2e-3)
    assert InformationGiven(5000, Fraction(1, 100)).threshold(Fraction(9, 10)) > PosteriorPValues(
        5000, Fraction(1, 100)
    ).threshold(Fraction(9, 10))
    assert all_rows_exchanged(1, Fraction(1)).threshold(TWENTIETH) > PosteriorPValues(
        1, Fraction(1)
    ).threshold(TWENTIETH)


@pytest.mark.parametrize("bound", [*BOUNDS, lambda rows, e: MutualInformation(rows, e**2 / 10**4)])
@pytest.mark.parametrize("epsilon", [Fraction(1, 10**4), Fraction(1, 50), Fraction(1, 5)])
def test_theorem_LAST_LOOK_ROUTES_a_p_value_is_worth_the_level_it_passes(bound, epsilon):
    """What a p-value is worth is the level that it just passes."""
    route = bound(1000, epsilon)
    for alpha in (Fraction(1, 3), TWENTIETH, Fraction(1, 10**4)):
        threshold = route.threshold(alpha)
        if not threshold > 1e-250:
            continue
        assert float(alpha) * (1 - 1e-9) <= route.level(threshold) <= float(alpha) * 1.02
        assert route.threshold(Fraction(min(0.999999, route.level(threshold) * (1 + 1e-8)))) >= threshold * (
            1 - 1e-9
        )


# What can be told apart ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("rows", "epsilon"), [(1, 2.0), (20, 0.3), (500, 0.01), (100, 5.0)])
def test_theorem_TRANSCRIPT_LEAKAGE_of_geometric_noise(rows, epsilon):
    """The sum over all answers of the greatest probability that any table gives them."""
    reach = math.ceil(40 / epsilon)
    answers = np.arange(-reach, rows + reach + 1)
    greatest = geometric(np.arange(rows + 1), answers, epsilon).max(0).sum()
    assert greatest == pytest.approx(1 + rows * math.tanh(epsilon / 2), rel=1e-9)
    assert greatest <= math.exp(numbers_nats([NoisyIntegers(1, geometric_rate(Fraction(epsilon)))], rows))


@pytest.mark.parametrize(("rows", "scale"), [(1, 0.5), (30, 4.0), (1000, 7.0)])
def test_theorem_TRANSCRIPT_LEAKAGE_of_normal_noise(rows, scale):
    def greatest(answer: float) -> float:
        nearest = min(max(answer, 0.0), float(rows))
        return float(norm.pdf(answer, nearest, scale))

    ends = (-40 * scale, 0, rows, rows + 40 * scale)
    whole = sum(quad(greatest, low, high)[0] for low, high in pairwise(ends))
    radius = (Fraction(1, 2) / Fraction(scale)) ** 2
    told = math.exp(numbers_nats([NoisyIntegers(1, gaussian_rate(radius))], rows))
    assert whole <= told <= whole * (1 + 1e-6)


@pytest.mark.parametrize("length", [0, 1, 2, 7, 10])
def test_theorem_TRANSCRIPT_LEAKAGE_yes_and_no_of_a_monitor_are_a_law(length):
    """However many are asked: over all answers the probabilities sum to 1, and a yes costs what was said."""
    chances = [math.exp(-comparisons_nats(said)) for said in product((False, True), repeat=length)]
    assert 1 - 1e-9 <= sum(chances) <= 1
    assert comparisons_nats([False] * length + [True]) == pytest.approx(math.log((length + 1) * (length + 2)))
    assert comparisons_nats([False] * length) == pytest.approx(math.log(length + 1))
    again = [True, *[False] * length, True]  # from each yes on it is counted anew
    assert comparisons_nats(again) == pytest.approx(math.log(2 * (length + 1) * (length + 2)))


@pytest.mark.parametrize("bias", [0.5, 0.03])
def test_theorem_TRANSCRIPT_LEAKAGE_the_best_test_after_an_exact_answer(bias):
    """One quiet count of 100 coins: the test that it chooses errs at most alpha, and would err far more often."""
    rows, epsilon, alpha = 100, Fraction(3, 2), Fraction(1, 10)
    heads, prior = coins(rows, bias)
    joint = prior[:, None] * noisy_count(heads, float(epsilon))
    nats = numbers_nats([NoisyIntegers(1, geometric_rate(epsilon))], rows)
    threshold = SubsetPValues(1.0, nats).threshold(alpha)
    assert sum(best_rejection(prior, column, threshold) for column in joint.T) <= float(alpha)
    assert sum(best_rejection(prior, column, float(alpha)) for column in joint.T) > 2 * float(alpha)
    assert threshold > PosteriorPValues(rows, epsilon).threshold(alpha)


# All of them together --------------------------------------------------------------------------------------


def after(
    monitors: list[list[bool]], of_monitor: Fraction, asked: list[Fraction], rows: int
) -> ReleasedTotals:
    """A pure study: monitors of one epsilon each, and counts."""
    radius = sum((PureCost(e / 2).gdp for e in asked), Fraction(0))
    return ReleasedTotals(
        radius=radius + len(monitors) * PureCost(of_monitor).gdp,
        pure=sum(asked, Fraction(0)) + len(monitors) * of_monitor,
        by_monitors=len(monitors) * of_monitor,
        said=sum(comparisons_nats(said) for said in monitors),
        numbers=tuple(NoisyIntegers(1, geometric_rate(e)) for e in asked),
    )


def best(told: ReleasedTotals, rows: int, alpha: Fraction, *, gaussian: bool = False) -> tuple[float, str]:
    return max((route.threshold(alpha), route.name) for route in routes_after(told, rows, gaussian=gaussian))


@pytest.mark.parametrize("of_monitor", [Fraction(1, 20), Fraction(2)])
@pytest.mark.parametrize("prices", [("1/20", "2"), ("1/10", "1/10"), ("1", "1/100")])
@pytest.mark.parametrize("alpha", [Fraction(1, 3), TWENTIETH])
def test_theorem_LAST_LOOK_ROUTES_an_analyst_whose_prices_follow(of_monitor, prices, alpha):
    """A coin decides whether to open a monitor; what it says, how exact the count is; then the best test of all.

    All transcripts are enumerated, the best test is found for each, and different routes win after them.
    """
    rows, (dear, cheap) = 60, map(Fraction, prices)
    heads, prior = coins(rows)
    truth = 1 / (1 + math.exp(-float(of_monitor)))
    above = np.where(heads > rows / 2 + 3, truth, 1 - truth)  # of_monitor-DP
    total, winners = 0.0, set[str]()
    for opened, said, chance in [(False, False, 1.0), (True, True, above), (True, False, 1 - above)]:
        for price in [dear if said else cheap, None]:  # half of the analysts test at once
            told = after([[said]] if opened else [], of_monitor, [] if price is None else [price], rows)
            threshold, winner = best(told, rows, alpha)
            winners.add(winner)
            weight = prior * chance / 4
            columns = (
                [weight] if price is None else list((weight[:, None] * noisy_count(heads, float(price))).T)
            )
            total += sum(best_rejection(prior, column, threshold) for column in columns)
    assert total <= float(alpha)
    assert len(winners) > 1


STATES = [
    ReleasedTotals(radius=Fraction(1, 100), numbers=(NoisyIntegers(1, 0.1),)),
    ReleasedTotals(radius=Fraction(1, 100), pure=Fraction(1, 10), by_monitors=Fraction(1, 10), said=2.0),
    ReleasedTotals(radius=Fraction(1, 100), pure=Fraction(1, 10), by_monitors=Fraction(1, 20), said=2.0),
    ReleasedTotals(pure=Fraction(1, 10), by_monitors=Fraction(1, 10), said=2.0),
    ReleasedTotals(pure=Fraction(1, 10), numbers=None),
]
IN_STUDIES = [(told, True) for told in STATES] + [
    (replace(told, radius=Fraction(1, 100), pure=told.pure or Fraction(1, 5)), False) for told in STATES
]


def parts_of(routes: list[Route]) -> Fraction:
    """Routes of one law share its part: the four that compare with the transcript itself."""
    itself = ("moments", "max-information", "information", "all rows exchanged")
    one = {route.part for route in routes if route.name in itself}
    assert len(one) <= 1
    return sum(one, Fraction(0)) + sum((r.part for r in routes if r.name not in itself), Fraction(0))


@pytest.mark.parametrize(("told", "gaussian"), IN_STUDIES)
def test_theorem_LAST_LOOK_ROUTES_parts_of_the_level_sum_to_at_most_one(told, gaussian):
    """The parts of the level never sum to more than one."""
    assert Fraction(15, 32) <= parts_of(routes_after(told, 1000, gaussian=gaussian)) <= 1


@pytest.mark.parametrize("gaussian", [True, False])
def test_theorem_LAST_LOOK_ROUTES_before_any_query_the_level_is_whole(gaussian):
    for alpha in (Fraction(1, 20), Fraction(1, 3), Fraction(1, 10**9)):
        (route,) = routes_after(ReleasedTotals(), 5000, gaussian=gaussian)
        assert route.threshold(alpha) == pytest.approx(float(alpha), rel=1e-15)
        assert route.worth(alpha) == pytest.approx(float(alpha), rel=1e-15)


def test_theorem_LAST_LOOK_ROUTES_five_thousand_rows_and_one_small_answer():
    told = after([], Fraction(1), [Fraction(1, 50)], 5000)
    threshold, name = best(told, 5000, TWENTIETH)
    assert (name, threshold) == ("moments", pytest.approx(0.00662, abs=1e-5))
    by_name = {route.name: route.threshold(TWENTIETH) for route in routes_after(told, 5000, gaussian=False)}
    assert by_name["max-information"] == pytest.approx(0.0035, abs=1e-4)


def test_theorem_LAST_LOOK_ROUTES_who_wins():
    """Few exact answers are counted, monitors by what they said, and very many small answers add up as squares."""
    exact = after([], Fraction(1), [Fraction(1, 2)], 5000)
    assert best(exact, 5000, TWENTIETH) == (pytest.approx(6.2e-7, rel=0.01), "bits of the transcript")
    quiet = after([[False] * 100], Fraction(1), [Fraction(1, 50)], 5000)
    assert best(quiet, 5000, TWENTIETH)[1] == "moments, monitors by what they said"
    assert best(quiet, 5000, TWENTIETH)[0] > 5e-6
    loud = after([[False] * 100], Fraction(1, 1000), [Fraction(1, 50)], 5000)
    assert best(loud, 5000, TWENTIETH)[1] == "moments"
    many = ReleasedTotals(
        radius=20_000 * PureCost(Fraction(2, 10**6)).gdp, pure=Fraction(8, 100), numbers=None
    )
    assert best(many, 5000, TWENTIETH) == (pytest.approx(1.37e-5, rel=0.01), "mutual information")
    one = ReleasedTotals(radius=Fraction(1, 20), numbers=(NoisyIntegers(1, gaussian_rate(Fraction(1, 20))),))
    assert best(one, 5000, TWENTIETH, gaussian=True)[1] == "bits of the transcript"
    monitor = ReleasedTotals(radius=Fraction(1, 10**5), pure=Fraction(1), by_monitors=Fraction(1), said=5.0)
    monitor = replace(monitor, numbers=(NoisyIntegers(9, 0.01),))
    assert best(monitor, 5000, TWENTIETH, gaussian=True)[1] == "subset, monitors by what they said"


def test_theorem_LAST_LOOK_ROUTES_more_released_never_makes_a_test_easier():
    grown = [after([], Fraction(1), [Fraction(1, 50)] * k, 3000) for k in range(6)]
    grown += [after([[False] * k], Fraction(1, 2), [Fraction(1, 50)] * 5, 3000) for k in range(1, 6)]
    found = [best(told, 3000, TWENTIETH)[0] for told in grown]
    assert all(later < earlier for earlier, later in pairwise(found))


@pytest.mark.parametrize(("told", "gaussian"), IN_STUDIES)
def test_theorem_LAST_LOOK_ROUTES_more_units_never_make_a_test_easier(told, gaussian):
    """So an upper end of their number is enough where it is private."""
    for few, more in ((10, 11), (400, 5000)):
        pairs = zip(*(routes_after(told, n, gaussian=gaussian) for n in (few, more)), strict=True)
        for one, other in pairs:
            assert other.threshold(TWENTIETH) <= one.threshold(TWENTIETH)


def test_theorem_LAST_LOOK_ROUTES_of_two_gaussian_answers_and_a_bit():
    """Gaussian counts of fair coins after a randomised bit: the best test errs at most alpha, by quadrature."""
    rows, alpha, epsilon = 40, Fraction(1, 10), Fraction(3, 2)
    heads, prior = coins(rows)
    truth = 1 / (1 + math.exp(-float(epsilon)))
    above = np.where(heads > rows / 2, truth, 1 - truth)
    total = 0.0
    for said, chance in ((True, above), (False, 1 - above)):
        scale = 2.0 if said else 9.0
        radius = (Fraction(1, 2) / Fraction(scale)) ** 2
        told = ReleasedTotals(
            radius=radius,
            pure=epsilon,
            by_monitors=epsilon,
            said=comparisons_nats([said]),
            numbers=(NoisyIntegers(1, gaussian_rate(radius)),),
        )
        threshold, _ = best(told, rows, alpha, gaussian=True)
        cells = np.linspace(-10 * scale, rows + 10 * scale, 600)  # rounding the answer is post-processing
        mass = np.diff(ndtr((cells[None, :] - heads[:, None]) / scale), axis=1)
        total += sum(
            best_rejection(prior, column, threshold) for column in ((prior * chance)[:, None] * mass).T
        )
    assert 0 < total <= float(alpha)


@pytest.mark.parametrize("e", [Fraction(1, 10**6), Fraction(1, 100), Fraction(1), Fraction(40)])
def test_theorem_LAST_LOOK_ROUTES_the_distance_behind_a_radius(e):
    """From what a receipt has, in whole units, back to how far a unit is from the centre: never below it."""
    charged = Fraction(stability_units(PureCost(e)), UNITS_PER_ONE)
    assert float(e) <= pure_distance(charged) <= float(e) * (1 + 1e-6)


@pytest.mark.parametrize(("told", "gaussian"), IN_STUDIES)
def test_theorem_LAST_LOOK_ROUTES_a_p_value_pays_for_its_part_of_the_route(told, gaussian):
    """The worth of a p-value pays for the part of its route."""
    for route in routes_after(told, 60, gaussian=gaussian):
        threshold = route.threshold(TWENTIETH)
        if threshold > 1e-250:
            assert 0.05 * (1 - 1e-9) <= route.worth(Fraction(threshold)) <= 0.05 * 1.02


@pytest.mark.parametrize("asked", [False, True])
@pytest.mark.parametrize("alpha", [TWENTIETH, Fraction(1, 3)])
def test_theorem_LAST_LOOK_ROUTES_values_of_a_monitor_count_with_its_yes(asked, alpha):
    """Rows of two coins: a monitor says yes to heads of the first ones, with their exact number, nearly; a loud
    count of the second ones may follow.  Mutants: values are left out of either coded route.
    """
    rows, epsilon, small = 60, Fraction(12), Fraction(1, 1000)
    heads, prior = coins(rows)
    told = ReleasedTotals(
        radius=PureCost(epsilon).gdp,
        pure=epsilon,
        by_monitors=epsilon,
        said=comparisons_nats([True]),
        of_monitors=(NoisyIntegers(1, geometric_rate(epsilon)),),
    )
    if asked:  # which says nothing about the first coins
        told = replace(told, pure=epsilon + small, numbers=(NoisyIntegers(1, geometric_rate(small)),))
    routes = {route.name: route.threshold(alpha) for route in routes_after(told, rows, gaussian=False)}
    names = ["bits of the transcript"] + (["moments, monitors by what they said"] if asked else [])
    joint = prior[:, None] * noisy_count(heads, float(epsilon))
    for name in names:
        assert 0 < sum(best_rejection(prior, column, routes[name]) for column in joint.T) <= float(alpha)
    without = SubsetPValues(1.0, told.said).threshold(alpha * Fraction(31, 64))
    assert sum(best_rejection(prior, column, without) for column in joint.T) > float(alpha)


def test_theorem_LAST_LOOK_ROUTES_monitors_never_pay_for_what_is_none():
    """A selection beside a monitor.  Mutants: its epsilon is left out; what is not counted is taken as nothing."""
    told = ReleasedTotals(Fraction(1, 100), Fraction(2), Fraction(1), 0.7, (NoisyIntegers(1, 0.1),))
    assert {route.name for route in routes_after(told, 1000, gaussian=True)} == {"subset"}
    told = replace(told, radius=Fraction(0))
    assert not any(route.name.startswith("bits") for route in routes_after(told, 1000, gaussian=True))
