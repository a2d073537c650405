"""MODE, the most common values and COUNT(DISTINCT): made of the counts of all values, and said to be."""

from __future__ import annotations

import re
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest
from sqlglot import exp

from adyton.curator.curator import Curator
from adyton.errors import InvalidRequest
from adyton.kernel.privacy import Guarantee, PrivacyUnit
from adyton.kernel.schema import Table, TextColumn
from adyton.query.request import Free, asked_of, request_of
from adyton.query.sql.expressions import SqlText
from adyton.query.sql.read import known_words
from adyton.query.sql.rewrite import rewritten
from adyton.query.sql.words import query_tree
from adyton.query.text import query_text
from adyton.study import Study
from support import strategies
from support.curators import seeded

PEOPLE = strategies.PEOPLE


def written_out(sql: str) -> str:
    """What the text becomes, in DuckDB's words: a row of no group counts for nothing."""
    tree = rewritten(SqlText(sql, PEOPLE), query_tree(sql, known_words(PEOPLE))[1], (PEOPLE,))
    for window in list(tree.find_all(exp.Window)):
        if str(window.this.this) == "OCCURRING":
            count, value = (part.sql("duckdb") for part in window.this.expressions)
            total = f"CASE WHEN {count} >= 1 AND {value} IS NOT NULL THEN 1 ELSE 0 END"
            window.set("this", exp.Anonymous(this="SUM", expressions=[exp.maybe_parse(total)]))
    for term in tree.find_all(exp.Ordered):
        term.set("nulls_first", False)  # what is missing comes last, also in these databases
    return str(tree.sql(dialect="duckdb"))


@pytest.fixture(scope="module")
def databases() -> list[Any]:
    made = []
    for seed in range(6):
        rng, database = np.random.default_rng(seed), duckdb.connect()
        frame = pd.DataFrame(
            {
                "age": rng.integers(20, 24, 40),
                "region": rng.choice(["north", "south", "east", None], 40),
                "smoker": rng.choice([True, False, None], 40),
            }
        )
        database.execute("SET default_null_order = 'nulls_last'")
        database.register("frame", frame)
        database.execute("CREATE TABLE people AS SELECT age, region, smoker::BOOLEAN AS smoker FROM frame")
        made.append(database)
    return made


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(DISTINCT region) FROM people",
        "SELECT COUNT(DISTINCT age) FILTER (WHERE smoker) AS n FROM people",
        "SELECT smoker, COUNT(DISTINCT region) AS n FROM people WHERE age > 21 GROUP BY smoker",
        "SELECT COUNT(DISTINCT region), smoker, age FROM people GROUP BY 2, age ORDER BY age, smoker",
        "SELECT age, COUNT(DISTINCT region) FROM people GROUP BY age ORDER BY COUNT(DISTINCT region) DESC, age LIMIT 3",
    ],
)
def test_how_many_values_occur_is_what_a_database_says(databases: list[Any], sql: str) -> None:
    for database in databases:
        one, two = (database.execute(text).fetchall() for text in (sql, written_out(sql)))
        assert (one if "ORDER" in sql else sorted(one, key=repr)) == (
            two if "ORDER" in sql else sorted(two, key=repr)
        )


@pytest.mark.parametrize("by", ["", "smoker, ", "smoker, age, "])
@pytest.mark.parametrize("number", [1, 2])
def test_the_most_common_values_have_the_largest_counts(databases: list[Any], by: str, number: int) -> None:
    group = f" GROUP BY {by[:-2]}" if by else ""
    present = "WHERE region IS NOT NULL"
    call = "MODE(region)" if number == 1 else "APPROX_TOP_COUNT(region, 2)"
    told = written_out(f"SELECT {by}{call} AS m FROM people {present}{group}")
    counts = f"SELECT {by}region, COUNT(*) AS n FROM people {present} GROUP BY {by}region"
    for database in databases:
        every = database.execute(counts).fetchall()
        for *keys, value, count, rank in database.execute(told).fetchall():
            same = {row[-2]: row[-1] for row in every if list(row[:-2]) == keys}
            assert same[value] == count
            above = sum(other > count for other in same.values())
            assert above < number
            assert rank == above + 1


@pytest.mark.parametrize(
    ("sql", "query"),
    [
        (
            "SELECT MODE(region) FROM people WHERE smoker",
            "region, COUNT(*) AS count FROM people WHERE smoker",
        ),
        ("SELECT NDV(region) FROM people WHERE smoker", "region, COUNT(*) AS count FROM people WHERE smoker"),
        ("SELECT TOPK(age, 5) FROM people", "age, COUNT(*) AS count FROM people"),
    ],
)
def test_the_query_is_the_one_that_is_written_by_hand(sql: str, query: str) -> None:
    key = query.split(",")[0]
    assert query_text(request_of(sql, PEOPLE).query) == f"SELECT {query} GROUP BY {key}"


