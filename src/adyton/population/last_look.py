"""P-values that are computed on the rows after questions were asked."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

from adyton.certify import LastLook
from adyton.errors import InvalidRequest
from adyton.exact import Number, float_up, positive
from adyton.exact.outward import UNIT_ROUNDOFF
from adyton.ledger import Order
from adyton.population.base import Population, Position, StandIn

_FOR_COUNTS = Fraction(1, 100)  # of the level, for noisy counts of the units where their number is private
_PUBLISHED = "A TEST ON THE ROWS WAS PUBLISHED"


def look(
    population: Population, stand_in: StandIn, at: Position, alpha: Number, p_value: Number | None
) -> LastLook:
    """What a p-value means at the level ``alpha`` after everything that was released.

    ``at.before`` is the sum of all radii as they were charged: that answers settled for less holds with a
    failure of its own, which a test at a small level could not bear.
    """
    level = _probability(alpha, "alpha, the level of a test,")
    for_counts = Fraction(0) if stand_in.public else _FOR_COUNTS
    units = stand_in.units(level * _FOR_COUNTS)
    if population.validity is None or units is None:
        raise InvalidRequest("a threshold for p-values needs a [validity] section and the number of units")
    if at.unproved:
        raise InvalidRequest(
            "no threshold for p-values is proved after keys were found in the data or a test was published"
        )
    threshold = population.p_value_threshold(level * (1 - for_counts), at, units)
    found = LastLook(float(level), threshold, at.question - 1, population.last_look)
    if p_value is None:
        return found
    p = _probability(p_value, "a p-value")
    more = stand_in.units(p * _FOR_COUNTS)  # the level at which it is significant is no smaller than this
    assert more is not None
    worth = population.corrected_p_value(p, at, more) / (1 - float(for_counts)) * (1 + 10 * UNIT_ROUNDOFF)
    return replace(found, p_value=float_up(p), corrected=min(1.0, worth))


def order_of(p_value: Number) -> Order:
    """A note in the ledger that costs next to nothing, and after which nothing is proved."""
    p = _probability(p_value, "a p-value")
    return Order(_PUBLISHED, json.dumps({"p_value": repr(float(p))}), 1, 0, unproved=True)


def _probability(value: Number, what: str) -> Fraction:
    level = positive(value, what)
    if level >= 1:
        raise InvalidRequest(f"{what} lies above 0 and below 1, e.g. 0.05")
    return level
