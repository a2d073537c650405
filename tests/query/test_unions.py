"""UNION ALL and sets of groups: one batch, one table, and the rows that a plain database gives."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from adyton.certify import Interval
from adyton.curator.curator import Curator
from adyton.errors import InvalidRequest
from adyton.kernel.privacy import Guarantee, PrivacyUnit
from adyton.kernel.schema import BooleanColumn, CategoryColumn, IntegerColumn, RealColumn, Table, TextColumn
from adyton.query.request import Combined, asked_of
from adyton.study import Study, Validity
from adyton.transports.cli.app import app
from adyton.transports.queries_file import split_queries
from support.curators import open_kept, plain_database, seeded
from support.tries import often

REGIONS = ("north", "south", "east", "west")
PEOPLE = Table(
    "people",
    (
        IntegerColumn("age", 0, 120),
        RealColumn("income", Fraction(0), Fraction(1000), Fraction(1)),
        CategoryColumn("region", REGIONS),
        CategoryColumn("kind", ("a", "b")),
        BooleanColumn("smoker"),
        TextColumn("city"),
    ),
    rows=120,
)


def rows(seed: int, number: int = 120) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.integers(0, 121, number),
            "income": rng.integers(0, 1001, number).astype(float),
            "region": rng.choice(REGIONS[:3], number),
            "kind": rng.choice(["a", "b"], number),
            "smoker": rng.choice([True, False], number),
            "city": rng.choice(["x", "y"], number),
        }
    )


def curator(data: pd.DataFrame, epsilon: int = 400, **more: Any) -> Curator:
    budget = Guarantee(Fraction(epsilon), Fraction(1, 10**6))
    return open_kept(Study(PEOPLE, PrivacyUnit("replace-one"), budget, **more), data=data)


UNIONS = [
    "SELECT region, COUNT(*) AS n FROM people GROUP BY region UNION ALL SELECT 'all', COUNT(*) FROM people",
    "SELECT NULL AS region, SUM(age) AS s FROM people UNION ALL "
    "SELECT region, SUM(age) FROM people WHERE smoker GROUP BY region",
    "SELECT 'age' AS what, SUM(age) AS s, COUNT(*) AS n FROM people UNION ALL "
    "SELECT 'income', SUM(income), COUNT(income) FROM people UNION ALL SELECT kind, SUM(age), COUNT(*) FROM people GROUP BY kind",
    "(SELECT COUNT(*) AS n, smoker FROM people GROUP BY smoker) UNION ALL (SELECT SUM(age), TRUE FROM people)",
    "SELECT kind, 1 AS part, COUNT(*) AS n FROM people GROUP BY 1 UNION ALL "
    "SELECT region, -2, COUNT(*) FROM people GROUP BY 1",
    "SELECT kind AS k, SUM(income) AS v FROM people GROUP BY ROLLUP(kind) UNION ALL SELECT 'none', COUNT(*) FROM people",
]
UNIONS += [
    "SELECT COUNT(*) AS n FROM people WHERE FALSE UNION ALL SELECT SUM(age) FROM people",
    "SELECT kind, COUNT(*) AS n FROM people WHERE FALSE GROUP BY 1 UNION ALL SELECT kind, SUM(age) FROM people GROUP BY 1",
    "WITH both_kinds AS (SELECT 'a' AS k, COUNT(*) AS n FROM people WHERE smoker UNION ALL "
    "SELECT 'b', COUNT(*) FROM people WHERE NOT smoker) SELECT * FROM both_kinds ORDER BY n DESC, k LIMIT 1",
    "SELECT kind, SUM(age) / 2 AS half, CASE WHEN COUNT(*) > 0 THEN 'some' ELSE 'none' END AS has FROM people GROUP BY 1 "
    "UNION ALL SELECT 'all', SUM(age) - 1, 'sum' FROM people",
]
SETS = [
    "SELECT kind, SUM(age) / 2 AS half, COUNT(*) AS n FROM people GROUP BY ROLLUP(kind)",
    "SELECT kind, region, SUM(age) - COUNT(*) AS d FROM people GROUP BY CUBE(kind, region) HAVING AVG(age) > 30",
    "SELECT region, kind, COUNT(*) AS n, SUM(age) AS s FROM people GROUP BY ROLLUP(region, kind)",
    "SELECT region, kind, smoker, COUNT(*) AS n FROM people GROUP BY CUBE(region, kind, smoker)",
    "SELECT kind, region, COUNT(*) AS n FROM people GROUP BY GROUPING SETS ((region, kind), (kind), ())",
    "SELECT region, kind, COUNT(*) AS n FROM people GROUP BY region, ROLLUP(kind)",
    "SELECT region, kind, COUNT(*) AS n FROM people GROUP BY GROUPING SETS (region, kind)",
    "SELECT region, kind, GROUPING(region) AS g, GROUPING(region, kind) AS gg, SUM(age) AS s FROM people "
    "GROUP BY CUBE(1, 2)",
    "SELECT region AS r, smoker, COUNT(*) AS n FROM people WHERE age > 30 GROUP BY ROLLUP((r, smoker), kind)",
    "SELECT region, kind, COUNT(*) AS n FROM people GROUP BY ROLLUP(region, kind) HAVING region = 'north'",
    "SELECT region, kind, COUNT(*) AS n FROM people GROUP BY ROLLUP(region, kind) HAVING COUNT(*) > 15 AND NOT region = 'north'",
    "SELECT region, kind, COUNT(*) AS n FROM people GROUP BY ROLLUP(region, kind) HAVING kind = 'a' OR COUNT(*) > 40",
    "SELECT FLOOR(age / 40) AS decade, COUNT(*) AS n FROM people GROUP BY ROLLUP(FLOOR(age / 40))",
]


def brute(sql: str, people: pd.DataFrame) -> list[tuple[Any, ...]]:
    """What a database that knows nothing of this project answers."""
    with plain_database() as plain:
        plain.register("people", people)
        return [tuple(map(_plain, row)) for row in plain.execute(sql).fetchall()]


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, str | bool):
        return value
    return float(value)


@pytest.fixture
def no_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adyton.kernel.mechanisms.gaussian.with_noise", lambda exact, *_: list(exact))


def answered(sql: str, people: pd.DataFrame) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    """The rows of an answer in the order of the SELECT list, and the values alone."""
    asked = asked_of(sql, PEOPLE)
    assert isinstance(asked, Combined)
    with curator(people) as asker:
        records = asker.ask(sql, epsilon=100, strategy="independent").records()
    found = [tuple(_plain(record[name]) for name in asked.listed) for record in records]
    return found, [tuple(record[name] for name in asked.values) for record in records]


@pytest.mark.usefixtures("no_noise")
@pytest.mark.parametrize("seed", range(often(1, 3)))
@pytest.mark.parametrize("sql", [*UNIONS, *SETS])
def test_law_a_table_of_several_queries_has_the_rows_of_a_plain_database(sql: str, seed: int) -> None:
    """Declared groups that no row is in are there as well, with nothing in them."""
    people = rows(seed)
    wanted = brute(sql, people)
    found, values = answered(sql, people)
    for row in wanted:
        assert found.count(row) == wanted.count(row), row
    for row, own in zip(found, values, strict=True):
        assert row in wanted or not any(own), row


ORDERED = [
    "SELECT region, COUNT(*) AS n, SUM(age) - 60 * COUNT(*) AS d FROM people WHERE region <> 'west' GROUP BY ROLLUP(region) "
    "ORDER BY d",
    "SELECT kind, SUM(age) / 2 AS half FROM people GROUP BY ROLLUP(kind) ORDER BY SUM(age) / 2 DESC",
    "SELECT kind AS k, SUM(age) - 1 AS less, COUNT(*) AS n FROM people GROUP BY ROLLUP(kind) ORDER BY k DESC NULLS LAST, n LIMIT 2",
    "SELECT region AS r, COUNT(*) AS n FROM people GROUP BY 1 UNION ALL SELECT kind, COUNT(*) FROM people GROUP BY 1 "
    "ORDER BY n DESC, r LIMIT 4 OFFSET 1",
    "SELECT region, kind, COUNT(*) AS n FROM people WHERE region <> 'west' GROUP BY ROLLUP(region, kind) "
    "ORDER BY GROUPING(region), GROUPING(kind) DESC, 3 DESC, region NULLS LAST, kind NULLS LAST LIMIT 6",
    "SELECT region, kind, COUNT(*) AS n FROM people WHERE region <> 'west' GROUP BY CUBE(region, kind) "
    "ORDER BY kind DESC NULLS LAST, region NULLS LAST OFFSET 2",
]


@pytest.mark.usefixtures("no_noise")
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("sql", ORDERED)
def test_law_order_and_limit_behind_are_of_the_whole_table(sql: str, seed: int) -> None:
    """Mutant: ORDER BY is applied to each part."""
    people = rows(seed)
    assert answered(sql, people)[0] == brute(sql, people)


def test_it_is_the_batch_of_its_queries_and_costs_the_same() -> None:
    """So each repeats the other free of charge."""
    by_hand = [
        "SELECT region, kind, COUNT(*) AS n FROM people GROUP BY region, kind",
        "SELECT region, COUNT(*) AS n FROM people GROUP BY region",
        "SELECT COUNT(*) AS n FROM people",
    ]
    with curator(rows(0), 10) as asker:
        first = asker.ask_many(by_hand, epsilon=1)
        rolled = "SELECT region, kind, COUNT(*) AS n FROM people GROUP BY ROLLUP(region, kind)"
        preview = asker.preview(rolled, epsilon=1)
        assert preview.repeated
        assert "3 queries in one batch" in str(preview)
        again = asker.ask(rolled, epsilon=1)
        joined = asker.ask(
            "SELECT region, kind, COUNT(*) AS n FROM people GROUP BY region, kind UNION ALL "
            "SELECT region, NULL, COUNT(*) AS n FROM people GROUP BY region UNION ALL "
            "SELECT NULL, NULL, COUNT(*) AS n FROM people",
            epsilon=1,
        )
        assert again.repeated
        assert joined.repeated
        assert again.receipt.number == joined.receipt.number == first[0].receipt.number
        assert again.records() == joined.records()
        assert [row.values["n"] for row in again] == [row.values["n"] for answer in first for row in answer]
        assert asker.budget().queries == 1
    for words in ({"epsilon": 1}, {"within": 30}, {"share": "0.1"}):
        with curator(rows(0), 10) as asker:
            cost = asker.preview(rolled, **words).cost  # type: ignore[arg-type]
            assert cost == asker.preview_many(by_hand, **words)[0].cost  # type: ignore[arg-type]
            assert cost == asker.ask(rolled, **words).cost  # type: ignore[arg-type]


def test_a_batch_may_hold_unions_and_free_queries() -> None:
    with curator(rows(0), 10) as asker:
        asked = [
            UNIONS[0],
            "SELECT COUNT(*) FROM people",
            SETS[2],
            "SELECT 1",
            "SELECT DISTINCT kind FROM people",
        ]
        answers = asker.ask_many(asked, epsilon=1)
        assert [len(answer) for answer in answers] == [5, 1, 13, 1, 2]
        assert [answer.receipt.number for answer in answers] == [1, 1, 1, 0, 0]
        assert {answer.batch_size for answer in answers[:3]} == {6}
        previews = asker.preview_many(asked, epsilon=1)
        assert [len(preview.keys or ()) for preview in previews] == [5, 1, 13, 1, 2]


def test_a_key_that_a_part_lacks_is_none_everywhere() -> None:
    with curator(rows(0), 10) as asker:
        answer = asker.ask("SELECT region, COUNT(*) AS n FROM people GROUP BY ROLLUP(region)", epsilon=1)
    assert [row.keys["region"] for row in answer] == [*REGIONS, None]
    assert answer.records()[-1]["region"] is None
    assert answer.to_csv().splitlines()[-1].startswith(",")
    assert answer.to_json()["answer"][-1]["keys"] == {"region": None}
    assert answer.to_pandas()["region"].isna().tolist() == [False] * 4 + [True]
    assert answer.to_polars()["region"].is_null().to_list() == [False] * 4 + [True]
    assert answer.to_arrow()["region"].null_count == 1
    assert "None" not in str(answer)
    json.dumps(answer.to_json(), allow_nan=False)


def test_what_says_nothing_is_a_dash_by_the_bounds_of_its_own_part() -> None:
    """Mutant: the bounds of the first part are taken for all."""
    asked = (
        "SELECT 'age' AS what, AVG(age) AS m FROM people UNION ALL "
        "SELECT 'income', AVG(income) FROM people UNION ALL SELECT 'none', AVG(age) FROM people WHERE age > 119"
    )
    study = Study(PEOPLE, PrivacyUnit("replace-one"), Guarantee(Fraction(100), Fraction(1, 10**6)))
    with seeded(study, rows(0), 1) as asker:
        answer = asker.ask(asked, epsilon=4)
        told = [record["m"] for record in answer.records()]
        assert [value is None for value in told] == [False, False, True]
        values = [row["values"]["m"] for row in answer.to_json()["answer"]]
        assert values[2]["value"] is None
        assert "says nothing" in values[2]["uninformative"]
        assert "uninformative" not in values[0]
        assert [line.count(" - ") for line in str(answer).splitlines() if "none" in line] == [1]


def test_each_row_has_the_population_interval_of_its_own_part() -> None:
    """A least value has none, a mean has one; mutant: the first part's reason is given for all."""
    asked = "SELECT 'mean' AS what, AVG(age) AS v FROM people UNION ALL SELECT 'least', MIN(age) FROM people"
    with curator(rows(0), 100, validity=Validity(Fraction(19, 20))) as asker:
        answer = asker.ask(asked, epsilon=20)
        alone = asker.ask_many(
            ["SELECT AVG(age) AS v FROM people", "SELECT MIN(age) FROM people"], epsilon=20
        )
    mean, least = (row.values["v"] for row in answer)
    assert isinstance(mean.population_interval, Interval)
    assert not isinstance(least.population_interval, Interval)
    assert math.isnan(answer.to_pandas()["v_population_low"][1])
    assert "absent" in answer.to_json()["answer"][1]["values"]["v"]["population_interval"]
    assert "level" in answer.to_json()["answer"][0]["values"]["v"]["population_interval"]
    assert least.noise_interval.level == alone[1].noise_interval.level
    json.dumps(answer.to_json(), allow_nan=False)


