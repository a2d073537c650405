"""What the evaluator works on: relations of plain values, and how much work one statement may be."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from adyton.service.grid import GivenUp
from adyton.service.limits import LIMITS
from adyton.transports.pg.errors import SqlError
from adyton.transports.pg.values import TEXT

Row = Mapping[str, Any]
Env = dict[str, Row]  # rows by the names of their sources
Compiled = Callable[[Env], Any]
_LONG_TEXT = 1000  # characters of a statement: a longer one has more to do for each row
LARGEST = 100_000  # letters of a value, with all that is in it
_MOST_DIGITS = 300  # of a number
_A_STEP = 50  # letters
_BETWEEN = 64  # expressions are computed between two looks at the clock


@dataclass(frozen=True, slots=True)
class CatalogRelation:
    """Columns with their types, and rows.  ``open``: every name is a column of it, and it has no rows."""

    columns: Mapping[str, int]
    rows: Sequence[Row] = ()
    open: bool = False


NOTHING = CatalogRelation({}, (), open=True)


class Steps:
    """Counts rows that are looked at, and letters that are written: joins of joins must end.

    One statement also has a deadline, in processor time of the thread that answers it, and ends once nobody
    waits for it.
    """

    def __init__(self, length: int = 0, given_up: threading.Event | None = None) -> None:
        self._taken, self._most = 0, LIMITS.wire_catalog_steps * _LONG_TEXT // (_LONG_TEXT + length)
        self._given_up, self._looks = given_up, 0
        self._end = time.thread_time() + LIMITS.wire_catalog_seconds

    def take(self, number: int = 1) -> None:
        self._taken += number
        if self._taken > self._most:
            raise SqlError("54000", "this statement about catalogs is too much work", "Ask for less at once.")
        self.look()

    def look(self) -> None:
        """Called wherever time is spent: now and then it asks for the time."""
        self._looks += 1
        if self._looks % _BETWEEN == 0:
            self.check()

    def check(self) -> None:
        if self._given_up is not None and self._given_up.is_set():
            raise GivenUp
        if time.thread_time() > self._end:
            most = LIMITS.wire_catalog_seconds
            message = f"canceling statement: one about catalogs has at most {most} s of a processor"
            raise SqlError("57014", message, "Ask for less at once.")


@dataclass(slots=True)
class CatalogScope:
    """The sources that names can be about: those of a SELECT, and outside of it those around it."""

    relation: Callable[[str, str], CatalogRelation]  # by schema and name
    call: Callable[[str, Sequence[Any]], Any]
    parameters: Mapping[int, Any]
    steps: Steps
    sources: dict[str, CatalogRelation] = field(default_factory=dict)
    named: dict[str, CatalogRelation] = field(default_factory=dict)  # WITH name AS
    above: CatalogScope | None = None

    def inside(self) -> CatalogScope:
        """Of a SELECT within this one."""
        return CatalogScope(self.relation, self.call, self.parameters, self.steps, {}, dict(self.named), self)

    def held(self, value: Any) -> Any:
        """A value that was made, if it is none that grows from one SELECT to the next around it."""
        size = size_of(value)
        if size > LARGEST:
            raise unsupported("so large a value")
        self.steps.take(size // _A_STEP)
        return value

    def compares(self, left: Any, right: Any) -> None:
        """Counts what a pattern may have to look at."""
        self.steps.take(len(str(left)) * len(str(right)) // _A_STEP)

    def find(self, column: str, source: str | None) -> tuple[str, int] | None:
        """The source of a column, and its type; None if there is none."""
        for alias, relation in self.sources.items():
            if source in (None, alias) and (
                column in relation.columns or (relation.open and source == alias)
            ):
                return alias, relation.columns.get(column, TEXT)
        opened = next((alias for alias, one in self.sources.items() if one.open and source is None), None)
        if opened is not None:
            return opened, TEXT
        return self.above.find(column, source) if self.above is not None else None


def known(work: Callable[..., Any], *parts: Compiled) -> Compiled:
    """What ``work`` makes of the values of the parts; unknown where one of them is."""

    def value(env: Env) -> Any:
        values = [part(env) for part in parts]
        return None if any(one is None for one in values) else work(*values)

    return value


def size_of(value: Any) -> int:
    """In letters.  What is in a list was held before, so this ends."""
    match value:
        case str():
            return len(value)
        case list() | tuple():
            return len(value) + sum(map(size_of, value))
        case bool():
            return 1
        case int():
            return _digits(value.bit_length() // 3)
        case Decimal():
            return (
                _digits(max(abs(value.adjusted()), len(value.as_tuple().digits))) if value.is_finite() else 3
            )
    return 1


def _digits(number: int) -> int:
    return number if number <= _MOST_DIGITS else LARGEST + 1


def unsupported(what: str) -> SqlError:
    return SqlError(
        "0A000",
        f"{what[:100]} is not known in statements about catalogs",
        "Read information_schema.columns, pg_catalog.pg_class or adyton.columns in plain words.",
    )
