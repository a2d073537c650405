"""Numbers for people: the digits that matter, and intervals that are never shown narrower than they are."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adyton.show import Sheet, Shown, ends, half_width, number


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
        (6.6739e20, 6.7532e20, 4e18, "6.673e20 .. 6.754e20"),
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


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e9), st.floats(-0.4, 0.4))
def test_law_value_and_half_width_hold_the_interval(value: float, length: float, lopsided: float) -> None:
    """Mutant: the half of the length in place of the longer side."""
    low, high = value - length / 2 * (1 + lopsided), value + length / 2 * (1 - lopsided)
    shown = half_width(value, low, high)
    if shown is None:
        assert abs(lopsided) > 0.01
        return
    middle, half = (float(text.replace(",", "")) for text in (number(value, (high - low) / 2), shown))
    slack = 1e-9 * (abs(value) + length)
    assert middle - half <= low + slack
    assert middle + half >= high - slack
    assert half <= length  # a half-width, and at most about as much again for two digits


@pytest.mark.parametrize(
    ("value", "precision", "step", "shown"),
    [
        (53.0, 0.5, 1.0, "53"),
        (12_345.678, 0.5, 0.01, "12,345.68"),
        (12_345.678, 200, 0.01, "12,346"),
        (-0.2, 0.1, 1.0, "0"),
        (6.7140123e20, 4e18, 0.0, "6.714e20"),
        (123_456_789_012_345_678.0, 0.0, 0.0, "1.23457e17"),
        (999_999_999_999_999.0, 50.0, 0.0, "999,999,999,999,999"),
    ],
)
def test_digits_that_mean_nothing_are_not_shown(
    value: float, precision: float, step: float, shown: str
) -> None:
    assert number(value, precision, step=step) == shown


class Thing(Shown):
    def sheet(self, verbose: bool = False) -> Sheet:
        narrow = Sheet("T", ("a",), (("1",),), ("note",), details=("theorem",))
        wide = Sheet("T", ("a" * 30, "b" * 30), (("1", "2"),), ("note",), 0, ("theorem",), narrower=narrow)
        sheet = wide.noted("said first")
        return sheet.detailed() if verbose else sheet


def test_a_table_that_is_too_wide_gives_way_and_shows_details_on_request() -> None:
    thing = Thing()
    assert "bbb" in thing.sheet().text(80)
    assert "bbb" not in thing.sheet().text(60)
    for width in (80, 60):
        plain, told = thing.sheet().text(width), thing.sheet(verbose=True).text(width)
        assert plain.endswith("note")
        assert told.endswith("theorem")
    assert "<details>" in thing._repr_html_()
    assert Sheet("T", ("a",), ()).text(40) == "T"
    many = Sheet("T", ("a",), (("1",),) * 100, hidden=7)
    assert "... and 47 more rows" in many.text(40)
    assert "... and 47 more rows" in many.html()


def test_of_a_history_the_newest_rows_are_shown() -> None:
    """Mutant: the first rows are."""
    history = Sheet("T", ("a",), tuple((f"row {i}",) for i in range(100)), newest=True)
    for text in (history.text(40), history.html()):
        assert "row 39" not in text
        assert text.index("row 40") < text.index("row 99")
        assert "40 earlier rows are not shown." in text


def test_names_fold_and_numbers_do_not() -> None:
    sheet = Sheet("T", ("name", "number"), (("word " * 12, "123,456,789"),))
    text = sheet.text(40)
    assert "123,456,789" in text
    assert max(map(len, text.splitlines())) <= 40


@pytest.mark.parametrize("width", range(13, 60))
def test_no_digit_and_no_letter_is_ever_lost(width: int) -> None:
    """However narrow the terminal.  Mutant: numbers that never fold are cropped."""
    row = ("a name of some length", "123,456,789", "rounded Gaussian, scale 3.57693e+07")
    text = Sheet("T", ("name", "number", "mechanism"), (row,)).text(width)
    lines = [line.split("│")[1:-1] for line in text.splitlines() if line.startswith("│")]
    cells = ["".join(part.strip() for part in column) for column in zip(*lines, strict=True)]
    assert [cell.replace(" ", "") for cell in cells] == [cell.replace(" ", "") for cell in row]
