"""How the noise of several coordinates is best proportioned: the least error for a cost.

Privacy does not rest on it: the kernel prices the scales that come out, whatever they are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TypeVar

from adyton.kernel.exact import ratio_up
from adyton.kernel.mechanisms import QueryNoise
from adyton.kernel.sensitivity import Sensitivity

Scales = tuple[Fraction, ...]
_Noise = TypeVar("_Noise", bound=QueryNoise)

# A shade above what makes it as dear to change a value as to leave out a row: then the sums alone decide.
# By the number of sums: for L1 exactly, and for L2.
_LOUDER_SUMS = {
    1: (Fraction(18817, 10864),),  # the square root of 3
    2: (Fraction(9, 8), Fraction(17734, 10000)),
    5: (Fraction(7, 3), Fraction(26458, 10000)),  # the square root of 7
}


def noise_for_cost(kind: type[_Noise], sensitivity: Sensitivity, cost: Fraction) -> _Noise:
    """The least noise of this kind that costs at most so much: mu**2 of Gaussian noise, else epsilon."""
    return kind.for_cost(sensitivity, cost, best_proportions(kind, sensitivity))


def best_proportions(kind: type[QueryNoise], sensitivity: Sensitivity) -> Scales:
    """The proportions with the least error at a given cost."""
    weights, power = weights_of_worst_mean(sensitivity), 2 if kind.gaussian else 1

    def error(relative: Scales) -> float:
        moved = sensitivity.l2_diameter_squared if kind.gaussian else sensitivity.l1_diameter
        return float(moved(relative)) * spread(kind, relative, weights) ** power

    return min(relative_scales(sensitivity), key=error)


def spread(kind: type[QueryNoise], scales: Scales, weights: Sequence[float]) -> float:
    """Of the weighted sum of all noise; if that is geometric, at most."""
    each = [w * float(s) for w, s in zip(weights, scales, strict=True)]
    return math.hypot(*each) if kind.gaussian else sum(each)


def relative_scales(sensitivity: Sensitivity) -> list[Scales]:
    """How the noise of several coordinates may be proportioned; the cheapest for its error is chosen.

    A centred sum and a count: equal shares, or more noise on the sum.  The second is better where one unit
    can move the sum from end to end but the count by one only: then the count comes for free.  So it is with
    two sums behind a variance, which no unit moves both from end to end, and with the five of a covariance.
    """
    reach = tuple(Fraction(max(abs(low), abs(high))) for low, high in sensitivity.boxes)
    if len(reach) == 1:
        return [(Fraction(1),)]
    if sensitivity.squares:
        pairs = relative_scales(_of_the_mean(sensitivity))
        return [_with_squares(pair, reach, sensitivity.squares) for pair in pairs]
    *sums, count = reach
    return [reach, *((*(one * factor for one in sums), count) for factor in _LOUDER_SUMS[len(sums)])]


def _of_the_mean(sensitivity: Sensitivity) -> Sensitivity:
    """Without the squares that are read beside it."""
    centred, _, count = sensitivity.boxes
    return replace(sensitivity, boxes=(centred, count), curved=0, squares=Fraction(0))


def _with_squares(pair: Scales, reach: Scales, part: Fraction) -> Scales:
    """Beside the scales of a centred sum and a count those of squares, which take this part of the price."""
    (of_sum, of_count), (first, square, last) = pair, reach
    others = (first / of_sum) ** 2 + (last / of_count) ** 2
    louder = Fraction(math.sqrt((1 - part) / (part * others)))
    return of_sum, square * louder, of_count


def weights_of_worst_mean(sensitivity: Sensitivity) -> tuple[float, ...]:
    """The weights of the noise terms in the error of a ratio times its denominator, at the worst ratio."""
    if sensitivity.squares:  # which are in no mean
        of_sum, of_count = weights_of_worst_mean(_of_the_mean(sensitivity))
        return of_sum, 0.0, of_count
    (_, first), *others = sensitivity.boxes
    return (1.0, *(ratio_up(first, reach) for _, reach in others))
