"""A text in a dialect means what the database of that name says: Postgres, SQLite and DuckDB are asked themselves."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from datetime import date, timedelta
from fractions import Fraction
from typing import Any

import pandas as pd
import psycopg
import pytest

from adyton.kernel.privacy import Guarantee, PrivacyUnit
from adyton.kernel.schema import BooleanColumn, CategoryColumn, DateColumn, IntegerColumn, RealColumn, Table
from adyton.query.request import Combined, Request, asked_of
from adyton.query.sql.several.dialects import translated
from adyton.study import Study
from support.curators import open_kept, plain_database
from support.postgres import NoServer, postgres_server

FIRST = date(2023, 1, 1)
TABLE = Table(
    "t",
    (
        IntegerColumn("a", -20, 20),
        IntegerColumn("b", 1, 9),
        RealColumn("d", Fraction(-5), Fraction(5), Fraction(1, 4)),
        CategoryColumn("k", ("North", "south", "west")),
        BooleanColumn("g"),
        DateColumn("day", FIRST, FIRST + timedelta(40)),
    ),
    rows=158,
)
Rows = list[tuple[Any, ...]]
ROWS: Rows = [
    (
        n - 20, 1 + n % 9, (n % 41 - 20) / 4, ("North", "south", "west")[(n + part) % 3], (n * n + part) % 5 < 2, FIRST + timedelta(n),
    )
    for part in range(4)
    for n in range(part, 41)
]  # fmt: skip
QUOTIENTS = [
    "SELECT a/7 AS q, COUNT(*) AS n FROM t GROUP BY 1",
    "SELECT SUM((a + 3) / -4) AS q, SUM(a / 2 * 2) AS r, SUM(a * 2 / 3 - b / 2) AS s FROM t",
    "SELECT SUM(a / 7.0) AS q, SUM(d / 2) AS r  FROM t",
    "SELECT SUM(a % 7) AS q, SUM((a - 3) % -4) AS r FROM t",
    "SELECT COUNT(*) AS n FROM t WHERE a / 4 = 0 AND b / 2 IN (1, 3) AND COALESCE(a, 0) / 3 BETWEEN -2 AND 2",
    "SELECT SUM(CASE WHEN g THEN a / 3 ELSE a END / 2) AS q FROM t",
    "SELECT SUM(x / 3) AS q FROM (SELECT a + 1 AS x, k FROM t WHERE g) AS s WHERE x / 2 > -5",
    "SELECT SUM(x / 3) AS q FROM (SELECT d * 2 AS x FROM t) AS s",
    "WITH s AS (SELECT a / 2 AS a, * FROM (SELECT b AS c, a FROM t) AS u) SELECT SUM(c / 4) AS q FROM s",
    "SELECT SUM(x / 2) AS q, SUM(y / 2) AS r FROM (SELECT b AS x, d AS y FROM t) AS s",
    "SELECT SUM(CAST(a AS REAL) / 8) AS q, SUM(CAST(a / 8 AS INTEGER)) AS r FROM t",
    "SELECT SUM(ABS(a) / 3) AS q, SUM(-a / 3) AS r, SUM(NULLIF(a, 4) / 3) AS s FROM t",
]
HALVES = [
    "SELECT ROUND(d) AS q, COUNT(*) AS n FROM t GROUP BY 1",
    "SELECT SUM(ROUND(d * 2)) AS q, SUM(ROUND(a * 0.5)) AS r, SUM(ROUND(a / 4.0)) AS s FROM t",
    "SELECT SUM(CAST(d AS INTEGER)) AS q, SUM(CAST(a * 0.5 AS INTEGER)) AS r FROM t",
]
LISTS = [
    "SELECT COUNT(*) AS n FROM t WHERE k = ANY(ARRAY['North', 'west']) AND a <> ALL(ARRAY[1, 2, NULL]) IS NOT FALSE",
    "SELECT COUNT(*) AS n FROM t WHERE NOT (k = ANY(ARRAY['North', NULL]))",
    "SELECT COUNT(*) AS n FROM t WHERE k = ANY(ARRAY['North', NULL]) OR g",
    "SELECT COUNT(*) AS n FROM t WHERE k <> ALL(ARRAY['North', 'west'])",
]
SAID: dict[str, list[str]] = {
    "postgres": [
        *QUOTIENTS, *HALVES, *LISTS,
        "SELECT COUNT(*) AS n FROM t WHERE k = ANY('{North,\"west\"}') AND a = ANY('{1,2,NULL,3}'::int[])",
        "SELECT COUNT(*) AS n FROM t WHERE NOT (a = SOME('{}')) AND g = ANY('{t}'::bool[]) AND day <> ALL('{2023-01-05}'::date[])",
        "SELECT COUNT(*) AS n FROM t WHERE k IN ('North'::varchar, 'west'::text) AND a > '3'::int AND d < 2::numeric",
        "SELECT k, COUNT(*) AS n FROM t GROUP BY k ORDER BY k DESC LIMIT 2::integer OFFSET 1::int",
        "SELECT EXTRACT(YEAR FROM day) / 2 AS q, DATE_PART('month', day)::int / 2 AS r, COUNT(*) AS n FROM t GROUP BY 1, 2",
        "SELECT SUM((day - DATE '2023-01-10') / 7) AS q, SUM(LENGTH(k) / 2) AS r FROM t",
        "SELECT SUM(ROUND(d::numeric)) AS q, SUM(ROUND(d::numeric, 1)) AS r, SUM(a ^ 2) AS s FROM t",
        "SELECT ROUND(SUM(LOG(b))::numeric, 3) AS q, SUM(MOD(a, 4)) AS r, SUM(DIV(a, 4)) AS s, SUM(DIV(a, 4) / 2) AS t FROM t",
        "SELECT EXTRACT(DOW FROM day) AS q, EXTRACT(ISODOW FROM day) AS r, DATE_TRUNC('week', day)::date AS s, COUNT(*) AS n FROM t GROUP BY 1, 2, 3",
        "SELECT COUNT(*) AS n FROM t WHERE k LIKE 'N' || '%' OR SUBSTRING(k FROM 1 FOR 1) = 's'",
        "SELECT COUNT(*) AS n FROM t WHERE g = (a > 3) IS TRUE",
    ],
    "sqlite": [
        *QUOTIENTS,
        "SELECT ROUND(d) AS q, COUNT(*) AS n FROM t GROUP BY 1",
        "SELECT SUM(CAST(d AS INTEGER)) AS q, SUM(CAST(a * 0.5 AS INTEGER)) AS r, SUM(d % 2) AS s, SUM((d * 4) % 3.5) AS u FROM t",
        "SELECT COUNT(*) AS n FROM t WHERE k LIKE 'n%' OR k LIKE 'SOUTH'",
        "SELECT SUM(LENGTH(k) / 2) AS r, SUM(FLOOR(a) / 2) AS s FROM t",
    ],
    "duckdb": [
        *[text for text in QUOTIENTS if "(3)" not in text], *HALVES,
        "SELECT SUM(a // 7) AS q, SUM(a % 7) AS r, SUM(CAST(a / 4 AS INTEGER)) AS s FROM t",
        "SELECT COUNT(*) AS n FROM t WHERE k = ANY(ARRAY['North', 'west']) AND k LIKE 'N%'",
        "SELECT ROUND(SUM(LOG(b)), 3) AS q, SUM(ROUND_EVEN(d, 0)) AS r FROM t",
    ],
}  # fmt: skip
PAIRS = [(dialect, text) for dialect, texts in SAID.items() for text in texts]


@pytest.fixture(scope="module")
def databases() -> Iterator[dict[str, Callable[[str], Rows]]]:
    made = "CREATE TABLE t (a BIGINT, b BIGINT, d {}, k TEXT, g {}, day {})"
    with closing(sqlite3.connect(":memory:")) as small, plain_database() as duck:
        small.execute(made.format("REAL", "BOOLEAN", "TEXT"))
        small.executemany("INSERT INTO t VALUES (?,?,?,?,?,?)", [(*row[:5], str(row[5])) for row in ROWS])
        duck.execute(made.format("DOUBLE", "BOOLEAN", "DATE"))
        duck.executemany("INSERT INTO t VALUES (?,?,?,?,?,?)", ROWS)
        found = {
            "sqlite": lambda text: small.execute(text).fetchall(),
            "duckdb": lambda text: duck.execute(text).fetchall(),
        }
        try:
            with postgres_server() as address, psycopg.connect(address) as large:
                large.execute(made.format("DOUBLE PRECISION", "BOOLEAN", "DATE"))
                large.cursor().executemany("INSERT INTO t VALUES (%s,%s,%s,%s,%s,%s)", ROWS)
                yield {**found, "postgres": lambda text: large.execute(text).fetchall()}
        except NoServer:
            yield found


@pytest.mark.parametrize(("dialect", "text"), PAIRS, ids=[f"{d}-{i}" for i, (d, _) in enumerate(PAIRS)])
def test_law_a_text_means_what_its_database_says(
    dialect: str, text: str, databases: dict[str, Callable[[str], Rows]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Mutants: / is that of this project; halves go away from zero; LIKE tells capitals from small letters."""
    if dialect not in databases:
        pytest.skip("no Postgres server is installed")
    monkeypatch.setattr("adyton.kernel.mechanisms.gaussian.with_noise", lambda exact, *_: list(exact))
    study = Study(TABLE, PrivacyUnit("replace-one"), Guarantee(Fraction(400), Fraction(1, 10**6)))
    with open_kept(study, data=pd.DataFrame(ROWS, columns=["a", "b", "d", "k", "g", "day"])) as asker:
        answer = asker.ask(text, epsilon=100, dialect=dialect)
    asked = asked_of(text, TABLE, dialect=dialect)
    assert isinstance(asked, Request | Combined)
    rows = [tuple(record[name] for name in asked.listed if name in record) for record in answer.records()]
    shown = _told(row for row in rows if row[-1] or len(row) == 1)  # groups without rows
    assert shown == _told(databases[dialect](text))