def test_a_preview_has_the_widths_of_each_part() -> None:
    asked = "SELECT region, AVG(age) AS m FROM people GROUP BY ROLLUP(region)"
    with curator(rows(0), 100) as asker:
        preview = asker.preview(asked, epsilon=1, expected_rows=100)
        told = [row["values"]["m"]["noise_interval"]["half_width"] for row in preview.to_json()["answer"]]
        assert len(told) == 5
        assert preview.bounds["m"].half_width == max(told)
        assert preview.to_json()["batch_size"] == 2


def test_the_head_names_the_price_of_all() -> None:
    asked = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 1) COUNT(*) FROM people UNION ALL SELECT SUM(age) FROM people"
    with curator(rows(0), 10) as asker:
        assert (
            asker.preview(asked).cost
            == asker.preview(
                asked.replace("WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 1)", ""), epsilon=1
            ).cost
        )
        for words in ({"epsilon": 1}, {"share": "0.1"}):
            with pytest.raises(InvalidRequest, match="named twice"):
                asker.ask(asked, **words)  # type: ignore[arg-type]
        with pytest.raises(InvalidRequest, match="named twice"):
            asker.ask_many([asked, "SELECT COUNT(*) FROM people"])
        assert asker.budget().queries == 0


REFUSED = {
    "SELECT COUNT(*) FROM people UNION SELECT COUNT(*) FROM people": "ALL follows UNION",
    "SELECT COUNT(*) FROM people UNION ALL SELECT COUNT(*), SUM(age) FROM people": "lists 1 columns, and this one 2",
    "SELECT region, COUNT(*) FROM people GROUP BY 1 UNION ALL SELECT COUNT(*), region FROM people GROUP BY 2": "column 1 is a string",
    "SELECT region, COUNT(*) FROM people GROUP BY 1 UNION ALL SELECT 3, COUNT(*) FROM people": "a number here",
    "SELECT region, COUNT(*) FROM people GROUP BY 1 UNION ALL SELECT 'x', NULL FROM people": "UNION ALL joins",
    "SELECT region, COUNT(*), SUM(age) FROM people GROUP BY 1 UNION ALL SELECT 'x', NULL, COUNT(*) FROM people": "column 2",
    "SELECT COUNT(*) FROM people UNION ALL SELECT age FROM people": "neither grouped nor aggregated",
    "SELECT COUNT(*) FROM people UNION ALL SELECT 1": "FROM a table",
    "SELECT COUNT(*) FROM people UNION ALL SELECT SUM(age) FROM people ORDER BY age": "column of the first SELECT",
    "SELECT COUNT(*) FROM people UNION ALL SELECT SUM(age) FROM people ORDER BY 2": "column of the first SELECT",
    "SELECT COUNT(*) FROM people UNION ALL SELECT COUNT(*) FROM people GROUP BY city": "asked alone",
    "SELECT COUNT(*) AS n, 'a' AS n FROM people UNION ALL SELECT COUNT(*), 'b' FROM people": "one name",
    "SELECT 'a', COUNT(*) FROM people GROUP BY 1 UNION ALL SELECT 'b', COUNT(*) FROM people": "holds a literal",
    "SELECT region, COUNT(*) FROM people GROUP BY ROLLUP(region), GROUPING SETS ((), (region))": "twice",
    "SELECT GROUPING(kind), COUNT(*) FROM people GROUP BY ROLLUP(region)": "GROUPING names a group",
    "SELECT GROUPING(region), COUNT(*) FROM people GROUP BY region": "GROUPING",
    "SELECT kind, COUNT(*) FROM people GROUP BY ROLLUP(region)": "neither grouped nor aggregated",
    "SELECT COUNT(*) FROM people GROUP BY CUBE(region, kind, smoker, age, 1, 1, 1)": "more than 100 sets",
    "SELECT COUNT(*) FROM people GROUP BY ROLLUP(city)": "asked alone",
    " UNION ALL ".join(["SELECT COUNT(*) FROM people"] * 101): "at most 100",
    " UNION ALL ".join(["SELECT COUNT(*) FROM people"] * 260): "at most 100",
}


