"""A19: error texts, logs and traces carry no data, also where it is a row that makes something fail.

Mutant of all of them: ``sealed`` raises inside its handlers, ``from None``.  Then the printed text is clean, and
the context, which error trackers walk, holds the row.  Another: ``sealed`` passes an InvalidRequest on as it is, with
the variables of whoever raised it.
"""

from __future__ import annotations

import ast
import json
import logging
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import adyton
from adyton.curator.curator import Curator
from adyton.engines.duckdb import DuckDBEngine
from adyton.engines.loaded import Loading
from adyton.errors import CuratorError, EngineFailed, InvalidRequest
from adyton.holdout.files import read_values
from adyton.kernel.ledger import MemoryLedger
from adyton.kernel.privacy import Guarantee, PrivacyUnit
from adyton.kernel.schema import Table, TextColumn
from adyton.study import Study, read_study
from support.faults import CANARY, Log, tracked

ROWS = PrivacyUnit("add-remove")
TABLE = Table("t", (TextColumn("x"),))
STUDY = Study(TABLE, ROWS, Guarantee(Fraction(50), Fraction(1, 10**9)))
BROKEN = f"\xff{CANARY}".encode("latin-1")
SOURCE = Path(adyton.__file__).parent


class Canary:
    """An object that cannot be written, and says so."""

    def __str__(self) -> str:
        raise ValueError(CANARY)

    __repr__ = __str__


def texts(*values: bytes) -> pa.Table:
    """As an owner's program may write them: nobody checks."""
    coded = pa.array([b"a", *values], pa.binary())
    return pa.table({"x": pa.Array.from_buffers(pa.string(), len(coded), coded.buffers())})


@pytest.fixture(autouse=True)
def log() -> Iterator[Log]:
    """What the operator reads; every test looks at it at its end."""
    kept, logger = Log(), logging.getLogger("adyton.operator")
    logger.addHandler(kept)
    yield kept
    logger.removeHandler(kept)
    assert CANARY not in "\n".join(kept.said)


