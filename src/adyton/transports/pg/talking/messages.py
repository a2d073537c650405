"""Messages of the protocol: what comes in is bounded before it is read, what goes out is bytes.

A message is a letter, its length, and its content; the first one of a connection has no letter.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Mapping, Sequence

from adyton.transports.pg.values import WIDTHS, Field, sized

PROTOCOL = 196_608  # 3.0
CANCEL, TLS, GSS = 80_877_102, 80_877_103, 80_877_104
_LONGEST_START = 10_000


class BrokenMessage(Exception):
    """What came is no message of this protocol, or has too many bytes: the connection ends."""


async def read_start(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    """The first message: a code, and what stands behind it."""
    (length,) = struct.unpack("!i", await reader.readexactly(4))
    if not 8 <= length <= _LONGEST_START:
        raise BrokenMessage
    content = await reader.readexactly(length - 4)
    return struct.unpack_from("!i", content)[0], content[4:]


async def read_message(reader: asyncio.StreamReader, most: int) -> tuple[bytes, bytes]:
    """The letter and the content of the next message, which has at most so many bytes."""
    kind, length = struct.unpack("!ci", await reader.readexactly(5))
    if not 4 <= length <= most:
        raise BrokenMessage
    return kind, await reader.readexactly(length - 4)


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
    return message("E", _fields(fields))


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


NO_DATA = message("n")
EMPTY_QUERY = message("I")
PARSED, BOUND, CLOSED, SUSPENDED = message("1"), message("2"), message("3"), message("s")
