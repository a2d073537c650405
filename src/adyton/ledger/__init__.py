"""What was spent: an append-only chain of receipts, and the one place that says no."""

from adyton.ledger.anchor import Anchor
from adyton.ledger.anchored import AnchoredLedger
from adyton.ledger.base import Charged, Ledger, Mark, Totals, Verification
from adyton.ledger.links import Cap, Header, OpenHeader, OpenLink, Order, Receipt
from adyton.ledger.memory import LedgerOnDemand, MemoryLedger
from adyton.ledger.replaying import replay_open
from adyton.ledger.stored.sqlite import SqliteLedger

__all__ = [
    "Anchor",
    "AnchoredLedger",
    "Cap",
    "Charged",
    "Header",
    "Ledger",
    "LedgerOnDemand",
    "Mark",
    "MemoryLedger",
    "OpenHeader",
    "OpenLink",
    "Order",
    "Receipt",
    "SqliteLedger",
    "Totals",
    "Verification",
    "replay_open",
]
