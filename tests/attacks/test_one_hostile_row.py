"""One row decides nothing for others: a table, and the same table with one hostile row, under tight memory.

Both are loaded, or neither; all other rows are read alike; and the hostile row counts as one row of nothing.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from adyton.engines.duckdb import DuckDBEngine
from adyton.engines.loading.csv_lines import LONGEST_LINE
from adyton.engines.loading.sources import count_units
from adyton.errors import InvalidRequest
from adyton.kernel.privacy import PrivacyUnit
from adyton.kernel.schema import (
    CLOCK,
    CategoryColumn,
    ClockPart,
    Column,
    DateColumn,
    IntegerColumn,
    RealColumn,
    Table,
    TextColumn,
)
from adyton.kernel.terms.leaves import ValueOf
from adyton.kernel.terms.measures import Count, Sum
from adyton.planning.readings import readings_of
from adyton.query.nodes import Query
from adyton.testing.engines.cases import NASTY_TEXTS
from adyton.testing.engines.values import value_of
from support.tries import LONG, crossed

HUGE = "z" * 60_000_000  # of which not one fits into the memory that is allowed
MEMORY = "40MB"
DAYS = DateColumn("x", datetime.date(1990, 1, 1), datetime.date(2030, 1, 1))
HOUR = IntegerColumn("x", *CLOCK["hour"], ClockPart("x", "hour", "America/New_York"))
TEXT, NUMBER = TextColumn("x"), IntegerColumn("x", 0, 100)
UTC = pa.timestamp("s", "UTC")


class Mute:
    def __str__(self) -> str:
        raise ValueError


def loaded(column: Column, source: Any, unit: PrivacyUnit, rows: int | None = None) -> list[Any]:
    return [value for (value,) in told("SELECT c0 FROM units", column, source, unit, rows)]


def told(sql: str, column: Column, source: Any, unit: PrivacyUnit, rows: int | None = None) -> list[Any]:
    engine = DuckDBEngine(Table("t", (column,), rows), unit, source, memory_limit=MEMORY, threads=1)
    engine.prepare()
    found: list[Any] = engine._connection.execute(sql).fetchall()
    engine.close()
    return found


def arrow(values: list[Any], kind: pa.DataType) -> pa.Table:
    return pa.table({"x": pa.array(values, kind)})


def unchecked(values: list[bytes], *, large: bool = False) -> pa.Table:
    coded = pa.array(values, pa.large_binary() if large else pa.binary())
    kind = pa.large_string() if large else pa.string()
    return pa.table({"x": pa.Array.from_buffers(kind, len(coded), coded.buffers())})


def coded(values: list[bytes]) -> pa.Table:
    texts = unchecked(values).column(0).chunk(0)
    return pa.table({"x": pa.DictionaryArray.from_arrays(pa.array(range(len(values))), texts)})


def objects(values: list[Any]) -> pd.DataFrame:
    own = np.empty(len(values), dtype=object)
    own[:] = values
    return pd.DataFrame({"x": pd.Series(own, dtype=object)})  # else pandas guesses from the values


def polars(values: list[int], kind: Any) -> pl.DataFrame:
    return pl.DataFrame({"x": pl.Series(values, dtype=pl.Int64).cast(kind)})


Make = Callable[[list[Any]], Any]
# name: the column, how a table is made of values, good values, the hostile one
IN_MEMORY: dict[str, tuple[Column, Make, list[Any], Any]] = {
    "arrow huge text": (TEXT, lambda v: arrow(v, pa.string()), ["a", "b"], HUGE),
    "arrow no Unicode": (TEXT, unchecked, [b"a", b"b"], b"\xff"),
    "arrow no Unicode, large": (TEXT, lambda v: unchecked(v, large=True), [b"a"], b"\xff"),
    "arrow category no Unicode": (CategoryColumn("x", ("a", "b")), coded, [b"a", b"b"], b"\xff"),
    "arrow view": (TEXT, lambda v: arrow(v, pa.string_view()), ["a", "b"], "z" * 5000),
    **{
        f"arrow duration {unit}": (TEXT, lambda v, u=unit: arrow(v, pa.duration(u)), [1, 2], 2**62)
        for unit in ("s", "ms")
    },
    **{
        f"arrow timestamp {unit} {zone} {value}": (DAYS, lambda v, u=unit, z=zone: arrow(v, pa.timestamp(u, z)), [1, 86_400_000], value)
        for unit in ("s", "ms", "us")
        for zone in (None, "UTC")
        for value in (-(2**63) + 1, -(2**62), 2**62, 2**63 - 1)
    },
    "arrow hour": (HOUR, lambda v: arrow(v, UTC), [1, 86_400_000], 2**61),
    "arrow time of day": (TEXT, lambda v: arrow(v, pa.time64("us")), [1, 2], 2**60),
    "arrow time of day 32": (TEXT, lambda v: arrow(v, pa.time32("s")), [1, 2], 2**30),
    "polars huge text": (TEXT, lambda v: pl.DataFrame({"x": v}), ["a", "b"], HUGE),
    "polars duration": (TEXT, lambda v: polars(v, pl.Duration("ms")), [1, 2], 2**62),
    "polars timestamp": (DAYS, lambda v: polars(v, pl.Datetime("ms")), [1, 86_400_000], 2**62),
    "pandas huge text": (TEXT, lambda v: pd.DataFrame({"x": v}), ["a", "b"], HUGE),
    "pandas mute object": (TEXT, objects, ["a", 1], Mute()),
    "pandas half a letter": (TEXT, objects, ["a", "b"], "\ud800"),
    "pandas half a letter, typed": (TEXT, lambda v: pd.DataFrame({"x": pd.array(v, pd.StringDtype("python"))}), ["a"], "\udfff"),
    "pandas no Unicode": (TEXT, lambda v: unchecked(v).to_pandas(), [b"a", b"b"], b"\xff"),
    "pandas timestamp": (DAYS, lambda v: pd.DataFrame({"x": np.array(v, "datetime64[s]")}), [1, 86_400_000], 2**62),
    "pandas instant": (DAYS, lambda v: pd.DataFrame({"x": pd.Series(np.array(v, "datetime64[ms]")).dt.tz_localize("UTC")}), [1], 2**55),
    "pandas Arrow duration": (TEXT, lambda v: pd.DataFrame({"x": pd.arrays.ArrowExtensionArray(pa.array(v, pa.duration("s")))}), [1, 2], 2**62),
}  # fmt: skip


@cache
def loaded_without(name: str) -> list[Any]:
    column, make, good, _ = IN_MEMORY[name]
    return loaded(column, make(good), PrivacyUnit("add-remove"))


@pytest.mark.parametrize(("name", "first"), crossed([*IN_MEMORY], [False, True]))
def test_one_value_in_memory_is_missing_and_changes_no_other(name: str, first: bool) -> None:
    """Mutants: ``readable`` returns its source as it is; ``text_of`` without its limit."""
    column, make, good, bad = IN_MEMORY[name]
    usual = loaded_without(name)
    values = [bad, *good] if first else [*good, bad]
    found = loaded(column, make(values), PrivacyUnit("replace-one"), len(values))
    assert None not in usual
    assert (found[1:] if first else found[:-1]) == usual
    missing = found[0] if first else found[-1]
    # A timestamp that can be read is clipped; one that cannot is missing.
    assert missing is None or (column is DAYS and missing in (DAYS.lattice.low, DAYS.lattice.high))


# Files ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [HUGE.encode(), b"\xff"], ids=["huge", "no Unicode"])
@pytest.mark.parametrize("persons", [False, True])
def test_one_value_in_parquet_changes_no_other(bad: bytes, persons: bool, tmp_path: Path) -> None:
    """Mutant: no second attempt, with care (``opened_with_care``)."""
    unit = PrivacyUnit("replace-one", "who" if persons else None)
    good = [b"v%d" % (i % 7) for i in range(3000)]
    for name, values in (("usual", good), ("hostile", [*good[:1000], bad, *good[1000:]])):
        table = unchecked(values)
        table = table.append_column("n", pa.array(range(len(values)), pa.int32()))
        table = table.append_column("d", pa.array([0] * len(values), pa.timestamp("ns")))
        pq.write_table(table.append_column("who", pa.array(range(len(values)))), tmp_path / f"{name}.parquet")
    columns = (TEXT, IntegerColumn("n", 0, 5000), DateColumn("d", DAYS.low, DAYS.high))
    kept = []
    for name, rows in (("usual", 3000), ("hostile", 3001)):
        table = Table("t", columns, rows)
        engine = DuckDBEngine(table, unit, tmp_path / f"{name}.parquet", memory_limit=MEMORY, threads=1)
        engine.prepare()
        kept.append(
            engine._connection.execute(
                "SELECT c0, c2, count(*) FROM units GROUP BY ALL ORDER BY c0"
            ).fetchall()
        )
        (((total,),),) = engine.exact(readings_of(Query(table, (("n", Sum(ValueOf(columns[1]))),)), unit))
        engine.close()
    assert total == 3000 * 3001 // 2
    assert kept[1] == [*kept[0], (None, kept[0][0][1], 1)]


HOSTILE_LINES = [
    b'"open,5', b'"o"pen,5', b'""",5', b"a\rb,5", b"\r", b"\x00,5", b"\xff\xfe,5", b"\x01,5", b"1,2,3", b"only", b"",
    b"z" * (LONGEST_LINE + 1) + b",5", b"z" * 5_000_000 + b",5", b'\\",5', b"#,5", b"\xef\xbb\xbf,5", b",", b"\r\r",
    b"\xed\xa0\x80,5", b'"x,5\r', b"\xc3", b"a,5\x00", b"9" * 5000 + b",7",
]  # fmt: skip

