"""Numbers that carry a guarantee: exact, and rounded away from danger."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adyton.errors import InvalidRequest
from adyton.kernel.exact import (
    decimal_text,
    each_of,
    float_down,
    float_up,
    positive,
    ratio_down,
    ratio_up,
    rational,
    units_down,
    units_up,
)

fractions = st.fractions(-(10**30), 10**30)
integers = st.integers(-(2**130), 2**130)


@given(value=fractions)
def test_law_up_is_the_least_float_not_below_and_down_the_greatest(value: Fraction) -> None:
    """Up is the least float not below, and down the greatest not above."""
    up, down = float_up(value), float_down(value)
    assert Fraction(down) <= value <= Fraction(up)
    assert Fraction(math.nextafter(up, -math.inf)) < value < Fraction(math.nextafter(down, math.inf))


@given(numerator=integers, denominator=st.integers(1, 10**20))
def test_law_quotients_round_as_fractions_do(numerator: int, denominator: int) -> None:
    exact = Fraction(numerator, denominator)
    assert ratio_up(numerator, denominator) == float_up(exact)
    assert ratio_down(numerator, denominator) == float_down(exact)


def test_a_third_is_not_taken_for_exact() -> None:
    assert ratio_up(1, 3) > ratio_down(1, 3)  # although 1 / 3 * 3 == 1 in floats


@given(value=fractions)
def test_law_units_bracket_the_amount(value: Fraction) -> None:
    assert 0 <= units_up(value) - units_down(value) <= 1
    assert Fraction(units_down(value), 10**18) <= value <= Fraction(units_up(value), 10**18)


@given(units=st.integers(-(10**40), 10**40))
def test_law_decimal_text_keeps_every_digit(units: int) -> None:
    assert Fraction(decimal_text(units)) == Fraction(units, 10**18)
    assert "e" not in decimal_text(units).lower()


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("0.1", Fraction(1, 10)),
        (0.1, Fraction(1, 10)),
        (Decimal("1E-9"), Fraction(1, 10**9)),
        (3, 3),
        ("2/3", Fraction(2, 3)),
        ("1e-9", Fraction(1, 10**9)),
    ],
)
def test_a_number_is_what_was_written(written: Any, meant: Fraction) -> None:
    assert rational(written, "x") == meant


@pytest.mark.parametrize(
    "bad",
    [
        "",
        "one",
        "nan",
        "inf",
        "-inf",
        math.nan,
        math.inf,
        "1e999999999",
        "9" * 100,
        "1/0",
        True,
        None,
        [],
        b"1",
        1j,
        "0x10",
        "__import__('os')",
    ],
)
def test_A16_what_is_no_finite_number_of_sensible_size_is_refused(bad: Any) -> None:
    with pytest.raises(InvalidRequest, match="x must be"):
        rational(bad, "x")


@pytest.mark.parametrize("bad", [0, -1, "0", "-0.5", -1e-300])
def test_what_must_be_positive_is_positive(bad: Any) -> None:
    with pytest.raises(InvalidRequest, match="x must be"):
        positive(bad, "x")


@pytest.mark.parametrize("number", [10**101, -(10**101), 10**5000, Fraction(-(10**5000), 3)], ids=range(4))
def test_law_numbers_of_hundreds_of_digits_are_refused_in_a_short_sentence(number: int | Fraction) -> None:
    """Mutant: no ``_not_too_long``; then floats overflow, or Python refuses to write the digits."""
    with pytest.raises(InvalidRequest) as refused:
        rational(number, "epsilon")
    assert len(refused.value.message) < 120
    assert rational(Fraction(1, 10**5000), "what others worked out") > 0
    with pytest.raises(InvalidRequest, match="thousands of digits"):
        positive(Fraction(1, 10**5000), "epsilon")


@given(st.integers(1, 999), st.integers(1, 10**6))
def test_law_claims_that_share_a_failure_hold_together(thousandths: int, times: int) -> None:
    """0.95 is the decimal, not the float below it.  Mutant: the float."""
    each = each_of(thousandths / 1000, times)
    assert (1 - each) * times == 1 - Fraction(thousandths, 1000)
    assert Fraction(float_up(each)) >= each
