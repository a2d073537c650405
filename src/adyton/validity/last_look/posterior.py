"""After pure releases: how likely the rows, given all that was released, can be in what was rare before.

Everything here holds for each transcript by itself, with the epsilon that this transcript was charged.  So
prices may be chosen on the way, and whatever says most may be taken.  Theorem: POSTERIOR-P-VALUES.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from adyton.arithmetic.search import minimise
from adyton.kernel.exact import float_down, float_up
from adyton.kernel.exact.outward import COARSE, MANY, SAFE
from adyton.validity.published.mutual_information import level_after, threshold_after
from adyton.validity.textbook.max_information import event_bound, independent_rows_nats, pure_nats

_STEPS, _LITTLE = 60, 2.0**-24  # of a search for the best failure; every one is valid


@dataclass(frozen=True, slots=True)
class PosteriorPValues:
    """exp(-(sqrt(ln(1 / q)) - sqrt(A))**2), A = n epsilon**2 / 8, times exp(nats).

    Claim:    the chance, given the transcript, that the rows are where they had probability q; ``nats`` is
              what was seen beside it, as TRANSCRIPT-LEAKAGE counts that.
    Assumes:  independent rows; along this transcript everything is together epsilon-DP, a unit exchanged.
    Source:   derived here.  Theorem: POSTERIOR-P-VALUES.
    """

    units: int
    epsilon: Fraction
    nats: float = 0.0

    @property
    def _root(self) -> float:
        return math.sqrt(float_up(self.units * self.epsilon**2 / 8)) * SAFE

    def threshold(self, level: Fraction) -> float:
        if not self.epsilon and not self.nats:
            return float_down(level)
        root = self._root + math.sqrt(self.nats - math.log(float_down(level)))
        return math.exp(-(root**2) * SAFE) * (1 - MANY)

    def level(self, p_value: float) -> float:
        left = max(0.0, math.sqrt(-math.log(p_value)) - self._root)
        return _likely(self.nats - left**2) if self.epsilon or self.nats else p_value


@dataclass(frozen=True, slots=True)
class MaxInformation:
    """exp(I) q + b with I = n epsilon**2 / 8 + epsilon sqrt(n ln(1 / b) / 2), for the best b.

    Source:   derived here.  Theorems: MAX-INFORMATION-INDEPENDENT, POSTERIOR-P-VALUES.
    """

    units: int
    epsilon: Fraction

    def threshold(self, level: Fraction) -> float:
        def exponent(part: float) -> float:
            failure = level * Fraction(part)
            return self._nats(failure) - math.log(float_down(level - failure))

        best = exponent(minimise(exponent, _LITTLE, 1 - _LITTLE, _STEPS))
        return math.exp(-best * SAFE) * (1 - MANY)

    def level(self, p_value: float) -> float:
        def exponent(failure: float) -> float:
            """About the logarithm of the chance; without a cap, so that the search finds its way."""
            larger, smaller = sorted((self._nats(failure) + math.log(p_value), math.log(failure)))[::-1]
            return larger + math.log1p(math.exp(smaller - larger))

        failure = minimise(exponent, p_value * _LITTLE, 1 - _LITTLE, _STEPS)
        return min(1.0, event_bound(Fraction(p_value), self._nats(failure), Fraction(failure)) * SAFE)

    def _nats(self, failure: float | Fraction) -> float:
        return independent_rows_nats(self.units, self.epsilon, Fraction(failure))


@dataclass(frozen=True, slots=True)
class SubsetPValues:
    """exp(price) q**fresh.  Theorem: SUBSET-P-VALUES."""

    fresh: float
    price: float

    def threshold(self, level: Fraction) -> float:
        exponent = (self.price - math.log(float_down(level))) / self.fresh
        return math.exp(-exponent * SAFE) * (1 - MANY)

    def level(self, p_value: float) -> float:
        return _likely(self.fresh * math.log(p_value) + self.price)


def all_rows_exchanged(units: int, epsilon: Fraction) -> SubsetPValues:
    """exp(n epsilon) q: whatever the law of the rows is.  Theorem: MAX-INFORMATION-PURE."""
    return SubsetPValues(1.0, pure_nats(units, epsilon))


@dataclass(frozen=True, slots=True)
class InformationGiven:
    """The p with kl(p || q) = n epsilon**2 / 8, the divergence of the rows given the transcript.

    Source:   derived here.  Theorems: EVENTS-AFTER-INFORMATION, POSTERIOR-P-VALUES.
    """

    units: int
    epsilon: Fraction

    @property
    def _nats(self) -> float:
        return float_up(self.units * self.epsilon**2 / 8)

    def threshold(self, level: Fraction) -> float:
        return threshold_after(level, self._nats)

    def level(self, p_value: float) -> float:
        return level_after(Fraction(p_value), self._nats)


@dataclass(frozen=True, slots=True)
class MutualInformation:
    """On average over transcripts, for bounds on the information that were fixed in advance.

    Claim:    with n mu0**2 / 2 below one of ``_BOUNDS`` times the part of the level that this bound has, the
              threshold is that of the bound.
    Source:   derived here.  Theorem: EVENTS-AFTER-INFORMATION.  Theorem: MUTUAL-INFORMATION-OF-ANSWERS.
    """

    units: int
    radius: Fraction

    _BOUNDS = (1, 2, 8)

    def threshold(self, level: Fraction) -> float:
        each = level / len(self._BOUNDS)
        for bound in self._BOUNDS:
            if self.units * self.radius / 2 <= bound * each:
                return threshold_after(each, float_up(bound * each))
        return 0.0

    def level(self, p_value: float) -> float:
        nats = float_up(self.units * self.radius / 2)
        each = [max(nats / bound, level_after(Fraction(p_value), 0.0, bound)) for bound in self._BOUNDS]
        return min(1.0, len(each) * min(each) * SAFE)


def _likely(exponent: float) -> float:
    return min(1.0, math.exp(min(exponent, 0.0)) * (1 + COARSE))
