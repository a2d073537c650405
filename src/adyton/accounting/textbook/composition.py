"""Composition of guarantees: what many releases reveal together, by the theorems of the textbooks.

A slot is a guarantee and how many releases have it.  Everything here is a fold over slots, and the number
of releases occurs in one expression, ``slots.fold``, so that no theorem can forget it.  Sums are rational,
hence n charges are exactly one charge of n, in any order.  Every epsilon is rounded up.

The releases may be chosen adaptively; their guarantees are fixed in advance.  For guarantees that are
chosen on the way there are the filters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TypeVar

from adyton.accounting.pld.slots import fold
from adyton.arithmetic.interval import RealInterval, exp, interval, log, sqrt, tanh_half, upper
from adyton.errors import InvalidRequest
from adyton.kernel.accounting.rules import LARGEST_EPSILON, LEAST_DELTA, LEAST_EPSILON
from adyton.kernel.exact import Number, float_up, positive, printed_up, rational
from adyton.kernel.privacy import Guarantee

MOST_TIMES = 10**9  # releases in one slot

Slots = Sequence[tuple[Guarantee, int]]
Slot = TypeVar("Slot")


def same(epsilon: Number, times: int, delta: Number = 0) -> Slots:
    """``times`` releases that are all (epsilon, delta)-DP."""
    return [(Guarantee(positive(epsilon, "epsilon"), rational(delta, "delta")), checked_times(times))]


def basic_total(slots: Slots) -> Guarantee:
    """The sum of the epsilons and the sum of the deltas, exactly.

    Claim:    all releases together are (sum of epsilon_i, sum of delta_i)-DP.
    Assumes:  release i is (epsilon_i, delta_i)-DP whatever was released before it; the noise is fresh.
    Source:   Dwork, Kenthapadi, McSherry, Mironov, Naor 2006; Dwork, Roth 2014, section 3.5.
    Theorem: BASIC-COMPOSITION.
    """
    _check(slots)
    return Guarantee(fold(lambda one: one.epsilon, slots), fold(lambda one: one.delta, slots))


def basic(slots: Slots, delta: Fraction) -> float:
    """The sum of the epsilons; ``delta`` must cover the sum of the deltas.

    Three times 0.1 is 0.3: the float whose decimal, the one that is printed, is not below the exact sum.
    Theorem: BASIC-COMPOSITION.
    """
    together = basic_total(slots)
    if together.delta > delta:
        raise InvalidRequest(
            f"the releases have a delta of {float(together.delta):g} between them, and only {float(delta):g} "
            "is allowed"
        )
    return printed_up(together.epsilon)


def advanced(slots: Slots, delta: Fraction) -> float:
    """The advanced composition of the textbooks, at the total ``delta``, rounded up.

    Claim:    all releases together are (sqrt(2 ln(1/d) sum of e_i**2) + sum of e_i (exp(e_i) - 1), delta)-DP,
              where d = delta - sum of delta_i; for k equal releases sqrt(2 k ln(1/d)) e + k e (exp(e) - 1).
    Assumes:  release i is (e_i, delta_i)-DP whatever was released before it; the e_i are fixed in advance.
    Source:   Dwork, Rothblum, Vadhan 2010; Dwork, Roth 2014, Theorem 3.20.  Theorem: ADVANCED-COMPOSITION.
    """
    return _deviation_and_drift(slots, delta, lambda e: e * (exp(e) - 1))


def strong(slots: Slots, delta: Fraction) -> float:
    """The same with the true mean of the privacy loss: never above ``advanced``.

    Claim:    all releases together are (sqrt(2 ln(1/d) sum of e_i**2) + sum of e_i tanh(e_i / 2), delta)-DP,
              where d = delta - sum of delta_i.
    Assumes:  release i is (e_i, delta_i)-DP whatever was released before it; the e_i are fixed in advance.
    Source:   Kairouz, Oh, Viswanath 2015 (the tighter drift); derived here.  Theorem: STRONG-COMPOSITION.
    """
    return _deviation_and_drift(slots, delta, lambda e: e * tanh_half(e))


def slack(slots: Slots, delta: Fraction) -> Fraction:
    """What is left of ``delta`` when every release has taken its own."""
    _check(slots)
    left: Fraction = checked_delta(delta) - fold(lambda one: one.delta, slots)
    if left < LEAST_DELTA:
        raise InvalidRequest(
            f"delta must be above the {float(delta - left):g} that the releases have between them, and it is "
            f"{float(delta):g}"
        )
    return left


def checked_delta(delta: Fraction) -> Fraction:
    """A delta that a theorem may use: from 1e-300 to below 1."""
    if not LEAST_DELTA <= delta < 1:
        raise InvalidRequest(f"delta must be at least 1e-300 and below 1, not {float(delta):g}")
    return delta


def checked_times(times: int) -> int:
    if isinstance(times, bool) or not isinstance(times, int) or not 1 <= times <= MOST_TIMES:
        raise InvalidRequest("the number of releases must be a whole number from 1 to 10**9")
    return times


def _deviation_and_drift(
    slots: Slots, delta: Fraction, drift: Callable[[RealInterval], RealInterval]
) -> float:
    left = slack(slots, delta)
    squares = fold(lambda one: one.epsilon**2, slots)
    drifts = fold(lambda one: upper(drift(interval(one.epsilon))), slots)
    deviation = sqrt(-2 * log(interval(left)) * interval(squares))
    return float_up(upper(deviation) + drifts)


def checked(slots: Sequence[tuple[Slot, int]]) -> Sequence[tuple[Slot, int]]:
    """At least one, each a number of times that can be composed."""
    for _, times in slots:
        checked_times(times)
    if not slots:
        raise InvalidRequest("there is nothing to compose: give at least one release")
    return slots


def _check(slots: Slots) -> None:
    for one, _ in checked(slots):
        if not LEAST_EPSILON <= one.epsilon <= LARGEST_EPSILON:
            raise InvalidRequest(
                f"the epsilon of a release must be from 1e-9 to {LARGEST_EPSILON}, not {float(one.epsilon):g}"
            )
