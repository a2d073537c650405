"""How many units are in a part to which a hash sends them, as if each drew its part by lot."""

from __future__ import annotations

import math
from fractions import Fraction

from adyton.kernel.exact import float_up
from adyton.kernel.exact.outward import SAFE


def most_in_part(units: int, parts: int, failure: Fraction) -> int:
    """Of at most so many units, how many are in one part.

    Claim:    Pr[more] <= failure.
    Assumes:  each unit is in the part with probability 1 / parts, independently of the others.
    Source:   Bernstein's inequality: a sum of variance v exceeds its mean by t = l/3 + sqrt(l**2/9 + 2 v l)
              with probability at most exp(-l).  Theorem: SPLIT-STUDY.
    """
    mean, log = units / parts, _log(failure)
    beyond = log / 3 + math.sqrt(log**2 / 9 + 2 * mean * (1 - 1 / parts) * log)
    return min(units, math.ceil((mean + beyond) * SAFE))


def most_by_lot(units: int, share: Fraction, failure: Fraction) -> int:
    """Of so many units, how many are where each is sent with this probability.

    Claim:    Pr[more] <= failure.
    Assumes:  each unit is sent there with probability at most ``share``, independently of the others.
    Source:   Bernstein's inequality, as above, for exactly this share; with a smaller one there are fewer.
              Theorem: RESERVE-TEST.
    """
    log, mean, variance = _log(failure), float_up(units * share), float_up(units * share * (1 - share))
    beyond = log / 3 + math.sqrt(log**2 / 9 + 2 * variance * log)
    return min(units, math.ceil((mean + beyond) * SAFE))


def most_units(in_part: int, parts: int, failure: Fraction) -> int:
    """How many units there are altogether, if one part has at most ``in_part``.

    Claim:    Pr[more] <= failure.
    Assumes:  as above.
    Source:   a binomial variable of mean m is below m - sqrt(2 m l) with probability at most exp(-l)
              (Chernoff); solved for m.  Theorem: SPLIT-STUDY.
    """
    log = _log(failure)
    root = (math.sqrt(2 * log) + math.sqrt(2 * log + 4 * max(in_part, 0))) / 2
    return max(1, math.ceil(parts * root**2 * SAFE))


def _log(failure: Fraction) -> float:
    return math.log(float_up(1 / failure)) * SAFE
