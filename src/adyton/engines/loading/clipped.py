"""SQL that turns a source into clipped integers, with one meaning on all engines.

A source column has one of a few kinds; a declared column says what to make of it.  What a value means is
decided here, once: which texts are numbers, days or booleans, how a number is rounded, which rows of a person
are kept.  A ``Dialect`` only says how an engine spells it.  Everything emitted is total: a value that has no
meaning is NULL, and none makes a statement fail.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from typing import assert_never

from adyton.engines.loading.given import Given, given, misfit
from adyton.engines.loading.parting import check_parts, kept_by, part_of
from adyton.engines.spelling.kinds import DAY, FALSE_WORDS, NUMBER, TRUE_WORDS, WHOLE, SourceType
from adyton.engines.spelling.rows import BitMark, Dialect, integer, places_of
from adyton.errors import InvalidRequest
from adyton.kernel.privacy import PrivacyUnit
from adyton.kernel.schema import (
    LONGEST_TEXT,
    BooleanColumn,
    CategoryColumn,
    Column,
    DateColumn,
    IntegerColumn,
    Lattice,
    RealColumn,
    Table,
    TextColumn,
    source_of,
)
from adyton.kernel.terms.leaves import Bounded

_DOUBLES_ARE_SURE = 2**50
_MOST_NAMED = 40  # columns that a message lists
_NOT_SHOWN = "the first line of the file must name the columns (it is not shown here, as it may be a row)"


@dataclass(frozen=True, slots=True)
class Origin:
    """A source as its engine sees it: what to write after FROM, and the name and kind of each of its columns.

    Where it knows no types, as CSV does, the columns are ``untyped`` texts.  ``valued`` is the name of a
    table that already holds what ``valued_rows`` selects.  ``headed``: its names are the first line of it.
    ``merged`` are names, in small letters, that several of its columns have for an engine to which capital
    letters say nothing: it would read one of them under the name of another.
    """

    sql: str
    types: Mapping[str, str]
    kinds: Mapping[str, SourceType]
    dialect: Dialect
    untyped: frozenset[str] = frozenset()
    valued: str | None = None
    headed: bool = False
    merged: frozenset[str] = frozenset()


def spelled(origin: Origin, source: str) -> str | None:
    """The source's spelling of a name: capital letters do not count, unless they tell two columns apart."""
    if source.casefold() in origin.merged:
        return None
    if source in origin.types:
        return source
    alike = _alike(origin, source)
    return alike[0] if len(alike) == 1 else None


def _alike(origin: Origin, source: str) -> list[str]:
    return [name for name in origin.types if name.casefold() == source.casefold()]


def not_there(origin: Origin, source: str) -> str:
    """What there is where a column is not: a message is to be read, and a first line may be a row."""
    if source.casefold() in origin.merged:
        return f"several columns {source!r} that differ in capital letters: give all but one another name"
    if _alike(origin, source):
        return f"several columns {source!r} that differ in capital letters: name one of them exactly"
    missing = f"no column {source!r}; "
    if origin.headed:
        return missing + _NOT_SHOWN
    names = list(origin.types)
    more = len(names) - _MOST_NAMED
    return f"{missing}it has: {', '.join(names[:_MOST_NAMED])}" + (f" and {more:,} more" if more > 0 else "")


def matched(origin: Origin, table: Table, unit: PrivacyUnit) -> dict[str, str]:
    """The source's spelling of the name that each declared column, and the person, is read from.

    InvalidRequest says all that does not fit: names and types are public.
    """
    declared: dict[str, Column] = {column.name: column for column in table.columns}
    wanted = {name: source_of(column) for name, column in declared.items()}
    if unit.person is not None:
        wanted[unit.person] = unit.person
    names, wrong = {}, []
    for name, source in wanted.items():
        found = spelled(origin, source)
        if found is None:
            wrong.append(f"the data has {not_there(origin, source)}")
            continue
        names[name] = found
        problem = misfit(declared.get(name), origin.kinds[found], untyped=found in origin.untyped)
        if problem is not None:
            wrong.append(f"the data's column {found!r} has type {origin.types[found]}, {problem}")
    if wrong:
        raise InvalidRequest(wrong[0] if len(wrong) == 1 else "".join(f"\n  - {one}" for one in wrong))
    return names


