"""The choices of the sources as studies: a price, a colour of hair, a date.  Each chooses by the law it claims.

A choice is made anew in a dozen studies, or in sixty if there is time; a false alarm has probability below 1e-7.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import adyton
from adyton.kernel.privacy import Guarantee, PrivacyUnit
from adyton.kernel.schema import BooleanColumn, CategoryColumn, RealColumn, Table
from adyton.kernel.special.mechanisms.selection.permute_and_flip import flip_law
from adyton.query.selecting import BestOf
from adyton.study import Study
from support.curators import seeded
from support.tries import often

DAYS = ("monday", "tuesday", "friday")
HAIR = {"dark": 500, "blond": 400, "brown": 300, "red": 100}
PROFIT = "SELECT SUM(CASE WHEN offer >= {0} THEN {0} WHEN offer > 5 THEN offer ELSE 0 END) AS p FROM t"


def pure(adjacency: str, *columns: object, rows: int) -> Study:
    table = Table("t", columns, rows)  # type: ignore[arg-type]
    return Study(table, PrivacyUnit(adjacency), Guarantee(Fraction(10), Fraction(0)), "pure")  # type: ignore[arg-type]


def counted(known: Study, rows: pd.DataFrame, asked: BestOf, epsilon: str, runs: int) -> Counter[str]:
    found: Counter[str] = Counter()
    for seed in range(runs):
        with seeded(known, rows, seed) as curator:
            answer = curator.ask(asked, epsilon=epsilon)
            found[str(next(iter(next(iter(answer)).keys.values())))] += 1
    return found


def check(found: Counter[str], names: list[str], law: np.ndarray) -> None:
    runs = sum(found.values())
    for name, chance in zip(names, law, strict=True):
        assert stats.binomtest(found[name], runs, float(chance)).pvalue > 1e-7 / len(names)


def law_of(scores: list[float], rate: float) -> np.ndarray:
    """Permute-and-flip, which pure studies choose by."""
    return flip_law(np.exp(-rate * (max(scores) - np.array(scores))))


def test_the_price_is_one_of_the_candidates_and_earns_nearly_the_most() -> None:
    """60 offers of 3 and 50 of 4; one offer moves a profit by 5 at most, all of them the same way."""
    offers = pd.DataFrame({"offer": [3.0] * 60 + [4.0] * 50})
    known = pure("add-remove", RealColumn("offer", Fraction(0), Fraction(5), Fraction(1, 100)), rows=110)
    earned = {"3": 330.0, "3.01": 150.5, "4": 200.0, "4.01": 0.0}
    asked = adyton.best_of({price: PROFIT.format(price) for price in earned})
    found = counted(known, offers, asked, "0.05", often(12, 60))
    check(found, list(earned), law_of(list(earned.values()), 0.05 / 5))
    with seeded(known, offers, 1) as curator:
        answer = curator.ask(asked, epsilon="1")
    assert answer.chosen.within < 25
    assert counted(known, offers, asked, "1", 2) == {"3": 2}


def test_the_colour_of_hair_is_chosen_where_that_comes_nearer() -> None:
    """In a study where one row is replaced a choice pays for 2, and all four counts for 2 as well."""
    heads = pd.DataFrame({"hair": [hair for hair, many in HAIR.items() for _ in range(many)]})
    known = pure("add-remove", CategoryColumn("hair", tuple(HAIR)), rows=1300)
    by_hair = adyton.best_of(adyton.count(by="hair"))
    assert counted(known, heads, by_hair, "0.1", 2) == {"dark": 2}
    candidates = adyton.best_of({hair: adyton.count(f"hair = '{hair}'") for hair in HAIR})
    found = counted(known, heads, candidates, "0.01", often(12, 60))
    check(found, list(HAIR), law_of([float(many) for many in HAIR.values()], 0.01))
    with seeded(known, heads, 1) as curator:
        assert curator.ask(by_hair, epsilon="0.1").chosen.within < 100


def test_the_date_suits_nearly_the_most() -> None:
    """100, 180 and 67 of 200 can come; one answer that is replaced moves every count either way."""
    can = {day: [i % n == 0 for i in range(200)] for day, n in zip(DAYS, (2, 10, 3), strict=True)}
    can["tuesday"] = [not yes for yes in can["tuesday"]]
    answers = pd.DataFrame(can)
    known = pure("replace-one", *(BooleanColumn(day) for day in DAYS), rows=200)
    asked = adyton.best_of({day: adyton.count(day) for day in DAYS})
    found = counted(known, answers, asked, "0.03", often(12, 60))
    check(found, list(DAYS), law_of([100.0, 180.0, 67.0], 0.03 / 2))
    assert counted(known, answers, asked, "1", 2) == {"tuesday": 2}
    with pytest.raises(adyton.PrivacyRefused), seeded(known, answers, 1) as curator:
        curator.ask(asked, epsilon="11")
