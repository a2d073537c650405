"""Mocks, batches, suggested bounds and public metadata on the command line, bad input too."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

from adyton.kernel.exact import UNITS_PER_ONE
from adyton.study import read_study
from adyton.transports.cli.app import app
from adyton.transports.queries_file import split_queries
from support.worlds import study_text

STUDY = study_text(
    {
        "age": {"kind": "integer", "low": 0, "high": 1000},
        "region": {"kind": "category", "values": ["north", "south"]},
    },
    source="people.csv",
    rows=500,
    epsilon=50,
)
COUNT = "SELECT COUNT(*) FROM people"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("people.toml").write_text(STUDY)


@pytest.fixture
def data() -> None:
    lines = [f"{20 + i % 60},{'north' if i % 3 else 'south'}" for i in range(500)]
    Path("people.csv").write_text("\n".join(["age,region", *lines]))


def run(*words: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(app, list(words), input=stdin)


def of(result: Result) -> Any:
    assert result.exit_code == 0, result.output
    assert result.stdout.count("\n") == 1
    return json.loads(result.stdout)


def refused(result: Result) -> str:
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    return result.stderr


# Mocks ----------------------------------------------------------------------------------------------------


def test_a_mock_is_asked_where_there_is_no_data_and_nothing_is_charged() -> None:
    answer = of(run("ask", "people.toml", COUNT, "--scale", "1", "--mock", "--json"))
    assert answer["mock"] is True
    assert answer["query"] == "/* mock */ SELECT COUNT(*) AS count FROM people"
    assert answer["answer"][0]["values"]["count"]["value"] == pytest.approx(500, abs=8)
    shown = run("ask", "people.toml", COUNT, "--scale", "1", "--mock").stdout
    assert "made up" in shown
    assert of(run("budget", "people.toml", "--json"))["queries"] == 0
    assert [path.name for path in Path().iterdir()] == ["people.toml"]
    assert "people.csv" in refused(run("ask", "people.toml", COUNT, "--scale", "1"))


def test_a_mock_is_written() -> None:
    assert of(run("mock", "people.toml", "-o", "d.csv", "--rows", "3", "--json")) == {
        "mock": True,
        "files": ["d.csv"],
    }
    assert Path("d.csv").read_text().splitlines()[0] == "age,region"
    assert len(Path("d.csv").read_text().splitlines()) == 4
    assert "exists already" in refused(run("mock", "people.toml", "-o", "d.csv"))
    assert "made up" in run("mock", "people.toml", "-o", "d.csv", "--force").stdout
    assert len(Path("d.csv").read_text().splitlines()) == 501


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("-o", "d.txt"), "not to '.txt'"),
        (("-o", "d.csv", "--rows", "0"), "1 to 1000000"),
        (("-o", "d.csv", "--rows", "ten"), "whole number"),
        (("-o", "gone/d.csv"), "cannot be written"),
        (("-o", "gone/d.parquet"), "cannot be written"),
        (("-o", "people.csv", "--force"), "is the data of the study"),
    ],
)
def test_what_cannot_be_written_is_refused(words: tuple[str, ...], says: str) -> None:
    assert says in refused(run("mock", "people.toml", *words))
    assert [path.name for path in Path().iterdir()] == ["people.toml"]


# Batches ----------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("data")
def test_a_file_of_queries_is_one_charge() -> None:
    Path("q.sql").write_text(f"{COUNT};\nSELECT AVG(age) FROM people\n  WHERE region = 'north';\n")
    answers = of(run("ask", "people.toml", "--file", "q.sql", "--epsilon", "10", "--json"))
    assert [answer["batch_size"] for answer in answers] == [2, 2]
    assert answers[0]["receipt"] == answers[1]["receipt"]
    assert answers[1]["query"].startswith("SELECT AVG(age)")
    budget = of(run("budget", "people.toml", "--json"))
    assert budget["queries"] == 1
    spent = int(Fraction(budget["spent"]["amount"]) * UNITS_PER_ONE)
    assert read_study(Path("people.toml")).epsilon_of(spent) == pytest.approx(10)
    shown = run("ask", "people.toml", "--file", "q.sql", "--epsilon", "10").stdout
    assert shown.count("Asked before: free of charge") == 2


@pytest.mark.usefixtures("data")
def test_a_file_of_queries_is_previewed_free_of_charge() -> None:
    Path("q.sql").write_text(f"{COUNT};\nSELECT AVG(age) FROM people;")
    batch = ("people.toml", "--file", "q.sql", "--epsilon", "10")
    first, second = of(run("preview", *batch, "--json"))
    assert first["cost"] == second["cost"]
    assert "Nothing was read" in run("preview", *batch).stdout
    assert of(run("budget", "people.toml", "--json"))["queries"] == 0
    assert of(run("ask", *batch, "--json"))[0]["cost"] == first["cost"]
    Path("q.sql").write_text(f"{COUNT}; SELECT")
    assert "query 2 of 2" in refused(run("preview", *batch))


@pytest.mark.parametrize(
    ("text", "number"),
    [
        (COUNT, 1),
        (f"[{json.dumps(COUNT)}, {json.dumps(COUNT + ' WHERE age > 3')}]", 2),
        (f"{COUNT}\n{COUNT} WHERE age < 7\n", 2),
        (f"-- only a comment; here\n{COUNT}; /* SELECT; */ ;;\n", 1),
    ],
)
def test_queries_are_read_from_standard_input(text: str, number: int) -> None:
    asked = run("ask", "people.toml", "--file", "-", "--epsilon", "1", "--mock", "--json", stdin=text)
    assert len(of(asked)) == number


@pytest.mark.usefixtures("data")
@pytest.mark.parametrize(
    ("text", "says"),
    [
        (f"{COUNT}; SELECT COUNT(*) FROM peple;", "query 2 of 2: "),
        (f"{COUNT};\nDROP TABLE people", "query 2 of 2: "),
        ("[1]", "holds strings"),
        ("[", "is not JSON"),
        ("[]", "has no query in it"),
        (" \n-- nothing\n", "has no query in it"),
        (f"{COUNT};{COUNT} WHERE age = 'x", "query 2 of 2: "),
    ],
)
def test_a_bad_file_of_queries_costs_nothing_and_says_which(text: str, says: str) -> None:
    Path("q.sql").write_text(text)
    assert says in refused(run("ask", "people.toml", "--file", "q.sql", "--epsilon", "1"))
    assert of(run("budget", "people.toml", "--json"))["queries"] == 0


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "give either a query or --file"),
        ((COUNT, "--file", "q.sql"), "give either a query or --file"),
        (("--file", "gone.sql"), "there is no file of queries"),
        (("--file", "."), "cannot be read as text"),
    ],
)
def test_either_a_query_or_a_file(words: tuple[str, ...], says: str) -> None:
    Path("q.sql").write_text(COUNT)
    assert says in refused(run("ask", "people.toml", *words, "--epsilon", "1"))


def test_a_batch_without_a_price_is_refused() -> None:
    Path("q.sql").write_text(COUNT)
    assert "no price was named" in refused(run("ask", "people.toml", "--file", "q.sql", "--mock"))


_NAMES = st.text("ab;'\"-/*\n ", max_size=6)


@given(
    st.lists(_NAMES, min_size=1, max_size=4),
    st.sampled_from([";", ";\n", "\n", " ; -- end; 'x\n", ";/* ; */"]),
)
def test_law_what_is_quoted_ends_no_query(names: list[str], between: str) -> None:
    queries = [
        f"""SELECT COUNT(*) AS "{name.replace('"', '""')}" FROM t WHERE x = '{name.replace("'", "''")}'"""
        for name in names
    ]
    assert split_queries(between.join(queries)) == queries


