"""The weights of which descriptions of queries are made, and how many nats numbers and texts have.

The weights of each list of choices sum to at most 1.  They may never change for a study: ``VERSION`` is part
of its fingerprint.  What is chosen when is in ``query.description``.  Theorem: DESCRIBED-QUERIES.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any, assert_never

import numpy as np

from adyton.kernel.schema import (
    BooleanColumn,
    CategoryColumn,
    Column,
    DateColumn,
    IntegerColumn,
    Lattice,
    RealColumn,
    TextColumn,
    declares_missing,
)

VERSION = 1


def nats_of(weight: Fraction) -> float:
    """The logarithm of one over it."""
    return math.log(weight.denominator) - math.log(weight.numerator)


class ChoiceWeights(dict[Any, Fraction]):
    """The weights of a list of choices, at most 1 together, and how many nats each of them has."""

    def __init__(self, weights: Mapping[Any, Fraction]) -> None:
        super().__init__(weights)
        assert sum(weights.values()) <= 1
        self.nats: dict[Any, float] = {choice: nats_of(weight) for choice, weight in weights.items()}


def _shares(total: int, **parts: int) -> ChoiceWeights:
    return ChoiceWeights({name: Fraction(part, total) for name, part in parts.items()})


FROM = _shares(8, table=5, public=2, persons=1)
MEASURES = _shares(
    32,
    Count=8,
    Mean=8,
    Sum=4,
    Proportion=2,
    CountPersons=2,
    Variance=2,
    Quantile=2,
    Moments=2,
    SumOfPersons=1,
    Cdf=1,
)
NUMBERS = _shares(
    128,  # a column has 96 of them
    ValueOf=96,
    Constant=1,
    part=1,
    Plus=4,
    Times=4,
    Negative=1,
    Square=2,
    Clip=4,
    Floor=2,
    Curved=1,
    Quotient=2,
    Indicator=3,
    Case=3,
    Lookup=1,
    DatePart=2,
    DayCount=1,
)
DAYS = _shares(16, DayOf=11, function=3, DayFrom=1, Day=1)
PARTS = _shares(32, column=23, any=3, expression=3, all=1, negated=1, always=1)
OF_A_BOOLEAN = _shares(16, true=7, false=7, missing=1, present=1)
OF_A_CATEGORY = _shares(
    32,
    one=16,
    several=8,
    not_one=2,
    not_several=2,
    missing=1,
    present=1,
    outside=1,
    inside=1,
)
OF_AN_ORDER = _shares(64, comparison=40, between=16, listed=4, missing=1, present=1, outside=1, inside=1)
OF_A_TEXT = _shares(2, missing=1, present=1)
OPERATORS = ChoiceWeights(
    {
        **dict.fromkeys(("<", "<=", ">=", ">"), Fraction(3, 16)),
        **dict.fromkeys(("=", "<>"), Fraction(1, 8)),
    }
)
CONSTANTS = _shares(64, step=15, place=15, decimal=30, rational=4)
OF_DAYS = _shares(128, year=45, month=45, inside=30, any=8)
FRACTIONS = {Fraction(1, 2): Fraction(1, 2)} | dict.fromkeys(
    (Fraction(n, 100) for n in (1, 5, 10, 25, 75, 90, 95, 99)), Fraction(1, 32)
)
OTHER_FRACTION = Fraction(1, 4)
GROUPS = _shares(16, column=12, number=3, day=1)
WITH_NULL = ChoiceWeights({False: Fraction(15, 16), True: Fraction(1, 16)})  # is NULL a group too?
LETTERS = ChoiceWeights(
    {
        **dict.fromkeys("abcdefghijklmnopqrstuvwxyz0123456789_ -.", Fraction(1, 64)),
        **dict.fromkeys("ABCDEFGHIJKLMNOPQRSTUVWXYZ", Fraction(1, 128)),
    }
)
END_OF_TEXT, OTHER_LETTER = Fraction(4, 64), Fraction(7, 64) / 0x110000
_END_NATS, _OTHER_NATS = nats_of(END_OF_TEXT), nats_of(OTHER_LETTER)
FOR_AMENDED = Fraction(1, 16)
KINDS = _shares(6, integer=1, real=1, date=1, category=1, boolean=1, text=1)
_DAY_FUNCTIONS = 6  # DATE_TRUNC to four units, LAST_DAY, and a day moved by some
PARTS_OF_DAYS = 3  # the day of a year, the week of one, and the year of a week
ALL_DAYS = 3_652_059  # from 0001-01-01 to 9999-12-31


def whole_nats(number: int) -> float:
    """Of a whole number from 0 on, by the shorter of two ways.

    Its bits and one more, after how many there are (Elias 1975); or, if it is not 0, its digits before the
    zeros at its end, after how many there are of both.
    """
    by_bits = (2 * (number + 1).bit_length() - 1) * math.log(2)
    if number == 0:
        return math.log(2) + by_bits
    written = str(number)
    digits = len(written.rstrip("0"))
    places = several_nats(digits, 1) + several_nats(len(written) - digits)
    return math.log(2) + min(by_bits, places + math.log(9) + (digits - 1) * math.log(10))


def rational_nats(value: Fraction) -> float:
    """Of any rational number: its sign, what is above and what is below the line."""
    return math.log(2) + whole_nats(abs(value.numerator)) + whole_nats(value.denominator - 1)


def text_nats(text: str) -> float:
    """Of any text, letter by letter."""
    return sum(LETTERS.nats.get(letter, _OTHER_NATS) for letter in text) + _END_NATS


def several_nats(many: int, least: int = 0) -> float:
    """How many there are, from ``least`` on: 2**-(many - least + 1)."""
    return (many - least + 1) * math.log(2)


def in_any_order(many: int) -> float:
    """What different parts gain together because they may stand in any order."""
    return math.lgamma(many + 1)


@lru_cache(maxsize=1024)
def constant_nats(value: Fraction, lattice: Lattice) -> float:
    """Of a number that is compared with a number on a public lattice: by the shortest of four ways."""
    steps, ways = value / lattice.step, [CONSTANTS.nats["rational"] + rational_nats(value)]
    span = lattice.high - lattice.low
    if steps.denominator == 1 and lattice.low <= steps <= lattice.high:
        ways.append(CONSTANTS.nats["step"] + math.log(span + 1))
    if span and (digits := _digits_of_place(Fraction(steps - lattice.low) / span)) is not None:
        place = several_nats(digits, 1) + math.log(10**digits + 1)
        ways.append(CONSTANTS.nats["place"] + place)
    if (decimal := _decimal_nats(value, lattice)) is not None:
        ways.append(CONSTANTS.nats["decimal"] + decimal)
    return min(ways)


def _digits_of_place(share: Fraction) -> int | None:
    """The least s >= 1 for which a share of the range is a whole number of 10**-s."""
    if not 0 <= share <= 1:
        return None
    return next((s for s in range(1, 7) if 10**s % share.denominator == 0), None)


def _decimal_nats(value: Fraction, lattice: Lattice) -> float | None:
    """0, or digits of which the first and the last are not 0, times a power of ten that fits the lattice."""
    if value == 0:
        return math.log(8)
    ends = [abs(end) * lattice.step for end in (lattice.low, lattice.high, 1)]
    first, last = _power_of_ten(lattice.step), max(_power_of_ten(end) for end in ends if end)
    power = next(
        (k for k in range(last, min(first, 0) - 1, -1) if (value / _ten_to(k)).denominator == 1), None
    )
    if power is None or power < first:
        return None
    mantissa = abs(int(value / _ten_to(power)))
    digits = len(str(mantissa))
    sign = math.log(2) if lattice.low < 0 else 0.0
    if value < 0 and lattice.low >= 0:
        return None
    choices = math.log(9) + (digits - 1) * math.log(10)
    return math.log(8 / 7) + sign + several_nats(digits, 1) + choices + math.log(last - first + 1)


def _power_of_ten(value: Fraction) -> int:
    """The greatest k with 10**k <= value."""
    k = len(str(value.numerator)) - len(str(value.denominator))
    while _ten_to(k) > value:
        k -= 1
    while _ten_to(k + 1) <= value:
        k += 1
    return k


@lru_cache(maxsize=256)
def _ten_to(power: int) -> Fraction:
    return Fraction(10) ** power


def day_nats(number: int, lattice: Lattice) -> float:
    """Of a day that is compared with days between two bounds: by the shortest of four ways."""
    ways = [OF_DAYS.nats["any"] + math.log(ALL_DAYS)]
    if lattice.low <= number <= lattice.high:
        ways.append(OF_DAYS.nats["inside"] + math.log(lattice.high - lattice.low + 1))
        ways += [
            OF_DAYS.nats[name] + math.log(_ends(lattice.low, lattice.high, name))
            for name in _SPECIAL
            if _ends(number, number, name)
        ]
    return min(ways)


_SPECIAL = ("month", "year")


@lru_cache(maxsize=1024)
def _ends(low: int, high: int, of: str) -> int:
    """How many of these days are the first or the last of a month or a year."""
    days = np.arange(low, high + 2).astype("datetime64[D]")
    begins = days == days.astype(f"datetime64[{of[0].upper()}]").astype("datetime64[D]")
    return int(np.count_nonzero(begins[:-1] | begins[1:]))


def list_nats(values: Sequence[str | int]) -> float:
    """Of a whole list of values, in its order."""
    return several_nats(len(values)) + sum(map(value_nats, values))


def value_nats(value: str | int) -> float:
    """A text or a whole number, letter by letter."""
    if isinstance(value, str):
        return math.log(2) + text_nats(value)
    return math.log(2) + rational_nats(Fraction(value))


def function_nats(behind: str) -> float:
    """DATE_TRUNC to one of four units, LAST_DAY, or a day moved by so many days or months."""
    moved = re.fullmatch(r" ([+-]) INTERVAL ([0-9]+) (DAY|MONTH)\)", behind)
    if moved is None:
        return math.log(_DAY_FUNCTIONS)
    return math.log(_DAY_FUNCTIONS) + 2 * math.log(2) + whole_nats(int(moved[2]))


def step_nats(step: Fraction) -> float:
    """The width of bins: a power of ten times 1, 2 or 5, or any rational."""
    power = _power_of_ten(step)
    if step / _ten_to(power) in (1, 2, 5):
        return math.log(2) + math.log(3) + math.log(2) + whole_nats(abs(power))
    return math.log(2) + rational_nats(step)


def fraction_nats(fraction: Fraction) -> float:
    """Of a quantile: the median, a usual one, one with four decimals, or any."""
    if fraction in FRACTIONS:
        return nats_of(FRACTIONS[fraction])
    ways = [nats_of(OTHER_FRACTION / 2) + rational_nats(fraction)]
    if 10_000 % fraction.denominator == 0:
        ways.append(nats_of(OTHER_FRACTION / 2) + math.log(9_999))
    return min(ways)


def declaration_nats(column: Column) -> float:
    """All that decides what a column says about a unit, but for the values of a category."""
    own = KINDS.nats[column.kind] + text_nats(column.name) + WITH_NULL.nats[declares_missing(column)]
    match column:
        case IntegerColumn(_, low, high, clock):
            ends = rational_nats(Fraction(low)) + rational_nats(Fraction(high)) + math.log(2)
            if clock is not None:
                ends += text_nats(clock.of) + math.log(2) + _zone_nats(clock.zone)
            return own + ends
        case RealColumn(_, low, high, step):
            return own + rational_nats(low) + rational_nats(high) + step_nats(step)
        case DateColumn(zone=zone):
            return own + 2 * math.log(ALL_DAYS) + _zone_nats(zone)
        case CategoryColumn():
            return own + math.log(2)
        case TextColumn(_, longest):
            return own + whole_nats(longest)
        case BooleanColumn():
            return own
        case _:
            assert_never(column)


def _zone_nats(zone: str | None) -> float:
    return math.log(2) + (text_nats(zone) if zone is not None else 0.0)
