"""Computed days: the first day of a month, a day some months later, the week of a year; all made of the parts
of a day and whole numbers, so that every engine gives the same.

A month has a number: twelve times its year, and the months before it in that year.  The first day of a month
follows from its number, in years that begin with March, because then the day that some years lack comes last.
"""

from __future__ import annotations

import datetime
from calendar import monthrange
from collections.abc import Callable
from fractions import Fraction
from math import ceil, floor

from adyton.errors import InvalidRequest
from adyton.kernel.schema import day_number, day_of
from adyton.kernel.terms.expressions import (
    Case,
    Clip,
    Compare,
    Days,
    Floor,
    Negative,
    NumberExpression,
    Plus,
    Times,
)
from adyton.kernel.terms.leaves import Constant, DatePart, Day, DayCount, DayFrom, DayOf, Part
from adyton.kernel.terms.names import columns_in
from adyton.query.conditions.possible import KnownRows

_MARCH_OF_YEAR_0 = -719_468  # the days from 1970-01-01 to 0000-03-01
_FIRST_DAY = -719_162  # and to 0001-01-01


def days_since_1970(day: Days) -> NumberExpression:
    match day:
        case DayOf():
            return DayCount(day)
        case Day(number):
            return Constant(Fraction(number))
        case DayFrom(inner):
            return inner


def day_at(number: NumberExpression) -> Days:
    """The day with this number; one that no column decides is a written day."""
    value = known_value(number)
    return DayFrom(number) if value is None else Day(int(value))


def known_value(number: NumberExpression) -> Fraction | None:
    """What a number is that reads no column; None if it does, or if it is missing."""
    if any(True for _ in columns_in(number)):
        return None
    found = KnownRows({}, 1).number(number)
    return None if found is None or not found[1][0] else int(found[0][0]) * number.lattice.step


def part_of(day: Days, part: Part) -> NumberExpression:
    if not isinstance(day, Day):
        return DatePart(part, day)
    value = known_value(DatePart(part, DayFrom(whole(day.number))))
    assert value is not None
    return Constant(value)


def month_number(day: Days) -> NumberExpression:
    return sum_of(scaled(part_of(day, "year"), 12), part_of(day, "month"), whole(-1))


def first_of_month(month: NumberExpression) -> NumberExpression:
    """The number of the first day of the month with this number."""
    from_march = sum_of(month, whole(-2))
    year = Floor(from_march, Fraction(12))
    months = within(sum_of(from_march, scaled(year, -12)), 0, 11)
    before = Floor(sum_of(scaled(months, 153), whole(2)), Fraction(5))
    return sum_of(_days_of_years(year), before, whole(_MARCH_OF_YEAR_0))


def _first_of_year(day: Days) -> NumberExpression:
    before = sum_of(part_of(day, "year"), whole(-1))
    return sum_of(_days_of_years(before), whole(_FIRST_DAY))


def _days_of_years(years: NumberExpression) -> NumberExpression:
    """Of so many whole years, the first of which is 1."""
    leaps = (
        Floor(years, Fraction(4)),
        Negative(Floor(years, Fraction(100))),
        Floor(years, Fraction(400)),
    )
    return sum_of(scaled(years, 365), *leaps)


def start_of(part: str, day: Days) -> Days:
    """The first day of the year, quarter, month or week (from Monday) of ``day``."""
    number = days_since_1970(day)
    match part:
        case "day":
            return day
        case "week":
            first = sum_of(number, Negative(part_of(day, "weekday")), whole(1))
            return _rising(day, first, lambda d: d - datetime.timedelta(days=d.weekday()))
        case "month":
            first = sum_of(number, Negative(part_of(day, "day")), whole(1))
            return _rising(day, first, lambda d: d.replace(day=1))
        case "quarter":
            quarters = sum_of(part_of(day, "quarter"), whole(-1))
            month = sum_of(scaled(part_of(day, "year"), 12), scaled(quarters, 3))
            start = first_of_month(month)
            return _rising(day, start, lambda d: d.replace(month=(d.month - 1) // 3 * 3 + 1, day=1))
        case _:
            return _rising(day, _first_of_year(day), lambda d: d.replace(month=1, day=1))


def last_of_month(day: Days) -> Days:
    return _rising(day, _last_of(month_number(day)), lambda d: _moved(d, 0, 31))


def later(day: Days, months: int, days: int) -> Days:
    """The day some months later, or the last of that month where it has no such day; then some days later."""
    if months:
        month = sum_of(month_number(day), whole(months))
        same = sum_of(first_of_month(month), part_of(day, "day"), whole(-1))
        last = _last_of(month)
        moved = Case(((Compare(same, "<=", last), same), (Compare(same, ">", last), last)))
        day = _rising(day, moved, lambda d: _moved(d, months, d.day))
    return day_at(sum_of(days_since_1970(day), whole(days))) if days else day


def day_of_year(day: Days) -> NumberExpression:
    return within(sum_of(days_since_1970(day), Negative(_first_of_year(day)), whole(1)), 1, 366)


def iso_year(day: Days) -> NumberExpression:
    return part_of(_thursday(day), "year")


def iso_week(day: Days) -> NumberExpression:
    """Weeks begin on Monday and belong to the year that their Thursday is in."""
    weeks = Floor(sum_of(day_of_year(_thursday(day)), whole(-1)), Fraction(7))
    return within(sum_of(weeks, whole(1)), 1, 53)


def _thursday(day: Days) -> Days:
    number = sum_of(days_since_1970(day), Negative(part_of(day, "weekday")), whole(4))
    return _rising(day, number, lambda d: d + datetime.timedelta(days=3 - d.weekday()))


def _last_of(month: NumberExpression) -> NumberExpression:
    return sum_of(first_of_month(sum_of(month, whole(1))), whole(-1))


def _moved(day: datetime.date, months: int, wanted: int) -> datetime.date:
    year, month = divmod(12 * day.year + day.month - 1 + months, 12)
    if not datetime.MINYEAR <= year <= datetime.MAXYEAR:
        raise InvalidRequest("a computed date can leave the years 1 to 9999: bound it, or move it by less")
    return datetime.date(year, month + 1, min(wanted, monthrange(year, month + 1)[1]))


def _rising(day: Days, number: NumberExpression, exact: Callable[[datetime.date], datetime.date]) -> Days:
    """What is never earlier for a later day lies between what the first and the last possible day become."""
    low, high = (day_number(exact(day_of(end))) for end in (day.lattice.low, day.lattice.high))
    return day_at(within(number, low, high))


# Numbers -------------------------------------------------------------------------------------------------


def whole(value: int) -> Constant:
    return Constant(Fraction(value))


def scaled(number: NumberExpression, factor: int) -> NumberExpression:
    return Times(number, whole(factor))


def sum_of(first: NumberExpression, *more: NumberExpression) -> NumberExpression:
    for term in more:
        first = first if term == whole(0) else Plus(first, term)
    return first


def within(number: NumberExpression, low: int | Fraction, high: int | Fraction) -> NumberExpression:
    """``number``, which is known to lie between two others, with no wider bounds than these."""
    step, ends = number.lattice.step, (number.lattice.low, number.lattice.high)
    narrower = max(ends[0], ceil(low / step)), min(ends[1], floor(high / step))
    if narrower == ends or narrower[0] >= narrower[1]:
        return number
    return Clip(number, narrower[0] * step, narrower[1] * step)
