"""How far below the best a selected candidate may lie: upper bounds on probabilities, rounded up."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import singledispatch
from typing import Any

from adyton.arithmetic.search import whole_edge
from adyton.errors import InvalidRequest
from adyton.kernel.exact import Number, each_of, float_up, ratio_down, rational
from adyton.kernel.exact.outward import SAFE
from adyton.kernel.exact.special import special
from adyton.kernel.mechanisms.gaussian import GaussianNoise
from adyton.kernel.mechanisms.geometric import GeometricNoise
from adyton.kernel.special.mechanisms.coins import exp_bounds
from adyton.kernel.special.mechanisms.selection.exponential import ExponentialMechanism
from adyton.kernel.special.mechanisms.selection.permute_and_flip import PermuteAndFlip
from adyton.kernel.special.mechanisms.selection.top_k import TopK

_DARKEST = 2048  # an exponent beyond it is not worked out: exp(-x) < 2**-2048 will do
_LEAST_FAILURE = Fraction(1, 2**1000)
_FARTHEST = 37  # standard deviations: beyond it floats of the normal tail lose their digits


@singledispatch
def shortfall_of(selection: Any, confidence: Number) -> int:
    """How far below the best the released score is at most, with this probability.

    Of several that are released: the j-th is at most so far below the j-th best, for all j at once.
    """
    error: int = selection.error(confidence)  # of a selection that works it out itself
    return error


@shortfall_of.register(ExponentialMechanism)
def _of_exponential(selection: ExponentialMechanism[Any], confidence: Number) -> int:
    """Theorem: EXPONENTIAL-UTILITY."""
    rate, number = selection.rate, len(selection.candidates)
    return largest_shortfall(lambda c: exponential_chance(rate, Fraction(c), number), confidence)


@shortfall_of.register(PermuteAndFlip)
def _of_flips(selection: PermuteAndFlip[Any], confidence: Number) -> int:
    """Theorem: PERMUTE-AND-FLIP-UTILITY."""
    rate, number = selection.rate, len(selection.candidates)
    return largest_shortfall(lambda c: flip_chance(rate, Fraction(c), number), confidence)


@shortfall_of.register(TopK)
def _of_top_k(selection: TopK[Any], confidence: Number) -> int:
    """Theorem: TOP-K-UTILITY."""
    rate, number = selection.rate, len(selection.candidates)
    chance = flip_chance if selection.flips else exponential_chance
    return largest_shortfall(lambda c: chance(rate, Fraction(c), number), each_of(confidence, selection.k))


def exponential_chance(rate: Fraction, shortfall: Fraction, candidates: int, best: int = 1) -> Fraction:
    """Of the exponential mechanism returning a score of at most the best less ``shortfall``.

    Claim:    P <= B / (best + B) with B = (candidates - best) * exp(-rate * shortfall), where ``best``
              candidates have the highest score.  Equality where all others have the same shortfall.
    Assumes:  shortfall > 0; rate = epsilon over the span of the scores.
    Source:   McSherry, Talwar 2007, with the normalising sum kept.  Theorem: EXPONENTIAL-UTILITY.
    """
    weight = (candidates - best) * exp_up(rate * shortfall)
    return weight / (best + weight)


def classical_chance(rate: Fraction, shortfall: Fraction, candidates: int, best: int = 1) -> Fraction:
    """The textbook's bound on the same chance: (candidates / best) * exp(-rate * shortfall).

    Claim:    P <= exp(-t) at a shortfall of (ln(candidates / best) + t) / rate.
    Source:   McSherry, Talwar 2007; Dwork, Roth 2014, Theorem 3.11.  Theorem: EXPONENTIAL-UTILITY.
    """
    return Fraction(candidates, best) * exp_up(rate * shortfall)


def flip_chance(rate: Fraction, shortfall: Fraction, candidates: int, best: int = 1) -> Fraction:
    """The same chance for permute-and-flip: never above the exponential mechanism's, at best half of it.

    Claim:    P <= (candidates - best) * exp(-rate * shortfall) / (best + 1).
    Source:   derived on the theorem's page.  Theorem: PERMUTE-AND-FLIP-UTILITY.
    """
    direct = (candidates - best) * exp_up(rate * shortfall) / (best + 1)
    return min(direct, exponential_chance(rate, shortfall, candidates, best))


def noisy_max_chance(scale: Fraction, shortfall: int, candidates: int) -> Fraction:
    """The same chance for report noisy max with two-sided geometric noise.

    Claim:    P <= (candidates - 1) * P(Z - Z' >= shortfall), Z and Z' two noise terms; that tail is
              q**c / (1 + q)**2 * ((c + 1) * (1 - q) + q + 2 * q**2 / (1 + q)) with q = exp(-1 / scale).
    Source:   derived on the theorem's page.  Theorem: NOISY-MAX-UTILITY.
    """
    places = 256
    low, high = (Fraction(end, 2**places) for end in exp_bounds(1 / scale, places))
    tail = ((shortfall + 1) * (1 - low) + high + 2 * high**2 / (1 + low)) / (1 + low) ** 2
    return (candidates - 1) * exp_up(shortfall / scale) * tail


def noisy_order_chance(
    noise: GaussianNoise | GeometricNoise, shortfall: int, candidates: int, k: int
) -> Fraction:
    """Of the k largest of noisy values falling short anywhere: the j-th by ``shortfall`` of the j-th best.

    Claim:    P <= k * (candidates - 1) * P(Z - Z' >= shortfall), Z and Z' two noise terms; of rounded normal
              ones that tail is at most PhiBar((shortfall - 1) / (sqrt(2) * sigma)).
    Source:   derived on the theorem's page.  Theorem: NOISY-ORDER.
    """
    (scale,) = noise.scales
    if isinstance(noise, GeometricNoise):
        return k * noisy_max_chance(scale, shortfall, candidates)
    apart = ratio_down(shortfall - 1, 1) / (math.sqrt(2) * float_up(scale) * SAFE)
    return k * (candidates - 1) * Fraction(float(special().ndtr(-min(apart, _FARTHEST))) * SAFE)


def largest_shortfall(chance: Callable[[int], Fraction], confidence: Number) -> int:
    """The least c with chance(c + 1) <= 1 - confidence: the score is at most c below the best, this often."""
    failure = 1 - rational(confidence, "confidence")
    if not _LEAST_FAILURE <= failure < 1:
        raise InvalidRequest(f"confidence must be above 0 and below 1, not {confidence}")
    enough = 1
    while chance(enough) > failure:
        enough *= 2
    return whole_edge(lambda shortfall: chance(shortfall) <= failure, enough, enough // 2) - 1


def exp_up(x: Fraction) -> Fraction:
    """A rational number not below exp(-x), and too large by at most 2**-60 of it while x <= 2048."""
    x = min(x, Fraction(_DARKEST))
    places = 64 + math.ceil(3 * x / 2)
    return Fraction(exp_bounds(x, places)[1], 2**places)
