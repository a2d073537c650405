"""Equal noise for a fixed number of queries: the centred hinge theorem without a split of the failure.

The noise and the stability part both get the whole failure probability, because Markov's inequality is used
once, on the sum of their hinges.  With A = z sqrt(k) / (2 n) the half-width at mu0 is A / mu0 + t2(mu0), and
the noise that belongs to it is sigma = sqrt(k) / (2 n mu0): so all searches are over mu0 alone.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

from adyton.arithmetic.search import largest_that_holds, least_that_holds, minimise
from adyton.errors import InvalidRequest
from adyton.kernel.exact import Number, float_down, float_up, positive, probability, whole
from adyton.kernel.exact.outward import square_root_up
from adyton.validity.hinge.noise_part import gaussian_multiplier
from adyton.validity.hinge.stability import LARGEST_MU, balanced_mu, stability_width
from adyton.validity.plans.noise_plan import MOST
from adyton.validity.published.jung import NoisyWidth

_STEPS = 32  # golden sections


def joint_width(rows: int, queries: int, failure: Number, scale: float | None = None) -> NoisyWidth:
    """The half-width for ``queries`` adaptive queries, rounded up; the best noise if ``scale`` is None.

    Claim:    Pr[some |a_j - q_j(P)| > tolerance] <= failure for k queries q_j with values in [0, 1], each
              chosen from the answers before it and answered by its mean over the rows plus N(0, scale**2).
    Assumes:  rows are independent draws; the noise is fresh; queries and scale are fixed in advance;
              everything that was released about the rows is among the answers.
    Source:   derived here.  Theorem: CENTRED-HINGE-JOINT.
    """
    n, k = whole(rows, "the number of rows"), whole(queries, "the number of queries")
    share = probability(failure, "the failure probability")
    sigma = _best_scale(n, k, share) if scale is None else scale
    if not (math.isfinite(sigma) and sigma > 0):
        raise InvalidRequest(f"the scale of the noise must be finite and above 0, not {sigma}")
    mu0 = square_root_up(Fraction(k) / (2 * n * Fraction(sigma)) ** 2)
    noise = float_up(Fraction(sigma) * Fraction(gaussian_multiplier(share, k)))
    stability = stability_width(mu0, share)
    total = math.inf if math.isinf(stability) else float_up(Fraction(noise) + Fraction(stability))
    return NoisyWidth(total, sigma)


@lru_cache(maxsize=4096)
def _best_scale(rows: int, queries: int, failure: Fraction) -> float:
    """The standard deviation with about the least half-width; any other would be valid too."""
    k_root = math.sqrt(queries)
    factor = gaussian_multiplier(failure, queries) * k_root / (2 * rows)
    return k_root / (2 * rows * balanced_mu(factor, failure))


def joint_queries(rows: int, tolerance: Number, failure: Number) -> tuple[int, float | None]:
    """The most queries that ``joint_width`` certifies within ``tolerance``, and the noise for them.

    Each is certified by ``joint_width`` before it is returned.  Theorem: CENTRED-HINGE-JOINT.
    """
    n, share = whole(rows, "the number of rows"), probability(failure, "the failure probability")
    within = positive(tolerance, "the tolerance")
    mu0, room = _roomiest(within, share)
    found = largest_that_holds(lambda k: gaussian_multiplier(share, k) * math.sqrt(k) <= 2 * n * room, MOST)
    while found:
        sigma = math.sqrt(found) / (2 * n * mu0)
        if joint_width(n, found, share, sigma).tolerance <= within:
            return found, sigma
        found -= 1 + found // 10**9  # roundings only
    return 0, None


def joint_rows(queries: int, tolerance: Number, failure: Number) -> tuple[int | None, float | None]:
    """The fewest rows for which ``queries`` are certified within ``tolerance``, and the noise for them."""
    k, share = whole(queries, "the number of queries"), probability(failure, "the failure probability")
    within = positive(tolerance, "the tolerance")
    mu0, room = _roomiest(within, share)
    need = gaussian_multiplier(share, k) * math.sqrt(k)
    found = least_that_holds(lambda n: need <= 2 * n * room, MOST)
    while found is not None and found <= MOST:
        sigma = math.sqrt(k) / (2 * found * mu0)
        if joint_width(found, k, share, sigma).tolerance <= within:
            return found, sigma
        found += 1 + found // 10**9
    return None, None


@lru_cache(maxsize=4096)
def _roomiest(tolerance: Fraction, failure: Fraction) -> tuple[float, float]:
    """The mu0 with the most room for noise, mu0 (tolerance - t2(mu0)), and how much that is."""
    within = float_down(tolerance)

    def room(mu: float) -> float:
        return mu * (within - stability_width(mu, failure))

    highest = min(within, LARGEST_MU)  # t2 is above mu0 already for a failure of 1/10
    mu0 = minimise(lambda mu: -room(mu), highest / 1000, highest, _STEPS)
    return mu0, max(0.0, room(mu0))
