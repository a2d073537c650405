"""Privacy losses on a lattice: the dots are connected, so the lattice is never kinder than the truth.

A pair of laws (P, Q) is what an attacker must tell apart; its loss is L = ln(dP/dQ) under P.  A loss between
two points of the lattice is divided between them so that the mass of P *and* the mass of Q stay as they are:
with x the distance to the point below and h the step, the point above gets the share

    (1 - exp(-x)) / (1 - exp(-h))     and the point below     (exp(h - x) - 1) / (exp(h) - 1).

Both are quotients of expm1, so no digits cancel: every mass below is known to (16 + largest loss) u,
relatively, u = 2**-53, if expm1, exp and tanh of the C library are known to 2 u.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[np.float64]]
_STEP_BITS = 22  # so that whole multiples of a step are floats, exactly, up to 2**31 of them


@dataclass(frozen=True, slots=True, eq=False)
class LossLattice:
    """Masses of P at the losses start, start + 1, ... in steps; ``infinite`` is what Q cannot explain."""

    start: int
    masses: Array
    infinite: float = 0.0


NOTHING = LossLattice(0, np.ones(1))
"""A release that reveals nothing: the loss is 0."""


def step_up(width: float) -> float:
    """The least float of few digits that is not below ``width``."""
    digits, exponent = math.frexp(width)
    return math.ldexp(math.ceil(math.ldexp(digits, _STEP_BITS)), exponent - _STEP_BITS)


def cells_up(reach: float, step: float) -> int:
    """The least whole number of steps that is not below ``reach``."""
    near = max(1, round(reach / step))
    return near if near * step >= reach else near + 1


def share_above(distance: float, step: float) -> float:
    """What the point above gets of a loss that is ``distance`` above the point below."""
    return math.expm1(-distance) / math.expm1(-step)


def share_below(distance: float, step: float) -> float:
    """What the point below gets of a loss that is ``distance`` below the point above."""
    return math.expm1(distance) / math.expm1(step)


def mirrored(half: Array, step: float) -> LossLattice:
    """The law of a symmetric pair, from what its losses of at least 0 give to the points 0, 1, 2, ...

    For (P, Q) and (Q, P) alike the mass at -l is exp(-l) times the mass at l; the point 0 gets both halves.
    """
    last = len(half) - 1
    lower = half[:0:-1] * np.exp(-step * np.arange(last, 0, -1))
    return LossLattice(-last, np.concatenate((lower, 2 * half[:1], half[1:])))
