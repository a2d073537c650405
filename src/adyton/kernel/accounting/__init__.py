"""What was revealed about a person: filters over the ledger's integers, and calculators."""

from adyton.kernel.accounting.filters import (
    FILTERS,
    Filter,
    FilterName,
    GdpFilter,
    PureFilter,
    ZcdpFilter,
    filter_named,
)

__all__ = ["FILTERS", "Filter", "FilterName", "GdpFilter", "PureFilter", "ZcdpFilter", "filter_named"]
