"""The charge of a plan, for tests that fill a ledger without reading any data."""

from __future__ import annotations

from typing import Any

from adyton.kernel.ledger import Order


def ordered(plan: Any, request: str | None = None) -> Order:
    """What the kernel would charge for it."""
    what = (plan.text, plan.detail, plan.amount, plan.radius)
    return Order(*what, request, pure=plan.pure, unproved=plan.unproved)