def bounded_table(
    origin: Origin,
    table: Table,
    unit: PrivacyUnit,
    marks: Mapping[str, BitMark],
    salt: str,
    *,
    keep_who: bool = False,
) -> str:
    """A SELECT of the clipped integers of all rows, or of at most the declared rows of each person.

    Which rows of a person are kept depends on that person alone: a salted hash of who it is, of the clipped
    values and of the number of the copy puts them in order.  Without the person the same values would be kept
    of everybody, without the number a value that is there often would count no more than a rare one.  Copies
    are numbered in the order of their marks: rows that no order tells apart are alike in the result.  Where a
    person may keep several, ``who`` stays: later queries may ask for one number of each
    person.  It also stays on demand (``keep_who``), for a join.  Of persons who are kept in a reserve nothing
    is selected; rows by themselves are told apart by their position, once they are loaded.
    """
    dialect, told_who = origin.dialect, person_is_hashable(origin, table, unit)
    if unit.parts > 1 or unit.reserve is not None:
        check_parts(unit, dialect.in_order, told_who)
    valued = f"SELECT * FROM {origin.valued}" if origin.valued else valued_rows(origin, table, unit, marks)
    if unit.person is None:
        return valued
    keep_who = keep_who or unit.rows > 1 or (unit.reserve is not None and unit.reserve.opened)
    words = list(dict.fromkeys(mark.word for mark in marks.values()))
    kept = ", ".join([*places_of(table).values(), *words, *(["who"] if keep_who else [])]) or "nothing"
    digest = _digest(table, salt, dialect, told_who)
    hashed = f"SELECT *, {digest} AS told FROM ({valued}) AS valued"
    hashed += f" WHERE {kept_by(unit.reserve, 'who', dialect)}" if unit.reserve is not None else ""
    told = dialect.byte_order("told")
    # Copies have one digest: those before a row in this order, and the first of them, number it.
    among = f"PARTITION BY who ORDER BY {told}"
    nth = f"row_number() OVER ({', '.join([among, *words])}) - rank() OVER ({among}) + 1"
    numbered = f"SELECT *, {nth} AS nth FROM ({hashed}) AS hashed"
    again = f"md5(concat(told, {dialect.text(',')}, CAST(nth AS {dialect.text_type})))"
    order = dialect.byte_order(f"(CASE WHEN nth = 1 THEN told ELSE {again} END)")
    place = f"row_number() OVER (PARTITION BY who ORDER BY {order}) AS place"
    part = f", {part_of('who', salt, dialect)} AS part" if unit.parts > 1 else ""
    ranked = f"SELECT {kept}{part}, {place} FROM ({numbered}) AS numbered"
    kept += ", part" if unit.parts > 1 else ""
    return f"SELECT {kept} FROM ({ranked}) AS ranked WHERE place <= {unit.rows}"


def valued_rows(origin: Origin, table: Table, unit: PrivacyUnit, marks: Mapping[str, BitMark]) -> str:
    """A SELECT of the clipped integers of each row, and of ``who`` it is; rows without a person are left out.

    Each row is read by itself, so it may be done for one part of the source after the other.
    """
    names, places, dialect = matched(origin, table, unit), places_of(table), origin.dialect
    taken, values, outside = [], [], {}
    for i, column in enumerate(table.columns):
        found = names[column.name]
        one = given(column, found, origin.kinds[found], dialect)
        taken.append(one)
        values.append(f"{loaded_value(column, f'g{i}', one.kind, dialect)} AS {places[column.name]}")
        if isinstance(column, Bounded):
            outside[column.name] = is_outside(column, f"g{i}", one.kind, dialect)
    values += [f"{sql} AS {word}" for word, sql in _packed(marks, outside, dialect).items()]
    if unit.person is None:
        return f"SELECT {', '.join(values) or '1 AS nothing'} FROM {given_rows(origin, taken)}"
    person, there = person_sql(unit.person, origin, names)
    rows = given_rows(origin, taken, {"who": person}, f" WHERE {there}")
    return f"SELECT {', '.join(values) or '1 AS nothing'}, who FROM {rows}"


def _packed(marks: Mapping[str, BitMark], outside: Mapping[str, str], dialect: Dialect) -> dict[str, str]:
    """The integers, by their names, from a condition for each bit; one that is not true leaves it 0."""
    words: dict[str, list[str]] = {}
    for name, mark in marks.items():
        bit = f"CASE WHEN {outside[name]} THEN {1 << mark.bit} ELSE 0 END"
        words.setdefault(mark.word, []).append(bit)
    return {word: dialect.code(f"({' + '.join(bits)})", 1 << len(bits)) for word, bits in words.items()}