def refused(act: Callable[[], object], kind: type[CuratorError] = InvalidRequest) -> CuratorError:
    with pytest.raises(kind) as caught:
        act()
    assert CANARY not in tracked(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    return caught.value


def failing_reader() -> pa.RecordBatchReader:
    def batches() -> Iterator[pa.RecordBatch]:
        yield from texts(b"b").to_batches()
        raise ValueError(CANARY)

    return pa.RecordBatchReader.from_batches(texts().schema, batches())


def bad_file(folder: Path) -> Path:
    pq.write_table(texts(BROKEN), folder / "t.parquet")
    return folder / "t.parquet"


SOURCES: dict[str, Callable[[Path], Any]] = {
    "an Arrow reader that fails on its way": lambda _: failing_reader(),
    "an Arrow dataset, which DuckDB reads by itself": lambda folder: ds.dataset(bad_file(folder)),
    "a polars frame of objects": lambda _: pl.DataFrame({"x": pl.Series([Canary()], dtype=pl.Object)}),
    "a table that is none": lambda _: [CANARY],
}


@pytest.mark.parametrize("name", SOURCES)
def test_A19_no_table_in_memory_is_quoted(name: str, tmp_path: Path) -> None:
    with adyton.open(STUDY, data=SOURCES[name](tmp_path)) as curator:
        refused(lambda: curator.ask("SELECT COUNT(*) FROM t", epsilon=1))
        assert curator.receipts() == []


def test_A19_no_parquet_file_is_quoted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without Arrow there is no second way to read it."""
    import duckdb

    path = bad_file(tmp_path)
    with pytest.raises(duckdb.Error, match=CANARY):  # what there is to hide
        duckdb.sql(f"SELECT x FROM read_parquet('{path}')").fetchall()
    monkeypatch.setattr("adyton.engines.loading.sources.parquet_columns", lambda *_: None)
    with adyton.open(STUDY, data=path) as curator:
        said = refused(lambda: curator.ask("SELECT COUNT(*) FROM t", epsilon=1))
        assert "'t.parquet' cannot be read" in said.message


def test_what_fails_before_anything_is_read_gives_its_reason(tmp_path: Path) -> None:
    engine = DuckDBEngine(TABLE, ROWS, bad_file(tmp_path), memory_limit="plenty")
    said = refused(engine.prepare).message
    assert said.startswith("DuckDB does not start: SET memory_limit = 'plenty': ")


def test_A19_what_fails_unexpectedly_gives_its_kind_alone(tmp_path: Path) -> None:
    class Failing(Loading):
        def told(self, known: Any) -> Any:
            raise ArithmeticError(CANARY)

    engine = DuckDBEngine(TABLE, ROWS, bad_file(tmp_path), loads=Failing)
    assert refused(engine.prepare).message == "'t.parquet' cannot be read: ArithmeticError"


@pytest.mark.parametrize("kind", ["parquet", "csv", "arrow"])
def test_A19_no_row_is_quoted_when_memory_ends(kind: str, tmp_path: Path) -> None:
    many = pa.table({"x": [f"{CANARY} {i} {'z' * 200}" for i in range(100_000)]})
    pq.write_table(many, tmp_path / "t.parquet")
    many.to_pandas().to_csv(tmp_path / "t.csv", index=False)
    source = many if kind == "arrow" else tmp_path / f"t.{kind}"
    engine = DuckDBEngine(TABLE, ROWS, source, memory_limit="15MB", threads=1)
    assert "needs more memory than allowed" in refused(engine.prepare).message


def test_A19_no_row_is_quoted_when_time_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adyton.engines.loading.sources.parquet_columns", lambda *_: None)
    monkeypatch.setattr("adyton.engines.duckdb.SECONDS_TO_LOAD", 1e-9)
    engine = DuckDBEngine(TABLE, ROWS, bad_file(tmp_path))
    assert "more than 1e-09 seconds" in refused(engine.prepare).message


class Talkative:
    """An engine of somebody else's, with a row in every error."""

    def __init__(self, when: str) -> None:
        self._when = when

    def prepare(self, readings: object = ()) -> None:
        self._fail("prepare")

    def exact(self, readings: object) -> Any:
        self._fail("exact")

    found = exact

    def close(self) -> None: ...

    def _fail(self, when: str) -> None:
        row = {"name": CANARY}
        if when == self._when:
            try:
                raise KeyError(row["name"])
            except KeyError:
                raise ValueError(f"cannot read {row}")  # noqa: B904  # as people write it


@pytest.mark.parametrize("when", ["prepare", "exact"])
def test_A19_whatever_an_engine_says_the_curator_repeats_nothing(when: str, log: Log) -> None:
    """Mutant: ``_answer`` calls the engine's own ``prepare``."""
    ledger = MemoryLedger.of(STUDY)
    with Curator(STUDY, Talkative(when), ledger) as curator:
        kind = InvalidRequest if when == "prepare" else EngineFailed
        error = refused(lambda: curator.ask("SELECT COUNT(*) FROM t", epsilon=1), kind)
        assert when == "exact" or "ValueError" in error.message
        assert len(log.said) == (when == "exact")
        if when == "prepare":
            refused(lambda: curator.open_monitor(positives=1, epsilon=1))


HOLDOUTS: dict[str, Callable[[Path], Any]] = {
    "t.jsonl": lambda path: path.write_text(f'{{"x": "{CANARY}\n'),
    "bytes.jsonl": lambda path: path.write_bytes(b'"' + BROKEN + b'"\n'),
    "t.csv": lambda path: path.write_bytes(b"x\n" + BROKEN + b"\n"),
    "long.csv": lambda path: path.write_text("x\n" + CANARY * 20_000 + "\n"),
    "t.npy": lambda path: np.save(path, np.array([CANARY, object()], dtype=object), allow_pickle=True),
    "t.parquet": lambda path: pq.write_table(texts(BROKEN), path),
}


@pytest.mark.parametrize("name", HOLDOUTS)
def test_A19_no_file_of_a_holdout_is_quoted(name: str, tmp_path: Path) -> None:
    HOLDOUTS[name](tmp_path / name)
    refused(lambda: read_values(tmp_path / name))


@pytest.mark.parametrize("name", ["p.csv", "quoted.csv", "p.parquet"])
def test_A19_no_public_file_is_quoted_where_it_cannot_be_read(name: str, tmp_path: Path) -> None:
    """It is public, but who knows which file was put there by mistake."""
    if name == "p.parquet":
        pq.write_table(texts(BROKEN), tmp_path / name)
    else:
        quoted = f'x,y\n"{CANARY}'.encode()
        (tmp_path / name).write_bytes(quoted if name == "quoted.csv" else b"x,y\n" + BROKEN + b",1\n")
    (tmp_path / "t.toml").write_text(
        f"""
        table = {{ name = "t", source = "t.csv" }}
        privacy = {{ unit = "row", adjacency = "add-remove", epsilon = 1, delta = 1e-9 }}
        columns.x = {{ kind = "category", values = ["a"] }}
        public.p = {{ source = {json.dumps(name)}, key = "x" }}
        """
    )
    refused(lambda: read_study(tmp_path / "t.toml"))


def test_A19_objects_that_cannot_be_written_stop_nobody() -> None:
    frame = pd.DataFrame({"x": pd.Series(["a", Canary(), "\ud800"], dtype=object)})
    with adyton.open(STUDY, data=frame) as curator:
        curator.ask("SELECT COUNT(*) FROM t", epsilon=1)
        kept = curator._engine._connection.execute("SELECT c0 FROM units").fetchall()  # type: ignore[attr-defined]
    assert kept == [("a",), (None,), (None,)]


READERS = [*sorted((SOURCE / "engines").glob("*.py")), SOURCE / "study" / "public.py", SOURCE / "study" / "public_file.py", SOURCE / "holdout" / "files.py", SOURCE / "errors.py"]  # fmt: skip


@pytest.mark.parametrize("path", READERS, ids=lambda path: path.stem)
def test_A19_nothing_new_is_raised_while_an_error_is_handled(path: Path) -> None:
    """Where rows are read: what is raised inside a handler has the handled error as its context, for ever."""
    for handler in (n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.ExceptHandler)):
        raised = [n for n in ast.walk(handler) if isinstance(n, ast.Raise) and n.exc is not None]
        assert not raised, f"{path.name}, line {raised[0].lineno}: raise it after the handler"


def test_the_tracker_sees_what_from_none_hides() -> None:
    """The tests above can fail."""
    caught = None
    try:
        try:
            raise ValueError(CANARY)
        except ValueError:
            raise InvalidRequest("clean") from None
    except InvalidRequest as error:
        caught = error
    assert CANARY in tracked(caught)
