"""How wrong the numbers of the matrix mechanism may be, and sums of them."""

from __future__ import annotations

import math
from functools import singledispatch

import numpy as np

from adyton.kernel.exact import float_up
from adyton.kernel.exact.cells import Floats
from adyton.kernel.exact.outward import COARSE
from adyton.kernel.exact.special import special
from adyton.kernel.noise import two_sided_geometric
from adyton.kernel.special.mechanisms.workloads.measured import GaussianMeasured, GeometricMeasured

_TILTS = np.linspace(0.02, 0.98, 49)  # of how far an exponential moment of geometric noise exists


@singledispatch
def deviation_of(noise: object) -> float:
    """The standard deviation of the noise of one number, in its own units."""
    raise TypeError(f"{type(noise).__name__} is no noise of a strategy")


@singledispatch
def widths_of(noise: object, deviations: Floats, largest: Floats, confidence: float) -> Floats:
    """For combinations with these L2 and L-infinity norms: what their noise stays within, each this often."""
    raise TypeError(f"{type(noise).__name__} is no noise of a strategy")


@singledispatch
def simultaneous_widths(
    noise: object, deviations: Floats, sums: Floats, rank: int, confidence: float
) -> Floats:
    """For combinations with these L2 and L1 norms, chosen after the noise was seen, in a space of this
    dimension: what the noise of all of them stays within at once, with this probability.
    """
    raise TypeError(f"{type(noise).__name__} is no noise of a strategy")


@deviation_of.register
def _gaussian_deviation(noise: GaussianMeasured) -> float:
    """Of the noise of one number, in its own units."""
    return float_up(noise.sigma / noise.steps)


@widths_of.register
def _gaussian_widths(
    noise: GaussianMeasured, deviations: Floats, largest: Floats, confidence: float
) -> Floats:
    """For combinations with these L2 norms: what their noise stays within, each with this probability.

    Theorem: MATRIX-MECHANISM-ERROR.
    """
    z = float(-special().ndtri((1 - confidence) / 2))
    each = z * float_up(noise.sigma) + math.sqrt(noise.strategy.rows) / 2  # half a step of rounding a row
    widths: Floats = deviations * (each / noise.steps * (1 + COARSE))
    return widths


@simultaneous_widths.register
def _gaussian_simultaneous(
    noise: GaussianMeasured, deviations: Floats, sums: Floats, rank: int, confidence: float
) -> Floats:
    """For combinations with these L2 and L1 norms, chosen after the noise was seen, in a space of this
    dimension: what the noise of all of them stays within at once, with this probability.

    Theorem: DERIVED-ANSWERS.
    """
    half, rows, sigma = (1 - confidence) / 2, noise.strategy.rows, float_up(noise.sigma)
    each = sigma * float(-special().ndtri(half / rows / 2)) + 0.5
    whole = sigma * math.sqrt(float(special().chdtri(rank, half))) + math.sqrt(rows) / 2
    widths: Floats = np.minimum(sums * each, deviations * whole) * ((1 + COARSE) / noise.steps)
    return widths


@deviation_of.register
def _geometric_deviation(noise: GeometricMeasured) -> float:
    """Of the noise of one number."""
    return math.sqrt(geometric_variance(float_up(noise.scale)))


@widths_of.register
def _geometric_widths(
    noise: GeometricMeasured, deviations: Floats, largest: Floats, confidence: float
) -> Floats:
    """For combinations with these L2 and L-infinity norms: by the best of some exponential moments.

    Theorem: MATRIX-MECHANISM-ERROR.
    """
    scale, level = float_up(noise.scale), math.log(2 / (1 - confidence))
    q, tilts = math.exp(-1 / scale), _TILTS / scale
    # log E exp(t Z) of one noise, which over t**2 rises with t: so the largest coefficient is the worst.
    moments = 2 * math.log1p(-q) - np.log1p(-q * np.exp(tilts)) - np.log1p(-q * np.exp(-tilts))
    peak = np.maximum(largest, 1e-300)[:, None]
    exponent = (deviations[:, None] / peak) ** 2 * moments + level
    widths: Floats = (exponent * peak / tilts).min(axis=1) * (1 + COARSE)
    return np.where(deviations > 0, widths, 0.0)


@simultaneous_widths.register
def _geometric_simultaneous(
    noise: GeometricMeasured, deviations: Floats, sums: Floats, rank: int, confidence: float
) -> Floats:
    """As ``_gaussian_simultaneous``, from a bound on each noise alone.

    Theorem: DERIVED-ANSWERS.
    """
    each = 1 - (1 - confidence) / noise.strategy.rows
    widths: Floats = sums * (two_sided_geometric.coverage_radius(float_up(noise.scale), each) * (1 + COARSE))
    return widths


def geometric_variance(scale: float) -> float:
    """2 q / (1 - q)**2 with q = exp(-1 / scale)."""
    return 0.5 / math.sinh(0.5 / scale) ** 2 if scale > 1e-2 else 0.0
