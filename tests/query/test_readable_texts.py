"""What people read of a query: the functions that were asked, and no lists of hundreds of values."""

from __future__ import annotations

import datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adyton
from adyton.errors import InvalidRequest
from adyton.figures.answers import figure_of
from adyton.kernel.schema import DateColumn, Table
from adyton.kernel.terms.leaves import DayFrom, DayOf
from adyton.query.calendar import last_of_month, later, start_of
from adyton.query.canonical import canonical_text
from adyton.query.length import weight
from adyton.query.request import Request, asked_of
from adyton.query.sql.read import parse_group, parse_number
from adyton.query.text import number_text
from adyton.show import in_short
from support.strategies import PERSONS
from support.tries import often
from support.worlds import study_text

law = settings(deadline=None, max_examples=often(50, 500))

GROUPS = {
    **{
        f"DATE_TRUNC('{unit}', born)": f"DATE_TRUNC('{unit}', born)"
        for unit in ("week", "month", "quarter", "year")
    },
    "DATE_TRUNC('day', born)": "born",
    "DATE_TRUNC('month', born + INTERVAL 3 DAY)": "DATE_TRUNC('month', (born + INTERVAL 3 DAY))",
    "DATE_TRUNC('year', DATE_TRUNC('week', born))": "DATE_TRUNC('year', DATE_TRUNC('week', born))",
    "DATE_TRUNC('month', born) - INTERVAL '1 day'": "(DATE_TRUNC('month', born) - INTERVAL 1 DAY)",
    "LAST_DAY(born)": "LAST_DAY(born)",
    "born + INTERVAL 1 YEAR": "(born + INTERVAL 12 MONTH)",
    "born - INTERVAL 2 MONTH": "(born - INTERVAL 2 MONTH)",
    "born + INTERVAL 2 MONTH + INTERVAL 3 DAY": "((born + INTERVAL 2 MONTH) + INTERVAL 3 DAY)",
    "DATE_FROM_UNIX_DATE(3 + UNIX_DATE(born))": "(born + INTERVAL 3 DAY)",
    "EXTRACT(WEEK FROM born)": "EXTRACT(WEEK FROM born)",
    "DATE_PART('week', born)": "EXTRACT(WEEK FROM born)",
    "EXTRACT(DOY FROM born)": "EXTRACT(DOY FROM born)",
    "EXTRACT(ISOYEAR FROM LAST_DAY(born))": "EXTRACT(ISOYEAR FROM LAST_DAY(born))",
    "DATE_PART('month', born)": "EXTRACT(MONTH FROM born)",
    "YEAR(DATE_TRUNC('week', born))": "EXTRACT(YEAR FROM DATE_TRUNC('week', born))",
}


@pytest.mark.parametrize("written", GROUPS)
def test_functions_of_days_are_written_as_they_are_asked(written: str) -> None:
    """Mutants: months that were added are not found; a day inside a day is not looked at."""
    asked = asked_of(f"SELECT {written}, COUNT(*) FROM people GROUP BY 1", PERSONS)
    assert isinstance(asked, Request)
    text = canonical_text(asked.query)
    assert text.endswith(f"FROM people GROUP BY {GROUPS[written]}")
    again = asked_of(text, PERSONS)
    assert isinstance(again, Request)
    assert canonical_text(again.query) == text
    if "UNIX" not in written:
        assert again.query.by[0].value == asked.query.by[0].value  # type: ignore[union-attr]


DAYS = st.dates(datetime.date(1800, 1, 1), datetime.date(2200, 1, 1))


