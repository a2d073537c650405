"""Randomized response: its law by enumeration of all words, its estimator by enumeration of all reports."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st
from noise_oracle import Script

from adyton.errors import InvalidRequest
from adyton.kernel.noise import SystemBits
from adyton.kernel.special.mechanisms.randomized_response import RandomizedResponse
from support.randomness import Seeded

epsilons = st.fractions(Fraction(1, 1000), 30)
shapes = [
    RandomizedResponse(2, Fraction(3, 4)),
    RandomizedResponse(3, Fraction(1, 2)),
    RandomizedResponse(5, Fraction(5, 8)),
]


def law(mechanism: RandomizedResponse, value: int) -> list[Fraction]:
    """The true law of a report: every outcome of the two draws, each as likely as any other."""
    honest, others = mechanism.truth.denominator, mechanism.categories - 1
    chances = [Fraction(0)] * mechanism.categories
    for first, second in product(range(honest), range(others)):
        words = [top(first, honest)] + ([top(second, others)] if others > 1 else [])
        (report,) = mechanism.release([value], Script(*words))
        chances[report] += Fraction(1, honest * others)
    return chances


def top(number: int, n: int) -> int:
    """A word whose leading bits are ``number``, as many bits as a number below n needs."""
    return number << 64 - (n - 1).bit_length()


@pytest.mark.parametrize("mechanism", shapes)
def test_theorem_RANDOMIZED_RESPONSE_the_whole_law_on_all_values(mechanism: RandomizedResponse) -> None:
    laws = [law(mechanism, value) for value in range(mechanism.categories)]
    for value, chances in enumerate(laws):
        assert sum(chances) == 1
        assert chances[value] == mechanism.truth
    worst = max(p / q for one, two in product(laws, laws) for p, q in zip(one, two, strict=True))
    epsilon = mechanism.cost().epsilon
    with mpmath.workprec(200):
        exact = mpmath.log(mpmath.mpf(worst.numerator) / worst.denominator)
        assert 0 <= mpmath.mpf(epsilon.numerator) / epsilon.denominator - exact <= 1e-14 * exact


def test_theorem_RANDOMIZED_RESPONSE_two_coins_cost_ln_3() -> None:
    assert float(RandomizedResponse.two_coins().cost().epsilon) == pytest.approx(math.log(3), rel=1e-14)


@given(epsilon=epsilons, categories=st.sampled_from([2, 3, 17, 1000, 2**31]))
def test_theorem_RANDOMIZED_RESPONSE_calibration_stays_inside_and_uses_it(
    epsilon: Fraction, categories: int
) -> None:
    cost = RandomizedResponse.for_epsilon(epsilon, categories).cost().epsilon
    assert cost <= epsilon
    assert cost >= epsilon - Fraction(1, 10**5)  # 60 digits of a truth near 1 are few at epsilon = 30


def test_theorem_RANDOMIZED_RESPONSE_words_that_do_not_fit_are_drawn_again() -> None:
    """Of 0..2 only three of four patterns of two bits fit; the fourth is followed by another word."""
    mechanism = RandomizedResponse(2, Fraction(2, 3))
    script = Script(3 << 62, 3 << 62, 1 << 62, 5)
    assert mechanism.release([1], script) == [1]
    assert script.left == 1


def test_theorem_RANDOMIZED_RESPONSE_bits_read_do_not_depend_on_values() -> None:
    """The bits that are read do not depend on the values."""
    mechanism = RandomizedResponse(5, Fraction(5, 7))

    def left(values: list[int]) -> int:
        script = Script(*(int(w) for w in Seeded(3).words(400)))
        mechanism.release(values, script)
        return script.left

    assert left([0] * 50) == left([4] * 50) == left(list(range(5)) * 10)


@pytest.mark.parametrize("mechanism", shapes[:2])
@pytest.mark.parametrize("holders", [0, 1, 3])
def test_theorem_RANDOMIZED_RESPONSE_ESTIMATOR_mean_and_variance(
    mechanism: RandomizedResponse, holders: int
) -> None:
    """Three people, every list of reports with its probability: the mean is the truth, the variance as said."""
    values = [0] * holders + [1] * (3 - holders)
    mean = square = Fraction(0)
    for reports in product(range(mechanism.categories), repeat=3):
        chance = math.prod(
            mechanism.truth if r == v else mechanism.lie for r, v in zip(reports, values, strict=True)
        )
        guess = mechanism.estimate([reports.count(c) for c in range(mechanism.categories)])[0]
        mean += chance * guess
        square += chance * guess**2
    assert mean == holders
    assert square - mean**2 == mechanism.variance(holders, 3 - holders)


def test_theorem_RANDOMIZED_RESPONSE_ESTIMATOR_forms_of_the_literature() -> None:
    n = 1000
    assert RandomizedResponse.two_coins().variance(400, 600) / n**2 == Fraction(3, 4) / n
    warner = RandomizedResponse.for_epsilon(Fraction(1, 2))
    e = math.exp(0.5)
    assert float(warner.variance(1, 999)) / n**2 == pytest.approx(e / (n * (e - 1) ** 2), rel=1e-9)


@given(confidence=st.floats(0.5, 0.999999), people=st.integers(1, 12), holders=st.integers(0, 12))
def test_theorem_RANDOMIZED_RESPONSE_ESTIMATOR_interval_by_the_exact_law(
    confidence: float, people: int, holders: int
) -> None:
    """The interval covers by the exact law."""
    holders = min(holders, people)
    mechanism = RandomizedResponse(3, Fraction(7, 10))
    one = [float(mechanism.lie), float(mechanism.truth)]
    chances = [1.0]
    for person in range(people):
        p = one[person < holders]
        chances = [
            a * (1 - p) + b * p for a, b in zip([*chances, 0.0], [0.0, *chances], strict=True)
        ]  # the law of how many reported the category
    within = mechanism.error(people, confidence)
    covered = sum(
        chance
        for c, chance in enumerate(chances)
        if abs(float(mechanism.estimate([c, people - c, 0])[0]) - holders) <= within
    )
    assert covered >= confidence - 1e-12


def test_theorem_RANDOMIZED_RESPONSE_ESTIMATOR_on_many_people() -> None:
    """100,000 people: more than 5.5 standard deviations off would be a 4e-8 event."""
    mechanism = RandomizedResponse.for_epsilon(Fraction(1), 4)
    values = [0] * 70_000 + [1] * 20_000 + [2] * 10_000
    reports = mechanism.release(values, Seeded(9))
    counts = [reports.count(c) for c in range(4)]
    for category, (guess, true) in enumerate(
        zip(mechanism.estimate(counts), (70_000, 20_000, 10_000, 0), strict=True)
    ):
        spread = math.sqrt(mechanism.variance(true, 100_000 - true))
        assert abs(guess - true) <= 5.5 * spread, category
        assert spread < mechanism.error(100_000, 0.9)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: RandomizedResponse(1, Fraction(3, 4)),
        lambda: RandomizedResponse(2, Fraction(1, 2)),
        lambda: RandomizedResponse(2, Fraction(1)),
        lambda: RandomizedResponse(4, Fraction(1, 8)),
        lambda: RandomizedResponse(2, Fraction(2**62, 2**62 + 1)),
        lambda: RandomizedResponse.for_epsilon(Fraction(0)),
        lambda: RandomizedResponse.for_epsilon(Fraction(31)),
        lambda: RandomizedResponse.for_epsilon(Fraction(1), 1),
        lambda: RandomizedResponse.two_coins().release([0, 2], SystemBits()),
        lambda: RandomizedResponse.two_coins().release([-1], SystemBits()),
        lambda: RandomizedResponse.two_coins().estimate([1, 2, 3]),
        lambda: RandomizedResponse.two_coins().error(10, 1.0),
    ],
)
def test_what_makes_no_sense_is_refused(wrong: object) -> None:
    with pytest.raises(InvalidRequest):
        wrong()  # type: ignore[operator]


def test_nobody_reports_nothing() -> None:
    assert RandomizedResponse.two_coins().release([], SystemBits()) == []
