"""Which tilt and which step: choices that make a certified bound tight and can never make it wrong."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from adyton.accounting.pld.convolve import LONG, Shelf, composed, merged
from adyton.accounting.pld.lattice import NOTHING, Array, LossLattice, step_up
from adyton.accounting.pld.pairs import DominatingPair
from adyton.accounting.pld.profile import Profile
from adyton.accounting.pld.slots import fold, grouped
from adyton.kernel.exact.outward import MANY, UNIT_ROUNDOFF

Goal = Callable[[Array, Array], float]  # (thetas, ln E exp(theta L)) -> the epsilon that is looked at
Groups = list[tuple[list[DominatingPair], int]]
Shelves = list[tuple[Shelf, int]]

_TOLERANCE = 1e-5  # of epsilon: what the lattice may add, as far as the number of atoms allows
_CHEAP = 4096, 4096  # atoms of all laws together, and points of their sum: to begin with
_DEAR = 250_000, 1 << 20  # and at most
_MOST_WORK = 1 << 24
_TILTS = np.geomspace(1e-5, 1.0, 60)
_MOST_TILT = 1000.0  # in standard deviations; only the largest losses of all are that rare
_MOST_EXPONENT = 600.0
_CLOSE_TO_BEST = 3.0


def for_epsilon(epsilon: float) -> Goal:
    return lambda theta, log_mgf: epsilon


def for_delta(delta: float) -> Goal:
    """Chernoff's bound of epsilon at this delta: not far from the epsilon that will be found."""
    return lambda theta, log_mgf: float(np.min((log_mgf - math.log(delta)) / theta))


@dataclass(frozen=True, slots=True)
class Steered:
    """One direction of a plan, with the number of steps in the reach of its weightiest slot."""

    groups: Groups
    shelves: Shelves
    mu: tuple[float, float]  # from below, from above
    unit: float
    cells: int
    goal: Goal

    def pessimistic(self) -> Profile:
        """Dominates the plan.  Theorem: CONNECT-THE-DOTS."""
        return self._profile(self.shelves, self.mu[1])

    def _profile(self, shelves: Shelves, mu: float) -> Profile:
        _, theta = _tilts(shelves, mu, self.goal, _largest(self.groups))
        parts = [(part, times) for shelf, times in shelves for part in merged(shelf.tilted(theta))]
        infinite = math.fsum(times * shelf.infinite for shelf, times in shelves)  # rounded once, not by group
        largest = min(_largest(self.groups), fold(lambda shelf: shelf.largest(), shelves) * (1 + MANY))
        return Profile(composed(parts), shelves[0][0].step, theta, mu, infinite, largest)


def steered(counts: dict[DominatingPair, int], goal: Goal) -> Steered:
    """Halves the step, in one or two leaps, until what the lattice adds to epsilon is below the tolerance.

    What it adds is estimated from the exact moment generating functions: no guarantee rests on the estimate.
    """
    mu_squared = fold(lambda pair: pair.mu_squared, counts.items())
    mu = math.sqrt(mu_squared)
    margin = 2 * (len(counts) + 8) * UNIT_ROUNDOFF
    on_lattice = {pair: times for pair, times in counts.items() if not pair.mu_squared}
    groups = grouped(on_lattice)
    weightiest = max(on_lattice, key=lambda pair: on_lattice[pair] * pair.reach**2, default=None)
    unit = (weightiest.reach if weightiest else 0.0) or 1.0
    cells, finer = 0, _cells_within(groups, unit, *_CHEAP)
    most = _cells_within(groups, unit, *_DEAR)
    while finer > cells:
        cells = finer
        shelves = _shelves(groups, step_up(unit / cells))
        finer = min(most, _finer(groups, shelves, mu, goal, cells))
    return Steered(groups, shelves, (mu * (1 - margin), mu * (1 + margin)), unit, cells, goal)


def _finer(groups: Groups, shelves: Shelves, mu: float, goal: Goal, cells: int) -> int:
    """How many cells would do, if what they add falls with their square."""
    theta, _ = _tilts(shelves, mu, goal, _largest(groups))
    rough = _log_mgf(shelves, mu, theta)
    exact = fold(lambda pairs: math.fsum(pair.log_mgf(theta) for pair in pairs), groups)
    added = (rough - theta * (theta + 1) * mu * mu / 2 - exact) / theta
    allowed = _TOLERANCE * max(1.0, rough) / theta
    return cells if added <= allowed else math.ceil(1.05 * cells * math.sqrt(added / allowed))


def _cells_within(groups: Groups, unit: float, atoms: int, points: int) -> int:
    """The most cells with which the laws have so many atoms together and their sum so many points.

    Also the work is bounded, which grows with both: a transform of all points for every ``LONG`` atoms.
    """
    pairs = [pair for group, _ in groups for pair in group]
    length = 2 * math.fsum(pair.reach for pair in pairs) or 1.0
    spread = math.sqrt(fold(lambda group: math.fsum(pair.reach**2 for pair in group), groups)) or 1.0
    by_atoms = unit * max(0, atoms - 3 * len(pairs)) / length
    by_work = unit * math.sqrt(_MOST_WORK * LONG / length / (20 * spread))
    return max(1, int(min(by_atoms, unit * points / (20 * spread), by_work)))


def _shelves(
    groups: Groups, step: float, law: Callable[[DominatingPair], LossLattice] | None = None
) -> Shelves:
    on_lattice = law or (lambda pair: pair.pessimistic(step))
    shelves = [(Shelf.of([on_lattice(pair) for pair in pairs], step), times) for pairs, times in groups]
    return shelves or [(Shelf.of([NOTHING], step), 1)]


def _log_mgf(shelves: Shelves, mu: float, theta: float) -> float:
    return float(fold(lambda shelf: shelf.log_mgf(theta), shelves)) + theta * (theta + 1) * mu * mu / 2


def _largest(groups: Groups) -> float:
    """Not below the largest finite loss of the lattice parts together: basic composition."""
    return float(fold(lambda pairs: math.fsum(pair.reach for pair in pairs), groups)) * (1 + MANY)


def _tilts(shelves: Shelves, mu: float, goal: Goal, largest: float) -> tuple[float, float]:
    """The tilt that Chernoff finds best, and the least that is good enough: more crowds the law at an end."""
    spread = math.sqrt(fold(lambda shelf: shelf.variance(), shelves) + mu * mu) or 1.0
    reach = max(shelf.reach for shelf, _ in shelves) or 1.0
    tilts = _TILTS * min(_MOST_TILT / spread, _MOST_EXPONENT / reach)
    log_mgf = np.array([_log_mgf(shelves, mu, float(theta)) for theta in tilts])
    chernoff = log_mgf - tilts * min(goal(tilts, log_mgf), math.inf if mu else largest)
    enough = chernoff.min() + min(_CLOSE_TO_BEST, max(0.0, -chernoff.min() / 2))
    return float(tilts[chernoff.argmin()]), float(tilts[np.argmax(chernoff <= enough)])
