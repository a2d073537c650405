"""Guess and check: the failures of all histories sum to at most beta, and every answer is within the tolerance."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adyton.holdout.methods.base import HoldoutSize, State
from adyton.holdout.methods.guess_and_check import (
    GuessAndCheckPlan,
    first_step,
    most_wrong_guesses,
    query_failure,
)
from adyton.kernel.noise import SystemBits
from adyton.lab.adaptivity.holdout_machines import first_state, next_answer
from adyton.validity.textbook.concentration import hoeffding_width
from support.tries import LONG

BITS = SystemBits()


def machine(items: int, tolerance: str = "0.1") -> GuessAndCheckPlan:
    return GuessAndCheckPlan(HoldoutSize(items, 2, Fraction(0), Fraction(1, 20)), Fraction(tolerance))


@pytest.mark.parametrize("depth", [1, 4, 7])
def test_theorem_GUESS_AND_CHECK_the_failures_of_all_histories_sum_to_beta(depth: int) -> None:
    """The whole tree: after each query the guess was confirmed, or one of its cells was answered."""
    made = machine(4000)

    def walk(state: State, level: int, times: int) -> Fraction:
        if level == depth or made.used_up(state) is not None:
            return Fraction(0)
        own = query_failure(made.frame.failure, state["asked"], state["failed"], state["answers"])
        cells = made.cells(state)
        confirmed = {**state, "asked": state["asked"] + 1}
        failed = {**confirmed, "failed": state["failed"] + 1, "answers": state["answers"] * cells}
        return times * own + walk(confirmed, level + 1, times) + walk(failed, level + 1, times * cells)

    total = walk(first_state(made, BITS), 0, 1)
    assert total <= made.frame.failure
    assert total > made.frame.failure / 3


@given(st.integers(0, 8000), st.fractions(0, 1), st.integers(0, 50), st.integers(0, 6))
def test_theorem_GUESS_AND_CHECK_answers_are_tolerable_if_items_stay_near(
    total: int, guess: Fraction, asked: int, failed: int
) -> None:
    """An answer is within the tolerance if the items do not stray."""
    made = machine(4000)
    watch, _ = made.measurement.begin(lambda _: (), BITS)
    state = {"asked": asked + failed, "failed": failed, "answers": 7**failed, "watch": watch}
    if made.used_up(state) is not None:
        return
    values = np.full(4000, total // 4000, dtype=np.uint16)
    values[: total % 4000] += 1
    reply, after = next_answer(made, state, values, guess, BITS)
    share = query_failure(made.frame.failure, asked + failed, failed, 7**failed)
    stray = Fraction(hoeffding_width(4000, share))
    assert abs(reply.value - Fraction(total, 8000)) <= made.tolerance - stray
    assert (reply.said == "confirmed") is (after["failed"] == failed)
    assert reply.said == "answered" or reply.value == guess


def test_theorem_GUESS_AND_CHECK_good_guesses_are_cheap_bad_ones_end_it() -> None:
    made = machine(4000)
    half = np.array([0, 2] * 2000, dtype=np.uint16)
    state = first_state(made, BITS)
    for _ in range(500):
        reply, state = next_answer(made, state, half, Fraction(51, 100), BITS)
        assert (reply.said, reply.value) == ("confirmed", Fraction(51, 100))
    assert made.used_up(state) is None
    answered = 0
    while made.used_up(state) is None:
        reply, state = next_answer(made, state, half, Fraction(1), BITS)
        answered += 1
        assert abs(reply.value - Fraction(1, 2)) <= made.tolerance
    assert 3 <= answered <= 30
    assert made.left(state) == 0


def test_theorem_GUESS_AND_CHECK_goes_on_after_thousands_of_wrong_guesses() -> None:
    """Until the items guarantee no more."""
    made = machine(10**6)
    state, none_right = first_state(made, BITS), np.zeros(1, dtype=np.uint16)
    while made.used_up(state) is None:
        reply, after = next_answer(made, state, none_right, Fraction(1), BITS)
        assert reply.value is not None
        assert abs(reply.value) <= made.tolerance
        state = after
    assert state["answers"] > 10**4300
    assert made.left(state) == 0


def test_theorem_GUESS_AND_CHECK_under_attack() -> None:
    """30 runs: guesses that are always wrong, so that answers are learned, then the vote.  The truth is 1/2."""
    made = machine(2000)
    rng = np.random.default_rng(6)
    for _ in range(30):
        state, votes = first_state(made, BITS), np.zeros(2000)
        while made.used_up(state) is None:
            right = rng.integers(0, 2, 2000, dtype=np.uint16)
            reply, state = next_answer(made, state, 2 * right, Fraction(0), BITS)
            assert abs(float(reply.value) - 0.5) <= 0.1
            votes += (float(reply.value) - 0.5) * (2.0 * right - 1)
            if made.used_up(state) is None:
                reply, state = next_answer(made, state, 2 * (votes > 0).astype(np.uint16), Fraction(0), BITS)
                assert abs(float(reply.value) - 0.5) <= 0.1


# How long it goes on --------------------------------------------------------------------------------------


def answered(made: GuessAndCheckPlan, wrong: Iterable[bool], near: Fraction) -> int:
    """For how many queries the machine answers and would confirm a guess that is only ``near``."""
    state = first_state(made, BITS)
    for count, is_wrong in enumerate(wrong):
        cells = made.cells(state)
        if cells is None or made.tolerance - made._stray(state) < near:
            return count
        state = {**state, "asked": state["asked"] + 1}
        if is_wrong:
            state |= {"failed": state["failed"] + 1, "answers": state["answers"] * cells}
    return count + 1


def orders(queries: int, wrong: int) -> list[list[bool]]:
    """Wrong guesses last, first, evenly spread, and anyhow."""
    last = [i >= queries - wrong for i in range(queries)]
    even = [(i * wrong) // queries != ((i + 1) * wrong) // queries for i in range(queries)]
    shuffled = random.Random(5).sample(last, queries)
    return [last, last[::-1], even, shuffled]


PLANS = [
    (10**5, "0.1", 2000),
    (10**4, "0.1", 500),
    (10**4, "0.2", 30),
    (3000, "0.1", 3),
    (10**6, "0.05", 300),
]


@pytest.mark.parametrize(("items", "tolerance", "queries"), PLANS)
@pytest.mark.parametrize("share", [Fraction(0), Fraction(1, 2), Fraction(9, 10)])
def test_theorem_GUESS_AND_CHECK_goes_on_as_long_as_planned(
    items: int, tolerance: str, queries: int, share: Fraction
) -> None:
    """In any order, of which usually two for each share; and the plan is not much too careful: a few more wrong
    guesses are too many.
    """
    made = machine(items, tolerance)
    near = share * made.tolerance
    wrong = most_wrong_guesses(made.frame, made.tolerance, queries, near)
    if wrong is None:
        assert answered(made, [False] * queries, near) < queries
        return
    for order in orders(queries, wrong) if LONG else orders(queries, wrong)[share > 0 :: 2]:
        assert sum(order) == wrong
        assert answered(made, order, near) == queries
    if wrong < queries:
        more = min(queries, wrong + 3 + wrong // 20)
        assert answered(made, orders(queries, more)[0], near) < queries or more == queries


@settings(deadline=None)
@given(
    st.integers(10, 4000),
    st.fractions(Fraction(1, 50), Fraction(2, 3)),
    st.fractions(0, 1),
    st.integers(1, 7),
    st.sampled_from([Fraction(1, 20), Fraction(1, 1000)]),
)
def test_theorem_GUESS_AND_CHECK_goes_on_in_every_order(
    items: int, tolerance: Fraction, share: Fraction, queries: int, failure: Fraction
) -> None:
    made = GuessAndCheckPlan(HoldoutSize(items, 2, Fraction(0), failure), tolerance)
    near = share * tolerance
    wrong = most_wrong_guesses(made.frame, tolerance, queries, near)
    for order in itertools.product([False, True], repeat=queries):
        if wrong is not None and sum(order) <= wrong:
            assert answered(made, order, near) == queries


def test_theorem_GUESS_AND_CHECK_more_or_nearer_guesses_may_fail_less() -> None:
    """More queries, or a nearer guess, allow fewer wrong ones."""
    frame, tolerance = machine(10**5).frame, Fraction(1, 10)
    by_queries = [
        most_wrong_guesses(frame, tolerance, k, Fraction(1, 20)) for k in (100, 10**3, 10**4, 10**9)
    ]
    assert by_queries == sorted(by_queries, reverse=True)
    assert by_queries[0] > by_queries[-1] > 0
    by_near = [most_wrong_guesses(frame, tolerance, 10**3, Fraction(i, 100)) for i in range(0, 10, 3)]
    assert by_near == sorted(by_near, reverse=True)
    assert most_wrong_guesses(frame, tolerance, 10**3, Fraction(1, 20), enough=7) == 7
    assert most_wrong_guesses(frame, tolerance, 5, Fraction(1, 20)) == 5
    assert most_wrong_guesses(frame, tolerance, 5, Fraction(99, 1000)) is None
    assert most_wrong_guesses(machine(20).frame, tolerance, 1, Fraction(0)) is None


def test_the_first_grid_is_the_one_that_the_machine_uses() -> None:
    made = machine(10**5)
    assert first_step(made.frame, made.tolerance) == 1 / 6
    half = np.array([0, 2] * 50_000, dtype=np.uint16)
    reply, _ = next_answer(made, first_state(made, BITS), half, Fraction(1), BITS)
    assert reply.value in {Fraction(2 * i + 1, 12) for i in range(6)}
    assert first_step(machine(20).frame, Fraction(1, 10)) is None
