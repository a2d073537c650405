"""What the evaluator works on: relations of plain values, and how much work one statement may be."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from adyton.transports.pg.errors import SqlError

Row = Mapping[str, Any]
Env = dict[str, Row]  # rows by the names of their sources
Compiled = Callable[[Env], Any]
_MOST_STEPS = 300_000


@dataclass(frozen=True, slots=True)
class Relation:
    """Columns with their types, and rows.  ``open``: every name is a column of it, and it has no rows."""

    columns: Mapping[str, int]
    rows: Sequence[Row] = ()
    open: bool = False


NOTHING = Relation({}, (), open=True)


class Steps:
    """Counts rows that are looked at: joins of joins must end."""

    def __init__(self) -> None:
        self._taken = 0

    def take(self, number: int = 1) -> None:
        self._taken += number
        if self._taken > _MOST_STEPS:
            raise SqlError("54000", "this statement about catalogs is too much work", "Ask for less at once.")


@dataclass(slots=True)
class Scope:
    """The sources that names can be about: those of a SELECT, and outside of it those around it."""

    relation: Callable[[str, str], Relation]  # by schema and name
    call: Callable[[str, Sequence[Any]], Any]
    parameters: Mapping[int, Any]
    steps: Steps
    sources: dict[str, Relation] = field(default_factory=dict)
    named: dict[str, Relation] = field(default_factory=dict)  # WITH name AS
    above: Scope | None = None

    def inside(self) -> Scope:
        """Of a SELECT within this one."""
        return Scope(self.relation, self.call, self.parameters, self.steps, {}, dict(self.named), self)

    def find(self, column: str, source: str | None) -> tuple[str, int] | None:
        """The source of a column, and its type; None if there is none."""
        for alias, relation in self.sources.items():
            if source in (None, alias) and (
                column in relation.columns or (relation.open and source == alias)
            ):
                return alias, relation.columns.get(column, 25)
        opened = next((alias for alias, one in self.sources.items() if one.open and source is None), None)
        if opened is not None:
            return opened, 25
        return self.above.find(column, source) if self.above is not None else None


def unsupported(what: str) -> SqlError:
    return SqlError(
        "0A000",
        f"{what[:100]} is not known in statements about catalogs",
        "Read information_schema.columns, pg_catalog.pg_class or adyton.columns in plain words.",
    )
