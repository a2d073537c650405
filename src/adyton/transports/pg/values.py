"""Values as they travel: the types that are released, and those of a catalog, as text and binary."""

from __future__ import annotations

import datetime
import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, NamedTuple

import numpy as np

from adyton.errors import InvalidRequest
from adyton.query.sql.several.lists import elements

BOOL, CHAR, NAME, INT8, INT2, INT2VECTOR, INT4, TEXT, OID, OIDVECTOR = 16, 18, 19, 20, 21, 22, 23, 25, 26, 30
FLOAT4, FLOAT8, UNKNOWN, BPCHAR, VARCHAR = 700, 701, 705, 1042, 1043
DATE, TIMESTAMP, TIMESTAMPTZ, NUMERIC, REGCLASS, REGTYPE, REGNAMESPACE = (
    1082,
    1114,
    1184,
    1700,
    2205,
    2206,
    4089,
)


class Type(NamedTuple):
    """``said``: what SQL calls it."""

    name: str
    oid: int
    array: int  # the number of its array
    said: str
    width: int  # in bytes, -1 if values differ in it
    category: str


TYPES = (
    Type("bool", BOOL, 1000, "boolean", 1, "B"),
    Type("char", CHAR, 1002, '"char"', 1, "Z"),
    Type("name", NAME, 1003, "name", 64, "S"),
    Type("int8", INT8, 1016, "bigint", 8, "N"),
    Type("int2", INT2, 1005, "smallint", 2, "N"),
    Type("int4", INT4, 1007, "integer", 4, "N"),
    Type("text", TEXT, 1009, "text", -1, "S"),
    Type("oid", OID, 1028, "oid", 4, "N"),
    Type("float4", FLOAT4, 1021, "real", 4, "N"),
    Type("float8", FLOAT8, 1022, "double precision", 8, "N"),
    Type("varchar", VARCHAR, 1015, "character varying", -1, "S"),
    Type("date", DATE, 1182, "date", 4, "D"),
    Type("timestamp", TIMESTAMP, 1115, "timestamp without time zone", 8, "D"),
    Type("timestamptz", TIMESTAMPTZ, 1185, "timestamp with time zone", 8, "D"),
    Type("numeric", NUMERIC, 1231, "numeric", -1, "N"),
    Type("regclass", REGCLASS, 2210, "regclass", 4, "N"),
    Type("regtype", REGTYPE, 2211, "regtype", 4, "N"),
)
ARRAYS = {one.oid: one.array for one in TYPES}
WIDTHS = {one.oid: one.width for one in TYPES}
_ELEMENTS = {array: element for element, array in ARRAYS.items()} | {INT2VECTOR: INT2, OIDVECTOR: OID}
_INTEGERS = {INT2: "!h", INT4: "!i", INT8: "!q", OID: "!I", REGCLASS: "!I", REGTYPE: "!I"}
_TEXTS = (TEXT, VARCHAR, NAME, UNKNOWN, BPCHAR, CHAR, 0)
_EPOCH = datetime.date(2000, 1, 1)
_MOST_DIGITS = 1000


class BadValue(Exception):
    """A value that cannot be read or written in this form; the message says why, for whoever sent it."""


@dataclass(frozen=True, slots=True)
class Field:
    """A column of a result."""

    name: str
    oid: int = TEXT


# What goes out ---------------------------------------------------------------------------------------------


def encoded(value: Any, oid: int, form: int) -> bytes | None:
    """A value of this type as text (0) or binary (1); None stays None."""
    if value is None:
        return None
    return _binary(value, oid) if form == 1 else text_of(value, oid).encode()


def text_of(value: Any, oid: int = TEXT) -> str:
    if isinstance(value, bool):
        return ("t" if value else "f") if oid in (BOOL, CHAR) else ("true" if value else "false")
    if isinstance(value, float):
        return _float_text(value)
    if isinstance(value, list | tuple):
        return "{" + ",".join(_element_text(one) for one in value) + "}"
    return str(value)


