"""Noise intervals of every kind of answer, through a whole curator on DuckDB: they cover at their level.

Every alarm is false with probability at most 1e-9 (binomial, at a true 95 %), and the bits are seeded.  A narrower
interval, planted in the same answers, is caught by the same count.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

import adyton
from adyton.certify import Interval
from adyton.curator.curator import Curator
from adyton.kernel.privacy import Guarantee, PrivacyUnit
from adyton.kernel.schema import CategoryColumn, IntegerColumn, RealColumn, Table, TextColumn
from adyton.study import Study
from support.randomness import Seeded
from support.tries import crossed, often

RUNS = often(100, 150)
DELTA = Fraction(1, 10**6)
MOST_MISSED = binom.isf(1e-9, RUNS, 0.05)
COLUMNS = (
    IntegerColumn("age", 0, 100),
    RealColumn("income", Fraction(-50), Fraction(100), Fraction(1, 2)),
    CategoryColumn("region", ("north", "south", "east")),
    TextColumn("city"),
    IntegerColumn("old", 0, 150),
)


def frame() -> pd.DataFrame:
    """300 persons of one to six rows; cities from frequent to unique."""
    rng = np.random.default_rng(11)
    person = np.repeat(np.arange(300), rng.integers(1, 7, 300))
    rows = len(person)
    return pd.DataFrame(
        {
            "pid": person,
            "age": rng.integers(0, 90, rows),
            "income": np.round(rng.normal(20, 15, rows).clip(-50, 100) * 2) / 2,
            "region": rng.choice(["north", "south"], rows),  # nobody in the east
            "city": [f"c{int(math.log2(1 + i))}" for i in person],
        }
    ).assign(old=lambda known: known["age"] + rng.integers(0, 60, rows))


FRAME = frame()
PERSONS = FRAME.groupby("pid")


def asker(*, persons: bool, accounting: str, limit: int = 490, seed: int = 7) -> Curator:
    """Noise that is the same in every test run, and for most queries a budget that does not run out."""
    unit = PrivacyUnit("add-remove", "pid" if persons else None, 6 if persons else 1)
    table = Table("people", COLUMNS, rows=2000, person=unit.person)
    guaranteed, discovery_delta = (
        Guarantee(Fraction(limit), DELTA),
        DELTA if accounting == "pure" else DELTA / 10,
    )
    made = adyton.open(
        Study(table, unit, guaranteed, accounting, discovery_delta=discovery_delta), data=FRAME
    )
    return Curator(made.study, made._engine, made._ledger, Seeded(seed))


def answers(sql: str, epsilon: float, *, persons: bool, accounting: str) -> Iterator[adyton.Answer]:
    """The same query again and again, each time at a price of its own: otherwise it is only asked once.

    Groups are discovered in studies of a small budget, one after the other: the threshold grows with the whole budget.
    """
    each, limit = (6, 20) if "city" in sql else (RUNS, 490)
    with asker(persons=persons, accounting=accounting, limit=limit) as first:  # and its table serves all
        for start in range(0, RUNS, each):
            own = asker(persons=persons, accounting=accounting, limit=limit, seed=start)
            curator = Curator(own.study, first._engine, own._ledger, own._bits)
            for run in range(each):
                yield curator.ask(sql, epsilon=f"{epsilon * (1 + run * 1e-6):.9f}")


def narrowed(interval: Interval, value: float, factor: float) -> tuple[float, float]:
    return value + (interval.low - value) * factor, value + (interval.high - value) * factor


Truth = Callable[[dict[str, Any]], float]
AGES = FRAME["age"].to_numpy()
SORTED = np.sort(AGES)
OLD = FRAME["old"].to_numpy()
COVARIANCE = float(np.cov(AGES, OLD, ddof=0)[0, 1])
CORRELATION = float(np.corrcoef(AGES, OLD)[0, 1])
SLOPE = COVARIANCE / float(OLD.var())


def of_region(statistic: Callable[[pd.DataFrame], float]) -> Truth:
    return lambda keys: statistic(FRAME[FRAME["region"] == keys["region"]])


CASES: dict[str, tuple[bool, str, float, float, Truth]] = {
    "variance": (False, "SELECT VARIANCE(age) AS v FROM people", 2, 0.2, lambda keys: float(AGES.var())),
    "deviation": (False, "SELECT STDDEV(age) AS v FROM people", 2, 0.2, lambda keys: float(AGES.std())),
    "median": (
        False,
        "SELECT MEDIAN(age) AS v FROM people",
        1,
        0.1,
        lambda keys: float(SORTED[(len(AGES) - 1) // 2]),
    ),
    "distribution": (
        False,
        "SELECT CDF(age, 20, 45, 70) AS v FROM people",
        0.5,
        0.2,
        lambda keys: float((keys["upto"] >= AGES).mean()),
    ),
    "covariance": (False, "SELECT COVAR_POP(age, old) AS v FROM people", 2, 0.1, lambda keys: COVARIANCE),
    "correlation": (False, "SELECT CORR(age, old) AS v FROM people", 3, 0.05, lambda keys: CORRELATION),
    "slope": (False, "SELECT REGR_SLOPE(age, old) AS v FROM people", 2, 0.1, lambda keys: SLOPE),
    "intercept": (
        False,
        "SELECT REGR_INTERCEPT(age, old) AS v FROM people",
        2,
        0.1,
        lambda keys: float(AGES.mean() - SLOPE * OLD.mean()),
    ),
    "persons": (True, "SELECT COUNT(DISTINCT pid) AS v FROM people", 1, 0.2, lambda keys: 300.0),
    "persons by region": (
        True,
        "SELECT region, COUNT(DISTINCT pid) AS v FROM people GROUP BY region",
        1,
        0.4,
        of_region(lambda rows: float(rows["pid"].nunique())),
    ),
    "sum per person": (
        True,
        "SELECT SUM(age, contribution_bounds_per_group => (0, 150)) AS v FROM people",
        1,
        0.4,
        lambda keys: float(PERSONS["age"].sum().clip(0, 150).sum()),
    ),
    "means by region": (
        False,
        "SELECT region, AVG(income) AS v FROM people WHERE region IN ('north', 'south') GROUP BY region",
        2,
        0.2,
        of_region(lambda rows: float(rows["income"].mean())),
    ),
    "discovered groups": (
        False,
        "SELECT city, COUNT(*) AS v FROM people GROUP BY city",
        3,
        0.4,
        lambda keys: float((FRAME["city"] == keys["city"]).sum()),
    ),
    "discovered groups of persons": (
        True,
        "SELECT city, COUNT(DISTINCT pid) AS v FROM people GROUP BY city",
        3,
        0.4,
        lambda keys: float(FRAME[FRAME["city"] == keys["city"]]["pid"].nunique()),
    ),
}


# With pure noise, six keys a person and this budget the threshold is above every city.
ALWAYS_GAUSSIAN = "discovered groups of persons"
TRIED = [
    (ALWAYS_GAUSSIAN, "gdp"),
    *crossed([name for name in CASES if name != ALWAYS_GAUSSIAN], ("gdp", "pure")),
]


@pytest.mark.parametrize(("name", "accounting"), TRIED)
def test_law_a_noise_interval_covers_at_its_level(name: str, accounting: str) -> None:
    persons, sql, epsilon, factor, truth_of = CASES[name]
    missed: dict[str, int] = {}
    narrow: dict[str, int] = {}
    truths: dict[str, float] = {}
    for answer in answers(sql, epsilon, persons=persons, accounting=accounting):
        for row in answer.rows:
            key, value = str(row.keys), row.values["v"]
            if row.keys.get("region") == "east" and "AVG" in sql:
                continue  # the mean of nobody
            if key not in truths:
                truths[key] = truth_of(row.keys)
            truth = truths[key]
            found = value.noise_interval
            assert found.level == 0.95
            assert found.low <= value.value <= found.high
            missed[key] = missed.get(key, 0) + (not found.low <= truth <= found.high)
            low, high = narrowed(found, value.value, factor)
            narrow[key] = narrow.get(key, 0) + (not low <= truth <= high)
    assert missed
    assert max(missed.values()) <= MOST_MISSED
    assert max(narrow.values()) > MOST_MISSED, (narrow, missed)


@pytest.mark.parametrize("accounting", ["gdp", "pure"])
def test_law_the_number_of_keys_that_are_not_shown_is_covered(accounting: str) -> None:
    cities = FRAME["city"].nunique()
    missed = narrow = 0
    sql = "SELECT city, COUNT(DISTINCT pid) FROM people GROUP BY city"
    for answer in answers(sql, 2, persons=True, accounting=accounting):
        found = answer.discovered_groups
        assert found is not None
        hidden = cities - found.shown
        missed += not found.interval.low <= hidden <= found.interval.high
        low, high = narrowed(found.interval, (found.interval.low + found.interval.high) / 2, 0.2)
        narrow += not low <= hidden <= high
    assert missed <= MOST_MISSED
    assert narrow > MOST_MISSED


@pytest.mark.parametrize("which", ["MIN", "MAX"])
def test_law_an_extreme_has_a_row_beyond_its_inner_end(which: str) -> None:
    missed = 0
    for answer in answers(f"SELECT {which}(age) AS v FROM people", 1, persons=False, accounting="gdp"):
        interval = answer.rows[0].values["v"].noise_interval
        truth = SORTED[0] if which == "MIN" else SORTED[-1]
        missed += not interval.low <= truth <= interval.high
    assert missed <= MOST_MISSED
