"""Which function a computed day, or a number of a day, was written with: DATE_TRUNC('month', day), say.

A function of days is made of parts of a day and whole numbers (``calendar``), which nobody could read.  What
each function makes of the days inside an expression is compared with it, so no form is described twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import lru_cache, partial

from adyton.errors import InvalidRequest
from adyton.kernel.terms.expressions import Clip, Days, Floor, NumberExpression, Plus
from adyton.kernel.terms.leaves import Constant, DatePart, DayCount, DayFrom, DayOf
from adyton.kernel.terms.names import parts_in
from adyton.query.calendar import (
    day_of_year,
    iso_week,
    iso_year,
    last_of_month,
    later,
    month_number,
    start_of,
)

Called = tuple[str, str, Days]  # what stands before the day in a text, what behind it, and the day

_UNITS = ("week", "month", "quarter", "year")
_FURTHEST = 4_000_000  # days, and more months than there are
_PARTS: dict[str, Callable[[Days], NumberExpression]] = {
    "DOY": day_of_year,
    "WEEK": iso_week,
    "ISOYEAR": iso_year,
}


@lru_cache(maxsize=1024)
def day_function(day: DayFrom) -> Called | None:
    """The function that makes this day of another; None if none of them does."""
    match day.inner:
        case Plus(Clip() | DayCount() as number, Constant(value)) | Plus(
            Constant(value), Clip() | DayCount() as number
        ) if abs(value) <= _FURTHEST:
            with suppress(InvalidRequest):  # alone it may leave the years that there are
                of = number.day if isinstance(number, DayCount) else DayFrom(number)
                return _moved(of, int(value), "DAY")
            return None
    for inner in _days_in(day):
        for unit in _UNITS:
            if _makes(partial(start_of, unit, inner), day):
                return f"DATE_TRUNC('{unit}', ", ")", inner
        if _makes(partial(last_of_month, inner), day):
            return "LAST_DAY(", ")", inner
        for months in _months_added(day, inner):
            if _makes(partial(later, inner, months, 0), day):
                return _moved(inner, months, "MONTH")
    return None


@lru_cache(maxsize=1024)
def part_function(number: NumberExpression) -> Called | None:
    """The part of a day that this number is, if it is a computed one."""
    match number:
        case Clip() | DatePart("year", DayFrom()) | Plus(Floor(), Constant()):
            for inner in _days_in(number):
                for name, part in _PARTS.items():
                    if _makes(partial(part, inner), number):
                        return f"EXTRACT({name} FROM ", ")", inner
    return None


def _moved(day: Days, count: int, unit: str) -> Called:
    return "(", f" {'-' if count < 0 else '+'} INTERVAL {abs(count)} {unit})", day


def _makes(function: Callable[[], object], wanted: object) -> bool:
    with suppress(InvalidRequest):  # of another day it may leave the years that there are
        return function() == wanted
    return False


def _days_in(node: object) -> list[DayOf | DayFrom]:
    """All days inside, each once."""
    inside = (one for one in parts_in(node) if isinstance(one, DayOf | DayFrom))
    return [one for one in dict.fromkeys(inside) if one != node]


def _months_added(node: object, day: Days) -> Iterator[int]:
    """Whole numbers that are added to the number of the day's month."""
    month = month_number(day)
    for one in dict.fromkeys(part for part in parts_in(node) if isinstance(part, Plus)):
        if one.left == month and isinstance(one.right, Constant) and abs(one.right.value) <= _FURTHEST:
            yield int(one.right.value)
