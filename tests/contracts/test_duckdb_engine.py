"""The DuckDB engine against a plain loop over the rows, on every kind of source and on hostile values."""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adyton.duckdb_files import quoted, text_literal
from adyton.engines.duckdb import DuckDBEngine
from adyton.engines.loading.sources import count_units, describe
from adyton.errors import InvalidRequest
from adyton.kernel.privacy import Guarantee, PrivacyUnit
from adyton.kernel.schema import (
    BooleanColumn,
    CategoryColumn,
    DateColumn,
    IntegerColumn,
    RealColumn,
    Table,
    TextColumn,
    day_of,
)
from adyton.kernel.sensitivity import Reading
from adyton.kernel.terms.leaves import ValueOf
from adyton.kernel.terms.measures import Count, Mean, Sum
from adyton.planning.readings import readings_of
from adyton.query.labels import group_values
from adyton.query.nodes import Query
from adyton.setup.checking import check_study
from adyton.study import Study
from adyton.testing.engines.cases import readings_of_all_cells
from support.strategies import (
    AGE,
    BORN,
    INCOME,
    PEOPLE,
    REGION,
    SMOKER,
    YEAR,
    Row,
    answered_queries,
    conditions,
    evaluate_condition,
    evaluate_number,
    rows,
)
from support.tries import LONG

ADD_REMOVE = PrivacyUnit("add-remove")


def expected(readings: tuple[Reading, ...], table: list[Row]) -> list[list[list[int]]]:
    """What the integers mean, without any engine."""
    return [_one(reading, table) for reading in readings]


def _one(reading: Reading, table: list[Row]) -> list[list[int]]:
    keys = list(itertools.product(*(group_values(column) for column in reading.by)))
    sums = {key: [0] * len(reading.coordinates) for key in keys}
    for row in table:
        key = tuple(row[column.name] for column in reading.by)
        values = [1 if c.value is None else evaluate_number(c.value, row) for c in reading.coordinates]
        if key not in sums or None in values or evaluate_condition(reading.where, row) is not True:
            continue
        for i, (c, v) in enumerate(zip(reading.coordinates, values, strict=True)):
            sums[key][i] += c.times * v - c.minus
    kept = range(len(keys)) if reading.kept is None else reading.kept
    assert not any(any(sums[key]) for place, key in enumerate(keys) if place not in kept)
    return [[sums[keys[place]][i] for place in kept] for i in range(len(reading.coordinates))]


def as_source(table: list[Row]) -> pa.Table:
    """Lattice rows as the values that an owner's file would hold."""
    return pa.table(
        {
            "age": pa.array([row["age"] for row in table], pa.int64()),
            "income": pa.array(
                [None if row["income"] is None else row["income"] / 100 for row in table], pa.float64()
            ),
            "region": pa.array([row["region"] for row in table], pa.string()),
            "year": pa.array([row["year"] for row in table], pa.int32()),
            "smoker": pa.array([row["smoker"] for row in table], pa.bool_()),
            "born": pa.array(
                [None if row["born"] is None else day_of(row["born"]) for row in table], pa.date32()
            ),
        }
    )


FIXED: list[Row] = [
    {"age": 30, "income": 5_000_000, "region": "north", "year": 2020, "smoker": True, "born": 0},
    {"age": 120, "income": 0, "region": "south", "year": 2021, "smoker": False, "born": -25_000},
    {"age": None, "income": 20_000_000, "region": None, "year": 2022, "smoker": None, "born": None},
    {"age": 0, "income": None, "region": "west", "year": None, "smoker": True, "born": 20_000},
    {"age": 64, "income": 123_456, "region": "north", "year": 2020, "smoker": False, "born": 1},
]


@pytest.fixture(scope="module")
def fixed_engine() -> Iterator[DuckDBEngine]:
    engine = DuckDBEngine(PEOPLE, ADD_REMOVE, as_source(FIXED))
    engine.prepare()
    yield engine
    engine.close()


@given(query=answered_queries())
@settings(max_examples=250, deadline=None)
def test_law_every_query_means_the_same_to_the_engine(fixed_engine: DuckDBEngine, query: Query) -> None:
    readings = readings_of(query, ADD_REMOVE)
    assert fixed_engine.exact(readings) == expected(readings, FIXED)


