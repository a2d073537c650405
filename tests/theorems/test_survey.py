"""Surveys of the local model: privacy by enumeration of all reports, intervals by the exact law of the counts."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from noise_oracle import Script
from scipy.stats import norm

from adyton.errors import InvalidRequest
from adyton.kernel.accounting import accounting_named
from adyton.kernel.mechanisms.gaussian import GaussianNoise
from adyton.kernel.mechanisms.geometric import GeometricNoise
from adyton.kernel.noise import two_sided_geometric
from adyton.kernel.privacy import Guarantee
from adyton.kernel.special.mechanisms.randomized_response import RandomizedResponse
from adyton.noise_intervals.laws import geometric_pmf, geometric_tail
from adyton.surveys import CategoryQuestion, NumberQuestion, Survey
from adyton.surveys.dividing import MOVED, _by_mu, _by_optimum, _by_parts, spread
from adyton.surveys.intervals import noise_of_mean, share_of_population, share_of_respondents, tail
from adyton.surveys.questions import STEPS
from support.randomness import Seeded

YES_NO = ("yes", "no")
BUDGET = Guarantee(2, "0.001")
TWENTIETH = Fraction(1, 20)


def e_to(epsilon: Fraction) -> Fraction:
    """Not above e**epsilon, and within 1e-30 of it: the sum of its series."""
    total, term = Fraction(1), Fraction(1)
    for n in range(1, 80):
        term = term * epsilon / n
        total += term
    return total


def law(mechanism: RandomizedResponse, value: int) -> list[Fraction]:
    """By every outcome of the two draws of ``release``."""
    honest, others = mechanism.truth.denominator, mechanism.categories - 1
    chances = [Fraction(0)] * mechanism.categories
    for first, second in product(range(honest), range(others)):
        words = [first << 64 - (honest - 1).bit_length()]
        words += [second << 64 - (others - 1).bit_length()] if others > 1 else []
        chances[mechanism.release([value], Script(*words))[0]] += Fraction(1, honest * others)
    return chances


# One report, with delta --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "mechanism", [RandomizedResponse(2, Fraction(3, 4)), RandomizedResponse(4, Fraction(5, 8))]
)
@pytest.mark.parametrize("epsilon", [Fraction(0), Fraction(1, 2), Fraction(1), Fraction(5)])
def test_theorem_RANDOMIZED_RESPONSE_WITH_DELTA_over_all_events(
    mechanism: RandomizedResponse, epsilon: Fraction
) -> None:
    """The largest P(S) - e**epsilon Q(S) of all sets of reports and all pairs of values is the delta.

    Mutant: the lie of another category, or a power of e that is rounded up.
    """
    laws = [law(mechanism, value) for value in range(mechanism.categories)]
    odds, outputs = e_to(epsilon), range(mechanism.categories)
    worst = max(
        sum((here[o] - odds * there[o] for o in event), Fraction(0))
        for here, there in product(laws, laws)
        for size in range(mechanism.categories + 1)
        for event in combinations(outputs, size)
    )
    assert 0 <= mechanism.delta(epsilon) - worst <= Fraction(1, 2**60)


@given(
    epsilon=st.fractions(Fraction(1, 1000), 30),
    delta=st.sampled_from(["0", "1e-9", "0.01", "0.5"]),
    categories=st.sampled_from([2, 3, 50]),
)
def test_theorem_RANDOMIZED_RESPONSE_WITH_DELTA_calibration_stays_inside(
    epsilon: Fraction, delta: str, categories: int
) -> None:
    """Mutant: delta times the categories, in place of the others among them."""
    made = RandomizedResponse.for_guarantee(Guarantee(epsilon, delta), categories)
    exact = made.truth - e_to(epsilon) * made.lie
    assert exact <= Fraction(delta)
    assert exact >= Fraction(delta) - e_to(epsilon) / 2**58
    if delta == "0":
        assert abs(made.truth - RandomizedResponse.for_epsilon(epsilon, categories).truth) < Fraction(
            1, 2**40
        )


# All reports of one person -----------------------------------------------------------------------------------

QUESTIONS = (CategoryQuestion("smokes", YES_NO), CategoryQuestion("by", ("bike", "bus", "car")))
MANY = tuple(CategoryQuestion(f"q{i}", YES_NO) for i in range(7))
WAYS = {"parts": _by_parts, "optimum": _by_optimum, "mu": _by_mu}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("questions", [QUESTIONS, MANY], ids=["two", "seven"])
@pytest.mark.parametrize("budget", [Guarantee(1, "1e-6"), BUDGET, Guarantee(3, "0.05")], ids=str)
def test_theorem_LOCAL_REPORTS_by_the_law_of_all_lists_of_reports(
    way: str, questions: tuple[CategoryQuestion, ...], budget: Guarantee
) -> None:
    """The worst pair differs in every answer; all lists of reports, exactly.

    Mutant: every question gets the whole epsilon, or what fits for one question fewer.
    """
    chosen = WAYS[way](questions, budget)
    total = delta_of([(r.truth, r.lie, r.categories) for r in chosen], budget.epsilon)
    assert total <= budget.delta
    if way == "optimum":
        louder = [(r.truth * Fraction(11, 10), r.lie * Fraction(9, 10), r.categories) for r in chosen]
        assert delta_of(louder, budget.epsilon) > budget.delta  # the test would see a tenth more truth


def delta_of(reports: list[tuple[Fraction, Fraction, int]], epsilon: Fraction) -> Fraction:
    """Of a person who answers 0 everywhere here, and 1 everywhere there: over all lists of reports."""
    odds, total = e_to(epsilon), Fraction(0)
    for told in product(*(range(categories) for _, _, categories in reports)):
        pairs = list(zip(reports, told, strict=True))
        here = math.prod(truth if x == 0 else lie for (truth, lie, _), x in pairs)
        there = math.prod(truth if x == 1 else lie for (truth, lie, _), x in pairs)
        total += max(Fraction(0), here - odds * there)
    return total


def test_theorem_LOCAL_REPORTS_numbers_pay_within_the_limit() -> None:
    """Mutant: Gaussian noise for the whole mu of the budget, in each question."""
    gdp = accounting_named("gdp")
    for many in (1, 3, 20):
        questions = tuple(NumberQuestion(f"q{i}", 0, 10) for i in range(many))
        by_mu = _by_mu(questions, BUDGET)
        assert all(isinstance(noise, GaussianNoise) for noise in by_mu)
        assert sum(gdp.amount(noise.cost(MOVED)) for noise in by_mu) <= gdp.allowed(BUDGET)
        for noise in _by_parts(questions, Guarantee(2, 0)):
            assert isinstance(noise, GeometricNoise)
            assert noise.cost(MOVED).epsilon * many <= 2
    mixed = (*QUESTIONS, NumberQuestion("age", 0, 99))
    amounts = [
        gdp.amount(one.cost() if isinstance(one, RandomizedResponse) else one.cost(MOVED))
        for one in _by_mu(mixed, BUDGET)
    ]
    assert sum(amounts) <= gdp.allowed(BUDGET)
    assert min(amounts) >= gdp.allowed(BUDGET) // 3 * (1 - 1e-6)


def test_theorem_LOCAL_REPORTS_the_quietest_way_is_taken() -> None:
    assert Survey("s", QUESTIONS, Guarantee(1, 0)).randomizers == _by_parts(QUESTIONS, Guarantee(1, 0))
    for questions in (QUESTIONS, MANY, tuple(NumberQuestion(f"q{i}", 0, 1) for i in range(40))):
        chosen = Survey("s", questions, BUDGET).randomizers
        assert sum(map(spread, chosen)) == min(
            sum(map(spread, way(questions, BUDGET))) for way in WAYS.values()
        )
    assert isinstance(chosen[0], GaussianNoise)


def test_theorem_LOCAL_REPORTS_what_is_reported_has_the_law_of_its_noise() -> None:
    """20,000 people: six standard deviations, 2e-9 for each of five numbers.

    Mutant: an answer that is reported without noise, or with the noise of another question.
    """
    people = 20_000
    survey = Survey("s", (*QUESTIONS, NumberQuestion("age", 0, 100)), Guarantee(3, 0))
    yes_no, three, noise = survey.randomizers
    reports = survey.randomize_all([{"smokes": "no", "by": "bus", "age": 25}] * people, Seeded(4))
    for name, value, chance in (
        ("smokes", "no", yes_no.truth),
        ("by", "bus", three.truth),
        ("by", "car", three.lie),
    ):
        seen = sum(report[name] == value for report in reports)
        assert abs(seen - people * chance) <= 6 * math.sqrt(people * chance * (1 - chance))
    numbers = np.array([report["age"] for report in reports]) - STEPS // 4
    scale = float(noise.scales[0])
    middle = 1 - geometric_tail(scale, round(scale) + 1) * 2
    inside = np.count_nonzero(np.abs(numbers) <= round(scale))
    assert abs(inside - people * middle) <= 6 * math.sqrt(people * middle * (1 - middle))
    assert abs(numbers.mean()) <= 6 * math.sqrt(2 * scale**2 / people)


def test_theorem_LOCAL_REPORTS_numbers_are_clamped_to_their_bounds() -> None:
    """Mutant: no clamping: an answer could then be moved farther than the noise hides."""
    age = NumberQuestion("age", 18, 98)
    assert [age.code(x) for x in (18, 98, -5, 1e9, "58", Fraction(58))] == [
        0,
        STEPS,
        0,
        STEPS,
        STEPS // 2,
        STEPS // 2,
    ]


# Intervals ---------------------------------------------------------------------------------------------------

COINS = RandomizedResponse.two_coins()
SHAPES = [COINS, RandomizedResponse(4, Fraction(1, 2)), RandomizedResponse.for_epsilon(Fraction(6))]


def counts_of(mechanism: RandomizedResponse, holders: int, people: int) -> list[float]:
    chances = np.array([1.0])
    for person in range(people):
        p = float(mechanism.truth if person < holders else mechanism.lie)
        chances = np.convolve(chances, [1 - p, p])
    return chances.tolist()


@pytest.mark.parametrize("mechanism", SHAPES, ids=["two coins", "four values", "loud"])
@pytest.mark.parametrize("people", [1, 7, 40])
def test_theorem_SURVEY_SHARES_covers_the_respondents_by_the_exact_law(
    mechanism: RandomizedResponse, people: int
) -> None:
    """Every number of holders, every count.  Mutant: the whole failure on each side."""
    intervals = [share_of_respondents(mechanism, c, people, TWENTIETH) for c in range(people + 1)]
    least = 1.0
    for holders in range(people + 1):
        chances = counts_of(mechanism, holders, people)
        covered = sum(
            p for p, (low, high) in zip(chances, intervals, strict=True) if low <= holders / people <= high
        )
        assert covered >= 0.95 - 1e-9
        least = min(least, covered)
    assert people < 40 or least < 0.975  # an interval of twice the failure would be caught


@given(
    first=st.integers(0, 60),
    second=st.integers(0, 60),
    count=st.integers(0, 121),
    p=st.fractions("0.01", "0.99"),
)
@settings(max_examples=60)
def test_theorem_SURVEY_SHARES_the_tail_is_that_of_both_sums(
    first: int, second: int, count: int, p: Fraction
) -> None:
    for q in (Fraction(1, 10), Fraction(9, 10)):
        chances = np.array([1.0])
        for chance in [float(p)] * first + [float(q)] * second:
            chances = np.convolve(chances, [1 - chance, chance])
        exact = float(chances[count:].sum())
        found = tail(first, p, second, q, count)
        assert exact * (1 - 1e-12) <= found <= exact * (1 + 1e-6) + 1e-40


@pytest.mark.parametrize("mechanism", SHAPES, ids=["two coins", "four values", "loud"])
@pytest.mark.parametrize("share", [0.0, 0.03, 0.5, 1.0])
def test_theorem_SURVEY_SHARES_covers_the_population_by_the_exact_law(
    mechanism: RandomizedResponse, share: float
) -> None:
    """Mutant: a lie that is not subtracted."""
    people = 60
    chance = float(mechanism.lie) + share * float(mechanism.truth - mechanism.lie)
    covered = 0.0
    for count in range(people + 1):
        low, high = share_of_population(mechanism, count, people, TWENTIETH)
        if low <= share <= high:
            covered += math.comb(people, count) * chance**count * (1 - chance) ** (people - count)
    assert covered >= 0.95 - 1e-9


def test_theorem_SURVEY_SHARES_numbers_of_the_page() -> None:
    low, high = share_of_respondents(COINS, 500, 1000, TWENTIETH)
    assert (high - low) / 2 == pytest.approx(0.054, abs=0.001)
    low, high = share_of_population(COINS, 500, 1000, TWENTIETH)
    assert (high - low) / 2 == pytest.approx(0.063, abs=0.001)
    assert COINS.error(1000, 0.95) / 1000 == pytest.approx(0.0859, abs=0.001)


def test_theorem_SURVEY_SHARES_many_people_and_impossible_counts() -> None:
    low, high = share_of_respondents(COINS, 500_000, 10**6, TWENTIETH)
    assert 0.0016 < (high - low) / 2 < 0.0018
    assert share_of_respondents(COINS, 0, 1000, TWENTIETH) == (0.0, 0.0)  # an event that has failed anyway
    assert share_of_respondents(COINS, 1000, 1000, TWENTIETH) == (1.0, 1.0)


@pytest.mark.parametrize("scale", [0.7, 30.0, 2.0**21])
def test_theorem_SURVEY_MEANS_geometric_noise_stays_within(scale: float) -> None:
    """By the exact law of the sum of 12 noises where that is small enough, and by samples elsewhere.

    2,000 sums; the bound allows 100 outside; more than 160 would be a 1e-8 event if just 100 were expected.
    Mutant: the moment of one noise in place of all of them.
    """
    people, noise = 12, GeometricNoise((Fraction(scale),))
    width = noise_of_mean(noise, people, TWENTIETH)
    if scale < 1:
        reach = 60
        one = np.array([geometric_pmf(scale, z) for z in range(-reach, reach + 1)])
        chances = np.array([1.0])
        for _ in range(people):
            chances = np.convolve(chances, one)
        sums = np.abs(np.arange(len(chances)) - people * reach)
        outside = float(chances[sums > people * width].sum())
        assert 0.001 < outside <= 0.05
    drawn = two_sided_geometric.draw(scale, 2000 * people, Seeded(3)).reshape(2000, people).mean(axis=1)
    assert 5 < np.count_nonzero(np.abs(drawn) > width) < 160


def test_theorem_SURVEY_MEANS_gaussian_noise_stays_within() -> None:
    """2,000 means of 9: 100 expected outside, 160 would be a 1e-8 event.  Mutant: no root of the people."""
    noise = GaussianNoise((Fraction(50),))
    drawn = np.array(noise.release([[0] * 18_000], Seeded(8))[0], float).reshape(2000, 9).mean(axis=1)
    width = noise_of_mean(noise, 9, TWENTIETH)
    assert 40 < np.count_nonzero(np.abs(drawn) > width) < 160


@pytest.mark.parametrize("people", [1, 2, 3])
def test_theorem_SURVEY_MEANS_rounding_by_the_exact_law(people: int) -> None:
    """Noise so small that rounding it is all that is seen.  Mutant: half a step is not added."""
    for scale, failure in product((0.2, 0.4, 3.0), (Fraction(1, 2), Fraction(1, 20), Fraction(1, 200))):
        at = np.arange(-40, 41)
        one = norm.cdf((at + 0.5) / scale) - norm.cdf((at - 0.5) / scale)
        law, sums = one, np.arange(-40 * people, 40 * people + 1)
        for _ in range(people - 1):
            law = np.convolve(law, one)
        width = noise_of_mean(GaussianNoise((Fraction(scale),)), people, failure)
        assert law[np.abs(sums) > people * width].sum() <= failure


@pytest.mark.parametrize(("scale", "people"), [(0.5, 1), (3.0, 7), (500.0, 100)])
def test_theorem_SURVEY_MEANS_both_tails_of_geometric_noise_are_paid_for(scale: float, people: int) -> None:
    """Some tilt bounds both tails together by the failure.  Mutant: one of them."""
    for failure in (Fraction(1, 20), Fraction(1, 10**6)):
        width = noise_of_mean(GeometricNoise((Fraction(scale),)), people, failure)
        tilts, t = np.linspace(0.001, 0.999, 999) / scale, math.exp(-1 / scale)
        moments = 2 * math.log1p(-t) - np.log1p(-t * np.exp(tilts)) - np.log1p(-t * np.exp(-tilts))
        assert math.log(2) + people * (moments - tilts * width).min() <= math.log(failure)


def test_theorem_SURVEY_MEANS_and_shares_of_whole_surveys_hold_at_once() -> None:
    """60 surveys of 300 people drawn anew, six intervals each; all at once at 95 %.

    At most 3 failures are expected of each column; more than 17 would be a 1e-8 event.
    Mutant: intervals of the respondents for the population; no division among the values.
    """
    survey = Survey("s", (*QUESTIONS, NumberQuestion("age", 0, 100)), Guarantee(6, "1e-6"), independent=True)
    rng, bits = np.random.default_rng(5), Seeded(5)
    shares, failed = {"bike": 0.2, "bus": 0.3, "car": 0.5}, [0, 0]
    for _ in range(60):
        smokes, by = rng.random(300) < 0.3, rng.choice(list(shares), 300, p=list(shares.values()))
        ages = rng.integers(0, 101, 300)
        people = [
            {"smokes": "yes" if s else "no", "by": str(b), "age": int(a)}
            for s, b, a in zip(smokes, by, ages, strict=True)
        ]
        found = survey.estimate(survey.randomize_all(people, bits))
        truths = {("smokes", "yes"): (smokes.mean(), 0.3), ("smokes", "no"): (1 - smokes.mean(), 0.7)}
        truths |= {("by", name): (np.mean(by == name), share) for name, share in shares.items()}
        results = [(found[key], truth) for key, truth in truths.items()] + [
            (found["age"], (ages.mean(), 50.0))
        ]
        failed[0] += any(not r.respondents[0] - 1e-12 <= t[0] <= r.respondents[1] + 1e-12 for r, t in results)
        failed[1] += any(not r.population[0] <= t[1] <= r.population[1] for r, t in results)
    assert max(failed) <= 17
    assert found.results[0].population is not None


def test_theorem_SURVEY_SHARES_what_may_fail_is_divided_among_all_values() -> None:
    """Two values are one claim, three are three, a mean is one: 1/100 each.

    Mutant: no division; the interval of the respondents in place of the population's.
    """
    survey = Survey("s", (*QUESTIONS, NumberQuestion("age", 0, 100)), Guarantee(6, 0), independent=True)
    reports = survey.randomize_all([{"smokes": "yes", "by": "bus", "age": 40}] * 80, Seeded(2))
    found, part = survey.estimate(reports, "0.95"), Fraction(1, 100)
    for place, (name, value) in enumerate((("smokes", "yes"), ("by", "car"))):
        mechanism, count = survey.randomizers[place], sum(report[name] == value for report in reports)
        assert found[name, value].respondents == share_of_respondents(mechanism, count, 80, part)
        assert found[name, value].population == share_of_population(mechanism, count, 80, part)
    middle = found["age"].estimate
    noise = survey.randomizers[2]
    alone = (noise_of_mean(noise, 80, part) + 0.5) * 100 / STEPS
    both = (noise_of_mean(noise, 80, part / 2) + 0.5) * 100 / STEPS + 100 * math.sqrt(math.log(400) / 160)
    assert found["age"].respondents == pytest.approx((max(0, middle - alone), middle + alone), rel=1e-6)
    assert found["age"].population == pytest.approx(
        (max(0, middle - both), min(100, middle + both)), rel=1e-6
    )


# What makes no sense -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: RandomizedResponse.for_guarantee(Guarantee(31, 0)),
        lambda: RandomizedResponse.two_coins().delta(Fraction(-1)),
        lambda: Survey("s", (), BUDGET),
        lambda: Survey("s", (QUESTIONS[0], QUESTIONS[0]), BUDGET),
        lambda: CategoryQuestion("a", ("x", "x")),
        lambda: CategoryQuestion("a", ("x",)),
        lambda: CategoryQuestion("survey", YES_NO),
        lambda: NumberQuestion("a", 1, 1),
        lambda: Survey("s", QUESTIONS, BUDGET).randomize({"smokes": "yes"}),
        lambda: Survey("s", QUESTIONS, BUDGET).randomize({"smokes": "yes", "by": "bus", "age": 3}),
        lambda: Survey("s", QUESTIONS, BUDGET).randomize({"smokes": "maybe", "by": "bus"}),
        lambda: Survey("s", QUESTIONS, BUDGET).estimate([]),
        lambda: NumberQuestion("a", 0, 1).code("nan"),
        lambda: NumberQuestion("a", 0, 1).read("1.5"),
        lambda: NumberQuestion("a", 0, 1).read(True),
        lambda: NumberQuestion("a", 0, 1).read("--5"),
    ],
)
def test_what_makes_no_sense_is_refused(wrong: Callable[[], object]) -> None:
    with pytest.raises(InvalidRequest):
        wrong()


def test_reports_of_another_survey_are_refused() -> None:
    """Mutant: a fingerprint without the budget.  Estimates from other noise would be silently wrong."""
    survey, other = (Survey("s", QUESTIONS, Guarantee(epsilon, 0)) for epsilon in (1, 2))
    reports = survey.randomize_all([{"smokes": "yes", "by": "bus"}] * 3)
    assert survey.estimate(reports).people == 3
    with pytest.raises(InvalidRequest, match="not one of this survey"):
        other.estimate(reports)


def test_an_error_does_not_repeat_the_answer() -> None:
    for question, answer in ((QUESTIONS[1], "SECRET"), (NumberQuestion("age", 0, 9), "SECRET")):
        with pytest.raises(InvalidRequest) as refused:
            question.code(answer)
        assert "SECRET" not in str(refused.value)
        assert refused.value.__cause__ is None
