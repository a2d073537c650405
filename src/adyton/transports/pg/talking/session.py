"""One connection, after it is known whose it is: messages come in, and are answered in their order.

Every message is counted, and whoever sends it looked up anew, before its content is read.  What is long is
read, and rows are written, in threads: the loop answers all other connections meanwhile.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

from adyton.errors import TooMany, Unauthenticated
from adyton.service.limits import LIMITS
from adyton.transports.pg.errors import (
    Fields,
    SqlError,
    cancelled_error,
    caught,
    code_of,
    fields_of_error,
    too_many_error,
)
from adyton.transports.pg.parameters import filled, place_before, unquoted
from adyton.transports.pg.results import StatementResult
from adyton.transports.pg.statements import WireStatement, statements_in
from adyton.transports.pg.talking import messages
from adyton.transports.pg.talking.cancelling import until_cancelled
from adyton.transports.pg.talking.cursors import WORDS, Portal
from adyton.transports.pg.talking.keeping import Prepared, SessionObjects, Share
from adyton.transports.pg.talking.messages import BrokenMessage, Content, apart
from adyton.transports.pg.values import ARRAYS, UNKNOWN, BadValue, Field, decoded
from adyton.transports.pg.work import Work

Watch = Callable[[str, str, float, int], None]  # the kind of statements, their code, how long, how many
_FEW_CELLS = 1000  # are written by the loop itself


class Ended(Exception):
    """The client says goodbye, or is told so."""


class WireConnection:
    """``most``: bytes of a message, and ``seconds`` for it to come in.  ``cancelled`` is set by another
    connection.
    """

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        work: Work,
        share: Share,
        watch: Watch,
        *,
        most: int,
        seconds: float,
    ) -> None:
        self._reader, self._writer, self._work, self._most = reader, writer, work, most
        self._share, self._watch, self._seconds = share, watch, seconds
        self._kept = SessionObjects()
        self._skipping = False  # after an error, until Sync
        self._seen: dict[tuple[str, str], tuple[int, float]] = {}  # statements of the message at hand
        self.cancelled = asyncio.Event()
        self.idle = True

    async def run(self) -> None:
        """Until the client leaves, or has to: then it is told why, once."""
        self._ready()
        while True:
            await self._writer.drain()
            try:
                await self._next()
            except Ended:
                return
            except BrokenMessage as error:
                self._leave(error)
                return
            finally:
                self.idle = True
                self._tell_watch()

    async def _next(self) -> None:
        """Reads a message and answers it."""
        kind, length = await messages.read_head(self._reader, self._most)
        if kind == b"X":
            raise Ended
        self._count()
        with self._held(length if length > LIMITS.small_bytes else 0):
            content = await self._content(length)
            self.idle = False
            await self._answer(kind, content)

    async def _content(self, length: int) -> Content:
        try:
            async with asyncio.timeout(self._seconds):
                return Content(await self._reader.readexactly(length))
        except TimeoutError:
            why = "a message has to come in as a whole in time"
            raise BrokenMessage("57014", f"{why}: at most {self._seconds:g} s") from None

    @contextmanager
    def _held(self, size: int) -> Iterator[None]:
        """While a message of so many bytes is there: one that is too much was not read, so it is the last."""
        with ExitStack() as held:
            try:
                held.enter_context(self._share.holding(size))
            except SqlError as error:
                raise BrokenMessage(error.code, error.message, error.hint) from None
            yield

    def _count(self) -> None:
        """A message, or a statement in one."""
        refused: Exception | None = None
        try:
            self._work.count_message()
        except Unauthenticated as error:
            refused = error
        except TooMany as error:
            refused = too_many_error("53000", error)
        if refused is not None:
            self._leave(refused)
            raise Ended

    def _leave(self, error: Exception) -> None:
        """The last word of a connection."""
        self._writer.write(messages.error(fields_of_error(error, severity="FATAL")))

    def _ready(self) -> None:
        self._writer.write(messages.ready(self._work.status))

    async def _answer(self, kind: bytes, content: Content) -> None:
        if kind == b"S":
            self._skipping = False
            if self._work.status != "T":  # a portal lasts as long as a transaction
                self._kept.portals.clear()
                self._settle()
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
        except (BrokenMessage, ConnectionError, Ended):
            raise
        except Exception as error:
            failed = caught(error)
        if failed is not None:
            self._skipping = True
            await self._tell(failed, place)

    async def _tell(self, error: Exception, place: Place) -> None:
        leaves = isinstance(error, Unauthenticated)
        severity = "FATAL" if leaves else "ERROR"
        told = await apart(place.size, lambda: _told(error, place, severity))
        self._writer.write(messages.error(told))
        if leaves:
            raise Ended

    def _keep(self, more: int) -> None:
        """Before so many bytes more are kept: SqlError if that is too much."""
        self._share.keep(self._kept.size + more)

    def _settle(self) -> None:
        """After something was replaced or let go."""
        self._share.keep(self._kept.size)

    # Simple queries: everything in one message.

    async def _simple(self, content: Content) -> None:
        self._kept.portals.pop("", None)
        self._settle()
        place, failed = Place(), None
        try:
            for statement in await apart(len(content), lambda: _statements(content)):
                place = Place(statement.text, statement.start)
                self._count()
                await self._done(statement)
        except (BrokenMessage, ConnectionError, Ended):
            raise
        except Exception as error:
            failed = caught(error)
        if failed is not None:
            await self._tell(failed, place)
        self._ready()

    async def _done(self, statement: WireStatement) -> None:
        """One of its statements."""
        if statement.is_empty:
            self._writer.write(messages.EMPTY_QUERY)
            return
        result = await until_cancelled(self.cancelled, self._run(statement, {}))
        fetched = statement.words[0] == "FETCH"  # whose rows its cursor keeps
        with self._share.holding(0 if fetched else result.size):
            if result.fields is not None:
                formats = [0] * len(result.fields)
                self._writer.write(messages.row_description(result.fields, formats))
                await self._rows(result, result.sent, formats)
            self._finish(result)
        self._forget(statement)

    async def _rows(self, result: StatementResult, places: range, formats: Sequence[int]) -> None:
        """Sends rows.  More are made when the client has taken those before."""
        fields, place = result.fields or (), places.start
        few = len(places) * len(fields) <= _FEW_CELLS and result.size <= LIMITS.small_bytes

        def made() -> tuple[bytes, int]:
            return messages.data_rows(result.rows, fields, formats, place, places.stop)

        while place < places.stop:
            told, place = made() if few else await asyncio.to_thread(made)
            self._writer.write(told)
            await self._writer.drain()
            if not few and self.cancelled.is_set():
                raise cancelled_error()

    def _finish(self, result: StatementResult) -> None:
        for said in result.notices:
            self._writer.write(messages.notice(said))
        if result.changed is not None:
            self._writer.write(messages.parameter_status(*result.changed))
        self._writer.write(messages.complete(result.tag))

    def _forget(self, statement: WireStatement) -> None:
        """DEALLOCATE, DISCARD."""
        first, second = statement.words
        if first == "DISCARD" or (first == "DEALLOCATE" and second == "ALL"):
            self._kept = SessionObjects()
        elif first == "DEALLOCATE":
            named = re.sub(r"\s*DEALLOCATE\s+(?:PREPARE\s+)?", "", statement.text, flags=re.IGNORECASE)
            self._kept.prepared.pop(named.strip().strip('"'), None)
        self._settle()

    # The extended protocol, message by message.

    async def _parse(self, content: Content, place: Place) -> None:
        name, found, declared = await apart(len(content), lambda: _to_prepare(content))
        if len(found) > 1:
            raise SqlError("42601", "a prepared statement is one statement")
        place.of(found[0])
        if len(declared) > LIMITS.wire_parameters:
            raise SqlError("54000", f"a statement has at most {LIMITS.wire_parameters:,} parameters")
        if name and name in self._kept.prepared:
            raise SqlError("42P05", f'prepared statement "{name}" already exists')
        if len(self._kept.prepared) >= LIMITS.wire_prepared:
            message = f"at most {LIMITS.wire_prepared:,} prepared statements are kept"
            raise SqlError("53000", message, "DEALLOCATE some.")
        types = await self._work.types(found[0].text, declared)
        prepared = Prepared(found[0], tuple(declared), tuple(types))
        self._keep(prepared.size)
        self._kept.prepared[name] = prepared
        self._settle()
        self._writer.write(messages.PARSED)

    async def _bind(self, content: Content, place: Place) -> None:
        portal, name, portal_of = await apart(len(content), lambda: _to_bind(content))
        prepared = self._prepared(name)
        place.of(prepared.statement)
        if len(self._kept.portals) >= LIMITS.wire_portals:
            raise SqlError("53000", f"at most {LIMITS.wire_portals} portals are kept")
        made = await apart(len(content), lambda: portal_of(prepared))
        self._keep(made.size)
        self._kept.portals[portal] = made
        self._settle()
        self._writer.write(messages.BOUND)

    async def _describe(self, content: Content, place: Place) -> None:
        kind, name = content.take(1), content.name()
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
        name, most = content.name(), content.number(4)
        content.end()
        portal = self._portal(name)
        place.of(portal.statement, portal.values)
        if portal.statement.is_empty:
            self._writer.write(messages.EMPTY_QUERY)
            return
        result = portal.result
        if result is None:
            self._count()
            result = await until_cancelled(self.cancelled, self._run(portal.statement, portal.values))
            self._keep(result.size)
            portal.result = result
            self._forget(portal.statement)
        if result.fields is not None:
            if portal.fields is not None and list(portal.fields) != list(result.fields):
                raise SqlError("0A000", "cached plan must not change result type")
            places = portal.taken(most if most > 0 else None)
            await self._rows(result, places, _each(portal.formats, len(result.fields)))
            if not portal.is_done:
                self._writer.write(messages.SUSPENDED)
                return
        self._finish(result)

    async def _close(self, content: Content, place: Place) -> None:
        kind, name = content.take(1), content.name()
        content.end()
        kept: dict[str, Any] = self._kept.prepared if kind == b"S" else self._kept.portals
        kept.pop(name, None)
        self._settle()
        self._writer.write(messages.CLOSED)

    async def _flush(self, content: Content, place: Place) -> None:
        await self._writer.drain()

    async def _function(self, content: Content, place: Place) -> None:
        await self._tell(SqlError("0A000", "functions are not called here"), place)
        self._ready()

    async def _run(self, statement: WireStatement, values: Mapping[int, Any]) -> StatementResult:
        began, code = time.perf_counter(), "00000"
        try:
            if statement.words[0] in WORDS:
                return await self._kept.cursors.run(statement, values, self._work.run, self._keep)
            return await self._work.run(statement, values)
        except Exception as error:
            code = code_of(error)
            raise
        finally:
            seen = self._work.kind(statement), code
            number, seconds = self._seen.get(seen, (0, 0.0))
            self._seen[seen] = number + 1, seconds + time.perf_counter() - began

    def _tell_watch(self) -> None:
        """One line for each kind of the statements in a message, however many they were."""
        seen, self._seen = self._seen, {}
        for (kind, code), (number, seconds) in seen.items():
            self._watch(kind, code, seconds, number)

    async def _fields(self, statement: WireStatement, values: Mapping[int, Any]) -> Sequence[Field] | None:
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

    def of(self, statement: WireStatement, values: Mapping[int, Any] | None = None) -> None:
        self.text, self.start, self.values = statement.text, statement.start, values or {}

    @property
    def size(self) -> int:
        """Bytes, about, of what has to be looked at to say where."""
        return len(self.text) + sum(len(one) for one in self.values.values() if isinstance(one, str))

    def told(self, error: Exception, severity: str) -> Fields:
        """The error, with its place in the text as it was sent: before literals stood for parameters."""
        if not self.values:
            return fields_of_error(error, self.text, self.start, severity=severity)
        try:
            written = filled(self.text, self.values)
        except BadValue:  # which is what the error says, and it has no place
            return fields_of_error(error, severity=severity)
        told = fields_of_error(error, written, severity=severity)
        if "P" in told:
            told["P"] = str(self.start + place_before(self.text, self.values, int(told["P"])))
        return told


def _told(error: Exception, place: Place, severity: str) -> Fields:
    """The error; without its place, or its words, where telling these fails: that ends no connection."""
    with suppress(Exception):
        return place.told(error, severity)
    with suppress(Exception):
        return fields_of_error(error, severity=severity)
    return {"S": severity, "V": severity, "C": "XX000", "M": "this error cannot be told"}


_EXTENDED = {
    b"P": WireConnection._parse,
    b"B": WireConnection._bind,
    b"D": WireConnection._describe,
    b"E": WireConnection._execute,
    b"C": WireConnection._close,
    b"H": WireConnection._flush,
    b"F": WireConnection._function,
}


def _statements(content: Content) -> list[WireStatement]:
    text = content.text()
    content.end()
    return statements_in(text)


def _to_prepare(content: Content) -> tuple[str, list[WireStatement], list[int]]:
    """The name, the statements and the types of a Parse."""
    name, text = content.name(), content.text()
    declared = [content.number(4) & 0xFFFFFFFF for _ in range(content.count())]
    content.end()
    return name, statements_in(text), declared


def _to_bind(content: Content) -> tuple[str, str, Callable[[Prepared], Portal]]:
    """The names in a Bind, and the portal that it makes of a statement."""
    portal, name = content.name(), content.name()
    forms = [content.number() for _ in range(content.count())]
    given = [content.value() for _ in range(content.count())]
    wanted = [content.number() for _ in range(content.count())]
    content.end()
    return portal, name, lambda prepared: _portal_of(prepared, given, forms, wanted)


def _portal_of(
    prepared: Prepared, given: Sequence[bytes | None], forms: Sequence[int], wanted: Sequence[int]
) -> Portal:
    if len(given) != len(prepared.types):
        number = len(prepared.types)
        raise SqlError("08P01", f"the statement has {number} parameters, and {len(given)} were given")
    most = LIMITS.wire_parameter_bytes
    if sum(len(one or b"") for one in given) > most:
        raise SqlError("54000", f"the parameters of a statement have at most {most:,} bytes together")
    unsaid = [0] * (len(given) - len(prepared.declared))
    each = zip(given, prepared.types, _each(forms, len(given)), [*prepared.declared, *unsaid], strict=True)
    values = {
        number: _value(value, oid, form, said=declared not in (0, UNKNOWN))
        for number, (value, oid, form, declared) in enumerate(each, 1)
    }
    return Portal(prepared.statement, values, wanted)


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
        if said or form == 1 or oid in ARRAYS.values():
            raise
        return unquoted(decoded(content, 0, 0), oid)  # its type is that of what it is compared with
