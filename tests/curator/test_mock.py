"""A mock is made from public facts alone, is the same for the same study, and says what it is."""

from __future__ import annotations

import datetime
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adyton import BudgetRefused, Curator, Guarantee, InvalidRequest, PrivacyUnit, Study, Table
from adyton import open as open_study
from adyton.curator.mock import MockCurator, mock_of
from adyton.curator.mock_file import write_mock
from adyton.curator.mock_rows import mock_tables
from adyton.kernel.schema import (
    BooleanColumn,
    CategoryColumn,
    Column,
    DateColumn,
    IntegerColumn,
    RealColumn,
    TextColumn,
)
from adyton.planning.plan import make_plan
from adyton.planning.price import Price
from adyton.query.sql.read import parse
from adyton.show import Shown
from adyton.study import PrivateTable, Validity

COLUMNS: tuple[Column, ...] = (
    IntegerColumn("age", 18, 90),
    RealColumn("income", Fraction(-100), Fraction(20_000), Fraction(1, 4)),
    CategoryColumn("region", ("north", "south", 'it\'s, "quoted"')),
    CategoryColumn("code", (3, 5, 9)),
    TextColumn("employer"),
    BooleanColumn("smoker"),
    DateColumn("born", datetime.date(1901, 1, 1), datetime.date(2020, 12, 31)),
)
BUDGET = Guarantee(Fraction(400), Fraction(1, 10**6))


def rows_study(rows: int | None = 2000, **more: Any) -> Study:
    adjacency: Any = "replace-one" if rows is not None else "add-remove"
    return Study(Table("people", COLUMNS, rows), PrivacyUnit(adjacency), BUDGET, **more)


def visits_study(rows_per_person: int = 3) -> Study:
    people = Table("people", COLUMNS, 1500, "person_id")
    visits = Table(
        "visits", (RealColumn("cost", Fraction(0), Fraction(1000), Fraction(1, 10)),), None, "patient"
    )
    unit = PrivacyUnit("add-remove", "person_id", rows_per_person)
    return Study(
        people, unit, BUDGET, discovery_delta=Fraction(1, 10**7), source=Path("nowhere/people.parquet"),
        further=(PrivateTable(visits, 5, Path("nowhere/visits.parquet")),),
    )  # fmt: skip


def listed(values: Any) -> list[Any]:
    return list(values.tolist())


def test_law_every_value_is_one_that_the_study_declares() -> None:
    made = mock_tables(rows_study(), 2000)["people"]
    assert list(made) == [column.name for column in COLUMNS]
    known = {name: [v for v in listed(values) if v is not None] for name, values in made.items()}
    assert all(
        0.005 < 1 - len(values) / 2000 < 0.05 for values in known.values()
    )  # now and then one is missing
    assert (min(known["age"]), max(known["age"])) == (18, 90)
    assert all(-100 <= x <= 20_000 and (4 * x).is_integer() for x in known["income"])
    assert set(known["region"]) == {"north", "south", 'it\'s, "quoted"'}
    assert set(known["code"]) == {3, 5, 9}
    assert set(known["smoker"]) == {False, True}
    assert all(
        datetime.datetime(1901, 1, 1) <= day <= datetime.datetime(2020, 12, 31) for day in known["born"]
    )
    counts = Counter(known["employer"])
    assert counts["a"] > 1.5 * counts["b"] > 2 * counts["c"] > 0  # common and rare keys


@given(st.integers(1, 400), st.integers(1, 30))
@settings(max_examples=25, deadline=None)
def test_law_persons_have_as_many_rows_as_they_may(persons: int, most: int) -> None:
    made = mock_tables(visits_study(most), persons)
    rows = Counter(listed(made["people"]["person_id"]))
    assert len(rows) == persons
    assert max(rows.values()) <= most
    visits = Counter(listed(made["visits"]["patient"]))
    assert set(visits) <= set(rows)
    assert not visits or max(visits.values()) <= 5
    assert all(person.startswith("mock-") for person in rows)


