"""Columns that say more than a kind and bounds: zones, parts of timestamps, the longest text; and plain numbers."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pandas as pd
import pytest

import adyton
from adyton.curator.mock_file import write_mock
from adyton.engines.loading.given import FIRST_DAY, LAST_DAY, changes
from adyton.errors import InvalidRequest
from adyton.kernel.privacy import Guarantee, PrivacyUnit
from adyton.kernel.schema import ClockPart, DateColumn, IntegerColumn, RealColumn, Table, TextColumn
from adyton.planning.readings import readings_of
from adyton.query.sql.read import parse
from adyton.setup.drafting import DraftOptions, draft_study
from adyton.study import Study, read_study

FILE = """
table = { name = "flights", source = "flights.parquet", rows = 240 }
privacy = { unit = "row", adjacency = "replace-one", epsilon = 50, delta = 1e-9 }
columns.at = { kind = "date", low = 2013-01-01, high = 2013-12-31 ZONE }
columns.hour = { kind = "integer" PART }
columns.note = { kind = "text" LONGEST }
"""


def study_in(
    folder: Path, zone: str = "", part: str = ', from = "at", part = "hour"', longest: str = ""
) -> Study:
    text = FILE.replace("ZONE", zone).replace("PART", part).replace("LONGEST", longest)
    (folder / "flights.toml").write_text(text)
    return read_study(folder / "flights.toml")


def flights(folder: Path) -> pd.DataFrame:
    hours = pd.date_range("2013-03-08", periods=240, freq="h", tz="UTC")
    frame = pd.DataFrame({"at": hours, "note": ["late"] * 240})
    frame.to_parquet(folder / "flights.parquet")
    return frame


def exact(curator: Any, sql: str) -> list[int]:
    """Without noise: what the engine reads."""
    curator._engine.prepare()
    (((counts),),) = curator._engine.exact(readings_of(parse(sql, curator.study.table), curator.study.unit))
    return list(counts)


def test_hours_and_days_of_a_zone_can_be_asked(tmp_path: Path) -> None:
    """The clocks of New York went forward on 10 March: at 2 o'clock nothing happened that day."""
    zone, part = ', zone = "America/New_York"', ', from = "AT", part = "hour", zone = "America/New_York"'
    frame = flights(tmp_path)
    study_in(tmp_path, zone, part)
    local = frame["at"].dt.tz_convert("America/New_York")
    days = local.dt.date.map(str).value_counts().to_dict()
    with adyton.open(tmp_path / "flights.toml") as curator:
        by_hour = exact(curator, "SELECT hour, COUNT(*) FROM flights GROUP BY hour")
        for day, wanted in days.items():
            assert exact(curator, f"SELECT COUNT(*) FROM flights WHERE at = DATE '{day}'") == [wanted]
    assert by_hour == [int((local.dt.hour == hour).sum()) for hour in range(24)]
    assert len(set(by_hour)) > 1


def test_what_is_declared_belongs_to_the_facts_only_where_it_is_used(tmp_path: Path) -> None:
    """A ledger from before there were zones stays valid."""
    plain = study_in(tmp_path, part=", low = 0, high = 23")
    older = Study(plain.table, plain.unit, plain.budget).fingerprint
    assert plain.fingerprint == older
    changed = [
        study_in(tmp_path),
        study_in(tmp_path, part=', from = "at", part = "minute"'),
        study_in(tmp_path, part=', from = "at", part = "hour", zone = "Asia/Tokyo"'),
        study_in(tmp_path, zone=', zone = "Asia/Tokyo"', part=", low = 0, high = 23"),
        study_in(tmp_path, longest=", longest = 20", part=", low = 0, high = 23"),
    ]
    assert len({plain.fingerprint, *(study.fingerprint for study in changed)}) == 6
    same = study_in(tmp_path, longest=", longest = 4096", part=", low = 0, high = 23")
    assert same.fingerprint == plain.fingerprint


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (
            {"zone": ', zone = "America/NewYork"'},
            "no time zone 'America/NewYork'; did you mean 'America/New_York'",
        ),
        ({"zone": ', zone = "../../etc/passwd"'}, "columns.at.zone: this machine knows no time zone"),
        ({"zone": ", zone = 5"}, "columns.at.zone is missing: a time zone, e.g. America/New_York"),
        ({"part": ', from = "at"'}, "columns.hour.part is missing; write one of: hour, minute"),
        ({"part": ', from = "at", part = "second"'}, "columns.hour.part must not be 'second'"),
        ({"part": ', from = "at", part = "hour", low = 0'}, "columns.hour: leave out low and high"),
        ({"part": ', low = 0, high = 23, part = "hour"'}, "columns.hour.part goes with from"),
        (
            {"longest": ", longest = 0"},
            "columns.note.longest must be a whole number of bytes from 1 to 1000000",
        ),
        ({"longest": ', longest = "9"'}, "columns.note.longest must be a whole number"),
    ],
)
def test_a_wrong_key_is_named_with_its_fix(given: dict[str, str], says: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest) as caught:
        study_in(tmp_path, **given)
    assert says in caught.value.message


