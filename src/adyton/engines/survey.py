"""What the values of a source are before they are clipped: counts for the owner, and for nobody else.

An engine that loads a ``CodedLoading`` keeps a small code for each value in place of a clipped integer:
whether it is there, can be read, is declared, lies within the bounds.  It reads the source as it would for
queries, by the same conversions, once; the counts come from the codes.  Nothing here has noise, so nothing
here may reach anyone but the owner: no curator holds such an engine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from adyton.engines.loaded import Loading
from adyton.engines.loading.clipped import (
    Origin,
    beyond,
    given_rows,
    loaded_value,
    matched,
    not_there,
    person_sql,
    present,
    raw_text,
    spelled,
)
from adyton.engines.loading.given import Given, given, misfit
from adyton.engines.spelling.kinds import SourceType
from adyton.engines.spelling.rows import Dialect
from adyton.errors import InvalidRequest
from adyton.kernel.schema import (
    LONGEST_TEXT,
    CategoryColumn,
    Column,
    DateColumn,
    IntegerColumn,
    RealColumn,
    Table,
    source_of,
)

FINE, MISSING, UNUSABLE, UNDECLARED, LOW, HIGH = range(6)
_AT_ONCE = 16  # columns that one statement counts


@dataclass(frozen=True, slots=True)
class CodedLoading(Loading):
    """The codes s0, s1, ... of the columns; where a value is odd, its text t0, t1, ...; and ``who``.

    ``texts`` keeps the texts of all odd values, not only of undeclared ones.  ``problems`` are columns whose
    name or type does not fit, so that no value of them is looked at; ``person_types`` is what persons are.
    """

    texts: bool = False
    problems: dict[str, str] = field(default_factory=dict)
    person_types: list[tuple[SourceType, str]] = field(default_factory=list)

    def sql(self, origins: Sequence[Origin]) -> str:
        (only,) = origins
        return f"SELECT * FROM {only.valued}" if only.valued else self.valued(0, only)

    @property
    def by_rows(self) -> bool:
        return True

    def valued(self, place: int, origin: Origin) -> str:
        dialect, taken = origin.dialect, list[Given]()
        carried, listed, texts = {"who": self._person(origin)}, [], []
        for i, column in enumerate(self.table.columns):
            found = self._found(column, origin)
            if found is None:
                listed += [f"{FINE} AS s{i}", f"CAST(NULL AS {dialect.text_type}) AS x{i}"]
            else:
                one = given(column, found, origin.kinds[found], dialect)
                carried[f"p{i}"] = present(dialect.name(found), origin.kinds[found], dialect)
                carried[f"x{i}"] = _shown(found, origin.kinds[found], dialect)
                code = _code(column, f"g{len(taken)}", one.kind, f"p{i}", dialect)
                listed += [f"{dialect.code(code, HIGH + 1)} AS s{i}", f"x{i}"]
                taken.append(one)
            kept = self.texts or isinstance(column, CategoryColumn)
            odd = f"s{i} > {MISSING}" if kept else "FALSE"
            texts.append(f"CASE WHEN {odd} THEN x{i} END AS t{i}")
        codes = [f"s{i}" for i in range(len(self.table.columns))]
        given_all = given_rows(origin, taken, carried)
        rows = f"(SELECT {', '.join([*listed, 'who'])} FROM {given_all}) AS coded"
        return f"SELECT {', '.join([*codes, *texts, 'who'])} FROM {rows}"

    def wanted(self, place: int, origin: Origin) -> list[str]:
        names = {self._found(column, origin) for column in self.table.columns} - {None}
        if self.unit.person is not None:
            names |= set(matched(origin, Table(self.table.name, ()), self.unit).values())
        return sorted(name for name in names if name is not None)

    def told(self, origins: Sequence[Origin]) -> bool:
        return False

    def counted(self, units: str, origins: Sequence[Origin]) -> str | None:
        """A wrong number of units is something to report, not to stop at."""
        return None

    def _found(self, column: Column, origin: Origin) -> str | None:
        """The source's name of a column, if it fits; else the problem is kept."""
        found = spelled(origin, source_of(column))
        if found is None:
            self.problems[column.name] = f"the data has {not_there(origin, source_of(column))}"
            return None
        problem = misfit(column, origin.kinds[found], untyped=found in origin.untyped)
        if problem is not None:
            self.problems[column.name] = f"the data's type is {origin.types[found]}, {problem}"
        return found if problem is None else None

    def _person(self, origin: Origin) -> str:
        """NULL where a row is nobody's, and where rows are the units."""
        if self.unit.person is None:
            return "1"
        names = matched(origin, Table(self.table.name, ()), self.unit)
        found = names[self.unit.person]
        self.person_types.append((origin.kinds[found], origin.types[found]))
        person, there = person_sql(self.unit.person, origin, names)
        return f"CASE WHEN {there} THEN {person} END"


