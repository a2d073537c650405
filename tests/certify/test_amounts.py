"""Shares of a limit: what is spent is never shown as less, what is left never as more, and neither as nothing."""

from __future__ import annotations

import re
from fractions import Fraction

from hypothesis import example, given
from hypothesis import strategies as st

from adyton.certify import Amount, AmountLeft, RoundedGuarantee
from adyton.certify.answer import cost_notes, digits_up
from adyton.kernel.exact import printed_up
from adyton.refusals import percent

LIMIT = 33_114_830_490_091_660


def meant(shown: str) -> tuple[Fraction, Fraction]:
    """The shares, in per cent, that a text allows for."""
    text = shown.removesuffix(" %").replace(",", "")
    if text.startswith("under "):
        return Fraction(0), Fraction(text.removeprefix("under "))
    if text.startswith("over "):
        return Fraction(text.removeprefix("over ")), Fraction(100)
    return Fraction(text), Fraction(text)


@given(st.integers(0, 3 * LIMIT))
@example(0)
@example(1)
@example(LIMIT - 1)
@example(LIMIT)
@example(LIMIT + 1)
@example(LIMIT // 2)
def test_law_per_cent_are_rounded_away_from_danger(units: int) -> None:
    """Mutants: ceil and floor exchanged; float_up and float_down exchanged; digits that do not follow the room."""
    share = Fraction(units, LIMIT)
    up, down = percent(share, up=True), percent(share, up=False)
    assert meant(up)[1] >= 100 * share
    assert meant(down)[0] <= 100 * share or units > LIMIT
    assert (up == "0 %") == (down == "0 %") == (units == 0)
    assert (up == "100 %") == (down == "100 %") == (units == LIMIT)
    room = min(100 * share, 100 - 100 * share)
    if room > 0:  # two digits of what is spent, or of what is left
        assert meant(up)[1] - 100 * share <= max(room / 10, Fraction(1, 10_000))
        assert 100 * share - meant(down)[0] <= max(room / 10, Fraction(1, 10_000))
    assert Fraction(Amount("gdp", units, LIMIT).share) >= share
    assert Fraction(AmountLeft("gdp", units, LIMIT).share) <= share
    assert (AmountLeft("gdp", units, LIMIT).share == 0) == (units == 0)


def test_what_a_person_reads_as_a_share() -> None:
    shown = [
        percent(Fraction(text), up=True) for text in ("0.0021", "0.2371", "0.5", "0.99991", "42.3", "1e-9")
    ]
    assert shown == ["0.21 %", "23.8 %", "50 %", "99.991 %", "4,230 %", "under 0.0001 %"]
    assert percent(Fraction(99_999_999, 100_000_000), up=True) == "over 99.9999 %"
    assert percent(Fraction("0.2371"), up=False) == "23.7 %"


@given(st.fractions(Fraction(1, 10**30), 1).filter(lambda f: f < 1))
@example(Fraction("1.0000004e-9"))
@example(Fraction("0.7"))
@example(Fraction("1e-6"))
def test_law_a_printed_delta_is_never_below_the_delta(delta: Fraction) -> None:
    """It was rounded to the nearest: 1.0000004e-9 was printed as 1e-9."""
    guarantee = RoundedGuarantee(1.0, printed_up(delta))
    assert Fraction(repr(guarantee.delta)) >= delta
    (said,) = re.findall(r"delta (\S+)", str(guarantee))
    assert delta <= Fraction(said) <= delta * Fraction(100_001, 100_000)


def test_numbers_that_a_person_wrote_are_printed_as_they_were_written() -> None:
    written = ("1", "0.7", "1e-6", "1e-9", "0.25", "500", "0")
    assert [digits_up(printed_up(Fraction(text))) for text in written] == list(written)
    assert digits_up(printed_up(Fraction("1.0000004e-9"))) == "1.00001e-9"


def test_an_answer_says_cost_spent_left_and_how_many_more() -> None:
    """An answer says cost, spent, left and how many more, and calls the limit the guarantee."""
    cost, spent = Amount("gdp", LIMIT // 100, LIMIT), Amount("gdp", LIMIT // 4, LIMIT)
    left, limit = AmountLeft("gdp", LIMIT - LIMIT // 4, LIMIT), RoundedGuarantee(1.0, 1e-9)
    assert cost_notes(cost, spent, left, limit, 75) == (
        "Cost 1 % of the budget. Spent 25 %, left 75 %: 75 more of this cost would fit.",
        "The guarantee: epsilon 1, delta 1e-9, whatever is asked.",
    )
    assert "no more of this cost would fit" in cost_notes(cost, spent, left, limit, 0)[0]
    assert cost_notes(cost, spent, left, limit, None)[0] == (
        "Asked before: free of charge. Spent 25 %, left 75 %."
    )
