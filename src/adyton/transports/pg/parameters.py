"""Parameters of a statement: which types they have, and how they stand in a text as literals.

A query has a closed language, in which a parameter is a literal like any other.  It is written where $1
stands, as a number in digits or a string in quotes, and then read with the rest: nothing that it says can be
taken for a word of the grammar.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import lru_cache
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from adyton.query.doubles import shortest
from adyton.query.sql.several.lists import listed_in
from adyton.query.text import value_text
from adyton.service.limits import LIMITS
from adyton.transports.pg.statements import parameters_in
from adyton.transports.pg.values import (
    ARRAYS,
    BOOL,
    DATE,
    FLOAT8,
    INT2,
    INT4,
    INT8,
    NUMERIC,
    OID,
    TEXT,
    TIMESTAMP,
    UNKNOWN,
    BadValue,
    short_decimal,
)

Resolve = Callable[[str], int]  # the type of a column, by its name
_MOST_LATERALS = 3  # each one makes the parser read all behind it once more, and more often inside another
_MOST_NODES = 20_000  # parts of a tree, with those that are thrown away
_UNSAID = (0, UNKNOWN)
_NUMBER = re.compile(r"-?(?:[0-9]{1,300}(?:\.[0-9]{0,300})?|\.[0-9]{1,300})(?:[eE][+-]?[0-9]{1,3})?")
# Words of the grammar that stand for names behind AS, which the parser does not read.
_AS_WORD = re.compile(
    r"\bas\s+(select|insert|update|delete|table|from|to)\b(?=\s*(?:,|\)|$|from\b))", re.IGNORECASE
)
_PLAIN_SIGNS = (None, "duckdb", "postgres", "sqlite", "tsql")  # where a backslash in a text is one
_LATERAL = re.compile(r"\b(?:lateral|apply)\b", re.IGNORECASE)
_CASTS = {
    exp.DType.INT: INT4,
    exp.DType.SMALLINT: INT2,
    exp.DType.BIGINT: INT8,
    exp.DType.DOUBLE: FLOAT8,
    exp.DType.DECIMAL: NUMERIC,
    exp.DType.BOOLEAN: BOOL,
    exp.DType.DATE: DATE,
    exp.DType.TIMESTAMP: TIMESTAMP,
}
_BOTH_SIDES = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Like, exp.ILike, exp.NullSafeEQ)


def numbers_in(text: str) -> int:
    """How many parameters a text has: the largest number in it."""
    found = parameters_in(text)
    most = max((number for number, _, _ in found), default=0)
    if most > LIMITS.wire_parameters or any(number < 1 for number, _, _ in found):
        raise BadValue(f"parameters are $1 to ${LIMITS.wire_parameters}")
    return most


def types_of(text: str, declared: Sequence[int], resolve: Resolve) -> list[int]:
    """The type of each parameter: as the client says, or as what it is compared with."""
    count = max(numbers_in(text), len(declared))
    said = {number: oid for number, oid in enumerate(declared, 1) if oid not in _UNSAID}
    guessed = _guessed(text, resolve) if len(said) < count else {}
    return [said.get(number, guessed.get(number, TEXT)) for number in range(1, count + 1)]


def _guessed(text: str, resolve: Resolve) -> dict[int, int]:
    found: dict[int, int] = {}
    for number, above in _places(text):
        oid = _in_place(above, resolve)
        if oid is not None:
            found.setdefault(number, oid)
    return found


def columns_of(text: str) -> dict[int, str]:
    """The column that each parameter is compared with, where that is plain to see."""
    found: dict[int, str] = {}
    for number, above in _places(text):
        column = _column_beside(above)
        if column is not None:
            found.setdefault(number, column)
    return found


def _places(text: str) -> Iterator[tuple[int, exp.Expr | None]]:
    """Each parameter, and what it stands in."""
    tree = tree_of(text)
    for node in tree.find_all(exp.Parameter) if tree is not None else ():
        if node.name.isdecimal():
            yield int(node.name), _above_brackets(node)


def _above_brackets(node: exp.Expr) -> exp.Expr | None:
    above = node.parent
    while isinstance(above, exp.Paren | exp.Neg | exp.Tuple):
        above = above.parent
    return above


def _in_place(above: exp.Expr | None, resolve: Resolve) -> int | None:
    """The type that fits there."""
    column = _column_beside(above)
    match above:
        case exp.Cast() if above.to.this is exp.DType.ARRAY:
            return ARRAYS[_type_named(above.to.expressions[0]) if above.to.expressions else TEXT]
        case exp.Cast():
            return _type_named(above.to)
        case exp.Limit() | exp.Offset():
            return INT8
        case exp.Any() | exp.All() | exp.Anonymous() if above is not None and listed_in(above)[0] is not None:
            return ARRAYS.get(TEXT if column is None else resolve(column), ARRAYS[TEXT])
    return None if column is None else resolve(column)


def _type_named(kind: exp.Expr) -> int:
    return _CASTS.get(kind.this, OID if kind.sql().lower() == "oid" else TEXT)


def _column_beside(above: exp.Expr | None) -> str | None:
    """The name of the column that something in there is compared with."""
    sides: list[object] = []
    match above:
        case exp.Array() | exp.Cast():  # of a list, or of what is compared
            return _column_beside(_above_brackets(above))
        case exp.Any() | exp.All() | exp.Anonymous() if above.parent and listed_in(above)[0] is not None:
            sides = [above.parent.this]
        case exp.In() | exp.Between():
            sides = [above.this]
        case _ if isinstance(above, _BOTH_SIDES):
            sides = [above.this, above.expression]
    for side in sides:
        while isinstance(side, exp.Paren):
            side = side.this
        if isinstance(side, exp.Column):
            return str(side.name)
    return None


def tree_of(text: str) -> exp.Expr | None:
    """What a text says in the words of PostgreSQL; None if it cannot be read so.  It is never changed."""
    if len(text) > LIMITS.wire_statement_letters or len(_LATERAL.findall(text)) > _MOST_LATERALS:
        return None  # and not kept
    return _tree_of(text)


@lru_cache(maxsize=LIMITS.wire_parsed)
def _tree_of(text: str) -> exp.Expr | None:
    for written in (text, _AS_WORD.sub(r'AS "\1"', text)):
        try:
            return sqlglot.parse_one(written, dialect="postgres", max_nodes=_MOST_NODES)
        except (SqlglotError, RecursionError, ValueError, TypeError, AttributeError, IndexError):
            continue
    return None


def check_signs(text: str, values: Mapping[int, Any], dialect: str | None) -> None:
    """A literal must end where it is meant to, in the words of whichever database it is read."""
    if not values or dialect in _PLAIN_SIGNS:
        return
    texts = [text, *(value for value in values.values() if isinstance(value, str))]
    if any("\\" in one for one in texts):
        raise BadValue(f"beside parameters a backslash is refused: in {dialect} it hides the sign behind it")


def filled(text: str, values: Mapping[int, Any]) -> str:
    """The text with literals in the place of its parameters."""
    pieces, place, written = [], 0, 0
    for number, start, end in parameters_in(text):
        pieces += [text[place:start], literal(values.get(number))]
        place, written = end, written + len(pieces[-1])
        if written > LIMITS.wire_parameter_bytes:  # one parameter may stand in many places
            raise BadValue("the statement is too long with its parameters")
    return "".join([*pieces, text[place:]])


def place_before(text: str, values: Mapping[int, Any], position: int) -> int:
    """Where something stands in ``text`` that stands at ``position``, from 1, in the text with literals."""
    longer = 0
    for number, start, end in parameters_in(text):
        written = len(literal(values.get(number)))
        if position - 1 < start + longer:
            break
        if position - 1 < start + longer + written:
            return start + 1
        longer += written - (end - start)
    return position - longer


def literal(value: Any) -> str:
    """As the language of queries writes it."""
    if value is None:
        return "NULL"
    if isinstance(value, bool | str):
        return value_text(value)
    if isinstance(value, int | Decimal):
        written = f"{value:f}" if isinstance(value, Decimal) else str(value)
        if shortest(written.removeprefix("-")) != written.removeprefix("-"):
            behind = len(written.partition(".")[2])
            return f"CAST('{written}' AS DECIMAL({len(written)}, {behind}))"  # with every digit
        return f"({written})" if written.startswith("-") else written
    if isinstance(value, datetime.date):
        return f"DATE '{value.isoformat()}'"
    if isinstance(value, list) and not any(isinstance(one, list) for one in value):
        return f"ARRAY[{', '.join(map(literal, value))}]"
    raise BadValue("a list of lists is not supported")


def unquoted(value: Any, oid: int) -> Any:
    """A text that was sent without a type, as the type of the column it is compared with."""
    if isinstance(value, str) and oid in (INT2, INT4, INT8, FLOAT8, NUMERIC) and _NUMBER.fullmatch(value):
        return short_decimal(value, oid) if oid == FLOAT8 else Decimal(value)
    return value
