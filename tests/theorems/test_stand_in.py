"""The number of units where it is private: only from a count whose noise the failure probability pays for."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import norm

import adyton
from adyton.certify import Absent, Interval
from adyton.exact import UNITS_PER_ONE
from adyton.privacy import Guarantee, PrivacyUnit
from adyton.schema import IntegerColumn, Table
from adyton.study import Study, Validity
from adyton.validity.mutual_information import information_of, threshold_after

LIMIT = Guarantee(Fraction(100), Fraction(1, 10**9))
DATA = pd.DataFrame({"age": np.random.default_rng(1).integers(0, 101, 3000)})


def asked(questions: int) -> tuple[Any, Any]:
    """A sum and then a count of everything; the population interval of the sum before the count and after it."""
    declared = Validity(Fraction(95, 100), Fraction(1, 20), questions, beyond="answer")
    table = Table("t", (IntegerColumn("age", 0, 100),), None)
    study = Study(table, PrivacyUnit("add-or-remove"), LIMIT, validity=declared)
    with adyton.open(study, data=DATA) as asker:
        found = []
        for question in ("SELECT SUM(age) FROM t", "SELECT COUNT(*) FROM t", "SELECT SUM(age) FROM t"):
            answer = asker.ask(question, scale=20_000 if "SUM" in question else 200)
            ((value,),) = [row.values.values() for row in answer.rows]
            found.append(value.population_interval)
    return found[0], found[2]


def test_theorem_PEELING_a_count_stands_in_for_the_number_of_units() -> None:
    before, after = asked(2)
    assert isinstance(before, Absent)
    assert isinstance(after, Interval)
    assert after.low <= 50 * 3000 <= after.high


def test_theorem_PEELING_a_count_beyond_the_certified_questions_stands_in_for_nothing() -> None:
    """One question is certified, so its noise has all of the failure probability: nothing is left for a second."""
    before, after = asked(1)
    assert isinstance(before, Absent)
    assert isinstance(after, Absent)


def test_theorem_EVENTS_AFTER_INFORMATION_the_level_of_a_test_pays_for_the_noisy_number_of_units() -> None:
    """A hundredth of alpha is for the counts, the second receipt has 6 / (2 pi)**2 of it; the levels share the rest.

    Otherwise a test would err with alpha and, on top of it, wherever the count was too low.
    """
    alpha, scale = Fraction(1, 20), 300
    declared = Validity(
        Fraction(1, 2), Fraction(1, 50), beyond="answer"
    )  # itself it may fail every other time
    table = Table("t", (IntegerColumn("age", 0, 100),), None)
    study = Study(table, PrivacyUnit("add-or-remove"), LIMIT, validity=declared)
    with adyton.open(study, data=DATA) as asker:
        asker.ask("SELECT SUM(age) FROM t", scale=200_000)
        answer = asker.ask("SELECT COUNT(*) FROM t", scale=scale)
        ((value,),) = [row.values.values() for row in answer.rows]
        threshold, spent = asker.p_value_threshold(alpha), asker._ledger.spent_radius()
        units = asker._stand_in.units(asker._population.for_counts(alpha))
        levels = asker._population.schedule.levels  # type: ignore[union-attr]
    assert units is not None
    too_low = norm.sf((units - value.value + 0.5) / scale)
    assert 1e-3 < too_low / (0.05 / 100 * 6 / (2 * math.pi) ** 2) <= 1
    lowest = next(level.spent for level in levels if level.spent * UNITS_PER_ONE >= spent)
    assert threshold == threshold_after(
        alpha * Fraction(99, 100) / len(levels), information_of(units, lowest)
    )


def test_a_public_number_of_units_costs_a_test_nothing() -> None:
    declared = Validity(Fraction(1, 2), Fraction(1, 50))
    table = Table("t", (IntegerColumn("age", 0, 100),), 3000)
    study = Study(table, PrivacyUnit("replace"), LIMIT, validity=declared)
    with adyton.open(study, data=DATA) as asker:
        levels = asker._population.schedule.levels  # type: ignore[union-attr]
        share = Fraction(1, 20) / len(levels)
        assert asker.p_value_threshold("0.05") == threshold_after(
            share, information_of(3000, levels[0].spent)
        )


def test_a_count_that_somebody_else_is_still_answering_is_found_when_it_is_answered() -> None:
    """It was seen without its answer, and nobody is charged for it again: the newest answered one is taken."""
    declared = Validity(Fraction(95, 100), Fraction(1, 20))
    table = Table("t", (IntegerColumn("age", 0, 100),), None)
    study = Study(table, PrivacyUnit("add-or-remove"), LIMIT, validity=declared)
    with adyton.open(study, data=DATA) as asker:
        ledger, stand_in = asker._ledger, asker._stand_in
        for scale in (300, 200, 250):  # charged, as by others; not yet answered
            ledger.charge(asker._basket(["SELECT COUNT(*) FROM t"], {"scale": scale}).order(None))
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