# Each line is taken apart on its own: where it lies matters only if it is the first or the last.
ENDS, PLACES = [b"\n", b"\n", b"\r\n"], [0, 300, 600]


@pytest.mark.parametrize(
    ("evil", "where"),
    crossed(HOSTILE_LINES, [*product(ENDS[1:], PLACES)] if LONG else [*zip(ENDS, PLACES, strict=True)]),
    ids=lambda _: "",
)
def test_any_line_of_csv_is_one_row(evil: bytes, where: tuple[bytes, int], tmp_path: Path) -> None:
    """Under ``replace-one`` its size is checked, so nobody can stop a study with a line.

    Mutants: ``WHERE len(plain) = ...`` in place of CASE; lines that are no UTF-8 left out in ``_decoded``.
    """
    end, place = where
    lines = [b'"Name, %d",30' % i for i in range(600)]
    path = tmp_path / "t.csv"
    path.write_bytes(end.join([b"name,x", *lines[:place], evil, *lines[place:]]) + end)
    found = loaded(NUMBER, path, PrivacyUnit("replace-one"), 601)
    assert found[:place] + found[place + 1 :] == [30] * 600
    assert found[place] in (5, 7, None)
    assert count_units(path, None) == 601
    if place == 300:  # that the size is checked at all
        with pytest.raises(InvalidRequest, match="holds 601 rows"):
            loaded(NUMBER, path, PrivacyUnit("replace-one"), 600)


