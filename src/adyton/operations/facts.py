"""The public facts of a study as JSON: what may be asked about, of whom, under which guarantee."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, assert_never

from adyton.kernel.exact import printed_up
from adyton.kernel.schema import (
    BooleanColumn,
    CategoryColumn,
    Column,
    DateColumn,
    IntegerColumn,
    RealColumn,
    Table,
    TextColumn,
    declares_missing,
)
from adyton.study import Study

API = "1"  # of what is spoken: a client that speaks another one is told so
GRAMMAR = (
    "SELECT aggregates FROM the table, with WHERE, GROUP BY declared values, HAVING, ORDER BY, LIMIT. "
    "Aggregates: COUNT(*), COUNT(DISTINCT person), SUM, AVG, VARIANCE, STDDEV, MEDIAN, QUANTILE, MIN, MAX, "
    "PROPORTION(condition), CORR. Rows are never answered. All of it: docs/reference/sql.md."
)


def facts_told(name: str, study: Study) -> dict[str, Any]:
    """Nothing of it was read from data, and nothing says where the data lies."""
    unit, validity = study.unit, study.validity
    return {
        "name": name,
        "fingerprint": study.fingerprint,
        "budget": {"epsilon": printed_up(study.budget.epsilon), "delta": printed_up(study.budget.delta)},
        "accounting": study.accounting,
        "unit": {"adjacency": unit.adjacency, "person": unit.person, "rows_per_person": unit.rows},
        "validity": None if validity is None else {"confidence": float(validity.confidence)},
        "dialect": study.dialect,
        "tables": [_table_told(table, study.unit_of(table).rows) for table in study.tables],
        "grammar": GRAMMAR,
    }


def _table_told(table: Table, rows_per_person: int) -> dict[str, Any]:
    return {
        "name": table.name,
        "rows": table.rows,
        "lines": table.lines,
        "person": table.person,
        "rows_per_person": rows_per_person,
        "columns": [_column_told(column) for column in table.columns],
        "public": [
            {
                "name": one.name,
                "key": one.key,
                "joins": one.joins,
                "columns": [_column_told(attribute.column) for attribute in one.attributes],
            }
            for one in table.dimensions
        ],
    }


def _column_told(column: Column) -> dict[str, Any]:
    told: dict[str, Any] = {"name": column.name, "kind": column.kind}
    told |= {"missing": True} if declares_missing(column) else {}
    match column:
        case IntegerColumn(low=low, high=high, clock=clock):
            part = {} if clock is None else {"clock": asdict(clock)}
            return {**told, "low": low, "high": high, **part}
        case RealColumn(low=low, high=high, step=step):
            return {**told, "low": float(low), "high": float(high), "step": float(step)}
        case DateColumn(low=low, high=high, zone=zone):
            return {**told, "low": low.isoformat(), "high": high.isoformat(), "zone": zone}
        case CategoryColumn(values=values):
            return {**told, "values": list(values)}
        case TextColumn(longest=longest):
            return {**told, "longest": longest}
        case BooleanColumn():
            return told
        case _:
            assert_never(column)
