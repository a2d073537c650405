"""A value whose noise interval is all that it can be says nothing: it is a dash, sorts last, and says why."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adyton.certify import Answer, Interval, KnownRange, Value
from adyton.curator import Curator
from adyton.kernel.ledger import MemoryLedger
from adyton.kernel.privacy import Guarantee, PrivacyUnit
from adyton.kernel.schema import CategoryColumn, IntegerColumn, RealColumn, Table
from adyton.planning.known import known_of, left_out_rows
from adyton.population.base import NOT_DECLARED
from adyton.query.request import request_of
from adyton.study import Study
from support.curators import kept_engine
from support.randomness import SeededDefault
from support.worlds import study_with


@pytest.fixture(autouse=True)
def wide_paper(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who runs the tests may have another terminal."""
    monkeypatch.setenv("COLUMNS", "110")


ROWS = 3000
REGIONS = ("void", "full", "empty")
COLUMNS = (
    RealColumn("income", Fraction(-1000), Fraction(200000), Fraction(1, 100)),
    IntegerColumn("age", 0, 120),
    CategoryColumn("region", REGIONS),
)
MEASURES = (
    "AVG(income)",
    "PROPORTION(age > 40)",
    "MEDIAN(age)",
    "STDDEV(income)",
    "VARIANCE(age)",
    "MIN(age)",
)


def people() -> pd.DataFrame:
    rng = np.random.default_rng(2)
    return pd.DataFrame(
        {
            "income": rng.gamma(4, 9000, ROWS).round(2),
            "age": rng.integers(20, 90, ROWS),
            "region": np.where(np.arange(ROWS) < 2, "void", "full"),
        }
    )


def curator(seed: int = 1, accounting: str = "gdp") -> Curator:
    table = Table("people", COLUMNS, ROWS)
    study = study_with(table, accounting, epsilon=100, delta=Fraction(1, 10**9))
    ledger = MemoryLedger.of(study)
    engine = kept_engine(study.table, study.unit, people())
    return Curator(study, engine, ledger, SeededDefault(seed))  # type: ignore[arg-type]


def by_region(measure: str, more: str = "", **words: Any) -> Answer:
    with curator(**words) as asker:
        return asker.ask(f"SELECT region, {measure} AS v FROM people GROUP BY region {more}", epsilon=1)


def regions(answer: Answer) -> list[str]:
    return [str(row.keys["region"]) for row in answer.rows]


@pytest.mark.parametrize("accounting", ["gdp", "pure"])
@pytest.mark.parametrize("measure", MEASURES)
def test_a_group_without_rows_is_a_dash_everywhere(measure: str, accounting: str) -> None:
    """SeededDefault: that noise makes an empty group look full has probability below 1 in 20 for each."""
    answer = by_region(measure, accounting=accounting)
    told = dict(zip(regions(answer), answer.to_json()["answer"], strict=True))
    assert "uninformative" not in told["full"]["values"]["v"]
    assert told["empty"]["values"]["v"]["uninformative"].startswith(
        "the noise interval covers every possible value"
    )
    records = {record["region"]: record for record in answer.records()}
    assert records["empty"]["v"] is None
    assert records["empty"]["v_noise_low"] < records["empty"]["v_noise_high"]
    frame = answer.to_pandas().set_index("region")
    assert math.isnan(frame.v["empty"])
    assert not math.isnan(frame.v["full"])
    assert answer.to_arrow().column("v").null_count >= 1
    line = next(line for line in str(answer).splitlines() if line.startswith("│ empty"))
    assert line.split("│")[2].strip() == "-"
    assert "Where the answer is -" in str(answer)


@pytest.mark.parametrize("order", ["ORDER BY v", "ORDER BY v DESC", "ORDER BY v DESC, region LIMIT 1"])
def test_what_says_nothing_never_comes_first(order: str) -> None:
    """Noise would put the empty groups anywhere.  Mutant: order by the released numbers."""
    for seed in range(8):
        assert regions(by_region("AVG(income)", order, seed=seed))[0] == "full"


