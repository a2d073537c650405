"""What validity pays stands in every receipt: radii, pure parts, and what no theorem covers."""

from __future__ import annotations

from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import adyton
from adyton.kernel.exact import UNITS_PER_ONE
from adyton.kernel.ledger import Order, SqliteLedger
from adyton.kernel.privacy import Guarantee, PrivacyUnit
from adyton.kernel.schema import IntegerColumn, Table, TextColumn
from adyton.kernel.special.monitor import replace_one_cost
from adyton.monitors.plan import machine_of
from adyton.setup.amending import amend, check_amended
from adyton.study import Study, read_study
from support.worlds import query, study_with, write_study

ROWS = 200
TABLE = Table("people", (IntegerColumn("age", 0, 120), TextColumn("city")), ROWS)
DATA = pd.DataFrame({"age": range(20, 20 + ROWS), "city": ["Rome", "Oslo"] * (ROWS // 2)})
BY_CITY = "SELECT city, COUNT(*) FROM people GROUP BY city"


def opened(accounting: str) -> Any:
    budget = Guarantee(Fraction(20), Fraction(1, 10**6))
    known = Study(TABLE, PrivacyUnit("replace-one"), budget, accounting, discovery_delta=Fraction(1, 10**7))
    return adyton.open(known, data=DATA)


@pytest.mark.parametrize("accounting", ["gdp", "zcdp"])
def test_discovered_groups_are_not_proved_where_noise_is_gaussian(accounting: str) -> None:
    """Mutant: ``Basket.order`` without ``unproved``."""
    with opened(accounting) as curator:
        curator.ask("SELECT COUNT(*) FROM people", scale=20)
        curator.ask(BY_CITY, epsilon="1")
        curator.ask("SELECT AVG(age) FROM people", scale=200)
        assert [receipt.unproved for receipt in curator.receipts()] == [0, 1, 1]
        assert [receipt.order.unproved for receipt in curator.receipts()] == [False, True, False]


@pytest.mark.parametrize("numeric", [False, True])
@pytest.mark.parametrize("accounting", ["gdp", "zcdp", "pure"])
def test_a_monitor_pays_by_its_pure_part_or_by_its_radius(accounting: str, numeric: bool) -> None:
    with adyton.open(study_with(TABLE, accounting, epsilon=2), data=DATA) as curator:
        curator.open_monitor(positives=2, epsilon="0.25", numeric=numeric)
        (receipt,) = curator.receipts()
    exchanged = replace_one_cost(machine_of(receipt)).pure
    assert exchanged is not None
    if accounting == "pure":
        assert (receipt.order.pure, receipt.order.radius > 0) == (0, True)
    else:
        assert receipt.order.radius == receipt.spent_radius
        assert (receipt.order.radius > 0) == numeric  # values are Gaussian counts
        assert exchanged * UNITS_PER_ONE <= receipt.order.pure < exchanged * UNITS_PER_ONE + 1
        assert receipt.spent_pure == receipt.order.pure


def test_an_amended_study_carries_all_of_it_and_every_radius_in_full(tmp_path: Path) -> None:
    """Mutants: carried without ``pure``, without ``unproved``, or with final radii."""
    old = write_study(tmp_path)
    with adyton.open(old) as curator:
        curator.ask(query(1), scale=1000)
        curator.open_monitor(positives=1, epsilon="0.1")
    with closing(SqliteLedger(old.with_suffix(".ledger"))) as ledger:
        ledger.charge(Order("discovered groups", "[]", 5, 70, unproved=True))
        last = ledger.charge(Order("answered", "[]", 5, 90)).receipt
        ledger.remember(last.number, "[]", 30)
        ledger.charge(Order("the last one", "[]", 5, 20))
        before, radius = ledger.totals(), sum(receipt.order.radius for receipt in ledger.receipts())
        assert before.radius == radius - 60
    new = write_study(tmp_path, name="corrected", high=130)
    first = amend(read_study(old), read_study(new)).first
    assert (first.spent, first.spent_radius) == (before.spent, radius)
    assert (first.spent_pure, first.unproved) == (before.pure, 1)
    assert first.spent_pure > 0
    check_amended(read_study(old), read_study(new))
