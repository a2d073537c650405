"""A refusal says which price would fit, in the words of the asker, and whoever asks at it gets an answer."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

import adyton
from adyton.curator.curator import Curator
from adyton.kernel.ledger import MemoryLedger
from adyton.kernel.noisy import families_of
from adyton.kernel.schema import BooleanColumn, CategoryColumn, RealColumn, Table, TextColumn
from adyton.planning import plan
from adyton.planning.price import price_of
from adyton.query.request import request_of
from adyton.refusals import PRICES
from adyton.study import Study, Validity
from support.curators import open_kept
from support.tries import crossed
from support.worlds import study_with

ROWS = 500
COLUMNS = (
    RealColumn("income", Fraction(0), Fraction(200_000), Fraction(1)),
    CategoryColumn("region", ("north", "south", "east", "west")),
    BooleanColumn("smoker"),
    TextColumn("town"),
)
COUNT = "SELECT COUNT(*) FROM people WHERE smoker"
BOTH = "SELECT region, COUNT(*) AS n, AVG(income) FROM people GROUP BY region"


def people() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "income": rng.gamma(2, 20_000, ROWS),
            "region": rng.choice(["north", "south"], ROWS),
            "smoker": rng.random(ROWS) < 0.3,
            "town": rng.choice(["Ur", "Uruk"], ROWS),
        }
    )


def curator(accounting: str = "gdp", epsilon: str = "1", **more: Any) -> Curator:
    known = study_with(Table("people", COLUMNS, ROWS), accounting, epsilon=epsilon, **more)
    return open_kept(known, data=people(), ledger=ledger_of(known))


def ledger_of(known: Study) -> MemoryLedger:
    return MemoryLedger.of(known)


def stable(mu0: str, **more: Any) -> dict[str, Any]:
    return {"validity": Validity(Fraction(95, 100), Fraction(mu0), **more)}


def refused(asker: Curator, sql: str, **price: Any) -> adyton.BudgetRefused:
    with pytest.raises(adyton.BudgetRefused) as caught:
        asker.ask(sql, **price)
    return caught.value


WORDS: list[tuple[str, dict[str, Any]]] = [
    (COUNT, {"within": 1}),
    (COUNT, {"within": "0.001"}),
    ("SELECT region, COUNT(*) FROM people GROUP BY region", {"within": 2}),
    ("SELECT AVG(income) FROM people WHERE smoker", {"within": 300, "expected_rows": 100}),
    ("SELECT PROPORTION(smoker) FROM people", {"within": "0.001"}),
    (BOTH, {"within": {"n": 1, "avg_income": 500}}),
    (BOTH, {"scale": 1}),
    (COUNT, {"scale": "0.1"}),
    (COUNT, {"epsilon": 3}),
    ("SELECT MEDIAN(income) FROM people", {"epsilon": "1.0001"}),
]


@pytest.mark.parametrize(
    ("asked", "accounting", "spent"),
    crossed(WORDS, ["gdp", "zcdp", "pure"], ["0", "0.7"]),
    ids=str,
)
def test_law_the_price_that_a_refusal_names_is_answered(
    asked: tuple[str, dict[str, Any]], accounting: str, spent: str
) -> None:
    """Mutants: not tried as it will be read; searched in the full limit and not in what is left."""
    sql, price = asked
    asker = curator(accounting)
    if spent != "0":
        asker.ask("SELECT COUNT(*) FROM people WHERE NOT smoker", share=spent)
    refusal = refused(asker, sql, **price)
    (by,) = (word for word in price if word != "expected_rows")
    assert set(refusal.facts["fits"]) == {by}
    named = {**price, **refusal.facts["fits"]}
    ((name, amount),) = refusal.facts["fits"].items()
    assert f"{PRICES['python'](name, amount)} would fit now" in refusal.message
    assert asker.preview(sql, **price).would_fit == refusal.facts["fits"]
    left = asker.budget().left.units
    answer = asker.ask(sql, **named)
    assert answer.cost.units <= left
    if by in ("epsilon", "scale") or "AVG" in sql:  # a count is read in whole steps
        assert answer.cost.units > 0.9 * left  # nearly all that fits


@pytest.mark.parametrize("price", [{"within": 2}, {"epsilon": 1}, {"share": 1}, {"scale": 1}], ids=str)
def test_what_fits_also_fits_into_the_stability_that_is_certified(price: dict[str, Any]) -> None:
    asker = curator("pure", **stable("0.02"))
    refusal = refused(asker, COUNT, **price)
    assert isinstance(refusal, adyton.ValidityRefused)
    assert refusal.facts["counted_in"] == "mu0²"
    assert "of the stability for which population intervals are certified" in refusal.message
    answer = asker.ask(COUNT, **refusal.facts["fits"])
    assert isinstance(answer.rows[0].values["count"].population_interval, adyton.Interval)
    assert 0.8 < asker._ledger.spent_radius() / 4e14 <= 1


def test_a_refusal_names_no_price_where_none_would_fit() -> None:
    one = {"queries": 1, "beyond_plan": "refuse"}
    known = Validity(Fraction(95, 100), **one)  # type: ignore[arg-type]
    for planned in (curator("pure", **stable("0.5", **one)), curator(validity=known)):
        planned.ask(COUNT, epsilon="0.1")
        refusal = refused(planned, "SELECT COUNT(*) FROM people", epsilon="0.1")
        assert isinstance(refusal, adyton.ValidityRefused)
        assert refusal.facts["counted_in"] == "queries"
        assert refusal.facts["fits"] is None
        assert "would fit" not in refusal.message
    over = curator("pure")
    over.ask(COUNT, share=1)
    assert refused(over, "SELECT COUNT(*) FROM people", within=10).facts["fits"] is None


@pytest.mark.parametrize("accounting", ["gdp", "zcdp", "pure"])
@pytest.mark.parametrize(
    "price", [{"epsilon": 1}, {"within": 1}, {"scale": 1}, {"within": {"count": 1}}], ids=str
)
def test_with_next_to_nothing_left_a_refusal_says_nothing_false(
    accounting: str, price: dict[str, Any]
) -> None:
    """After a share of 1 a few units are left: too few for most prices, not always for all."""
    asker = curator(accounting)
    asker.ask("SELECT COUNT(*) FROM people WHERE NOT smoker", share=1)
    refusal = refused(asker, COUNT, **price)
    assert ("would fit" in refusal.message) == (refusal.facts["fits"] is not None)
    if refusal.facts["fits"] is not None:
        asker.ask(COUNT, **refusal.facts["fits"])


def test_the_search_for_a_price_plans_thousands_of_queries_only_once_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Mutant: ``repriced`` that makes the outline anew for every price."""
    made: list[int] = []
    monkeypatch.setattr(plan, "families_of", lambda *given: made.append(1) or families_of(*given))
    asker = curator()
    queries = [f"SELECT COUNT(*) FROM people WHERE income > {i}" for i in range(20)]
    with pytest.raises(adyton.BudgetRefused, match="would fit now") as caught:
        asker.ask_many(queries, within=1)
    assert len(made) == 2
    assert len(asker.ask_many(queries, **caught.value.facts["fits"])) == 20