@law
@given(
    DAYS,
    DAYS,
    st.lists(st.sampled_from(["week", "month", "quarter", "year", "last", 1, -5, 14, 40]), max_size=3),
)
def test_law_a_day_that_functions_made_is_made_again_by_its_text(
    one: datetime.date, other: datetime.date, steps: list[str | int]
) -> None:
    """Whatever the bounds of the column are, on which the parts of a computed day depend."""
    low, high = sorted((one, other))
    column = DateColumn("d", low, high + datetime.timedelta(days=1))
    day = DayOf(column)
    for step in steps:
        if weight(day) > 100:  # what is longer is refused, sooner or later
            return
        try:
            match step:
                case "last":
                    day = last_of_month(day)  # type: ignore[assignment]
                case int():
                    day = later(day, step, 0) if step > 10 else later(day, 0, step)  # type: ignore[assignment]
                case _:
                    day = start_of(step, day)  # type: ignore[assignment]
        except InvalidRequest:
            return
    if not isinstance(day, DayFrom | DayOf):  # a day that no column decides
        return
    text = number_text(day)
    if weight(day) <= 1_000 and len(text) <= 10_000:
        again = parse_group(text, Table("t", (column,))).value
        assert number_text(again) == text  # type: ignore[arg-type]
        assert again.lattice == day.lattice  # type: ignore[union-attr]


def test_parts_of_days_inside_other_numbers_keep_their_value() -> None:
    for text in ("EXTRACT(WEEK FROM born) + 1", "2 * EXTRACT(DOY FROM born) - EXTRACT(ISOYEAR FROM born)"):
        number = parse_number(text, PERSONS)
        again = parse_number(number_text(number), PERSONS)
        assert number_text(again) == number_text(number)
        assert again.lattice == number.lattice


def test_long_lists_are_short_where_people_read_them() -> None:
    values = [f"'v{i}'" for i in range(40)]
    assert in_short(f"LABEL(x, {', '.join(values)}) AS g") == "LABEL(x, 'v0', 'v1', ..., 'v39') AS g"
    assert in_short(f"x IN ({', '.join(map(str, range(8)))})") == f"x IN ({', '.join(map(str, range(8)))})"
    assert in_short("CDF(x" + ", 0.5" * 9 + ")") == "CDF(x, 0.5, 0.5, ..., 0.5)"
    quoted = "'it''s, '"
    assert in_short("LABEL(x" + f", {quoted}" * 10 + ")") == f"LABEL(x, {quoted}, {quoted}, ..., {quoted})"


STUDY = study_text(
    {
        "day": {"kind": "date", "low": datetime.date(2022, 1, 1), "high": datetime.date(2023, 12, 31)},
    },
    name="stops",
    rows=400,
    epsilon=10,
)


def test_titles_figures_and_receipts_show_what_was_asked(tmp_path: Path) -> None:
    """Mutant: the text of a title is that of the ledger, whatever its values are called."""
    days = [datetime.date(2022, 1, 1) + datetime.timedelta(days=i) for i in range(400)]
    pq.write_table(pa.table({"day": days}), tmp_path / "stops.parquet")
    (tmp_path / "stops.toml").write_text(STUDY)
    sql = "SELECT DATE_TRUNC('month', day) AS month, COUNT(*) AS stops FROM stops GROUP BY 1 ORDER BY 1"
    with adyton.open(tmp_path / "stops.toml") as curator:
        preview, answer = curator.preview(sql, within=50), curator.ask(sql, within=50)
        listed = curator.ask("SELECT TO_CHAR(day, 'YYYY-MM') AS m, COUNT(*) FROM stops GROUP BY 1", within=50)
        receipts = [row[2] for row in curator.receipts().sheet().rows]
        titles = preview.sheet().title, answer.sheet().title, receipts[0]
        told = (*titles, answer.query, answer.to_json()["query"])
        for one in told:
            assert "DATE_TRUNC('month', day)" in str(one)
            assert "UNIX" not in str(one)
        assert "AS month, COUNT(*) AS stops FROM" in answer.query
        assert list(answer[0].keys) == ["month"]
        assert "DATE_TRUNC('month', day)" in str(figure_of(answer).vega_lite())
        assert "'2022-01', '2022-02', ..., '2023-12'" in listed.sheet().title
        assert "'2022-07'" in listed.query
        assert "..., '2023-12'" in receipts[1]
