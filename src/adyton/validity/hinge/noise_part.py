"""The noise part of the centred hinge theorem: how much of an answer's noise the transcript still hides.

What counts for the population is E[Z_j | T], the noise of answer j as everything released lets one guess it.
By Jensen's inequality its hinge (|.| - u sigma)_+ has no larger mean than that of the noise itself.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

from adyton.errors import InvalidRequest
from adyton.kernel.exact import Number, float_down, float_up, probability, whole
from adyton.kernel.exact.outward import SAFE, STEEP, UP
from adyton.kernel.exact.special import special

_ROOT_HALF = math.sqrt(0.5)
_ROOT_HALF_PI = math.sqrt(math.pi / 2)
_ROOT_TWO_PI = math.sqrt(2 * math.pi)
LEAST_FAILURE = Fraction(1, 10**290)


def gaussian_multiplier(failure: Number, queries: int = 1) -> float:
    """z, rounded up: with probability 1 - ``failure`` no |E[Z_j | T]| of ``queries`` is above z sigma_j.

    Claim:    the union over the queries of |E[Z_j | T]| > z sigma_j has probability at most ``failure``,
              z = min over u >= 0 of u + 2 k G(u) / failure, G(u) = E (N - u)_+.
    Assumes:  noise j is normal, of a standard deviation that earlier answers may choose, and independent of
              the rows and of everything before it.
    Source:   derived here.  Theorem: NOISE-GIVEN-TRANSCRIPT.
    """
    return _multiplier(_share(failure, queries) / 2)


@lru_cache(maxsize=65536)
def _multiplier(tail: Fraction) -> float:
    """min over u of u + G(u) / tail; the best u has P(N > u) = tail, and every u >= 0 is valid.

    G(u) = phi(u) (1 - u M(u)) with Mills' ratio M, and 1 - u M(u) >= 1 / (u**2 + 3).  If exp and erfcx
    are within 64 u0 of the truth, relatively, u0 = 2**-53, then G is within (u**2 + 80 (u**2 + 3)) u0, which
    is 1.3e-11 at the u = 37 of the least tail; the margin, STEEP, is more than seven times as much.
    """
    rate = float_down(tail)
    u = max(0.0, -float(special().ndtri(rate)))
    return (u + _above(u) / rate) * UP


def _above(u: float) -> float:
    """G(u) for 0 <= u <= 37, with the margin of ``_multiplier``."""
    mills = _ROOT_HALF_PI * float(special().erfcx(u * _ROOT_HALF))
    return math.exp(-u * u / 2) / _ROOT_TWO_PI * (1 - u * mills) * (1 + STEEP)


def laplace_threshold(excess: Fraction) -> float:
    """u, rounded up: E (|Z| - u)_+ = exp(-u) is at most ``excess``, Z Laplace noise of scale 1.

    Theorem: CENTRED-HINGE-PLAN.
    """
    if excess < LEAST_FAILURE:
        raise InvalidRequest("noise so large that its excess must be below 1e-290 cannot be certified")
    return max(0.0, math.log(float_up(1 / excess)) * SAFE) if excess < 1 else 0.0


def laplace_multiplier(failure: Number, queries: int = 1) -> float:
    """The same for Laplace noise, in units of its scale b: ln(k / failure) + 1, rounded up.

    E (|Z| - a)_+ = b exp(-a/b), and the best a is b ln(k / failure).  Theorem: NOISE-GIVEN-TRANSCRIPT.
    """
    return (math.log(float_up(1 / _share(failure, queries))) + 1) * SAFE


def _share(failure: Number, queries: int) -> Fraction:
    share = probability(failure, "the failure probability") / whole(queries, "the number of queries")
    if share < LEAST_FAILURE:
        raise InvalidRequest("a failure probability below 1e-290 for one query cannot be certified")
    return share
