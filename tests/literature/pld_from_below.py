"""Privacy loss distributions from below: the truth lies between these numbers and those that adyton certifies."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial

import numpy as np

from adyton.accounting.pld import pld, profile
from adyton.accounting.pld.lattice import NOTHING, LossLattice, mirrored, step_up
from adyton.accounting.pld.pairs import DominatingPair, GaussianPair, LaplacePair, RandomizedResponsePair
from adyton.accounting.pld.profile import Profile
from adyton.accounting.pld.steering import Steered, _shelves, for_delta, for_epsilon, steered
from adyton.kernel.exact import float_down
from adyton.kernel.exact.outward import UNIT_ROUNDOFF
from literature.finite_pair import FinitePair


def epsilon_down(slots: pld.Slots, delta: float) -> float:
    """An epsilon that is not enough, or 0: the truth lies between it and ``epsilon_up``."""
    pld._check_delta(delta)
    return max(_epsilon_down(counts, delta) for counts in pld._directions(slots))


def delta_down(slots: pld.Slots, epsilon: float) -> float:
    """A delta that is not above the least one: the truth lies between it and ``delta_up``."""
    pld._check_epsilon(epsilon)
    steer = for_epsilon(epsilon)
    return max(
        profile_delta_down(optimistic_profile(steered(counts, steer)), epsilon)
        for counts in pld._directions(slots)
    )


def _epsilon_down(counts: dict[DominatingPair, int], delta: float) -> float:
    found = optimistic_profile(steered(counts, for_delta(delta)))
    return pld._crossing(found, partial(profile_delta_down, found), delta)[0]


def optimistic_profile(plan: Steered) -> Profile:
    """Dominated by the plan."""
    step = step_down(plan.unit / (2 * plan.cells))
    shelves = _shelves(plan.groups, step, lambda pair: optimistic(pair, step))
    return plan._profile(shelves, plan.mu[0])


def profile_delta_down(found: Profile, epsilon: float) -> float:
    """Claim: not above delta(epsilon) of the composition.  Theorem: PLD-ROUND-OFF."""
    losses, masses = found._relevant(epsilon)
    weights = found._weights(losses - epsilon, -1.0)
    tilted = profile._dot(masses, weights) - found.total.absolute * profile._norm(weights)
    tilted -= 2 * found.total.outside
    exponent = found._exponent(epsilon) - found._relative(losses, epsilon)
    finite = math.exp(min(exponent, profile._LARGEST_EXPONENT)) * max(0.0, tilted)
    return min(1.0, finite - math.expm1(-found.infinite) * (1 - 8 * UNIT_ROUNDOFF))


def optimistic(pair: DominatingPair, step: float) -> LossLattice:
    """A law on the lattice that the lattice part dominates."""
    match pair:
        case RandomizedResponsePair(epsilon0):
            return _of_a_response(Fraction(epsilon0), step)
        case LaplacePair(epsilon0):
            return _of_laplace(Fraction(epsilon0), step)
        case FinitePair():
            return pair.optimistic(step)
        case _:
            assert isinstance(pair, GaussianPair)
            return NOTHING


def _of_a_response(epsilon0: Fraction, step: float) -> LossLattice:
    last = cells_down(float_down(epsilon0), step)
    if last == 0:
        return NOTHING
    half = np.zeros(last + 1)
    half[last] = 1 / (1 + math.exp(-last * step))
    return mirrored(half, step)


def _of_laplace(epsilon0: Fraction, step: float) -> LossLattice:
    """Laplace noise of a smaller epsilon0 on the lattice; cells of two steps merged into their middle."""
    last = cells_down(float_down(epsilon0), step)
    if last == 0:
        return NOTHING
    losses = np.arange(-last, last + 1) * step
    masses = math.sinh(step / 2) * np.exp((losses - last * step) / 2)
    masses[::2] = 0.0
    masses[[0, -1]] = [math.exp(-last * step) / 2, 0.5]
    return LossLattice(-last, masses)


def step_down(width: float) -> float:
    """The greatest float of few digits that is not above ``width``."""
    return -step_up(-width)


def cells_down(reach: float, step: float) -> int:
    """The greatest whole number of steps that is not above ``reach``."""
    near = round(reach / step)
    return near if near * step <= reach else near - 1
