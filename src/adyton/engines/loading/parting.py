"""Units that are split into parts: the same part for the same unit on every engine, whatever its values are.

A part is a span of salted hashes of who the unit is, or, where rows are units, of the position of the row in
its source.  Hashes are compared as texts: all engines write md5 alike, and none has to make a number of it.
"""

from __future__ import annotations

from collections.abc import Set
from typing import Protocol

from adyton.errors import InvalidRequest
from adyton.privacy import PrivacyUnit

_DIGITS = 12
_PAST_ALL = "g"  # follows all hexadecimal digits


class Hashing(Protocol):
    """What is needed of an engine's spelling."""

    text_type: str

    def text(self, value: str) -> str: ...
    def byte_order(self, text: str) -> str: ...


def part_of(unit: str, salt: str, spelling: Hashing) -> str:
    """The hash that says in which part a unit is.  Theorem: SPLIT-STUDY."""
    told = f"md5(CAST({unit} AS {spelling.text_type}))"  # of fixed length
    return f"substr(md5(concat({spelling.text(f'{salt},part,')}, {told})), 1, {_DIGITS})"


def in_part(named: Set[int | None], parts: int, spelling: Hashing) -> str:
    """A condition on the column ``part``; nothing is read unless it is one part that is meant."""
    part = next(iter(named)) if len(named) == 1 else None
    if part is None or parts == 1 or not 1 <= part <= parts:
        raise InvalidRequest("where units are split, one part of them is read for each question")
    first, last = edge(part - 1, parts), edge(part, parts)
    hashed = spelling.byte_order("part")
    return f"{hashed} >= {spelling.text(first)} AND {hashed} < {spelling.text(last)}"


def edge(part: int, parts: int) -> str:
    """Below which the hashes of the first so many parts lie."""
    return _PAST_ALL if part == parts else f"{-(-part * 16**_DIGITS // parts):0{_DIGITS}x}"


def check_parts(unit: PrivacyUnit, in_order: bool, told_alike: bool) -> None:
    """Refuses to split units that cannot be told apart in the same way whenever the source is read."""
    if unit.person is None and not in_order:
        raise InvalidRequest(
            "rows of a database have no position, so they cannot be split into parts: write "
            "privacy.unit = 'person', or use a file"
        )
    if unit.person is not None and not told_alike:
        raise InvalidRequest(
            f"units are split by a hash of the person {unit.person!r}, which must be an integer or a string"
        )
