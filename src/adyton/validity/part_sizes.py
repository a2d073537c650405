"""How many units are in a part to which a hash sends them, as if each drew its part by lot."""

from __future__ import annotations

import math
from fractions import Fraction

from adyton.kernel.exact import float_up
from adyton.kernel.exact.outward import SAFE

_HASHES = 16**12  # a span of them is as long as its share of all says, or longer or shorter by less than one


def most_in_part(units: int, parts: int, failure: Fraction) -> int:
    """Of at most so many units, how many are in one part.

    Claim:    Pr[more] <= failure.
    Assumes:  each unit is in the part with the probability of its span of hashes, independently of the
              others: that is 1 / parts, but for one hash.
    Source:   as ``most_by_lot``.  Theorem: SPLIT-STUDY.
    """
    return most_by_lot(units, min(Fraction(1), Fraction(1, parts) + Fraction(1, _HASHES)), failure)


def most_by_lot(units: int, share: Fraction, failure: Fraction) -> int:
    """Of so many units, how many are where each is sent with this probability.

    Claim:    Pr[more] <= failure.
    Assumes:  each unit is sent there with probability at most ``share``, independently of the others.
    Source:   Bernstein's inequality: a sum of variance v exceeds its mean by t = l/3 + sqrt(l**2/9 + 2 v l)
              with probability at most exp(-l); for exactly this share, as with a smaller one there are
              fewer.  Theorem: RESERVE-TEST.
    """
    log, mean, variance = _log(failure), float_up(units * share), float_up(units * share * (1 - share))
    beyond = log / 3 + math.sqrt(log**2 / 9 + 2 * variance * log)
    return min(units, math.ceil((mean + beyond) * SAFE))


def most_units(in_part: int, parts: int, failure: Fraction) -> int:
    """How many units there are altogether, if one part has at most ``in_part``.

    Claim:    Pr[more] <= failure.
    Assumes:  as ``most_in_part``.
    Source:   a binomial variable of mean m is below m - sqrt(2 m l) with probability at most exp(-l)
              (Chernoff); solved for m.  Theorem: SPLIT-STUDY.
    """
    log = _log(failure)
    root = (math.sqrt(2 * log) + math.sqrt(2 * log + 4 * max(in_part, 0))) / 2
    return max(1, math.ceil(root**2 / (1 / parts - 1 / _HASHES) * SAFE))


def _log(failure: Fraction) -> float:
    return math.log(float_up(1 / failure)) * SAFE
