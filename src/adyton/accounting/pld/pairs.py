"""Dominating pairs: the two laws that an attacker must tell apart at worst.

A pair has a Gaussian part, which stays a number (mu squared adds up exactly), and a part on a lattice of
losses, from above.  The pairs here are symmetric: telling P from Q is as hard as telling Q from P.  One that
is not must be composed in each direction apart.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Protocol, Self

import numpy as np

from adyton.accounting.pld.lattice import (
    NOTHING,
    LossLattice,
    cells_up,
    mirrored,
    share_above,
    share_below,
)
from adyton.errors import InvalidRequest
from adyton.kernel.exact import Number, float_up, positive

LARGEST_REACH = 100
"""exp(100) in the likelihood ratio of a single release protects nobody, and longer lattices need memory."""


class DominatingPair(Protocol):
    @property
    def symmetric(self) -> bool: ...

    @property
    def mu_squared(self) -> float:
        """Of the Gaussian part, rounded up; 0 if there is none."""
        ...

    @property
    def reach(self) -> float:
        """Not below the largest finite loss of the lattice part, either sign; 0 if there is none."""
        ...

    def backwards(self) -> DominatingPair:
        """(Q, P) instead of (P, Q)."""
        ...

    def pessimistic(self, step: float) -> LossLattice:
        """A law on the lattice that dominates the lattice part."""
        ...

    def log_mgf(self, theta: float) -> float:
        """ln E_P exp(theta L) of the lattice part, as a float: for steering, no guarantee rests on it."""
        ...


class _Symmetric:
    __slots__ = ()

    @property
    def symmetric(self) -> bool:
        return True

    def backwards(self) -> Self:
        return self


@dataclass(frozen=True, slots=True)
class _PurePair(_Symmetric):
    epsilon0: Number
    reach: float = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        exact = _reach(self.epsilon0)
        object.__setattr__(self, "epsilon0", exact)
        object.__setattr__(self, "reach", float_up(exact))

    @property
    def mu_squared(self) -> float:
        return 0.0


@dataclass(frozen=True, slots=True)
class RandomizedResponsePair(_PurePair):
    """Any epsilon0-DP release: the truth with probability 1 / (1 + exp(-epsilon0)), else the opposite.

    Claim:    dominates every release that is epsilon0-DP given the past.
    Source:   Kairouz, Oh, Viswanath 2015.  Theorem: CONNECT-THE-DOTS.
    """

    def pessimistic(self, step: float) -> LossLattice:
        epsilon = self.reach
        last = cells_up(epsilon, step)
        half = np.zeros(last + 1)
        half[last - 1] = share_below(last * step - epsilon, step)
        half[last] = share_above(epsilon - (last - 1) * step, step)
        return mirrored(half / (1 + math.exp(-epsilon)), step)

    def log_mgf(self, theta: float) -> float:
        e = self.reach
        return theta * e - math.log1p(math.exp(-e)) + math.log1p(math.exp(-(2 * theta + 1) * e))


@dataclass(frozen=True, slots=True)
class LaplacePair(_PurePair):
    """Laplace noise of scale sensitivity / epsilon0.  Not two-sided geometric noise: that is worse, and for
    sensitivity 1 exactly ``RandomizedResponsePair``.

    Half of P has the loss epsilon0, exp(-epsilon0) / 2 of it has -epsilon0, and between them the loss has the
    density exp((l - epsilon0) / 2) / 4: the dots are connected in closed form.  Theorem: CONNECT-THE-DOTS.
    """

    def pessimistic(self, step: float) -> LossLattice:
        epsilon = self.reach
        last = cells_up(epsilon, step)
        over = epsilon - (last - 1) * step  # the last cell is cut off here; exact, as the two are close
        half = math.tanh(step / 4) * np.exp((np.arange(last + 1) * step - epsilon) / 2)
        half[[0, last - 1]] /= 2 if last > 1 else 1
        if last == 1:
            half[0] = 0.0
        half[last - 1] += _density_below(over, step) + share_below(last * step - epsilon, step) / 2
        half[last] = _density_above(over, step) + share_above(over, step) / 2
        return mirrored(half, step)

    def log_mgf(self, theta: float) -> float:
        e = self.reach
        inner = math.expm1(-(2 * theta + 1) * e) / (2 * theta + 1)
        return theta * e + math.log((1 + math.exp(-(2 * theta + 1) * e) - inner) / 2)


@dataclass(frozen=True, slots=True)
class GaussianPair(_Symmetric):
    """Gaussian noise: N(mu, 1) against N(0, 1).  Never discretised, because squares of mu add up exactly."""

    mu: Number
    mu_squared: float = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        exact = _reach(self.mu, "mu")
        object.__setattr__(self, "mu", exact)
        object.__setattr__(self, "mu_squared", float_up(exact**2))

    @property
    def reach(self) -> float:
        return 0.0

    def pessimistic(self, step: float) -> LossLattice:
        return NOTHING

    def log_mgf(self, theta: float) -> float:
        return 0.0


def _reach(value: Number, what: str = "epsilon0") -> Fraction:
    number = positive(value, what)
    if number > LARGEST_REACH:
        raise InvalidRequest(f"{what} is at most {LARGEST_REACH} for one release, not {float(number):g}")
    return number


def _density_above(over: float, step: float) -> float:
    """What the last point gets of the density on the last, shortened cell."""
    return 2 * math.exp(-over / 2) * math.sinh(over / 4) ** 2 / -math.expm1(-step)


def _density_below(over: float, step: float) -> float:
    """What the last point but one gets of it."""
    return math.exp(-over / 2) / 2 * math.expm1(-over / 2) * math.expm1(over / 2 - step) / -math.expm1(-step)
