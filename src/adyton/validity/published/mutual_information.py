"""What answers say about the rows, in nats of mutual information, and what follows from it."""

from __future__ import annotations

import math
from typing import Any

from adyton.arithmetic.search import edge, minimise
from adyton.errors import InvalidRequest
from adyton.kernel.exact import Number, probability
from adyton.kernel.exact.outward import SAFE, digits, down, up

_STEPS = 30


def best_exponent(information: float) -> float:
    """min over 0 < l < 1 of (2 I - ln(1 - l)) / l, rounded up; any l is valid.  Searched in m = 1 - l.

    A 4 n-th part of it bounds E[(q(S) - q(P))**2] for a query q that the transcript chose.
    Theorem: MUTUAL-INFORMATION-GAP.
    """

    def value(m: float) -> float:
        return (2 * information - math.log(m)) / (1 - m)

    return value(minimise(value, 1e-18, 1 - 1e-9, _STEPS)) * SAFE


def threshold_after(alpha: Number, information: float) -> float:
    """Reject only if a test's own p-value is at most this: then it errs with probability at most alpha.

    Claim:    if Pr[S in O] <= q for every event O fixed in advance, kl(Pr[S in O(T)] || q) is at most
              ``information``, the mutual information of rows and transcript in nats, unless Pr[S in O(T)] is
              below q.  This is the largest q with kl(alpha || q) >= information, rounded down.
    Assumes:  that information is an upper bound.
    Source:   data processing.  Theorem: EVENTS-AFTER-INFORMATION.
    """
    level = probability(alpha, "alpha")
    mp = digits(50)
    p, room = mp.mpf(level.numerator) / level.denominator, mp.mpf(_nats(information))
    least = mp.mpf(10) ** -300
    if _kl(mp, p, least) < room:
        return 0.0
    # kl grows as q falls, so ``low`` is never above the solution
    low = edge(lambda q: bool(_kl(mp, p, q) >= room), least, p, middle=lambda a, b: mp.sqrt(a * b))
    return down(low * (1 - mp.mpf(10) ** -20))


def level_after(p_value: Number, information: float, times: int = 0) -> float:
    """The other way round: the least alpha at which such a p-value would be significant, rounded up.

    The p above q, the p-value, with kl(p || q) equal to ``information`` and so many ``times`` p.
    Theorem: EVENTS-AFTER-INFORMATION.
    """
    level = probability(p_value, "a p-value")
    mp = digits(50)
    q, room = mp.mpf(level.numerator) / level.denominator, mp.mpf(_nats(information))
    if -mp.log(q) <= room + times:
        return 1.0
    # kl(p || q) - times p is convex and not above 0 at q, so ``high`` is never below the solution
    high = edge(lambda p: bool(_kl(mp, p, q) >= room + times * p), mp.mpf(1), q)
    return min(1.0, up(high * (1 + mp.mpf(10) ** -20)))


def _kl(mp: Any, p: Any, q: Any) -> Any:
    """p ln(p/q) + (1 - p) ln((1 - p)/(1 - q))."""
    rest = (1 - p) * mp.log((1 - p) / (1 - q)) if p < 1 else 0
    return p * mp.log(p / q) + rest


def _nats(information: float) -> float:
    if not (math.isfinite(information) and information >= 0):
        raise InvalidRequest(f"an information must be finite and at least 0, not {information}")
    return information
