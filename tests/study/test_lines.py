"""The number of rows beside the number of persons: a public guess that chooses noise, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import adyton
from adyton.curator import Curator
from adyton.curator.mock_rows import mock_tables
from adyton.errors import InvalidRequest
from adyton.kernel.privacy import Guarantee, PrivacyUnit
from adyton.kernel.schema import IntegerColumn, Table
from adyton.setup.drafting import DraftOptions, draft_study
from adyton.study import PrivateTable, Study, read_study
from adyton.transports.cli.app import app

PERSONS, EACH = 400, 50
DELAY = IntegerColumn("delay", -60, 300)
BUDGET = Guarantee(Fraction(200), Fraction(1, 10**6))
UNIT = PrivacyUnit("add-remove", "plane", 100)
FLIGHTS = Table("flights", (DELAY,), PERSONS, "plane", lines=PERSONS * EACH)
STUDY = Study(FLIGHTS, UNIT, BUDGET)
MEAN = "SELECT AVG(delay) FROM flights"


def flights() -> pd.DataFrame:
    rng = np.random.default_rng(2)
    number = PERSONS * EACH
    return pd.DataFrame(
        {"plane": np.repeat(np.arange(PERSONS), EACH), "delay": rng.integers(-20, 80, number)}
    )


def opened(lines: int | None = PERSONS * EACH) -> Curator:
    return adyton.open(replace(STUDY, table=replace(FLIGHTS, lines=lines)), data=flights())


# What it is for --------------------------------------------------------------------------------------------


def test_a_mean_is_priced_for_rows_and_not_for_persons() -> None:
    """Noise is the rows' share of a width: 50 rows of a person make it 50 times, and the charge 2,500 times less.

    Mutant that fails here: ``Study.rows_expected`` returns ``table.rows``.
    """
    with opened() as curator:
        preview = curator.preview(MEAN, within=5)
        assert preview.bounds["avg_delay"].if_rows == PERSONS * EACH
        persons = curator.preview(MEAN, within=5, expected_rows=PERSONS)
        assert persons.cost.units / preview.cost.units == pytest.approx(EACH**2, rel=0.05)
        answer = curator.ask(MEAN, within=5)
        interval = answer.rows[0].values["avg_delay"].noise_interval
        assert 2.5 < (interval.high - interval.low) / 2 < 5.5  # 5 is for the mean that needs most


@pytest.mark.parametrize("factor", [Fraction(1, 10), Fraction(2)])
def test_a_wrong_guess_changes_widths_and_prices_and_no_guarantee(factor: Fraction) -> None:
    lines = max(PERSONS, int(PERSONS * EACH * factor))
    truth = flights()["delay"].mean()
    with opened(lines) as curator:
        value = curator.ask(MEAN, within=5).rows[0].values["avg_delay"]
        half = (value.noise_interval.high - value.noise_interval.low) / 2
        assert 2.5 < half * PERSONS * EACH / lines < 5.5
        assert abs(value.value - truth) < 4 * half  # eight standard deviations


def test_without_it_the_refusal_names_the_key_and_the_option() -> None:
    with opened(None) as curator:
        with pytest.raises(
            InvalidRequest, match=r"--expected-rows, in Python expected_rows\), declare table\.lines, or name"
        ):
            curator.ask(MEAN, within=5)
        assert curator.receipts() == []
        assert curator.ask(MEAN, within=5, expected_rows=PERSONS * EACH).cost.units > 0
        preview = curator.preview(MEAN, epsilon=1)
        assert preview.bounds["avg_delay"].half_width is None
        assert "--expected-rows" in str(preview)


def test_further_tables_have_their_own_and_joins_have_none() -> None:
    cost = Table("costs", (IntegerColumn("cost", 0, 9),), PERSONS, "plane")
    study = replace(STUDY, further=(PrivateTable(cost, 5),))
    data = {"flights": flights(), "costs": pd.DataFrame({"plane": [1], "cost": [2]})}
    with adyton.open(study, data=data) as curator:
        with pytest.raises(InvalidRequest, match=r"declare private\.costs\.lines"):
            curator.preview("SELECT AVG(cost) FROM costs", within=1)
        with pytest.raises(InvalidRequest, match=r"in Python expected_rows\), or name the price"):
            curator.preview("SELECT AVG(cost) FROM flights JOIN costs USING (plane)", within=1)
    guessed = replace(study, further=(PrivateTable(replace(cost, lines=900), 5),))
    with adyton.open(guessed, data=data) as curator:
        assert curator.preview("SELECT AVG(cost) FROM costs", within=1).bounds["avg_cost"].if_rows == 900
    once = replace(study, further=(PrivateTable(cost, 1),))
    with adyton.open(
        once, data=data
    ) as curator:  # one row of a person: the number of persons is that of rows
        assert curator.preview("SELECT AVG(cost) FROM costs", within=1).bounds["avg_cost"].if_rows == PERSONS


def test_bounds_are_suggested_by_the_number_of_rows() -> None:
    """At a price at which noise reaches more rows than there are persons."""
    with opened() as curator:
        found = curator.suggest_bounds("delay", epsilon=10)
        assert found.more_rows is not None
        assert found.more_rows > PERSONS / 4
    with (
        opened(PERSONS) as curator,
        pytest.raises(
            InvalidRequest,
            match=r"of 400 rows .* \(--expected-rows, in Python expected_rows, or table\.lines",
        ),
    ):
        curator.suggest_bounds("delay", epsilon=10)


def test_a_mock_has_about_as_many_rows_of_a_person() -> None:
    made = mock_tables(STUDY, PERSONS)["flights"]["plane"]
    assert len(made) == pytest.approx(PERSONS * EACH, rel=0.1)
    alike = replace(STUDY, table=replace(FLIGHTS, lines=None))
    assert len(mock_tables(alike, PERSONS)["flights"]["plane"]) < 21 * PERSONS
    with opened() as curator, curator.mock() as same, curator.mock(rows=100) as small:
        assert same.preview(MEAN, within=5).cost == curator.preview(MEAN, within=5).cost
        assert small.preview(MEAN, within=5).bounds["avg_delay"].if_rows == 100 * EACH


# How it is declared ----------------------------------------------------------------------------------------

FILE = """
[table]
name = "flights"
source = "flights.parquet"
rows = 400
{lines}
[privacy]
unit = "{unit}"
{person}
adjacency = "add-remove"
epsilon = 1
delta = 1e-6
[columns.delay]
kind = "integer"
low = -60
high = 300
{more}
"""
PLANES = 'person = "plane"\nrows_per_person = 100'


def study_file(tmp_path: Path, lines: str, person: str = PLANES, more: str = "") -> Study:
    path = tmp_path / "flights.toml"
    unit = "person" if person else "row"
    path.write_text(FILE.format(lines=lines, unit=unit, person=person, more=more))
    return read_study(path)


def test_it_is_read_and_is_no_part_of_what_a_ledger_belongs_to(tmp_path: Path) -> None:
    one, other, none = (study_file(tmp_path, lines) for lines in ("lines = 20_000", "lines = 9_000", ""))
    assert (one.table.lines, other.table.lines, none.table.lines) == (20_000, 9_000, None)
    assert one.fingerprint == other.fingerprint == none.fingerprint


@pytest.mark.parametrize(
    ("lines", "person", "said"),
    [
        ("lines = 400", "", r"table\.lines goes with rows_per_person above 1; .* table\.rows says how many"),
        ("lines = 400", 'person = "plane"', r"table\.lines goes with rows_per_person above 1"),
        ("lines = 399", PLANES, r"table\.lines = 399 cannot be: .* between 400 and 40000"),
        ("lines = 40_001", PLANES, r"table\.lines = 40001 cannot be"),
        ("lines = 1e4", PLANES, r"table\.lines must be a whole number"),
        ('lines = "FILL IN"', PLANES, r"table\.lines says 'FILL IN': write a whole number, or remove it"),
    ],
)
def test_what_cannot_be_is_refused(tmp_path: Path, lines: str, person: str, said: str) -> None:
    with pytest.raises(InvalidRequest, match=said):
        study_file(tmp_path, lines, person)


def test_further_tables_declare_it_too(tmp_path: Path) -> None:
    def further(rows_per_person: int, lines: int) -> str:
        return (
            f'[private.costs]\nsource = "c.parquet"\nrows_per_person = {rows_per_person}\nrows = 10\nlines = {lines}\n'
            '[private.costs.columns.cost]\nkind = "integer"\nlow = 0\nhigh = 9'
        )

    assert study_file(tmp_path, "", more=further(5, 40)).further[0].table.lines == 40
    with pytest.raises(InvalidRequest, match=r"private\.costs\.lines = 51 cannot be"):
        study_file(tmp_path, "", more=further(5, 51))
    with pytest.raises(InvalidRequest, match=r"private\.costs\.lines goes with rows_per_person above 1"):
        study_file(tmp_path, "", more=further(1, 10))


def test_a_draft_asks_for_it_where_a_person_may_have_several_rows(tmp_path: Path) -> None:
    data = tmp_path / "flights.parquet"
    flights().to_parquet(data)

    def drafted(**wishes: Any) -> str:
        return draft_study(
            data, DraftOptions("1", "1e-6", person="plane", **wishes), tmp_path / "flights.toml"
        )

    assert 'lines = "FILL IN"  # a public guess of how many rows count, at most 100 of a person' in drafted(
        rows_per_person=100
    )
    assert "lines = 20000  #" in drafted(rows_per_person=100, lines=20_000)
    assert "lines =" not in drafted()
    with pytest.raises(InvalidRequest, match=r"table\.lines = 50000 cannot be"):
        drafted(rows_per_person=100, lines=50_000)
    ran = CliRunner().invoke(
        app,
        f"init {data} --person plane --rows-per-person 100 --lines 20000 --epsilon 1 --delta 1e-6".split(),
    )
    assert ran.exit_code == 0
    assert "lines = 20000" in (tmp_path / "flights.toml").read_text()
