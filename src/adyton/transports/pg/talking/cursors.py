"""Rows that wait until they are fetched: portals, and the cursors that SQL declares."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from adyton.transports.pg.errors import SqlError
from adyton.transports.pg.results import Result, Row
from adyton.transports.pg.statements import Statement, folded
from adyton.transports.pg.values import Field

WORDS = ("DECLARE", "FETCH", "MOVE", "CLOSE")
_MOST = 100
_NAME = r'(?P<name>"(?:[^"]|"")+"|\w+)'
_DECLARE = re.compile(
    rf"\s*DECLARE\s+{_NAME}\s+(?:BINARY\s+|INSENSITIVE\s+|ASENSITIVE\s+|(?:NO\s+)?SCROLL\s+)*CURSOR\s+"
    r"(?:WITH(?:OUT)?\s+HOLD\s+)?FOR\s+",
    re.IGNORECASE,
)
_FETCH = re.compile(
    rf"\s*(?:FETCH|MOVE)\s+(?:(?:FORWARD\s+)?(?P<many>ALL|[0-9]{{1,9}}|NEXT)\s+|FORWARD\s+)?(?:(?:IN|FROM)\s+)?{_NAME}\s*",
    re.IGNORECASE,
)
_CLOSE = re.compile(rf"\s*CLOSE\s+{_NAME}\s*", re.IGNORECASE)
Values = Mapping[int, Any]


@dataclass(slots=True)
class Portal:
    """A statement with its parameters; its ``result`` once it was run, of which ``sent`` rows are out."""

    statement: Statement
    values: Values
    formats: Sequence[int]
    fields: Sequence[Field] | None = None
    result: Result | None = None
    sent: int = 0
    size: int = 0  # bytes of its parameters

    def taken(self, most: int | None) -> Sequence[Row]:
        """The next rows, None: all of them."""
        assert self.result is not None
        end = len(self.result.rows) if most is None else min(len(self.result.rows), self.sent + most)
        rows, self.sent = self.result.rows[self.sent : end], end
        return rows

    @property
    def is_done(self) -> bool:
        return self.result is not None and self.sent >= len(self.result.rows)


Run = Callable[[Statement, Values], Awaitable[Result]]


class Cursors:
    """Of one connection, by name.  A cursor is run when the first of its rows is fetched."""

    def __init__(self) -> None:
        self._open: dict[str, Portal] = {}

    def find(self, name: str) -> Portal | None:
        return self._open.get(name)

    async def run(self, statement: Statement, values: Values, run: Run) -> Result:
        word, text = statement.words[0], statement.bare
        if word == "DECLARE":
            return self._declared(text, values)
        if word == "CLOSE":
            found = _CLOSE.fullmatch(text)
            if found is None:
                raise SqlError("42601", "write CLOSE name, or CLOSE ALL")
            if found["name"].upper() == "ALL":
                self._open.clear()
            else:
                self._open.pop(folded(found["name"]), None)
            return Result("CLOSE CURSOR")
        found = _FETCH.fullmatch(text)
        if found is None:
            raise SqlError("0A000", "cursors go forward: FETCH number FROM name")
        portal = self.of_fetch(text)
        if portal.result is None:
            portal.result = await run(portal.statement, portal.values)
        many = (found["many"] or "1").upper()
        rows = portal.taken(None if many == "ALL" else 1 if many == "NEXT" else int(many))
        notices = portal.result.notices if portal.sent == len(rows) else ()  # with the first rows
        if word == "MOVE":
            return Result(f"MOVE {len(rows)}", notices=notices)
        return Result(f"FETCH {len(rows)}", portal.result.fields, rows, notices)

    def of_fetch(self, text: str) -> Portal:
        """The cursor that a FETCH is about."""
        found = _FETCH.fullmatch(text)
        name = folded(found["name"]) if found is not None else ""
        portal = self._open.get(name)
        if portal is None:
            raise SqlError("34000", f'cursor "{name[:100]}" does not exist')
        return portal

    def _declared(self, text: str, values: Values) -> Result:
        found = _DECLARE.match(text)
        if found is None:
            raise SqlError("42601", "write DECLARE name CURSOR FOR SELECT ...")
        name = folded(found["name"])
        if name in self._open:
            raise SqlError("42P03", f'cursor "{name[:100]}" already exists')
        if len(self._open) >= _MOST:
            raise SqlError("53000", f"at most {_MOST} cursors are open at once", "CLOSE some.")
        inner = Statement(text[found.end() :], found.end())
        if inner.words[0] not in ("SELECT", "WITH"):
            raise SqlError("42601", "a cursor is declared for a SELECT")
        self._open[name] = Portal(inner, values, [0])
        return Result("DECLARE CURSOR")
