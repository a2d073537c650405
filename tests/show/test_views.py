"""What a curator, a study, a holdout and a list of receipts show of themselves: public facts, and no data."""

from __future__ import annotations

import datetime
import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import adyton
from adyton.curator.mock import mock_of
from adyton.kernel.schema import (
    Attribute,
    BooleanColumn,
    CategoryColumn,
    Column,
    DateColumn,
    Dimension,
    IntegerColumn,
    RealColumn,
    TextColumn,
)
from adyton.show import Shown
from adyton.study import Study, Validity
from adyton.study.facts import PrivateTable


@pytest.fixture(autouse=True)
def wide_paper(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who runs the tests may have another terminal."""
    monkeypatch.setenv("COLUMNS", "110")


CANARY = 86753
COLUMNS: tuple[Column, ...] = (
    IntegerColumn("age", 0, 120_000),
    RealColumn("income", Fraction(0), Fraction(200_000), Fraction(1, 100)),
    DateColumn("born", datetime.date(1900, 1, 1), datetime.date(2020, 12, 31)),
    CategoryColumn("shop", tuple(range(40))),
    BooleanColumn("smoker"),
    TextColumn("job"),
)
PUBLIC = Dimension(
    "shops", "shop", "shop", (1, 2), (Attribute(CategoryColumn("town", ("A", "B")), ("A", "B")),)
)
BUDGET = adyton.Guarantee(Fraction(1, 2), Fraction(1, 10**9))


def study(person: str | None = None, rows: int = 1, validity: Validity | None = None) -> Study:
    table = adyton.Table("people", COLUMNS, 2000, person, dimensions=(PUBLIC,))
    return Study(table, adyton.PrivacyUnit("add-remove", person, rows), BUDGET, validity=validity)


def frame() -> pd.DataFrame:
    n = 2000
    return pd.DataFrame(
        {
            "pid": np.arange(n) + CANARY * 1000,
            "age": np.full(n, CANARY),
            "income": np.full(n, CANARY + 0.09),
            "born": datetime.date(1986, 7, 5),
            "shop": np.arange(n) % 40,
            "smoker": np.arange(n) % 2 == 0,
            "job": f"spy{CANARY}",
        }
    )


def views(thing: Shown) -> tuple[str, str]:
    return str(thing), thing._repr_html_()


def test_a_study_shows_its_public_facts() -> None:
    for view in views(study("pid", 3, Validity(Fraction("0.9")))):
        for fact in (
            "one person (pid)",
            "epsilon 0.5, delta 1e-9, for all answers together",
            "90 %, simultaneous for all answers",
            "about 2,000 persons",
            "at most 3 rows of each person count; rows without a person do not",
            "integer, 0 .. 120,000",
            "real, 0 .. 200,000, in steps of 0.01",
            "date, 1900-01-01 .. 2020-12-31",
            "category: 0, 1, 2,",
            "(40 values)",
            "boolean",
            "public table shops",
            "of each shop: town",
        ):
            assert fact in view
    for view in views(study()):
        assert "one row" in view
        assert "not declared" in view
        assert "person" not in view


def test_a_study_of_several_tables_shows_the_rows_of_each() -> None:
    visits = PrivateTable(adyton.Table("visits", (BooleanColumn("late"),), person="who"), 5)
    unit = adyton.PrivacyUnit("add-remove", "pid", 2)
    both = Study(adyton.Table("people", COLUMNS, 2000, "pid"), unit, BUDGET, further=(visits,))
    for view in views(both):
        assert "at most 2 rows of each person count" in view
        assert "table visits" in view
        assert "an unknown number of persons" in view
        assert "at most 5 rows of each person count" in view


@pytest.mark.parametrize("person", [None, "pid"])
def test_a_curator_shows_the_study_and_the_spent_share_and_reads_nothing(person: str | None) -> None:
    with adyton.open(study(person), data=frame()) as curator:
        assert "0 % of the budget" in str(curator)
        curator.ask("SELECT COUNT(*) FROM people", share="0.25")
        for view in views(curator):
            assert "25 % of the budget" in view
            assert "epsilon 0.5" in view
            assert str(CANARY) not in view
    with mock_of(study(person)) as mock:
        assert all("made up" in view for view in views(mock))


def test_receipts_are_a_list_that_prints() -> None:
    with adyton.open(study(), data=frame()) as curator:
        empty = curator.receipts()
        assert empty == []
        assert all("Nothing was charged yet." in view for view in views(empty))
        curator.ask("SELECT COUNT(*) FROM people", share="0.25")
        curator.ask("SELECT AVG(age) FROM people", share="0.25")
        receipts = curator.receipts()
        assert isinstance(receipts, list)
        assert [r.number for r in receipts] == [1, 2]
        assert receipts[-1].order.query in str(receipts)
        assert receipts == list(receipts)
        assert [r["number"] for r in json.loads(json.dumps(receipts.to_json()))["receipts"]] == [1, 2]
        for view in views(receipts):
            assert all(r.digest[:12] in view for r in receipts)


def test_a_holdout_shows_how_far_it_is_and_none_of_its_labels(tmp_path: Path) -> None:
    labels = np.where(np.arange(3000) % 2, CANARY, CANARY + 1)
    with adyton.Holdout.create(
        tmp_path / "h.toml", labels=labels, metric="accuracy", tolerance=0.2
    ) as holdout:
        holdout.score(labels)
        for view in views(holdout):
            assert "3,000" in view
            assert "scores so far" in view
            assert str(CANARY) not in view
        assert repr(holdout).startswith("<Holdout")
