"""Groups that cannot match are not read, not paid for and not shown; what was stored with them still repeats."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from adyton.curator import Curator
from adyton.errors import InvalidRequest
from adyton.kernel.privacy import Guarantee, PrivacyUnit
from adyton.kernel.schema import BooleanColumn, CategoryColumn, IntegerColumn, Table, TextColumn
from adyton.kernel.terms.buckets import group_size
from adyton.planning.readings import readings_of
from adyton.query.sql.read import parse
from adyton.study import Study
from support.curators import open_kept
from support.worlds import study_with

REGION = CategoryColumn("region", ("a", "b", "c", "d"))
HOUR = IntegerColumn("hour", 0, 23)
DELAY = IntegerColumn("delay", -60, 300)
COLUMNS = (REGION, HOUR, DELAY, BooleanColumn("late"), TextColumn("city"))
NUMBER = 2_000
BUDGET = Guarantee(Fraction(40), Fraction(1, 10**6))


def flights() -> pd.DataFrame:
    rng = np.random.default_rng(5)
    return pd.DataFrame(
        {
            "region": rng.choice(list("abcd"), NUMBER),
            "hour": rng.integers(5, 23, NUMBER),
            "delay": rng.integers(-20, 60, NUMBER),
            "late": rng.random(NUMBER) < 0.3,
            "city": rng.choice(["rome", "oslo"], NUMBER),
        }
    )


def opened(adjacency: Any = "replace-one", accounting: str = "gdp", discovery_delta: str = "0") -> Curator:
    study = Study(
        Table("flights", COLUMNS, NUMBER),
        PrivacyUnit(adjacency),
        BUDGET if accounting != "pure" else Guarantee(Fraction(40), Fraction(0)),
        accounting,
        discovery_delta=Fraction(discovery_delta),
    )
    return open_kept(study, data=flights())


def keys(answer: Any) -> list[Any]:
    return [tuple(row.keys.values()) for row in answer.rows]


# What is shown ---------------------------------------------------------------------------------------------


def test_hours_that_nobody_asked_for_do_not_win_the_order() -> None:
    asked = (
        "SELECT hour, AVG(delay) AS d FROM flights WHERE hour BETWEEN 5 AND 22 GROUP BY hour "
        "ORDER BY d DESC LIMIT 5"
    )
    with opened() as curator:
        preview = curator.preview(asked, epsilon="1")
        assert [tuple(key.values()) for key in preview.keys or ()] == [(hour,) for hour in range(5, 23)]
        answer = curator.ask(asked, epsilon="1")
        assert all(5 <= hour <= 22 for (hour,) in keys(answer))
        assert answer.rows_hidden == 13


@pytest.mark.parametrize(
    ("asked", "shown"),
    [
        ("SELECT region, COUNT(*) FROM flights WHERE region IN ('a', 'b') GROUP BY region", ["a", "b"]),
        ("SELECT region, COUNT(*) FROM flights WHERE NOT region IN ('a', 'b') AND late GROUP BY region", ["c", "d"]),
        ("SELECT region, COUNT(*) FILTER (WHERE region = 'a') FROM flights GROUP BY region", ["a"]),
        ("SELECT region = 'a' AS mine, COUNT(*) FROM flights WHERE region <> 'a' GROUP BY mine", [False]),
        ("SELECT FLOOR(hour / 6) AS part, COUNT(*) FROM flights WHERE hour > 12 GROUP BY part", [2, 3]),
        (
            "SELECT CASE WHEN hour < 12 THEN 'am' WHEN hour < 18 THEN 'pm' ELSE 'evening' END AS part, COUNT(*) "
            "FROM flights WHERE hour < 15 GROUP BY part",
            ["am", "pm"],
        ),
        ("SELECT HISTOGRAM(hour, 4) FROM flights WHERE hour >= 20", [20]),
    ],
)  # fmt: skip
def test_the_groups_of_a_filter_are_shown_and_no_others(asked: str, shown: list[Any]) -> None:
    with opened() as curator:
        assert keys(curator.ask(asked, scale="1")) == [(key,) for key in shown]


def test_values_belong_to_the_groups_that_are_left() -> None:
    """With next to no noise the answers are those of the rows, in every kind of measure."""
    data = flights()
    few = data[data["region"].isin(["b", "d"])].groupby("region")["delay"]
    asked = (
        "SELECT region, COUNT(*) AS n, SUM(delay) AS s, AVG(delay) AS m, MEDIAN(delay) AS q, STDDEV(delay) AS r "
        "FROM flights WHERE region IN ('b', 'd') GROUP BY region"
    )
    with open_kept(
        study_with(Table("flights", COLUMNS, NUMBER), epsilon=500),
        data=data,
    ) as curator:
        answer = curator.ask(asked, epsilon="400")
    for row, region in zip(answer.rows, ("b", "d"), strict=True):
        own = few.get_group(region)
        wanted = {"n": len(own), "s": own.sum(), "m": own.mean(), "q": own.median(), "r": own.std()}
        for name, value in wanted.items():
            assert row.values[name].value == pytest.approx(value, abs=max(2, 0.02 * abs(value))), name


def test_nothing_can_match_is_refused_free_of_charge() -> None:
    asked = "SELECT region, COUNT(*) FROM flights WHERE region = 'a' AND region = 'b' GROUP BY region"
    with opened() as curator:
        for ask in (curator.ask, curator.preview):
            with pytest.raises(InvalidRequest, match=r"no declared group can match.*nothing was charged"):
                ask(asked, epsilon="1")
        assert curator.receipts() == []


# What is paid ----------------------------------------------------------------------------------------------


def test_fewer_groups_are_cheaper_only_where_fewer_cells_cost_less() -> None:
    """One group under replace-one: a unit that leaves it enters no other.  Two cost as much as four."""

    def cost(adjacency: str, *regions: str) -> int:
        listed = ", ".join(f"'{region}'" for region in regions)
        asked = f"SELECT region, COUNT(*) FROM flights WHERE region IN ({listed}) GROUP BY region"
        with opened(adjacency) as curator:
            return curator.preview(asked, scale="10").cost.units

    assert cost("replace-one", *"abcd") == cost("replace-one", *"ab") == 2 * cost("replace-one", "a")
    assert cost("add-remove", *"abcd") == cost("add-remove", "a") == cost("replace-one", "a")


def test_the_width_of_a_mean_expects_the_rows_of_the_groups_that_are_left() -> None:
    with opened() as curator:
        for where, rows in (("", 500), ("WHERE region IN ('a', 'b')", 1000), ("WHERE region = 'c'", 2000)):
            preview = curator.preview(
                f"SELECT region, AVG(delay) FROM flights {where} GROUP BY region", within=5
            )
            assert preview.bounds["avg_delay"].if_rows == rows


def test_quantiles_of_fewer_groups_have_finer_bins() -> None:
    table = Table("t", (IntegerColumn("wide", 0, 2**30), IntegerColumn("hour", 0, 999)), 10)
    bins = []
    for where in ("hour <> 7", "hour < 100", "hour = 5"):
        asked = parse(f"SELECT hour, MEDIAN(wide) AS m FROM t WHERE {where} GROUP BY hour", table)
        (reading,) = readings_of(asked, PrivacyUnit("replace-one"))
        bins.append(group_size(reading.by[-1]))
    assert bins[0] < 1_000 < bins[1] <= 10_000 < bins[2]
    study = Study(table, PrivacyUnit("replace-one"), Guarantee(Fraction(500), Fraction(1, 10**6)))
    data = pd.DataFrame({"wide": [2**29] * 10, "hour": [5] * 10})
    with open_kept(study, data=data) as curator:  # one group is searched to the last digit, as without groups
        (row,) = curator.ask(
            "SELECT hour, MEDIAN(wide) FROM t WHERE hour = 5 GROUP BY hour", epsilon="499"
        ).rows
        assert row.values["median_wide"].value == 2**29


def test_a_batch_has_the_groups_of_each_query() -> None:
    asked = [
        f"SELECT region, COUNT(*) FROM flights WHERE region IN ({s}) GROUP BY region"
        for s in ("'a'", "'b', 'c'")
    ]
    with opened() as curator:
        answers = curator.ask_many(
            [*asked, "SELECT region, COUNT(*) FROM flights GROUP BY region"], scale="1"
        )
        assert [len(answer.rows) for answer in answers] == [1, 2, 4]
        counts = flights()["region"].value_counts()
        for answer in answers:
            for row in answer.rows:
                assert abs(row.values["count"].value - counts[row.keys["region"]]) < 12


def test_discovered_groups_stand_beside_the_declared_ones_that_can_match() -> None:
    with opened(discovery_delta="1e-7") as curator:
        asked = "SELECT city, region, COUNT(*) FROM flights WHERE region IN ('a', 'b') GROUP BY city, region"
        sought = curator.preview(asked, epsilon="5").discovered_groups
        assert sought is not None
        assert sought.surely_shown < 150  # of about 250
        assert set(keys(curator.ask(asked, epsilon="5"))) == {(c, r) for c in ("rome", "oslo") for r in "ab"}
        never = "region = 'a' AND region = 'b'"
        with pytest.raises(InvalidRequest, match="no declared group can match"):
            curator.ask(
                f"SELECT city, region, COUNT(*) FROM flights WHERE {never} GROUP BY city, region", epsilon="1"
            )


def test_a_preview_says_from_how_many_units_on_a_key_is_shown() -> None:
    """For the next receipt: what an answer says then is what the preview said before it was paid for.

    Mutant that fails here: the threshold of the first receipt for all of them.
    """
    asked = "SELECT city, COUNT(*) FROM flights GROUP BY city"
    with opened(discovery_delta="1e-7") as curator:
        for epsilon in ("1", "2", "0.5"):
            preview = curator.preview(asked, epsilon=epsilon)
            answer = curator.ask(asked, epsilon=epsilon)
            assert preview.discovered_groups is not None
            assert answer.discovered_groups is not None
            assert preview.discovered_groups.receipt == answer.receipt.number
            assert preview.discovered_groups.threshold == answer.discovered_groups.threshold
            said = preview.to_json()["discovered_groups"]
            assert said["surely_shown_from"] == answer.discovered_groups.surely_shown
            assert f"a noisy count of {said['threshold']:,} units" in " ".join(str(preview).split())
        assert (
            "discovered_groups" not in curator.preview("SELECT COUNT(*) FROM flights", epsilon="1").to_json()
        )


def test_a_mock_leaves_out_the_same_groups() -> None:
    with opened() as curator, curator.mock() as mock:
        asked = "SELECT region, COUNT(*) FROM flights WHERE region IN ('a', 'b') GROUP BY region"
        assert keys(mock.ask(asked, scale="1")) == [("a",), ("b",)]


# With public tables ----------------------------------------------------------------------------------------


def test_what_public_tables_say_leaves_groups_out(tmp_path: Path) -> None:
    (tmp_path / "places.csv").write_text("region,zone,height\na,cold,410\nb,warm,120\nc,cold,655\n")
    flights().drop(columns="city").to_parquet(tmp_path / "flights.parquet")
    (tmp_path / "flights.toml").write_text(
        f"""