def test_the_allowed_rows_of_a_person_are_reached() -> None:
    made = mock_tables(visits_study(3), 500)
    assert Counter(Counter(listed(made["people"]["person_id"])).values()).keys() == {1, 2, 3}
    assert 250 < len(set(listed(made["visits"]["patient"]))) < 450  # not everybody has visits


def test_law_the_same_study_has_the_same_mock_and_a_larger_one_begins_so() -> None:
    """The same study has the same mock, and a larger one begins with it."""

    def texts(study: Study, rows: int) -> dict[str, list[Any]]:
        return {name: listed(values) for name, values in mock_tables(study, rows)["people"].items()}

    small, again, large = texts(rows_study(), 50), texts(rows_study(), 50), texts(rows_study(), 200)
    assert small == again
    assert small == {name: values[:50] for name, values in large.items()}
    other = replace(rows_study(), budget=Guarantee(Fraction(399), BUDGET.delta))
    assert texts(other, 50)["income"] != small["income"]
    # Pinned, so that a new version of a library cannot change a mock in silence.
    assert small["age"][:5] == PINNED


PINNED = [42, 35, 83, 65, None]


def test_answers_say_that_they_are_about_a_mock() -> None:
    with mock_of(rows_study()) as curator:
        answers = [
            curator.ask("SELECT COUNT(*) FROM people", epsilon=1),
            curator.ask("SELECT COUNT(*) FROM people WHERE smoker", epsilon=1),
            *curator.ask_many(["SELECT AVG(age) FROM people", "SELECT AVG(income) FROM people"], epsilon=1),
            curator.ask("SELECT COUNT(*) FROM people", epsilon=1),
        ]
        assert answers[-1].repeated
        for answer in answers:
            assert answer.query.startswith("/* mock */ SELECT ")
            assert answer.to_json()["mock"] is True
            assert "made up" in str(answer)
            assert "made up" in answer._repr_html_()
            assert "made up" in answer.certificate.assumptions[0]
            assert curator.ask(answer.query, epsilon="0.01")  # what is copied can be asked
        previews = curator.preview_many(
            ["SELECT AVG(age) FROM people", "SELECT COUNT(*) FROM people"], epsilon=1
        )
        for preview in (*previews, curator.preview("SELECT COUNT(*) FROM people", epsilon=1)):
            assert preview.query.startswith("/* mock */ SELECT ")
            assert "made up" in preview.certificate.assumptions[0]
        with pytest.raises(InvalidRequest, match="no monitors"):
            curator.open_monitor(positives=1, epsilon=1)
        with pytest.raises(InvalidRequest, match="no monitors"):
            curator.monitor(1)
        with pytest.raises(InvalidRequest, match="no PMW"):
            curator.open_pmw(["smoker"], queries=10, epsilon=1)
        with pytest.raises(InvalidRequest, match="no PMW"):
            curator.pmw(1)


def test_no_word_of_a_curator_escapes_the_mark() -> None:
    """A new one needs a decision here: is it marked, or does it tell nothing about rows?"""
    marked = {"ask_many", "preview_many", "open_monitor", "preview_monitor", "monitor", "sheet"}
    marked |= {"open_pmw", "preview_pmw", "pmw", "derive", "synthesize", "preview_synthesis"}
    through_those = {"ask", "preview", "suggest_bounds"}
    about_the_budget = {"budget", "receipts", "verify", "p_value_threshold", "close", "mock"}
    about_the_budget |= {
        "last_look",
        "publish_test",
        "ledger",
        "prepare",
        "monitors",
        "opened_pmw",
        "left_for",
    }
    through_those |= {"through", "observed"}  # the same mock with another ledger, or watched
    assert marked <= {name for name in vars(MockCurator) if not name.startswith("_")}
    words = {name for name in dir(Curator) if not name.startswith("_")} - set(dir(Shown))
    assert {"open_monitor", "synthesize"} <= words
    assert words <= marked | through_those | about_the_budget