@given(table=st.lists(rows(), max_size=6), where=conditions())
@settings(max_examples=40, deadline=None)
def test_law_every_table_means_the_same_to_the_engine(table: list[dict[str, Any]], where: Any) -> None:
    query = Query(
        PEOPLE,
        (("n", Count(where)), ("m", Mean(ValueOf(INCOME), where))),
        by=(REGION, SMOKER),
    )
    readings = readings_of_all_cells(query, ADD_REMOVE)
    engine = DuckDBEngine(PEOPLE, ADD_REMOVE, as_source(table))
    engine.prepare()
    assert engine.exact(readings) == expected(readings, table)
    engine.close()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kind", ["arrow", "pandas", "polars", "lazy polars", "parquet", "csv"])
def test_every_source_gives_the_same_integers(kind: str, tmp_path: Path) -> None:
    arrow = as_source(FIXED)
    pq.write_table(arrow, tmp_path / "people.parquet")
    arrow.to_pandas().to_csv(tmp_path / "people.csv", index=False)
    sources: Mapping[str, Any] = {
        "arrow": arrow,
        "pandas": arrow.to_pandas(),
        "polars": pl.from_arrow(arrow),
        "lazy polars": pl.DataFrame(arrow).lazy(),
        "parquet": tmp_path / "people.parquet",
        "csv": tmp_path / "people.csv",
    }
    readings = readings_of(
        Query(
            PEOPLE,
            (("n", Count()), ("s", Sum(ValueOf(INCOME))), ("m", Mean(ValueOf(AGE)))),
            by=(REGION, YEAR),
        ),
        ADD_REMOVE,
    )
    engine = DuckDBEngine(PEOPLE, ADD_REMOVE, sources[kind])
    engine.prepare()
    assert engine.exact(readings) == expected(readings, FIXED)
    engine.close()


# Hostile values ---------------------------------------------------------------------------------------------


def _sum_of(column: RealColumn | IntegerColumn, values: pa.Array) -> int:
    table = Table("t", (column,))
    engine = DuckDBEngine(table, ADD_REMOVE, pa.table({column.name: values}))
    engine.prepare()
    (((total,),),) = engine.exact(readings_of(Query(table, (("s", Sum(ValueOf(column))),)), ADD_REMOVE))
    engine.close()
    return total


NASTY = [
    0.0,
    -0.0,
    1e308,
    -1e308,
    5e-324,
    float("inf"),
    float("-inf"),
    float("nan"),
    None,
    99.994,
    99.996,
    -7.0,
]


def test_A5_one_hostile_row_moves_a_sum_by_no_more_than_declared() -> None:
    column = RealColumn("x", Fraction(-5), Fraction(100), Fraction(1, 100))
    base = [1.0, 2.0]
    without = _sum_of(column, pa.array(base, pa.float64()))
    for value in NASTY:
        moved = _sum_of(column, pa.array([*base, value], pa.float64())) - without
        assert -500 <= moved <= 10_000
        if value is None or value != value:
            assert moved == 0


def test_A5_the_order_of_rows_never_matters() -> None:
    column = RealColumn("x", Fraction(-5), Fraction(100), Fraction(1, 100))
    rng = np.random.default_rng(3)
    totals = {
        _sum_of(column, pa.array(list(rng.permutation(np.array(NASTY, dtype=object))), pa.float64()))
        for _ in range(8)
    }
    assert len(totals) == 1


def test_A5_no_sum_overflows() -> None:
    """The largest values that a column may declare, more of them than 64 bits can add up."""
    column = IntegerColumn("x", -(2**53), 2**53)
    assert _sum_of(column, pa.array([2**53] * 5000, pa.int64())) == 5000 * 2**53
    assert _sum_of(column, pa.array([-(2**63)] * 5000, pa.int64())) == -5000 * 2**53


@pytest.mark.parametrize(
    ("values", "total"),
    [
        (pa.array([300, 2], pa.uint64()), 102),
        (pa.array([2**64 - 1], pa.uint64()), 100),
        (pa.array([7.5, None, 1e300], pa.float32()), 108),
    ],
)
def test_any_physical_type_is_clipped_to_the_declared_bounds(values: pa.Array, total: int) -> None:
    assert _sum_of(IntegerColumn("x", -5, 100), values) == total


