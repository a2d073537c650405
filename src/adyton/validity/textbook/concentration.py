"""How far averages of independent rows stray from the truth, for queries fixed before the rows were seen.

Tails are rounded up; so are the numbers of rows that are enough.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from adyton.errors import InvalidRequest
from adyton.kernel.exact import Number, float_down, positive, probability, rational, whole
from adyton.kernel.exact.outward import SAFE, UNIT_ROUNDOFF, digits, log_up

_FARTHEST = Fraction(700)
"""exp(-700) is still a float with all its digits: no tail is called smaller than that."""


def markov_tail(mean: Number, threshold: Number) -> Fraction:
    """Pr[X >= threshold] <= mean / threshold, for X >= 0.  Theorem: MARKOV."""
    most = _at_least_zero(mean, "the mean") / positive(threshold, "the threshold")
    return min(Fraction(1), most)


def chebyshev_tail(variance: Number, deviation: Number) -> Fraction:
    """Pr[|X - E X| >= deviation] <= variance / deviation**2.  Theorem: CHEBYSHEV."""
    spread = _at_least_zero(variance, "the variance")
    return min(Fraction(1), spread / positive(deviation, "the deviation") ** 2)


def chebyshev_rows(deviation: Number, failure: Number) -> int:
    """Rows enough for the mean of values in [0, 1], by Chebyshev: 1 / (4 failure deviation**2)."""
    share = probability(failure, "the failure probability")
    return math.ceil(1 / (4 * share * positive(deviation, "the deviation") ** 2))


def hoeffding_tail(rows: int, deviation: Number, *, sides: int = 2) -> float:
    """Pr[|mean of rows - E| >= deviation] <= 2 exp(-2 n deviation**2), for values in [0, 1], rounded up.

    Claim:    the tail of an average; for a sum of n values put deviation / n.
    Assumes:  values in [0, 1], independent, not necessarily alike.
    Source:   Hoeffding 1963.  Theorem: HOEFFDING.
    """
    exponent = 2 * whole(rows, "the number of rows") * positive(deviation, "the deviation") ** 2
    return min(1.0, sides * exp_up(exponent))


def hoeffding_width(rows: int, failure: Number, *, sides: int = 2) -> float:
    """The deviation whose Hoeffding tail is ``failure``: sqrt(ln(2 / failure) / (2 n)), rounded up."""
    share = probability(failure, "the failure probability")
    return math.sqrt(log_up(sides / share) / (2 * whole(rows, "the number of rows"))) * SAFE


def hoeffding_rows(deviation: Number, failure: Number, *, sides: int = 2) -> int:
    """Rows enough: ln(2 / failure) / (2 deviation**2), rounded up."""
    share = probability(failure, "the failure probability")
    mp, twice = digits(60), 2 * positive(deviation, "the deviation") ** 2
    log = mp.log(mp.mpf((sides / share).numerator) / (sides / share).denominator)
    return int(mp.ceil(log * twice.denominator / twice.numerator))


def chernoff_tail(rows: int, mean: Number, observed: Number) -> float:
    """Pr[average >= observed] <= exp(-n kl(observed || mean)) for observed > mean, rounded up.

    Claim:    also for averages at most ``observed`` if observed < mean; never worse than Hoeffding's.
    Assumes:  values in [0, 1], independent, with this mean.
    Source:   Chernoff 1952; Hoeffding 1963.  Theorem: HOEFFDING.
    """
    p, x = probability(mean, "the mean"), rational(observed, "the observed average")
    if not 0 <= x <= 1:
        return 0.0
    mp = digits(60)
    heads, tails = _term(mp, x, p), _term(mp, 1 - x, 1 - p)
    exponent = whole(rows, "the number of rows") * (heads + tails)
    return min(1.0, float(mp.exp(-min(exponent, int(_FARTHEST)))) * SAFE)


def mcdiarmid_tail(sensitivities: Sequence[Number], deviation: Number) -> float:
    """Pr[|f - E f| >= deviation] <= 2 exp(-2 deviation**2 / sum of c_i**2), rounded up.

    ``sensitivities``: how far row i alone can move f, for every i.
    Claim:    as stated.   Assumes:  independent rows.   Source:   McDiarmid 1989.  Theorem: MCDIARMID.
    """
    squares = sum((rational(c, "a sensitivity") ** 2 for c in sensitivities), Fraction(0))
    if squares == 0:
        return 0.0
    exponent = 2 * positive(deviation, "the deviation") ** 2 / squares
    return min(1.0, 2 * exp_up(exponent))


def exp_up(exponent: Fraction) -> float:
    """exp(-exponent), rounded up; at least exp(-700), because 0 would be rounded down."""
    near = float_down(min(exponent, _FARTHEST))
    return math.exp(-near) * (1 + near * 10 * UNIT_ROUNDOFF) * SAFE


def _at_least_zero(value: Number, what: str) -> Fraction:
    number = rational(value, what)
    if number < 0:
        raise InvalidRequest(f"{what} must be at least 0, not {value}")
    return number


def _term(mp: Any, x: Fraction, p: Fraction) -> Any:
    """x ln(x / p)."""
    if x == 0:
        return 0
    return mp.mpf(x.numerator) / x.denominator * mp.log(mp.mpf((x / p).numerator) / (x / p).denominator)
