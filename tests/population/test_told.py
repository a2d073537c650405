"""What a ledger has released, in every measure in which a test on the rows may pay for it."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import adyton
from adyton.curator.curator import Curator
from adyton.kernel.accounting.noisy_reading import stability_units
from adyton.kernel.exact import UNITS_PER_ONE
from adyton.kernel.ledger import Order
from adyton.kernel.privacy import Guarantee, PrivacyUnit, PureCost
from adyton.kernel.schema import CategoryColumn, IntegerColumn, Table
from adyton.monitors.told import exchanged, told_by
from adyton.planning.plan import make_batch
from adyton.planning.price import price_of
from adyton.query.request import request_of
from adyton.study import Study, Validity
from adyton.validity.last_look.leakage import comparisons_nats
from adyton.validity.last_look.told import ReleasedTotals
from support.curators import seeded
from support.shorthands import ordered
from support.worlds import study_with

ROWS, REGIONS = 300, ("north", "south", "east")
TABLE = Table("t", (CategoryColumn("region", REGIONS), IntegerColumn("age", 0, 100)), ROWS)


def opened(accounting: str, adjacency: str = "replace-one") -> Curator:
    stability = Fraction(1, 2) if accounting == "pure" else None
    validity = Validity(Fraction(19, 20), stability=stability, beyond_plan="answer")
    study = study_with(TABLE, accounting, adjacency, 50, validity=validity)
    rng = np.random.default_rng(2)
    rows = pd.DataFrame({"region": rng.choice(REGIONS, ROWS), "age": rng.integers(0, 100, ROWS)})
    return seeded(study, rows, 5)


def told(asker: Curator) -> ReleasedTotals:
    return told_by(asker.study, asker._ledger)


def routes(asker: Curator) -> set[str]:
    return {by.route for by in asker.last_look("0.05").routes}


@pytest.mark.parametrize("accounting", ["gdp", "zcdp", "pure"])
def test_every_integer_of_an_answer_is_counted(accounting: str) -> None:
    with opened(accounting) as asker:
        assert told(asker) == ReleasedTotals()
        asker.ask("SELECT COUNT(*) FROM t WHERE age > 30", scale=5)
        asker.ask("SELECT region, COUNT(*), AVG(age) FROM t GROUP BY region", epsilon=1)
        found, spent = told(asker), asker._ledger.spent_radius()
        assert found.numbers is not None
        assert [one.many for one in found.numbers] == [
            1,
            9,
        ]  # three cells of a count, and of a sum and a count
        assert found.radius * UNITS_PER_ONE >= spent
        assert found.pure * UNITS_PER_ONE == (asker._ledger.spent() if accounting == "pure" else 0)
        asker.ask("SELECT MEDIAN(age) FROM t", epsilon=1)
        numbers = told(asker).numbers
        assert numbers is not None
        assert numbers[-1].many > 3  # every comparison of the search
        assert "bits of the transcript" in routes(asker)


@pytest.mark.parametrize(("asked", "moved"), [("COUNT(*)", 1), ("SUM(age)", 100)])
def test_a_unit_exchanged_is_not_twice_a_unit_more_if_all_add_on_one_side(asked: str, moved: int) -> None:
    """Of numbers from 0 to h another unit moves a sum by at most h, as one unit more does."""
    with opened("pure", "add-remove") as asker:
        asker.ask(f"SELECT {asked} FROM t", scale=50)
        assert float(told(asker).pure) == pytest.approx(moved / 50, rel=1e-9)
        assert told(asker).pure * UNITS_PER_ONE >= asker._ledger.spent()
        asker.ask("SELECT region, COUNT(*) FROM t GROUP BY region", scale=50)  # from one cell to another
        assert float(told(asker).pure) == pytest.approx(moved / 50 + 2 / 50, rel=1e-9)


def test_a_batch_counts_twice_what_was_charged_where_units_are_exchanged() -> None:
    """A batch counts what was charged twice where a unit more or less is exchanged."""
    with opened("pure", "add-remove") as asker:
        asker.ask_many(
            ["SELECT COUNT(*) FROM t", "SELECT SUM(age) FROM t"], epsilon=1, strategy="independent"
        )
        assert told(asker).pure == 2 * Fraction(asker._ledger.spent(), UNITS_PER_ONE)


@pytest.mark.parametrize("accounting", ["gdp", "pure"])
@pytest.mark.parametrize("numeric", [False, True])
def test_a_monitor_is_counted_by_what_it_said(accounting: str, numeric: bool) -> None:
    with opened(accounting) as asker:
        monitor = asker.open_monitor(positives=2, epsilon=5, numeric=numeric)
        assert told(asker).said == 0
        asked = "SELECT COUNT(*) FROM t WHERE age < 50"
        above = [monitor.feed(asked, above=limit).above for limit in (280, 20, 290, 30)]
        found = told(asker)
        assert above == [False, True, False, True]
        assert found.said == comparisons_nats(above)
        assert found.pure == found.by_monitors > 0
        assert [one.many for one in found.of_monitors] == [2 if numeric else 0]
        asker.ask("SELECT COUNT(*) FROM t WHERE age > 30", scale=100)
        names = {"moments, monitors by what they said"} if accounting == "pure" else set()
        names |= {"subset, monitors by what they said"} if accounting == "gdp" else set()
        assert names <= routes(asker)


def test_a_selection_and_a_batch_that_is_measured_together_are_not_counted() -> None:
    with opened("gdp") as asker:
        older = [adyton.count(where=f"age > {age}") for age in range(10, 90, 10)]
        asker.ask(adyton.best_of(older), epsilon=1)
        assert told(asker).pure > 0
        assert told(asker).numbers is None
        assert routes(asker) == {"moments", "max-information", "information", "all rows exchanged"}
    with opened("gdp") as asker:
        ranges = [f"SELECT COUNT(*) FROM t WHERE age >= {low}" for low in range(10, 90, 10)]
        asker.ask_many(ranges, epsilon=1, strategy="tree")
        assert told(asker).numbers is None
        assert routes(asker) == {"subset"}


def test_what_is_charged_and_not_answered_is_not_counted() -> None:
    """Somebody else may be about to see it."""
    with opened("gdp") as asker:
        radius = stability_units(PureCost(Fraction(1, 10)))
        asker._ledger.charge(
            Order("SELECT COUNT(*) AS n FROM t", '[["n", "rounded Gaussian", "5.0"]]', 10, radius)
        )
        assert told(asker).numbers is None
        assert told(asker).radius * UNITS_PER_ONE == radius


def test_a_monitor_of_means_pays_for_a_unit_exchanged_and_may_be_closed() -> None:
    """Mutants: a mean is taken to move one way; that a monitor was closed is read as an answer."""
    paid = {}
    for kind in ("counts", "means"):
        with opened("pure", "add-remove") as asker:
            monitor = asker.open_monitor(positives=1, epsilon=1, of=kind)
            monitor.feed("SELECT COUNT(*) FROM t", above=1000)
            monitor.close()
            paid[kind] = told(asker).pure
            assert told(asker).said > 0
    assert paid["means"] == pytest.approx(2)
    assert paid["counts"] < paid["means"]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) FROM t",
        "SELECT SUM(change) FROM t",
        "SELECT SUM(debt) FROM t WHERE age > 30",
        "SELECT AVG(change) FROM t",
        "SELECT region, AVG(change) FROM t GROUP BY region",
        "SELECT MEDIAN(age) FROM t",
        "SELECT region, MEDIAN(age) FROM t GROUP BY region",
        "SELECT MIN(age) FROM t",
        "SELECT VARIANCE(change) FROM t",
        "SELECT SUM(debt), COUNT(*) FROM t",
        "SELECT COUNT(*) FILTER (WHERE age < 10), COUNT(*) FILTER (WHERE age > 20) FROM t",
    ],
)
@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
def test_theorem_LAST_LOOK_ROUTES_an_exchanged_unit_moves_as_far_as_paid(sql: str, adjacency: str) -> None:
    """Against the largest distance of two tables that differ in one row, in scales of the noise, of all parts.

    Of parts whose filters exclude each other a row is in two at most, before and after.  Mutants: what several
    comparisons of a search were charged is read as the radius of one number; a unit more is one exchanged.
    """
    columns = (*TABLE.columns, IntegerColumn("change", -20, 50), IntegerColumn("debt", -50, -10))
    validity = Validity(Fraction(19, 20), stability=Fraction(1, 2), beyond_plan="answer")
    unit, budget = PrivacyUnit(adjacency), Guarantee(Fraction(50), Fraction(0))  # type: ignore[arg-type]
    study = Study(Table("t", columns, ROWS), unit, budget, "pure", validity=validity)
    batch = make_batch(study, [request_of(sql, study.table)], price_of(epsilon=1), study.allowed)
    farthest = sum(
        noisy.times
        * replace(noisy.reading.sensitivity, adjacency="replace-one").l1_diameter(noisy.mechanism.scales)
        for plan in batch.plans
        for noisy in plan.noisy
    )
    assert farthest * (1 - Fraction(1, 10**12)) <= exchanged(study, ordered(study, batch)) <= 2


def test_levels_and_p_values_at_the_ends_of_what_floats_can_hold() -> None:
    with opened("pure") as asker:
        asker.ask("SELECT COUNT(*) FROM t", scale=5000)
        assert asker.last_look("0.05", 1 - Fraction(1, 10**30)).corrected == 1
        assert asker.last_look(Fraction(1, 10**40), Fraction(1, 10**400)).threshold > 0
        with pytest.raises(adyton.InvalidRequest, match="at least 1e-40"):
            asker.last_look(Fraction(1, 10**400))