def test_a_type_that_is_no_number_is_refused_by_name_before_any_charge() -> None:
    column = IntegerColumn("x", 0, 1)
    engine = DuckDBEngine(
        Table("t", (column,)), ADD_REMOVE, pa.table({"x": pa.array([[1], [2]], pa.list_(pa.int8()))})
    )
    with pytest.raises(InvalidRequest, match="holds no single value"):
        engine.prepare()


def test_infinite_dates_are_clipped_and_strange_ones_are_missing(tmp_path: Path) -> None:
    born = DateColumn("born", datetime.date(2000, 1, 1), datetime.date(2010, 1, 1))
    (tmp_path / "t.csv").write_text("born\ninfinity\n-infinity\n2005-02-30\nsoon\n2005-03-01\n\n9999-12-31\n")
    engine = DuckDBEngine(Table("t", (born,)), ADD_REMOVE, tmp_path / "t.csv")
    engine.prepare()
    days = [d for (d,) in engine._connection.execute("SELECT c0 FROM units WHERE c0 IS NOT NULL").fetchall()]
    assert {day_of(d) for d in days} <= {born.low, born.high, datetime.date(2005, 3, 1)}
    engine.close()


def test_odd_names_values_and_capital_letters(tmp_path: Path) -> None:
    """Quotes, semicolons, unicode and SQL in names and categories are only ever names and categories."""
    odd = 'na"me; DROP TABLE units --'
    category = CategoryColumn(
        odd, ("it's", 'say "hi"', "'); DROP TABLE units; --", "Ünïcode 中文", " padded ")
    )
    table = Table("t", (category, IntegerColumn("AGE", 0, 9)))
    values = [*category.values, "unknown", None, "it''s"]
    source = pa.table({odd: pa.array(values, pa.string()), "age": pa.array(range(len(values)), pa.int8())})
    engine = DuckDBEngine(table, ADD_REMOVE, source)
    engine.prepare()
    readings = readings_of(
        Query(table, (("n", Count()), ("s", Sum(ValueOf(table.columns[1])))), by=(category,)),
        ADD_REMOVE,
    )
    assert engine.exact(readings) == [[[1] * 5], [[0, 1, 2, 3, 4]]]
    engine.close()
    assert quoted('a"b') == '"a""b"'
    assert text_literal("a'b") == "'a''b'"


def test_an_empty_table_has_every_declared_group() -> None:
    readings = readings_of(
        Query(PEOPLE, (("n", Count()), ("m", Mean(ValueOf(AGE)))), by=(REGION,)), ADD_REMOVE
    )
    engine = DuckDBEngine(PEOPLE, ADD_REMOVE, as_source([]))
    engine.prepare()
    assert engine.exact(readings) == [[[0] * 4], [[0] * 4, [0] * 4]]
    engine.close()


def test_A6_a_row_of_only_missing_values_changes_no_shape_and_no_number() -> None:
    nothing: Row = dict.fromkeys(("age", "income", "region", "year", "smoker", "born"))
    query = Query(PEOPLE, (("s", Sum(ValueOf(AGE))), ("m", Mean(ValueOf(INCOME)))), by=(REGION,))
    readings = readings_of(query, ADD_REMOVE)
    seen = []
    for table in (FIXED, [*FIXED, nothing]):
        engine = DuckDBEngine(PEOPLE, ADD_REMOVE, as_source(table))
        engine.prepare()
        seen.append(engine.exact(readings))
        engine.close()
    assert seen[0] == seen[1]


# Persons --------------------------------------------------------------------------------------------------


def _count(persons: list[Any], ages: list[Any], rows: int = 1) -> int:
    table = Table("t", (AGE,))
    unit = PrivacyUnit("add-remove", "who", rows)
    engine = DuckDBEngine(table, unit, pd.DataFrame({"who": persons, "age": ages}))
    engine.prepare()
    (((found,),),) = engine.exact(readings_of(Query(table, (("n", Count()),)), unit))
    engine.close()
    return found


def test_A10_a_person_with_many_rows_counts_once() -> None:
    assert _count(["a", "b"], [1, 2]) == 2
    assert _count(["a", "b"] + ["c"] * 5000, [1, 2, *range(5000)]) == 3


@pytest.mark.parametrize("rows", [2, 10, 100])
def test_A10_a_person_with_many_rows_counts_as_often_as_declared(rows: int) -> None:
    assert _count(["a", "b"] + ["c"] * 5000, [1, 2, *range(5000)], rows) == 2 + rows


