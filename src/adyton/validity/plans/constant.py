"""Plans in which all answers get the same noise: how many queries stay within a tolerance.

What earlier answers cost only grows, so queries are counted in blocks, each judged at its last query.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from adyton.arithmetic.search import minimise, reaching
from adyton.kernel.exact import float_down
from adyton.kernel.exact.cells import Floats
from adyton.kernel.exact.outward import SAFE, UNIT_ROUNDOFF
from adyton.validity.plans.expected import ANYTHING, Expected
from adyton.validity.plans.misses import costs_of, track
from adyton.validity.plans.noise_plan import MOST, NoisePlan
from adyton.validity.subset.tails import MARGIN

_COARSE, _FINE = 200, 6000  # blocks, to search with and to certify with
_STEPS, _FEW_STEPS = 22, 10  # golden sections: a ten-thousandth of the noise, or of what is left of it
STEEP = 30.0  # misses fall about like this power of the tolerance


def constant_queries(
    rows: int, tolerance: Fraction, failure: Fraction, expected: Expected = ANYTHING
) -> NoisePlan:
    """The most queries that noise of one scale certifies, about.

    Claim:    with probability 1 - failure every answer to a query as ``expected`` is within ``tolerance``
              of the population, for all queries at once, each chosen in the light of the answers before it.
    Assumes:  rows are independent draws; values in [0, 1]; nothing else was released about the rows; the
              noise is normal, of the planned scale; where queries are expected to be ``alike``, all are.
    Source:   derived here.  Theorem: PLANNED-EXPECTATION.
    """
    within, allowed = float_down(tolerance), float_down(failure)

    def lost(scale: float) -> float:
        return -_Blocks(rows, within, scale, allowed, expected, _COARSE).room()

    largest = summed(within, expected) / expected.noise
    scale = minimise(lost, largest / 60, largest, _STEPS)
    return NoisePlan.constant(within, _certified(rows, within, scale, allowed, expected), scale)


def constant_width(
    rows: int, queries: int, failure: Fraction, expected: Expected = ANYTHING
) -> NoisePlan | None:
    """The least tolerance, about, of that many queries; None if it is 1 or more.  Claim as above."""
    guess = first_tolerance(rows, queries, expected)
    found = _solved(queries, failure, expected, (guess, 1.0, STEEP), lambda x: (rows, x))
    return None if found is None else NoisePlan.constant(found[0], queries, found[1])


def constant_rows(
    queries: int, tolerance: Fraction, failure: Fraction, expected: Expected = ANYTHING
) -> tuple[int, NoisePlan] | None:
    """The fewest rows, about, with which that many queries stay within it; None if 10**15 are too few."""
    within = float_down(tolerance)
    guess = first_rows(queries, within, expected)
    found = _solved(
        queries, failure, expected, (guess, MOST + 1.0, STEEP / 2), lambda x: (math.ceil(x), within)
    )
    return None if found is None else (math.ceil(found[0]), NoisePlan.constant(within, queries, found[1]))


def _solved(
    queries: int,
    failure: Fraction,
    expected: Expected,
    search: tuple[float, float, float],
    at: Callable[[float], tuple[int, float]],
) -> tuple[float, float] | None:
    """The least x whose rows and tolerance hold, and the scale: ``search`` is a guess, a limit and a power.

    The best noise is a nearly constant part of the tolerance: it is looked for at the last x, three times.
    """
    x, limit, power = search
    allowed, part = float_down(failure), summed(1.0, expected) / expected.noise
    ratio = 0.6 / math.sqrt(2 * math.log(2 * queries / allowed))

    def blocks(x: float, ratio: float, fineness: int) -> _Blocks:
        rows, within = at(x)
        return _Blocks(rows, within, ratio * within * part, allowed, expected, fineness, queries)

    for around, fineness, exact in ((1.0, _COARSE, 0.02), (8.0, _COARSE, 1e-3), (1.5, _FINE, 1e-6)):
        here = x
        if around > 1:
            ratio = minimise(
                lambda ratio: blocks(here, ratio, _COARSE).missed(queries),  # noqa: B023 (called at once)
                ratio / around,
                min(ratio * around, 1.0),
                _FEW_STEPS,
            )

        def held(x: float, ratio: float = ratio, fineness: int = fineness) -> float:
            made = blocks(x, ratio, fineness)
            return made.allowed / max(made.missed(queries), 1e-12)

        found = reaching(held, 1.0, x, limit, power, exact)
        if found is None:
            return None
        x = found
    return x, ratio * at(x)[1] * part


def first_tolerance(rows: int, queries: int, expected: Expected) -> float:
    """One that is about right if nothing is expected."""
    guess = math.sqrt(math.sqrt(queries) / rows) * 1.8 + 1.5 / math.sqrt(rows)
    return min(guess / summed(1.0, expected), 0.5)


def first_rows(queries: int, within: float, expected: Expected) -> float:
    """The same for rows."""
    return min(max((3.2 * math.sqrt(queries) + 3) / summed(within, expected) ** 2, 2.0), float(MOST))


def _certified(rows: int, within: float, scale: float, allowed: float, expected: Expected) -> int:
    blocks = _Blocks(rows, within, scale, allowed, expected, _FINE)
    if expected.variance is None:
        return blocks.fitting()
    most = blocks.fitting() + 1  # more than fit, because costs were taken at the level of one query
    return min(most, _Blocks(rows, within, scale, allowed, expected, _FINE, most).fitting())


class _Blocks:
    """The queries of a plan in blocks: up to which number each block goes, and how often one of it misses.

    ``most``: for how many queries what they cost is bounded, where they are expected to cost little.
    """

    def __init__(
        self,
        rows: int,
        within: float,
        scale: float,
        failure: float,
        expected: Expected,
        blocks: int,
        most: int = 1,
    ) -> None:
        costs, apart = costs_of(rows, expected, failure, most)
        noise, self.allowed = scale * expected.noise, (failure - apart) / SAFE
        spent, log_miss = track(rows, summed(within, expected), noise, expected, blocks)
        paid = np.cumsum(np.diff(spent, prepend=0.0) / costs.at(spent)) * (2 * rows * noise**2) * (1 - MARGIN)
        self._taken: Floats = np.minimum(paid + 1, 2.0**52)
        self._misses: Floats = np.exp(np.minimum(log_miss, 0.0)) * SAFE

    def fitting(self) -> int:
        """How many queries miss with at most the chance that is allowed, all together."""
        return math.floor(self._fitting(np.floor(self._taken)))

    def room(self) -> float:
        """About the same, without steps: to be searched, not to be guaranteed."""
        return self._fitting(self._taken)

    def _fitting(self, ends: Floats) -> float:
        counts = np.diff(ends, prepend=0.0)
        total = np.cumsum(counts * self._misses)
        full = int(np.searchsorted(total, self.allowed, side="right"))
        done, used = (float(ends[full - 1]), float(total[full - 1])) if full else (0.0, 0.0)
        if full == len(ends):
            return done
        return done + min(float(counts[full]), (self.allowed - used) / float(self._misses[full]))

    def missed(self, queries: int) -> float:
        """The chance that one of the first ``queries`` misses, rounded up; 1 each beyond the last block."""
        ends = np.minimum(np.floor(self._taken), queries)
        inside = float(np.sum(np.diff(ends, prepend=0.0) * self._misses)) * SAFE
        return inside + (queries - (float(ends[-1]) if ends.size else 0.0))


def summed(tolerance: float, expected: Expected) -> float:
    """The tolerance of a mean over a group, for the sum over all rows, rounded down."""
    if expected.group is None:
        return tolerance
    return tolerance * float_down(expected.group) * (1 - 9 * UNIT_ROUNDOFF)
