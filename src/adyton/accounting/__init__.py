"""What was revealed about a person: filters over the ledger's integers, and calculators."""

from adyton.accounting.approximate_filter import ApproximateFilter
from adyton.accounting.comparison import calibrate, compose, compose_gaussian
from adyton.accounting.composition import advanced, basic, same, strong
from adyton.accounting.filters import (
    FILTERS,
    Filter,
    FilterName,
    GdpFilter,
    PureFilter,
    ZcdpFilter,
    filter_named,
)
from adyton.accounting.odometer import ZcdpOdometer
from adyton.accounting.optimal import optimal
from adyton.accounting.plan import SlotPlan

__all__ = [
    "FILTERS",
    "ApproximateFilter",
    "Filter",
    "FilterName",
    "GdpFilter",
    "PureFilter",
    "SlotPlan",
    "ZcdpFilter",
    "ZcdpOdometer",
    "advanced",
    "basic",
    "calibrate",
    "compose",
    "compose_gaussian",
    "filter_named",
    "optimal",
    "same",
    "strong",
]
