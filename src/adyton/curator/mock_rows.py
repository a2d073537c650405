"""Rows that nobody ever had: drawn from public facts alone, the same ones for the same study.

Numbers are even between the declared bounds, categories and booleans over their values; strings are "a" for
every second row, "b" for every fourth, and so on.  Now and then a value is missing.  Each column has a stream
of digits of its own, a hash of the study's fingerprint, so nothing here depends on data, on a clock or on a
version of a library.
"""

from __future__ import annotations

import datetime
import hashlib
import string
from typing import Any, assert_never

import numpy as np

from adyton.kernel.schema import (
    BooleanColumn,
    CategoryColumn,
    Column,
    DateColumn,
    IntegerColumn,
    RealColumn,
    Table,
    TextColumn,
    source_of,
)
from adyton.study import Study
from adyton.synthesis.sampling import Columns as Columns
from adyton.synthesis.sampling import made_up, or_missing

_ONE_MISSING_IN = 50
_MOST_ROWS_OF_A_PERSON = 20  # however many are allowed, where nobody says how many are usual
_MOST_ROWS = 20_000_000
_SOME_DAYS = (datetime.date(2000, 1, 1), datetime.date(2020, 12, 31))  # of timestamps that nobody bounded


def mock_tables(study: Study, units: int) -> dict[str, Columns]:
    """Every private table of ``study`` by its name, with ``units`` rows or persons in its own."""
    if study.unit.person is None:
        return {study.table.name: _values(study, study.table, units)}
    persons = _persons(study, units)
    return {
        table.name: _of_persons(study, table, _whose(study, table, units), persons) for table in study.tables
    }


def _whose(study: Study, table: Table, persons: int) -> Any:
    """For each row, which person's it is.  In a further table every fourth person or so has no rows.

    Where the study says how many rows and how many persons there are, a person has as many on average.
    """
    drawn, most = _draws(study, table, "rows of a person", persons), study.unit_of(table).rows
    usual = min(most, _MOST_ROWS_OF_A_PERSON)
    if table.lines is not None and table.rows is not None:
        usual = min(most, max(1, 2 * table.lines // table.rows - 1), _MOST_ROWS // persons)
    rows = 1 + drawn % np.uint64(usual)
    if table.name != study.table.name:
        rows = np.where((drawn >> np.uint64(32)) % np.uint64(4) == 0, np.uint64(0), rows)
    return np.repeat(np.arange(persons), rows.astype(np.int64))


def _of_persons(study: Study, table: Table, whose: Any, persons: Any) -> Columns:
    values = _values(study, table, len(whose))
    identity = table.person or study.unit.person or ""
    declared = next((name for name in values if name.casefold() == identity.casefold()), identity)
    return {declared: persons[whose], **{name: v for name, v in values.items() if name != declared}}


def _persons(study: Study, units: int) -> Any:
    """One name for each person, in all tables; where it is declared as a column, of that column's kind."""
    declared = [
        column
        for table in study.tables
        for column in table.columns
        if column.name.casefold() == (table.person or study.unit.person or "").casefold()
    ]
    if declared and all(isinstance(column, IntegerColumn) for column in declared):
        return np.arange(units, dtype=np.int64) + max(c.low for c in declared if isinstance(c, IntegerColumn))
    names: list[str] = [f"mock-{i}" for i in range(1, units + 1)]
    for column in declared:
        if isinstance(column, CategoryColumn):
            known = [str(value) for value in column.values[:units]]
            names[: len(known)] = known
    return np.array(names, dtype=object)


def _values(study: Study, table: Table, rows: int) -> Columns:
    """By the names that the data must have: parts of timestamps are taken from timestamps."""
    clocks = {
        column.clock.of for column in table.columns if isinstance(column, IntegerColumn) and column.clock
    }
    own = [column for column in table.columns if source_of(column) == column.name]
    made = {column.name: _column(study, table, column, rows) for column in own}
    for name in sorted(clocks):
        known = next((given for given in made if given.casefold() == name.casefold()), name)
        if known not in made:
            made[known] = _column(study, table, DateColumn(name, *_SOME_DAYS), rows)
        seconds = _draws(study, table, f"time of {name}", rows) % np.uint64(86_400)
        made[known] = made[known] + seconds.astype("timedelta64[s]")
    return made


def _column(study: Study, table: Table, column: Column, rows: int) -> Any:
    drawn = _draws(study, table, f"column {column.name}", rows)
    missing = _draws(study, table, f"missing {column.name}", rows) % np.uint64(_ONE_MISSING_IN) == 0
    match column:
        case CategoryColumn(_, values):
            codes = drawn % np.uint64(len(values))
        case BooleanColumn():
            codes = drawn % np.uint64(2)
        case TextColumn():
            return or_missing(np.array([_letter(int(z)) for z in drawn], dtype=object), missing)
        case IntegerColumn() | RealColumn() | DateColumn():
            lattice = column.lattice
            codes = lattice.low + (drawn % np.uint64(lattice.high - lattice.low + 1)).astype(np.int64)
        case _:
            assert_never(column)
    return made_up(column, codes, missing)


def _letter(drawn: int) -> str:
    """ "a" with probability 1/2, "b" with 1/4, ..., so that some keys are common and some are rare."""
    zeros = (drawn & -drawn).bit_length() - 1
    return string.ascii_lowercase[zeros % 26]


def _draws(study: Study, table: Table, what: str, number: int) -> Any:
    """Evenly distributed whole numbers below 2**64; more of them begin with the same ones."""
    seed = "\0".join(("mock", study.fingerprint, table.name, what))
    digits = hashlib.shake_256(seed.encode()).digest(8 * number)
    return np.frombuffer(digits, dtype="<u8").astype(np.uint64)
