"""The form that writes a query: a measure, a column, bounds, a filter, groups.  The SQL is to be read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any
from urllib.parse import urlencode

from adyton.errors import InvalidRequest
from adyton.query.text import name_text, value_text

MEASURES = (
    ("count", "how many rows"),
    ("mean", "mean of a column"),
    ("sum", "sum of a column"),
    ("median", "median of a column"),
    ("stddev", "standard deviation of a column"),
    ("share", "share of rows for which the filter holds"),
)
COMPARISONS = (
    ("=", "is"),
    ("<>", "is not"),
    (">", "is more than"),
    (">=", "is at least"),
    ("<", "is less than"),
    ("<=", "is at most"),
)
_OF_COLUMN = {"mean": "AVG", "sum": "SUM", "median": "MEDIAN", "stddev": "STDDEV"}
_NUMBER = re.compile(r"[-+]?[0-9]+(\.[0-9]*)?([eE][-+]?[0-9]+)?")
_GROUPS = ("category", "boolean", "integer", "date")


@dataclass(frozen=True, slots=True)
class FormFields:
    """What stands in the fields of the form; empty where nothing does."""

    table: str = ""
    measure: str = "count"
    column: str = ""
    low: str = ""
    high: str = ""
    filter_column: str = ""
    comparison: str = "="
    filter_value: str = ""
    group: str = ""

    @classmethod
    def of(cls, typed: Mapping[str, str]) -> FormFields:
        return cls(**{name: typed[name] for name in cls.__slots__ if typed.get(name)})

    @property
    def address(self) -> str:
        return urlencode({name: value for name, value in asdict(self).items() if value})


def written(chosen: FormFields, facts: Mapping[str, Any]) -> str:
    """The query in SQL; InvalidRequest, with the name of its field, for what is missing."""
    table = _table(chosen, facts)
    columns = {column["name"]: column for column in table["columns"]}
    condition = _condition(chosen, columns)
    group = name_text(_known(chosen.group, columns, "group")["name"]) if chosen.group else ""
    measure = _measure(chosen, columns, condition)
    where = f" WHERE {condition}" if condition and chosen.measure != "share" else ""
    grouped = f" GROUP BY {group}" if group else ""
    return f"SELECT {group + ', ' if group else ''}{measure} FROM {name_text(table['name'])}{where}{grouped}"


def can_group(column: Mapping[str, Any]) -> bool:
    return column["kind"] in _GROUPS


def _table(chosen: FormFields, facts: Mapping[str, Any]) -> Mapping[str, Any]:
    tables: list[Mapping[str, Any]] = facts["tables"]
    return next((table for table in tables if table["name"] == chosen.table), tables[0])


def _measure(chosen: FormFields, columns: Mapping[str, Any], condition: str) -> str:
    if chosen.measure == "count":
        return "COUNT(*) AS n"
    if chosen.measure == "share":
        if not condition:
            raise InvalidRequest("choose a filter: it says of which rows the share is", field="filter_column")
        return f"PROPORTION({condition}) AS share"
    if chosen.measure not in _OF_COLUMN:
        raise InvalidRequest("choose what to measure", field="measure")
    if not chosen.column:
        raise InvalidRequest(f"choose the column of the {chosen.measure}", field="column")
    value = name_text(_known(chosen.column, columns, "column")["name"])
    if chosen.low or chosen.high:
        low, high = _number(chosen.low, "low"), _number(chosen.high, "high")
        value = f"CLAMP({value}, {low}, {high})"
    return f"{_OF_COLUMN[chosen.measure]}({value}) AS {chosen.measure}"


def _condition(chosen: FormFields, columns: Mapping[str, Any]) -> str:
    if not chosen.filter_column:
        return ""
    column = _known(chosen.filter_column, columns, "filter_column")
    if chosen.comparison not in dict(COMPARISONS):
        raise InvalidRequest("choose how to compare", field="comparison")
    if not chosen.filter_value:
        raise InvalidRequest("write the value of the filter", field="filter_value")
    value = _literal(column["kind"], chosen.filter_value)
    return f"{name_text(column['name'])} {chosen.comparison} {value}"


def _literal(kind: str, text: str) -> str:
    if kind in ("integer", "real"):
        return _number(text, "filter_value")
    if kind == "boolean":
        return "TRUE" if text.lower() in ("true", "yes", "1") else "FALSE"
    return f"DATE {value_text(text)}" if kind == "date" else value_text(text)


def _number(text: str, field: str) -> str:
    if _NUMBER.fullmatch(text) is None:
        raise InvalidRequest("write a number, such as 1000 or -0.5", field=field)
    return text


def _known(name: str, columns: Mapping[str, Any], field: str) -> Mapping[str, Any]:
    if name not in columns:
        raise InvalidRequest("there is no such column in this table", field=field)
    column: Mapping[str, Any] = columns[name]
    return column
