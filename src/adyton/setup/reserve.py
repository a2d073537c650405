"""The owner opens the reserve: what will be tested is recorded first, then the rows are handed out.

They are the rows that queries would have read: clipped to what is declared, at most the declared rows of
each person.  This is for whoever may read the data anyway; nothing here has noise.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Unpack, assert_never

import numpy as np

from adyton.curator.curator import Curator
from adyton.curator.mock import MockCurator
from adyton.curator.mock_file import check_output, write_table
from adyton.curator.mock_rows import Columns
from adyton.curator.opening import open_study, sources_of
from adyton.engines.choosing import EngineLimits, engine_for
from adyton.engines.survey import loaded_rows
from adyton.errors import InvalidRequest
from adyton.kernel.exact import Number
from adyton.kernel.schema import (
    BooleanColumn,
    CategoryColumn,
    Column,
    DateColumn,
    IntegerColumn,
    RealColumn,
    Table,
    TextColumn,
)
from adyton.population.reserve import Opening, ReserveLook, open_once, order_of
from adyton.study import Study

_SAID = "the reserve of a study: private rows, for the tests that its ledger names"
_ONLY_THE_OWNER = 0o600


@dataclass(frozen=True, slots=True)
class OpenedReserve(ReserveLook):
    """What ``open_reserve`` hands out: ``columns`` are the rows, as arrays by the names of the columns."""

    columns: Columns | None = None

    def to_pandas(self) -> Any:
        """The rows as a pandas.DataFrame; a missing value is missing there too."""
        import pandas as pd

        filled = (self.columns or {}).items()
        return pd.DataFrame({name: pd.Series(list(values)).convert_dtypes() for name, values in filled})

    def __repr__(self) -> str:
        return f"OpenedReserve of {self.rows} rows"


def open_reserve(
    study: str | Path | Study | Curator,
    tests: Sequence[str],
    *,
    alpha: Number = "0.05",
    to: str | Path | None = None,
    table: str | None = None,
    overwrite: bool = False,
    data: Any = None,
    **limits: Unpack[EngineLimits],
) -> OpenedReserve:
    """Name the ``tests`` that will be made on the reserve, all of them at the level ``alpha``: get its rows.

    Each test is a text; the ledger keeps them, and a reserve is opened once.  The same again gives the same
    rows under the same receipt.  ``to`` is a file, Parquet or CSV; ``table`` another private table of the
    study.  ``data`` and ``limits`` are those of ``adyton.open``.

    Claim:    as ``significant`` says of the p-values of these tests.
    Source:   derived here.  Theorem: RESERVE-TEST.
    """
    path, order = None if to is None else Path(to), order_of(tests, alpha)
    with _curator_of(study, data) as curator:
        known = curator.study
        told = ReserveLook.of(known, curator.ledger)
        if path is not None:
            check_output(known, path, overwrite=overwrite)
        asked = _table_named(known, table)
        unit = known.unit_of(asked)
        assert unit.reserve is not None
        unit = replace(unit, reserve=replace(unit.reserve, opened=True))
        engine = engine_for(asked, unit, sources_of(known, data)[asked.name], known.fingerprint, limits)
        try:
            engine.prepare()
            opening = open_once(curator.ledger, order)
            columns = _columns(engine, asked, unit.person)
        finally:
            engine.close()
    if path is not None:
        write_table(columns, path, _SAID, word="reserve")
        path.chmod(_ONLY_THE_OWNER)
    return _handed_out(told, opening, columns, path)


def look_at_reserve(study: str | Path | Study | Curator, p_values: Sequence[Number] = ()) -> ReserveLook:
    """What the reserve is, and was opened for; with the p-values of its tests, which are significant."""
    with _curator_of(study, None) as curator:
        return ReserveLook.of(curator.study, curator.ledger, p_values)


def _handed_out(told: ReserveLook, opening: Opening, columns: Columns, path: Path | None) -> OpenedReserve:
    rows = len(next(iter(columns.values())))
    file = None if path is None else str(path)
    return OpenedReserve(told.share, told.units, told.about, opening, rows=rows, file=file, columns=columns)


@contextmanager
def _curator_of(study: str | Path | Study | Curator, data: Any) -> Iterator[Curator]:
    if isinstance(study, MockCurator):
        raise InvalidRequest("a mock has no reserve: its rows are about nobody")
    if isinstance(study, Curator):
        yield study
        return
    with open_study(study, data=data) as curator:
        yield curator


def _table_named(study: Study, name: str | None) -> Table:
    found = [table for table in study.tables if table.name == (name or study.table.name)]
    if not found:
        names = ", ".join(table.name for table in study.tables)
        raise InvalidRequest(f"the study has no table {name!r}; it has: {names}")
    return found[0]


# Rows ------------------------------------------------------------------------------------------------------


def _columns(engine: Any, table: Table, person: str | None) -> Columns:
    """What the engine has loaded, as the values that the study declares, in one order on every engine."""
    rows = loaded_rows(engine, "position" if person is None else "who", table)
    rows.sort(key=lambda row: tuple((value is None, str(value)) for value in row))
    if person is None:
        rows.sort(key=lambda row: int(row[0]))
    named = _free_name(person or "position", table)
    columns = {named: _array([row[0] for row in rows])}
    for place, column in enumerate(table.columns, start=1):
        columns[column.name] = _array([_value(column, row[place]) for row in rows], column)
    return columns


def _free_name(name: str, table: Table) -> str:
    taken = {column.name.casefold() for column in table.columns}
    while name.casefold() in taken:
        name += "_"
    return name


def _value(column: Column, code: Any) -> Any:
    if code is None:
        return None
    match column:
        case CategoryColumn(_, values):
            return values[int(code)]
        case BooleanColumn():
            return bool(code)
        case TextColumn():
            return str(code)
        case DateColumn():
            return np.datetime64(int(code), "D")
        case IntegerColumn() | RealColumn():
            value = int(code) * column.lattice.step
            return value.numerator if column.lattice.step.denominator == 1 else float(value)
        case _:
            assert_never(column)


def _array(values: list[Any], column: Column | None = None) -> Any:
    if isinstance(column, DateColumn):
        return np.array(
            [np.datetime64("NaT") if value is None else value for value in values], "datetime64[D]"
        )
    missing = [value is None for value in values]
    known = next((value for value in values if value is not None), 0)
    plain = [known if value is None else value for value in values]
    made = np.array(plain, dtype=object if isinstance(known, str) else None)
    return np.ma.MaskedArray(made, missing) if any(missing) else made
