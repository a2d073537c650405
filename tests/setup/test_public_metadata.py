"""What a public file says about its columns, and what a draft makes of it."""

from __future__ import annotations

import datetime
from pathlib import Path

import pandas as pd
import pytest

from adyton import read_study
from adyton.kernel.schema import BooleanColumn, CategoryColumn, DateColumn, IntegerColumn, RealColumn
from adyton.setup.drafting import DraftOptions, draft_study
from adyton.setup.public_profile import MOST_VALUES, ColumnProfile, public_profiles

DAY = datetime.date


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["3", "-4", "+15", ""], ColumnProfile("integer", -4, 15)),
        (["3", "4.5", "1e2"], ColumnProfile("real", 3.0, 100.0)),
        (["1.0", "2."], ColumnProfile("integer", 1, 2)),
        (["3", "inf", "-7.5"], ColumnProfile("real", -7.5, 3.0)),
        (["007", "123"], ColumnProfile("category", values=("007", "123"))),  # a code: as a number it would lose zeros
        (["2020-01-31", "1999-12-01 10:00"], ColumnProfile("date", DAY(1999, 12, 1), DAY(2020, 1, 31))),
        (["2020-01-31", "2020-02-31"], ColumnProfile("category", values=("2020-01-31", "2020-02-31"))),
        (["yes", "No"], ColumnProfile("boolean")),
        (["0", "1"], ColumnProfile("integer", 0, 1)),
        (["a", "b", "a", ""], ColumnProfile("category", values=("a", "b"))),
        (["1,5", "2"], ColumnProfile("category", values=("1,5", "2"))),
        (["", ""], ColumnProfile("category", values=())),
        ([f"v{i:03}" for i in range(MOST_VALUES)], ColumnProfile("category", values=tuple(f"v{i:03}" for i in range(MOST_VALUES)))),
        ([f"v{i:03}" for i in range(MOST_VALUES + 1)], ColumnProfile("category")),
    ],
)  # fmt: skip
def test_texts_have_the_kind_that_all_of_them_can_be_read_as(
    texts: list[str], expected: ColumnProfile, tmp_path: Path
) -> None:
    lines = ['"' + text + '"' if "," in text else text for text in texts]
    (tmp_path / "p.csv").write_text("\n".join(["x,k", *(f"{line},." for line in lines)]) + "\n")
    assert public_profiles(tmp_path / "p.csv")["x"] == expected


def test_types_of_parquet(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {
            "whole": [3, 9],
            "real": [float("nan"), 2.5],
            "infinite": [float("inf"), 2.5],
            "truth": [True, False],
            "when": pd.to_datetime(["2020-01-31 10:00", "1999-12-01 00:00"]),
            "text": ["a", None],
            "nested": [[1], [2]],
        }
    )
    frame.to_parquet(tmp_path / "p.parquet")
    assert public_profiles(tmp_path / "p.parquet") == {
        "whole": ColumnProfile("integer", 3, 9),
        "real": ColumnProfile("real", 2.5, 2.5),
        "infinite": ColumnProfile("real", 2.5, 2.5),
        "truth": ColumnProfile("boolean"),
        "when": ColumnProfile("date", DAY(1999, 12, 1), DAY(2020, 1, 31)),
        "text": ColumnProfile("category", values=("a",)),
    }


def test_a_draft_of_texts_takes_kinds_from_a_public_file(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text(
        "id,age,income,region,smoker,born\n1,canary,canary,canary,canary,canary\n"
    )
    (tmp_path / "old.csv").write_text(
        "age,income,region,smoker,born\n20,1.5,north,yes,1980-05-01\n70,99.2,so\"uth,no,2000-01-31\n"
    )  # fmt: skip
    wishes = DraftOptions("1", "1e-9", person="id", metadata=tmp_path / "old.csv")
    text = draft_study(tmp_path / "data.csv", wishes, tmp_path / "study.toml")
    assert "canary" not in text
    (tmp_path / "study.toml").write_text(text)
    table = read_study(tmp_path / "study.toml").table
    assert table.column("age") == IntegerColumn("age", 20, 70)
    income = table.column("income")
    assert isinstance(income, RealColumn)
    assert (income.low, income.high) == (1, 100)  # outwards
    assert table.column("region") == CategoryColumn("region", ("north", 'so"uth'))
    assert table.column("smoker") == BooleanColumn("smoker")
    assert table.column("born") == DateColumn("born", DAY(1980, 5, 1), DAY(2000, 1, 31))


def test_a_typed_column_keeps_its_kind_and_takes_only_what_fits(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": [1], "b": [1], "c": [1.5], "d": [True], "e": ["x"], "f": ["x"]})
    frame.to_parquet(tmp_path / "data.parquet")
    many = "\n".join(f"{i}.5,w{i},{i},{i},{i},k{i}" for i in range(MOST_VALUES + 1))
    (tmp_path / "old.csv").write_text(f"a,b,c,d,e,f\n{many}\n")
    wishes = DraftOptions("1", "1e-9", metadata=tmp_path / "old.csv")
    text = draft_study(tmp_path / "data.parquet", wishes, tmp_path / "study.toml")
    parts = {part[0]: part for part in text.split("[columns.")[1:]}
    assert 'kind = "integer"\nlow = 0  #' in parts["a"]
    assert "high = 101  #" in parts["a"]
    assert parts["b"].count("FILL IN") == 2  # texts there: they say nothing about a number here
    assert 'kind = "real"\nlow = 0  #' in parts["c"]
    assert 'kind = "boolean"' in parts["d"]
    assert 'kind = "integer"' in parts["e"]
    assert 'values = "FILL IN"  # more than 100 values: list them, or write kind = "text"' in parts["f"]


def test_a_public_csv_is_drafted_completely_also_with_infinities(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("age,share\n20,0.5\n70,inf\n30,-2\n")
    text = draft_study(
        tmp_path / "people.csv", DraftOptions("1", "1e-9", public=True), tmp_path / "people.toml"
    )
    (tmp_path / "people.toml").write_text(text)
    share = read_study(tmp_path / "people.toml").table.column("share")
    assert isinstance(share, RealColumn)
    assert (share.low, share.high) == (-2, 1)


def test_the_name_of_the_file_cannot_write_into_the_study(tmp_path: Path) -> None:
    odd = tmp_path / "a\n[privacy]\nb.csv"
    odd.write_text("age\n1\n2\n")
    (tmp_path / "people.csv").write_text("age\n5\n")
    text = draft_study(
        tmp_path / "people.csv", DraftOptions("1", "1e-9", metadata=odd), tmp_path / "people.toml"
    )
    assert text.count("\n[privacy]\n") == 1