def _shown(name: str, kind: SourceType, dialect: Dialect) -> str:
    """A value as a text, if it is not too long."""
    return dialect.text_of(name, LONGEST_TEXT) if kind == "text" else raw_text(dialect.name(name), dialect)


def _code(column: Column, source: str, kind: SourceType, there: str, dialect: Dialect) -> str:
    value = loaded_value(column, source, kind, dialect)
    unread = UNDECLARED if isinstance(column, CategoryColumn) else UNUSABLE
    whens = [
        f"WHEN NOT {there} THEN {MISSING}",
        f"WHEN {source} IS NULL THEN {UNUSABLE}",  # too long, or no moment: nobody can say more about it
        f"WHEN ({value}) IS NULL THEN {unread}",
    ]
    if isinstance(column, IntegerColumn | RealColumn | DateColumn):
        below, above = beyond(column, source, kind, dialect)
        whens += [f"WHEN {below} THEN {LOW}", f"WHEN {above} THEN {HIGH}"]
    return f"CASE {' '.join(whens)} ELSE {FINE} END"


# Counts ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PersonCounts:
    """How many there are, how many have more rows than count, and how many rows that leaves out."""

    persons: int
    rows_of_nobody: int
    above: int
    rows_cut: int
    most: int


class Surveyor:
    """Asks an engine that loads a ``CodedLoading``."""

    def __init__(self, engine: Any) -> None:
        self._engine, self._survey = engine, cast(CodedLoading, engine._loading)
        self._table: str = engine._units.table
        engine.prepare()

    def close(self) -> None:
        self._engine.close()

    @property
    def problems(self) -> dict[str, str]:
        return self._survey.problems

    @property
    def person_type(self) -> tuple[SourceType, str] | None:
        found = self._survey.person_types
        return found[0] if found else None

    def rows(self) -> int:
        return self._numbers("count(*)")[0]

    def codes(self) -> list[list[int]]:
        """For each column, how many values have each code."""
        every, size = [], range(HIGH + 1)
        places = range(len(self._survey.table.columns))
        for some in (places[start : start + _AT_ONCE] for start in range(0, len(places), _AT_ONCE)):
            wanted = [f"sum(CASE WHEN s{i} = {code} THEN 1 ELSE 0 END)" for i in some for code in size]
            numbers = self._numbers(", ".join(wanted))
            every += [numbers[start : start + len(size)] for start in range(0, len(numbers), len(size))]
        return every

    def persons(self) -> PersonCounts:
        most = self._survey.unit.rows
        own = f"(SELECT who, count(*) AS n FROM {self._table} WHERE who IS NOT NULL GROUP BY who) AS own"
        over, cut = (f"sum(CASE WHEN n > {most} THEN {one} ELSE 0 END)" for one in ("1", f"n - {most}"))
        persons, above, rows_cut, largest = self._numbers(f"count(*), {over}, {cut}, max(n)", own)
        return PersonCounts(persons, self._numbers("count(*) - count(who)")[0], above, rows_cut, largest)

    def texts(self, place: int, code: int, most: int) -> list[tuple[str | None, int]]:
        """The commonest values of a column that have this code, and how often each occurs."""
        found = self._run(
            f"SELECT t{place}, count(*) AS n FROM {self._table} WHERE s{place} = {code} GROUP BY t{place} "
            f"ORDER BY n DESC, t{place} LIMIT {most}"
        )
        return [(None if text is None else str(text), int(number)) for text, number in found]

    def _numbers(self, listed: str, origin: str | None = None) -> list[int]:
        (row,) = self._run(f"SELECT {listed} FROM {origin or self._table}")
        return [int(value or 0) for value in row]

    def _run(self, sql: str) -> Sequence[Sequence[Any]]:
        return _answered(self._engine, sql, "the data cannot be counted")


def loaded_rows(engine: Any, who: str, table: Table) -> list[tuple[Any, ...]]:
    """All that an engine has loaded, no survey: the column ``who``, and the codes of what is declared."""
    places = [engine._units.places[column.name] for column in table.columns]
    sql = f"SELECT {', '.join([who, *places])} FROM {engine._units.table}"
    return [tuple(row) for row in _answered(engine, sql, "the rows of the reserve cannot be read")]


def _answered(engine: Any, sql: str, wrong: str) -> Sequence[Sequence[Any]]:
    """An engine's own words may quote a value: only their kind is said."""
    try:
        found: Sequence[Sequence[Any]] = engine._run(sql)
        return found
    except Exception as error:
        kind = type(error).__name__
    raise InvalidRequest(f"{wrong}: the engine says {kind}")
