"""``within`` for each value by its name, and for all of them where they have one unit."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from test_fitting import BOTH, curator

from adyton import InvalidRequest


def half_width(value: Any) -> float:
    return (value.noise_interval.high - value.noise_interval.low) / 2


@pytest.mark.parametrize(
    "within",
    [
        {"n": 100, "avg_income": 20_000},
        "n=100,avg_income=20000",
        {"N": "100", "AVG_INCOME": 2e4},
        " n = 100 , avg_income = 2e4",
    ],
    ids=str,
)
def test_each_value_gets_the_width_that_is_named_for_it(within: Any) -> None:
    """Mutant: the first width for all values."""
    asker = curator()
    seen = asker.preview(BOTH, within=within)
    assert (seen.bounds["n"].half_width, seen.bounds["avg_income"].half_width) == pytest.approx((100, 20_000))
    answer = asker.ask(BOTH, within=within)
    assert [half_width(row.values["n"]) for row in answer.rows] == [100] * 4
    assert asker.ask(BOTH, within={"avg_income": "20000", "n": 100}).repeated


def test_an_answer_says_for_how_many_rows_the_width_of_a_mean_was_planned() -> None:
    """As its preview does, in every view.  Mutant: the number is said whatever the price."""
    asker = curator(epsilon="50")
    for words in ({}, {"expected_rows": 70}):
        within = {"n": 100, "avg_income": 20_000}
        planned = asker.preview(BOTH, within=within, **words).bounds["avg_income"].if_rows
        for answer in (asker.ask(BOTH, within=within, **words), asker.ask(BOTH, within=within, **words)):
            said = f"planned for {planned:,} matching rows; with fewer it is wider."
            assert answer.rows_planned == answer.to_json()["rows_planned"] == planned
            assert said in " ".join(str(answer).split())
            assert said in answer._repr_html_()
    assert planned == 70
    for answer in (
        asker.ask(BOTH, epsilon="0.01"),
        asker.ask("SELECT COUNT(*) FROM people WHERE income > 5", within=100),
    ):
        assert answer.rows_planned is None
        assert "rows_planned" not in answer.to_json()
        assert "matching rows" not in str(answer) + answer._repr_html_()


def test_an_interval_that_is_much_wider_than_was_named_is_said_aloud() -> None:
    """The preview has its condition beside the width.  Mutants: all widths are said aloud, or none."""
    asker, few = (
        curator(epsilon="50"),
        "SELECT PROPORTION(income > 12000) AS p FROM people WHERE income < 18000",
    )
    seen = str(asker.preview(few, within="0.02"))
    assert f"± 0.020 if {asker.preview(few, within='0.02').bounds['p'].if_rows:,} rows match" in seen
    assert "expected_rows" in seen
    answer = asker.ask(few, within="0.02")
    low, high = answer.noise_interval.low, answer.noise_interval.high
    assert (high - low) / 2 > 0.025
    assert answer.notes()[0].startswith("WIDER THAN ASKED: p is ± ")
    assert "not ± 0.020" in answer.notes()[0]
    assert "expected_rows" in answer._repr_html_()
    assert "WIDER" not in str(asker.ask("SELECT AVG(income) AS m FROM people", within=20_000))


def test_other_values_keep_their_width_when_one_changes() -> None:
    asker = curator()
    wide, narrow = (asker.preview(BOTH, within={"n": n, "avg_income": 20_000}) for n in (100, 50))
    assert wide.bounds["avg_income"] == narrow.bounds["avg_income"]
    assert wide.cost.units < narrow.cost.units


@pytest.mark.parametrize(
    ("sql", "units"),
    [
        (BOTH, "n is a count, avg_income is a mean of income"),
        (
            "SELECT SUM(income), AVG(income) FROM people",
            "sum_income is a sum of income, avg_income is a mean of",
        ),
        ("SELECT COUNT(*), PROPORTION(smoker) FROM people", "count is a count, proportion_smoker is a share"),
        ("SELECT AVG(income), AVG(income * income) AS square FROM people", ""),
    ],
)
def test_one_number_for_values_of_different_units_is_refused_by_name(sql: str, units: str) -> None:
    """One number for values of different units is refused with their names."""
    asker = curator()
    if not units:  # of the same column, made in one way: the same unit is assumed
        asker.preview(sql, within=100_000)
        return
    with pytest.raises(InvalidRequest) as refused:
        asker.ask(sql, within=100)
    assert units in refused.value.message
    names = [name.split(" is ")[0] for name in units.split(", ")]
    assert f"within {names[0]}=W,{names[1]}=W" in refused.value.message


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*), COUNT(income) AS known FROM people",
        "SELECT PROPORTION(smoker), PROPORTION(income > 5) AS rich FROM people",
        "SELECT AVG(income), AVG(CLAMP(income, 0, 50000)) AS clipped FROM people",
        "SELECT region, AVG(income) FROM people GROUP BY region",
    ],
)
def test_one_number_for_values_of_one_unit_is_understood(sql: str) -> None:
    assert curator().preview(sql, within=10_000).cost.units > 0


def test_a_batch_shares_names_and_one_number_only_within_a_unit() -> None:
    asker = curator()
    counts = ["SELECT COUNT(*) FROM people WHERE smoker", "SELECT COUNT(*) FROM people WHERE income > 5"]
    mean = "SELECT AVG(income) FROM people"
    assert len(asker.preview_many(counts, within=50)) == 2
    with pytest.raises(InvalidRequest, match="count is a count, avg_income is a mean of income"):
        asker.preview_many([*counts, mean], within=50)
    first, second, third = asker.preview_many([*counts, mean], within="count=50,avg_income=5000")
    assert first.bounds["count"].half_width == second.bounds["count"].half_width == 50
    assert third.bounds["avg_income"].half_width == pytest.approx(5000)


@pytest.mark.parametrize(
    ("within", "reason"),
    [
        ({"n": 5}, "within says nothing about avg_income"),
        (
            {"n": 5, "avg_income": 5, "x": 5},
            "'x', which is not a value of this query; its values are: n, avg_income",
        ),
        ({"n": 5, "avg_income": 0}, "within for 'avg_income' must be above 0"),
        ({"n": 5, "avg_income": "wide"}, "within for 'avg_income' must be a finite number"),
        ({"n": 5, "N": 6, "avg_income": 5}, "names 'n' twice"),
        ({}, "within names no value"),
        ("n=5,=3", "within is one number, or name=number"),
        ("n=5,7", "within is one number, or name=number"),
        ("n=5,avg_income=", "within for 'avg_income' must be a finite number"),
        ("=", "within is one number, or name=number"),
    ],
    ids=str,
)
@pytest.mark.parametrize("verb", ["ask", "preview"])
def test_a_width_that_is_missing_or_wrong_is_refused_by_name(within: Any, reason: str, verb: str) -> None:
    asker = curator()
    with pytest.raises(InvalidRequest) as refused:
        getattr(asker, verb)(BOTH, within=within)
    assert reason in refused.value.message
    assert asker.budget().queries == 0


def test_values_that_have_no_width_are_refused_as_before() -> None:
    for within in (5, {"count": 5}, {"count": 5, "median_income": 5}):
        with pytest.raises(InvalidRequest, match="name the price as epsilon or share"):
            curator().ask("SELECT COUNT(*), MEDIAN(income) FROM people", within=within)


def test_a_long_batch_is_not_listed_in_full() -> None:
    batch = [f"SELECT COUNT(*) AS n{i} FROM people WHERE income > {i}" for i in range(40)]
    with pytest.raises(InvalidRequest) as refused:
        curator().ask_many([*batch, "SELECT AVG(income) FROM people"], within=5)
    assert len(refused.value.message) < 300


def test_widths_are_exact_rationals() -> None:
    seen = curator().preview("SELECT COUNT(*) AS n FROM people", within={"n": Fraction(301, 3)})
    assert seen.bounds["n"].half_width == 100
