"""The rounding estimator: errors on all small means, and all transcripts of adaptive analysts."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adyton.errors import InvalidRequest
from adyton.textbook.rounding import RoundedMeans

fractions_of_one = st.fractions(0, 1, max_denominator=10**6)


@given(levels=st.integers(1, 1000), mean=fractions_of_one)
def test_theorem_ROUNDING_ESTIMATOR_error(levels: int, mean: Fraction) -> None:
    estimator = RoundedMeans(levels)
    (answer,) = estimator.release([mean])
    assert abs(answer - mean) <= estimator.error


@given(error=st.fractions(Fraction(1, 10**4), Fraction(1, 2)))
def test_theorem_ROUNDING_ESTIMATOR_fewest_levels(error: Fraction) -> None:
    levels = RoundedMeans.within(error).levels
    assert RoundedMeans(levels).error <= error
    assert levels == 1 or RoundedMeans(levels - 1).error > error


def test_theorem_ROUNDING_ESTIMATOR_every_level_is_used_and_no_other() -> None:
    for levels in range(1, 12):
        means = [Fraction(i, 60) for i in range(61)]
        assert len(set(RoundedMeans(levels).release(means))) == levels


def transcripts(estimator: RoundedMeans, ask: Callable[[tuple[Fraction, ...]], Callable[[int], int]]) -> int:
    """How many different answers an adaptive analyst can see, over all tables of three rows from 0..7."""
    seen = set()
    for rows in product(range(8), repeat=3):
        answers: tuple[Fraction, ...] = ()
        for _ in range(3):
            statistic = ask(answers)
            mean = Fraction(sum(statistic(row) for row in rows), 3)
            answers = (*answers, *estimator.release([mean]))
        seen.add(answers)
    return len(seen)


@pytest.mark.parametrize("levels", [1, 2, 3])
def test_theorem_ROUNDING_ESTIMATOR_transcripts_of_every_analyst(levels: int) -> None:
    """Analysts who ask for one bit of the row, chosen by any rule that sees the answers so far."""
    estimator = RoundedMeans(levels)
    for rule in product(range(3), repeat=3):  # which bit after a total of answers below 1/3, 2/3, above

        def ask(answers: tuple[Fraction, ...], rule: tuple[int, ...] = rule) -> Callable[[int], int]:
            place = min(int(3 * sum(answers, Fraction(0)) / max(1, len(answers))), 2)
            return lambda row: row >> (rule[place] + len(answers)) % 3 & 1

        assert transcripts(estimator, ask) <= estimator.transcripts(3)
    assert 2 ** estimator.bits(3) >= estimator.transcripts(3) == levels**3


def test_theorem_ROUNDING_ESTIMATOR_cost_of_a_long_session() -> None:
    estimator = RoundedMeans.within("0.01")
    assert estimator.levels == 50
    assert estimator.bits(400) == pytest.approx(400 * math.log2(50), rel=1e-12)
    assert estimator.bits(400) >= 400 * math.log2(50)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: RoundedMeans(0),
        lambda: RoundedMeans.within(0),
        lambda: RoundedMeans.within("0.6"),
        lambda: RoundedMeans(3).release([Fraction(4, 3)]),
    ],
)
def test_what_makes_no_sense_is_refused(wrong: Callable[[], object]) -> None:
    with pytest.raises(InvalidRequest):
        wrong()
