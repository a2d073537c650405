"""What was revealed about a person: filters over the ledger's integers, and certified conversions."""

from adyton.accounting.approximate_filter import ApproximateFilter
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
    "filter_named",
]
