"""Guess and check: the failures of all histories sum to at most beta, and every answer is within the tolerance."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adyton.holdout.guess_and_check import GuessAndCheck, question_failure
from adyton.holdout.methods import Frame, State
from adyton.noise import SystemBits
from adyton.validity.concentration import hoeffding_width

BITS = SystemBits()


def machine(items: int, tolerance: str = "0.1") -> GuessAndCheck:
    return GuessAndCheck(Frame(items, 2, Fraction(0), Fraction(1, 20)), Fraction(tolerance))


@pytest.mark.parametrize("depth", [1, 4, 7])
def test_theorem_GUESS_AND_CHECK_the_failures_of_all_histories_sum_to_beta(depth: int) -> None:
    """The whole tree: after each question the guess was confirmed, or one of its cells was answered."""
    made = machine(4000)

    def walk(state: State, level: int, times: int) -> Fraction:
        if level == depth or made.refusal(state) is not None:
            return Fraction(0)
        own = question_failure(made.frame.failure, state["asked"], state["failed"], int(state["answers"]))
        cells = made._cells(state)
        confirmed = {**state, "asked": state["asked"] + 1}
        failed = {**confirmed, "failed": state["failed"] + 1, "answers": str(int(state["answers"]) * cells)}
        return times * own + walk(confirmed, level + 1, times) + walk(failed, level + 1, times * cells)

    total = walk(made.start(BITS), 0, 1)
    assert total <= made.frame.failure
    assert total > made.frame.failure / 3


@given(st.integers(0, 8000), st.fractions(0, 1), st.integers(0, 50), st.integers(0, 6))
def test_theorem_GUESS_AND_CHECK_an_answer_is_within_the_tolerance_if_the_items_do_not_stray(
    total: int, guess: Fraction, asked: int, failed: int
) -> None:
    made = machine(4000)
    state = {"asked": asked + failed, "failed": failed, "answers": str(7**failed)}
    if made.refusal(state) is not None:
        return
    values = np.full(4000, total // 4000, dtype=np.uint16)
    values[: total % 4000] += 1
    reply, after = made.step(state, values, guess, BITS)
    share = question_failure(made.frame.failure, asked + failed, failed, 7**failed)
    stray = Fraction(hoeffding_width(4000, share))
    assert abs(reply.value - Fraction(total, 8000)) <= made.tolerance - stray
    assert (reply.said == "confirmed") is (after["failed"] == failed)
    assert reply.said == "answered" or reply.value == guess


def test_theorem_GUESS_AND_CHECK_good_guesses_are_cheap_and_bad_ones_end_it() -> None:
    made = machine(4000)
    half = np.array([0, 2] * 2000, dtype=np.uint16)
    state = made.start(BITS)
    for _ in range(500):
        reply, state = made.step(state, half, Fraction(51, 100), BITS)
        assert (reply.said, reply.value) == ("confirmed", Fraction(51, 100))
    assert made.refusal(state) is None
    answered = 0
    while made.refusal(state) is None:
        reply, state = made.step(state, half, Fraction(1), BITS)
        answered += 1
        assert abs(reply.value - Fraction(1, 2)) <= made.tolerance
    assert 3 <= answered <= 30
    assert made.left(state) == 0


def test_theorem_GUESS_AND_CHECK_under_attack() -> None:
    """30 runs: guesses that are always wrong, so that answers are learned, then the vote.  The truth is 1/2."""
    made = machine(2000)
    dice = np.random.default_rng(6)
    for _ in range(30):
        state, votes = made.start(BITS), np.zeros(2000)
        while made.refusal(state) is None:
            right = dice.integers(0, 2, 2000, dtype=np.uint16)
            reply, state = made.step(state, 2 * right, Fraction(0), BITS)
            assert abs(float(reply.value) - 0.5) <= 0.1
            votes += (float(reply.value) - 0.5) * (2.0 * right - 1)
            if made.refusal(state) is None:
                reply, state = made.step(state, 2 * (votes > 0).astype(np.uint16), Fraction(0), BITS)
                assert abs(float(reply.value) - 0.5) <= 0.1
