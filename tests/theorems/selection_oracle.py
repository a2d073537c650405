"""What the tests of the selection mechanisms share: their laws from first principles, and all neighbors."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import cache

import mpmath
import numpy as np
from scipy.special import chdtrc

from adyton.kernel.privacy import Adjacency

Law = list[mpmath.mpf]
PRECISION = 160
APPROVALS = tuple(itertools.product((0, 1), repeat=3))  # a row approves of any set of three candidates
ROUNDING = 1e-9  # what the comparison of two laws may lose


def exponential(scores: Sequence[int], rate: Fraction) -> Law:
    return list(_exponential(tuple(scores), rate))


@cache
def _exponential(scores: tuple[int, ...], rate: Fraction) -> Law:
    with mpmath.workprec(PRECISION):
        weights = [mpmath.exp(mpmath.mpf(s * rate.numerator) / rate.denominator) for s in scores]
        return [w / mpmath.fsum(weights) for w in weights]


def permute_and_flip(scores: Sequence[int], rate: Fraction) -> Law:
    """Every order, every place in it: all before were refused and this one was taken."""
    return list(_permute_and_flip(tuple(scores), rate))


@cache
def _permute_and_flip(scores: tuple[int, ...], rate: Fraction) -> Law:
    with mpmath.workprec(PRECISION):
        p = [mpmath.exp(-mpmath.mpf((max(scores) - s) * rate.numerator) / rate.denominator) for s in scores]
        law = [mpmath.mpf(0)] * len(p)
        for order in itertools.permutations(range(len(p))):
            refused = mpmath.mpf(1)
            for i in order:
                law[i] += refused * p[i]
                refused *= 1 - p[i]
        return [chance / math.factorial(len(p)) for chance in law]


def noisy_max(scores: Sequence[int], scale: Fraction) -> tuple[Law, float]:
    """Sums over the noise of the winner, and how much of the noise they leave out, at most.

    Chances are whole numbers of 2**-fine, which are multiplied in a tenth of the time of other numbers.  They are as
    fine as the least chance needs: that the last one beats all others.
    """
    reach, apart = int(40 * scale) + 1, max(scores) - min(scores)
    fine = PRECISION + 64 + math.ceil(Fraction(3, 2) * len(scores) * (apart + 2) / scale)
    with mpmath.workprec(fine):
        q = mpmath.exp(-mpmath.mpf(scale.denominator) / scale.numerator)
        farthest = reach + apart + 1
        powers = [q**z / (1 + q) for z in range(farthest + 2)]
        weights = [int(mpmath.ldexp((1 - q) * power, fine)) for power in powers[: reach + 1]]
        below, above = powers[:0:-1], [1 - power for power in powers[1:]]  # noise up to -1, and from 0 on
        upto = [int(mpmath.ldexp(chance, fine)) for chance in (*below, *above)]
        law = []
        for i, score in enumerate(scores):
            # An earlier one wins the tie.
            ahead = [score - other - (j < i) for j, other in enumerate(scores) if j != i]
            chance = 0
            for z in range(-reach, reach + 1):
                factor = weights[abs(z)]
                for gap in ahead:
                    factor = factor * upto[len(below) + gap + z] >> fine
                chance += factor
            law.append(mpmath.ldexp(chance, -fine))
        return law, float(2 * q ** (reach + 1) / (1 + q))


def peeling(scores: Sequence[int], k: int, rate: Fraction) -> dict[tuple[int, ...], mpmath.mpf]:
    """The law of the ordered list of k indices."""
    lists: dict[tuple[int, ...], mpmath.mpf] = {(): mpmath.mpf(1)}
    for _ in range(k):
        longer = {}
        for taken, chance in lists.items():
            left = [i for i in range(len(scores)) if i not in taken]
            law = permute_and_flip([scores[i] for i in left], rate)
            longer |= {(*taken, i): chance * p for i, p in zip(left, law, strict=True)}
        lists = longer
    return lists


def tables(rows: Sequence[object], largest: int) -> Iterator[tuple[object, ...]]:
    for size in range(largest + 1):
        yield from itertools.combinations_with_replacement(rows, size)


def neighboring(
    rows: Sequence[object], largest: int, adjacency: Adjacency
) -> Iterator[tuple[tuple[object, ...], tuple[object, ...]]]:
    """Every table of up to ``largest`` rows with every neighbor of it, both ways round."""
    for rest in tables(rows, largest - 1):
        if adjacency == "replace-one":
            for one, other in itertools.permutations(rows, 2):
                yield (*rest, one), (*rest, other)
        else:
            for row in rows:
                yield rest, (*rest, row)
                yield (*rest, row), rest


def approvals(table: Sequence[object]) -> list[int]:
    return [sum(row[i] for row in table) for i in range(3)]  # type: ignore[index]


def worst_ratio(
    pairs: Iterator[tuple[tuple[object, ...], tuple[object, ...]]],
    law: Callable[[tuple[object, ...]], Sequence[float]],
) -> float:
    """The largest log-ratio of a probability on two neighboring tables; laws are computed once a table."""
    known: dict[tuple[object, ...], np.ndarray] = {}

    def logs(table: tuple[object, ...]) -> np.ndarray:
        table = tuple(sorted(table))  # type: ignore[type-var]
        if table not in known:
            known[table] = np.log([float(p) for p in law(table)])
        return known[table]

    return max(float(np.max(logs(a) - logs(b))) for a, b in pairs)


def fit(observed: Sequence[int], law: Sequence[float]) -> float:
    """P-value of Pearson's chi-square; cells that expect fewer than 10 are taken together."""
    count, expected = np.asarray(observed, float), np.asarray(law, float) * sum(observed)
    small = expected < 10
    if small.any():
        count = np.append(count[~small], count[small].sum())
        expected = np.append(expected[~small], expected[small].sum())
    if expected[-1] < 10 and expected.size > 1:
        count[-2] += count[-1]
        expected[-2] += expected[-1]
        count, expected = count[:-1], expected[:-1]
    terms = (count - expected) ** 2 / expected
    return float(chdtrc(terms.size - 1, terms.sum()))
