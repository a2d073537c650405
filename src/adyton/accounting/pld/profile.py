"""delta(epsilon) of a sum of losses on a lattice and one Gaussian, from above.

delta(epsilon) = E max(0, 1 - exp(epsilon - L)).  With the tilted law of the lattice part and y = l - epsilon,

    delta = exp(log_scale - theta epsilon) * sum of mass * weight,   weight = exp(-theta y) (1 - exp(-y)),

over y > 0.  With a Gaussian part the bracket becomes delta of mu-GDP at -y, for y of either sign, and
exp(-theta (theta + 1) mu**2 / 2) keeps weights at most 1.  With a = -y/mu - mu/2, b = a + mu, Mills' ratio M,
that delta is phi(a) (M(a) - M(b)); the margins and what they assume are those of accounting/gaussian.py.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from adyton.accounting.pld.convolve import Total
from adyton.accounting.pld.lattice import Array
from adyton.kernel.exact.outward import COARSE, UNIT_ROUNDOFF
from adyton.kernel.exact.special import special

_ROOT_HALF = math.sqrt(0.5)
_ROOT_HALF_PI = math.sqrt(math.pi / 2)
_LARGEST_EXPONENT = 690.0
_LEAST_DELTA = 1e-300
_FAR = 40.0
_LOG_ROOT_TWO_PI = math.log(2 * math.pi) / 2


@dataclass(frozen=True, slots=True, eq=False)
class Profile:
    """The whole of a composition, ready to be asked for delta at any epsilon."""

    total: Total
    step: float
    theta: float
    mu: float
    infinite: float  # the sum of what no finite loss explains
    largest: float  # no finite loss of the lattice part is above it

    @property
    def gaussian_scale(self) -> float:
        """ln E exp(theta L) of the Gaussian part."""
        return self.theta * (self.theta + 1) * self.mu * self.mu / 2

    @property
    def practical_end(self) -> float:
        """A loss that is hardly ever passed; without a Gaussian part, never."""
        return self.largest + _far_gaussian(self.mu)

    def chernoff(self, delta: float) -> float:
        """Where the search for epsilon begins: Chernoff's bound with this tilt, or the end."""
        return min((self._exponent(0.0) - math.log(delta)) / self.theta, self.practical_end)

    def delta_up(self, epsilon: float) -> float:
        """Claim: not below delta(epsilon) of the composition.  Theorem: PLD-ROUND-OFF."""
        unexplained = min(1.0, self.infinite * (1 + 4 * UNIT_ROUNDOFF))
        exponent = self._exponent(epsilon)
        if self.mu == 0 and epsilon >= self.largest:
            return unexplained
        if exponent > _LARGEST_EXPONENT:
            return 1.0
        losses, masses = self._relevant(epsilon)
        weights = self._weights(losses - epsilon, 1.0)
        tilted = _dot(masses, weights) + self.total.absolute * _norm(weights) + self.total.outside
        factor = math.exp(max(exponent, -_LARGEST_EXPONENT) + self._relative(losses, epsilon))
        return min(1.0, max(factor * tilted, _LEAST_DELTA) + unexplained)

    def _relevant(self, epsilon: float) -> tuple[Array, Array]:
        """Losses and masses that can count; without a Gaussian only losses above epsilon do."""
        total = self.total
        below = math.floor(epsilon / self.step) - 1 - total.first
        skip = 0 if self.mu else min(max(0, below), len(total.masses))
        indices = np.arange(total.first + skip, total.first + len(total.masses), dtype=np.float64)
        return indices * self.step, total.masses[skip:]

    def _weights(self, y: Array, side: float) -> Array:
        if self.mu == 0:
            above = np.maximum(y, 0.0)
            return np.asarray(np.exp(-self.theta * above) * -np.expm1(-above))
        return np.exp(np.minimum(_log_gdp(self.mu, -y, side) - self.theta * y - self.gaussian_scale, 1e-9))

    def _exponent(self, epsilon: float) -> float:
        return self.total.log_scale + self.gaussian_scale - self.theta * epsilon

    def _relative(self, losses: Array, epsilon: float) -> float:
        """For the masses, the exponents, and a sum of so many terms."""
        farthest = abs(epsilon) + float(np.abs(losses[[0, -1]]).max()) if len(losses) else abs(epsilon)
        exponents = 8 * self.theta * farthest + 8 * self.gaussian_scale + 4 * abs(self.total.log_scale)
        return self.total.relative + (64 + 2 * len(losses) + exponents) * UNIT_ROUNDOFF


def _far_gaussian(mu: float) -> float:
    """A loss that mu-GDP passes with a probability below 1e-300."""
    return mu * (_FAR + mu)


def _dot(a: Array, b: Array) -> float:
    """Not ``@``, which wakes threads for arrays of this size and waits for them."""
    return float(np.sum(a * b))


def _norm(weights: Array) -> float:
    return math.sqrt(_dot(weights, weights)) * (1 + COARSE)


def _log_gdp(mu: float, x: Array, side: float) -> Array:
    """ln delta of mu-GDP at epsilon = x of either sign: from above for side = 1, from below for side = -1."""
    c = x / mu
    a, b = c - mu / 2, c + mu / 2
    far = a >= -1
    result = np.empty_like(x)
    result[far] = _by_mills(mu, c[far], a[far], b[far], side)
    result[~far] = _by_tails(mu, x[~far], a[~far], b[~far], side)
    return result


def _by_mills(mu: float, c: Array, a: Array, b: Array, side: float) -> Array:
    """For a >= -1.  M is convex, so M(a) - M(b) <= -mu M'(a), which helps where the subtraction cancels."""
    m_a, m_b = _mills(a), _mills(b)
    gap = m_a - m_b + side * 2 * UNIT_ROUNDOFF * (42 + mu) * (m_a + m_b)
    if side > 0:
        gap = np.minimum(gap, mu * (1 - a * m_a + 80 * UNIT_ROUNDOFF * (1 + np.abs(a) * m_a)))
    log_gap = np.log(np.maximum(gap, 1e-300))
    margin = 4 * UNIT_ROUNDOFF * (np.abs(a * c) + a * a + 8 * np.abs(log_gap) + 8)
    return np.asarray(-(a * a / 2 + _LOG_ROOT_TWO_PI) + log_gap + side * margin)


def _by_tails(mu: float, x: Array, a: Array, b: Array, side: float) -> Array:
    """For a < -1: a difference of two numbers of at most 1."""
    second = np.exp(x + special().log_ndtr(-b))
    margin = UNIT_ROUNDOFF * (128 + 8 * np.abs(x) + 8 * mu)
    delta = special().ndtr(-a) - second + side * margin
    return np.asarray(np.log(np.maximum(delta, 1e-300)))


def _mills(t: Array) -> Array:
    return np.asarray(_ROOT_HALF_PI * special().erfcx(t * _ROOT_HALF))
