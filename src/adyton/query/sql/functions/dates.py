"""Functions of days: parts, beginnings, distances, written forms, and days some time later."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING

from sqlglot import exp

from adyton.kernel.schema import IntegerColumn
from adyton.kernel.terms.expressions import Days, Negative, NumberExpression
from adyton.kernel.terms.leaves import Part, ValueOf
from adyton.query.calendar import (
    day_at,
    day_of_year,
    days_since_1970,
    iso_week,
    iso_year,
    last_of_month,
    later,
    month_number,
    part_of,
    scaled,
    start_of,
    sum_of,
)
from adyton.query.sql.functions.arguments import arguments, whole_number, written
from adyton.query.sql.functions.formats import formatted, read_format
from adyton.query.sql.functions.numbers import folded, remainder
from adyton.query.sql.functions.values import TimeSpan, Value, described
from adyton.query.sql.names import called

if TYPE_CHECKING:
    from adyton.query.sql.expressions import SqlText

# The parts of a date that every engine has, as EXTRACT and the functions of one date name them.
_PARTS: dict[str, Part] = {
    "YEAR": "year",
    "QUARTER": "quarter",
    "MONTH": "month",
    "DAY": "day",
    "ISODOW": "weekday",
}
_COMPUTED: dict[str, Callable[[Days], NumberExpression]] = {
    "DOW": lambda day: remainder(part_of(day, "weekday"), Fraction(7)),
    "DOY": day_of_year,
    "WEEK": iso_week,
    "ISOWEEK": iso_week,
    "ISOYEAR": iso_year,
}
_CLOCK = ("HOUR", "MINUTE")
_WRITTEN = ("YYYY-MM-DD", "YYYY-MM-DD HH24:MI:SS", "YYYY-MM-DD HH24:MI:SS.US")  # in capitals
# Functions of one date, and the part that each gives.
_OF_ONE_DATE = {
    **{name: name for name in (*_PARTS, "DOW", "WEEK", "ISOWEEK", "ISOYEAR", *_CLOCK)},
    "DAYOFMONTH": "DAY",
    "DAYOFYEAR": "DOY",
    "WEEKOFYEAR": "WEEK",
}
_UNITS = {"YEAR": (12, 0), "QUARTER": (3, 0), "MONTH": (1, 0), "WEEK": (0, 7), "DAY": (0, 1)}
# What counts the days, months, quarters and years up to a day.
_COUNTED: dict[str, Callable[[Days], NumberExpression]] = {
    "DAY": days_since_1970,
    "MONTH": month_number,
    "QUARTER": lambda day: sum_of(scaled(part_of(day, "year"), 4), part_of(day, "quarter")),
    "YEAR": lambda day: part_of(day, "year"),
}
# Other functions of one date.
_OF_DAY: dict[str, Callable[[Days], Value]] = {
    "DATE": lambda day: day,
    "DAYNAME": lambda day: formatted(day, ["%A"]),
    "LAST_DAY": last_of_month,
    "MONTHNAME": lambda day: formatted(day, ["%B"]),
    "UNIX_DATE": days_since_1970,
}
_LONGEST = 4_000_000  # days; more than there are


def read_extract(source: SqlText, node: exp.Expr) -> NumberExpression:
    """EXTRACT(part FROM date)."""
    part, day = source.sides(node)
    return _part(source, node, str(part.this).upper(), day)


def read_interval(source: SqlText, node: exp.Expr) -> TimeSpan:
    """INTERVAL 3 MONTH, or INTERVAL '3 months'."""
    source.check_parts(node, "this", "unit")
    unit, count = node.args.get("unit"), source.bare(node.this)
    sign = 1
    if type(count) is exp.Neg:
        sign, count = -1, source.bare(count.this)
    text = str(count.this) if type(count) is exp.Literal else ""
    if type(unit) is not exp.Var or not text.lstrip("-").isdecimal() or len(text) > 8:
        raise source.refusal(node, "a length of time is written as INTERVAL 3 MONTH, with one number")
    return _interval(source, node, sign * int(text), str(unit.this))


def added(source: SqlText, node: exp.Expr, left: Value, sign: int, right: Value) -> Value:
    """A day and a length of time, or two days."""
    match left, right:
        case (TimeSpan(), _) if sign > 0 and isinstance(right, Days):
            return added(source, node, right, sign, left)
        case (_, TimeSpan(months, days)) if isinstance(left, Days):
            return later(left, sign * months, sign * days)
    if isinstance(left, Days) and isinstance(right, Days) and sign < 0:
        return _between(days_since_1970, right, left)
    if isinstance(left, Days) and isinstance(right, NumberExpression):
        if right.lattice.step.denominator != 1:
            raise source.refusal(node, "a whole number of days can be added to a date")
        return day_at(sum_of(days_since_1970(left), right if sign > 0 else Negative(right)))
    if isinstance(right, Days) and isinstance(left, NumberExpression) and sign > 0:
        return added(source, node, right, sign, left)
    raise source.refusal(
        node, f"{described(right)} cannot be {'added to' if sign > 0 else 'taken from'} {described(left)}"
    )


def read_day(source: SqlText, node: exp.Expr) -> Days:
    """A day: a date column, a written day, or one that is computed."""
    value = source.operand(node)
    if isinstance(value, str):
        return source.day(node, value)
    if not isinstance(value, Days):
        raise source.refusal(node, f"a date is needed here, not {described(value)}")
    return value


def _part(source: SqlText, node: exp.Expr, name: str, day: exp.Expr) -> NumberExpression:
    if name in _CLOCK:
        return _clock(source, node, name, day)
    if name not in _PARTS and name not in _COMPUTED:
        known = ", ".join((*_PARTS, *_COMPUTED, *_CLOCK))
        raise source.refusal(
            node, f"the parts of a date are {known} (in ISODOW Monday is 1); not {name[:40]}"
        )
    of = read_day(source, day)
    return folded(part_of(of, _PARTS[name]) if name in _PARTS else _COMPUTED[name](of))


def _clock(source: SqlText, node: exp.Expr, name: str, of: exp.Expr) -> NumberExpression:
    """The time of day is a column of its own, if the study declares one for these timestamps."""
    column = source.column(source.bare(of))
    for one in source.table.columns:
        clock = one.clock if isinstance(one, IntegerColumn) else None
        if clock and (clock.part, clock.of.casefold()) == (name.lower(), column.name.casefold()):
            return ValueOf(one)  # type: ignore[arg-type]  # what has a clock is an integer column
    reason = f"declare a column with from = {column.name!r} and part = {name.lower()!r} in the study"
    raise source.refusal(node, f"{column.name!r} has days and no time of day: {reason}")


def _of_one_date(source: SqlText, node: exp.Expr) -> NumberExpression:
    name = called(source, node)
    (day,) = arguments(source, node, f"{name}(date)", 1)
    return _part(source, node, _OF_ONE_DATE[name], day)


def _date_part(source: SqlText, node: exp.Expr) -> NumberExpression:
    name = called(source, node)
    part, day = arguments(source, node, f"{name}('part', date)", 2)
    return _part(source, node, written(source, part), day)


def _date_trunc(source: SqlText, node: exp.Expr) -> Value:
    name = called(source, node)
    first, second = arguments(source, node, f"{name}('month', date)", 2)
    said, day = written(source, first), second
    if said.lower() not in (*_STARTS, "isoweek"):
        said, day = written(source, second), first  # BigQuery writes the part behind the date
        if said == "WEEK":
            raise source.refusal(
                node, "this week begins on Sunday in some databases; write ISOWEEK, from Monday"
            )
    start = "week" if said == "ISOWEEK" else said.lower()
    if start not in _STARTS:
        raise source.refusal(node, f"a date begins a {', '.join(_STARTS)}; write {name}('month', date)")
    return start_of(start, read_day(source, day))


_STARTS = ("year", "quarter", "month", "week", "day")


def _date_diff(source: SqlText, node: exp.Expr) -> NumberExpression:
    """From the first date to the second where the unit is said first, else back: as databases have it."""
    name = called(source, node)
    given = arguments(source, node, f"{name}('day', from date, to date)", 2, 3)
    unit, first, second = "DAY", given[-1], given[0]
    if len(given) == 3:
        unit, first, second = _unit(written(source, given[0])), given[1], given[2]
        behind = _unit(written(source, given[2]))
        if unit not in _UNITS and (behind in _UNITS or not given[0].is_string):
            unit, first, second = behind, given[1], given[0]
    start, end = read_day(source, first), read_day(source, second)
    if unit not in _COUNTED:
        reason = "dates are DAY, MONTH, QUARTER or YEAR apart; databases differ on other units"
        raise source.refusal(node, reason)
    return _between(_COUNTED[unit], start, end)


def _between(counted: Callable[[Days], NumberExpression], start: Days, end: Days) -> NumberExpression:
    return folded(sum_of(counted(end), Negative(counted(start))))


def _moved(sign: int) -> Callable[[SqlText, exp.Expr], Value]:
    def read(source: SqlText, node: exp.Expr) -> Value:
        name = called(source, node)
        given = arguments(source, node, f"{name}(date, INTERVAL 3 MONTH)", 2, 3)
        if len(given) == 3:  # DATEADD(month, 3, date)
            unit = _unit(written(source, given[0]))
            if name == "DATE_SUB" or unit not in _UNITS:
                raise source.refusal(node, f"write {name}(date, INTERVAL 3 MONTH)")
            amount = _interval(source, node, whole_number(source, given[1], -_LONGEST, _LONGEST), unit)
            return added(source, node, read_day(source, given[2]), sign, amount)
        return added(source, node, read_day(source, given[0]), sign, source.operand(given[1]))

    return read


def _unit(said: str) -> str:
    """One or many: DAY and DAYS are the same."""
    return said.removesuffix("S") if said.removesuffix("S") in _UNITS else said


def _interval(source: SqlText, node: exp.Expr, count: int, unit: str) -> TimeSpan:
    name = _unit(unit.upper())
    if name not in _UNITS or abs(count) > _LONGEST:
        raise source.refusal(
            node, f"a length of time is a number of {', '.join(_UNITS)}; days have no hours here"
        )
    months, days = _UNITS[name]
    return TimeSpan(count * months, count * days)


def _format(source: SqlText, node: exp.Expr) -> Value:
    """A date and a format, in either order: one of them is a written string."""
    name = called(source, node)
    first, second = arguments(source, node, f"{name}(date, 'format')", 2)
    said = source.operand(first)
    day, text = (second, said) if isinstance(said, str) else (first, source.operand(second))
    if not isinstance(text, str):
        raise source.refusal(node, f"write {name}(date, 'format')")
    with source.at(node):
        pieces = read_format(name, text)
        of = read_day(source, day)
        return of if pieces == ["%Y", "-", "%m", "-", "%d"] else formatted(of, pieces)


def _of_day(source: SqlText, node: exp.Expr) -> Value:
    name = called(source, node)
    (day,) = arguments(source, node, f"{name}(date)", 1)
    return _OF_DAY[name](read_day(source, day))


def _written_date(source: SqlText, node: exp.Expr) -> Value:
    """TO_DATE('2020-01-31', 'YYYY-MM-DD'), as dashboards write days; the format must be that of days here."""
    name = called(source, node)
    if len(node.expressions) == 1:
        return read_day(source, node.expressions[0])
    day, form = arguments(source, node, f"{name}('2020-01-31', 'YYYY-MM-DD')", 2)
    said = (source.operand(day), source.operand(form))
    if not all(isinstance(one, str) for one in said) or str(said[1]).upper() not in _WRITTEN:
        raise source.refusal(node, f"write {name}('2020-01-31', 'YYYY-MM-DD'), or DATE '2020-01-31'")
    return source.operand(exp.Cast(this=day.copy(), to=exp.DataType(this=exp.DType.TIMESTAMP)))


def _date_from_unix(source: SqlText, node: exp.Expr) -> Value:
    (days,) = arguments(source, node, "DATE_FROM_UNIX_DATE(number of days)", 1)
    return day_at(source.number(days))


DATES: dict[str, Callable[[SqlText, exp.Expr], Value]] = {
    **dict.fromkeys(_OF_ONE_DATE, _of_one_date),
    **dict.fromkeys(_OF_DAY, _of_day),
    **dict.fromkeys(("DATE_PART", "DATEPART"), _date_part),
    **dict.fromkeys(("DATE_TRUNC", "DATETRUNC"), _date_trunc),
    **dict.fromkeys(("DATE_DIFF", "DATEDIFF"), _date_diff),
    **dict.fromkeys(("DATE_ADD", "DATEADD"), _moved(1)),
    "DATE_SUB": _moved(-1),
    **dict.fromkeys(("STRFTIME", "TO_CHAR", "DATE_FORMAT", "FORMAT_DATE"), _format),
    **dict.fromkeys(("TO_DATE", "TO_TIMESTAMP"), _written_date),
    "DATE_FROM_UNIX_DATE": _date_from_unix,
}
