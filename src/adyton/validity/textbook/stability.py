"""Three ways to say that a mechanism says nearly the same of two tables that differ in one row.

Total variation, relative entropy (KL) and the multiplicative distance: each survives post-processing, adds up
under adaptive composition, and bounds how far what was asked can be from the population.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from adyton.errors import InvalidRequest
from adyton.kernel.exact import whole
from adyton.kernel.exact.outward import SAFE

Law = Sequence[float]


def total_variation(p: Law, q: Law) -> float:
    """The most by which the probabilities of an event differ; half the L1 distance."""
    return math.fsum(abs(a - b) for a, b in _pairs(p, q)) / 2


def relative_entropy(p: Law, q: Law) -> float:
    """KL(p || q) in nats; infinite where q is 0 and p is not."""
    if any(a > 0 and b == 0 for a, b in _pairs(p, q)):
        return math.inf
    entropy = math.fsum(a * math.log(a / b) for a, b in _pairs(p, q) if a > 0)
    return max(0.0, entropy)  # laws in floats may sum to a hair less than 1


def multiplicative_distance(p: Law, q: Law) -> float:
    """The largest |ln(p(x) / q(x))|: the epsilon of pure differential privacy for one pair of tables."""
    if any((a > 0) != (b > 0) for a, b in _pairs(p, q)):
        return math.inf
    return max((abs(math.log(a / b)) for a, b in _pairs(p, q) if a > 0), default=0.0)


def guess_right(tv: float) -> float:
    """The chance to guess which of two laws a draw came from, each as likely before: (1 + TV) / 2.

    It is 1/2, not 0, where the laws overlap completely.  Theorem: STABILITY-DISTANCES.
    """
    return (1 + _distance(tv)) / 2


def tv_from_multiplicative(epsilon: float) -> float:
    """tanh(epsilon / 2): the largest total variation at this multiplicative distance, rounded up.

    Claim:    tight; often taught: (exp(epsilon) - 1) / 2, which is 0.859 instead of 0.462 at epsilon = 1.
    Assumes:  nothing.   Source:   derived here.  Theorem: STABILITY-DISTANCES.
    """
    return min(1.0, math.tanh(_distance(epsilon) / 2) * SAFE)


def kl_from_multiplicative(epsilon: float) -> float:
    """epsilon tanh(epsilon / 2): the largest relative entropy at this multiplicative distance, rounded up.

    Claim:    tight; often taught: epsilon (exp(epsilon) - 1), which is 1.718 instead of 0.462 at epsilon = 1.
    Assumes:  nothing.   Source:   Bun, Steinke 2016.  Theorem: STABILITY-DISTANCES.
    """
    return _distance(epsilon) * math.tanh(epsilon / 2) * SAFE


def tv_from_kl(kl: float) -> float:
    """sqrt(KL / 2), rounded up.   Source:   Pinsker 1964.  Theorem: STABILITY-DISTANCES."""
    return min(1.0, math.sqrt(_distance(kl) / 2) * SAFE)


def composed(stabilities: Sequence[float]) -> float:
    """The stability of several mechanisms, each chosen from the answers before it: the sum, for all three.

    Source:   derived here.  Theorem: STABILITY-COMPOSITION.
    """
    return math.fsum(_distance(s) for s in stabilities) * SAFE


def gap_of_one_query(tv: float) -> float:
    """|E[q(S) - q(P)]| <= TV, for a query that a mechanism of this stability chose from the rows.

    Claim:    the expectation is over the rows and over the mechanism's own coins.
    Assumes:  independent, identically distributed rows; values in [0, 1].
    Source:   Bassily, Nissim, Smith, Steinke, Stemmer, Ullman 2016.  Theorem: STABLE-QUERIES.
    """
    return min(1.0, _distance(tv))


def expected_error(tv: float, empirical: float) -> float:
    """E max over j of |a_j - q_j(P)| <= TV + empirical, if E max |a_j - q_j(S)| <= empirical.

    No term for sampling is missing: which query is worst, and on which side, is post-processing.
    Theorem: STABLE-QUERIES.
    """
    return (_distance(tv) + _distance(empirical)) * SAFE


def expected_overfit(tv: float, rows: int, queries: int) -> float:
    """E max over j of |q_j(S) - q_j(P)| <= TV + sqrt(ln(2k) / (2n)), rounded up.

    Claim:    for k queries chosen together by a mechanism of this stability.
    Assumes:  independent, identically distributed rows; values in [0, 1].
    Source:   derived here.  Theorem: STABLE-QUERIES.
    """
    n, k = whole(rows, "the number of rows"), whole(queries, "the number of queries")
    return (_distance(tv) + math.sqrt(math.log(2 * k) / (2 * n))) * SAFE


def _pairs(p: Law, q: Law) -> list[tuple[float, float]]:
    if len(p) != len(q):
        raise InvalidRequest("two laws need the same outcomes")
    return list(zip(p, q, strict=True))


def _distance(value: float) -> float:
    if not value >= 0:
        raise InvalidRequest(f"a distance must be at least 0, not {value}")
    return value