def test_lines_that_begin_with_select_begin_queries() -> None:
    text = "select 1\n  , 2\n/* mock */ SELECT 3\n\tSELECT 4 -- SELECT 5\n SELECTED 6"
    assert split_queries(text) == ["select 1\n  , 2", "/* mock */ SELECT 3", "SELECT 4  \n SELECTED 6"]


# Bounds -----------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("data")
def test_bounds_are_suggested_for_a_part_of_the_budget() -> None:
    inside = ("--low-fraction", "0.2", "--high-fraction", "0.8")  # far more rows than noise reaches
    found = of(run("suggest-bounds", "people.toml", "age", "--epsilon", "20", *inside, "--json"))
    assert found["write"] == f"CLAMP(age, {found['low']}, {found['high']})"
    assert 20 <= found["low"] <= 33
    assert 66 <= found["high"] <= 79
    assert found["asked"]["spent"] == found["asked"]["cost"]
    shown = run("suggest-bounds", "people.toml", "age", "--epsilon", "20", *inside).stdout
    assert found["write"] in shown.replace("\n", " ")
    assert "free of charge" in shown
    assert of(
        run("ask", "people.toml", f"SELECT AVG({found['write']}) FROM people", "--epsilon", "5", "--json")
    )


@pytest.mark.usefixtures("data")
@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("age",), "exactly one price"),
        (("age", "--epsilon", "1", "--share", "0.1"), "exactly one price"),
        (("region", "--share", "0.1"), "is category"),
        (("ages", "--share", "0.1"), "did you mean 'age'"),
        (("age", "--share", "2"), "at most 1"),
        (("age", "--share", "0.1", "--expected-rows", "few"), "whole number"),
        (("age", "--share", "0.1", "--where", "age >"), "SQL"),
    ],
)
def test_bad_wishes_for_bounds_cost_nothing(words: tuple[str, ...], says: str) -> None:
    assert says in refused(run("suggest-bounds", "people.toml", *words))
    assert of(run("budget", "people.toml", "--json"))["queries"] == 0


