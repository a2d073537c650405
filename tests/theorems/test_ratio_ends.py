"""From the ends of a ratio to those of a mean: what is printed never lies inside what was proved."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from adyton.arithmetic.ratio import Band, Solved, ratio_interval
from adyton.kernel.accounting.noisy_reading import NoisyReading
from adyton.kernel.mechanisms import GaussianNoise
from adyton.kernel.privacy import PrivacyUnit
from adyton.kernel.schema import IntegerColumn, RealColumn, Table
from adyton.kernel.terms.expressions import Square
from adyton.kernel.terms.leaves import ValueOf
from adyton.kernel.terms.measures import Mean
from adyton.noise_intervals.widths import largest_ratio
from adyton.planning.measures.additive import ratio_guess, uncentred, uncentred_outward
from adyton.planning.readings import readings_of
from adyton.query.nodes import Query

INCOME = RealColumn("income", Fraction(0), Fraction(1000), Fraction(1, 10))


@given(ratio=st.floats(-1, 1))
def test_theorem_RATIO_INTERVAL_ends_are_rounded_outwards(ratio: float) -> None:
    """Back from the middle of the bounds, in tenths, hardly any end is a float."""
    query = Query(Table("people", (INCOME,)), (("m", Mean(ValueOf(INCOME))),))
    (reading,) = readings_of(query, PrivacyUnit("replace-one"))
    solved = Solved(1, 1.0, None, np.array([ratio]), np.array([ratio]))
    (low,), (high,) = uncentred_outward(
        uncentred(NoisyReading(reading, GaussianNoise((Fraction(9), Fraction(3))))), solved
    )
    exact = (Fraction(ratio) * 10_000 + 10_000) / 20
    assert Fraction(low) <= exact <= Fraction(high)
    assert high - low <= 2.0**-42


@given(share=st.integers(5, 40), below=st.integers(15, 35), beside=st.integers(20, 48))
@example(share=16, below=24, beside=46)
@example(share=22, below=26, beside=48)
def test_theorem_RATIO_INTERVAL_a_denominator_at_the_slope_itself(
    share: int, below: int, beside: int
) -> None:
    """The slope of a band whose constant part is large is known to few digits, and where the denominator is
    less than it the far end may be in the set although places before it are not.

    Mutant: ``first`` that does not look at the far end.
    """
    reach, slope = 3.7, 1000.1
    rest = slope * 1.3 * 2.0**share
    band = Band(0.0, 0.0, rest, slope)
    denominator = np.array([slope * (1 - 2.0**-below)])
    numerator = (band(np.array([reach])) - reach * denominator) * (1 - 2.0**-beside)
    for top in (numerator, -numerator):
        low, high = ratio_interval(top, denominator, reach, band)
        for t, end in ((-reach, low), (reach, high)):
            off = abs(Fraction(top[0]) - Fraction(t) * Fraction(denominator[0]))
            allowed = Fraction(rest) + Fraction(slope) * Fraction(reach)
            assert off > allowed or end[0] == t


def test_theorem_RATIO_INTERVAL_the_far_end_is_not_rounded_inwards() -> None:
    """Mutant: ``largest_ratio`` rounded to the nearest float, which makes the range shorter here."""
    column = IntegerColumn("n", 0, 2**27 - 1)
    most = (2**27 - 1) ** 2  # which is no float
    query = Query(Table("people", (column,)), (("m", Mean(Square(ValueOf(column)))),))
    (reading,) = readings_of(query, PrivacyUnit("replace-one"))
    reach = largest_ratio(reading.sensitivity)
    part = NoisyReading(reading, GaussianNoise((Fraction(9), Fraction(3))))
    (low,), (high,) = uncentred_outward(
        uncentred(part), Solved(1, reach, None, np.array([-reach]), np.array([reach]))
    )
    assert Fraction(low) <= 0 < most <= Fraction(high)


def test_theorem_RATIO_INTERVAL_ends_also_where_nothing_is_in_doubt() -> None:
    """No noise and a numerator of 0: the search for the end must not step by 0.  Mutant: no ``_LEAST_STEP``."""
    none = Band(0.0, 0.0, 0.0, 0.0)
    low, high = ratio_interval(np.array([0.0]), np.array([5.0]), 10.0, none)
    assert -1e-12 < float(low[0]) <= 0 <= float(high[0]) < 1e-12


def test_theorem_RATIO_INTERVAL_cells_left_out_have_the_whole_range() -> None:
    """And the others their own ends, and values within them.  Mutants: no ends, or no values, put in place."""
    query = Query(Table("people", (INCOME,)), (("m", Mean(ValueOf(INCOME))),))
    (reading,) = readings_of(query, PrivacyUnit("replace-one"))
    part, reach = (
        NoisyReading(reading, GaussianNoise((Fraction(9), Fraction(3)))),
        largest_ratio(reading.sensitivity),
    )
    rng, places = np.random.default_rng(1), np.arange(3, 9_000, 7)
    low = rng.uniform(-reach, 0, len(places))
    some = Solved(9_000, reach, places, low, -low / 2)
    every = Solved(9_000, reach, None, *some.ends())
    outward = [
        [end.tobytes() for end in uncentred_outward(uncentred(part), solved)] for solved in (some, every)
    ]
    assert outward[0] == outward[1]
    released = [rng.integers(-(10**6), 10**6, 9_000), rng.integers(-99, 99, 9_000)]
    guesses = [ratio_guess(released, solved) for solved in (some, every)]
    assert guesses[0].tobytes() == guesses[1].tobytes()
    assert (low <= guesses[0][places]).all()
    assert (guesses[0][places] <= -low / 2).all()
