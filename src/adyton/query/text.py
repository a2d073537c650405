"""The canonical text of a query: one spelling for one meaning, so that a repeated query is recognised.

The text reads as the SQL that would ask it.  Order, spacing, capital letters, repeated conditions and the
direction of a comparison do not survive; nothing in it comes from the data.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from fractions import Fraction
from functools import reduce
from typing import assert_never

from adyton.kernel.schema import CategoryColumn, Table, common_step, day_of
from adyton.kernel.terms.buckets import Bucket, Group
from adyton.kernel.terms.expressions import (
    MIRRORED,
    And,
    Case,
    Clip,
    Comparable,
    Compare,
    Condition,
    Curved,
    Floor,
    Indicator,
    Negative,
    Not,
    NumberExpression,
    Operator,
    Or,
    Plus,
    Quotient,
    Square,
    Times,
    constant_of,
)
from adyton.kernel.terms.leaves import (
    Always,
    Constant,
    DatePart,
    Day,
    DayCount,
    DayFrom,
    DayOf,
    IsMissing,
    IsOutside,
    IsTrue,
    Lookup,
    OneOf,
    Part,
    ValueOf,
)
from adyton.kernel.terms.measures import (
    Cdf,
    Count,
    CountPersons,
    Extreme,
    Mean,
    Measure,
    Moments,
    Proportion,
    Quantile,
    Sum,
    SumOfPersons,
    Variance,
    Which,
)
from adyton.kernel.terms.persons import PersonNumber, TableOfPersons
from adyton.query.day_functions import day_function, part_function
from adyton.query.doubles import shortest
from adyton.query.nodes import Query

Naming = tuple[tuple[str, ...], tuple[str, ...]]  # of the groups of a query, and of its values
_PLAIN_NAME = re.compile(r"[a-z_][a-z0-9_]*")
_RESERVED = {
    *("and", "as", "asc", "between", "case", "date", "desc", "distinct", "else", "end", "false", "filter"),
    *("from", "having", "in", "inner", "is", "join", "left", "limit", "not", "null", "offset", "on", "or"),
    *("outer", "select", "then", "true", "using", "when", "where"),
}
_PART_NAMES: dict[Part, str] = {
    "year": "YEAR",
    "quarter": "QUARTER",
    "month": "MONTH",
    "day": "DAY",
    "weekday": "ISODOW",  # the one name of it on which databases agree
}
MOMENT_NAMES: dict[Which, str] = {
    "covariance": "COVAR_POP",
    "correlation": "CORR",
    "r2": "REGR_R2",
    "slope": "REGR_SLOPE",
    "intercept": "REGR_INTERCEPT",
}
_LONGEST_DECIMAL = 18  # digits after the point; beyond, a quotient is shorter
_EVERY_ROW = "TRUE"
_PERSON_NUMBERS = {"sum": "SUM", "least": "MIN", "greatest": "MAX"}


def moments_of(y: NumberExpression, x: NumberExpression, which: Which, where: Condition) -> Moments:
    """How two numbers go together: where their order says nothing, they are in one order."""
    if which in ("covariance", "correlation", "r2"):
        y, x = sorted((y, x), key=number_text)
    return Moments(y, x, which, where)


def query_text(query: Query, naming: Naming | None = None, values: list[str] | None = None) -> str:
    """With the names that were given to groups and values, or with others in their order; ``values``: what is
    written in place of the measures.
    """
    groups, names = naming or names_given(query)
    keys = [group_value_text(group) for group in query.by]
    listed = [_named(key, name) for key, name in zip(keys, groups, strict=True)]
    person = query.table.person or "person"
    if values is None:
        measures = [measure_text(measure, person) for _, measure in query.measures]
        values = [f"{text} AS {name_text(name)}" for text, name in zip(measures, names, strict=True)]
    limited = f" WITH OPTIONS(max_groups_contributed = {query.most_groups})" if query.most_groups else ""
    text = f"SELECT{limited} {', '.join(listed + values)} FROM {from_text(query.table)}"
    where = condition_text(query.where)
    text += f" WHERE {where}" if where != _EVERY_ROW else ""
    return text + (f" GROUP BY {', '.join(keys)}" if keys else "")


def from_text(table: Table) -> str:
    """The tables that were put together, in the order of the study, and on what."""
    if isinstance(table, TableOfPersons):
        return f"({_persons_text(table)})"
    if table.join is None:
        return name_text(table.name)
    first, *others = table.join.tables
    text = name_text(first.name)
    for other in others:
        pair = f"{_column_text(first.name, first.person)} = {_column_text(other.name, other.person)}"
        text += f" JOIN {name_text(other.name)} ON {pair}"
    for link in table.join.links:
        dimension = link.dimension
        pair = f"{_column_text(link.table, dimension.joins)} = {_column_text(dimension.name, dimension.key)}"
        text += f" {'LEFT ' if link.left else ''}JOIN {name_text(dimension.name)} ON {pair}"
    return text


def _persons_text(table: TableOfPersons) -> str:
    """The inner SELECT, which gives one row for each person."""
    person, where = name_text(table.person or "person"), condition_text(table.given)
    listed = [f"{_person_number_text(number)} AS {name_text(name)}" for name, number in table.numbers]
    text = f"SELECT {', '.join([person, *listed])} FROM {from_text(table.of)}"
    return text + (f" WHERE {where}" if where != _EVERY_ROW else "") + f" GROUP BY {person}"


def _person_number_text(number: PersonNumber) -> str:
    match number.value:
        case None:
            text = "COUNT(*)"
        case CategoryColumn(name):
            text = f"COUNT(DISTINCT {name_text(name)})"
        case value:
            text = f"{_PERSON_NUMBERS[number.kind]}({number_text(value)})"
    return filtered_text(text, number.where)


def _column_text(table: str, column: str | None) -> str:
    return f"{name_text(table)}.{name_text(column or 'person')}"


def names_given(query: Query) -> Naming:
    """The names of groups and values, as whoever asks gave them."""
    return tuple(group.name for group in query.by), tuple(name for name, _ in query.measures)


def _named(value: str, name: str) -> str:
    return value if value == name_text(name) else f"{value} AS {name_text(name)}"


def group_value_text(group: Group) -> str:
    """What rows are grouped by, written out: a name could be that of a column as well."""
    if not isinstance(group, Bucket):
        return name_text(group.name)
    return grouped_text(group.value, group.labels)


def grouped_text(value: Comparable, labels: tuple[str | int | bool, ...] | None) -> str:
    """A number that rows are grouped by, and what its values are called."""
    if labels is None:
        return number_text(value)
    return f"LABEL({', '.join([number_text(value), *map(value_text, labels)])})"


def measure_text(measure: Measure, person: str = "person") -> str:
    match measure:
        case Count(where):
            text = "COUNT(*)"
        case Sum(value, where):
            text = f"SUM({number_text(value)})"
        case Mean(value, where):
            text = f"AVG({number_text(value)})"
        case Proportion(condition, where):
            text = f"PROPORTION({condition_text(condition)})"
        case CountPersons(where):
            text = f"COUNT(DISTINCT {name_text(person)})"
        case SumOfPersons(value, low, high, where):
            bounds = f"({fraction_text(low)}, {fraction_text(high)})"
            text = f"SUM({number_text(value)}, contribution_bounds_per_group => {bounds})"
        case Variance(value, root, where):
            text = f"{'STDDEV' if root else 'VARIANCE'}({number_text(value)})"
        case Moments(y, x, which, where):
            text = f"{MOMENT_NAMES[which]}({number_text(y)}, {number_text(x)})"
        case Quantile(value, fraction, where):
            text = f"QUANTILE({number_text(value)}, {fraction_text(fraction)})"
        case Extreme(value, which, where):
            text = f"{'MIN' if which == 'least' else 'MAX'}({number_text(value)})"
        case Cdf(value, points, where):
            text = f"CDF({', '.join([number_text(value), *map(fraction_text, points)])})"
        case _:
            assert_never(measure)
    return filtered_text(text, where)


def filtered_text(text: str, where: Condition) -> str:
    """An aggregate with its FILTER, where it has one."""
    selected = condition_text(where)
    return text if selected == _EVERY_ROW else f"{text} FILTER (WHERE {selected})"


def number_text(number: Comparable) -> str:
    called = _function_of_day(number)
    if called is not None:
        return called
    match number:
        case ValueOf(column) | DayOf(column):
            return name_text(column.name)
        case Constant(value):
            return fraction_text(value)
        case Day(day):
            return f"DATE '{day_of(day).isoformat()}'"
        case Plus():
            return f"({' + '.join(sorted(number_text(term) for term in _operands(number, Plus)))})"
        case Times():
            return f"({' * '.join(sorted(number_text(factor) for factor in _operands(number, Times)))})"
        case Negative(inner):
            constant = constant_of(number)
            return f"(- {number_text(inner)})" if constant is None else fraction_text(constant)
        case Indicator(condition):
            return f"CASE WHEN {condition_text(condition)} THEN 1 ELSE 0 END"
        case Square(inner):
            return f"SQUARE({number_text(inner)})"
        case Clip(inner, low, high):
            return f"CLAMP({number_text(inner)}, {fraction_text(low)}, {fraction_text(high)})"
        case Floor(inner, step):
            return f"FLOOR({number_text(inner)} / {fraction_text(step)})"
        case Curved(curve, inner, decimals):
            return f"ROUND({curve.upper()}({number_text(inner)}), {decimals})"
        case Quotient(over, under, low, high, decimals):
            ratio = f"ROUND({number_text(over)} / {number_text(under)}, {decimals})"
            return f"CLAMP({ratio}, {fraction_text(low)}, {fraction_text(high)})"
        case Case(branches, otherwise):
            whens = " ".join(f"WHEN {condition_text(c)} THEN {number_text(n)}" for c, n in branches)
            return f"CASE {whens}{f' ELSE {number_text(otherwise)}' if otherwise is not None else ''} END"
        case Lookup():
            return _lookup_text(number)
        case DatePart(part, day):
            return f"EXTRACT({_PART_NAMES[part]} FROM {number_text(day)})"
        case DayCount(day):
            return f"UNIX_DATE({number_text(day)})"
        case DayFrom(inner):
            return f"DATE_FROM_UNIX_DATE({number_text(inner)})"
        case _:
            assert_never(number)


def _function_of_day(number: Comparable) -> str | None:
    """The function of a day that was written, where what it is made of would be hard to read."""
    match number:
        case DayFrom():
            called = day_function(number)
        case Clip() | DatePart() | Plus():
            called = part_function(number)
        case _:
            return None
    return None if called is None else called[0] + number_text(called[2]) + called[1]


def _lookup_text(number: Lookup) -> str:
    """The list in the order of declaration; the step is said where the numbers do not say it themselves."""
    values = [None if step is None else step * number.step for step in number.numbers]
    listed = ["NULL" if value is None else fraction_text(value) for value in values]
    if coarsest_step(value for value in values if value is not None) != number.step:
        listed.append(f"step => ({fraction_text(number.step)})")
    return f"LOOKUP({', '.join([name_text(number.column.name), *listed])})"


def coarsest_step(values: Iterable[Fraction]) -> Fraction:
    """The coarsest step of which all are whole multiples; 1 where all are 0."""
    known = [abs(value) for value in values if value]
    return reduce(common_step, known) if known else Fraction(1)


def condition_text(condition: Condition) -> str:
    match condition:
        case Compare(left, operator, right):
            return _comparison(left, operator, right)
        case OneOf(column, values):
            wanted = set(values)
            listed = ", ".join(value_text(v) for v in column.values if v in wanted)
            return f"({name_text(column.name)} IN ({listed}))"
        case IsTrue(column):
            return name_text(column.name)
        case IsMissing(column):
            return f"({name_text(column.name)} IS NULL)"
        case IsOutside(column):
            return f"{condition.word}({name_text(column.name)})"
        case Always(truth):
            return "TRUE" if truth else "FALSE"
        case Not(inner):
            return f"(NOT {condition_text(inner)})"
        case And() | Or():
            return _assembled(*_parts(condition))
        case _:
            assert_never(condition)


def _comparison(left: Comparable, operator: Operator, right: Comparable) -> str:
    """Constants stand on the right; else the sign points to the left, or the order is alphabetical."""
    a, b = number_text(left), number_text(right)
    constant = [constant_of(side) is not None for side in (left, right)]
    if constant[0] == constant[1]:
        mirrored = operator in (">", ">=") or (operator in ("=", "<>") and b < a)
    else:
        mirrored = constant[0]
    return f"({b} {MIRRORED[operator]} {a})" if mirrored else f"({a} {operator} {b})"


def _parts(condition: Condition) -> tuple[str, list[str]]:
    """The word that joins the parts of a condition, and their texts: sorted, without repeats, flat."""
    if not isinstance(condition, And | Or):
        return "", [condition_text(condition)]
    word = " AND " if isinstance(condition, And) else " OR "
    inner: dict[str, tuple[str, list[str]]] = {}
    for part in condition.parts:
        joint, texts = _parts(part)
        for one in [(joint, texts)] if joint != word else [("", [text]) for text in texts]:
            inner[_assembled(*one)] = one
    return next(iter(inner.values())) if len(inner) == 1 else (word, sorted(inner))


def _assembled(word: str, texts: list[str]) -> str:
    return texts[0] if len(texts) == 1 else f"({word.join(texts)})"


def _operands(number: NumberExpression, kind: type[Plus] | type[Times]) -> list[NumberExpression]:
    return (
        _operands(number.left, kind) + _operands(number.right, kind) if isinstance(number, kind) else [number]
    )


def name_text(name: str) -> str:
    """A name as SQL writes it, quoted unless it is plain."""
    plain = _PLAIN_NAME.fullmatch(name) and name not in _RESERVED
    return name if plain else '"' + name.replace('"', '""') + '"'


def value_text(value: str | int | bool) -> str:
    if isinstance(value, bool):
        return str(value).upper()
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)


def fraction_text(value: Fraction) -> str:
    """A decimal where one exists and is read as itself, else a quotient; exact in both cases."""
    if value.denominator == 1:
        return str(value.numerator)  # nearly all of them, and long lists are written often
    if 10**_LONGEST_DECIMAL % value.denominator:
        return f"({value.numerator} / {value.denominator})"
    digits = 1
    while 10**digits % value.denominator:
        digits += 1
    steps = str(abs(int(value * 10**digits))).rjust(digits + 1, "0")
    decimal = f"{steps[:-digits]}.{steps[-digits:]}"
    if shortest(decimal) != decimal:
        return f"({value.numerator} / {value.denominator})"
    return f"-{decimal}" if value < 0 else decimal
