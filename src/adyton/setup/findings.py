"""What would surprise an analyst who believes the study file, in words: from counts alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from adyton.certify.checked import CheckFinding, ColumnCheck, TableCheck
from adyton.kernel.schema import Column, Table, TextColumn
from adyton.study import Study

_FAR_OFF = 10  # times, either way: a guess that is farther off misleads
_MANY_MISSING = Fraction(1, 20)  # of the rows: so many are a group of their own


def findings_of(study: Study, checked: Sequence[TableCheck], allow: Fraction) -> tuple[CheckFinding, ...]:
    """Of all tables; up to the share ``allow`` of the rows may be odd in one way without being a finding."""
    found: list[CheckFinding] = []
    for table, one in zip(study.tables, checked, strict=True):
        found += _sizes(study, table, one, allow)
        for column in one.columns:
            found += _of_column(one, column, allow)
    return tuple(found)


def suggestions_of(study: Study, checked: Sequence[TableCheck]) -> tuple[CheckFinding, ...]:
    """Columns of which so many rows have no value that an analyst who groups by them should see how many."""
    return tuple(
        found
        for table, one in zip(study.tables, checked, strict=True)
        for column, counts in zip(table.columns, one.columns, strict=True)
        if (found := _many_missing(study, table, one, column, counts)) is not None
    )


def _many_missing(
    study: Study, table: Table, one: TableCheck, column: Column, counts: ColumnCheck
) -> CheckFinding | None:
    missing = counts.missing  # what is there and not declared is a finding
    if isinstance(column, TextColumn) or column.missing or not _MANY_MISSING * one.rows <= missing < one.rows:
        return None
    section = "" if table is study.table else f"private.{table.name}."
    said = f"no value in {_of(missing, one)} ({100 * missing / one.rows:.1f} %)"
    text = f"{said}: queries grouped by it leave them out, unless [{section}columns.{column.name}] says "
    return CheckFinding(table.name, column.name, "missing", missing, f"{text}missing = true")


def _sizes(study: Study, table: Table, one: TableCheck, allow: Fraction) -> Iterator[CheckFinding]:
    unit, where = study.unit_of(table), "table" if table is study.table else f"private.{table.name}"
    units = f"{unit.word}s"

    def finding(kind: str, rows: int, text: str) -> CheckFinding:
        return CheckFinding(table.name, None, kind, rows, text)

    if unit.adjacency == "replace-one" and one.units != table.rows:
        said = f"the study says {where}.rows = {table.rows}, the data holds {one.units:,} {units}"
        yield finding("size", one.units, f"{said}: every query is refused")
    elif unit.adjacency != "replace-one":
        yield from _guess(table, f"{where}.rows", table.rows, one.units, units)
    yield from _guess(table, f"{where}.lines", table.lines, one.rows_that_count, "rows that count")
    unreadable = one.unreadable_lines or 0
    if unreadable > allow * one.rows:
        kept = "they are nobody's" if unit.person is not None else "they still count as rows"
        why = "empty, another number of values than the first line, an open quote, not UTF-8, or too long"
        said = f"a line that cannot be read in {_of(unreadable, one)} ({why})"
        yield finding("unreadable", unreadable, f"{said}: everything in it is missing, and {kept}")
    if one.rows_of_nobody > allow * one.rows:
        yield finding(
            "nobody", one.rows_of_nobody, f"no person in {_of(one.rows_of_nobody, one)}: they are left out"
        )
    if one.rows_cut > allow * one.rows:
        said = f"{one.persons_above:,} of {one.units:,} persons have more than {_rows(unit.rows)}"
        share = f"{_rows(one.rows_cut)} of {one.rows:,} do not count"
        yield finding("cut", one.rows_cut, f"{said}: {share}")


def _guess(table: Table, key: str, guess: int | None, found: int, what: str) -> Iterator[CheckFinding]:
    if guess is None or max(guess, found) < _FAR_OFF * max(1, min(guess, found)):
        return
    said = f"the study guesses {key} = {guess}, the data holds {found:,} {what}"
    yield CheckFinding(
        table.name, None, "guess", found, f"{said}: prices and widths that rest on it are far off"
    )


def _of_column(table: TableCheck, column: ColumnCheck, allow: Fraction) -> Iterator[CheckFinding]:
    def finding(kind: str, rows: int | None, text: str) -> CheckFinding:
        return CheckFinding(table.name, column.name, kind, rows, text)

    if column.problem is not None:
        yield finding("type", None, column.problem)
        return
    if column.unparseable > allow * table.rows:
        text = f"a value that is not {column.kind} in {_of(column.unparseable, table)}: it counts as missing"
        yield finding("unparseable", column.unparseable, text)
    if column.undeclared > allow * table.rows:
        text = f"a value that is not declared in {_of(column.undeclared, table)}: it counts as missing"
        almost = f"; in {column.almost_declared:,} of them it differs only in case or in blanks around it"
        yield finding("undeclared", column.undeclared, text + (almost if column.almost_declared else ""))
    for kind, rows, side in (
        ("clipped_low", column.clipped_low, "below low"),
        ("clipped_high", column.clipped_high, "above high"),
    ):
        if rows > allow * table.rows:
            yield finding(kind, rows, f"{side} in {_of(rows, table)}: the bound counts in its place")
    if table.rows and column.missing == table.rows:
        yield finding("empty", column.missing, "no row has a value")
    if column.keys is not None and not column.keys.found:
        keys = column.keys
        text = f"a query that costs epsilon {keys.epsilon:g} would discover no group"
        needed = f"{keys.threshold:,} units are needed, and none of {keys.there:,} keys has that many"
        yield finding("no_groups", 0, f"{text}: {needed}")


def _of(rows: int, table: TableCheck) -> str:
    return f"{rows:,} of {_rows(table.rows)}"


def _rows(number: int) -> str:
    return f"{number:,} row{'' if number == 1 else 's'}"
