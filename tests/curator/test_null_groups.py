"""Rows without a value: in no group, which every answer says, or the group NULL where the study declares it."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest

import adyton
from adyton.certify import Answer
from adyton.certify.values import key_text
from adyton.curator import Curator
from adyton.errors import CuratorError, InvalidRequest
from adyton.figures.answers import answer_figure
from adyton.kernel.privacy import Guarantee, PrivacyUnit
from adyton.kernel.schema import CategoryColumn, Table
from adyton.setup.amending import amend
from adyton.setup.checking import check_study
from adyton.study import Study, named_facts

NUMBER = 3_000
STUDY = """
[table]
name = "stops"
source = "stops.parquet"
rows = 3000
[privacy]
unit = "row"
adjacency = "replace-one"
epsilon = 500
delta = 1e-6
[columns.race]
kind = "category"
values = ["w", "b", "h"]
missing = true
[columns.age]
kind = "integer"
low = 0
high = 99
missing = true
[columns.speed]
kind = "real"
low = 0
high = 2
step = 0.5
missing = true
[columns.day]
kind = "date"
low = 2020-01-01
high = 2020-03-31
missing = true
[columns.armed]
kind = "boolean"
missing = true
[columns.sex]
kind = "category"
values = ["m", "f"]
[columns.local]
kind = "boolean"
[public.areas]
source = "areas.csv"
key = "race"
joins = "race"
"""
AREAS = "race,side,beds\nw,east,3\nb,,5\nh,west,\n"


def stops() -> pd.DataFrame:
    rng = np.random.default_rng(7)

    def some(values: list[Any]) -> list[Any]:
        return [None if rng.random() < 0.2 else values[int(rng.integers(len(values)))] for _ in range(NUMBER)]

    return pd.DataFrame(
        {
            "race": some(["w", "b", "h", "undeclared"]),
            "age": pd.array(some(list(range(100))), dtype="Int64"),
            "speed": pd.array(some([0.0, 0.5, 1.0, 1.5, 2.0]), dtype="Float64"),
            "day": pd.to_datetime(pd.Series(some(list(pd.date_range("2020-01-01", "2020-03-31").date)))),
            "armed": pd.array(some([True, False]), dtype="boolean"),
            "sex": some(["m", "f"]),
            "local": pd.array(some([True, False]), dtype="boolean"),
        }
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stops")
    stops().to_parquet(folder / "stops.parquet")
    (folder / "areas.csv").write_text(AREAS, encoding="utf-8")
    (folder / "stops.toml").write_text(STUDY, encoding="utf-8")
    (folder / "plain.toml").write_text(STUDY.replace("missing = true\n", ""), encoding="utf-8")
    return folder


@pytest.fixture
def curator(folder: Path) -> Iterator[Curator]:
    (folder / "stops.ledger").unlink(missing_ok=True)
    with adyton.open(folder / "stops.toml") as opened:
        yield opened


@pytest.fixture
def plain(folder: Path) -> Iterator[Curator]:
    """The same columns, of which none is declared to be missing."""
    (folder / "plain.ledger").unlink(missing_ok=True)
    with adyton.open(folder / "plain.toml") as opened:
        yield opened


@pytest.fixture(scope="module")
def database(folder: Path) -> duckdb.DuckDBPyConnection:
    known = duckdb.connect()
    declared = "CASE WHEN race IN ('w', 'b', 'h') THEN race END AS race, CAST(day AS DATE) AS day"
    known.execute(f"CREATE TABLE stops AS SELECT * REPLACE ({declared}) FROM '{folder}/stops.parquet'")
    known.execute(f"CREATE TABLE areas AS SELECT * FROM '{folder}/areas.csv'")
    return known


def keys(answer: Answer) -> list[Any]:
    return [tuple(row.keys.values()) for row in answer.rows]


# Against a database ----------------------------------------------------------------------------------------

ASKED = [
    "SELECT race, COUNT(*) FROM stops GROUP BY race",
    "SELECT race, SUM(age) FROM stops GROUP BY race",
    "SELECT age // 25 AS a, COUNT(*) FROM stops GROUP BY a",
    "SELECT speed, COUNT(*) FROM stops GROUP BY speed",
    "SELECT DATE_TRUNC('month', day) AS m, COUNT(*) FROM stops GROUP BY m",
    "SELECT EXTRACT(MONTH FROM day) AS m, COUNT(*) FROM stops GROUP BY m",
    "SELECT armed, COUNT(*) FROM stops GROUP BY armed",
    "SELECT armed, race, COUNT(*) FROM stops GROUP BY armed, race",
    "SELECT race, age > 50 AS old, COUNT(*) FROM stops GROUP BY race, old",
    "SELECT UPPER(race) AS u, COUNT(*) FROM stops GROUP BY u",
    "SELECT CASE WHEN age < 30 THEN 'y' WHEN age < 60 THEN 'o' END AS g, COUNT(*) FROM stops GROUP BY g",
    "SELECT COALESCE(race, 'none') AS g, COUNT(*) FROM stops GROUP BY g",
    "SELECT race IS NULL AS g, COUNT(*) FROM stops GROUP BY g",
    "SELECT race, COUNT(*) FROM stops WHERE race IS NOT NULL GROUP BY race",
    "SELECT race, COUNT(*) FROM stops WHERE race IS NULL GROUP BY race",
    "SELECT race, COUNT(*) FROM stops WHERE race <> 'w' GROUP BY race",
    "SELECT race, COUNT(*) FROM stops WHERE race = 'w' OR race IS NULL GROUP BY race",
    "SELECT age // 25 AS a, COUNT(*) FROM stops WHERE age >= 50 GROUP BY a",
    "SELECT race, COUNT(*) FILTER (WHERE age > 50) AS n FROM stops GROUP BY race",
    "SELECT race, COUNT(*) AS n FROM stops GROUP BY race HAVING race IS NULL",
    "SELECT race, COUNT(*) AS n FROM stops GROUP BY race HAVING race <> 'w'",
    "SELECT side, COUNT(*) FROM stops JOIN areas ON stops.race = areas.race GROUP BY side",
    "SELECT side, COUNT(*) FROM stops LEFT JOIN areas ON stops.race = areas.race GROUP BY side",
    "SELECT beds, COUNT(*) FROM stops LEFT JOIN areas ON stops.race = areas.race GROUP BY beds",
    "SELECT areas.race, COUNT(*) FROM stops LEFT JOIN areas ON stops.race = areas.race GROUP BY areas.race",
    "SELECT race, GROUPING(race) AS g, COUNT(*) FROM stops GROUP BY ROLLUP(race)",
    "SELECT race, armed, GROUPING(race, armed) AS g, COUNT(*) FROM stops GROUP BY CUBE(race, armed)",
]


@pytest.mark.parametrize("sql", ASKED)
def test_law_groups_are_those_of_a_database(
    sql: str, curator: Curator, database: duckdb.DuckDBPyConnection
) -> None:
    """Every group of the database, with about its value; what else is shown is about empty."""
    answer = curator.ask(sql, epsilon=20)
    found = dict(zip(keys(answer), answer.rows, strict=True))
    listed = [tuple(_key(one) for one in row) for row in database.execute(sql).fetchall()]
    wanted = {row[:-1]: row[-1] for row in listed}
    assert len(found) == len(answer)
    assert wanted.keys() <= found.keys()
    for key, row in found.items():
        (value,) = row.values.values()
        width = value.noise_interval.high - value.noise_interval.low
        assert abs(value.value - float(wanted.get(key, 0))) <= 4 * width + 4


def _key(value: Any) -> Any:
    return value.isoformat()[:10] if hasattr(value, "isoformat") else value


def test_a_mean_and_a_median_of_the_group_of_null(
    curator: Curator, database: duckdb.DuckDBPyConnection
) -> None:
    for asked in ("AVG(age)", "MEDIAN(age)"):
        sql = f"SELECT race, {asked} FROM stops GROUP BY race"
        wanted = dict(database.execute(sql).fetchall())
        answer = curator.ask(sql, epsilon=40)
        for (race,), row in zip(keys(answer), answer.rows, strict=True):
            (value,) = row.values.values()
            assert abs(value.value - wanted[race]) < 5
        assert (None,) in keys(answer)


def test_a_batch_that_is_measured_together_has_the_group_of_null(
    curator: Curator, database: duckdb.DuckDBPyConnection
) -> None:
    """And what is measured for each by itself."""
    texts = [
        "SELECT race, COUNT(*) AS n FROM stops GROUP BY race",
        "SELECT race, armed, COUNT(*) AS n FROM stops GROUP BY race, armed",
        "SELECT age // 25 AS a, COUNT(*) AS n FROM stops GROUP BY a",
    ]
    for strategy in (None, "independent"):
        for text, answer in zip(texts, curator.ask_many(texts, epsilon=20, strategy=strategy), strict=True):
            wanted = {tuple(row[:-1]): row[-1] for row in database.execute(text).fetchall()}
            found = {key: row.values["n"] for key, row in zip(keys(answer), answer.rows, strict=True)}
            assert found.keys() == wanted.keys()
            assert all(abs(found[key].value - wanted[key]) < 40 for key in wanted)


def test_which_groups_are_largest_may_be_that_of_null(curator: Curator) -> None:
    answer = curator.ask("SELECT race FROM stops GROUP BY race ORDER BY COUNT(*) DESC LIMIT 1", epsilon=20)
    assert keys(answer) == [(None,)]


def test_missing_values_are_not_among_those_found_and_never_most_common(curator: Curator) -> None:
    """As aggregates do everywhere: they pass over NULL."""
    assert curator.ask("SELECT COUNT(DISTINCT race) AS n FROM stops", epsilon=20).value == 3
    assert keys(curator.ask("SELECT MODE(race) AS m FROM stops", epsilon=20)) != [(None,)]
    assert curator.ask("SELECT COUNT(DISTINCT age > 50) AS n FROM stops", epsilon=20).value == 2


# What is computed from keys --------------------------------------------------------------------------------


def test_texts_and_conditions_speak_of_the_key_that_is_null(curator: Curator) -> None:
    def shown(sql: str) -> list[Any]:
        return keys(curator.ask(sql, epsilon=20))

    by = "FROM stops GROUP BY race"
    assert shown(f"SELECT COALESCE(race, 'none') AS r, COUNT(*) {by}")[-1] == (None, "none")
    assert shown(f"SELECT CASE WHEN race IS NULL THEN 'n' ELSE 'y' END AS r, COUNT(*) {by}")[-1] == (
        None,
        "n",
    )
    assert shown(f"SELECT UPPER(race) AS r, COUNT(*) {by}")[-1] == (None, None)
    decades = shown("SELECT COALESCE(age // 25, -1) AS a, COUNT(*) FROM stops GROUP BY age // 25")
    assert [key[1] for key in decades] == [0, 1, 2, 3, -1]
    assert shown("SELECT age // 25 + 1 AS a, COUNT(*) FROM stops GROUP BY age // 25")[-1] == (None, None)
    for falling in ("", " DESC"):
        assert shown(f"SELECT race, COUNT(*) {by} ORDER BY race{falling}")[-1] == (None,)
    cumulated = curator.ask(f"SELECT race, SUM(COUNT(*)) OVER (ORDER BY race) AS c {by}", epsilon=20)
    assert abs(cumulated["c"].value[-1] - NUMBER) < 20


def test_a_total_is_told_from_the_group_of_null(curator: Curator) -> None:
    """GROUPING is about sets alone; COALESCE and IS NULL about every key that is NULL, as in SQL."""
    said = "CASE WHEN GROUPING(race) = 1 THEN 'all' ELSE race END"
    by_set = curator.ask(f"SELECT {said} AS r, COUNT(*) AS n FROM stops GROUP BY ROLLUP(race)", epsilon=20)
    assert [key[-1] for key in keys(by_set)] == ["w", "b", "h", None, "all"]
    by_null = curator.ask(
        "SELECT COALESCE(race, 'all') AS r, COUNT(*) AS n FROM stops GROUP BY ROLLUP(race)", epsilon=20
    )
    assert [key[-1] for key in keys(by_null)] == ["w", "b", "h", "all", "all"]
    total = "SELECT race, COUNT(*) AS n FROM stops GROUP BY ROLLUP(race) HAVING GROUPING(race) = 1"
    assert len(curator.ask(total, epsilon=20)) == 1


def test_what_asks_for_a_missing_key_is_refused_where_there_is_none(plain: Curator) -> None:
    for said in ("COALESCE(race, 'none')", "CASE WHEN race IS NULL THEN 'n' ELSE 'y' END"):
        with pytest.raises(InvalidRequest, match="neither grouped nor aggregated"):
            plain.preview(f"SELECT {said} AS r, COUNT(*) FROM stops GROUP BY race", epsilon=1)


# The remark ------------------------------------------------------------------------------------------------

IN_NONE = "Rows whose {} are in no group."
REMARKS = {
    "SELECT race, COUNT(*) FROM stops GROUP BY race": "race is missing or not declared",
    "SELECT local, COUNT(*) FROM stops GROUP BY local": "local is missing",
    "SELECT sex, local, COUNT(*) FROM stops GROUP BY sex, local": "sex or local is missing or not declared",
    "SELECT age // 10 AS decade, COUNT(*) FROM stops GROUP BY decade": "decade is missing",
    "SELECT age > 50 AS old, local, COUNT(*) FROM stops GROUP BY 1, 2": "old or local is missing",
    "SELECT race AS r, COUNT(*) FROM stops GROUP BY race": "r is missing or not declared",
    "SELECT race, COUNT(*) FROM stops WHERE age > 5 GROUP BY race": "race is missing or not declared",
    "SELECT race, COUNT(*) FROM stops WHERE race <> 'w' GROUP BY race": None,
    "SELECT race, COUNT(*) FROM stops WHERE race IS NOT NULL GROUP BY race": "race is missing or not declared",
    "SELECT race, sex, COUNT(*) FROM stops WHERE race = 'w' GROUP BY race, sex": (
        "sex is missing or not declared"
    ),
    "SELECT age // 10 AS decade, COUNT(*) FROM stops WHERE age > 50 GROUP BY decade": None,
    "SELECT race IS NULL AS g, COUNT(*) FROM stops GROUP BY g": None,
    "SELECT COALESCE(race, 'none') AS g, COUNT(*) FROM stops GROUP BY g": None,
    "SELECT CASE WHEN age > 50 THEN 1 ELSE 0 END AS g, COUNT(*) FROM stops GROUP BY g": None,
    "SELECT CASE WHEN age > 50 THEN 1 END AS g, COUNT(*) FROM stops GROUP BY g": "g is missing",
    "SELECT COUNT(*) FROM stops": None,
    "SELECT COUNT(DISTINCT race) AS n FROM stops": None,
    "SELECT side, COUNT(*) FROM stops LEFT JOIN areas USING (race) GROUP BY side": (
        "side is missing or not declared"
    ),
    "SELECT race FROM stops GROUP BY race ORDER BY COUNT(*) DESC LIMIT 1": "race is missing or not declared",
}


@pytest.mark.parametrize(("sql", "said"), REMARKS.items())
def test_every_answer_and_preview_says_which_rows_are_in_no_group(
    sql: str, said: str | None, plain: Curator
) -> None:
    """Only where there can be such rows; once, and again when the answer is repeated."""
    wanted = [] if said is None else [IN_NONE.format(said)]
    previewed, answer, repeated = (
        plain.preview(sql, epsilon=5),
        plain.ask(sql, epsilon=5),
        plain.ask(sql, epsilon=5),
    )
    for told in (previewed, answer, repeated):
        assert [one for one in told.remarks if "in no group" in one] == wanted
        assert all(one in " ".join(str(told).split()) for one in wanted)
        assert [one for one in told.to_json().get("remarks", ()) if "in no group" in one] == wanted
    assert Answer.from_json(answer.to_json()).remarks == answer.remarks


def test_a_group_of_null_needs_no_remark(curator: Curator) -> None:
    """And columns that are not declared so still do."""
    assert curator.preview("SELECT race, COUNT(*) FROM stops GROUP BY race", epsilon=1).remarks == ()
    both = curator.preview("SELECT race, sex, COUNT(*) FROM stops GROUP BY race, sex", epsilon=1)
    assert both.remarks == (IN_NONE.format("sex is missing or not declared"),)
    sets = curator.preview("SELECT race, sex, COUNT(*) FROM stops GROUP BY ROLLUP(race, sex)", epsilon=1)
    assert sets.remarks == (IN_NONE.format("sex is missing or not declared"),)


def test_numbers_of_persons_have_the_group_of_null_and_the_remark(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    people = [f"{who},{'' if who % 3 == 0 else int(rng.integers(5))}\n" for who in range(300)]
    (tmp_path / "visits.csv").write_text("who,cost\n" + "".join(people), encoding="utf-8")
    study = """