def test_rows_without_a_person_do_not_count() -> None:
    assert _count(["a", None, None], [1, 2, 3]) == 1


def test_which_row_of_a_person_is_used_depends_on_that_person_alone() -> None:
    table = Table("t", (AGE,))
    unit = PrivacyUnit("add-remove", "who")

    def chosen(frame: pd.DataFrame) -> int:
        engine = DuckDBEngine(table, unit, frame)
        engine.prepare()
        (((total,),),) = engine.exact(readings_of(Query(table, (("s", Sum(ValueOf(AGE))),)), unit))
        engine.close()
        return total

    mine = pd.DataFrame({"who": ["me"] * 20, "age": range(20)})
    alone = chosen(mine)
    others = pd.DataFrame({"who": [f"p{i}" for i in range(50)], "age": [0] * 50})
    for seed in range(3):
        assert chosen(pd.concat([others, mine]).sample(frac=1, random_state=seed)) == alone


# Public facts ---------------------------------------------------------------------------------------------


def test_the_declared_size_is_checked_only_where_it_is_public() -> None:
    source = as_source(FIXED)
    engine = DuckDBEngine(PEOPLE, PrivacyUnit("replace-one"), source)
    with pytest.raises(InvalidRequest, match=r"table\.rows = 1000, but the data holds 5 rows"):
        engine.prepare()
    other = DuckDBEngine(PEOPLE, ADD_REMOVE, source)
    other.prepare()
    other.close()


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("missing.parquet", None, "does not exist"),
        ("broken.parquet", b"PAR1 this is not parquet", "cannot be read"),
        ("empty.parquet", b"", "cannot be read"),
        ("data.xlsx", b"x", "end in .parquet, .csv or .tsv"),
        ("other.csv", b"a,b\n1,2\n", "has no column 'age'"),
    ],
)
def test_an_unusable_file_is_refused_by_public_facts(
    name: str, content: bytes | None, says: str, tmp_path: Path
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(InvalidRequest, match=says) as caught:
        DuckDBEngine(PEOPLE, ADD_REMOVE, tmp_path / name).prepare()
    assert caught.value.__cause__ is None


@pytest.mark.parametrize("name", ["people.csv", "people.tsv"])
def test_A19_a_first_line_that_may_be_a_row_is_not_shown(name: str, tmp_path: Path) -> None:
    """Mutant: ``headed`` is not looked at, and a file without a header shows its first person to who asks."""
    (tmp_path / name).write_text(
        "31,canary,north\n42,other,south\n".replace(",", "\t" if "tsv" in name else ",")
    )
    with pytest.raises(
        InvalidRequest, match="has no column 'age'; the first line of the file must"
    ) as caught:
        DuckDBEngine(PEOPLE, ADD_REMOVE, tmp_path / name).prepare()
    assert "canary" not in str(caught.value)


def test_of_many_columns_the_first_are_named() -> None:
    wide = pd.DataFrame({f"x{n}": [1] for n in range(500)})
    with pytest.raises(InvalidRequest, match=r"has no column 'y'; it has: x0, x1, .*, x39 and 460 more$"):
        DuckDBEngine(Table("t", (IntegerColumn("y", 0, 9),)), ADD_REMOVE, wide).prepare()


def test_A19_a_loading_error_quotes_no_value(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("age,income\n1,2\n" + "canary-8675309," * 40 + "\n3,4\n")
    engine = DuckDBEngine(PEOPLE, ADD_REMOVE, tmp_path / "people.csv")
    with pytest.raises(InvalidRequest) as caught:
        engine.prepare()
    assert "canary" not in str(caught.value)


def test_csv_types_are_never_guessed_from_values(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n1,2020-01-01\n")
    assert describe(tmp_path / "t.csv") == {"a": "VARCHAR", "b": "VARCHAR"}
    assert count_units(tmp_path / "t.csv", None) == 1


EVIL_LINES = [
    b'"open,5', b'"o"pen,5', b'x"y,5', b'""",5', b"a\rb,5", b"\r", b"\x00,5", b"\xff\xfe,5", b"\x01,5", b"1,2,3", b"only",
    b"", b"z" * 2_500_000 + b",5", b"\\\",5", b"#,5", b"\xef\xbb\xbf,5",
]  # fmt: skip


USUAL: dict[str, list[Any]] = {
    "truths": [True, False, None],
    "integers": [1, 2, None],
    "numbers": [1.5, 2.0, None],
    "texts": ["a", "b", None],
    "days": [datetime.date(2005, 1, 1), datetime.date(2006, 1, 1), None],
    "decimals": [Decimal("1.5"), Decimal(2), None],
}
ODD: list[Any] = [
    *(
        "abc",
        "true",
        1,
        2.5,
        True,
        2**70,
        1 + 2j,
        b"\xff",
        [1],
        (1, 2),
        {"a": 1},
        {1, 2},
        object,
        Decimal("7"),
    ),
    *(
        None,
        float("nan"),
        pd.NaT,
        pd.NA,
        np.float64(3),
        np.array([1, 2]),
        pd.Timestamp("2020-01-01", tz="Asia/Tokyo"),
    ),
    *(datetime.date(2020, 1, 1), datetime.datetime(2020, 1, 1, 5), datetime.time(3), datetime.timedelta(1)),
]


READ_AS: list[Callable[[str], Any]] = [
    lambda name: IntegerColumn(name, -5, 5),
    lambda name: RealColumn(name, Fraction(-5), Fraction(5), Fraction(1, 4)),
    lambda name: DateColumn(name, datetime.date(2000, 1, 1), datetime.date(2010, 1, 1)),
    lambda name: BooleanColumn(name),
    lambda name: CategoryColumn(name, ("a", "b", "true", "True", "1", "1.5", "2005-01-01")),
    lambda name: CategoryColumn(name, (1, 2)),
    lambda name: TextColumn(name),
]


@pytest.mark.parametrize("first", [True, False])
def test_one_value_of_a_pandas_column_never_decides_how_others_are_read(first: bool) -> None:
    """A column of Python's own objects has no type but that of each value."""
    alone = _all_kept([])
    for odd in ODD if LONG else ODD[first::2]:
        beside = _all_kept([odd], first=first)
        assert (beside[1:] if first else beside[:-1]) == alone, odd


def _all_kept(odd: list[Any], *, first: bool = False) -> list[Any]:
    """The usual values of each kind, and ``odd`` beside them, read as each kind of column."""
    columns, held = [], {}
    for (usual, values), (place, declared) in itertools.product(USUAL.items(), enumerate(READ_AS)):
        name = f"{usual} {place}"
        columns.append(declared(name))
        own = np.empty(len(values) + len(odd), dtype=object)
        own[:] = [*odd, *values] if first else [*values, *odd]
        held[name] = pd.Series(own, dtype=object)
    engine = DuckDBEngine(Table("t", tuple(columns)), ADD_REMOVE, pd.DataFrame(held))
    engine.prepare()
    kept: list[Any] = engine._connection.execute("SELECT * FROM units").fetchall()
    engine.close()
    return kept


@pytest.mark.parametrize("usual", USUAL)
def test_a_missing_value_of_a_pandas_category_changes_no_other(usual: str) -> None:
    values = USUAL[usual][:2]
    listed = pd.CategoricalDtype(values)
    for column in (
        *([IntegerColumn("x", -5, 5)] if usual != "texts" else []),
        CategoryColumn("x", ("a", "True", "1", "1.5", "2005-01-01")),
        TextColumn("x"),
    ):
        engines = [
            DuckDBEngine(
                Table("t", (column,)), ADD_REMOVE, pd.DataFrame({"x": pd.Series(some, dtype=listed)})
            )
            for some in (values, [*values, None])
        ]
        kept = []
        for engine in engines:
            engine.prepare()
            kept.append(engine._connection.execute("SELECT c0 FROM units").fetchall())
            engine.close()
        assert kept[1] == [*kept[0], (None,)], column


@pytest.mark.parametrize(
    "source",
    [123, [1, 2], object(), b"x", pd.DataFrame(), pd.DataFrame({"x": [1j]}), np.ones((3, 2))],
    ids=["number", "list", "object", "bytes", "nothing", "complex", "array"],
)
def test_what_is_no_table_is_refused_in_our_words(source: Any) -> None:
    with pytest.raises(InvalidRequest, match="is not a table that can be read: give a pandas") as caught:
        DuckDBEngine(Table("t", (IntegerColumn("x", 0, 9),)), ADD_REMOVE, source).prepare()
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


@pytest.mark.parametrize("evil", EVIL_LINES, ids=lambda b: repr(b[:12]))
@pytest.mark.parametrize("position", [0, 300, 600])
def test_one_line_of_csv_never_touches_another(evil: bytes, position: int, tmp_path: Path) -> None:
    """An open quote must not swallow the rows after it: that one row would have a sensitivity of all rows."""
    table = Table("t", (IntegerColumn("age", 0, 100),))
    lines = [b'"Name, %d",30' % i for i in range(600)]
    (tmp_path / "t.csv").write_bytes(
        b"\n".join([b"name,age", *lines[:position], evil, *lines[position:]]) + b"\n"
    )
    engine = DuckDBEngine(table, ADD_REMOVE, tmp_path / "t.csv")
    engine.prepare()
    (((total,),),) = engine.exact(
        readings_of(Query(table, (("s", Sum(ValueOf(table.columns[0]))),)), ADD_REMOVE)
    )
    assert 600 * 30 <= total <= 600 * 30 + 100
    engine.close()


@pytest.mark.parametrize("separator", [",", "\t"], ids=["csv", "tsv"])
@pytest.mark.parametrize(
    ("line", "read"),
    [
        ('"open,5', False),
        ('"o"pen,5', False),
        ('""",5', False),
        ('x,"5', False),
        ('"x""y,5', False),
        ('x"y,5', True),
        ('"x""y",5', True),
        ('"x, y",5', True),
        ('"",5', True),
        (",5", True),
        ('x,"5"', True),
    ],
)
def test_a_line_whose_quote_is_not_closed_is_a_row_with_everything_missing(
    line: str, read: bool, separator: str, tmp_path: Path
) -> None:
    """It counts as a row, and none of its values does.  Mutant: quotes that nobody looks at again."""
    table = Table("t", (IntegerColumn("age", 0, 100),))
    file = tmp_path / ("t.tsv" if separator == "\t" else "t.csv")
    file.write_text("\n".join(["name,age", "a,30", line, "b,40"]).replace(",", separator) + "\n")
    engine = DuckDBEngine(table, ADD_REMOVE, file)
    engine.prepare()
    asked = (("s", Sum(ValueOf(table.columns[0]))), ("n", Count()))
    found = engine.exact(readings_of(Query(table, asked), ADD_REMOVE))
    engine.close()
    assert found == [[[75 if read else 70]], [[3]]]
    declared = Study(table, ADD_REMOVE, Guarantee(Fraction(1), Fraction(1, 10**9)))
    assert check_study(declared, data=file).tables[0].unreadable_lines == (0 if read else 1)


def test_csv_values_in_quotes_keep_separators_and_quotes(tmp_path: Path) -> None:
    place = CategoryColumn("place", ("a, b", 'say "hi"', "c"))
    (tmp_path / "t.tsv").write_text(
        '\ufeffplace\tn\n"a, b"\t1\n"say ""hi"""\t2\nc\t3\n\t4\n', encoding="utf-8"
    )
    engine = DuckDBEngine(Table("t", (place,)), ADD_REMOVE, tmp_path / "t.tsv")
    engine.prepare()
    readings = readings_of(Query(Table("t", (place,)), (("n", Count()),), by=(place,)), ADD_REMOVE)
    assert engine.exact(readings) == [[[1, 1, 1]]]
    engine.close()


@pytest.mark.parametrize("header", ["", "a,,b", "a,A", "\n"])
def test_a_header_must_name_each_column_once(header: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(header + "\n1,2,3\n")
    with pytest.raises(InvalidRequest, match="must name the columns"):
        describe(tmp_path / "t.csv")


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM '/etc/passwd'",
        "COPY units TO 'out.csv'",
        "ATTACH 'other.db'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET enable_external_access = true",
        "SET memory_limit = '1GB'",
        "SELECT * FROM FIXED",
    ],
)
def test_after_loading_the_database_is_locked(fixed_engine: DuckDBEngine, statement: str) -> None:
    import duckdb

    with pytest.raises(duckdb.Error):
        fixed_engine._connection.execute(statement)


def test_only_integers_and_truths_are_kept_in_the_engine(fixed_engine: DuckDBEngine) -> None:
    kinds = {kind for _, kind, *_ in fixed_engine._connection.execute("DESCRIBE units").fetchall()}
    assert kinds <= {"BIGINT", "UTINYINT", "BOOLEAN"}
    assert {c.name for c in (AGE, INCOME, REGION, YEAR, SMOKER, BORN)} == set(fixed_engine._units.places)
