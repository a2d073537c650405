"""Gaussian differential privacy and (epsilon, delta), both ways, rounded to the safe side.

Everything here rests on one function, an upper bound of ln delta(epsilon) for mu-GDP.  A number is returned
only after that bound was evaluated at it, or if ``_far_enough`` proves it, so no search breaks a guarantee.

With a = epsilon/mu - mu/2, b = epsilon/mu + mu/2 and Mills' ratio M(t) = (1 - Phi(t)) / phi(t):

    delta = Phi(-a) - e**epsilon Phi(-b) = phi(a) (M(a) - M(b)),
    d delta / d mu = phi(a),     d delta / d epsilon = -phi(a) M(b).

Floats: u = 2**-53 is the rounding of one operation.  We assume that exp, log and erfc of the C library are
within 8 u of the truth, relatively, and erfcx of scipy within 32 u (a test measures erfc 1 u, erfcx 9 u).
Each formula below adds a margin, at least twice its first-order error, to the logarithm.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from adyton.kernel.exact.outward import UNIT_ROUNDOFF
from adyton.kernel.exact.special import special

_ROOT_HALF = math.sqrt(0.5)
_ROOT_HALF_PI = math.sqrt(math.pi / 2)
_LOG_ROOT_TWO_PI = math.log(2 * math.pi) / 2
_SMALL_MU = 0.01  # below it the difference of Mills' ratios is a series, above it a subtraction
_FAR = 37.5  # phi(37.5) / 37.5 < 1e-305
_LEAST_DELTA = 1e-305
_SLACK = 1e-11  # of ln delta: how closely the inverses search
_STEPS = 60


class _LogDelta(NamedTuple):
    log_delta: float  # not below ln delta
    by_epsilon: float  # its slopes, only to steer the search
    by_mu: float


def delta_up(mu: float, epsilon: float) -> float:
    """A number not below the least delta for which mu-GDP implies (epsilon, delta)-DP.

    Claim:    at least delta(epsilon), and at most 1e-9 above it, relatively, for 1e-9 <= mu <= 50,
              0 <= epsilon <= 700 and delta >= 1e-300; smaller deltas are reported as 1e-305 or more.
    Assumes:  the library functions keep the accuracy stated at the top of this file.
    Source:   Dong, Roth, Su 2022, Corollary 1; Balle, Wang 2018.  Theorem: GDP-TO-APPROX.
    """
    if mu <= 0:
        return 0.0
    if epsilon / mu - mu / 2 > _FAR:
        return _LEAST_DELTA
    delta = math.exp(_at(mu, epsilon).log_delta) * (1 + 32 * UNIT_ROUNDOFF)
    return min(1.0, max(delta, _LEAST_DELTA))


def epsilon_up(mu: float, delta: float) -> float:
    """The least epsilon, rounded up, for which mu-GDP implies (epsilon, delta)-DP; ``delta`` is above 0.

    At most 1e-9 (epsilon + mu) above the truth for delta <= 1/2; 0 if that is already enough.
    Newton's method on ln delta, concave in epsilon: from the right it stays on the right, the safe side.
    """
    target = _log_down(delta)
    if mu <= 0 or _at(mu, 0.0).log_delta <= target:
        return 0.0
    highest = mu * _far_enough(delta) + mu * mu / 2
    epsilon = highest
    for _ in range(_STEPS):
        point = _at(mu, epsilon)
        too_low = target - _SLACK - point.log_delta
        if abs(too_low) <= _SLACK:
            return epsilon
        epsilon = min(max(epsilon + too_low / point.by_epsilon, 0.0), highest)
    return highest  # valid by ``_far_enough``, but loose; no test gets here


def mu_down(epsilon: float, delta: float) -> float:
    """The largest mu, rounded down, for which mu-GDP implies (epsilon, delta)-DP; ``delta`` is above 0.

    At most 1e-9 below the truth, relatively, for delta <= 1/2.
    It aims three slacks below the target, so that ``epsilon_up(mu_down(e, d), d)`` is not above ``e``.
    """
    target = _log_down(delta) - 3 * _SLACK
    far = _far_enough(delta)
    lowest = max(delta, 2 * epsilon / (far + math.sqrt(far * far + 2 * epsilon) or 1.0))
    mu = lowest
    for _ in range(_STEPS):
        point = _at(mu, epsilon)
        too_low = target - _SLACK - point.log_delta
        if abs(too_low) <= _SLACK:
            return mu
        mu = max(mu + too_low / point.by_mu, lowest)
    return lowest  # valid by ``_far_enough``, but loose; no test gets here


def _log_down(delta: float) -> float:
    return math.log(delta) * (1 + 32 * UNIT_ROUNDOFF)


def _far_enough(delta: float) -> float:
    """An a that is enough, because delta(epsilon) <= Phi(-a) <= exp(-a**2 / 2) / 2 for a >= 0."""
    return math.sqrt(max(0.0, -2 * math.log(2 * delta)))


def _at(mu: float, epsilon: float) -> _LogDelta:
    centre = epsilon / mu
    a = centre - mu / 2
    if mu < _SMALL_MU:
        return _by_series(mu, centre, a)
    if a < -1:
        return _by_tails(mu, a, centre + mu / 2)
    return _by_subtraction(mu, centre, a, centre + mu / 2)


def _by_series(mu: float, c: float, a: float) -> _LogDelta:
    """M(a) - M(b) = 2 * integral of sinh(mu s / 2) exp(-c s - s**2 / 2) = mu I1 + mu**3 I3 / 24 + ...

    I_k = integral of s**k exp(-c s - s**2 / 2), so I0 = M(c), I1 = 1 - c I0, I3 = (2 + c**2) I1 - c I0.
    """
    i0 = _mills(c)
    i1 = 1 - c * i0
    third = mu * mu / 24 * ((2 + c * c) * i1 - c * i0) / i1
    gap = mu * i1 * (1 + third)
    log_gap = math.log(gap)
    rest = mu**4 / 200  # I5 <= 8 I1, hence the terms from the fifth on are below mu**4 / 239 of the first
    of_i1 = 40 * UNIT_ROUNDOFF / i1  # c I0 <= 1 is known to 40 u
    of_third = mu * mu / 24 * (3 + c * c) * of_i1
    margin = rest + 2 * of_i1 + 2 * of_third + _of_exponent(c, a, log_gap)
    return _LogDelta(_log_phi(a) + log_gap + margin, -i0 / gap, 1 / gap)


def _by_subtraction(mu: float, c: float, a: float, b: float) -> _LogDelta:
    """For a >= -1, where Mills' ratio stays below 3.5."""
    m_a, m_b = _mills(a), _mills(b)
    gap = m_a - m_b
    log_gap = math.log(gap)
    # Relative errors of t are not larger in M(t) for t >= 0, because t |M'| <= M, and 1.3 times for t >= -1.
    margin = 2 * UNIT_ROUNDOFF * (42 + mu) * (m_a + m_b) / gap + _of_exponent(c, a, log_gap)
    return _LogDelta(_log_phi(a) + log_gap + margin, -m_b / gap, 1 / gap)


def _by_tails(mu: float, a: float, b: float) -> _LogDelta:
    """For a < -1, hence mu > 2 and b > 1: no cancellation, because Phi(-a) > 0.84 and phi(a) M(b) < 0.16."""
    phi_a = math.exp(_log_phi(a))
    m_b = _mills(b)
    delta = 0.5 * math.erfc(a * _ROOT_HALF) - phi_a * m_b
    return _LogDelta(math.log(delta) + UNIT_ROUNDOFF * (64 + 4 * mu), -phi_a * m_b / delta, phi_a / delta)


def _of_exponent(c: float, a: float, log_gap: float) -> float:
    """Pays for a (known to u (c + |a|)) in a**2 / 2, for its square, the logarithm and the sums."""
    return 4 * UNIT_ROUNDOFF * (abs(a) * c + a * a + 8 * abs(log_gap) + 8)


def _log_phi(a: float) -> float:
    return -(a * a / 2 + _LOG_ROOT_TWO_PI)


def _mills(t: float) -> float:
    return _ROOT_HALF_PI * float(special().erfcx(t * _ROOT_HALF))
