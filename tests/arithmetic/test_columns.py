"""Many cells at once are what they are one by one: the same integers, the same rounding, the same intervals.

The formulas for one cell stand here as they stood in the code before cells were computed together.
"""

from __future__ import annotations

import json
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from adyton.arithmetic.lines import Line
from adyton.arithmetic.ratio import Band, ratio_interval
from adyton.errors import LedgerCorrupt
from adyton.kernel.exact import float_down, float_up, ratio_down, ratio_up
from adyton.kernel.exact.cells import Cells, weighted, whole
from adyton.kernel.ledger.texts import Stored, many_from_text, many_to_text

REACHES = (10**3, 2**53, 2**62, 2**70, 2**130)  # 2**53: floats hold no more; 2**62: nor do machine integers
RATIONALS = st.one_of(
    st.fractions(-1000, 1000, max_denominator=1000),
    st.fractions(-1000, 1000, max_denominator=10**30),
    st.floats(-(2.0**40), 2.0**40).map(Fraction),
)


def integers(seed: int, reach: int, size: int = 64) -> list[int]:
    rng = np.random.default_rng(seed)
    found = [int(rng.integers(-(2**63), 2**63)) * reach // 2**63 for _ in range(size - 3)]
    return [*found, 0, reach - 1, -reach + 1]


# Integers -------------------------------------------------------------------------------------------------


@given(st.integers(0, 10**6), st.sampled_from(REACHES), st.integers(-(2**40), 2**40), st.integers(-9, 9))
def test_law_sums_of_columns_are_exact(seed: int, reach: int, first: int, second: int) -> None:
    """Mutant: no change to Python's integers where machine integers are too small."""
    a, b = integers(seed, reach), integers(seed + 1, 2**62)
    found = weighted((first, whole(a)), (second, whole(b)))
    assert found.tolist() == [first * x + second * y for x, y in zip(a, b, strict=True)]


@given(st.lists(st.integers(-(2**70), 2**70)))
def test_law_cells_are_a_sequence_of_integers(values: list[int]) -> None:
    cells = Cells(values)
    assert cells == values == list(cells)
    assert [cells[i] for i in range(-len(values), len(values))] == values * 2
    assert cells[1:-1] == values[1:-1]
    assert len(cells) == len(values)
    assert cells != [*values, 1]
    assert all(type(z) is int for z in cells)


def test_cells_that_are_mostly_nothing() -> None:
    cells = Cells.at(np.array([1, 4]), np.array([7, -(2**61)]), 6)
    assert cells == [0, 7, 0, 0, -(2**61), 0]
    assert Cells.at(np.array([0]), whole([2**80]), 2) == (2**80, 0)


# Rounding -------------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 10**6), st.sampled_from(REACHES), RATIONALS, RATIONALS)
def test_law_lines_round_whole_numbers_as_fractions_do(
    seed: int, reach: int, scale: Fraction, shift: Fraction
) -> None:
    """Mutants: no doubt about what touches a float; ``shift`` taken for a float; the lower half of z lost."""
    z = integers(seed, reach)
    exact, line = [x * scale + shift for x in z], Line(scale, shift)
    assert line.down(whole(z)).tolist() == [float_down(value) for value in exact]
    assert line.up(whole(z)).tolist() == [float_up(value) for value in exact]
    assert line.near(whole(z)).tolist() == [float(value) for value in exact]


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 10**6), st.integers(-60, 60), RATIONALS, RATIONALS)
@example(0, 0, Fraction(1, 2), Fraction(0))  # z is the least float there is, and half of it is none
def test_law_lines_round_floats_as_fractions_do(
    seed: int, exponent: int, scale: Fraction, shift: Fraction
) -> None:
    """Also where nearly everything cancels: at the z next to -shift / scale."""
    z = np.random.default_rng(seed).uniform(-1, 1, 64) * 2.0**exponent
    if scale:
        root = float(-shift / scale)
        z[:3] = math.nextafter(root, -math.inf), root, math.nextafter(root, math.inf)
    exact, line = [Fraction(x) * scale + shift for x in z.tolist()], Line(scale, shift)
    assert line.down(z).tolist() == [float_down(value) for value in exact]
    assert line.up(z).tolist() == [float_up(value) for value in exact]
    assert line.near(z).tolist() == [float(value) for value in exact]


@given(st.integers(0, 10**6), st.sampled_from(REACHES), st.integers(0, 10**7), st.sampled_from([1, 3, 100]))
def test_law_noise_intervals_of_counts_and_sums_are_those_of_one_cell(
    seed: int, reach: int, error: int, bottom: int
) -> None:
    """The formula of one cell, as it stood in ``additive`` and in ``population``."""
    z, step = integers(seed, reach), Fraction(1, bottom)
    low, high = Line(step, -error * step).down(whole(z)), Line(step, error * step).up(whole(z))
    assert low.tolist() == [ratio_down(x - error, bottom) for x in z]
    assert high.tolist() == [ratio_up(x + error, bottom) for x in z]
    wide, unit = (Fraction(error) * Fraction(1.1) + Fraction(1, 2)).as_integer_ratio()
    reached = Fraction(wide, unit) * step
    assert Line(step, reached).up(whole(z)).tolist() == [
        ratio_up((x * unit + wide) * 1, unit * bottom) for x in z
    ]


def test_nothing_is_minus_zero() -> None:
    z = np.arange(-50, 50)
    for found in (Line(Fraction(1, 3)).down(z), Line(Fraction(1)).up(z), Line(Fraction(1, 7)).near(z)):
        assert not np.signbit(found[50])


