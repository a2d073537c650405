"""One connection, after it is known whose it is: messages come in, and are answered in their order."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from adyton.errors import Unauthenticated
from adyton.transports.pg.errors import Fields, SqlError, caught, code_of, fields_of_error
from adyton.transports.pg.parameters import filled, place_before, unquoted
from adyton.transports.pg.results import Result, Row
from adyton.transports.pg.statements import Statement, statements_in
from adyton.transports.pg.talking import messages
from adyton.transports.pg.talking.cancelling import until_cancelled
from adyton.transports.pg.talking.cursors import WORDS, Cursors, Portal
from adyton.transports.pg.talking.messages import BrokenMessage, Content
from adyton.transports.pg.values import UNKNOWN, BadValue, Field, decoded, encoded
from adyton.transports.pg.work import Work

Watch = Callable[[str, str, float], None]  # the kind of a statement, its code, and how long it took
_MOST_KEPT, _MOST_PORTALS = 1000, 100
_MOST_LETTERS = 2_000_000  # of prepared statements; and bytes of parameters of portals
_MANY_BYTES = 65_536  # are sent before more is made


@dataclass(frozen=True, slots=True)
class Prepared:
    """A statement with the types of its parameters: as the client said, and as they are taken."""

    statement: Statement
    declared: tuple[int, ...]
    types: tuple[int, ...]


@dataclass(slots=True)
class Kept:
    """By their names; the one without a name is replaced each time."""

    prepared: dict[str, Prepared] = field(default_factory=dict)
    portals: dict[str, Portal] = field(default_factory=dict)
    cursors: Cursors = field(default_factory=Cursors)


class Ended(Exception):
    """The client says goodbye, or is told so."""


class Connection:
    """``most``: bytes of a message.  ``cancelled`` is set by another connection."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        work: Work,
        most: int,
        watch: Watch,
    ) -> None:
        self._reader, self._writer, self._work, self._most = reader, writer, work, most
        self._watch = watch
        self._kept = Kept()
        self._skipping = False  # after an error, until Sync
        self.cancelled = asyncio.Event()
        self.idle = True

    async def run(self) -> None:
        """Until the client leaves."""
        self._ready()
        while True:
            await self._writer.drain()
            self.idle = True
            kind, content = await messages.read_message(self._reader, self._most)
            self.idle = False
            try:
                await self._answer(kind, Content(content))
            except Ended:
                return

    def _ready(self) -> None:
        self._writer.write(messages.ready(self._work.status))

    async def _answer(self, kind: bytes, content: Content) -> None:
        if kind == b"X":
            raise Ended
        if kind == b"S":
            self._skipping = False
            if self._work.status != "T":  # a portal lasts as long as a transaction
                self._kept.portals.clear()
            self._ready()
            return
        if kind == b"Q":
            await self._simple(content)
            return
        if kind in b"dcf":  # rows to copy: nobody asked for them
            return
        if kind not in _EXTENDED:
            raise BrokenMessage
        if self._skipping:
            return
        place, failed = Place(), None
        try:
            await _EXTENDED[kind](self, content, place)
        except (BrokenMessage, ConnectionError):
            raise
        except Exception as error:
            failed = caught(error)
        if failed is not None:
            self._skipping = True
            self._tell(failed, place)

    def _tell(self, error: Exception, place: Place) -> None:
        leaves = isinstance(error, Unauthenticated)
        severity = "FATAL" if leaves else "ERROR"
        self._writer.write(messages.error(place.told(error, severity)))
        if leaves:
            raise Ended

    # Simple queries: everything in one message.

    async def _simple(self, content: Content) -> None:
        text = content.text()
        content.end()
        self._kept.portals.pop("", None)
        for statement in statements_in(text):
            place, failed = Place(statement.text, statement.start), None
            try:
                if statement.is_empty:
                    self._writer.write(messages.EMPTY_QUERY)
                else:
                    result = await until_cancelled(self.cancelled, self._run(statement, {}))
                    await self._whole(result)
                    self._forget(statement)
            except ConnectionError:
                raise
            except Exception as error:
                failed = caught(error)
            if failed is not None:
                self._tell(failed, place)
                break
        self._ready()

    async def _whole(self, result: Result) -> None:
        if result.fields is not None:
            formats = [0] * len(result.fields)
            self._writer.write(messages.row_description(result.fields, formats))
            await self._rows(result.fields, result.rows, formats)
        self._finish(result)

    async def _rows(self, fields: Sequence[Field], rows: Sequence[Row], formats: Sequence[int]) -> None:
        made, size = [], 0
        for row in rows:
            told = messages.data_row(
                [encoded(value, one.oid, form) for value, one, form in zip(row, fields, formats, strict=True)]
            )
            made.append(told)
            size += len(told)
            if size > _MANY_BYTES:
                self._writer.write(b"".join(made))
                await self._writer.drain()
                made, size = [], 0
        self._writer.write(b"".join(made))

    def _finish(self, result: Result) -> None:
        for said in result.notices:
            self._writer.write(messages.notice(said))
        if result.changed is not None:
            self._writer.write(messages.parameter_status(*result.changed))
        self._writer.write(messages.complete(result.tag))

    def _forget(self, statement: Statement) -> None:
        """DEALLOCATE, DISCARD."""
        first, second = statement.words
        if first == "DISCARD" or (first == "DEALLOCATE" and second == "ALL"):
            self._kept = Kept()
        elif first == "DEALLOCATE":
            named = re.sub(r"\s*DEALLOCATE\s+(?:PREPARE\s+)?", "", statement.text, flags=re.IGNORECASE)
            self._kept.prepared.pop(named.strip().strip('"'), None)

    # The extended protocol, message by message.

    async def _parse(self, content: Content, place: Place) -> None:
        name, text = content.text(), content.text()
        declared = [content.number(4) & 0xFFFFFFFF for _ in range(content.count())]
        content.end()
        found = statements_in(text)
        if len(found) > 1:
            raise SqlError("42601", "a prepared statement is one statement")
        place.of(found[0])
        if name and name in self._kept.prepared:
            raise SqlError("42P05", f'prepared statement "{name}" already exists')
        if len(self._kept.prepared) >= _MOST_KEPT:
            raise SqlError("53000", f"at most {_MOST_KEPT} prepared statements are kept", "DEALLOCATE some.")
        if len(text) + sum(len(one.statement.text) for one in self._kept.prepared.values()) > _MOST_LETTERS:
            raise SqlError("53200", "the prepared statements are too long together", "DEALLOCATE some.")
        types = await self._work.types(found[0].text, declared)
        self._kept.prepared[name] = Prepared(found[0], tuple(declared), tuple(types))
        self._writer.write(messages.PARSED)

    async def _bind(self, content: Content, place: Place) -> None:
        portal, name = content.text(), content.text()
        forms = [content.number() for _ in range(content.count())]
        given = [content.value() for _ in range(content.count())]
        wanted = [content.number() for _ in range(content.count())]
        content.end()
        prepared = self._prepared(name)
        place.of(prepared.statement)
        if len(given) != len(prepared.types):
            number = len(prepared.types)
            raise SqlError("08P01", f"the statement has {number} parameters, and {len(given)} were given")
        if len(self._kept.portals) >= _MOST_PORTALS:
            raise SqlError("53000", f"at most {_MOST_PORTALS} portals are kept")
        size = sum(len(one or b"") for one in given)
        if size + sum(one.size for one in self._kept.portals.values()) > _MOST_LETTERS:
            raise SqlError("53200", "the parameters of all portals are too long together")
        unsaid = [0] * (len(given) - len(prepared.declared))
        each = zip(
            given, prepared.types, _each(forms, len(given)), [*prepared.declared, *unsaid], strict=True
        )
        values = {
            number: _value(value, oid, form, said=declared not in (0, UNKNOWN))
            for number, (value, oid, form, declared) in enumerate(each, 1)
        }
        self._kept.portals[portal] = Portal(prepared.statement, values, wanted, size=size)
        self._writer.write(messages.BOUND)

    async def _describe(self, content: Content, place: Place) -> None:
        kind, name = content.take(1), content.text()
        content.end()
        if kind == b"S":
            prepared = self._prepared(name)
            place.of(prepared.statement)
            self._writer.write(messages.parameter_description(prepared.types))
            cursor = prepared.statement.words[0] in WORDS
            described = (
                self._fields(prepared.statement, {})
                if cursor
                else self._work.fields_unbound(prepared.statement, prepared.types)
            )
            fields = await until_cancelled(self.cancelled, described)
            self._described(fields, [])
            return
        portal = self._portal(name)
        place.of(portal.statement, portal.values)
        fields = await until_cancelled(self.cancelled, self._fields(portal.statement, portal.values))
        portal.fields = fields
        self._described(fields, portal.formats)

    def _described(self, fields: Sequence[Field] | None, formats: Sequence[int]) -> None:
        if fields is None:
            self._writer.write(messages.NO_DATA)
            return
        self._writer.write(messages.row_description(fields, _each(formats, len(fields))))

    async def _execute(self, content: Content, place: Place) -> None:
        name, most = content.text(), content.number(4)
        content.end()
        portal = self._portal(name)
        place.of(portal.statement, portal.values)
        if portal.statement.is_empty:
            self._writer.write(messages.EMPTY_QUERY)
            return
        if portal.result is None:
            portal.result = await until_cancelled(self.cancelled, self._run(portal.statement, portal.values))
            self._forget(portal.statement)
        result = portal.result
        if result.fields is not None:
            if portal.fields is not None and list(portal.fields) != list(result.fields):
                raise SqlError("0A000", "cached plan must not change result type")
            rows = portal.taken(most if most > 0 else None)
            await self._rows(result.fields, rows, _each(portal.formats, len(result.fields)))
            if not portal.is_done:
                self._writer.write(messages.SUSPENDED)
                return
        self._finish(result)

    async def _close(self, content: Content, place: Place) -> None:
        kind, name = content.take(1), content.text()
        content.end()
        kept: dict[str, Any] = self._kept.prepared if kind == b"S" else self._kept.portals
        kept.pop(name, None)
        self._writer.write(messages.CLOSED)

    async def _flush(self, content: Content, place: Place) -> None:
        await self._writer.drain()

    async def _function(self, content: Content, place: Place) -> None:
        self._skipping = False
        self._tell(SqlError("0A000", "functions are not called here"), place)
        self._ready()

    async def _run(self, statement: Statement, values: Mapping[int, Any]) -> Result:
        began, code = time.perf_counter(), "00000"
        try:
            if statement.words[0] in WORDS:
                return await self._kept.cursors.run(statement, values, self._work.run)
            return await self._work.run(statement, values)
        except Exception as error:
            code = code_of(error)
            raise
        finally:
            self._watch(self._work.kind(statement), code, time.perf_counter() - began)

    async def _fields(self, statement: Statement, values: Mapping[int, Any]) -> Sequence[Field] | None:
        word = statement.words[0]
        if word == "FETCH":
            cursor = self._kept.cursors.of_fetch(statement.text)
            return await self._work.fields(cursor.statement, cursor.values)
        return None if word in WORDS else await self._work.fields(statement, values)

    def _prepared(self, name: str) -> Prepared:
        if name not in self._kept.prepared:
            raise SqlError("26000", f'prepared statement "{name}" does not exist')
        return self._kept.prepared[name]

    def _portal(self, name: str) -> Portal:
        found = self._kept.portals.get(name) or self._kept.cursors.find(name)
        if found is None:
            raise SqlError("34000", f'portal "{name}" does not exist')
        return found


