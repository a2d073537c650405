"""How an answer is shown: which of its rows, and in which order.

A shape works on released values and public keys alone, so it costs nothing and is no part of the question:
the same question in another order is the same question.  A value that is not a number is missing, as NULL is
in SQL: a comparison with it is neither true nor false, and it comes last in every order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isnan
from operator import eq, ge, gt, le, lt, ne
from typing import Literal, assert_never

from adyton.errors import InvalidRequest

Key = str | int | float | bool
Row = tuple[Mapping[str, Key], Mapping[str, float]]
Sign = Literal["<", "<=", "=", "<>", ">=", ">"]
_SIGNS = {"<": lt, "<=": le, "=": eq, "<>": ne, ">=": ge, ">": gt}


@dataclass(frozen=True, slots=True)
class Released:
    """A value or a key of the answer, by its name."""

    name: str


Side = Released | Fraction | str | bool


@dataclass(frozen=True, slots=True)
class Relation:
    left: Side
    sign: Sign
    right: Side

    def __post_init__(self) -> None:
        if self.sign not in _SIGNS:
            raise InvalidRequest(f"unknown comparison {self.sign!r}")


@dataclass(frozen=True, slots=True)
class Every:
    parts: tuple[Having, ...]


@dataclass(frozen=True, slots=True)
class Some:
    parts: tuple[Having, ...]


@dataclass(frozen=True, slots=True)
class Opposite:
    inner: Having


Having = Relation | Every | Some | Opposite


@dataclass(frozen=True, slots=True)
class Term:
    """What rows are ordered by; the greatest first if ``descending``."""

    name: str
    descending: bool = False


@dataclass(frozen=True, slots=True)
class Shape:
    """Rows for which ``having`` holds, in the order of ``order``, from ``offset`` on, at most ``limit``.

    Rows that are equal in the order stay as the answer has them: in the order of declared values.  ``names``
    are pairs: a key, and what it is shown as; all else here calls keys by the names of the question.
    """

    order: tuple[Term, ...] = ()
    limit: int | None = None
    offset: int = 0
    having: Having | None = None
    names: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        for name, number in (("LIMIT", self.limit or 0), ("OFFSET", self.offset)):
            if type(number) is not int or number < 0:
                raise InvalidRequest(f"{name} is a whole number, not below 0")

    def applied(self, rows: Sequence[Row]) -> tuple[int, ...]:
        """The places of the rows to show, in the order in which they are shown."""
        shown = [i for i, row in enumerate(rows) if self.having is None or _holds(self.having, row)]
        for term in reversed(self.order):
            ranks = {i: _rank(_value(term.name, rows[i]), term.descending) for i in shown}
            shown.sort(key=ranks.__getitem__, reverse=term.descending)
        end = None if self.limit is None else self.offset + self.limit
        return tuple(shown[self.offset : end])

    def named(self, keys: Mapping[str, Key]) -> dict[str, Key]:
        """The keys of a row under the names that they are shown as."""
        shown = dict(self.names)
        return {shown.get(name, name): key for name, key in keys.items()}


AS_ASKED = Shape()


def _holds(having: Having, row: Row, wanted: bool = True) -> bool:
    """Whether it is surely true, or surely not if that is ``wanted``; neither where a value is missing."""
    match having:
        case Relation(left, sign, right):
            one, other = _side(left, row), _side(right, row)
            known = not (_missing(one) or _missing(other))
            return known and bool(_SIGNS[sign](one, other)) is wanted
        case Every(parts):
            return (all if wanted else any)(_holds(part, row, wanted) for part in parts)
        case Some(parts):
            return (any if wanted else all)(_holds(part, row, wanted) for part in parts)
        case Opposite(inner):
            return _holds(inner, row, not wanted)
        case _:
            assert_never(having)


def _side(side: Side, row: Row) -> Key | Fraction:
    return _value(side.name, row) if isinstance(side, Released) else side


def _value(name: str, row: Row) -> Key:
    keys, values = row
    return values[name] if name in values else keys[name]


def _missing(value: Key | Fraction) -> bool:
    return isinstance(value, float) and isnan(value)


def _rank(value: Key, descending: bool) -> tuple[bool, Key]:
    """What is missing comes last, whichever way the order goes."""
    missing = _missing(value)
    return missing is not descending, 0.0 if missing else value