# Intervals of ratios -----------------------------------------------------------------------------------


def halved(top: Any, bottom: Any, reach: float, error: Band) -> tuple[Any, Any]:
    """The intervals as they were found by eighty halvings of every cell."""

    def band(t: Any) -> Any:
        return error(t) + 2.0**-50 * (np.abs(top) + np.abs(t * bottom))

    def first(holds: Any) -> Any:
        below, above = np.full(top.shape, -reach), np.full(top.shape, reach)
        for _ in range(80):
            middle = (below + above) / 2
            yes = holds(middle)
            above, below = np.where(yes, middle, above), np.where(yes, below, middle)
        return below

    end = np.full_like(top, reach)
    slope = (band(end * (1 + 2.0**-20)) - band(end)) / (end * 2.0**-20) * (1 + 2.0**-20)
    low = first(lambda t: t * bottom - top + band(t) >= 0)
    high = -first(lambda t: t * bottom + top + band(t) >= 0)
    return np.where(bottom > slope, low, -reach), np.where(bottom > slope, high, reach)


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10**6), st.floats(-3, 7), st.floats(0, 15), st.floats(-1, 6), st.integers(0, 2))
def test_theorem_RATIO_INTERVAL_of_many_cells_is_that_of_one(
    seed: int, reach_exponent: float, noise: float, counted: float, kind: int
) -> None:
    """Both ends are where halving put them, but for what floats cannot tell: 2**-48 of the terms that are
    compared; and, in fractions, no end lies inside the band.

    Mutants: the first guess taken as it is; too few cells called informative.
    """
    rng, reach = np.random.default_rng(seed), 10.0**reach_exponent
    a, b = 10.0**noise * rng.uniform(0.3, 3), 10.0**noise * rng.uniform(0.3, 3) / reach
    error = (Band(a, b, 0.5, 0.5), Band(0.0, 0.0, a, b), Band(a, b, a / 1000, b / 7))[kind]
    bottom = np.rint(rng.normal(size=300) * b * 10.0**counted)
    top = np.rint(bottom * rng.uniform(-1.1, 1.1, 300) * reach + rng.normal(size=300) * a)
    low, high = ratio_interval(top, bottom, reach, error)
    least, most = halved(top, bottom, reach, error)
    told = (least != -reach) | (most != reach)
    assert (~told <= ((low == -reach) & (high == reach))).all()
    rise = bottom[told] - error.slope(np.array(reach))
    for found, wanted in ((low[told], least[told]), (high[told], most[told])):
        unit = (np.abs(top[told]) + np.abs(wanted) * bottom[told] + error(wanted)) / rise
        assert (np.abs(found - wanted) <= 2.0**-48 * unit).all()
    for x, t, n, d in zip(low.tolist(), high.tolist(), top.tolist(), bottom.tolist(), strict=True):
        if -reach < x:
            assert Fraction(n) - Fraction(x) * Fraction(d) > _band_down(error, x)
        if t < reach:
            assert Fraction(t) * Fraction(d) - Fraction(n) > _band_down(error, t)


def _band_down(error: Band, t: float) -> Fraction:
    """Not above the band at t."""
    a, b, c, d = (Fraction(float(side)) for side in (error.a, error.b, error.c, error.d))
    square = a * a + (b * Fraction(t)) ** 2
    root = Fraction(math.isqrt(int(square * 2**120)), 2**60)
    return root + c + d * abs(Fraction(t))


# Storing --------------------------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 8), min_size=1, max_size=4), st.integers(0, 10**6), st.booleans())
def test_law_stored_columns_come_back(sizes: list[int], seed: int, found: bool) -> None:
    """Mutants: one byte too few for the sign; the sign not brought down."""
    released = [[integers(seed + i, 2 ** (8 * size), 300)] for i, size in enumerate(sizes)]
    released.append([[5, -(2**90)]])
    keys: Any = [["a", 1]] if found else None
    many = [Stored(released, keys, 3), Stored([[[1]]])]
    for own in (many, many[:1]):
        again = many_from_text(many_to_text(own))
        assert [one.released for one in again] == [one.released for one in own]
        assert [one.keys for one in again] == [one.keys for one in own]


def test_answers_of_older_ledgers_are_read() -> None:
    """The text that the first version wrote: digits, whatever the length."""
    digits = [str(z) for z in range(-500, 500)]
    old = json.dumps([[digits, ["7"] * 3], [[str(2**70)]]])
    (stored,) = many_from_text(old)
    assert stored == Stored([[range(-500, 500), [7] * 3], [[2**70]]])
    batch = json.dumps({"batch": [[[["1"]]], {"keys": [["x", 2]], "number": "4", "released": [[["9"]]]}]})
    assert many_from_text(batch) == [Stored([[[1]]]), Stored([[[9]]], [["x", 2]], 4)]


@pytest.mark.parametrize(
    "change",
    [
        {"cells": 301},
        {"cells": 299},
        {"cells": -300},
        {"bytes": 0},
        {"bytes": 9},
        {"bytes": 2},
        {"bytes": "1"},
        {"base64": "AAAA"},
        {"base64": "!" * 400},
        {"base64": None},
    ],
)
def test_a_damaged_column_is_not_guessed(change: dict[str, Any]) -> None:
    known = json.loads(many_to_text([Stored([[list(range(100)) * 3]])]))
    known[0][0] |= change
    with pytest.raises(LedgerCorrupt):
        many_from_text(json.dumps(known))