[table]
name = "flights"
source = "flights.parquet"
rows = {NUMBER}
[privacy]
unit = "row"
adjacency = "replace-one"
epsilon = 20
delta = 1e-6
[columns.region]
kind = "category"
values = ["a", "b", "c", "d"]
[public.places]
source = "places.csv"
key = "region"
"""
    )
    joined = "flights JOIN places USING (region)"
    with open_kept(tmp_path / "flights.toml") as curator:

        def shown(sql: str) -> list[Any]:
            return keys(curator.ask(sql, epsilon="1"))

        assert shown(f"SELECT zone, COUNT(*) FROM {joined} WHERE height > 200 GROUP BY zone") == [("cold",)]
        assert shown(f"SELECT zone, COUNT(*) FROM {joined} WHERE flights.region = 'b' GROUP BY zone") == [
            ("warm",)
        ]
        assert shown(f"SELECT flights.region, COUNT(*) FROM {joined} GROUP BY flights.region") == [
            ("a",),
            ("b",),
            ("c",),
        ]
        assert shown(
            f"SELECT zone, flights.region, COUNT(*) FROM {joined} GROUP BY zone, flights.region"
        ) == [
            ("cold", "a"),
            ("cold", "c"),
            ("warm", "b"),
        ]
        left = "flights LEFT JOIN places USING (region)"
        assert shown(
            f"SELECT flights.region, COUNT(*) FROM {left} WHERE zone IS NULL GROUP BY flights.region"
        ) == [("d",)]


# Repeats -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
@pytest.mark.parametrize("measure", ["COUNT(*)", "AVG(delay)", "MEDIAN(delay)", "CDF(delay, 0, 9)"])
def test_answers_without_groups_that_cannot_match_repeat_as_themselves(measure: str, adjacency: str) -> None:
    """Also where they cost the same, and have the same noise, as with all groups.

    Mutant that fails here: no word about cells in what a receipt says of the mechanisms.
    """
    asked = f"SELECT region, {measure} AS v FROM flights WHERE region IN ('b', 'd') GROUP BY region"
    with opened(adjacency) as curator:
        first, again = curator.ask(asked, epsilon="1"), curator.ask(asked, epsilon="1")
        assert again.repeated
        assert again.rows == first.rows
        assert {row.keys["region"] for row in first.rows} == {"b", "d"}
        (many,) = curator.ask_many([asked], epsilon="1")
        assert many.rows == first.rows


def _nobody(*names: str) -> pd.DataFrame:
    return pd.DataFrame(
        {"pid": pd.Series([], dtype="int64"), **{name: pd.Series([], dtype="object") for name in names}}
    )
