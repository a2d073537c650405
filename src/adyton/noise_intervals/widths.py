"""Half-widths of noise intervals, and the noise that stays within a half-width."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import singledispatch

import numpy as np

from adyton.arithmetic.ratio import Band
from adyton.arithmetic.search import edge, geometric
from adyton.errors import InvalidRequest
from adyton.kernel.exact import each_of, float_up, floats_up, ratio_up
from adyton.kernel.exact.outward import SAFE
from adyton.kernel.exact.special import special
from adyton.kernel.mechanisms import GaussianNoise, Mechanism, QueryNoise
from adyton.kernel.mechanisms.base import times
from adyton.kernel.mechanisms.grid import NoiseOnAGrid
from adyton.kernel.sensitivity import Sensitivity
from adyton.noise_intervals.proportions import best_proportions, spread, weights_of_worst_mean

PADDED = 6
"""Standard deviations by which a grid goes on beyond the range of a sum and a count whose ratio is asked."""
BEYOND = 2.0**-27
"""More than twice the chance, 2e-9, that normal noise is beyond so many of them."""

_TOO_FINE = (
    "within is smaller than the rounding of the integers that are read, even without noise: "
    "ask for a wider interval, or declare a finer step"
)


# How wide --------------------------------------------------------------------------------------------------


@singledispatch
def ratio_band(mechanism: Mechanism, confidence: float) -> Band:
    """How far noise_1 - ratio * noise_2 may be from 0, with this probability, for noise on two coordinates.

    Unless a kind of noise registers a better one: both noise terms within their own quantiles at once.
    Theorem: NOISE-INTERVAL.
    """
    each = float_up(each_of(confidence, 2))
    top, bottom = (mechanism.at(place).error(each) for place in (0, 1))
    return Band(0.0, 0.0, top, bottom)


@ratio_band.register
def _of_normals(mechanism: GaussianNoise, confidence: float) -> Band:
    """A weighted sum of two normals, and half a step of rounding in each."""
    top, bottom = (_quantile(confidence) * scale * SAFE for scale in floats_up(mechanism.scales))
    return Band(top, bottom, 0.5 * SAFE, 0.5 * SAFE)


@ratio_band.register
def _of_grids(mechanism: NoiseOnAGrid, confidence: float) -> Band:
    """The band of the noise, and how far each number is moved onto its grid."""
    band = ratio_band(mechanism.noise, min(confidence + BEYOND, 1.0))
    top, bottom = (grid.moved * SAFE for grid in mechanism.grids)
    return Band(band.a, band.b, (band.c + top) * SAFE, (band.d + bottom) * SAFE)


def worst_error(mechanism: Mechanism, sensitivity: Sensitivity, confidence: float) -> float:
    """The error of the value that has the most noise: a single coordinate, or a ratio at its far end."""
    if len(mechanism.scales) == 1:
        return mechanism.error(confidence)
    return float(ratio_band(mechanism, confidence)(np.array(largest_ratio(sensitivity))))


def largest_ratio(sensitivity: Sensitivity) -> float:
    """Of a centered sum to its count, where there are two coordinates; rounded up."""
    (_, reach), (step, _) = sensitivity.boxes
    return ratio_up(reach, step)


def padding(noise: GaussianNoise, coordinate: int) -> int:
    """Whole steps that cover ``PADDED`` standard deviations, and the rounding of the noise."""
    return math.ceil(PADDED * float_up(noise.scales[coordinate])) + 1


# Which noise -----------------------------------------------------------------------------------------------


def gaussian_within(sensitivity: Sensitivity, half_width: float, confidence: float) -> GaussianNoise:
    """The most noise whose worst error stays within ``half_width`` (in steps of the exact integer)."""
    z = _quantile(confidence) * SAFE
    weights = weights_of_worst_mean(sensitivity)
    if len(weights) == 1:
        return GaussianNoise((Fraction((math.floor(half_width) + 0.5) / z),))
    room = half_width / SAFE - sum(weights) / 2
    if room <= 0:
        raise InvalidRequest(_TOO_FINE)
    relative = best_proportions(GaussianNoise, sensitivity)
    return GaussianNoise(times(relative, room / (z * spread(GaussianNoise, relative, weights))))


def _searched_within(
    kind: type[QueryNoise], sensitivity: Sensitivity, half_width: float, confidence: float
) -> QueryNoise:
    """The most noise, to nine digits, whose worst error stays within ``half_width``."""
    relative = best_proportions(kind, sensitivity)
    unit = float(max(relative))

    def at(scale: float) -> QueryNoise:
        return kind(times(relative, scale / unit))

    def fits(scale: float) -> bool:
        return worst_error(at(scale), sensitivity, confidence) <= half_width

    quiet, loud = 1e-3, max(1.0, half_width)
    if not fits(quiet):
        raise InvalidRequest(_TOO_FINE)
    return at(edge(fits, quiet, loud, close=1e-9, middle=geometric))


def noise_within(
    kind: type[QueryNoise], sensitivity: Sensitivity, half_width: float, confidence: float
) -> QueryNoise:
    """The most noise of this kind whose worst error stays within ``half_width``."""
    if kind is GaussianNoise:
        return gaussian_within(sensitivity, half_width, confidence)
    return _searched_within(kind, sensitivity, half_width, confidence)


def noise_of_scale(kind: type[QueryNoise], sensitivity: Sensitivity, scale: float) -> QueryNoise:
    """QueryNoise of this standard deviation or scale, at the worst ratio where there are two coordinates."""
    relative = best_proportions(kind, sensitivity)
    return kind(times(relative, scale / spread(kind, relative, weights_of_worst_mean(sensitivity))))


def _quantile(confidence: float) -> float:
    """The z with P(|N| <= z) = confidence."""
    return float(-special().ndtri((1 - confidence) / 2))
