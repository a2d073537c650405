"""NOISE_LOW(n) and its three sisters in a SELECT list: ends of the intervals of another column, by its name.

Intervals come with every answer, so they are no part of the query: they are taken out of the text, with
spaces in their place so that places stay what they are, and put into the rows that come back.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from adyton.service.limits import LIMITS
from adyton.transports.pg.errors import SqlError
from adyton.transports.pg.statements import closed_marks, folded
from adyton.transports.pg.values import Field

_MOST = 200  # ends
_NAME = r'(?:[A-Za-z_]\w*|"(?:[^"]|"")+")'
_CALL = (
    rf"(?P<kind>NOISE|POPULATION)_(?P<end>LOW|HIGH)\s*\(\s*(?P<name>{_NAME})\s*\)"
    rf"(?:\s+AS\s+(?P<alias>{_NAME}))?"
)
_ITEM = re.compile(rf",\s*{_CALL}(?=\s*(?:,|FROM\b))", re.IGNORECASE)
_FIRST = re.compile(rf"(?<=SELECT)\s+{_CALL}\s*,", re.IGNORECASE)
_MENTIONED = re.compile(r"\b(?:NOISE|POPULATION)_(?:LOW|HIGH)\s*\(", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class End:
    """``before``: how many items of the SELECT list stand before it."""

    name: str
    column: str
    alias: str
    before: int


def without_ends(text: str) -> tuple[str, list[End]]:
    """The query alone, as long as the text was, and the ends that are asked for."""
    if len(text) > LIMITS.wire_statement_letters or _MENTIONED.search(text) is None:
        return text, []
    quoted = [(mark.start(), end) for mark, end in closed_marks(text) if mark.group() not in (";", '"')]
    matches = [match for pattern in (_FIRST, _ITEM) for match in pattern.finditer(text)]
    asked = [
        match
        for match in matches
        if not any(start < match.end() and match.start() < end for start, end in quoted)
    ]
    if len(asked) > _MOST:
        raise SqlError("54011", f"a query asks for at most {_MOST} ends of intervals")
    covered = [(mark.start(), end) for mark, end in closed_marks(text) if mark.group() != ";"]
    plain, ends = text, []
    for match in sorted(asked, key=lambda one: one.start()):
        start, end = match.span()
        kind, side, name = match["kind"].lower(), match["end"].lower(), folded(match["name"])
        column = f"{name}_{kind}_{side}"
        alias = folded(match["alias"]) if match["alias"] else column
        ends.append(End(name, column, alias, _items_before(text, start, covered)))
        plain = plain[:start] + " " * (end - start) + plain[end:]
    return plain, ends


def with_ends(fields: Sequence[Field], ends: Sequence[End]) -> list[tuple[str, Field]]:
    """Columns as they are shown, each with the column of the answer that it shows."""
    shown = [(field.name, field) for field in fields]
    known = {field.name: field.oid for field in fields}
    for end in ends:
        if end.name not in known:
            raise SqlError(
                "42703", f'NOISE_LOW and the like take the name of another column; "{end.name}" is none'
            )
        shown.insert(min(end.before, len(shown)), (end.column, Field(end.alias, known[end.name])))
    return shown


def _items_before(text: str, start: int, covered: Sequence[tuple[int, int]]) -> int:
    """Commas outside brackets, strings and names, from the last SELECT on."""
    depth = number = 0
    place = text[:start].upper().rfind("SELECT") + len("SELECT")
    closing = dict(covered)
    place = max((end for begin, end in covered if begin <= place < end), default=place)
    while place < start:
        if place in closing:
            place = closing[place]
            continue
        depth += {"(": 1, ")": -1}.get(text[place], 0)
        number += text[place] == "," and depth == 0
        place += 1
    is_item = text[start] == ","
    return number + 1 if is_item else 0
