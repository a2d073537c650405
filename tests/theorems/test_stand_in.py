"""The number of units where it is private: only from a count whose noise the failure probability pays for."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

import adyton
from adyton.certify import Absent, Interval
from adyton.privacy import Guarantee, PrivacyUnit
from adyton.schema import IntegerColumn, Table
from adyton.study import Study, Validity

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