def given_rows(
    origin: Origin, taken: Sequence[Given], carried: Mapping[str, str] | None = None, where: str = ""
) -> str:
    """What to write after FROM: g0, g1, ... of what is taken, and what is ``carried`` along.

    Each step has a SELECT of its own: what it gives has a name, and is written only once.
    """
    rows, steps = f"{origin.sql}{where}", max((len(one.steps) for one in taken), default=1)
    for step in range(steps):
        listed = [f"{one.at(step, f'g{i}')} AS g{i}" for i, one in enumerate(taken)]
        listed += [name if step else f"{sql} AS {name}" for name, sql in (carried or {}).items()]
        fence = origin.dialect.fence if steps > 1 else ""
        rows = f"(SELECT {', '.join(listed) or '1 AS nothing'} FROM {rows}{fence}) AS given"
    return rows


def person_sql(person: str, origin: Origin, names: Mapping[str, str]) -> tuple[str, str]:
    """The person, and whether there is one.  NaN is nobody, and -0.0 is 0.0.

    Texts are compared byte by byte, whatever the source's collation says: who is one person must not depend
    on the engine, or on which of two tables is asked.  A text that is too long is nobody.
    """
    dialect, kind = origin.dialect, origin.kinds[names[person]]
    source = dialect.name(names[person])
    if kind == "text":
        text = dialect.text_of(names[person], LONGEST_TEXT)
        return dialect.byte_order(text), f"{text} IS NOT NULL"
    value = f"({source} + {dialect.double(0.0)})" if kind == "float" else source
    return value, present(source, kind, dialect)


def person_is_hashable(origin: Origin, table: Table, unit: PrivacyUnit) -> bool:
    """Whether every engine writes the same text for a person, so that it can be hashed.  Not for floats."""
    if unit.person is None:
        return False
    return origin.kinds[matched(origin, table, unit)[unit.person]] in ("integer", "text")


def _digest(table: Table, salt: str, dialect: Dialect, told_person: bool) -> str:
    parts, places = [dialect.text(salt)], places_of(table)
    if told_person:
        parts += [dialect.text(","), f"md5(CAST(who AS {dialect.text_type}))"]
    for column in table.columns:
        place = places[column.name]
        if isinstance(column, TextColumn):
            told = f"md5({place})"  # of fixed length: a comma in it could make two rows alike
        else:
            place = f"CAST({place} AS INTEGER)" if isinstance(column, BooleanColumn) else place
            told = f"CAST({place} AS {dialect.text_type})"
        parts += [dialect.text(","), f"coalesce({told}, {dialect.text('-')})"]
    return f"md5(concat({', '.join(parts)}))"


# One value --------------------------------------------------------------------------------------------------


def loaded_value(column: Column, source: str, kind: SourceType, dialect: Dialect) -> str:
    """The clipped integer (or truth) that stands for ``source`` from now on; NULL where there is none."""
    match column:
        case IntegerColumn() | RealColumn():
            return _number(column.lattice, source, kind, dialect)
        case DateColumn():
            return _day(column, source, kind, dialect)
        case CategoryColumn(_, values):
            text = (
                _whole_text(source, kind, dialect) if isinstance(values[0], int) else _text(source, dialect)
            )
            return dialect.position(text, tuple(map(str, values)))
        case BooleanColumn():
            return _truth(source, kind, dialect)
        case TextColumn():
            return dialect.key(_text(source, dialect))
        case _:
            assert_never(column)


def is_outside(column: Bounded, source: str, kind: SourceType, dialect: Dialect) -> str:
    """True where a value came from outside of what is declared, else not true."""
    if isinstance(column, CategoryColumn):
        found = loaded_value(column, source, kind, dialect)
        return f"({present(source, kind, dialect)} AND {found} IS NULL)"
    return f"({' OR '.join(beyond(column, source, kind, dialect))})"


def present(source: str, kind: SourceType, dialect: Dialect) -> str:
    """Whether a source has a value, whatever can be made of it.  NaN is none."""
    there = f"{source} IS NOT NULL"
    return f"({there} AND NOT {dialect.not_a_number(source)})" if kind == "float" else f"({there})"


