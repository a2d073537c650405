"""Private multiplicative weights: very many adaptive linear queries, of which few cost anything.

A query is answered from a public guess of the histogram, unless the sparse vector finds the guess wrong by
more than a threshold; then it is measured and the guess is corrected.  A guess can be wrong only so often.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, NamedTuple

from adyton.errors import InvalidRequest
from adyton.kernel.noise import Bits
from adyton.kernel.privacy import Cost
from adyton.kernel.special.mechanisms.sparse.numeric_sparse import NumericSparse
from adyton.kernel.special.mechanisms.sparse.sparse import SparseState
from adyton.kernel.special.monitor import MOST_STEPS, PmwCorrection, compare_both_ways
from adyton.monitors.pmw.guess import CellDistribution
from adyton.noise_intervals.sparse import comparison_error, numeric_sparse_for_cost
from adyton.planning.coordinated.linear_query import LinearQuery

_ABOVE_THE_EDGE = 1 + 1e-9  # of the gap: fewer updates are possible than were paid for, so it never halts
_DOUBLINGS = 16  # of the number of updates that a plan considers


class PrivateMwAnswer(NamedTuple):
    """A mean value between 0 and 1, and whether it was measured or guessed."""

    mean: float
    measured: bool


@dataclass(frozen=True, slots=True)
class PrivateMwPlan:
    """What is fixed before the first query; numbers in steps of 1 / (total * denominator) of the mean.

    Claim:    the whole run is as private as ``machine``, for either neighbors: nothing else touches the data.
    Assumes:  ``total`` is public (or was released before), and a unit adds 1 to one cell or to none.
    Source:   Hardt, Rothblum 2010; Dwork, Roth 2014, section 4.2.  Theorem: PMW-PRIVACY.
    """

    cells: int
    total: int
    machine: NumericSparse
    threshold: int
    gap: float
    theorems: ClassVar[tuple[str, ...]] = ("PMW-PRIVACY", "PMW-ERROR", "MW-UPDATES")

    def __post_init__(self) -> None:
        if not (self.total >= 1 and self.steps <= MOST_STEPS):
            raise InvalidRequest(f"total times denominator is between 1 and {MOST_STEPS}, not {self.steps}")
        if self.threshold < 1 or not 0 < self.gap <= 1:
            raise InvalidRequest("the threshold is at least 1 step, and the gap above 0 and at most 1")
        if self.machine.sparse.monotone:  # too low and too high move against each other
            raise InvalidRequest("the machine must be made for queries that are not monotone")

    @property
    def steps(self) -> int:
        """How many steps the mean 1 has."""
        return self.total * self.machine.sparse.sensitivity

    def cost(self) -> Cost:
        return self.machine.cost()

    def start(self, bits: Bits) -> PrivateMw:
        return PrivateMw(self, self.machine.start(bits))

    def compare(
        self, watch: SparseState, distance: int, bits: Bits
    ) -> tuple[PmwCorrection | None, SparseState]:
        """What is found of a guess that is too low by ``distance`` steps, and what to keep for the next."""
        return compare_both_ways(self.machine, self.threshold, watch, distance, bits)

    def error(self, confidence: float, queries: int) -> float:
        """With this probability all answers of a run made by ``for_cost`` are within it, and it never halts.

        Theorem: PMW-ERROR.
        """
        compared = comparison_error(self.machine, 1 - (1 - confidence) / 2, 2 * queries)
        return (self.threshold + compared + 1) / self.steps

    def guess_error(self, confidence: float, queries: int) -> int:
        """With this probability all answers that are not measured, among the first ``queries``, are within
        so many steps of the truth: for any threshold and gap, and any number of units.  Theorem: PMW-ERROR.
        """
        return self.threshold + comparison_error(self.machine, confidence, 2 * queries)

    @classmethod
    def for_cost(
        cls,
        epsilon: Fraction,
        cells: int,
        total: int,
        queries: int,
        *,
        confidence: float = 0.95,
        denominator: int = 1,
    ) -> PrivateMwPlan:
        """The number of updates, and with it all noise, that give the least guaranteed error."""
        plans = (
            _plan(epsilon, cells, total, queries, confidence, denominator, 2**k) for k in range(_DOUBLINGS)
        )
        found = [plan for plan in plans if plan is not None]
        if not found:
            raise InvalidRequest("no number of updates gives an error below 1: more units or a higher price")
        return min(found, key=lambda plan: plan.error(confidence, queries))


def _plan(
    epsilon: Fraction,
    cells: int,
    total: int,
    queries: int,
    confidence: float,
    denominator: int,
    updates: int,
) -> PrivateMwPlan | None:
    """The threshold that keeps every update's gap large enough, or None where it would be above 1."""
    gap = math.sqrt(math.log(max(cells, 2)) / (2 * updates)) * _ABOVE_THE_EDGE
    machine = numeric_sparse_for_cost(epsilon, updates, sensitivity=denominator)
    fail = (1 - confidence) / 2
    compared = comparison_error(machine, 1 - fail, 2 * queries)
    measured = machine.values.error(1 - fail / updates)
    steps = total * denominator
    threshold = math.ceil(gap * steps) + compared + measured + 2
    return None if gap > 1 or threshold >= steps else PrivateMwPlan(cells, total, machine, threshold, gap)


class PrivateMw:
    """A run: the public guess and how often it was corrected, and the secret state of the sparse vector."""

    __slots__ = ("guess", "plan", "updates", "watch")

    def __init__(self, plan: PrivateMwPlan, watch: SparseState) -> None:
        self.plan = plan
        self.guess = CellDistribution(plan.cells)
        self.updates = 0
        self.watch = watch

    @property
    def halted(self) -> bool:
        return self.watch.left == 0

    def ask(self, query: LinearQuery, exact: int, bits: Bits) -> PrivateMwAnswer:
        """``exact`` is the query's whole numerator for the private histogram."""
        if self.halted:
            raise InvalidRequest("all updates are spent: the guess is public and can be asked directly")
        lift = self._lift(query)
        mean = self.guess.answer(query)
        guessed = round(mean * self.plan.steps)  # a public integer: the difference moves as ``exact`` does
        found, self.watch = self.plan.compare(self.watch, exact * lift - guessed, bits)
        if found is None:
            return PrivateMwAnswer(mean, measured=False)
        heard = (guessed + found.sign * found.excess) / self.plan.steps
        self.guess.correct(query, found.sign * max(found.excess / self.plan.steps, self.plan.gap))
        self.updates += 1
        return PrivateMwAnswer(min(max(heard, 0.0), 1.0), measured=True)

    def _lift(self, query: LinearQuery) -> int:
        """How many steps a numerator is, so that all queries share one sensitivity."""
        lift, rest = divmod(self.plan.machine.sparse.sensitivity, query.denominator)
        if rest:
            raise InvalidRequest(
                f"a denominator of {query.denominator} does not divide the declared "
                f"{self.plan.machine.sparse.sensitivity}"
            )
        return lift
