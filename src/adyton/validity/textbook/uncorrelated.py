"""Uniform change-one stability: whose output hardly depends on any one row cannot overfit much."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import product

from adyton.errors import InvalidRequest
from adyton.kernel.exact import Number, rational

Rows = tuple[int, ...]
Score = Callable[[Rows, int], Fraction]


def expected_gap(stability: Number) -> Fraction:
    """|E[score on the rows - score on the population]| of an algorithm with this stability is at most it.

    Claim:    if replacing one row changes the expected score of the output at any point by at most epsilon,
              then E[acc_S(A(S))] and E[acc_P(A(S))] differ by at most epsilon.
    Assumes:  independent, identically distributed rows; scores in [0, 1].
    Source:   Bousquet, Elisseeff 2002.  Theorem: UCO-STABILITY.
    """
    value = rational(stability, "the stability")
    if value < 0:
        raise InvalidRequest(f"a stability must be at least 0, not {stability}")
    return min(Fraction(1), value)


def uco_stability(score: Score, universe: Sequence[int], rows: int) -> Fraction:
    """The stability of an algorithm on a small universe, by trying everything.

    ``score(sample, point)`` is the expected score at ``point`` of what the algorithm makes of ``sample``.
    """
    worst = Fraction(0)
    for sample in product(universe, repeat=rows):
        for i, other in product(range(rows), universe):
            neighbor = (*sample[:i], other, *sample[i + 1 :])
            worst = max(worst, *(abs(score(sample, x) - score(neighbor, x)) for x in universe))
    return worst
