"""Amounts and promises, read back from JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from adyton.certify.answer import Amount, Odometer, Promise
from adyton.exact import decimal_units

Told = Mapping[str, Any]


def amount_from(told: Told, *, is_left: bool = False) -> Amount:
    """Exact: its share follows from it, as it did where it was written."""
    return Amount(told["filter"], decimal_units(told["amount"]), decimal_units(told["of"]), is_left)


def left_from(told: Told) -> Amount:
    return amount_from(told, is_left=True)


def promise_from(told: Told) -> Promise:
    return Promise(told["epsilon"], told["delta"])


def odometer_from(told: Told) -> Odometer:
    return Odometer(told["epsilon"], told["delta"], told["theorem"])
