"""Rows that wait until they are fetched: portals, and the cursors that SQL declares."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from adyton.service.limits import LIMITS
from adyton.transports.pg.errors import SqlError
from adyton.transports.pg.results import StatementResult, size_of
from adyton.transports.pg.statements import WireStatement, folded
from adyton.transports.pg.values import Field

WORDS = ("DECLARE", "FETCH", "MOVE", "CLOSE")
_FEW = 1000  # rows
_BESIDE = 1000  # bytes that a portal takes beside what is in it
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

    statement: WireStatement
    values: Values
    formats: Sequence[int]
    fields: Sequence[Field] | None = None
    result: StatementResult | None = None
    sent: int = 0

    @property
    def size(self) -> int:
        """About how many bytes of memory it takes."""
        given = sum(map(size_of, self.values.values()))
        rows = self.result.size if self.result is not None else 0
        return _BESIDE + 4 * len(self.statement.text) + given + rows

    def taken(self, most: int | None) -> range:
        """The places of the next rows, None: of all of them."""
        assert self.result is not None
        every = self.result.sent
        end = len(every) if most is None else min(len(every), self.sent + most)
        places, self.sent = every[self.sent : end], end
        return places

    @property
    def is_done(self) -> bool:
        return self.result is not None and self.sent >= len(self.result.sent)


Run = Callable[[WireStatement, Values], Awaitable[StatementResult]]
Keep = Callable[[int], None]  # raises where so many bytes more are too much


def _fetched(result: StatementResult, places: range, notices: tuple[dict[str, str], ...]) -> StatementResult:
    """Some rows of a result.  A few are copied, so that no portal holds all of them."""
    tag = f"FETCH {len(places)}"
    if len(places) > _FEW:
        return replace(result, tag=tag, notices=notices, places=places)
    rows = result.rows[places.start : places.stop]
    return StatementResult(tag, result.fields, rows, notices, size=sum(map(size_of, rows)))


class Cursors:
    """Of one connection, by name.  A cursor is run when the first of its rows is fetched."""

    def __init__(self) -> None:
        self._open: dict[str, Portal] = {}

    def __iter__(self) -> Iterator[Portal]:
        return iter(self._open.values())

    def find(self, name: str) -> Portal | None:
        return self._open.get(name)

    async def run(self, statement: WireStatement, values: Values, run: Run, keep: Keep) -> StatementResult:
        word, text = statement.words[0], statement.bare
        if word == "DECLARE":
            return self._declared(text, values, keep)
        if word == "CLOSE":
            found = _CLOSE.fullmatch(text)
            if found is None:
                raise SqlError("42601", "write CLOSE name, or CLOSE ALL")
            if found["name"].upper() == "ALL":
                self._open.clear()
            else:
                self._open.pop(folded(found["name"]), None)
            return StatementResult("CLOSE CURSOR")
        found = _FETCH.fullmatch(text)
        if found is None:
            raise SqlError("0A000", "cursors go forward: FETCH number FROM name")
        portal = self.of_fetch(text)
        if portal.result is None:
            result = await run(portal.statement, portal.values)
            keep(result.size)
            portal.result = result
        many = (found["many"] or "1").upper()
        places = portal.taken(None if many == "ALL" else 1 if many == "NEXT" else int(many))
        notices = portal.result.notices if portal.sent == len(places) else ()  # with the first rows
        if word == "MOVE":
            return StatementResult(f"MOVE {len(places)}", notices=notices)
        return _fetched(portal.result, places, notices)

    def of_fetch(self, text: str) -> Portal:
        """The cursor that a FETCH is about."""
        found = _FETCH.fullmatch(text)
        name = folded(found["name"]) if found is not None else ""
        portal = self._open.get(name)
        if portal is None:
            raise SqlError("34000", f'cursor "{name[:100]}" does not exist')
        return portal

    def _declared(self, text: str, values: Values, keep: Keep) -> StatementResult:
        found = _DECLARE.match(text)
        if found is None:
            raise SqlError("42601", "write DECLARE name CURSOR FOR SELECT ...")
        name = folded(found["name"])
        if name in self._open:
            raise SqlError("42P03", f'cursor "{name[:100]}" already exists')
        if len(name) > LIMITS.wire_name_letters:
            raise SqlError("42622", f"a name has at most {LIMITS.wire_name_letters} characters")
        if len(self._open) >= LIMITS.wire_cursors:
            raise SqlError("53000", f"at most {LIMITS.wire_cursors} cursors are open at once", "CLOSE some.")
        inner = WireStatement(text[found.end() :], found.end())
        if inner.words[0] not in ("SELECT", "WITH"):
            raise SqlError("42601", "a cursor is declared for a SELECT")
        declared = Portal(inner, values, [0])
        keep(declared.size)
        self._open[name] = declared
        return StatementResult("DECLARE CURSOR")
