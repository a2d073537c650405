"""Messages of the protocol: what comes in is bounded before it is read, what goes out is bytes.

A message is a letter, its length, and its content; the first one of a connection has no letter.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from adyton.service.limits import LIMITS
from adyton.transports.pg.errors import SqlError
from adyton.transports.pg.values import WIDTHS, Field, encoded, sized

PROTOCOL = 196_608  # 3.0
CANCEL, TLS, GSS = 80_877_102, 80_877_103, 80_877_104
_Done = TypeVar("_Done")
_MANY_BYTES = 65_536  # are sent before more is made
_BYTES_A_LETTER = 4


class BrokenMessage(SqlError):
    """What came is no message of this protocol, or has too many bytes: the connection ends."""

    def __init__(
        self, code: str = "08P01", message: str = "this is no message of the protocol", hint: str = ""
    ) -> None:
        super().__init__(code, message, hint)


async def apart(size: int, work: Callable[[], _Done]) -> _Done:
    """What ``work`` makes of so many bytes.  Of many of them it does so in a thread, beside all others."""
    return work() if size <= LIMITS.small_bytes else await asyncio.to_thread(work)


async def read_start(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    """The first message: a code, and what stands behind it."""
    (length,) = struct.unpack("!i", await reader.readexactly(4))
    if not 8 <= length <= LIMITS.wire_start_bytes:
        raise BrokenMessage
    content = await reader.readexactly(length - 4)
    return struct.unpack_from("!i", content)[0], content[4:]


async def read_message(reader: asyncio.StreamReader, most: int) -> tuple[bytes, bytes]:
    """The letter and the content of the next message, which has at most so many bytes."""
    kind, length = await read_head(reader, most)
    return kind, await reader.readexactly(length)


async def read_head(reader: asyncio.StreamReader, most: int) -> tuple[bytes, int]:
    """The letter of the next message, and how many bytes of content follow."""
    kind, length = struct.unpack("!ci", await reader.readexactly(5))
    if length > most:
        raise BrokenMessage("54000", f"a message has at most {most:,} bytes", "Send less at once.")
    if length < 4:
        raise BrokenMessage
    return kind, length - 4


class Content:
    """Reads what a message holds, from its beginning to its end."""

    def __init__(self, content: bytes) -> None:
        self._content, self._place = content, 0

    def text(self) -> str:
        """Up to the next zero byte."""
        end = self._content.find(b"\0", self._place)
        if end < 0:
            raise BrokenMessage
        found, self._place = self._content[self._place : end], end + 1
        try:
            return found.decode()
        except UnicodeDecodeError:
            raise BrokenMessage from None

    def name(self) -> str:
        """A text that is not long; a longer one is not read."""
        most = LIMITS.wire_name_letters
        if self._content.find(b"\0", self._place, self._place + _BYTES_A_LETTER * most + 1) < 0:
            if self._content.find(b"\0", self._place) < 0:
                raise BrokenMessage
            raise SqlError("42622", f"a name has at most {most} characters")
        found = self.text()
        if len(found) > most:
            raise SqlError("42622", f"a name has at most {most} characters")
        return found

    def number(self, width: int = 2) -> int:
        """With a sign, of so many bytes."""
        return int.from_bytes(self.take(width), "big", signed=True)

    def count(self) -> int:
        """How many of something follow: up to 65,535."""
        return int.from_bytes(self.take(2), "big")

    def take(self, length: int) -> bytes:
        if length < 0 or self._place + length > len(self._content):
            raise BrokenMessage
        found = self._content[self._place : self._place + length]
        self._place += length
        return found

    def value(self) -> bytes | None:
        """A length and so many bytes; None for NULL."""
        length = self.number(4)
        return None if length == -1 else self.take(length)

    def __len__(self) -> int:
        return len(self._content)

    def end(self) -> None:
        if self._place != len(self._content):
            raise BrokenMessage


def message(kind: str, content: bytes = b"") -> bytes:
    return kind.encode() + struct.pack("!i", len(content) + 4) + content


def zero_ended(text: str) -> bytes:
    return text.replace("\0", " ").encode() + b"\0"


def authentication(code: int, more: bytes = b"") -> bytes:
    return message("R", struct.pack("!i", code) + more)


def parameter_status(name: str, value: str) -> bytes:
    return message("S", zero_ended(name) + zero_ended(value))


def negotiate(unknown: Sequence[str]) -> bytes:
    """Only 3.0 is spoken, and these options of the protocol are not known."""
    named = b"".join(map(zero_ended, unknown))
    return message("v", struct.pack("!ii", PROTOCOL, len(unknown)) + named)


def error(fields: Mapping[str, str]) -> bytes:
    """What somebody sent may be in it, but not at any length."""
    most = LIMITS.wire_error_letters
    return message("E", _fields({letter: said[:most] for letter, said in fields.items()}))


def notice(fields: Mapping[str, str]) -> bytes:
    return message("N", _fields(fields))


def _fields(fields: Mapping[str, str]) -> bytes:
    return b"".join(letter.encode() + zero_ended(said) for letter, said in fields.items()) + b"\0"


def ready(status: str) -> bytes:
    return message("Z", status.encode())


def complete(tag: str) -> bytes:
    return message("C", zero_ended(tag))


def parameter_description(oids: Sequence[int]) -> bytes:
    return message("t", struct.pack(f"!H{len(oids)}I", len(oids), *oids))


def row_description(fields: Sequence[Field], formats: Sequence[int]) -> bytes:
    """A format is 0 for text and 1 for binary."""
    told = b"".join(
        zero_ended(one.name) + struct.pack("!IhIhih", 0, 0, one.oid, WIDTHS.get(one.oid, -1), -1, form)
        for one, form in zip(fields, formats, strict=True)
    )
    return message("T", struct.pack("!H", len(fields)) + told)


def data_row(values: Sequence[bytes | None]) -> bytes:
    return message("D", struct.pack("!H", len(values)) + b"".join(map(sized, values)))


def data_rows(
    rows: Sequence[Sequence[Any]], fields: Sequence[Field], formats: Sequence[int], start: int, end: int
) -> tuple[bytes, int]:
    """Rows from ``start`` on as messages, up to so many bytes, and the place behind them."""
    made, size, place = [], 0, start
    at_once = max(1, _MANY_BYTES // (16 * max(1, len(fields))))  # rows that are made of columns
    while place < end and size < _MANY_BYTES:
        for row in rows[place : min(end, place + at_once)]:
            cells = zip(row, fields, formats, strict=True)
            told = data_row([encoded(value, one.oid, form) for value, one, form in cells])
            made.append(told)
            size, place = size + len(told), place + 1
            if size >= _MANY_BYTES:
                break
    return b"".join(made), place


NO_DATA = message("n")
EMPTY_QUERY = message("I")
PARSED, BOUND, CLOSED, SUSPENDED = message("1"), message("2"), message("3"), message("s")
