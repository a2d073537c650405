"""P-values that are computed on the rows after queries were asked."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction

from adyton.certify import LastLook
from adyton.certify.last_look import ByRoute
from adyton.errors import InvalidRequest
from adyton.kernel.exact import Number, float_up, positive
from adyton.kernel.exact.outward import UNIT_ROUNDOFF
from adyton.kernel.ledger import Order, Totals
from adyton.kernel.ledger.subjects import ReceiptSubject
from adyton.population.base import StandIn
from adyton.population.described_tests import DescribedBound
from adyton.study import Study
from adyton.validity.last_look.best import Route, routes_after
from adyton.validity.last_look.told import ReleasedTotals
from adyton.validity.published.transcripts import Transcripts

_FOR_COUNTS = Fraction(1, 100)  # of the level, for noisy counts of the units where their number is private
FOR_DESCRIBED = Fraction(1, 32)  # of the level, for tests that have a description
_LEAST = Fraction(1, 10**40)  # what is smaller counts as this
_PUBLISHED = "A TEST ON THE ROWS WAS PUBLISHED"
_NO_SECTION = "a threshold for p-values needs a [validity] section and the number of units"
_UNPROVED = "no threshold for p-values is proved after groups were discovered or a test was published"
_SPLIT = "no threshold for p-values is proved for a study that splits its units"
_KEYS = "no threshold for p-values is proved where groups may be discovered (privacy.discovery_delta)"


def look(
    study: Study,
    stand_in: StandIn,
    totals: Totals,
    told: ReleasedTotals,
    alpha: Number,
    p_value: Number | None,
    described: DescribedBound | None = None,
) -> LastLook:
    """What a p-value means at the level ``alpha`` after everything that was released.

    ``told`` has all radii as they were charged: final radii, which are less, hold with a failure of their
    own, which a test at a small level could not bear.  Of all routes that apply the best is taken, and named.
    ``described``: that of the test, which nothing that was released makes longer.
    Theorem: LAST-LOOK-ROUTES.
    """
    level = _probability(alpha, "alpha, the level of a test,")
    if level < _LEAST:
        raise InvalidRequest(f"alpha, the level of a test, is at least {float(_LEAST):g}")
    for_counts = Fraction(0) if stand_in.public else _FOR_COUNTS
    units = stand_in.units(level * _FOR_COUNTS)
    if study.validity is None or units is None:
        raise InvalidRequest(_NO_SECTION)
    if described is None:
        _check(study, totals)
    told_by = tuple(
        ByRoute(route.name, route.theorem, route.threshold(level * (1 - for_counts)))
        for route in _all_routes(study, totals, told, units, described)
    )
    found = LastLook(float(level), totals.receipts, told_by, reserve=study.validity.reserve is not None)
    if p_value is None:
        return found
    p = _p_value(p_value)
    more = stand_in.units(p * _FOR_COUNTS)  # the level at which it is significant is no smaller than this
    assert more is not None
    worth = min(route.worth(p) for route in _all_routes(study, totals, told, more, described))
    if for_counts:
        worth = worth / (1 - float(for_counts)) * (1 + 10 * UNIT_ROUNDOFF)
    return replace(found, p_value=float_up(p), corrected=min(1.0, worth))


def _all_routes(
    study: Study, totals: Totals, told: ReleasedTotals, units: int, described: DescribedBound | None
) -> list[Route]:
    """Those that go by what was released, as far as there are any, and that of the test's description.

    That one has a part of its own, whether the test has a description or not: who could take the part away
    would choose by what was released.
    """
    own = (
        [Route("description of the test", "DESCRIBED-QUERIES", FOR_DESCRIBED, described)] if described else []
    )
    try:
        _check(study, totals)
    except InvalidRequest:
        if described is None:
            raise
        return own
    routes = _routes(study, told, units)
    if told.nothing:
        return routes + own
    return [replace(route, part=route.part * (1 - FOR_DESCRIBED)) for route in routes] + own


def _routes(study: Study, told: ReleasedTotals, units: int) -> list[Route]:
    if study.validity is not None and study.validity.method == "rounding":  # whose radii are bits
        return [Route("bits of the transcript", "ROUNDING-STUDY", Fraction(1), Transcripts(told.radius))]
    return routes_after(told, units, gaussian=not study.rule.capped)


def _check(study: Study, totals: Totals) -> None:
    """Refuses where no route is proved."""
    if totals.unproved:
        raise InvalidRequest(_UNPROVED)
    if study.parts > 1:
        raise InvalidRequest(_SPLIT)
    if study.rule.capped and study.discovery_delta:
        raise InvalidRequest(_KEYS)


def order_of(p_value: Number) -> Order:
    """A note in the ledger that costs next to nothing, and after which nothing is proved."""
    p = _p_value(p_value)
    detail, published = json.dumps({"p_value": repr(float(p))}), ReceiptSubject("published test")
    return Order(_PUBLISHED, detail, 1, 0, unproved=True, subject=published)


def _p_value(value: Number) -> Fraction:
    """Tests of large tables print p-values that are smaller than any number that a person would write."""
    with suppress(ValueError, TypeError, OverflowError):
        if 0 < float(value) < _LEAST:
            return _LEAST
    return max(_probability(value, "a p-value"), _LEAST)


def _probability(value: Number, what: str) -> Fraction:
    level = positive(value, what)
    if level >= 1:
        raise InvalidRequest(f"{what} lies above 0 and below 1, e.g. 0.05")
    return level
