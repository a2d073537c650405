"""Max-divergence of two laws on finitely many outputs, exactly: differential privacy as a distance.

D_inf(P, Q) is the largest ln P(x)/Q(x), and with a delta the largest ln (P(S) - delta)/Q(S) over events S.
A mechanism is (epsilon, delta)-DP exactly if the second, in nats, is at most epsilon on all neighbors,
both ways. Lectures measure it in bits: epsilon log2(e).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Literal

from adyton.arithmetic.interval import interval, log, upper
from adyton.errors import InvalidRequest
from adyton.kernel.exact import Number, float_up, rational

Unit = Literal["nats", "bits"]


def max_divergence(
    first: Sequence[Number], second: Sequence[Number], delta: Number = 0, unit: Unit = "nats"
) -> float:
    """The (approximate) max-divergence of ``first`` from ``second``, rounded up; it may be infinite.

    Claim:    the least D with P(S) <= exp(D) Q(S) + delta for every event S; 2**D in bits.
    Assumes:  the probabilities are exact and each list sums to 1.
    Source:   Dwork, Rothblum, Vadhan 2010; Dwork, Roth 2014, section 3.5.1.  Theorem: MAX-DIVERGENCE.
    """
    if unit not in ("nats", "bits"):
        raise InvalidRequest(f"a divergence is measured in nats or bits, not {unit!r}")
    ratio = largest_ratio(first, second, delta)
    if ratio is None:
        return math.inf
    nats = log(interval(ratio))
    return float_up(upper(nats if unit == "nats" else nats / log(interval(2))))


def largest_ratio(first: Sequence[Number], second: Sequence[Number], delta: Number = 0) -> Fraction | None:
    """The largest (P(S) - delta) / Q(S) over events S, exactly; None if it is infinite.

    It is the least c with sum of max(0, P(x) - c Q(x)) <= delta.  That sum is a falling chain of straight
    lines with corners at the ratios P(x)/Q(x); the line through the right corner is solved for c.  Theorem:
    MAX-DIVERGENCE.
    """
    p, q, spare = _law(first), _law(second), rational(delta, "delta")
    if len(p) != len(q):
        raise InvalidRequest("both laws need the same outputs")
    if not 0 <= spare < 1:
        raise InvalidRequest(f"delta must be at least 0 and below 1, not {delta}")
    weight, against = sum((a for a, b in zip(p, q, strict=True) if not b), Fraction(0)), Fraction(0)
    if weight > spare:
        return None
    outputs = sorted(((a / b, a, b) for a, b in zip(p, q, strict=True) if b), reverse=True)
    for ratio, a, b in outputs:
        if against and weight - ratio * against > spare:
            break  # the answer is above this corner
        weight, against = weight + a, against + b
    return (weight - spare) / against


def _law(masses: Sequence[Number]) -> list[Fraction]:
    law = [rational(mass, "a probability") for mass in masses]
    if not law or min(law) < 0 or sum(law) != 1:
        raise InvalidRequest("the probabilities of a law are at least 0 and sum to 1 exactly")
    return law
