"""The Ladder: transcripts counted one by one, its rounding, and its guarantee under attack."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adyton.errors import InvalidRequest
from adyton.holdout import FreeLadder, Holdout
from adyton.holdout.methods.base import HoldoutSize
from adyton.holdout.methods.ladder import (
    FreeLadderPlan,
    LadderPlan,
    ladder_nodes,
    ladder_width,
    plan_ladder,
    value_of,
)
from adyton.kernel.noise import SystemBits
from adyton.lab.adaptivity.holdout_machines import first_state, next_answer
from literature.thresholdout import published_ladder_width

BITS = SystemBits()


def frame(items: int, greater: bool = False) -> HoldoutSize:
    return HoldoutSize(items, 2, Fraction(0), Fraction(1, 20), greater)


def spread(total: int, items: int) -> np.ndarray:
    """0, 1 or 2 steps for each item, ``total`` in all."""
    made = np.full(items, total // items, dtype=np.uint16)
    made[: total % items] += 1
    return made


@pytest.mark.parametrize(("items", "rung", "scores"), [(2, 1, 3), (3, 2, 4), (4, 3, 4), (2, 3, 5), (5, 4, 3)])
def test_theorem_LADDER_all_transcripts_are_counted(items: int, rung: int, scores: int) -> None:
    """Every sequence of losses is tried; the submissions that an analyst can make are the nodes of the tree."""
    machine = LadderPlan(frame(items), scores, rung)
    nodes = {(): first_state(machine, BITS)}
    total = 0
    for _ in range(scores):
        total += len(nodes)
        following = {}
        for shown, state in nodes.items():
            for loss in range(2 * items + 1):
                reply, after = next_answer(machine, state, spread(loss, items), None, BITS)
                following[(*shown, reply.value)] = after
        nodes = following
    rungs = math.ceil(2 * items / rung)
    assert total <= ladder_nodes(scores, rungs)
    assert total >= ladder_nodes(scores, rungs) / 4 or rung == 1  # the count is not idle
    assert ladder_nodes(scores, rungs) == sum(
        math.comb(scores - 1, j) * math.comb(rungs + 1, j) for j in range(scores)
    )


@given(st.lists(st.integers(0, 60), min_size=1, max_size=12), st.integers(1, 25), st.booleans())
def test_theorem_LADDER_shows_the_best_to_within_a_rung(losses: list[int], rung: int, greater: bool) -> None:
    machine = LadderPlan(frame(30, greater), 12, rung)
    state, shown = first_state(machine, BITS), []
    for i, loss in enumerate(losses):
        reply, state = next_answer(machine, state, spread(60 - loss if greater else loss, 30), None, BITS)
        best = value_of(machine.frame, min(losses[: i + 1]))
        assert abs(reply.value - best) <= Fraction(rung, 60)
        shown.append(reply.value)
        assert (reply.said == "improved") is (i == 0 or shown[-1] != shown[-2])
    assert shown == sorted(shown, reverse=not greater)


def test_theorem_LADDER_width_and_the_published_one() -> None:
    made = plan_ladder(frame(4000), 400)
    rung = made.rung / 8000
    by_hand = math.log(2 * math.comb(400 + math.ceil(1 / rung), 399) / 0.05)
    assert made.half_width() == pytest.approx(math.sqrt(by_hand / 8000) + rung, rel=1e-9)
    assert made.half_width() < published_ladder_width(4000, 400, rung, 0.05)
    published = published_ladder_width(4000, 400, 0.05, 0.05)
    log = -2 * (published - 0.05) ** 2 * 4000 + (1 / 0.05 + 2) * math.log(4 * 400 / 0.05) + 1
    assert math.exp(log) == pytest.approx(0.05)
    best = min(ladder_width(frame(4000), 400, r) for r in range(20, 2000, 7))
    assert made.half_width() <= best * 1.001


def test_theorem_LADDER_holds_against_boosting() -> None:
    """40 runs, 100 random classifiers each and then the vote of those that improved; the truth is 1/2."""
    n, k = 1000, 100
    made = plan_ladder(frame(n), k)
    rng = np.random.default_rng(2)
    for _ in range(40):
        state, kept, last = first_state(made, BITS), [], None
        for _ in range(k - 1):
            wrong = rng.integers(0, 2, n, dtype=np.uint16)
            reply, state = next_answer(made, state, 2 * wrong, None, BITS)
            if reply.said == "improved":
                kept.append(wrong)
        vote = (np.mean(kept, axis=0) + rng.uniform(-0.01, 0.01, n) > 0.5).astype(np.uint16)  # ties: a coin
        last, state = next_answer(made, state, 2 * vote, None, BITS)
        assert abs(float(last.value) - 0.5) <= made.half_width()
    assert made.used_up(state) is not None


def test_the_free_ladder_has_no_interval_and_needs_a_standard_error() -> None:
    free = FreeLadderPlan(frame(100), 3)
    half = np.array([0, 2] * 50, dtype=np.uint16)
    reply, state = next_answer(free, first_state(free, BITS), half, None, BITS)
    assert (reply.value, reply.half_width, reply.said) == (Fraction(1, 2), None, "improved")
    slightly = half.copy()
    slightly[1] = 0  # one item better: its standard error is one item
    reply, state = next_answer(free, state, slightly, None, BITS)
    assert (reply.value, reply.said) == (Fraction(1, 2), "no improvement")
    much = half.copy()
    much[1:41] = 0
    reply, state = next_answer(free, state, much, None, BITS)
    assert (reply.value, reply.said) == (Fraction(3, 10), "improved")
    assert free.theorems == ()
    assert free.used_up(state) is not None


def test_a_free_ladder_knows_the_best_again_when_it_is_opened(tmp_path: Path) -> None:
    """Predictions are in its notes, and what they are worth is read again; mutant: the first of all as the best."""
    labels = np.arange(900) % 3
    row = np.arange(900)
    first, better = (np.where(row < wrong, 9, labels) for wrong in (600, 200))
    hardly = np.where((row >= 600) & (row < 795), 9, labels)  # five better than the best, and 395 differ
    seen = []
    for reopened in (False, True):
        file = tmp_path / f"{reopened}.toml"
        holdout = Holdout.create(file, labels=labels, scores=4, method=FreeLadder())
        said = []
        for guess in (first, better, hardly, labels):
            if reopened:
                holdout.close()
                holdout = Holdout.open(file)
            score = holdout.score(guess)
            said.append((score.said, score.value))
        head = holdout.verify().receipts
        holdout.close()
        seen.append((said, head))
    assert seen[0] == seen[1]
    assert [words for words, _ in seen[0][0]] == ["improved", "improved", "no improvement", "improved"]


def test_rounding_is_to_the_nearest_rung() -> None:
    made = LadderPlan(frame(9), 1, 4)
    grid = made.question(made.start(), None)
    assert [4 * grid.of(x) for x in range(9)] == [0, 0, 4, 4, 4, 4, 8, 8, 8]
    with pytest.raises(InvalidRequest, match="certified within"):
        plan_ladder(frame(1000), 100, Fraction("0.01"))
    with pytest.raises(InvalidRequest):
        LadderPlan(frame(10), 1, 0)
