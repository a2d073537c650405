"""Aggregates of dates: asked as days, shown as dates wherever an answer is shown."""

from __future__ import annotations

import datetime
from fractions import Fraction

import pandas as pd
import pytest

from adyton.certify import Answer
from adyton.certify.values import day_text
from adyton.errors import InvalidRequest
from adyton.kernel.schema import CategoryColumn, DateColumn, Table
from adyton.query.sql.read import parse
from adyton.study import Validity
from support.curators import seeded
from support.worlds import study_with

FIRST, LAST = datetime.date(1900, 1, 1), datetime.date(2020, 12, 31)
TABLE = Table("t", (DateColumn("born", FIRST, LAST), CategoryColumn("g", ("a", "b"))), rows=4000)
STUDY = study_with(TABLE, epsilon=100, validity=Validity(Fraction(9, 10)))
DAYS = [datetime.date(1950, 1, 1) + datetime.timedelta(days=5 * i) for i in range(4000)]
DATA = pd.DataFrame({"born": [day.isoformat() for day in DAYS], "g": ["a", "b"] * 2000})
ASKED = (
    "SELECT MIN(born), MAX(born), MEDIAN(born), AVG(born), "
    "PERCENTILE_DISC(0.9) WITHIN GROUP (ORDER BY born) AS late, COUNT(*) FROM t"
)
TRUTH = {
    "min_born": DAYS[0],
    "max_born": DAYS[-1],
    "median_born": DAYS[1999],
    "avg_born": DAYS[2000],
    "late": DAYS[3599],
}


@pytest.fixture(scope="module")
def answer() -> Answer:
    return seeded(STUDY, DATA, 5).ask(ASKED, epsilon="20")


def test_records_json_and_the_table_have_dates_that_hold_the_truth(answer: Answer) -> None:
    (record,), told = answer.records(), answer.to_json()["answer"][0]["values"]
    for name, truth in TRUTH.items():
        low, value, high = (
            datetime.date.fromisoformat(record[one])
            for one in (f"{name}_noise_low", name, f"{name}_noise_high")
        )
        assert low <= value <= high
        assert low <= truth <= high
        assert abs(value - truth) < datetime.timedelta(days=200)
        said = told[name]
        assert said["value"] == record[name]
        assert said["noise_interval"]["low"] == record[f"{name}_noise_low"]
        assert record[name] in str(answer)
    assert isinstance(record["count"], float)
    assert told["avg_born"]["population_interval"]["low"] == record["avg_born_population_low"] < "1977-05-19"
    assert "absent" in told["min_born"]["population_interval"]
    assert answer.to_pandas()["late"][0] == record["late"]


def test_ends_are_rounded_outwards_and_values_to_the_nearest_day(answer: Answer) -> None:
    value, (record,) = answer.rows[0].values["avg_born"], answer.records()
    assert value.noise_interval.low % 1  # no whole number of days
    low, high = (
        datetime.date.fromisoformat(record[f"avg_born_noise_{end}"]) - datetime.date(1970, 1, 1)
        for end in ("low", "high")
    )
    assert low.days < value.noise_interval.low < low.days + 1
    assert high.days - 1 < value.noise_interval.high < high.days
    assert record["avg_born"] == day_text(round(value.value))


def test_what_says_nothing_has_no_date_in_records() -> None:
    """A mean of the few who were born on one day, at a price at which nothing is seen of them."""
    asked = "SELECT AVG(born) AS v FROM t WHERE born < DATE '1950-01-02' AND g = 'b'"
    (record,) = seeded(STUDY, DATA, 6).ask(asked, epsilon="0.01").records()
    assert (record["v"], record["v_noise_low"], record["v_noise_high"]) == (None, "1900-01-01", "2020-12-31")


def test_a_difference_of_dates_is_a_number_of_days() -> None:
    asked = "SELECT MAX(born) - MIN(born) AS span FROM t"
    span = seeded(STUDY, DATA, 7).ask(asked, epsilon="20").rows[0].values["span"]
    assert span.noise_interval.low <= 5 * 3999 <= span.noise_interval.high


@pytest.mark.parametrize("asked", ["SUM(born)", "VARIANCE(born)", "CORR(born, born)", "AVG(born, g)"])
def test_days_are_not_added_up(asked: str) -> None:
    with pytest.raises(InvalidRequest):
        parse(f"SELECT {asked} FROM t", TABLE)
