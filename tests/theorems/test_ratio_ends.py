"""From the ends of a ratio to those of a mean: what is printed never lies inside what was proved."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from adyton.curator.additive import uncentred_outward
from adyton.curator.noised import Noised
from adyton.mechanisms import GaussianNoise
from adyton.privacy import PrivacyUnit
from adyton.query.nodes import Mean, Question, ValueOf
from adyton.schema import RealColumn, Table
from adyton.sensitivity import readings_of

INCOME = RealColumn("income", Fraction(0), Fraction(1000), Fraction(1, 10))


@given(ratio=st.floats(-1, 1))
def test_theorem_RATIO_INTERVAL_ends_are_rounded_outwards(ratio: float) -> None:
    """Back from the middle of the bounds, in tenths, hardly any end is a float."""
    question = Question(Table("people", (INCOME,)), (("m", Mean(ValueOf(INCOME))),))
    (reading,) = readings_of(question, PrivacyUnit("replace"))
    ends = np.array([ratio]), np.array([ratio])
    (low,), (high,) = uncentred_outward(Noised(reading, GaussianNoise((Fraction(9), Fraction(3)))), ends)
    exact = (Fraction(ratio) * 10_000 + 10_000) / 20
    assert Fraction(low) <= exact <= Fraction(high)
    assert high - low <= 2.0**-42
