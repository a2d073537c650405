"""All that one text says: the query, how its answer is shown, and a price if it names one.

How it is shown, which of its rows and in which order, works on released values and public keys alone, so it
costs nothing and is no part of the query: the same query in another order is the same query.  A
value that is not a number is missing, as NULL is in SQL: a comparison with it is neither true nor false,
and it comes last in every order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Union

import numpy as np

from adyton.errors import InvalidRequest
from adyton.kernel.exact.cells import Floats
from adyton.kernel.schema import Table
from adyton.kernel.terms.names import is_declared
from adyton.kernel.terms.persons import TableOfPersons, table_of_persons
from adyton.query.doubles import remarks_on
from adyton.query.draft import Draft
from adyton.query.labels import KeyLabel
from adyton.query.nodes import Query
from adyton.query.released.answered import Answered, Places, Told
from adyton.query.released.nodes import Having, Node, Released, ReleasedName, Term, Window, is_label, names_in
from adyton.query.released.windows import OCCURRING

if TYPE_CHECKING:
    from adyton.query.selecting import BestOf, Selection
    from adyton.query.sql.read import TextReader

Row = tuple[Mapping[str, KeyLabel], Mapping[str, float]]
_TEXTS = 256


@dataclass(frozen=True, slots=True)
class Shape:
    """Rows for which ``having`` holds, and ``qualify`` among those, in the order of ``order``, from
    ``offset`` on, at most ``limit``.

    Rows that are equal in the order stay as the answer has them: in the order of declared values.  ``names``
    are pairs: a key, and what it is shown as; all else here calls keys by the names of the query.
    ``shown`` are the columns beside keys, in the order of SELECT: a name, and what it shows; none: every
    value under its own name.
    """

    order: tuple[Term, ...] = ()
    limit: int | None = None
    offset: int = 0
    having: Having | None = None
    names: tuple[tuple[str, str], ...] = ()
    shown: tuple[tuple[str, Released], ...] = ()
    qualify: Having | None = None

    def __post_init__(self) -> None:
        for name, number in (("LIMIT", self.limit or 0), ("OFFSET", self.offset)):
            if type(number) is not int or number < 0:
                raise InvalidRequest(f"{name} is a whole number, not below 0")

    def applied(self, rows: Sequence[Row]) -> tuple[int, ...]:
        """The places of the rows to show, in the order in which they are shown."""
        keys, values = (rows[0][0], rows[0][1]) if rows else ({}, {})
        columns: dict[str, Told] = {n: ([k[n] for k, _ in rows], np.arange(len(rows))) for n in keys}
        columns |= {name: np.array([v[name] for _, v in rows], float) for name in values}
        if not rows:
            return ()
        kept = self.kept(columns, len(rows))
        return tuple(kept[self.places(Answered(columns, len(rows), {}).at(kept))].tolist())

    def kept(
        self, columns: Mapping[str, Told], rows: int, said: Mapping[Node, Floats] | None = None
    ) -> Places:
        """The places of the rows that HAVING leaves; ``said``: values of its expressions."""
        if self.having is None:
            return np.arange(rows)
        return np.flatnonzero(Answered(columns, rows, said or {}).holds(self.having))

    def places(self, answered: Answered) -> Places:
        """Of the rows that HAVING left, the places of those that are shown, in their order."""
        shown = np.arange(answered.rows)
        if self.qualify is not None:
            shown = shown[answered.holds(self.qualify)]
        shown = answered.order(self.order, shown)
        end = None if self.limit is None else self.offset + self.limit
        return shown[self.offset : end]

    def hidden(self, values: Sequence[str]) -> tuple[str, ...]:
        """Of these names of values those that are asked for, and paid for, and not shown as they are."""
        shown = {value for _, value in self.shown}
        return tuple(name for name in values if self.shown and ReleasedName(name) not in shown)

    @property
    def folded(self) -> frozenset[str]:
        """The keys that are not shown, as a column says how many of their values occur."""
        windows = [
            value for _, value in self.shown if isinstance(value, Window) and value.function == OCCURRING
        ]
        return frozenset(one.inner[1].name for one in windows if isinstance(one.inner[1], ReleasedName))

    @property
    def unshown(self) -> frozenset[str]:
        """The keys that are not shown: those, and others whose name a text has that is made of them."""
        made = {name for name, value in self.shown if is_label(value) and name in names_in(value)}
        return self.folded | (made - dict(self.names).keys())

    def named(self, keys: Mapping[str, KeyLabel]) -> dict[str, KeyLabel]:
        """The keys of a row under the names that they are shown as."""
        shown = dict(self.names)
        return {shown.get(name, name): key for name, key in keys.items()}


AS_ASKED = Shape()


@dataclass(frozen=True, slots=True)
class Request:
    """A query, the shape of its answer, and what SELECT WITH ... OPTIONS says about its price.

    ``listed`` are the names of the SELECT list in its order, of keys and of values; ``remarks`` say how the
    text was read, where that is another way than it is written.
    """

    query: Query
    shape: Shape = AS_ASKED
    epsilon: Fraction | None = None
    delta: Fraction | None = None
    listed: tuple[str, ...] = field(default=(), compare=False)
    remarks: tuple[str, ...] = field(default=(), compare=False)

    @property
    def alone(self) -> Query:
        """The query, if nothing else is said: no price, and nothing about how to show its answer."""
        if self != Request(self.query):
            raise InvalidRequest(
                "a query alone is needed here, without ORDER BY, LIMIT, OFFSET, HAVING, epsilon or delta, "
                "without another name for a column, and without arithmetic on what is released"
            )
        return self.query


@dataclass(frozen=True, slots=True)
class Part:
    """A query whose answer is a part of a table.

    ``names`` are pairs: a column of its answer, and that of the table; those that are called alike are left
    out.  ``constants``: columns of the table that are the same in all of its rows.
    """

    request: Request
    names: tuple[tuple[str, str], ...] = ()
    constants: tuple[tuple[str, KeyLabel], ...] = ()


@dataclass(frozen=True, slots=True)
class Combined:
    """Queries in one batch whose answers are one table, the rows of each part in turn.

    ``keys`` and ``values`` are its columns, ``listed`` those of the SELECT list in its order; a key that a
    part does not have is NULL in its rows.  ``shape`` is that of the whole table; it may order by constants
    that are no column of it.
    """

    parts: tuple[Part, ...]
    keys: tuple[str, ...]
    values: tuple[str, ...]
    shape: Shape = AS_ASKED
    epsilon: Fraction | None = None
    listed: tuple[str, ...] = ()
    remarks: tuple[str, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class Free:
    """What public facts answer, without data and without a charge, and ``why``.

    ``keys`` are its columns with their labels, row by row; ``values`` those that have no rows.
    """

    text: str
    why: str
    keys: tuple[tuple[str, tuple[KeyLabel, ...]], ...]
    values: tuple[str, ...] = ()


Asked = Union[Request, Combined, Free, "Selection"]


def queries_of(asked: Asked) -> list[Query]:
    """The queries whose values a text shows; those of a choice among candidates are few."""
    if isinstance(asked, Request):
        return [asked.query]
    return [part.request.query for part in asked.parts] if isinstance(asked, Combined) else []


def asked_of(
    asked: str | Draft | Query | BestOf, table: Table, *further: Table, dialect: str | None = None
) -> Asked:
    """What is asked about ``table``: as ``request_of``, or several queries that make one table.

    SQL is in the words of ``dialect``, the name of a database, or in those of this project.
    """
    if not isinstance(asked, str):
        if not isinstance(asked, Draft | Query):
            from adyton.query.selecting import BestOf

            if isinstance(asked, BestOf):
                return asked.on(table, *further, dialect=dialect)
        return request_of(asked, table, *further)
    from adyton.query.sql.read import parse_asked

    if dialect is None:
        return _settled(parse_asked(asked, table, *further), asked)
    read = _read_in(dialect, asked, (table, *further), lambda text: parse_asked(text, table, *further))
    return _settled(read, asked)


def _read_in(dialect: str, text: str, tables: Sequence[Table], read: Callable[[str], Asked]) -> Asked:
    """``text`` in the words of ``dialect``; ``read`` reads it in those of this project.

    A refusal says the place in ``text`` itself, where that is refused with the same words as it stands.
    """
    from adyton.query.sql.names import unplaced
    from adyton.query.sql.several.dialects import translation

    plain = translation(text, dialect, *tables)
    try:
        return remarked(read(plain.text), plain.remarks)
    except InvalidRequest as wrong:
        refused = wrong
    try:
        read(text)
    except InvalidRequest as own:
        if unplaced(own.message) == unplaced(refused.message):
            raise
    said = f"{refused.message}; from {dialect} this was read as: {plain.text[:500]}"
    raise InvalidRequest(said, **refused.facts)


def remarked(asked: Asked, remarks: tuple[str, ...]) -> Asked:
    """What was asked, with these remarks on how it was read, and no others."""
    return replace(asked, remarks=remarks) if isinstance(asked, Request | Combined) else asked


def request_of(asked: str | Draft | Query, table: Table, *further: Table) -> Request:
    """What is asked about ``table``, however it was asked: as SQL, as a draft, or ready.

    SQL and ready queries may also be about ``further`` tables of the same persons, joined or not.
    """
    match asked:
        case str():
            from adyton.query.sql.read import parse_request  # the parser costs more than all other imports

            return _as_meant(parse_request(asked, table, *further), asked)
        case Draft():
            query, shown = asked.shown_on(table)
            return _as_meant(Request(query, Shape(shown=shown)), *asked.texts)
        case Query():
            if not _is_declared(asked.table, (table, *further)):
                raise InvalidRequest(f"the query is about another table than {table.name!r} as declared")
            return _as_meant(Request(asked))
        case _:
            raise InvalidRequest(f"a query is SQL, a draft or a Query, not a {type(asked).__name__}")


def _settled(asked: Asked, text: str) -> Asked:
    """What a text asks, as ``_as_meant``."""
    if isinstance(asked, Request):
        return _as_meant(asked, text)
    if not isinstance(asked, Combined):
        return asked
    parts = [replace(part, request=_as_meant(part.request, text)) for part in asked.parts]
    return replace(asked, parts=tuple(parts))


def _as_meant(request: Request, *texts: str) -> Request:
    """With filters in one form for one meaning, and with remarks on numbers that were read as others."""
    from adyton.query.conditions.covering import without_covers

    query, remarks = without_covers(request.query), remarks_on(*texts)
    if query is request.query and not remarks:
        return request
    return replace(request, query=query, remarks=(*request.remarks, *remarks))


def alone_of(asked: str | Draft | Query, table: Table, dialect: str | None) -> Query:
    """One query and nothing else, for whoever takes them one at a time."""
    if dialect is None or not isinstance(asked, str):
        return request_of(asked, table).alone
    read = asked_of(asked, table, dialect=dialect)
    if not isinstance(read, Request):
        raise InvalidRequest("one query with one value is taken at a time; nothing was charged")
    return read.alone


class Requests:
    """What is asked about the tables of one study.  Texts that were read lately are not read again: that
    takes longer than to answer a text again.
    """

    def __init__(self, *tables: Table) -> None:
        self._tables = tables
        self._of_text = lru_cache(maxsize=_TEXTS)(self._read)

    def of(self, asked: str | Draft | Query | BestOf, dialect: str | None = None) -> Asked:
        texts = type(asked) is str and (dialect is None or type(dialect) is str)
        return (self._of_text if texts else self._read)(asked, dialect)

    def _read(self, asked: str | Draft | Query | BestOf, dialect: str | None) -> Asked:
        if type(asked) is str:
            own = self._texts.asked
            read = own(asked) if dialect is None else _read_in(dialect, asked, self._tables, own)
            read = _settled(read, asked)
        else:
            read = asked_of(asked, *self._tables, dialect=dialect)
        if isinstance(read, Request) and (read.shape.limit or read.shape.qualify) and read.query.by:
            from adyton.query.selecting import selection_in

            return selection_in(read) or read
        return read

    @cached_property
    def _texts(self) -> TextReader:
        from adyton.query.sql.read import TextReader

        return TextReader(*self._tables)


def _is_declared(table: Table, tables: Sequence[Table]) -> bool:
    if not isinstance(table, TableOfPersons):
        return is_declared(table, tables)
    own = next((one for one in tables if one == table.of), None)
    return own is not None and table == table_of_persons(own, table.given, table.numbers)
