"""Dominating pairs: the two laws that an attacker must tell apart at worst.

A pair has a Gaussian part, which stays a number (mu squared adds up exactly), and a part on a lattice of
losses, from above (``pessimistic``) and from below (``optimistic``).  Nearly all of the pairs are symmetric:
telling P from Q is as hard as telling Q from P.  One that is not must be composed in each direction apart.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Protocol

import numpy as np

from adyton.accounting.pld.lattice import (
    NOTHING,
    Array,
    LossLattice,
    cells_down,
    cells_up,
    connect_the_dots,
    mirrored,
    round_down,
    share_above,
    share_below,
)
from adyton.errors import InvalidRequest
from adyton.exact import Number, float_down, float_up, positive, rational
from adyton.exact.outward import FEW

LARGEST_REACH = 100
"""exp(100) in the likelihood ratio of a single release protects nobody, and longer lattices need memory."""
_NO_LOSS = 2**1000  # a ratio beyond it has no logarithm in floats


class Pair(Protocol):
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

    def backwards(self) -> Pair:
        """(Q, P) instead of (P, Q)."""
        ...

    def pessimistic(self, step: float) -> LossLattice:
        """A law on the lattice that dominates the lattice part."""
        ...

    def optimistic(self, step: float) -> LossLattice:
        """A law on the lattice that the lattice part dominates."""
        ...

    def log_mgf(self, theta: float) -> float:
        """ln E_P exp(theta L) of the lattice part, as a float: for steering only, no promise rests on it."""
        ...


class _Symmetric:
    __slots__ = ()

    @property
    def symmetric(self) -> bool:
        return True

    @property
    def mu_squared(self) -> float:
        return 0.0


@dataclass(frozen=True, slots=True)
class RandomizedResponsePair(_Symmetric):
    """Any epsilon0-DP release: the truth with probability 1 / (1 + exp(-epsilon0)), else the opposite.

    Claim:    dominates every release that is epsilon0-DP given the past.
    Source:   Kairouz, Oh, Viswanath 2015.  Theorem: CONNECT-THE-DOTS.
    """

    epsilon0: Number
    reach: float = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        exact = _reach(self.epsilon0)
        object.__setattr__(self, "epsilon0", exact)
        object.__setattr__(self, "reach", float_up(exact))

    def backwards(self) -> RandomizedResponsePair:
        return self

    def pessimistic(self, step: float) -> LossLattice:
        epsilon = self.reach
        last = cells_up(epsilon, step)
        half = np.zeros(last + 1)
        half[last - 1] = share_below(last * step - epsilon, step)
        half[last] = share_above(epsilon - (last - 1) * step, step)
        return mirrored(half / (1 + math.exp(-epsilon)), step)

    def optimistic(self, step: float) -> LossLattice:
        last = cells_down(float_down(Fraction(self.epsilon0)), step)
        if last == 0:
            return NOTHING
        half = np.zeros(last + 1)
        half[last] = 1 / (1 + math.exp(-last * step))
        return mirrored(half, step)

    def log_mgf(self, theta: float) -> float:
        e = self.reach
        return theta * e - math.log1p(math.exp(-e)) + math.log1p(math.exp(-(2 * theta + 1) * e))


@dataclass(frozen=True, slots=True)
class LaplacePair(_Symmetric):
    """Laplace noise of scale sensitivity / epsilon0.  Not two-sided geometric noise: that is worse, and for
    sensitivity 1 exactly ``RandomizedResponsePair``.

    Half of P has the loss epsilon0, exp(-epsilon0) / 2 of it has -epsilon0, and between them the loss has the
    density exp((l - epsilon0) / 2) / 4: the dots are connected in closed form.  Theorem: CONNECT-THE-DOTS.
    """

    epsilon0: Number
    reach: float = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        exact = _reach(self.epsilon0)
        object.__setattr__(self, "epsilon0", exact)
        object.__setattr__(self, "reach", float_up(exact))

    def backwards(self) -> LaplacePair:
        return self

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

    def optimistic(self, step: float) -> LossLattice:
        """Laplace noise of a smaller epsilon0 on the lattice; cells of two steps merged into their middle."""
        last = cells_down(float_down(Fraction(self.epsilon0)), step)
        if last == 0:
            return NOTHING
        losses = np.arange(-last, last + 1) * step
        masses = math.sinh(step / 2) * np.exp((losses - last * step) / 2)
        masses[::2] = 0.0
        masses[[0, -1]] = [math.exp(-last * step) / 2, 0.5]
        return LossLattice(-last, masses)

    def log_mgf(self, theta: float) -> float:
        e = self.reach
        inner = math.expm1(-(2 * theta + 1) * e) / (2 * theta + 1)
        return theta * e + math.log((1 + math.exp(-(2 * theta + 1) * e) - inner) / 2)


@dataclass(frozen=True, slots=True)
class GaussianPair:
    """Gaussian noise: N(mu, 1) against N(0, 1).  Never discretised, because squares of mu add up exactly."""

    mu: Number
    mu_squared: float = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        exact = _reach(self.mu, "mu")
        object.__setattr__(self, "mu", exact)
        object.__setattr__(self, "mu_squared", float_up(exact**2))

    @property
    def symmetric(self) -> bool:
        return True

    @property
    def reach(self) -> float:
        return 0.0

    def backwards(self) -> GaussianPair:
        return self

    def pessimistic(self, step: float) -> LossLattice:
        return NOTHING

    def optimistic(self, step: float) -> LossLattice:
        return NOTHING

    def log_mgf(self, theta: float) -> float:
        return 0.0


@dataclass(frozen=True, slots=True)
class FinitePair:
    """Two laws on finitely many outputs, given as exact numbers that sum to 1; they need not be symmetric."""

    first: tuple[Number, ...]
    second: tuple[Number, ...]

    def __post_init__(self) -> None:
        for name in ("first", "second"):
            object.__setattr__(self, name, _law(getattr(self, name)))
        if len(self.first) != len(self.second):
            raise InvalidRequest("the two laws of a pair have the same outputs")
        if any(p and q and max(p / q, q / p) > _NO_LOSS for p, q in self._outputs()):
            raise InvalidRequest(f"a loss is at most {LARGEST_REACH}, and one of these is far more")
        if self.reach > LARGEST_REACH:
            raise InvalidRequest(f"a loss is at most {LARGEST_REACH}, not {self.reach:g}")

    @property
    def symmetric(self) -> bool:
        return sorted(self._outputs()) == sorted((q, p) for p, q in self._outputs())

    @property
    def mu_squared(self) -> float:
        return 0.0

    @property
    def reach(self) -> float:
        return max((_log_up(max(p / q, q / p)) for p, q in self._outputs() if p and q), default=0.0)

    def backwards(self) -> FinitePair:
        return FinitePair(self.second, self.first)

    def pessimistic(self, step: float) -> LossLattice:
        losses = [(_log_up(p / q), float_up(p)) for p, q in self._outputs() if p and q]
        return connect_the_dots(losses, step, float_up(self._unexplained()))

    def optimistic(self, step: float) -> LossLattice:
        losses = [(_log_down(p / q), float_down(p)) for p, q in self._outputs() if p and q]
        return round_down(losses, step, float_down(self._unexplained()))

    def log_mgf(self, theta: float) -> float:
        exponents = [
            math.log(float_up(p)) + theta * _log_up(p / q) for p, q in self._outputs() if p and q
        ] or [0.0]
        return max(exponents) + math.log(math.fsum(math.exp(x - max(exponents)) for x in exponents))

    def _outputs(self) -> list[tuple[Fraction, Fraction]]:
        return [(Fraction(p), Fraction(q)) for p, q in zip(self.first, self.second, strict=True)]

    def _unexplained(self) -> Fraction:
        return sum((p for p, q in self._outputs() if not q), Fraction(0))


def _reach(value: Number, what: str = "epsilon0") -> Fraction:
    number = positive(value, what)
    if number > LARGEST_REACH:
        raise InvalidRequest(f"{what} is at most {LARGEST_REACH} for one release, not {float(number):g}")
    return number


def _law(masses: tuple[Number, ...]) -> tuple[Fraction, ...]:
    law = tuple(rational(mass, "a probability") for mass in masses)
    if min(law, default=Fraction(-1)) < 0 or sum(law) != 1:
        raise InvalidRequest("probabilities are at least 0 and sum to 1 exactly; give them as fractions")
    return law


def _log_up(ratio: Fraction) -> float:
    """Not below ln(ratio).  Near 1 the excess is rounded, not the ratio: a small loss keeps its digits.

    Rounding the argument moves a logarithm by at most 1.5 u of it in the first case and 1.5 u in the second,
    the C library adds 2 u of it, and 8 u of it are added.
    """
    excess = float_up(ratio - 1)
    near = math.log1p(excess) if abs(excess) <= 0.5 else math.log(ratio)
    return near + FEW * abs(near)


def _log_down(ratio: Fraction) -> float:
    return -_log_up(1 / ratio)


def _density_above(over: float, step: float) -> float:
    """What the last point gets of the density on the last, shortened cell."""
    return 2 * math.exp(-over / 2) * math.sinh(over / 4) ** 2 / -math.expm1(-step)


def _density_below(over: float, step: float) -> float:
    """What the last point but one gets of it."""
    return math.exp(-over / 2) / 2 * math.expm1(-over / 2) * math.expm1(over / 2 - step) / -math.expm1(-step)


__all__ = ["Array", "FinitePair", "GaussianPair", "LaplacePair", "Pair", "RandomizedResponsePair"]