def beyond(
    column: IntegerColumn | RealColumn | DateColumn, source: str, kind: SourceType, dialect: Dialect
) -> tuple[str, str]:
    """Whether a value, before it is clipped and rounded, lies below the bounds, and whether above."""
    if isinstance(column, DateColumn):
        day = _raw_day(column, source, kind, dialect)
        low, high = f"DATE '{column.low}'", f"DATE '{column.high}'"
        if kind != "text":
            return f"{day} < {low}", f"{day} > {high}"
        text = _text(source, dialect)  # infinite days were given the bounds themselves
        ends = [f"{text} = {dialect.text(word)}" for word in ("-infinity", "infinity")]
        return f"({day} < {low} OR {ends[0]})", f"({day} > {high} OR {ends[1]})"
    x, lattice = _double(source, kind, dialect), column.lattice
    low, high = (dialect.double(float(bound * lattice.step)) for bound in (lattice.low, lattice.high))
    doubles = f"{x} < {low}", f"({x} > {high} AND NOT {dialect.not_a_number(x)})"  # NaN is above all numbers
    if (exact := _exact(lattice, source, kind, dialect)) is None:
        return doubles
    within, whole, (first, last) = exact
    wholes = f"{whole} < {integer(first)}", f"{whole} > {integer(last)}"
    below, above = (f"(CASE WHEN {within} THEN {wholes[i]} ELSE {doubles[i]} END)" for i in (0, 1))
    return below, above


def _double(source: str, kind: SourceType, dialect: Dialect) -> str:
    """NULL or NaN where there is no number."""
    match kind:
        case "boolean":
            one, zero = dialect.double(1.0), dialect.double(0.0)
            return f"(CASE WHEN {source} THEN {one} WHEN NOT {source} THEN {zero} END)"
        case "text":
            text = _text(source, dialect)
            read = dialect.number(text, kind)
            return f"(CASE WHEN {dialect.matches(text, NUMBER)} THEN {read} END)"
        case "integer" | "float" | "decimal":
            return dialect.number(source, kind)
        case "date" | "timestamp" | "instant" | "other":
            return dialect.number("NULL", "integer")
        case _:
            assert_never(kind)


def _number(lattice: Lattice, source: str, kind: SourceType, dialect: Dialect) -> str:
    x = _double(source, kind, dialect)
    low, high = (dialect.double(float(bound * lattice.step)) for bound in (lattice.low, lattice.high))
    clipped = f"least(greatest({x}, {low}), {high})"
    # floor(x + 1/2) is the one rounding that all engines do alike; the second clip is for its last digit.
    step, half = dialect.double(float(lattice.step)), dialect.double(0.5)
    rounded = f"floor({clipped} / {step} + {half})"
    if _is_wide(lattice):  # from here on doubles are whole, and a half more is none of them
        steps = f"({clipped} / {step})"
        rounded = f"CASE WHEN abs({steps}) < {dialect.double(2.0**52)} THEN {rounded} ELSE {steps} END"
    bounded = f"least(greatest({dialect.whole(rounded)}, {integer(lattice.low)}), {integer(lattice.high)})"
    double = f"CASE WHEN {x} IS NOT NULL AND NOT {dialect.not_a_number(x)} THEN {bounded} END"
    if (exact := _exact(lattice, source, kind, dialect)) is None:
        return double
    within, whole, (first, last) = exact
    ends = f"WHEN {whole} < {integer(first)} THEN {integer(lattice.low)} "
    ends += f"WHEN {whole} > {integer(last)} THEN {integer(lattice.high)}"
    steps = _steps(lattice, whole, (first, last), dialect)
    return f"CASE WHEN {within} THEN CASE {ends} ELSE {steps} END ELSE {double} END"


def _is_wide(lattice: Lattice) -> bool:
    """Whether doubles may lose a digit of its numbers, or of their half steps."""
    return max(abs(lattice.low), abs(lattice.high)) * max(lattice.step, Fraction(1)) >= _DOUBLES_ARE_SURE


def _exact(
    lattice: Lattice, source: str, kind: SourceType, dialect: Dialect
) -> tuple[str, str, tuple[int, int]] | None:
    """Where doubles may lose digits: which values are whole numbers, these as bigints, and the least and the
    greatest of them within the bounds.  None where doubles are enough, or bigints are not.
    """
    step, largest = lattice.step, max(abs(lattice.low), abs(lattice.high))
    if not _is_wide(lattice) or 5 * largest * step.numerator >= 2**63:
        return None
    ends = ceil(lattice.low * step), floor(lattice.high * step)
    match kind:
        case "integer":  # which may be wider than a bigint
            far = dialect.double(2.0**62)
            return f"abs({_double(source, kind, dialect)}) < {far}", dialect.whole(source), ends
        case "text":
            text = _text(source, dialect)
            digits = f"split_part({text}, {dialect.text('.')}, 1)"
            return dialect.matches(text, WHOLE), dialect.whole(digits), ends
        case "boolean" | "float" | "decimal" | "date" | "timestamp" | "instant" | "other":
            return None
        case _:
            assert_never(kind)


