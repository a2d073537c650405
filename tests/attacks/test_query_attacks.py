"""Attacks with queries, on a real curator over DuckDB: what an analyst with a keyboard would try."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chisquare

import adyton
from adyton.errors import CuratorError, InvalidRequest
from adyton.kernel.noise import SystemBits, rounded_gaussian, two_sided_geometric
from adyton.kernel.privacy import Guarantee, PrivacyUnit
from adyton.kernel.schema import CategoryColumn, IntegerColumn, RealColumn, Table, TextColumn
from adyton.noise_intervals.laws import gaussian_pmf, geometric_pmf
from adyton.study import PrivateTable, Study
from support.curators import open_kept

BUDGET = Guarantee(Fraction(10), Fraction(1, 10**9))
PLENTY = Guarantee(Fraction(450), Fraction(1, 10**9))  # for looking at what is nearly exact
COLUMNS = (
    IntegerColumn("age", 0, 120),
    RealColumn("income", Fraction(0), Fraction(1000), Fraction(1)),
    CategoryColumn("region", ("north", "south")),
)
PEOPLE = Table("people", COLUMNS, None, person="pid")
PERSONS = PrivacyUnit("add-remove", "pid", 2)


def frame(rows: int = 200, **last: Any) -> pd.DataFrame:
    """Rows of plain values, and one more if ``last`` says what is in it."""
    plain = pd.DataFrame(
        {
            "pid": [f"p{i}" for i in range(rows)],
            "age": [float(i % 100) for i in range(rows)],
            "income": [float(i % 700) for i in range(rows)],
            "region": (["north", "south"] * rows)[:rows],
        }
    )
    return pd.concat([plain, pd.DataFrame([last])], ignore_index=True) if last else plain


def curator(data: Any, **facts: Any) -> adyton.Curator:
    return open_kept(Study(**({"table": PEOPLE, "unit": PERSONS, "budget": BUDGET} | facts)), data=data)


# A4 -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [0.7, 3.0, 40.0])
@pytest.mark.parametrize(
    ("draw", "pmf"),
    [(rounded_gaussian.draw, gaussian_pmf), (two_sided_geometric.draw, geometric_pmf)],
    ids=["rounded_gaussian", "two_sided_geometric"],
)
def test_A4_a_million_draws_have_the_exact_law(draw: Any, pmf: Any, scale: float) -> None:
    """Chi-square against the exact probabilities; false alarm 1e-9 for each of the six."""
    drawn = np.asarray(draw(scale, 10**6, SystemBits()))
    reach = int(np.ceil(3 * scale))
    inside = np.array([pmf(scale, z) for z in range(-reach, reach + 1)], float)
    expected = np.append(inside, 1 - inside.sum()) * len(drawn)
    counts = np.array([(drawn == z).sum() for z in range(-reach, reach + 1)])
    observed = np.append(counts, len(drawn) - counts.sum())
    assert chisquare(observed, expected * observed.sum() / expected.sum()).pvalue > 1e-9
    assert drawn.dtype.kind == "i"


# A9 -------------------------------------------------------------------------------------------------------------


def test_A9_a_key_that_one_person_has_is_not_shown() -> None:
    """All answers together may show it with probability 1e-10; the common key is always there."""
    table = Table("people", (TextColumn("town"),), None, person="pid")
    data = pd.DataFrame({"pid": [f"p{i}" for i in range(1001)], "town": ["here"] * 1000 + ["rare"]})
    with curator(data, table=table, budget=BUDGET, discovery_delta=Fraction(1, 10**10)) as asker:
        for i in range(8):
            shown = {
                row.keys["town"]
                for row in asker.ask(
                    f"SELECT town, COUNT(DISTINCT pid) AS n{i} FROM people GROUP BY town", epsilon=1
                ).rows
            }
            assert shown == {"here"}


# A11 ------------------------------------------------------------------------------------------------------------

VISITS = Table("visits", (IntegerColumn("days", 0, 30),), None, person="pid")


def joined(visits: int) -> dict[str, Any]:
    """One person with so many visits and as many rows at home, beside fifty plain ones."""
    heavy = ["heavy"] * visits
    return {
        "people": frame(50).assign(pid=[f"p{i}" for i in range(50)])
        if not visits
        else pd.concat([frame(50), frame(visits).assign(pid=heavy, age=100.0)], ignore_index=True),
        "visits": pd.DataFrame(
            {"pid": [*(f"p{i}" for i in range(50)), *heavy], "days": [3] * 50 + [30] * visits}
        ),
    }


def test_A11_a_join_of_a_thousand_matches_moves_no_more_than_was_paid_for() -> None:
    """2 rows here, 3 there: at most 6 joined rows of a person, whatever the tables hold."""
    sql = "SELECT COUNT(*) AS n FROM people JOIN visits ON people.pid = visits.pid"
    counts = []
    for visits in (0, 1000):
        with curator(joined(visits), further=(PrivateTable(VISITS, 3),), budget=PLENTY) as asker:
            sensitivity = asker.preview(sql, scale="0.3").steps[0].sensitivity
            assert sensitivity == 6
            counts.append(asker.ask(sql, scale="0.3").rows[0].values["n"].value)
    assert abs(counts[0] - 50) <= 3  # ten scales of noise
    assert 50 <= counts[1] <= 59


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) FROM people JOIN people ON people.pid = people.pid",
        "SELECT COUNT(*) FROM people a JOIN people b ON a.pid = b.pid",
        "SELECT COUNT(*) FROM people JOIN visits ON people.pid = visits.pid JOIN visits ON people.pid = visits.pid",
        "SELECT COUNT(*) FROM people JOIN visits ON people.age = visits.days",
        "SELECT COUNT(*) FROM people JOIN visits ON TRUE",
        "SELECT COUNT(*) FROM people CROSS JOIN visits",
        "SELECT COUNT(*) FROM people, visits",
        "SELECT COUNT(*) FROM people JOIN visits ON people.pid = visits.pid OR TRUE",
        "SELECT COUNT(*) FROM people JOIN visits ON people.pid <> visits.pid",
        "SELECT COUNT(*) FROM people JOIN visits USING (age)",
    ],
)
def test_A11_other_joins_are_refused_free_of_charge(sql: str) -> None:
    with curator(joined(3), further=(PrivateTable(VISITS, 3),)) as asker:
        with pytest.raises(InvalidRequest):
            asker.ask(sql, epsilon="0.1")
        assert asker.budget().queries == 0


# A12 ------------------------------------------------------------------------------------------------------------

REDEFINED: list[tuple[str, Callable[[float], float]]] = [
    ("CLAMP(age, 0, 10) * 100", lambda a: min(max(a, 0), 10) * 100),
    ("CLAMP(CLAMP(age, 0, 10) * 100, 200, 2000)", lambda a: min(max(min(max(a, 0), 10) * 100, 200), 2000)),
    ("(age - 60) * (age - 60)", lambda a: (a - 60) ** 2),
    ("CASE WHEN age > 100 THEN age * 50 ELSE 0 - age END", lambda a: a * 50 if a > 100 else -a),
    (
        "CASE WHEN age > 5 THEN 1 ELSE CLAMP(age, 0, 3) * 7 END",
        lambda a: 1 if a > 5 else min(max(a, 0), 3) * 7,
    ),
    ("FLOOR(age / 10) * 10 + 3", lambda a: a // 10 * 10 + 3),
]


@pytest.mark.parametrize(("written", "meant"), REDEFINED)
def test_A12_a_value_that_is_made_anew_has_bounds_that_are_derived_anew(
    written: str, meant: Callable[[float], float]
) -> None:
    """The sensitivity is that of the new value over the declared bounds: no less, and clipping cannot be undone."""
    most = max(abs(meant(age)) for age in range(121))
    with curator(frame(), budget=PLENTY) as asker:
        asked = asker.preview(f"SELECT SUM({written}) AS s FROM people", epsilon="0.1")
        assert asked.steps[0].sensitivity >= 2 * most  # two rows of a person
        answer = asker.ask(f"SELECT SUM({written}) AS s FROM people", scale=most / 5)
    exact = sum(meant(i % 100) for i in range(200))
    assert (
        abs(answer.rows[0].values["s"].value - exact) <= 2 * most
    )  # ten scales of noise; the sum is some hundred times as large


# A18 ------------------------------------------------------------------------------------------------------------

PROBES = [
    "SELECT SUM(1 / age) FROM people",
    "SELECT AVG(age / income) FROM people",
    "SELECT SUM(CAST(region AS INT)) FROM people",
    "SELECT SUM(LN(age)) FROM people",
    "SELECT SUM(SQRT(0 - age)) FROM people",
    "SELECT SUM(EXP(income)) FROM people",
    "SELECT SUM(age % income) FROM people",
    "SELECT SUM(CASE WHEN age = 77 THEN 1 / 0 ELSE 1 END) FROM people",
    "SELECT COUNT(*) FROM people WHERE 1 / age > 0",
    "SELECT SUM(age * age * age * age) FROM people",
    "SELECT SUM(income * 1000000000) FROM people",
    "SELECT AVG(income) FROM people WHERE region = 'north'",
    "SELECT region, AVG(age), VARIANCE(income) FROM people GROUP BY region",
    "SELECT MEDIAN(income) FROM people WHERE age > 119",
    "SELECT SUM(CASE WHEN age > 50 THEN income ELSE 0 END) FROM people",
    "SELECT HISTOGRAM(age, 10) FROM people",
]
ROWS = [
    {"pid": "x", "age": 0.0, "income": 0.0, "region": "north"},
    {"pid": "x", "age": 77.0, "income": 1e308, "region": "a town that nobody declared"},
    {"pid": "x", "age": float("nan"), "income": float("-inf"), "region": None},
    {"pid": None, "age": -1e300, "income": 5e-324, "region": ""},
    {"pid": "x", "age": 1e18, "income": -0.0, "region": "'; DROP TABLE people; --"},
]


def observed(sql: str, data: pd.DataFrame) -> tuple[Any, ...]:
    """All that an analyst sees but for the noisy numbers: status, message, charge, shape."""
    with curator(data) as asker:
        try:
            answer = asker.ask(sql, epsilon="0.1")
        except CuratorError as error:
            return type(error).__name__, str(error), asker.budget().spent
        shape = [(tuple(row.keys.items()), tuple(row.values)) for row in answer.rows]
        return "answered", shape, answer.cost, answer.certificate, asker.budget().spent


@pytest.mark.parametrize("sql", PROBES)
def test_A18_no_row_changes_whether_or_how_a_query_is_answered(sql: str) -> None:
    without = observed(sql, frame())
    for row in ROWS:
        assert observed(sql, frame(**row)) == without


# A26: what a payload may cost in memory; the rest is in test_A26_hostile_sql.py ----------------------------------

BOMBS = {
    "parentheses": "SELECT COUNT(*) FROM people WHERE " + "(" * 50_000 + "age > 1" + ")" * 50_000,
    "open parentheses": "SELECT COUNT(*) FROM people WHERE " + "(" * 100_000,
    "not": "SELECT COUNT(*) FROM people WHERE " + "NOT " * 50_000 + "age > 1",
    "and": "SELECT COUNT(*) FROM people WHERE " + " AND ".join(["age > 1"] * 50_000),
    "plus": "SELECT SUM(" + " + ".join(["age"] * 50_000) + ") FROM people",
    "times": "SELECT SUM(" + " * ".join(["age"] * 200) + ") FROM people",
    "minus": "SELECT SUM(" + "-" * 100_000 + "age) FROM people",
    "case": "SELECT SUM(" + "CASE WHEN age > 1 THEN " * 5_000 + "1" + " ELSE 0 END" * 5_000 + ") FROM people",
    "in": "SELECT COUNT(*) FROM people WHERE age IN (" + ", ".join(map(str, range(100_000))) + ")",
    "digits": "SELECT COUNT(*) FROM people WHERE age > " + "9" * 100_000,
    "exponent": "SELECT COUNT(*) FROM people WHERE income > 1e999999999",
    "small exponent": "SELECT COUNT(*) FROM people WHERE income > 1e-999999999",
    "text": "SELECT COUNT(*) FROM people WHERE region = '" + "x" * 2_000_000 + "'",
    "comment": "SELECT COUNT(*) FROM people /*" + "x" * 2_000_000 + "*/ WHERE agee > 1",
    "names": "SELECT " + ", ".join(f"COUNT(*) AS n{i}" for i in range(20_000)) + " FROM people",
    "bins": "SELECT HISTOGRAM(income, 0.000000001) FROM people",
    "points": "SELECT CDF(income, " + ", ".join(str(i / 100) for i in range(50_000)) + ") FROM people",
    "groups": "SELECT COUNT(*) FROM people GROUP BY " + ", ".join(["region"] * 5_000),
    "zero bytes": "SELECT COUNT(*) FROM people\0 WHERE age > 1",
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_A26_a_bomb_is_refused_before_it_costs_memory(bomb: str) -> None:
    before = memory("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the most so far is what there is now
    with curator(frame()) as asker:
        with pytest.raises(InvalidRequest) as caught:
            asker.ask(BOMBS[bomb], epsilon="0.01")
        assert asker.budget().queries == 0
    assert len(caught.value.message) < 2_000  # a message is for reading
    assert memory("VmHWM") - before < 500_000  # kilobytes


def memory(name: str) -> int:
    """``ru_maxrss`` would keep what other tests, or the process that started this one, once had."""
    return int(Path("/proc/self/status").read_text().partition(f"{name}:")[2].split()[0])
