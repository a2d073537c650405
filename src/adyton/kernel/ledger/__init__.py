"""What was spent: an append-only chain of receipts, and the one place that says no."""

from adyton.kernel.ledger.base import Charged, Ledger, Mark, Totals, Verification
from adyton.kernel.ledger.links import Cap, Header, OpenHeader, OpenLink, Order, Receipt
from adyton.kernel.ledger.memory import MemoryLedger
from adyton.kernel.ledger.replaying import replay_open
from adyton.kernel.ledger.stored.sqlite import SqliteLedger

__all__ = [
    "Cap",
    "Charged",
    "Header",
    "Ledger",
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
