"""SparseValidate: queries counted one by one, and a guarantee for every yes."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from adyton.errors import InvalidRequest
from adyton.holdout.methods.base import HoldoutSize
from adyton.holdout.methods.sparse_validate import (
    SparseValidatePlan,
    plan_sparse_validate,
    validate_nodes,
    validate_width,
)
from adyton.kernel.noise import SystemBits
from adyton.lab.adaptivity.holdout_machines import first_state, next_answer

BITS = SystemBits()
FRAME = HoldoutSize(1000, 2, Fraction(0), Fraction(1, 20))


@pytest.mark.parametrize(("queries", "rejections"), [(1, 1), (4, 1), (5, 2), (6, 3), (4, 9)])
def test_theorem_SPARSE_VALIDATE_all_queries_are_counted(queries: int, rejections: int) -> None:
    """The histories after which one more query is answered, by trying all sequences of yes and no."""
    machine = SparseValidatePlan(HoldoutSize(2, 2, Fraction(0), Fraction(1, 20)), queries, rejections, 0)
    reached = set()
    for answers in product((True, False), repeat=queries):
        state = first_state(machine, BITS)
        for i, yes in enumerate(answers):
            if machine.used_up(state) is not None:
                break
            reached.add(answers[:i])
            values = np.array([2, 0], dtype=np.uint16)
            reply, state = next_answer(machine, state, values, Fraction(1, 2) if yes else Fraction(0), BITS)
            assert reply.said == ("yes" if yes else "no")
    assert len(reached) == validate_nodes(queries, rejections)
    published = sum(math.comb(i, j) for i in range(1, queries + 1) for j in range(min(i - 1, rejections) + 1))
    assert len(reached) <= published


def test_theorem_SPARSE_VALIDATE_width() -> None:
    made = plan_sparse_validate(FRAME, Fraction("0.15"), 50, 3)
    nodes = 50 + 50 * 49 / 2 + 50 * 49 * 48 / 6
    stray = math.sqrt(math.log(2 * nodes / 0.05) / 2000)
    assert validate_width(FRAME, 50, 3) == pytest.approx(stray, rel=1e-9)
    assert made.accept == pytest.approx((0.15 - stray) * 2000, abs=2)
    assert 0.149 < made.half_width() <= 0.15
    with pytest.raises(InvalidRequest, match="may be off"):
        plan_sparse_validate(FRAME, Fraction("0.05"), 50, 3)


def test_theorem_SPARSE_VALIDATE_a_yes_is_right_also_about_a_boosted_model() -> None:
    """60 runs: yes and no choose the models that vote; then the analyst looks for the largest yes.  Truth: 1/2."""
    made = plan_sparse_validate(FRAME, Fraction("0.2"), 60, 30)
    rng = np.random.default_rng(4)
    for _ in range(60):
        state, kept = first_state(made, BITS), []
        for _ in range(40):
            right = rng.integers(0, 2, 1000, dtype=np.uint16)
            guess = Fraction(1, 2) + Fraction(made.accept, 2000)  # yes: at least one half
            if made.used_up(state) is not None:
                break
            reply, state = next_answer(made, state, 2 * right, guess, BITS)
            kept += [right] if reply.said == "yes" else []
        vote = (np.mean(kept, axis=0) + rng.uniform(-0.01, 0.01, 1000) > 0.5).astype(np.uint16)
        for hundredths in range(99, 50, -1):
            if made.used_up(state) is not None:
                break
            reply, state = next_answer(made, state, 2 * vote, Fraction(hundredths, 100), BITS)
            if reply.said == "yes":
                assert abs(hundredths / 100 - 0.5) <= made.half_width()
                break


def test_after_the_last_no_nothing_is_answered() -> None:
    machine = SparseValidatePlan(FRAME, 9, 2, 10)
    state, nothing = first_state(machine, BITS), np.zeros(1000, dtype=np.uint16)
    for left in (1, 0):
        reply, state = next_answer(machine, state, nothing, Fraction(1), BITS)
        assert (reply.said, reply.value, reply.half_width, machine.left(state)) == ("no", None, None, left)
    assert "rejections" in str(machine.used_up(state))
    assert "queries" in str(machine.used_up({"asked": 9, "left": 1}))
