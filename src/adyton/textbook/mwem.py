"""Multiplicative weights and the exponential mechanism: a synthetic histogram for a known workload.

Each round picks, privately, a query that the guess answers badly, measures it with noise, and corrects the
guess.  What comes out is a distribution over the cells from which any query can be answered.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, NamedTuple, Protocol

import numpy as np

from adyton.errors import InvalidRequest
from adyton.kernel.exact import each_of, float_up
from adyton.kernel.exact.cells import Floats
from adyton.kernel.exact.outward import SEVERAL
from adyton.kernel.noise import Bits, two_sided_geometric
from adyton.kernel.noise.refine import Integers, check_scale
from adyton.kernel.privacy import Cost, PureCost
from adyton.kernel.special.mechanisms.composed_cost import ComposedCost
from adyton.kernel.special.mechanisms.selection.permute_and_flip import PermuteAndFlip
from adyton.kernel.special.mechanisms.selection.scores import Scores, ScoreSensitivity
from adyton.monitors.pmw.guess import CellDistribution
from adyton.noise_intervals.selections import shortfall_of
from adyton.planning.coordinated.linear_query import LinearQuery
from adyton.planning.coordinated.range_workload import LinearQueries

MOST_ROUNDS = 10**5
_LARGEST_COUNT = 2**61  # counts are cut off here; a cut never moves two numbers apart


class IndexSelection(Protocol):
    """Chooses an index by whole scores: permute-and-flip, the exponential mechanism, report noisy max."""

    @property
    def sensitivity(self) -> ScoreSensitivity: ...

    def cost(self) -> Cost: ...

    def release(self, scores: Scores, bits: Bits) -> int: ...


class MwemRound(NamedTuple):
    """What one round released."""

    query: LinearQuery
    gap: float  # measured mean less guessed mean, before the correction


@dataclass(frozen=True, slots=True, eq=False)
class Synthetic:
    """Two distributions over the cells: the average guess, which has a bound, and the last, often better."""

    average: Floats
    last: Floats
    measurements: tuple[MwemRound, ...]

    def answers(self, workload: LinearQueries) -> Floats:
        """Mean values of the queries, by the average guess."""
        means: Floats = workload.numerators(self.average) / workload.denominator
        return means


@dataclass(frozen=True, slots=True)
class Mwem:
    """``rounds`` times: select a query, measure it with geometric noise of ``scale``, correct the guess.

    Claim:    rounds times (the cost of the selection, and D / scale) with D = ``denominator``, for either
              neighbors.
    Assumes:  a unit adds 1 to one cell or to none, and the value of a cell is a whole number over D between 0
              and 1, so that one unit moves a numerator by at most D; ``total`` is public, or released before.
    Source:   Hardt, Ligett, McSherry 2012 (MWEM).  Theorem: MWEM-PRIVACY.
    """

    rounds: int
    selection: IndexSelection
    scale: Fraction
    denominator: int = 1
    theorems: ClassVar[tuple[str, ...]] = ("MWEM-PRIVACY", "MWEM-ERROR")

    def __post_init__(self) -> None:
        if not 1 <= self.rounds <= MOST_ROUNDS:
            raise InvalidRequest(f"there are between 1 and {MOST_ROUNDS} rounds, not {self.rounds}")
        if self.denominator < 1 or self.selection.sensitivity.span < 2 * self.denominator:
            raise InvalidRequest("one unit moves two scores apart by twice the denominator: select for that")
        check_scale(float_up(self.scale), "a noise scale", two_sided_geometric.LARGEST_SCALE)

    def cost(self) -> ComposedCost:
        measured = PureCost(self.denominator / self.scale)
        return ComposedCost(((self.selection.cost(), self.rounds), (measured, self.rounds)))

    def release(self, workload: LinearQueries, exact: Integers, total: int, bits: Bits) -> Synthetic:
        """``exact`` are the whole numerators of the workload's queries for the private histogram."""
        private = self._private(workload, exact, total)
        guess, average = CellDistribution(workload.cells), np.zeros(workload.cells)
        units = total * workload.denominator
        measurements = []
        for _ in range(self.rounds):
            average += guess.weights / self.rounds
            guessed = workload.numerators(guess.weights) * total
            index = self.selection.release(_scores(private, guessed), bits)
            noise = int(two_sided_geometric.draw(float_up(self.scale), 1, bits)[0])
            gap = (int(private[index]) + noise - float(guessed[index])) / units
            measurements.append(MwemRound(workload.query(index), gap))
            guess.correct(*measurements[-1])
        return Synthetic(average, guess.weights, tuple(measurements))

    def error(self, cells: int, total: int, confidence: float) -> float:
        """With this probability the average guess is no farther off in the mean of any query.

        Half of what may fail is for the selections, half for the measurements.  Theorem: MWEM-ERROR.
        """
        each = each_of(confidence, 2 * self.rounds)
        units = total * self.denominator
        missed = (shortfall_of(self.selection, each) + 1) / units
        noise = two_sided_geometric.coverage_radius(float_up(self.scale), float_up(each)) / units
        return (missed + math.sqrt(math.log(cells) / (2 * self.rounds) + noise**2)) * (1 + SEVERAL)

    @classmethod
    def for_cost(cls, workload: LinearQueries, epsilon: Fraction, rounds: int) -> Mwem:
        """Half of ``epsilon`` for the selections, by permute-and-flip, half for the measurements."""
        each, whole = epsilon / (2 * rounds), workload.denominator
        selection = PermuteAndFlip(tuple(range(workload.queries)), each, ScoreSensitivity(Fraction(whole)))
        return cls(rounds, selection, Fraction(float_up(whole / each)), whole)

    def _private(self, workload: LinearQueries, exact: Integers, total: int) -> Integers:
        if self.denominator != workload.denominator:
            raise InvalidRequest(f"made for a denominator of {self.denominator}, not {workload.denominator}")
        if not workload.fractional:
            raise InvalidRequest("multiplicative weights need queries with values between 0 and 1")
        if total < 1:
            raise InvalidRequest(f"a guess is a share of at least 1 unit, not {total}")
        if total * self.denominator > _LARGEST_COUNT:  # beyond, a score would not fit into 64 bits
            raise InvalidRequest(f"total times denominator is at most {_LARGEST_COUNT}")
        whole = np.asarray(exact)
        if whole.shape != (workload.queries,) or whole.dtype.kind != "i":
            raise InvalidRequest(f"the exact answers must be {workload.queries} whole numbers, with a sign")
        return np.clip(whole.astype(np.int64), -_LARGEST_COUNT, _LARGEST_COUNT)


def _scores(private: Integers, guessed: Floats) -> Integers:
    """How wrong the guess is, in whole numbers.  The public side is rounded first: then each score is the
    distance of a private integer from a public one, and moves no farther than that integer.
    """
    scores: Integers = np.abs(private - np.rint(guessed).astype(np.int64))
    return scores