@pytest.mark.parametrize("having", ["v > -2000", "NOT v > 300000", "v <> 7", "v > -2000 OR v <= -2000"])
def test_what_says_nothing_passes_no_condition_by_luck(having: str) -> None:
    """As NULL in SQL: neither true nor false.  Mutant: compare the released numbers."""
    answer = by_region("AVG(income)", f"HAVING {having}")
    assert regions(answer) == ["full"]
    assert answer.rows_hidden == 2


def test_a_single_value_that_says_nothing_is_no_number() -> None:
    with curator() as asker:
        answer = asker.ask("SELECT AVG(income) FROM people WHERE region = 'empty'", epsilon=1)
    assert math.isnan(answer.value)
    (value,) = answer.rows[0].values.values()
    assert -1000 <= value.value <= 200000
    assert answer.to_pandas().dtypes["avg_income"] == "float64"


@pytest.mark.parametrize(
    ("measure", "known"),
    [
        ("COUNT(*)", KnownRange(count=True, step=1.0)),
        ("SUM(income)", KnownRange()),
        ("AVG(income)", KnownRange(low=-1000.0, high=200000.0)),
        ("AVG(2 * age + 1)", KnownRange(low=1.0, high=241.0)),
        ("PROPORTION(age > 3)", KnownRange(low=0.0, high=1.0)),
        ("MEDIAN(income)", KnownRange(low=-1000.0, high=200000.0, step=0.01)),
        ("MAX(age)", KnownRange(low=0.0, high=120.0, step=1.0)),
        ("VARIANCE(age)", KnownRange(low=0.0, high=3600.0)),
        ("STDDEV(age)", KnownRange(low=0.0, high=60.0)),
    ],
)
def test_what_is_known_of_a_value_before_it_is_asked(measure: str, known: KnownRange) -> None:
    query = request_of(f"SELECT {measure} FROM people", Table("people", COLUMNS, ROWS)).query
    assert known_of(query.measures[0][1]) == known


@given(st.floats(-10, 10), st.floats(0, 10), st.floats(-5, 5), st.floats(0, 5))
def test_law_an_interval_tells_something_if_it_excludes_something(
    low: float, length: float, least: float, reach: float
) -> None:
    value = Value(0.0, Interval(0.95, low, low + length), NOT_DECLARED)
    known, inside = KnownRange(low=least, high=least + reach), low <= least and low + length >= least + reach
    assert known.is_informative(value) is not inside
    assert KnownRange().is_informative(value)


# Rows that never count ----------------------------------------------------------------------------------------

TABLE = Table("visits", COLUMNS, ROWS, person="pid")


@pytest.mark.parametrize(
    ("rows", "sql", "said"),
    [
        (1, "COUNT(*)", "At most 1 row of each person counts; rows without a person do not."),
        (1200, "AVG(age)", "At most 1,200 rows of each person count; rows without a person do not."),
        (3, "COUNT(DISTINCT pid)", "Rows without a person do not count."),
        (
            3,
            "COUNT(*), COUNT(DISTINCT pid)",
            "At most 3 rows of each person count; rows without a person do not.",
        ),
    ],
)
def test_a_study_of_persons_says_which_rows_never_count(rows: int, sql: str, said: str) -> None:
    study = Study(TABLE, PrivacyUnit("replace-one", "pid", rows), Guarantee(Fraction(1), Fraction(1, 10**9)))
    assert left_out_rows(study, request_of(f"SELECT {sql} FROM visits", TABLE).query) == said
    assert "rows without a person do not" in str(study)


def test_a_count_of_persons_who_match_depends_on_which_rows_are_used() -> None:
    study = Study(TABLE, PrivacyUnit("replace-one", "pid", 3), Guarantee(Fraction(1), Fraction(1, 10**9)))
    for tail in ("WHERE age > 3", "GROUP BY region"):
        query = request_of(f"SELECT COUNT(DISTINCT pid) FROM visits {tail}", TABLE).query
        assert (
            left_out_rows(study, query)
            == "At most 3 rows of each person count; rows without a person do not."
        )


def test_a_study_of_rows_leaves_none_out() -> None:
    study = Study(
        Table("people", COLUMNS, ROWS), PrivacyUnit("replace-one"), Guarantee(Fraction(1), Fraction(1, 10**9))
    )
    assert left_out_rows(study, request_of("SELECT COUNT(*) FROM people", study.table).query) is None
    assert "person" not in str(study)
