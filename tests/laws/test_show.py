"""Numbers for people: the digits that matter, and intervals that are never shown narrower than they are."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adyton.show import ends, number


@pytest.mark.parametrize(
    ("low", "high", "precision", "shown"),
    [
        (0.1, 0.6000000000000001, 0.05, "0.100 .. 0.600"),
        (1297, 1417, 60, "1,297 .. 1,417"),
        (875.2, 1712.9, 125, "875 .. 1,713"),
        (0.74659, 0.84641, 0.0497, "0.746 .. 0.847"),
        (-1e-15, 3, 2, "0.0 .. 3.0"),
        (0, 0, 0, "0 .. 0"),
        (-math.inf, math.inf, 1, "-inf .. inf"),
    ],
)
def test_ends_are_rounded_outwards(low: float, high: float, precision: float, shown: str) -> None:
    assert ends(low, high, precision) == shown


@given(st.floats(-1e9, 1e9), st.floats(0, 1e9), st.floats(1e-6, 1e9))
def test_law_what_is_shown_holds_what_is_meant(low: float, length: float, precision: float) -> None:
    """But for a billionth of the last digit, and never more than one digit wider."""
    high = low + length
    first, last = (float(text.replace(",", "")) for text in ends(low, high, precision).split(" .. "))
    step = 10.0 ** -len(number(low, precision).partition(".")[2])
    slack = step * 1e-8 + abs(high) * 1e-12 + abs(low) * 1e-12
    assert first <= low + slack
    assert last >= high - slack
    assert first >= low - step - slack
    assert last <= high + 10.0 ** -len(number(high, precision).partition(".")[2]) + slack