def _float_text(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)


def _element_text(value: Any) -> str:
    if value is None:
        return "NULL"
    text = text_of(value, BOOL if isinstance(value, bool) else TEXT)
    plain = text and text.upper() != "NULL" and not any(mark in text for mark in '{},"\\ \t\n')
    return text if plain else '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _binary(value: Any, oid: int) -> bytes:
    try:
        if oid == BOOL:
            return b"\1" if value else b"\0"
        if oid in _INTEGERS:
            return struct.pack(_INTEGERS[oid], int(value))
        if oid in (FLOAT4, FLOAT8):
            return struct.pack("!d" if oid == FLOAT8 else "!f", float(value))
        if oid == DATE:
            return struct.pack("!i", (datetime.date.fromisoformat(str(value)) - _EPOCH).days)
        if oid == TIMESTAMP:
            since = datetime.datetime.fromisoformat(str(value)) - datetime.datetime(2000, 1, 1)
            return struct.pack("!q", since // datetime.timedelta(microseconds=1))
        if oid == NUMERIC:
            return _numeric(Decimal(str(value)))
        if oid in _ELEMENTS:
            return _array(value, _ELEMENTS[oid])
    except (ValueError, OverflowError, struct.error, InvalidOperation):
        raise BadValue("this value cannot be written in binary: ask for text") from None
    return text_of(value, oid).encode()


def _array(values: Sequence[Any], element: int) -> bytes:
    told = [_binary(one, element) if one is not None else None for one in values]
    head = struct.pack("!iiI", 1 if told else 0, int(None in told), element)
    if not told:
        return head
    return head + struct.pack("!ii", len(told), 1) + b"".join(map(sized, told))


def sized(content: bytes | None) -> bytes:
    """A value behind its length; None as NULL."""
    return b"\xff\xff\xff\xff" if content is None else struct.pack("!i", len(content)) + content


def _numeric(value: Decimal) -> bytes:
    """Digits in base 10,000, with the weight of the first and the number of digits behind the point."""
    if not value.is_finite():
        return struct.pack("!hhHh", 0, 0, 0xC000, 0)
    if abs(value.adjusted()) > 1000:
        raise ValueError
    sign, _, exponent = value.as_tuple()
    behind = max(0, -int(exponent))
    before, _, after = f"{abs(value):f}".partition(".")
    before, after = before.zfill(-(-len(before) // 4) * 4), after.ljust(-(-len(after) // 4) * 4, "0")
    digits = [int((before + after)[i : i + 4]) for i in range(0, len(before) + len(after), 4)]
    weight = len(before) // 4 - 1
    while digits and digits[0] == 0:
        digits, weight = digits[1:], weight - 1
    while digits and digits[-1] == 0:
        digits = digits[:-1]
    head = struct.pack("!hhHh", len(digits), weight if digits else 0, 0x4000 if sign else 0, behind)
    return head + struct.pack(f"!{len(digits)}h", *digits)


# What comes in ---------------------------------------------------------------------------------------------


def decoded(content: bytes | None, oid: int, form: int) -> Any:
    """A parameter of this type: a str, an int, a Decimal, a bool, a date, a list of them, or None."""
    if content is None:
        return None
    try:
        return _from_binary(content, oid) if form == 1 else _from_text(content.decode(), oid)
    except (ValueError, LookupError, struct.error, InvalidOperation, OverflowError):
        raise BadValue("the value of a parameter is not of its type") from None


def _from_text(text: str, oid: int) -> Any:
    if "\0" in text:
        raise ValueError
    if oid in _INTEGERS:
        return int(text[:30]) if len(text) < 30 else int("x")
    if oid in (FLOAT4, FLOAT8):
        return short_decimal(text[: _MOST_DIGITS + 1], oid)
    if oid == NUMERIC:
        return _finite(Decimal(text[: _MOST_DIGITS + 1]))
    if oid == BOOL:
        return {"t": True, "true": True, "1": True, "f": False, "false": False, "0": False}[text.lower()]
    if oid == DATE:
        return datetime.date.fromisoformat(text)
    if oid in (TIMESTAMP, TIMESTAMPTZ):
        return _midnight(datetime.datetime.fromisoformat(text))
    if oid in _ELEMENTS:
        return _list_of(text, _ELEMENTS[oid])
    return text


def _from_binary(content: bytes, oid: int) -> Any:
    if oid in _INTEGERS:
        return struct.unpack(_INTEGERS[oid], content)[0]
    if oid in (FLOAT4, FLOAT8):
        return short_decimal(repr(struct.unpack("!d" if oid == FLOAT8 else "!f", content)[0]), oid)
    if oid == BOOL:
        return struct.unpack("!?", content)[0]
    if oid == DATE:
        return _EPOCH + datetime.timedelta(days=struct.unpack("!i", content)[0])
    if oid in (TIMESTAMP, TIMESTAMPTZ):
        since = datetime.timedelta(microseconds=struct.unpack("!q", content)[0])
        return _midnight(datetime.datetime(2000, 1, 1) + since)
    if oid == NUMERIC:
        return _from_numeric(content)
    if oid in _ELEMENTS:
        return _from_array(content)
    if oid in _TEXTS:
        return _from_text(content.decode(), TEXT)
    raise ValueError


def short_decimal(text: str, oid: int) -> Decimal:
    """The shortest decimal of the double, or of the float of four bytes, that is nearest to a number.

    Drivers send 0.3 as 0.29999999999999999, which is the same double and another decimal.
    """
    near = float(_finite(Decimal(text)))
    with np.errstate(over="ignore"):  # infinity is refused below
        return _finite(Decimal(repr(near) if oid == FLOAT8 else str(np.float32(near))))


def _midnight(moment: datetime.datetime) -> datetime.date:
    """Columns hold days, so a moment is one only at its beginning."""
    if moment.time() != datetime.time():
        raise BadValue("columns hold days: a moment within one cannot be compared; send a date")
    return moment.date()


def _finite(number: Decimal) -> Decimal:
    if not number.is_finite() or abs(number.adjusted()) > _MOST_DIGITS:
        raise BadValue("a parameter is a finite number")
    return number


def _from_numeric(content: bytes) -> Decimal:
    count, weight, sign, _ = struct.unpack_from("!hhHh", content)
    if sign & 0xC000 == 0xC000 or not 0 <= count <= _MOST_DIGITS:
        raise BadValue("a parameter is a finite number")
    digits = struct.unpack(f"!{count}h", content[8:])
    total = sum(
        (Decimal(digit).scaleb(4 * (weight - place)) for place, digit in enumerate(digits)), Decimal(0)
    )
    return -total if sign & 0x4000 else total


def _from_array(content: bytes) -> list[Any]:
    dimensions, _, element = struct.unpack_from("!iiI", content)
    if dimensions == 0:
        return []
    if dimensions != 1 or element in _ELEMENTS:
        raise BadValue("a list of lists is not supported")
    (length,), place, found = struct.unpack_from("!i", content, 12), 20, []
    for _ in range(length):
        (size,) = struct.unpack_from("!i", content, place)
        place += 4
        found.append(None if size < 0 else _from_binary(content[place : place + size], element))
        place += max(size, 0)
    return found


def _list_of(text: str, element: int) -> list[Any]:
    """{a,"b c",NULL} as a list."""
    try:
        return [None if one is None else _from_text(one, element) for one in elements(text)]
    except InvalidRequest as wrong:
        raise BadValue(wrong.message) from None


def example(oid: int) -> Any:
    """Some value of this type, to read a statement with before its parameters are known."""
    if oid in (*_INTEGERS, FLOAT4, FLOAT8, NUMERIC):
        return 1
    if oid == BOOL:
        return True
    if oid in (DATE, TIMESTAMP, TIMESTAMPTZ):
        return _EPOCH
    return [example(_ELEMENTS[oid])] if oid in _ELEMENTS else "text"
