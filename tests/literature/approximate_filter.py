"""A filter for releases that have an epsilon and a delta each.

It spends two things: squares of epsilon, against what advanced composition allows, and deltas, against a part
of the study's delta that was set aside for them.  Both sums are exact, and the candidate is included.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from adyton.errors import InvalidRequest, PrivacyRefused
from adyton.kernel.accounting.rules import LEAST_DELTA
from adyton.kernel.exact import UNITS_PER_ONE, Number, float_down, positive, rational, units_down, units_up
from adyton.kernel.exact.outward import UNIT_ROUNDOFF
from adyton.kernel.privacy import Guarantee

DELTA_UNITS = 10**40  # deltas are small: 10**-40 is the coin in which they are counted


@dataclass(frozen=True, slots=True)
class Spent:
    """Units of epsilon**2 (10**-18 each) and of delta (10**-40 each)."""

    squares: int = 0
    deltas: int = 0


@dataclass(frozen=True, slots=True)
class ApproximateFilter:
    """Admits releases while sqrt(2 ln(1/d1) S) + S/2 <= epsilon and D <= d2, candidate included.

    S is the sum of epsilon_i**2 and D the sum of delta_i; d2 = ``set_aside``, and d1 is the rest of delta.

    Claim:    all releases together are (epsilon, d1 + d2)-DP, though queries, epsilon_i and delta_i may
              depend on every earlier answer: the same as if all had been fixed in advance.
    Assumes:  release i is (epsilon_i, delta_i)-DP given everything released before it; the noise is fresh.
    Source:   Whitehouse, Ramdas, Rogers, Wu 2023 (Fully adaptive composition).  Theorem: APPROXIMATE-FILTER.
    """

    guarantee: Guarantee
    set_aside: Fraction = Fraction(0)
    theorems: ClassVar[tuple[str, ...]] = ("APPROXIMATE-FILTER",)

    def __post_init__(self) -> None:
        if not 0 <= self.set_aside < self.guarantee.delta:
            raise InvalidRequest("what is set aside for deltas of releases is at least 0 and below delta")
        if self.guarantee.delta - self.set_aside < LEAST_DELTA:
            raise InvalidRequest("what is left of delta is below the minimum of 1e-300")

    def allowed(self) -> Spent:
        """The most that may be spent, rounded down.

        sqrt(2 l s) + s/2 <= e exactly if sqrt(s) <= sqrt(2 l + 2 e) - sqrt(2 l), here without cancellation.
        """
        epsilon = float_down(self.guarantee.epsilon)
        log_inverse = -math.log(float_down(self.guarantee.delta - self.set_aside)) * (1 + 8 * UNIT_ROUNDOFF)
        root = 2 * epsilon / (math.sqrt(2 * (log_inverse + epsilon)) + math.sqrt(2 * log_inverse))
        squares = units_down(Fraction(root * (1 - 16 * UNIT_ROUNDOFF)) ** 2)
        return Spent(squares, math.floor(self.set_aside * DELTA_UNITS))

    def charge(self, spent: Spent, epsilon: Number, delta: Number = 0) -> Spent:
        """What is spent with one more release; refused, without a trace, if that is too much."""
        price = _price(epsilon, delta)
        total = Spent(spent.squares + price.squares, spent.deltas + price.deltas)
        limit = self.allowed()
        if total.squares > limit.squares or total.deltas > limit.deltas:
            raise PrivacyRefused(
                "this release does not fit into what is left",
                requested=f"epsilon {epsilon}, delta {delta}",
                largest_epsilon=f"{_root_down(max(0, limit.squares - spent.squares)):.6g}",
                left_delta=f"{max(0, limit.deltas - spent.deltas) / DELTA_UNITS:.6g}",
            )
        return total


def _price(epsilon: Number, delta: Number) -> Spent:
    own = rational(delta, "delta")
    if not 0 <= own < 1:
        raise InvalidRequest(f"delta must be at least 0 and below 1, not {delta}")
    square = positive(epsilon, "epsilon") ** 2
    return Spent(max(1, units_up(square)), math.ceil(own * DELTA_UNITS))


def _root_down(units: int) -> float:
    return math.isqrt(units) / math.sqrt(UNITS_PER_ONE)