def test_without_rows_its_columns_are_told() -> None:
    free = asked_of("SELECT smoker, COUNT(DISTINCT region) AS n FROM people GROUP BY smoker LIMIT 0", PEOPLE)
    assert isinstance(free, Free)
    assert ([name for name, _ in free.keys], free.values) == (["smoker"], ("n",))


def test_text_columns_are_refused_with_what_finds_their_values() -> None:
    table = Table("people", (TextColumn("city"),), person="pid")
    for call in ("MODE(city)", "COUNT(DISTINCT city)", "COUNT(DISTINCT UPPER(city))"):
        with pytest.raises(InvalidRequest, match="GROUP BY city"):
            request_of(f"SELECT {call} FROM people", table)


# What is said ------------------------------------------------------------------------------------------------


def curator_of(counts: dict[str, int], seed: int) -> Curator:
    regions = [name for name, number in counts.items() for _ in range(number)]
    frame = pd.DataFrame({column.name: [None] * len(regions) for column in PEOPLE.columns})
    frame["region"], frame["smoker"] = regions, [True] * len(regions)
    study = Study(PEOPLE, PrivacyUnit("add-remove"), Guarantee(100, "1e-9"))
    return seeded(study, frame, seed)


def test_an_answer_says_whether_another_value_may_be_the_most_common() -> None:
    with curator_of({"north": 4000, "south": 3980, "east": 10}, seed=3) as curator:
        close = curator.ask("SELECT MODE(region) AS m FROM people", within=50)
        assert close.rows[0].keys["m"] in ("north", "south")
        assert close["rank"].noise.high.tolist() == [2.0]
        assert "others may belong in the place of 1 of these 1." in close.remarks[0]
        two = curator.ask("SELECT APPROX_TOP_COUNT(region, 2) AS m FROM people", within=50)
        assert two.repeated
        assert {row.keys["m"] for row in two.rows} == {"north", "south"}
        assert "no other row belongs here" in two.remarks[0]
        preview = curator.preview("SELECT MODE(region) FROM people", within=50)
        assert preview.remarks[0].endswith("are simultaneous.")
        assert preview.remarks[0] in " ".join(str(preview).split())


def test_an_answer_says_from_which_count_on_values_are_counted() -> None:
    sql = "SELECT COUNT(DISTINCT region) AS n FROM people"
    with curator_of({"north": 4000, "south": 300, "east": 3}, seed=4) as curator:
        preview, answer = curator.preview(sql, within=50), curator.ask(sql, within=50)
        assert preview.remarks == answer.remarks
        assert len(preview.keys or ()) == len(answer.rows) == 1
        assert answer.rows.keys.columns == {}
        assert answer.rows_hidden == 0
        assert answer.hidden == ("count",)
        threshold = int(re.findall(r"above ([\d,]+)", answer.remarks[0])[0].replace(",", ""))
        assert 50 < threshold < 100  # at the price of one count it is 50; four must hold at once
        counts = curator.ask("SELECT region, COUNT(*) AS count FROM people GROUP BY region", within=50)
        assert counts.repeated
        assert answer.value == sum(counts["count"].value > threshold) == 2
        assert answer.noise_interval.high == sum(counts["count"].value + threshold >= 1)
        assert answer.to_json()["remarks"] == list(answer.remarks)


def test_each_group_has_its_own_number() -> None:
    sql = "SELECT smoker, COUNT(DISTINCT region) AS n FROM people GROUP BY smoker ORDER BY n DESC"
    with curator_of({"north": 4000, "south": 3000}, seed=5) as curator:
        preview, answer = curator.preview(sql, epsilon=1), curator.ask(sql, epsilon=1)
        assert [row.keys for row in answer.rows] == [{"smoker": True}, {"smoker": False}]
        assert answer["n"].value.tolist() == [2.0, 0.0]
        assert len(preview.keys or ()) == 2
        both = curator.ask(
            f"{sql.split(' ORDER')[0]} UNION ALL SELECT NULL, COUNT(DISTINCT region) FROM people", epsilon=1
        )
        assert [row.keys["smoker"] for row in both.rows] == [False, True, None]
        assert both["n"].value.tolist() == [0.0, 2.0, 2.0]