def test_a_mock_costs_what_the_study_would_and_has_a_budget_of_its_own() -> None:
    study = rows_study()
    query = "SELECT region, AVG(income) FROM people WHERE age > 30 GROUP BY region"
    real = open_study(study, data=Path("gone.parquet"))
    with mock_of(study) as first, mock_of(study) as second:
        assert first.preview(query, within=50).cost == real.preview(query, within=50).cost
        assert first.ask(query, share=1).spent.share == pytest.approx(1)
        with pytest.raises(BudgetRefused):
            first.ask("SELECT COUNT(*) FROM people", epsilon=1)
        assert second.budget().queries == 0
    assert real.budget().queries == 0


def test_queries_of_every_shape_are_answered_without_the_data() -> None:
    with mock_of(visits_study()) as curator:
        found = curator.ask("SELECT employer, COUNT(*) FROM people GROUP BY employer", epsilon=20)
        assert [row.keys["employer"] for row in found.rows][:3] == ["a", "b", "c"]
        joined = curator.ask(
            "SELECT AVG(cost) FROM people JOIN visits ON people.person_id = visits.patient WHERE smoker",
            epsilon=20,
        )
        assert joined.value == pytest.approx(500, abs=60)
        assert curator.ask("SELECT COUNT(*) FROM visits", epsilon=20).value > 1000
        assert curator.ask("SELECT MEDIAN(age) FROM people", epsilon=20).value == pytest.approx(54, abs=8)
        assert curator.ask("SELECT COUNT(DISTINCT person_id) FROM people", epsilon=50).value == pytest.approx(
            1500, abs=30
        )


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".tsv"])
def test_a_written_mock_is_read_as_the_mock_that_is_asked(suffix: str, tmp_path: Path) -> None:
    study = visits_study()
    first, second = write_mock(study, tmp_path / f"made{suffix}", 200)
    assert (first.name, second.name) == (f"made{suffix}", f"made.visits{suffix}")
    sums = "SUM(income), SUM(age), COUNT(born), COUNT(region), COUNT(employer)"
    queries = [
        f"SELECT {sums} FROM people",
        "SELECT region, COUNT(*) FROM people WHERE born > '1960-01-01' AND code = 5 GROUP BY region",
        "SELECT smoker, COUNT(*) FROM people GROUP BY smoker",
        "SELECT SUM(cost) FROM people JOIN visits ON people.person_id = visits.patient",
    ]
    with mock_of(study, 200) as made, open_study(study, data={"people": first, "visits": second}) as written:
        for query in queries:
            readings = make_plan(
                study, parse(query, *study.tables), Price("epsilon", Fraction(1)), 10**18
            ).readings
            exact = []
            for curator in (made, written):
                curator._engine.prepare(readings)
                exact.append(curator._engine.exact(readings))
            assert exact[0] == exact[1], query
            assert any(any(column) for columns in exact[0] for column in columns)


def test_a_written_mock_never_takes_the_place_of_data(tmp_path: Path) -> None:
    study = replace(rows_study(), source=tmp_path / "people.csv")
    with pytest.raises(InvalidRequest, match="is the data of the study"):
        write_mock(study, tmp_path / "x" / ".." / "people.csv", overwrite=True)
    (tmp_path / "other.csv").write_text("precious")
    with pytest.raises(InvalidRequest, match="exists already"):
        write_mock(study, tmp_path / "other.csv")
    assert (tmp_path / "other.csv").read_text() == "precious"
    with pytest.raises(InvalidRequest, match="not to"):
        write_mock(study, tmp_path / "other.xlsx")
    write_mock(study, tmp_path / "other.csv", 5, overwrite=True)
    assert len((tmp_path / "other.csv").read_text().splitlines()) == 6