def test_the_help_says_that_declared_bounds_may_be_generous() -> None:
    said = " ".join(run("suggest-bounds", "--help").stdout.split())
    assert "may be generous" in said
    for command in ("suggest-bounds", "mock"):
        assert "--json" in run(command, "--help").stdout


# Public metadata --------------------------------------------------------------------------------------------

INIT = ("init", "people.csv", "--epsilon", "1", "--delta", "1e-9", "-o", "new.toml")


@pytest.mark.usefixtures("data")
def test_bounds_and_values_come_from_a_public_file_and_none_from_the_data() -> None:
    Path("public.csv").write_text("AGE,other\n30,1\n777,2\n")
    done = of(run(*INIT, "--metadata", "public.csv", "--json"))
    assert (done["study"], done["to_fill_in"], done["accounting"]) == ("new.toml", 1, "gdp")
    text = Path("new.toml").read_text()
    assert "low = 30  # as in 'public.csv'" in text
    assert "high = 777  # as in 'public.csv'" in text
    assert "north" not in text.replace('e.g. ["north", "south"]', "")
    assert "# discovery_delta = 1e-10" in text


@pytest.mark.usefixtures("data")
@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--metadata", "gone.csv"), "does not exist"),
        (("--metadata", "people.csv"), "is the data itself"),
        (("--metadata", "public.csv", "--public"), "either --public"),
        (("--metadata", "public.csv"), "no column of 'public.csv' is a column of the data"),
        (("--metadata", "people.toml"), "end in .parquet, .csv or .tsv"),
    ],
)
def test_bad_metadata_is_refused(words: tuple[str, ...], says: str) -> None:
    Path("public.csv").write_text("nothing\n1\n")
    assert says in refused(run(*INIT, *words))
    assert not Path("new.toml").exists()
