"""What the parts of the ledger's contract have in common: orders, and values that no order may have."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, settings

from adyton.errors import BudgetRefused
from adyton.kernel.ledger.base import Ledger
from adyton.kernel.ledger.links import Cap, Order

MakeLedger = Callable[[int], Ledger]
Reopen = Callable[[Ledger], Ledger]

# make_ledger makes a new ledger on each call, so Hypothesis may share the fixture between its examples.
FEW = settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], database=None
)

NOT_AMOUNTS = (0, -1, True, False, 1.0, 0.5, math.nan, math.inf, -math.inf, 1e308, "1", None, 10**400)
NOT_REQUESTS = ("", "x" * 201, "two\nlines", "\0", "\ud800", 7, b"id")
NOT_TEXTS = ("half \ud800", "zero \0", None, 7, b"text")


def order(
    amount: int = 1,
    query: str = "count",
    request: str | None = None,
    radius: int = 0,
    cap: Cap | None = None,
    **more: Any,
) -> Order:
    return Order(query, '{"mechanism":"gaussian"}', amount, radius, request, cap, **more)


def short(value: object) -> str:
    return repr(value)[:9]


def accepted(ledger: Ledger, wanted: Order) -> bool:
    try:
        ledger.charge(wanted)
    except BudgetRefused:
        return False
    return True


def trace(ledger: Ledger) -> tuple[object, ...]:
    """Everything that a charge changes."""
    return ledger.totals(), ledger.head(), ledger.count(), list(ledger.receipts())