@pytest.mark.parametrize("sql", REFUSED)
def test_what_makes_no_table_is_refused_free_of_charge(sql: str) -> None:
    with curator(rows(0), 10, discovery_delta=Fraction(1, 10**7)) as asker:
        with pytest.raises(InvalidRequest) as refused:
            asker.ask(sql, epsilon=1)
        assert REFUSED[sql] in str(refused.value)
        assert asker.budget().queries == 0


def test_a_file_of_queries_keeps_a_union_together() -> None:
    text = """SELECT COUNT(*) FROM people
UNION ALL
SELECT SUM(age) FROM people  -- both
UNION ALL (
  SELECT 'x;(' FROM people
)
SELECT 1
WITH x AS (
SELECT age FROM people)
SELECT COUNT(*) FROM x; SELECT 2"""
    assert [query.split()[0] + query.split()[-1] for query in split_queries(text)] == [
        "SELECT)",
        "SELECT1",
        "WITHx",
        "SELECT2",
    ]


def test_the_command_line_asks_previews_and_reads_files_of_unions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows(0)[["age", "region"]].to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "people.toml").write_text(
        '[table]\nname = "people"\nsource = "people.csv"\nrows = 120\n[privacy]\nunit = "row"\n'
        'adjacency = "replace-one"\nepsilon = 10\ndelta = 1e-9\n[columns.age]\nkind = "integer"\nlow = 0\nhigh = 120\n'
        '[columns.region]\nkind = "category"\nvalues = ["north", "south", "east", "west"]\n'
    )
    monkeypatch.chdir(tmp_path)
    asked = "SELECT region, COUNT(*) AS n FROM people GROUP BY ROLLUP(region)"

    def run(*words: str) -> Any:
        done = CliRunner().invoke(app, [words[0], "people.toml", *words[1:], "--epsilon", "1", "--json"])
        assert done.exit_code == 0, done.output
        return json.loads(done.stdout)

    assert run("preview", asked)["batch_size"] == 2
    answer = run("ask", asked)
    assert [row["keys"]["region"] for row in answer["answer"]] == [*REGIONS, None]
    assert run("ask", asked)["repeated"]
    (tmp_path / "asked.sql").write_text(
        f"{asked};\nSELECT 1 AS ok;\nSELECT COUNT(*) FROM people\nUNION ALL\nSELECT SUM(age) FROM people"
    )
    rolled, one, union = run("ask", "--file", "asked.sql")
    assert (len(rolled["answer"]), len(one["answer"]), len(union["answer"])) == (5, 1, 2)
    assert one["receipt"] is None
    assert union["batch_size"] == 4
    assert "people.toml" in str(list(tmp_path.iterdir()))
