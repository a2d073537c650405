"""A mock of a study as files, for those who like to look at rows before they ask."""

from __future__ import annotations

import csv
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from adyton.curator.mock import MADE_UP, units_of
from adyton.curator.mock_rows import mock_tables
from adyton.duckdb_files import connect, quoted, text_literal
from adyton.errors import InvalidRequest
from adyton.study import Study
from adyton.synthesis.sampling import Columns

_PARQUET = (".parquet", ".pq")
_SUFFIXES = (*_PARQUET, ".csv", ".tsv")


def check_output(study: Study, path: Path, *, overwrite: bool = False) -> None:
    """Before anything is made, or paid for: whether a table can be written there."""
    if path.suffix.lower() not in _SUFFIXES:
        raise InvalidRequest(f"a table is written to .parquet, .pq, .csv or .tsv, not to {path.suffix!r}")
    if not path.absolute().parent.is_dir():
        raise InvalidRequest(f"{path} cannot be written: there is no such folder")
    _check_target(study, path, overwrite)


def write_table(columns: Columns, path: Path, said: str, word: str = "mock") -> None:
    """Columns as a file; a Parquet file also says what they are, under this word."""
    try:
        if path.suffix.lower() in _PARQUET:
            _write_parquet(columns, path, said, word)
        else:
            _write_csv(columns, path)
    except OSError:
        raise InvalidRequest(f"{path} cannot be written") from None


def write_mock(study: Study, path: Path, rows: int | None = None, *, overwrite: bool = False) -> list[Path]:
    """The mock's tables as files, Parquet or CSV by the suffix; further tables lie beside the first one."""
    if path.suffix.lower() not in _SUFFIXES:
        raise InvalidRequest(f"a mock is written to .parquet, .pq, .csv or .tsv, not to {path.suffix!r}")
    names = [study.table.name, *(one.table.name for one in study.further)]
    paths = [path, *(path.with_name(f"{path.stem}.{name}{path.suffix}") for name in names[1:])]
    for one in paths:
        _check_target(study, one, overwrite)
    made = mock_tables(study, units_of(study, rows))
    for name, one in zip(names, paths, strict=True):
        write_table(made[name], one, MADE_UP)
    return paths


def _check_target(study: Study, path: Path, overwrite: bool) -> None:
    sources = [study.source, *(one.source for one in study.further)]
    if any(isinstance(source, Path) and source.resolve() == path.resolve() for source in sources):
        raise InvalidRequest(f"{path} is the data of the study: rows are written elsewhere")
    if path.exists() and not overwrite:
        raise InvalidRequest(f"{path} exists already; choose another -o, or --force")


def _write_parquet(columns: Columns, path: Path, said: str, word: str) -> None:
    import duckdb  # imported late: 0.1 s, needed only to write such a file

    days = [name for name, values in columns.items() if values.dtype.kind == "M" and not _has_times(values)]
    listed = ", ".join(
        f"CAST({quoted(n)} AS DATE) AS {quoted(n)}" if n in days else quoted(n) for n in columns
    )
    taken = {name: v.astype("datetime64[s]") if name in days else v for name, v in columns.items()}
    written = False
    with closing(connect()) as connection, suppress(duckdb.Error):  # whose words may quote a value
        connection.register("made_up", taken)  # which knows no days by themselves
        connection.execute(
            f"COPY (SELECT {listed} FROM made_up) TO {text_literal(str(path))} "
            f"(FORMAT parquet, KV_METADATA {{{word}: {text_literal(said)}}})"
        )
        written = True
    if not written:
        raise InvalidRequest(f"{path} cannot be written")


def _write_csv(columns: Columns, path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        lines = csv.writer(file, delimiter="\t" if path.suffix.lower() == ".tsv" else ",")
        lines.writerow(columns)
        lines.writerows(zip(*(_texts(values) for values in columns.values()), strict=True))


def _texts(values: Any) -> list[Any]:
    if values.dtype.kind == "M":
        shown = values if _has_times(values) else values.astype("datetime64[D]")
        return ["" if moment is None else moment.isoformat() for moment in shown.tolist()]
    return ["" if value is None else value for value in values.tolist()]


def _has_times(values: Any) -> bool:
    midnights = values.astype("datetime64[D]").astype(values.dtype)
    return bool((values != midnights)[values == values].any())  # NaT differs from itself
