"""How likely each value of the noise is, in floats: for audits and examples, never for a draw or a price."""

from __future__ import annotations

import math

import numpy as np

from adyton.kernel.exact.special import special
from adyton.kernel.noise.refine import check_scale

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)


def gaussian_tail(sigma: float, m: int) -> float:
    """P(Z >= m), to about 12 digits."""
    check_scale(sigma, "a standard deviation")
    return float(special().ndtr((0.5 - m) / sigma))


def gaussian_pmf(sigma: float, z: int) -> float:
    """P(Z = z), to about 12 digits also far in the tails."""
    return math.exp(gaussian_log_pmf(sigma, z))


def gaussian_log_pmf(sigma: float, z: int) -> float:
    """ln P(Z = z); its error is about 1e-15 of 1 + (z / sigma)**2."""
    check_scale(sigma, "a standard deviation")
    middle, step = abs(z) / sigma, 1 / sigma
    if z == 0:
        return math.log(math.erf(step / math.sqrt(8)))
    if step > 1 or middle * step > 8:
        return _log_difference((0.5 - abs(z)) / sigma, (-0.5 - abs(z)) / sigma)
    return _log_integral(middle, step)


def _log_difference(upper: float, lower: float) -> float:
    """ln(Phi(upper) - Phi(lower)) where the second is at most a small part of the first."""
    larger, smaller = float(special().log_ndtr(upper)), float(special().log_ndtr(lower))
    return larger if math.isinf(smaller) else larger + math.log1p(-math.exp(smaller - larger))


def _log_integral(middle: float, step: float) -> float:
    """ln of the normal density's integral over an interval of length ``step``: nothing cancels."""
    u = _NODES * (step / 2)
    mean = float(_WEIGHTS @ np.exp(-u * (middle + u / 2))) / 2
    return math.log(mean) + math.log(step) - middle * middle / 2 - math.log(2 * math.pi) / 2


def geometric_tail(scale: float, m: int) -> float:
    """P(Z >= m), to about 12 digits."""
    check_scale(scale, "a noise scale")
    if m <= 0:
        return 1 - geometric_tail(scale, 1 - m)
    return math.exp(-m / scale) / (1 + math.exp(-1 / scale))


def geometric_pmf(scale: float, z: int) -> float:
    """P(Z = z), to about 12 digits also far in the tails."""
    return math.exp(geometric_log_pmf(scale, z))


def geometric_log_pmf(scale: float, z: int) -> float:
    """ln P(Z = z); its error is about 1e-15 of 1 + |z| / scale."""
    check_scale(scale, "a noise scale")
    return math.log(math.tanh(0.5 / scale)) - abs(z) / scale
