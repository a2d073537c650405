"""Exact verification: where both output laws can be written down, the true delta(epsilon) needs no samples.

A law lists the probabilities of finitely many outputs.  What it leaves out (the far tails) is a certified
remainder, and how far its numbers may be off is declared; the curve comes as intervals that hold the truth.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from adyton.errors import InvalidRequest
from adyton.kernel.exact.cells import Floats
from adyton.kernel.exact.outward import FEW
from adyton.noise_intervals.laws import gaussian_pmf, gaussian_tail, geometric_pmf, geometric_tail

_PMF_ERROR = 1e-11  # of the probabilities that the noise modules state to about 12 digits
_LAW_ERROR = 1e-10  # the same, after what mechanisms of selection compute with them


@dataclass(frozen=True, slots=True)
class OutputLaw:
    """Probabilities, right up to ``error``, relatively; all other outputs weigh at most ``remainder``."""

    probabilities: Mapping[Any, float | Fraction]
    remainder: float = 0.0
    error: float = 0.0

    def __post_init__(self) -> None:
        total = math.fsum(map(float, self.probabilities.values()))
        if not -self.error - 1e-9 <= 1 - total <= self.remainder + self.error + 1e-9:
            raise InvalidRequest(
                f"the probabilities and the remainder of a law add up to 1, not to {total:g}"
            )


@dataclass(frozen=True, slots=True)
class Delta:
    """The least delta for which two laws satisfy (epsilon, delta), both ways: between low and high."""

    epsilon: float
    low: float
    high: float


def law_of(probabilities: Iterable[Any]) -> OutputLaw:
    """Of a mechanism that lists its candidates' probabilities, to about 12 digits."""
    return OutputLaw({place: float(p) for place, p in enumerate(probabilities)}, error=_LAW_ERROR)


def exact_delta(first: OutputLaw, second: OutputLaw, epsilon: float) -> Delta:
    """The larger of the two hockey-stick divergences.

    Claim:    the least delta of (epsilon, delta)-DP on this pair is between ``low`` and ``high``.
    Assumes:  the probabilities are within their stated error, and the remainder is not larger than stated.
    Source:   Barthe, Olmedo 2013; derived here.  Theorem: EXACT-DELTA.
    """
    p, q = _aligned(first, second)
    error = max(first.error, second.error) + FEW
    one = _one_sided(p, q, epsilon, error)
    two = _one_sided(q, p, epsilon, error)
    return Delta(epsilon, max(one[0], two[0]), max(one[1] + first.remainder, two[1] + second.remainder))


def exact_curve(first: OutputLaw, second: OutputLaw, epsilons: Sequence[float]) -> list[Delta]:
    """The true privacy curve at these epsilons.  Theorem: EXACT-DELTA."""
    return [exact_delta(first, second, epsilon) for epsilon in epsilons]


def _one_sided(p: Floats, q: Floats, epsilon: float, error: float) -> tuple[float, float]:
    grown = math.exp(epsilon)
    low = np.maximum(p * (1 - error) - grown * q * (1 + 2 * error), 0)
    high = np.maximum(p * (1 + error) - grown * q * (1 - 2 * error), 0)
    return math.fsum(low) * (1 - FEW), math.fsum(high) * (1 + FEW)


def _aligned(first: OutputLaw, second: OutputLaw) -> tuple[Floats, Floats]:
    """Both laws over all outputs that one of them lists."""
    outputs = list(dict.fromkeys([*first.probabilities, *second.probabilities]))
    p, q = (
        np.array([float(law.probabilities.get(o, 0)) for o in outputs], dtype=np.float64)
        for law in (first, second)
    )
    if first.remainder or second.remainder:  # an output that one law leaves out may be in its remainder
        both = np.array([o in first.probabilities and o in second.probabilities for o in outputs])
        if not both.all():
            raise InvalidRequest("laws with a remainder must list the same outputs")
    return p, q


# Our own noise ---------------------------------------------------------------------------------------------


def geometric_law(value: int, scale: float, low: int, high: int) -> OutputLaw:
    """The law of ``value`` plus two-sided geometric noise on ``low..high``, and a bound on the rest."""
    return _shifted(
        value,
        low,
        high,
        lambda z: geometric_pmf(scale, z),
        lambda m: geometric_tail(scale, m),
    )


def gaussian_law(value: int, sigma: float, low: int, high: int) -> OutputLaw:
    """The law of ``value`` plus rounded Gaussian noise on ``low..high``, and a bound on the rest."""
    return _shifted(value, low, high, lambda z: gaussian_pmf(sigma, z), lambda m: gaussian_tail(sigma, m))


def _shifted(
    value: int, low: int, high: int, pmf: Callable[[int], float], tail: Callable[[int], float]
) -> OutputLaw:
    rest = tail(high + 1 - value) + tail(value - low + 1)
    return OutputLaw({z: pmf(z - value) for z in range(low, high + 1)}, rest * (1 + _PMF_ERROR), _PMF_ERROR)
