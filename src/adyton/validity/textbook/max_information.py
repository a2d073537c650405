"""Max-information: how much likelier anything becomes when the rows are those that the transcript came from.

If the max-information is I nats but for a failure beta, an event of rows and transcript has at most
exp(I) times the probability that it has for fresh rows, plus beta.  Sources count in bits; here it is nats.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from adyton.errors import InvalidRequest
from adyton.kernel.exact import Number, float_up, positive, probability, rational, whole
from adyton.kernel.exact.outward import SAFE, log_up

Joint = Sequence[Sequence[float]]
"""Probabilities of (rows, transcript): a line for each value of the rows."""


def max_divergence(p: Sequence[float], q: Sequence[float], failure: float = 0.0) -> float:
    """D_beta(p || q) in nats: the least I with P(O) <= exp(I) Q(O) + beta for every event O.

    (epsilon, delta)-DP says exactly that it is at most epsilon, both ways, at failure delta.
    Theorem: MAX-INFORMATION.
    """
    if not 0 <= failure < 1:
        raise InvalidRequest(f"a failure probability must be at least 0 and below 1, not {failure}")
    pairs = [(a, b) for a, b in zip(p, q, strict=True) if a > 0]
    pairs.sort(key=lambda pair: pair[0] / pair[1] if pair[1] > 0 else math.inf, reverse=True)
    mass, other = 0.0, 0.0
    for i, (a, b) in enumerate(pairs):  # the best event collects the largest ratios
        mass, other = mass + a, other + b
        below = pairs[i + 1][0] / pairs[i + 1][1] if i + 1 < len(pairs) and pairs[i + 1][1] > 0 else 0.0
        if mass > failure and (other == 0 or (mass - failure) / other >= below):
            return math.log((mass - failure) / other) if other > 0 else math.inf
    return -math.inf


def max_information(joint: Joint, failure: float = 0.0) -> float:
    """I_beta of a joint law on finite sets: the divergence from the product of its margins, in nats.

    Claim:    Pr[(S, T) in O] <= exp(I) Pr[(S', T) in O] + beta, S' fresh; symmetric; not below the mutual
              information at failure 0.
    Assumes:  nothing.
    Source:   Dwork, Feldman, Hardt, Pitassi, Reingold, Roth 2015 (holdout reuse).  Theorem: MAX-INFORMATION.
    """
    rows = [math.fsum(line) for line in joint]
    columns = [math.fsum(column) for column in zip(*joint, strict=True)]
    together = [p for line in joint for p in line]
    apart = [r * c for r in rows for c in columns]
    return max_divergence(together, apart, failure)


def after_processing(information: float) -> float:
    """Processing the transcript adds nothing.  Theorem: MAX-INFORMATION-COMPOSITION."""
    return information


def together(parts: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Adaptive composition: pairs (information, failure) add up, both of them.

    Assumes:  each part is bounded for the law of the rows given all earlier answers, whatever these are.
    Source:   Dwork, Feldman, Hardt, Pitassi, Reingold, Roth 2015.  Theorem: MAX-INFORMATION-COMPOSITION.
    """
    return math.fsum(i for i, _ in parts) * SAFE, math.fsum(b for _, b in parts) * SAFE


def pure_nats(rows: int, epsilon: Number) -> float:
    """epsilon n: the max-information of a pure epsilon-DP mechanism, for any law of the rows, failure 0.

    Source:   Dwork, Feldman, Hardt, Pitassi, Reingold, Roth 2015.  Theorem: MAX-INFORMATION-PURE.
    """
    return float_up(whole(rows, "the number of rows") * positive(epsilon, "epsilon"))


def independent_rows_nats(rows: int, epsilon: Number, failure: Number) -> float:
    """n epsilon**2 / 8 + epsilon sqrt(n ln(1 / beta) / 2): for independent rows, rounded up.

    Claim:    the max-information of a pure epsilon-DP mechanism (replacing a row), but for ``failure`` beta.
    Assumes:  independent rows.
    Source:   derived here.  Theorem: MAX-INFORMATION-INDEPENDENT.
    """
    n, e = whole(rows, "the number of rows"), positive(epsilon, "epsilon")
    spread = math.sqrt(n * log_up(1 / probability(failure, "the failure probability")) / 2)
    sharp = float_up(n * e * e / 8) + float_up(e) * spread
    return min(sharp * SAFE, pure_nats(n, e))


def loose_independent_rows_nats(rows: int, epsilon: Number, failure: Number) -> float:
    """n epsilon**2 / 2 + epsilon sqrt(n ln(2 / beta) / 2), as published.

    Source:   Dwork, Feldman, Hardt, Pitassi, Reingold, Roth 2015.
    Theorem: MAX-INFORMATION-INDEPENDENT.
    """
    n, e = whole(rows, "the number of rows"), positive(epsilon, "epsilon")
    spread = math.sqrt(n * log_up(2 / probability(failure, "the failure probability")) / 2)
    return (float_up(n * e * e / 2) + float_up(e) * spread) * SAFE


def event_bound(fixed: Number, information: float, failure: Number = 0) -> float:
    """exp(I) q + beta, rounded up: for an event that has probability at most q for every fixed transcript.

    Source:   Dwork, Feldman, Hardt, Pitassi, Reingold, Roth 2015.  Theorem: EVENT-INFLATION.
    """
    q, beta = rational(fixed, "the probability"), rational(failure, "the failure probability")
    if not (0 <= q <= 1 and 0 <= beta <= 1 and information >= 0):
        raise InvalidRequest("probabilities must be between 0 and 1, and an information at least 0")
    if information > 700:
        return 1.0
    return min(1.0, (math.exp(information) * float_up(q) + float_up(beta)) * SAFE)


def bits(nats: float) -> float:
    """The unit of the sources: nats times log2(e)."""
    return nats / math.log(2)
