"""Which of many is the largest: candidates with one value each, of which only the best are asked for.

Candidates are the groups of one query, or queries without groups.  Their values must be counts or sums,
which one unit moves by a known amount, and must be comparable.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import assert_never

from adyton.errors import InvalidRequest
from adyton.kernel.schema import Table
from adyton.kernel.terms.measures import Count, CountPersons, Proportion, Sum, SumOfPersons
from adyton.query.canonical import canonical_text
from adyton.query.conditions.possible_cells import number_of_cells
from adyton.query.draft import Draft
from adyton.query.nodes import Query
from adyton.query.released.nodes import Relation, Term, Window
from adyton.query.request import Request, Shape, asked_of
from adyton.query.text import query_text

MOST_CANDIDATES = 100_000
NAMED = "candidate"  # the column of the answer that has the names of queries
_LISTED = 3  # queries that a title has in full
Additive = Count | CountPersons | Sum | SumOfPersons | Proportion
Asking = str | Draft | Query


@dataclass(frozen=True, slots=True)
class Selection:
    """The ``most`` of the candidates with the largest values, or the least, in their order.

    ``whole`` is set where candidates are groups: the query whose answer has all values, and how the best
    of them would be shown.  Otherwise ``queries`` are in the order of their texts, with their ``names``.
    """

    queries: tuple[Query, ...]
    names: tuple[str, ...] = ()
    most: int = 1
    largest: bool = True
    with_value: bool = False
    whole: Request | None = None
    written: bool = False  # in SQL: there a width is that of values, as in every text
    texts: tuple[str, ...] = field(default=(), compare=False, repr=False)  # of the queries, if known

    def __post_init__(self) -> None:
        _check_comparable([_checked(query) for query in self.queries])
        if not 2 <= self.candidates <= MOST_CANDIDATES:
            raise InvalidRequest(
                f"a selection is made among 2 to {MOST_CANDIDATES:,} candidates, not {self.candidates:,}"
            )
        if type(self.most) is not int or not 1 <= self.most < self.candidates:
            raise InvalidRequest(
                f"among {self.candidates:,} candidates 1 to {self.candidates - 1:,} can be asked for"
            )

    @property
    def _texts(self) -> Sequence[str]:
        return self.texts or [canonical_text(query) for query in self.queries]

    @property
    def candidates(self) -> int:
        return sum(map(number_of_cells, self.queries)) if self.whole is not None else len(self.queries)

    @property
    def shows_values(self) -> bool:
        """Whether its values would be shown, if all were released, without being listed: MODE(x) does so."""
        return self.whole is not None and self.whole.shape.qualify is not None

    @property
    def text(self) -> str:
        """Canonical: neither the order of candidates nor their names survive."""
        return self._said(self._texts)

    @property
    def title(self) -> str:
        """The same with the names that were given, shorter where candidates are many."""
        if len(self.queries) <= _LISTED:
            return self._said(list(map(query_text, self.queries)))
        first, *_, last = self._texts
        which = "LARGEST" if self.largest else "LEAST"
        return f"{which} {self.most} OF {len(self.queries):,} QUERIES, FROM {first} TO {last}"

    def _said(self, texts: Sequence[str]) -> str:
        which, valued = "LARGEST" if self.largest else "LEAST", " WITH VALUE" if self.with_value else ""
        return f"{which} {self.most}{valued} OF {'; '.join(texts)}"


@dataclass(frozen=True, slots=True)
class BestOf:
    """Candidates as they were written, before a table gives them a meaning."""

    candidates: tuple[tuple[str | None, Asking], ...]
    most: int
    largest: bool
    with_value: bool

    def on(self, table: Table, *further: Table, dialect: str | None = None) -> Selection:
        read = [(name, _query(asking, (table, *further), dialect)) for name, asking in self.candidates]
        if len(read) == 1 and read[0][1].by:
            return self._groups(read[0][1])
        grouped = next((query for _, query in read if query.by), None)
        if grouped is not None:
            raise InvalidRequest(
                f"candidates are the groups of one query, or queries without groups: {_short(grouped)} "
                "has groups"
            )
        by_text = {canonical_text(query): (name, query) for name, query in read}
        if len(by_text) < len(read):
            raise InvalidRequest("two candidates ask the same")
        in_order = sorted(by_text.items())
        names = tuple(text if name is None else name for text, (name, _) in in_order)
        if len(set(names)) < len(names):
            raise InvalidRequest("two candidates have the same name")
        queries = tuple(query for _, (_, query) in in_order)
        texts = tuple(text for text, _ in in_order)
        return Selection(queries, names, self.most, self.largest, self.with_value, texts=texts)

    def _groups(self, query: Query) -> Selection:
        order = (Term(query.measures[0][0], descending=self.largest),)
        whole = Request(query, Shape(order=order, limit=self.most if type(self.most) is int else 1))
        return Selection((query,), (), self.most, self.largest, self.with_value, whole)


def best_of(
    candidates: Asking | Sequence[Asking] | Mapping[str, Asking],
    most: int = 1,
    *,
    largest: bool = True,
    with_value: bool = False,
) -> BestOf:
    """Which of the candidates have the largest values: queries, under names if you like, or one query
    whose groups are the candidates.

    ``most``: how many are wanted.  ``with_value``: a half of the price buys a noisy value of each.

    >>> oldest = adyton.best_of({"young": adyton.count("age < 30"), "old": adyton.count("age >= 60")})
    >>> curator.preview(oldest, share="0.5").affordable
    True
    """
    if isinstance(candidates, Mapping):
        listed: list[tuple[str | None, Asking]] = [(str(name), one) for name, one in candidates.items()]
    elif isinstance(candidates, str | Draft | Query):
        listed = [(None, candidates)]
    else:
        listed = [(None, one) for one in candidates]
    if not listed:
        raise InvalidRequest("name at least two candidates")
    return BestOf(tuple(listed), most, bool(largest), bool(with_value))


def selection_in(request: Request) -> Selection | None:
    """What a text selects: groups by the order of one value that it does not list, or the most common values.

    None where it lists values, keeps all groups, or says more about what is released.
    """
    query, shape = request.query, request.shape
    if len(query.measures) != 1 or query.discovers_groups or request.epsilon or request.delta:
        return None
    (name, measure), keys = query.measures[0], {group.name for group in query.by}
    most, largest = _first_rows(shape, name)
    shown = {shown for key, shown in shape.names} | keys
    listed = shape.limit is not None and not set(request.listed) <= shown
    if most is None or listed or shape.having is not None or shape.offset:
        return None
    if not isinstance(measure, Additive) or isinstance(measure, Proportion):  # its rows are private
        return None
    if not 1 <= most < number_of_cells(query) <= MOST_CANDIDATES:
        return None
    return Selection((query,), (), most, largest, whole=request, written=True)


def _first_rows(shape: Shape, name: str) -> tuple[int | None, bool]:
    """How many rows are kept in the order of the value of this name alone, and whether the largest are."""
    if shape.qualify is None:
        match shape.order:
            case (Term(ordered, falling),) if ordered == name and not shape.shown:
                return shape.limit, falling
        return None, True
    match shape.qualify:
        case Relation(Window("ROW_NUMBER", (), (), (Term(ordered, True),)), "<=", Fraction() as most) if (
            ordered == name and shape.limit is None and most.denominator == 1
        ):
            return int(most), True
    return None, True


def _query(asking: Asking, tables: Sequence[Table], dialect: str | None) -> Query:
    asked = asked_of(asking, *tables, dialect=dialect)
    if not isinstance(asked, Request):
        raise InvalidRequest("a candidate is one query, whose answer is in the data")
    return asked.alone


def _checked(query: Query) -> tuple[str, Additive]:
    """The one value of a candidate, and its name."""
    if len(query.measures) != 1:
        raise InvalidRequest(f"a candidate has one value: {_short(query)} has {len(query.measures)}")
    if query.discovers_groups:
        raise InvalidRequest(
            "candidates are fixed before any row is read, and the groups of a text column are not: declare "
            "its values"
        )
    name, measure = query.measures[0]
    if not isinstance(measure, Additive):
        raise InvalidRequest(
            "a selection compares counts, sums or shares of all rows, which one unit moves by little; "
            f"{name!r} is none of them, in {_short(query)}"
        )
    return name, measure


def _check_comparable(measures: Sequence[tuple[str, Additive]]) -> None:
    (first, like), *others = measures
    for name, measure in others:
        if _unit(measure) != _unit(like):
            raise InvalidRequest(
                f"{first!r} and {name!r} cannot be compared: candidates are all counts, or all shares, or "
                "all sums of numbers with the same bounds and the same step"
            )


def _unit(measure: Additive) -> tuple[object, ...]:
    match measure:
        case Sum(value) | SumOfPersons(value):
            lattice = value.lattice
            return "sum", lattice.low, lattice.high, lattice.step
        case Proportion():
            return ("share",)
        case Count() | CountPersons():
            return ("count",)
        case _:
            assert_never(measure)


def _short(query: Query) -> str:
    text = query_text(query)
    return text if len(text) <= 100 else f"{text[:97]}..."
