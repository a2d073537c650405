"""The number of units where it is private: only from a count whose noise the failure probability pays for."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

import adyton
from adyton.certify import Absent, Interval
from adyton.kernel.privacy import Guarantee, PrivacyUnit
from adyton.kernel.schema import IntegerColumn, Table
from adyton.monitors.told import told_by
from adyton.population.base import Counted
from adyton.population.last_look import FOR_DESCRIBED
from adyton.population.subset import SubsetPopulation
from adyton.study import Study, Validity
from adyton.validity.last_look.best import Route, routes_after
from adyton.validity.subset.tails import OpenLevels
from support.curators import seeded
from support.shorthands import ordered

BUDGET = Guarantee(Fraction(100), Fraction(1, 10**9))
DATA = pd.DataFrame({"age": np.random.default_rng(1).integers(0, 101, 3000)})


PURE = Guarantee(Fraction(100), Fraction(0))


def study_of(accounting: str, declared: Validity, rows: int | None = None) -> Study:
    table, budget = (
        Table("t", (IntegerColumn("age", 0, 100),), rows),
        PURE if accounting == "pure" else BUDGET,
    )
    unit = PrivacyUnit("replace-one" if rows else "add-remove")
    return Study(table, unit, budget, accounting, validity=declared)


def asked(queries: int, accounting: str = "pure") -> tuple[Any, Any]:
    """A sum and then a count of everything; the population interval of the sum before the count and after it."""
    cap = Fraction(1, 20) if accounting == "pure" else None
    study = study_of(accounting, Validity(Fraction(95, 100), cap, queries, beyond_plan="answer"))
    with seeded(study, DATA, 1) as asker:
        found = []
        for query in ("SELECT SUM(age) FROM t", "SELECT COUNT(*) FROM t", "SELECT SUM(age) FROM t"):
            answer = asker.ask(query, scale=20_000 if "SUM" in query else 200)
            ((value,),) = [row.values.values() for row in answer.rows]
            found.append(value.population_interval)
    return found[0], found[2]


@pytest.mark.parametrize("accounting", ["gdp", "zcdp", "pure"])
def test_theorem_PEELING_or_PAY_AS_YOU_GO_a_count_stands_in_for_units(accounting: str) -> None:
    """A count stands in for the number of units."""
    before, after = asked(2, accounting)
    assert isinstance(before, Absent)
    assert isinstance(after, Interval)
    assert after.low <= 50 * 3000 <= after.high


def test_theorem_PEELING_a_count_beyond_certified_queries_never_stands_in() -> None:
    """One query is certified, so its noise has all of the failure probability: nothing is left for a second."""
    before, after = asked(1)
    assert isinstance(before, Absent)
    assert isinstance(after, Absent)


def test_theorem_PAY_AS_YOU_GO_a_count_beyond_the_expected_stands_in() -> None:
    """Levels of counts never run out: the number of queries that is expected is no cap."""
    before, after = asked(1, "gdp")
    assert isinstance(before, Absent)
    assert isinstance(after, Interval)


@pytest.mark.parametrize("query", [1, 2, 50])
def test_theorem_PAY_AS_YOU_GO_counts_pay_for_both_of_their_ends(query: int) -> None:
    """A thirty-second part of the failure, in the shares of all receipts, is that a count is beyond either end."""
    population = SubsetPopulation(study_of("gdp", Validity(Fraction(95, 100))))
    scale, released = 40.0, 4321
    counted = Counted(released, scale, query)
    above = population.units_at_most(counted) - released
    below = released - population.units_at_least(counted)
    part = 0.05 / 32 * OpenLevels().share(query)
    missed = norm.sf((above - 0.5) / scale) + norm.sf((below - 0.5) / scale)
    assert part / 2 < missed <= part


def test_theorem_LAST_LOOK_ROUTES_a_test_pays_for_the_number_of_units() -> None:
    """A hundredth of alpha is for the counts, the second receipt has 6 / (2 pi)**2 of it; the routes share the rest, without
    the part of tests that are described.

    Otherwise a test would err with alpha and, on top of it, wherever the count was too low.  Mutant: what a p-value
    is worth is worked out with the count for the level that was asked about.
    """
    alpha, scale = Fraction(1, 20), 300
    declared = Validity(
        Fraction(1, 2), Fraction(1, 50), beyond_plan="answer"
    )  # itself it may fail every other time
    study = study_of("pure", declared)
    with adyton.open(study, data=DATA) as asker:
        asker.ask("SELECT SUM(age) FROM t", scale=200_000)
        answer = asker.ask("SELECT COUNT(*) FROM t", scale=scale)
        ((value,),) = [row.values.values() for row in answer.rows]
        threshold, told = asker.p_value_threshold(alpha), told_by(study, asker._ledger)
        units = asker._claims.stand_in.units(alpha / 100)
        worths = {asker.last_look(level, "1e-9").corrected for level in ("0.5", "1e-8", "1e-12")}
        more = asker._claims.stand_in.units(Fraction(1, 10**11))
    assert units is not None
    too_low = math.exp(-(units - value.value) / scale) / 2
    assert 1e-3 < too_low / (0.05 / 100 * 6 / (2 * math.pi) ** 2) <= 1

    def routes(units: int) -> list[Route]:
        every = routes_after(told, units, gaussian=False)
        return [replace(route, part=route.part * (1 - FOR_DESCRIBED)) for route in every]

    assert threshold == max(route.threshold(alpha * Fraction(99, 100)) for route in routes(units))
    assert more is not None
    least = min(route.worth(Fraction(1, 10**9)) for route in routes(more))
    assert list(worths) == [pytest.approx(least / 0.99, rel=1e-9)]  # a count as rarely too low as p is small


def test_a_public_number_of_units_costs_a_test_nothing() -> None:
    for study in (
        study_of("gdp", Validity(Fraction(1, 2)), 3000),
        study_of("pure", Validity(Fraction(1, 2), Fraction(1, 50)), 3000),
    ):
        with adyton.open(study, data=DATA) as asker:
            assert asker.p_value_threshold("0.05") == pytest.approx(0.05, rel=1e-15)
            assert asker.last_look("0.05", "0.01").corrected == pytest.approx(0.01, rel=1e-15)


@pytest.mark.parametrize("accounting", ["gdp", "pure"])
def test_a_count_somebody_else_is_answering_is_found_when_answered(accounting: str) -> None:
    """It was seen without its answer, and nobody is charged for it again: the newest answered one is taken."""
    declared = Validity(Fraction(95, 100), Fraction(1, 20) if accounting == "pure" else None)
    with adyton.open(study_of(accounting, declared), data=DATA) as asker:
        ledger, stand_in = asker._ledger, asker._claims.stand_in
        for scale in (300, 200, 250):  # charged, as by others; not yet answered
            ledger.charge(ordered(asker.study, asker._batch(["SELECT COUNT(*) FROM t"], {"scale": scale})))
        assert stand_in.units() is None
        ledger.remember(2, '[[["2900"]]]')
        second = stand_in.units()
        assert second is not None
        ledger.remember(1, '[[["100"]]]')
        assert stand_in.units() == second  # an older one says nothing new
        ledger.remember(3, '[[["5000"]]]')
        third = stand_in.units()
        assert third is not None
        assert 2900 < second < 5000 < third
        fresh = asker.ask("SELECT COUNT(*) FROM t", scale=100)
        ((value,),) = [row.values.values() for row in fresh.rows]
        assert value.value < stand_in.units() < 5000  # type: ignore[operator]
