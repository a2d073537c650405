"""The second look of both samplers: draws in doubt, many at once, fall where the digits of p say."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import mpmath
import numpy as np
import pytest
from noise_oracle import PRECISION

from adyton.kernel.noise import SystemBits, refine, rounded_gaussian, two_sided_geometric
from adyton.kernel.noise.refine import Words
from support.randomness import Seeded

Make = Callable[[float], refine.Law]
GAUSSIAN: Make = rounded_gaussian._RoundedGaussian
GEOMETRIC: Make = two_sided_geometric._TwoSidedGeometric


@cache
def tail(make: Make, scale: float, m: int) -> mpmath.mpf:
    """P(Z >= m), by the definition of the law."""
    with mpmath.workprec(PRECISION):
        if make is GAUSSIAN:
            return mpmath.erfc((mpmath.mpf(m) - 0.5) / (mpmath.mpf(scale) * mpmath.sqrt(2))) / 2
        return mpmath.exp(-m / mpmath.mpf(scale)) / (1 + mpmath.exp(-1 / mpmath.mpf(scale)))


def misplaced_and_open(make: Make, scale: float) -> tuple[int, int, int]:
    """Among numbers of 128 digits close to boundaries: wrong ones, those still in doubt, and all."""
    digits, wanted = [], []
    for multiple in (1e-9, 0.013, 0.2, 0.7, 1.1, 1.9, 2.7, 4.4, 5.6, 7.3, 8.2):
        m = max(1, round(scale * multiple))
        with mpmath.workprec(PRECISION):
            boundary = int(mpmath.floor(mpmath.ldexp(tail(make, scale, m), 128)))
        for i in range(100):
            for step in (-(2**i), 2**i):
                if 2**66 < boundary + step < 2**127:
                    digits.append(boundary + step)
                    wanted.append(m if step <= 0 else None)
    prefixes = np.array([d >> 64 for d in digits], np.int64)
    more = np.array([d & (2**64 - 1) for d in digits], np.uint64)
    found, doubtful = refine.finer_magnitudes(make(scale), prefixes, more)
    wrong = 0
    for z, open_still, d, m in zip(found.tolist(), doubtful.tolist(), digits, wanted, strict=True):
        with mpmath.workprec(PRECISION):
            p = mpmath.ldexp(mpmath.mpf(2 * d + 1), -129)
        placed = p < tail(make, scale, z) or z == 0
        wrong += not open_still and not (placed and p > tail(make, scale, z + 1) and (m is None or z >= m))
    return wrong, int(doubtful.sum()), len(digits)


@pytest.mark.parametrize("sigma", [17.5, 1e6, 2.0**30, 2.0**45, 2.0**56])
def test_theorem_ROUNDED_GAUSSIAN_SAMPLER_a_second_look_misplaces_nothing(sigma: float) -> None:
    """Mutants: the step of Newton's method left out, or doubled; one float for each coefficient; no margin."""
    wrong, still_open, numbers = misplaced_and_open(GAUSSIAN, sigma)
    assert wrong == 0
    assert 0 < still_open < 0.9 * numbers


@pytest.mark.parametrize("scale", [17.5, 1e6, 2.0**30, 2.0**50])
def test_theorem_TWO_SIDED_GEOMETRIC_SAMPLER_a_second_look_misplaces_none(scale: float) -> None:
    """The second look misplaces nothing."""
    wrong, still_open, numbers = misplaced_and_open(GEOMETRIC, scale)
    assert wrong == 0
    assert 0 < still_open < 0.9 * numbers


class Recorded:
    """Hands out seeded words and keeps them."""

    def __init__(self) -> None:
        self.calls: list[Words] = []
        self._source = Seeded(12)

    def words(self, count: int) -> Words:
        self.calls.append(self._source.words(count))
        return self.calls[-1]


@pytest.mark.parametrize(
    ("sampler", "make", "scale"),
    [(rounded_gaussian, GAUSSIAN, 2.0**47), (two_sided_geometric, GEOMETRIC, 2.0**49)],
    ids=["ROUNDED-GAUSSIAN", "TWO-SIDED-GEOMETRIC"],
)
def test_theorem_ROUNDED_GAUSSIAN_SAMPLER_many_draws_are_as_their_digits(
    sampler: Any, make: Make, scale: float
) -> None:
    """From this scale on every draw is in doubt: each gets 64 more digits, in its turn, and one magnitude."""
    bits = Recorded()
    drawn = sampler.draw(scale, 60, bits)
    first, more = bits.calls
    assert len(first) == len(more) == 60
    for z, word, next_word in zip(drawn.tolist(), first.tolist(), more.tolist(), strict=True):
        magnitude = refine.refine(make(scale), (word >> 1) << 64 | next_word, 128, lambda: 0)
        assert z == (-magnitude if word & 1 else magnitude)


def test_a_million_draws_of_the_largest_scale_are_not_refined_one_by_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Counted, not timed: one by one each takes a millisecond.  Mutant: no second look."""
    refined = []
    plain = refine.refine
    monkeypatch.setattr(refine, "refine", lambda *words: refined.append(1) or plain(*words))
    for sampler, scale in ((rounded_gaussian, 2.0**56), (two_sided_geometric, 2.0**50)):
        sampler.draw(scale, 2**17, SystemBits())
    assert len(refined) <= 20  # fewer than 2**-29 of the draws are expected to need it
