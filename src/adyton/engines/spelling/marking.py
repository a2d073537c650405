"""Which values came from outside of what is declared: a bit for each column, packed into few small integers.

A clipped integer does not say whether it was clipped, nor a missing category whether there was a value.  The
bits stand beside the loaded values.  With the value they say everything: a number that is missing was no
number, a category that is there is declared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from adyton.query.leaves import Bounded
from adyton.query.names import entries
from adyton.schema import Column, Table

_BITS = 30  # of one integer: DuckDB keeps up to 8 of them in a byte, all other engines in four


class Coding(Protocol):
    """How one engine spells a small integer."""

    def code(self, number: str, size: int) -> str:
        """A number that is not negative and below ``size``, in a small type."""


class Mark(NamedTuple):
    """A bit of an integer beside the loaded values."""

    word: str
    bit: int

    @property
    def is_set(self) -> str:
        return f"(({self.word} & {1 << self.bit}) <> 0)"


def marks_of(table: Table) -> dict[str, Mark]:
    """The bit of each column that has bounds or a list, by its name in the table, joined or not."""
    if table.join is None:
        return member_marks(table.columns, 0)
    shown = iter(entries(table.join))
    found: dict[str, Mark] = {}
    for member, one in enumerate(table.join.tables):
        own = member_marks(one.columns, member)
        for column in one.columns:
            name = next(shown).shown.name
            if column.name in own:
                found[name] = own[column.name]
    return found


def member_marks(columns: Sequence[Column], member: int) -> dict[str, Mark]:
    """The bits of a private table that is the first, second, ... of those that are joined."""
    bounded = [column.name for column in columns if isinstance(column, Bounded)]
    return {name: Mark(f"k{member}_{i // _BITS}", i % _BITS) for i, name in enumerate(bounded)}


def packed(marks: Mapping[str, Mark], outside: Mapping[str, str], dialect: Coding) -> dict[str, str]:
    """The integers, by their names, from a condition for each bit; one that is not true leaves it 0."""
    words: dict[str, list[str]] = {}
    for name, mark in marks.items():
        bit = f"CASE WHEN {outside[name]} THEN {1 << mark.bit} ELSE 0 END"
        words.setdefault(mark.word, []).append(bit)
    return {word: dialect.code(f"({' + '.join(bits)})", 1 << len(bits)) for word, bits in words.items()}
