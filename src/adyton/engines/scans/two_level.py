"""Tables of persons: all rows of a person that count become one row, whose columns are numbers of them.

The rows were cut before, when they were loaded, so that the numbers are of those rows alone.
"""

from __future__ import annotations

from dataclasses import replace

from adyton.engines.scans.scan import ClampedTable, only_where
from adyton.errors import InvalidRequest
from adyton.kernel.schema import CategoryColumn
from adyton.kernel.terms.leaves import EVERY_ROW
from adyton.kernel.terms.persons import PersonNumber, TableOfPersons

_AGGREGATES = {"least": "min", "greatest": "max"}


def persons_of(units: ClampedTable, table: TableOfPersons) -> ClampedTable:
    """One row for each person.  Theorem: TWO-LEVEL."""
    if table.of.most_rows is None or table.of.most_rows < units.rows:
        raise InvalidRequest("the bounds of a table of persons do not fit the rows of a person that count")
    places = {name: f"c{i}" for i, (name, _) in enumerate(table.numbers)}
    number = _of_rows if units.rows > 1 else _of_one_row
    listed = [f"CAST({number(units, own)} AS BIGINT) AS {places[name]}" for name, own in table.numbers]
    text = f"SELECT {', '.join(listed) or '1 AS nothing'} FROM {units.table}"
    if table.given != EVERY_ROW:
        text += f" WHERE {units.row_sql.condition(table.given)}"
    text += " GROUP BY who" if units.rows > 1 else ""
    return replace(units, table=f"({text}) AS persons", places=places, rows=1, marks={})


def _of_rows(units: ClampedTable, number: PersonNumber) -> str:
    value = _value(units, number)
    match number.kind:
        case "rows":
            return f"count({value})"
        case "distinct":
            return f"count(DISTINCT {value})"
        case "sum":
            return units.dialect.exact_sum(value, _largest(number))
    return f"{_AGGREGATES[number.kind]}({value})"


def _of_one_row(units: ClampedTable, number: PersonNumber) -> str:
    """Where a person has a single row, which then does not say whose it is."""
    value = _value(units, number)
    if number.kind in ("rows", "distinct"):
        return f"(CASE WHEN {value} IS NULL THEN 0 ELSE 1 END)"
    return value


def _value(units: ClampedTable, number: PersonNumber) -> str:
    """NULL where the row does not count."""
    match number.value:
        case None:
            value = "1"
        case CategoryColumn(name):
            value = units.places[name]
        case node:
            value = units.row_sql.number(node)
    return value if number.where == EVERY_ROW else only_where(value, units.row_sql.condition(number.where))


def _largest(number: PersonNumber) -> int:
    assert number.value is not None
    assert not isinstance(number.value, CategoryColumn)
    return max(abs(number.value.lattice.low), abs(number.value.lattice.high))
