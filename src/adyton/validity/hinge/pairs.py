"""The stability width of releases that are not Gaussian: any pair of laws that dominates row against phantom.

What a release says about one row is compared with what it would say if that row were a phantom, the same for
everybody.  If a pair (A, B) dominates all those comparisons, E_B h(dA/dB) replaces the Gaussian expectation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from adyton.arithmetic.search import minimise
from adyton.errors import InvalidRequest
from adyton.kernel.exact import Number, probability, whole
from adyton.kernel.exact.outward import digits, up
from adyton.kernel.exact.special import special

_FAR_TAIL = 46.5  # beyond sqrt(46.5 k) from its mean a binomial has a mass of at most 2 exp(-93) < 1e-40
_STEPS = 34
MOST_RELEASES = 10**5


@dataclass(frozen=True, slots=True)
class RandomizedResponses:
    """The pair that dominates ``releases`` releases, each with log-ratio at most ``epsilon`` to the phantom.

    Claim:    dA/dB = exp(epsilon (2X - k)) with X binomial(k, 1 / (1 + exp(epsilon))) under B.
    Assumes:  against a phantom row, fixed for everybody, every release has a likelihood ratio between
              exp(-epsilon) and exp(epsilon), given everything before it.
    Source:   Kairouz, Oh, Viswanath 2015 (randomized response dominates).  Theorem: HINGE-OF-A-PAIR.
    """

    releases: int
    epsilon: float

    def __post_init__(self) -> None:
        if not 1 <= whole(self.releases, "the number of releases") <= MOST_RELEASES:
            raise InvalidRequest(f"at most {MOST_RELEASES:,} releases, not {self.releases:,}")
        if not 0 < self.epsilon * self.releases**0.5 <= 2:
            raise InvalidRequest(
                "epsilon must be above 0, and epsilon times the root of the releases at most 2"
            )


def stability_width_of(pair: RandomizedResponses, failure: Number) -> float:
    """t2 for a dominating pair, rounded up; the claim is that of ``stability_width``.

    Source:   derived here.  Theorem: HINGE-OF-A-PAIR.
    """
    return _width(pair, probability(failure, "the failure probability"))


@lru_cache(maxsize=1024)
def _width(pair: RandomizedResponses, failure: Fraction) -> float:
    c, s = _open_at(pair, float(failure))
    mp = digits(40 - 2 * math.floor(math.log10(c)))
    hinge = hinge_of(mp, pair, c, s)
    return up(s + hinge * failure.denominator / failure.numerator * (1 + mp.mpf(10) ** -20))


def hinge_of(mp: Any, pair: RandomizedResponses, c: float, s: float) -> Any:
    """E_B h(dA/dB), rounded up: the atoms in a window, and a bound for those beyond it.

    The weights are made from each other by ratios and divided by their sum, which is at most the true sum, so
    every atom counts at least as much as it weighs.
    """
    epsilon, k = mp.mpf(pair.epsilon), pair.releases
    first, last = _window(pair)
    ratio, step = mp.exp(epsilon * (2 * first - k)), mp.exp(2 * epsilon)
    weight, odds = mp.mpf(1), mp.exp(-epsilon)  # of 1 against 0 under B
    total, hinge = mp.mpf(0), mp.mpf(0)
    c, s = mp.mpf(c), mp.mpf(s)
    for x in range(first, last + 1):
        total += weight
        value = c / 4 + (ratio - 1) ** 2 / (4 * c) - s * ratio
        if value > 0:
            hinge += weight * value
        weight *= odds * (k - x) / (x + 1)
        ratio *= step
    return hinge / total + _beyond(mp, pair, c)


def _beyond(mp: Any, pair: RandomizedResponses, c: Any) -> Any:
    """E_B h(dA/dB) outside the window, where h(r) <= c/4 + (1 + r**2) / (4c).

    Hoeffding's inequality, for the mass under B and for r**2, whose law tilted by itself is binomial again.
    """
    first, last = _window(pair)
    if first == 0 and last == pair.releases:
        return mp.mpf(0)
    tail = 2 * mp.exp(-2 * mp.mpf(_FAR_TAIL))
    epsilon = mp.mpf(pair.epsilon)
    square = (mp.exp(2 * epsilon) + mp.exp(-epsilon)) / (1 + mp.exp(epsilon))  # E r**2 of one release
    return tail * (c / 4 + (1 + square**pair.releases) / (4 * c))


def _window(pair: RandomizedResponses) -> tuple[int, int]:
    """The counts within sqrt(46.5 k) of the means under B and under B tilted by the squared ratio."""
    k, epsilon = pair.releases, pair.epsilon
    far = math.sqrt(_FAR_TAIL * k) + 1
    lowest, highest = k / (1 + math.exp(epsilon)), k / (1 + math.exp(-3 * epsilon))
    return max(0, math.floor(lowest - far)), min(k, math.ceil(highest + far))


def _open_at(pair: RandomizedResponses, failure: float) -> tuple[float, float]:
    """Floats (c, s) with about the least s + E h / failure, which is convex in both."""
    first, last = _window(pair)
    x = np.arange(first, last + 1)
    k, epsilon = pair.releases, pair.epsilon
    gammaln = special().gammaln
    log_weight = -gammaln(x + 1) - gammaln(k - x + 1) - epsilon * x
    weight = np.exp(log_weight - log_weight.max())
    weight /= weight.sum()
    gap = np.expm1(epsilon * (2 * x - k))

    def value(c: float, s: float) -> float:
        return s + float(weight @ np.maximum(c / 4 + gap * gap / (4 * c) - s * (1 + gap), 0)) / failure

    def best_c(s: float) -> float:
        return minimise(lambda c: value(c, s), s / 2, 8 * s, _STEPS)

    size = math.sqrt(k) * epsilon
    s = minimise(lambda s: value(best_c(s), s), size / 20, size * (2 - math.log(failure)), _STEPS)
    return best_c(s), s
