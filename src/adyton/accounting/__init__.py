"""What was revealed about a person: filters over the ledger's integers, and calculators."""

from typing import TYPE_CHECKING

from adyton.accounting.filters import (
    FILTERS,
    Filter,
    FilterName,
    GdpFilter,
    PureFilter,
    ZcdpFilter,
    filter_named,
)
from adyton.accounting.optimal import optimal  # not late: its module has the same name
from adyton.late import late

if TYPE_CHECKING:
    from adyton.accounting.approximate_filter import ApproximateFilter
    from adyton.accounting.comparison import calibrate, compose, compose_gaussian
    from adyton.accounting.composition import advanced, basic, same, strong
    from adyton.accounting.odometer import ZcdpOdometer
    from adyton.accounting.plan import SlotPlan

__getattr__ = late(
    __name__,
    {
        "ApproximateFilter": "approximate_filter",
        "SlotPlan": "plan",
        "ZcdpOdometer": "odometer",
        "advanced": "composition",
        "basic": "composition",
        "calibrate": "comparison",
        "compose": "comparison",
        "compose_gaussian": "comparison",
        "same": "composition",
        "strong": "composition",
    },
)

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
