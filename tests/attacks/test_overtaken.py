"""Overtaken between the look at the totals and the charge: nobody pays for an answer without an interval."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pandas as pd
import pytest

import adyton
from adyton.certify import Absent, Interval
from adyton.kernel.exact import UNITS_PER_ONE
from adyton.kernel.ledger import Charged, Header, MemoryLedger, Order
from adyton.kernel.ledger.validity import NOTHING_KNOWN
from adyton.kernel.privacy import Guarantee, PrivacyUnit
from adyton.kernel.schema import BooleanColumn, Table
from adyton.study import Study, Validity

ROWS = 3000
CAP = Fraction(
    1, 20
)  # mu0, of a pure study; one count at a scale of 20 rows spends less than half of its square
COUNT = "SELECT COUNT(*) FROM t WHERE f"
DATA = pd.DataFrame({"f": [True, False] * (ROWS // 2)})


class Overtaken(MemoryLedger):
    """Just before the first charge, somebody else is charged for ``radius``."""

    radius: int | None = None

    def charge(self, order: Order, first: Any = None) -> Charged:
        radius, self.radius = self.radius, None
        if radius is not None:
            other = {"query": "another", "radius": radius, "validity": NOTHING_KNOWN}
            super().charge(replace(order, **other, request=None, cap=None))
        return super().charge(order)


def study(**validity: Any) -> Study:
    """Pure, so that there is a cap, unless the number of queries alone is limited."""
    pure = "beyond_plan" not in validity or validity["beyond_plan"] == "answer"
    declared = Validity(Fraction(95, 100), **(({"stability": CAP} if pure else {}) | validity))
    budget = Guarantee(Fraction(100), Fraction(0) if pure else Fraction(1, 10**6))
    table, unit = Table("t", (BooleanColumn("f"),), ROWS), PrivacyUnit("replace-one")
    return Study(table, unit, budget, "pure" if pure else "gdp", validity=declared)


def overtaken(asked_of: Study, radius: int) -> Overtaken:
    ledger = Overtaken(Header.fresh(asked_of.fingerprint, asked_of.accounting, asked_of.allowed))
    ledger.radius = radius
    return ledger


@pytest.mark.parametrize(
    ("validity", "radius", "counted_in"),
    [
        ({}, int(CAP**2 * UNITS_PER_ONE), "mu0²"),
        ({"queries": 1}, 0, "queries"),
        ({"queries": 1, "beyond_plan": "refuse"}, 0, "queries"),
    ],
)
def test_who_is_overtaken_is_refused_free_of_charge(
    validity: dict[str, Any], radius: int, counted_in: str
) -> None:
    asked_of = study(**validity)
    ledger = overtaken(asked_of, radius)
    with adyton.open(asked_of, data=DATA, ledger=ledger) as asker:
        assert asker.preview(COUNT, scale=20).affordable
        with pytest.raises(adyton.ValidityRefused) as refused:
            asker.ask(COUNT, scale=20)
        assert refused.value.facts["counted_in"] == counted_in
        assert [receipt.order.query for receipt in asker.receipts()] == ["another"]


@pytest.mark.parametrize("described", [False, True])
def test_where_the_owner_wants_an_answer_in_any_case_it_is_marked(
    described: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With no interval, or with one by the description of its query alone."""
    if not described:
        monkeypatch.setattr(Study, "nats", lambda *_: None)
    asked_of = study(beyond_plan="answer")
    with adyton.open(asked_of, data=DATA, ledger=overtaken(asked_of, int(CAP**2 * UNITS_PER_ONE))) as asker:
        answer = asker.ask(COUNT, scale=20)
    ((value,),) = [row.values.values() for row in answer.rows]
    assert isinstance(value.population_interval, Interval if described else Absent)
    assert ("DESCRIBED-QUERIES" in answer.certificate.theorems) == described
    assert "CENTRED-HINGE" not in answer.certificate.theorems


def test_with_gaussian_noise_who_is_overtaken_pays_and_has_an_interval() -> None:
    """There is no cap to run into: the interval is as wide as what somebody else spent in between makes it."""
    declared = Validity(Fraction(95, 100))
    budget = Guarantee(Fraction(100), Fraction(1, 10**6))
    asked_of = Study(
        Table("t", (BooleanColumn("f"),), ROWS), PrivacyUnit("replace-one"), budget, validity=declared
    )
    widths = []
    for radius in (0, 10**15, 10**17):
        with adyton.open(asked_of, data=DATA, ledger=overtaken(asked_of, radius)) as asker:
            ((value,),) = [row.values.values() for row in asker.ask(COUNT, scale=20).rows]
        assert isinstance(value.population_interval, Interval)
        widths.append(value.population_interval.high - value.population_interval.low)
    assert widths == sorted(widths)
    assert widths[-1] > 2 * widths[0]


def test_who_is_overtaken_by_little_is_answered_with_an_interval() -> None:
    asked_of = study()
    ledger = overtaken(asked_of, int(CAP**2 * UNITS_PER_ONE) // 2)
    with adyton.open(asked_of, data=DATA, ledger=ledger) as asker:
        ((value,),) = [row.values.values() for row in asker.ask(COUNT, scale=20).rows]
    assert isinstance(value.population_interval, Interval)
