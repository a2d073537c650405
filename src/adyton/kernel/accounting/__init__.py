"""What was revealed about a person: rules over the ledger's integers, and calculators."""

from adyton.kernel.accounting.rules import (
    ACCOUNTING_NAMES,
    Accounting,
    AccountingName,
    GdpAccounting,
    PureAccounting,
    ZcdpAccounting,
    accounting_named,
)

__all__ = [
    "ACCOUNTING_NAMES",
    "Accounting",
    "AccountingName",
    "GdpAccounting",
    "PureAccounting",
    "ZcdpAccounting",
    "accounting_named",
]
