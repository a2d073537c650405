"""All that one text says: the question, how its answer is shown, and a price if it names one.

How it is shown, which of its rows and in which order, works on released values and public keys alone, so it
costs nothing and is no part of the question: the same question in another order is the same question.  A
value that is not a number is missing, as NULL is in SQL: a comparison with it is neither true nor false,
and it comes last in every order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isnan
from operator import eq, ge, gt, le, lt, ne
from typing import Any, Literal, assert_never

import numpy as np
import numpy.typing as npt

from adyton.errors import InvalidRequest
from adyton.exact import float_down, float_up
from adyton.exact.cells import Floats
from adyton.query.draft import Draft
from adyton.query.names import is_declared
from adyton.query.nodes import Question
from adyton.schema import Table

KeyLabel = str | int | float | bool
Row = tuple[Mapping[str, KeyLabel], Mapping[str, float]]
Places = npt.NDArray[np.int64]
Truths = npt.NDArray[np.bool_]
# A column of an answer: its values, or for a key the labels there are and the number of each row's label.
Told = Floats | tuple[Sequence[KeyLabel], npt.NDArray[Any]]
Sign = Literal["<", "<=", "=", "<>", ">=", ">"]
_SIGNS = {"<": lt, "<=": le, "=": eq, "<>": ne, ">=": ge, ">": gt}
_TURNED: dict[Sign, Sign] = {"<": ">", "<=": ">=", "=": "=", "<>": "<>", ">=": "<=", ">": "<"}


@dataclass(frozen=True, slots=True)
class ReleasedName:
    """A value or a key of the answer, by its name."""

    name: str


Side = ReleasedName | Fraction | str | bool
_Told = Told | Fraction | str | bool


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
        keys, values = (rows[0][0], rows[0][1]) if rows else ({}, {})
        columns: dict[str, Told] = {n: ([k[n] for k, _ in rows], np.arange(len(rows))) for n in keys}
        columns |= {name: np.array([v[name] for _, v in rows], float) for name in values}
        return tuple(self.places(columns, len(rows)).tolist()) if rows else ()

    def places(self, columns: Mapping[str, Told], rows: int) -> Places:
        """The same for the columns of an answer: keys and values; where both have a name, the value."""
        shown = np.arange(rows)
        if self.having is not None:
            shown = shown[_holds(self.having, columns, rows)]
        for term in reversed(self.order):
            told = columns[term.name]
            ranks = _ranks(told)[shown]
            ranks = np.where(_missing(told, rows)[shown], rows, -ranks if term.descending else ranks)
            shown = shown[np.argsort(ranks, kind="stable")]
        end = None if self.limit is None else self.offset + self.limit
        return shown[self.offset : end]

    def named(self, keys: Mapping[str, KeyLabel]) -> dict[str, KeyLabel]:
        """The keys of a row under the names that they are shown as."""
        shown = dict(self.names)
        return {shown.get(name, name): key for name, key in keys.items()}


AS_ASKED = Shape()


@dataclass(frozen=True, slots=True)
class Request:
    """A question, the shape of its answer, and what SELECT WITH ... OPTIONS says about its price."""

    question: Question
    shape: Shape = AS_ASKED
    epsilon: Fraction | None = None
    delta: Fraction | None = None

    @property
    def alone(self) -> Question:
        """The question, if nothing else is said: no price, and nothing about how to show its answer."""
        if self != Request(self.question):
            raise InvalidRequest(
                "a question alone is needed here, without ORDER BY, LIMIT, OFFSET, HAVING, epsilon or delta, "
                "and without another name for a column"
            )
        return self.question


def request_of(asked: str | Draft | Question, table: Table, *further: Table) -> Request:
    """What is asked about ``table``, however it was asked: as SQL, as a draft, or ready.

    SQL and ready questions may also be about ``further`` tables of the same persons, joined or not.
    """
    match asked:
        case str():
            from adyton.query.sql.read import parse_request  # the parser costs more than all other imports

            return parse_request(asked, table, *further)
        case Draft():
            return Request(asked.on(table))
        case Question():
            if not is_declared(asked.table, (table, *further)):
                raise InvalidRequest(f"the question is about another table than {table.name!r} as declared")
            return Request(asked)
        case _:
            raise InvalidRequest(f"a question is SQL, a draft or a Question, not a {type(asked).__name__}")


def _holds(having: Having, columns: Mapping[str, Told], rows: int, wanted: bool = True) -> Truths:
    """Where it is surely true, or surely not if that is not ``wanted``; neither where a value is missing."""
    match having:
        case Relation(left, sign, right):
            one, other = _side(left, columns), _side(right, columns)
            known = ~(_missing(one, rows) | _missing(other, rows))
            return np.asarray(known & (_related(one, sign, other, rows) == wanted))
        case Every(parts):
            every = np.logical_and if wanted else np.logical_or
            return np.asarray(every.reduce([_holds(part, columns, rows, wanted) for part in parts]))
        case Some(parts):
            some = np.logical_or if wanted else np.logical_and
            return np.asarray(some.reduce([_holds(part, columns, rows, wanted) for part in parts]))
        case Opposite(inner):
            return _holds(inner, columns, rows, not wanted)
        case _:
            assert_never(having)


def _side(side: Side, columns: Mapping[str, Told]) -> Told | Fraction | str | bool:
    return columns[side.name] if isinstance(side, ReleasedName) else side


def _related(left: _Told, sign: Sign, right: _Told, rows: int) -> Truths:
    """Exactly as Python compares each two of them: a float with a fraction without rounding."""
    if isinstance(right, tuple | np.ndarray) and not isinstance(left, tuple | np.ndarray):
        return _related(right, _TURNED[sign], left, rows)
    compare = _SIGNS[sign]
    match left, right:
        case np.ndarray(), np.ndarray():
            return np.asarray(compare(left, right))
        case (labels, codes), Fraction() | str() | bool():
            return np.array([bool(compare(label, right)) for label in labels], np.bool_)[codes]
        case np.ndarray(), Fraction():
            return _beside_fraction(left, sign, right)
    pairs = zip(_listed(left, rows), _listed(right, rows), strict=True)
    return np.array([bool(compare(a, b)) for a, b in pairs], np.bool_)


def _beside_fraction(values: Floats, sign: Sign, exact: Fraction) -> Truths:
    """No float lies between the two floats beside the fraction."""
    up, down = float_up(exact), float_down(exact)
    if up != down and sign in ("=", "<>"):
        return np.full(len(values), sign == "<>")
    return np.asarray(_SIGNS[sign](values, up if sign in ("<", ">=") else down))


def _listed(side: _Told, rows: int) -> list[KeyLabel | Fraction]:
    match side:
        case np.ndarray():
            return list(side.tolist())
        case (labels, codes):
            return [labels[code] for code in codes.tolist()]
    return [side] * rows


def _ranks(told: Told) -> Places:
    """Equal numbers for what is equal, greater ones for what comes later in a rising order.

    NaN comes last in it, so that every order is one.
    """
    if isinstance(told, np.ndarray):
        places = np.unique(told, return_inverse=True)[1]  # one place for all NaN, the last
        return places.astype(np.int64)
    labels, codes = told
    order = {label: rank for rank, label in enumerate(sorted(set(labels), key=_rank))}
    return np.array([order[label] for label in labels], np.int64)[codes]


def _missing(told: _Told, rows: int) -> Truths:
    """Where there is no value to compare or to order by."""
    if isinstance(told, np.ndarray):
        return np.isnan(told)
    return np.zeros(rows, np.bool_)


def _rank(value: KeyLabel) -> tuple[bool, KeyLabel]:
    missing = isinstance(value, float) and isnan(value)
    return missing, 0.0 if missing else value
