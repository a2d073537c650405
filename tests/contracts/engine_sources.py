"""The sources of the contract as Arrow tables."""

from __future__ import annotations

from decimal import Context, Decimal
from typing import Any

import pyarrow as pa

from adyton.testing.engine_reference import Source

ARROW = {
    "integer": pa.int64(),
    "float": pa.float64(),
    "decimal": pa.decimal128(38, 10),
    "boolean": pa.bool_(),
    "text": pa.string(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
    "instant": pa.timestamp("us", "UTC"),
}


def arrow_table(source: Source) -> pa.Table:
    return pa.table({c.name: pa.array([_rescaled(v) for v in c.values], ARROW[c.kind]) for c in source})


def _rescaled(value: Any) -> Any:
    return (
        value.quantize(Decimal(10) ** -10, context=Context(prec=38)) if isinstance(value, Decimal) else value
    )
