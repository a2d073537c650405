"""Intervals from noisy reports: for the people who reported, and for those they were drawn from."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from adyton.arithmetic.search import whole_edge
from adyton.kernel.exact import float_down, float_up
from adyton.kernel.exact.cells import Floats
from adyton.kernel.exact.outward import COARSE, SAFE, UNIT_ROUNDOFF, log_up
from adyton.kernel.exact.special import special
from adyton.kernel.mechanisms.gaussian import GaussianNoise
from adyton.kernel.mechanisms.geometric import GeometricNoise
from adyton.kernel.noise.refine import Integers
from adyton.kernel.special.mechanisms.randomized_response import RandomizedResponse
from adyton.validity.binomial import exact_interval

Interval = tuple[float, float]
_FAR = 7.0  # roots of the number of people: what lies beyond has probability 2 exp(-98) at most
_BEYOND = math.exp(-97)
_HALF = Fraction(1, 2)
_TILTS = np.linspace(0.01, 0.99, 99)  # of the largest tilt at which the moment exists


def share_of_respondents(
    mechanism: RandomizedResponse, count: int, people: int, failure: Fraction
) -> Interval:
    """For the share of ``people`` who hold a category that ``count`` of them reported.

    Claim:    contains the true share with probability at least 1 - failure, whatever the people hold.
    Assumes:  everybody reported once, with independent coins; scipy's incomplete beta and log-gamma functions
              are right to nine digits and to 64 units in the last place.
    Source:   the method of Clopper, Pearson 1934 with the exact law of the count.  Theorem: SURVEY-SHARES.
    """
    half, truth, lie = float_down(failure / 2), mechanism.truth, mechanism.lie

    def too_few(holders: int) -> bool:
        return tail(holders, truth, people - holders, lie, count) <= half

    def too_many(holders: int) -> bool:
        return tail(holders, 1 - truth, people - holders, 1 - lie, people - count) <= half

    low = whole_edge(too_few, -1, people) + 1
    high = 0 if too_many(0) else whole_edge(too_many, people + 1, 0) - 1
    return float_down(Fraction(low, people)), float_up(Fraction(high, people))


def tail(first: int, p: Fraction, second: int, q: Fraction, count: int) -> float:
    """P(X + Y >= count), or a little more: X of ``first`` trials of chance p, Y of ``second`` of chance q.

    A sum over the likely values of X.  The chances and their complements are rounded each by itself.
    """
    middle, reach = first * float(p), _FAR * math.sqrt(first) + 1
    x = np.arange(max(0, math.floor(middle - reach)), min(first, math.ceil(middle + reach)) + 1)
    log, log_p, log_rest = special().gammaln, math.log(p), math.log(1 - p)
    ways = log(first + 1) - log(x + 1) - log(first - x + 1)
    chance = np.exp(ways + x * log_p + (first - x) * log_rest)
    size = 3 * float(log(first + 2)) - first * (log_p + log_rest) + second + len(x)
    margin = 1 + COARSE + 64 * UNIT_ROUNDOFF * size
    return float(chance @ _at_least(count - x, second, q)) * margin + _BEYOND


def _at_least(needed: Integers, trials: int, q: Fraction) -> Floats:
    """P(Y >= needed), Y of so many trials of chance q."""
    inside = np.clip(needed, 1, max(trials, 1))
    rest = trials - inside + 1
    if q <= _HALF:
        enough = special().betainc(inside, np.maximum(rest, 1), float(q))
    else:
        enough = special().betaincc(np.maximum(rest, 1), inside, float(1 - q))
    found: Floats = np.where(needed <= 0, 1.0, np.where(needed > trials, 0.0, enough))
    return found


def share_of_population(
    mechanism: RandomizedResponse, count: int, people: int, failure: Fraction
) -> Interval:
    """For the share of the population that holds a category: a report of it is one exact binomial trial.

    Claim:    contains the true share with probability at least 1 - failure.
    Assumes:  the people are independent draws from the population, and reported once with independent coins.
    Source:   Clopper, Pearson 1934.  Theorem: SURVEY-SHARES.
    """
    low, high = exact_interval(count, people, failure)
    lie, width = mechanism.lie, mechanism.truth - mechanism.lie
    ends = (float_down((Fraction(low) - lie) / width), float_up((Fraction(high) - lie) / width))
    return min(max(ends[0], 0.0), 1.0), min(max(ends[1], 0.0), 1.0)


def noise_of_mean(noise: GaussianNoise | GeometricNoise, people: int, failure: Fraction) -> float:
    """Half of the width, in steps, of an interval for the mean of the whole numbers behind the reports.

    Claim:    the mean of the reports is within it of the mean of the numbers, with probability 1 - failure.
    Assumes:  everybody reported once, with independent noise.
    Source:   of Gaussian noise, rounding adds at most half a step to each; of geometric noise the exponential
              moment.  Theorem: SURVEY-MEANS.
    """
    scale = float_up(noise.scales[0])
    if isinstance(noise, GaussianNoise):
        z = -float(special().ndtri(float_down(failure / 2))) * (1 + COARSE)
        return (z * scale / math.sqrt(people) + 0.5) * SAFE
    level, tilts = log_up(2 / failure) / people, _TILTS / scale
    # ln E exp(t Z) = 2 ln(1 - q) - ln(1 - q e^t) - ln(1 - q e^-t) with q = exp(-1 / scale)
    moments = (
        2 * math.log(-math.expm1(-1 / scale))
        - np.log(-np.expm1(tilts - 1 / scale))
        - np.log(-np.expm1(-tilts - 1 / scale))
    )
    return float(((moments + level) / tilts).min()) * (1 + COARSE)