def test_init_shows_zones_and_hours_for_timestamps(tmp_path: Path) -> None:
    """And what it shows is right once the signs are removed."""
    flights(tmp_path)
    draft = draft_study(tmp_path / "flights.parquet", DraftOptions("1", "1e-9"), tmp_path / "flights.toml")
    shown = draft[draft.index("[columns.at]") : draft.index("[columns.note]")]
    lines = [line.removeprefix("# ") for line in shown.splitlines()]
    filled = (
        "\n".join(lines)
        .replace('low = "FILL IN"', "low = 2013-01-01")
        .replace('high = "FILL IN"', "high = 2014-01-01")
    )
    rest = draft[: draft.index("[columns.at]")] + filled
    (tmp_path / "flights.toml").write_text(rest)
    at, hour = read_study(tmp_path / "flights.toml").table.columns
    assert at == DateColumn("at", datetime.date(2013, 1, 1), datetime.date(2014, 1, 1), "Europe/Berlin")
    assert hour == IntegerColumn("at_hour", 0, 23, ClockPart("at", "hour", "Europe/Berlin"))
    assert "zone" not in draft[draft.index("[columns.note]") :]


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_a_mock_has_the_timestamps_that_its_parts_are_taken_from(suffix: str, tmp_path: Path) -> None:
    study = study_in(tmp_path, part=', from = "departed", part = "hour", zone = "Asia/Tokyo"')
    (path,) = write_mock(study, tmp_path / f"mock.{suffix}")
    for curator in (study_curator(study), adyton.open(study, data=path)):
        with curator:
            counts = exact(curator, "SELECT hour, COUNT(*) FROM flights GROUP BY hour")
            assert 200 <= sum(counts) <= 240
            assert sum(count > 0 for count in counts) > 18


def study_curator(study: Study) -> Any:
    with adyton.open(study, data=pd.DataFrame()) as curator:
        return curator.mock()


# In Python --------------------------------------------------------------------------------------------------


def test_numbers_of_any_exact_kind_make_a_real_column() -> None:
    wanted = RealColumn("income", Fraction(0), Fraction(200_000), Fraction(1, 10))
    for low, high, step in ((0, 200_000, 0.1), (0.0, 2e5, "0.1"), (Decimal(0), "200000", Decimal("0.1"))):
        assert RealColumn("income", low, high, step) == wanted  # type: ignore[arg-type]
    assert RealColumn("income", 0, 200_000, 10).lattice.high == 20_000  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "make",
    [
        lambda: RealColumn("x", "low", 1, 1),  # type: ignore[arg-type]
        lambda: RealColumn("x", None, 1, 1),  # type: ignore[arg-type]
        lambda: RealColumn("x", 0, float("inf"), 1),  # type: ignore[arg-type]
        lambda: RealColumn("x", 0, 1, True),
        lambda: IntegerColumn("x", 0, 1.5),  # type: ignore[arg-type]
        lambda: IntegerColumn("x", True, 5),
        lambda: IntegerColumn("x", 0, 24, ClockPart("at", "hour")),
        lambda: IntegerColumn("x", 0, 23, ClockPart("at", "second")),  # type: ignore[arg-type]
        lambda: TextColumn("x", 0),
        lambda: TextColumn("x", 1.0),  # type: ignore[arg-type]
    ],
)
def test_what_makes_no_column_is_refused_in_words(make: Callable[[], object]) -> None:
    with pytest.raises(InvalidRequest, match=r"columns\.x"):
        make()


@pytest.mark.parametrize(
    ("person", "unit"),
    [
        (None, PrivacyUnit("add-remove", person="pid", rows=3)),
        ("other", PrivacyUnit("add-remove", person="pid")),
        ("pid", PrivacyUnit("add-remove")),
    ],
)
def test_a_table_that_does_not_know_whose_rows_are_protected_is_refused(
    person: str | None, unit: PrivacyUnit
) -> None:
    """It would ask for COUNT(DISTINCT pid), and refuse it."""
    budget = Guarantee(Fraction(1), Fraction(1, 10**9))
    with pytest.raises(InvalidRequest, match=r"write Table\('t', ..., person="):
        Study(Table("t", (IntegerColumn("x", 0, 1),), person=person), unit, budget)


@pytest.mark.parametrize(
    "zone", ["America/New_York", "Africa/Casablanca", "Asia/Gaza", "Pacific/Apia", "UTC"]
)
def test_the_offsets_of_a_zone_are_those_of_python(zone: str) -> None:
    """At each change, a second before it, and at noon of days in between."""
    known, epoch = changes(zone), datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
    seconds = [second for change, _ in known for second in (change, change - 1)][2:]
    noons = range(int((datetime.datetime(1900, 1, 1, 12, tzinfo=datetime.UTC) - epoch).total_seconds()), 4_102_444_800, 86_400 * 17)  # fmt: skip
    for second in (*seconds, *noons):
        offset = (epoch + datetime.timedelta(seconds=second)).astimezone(ZoneInfo(zone)).utcoffset()
        assert offset == datetime.timedelta(seconds=[o for start, o in known if start <= second][-1])
    assert (FIRST_DAY.year, LAST_DAY.year) == (1900, 2100)
