"""What a study is: a table, who is protected, and how much may ever be learned."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from pathlib import Path

from adyton.errors import InvalidRequest
from adyton.kernel.accounting import Accounting, accounting_named
from adyton.kernel.privacy import Guarantee, PrivacyUnit, Reserve
from adyton.kernel.protection import Protection, unit_with
from adyton.kernel.schema import (
    LONGEST_TEXT,
    BooleanColumn,
    CategoryColumn,
    Column,
    DateColumn,
    Dimension,
    IntegerColumn,
    Table,
    TextColumn,
    declares_missing,
)
from adyton.kernel.terms.measures import Measure
from adyton.query.description import Dictionary, canonical_value
from adyton.query.description_weights import VERSION
from adyton.query.nodes import Query
from adyton.query.request import Request, asked_of
from adyton.query.sql.several.dialects import known_dialect
from adyton.show import Sheet, Shown
from adyton.study.told import facts_of
from adyton.study.validity import Validity, check_validity, discovery_failure, rounding_grid

# Where nobody says how many rows there are, delta must be small enough for a hundred million.
_ROWS_WHERE_PRIVATE = 10**8


@dataclass(frozen=True, slots=True)
class PrivateTable:
    """A further private table of the same persons, of whose rows in it at most ``rows_per_person`` count."""

    table: Table
    rows_per_person: int
    source: Path | str | None = None


@dataclass(frozen=True, slots=True)
class Study(Shown):
    """What may be asked of which table, and how much may ever be learned about one unit of it.

    >>> made = adyton.Study(study.table, study.unit, study.budget, accounting="zcdp")
    >>> made.fingerprint == study.fingerprint
    False
    """

    table: Table
    unit: PrivacyUnit
    budget: Guarantee
    accounting: str = "gdp"
    source: Path | str | None = None  # a file, or the address of a table in a database
    ledger: Path | str | None = None  # a file, or the address of a schema in a database
    validity: Validity | None = None
    discovery_delta: Fraction = Fraction(0)  # the part of delta that discovering groups may use
    further: tuple[PrivateTable, ...] = ()
    checkpoint: Path | str | None = None  # outside the ledger, a file or an address: how far it was
    dialect: str | None = None  # the database in whose words queries are asked
    shared_budget: Path | None = None  # that studies of the same persons share
    parts: int = field(init=False, repr=False, compare=False)
    grid: Fraction | None = field(init=False, repr=False, compare=False)
    reserve: Reserve | None = field(init=False, repr=False, compare=False)
    rule: Accounting = field(init=False, repr=False, compare=False)
    protection: Protection = field(init=False, repr=False, compare=False)
    dictionary: Dictionary | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self._say_rows_of_persons()
        sizes = [table.rows for table in self.tables if table.rows is not None]
        check_size(max(sizes, default=None), self.unit, self.budget)
        check_further(self)
        check_person(self)
        self._follow()
        for place, table in enumerate(self.tables):
            where = f"private.{table.name}" if place else "table"
            check_lines(table.lines, table.rows, self.unit_of(table).rows, where)
        if not 0 <= self.discovery_delta <= self.budget.delta:
            raise InvalidRequest(
                "privacy.discovery_delta is a part of privacy.delta: at least 0, at most delta"
            )
        if self.allowed < 1:
            raise InvalidRequest("privacy.epsilon is too small: nothing could ever be asked")
        check_validity(self)
        if self.dialect is not None:
            known_dialect(self.dialect)
        object.__setattr__(self, "dictionary", _dictionary(self))
        files = [path.absolute() for path in (self.shared_budget, self.ledger) if isinstance(path, Path)]
        if len(files) > len(set(files)):
            raise InvalidRequest(
                "privacy.shared_budget is a file of its own, which is not the ledger of this study"
            )

    def _say_rows_of_persons(self) -> None:
        """Tables know how many rows of a person count, because numbers of each person are bounded by it."""
        if self.unit.person is None:
            return
        further = (
            replace(one, table=replace(one.table, most_rows=one.rows_per_person)) for one in self.further
        )
        object.__setattr__(self, "table", replace(self.table, most_rows=self.unit.rows))
        object.__setattr__(self, "further", tuple(further))

    def _follow(self) -> None:
        """Works out once what every query asks for.

        ``parts``: into how many parts the units are split, each for one query; 1: every query reads all.
        ``grid``: the step to which answers are rounded, as a part of their range; None: they are not.
        ``reserve``: the units that no query reads.  ``rule``: how costs add up.
        ``protection``: what privacy rests on.
        """
        validity = self.validity
        split = validity is not None and validity.method == "split"
        rounded = validity is not None and validity.method == "rounding"
        share = validity.reserve if validity is not None else None
        known = {
            "parts": (validity.queries or 1) if split and validity is not None else 1,
            "grid": rounding_grid(validity, self.table.rows) if rounded and validity is not None else None,
            "reserve": None if share is None else Reserve(share),
            "rule": accounting_named(self.accounting),
        }
        for name, value in known.items():
            object.__setattr__(self, name, value)
        object.__setattr__(self, "protection", self._protected())

    def _protected(self) -> Protection:
        unit = unit_with(self.unit, self.parts, self.reserve)
        further = tuple((one.table, one.rows_per_person) for one in self.further)
        failure, rounded = discovery_failure(self), self.grid is not None
        return Protection(self.table, unit, self.rule, further, failure, rounded)

    @property
    def tables(self) -> tuple[Table, ...]:
        """All private tables, the study's own first."""
        return (self.table, *(one.table for one in self.further))

    def unit_of(self, table: Table) -> PrivacyUnit:
        """Who is protected, with the most rows that one of them has in ``table``, joined or not.

        A person is one row of a table of persons.  Theorems: JOINED-ROWS, TWO-LEVEL.
        """
        return self.protection.unit_of(table)

    @property
    def one_by_one(self) -> bool:
        """Whether nothing but queries is answered, each by itself: by its own units, or rounded."""
        return self.parts > 1 or self.grid is not None

    @property
    def size_is_public(self) -> bool:
        """Whether the number of units that queries read is public: not where some are in a reserve."""
        return self.unit.adjacency == "replace-one" and self.reserve is None

    @property
    def units_expected(self) -> int | None:
        """About how many units of the own table are not in a reserve, as far as public."""
        return self._asked_about(self.table.rows)

    def rows_expected(self, table: Table) -> int | None:
        """About how many rows of ``table`` a query reads, as far as public: a guess that chooses noise."""
        rows = self._asked_about(table.rows if self.unit_of(table).rows == 1 else table.lines)
        return rows if rows is None else max(1, rows // self.parts)

    def _asked_about(self, number: int | None) -> int | None:
        if number is None or self.reserve is None:
            return number
        return max(1, int(number * (1 - self.reserve.share)))

    @property
    def noise_delta(self) -> Fraction:
        """The part of delta that noise may use."""
        return self.budget.delta - self.discovery_delta

    @property
    def allowed(self) -> int:
        """All that may ever be spent, in whole units."""
        return _allowed(self.accounting, self.budget.epsilon, self.noise_delta)

    def units_for(self, epsilon: Fraction) -> int:
        """What a release with this epsilon of its own may spend.  One unit is left for opening a reserve."""
        return _allowed(self.accounting, epsilon, self.noise_delta) - (self.reserve is not None)

    def epsilon_of(self, units: int) -> float:
        """The epsilon, rounded up, of one release of these units, fixed in advance: no running total."""
        return self.rule.epsilon(units, self.noise_delta) if units else 0.0

    def nats(self, query: Query, measure: Measure) -> float | None:
        """How long the description of a value of a query is; None where it has none."""
        return self.dictionary.nats(query, measure) if self.dictionary is not None else None

    def after_its_first_receipt(self, *, amended: bool, described: bool) -> Study:
        """The same study, with descriptions that were fixed before anything was released about its units.

        ``amended``: it goes on under corrected facts, written when answers were known.  ``described``: not
        so where another study of a shared budget was asked first, whose dictionary it was.
        """
        changed = replace(self)
        if self.dictionary is not None:
            dictionary = replace(self.dictionary, amended=amended, open=described)
            object.__setattr__(changed, "dictionary", dictionary)
        return changed

    def sheet(self, verbose: bool = False) -> Sheet:
        """All of it is public."""
        return facts_of(self)

    @property
    def fingerprint(self) -> str:
        """A digest of all that gives the ledger its meaning.  Where the data lies is not part of it."""
        return hashlib.sha256(json.dumps(["study", 1, self.facts]).encode()).hexdigest()

    @property
    def facts(self) -> list[list[object]]:
        """All that gives the ledger its meaning; further facts begin with a word that names them."""
        facts: list[list[object]] = [
            [self.table.name, self.table.rows, [column_facts(column) for column in self.table.columns]],
            [self.unit.adjacency, self.unit.person, self.unit.rows],
            [str(self.budget.epsilon), str(self.budget.delta), self.accounting],
        ]
        if self.validity is not None:
            v = self.validity
            facts.append([str(v.confidence), str(v.stability), v.queries, str(v.tolerance), v.beyond_plan])
            facts[-1] += [str(v.share), str(v.spread), str(v.group), v.noise]
            facts[-1] += [v.method] if v.method is not None else []
            facts[-1] += [str(v.grid)] if v.grid is not None else []
            registered = sorted(self.dictionary.registered) if self.dictionary is not None else []
            facts.append(["dictionary", v.dictionary, VERSION, *registered])
        if self.discovery_delta:
            facts.append(["discovery_delta", str(self.discovery_delta)])
        if self.reserve is not None:
            facts.append(["reserve", str(self.reserve.share)])
        facts += [["private", one.rows_per_person, *_table_facts(one.table)] for one in self.further]
        facts += [
            ["public", table.name, *_dimension_facts(dimension)]
            for table in self.tables
            for dimension in table.dimensions
        ]
        if self.shared_budget is not None:  # where it lies is no fact; that charges go to one is
            facts.append(["shared_budget", "shared"])
        return facts


@lru_cache(maxsize=1024)
def _allowed(accounting: str, epsilon: Fraction, delta: Fraction) -> int:
    """Guarded arithmetic takes a while, and most queries name one of few prices."""
    return accounting_named(accounting).allowed(Guarantee(epsilon, delta))


def _dictionary(study: Study) -> Dictionary | None:
    """How queries are described; None where nothing is said about a population, or units are split."""
    validity = study.validity
    if validity is None or validity.method == "split":
        return None
    registered = (_registered_value(text, study) for text in validity.registered)
    persons = study.unit.person is not None
    texts = frozenset(text for values in registered for text in values)
    return Dictionary(study.table, validity.dictionary, texts, persons)


def _registered_value(text: str, study: Study) -> list[str]:
    """The canonical texts of the values of a registered query; refused where there is no reading it."""
    try:
        request = asked_of(text, *study.tables, dialect=study.dialect)
    except InvalidRequest as error:
        raise InvalidRequest(f"validity.registered: {text!r:.100} cannot be read: {error.message}") from None
    if not isinstance(request, Request):
        raise InvalidRequest(f"validity.registered: {text!r:.100} is not one query")
    query = request.query
    if query.discovers_groups:
        raise InvalidRequest(
            f"validity.registered: {text!r:.100} has discovered groups, so nothing says in "
            "advance which they are: declare the column as a category, or leave this query out"
        )
    return [canonical_value(query, measure) for _, measure in query.measures]


def check_size(rows: int | None, unit: PrivacyUnit, budget: Guarantee) -> None:
    """Refuses a delta that would allow whole rows to be published."""
    if unit.adjacency == "replace-one" and rows is None:
        raise InvalidRequest(
            "table.rows is missing: under adjacency = 'replace-one' the number of units, rows or persons, is "
            "public"
        )
    if rows is not None and rows < 1:
        raise InvalidRequest(f"table.rows must be at least 1, not {rows}")
    if needs_size(budget) if rows is None else budget.delta * rows >= 1:
        how = (
            f"1/rows = 1/{rows}"
            if rows is not None
            else "1e-8 unless table.rows says how many units, rows or persons, there are"
        )
        raise InvalidRequest(
            f"privacy.delta = {float(budget.delta):g} must be below {how}: a larger delta would allow "
            "whole rows to be published"
        )


def needs_size(budget: Guarantee) -> bool:
    """Whether delta is too large for a study that does not say how many units there are."""
    return budget.delta * _ROWS_WHERE_PRIVATE >= 1


def check_person(study: Study) -> None:
    """Refuses a table that does not say, or says differently, whose rows are protected."""
    said, unit = study.table.person, study.unit
    if said != unit.person and (said is not None or unit.rows > 1):
        whose = "None" if unit.person is None else repr(unit.person)
        raise InvalidRequest(
            f"the unit's person is {whose}, and the table's is {said!r}: "
            f"write Table({study.table.name!r}, ..., person={whose})"
        )


def check_lines(lines: int | None, units: int | None, rows_of_one: int, where: str) -> None:
    """Refuses a guess of the number of rows that cannot be right, or that says the same as ``rows``."""
    if lines is None:
        return
    if rows_of_one == 1:
        raise InvalidRequest(
            f"{where}.lines goes with rows_per_person above 1; where everyone has one row, {where}.rows says "
            "how many there are: remove lines"
        )
    least, most = (1, None) if units is None else (units, units * rows_of_one)
    if lines < least or (most is not None and lines > most):
        between = f"at least {least}" if most is None else f"between {least} and {most}"
        raise InvalidRequest(
            f"{where}.lines = {lines} cannot be: of each person 1 to {rows_of_one} rows count, so it is a "
            f"number {between}"
        )


def check_further(study: Study) -> None:
    """Refuses what further private tables would make unclear: who is protected, and what is public."""
    names = [table.name for table in study.tables]
    names += [dimension.name for table in study.tables for dimension in table.dimensions]
    twice = next((name for i, name in enumerate(names) if name.casefold() in _folded(names[:i])), None)
    if twice is not None:
        raise InvalidRequest(f"two tables are called {twice!r} (names are case-insensitive)")
    for one in study.further:
        where = f"private.{one.table.name}"
        if study.unit.person is None or one.table.person is None:
            raise InvalidRequest(f"{where}: tables are joined on the person: write privacy.unit = 'person'")
        if study.table.person != study.unit.person:
            raise InvalidRequest(
                f"table {study.table.name!r} needs person = {study.unit.person!r}, as the unit"
            )
        if study.unit.adjacency == "replace-one":
            raise InvalidRequest(
                f"{where}: with several private tables write privacy.adjacency = 'add-remove': under "
                "'replace-one' the number of persons is public, and each table may hold different persons"
            )
        if one.table.rows is not None and one.table.rows < 1:
            raise InvalidRequest(f"{where}.rows must be at least 1, not {one.table.rows}")
        if one.rows_per_person < 1:
            raise InvalidRequest(f"{where}.rows_per_person must be at least 1, not {one.rows_per_person}")


def _folded(names: list[str]) -> set[str]:
    return {name.casefold() for name in names}


def _table_facts(table: Table) -> list[object]:
    return [table.name, table.rows, table.person, [column_facts(column) for column in table.columns]]


def _dimension_facts(dimension: Dimension) -> list[object]:
    """A digest of all that the public table says: answers depend on it."""
    said = [[column_facts(a.column), list(a.values)] for a in dimension.attributes]
    content = json.dumps([list(dimension.keys), said])
    digest = hashlib.sha256(content.encode()).hexdigest()
    return [dimension.name, dimension.key, dimension.joins, digest]


def column_facts(column: Column) -> list[object]:
    """Keys that came later are facts only where they are used: ledgers from before stay valid."""
    null = [["missing", "true"]] if declares_missing(column) else []
    match column:
        case CategoryColumn(name, values):
            return [column.kind, name, list(values), *null]
        case TextColumn(name, longest):
            return [column.kind, name, *([longest] if longest != LONGEST_TEXT else [])]
        case BooleanColumn(name):
            return [column.kind, name, *null]
    lattice = column.lattice
    known: list[object] = [column.kind, column.name, str(lattice.step), lattice.low, lattice.high]
    match column:
        case DateColumn(zone=str(zone)):
            known.append(["zone", zone])
        case IntegerColumn(clock=clock) if clock is not None:
            known.append(["clock", clock.of, clock.part, clock.zone])
    return known + null
