"""A dominating pair of two laws on finitely many outputs: the lattice is tried on it, also where P and Q differ."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from adyton.accounting.pld.lattice import LossLattice, share_above, share_below
from adyton.accounting.pld.pairs import LARGEST_REACH
from adyton.errors import InvalidRequest
from adyton.kernel.exact import Number, float_down, float_up, rational
from adyton.kernel.exact.outward import FEW, UNIT_ROUNDOFF

_NO_LOSS = 2**1000  # a ratio beyond it has no logarithm in floats
_HARDLY_ANYTHING = 1e-300  # stands for no mass, because its logarithm exists


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


def connect_the_dots(
    losses: Iterable[tuple[float, float]], step: float, infinite: float = 0.0
) -> LossLattice:
    """The least lattice law that dominates finitely many (loss, mass of P).

    Claim:    the hockey-stick divergence of the lattice law is at least that of the losses for every epsilon,
              and equal at the points of the lattice.
    Source:   Doroshenko, Ghazi, Kamath, Kumar, Manurangsi 2022.  Theorem: CONNECT-THE-DOTS.
    """
    atoms = list(losses)
    if not atoms:
        return LossLattice(0, np.full(1, _HARDLY_ANYTHING), infinite)
    below = [math.floor(loss / step) for loss, _ in atoms]
    below = [j if j * step <= loss else j - 1 for j, (loss, _) in zip(below, atoms, strict=True)]
    start = min(below)
    masses = np.zeros(max(below) - start + 2)
    for j, (loss, mass) in zip(below, atoms, strict=True):
        masses[j + 1 - start] += mass * share_above(loss - j * step, step)
        masses[j - start] += mass * share_below((j + 1) * step - loss, step)
    return LossLattice(start, masses * (1 + 2 * len(atoms) * UNIT_ROUNDOFF), infinite)


def round_down(losses: Iterable[tuple[float, float]], step: float, infinite: float = 0.0) -> LossLattice:
    """Each loss moved to the point below it: never above the truth, because delta grows with the loss."""
    atoms = [(math.floor(loss / step) - 1, mass) for loss, mass in losses]
    if not atoms:
        return LossLattice(0, np.full(1, _HARDLY_ANYTHING), infinite)
    start = min(j for j, _ in atoms)
    masses = np.zeros(max(j for j, _ in atoms) - start + 1)
    for j, mass in atoms:
        masses[j - start] += mass
    return LossLattice(start, masses * (1 - 2 * len(atoms) * UNIT_ROUNDOFF), infinite)


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
