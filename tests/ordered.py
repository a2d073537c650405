"""The charge of a plan, for tests that fill a ledger without reading any data."""

from __future__ import annotations

from typing import Any

from adyton.kernel.ledger import MemoryLedger, Order
from adyton.kernel.paid import order_of
from adyton.kernel.price import Label, price
from adyton.study import Study


def ordered(study: Study, plan: Any, request: str | None = None) -> Order:
    """What the kernel charges for it, in a ledger in which nothing was spent."""
    priced = price(plan.measurement, study.protection, Label(plan.texts, plan.detail))
    return order_of(MemoryLedger.of(study), priced, request)