def test_a_line_without_an_end_is_the_last_row_and_one_too_long_is_one_row(tmp_path: Path) -> None:
    """In parts of some megabytes, wherever their ends fall."""
    path = tmp_path / "t.csv"
    for last, size in (
        (b"x\n1\n2", 2),
        (b"x\n1\n2\n", 2),
        (b"x\n1\n2\n\n", 3),
        (b"x\n", 0),
        (b"x", 0),
        (b"x\n1\n\xff", 2),
    ):
        path.write_bytes(last)
        assert len(loaded(NUMBER, path, PrivacyUnit("add-remove"))) == count_units(path, None) == size
    short, huge = b"7\n" * 1_000_000, HUGE.encode()
    for text, size in (
        (short + huge + b"\n" + short, 2_000_001),
        (short + huge, 1_000_001),
        (huge + b"\n8\n", 2),
    ):
        path.write_bytes(b"x\n" + text)
        found = dict(
            told("SELECT c0, count(*) FROM units GROUP BY c0", NUMBER, path, PrivacyUnit("replace-one"), size)
        )
        assert found == {None: 1, 7 if size > 2 else 8: size - 1}


def test_a_line_that_cannot_be_read_is_nobodys(tmp_path: Path) -> None:
    path, unit = tmp_path / "t.csv", PrivacyUnit("replace-one", "who", 2)
    path.write_bytes(b"who,x\na,1\n\xff,2\nb,3\nb,4\nb,5\n,6\nodd\n" + b"c" * 5000 + b",7\n")
    table = Table("t", (NUMBER,), 2)
    engine = DuckDBEngine(table, unit, path)
    engine.prepare()
    assert engine.exact(readings_of(Query(table, (("n", Count()),)), unit)) == [[[3]]]
    engine.close()
    assert count_units(path, "who") == 3  # for the owner, who may look: also the name that is too long


