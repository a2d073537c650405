"""Whole questions through a real curator, on neighbouring tables that move the integers as far as can be.

The curator itself makes the plan and reads each table once; after that the release, which is all of a
question that is random, is repeated as often as there are samples.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from adyton.audit.replay import Replay, compare, run_both
from adyton.audit.trial import Wish
from adyton.certify import Promise
from adyton.curator.plan import Basket, Plan, make_basket
from adyton.curator.price import price_of
from adyton.exact import UNITS_PER_ONE
from adyton.noise import Bits
from adyton.privacy import Guarantee, Neighbours, PrivacyUnit
from adyton.query.asking import asking_of
from adyton.schema import BooleanColumn, CategoryColumn, IntegerColumn, RealColumn, Table
from adyton.study import Study

COLUMNS = (
    IntegerColumn("age", 0, 100),
    RealColumn("income", Fraction(-50), Fraction(100), Fraction(1, 2)),
    CategoryColumn("region", ("north", "south", "east")),
    BooleanColumn("smoker"),
)
_OTHERS = ["30,20.5,north,true", "61,0,south,false", "18,99.5,east,false", "77,-50,north,true"] * 3
_OLD = "100,100,east,true"  # at one end of everything
_YOUNG = "0,-50,north,false"  # at the other
_NOBODY = ",,,"  # contributes to nothing
_WILD = "1e300,-inf,nowhere,maybe"  # clipped or missing, never an error

QUESTIONS: dict[str, tuple[str, tuple[str, str]]] = {
    "count": ("SELECT COUNT(*) FROM people WHERE age > 50", (_OLD, _YOUNG)),
    "sum": ("SELECT SUM(income) FROM people", (_OLD, _YOUNG)),
    "mean": ("SELECT AVG(age) FROM people", (_OLD, _YOUNG)),
    "mean, value missing": ("SELECT AVG(age) FROM people", (_OLD, _NOBODY)),
    "proportion": ("SELECT PROPORTION(smoker) FROM people", (_OLD, _YOUNG)),
    "proportion, filtered": ("SELECT PROPORTION(smoker) FROM people WHERE age > 50", (_OLD, _YOUNG)),
    "count by region": ("SELECT region, COUNT(*) FROM people GROUP BY region", (_OLD, _YOUNG)),
    "mean by region": ("SELECT region, AVG(income) FROM people GROUP BY region", (_OLD, _YOUNG)),
    "two measures": ("SELECT COUNT(*), SUM(age) FROM people WHERE smoker", (_OLD, _YOUNG)),
    "hostile values": ("SELECT region, SUM(income) FROM people GROUP BY region", (_OLD, _WILD)),
}


@dataclass(frozen=True, slots=True)
class Asked:
    """A question on two tables: how to release it again, the exact integers behind it, and the claim."""

    release: Callable[[Any, int], npt.NDArray[np.int64]]
    pair: tuple[Any, Any]
    claim: Promise
    mu: float | None
    replayed: Replay


def ask_both(name: str, neighbours: Neighbours, filter_name: str, wish: Wish) -> Asked:
    """Ask question ``name`` of both tables through the curator, and prepare to release it many times."""
    sql, (here, there) = QUESTIONS[name]
    study = _study(neighbours, filter_name, wish)
    with tempfile.TemporaryDirectory() as folder:
        tables = (
            _write(Path(folder) / "first.csv", [*_OTHERS, here]),
            _write(Path(folder) / "second.csv", [*_OTHERS, there] if neighbours == "replace" else _OTHERS),
        )
        runs = run_both(study, tables, sql, wish.bits, None, {"epsilon": wish.epsilon})
    basket = _basket(study, sql, wish)
    if runs[0].public["receipts"][0][2] != basket.detail:
        raise AssertionError("the plan that is sampled is not the plan that was charged")
    claim = Promise(study.epsilon_of(basket.amount), float(study.limit.delta))
    exact = runs[0].exact, runs[1].exact
    return Asked(_release(basket.plans[0], wish.bits), exact, claim, _mu(study, basket), compare(*runs))


def _mu(study: Study, basket: Basket) -> float | None:
    """What a gdp study charges is mu**2."""
    if study.filter_name != "gdp":
        return None
    return math.sqrt(basket.amount / UNITS_PER_ONE) * (1 + 1e-12)


def _release(plan: Plan, bits: Bits) -> Callable[[Any, int], npt.NDArray[np.int64]]:
    def release(exact: list[list[list[int]]], n: int) -> npt.NDArray[np.int64]:
        """n rows; a column for each integer that the question releases."""
        released: list[npt.NDArray[np.int64]] = []
        for part, integers in zip(plan.parts, exact, strict=True):
            (noised,) = part.noised
            repeated = noised.mechanism.release([column * n for column in integers], bits)
            released += [np.array(column, dtype=np.int64).reshape(n, -1) for column in repeated]
        return np.concatenate(released, axis=1)

    return release


def _study(neighbours: Neighbours, filter_name: str, wish: Wish) -> Study:
    limit = Guarantee(50 * wish.epsilon, Fraction(0) if filter_name == "pure" else wish.delta)
    table = Table("people", COLUMNS, rows=len(_OTHERS) + 1)
    return Study(table, PrivacyUnit(neighbours), limit, filter_name)


def _basket(study: Study, sql: str, wish: Wish) -> Basket:
    asked = [asking_of(sql, study.table)]
    return make_basket(study, asked, price_of(epsilon=wish.epsilon), study.allowed)


def _write(path: Path, rows: list[str]) -> Path:
    path.write_text("age,income,region,smoker\n" + "\n".join(rows) + "\n", encoding="utf-8")
    return path