def _told(rows: Any) -> list[str]:
    return sorted(str([_plain(value) for value in row]) for row in rows)


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, str | bool):
        return value
    return str(value)[:10] if isinstance(value, date) else round(float(value), 3) + 0.0


REMARKED: list[tuple[str | None, str, Sequence[str]]] = [
    ("postgres", "SELECT SUM(a / 5) FROM t", ["In postgres, a quotient of two whole numbers is cut"]),
    ("sqlite", "SELECT SUM(a / 5), SUM(b / 2) FROM t", ["In sqlite, a quotient of two whole numbers is cut"]),
    ("postgres", "SELECT COUNT(*) FILTER (WHERE g) / COUNT(*) FROM t", ["In postgres, a quotient of two whole numbers such"]),
    ("postgres", "SELECT SUM(a / 5.0), SUM(d / 5), SUM(FLOOR(a / 5)) FROM t", []),
    ("mysql", "SELECT SUM(a / 5) FROM t", []),
    (None, "SELECT SUM(a / 5), SUM(b / 2) FROM t", ["Here 7/5 is 1.4."]),
    (None, "SELECT SUM((a + b) / (2)) FROM t", ["Here 7/5 is 1.4."]),
    (None, "SELECT SUM(d / 5), SUM(a / 5.0), SUM(a / 2.5), FLOOR(a / 5) FROM t WHERE a <> 3 GROUP BY 4", []),
    (None, "SELECT SUM(a) / COUNT(*) FROM t", []),
]  # fmt: skip


