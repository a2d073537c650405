"""Total variation distance as a measure of privacy, which it is not: what it says of several releases or rows."""

from __future__ import annotations

from fractions import Fraction

from adyton.accounting.textbook.conversions import _share
from adyton.arithmetic.interval import interval, upper
from adyton.errors import InvalidRequest
from adyton.kernel.accounting import gaussian
from adyton.kernel.exact import Number, float_up, positive


def total_variation_gdp_up(mu: Number) -> float:
    """The largest total variation distance of mu-GDP, 2 Phi(mu / 2) - 1.  Theorem: GDP-TO-APPROX."""
    return gaussian.delta_up(float_up(positive(mu, "mu")), 0.0)


def total_variation_together_up(distances: list[tuple[Number, int]]) -> float:
    """Of releases with these distances, each so many times: 1 - product of (1 - t_i), less than the sum.

    Claim:    releases of distance t_i given the past are together within 1 - product of (1 - t_i); some
              attain it.
    Source:   derived here.  Theorem: TV-COMPOSITION.
    """
    kept = interval(1)
    for distance, times in distances:
        if times < 1:
            raise InvalidRequest("the number of releases must be at least 1")
        kept *= interval(1 - _share(distance, "the distance")) ** times
    return float_up(max(Fraction(0), upper(1 - kept)))


def total_variation_of_any_two(distance: Number, rows: int) -> float:
    """Between any two tables of ``rows`` rows, if neighbors are within ``distance``: rows times as much.

    So with a distance below 1 / (2 rows) no two tables can be told apart with confidence, and nothing is
    learned; with 1 / rows a mechanism may publish a whole row most of the time.  A useful epsilon has no
    such dilemma.
    Theorem: TV-IS-DELTA.
    """
    if rows < 1:
        raise InvalidRequest("a table has at least 1 row")
    return float_up(min(Fraction(1), rows * _share(distance, "the distance")))
