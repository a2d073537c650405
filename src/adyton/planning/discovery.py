"""Groups that nobody declared: what discovering them may cost, and what is said of those not shown."""

from __future__ import annotations

from fractions import Fraction

from adyton.certify import DiscoveryPreview, DiscoveryResult, Interval
from adyton.errors import InvalidRequest
from adyton.kernel.accounting.noisy_reading import LEVEL, NoisyReading
from adyton.kernel.privacy import PrivacyUnit
from adyton.kernel.schema import TextColumn
from adyton.kernel.special.discovery import GroupDiscovery, number_of_groups
from adyton.kernel.terms.measures import Cdf, Count, CountPersons, Extreme, Quantile
from adyton.planning.price import Pricing
from adyton.planning.readings import readings_for
from adyton.query.nodes import Query
from adyton.study import discovery_failure
from adyton.study.validity import refuse_where_rounded

PART = Fraction(1, 4)  # of the price of a query, for discovering its groups
_OF_COUNTS = Fraction(4, 5)  # of that, for the counts; the rest is for how many keys were dropped


def sought(discovery: GroupDiscovery, place: int) -> DiscoveryPreview:
    """What a preview says: how many units a group needs if this is the number of the receipt."""
    selection = discovery.selection(place)
    return DiscoveryPreview(place, selection.threshold, selection.surely_shown(LEVEL), LEVEL)


def found(discovery: GroupDiscovery, shown: int, noisy_number: int, place: int) -> DiscoveryResult:
    """What an answer says about the groups that it does not show."""
    error = discovery.number.mechanism.error(LEVEL)
    low, high = (float(max(0, noisy_number + sign * error - shown)) for sign in (-1, 1))
    selection = discovery.selection(place)
    return DiscoveryResult(
        shown=shown,
        suppressed=float(max(0, noisy_number - shown)),
        interval=Interval(LEVEL, low, high),
        threshold=selection.threshold,
        surely_shown=selection.surely_shown(LEVEL),
    )


def plan_discovery(query: Query, unit: PrivacyUnit, pricing: Pricing, paid_for_values: int) -> GroupDiscovery:
    """For a query whose groups must be discovered."""
    study = pricing.study
    if study.parts > 1:
        raise InvalidRequest(
            "groups are not discovered in a study that splits its units: declare the column's values"
        )
    refuse_where_rounded(study, "a list of discovered groups")
    if not study.discovery_delta:
        undeclared = next(group.name for group in query.by if isinstance(group, TextColumn))
        raise InvalidRequest(
            f"the values of {undeclared!r} are not declared: discovering them needs privacy.discovery_delta "
            "in the study file, a part of delta; or declare the column as a category"
        )
    if any(isinstance(measure, Quantile | Extreme | Cdf) for _, measure in query.measures):
        raise InvalidRequest("quantiles and distributions are answered for declared groups only")
    units = int(pricing.units * PART) if pricing.is_total else paid_for_values // 3
    measure = Count() if unit.rows == 1 else CountPersons()
    (counted,) = readings_for("units of a key", measure, query, unit, None)
    number = number_of_groups(counted)
    for_counts = int(units * _OF_COUNTS)
    return GroupDiscovery(
        NoisyReading(counted, pricing.noise_for_units(counted, for_counts)),
        NoisyReading(number, pricing.noise_for_units(number, units - for_counts)),
        discovery_failure(study),
    )