[table]
name = "visits"
source = "visits.csv"
[privacy]
unit = "person"
person = "who"
rows_per_person = 3
adjacency = "add-remove"
epsilon = 100
delta = 1e-9
[columns.cost]
kind = "integer"
low = 0
high = 4
"""
    inside = "(SELECT who, MAX(cost) AS most, COUNT(*) AS visits FROM visits GROUP BY who)"
    for name, more in (("one", ""), ("two", "missing = true\n")):
        (tmp_path / f"{name}.toml").write_text(study + more, encoding="utf-8")
        with adyton.open(tmp_path / f"{name}.toml") as opened:
            most = opened.ask(f"SELECT most, COUNT(*) AS n FROM {inside} GROUP BY most", epsilon=20)
            visits = opened.ask(f"SELECT visits, COUNT(*) AS n FROM {inside} GROUP BY visits", epsilon=20)
        assert visits.remarks == ()
        assert (None,) not in keys(visits)
        if more:
            assert most.remarks == ()
            assert keys(most)[-1] == (None,)
            assert abs(most.rows[-1].values["n"].value - 100) < 10
        else:
            assert most.remarks == (IN_NONE.format("most is missing"),)


# What is shown ---------------------------------------------------------------------------------------------


def test_null_is_told_from_every_text(curator: Curator) -> None:
    answer = curator.ask("SELECT race, COUNT(*) AS n FROM stops GROUP BY race", epsilon=20)
    assert keys(answer)[-1] == (None,)
    assert answer.to_json()["answer"][-1]["keys"] == {"race": None}
    assert keys(Answer.from_json(answer.to_json())) == keys(answer)
    assert "│ NULL │" in str(answer)
    assert answer.to_csv().splitlines()[-1].startswith(",")
    assert answer.to_pandas()["race"].isna().tolist() == [False, False, False, True]
    assert answer.to_arrow().column("race").to_pylist()[-1] is None
    assert answer.to_polars()["race"].to_list()[-1] is None
    assert answer_figure(answer.to_json()).rows[-1][0] == "NULL"
    assert (key_text("NULL"), key_text(None)) == ("'NULL'", "NULL")


def test_whole_numbers_beside_null_stay_whole(curator: Curator) -> None:
    answer = curator.ask("SELECT age // 50 AS a, COUNT(*) AS n FROM stops GROUP BY a", epsilon=20)
    assert answer.to_pandas()["a"].dtype == "Int64"
    assert answer.to_csv().splitlines()[1].startswith("0,")
    figure = answer_figure(answer.to_json())
    assert [row[0] for row in figure.rows] == ["0", "1", "NULL"]


def test_an_empty_text_in_csv_is_not_null(tmp_path: Path) -> None:
    data = pd.DataFrame({"word": ["", 'a"b', "NULL", None] * 100})
    column = CategoryColumn("word", ("", 'a"b', "NULL"), missing=True)
    table = Table("words", (column,), 400)
    study = Study(table, PrivacyUnit("replace-one"), Guarantee(Fraction(100), Fraction(1, 10**6)))
    with adyton.open(study, data=data) as opened:
        answer = opened.ask("SELECT word, COUNT(*) AS n FROM words GROUP BY word", epsilon=10)
    lines = answer.to_csv().splitlines()[1:]
    assert [line.split(",")[0] for line in lines] == ['""', '"a""b"', "NULL", ""]
    read = list(csv.reader(io.StringIO(answer.to_csv())))
    assert [row[0] for row in read[1:]] == ["", 'a"b', "NULL", ""]
    assert all(len(row) == len(read[0]) for row in read)
    assert all(math.isfinite(float(row[1])) for row in read[1:])


def test_made_up_rows_have_the_group_of_null(folder: Path) -> None:
    with adyton.open(folder / "stops.toml") as opened:
        asked = "SELECT race, COUNT(*) FROM stops GROUP BY race"
        assert keys(opened.mock().ask(asked, epsilon=1))[-1] == (None,)


def test_declared_values_have_null_among_them(curator: Curator, plain: Curator) -> None:
    """SELECT DISTINCT lists the groups, free of charge."""
    asked = "SELECT DISTINCT race FROM stops"
    assert keys(curator.ask(asked)) == [("w",), ("b",), ("h",), (None,)]
    assert keys(plain.ask(asked)) == [("w",), ("b",), ("h",)]


# The study file --------------------------------------------------------------------------------------------


def test_the_declaration_is_a_fact_of_the_study(folder: Path) -> None:
    study, plain = adyton.read_study(folder / "stops.toml"), adyton.read_study(folder / "plain.toml")
    assert study.fingerprint != plain.fingerprint
    facts = named_facts(study)
    assert {name for name, said in facts.items() if name.endswith(".missing") and said == "true"} == {
        f"columns.{name}.missing" for name in ("race", "age", "speed", "day", "armed")
    }
    assert not any("missing" in name for name in named_facts(plain))
    assert "w, b, h; or missing" in str(study)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("missing = true", 'missing = "yes"', "columns.race.missing must be true or false, not 'yes'"),
        ("missing = true", "missing = 1", "columns.race.missing must be true or false, not 1"),
        (
            'kind = "category"\nvalues = ["w", "b", "h"]',
            'kind = "text"',
            "the values of a text column are discovered",
        ),
    ],
)
def test_what_cannot_be_declared_is_refused(folder: Path, old: str, new: str, said: str) -> None:
    path = folder / "wrong.toml"
    path.write_text(STUDY.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(InvalidRequest, match=said):
        adyton.read_study(path)


def test_a_declaration_that_comes_later_is_an_amendment(tmp_path: Path, folder: Path) -> None:
    for name in ("stops.parquet", "areas.csv"):
        (tmp_path / name).symlink_to(folder / name)
    asked = "SELECT race, COUNT(*) AS n FROM stops GROUP BY race"
    (tmp_path / "old.toml").write_text(STUDY.replace("missing = true\n", ""), encoding="utf-8")
    with adyton.open(tmp_path / "old.toml") as opened:
        assert len(opened.ask(asked, epsilon=1)) == 3
    later = STUDY.replace("missing = true\n", "").replace('"h"]', '"h"]\nmissing = true')
    (tmp_path / "old.toml").rename(tmp_path / "kept.toml")
    (tmp_path / "old.toml").write_text(later, encoding="utf-8")
    with pytest.raises(CuratorError, match=r"columns\.race\.missing"):
        adyton.open(tmp_path / "old.toml")
    (tmp_path / "kept.toml").rename(tmp_path / "old.toml")
    (tmp_path / "new.toml").write_text(later, encoding="utf-8")
    changed = amend(
        adyton.read_study(tmp_path / "old.toml"), adyton.read_study(tmp_path / "new.toml")
    ).changed
    assert changed == {"columns.race.missing": ("nothing", "true")}
    with adyton.open(tmp_path / "new.toml") as opened:
        answer = opened.ask(asked, epsilon=1)
        assert (len(answer), answer.repeated) == (4, False)


def test_the_check_suggests_the_declaration_to_the_owner(folder: Path) -> None:
    """From one row in twenty on; it is a suggestion, and no finding."""
    data = stops()
    data["sex"] = np.where(np.arange(NUMBER) < NUMBER // 20 - 1, None, "m")
    found = check_study(folder / "plain.toml", data=data)
    race, missing = _of(found, "race"), int(data["race"].isna().sum())
    assert race.rows == missing
    assert f"({100 * missing / NUMBER:.1f} %)" in race.text
    assert "[columns.race] says missing = true" in race.text
    assert {one.column for one in found.suggestions} == {"race", "age", "speed", "day", "armed", "local"}
    assert "Suggestion: stops.race: " in str(found)
    assert {one["kind"] for one in found.to_json()["suggestions"]} == {"missing"}
    declared = check_study(folder / "stops.toml", data=data)
    assert {one.column for one in declared.suggestions} == {"local"}
    assert found.findings == declared.findings


def _of(found: Any, name: str) -> Any:
    return next(one for one in found.suggestions if one.column == name)
