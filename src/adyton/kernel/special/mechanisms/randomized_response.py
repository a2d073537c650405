"""Randomized response: each person perturbs the own answer, so that nobody ever holds the truth."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from adyton.errors import InvalidRequest
from adyton.kernel.exact import float_up
from adyton.kernel.exact.outward import SAFE, UNIT_ROUNDOFF, next_up
from adyton.kernel.noise import Bits
from adyton.kernel.noise.refine import Integers
from adyton.kernel.privacy import Guarantee, PureCost
from adyton.kernel.special.mechanisms.coins import exp_bounds

LARGEST_DENOMINATOR = 2**62  # of the chance of the truth: then one word decides
MOST_CATEGORIES = 2**31
LARGEST_EPSILON = Fraction(30)


@dataclass(frozen=True, slots=True)
class RandomizedResponse:
    """Reports a category 0..categories-1 truly with probability ``truth``, else one of the others at random.

    Claim:    epsilon-DP for every single report with epsilon = ln(truth (categories - 1) / (1 - truth)), and
              for all reports of all people together if each person reports once.
    Assumes:  the words of ``bits`` are uniform and independent of everything the analyst has seen.
    Source:   Warner 1965 (two categories); Kairouz, Oh, Viswanath 2014 (more).  Theorem: RANDOMIZED-RESPONSE.
    """

    categories: int
    truth: Fraction
    name: ClassVar[str] = "randomized response"
    theorems: ClassVar[tuple[str, ...]] = ("RANDOMIZED-RESPONSE", "RANDOMIZED-RESPONSE-ESTIMATOR")

    def __post_init__(self) -> None:
        if not 2 <= self.categories <= MOST_CATEGORIES:
            raise InvalidRequest(f"there must be 2 to 2**31 categories, not {self.categories}")
        if not Fraction(1, self.categories) < self.truth < 1:
            raise InvalidRequest(
                f"the chance of the truth must be above 1/{self.categories} (else a report says nothing) "
                "and below 1 (else it hides nothing)"
            )
        if self.truth.denominator > LARGEST_DENOMINATOR:
            raise InvalidRequest("the chance of the truth must have a denominator of at most 2**62")

    @classmethod
    def for_epsilon(cls, epsilon: Fraction, categories: int = 2) -> RandomizedResponse:
        """The most truth, to 60 binary digits, that ``epsilon`` allows."""
        if not 0 < epsilon <= LARGEST_EPSILON:
            raise InvalidRequest(f"epsilon must be above 0 and at most {LARGEST_EPSILON}")
        # Below exp(epsilon), rounding included.
        odds = Fraction(math.exp(float(epsilon)) * (1 - 512 * UNIT_ROUNDOFF))
        truth = Fraction(math.floor(odds / (categories - 1 + odds) * 2**60), 2**60)
        return cls(categories, truth)

    @classmethod
    def for_guarantee(cls, guarantee: Guarantee, categories: int = 2) -> RandomizedResponse:
        """The most truth, to 60 binary digits, that (epsilon, delta) allows.

        Claim:    every single report is (epsilon, delta)-DP, and so are all reports of all people together if
                  each person reports once; with delta = 0 it is that of ``for_epsilon``, but for roundings.
        Assumes:  as RANDOMIZED-RESPONSE.
        Source:   derived here.  Theorem: RANDOMIZED-RESPONSE-WITH-DELTA.
        """
        if not 0 < guarantee.epsilon <= LARGEST_EPSILON:
            raise InvalidRequest(f"epsilon must be above 0 and at most {LARGEST_EPSILON}")
        others, odds = categories - 1, _exp_down(guarantee.epsilon)
        truth = (odds + guarantee.delta * others) / (odds + others)
        return cls(categories, Fraction(math.floor(truth * 2**60), 2**60))

    @classmethod
    def two_coins(cls) -> RandomizedResponse:
        """Heads: the truth.  Tails: whatever a second coin says."""
        return cls(2, Fraction(3, 4))

    @property
    def lie(self) -> Fraction:
        """The chance of each category that is not the truth."""
        return (1 - self.truth) / (self.categories - 1)

    def cost(self) -> PureCost:
        """epsilon, rounded up."""
        return PureCost(_log_up(self.truth / self.lie))

    def delta(self, epsilon: Fraction) -> Fraction:
        """The least delta, rounded up, for which a report is (epsilon, delta)-DP: truth - exp(epsilon) lie.

        Theorem: RANDOMIZED-RESPONSE-WITH-DELTA.
        """
        if epsilon < 0:
            raise InvalidRequest("epsilon must be at least 0")
        return max(Fraction(0), self.truth - _exp_down(epsilon) * self.lie)

    def release(self, values: Sequence[int], bits: Bits) -> list[int]:
        """One report for each person; how many bits are read does not depend on the values."""
        held = np.asarray(values, dtype=np.int64)
        if held.size and not 0 <= held.min() <= held.max() < self.categories:
            raise InvalidRequest(f"a value must be a category, 0 to {self.categories - 1}")
        honest = _below(self.truth.denominator, held.size, bits) < self.truth.numerator
        others = 1 + _below(self.categories - 1, held.size, bits)  # steps to one of the other categories
        reported: list[int] = np.where(honest, held, (held + others) % self.categories).tolist()
        return reported

    def estimate(self, counts: Sequence[int]) -> list[Fraction]:
        """How many people hold each category, from how many reported it.

        Claim:    right on average, whatever the people hold; ``variance`` says how far off.
        Source:   Warner 1965.  Theorem: RANDOMIZED-RESPONSE-ESTIMATOR.
        """
        if len(counts) != self.categories:
            raise InvalidRequest(f"give {self.categories} counts, one for each category")
        people = sum(counts)
        return [(count - people * self.lie) / (self.truth - self.lie) for count in counts]

    def variance(self, holders: int, others: int) -> Fraction:
        """Of the estimated number of holders of a category, where so many people hold it and so many do not.

        Theorem: RANDOMIZED-RESPONSE-ESTIMATOR.
        """
        spread = holders * self.truth * (1 - self.truth) + others * self.lie * (1 - self.lie)
        return spread / (self.truth - self.lie) ** 2

    def error(self, people: int, confidence: float) -> float:
        """What the estimate of one category stays within, with this probability, whatever the people hold.

        Source:   Hoeffding 1963.  Theorem: RANDOMIZED-RESPONSE-ESTIMATOR.
        """
        if not 0 < confidence < 1:
            raise InvalidRequest(f"confidence must be above 0 and below 1, not {confidence}")
        counted = math.sqrt(people * math.log(2 / (1 - confidence)) / 2)
        return counted / float(self.truth - self.lie) * SAFE


def _below(n: int, count: int, bits: Bits) -> Integers:
    """``count`` whole numbers, uniform on 0..n-1, exactly: what does not fit is drawn again."""
    if n == 1:
        return np.zeros(count, dtype=np.int64)
    shift = np.uint64(64 - (n - 1).bit_length())
    drawn = bits.words(count) >> shift
    while (again := np.flatnonzero(drawn >= n)).size:
        drawn[again] = bits.words(again.size) >> shift
    return drawn.view(np.int64)


def _exp_down(epsilon: Fraction) -> Fraction:
    """A rational number not above exp(epsilon), and too small by at most 2**-64 of it up to epsilon = 128."""
    places = 256
    return Fraction(2**places, exp_bounds(epsilon, places)[1])


def _log_up(ratio: Fraction) -> Fraction:
    """A rational number not below ln(ratio), for ratios above 1; libm's log is within 4 u, relatively."""
    return Fraction(next_up(math.log(float_up(ratio)) * (1 + 8 * UNIT_ROUNDOFF)))