def _steps(lattice: Lattice, whole: str, ends: tuple[int, int], dialect: Dialect) -> str:
    """floor(whole / step + 1/2) in bigints, of which no quotient is negative."""
    over, under = lattice.step.numerator, lattice.step.denominator
    if lattice.step == 1:
        return whole
    near = (
        f"least(greatest({whole}, {integer(ends[0])}), {integer(ends[1])})"  # never too large for a product
    )
    halves = f"({near} * {integer(2 * under)} + {integer(over - 2 * over * lattice.low)})"
    return f"({dialect.quotient(halves, 2 * over)} + {integer(lattice.low)})"


def _day(column: DateColumn, source: str, kind: SourceType, dialect: Dialect) -> str:
    low, high = f"DATE '{column.low}'", f"DATE '{column.high}'"
    day = _raw_day(column, source, kind, dialect)
    clipped = f"least(greatest({day}, {low}), {high})"  # also tames an engine's infinite dates
    return f"CASE WHEN {day} IS NOT NULL THEN {dialect.days(clipped)} END"


def _raw_day(column: DateColumn, source: str, kind: SourceType, dialect: Dialect) -> str:
    """The day as it came; where a text says that it is infinite, the bound on that side."""
    low, high = f"DATE '{column.low}'", f"DATE '{column.high}'"
    match kind:
        case "date" | "timestamp" | "instant":
            return dialect.day(source, kind)
        case "text":
            text = _text(source, dialect)
            written = dialect.day(f"substr({text}, 1, 10)", kind)
            return (
                f"(CASE WHEN {text} = {dialect.text('infinity')} THEN {high} "
                f"WHEN {text} = {dialect.text('-infinity')} THEN {low} "
                f"WHEN {dialect.matches(text, DAY)} AND substr({text}, 1, 4) <> {dialect.text('0000')} "
                f"THEN {written} END)"
            )
        case "boolean" | "integer" | "float" | "decimal" | "other":
            return "CAST(NULL AS DATE)"
        case _:
            assert_never(kind)


def _whole_text(source: str, kind: SourceType, dialect: Dialect) -> str:
    """The digits of a whole number; no other number is one of a list of whole numbers."""
    match kind:
        case "integer":
            whole = dialect.whole(source)
        case "text":
            text = _text(source, dialect)
            digits = f"split_part({text}, {dialect.text('.')}, 1)"
            whole = f"(CASE WHEN {dialect.matches(text, WHOLE)} THEN {dialect.whole(digits)} END)"
        case "boolean" | "float" | "decimal" | "date" | "timestamp" | "instant" | "other":
            x, most = _double(source, kind, dialect), dialect.double(2.0**53)
            # Nested, because AND guarantees no order, and on some engines floor gives a bigint.
            exactly = f"CASE WHEN floor({x}) = {x} THEN {dialect.whole(x)} END"
            whole = f"(CASE WHEN abs({x}) < {most} THEN {exactly} END)"
        case _:
            assert_never(kind)
    return f"CAST({whole} AS {dialect.text_type})"


def _truth(source: str, kind: SourceType, dialect: Dialect) -> str:
    match kind:
        case "boolean":
            return source
        case "text":
            text = _text(source, dialect)
            yes, no = (", ".join(map(dialect.text, words)) for words in (TRUE_WORDS, FALSE_WORDS))
            return f"CASE WHEN lower({text}) IN ({yes}) THEN TRUE WHEN lower({text}) IN ({no}) THEN FALSE END"
        case "integer" | "float" | "decimal" | "date" | "timestamp" | "instant" | "other":
            x = _double(source, kind, dialect)
            return f"CASE WHEN NOT {dialect.not_a_number(x)} THEN {x} <> {dialect.double(0.0)} END"
        case _:
            assert_never(kind)


def _text(source: str, dialect: Dialect) -> str:
    return f"CAST({source} AS {dialect.text_type})"


def raw_text(source: str, dialect: Dialect) -> str:
    """A value as it is written, where that is valid Unicode."""
    return dialect.key(_text(source, dialect))