class Place:
    """Which statement is being worked on, for errors that say where."""

    def __init__(self, text: str = "", start: int = 0) -> None:
        self.text, self.start = text, start
        self.values: Mapping[int, Any] = {}

    def of(self, statement: Statement, values: Mapping[int, Any] | None = None) -> None:
        self.text, self.start, self.values = statement.text, statement.start, values or {}

    def told(self, error: Exception, severity: str) -> Fields:
        """The error, with its place in the text as it was sent: before literals stood for parameters."""
        if not self.values:
            return fields_of_error(error, self.text, self.start, severity=severity)
        told = fields_of_error(error, filled(self.text, self.values), severity=severity)
        if "P" in told:
            told["P"] = str(self.start + place_before(self.text, self.values, int(told["P"])))
        return told


_EXTENDED = {
    b"P": Connection._parse,
    b"B": Connection._bind,
    b"D": Connection._describe,
    b"E": Connection._execute,
    b"C": Connection._close,
    b"H": Connection._flush,
    b"F": Connection._function,
}


def _each(formats: Sequence[int], number: int) -> list[int]:
    """One for all, one for each, or none: text."""
    if any(form not in (0, 1) for form in formats):
        raise SqlError("08P01", "a format is 0 for text or 1 for binary")
    if len(formats) == number:
        return list(formats)
    if len(formats) > 1:
        raise SqlError("08P01", f"{len(formats)} formats were given for {number} values")
    return [formats[0] if formats else 0] * number


def _value(content: bytes | None, oid: int, form: int, *, said: bool) -> Any:
    try:
        return decoded(content, oid, form)
    except BadValue:
        if said or form == 1:
            raise
        return unquoted(decoded(content, 0, 0), oid)  # its type is that of what it is compared with