@pytest.mark.parametrize("kind", ["objects", "csv"])
def test_any_text_without_a_type_is_a_number_or_missing(kind: str, tmp_path: Path) -> None:
    column = RealColumn("x", Fraction(-5), Fraction(100), Fraction(1, 100))
    plain = [text for text in NASTY_TEXTS if text is None or not set(text) & set("\n\r\"',")]
    values = plain if kind == "csv" else NASTY_TEXTS
    if kind == "csv":
        (tmp_path / "t.csv").write_text(
            "x\n" + "".join(f"{text or ''}\n" for text in values), encoding="utf-8"
        )
    source = objects(list(values)) if kind == "objects" else tmp_path / "t.csv"
    found = loaded(column, source, PrivacyUnit("add-remove"))
    assert found == [value_of(column, value) for value in values]


# Whole numbers near what doubles hold -------------------------------------------------------------------------

WIDE = IntegerColumn("x", -(2**53), 2**53)
NEAR = [2**52 + 1, 2**52 + 3, -(2**52) - 1, 2**53 - 1, 2**53, 2**53 + 1, -(2**53) - 1, 7, 2**62, 2**63 - 1]


def wide(kind: str, values: list[Any], tmp_path: Path) -> Any:
    """A source of these whole numbers."""
    path = tmp_path / f"{kind}.parquet"
    match kind:
        case "csv":
            path = path.with_suffix(".csv")
            path.write_text("x\n" + "".join(f"{'' if v is None else v}\n" for v in values))
            return path
        case "objects":
            return objects([None if v is None else str(v) for v in values])
        case "decimal":
            pq.write_table(
                arrow([None if v is None else Decimal(v) for v in values], pa.decimal128(38, 0)), path
            )
            return path
    return arrow(values, pa.uint64() if kind == "UBIGINT" else pa.int64())


@pytest.mark.parametrize("kind", ["BIGINT", "UBIGINT", "decimal", "csv", "objects"])
def test_whole_numbers_near_2_to_53_are_read_with_every_digit(kind: str, tmp_path: Path) -> None:
    """Mutant: ``_exact`` is always None, and ``_is_wide`` false."""
    values = [v for v in NEAR if kind != "UBIGINT" or v >= 0] + [None]
    found = told("SELECT c0, k0_0 FROM units", WIDE, wide(kind, values, tmp_path), PrivacyUnit("add-remove"))
    clipped = [None if v is None else min(max(v, -(2**53)), 2**53) for v in values]
    assert [value for value, _ in found] == clipped
    if kind != "decimal":  # which passes through a double
        beyond = [v is not None and abs(v) > 2**53 for v in values]
        assert [bool(word) for _, word in found] == beyond


@pytest.mark.parametrize("kind", ["csv", "objects"])
@pytest.mark.parametrize(
    "evil",
    ["99999999999999999999999999", "-" + "9" * 400, "1e400", "9" * 18 + ".5", "0x7f", "+", "9_9", ""],
)
def test_one_text_that_is_no_bigint_changes_no_other(kind: str, evil: str, tmp_path: Path) -> None:
    """Mutant: the digits of a text are cast without being looked at, by CAST."""
    steps = RealColumn("x", Fraction(-(2**53), 100), Fraction(2**53, 100), Fraction(1, 100))
    for column in (WIDE, steps):
        usual = loaded(column, wide(kind, NEAR, tmp_path), PrivacyUnit("add-remove"))
        found = loaded(column, wide(kind, [*NEAR, evil], tmp_path), PrivacyUnit("add-remove"))
        assert found[: len(NEAR)] == usual
        assert found[len(NEAR)] == value_of(column, evil or None)