@pytest.mark.parametrize("accounting", ["gdp", "zcdp", "pure"])
def test_an_outline_costs_at_a_price_what_its_plans_cost(accounting: str) -> None:
    known = curator(accounting).study
    requests = [request_of(sql, *known.tables) for sql in (COUNT, BOTH)]
    outline = plan.Outline.of(known, requests)
    for price in (price_of(epsilon="0.3"), price_of(share="0.01"), price_of(scale=50)):
        basket, priced = (
            plan.make_batch(known, requests, price, known.allowed),
            outline.priced(price, known.allowed),
        )
        assert (basket.amount, basket.radius) == (priced.amount, priced.radius)
        assert outline.batch(price, known.allowed) == basket


def test_a_plan_that_the_limit_cannot_pay_for_names_a_share() -> None:
    plan = Validity(Fraction(95, 100), None, queries=3, tolerance=Fraction(1, 4))
    asker = curator(epsilon="0.01", validity=plan)
    refusal = refused(asker, COUNT)
    assert refusal.facts["fits"] == {"share": "1"}
    asker.ask(COUNT, share=1)


def test_a_monitor_that_is_too_dear_says_which_epsilon_would_fit() -> None:
    asker = curator()
    asker.ask(COUNT, share="0.5")
    with pytest.raises(adyton.BudgetRefused) as caught:
        asker.open_monitor(positives=2, epsilon=1)
    (epsilon,) = caught.value.facts["fits"].values()
    assert Fraction(epsilon) < 1
    asker.open_monitor(positives=2, epsilon=epsilon)
    assert asker.budget().left.share < 0.01


def test_a_batch_says_what_fits_for_all_of_it() -> None:
    asker = curator()
    batch = [COUNT, "SELECT COUNT(*) AS n FROM people", "SELECT AVG(income) FROM people"]
    widths = {"count": 1, "n": 2, "avg_income": 100}
    with pytest.raises(adyton.BudgetRefused) as caught:
        asker.ask_many(batch, within=widths)
    fits = caught.value.facts["fits"]["within"]
    assert set(fits) == set(widths)
    assert len(asker.ask_many(batch, within=fits)) == 3


def test_discovered_groups_are_part_of_the_price_that_fits() -> None:
    asker = curator(discovery_delta=Fraction(1, 10**7))
    sql = "SELECT town, COUNT(*) FROM people GROUP BY town"
    refusal = refused(asker, sql, within=1)
    asker.ask(sql, **refusal.facts["fits"])


def test_how_many_more_fit_is_what_then_fits() -> None:
    """By privacy alone, and where stability ends first."""
    for asker in (curator(), curator("pure"), curator("pure", **stable("0.1"))):
        answer = asker.ask(COUNT, scale=40)
        more = answer.more
        assert asker.preview(COUNT + " AND income > 1", scale=40).more == more == asker.budget().more
        assert more is not None
        for i in range(more):
            asker.ask(f"SELECT COUNT(*) FROM people WHERE smoker AND income > {i}", scale=40)
        assert asker.budget().more == 0
        with pytest.raises(adyton.BudgetRefused):
            asker.ask("SELECT COUNT(*) FROM people WHERE smoker AND income > 100", scale=40)
        assert asker.ask(COUNT, scale=40).more is None
