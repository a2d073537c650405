"""Optimal composition: the least epsilon that pure guarantees allow together; nothing can be tighter.

Among all epsilon-DP mechanisms randomized response reveals most, so the answer is found from the privacy
loss of randomized responses alone (losses.py).  Where the epsilons differ, the totals are many: mixed.py.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

from adyton.accounting.pld.losses import Losses, binomial_losses
from adyton.accounting.pld.mixed import mixed_losses
from adyton.accounting.textbook.composition import Slots, basic_total, slack
from adyton.arithmetic.interval import interval, lower
from adyton.kernel.exact import float_down, float_up


def optimal(slots: Slots, delta: Fraction) -> float:
    """The least epsilon at which all releases together are (epsilon, delta)-DP, rounded up.

    Claim:    any releases with these guarantees are (epsilon, delta)-DP together; if their epsilons are
              equal, no number that is smaller by more than 1e-9 of it is right for all such releases.
    Assumes:  release i is (epsilon_i, delta_i)-DP whatever was released before it; the guarantees are fixed
              in advance; exp and expm1 of the C library are within 8 u of the truth, relatively.
    Source:   Kairouz, Oh, Viswanath 2015 (The composition theorem for differential privacy).
    Theorem: OPTIMAL-COMPOSITION.
    """
    left = float_down(_pure_delta(slots, delta))
    return _losses(slots, left).epsilon_up(left, float_up(basic_total(slots).epsilon))


def optimal_delta(slots: Slots, epsilon: float) -> float:
    """The least delta at ``epsilon``, rounded up: the privacy profile of pure releases together.

    Theorem: OPTIMAL-COMPOSITION.
    """
    least_sensible = 1e-12
    return min(1.0, _losses(slots, least_sensible).delta_up(epsilon))


def _losses(slots: Slots, delta: float) -> Losses:
    groups = _groups(slots)
    return binomial_losses(*groups[0]) if len(groups) == 1 else mixed_losses(groups, delta)


def _groups(slots: Slots) -> list[tuple[Fraction, int]]:
    """Equal epsilons together and in order, so that n charges are one charge of n."""
    times: Counter[Fraction] = Counter()
    for one, count in slots:
        times[one.epsilon] += count
    return sorted(times.items())


def _pure_delta(slots: Slots, delta: Fraction) -> Fraction:
    """d with 1 - (1 - d) * product of (1 - delta_i) = delta, rounded down.

    A release with a delta_i of its own reveals everything with that probability and is pure otherwise.
    """
    at_least = slack(slots, delta)
    own = [(1 - one.delta, times) for one, times in slots if one.delta]
    if not own:
        return delta
    kept = interval(1)
    for share, times in own:
        kept *= interval(share) ** times
    return max(lower(1 - interval(1 - delta) / kept), at_least)
