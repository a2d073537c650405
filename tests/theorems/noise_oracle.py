"""What the tests of the two samplers share: sources of bits, the oracle's digits, and a test of fit."""

from __future__ import annotations

from collections.abc import Callable

import mpmath
import numpy as np
import numpy.typing as npt
from scipy.special import chdtrc

from adyton.kernel.noise import refine
from adyton.kernel.noise.refine import Law, Words
from support.tries import LONG

PRECISION = 600  # bits; far more than a sampler is ever asked for here


class Script:
    """Exactly these words, in this order; ``left`` says how many were not asked for."""

    def __init__(self, *words: int) -> None:
        self._words = list(words)

    @property
    def left(self) -> int:
        return len(self._words)

    def words(self, count: int) -> Words:
        given, self._words = self._words[:count], self._words[count:]
        assert len(given) == count, "more bits were read than the query needs"
        return np.array(given, dtype=np.uint64)


def digits(tail: mpmath.mpf, words: int) -> list[int]:
    """The binary digits of a probability, 64 at a time."""
    with mpmath.workprec(PRECISION):
        whole = int(mpmath.floor(mpmath.ldexp(tail, 64 * words)))
    return [whole >> 64 * (words - 1 - i) & (2**64 - 1) for i in range(words)]


def boundary_words(tail: mpmath.mpf) -> tuple[Words, npt.NDArray[np.bool_]]:
    """Words around the one that straddles ``tail``, and whether their p lies below it.  All are positive."""
    middle = digits(tail, 1)[0]
    beside = (0, 1, 3, 11) if LONG else (0, 3)
    steps = sorted({s * (2**i + j) for i in range(40) for j in beside for s in (-1, 1)})
    prefixes = [middle + s for s in steps if 0 < middle + s < 2**63]
    return np.array(prefixes, dtype=np.uint64) << np.uint64(1), np.array(prefixes, dtype=np.uint64) < middle


def misplaced(law: Law, tail: Callable[[int], mpmath.mpf], m: int) -> int:
    """How many words next to the boundary between m - 1 and m get a magnitude on the wrong side of it."""
    words, inside = boundary_words(tail(m))
    got = refine.draw(law, words.size, Script(*map(int, words), *([0] * words.size)))
    return int(np.count_nonzero((got >= m) != inside))


def fit(drawn: npt.NDArray[np.int64], pmf: Callable[[int], float]) -> float:
    """P-value of Pearson's chi-square: the integers in about 200 groups, and everything beyond as one."""
    reach = int(np.quantile(np.abs(drawn), 0.999)) + 1
    width = reach // 100 + 1
    beyond = 2 * reach // width + 1
    cells = np.where(np.abs(drawn) <= reach, (drawn + reach) // width, beyond)
    observed = np.bincount(cells, minlength=beyond + 1).astype(float)
    expected = np.zeros(beyond + 1)
    for z in range(-reach, reach + 1):
        expected[(z + reach) // width] += pmf(z) * drawn.size
    expected[beyond] = drawn.size - expected.sum()
    small = expected < 10  # too few for the chi-square law: they join the largest group
    for counts in (observed, expected):
        counts[beyond // 2] += counts[small].sum()
    terms = (observed - expected)[~small] ** 2 / expected[~small]
    return float(chdtrc(terms.size - 1, terms.sum()))