@pytest.mark.parametrize(("dialect", "text", "remarks"), REMARKED)
def test_a_remark_says_where_databases_differ(dialect: str | None, text: str, remarks: Sequence[str]) -> None:
    """Mutant: it is said of every quotient."""
    asked = asked_of(text, TABLE, dialect=dialect)
    assert isinstance(asked, Request | Combined)
    assert len(asked.remarks) == len(remarks)
    assert all(said.startswith(begin) for said, begin in zip(asked.remarks, remarks, strict=True))
    study = Study(TABLE, PrivacyUnit("replace-one"), Guarantee(Fraction(400), Fraction(1, 10**6)))
    with open_kept(study, data=pd.DataFrame(ROWS, columns=["a", "b", "d", "k", "g", "day"])) as asker:
        assert asker.preview(text, epsilon=1, dialect=dialect).remarks == asked.remarks
        for _ in range(2):  # also of a stored answer
            assert asker.ask(text, epsilon=1, dialect=dialect).remarks == asked.remarks


def test_counts_of_persons_are_whole_numbers_and_released_ones_are_not() -> None:
    """Mutants: a sum of BIGINT is whole in Postgres; what another SELECT has counted is released."""
    inner = "(SELECT k, COUNT(*) AS n, SUM(a) AS s, MAX(b) AS m FROM t GROUP BY k) AS u"
    text = f"SELECT AVG(n / 2) AS q, AVG(s / 2) AS r, AVG(m / 2) AS p FROM {inner}"
    assert translated(text, "postgres", TABLE).startswith(
        "SELECT AVG(DIV(n, 2)) AS q, AVG(s / 2) AS r, AVG(DIV(m, 2))"
    )
    assert translated(text, "tsql", TABLE).startswith(
        "SELECT AVG(DIV(n, 2)) AS q, AVG(DIV(s, 2)) AS r, AVG(DIV(m, 2))"
    )
    assert translated(f"SELECT n / 2 AS q FROM {inner}", "postgres", TABLE).startswith("SELECT n / 2 AS q")
    ordered = translated("SELECT k, COUNT(*) AS n FROM t GROUP BY k ORDER BY n / 2", "postgres", TABLE)
    assert ordered.endswith("ORDER BY n / 2")
