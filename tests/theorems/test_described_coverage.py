"""Intervals of described queries at their certified numbers: the whole failure lies on the words that are asked.

A table holds many studies side by side: each has rows of its own in each of its ``WORDS`` cells, and each cell is a
word of equal weight.  Cells have no row in common, so all of them are independent.  Nearly all of a study's failure
is given to the rows of described queries, and the query is registered, which has half of all weight.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

import adyton
from adyton.arithmetic.ratio import Ends
from adyton.kernel.schema import IntegerColumn, Table
from adyton.planning.measures import mean_with_squares
from adyton.population import base
from adyton.query import description
from adyton.study import Study, Validity
from adyton.validity.described import described_width
from support.curators import seeded
from support.tries import often

STUDIES, WORDS, ROWS = often(36, 240), 600, 40
MEDIAN_STUDIES = often(60, 1_000)
CELLS, CONFIDENCE, KEPT = STUDIES * WORDS, Fraction(1, 100), Fraction(98, 100)
FAILURE = float((1 - CONFIDENCE) * KEPT / 2)  # of one study, for all of its words together
ALARM = 1e-7  # for each of the six cases below
RARE = 0.2
COUNT = "SELECT w, COUNT(*) AS v FROM t WHERE x > 0 GROUP BY w"
MEAN = "SELECT w, AVG(x) AS v FROM t GROUP BY w"
MEDIAN = "SELECT MEDIAN(y) AS v FROM t"
PEOPLE = 400


def study(
    columns: tuple[IntegerColumn, ...], rows: int, accounting: str, registered: tuple[str, ...]
) -> Study:
    """With hardly any noise, which would hide what is tried here."""
    pure = accounting == "pure"
    stability: dict[str, Any] = {"stability": Fraction(1, 100), "beyond_plan": "answer"} if pure else {}
    validity = Validity(CONFIDENCE, dictionary="schema", registered=registered, **stability)
    budget = adyton.Guarantee(500, 0 if pure else Fraction(1, 10**9))
    unit = adyton.PrivacyUnit("replace-one")
    return Study(Table("t", columns, rows), unit, budget, accounting, validity=validity)


@pytest.fixture(autouse=True)
def nothing_but_descriptions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "FOR_DESCRIBED", KEPT)
    monkeypatch.setattr(base.Population, "silent", lambda self, at: base.UNPROVED)
    monkeypatch.setattr(mean_with_squares, "_ENOUGH", 1)


def frame_of_cells() -> pd.DataFrame:
    """``x`` is 100 for a fifth of the units and 0 for others."""
    x = 100 * (np.random.default_rng(1).random(CELLS * ROWS) < RARE)
    return pd.DataFrame({"w": np.repeat(np.arange(CELLS), ROWS), "x": x})


def ends(sql: str, accounting: str, words: int, monkeypatch: pytest.MonkeyPatch) -> Ends:
    """Those of all cells, if they are ``words`` of equal weight."""
    monkeypatch.setattr(description, "number_of_cells", lambda query: words)
    columns = IntegerColumn("w", 0, CELLS - 1), IntegerColumn("x", 0, 100)
    with seeded(study(columns, CELLS * ROWS, accounting, (sql,)), frame_of_cells(), 1) as curator:
        answer = curator.ask(sql, epsilon=400)
    theorems = answer.certificate.theorems
    assert "DESCRIBED-QUERIES" in theorems
    assert ("VARIANCE-INTERVAL" in theorems) == (sql == MEAN and accounting == "gdp")
    found = [row.values["v"].population_interval for row in answer.rows]
    assert len(found) == CELLS
    return np.array([one.low for one in found]), np.array([one.high for one in found])


@pytest.mark.parametrize(("sql", "truth"), [(COUNT, RARE * ROWS), (MEAN, RARE * 100)], ids=["count", "mean"])
@pytest.mark.parametrize("accounting", ["gdp", "pure"])
def test_theorem_DESCRIBED_QUERIES_hold_for_groups_with_the_whole_failure(
    sql: str, truth: float, accounting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More studies with a miss than the claim allows but for 1e-7 are an alarm.

    The mean of a Gaussian study releases its squares.  Mutant, tried each time: a group has the weight of the
    whole query, and then nearly every study has a miss.
    """
    missed = {}
    for words in (WORDS, 1):
        low, high = ends(sql, accounting, words, monkeypatch)
        wrong = (truth < low) | (truth > high)
        missed[words] = int(wrong.reshape(STUDIES, WORDS).any(axis=1).sum())
    most = int(binom.isf(ALARM, STUDIES, FAILURE))
    assert missed[WORDS] <= most < missed[1]


@pytest.mark.parametrize("accounting", ["gdp", "pure"])
def test_theorem_DESCRIBED_QUERIES_hold_for_the_worst_of_all_medians(
    accounting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The analyst sees ``WORDS`` independent columns and asks for the median that is farthest from its place.

    A value is at most 4 with chance 1/2, and 4 with chance 1e-18, so either side of the median is as near as can
    be.  Only the column that is asked for is loaded.  Mutant, tried each time: bounds of one
    median that was fixed in advance miss in nearly every study.
    """
    monkeypatch.setattr(description, "number_of_cells", lambda query: WORDS)
    known, rng = study((IntegerColumn("y", 0, 9),), PEOPLE, accounting, (MEDIAN,)), np.random.default_rng(2)
    width = described_width(np.array([PEOPLE / 4]), np.array([0.5]), math.log(2 / FAILURE))
    counts = rng.binomial(PEOPLE, 0.5, (MEDIAN_STUDIES, WORDS))
    worst = counts[np.arange(MEDIAN_STUDIES), np.abs(counts - PEOPLE / 2).argmax(axis=1)]
    missed = 0
    for seed, count in enumerate(worst):
        frame = pd.DataFrame({"y": np.repeat([3, 5], [count, PEOPLE - count])})
        with seeded(known, frame, seed) as curator:
            interval = curator.ask(MEDIAN, epsilon=400).population_interval
        assert interval.high - interval.low < 9
        missed += not interval.low <= 4 <= interval.high
    most = int(binom.isf(ALARM, MEDIAN_STUDIES, FAILURE))
    assert missed <= most < np.sum(np.abs(worst - PEOPLE / 2) > width)
