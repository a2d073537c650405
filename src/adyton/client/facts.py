"""The public facts of a study on a server, as the objects that queries in Python are made with."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from typing import Any

from adyton.errors import InvalidRequest
from adyton.kernel.privacy import Guarantee, PrivacyUnit
from adyton.kernel.schema import (
    BooleanColumn,
    CategoryColumn,
    ClockPart,
    Column,
    DateColumn,
    IntegerColumn,
    RealColumn,
    Table,
    TextColumn,
)
from adyton.study import Study
from adyton.study.facts import PrivateTable

Told = Mapping[str, Any]


def tables_of(facts: Told) -> tuple[Table, ...]:
    """The private tables, the study's own first.  Public tables beside them stay on the server."""
    return tuple(_table(told) for told in facts["tables"])


def study_of(facts: Told) -> Study:
    """A study of the same tables and the same units, to make up rows with: it has no ledger and no plan."""
    own, *further = zip(tables_of(facts), facts["tables"], strict=True)
    told, budget = facts["unit"], facts["budget"]
    unit = PrivacyUnit(told["adjacency"], told["person"], told["rows_per_person"])
    others = tuple(PrivateTable(table, one["rows_per_person"]) for table, one in further)
    guaranteed = Guarantee(budget["epsilon"], budget["delta"])
    return Study(own[0], unit, guaranteed, facts["accounting"], further=others, dialect=facts["dialect"])


def _table(told: Told) -> Table:
    columns = tuple(_column(one) for one in told["columns"])
    return Table(told["name"], columns, told["rows"], told["person"], lines=told["lines"])


def _column(told: Told) -> Column:
    """By the table of kinds; one that is not known here is refused."""
    if told["kind"] not in _READERS:
        raise InvalidRequest(f"the server has a column of the kind {told['kind']!r}, unknown to this version")
    return _READERS[told["kind"]](told)


def _integer(told: Told) -> Column:
    clock = ClockPart(**told["clock"]) if "clock" in told else None
    return IntegerColumn(told["name"], told["low"], told["high"], clock, told.get("missing", False))


def _date(told: Told) -> Column:
    low, high = (datetime.date.fromisoformat(told[end]) for end in ("low", "high"))
    return DateColumn(told["name"], low, high, told["zone"], told.get("missing", False))


_READERS: dict[str, Callable[[Told], Column]] = {
    IntegerColumn.kind: _integer,
    RealColumn.kind: lambda told: RealColumn(
        told["name"], told["low"], told["high"], told["step"], told.get("missing", False)
    ),
    DateColumn.kind: _date,
    CategoryColumn.kind: lambda told: CategoryColumn(
        told["name"], tuple(told["values"]), told.get("missing", False)
    ),
    BooleanColumn.kind: lambda told: BooleanColumn(told["name"], told.get("missing", False)),
    TextColumn.kind: lambda told: TextColumn(told["name"], told["longest"]),
}