def test_a_parquet_mock_has_the_types_and_says_what_it_is(tmp_path: Path) -> None:
    (path,) = write_mock(rows_study(), tmp_path / "made.parquet", 20)
    with duckdb.connect() as connection:
        described = connection.execute(f"DESCRIBE FROM '{path}'").fetchall()
        said = dict(connection.execute(f"SELECT key, value FROM parquet_kv_metadata('{path}')").fetchall())
    types = {name: kind for name, kind, *_ in described}
    assert types == {
        "age": "BIGINT", "income": "DOUBLE", "region": "VARCHAR", "code": "BIGINT", "employer": "VARCHAR",
        "smoker": "BOOLEAN", "born": "DATE",
    }  # fmt: skip
    assert b"made up" in said[b"mock"]


@pytest.mark.parametrize(
    ("declared", "asked", "made"),
    [(2000, None, 2000), (None, None, 1000), (10**7, None, 10**5), (2000, 7, 7)],
)
def test_the_size_of_a_mock(declared: int | None, asked: int | None, made: int) -> None:
    study = replace(rows_study(), budget=Guarantee(Fraction(400), Fraction(1, 10**9)))
    study = replace(
        study,
        unit=PrivacyUnit("add-remove"),
        table=replace(study.table, columns=COLUMNS[:1], rows=declared),
    )
    with mock_of(study, asked) as curator:
        assert curator.ask("SELECT COUNT(*) FROM people", scale="0.05").value == made


@pytest.mark.parametrize("rows", [0, -1, 10**6 + 1, True])
def test_a_size_that_makes_no_sense_is_refused(rows: int) -> None:
    with pytest.raises(InvalidRequest, match="a mock has 1 to"):
        mock_of(rows_study(), rows)


def test_a_mock_of_another_size_leaves_a_plan_for_so_many_rows_out() -> None:
    planned = Validity(Fraction("0.95"), None, 20, Fraction("0.3"))
    study = rows_study(validity=planned)
    with mock_of(study) as same, mock_of(study, 5) as small:
        assert same.study.validity == planned
        assert small.study.validity is None
        assert small.ask("SELECT COUNT(*) FROM people", epsilon=1)


@pytest.mark.parametrize(
    "column",
    [
        IntegerColumn("Person_Id", 10, 20), CategoryColumn("person_id", ("x", "y")), CategoryColumn("person_id", (1, 2)),
        TextColumn("person_id"), BooleanColumn("person_id"),
    ],
)  # fmt: skip
def test_the_person_may_be_a_declared_column(column: Column) -> None:
    table = Table("people", (column, BooleanColumn("smoker")), 50, "person_id")
    study = Study(table, PrivacyUnit("replace-one", "person_id"), BUDGET)
    with mock_of(study) as curator:
        assert curator.ask("SELECT COUNT(*) FROM people", scale="0.05").value == 50
    persons = listed(next(iter(mock_tables(study, 50)["people"].values())))
    assert len(set(persons)) == 50
    if isinstance(column, CategoryColumn):
        assert persons[:2] == [str(value) for value in column.values]


def test_nothing_that_is_on_the_disk_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    canary = tmp_path / "people.csv"
    canary.write_text("age\n" + "55\n" * 100)
    monkeypatch.chdir(tmp_path)
    table = Table("people", (IntegerColumn("age", 0, 10**6),), 100)
    study = Study(table, PrivacyUnit("replace-one"), BUDGET, source=canary, ledger=tmp_path / "people.ledger")
    with mock_of(study) as curator:
        assert curator.ask("SELECT COUNT(*) FROM people WHERE age = 55", scale="0.05").value == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["people.csv"]  # no ledger either


def test_dates_at_the_ends_of_the_calendar() -> None:
    table = Table("t", (DateColumn("d", datetime.date(1, 1, 1), datetime.date(9999, 12, 31)),), 300)
    study = Study(table, PrivacyUnit("replace-one"), BUDGET)
    days = mock_tables(study, 300)["t"]["d"].astype("datetime64[D]")
    known = days[~np.isnat(days)]
    assert known.min() < np.datetime64("1200-01-01") < np.datetime64("9000-01-01") < known.max()
    with mock_of(study) as curator:
        assert curator.ask("SELECT COUNT(*) FROM t WHERE d < '5000-01-01'", scale=1).value > 100
