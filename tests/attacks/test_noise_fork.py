"""Forked children never repeat noise (case A25)."""

from __future__ import annotations

import multiprocessing

import numpy as np
import pytest

from adyton.kernel.noise import Bits, SystemBits, rounded_gaussian
from adyton.kernel.noise.refine import Words
from support.tries import often

CHILDREN = often(6, 16)
pytestmark = [
    pytest.mark.skipif(
        "fork" not in multiprocessing.get_all_start_methods(), reason="this system cannot fork"
    ),
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),
]


class Buffered:
    """The mistake: a generator that lives in the process is copied with the process."""

    def __init__(self) -> None:
        self._generator = np.random.Philox()

    def words(self, count: int) -> Words:
        return self._generator.random_raw(count)


def vectors(bits: Bits) -> list[tuple[int, ...]]:
    """Sixteen draws before the fork, by each of the children, and after it."""

    def one() -> tuple[int, ...]:
        return tuple(rounded_gaussian.draw(2.0**20, 16, bits).tolist())

    context = multiprocessing.get_context("fork")
    pipe = context.SimpleQueue()
    before = one()
    children = [context.Process(target=lambda: pipe.put(one())) for _ in range(CHILDREN)]
    for child in children:
        child.start()
    drawn = [pipe.get() for _ in children]
    for child in children:
        child.join()
    return [before, *drawn, one()]


def test_law_no_child_repeats_another() -> None:
    """False alarm: at most 153 pairs of vectors, each equal with probability below 2**-300."""
    drawn = vectors(SystemBits())
    assert len(set(drawn)) == CHILDREN + 2


def test_law_a_generator_kept_in_the_process_would_be_caught() -> None:
    assert len(set(vectors(Buffered()))) == 2


def test_law_system_bits_keep_nothing() -> None:
    assert not hasattr(SystemBits(), "__dict__")
    assert len({*SystemBits().words(1000).tolist()}) == 1000
