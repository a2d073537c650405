"""Queries written in Python: a draft holds the words, and becomes a query on a table.

The functions that write one are in ``queries``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, assert_never

from adyton.errors import InvalidRequest
from adyton.kernel.schema import Table
from adyton.kernel.terms.expressions import Condition, NumberExpression, all_of
from adyton.kernel.terms.leaves import EVERY_ROW
from adyton.kernel.terms.measures import (
    Cdf,
    Count,
    CountPersons,
    Extreme,
    Mean,
    Measure,
    Proportion,
    Quantile,
    Sum,
    SumOfPersons,
    Variance,
)
from adyton.query.groups import Grouped, bins, grouped
from adyton.query.measures.computed import ComputedMeasure, Parts
from adyton.query.names import check_persons, default_name, distinct_names
from adyton.query.nodes import Query
from adyton.query.released.nodes import Released, ReleasedName
from adyton.query.text import MOMENT_NAMES, moments_of, name_text, query_text

# The SQL parser is imported where text is read: it costs more than all other imports of a draft.

OfValue = Literal["sum", "sum of persons", "mean", "variance", "stddev"]
OfPlace = Literal["quantile", "median", "least", "greatest", "cdf"]
MeasureName = (
    Literal["count", "persons", "proportion", "covariance", "correlation", "slope"] | OfValue | OfPlace
)
# A column or an expression; with a name of its own, or without.
By = str | tuple[str, str]


@dataclass(frozen=True, slots=True)
class Draft:
    """One measure, in words that a table will give a meaning to.

    ``numbers`` are what else the measure needs: bounds of a person's sum, a fraction, points.
    ``binned`` is a number and the width of its bins, which are one more group.
    """

    measure: MeasureName | ComputedMeasure
    value: str | NumberExpression | Condition | None = None
    where: str | Condition | None = None
    by: tuple[By, ...] = ()
    name: str | None = None
    numbers: tuple[Fraction, ...] = ()
    most_groups: int | None = None
    binned: tuple[str, Fraction] | None = None
    beside: str | NumberExpression | None = None  # what the value goes with

    @property
    def texts(self) -> list[str]:
        """All that is written in SQL."""
        groups = [one if isinstance(one, str) else one[1] for one in self.by if isinstance(one, str | tuple)]
        written = (self.value, self.where, self.beside, *groups)
        return [one for one in written if isinstance(one, str)]

    def on(self, table: Table) -> Query:
        """The query that this draft asks about ``table``: what is read and paid for."""
        return self.shown_on(table)[0]

    def text(self, table: Table) -> str:
        """The same as SQL, with what is computed."""
        query, shown = self.shown_on(table)
        if not isinstance(self.measure, ComputedMeasure):
            return query_text(query)
        (name, _), written = shown[0], self.measure.text(*self._numbers_asked(table))
        return query_text(query, values=[f"{written} AS {name_text(name)}"])

    def shown_on(self, table: Table) -> tuple[Query, tuple[tuple[str, Released], ...]]:
        """The query, and what is shown in place of its values; nothing where they are shown themselves."""
        default, parts, value = self._computed(table)
        groups = [_group(table, one) for one in self.by]
        if self.binned is not None:
            groups.append((None, bins(_number(self.binned[0], table), self.binned[1])))
        given = [] if self.name is None else [self.name]
        names = distinct_names([name for name, _ in groups], [one.default for _, one in groups], taken=given)
        by = tuple(one.named(name) for name, (_, one) in zip(names, groups, strict=True))
        (called,) = distinct_names([self.name], [default], taken=[group.name for group in by])
        where = _condition(self.where, table)
        if self.most_groups is not None:
            check_persons(table)
        if value is None:
            return Query(table, ((called, parts[0][1]),), where, by, self.most_groups), ()
        taken = [called, *(group.name for group in by)]
        hidden = distinct_names([None] * len(parts), [name for name, _ in parts], taken)
        measures = tuple((name, measure) for name, (_, measure) in zip(hidden, parts, strict=True))
        shown = ((called, value(*map(ReleasedName, hidden))),)
        return Query(table, measures, where, by, self.most_groups), shown

    def _computed(self, table: Table) -> tuple[str, Parts, Callable[..., Released] | None]:
        """What it is called, what is read, and how its value follows where that is another."""
        if isinstance(self.measure, ComputedMeasure):
            return self.measure.of(*self._numbers_asked(table))
        named = self._measure(self.measure, table)
        return named[0], (named,), None

    def _numbers_asked(self, table: Table) -> tuple[list[NumberExpression], Condition]:
        """What a computed measure is asked about, and the rows where that is present."""
        written = (self.value,) if self.beside is None else (self.value, self.beside)
        read = [_value(one, table) for one in written]
        return [value for value, _ in read], all_of(*(present for _, present in read))

    def _measure(self, asked: MeasureName, table: Table) -> tuple[str, Measure]:
        match asked:
            case "count":
                if self.value is not None:
                    raise InvalidRequest("a count has no value; say which rows count with where")
                return "count", Count()
            case "persons":
                check_persons(table)
                return "count_persons", CountPersons()
            case "proportion":
                if self.value is None:
                    raise InvalidRequest("a proportion needs a condition")
                condition = _condition(self.value, table)
                return default_name("proportion", condition), Proportion(condition)
            case "sum" | "sum of persons" | "mean" | "variance" | "stddev":
                return self._of_value(asked, table)
            case "covariance" | "correlation" | "slope":
                (y, with_y), (x, with_x) = _value(self.value, table), _value(self.beside, table)
                default = MOMENT_NAMES[asked].lower() + default_name("", y) + default_name("", x)
                return default, moments_of(y, x, asked, all_of(with_y, with_x))
            case "quantile" | "median" | "least" | "greatest" | "cdf":
                return self._of_place(asked, table)
            case _:
                assert_never(asked)

    def _of_value(self, asked: OfValue, table: Table) -> tuple[str, Measure]:
        value, present = _value(self.value, table)
        match asked:
            case "sum of persons":
                check_persons(table)
                low, high = self._numbers(2)
                return default_name("sum", value), SumOfPersons(value, low, high, present)
            case "mean":
                return default_name("avg", value), Mean(value, present)
            case "variance" | "stddev":
                return default_name(asked, value), Variance(value, asked == "stddev", present)
            case "sum":
                return default_name("sum", value), Sum(value, present)
            case _:
                assert_never(asked)

    def _of_place(self, asked: OfPlace, table: Table) -> tuple[str, Measure]:
        value = _number(self.value, table)
        match asked:
            case "median":
                return default_name("median", value), Quantile(value, Fraction(1, 2))
            case "least":
                return default_name("min", value), Extreme(value, "least")
            case "greatest":
                return default_name("max", value), Extreme(value, "greatest")
            case "cdf":
                return default_name("cdf", value), Cdf(value, self.numbers)
            case "quantile":
                return default_name("quantile", value), Quantile(value, self._numbers(1)[0])
            case _:
                assert_never(asked)

    def _numbers(self, needed: int) -> tuple[Fraction, ...]:
        if len(self.numbers) != needed:
            raise InvalidRequest(f"a {self.measure} needs {needed} numbers, not {len(self.numbers)}")
        return self.numbers


def _group(table: Table, by: By) -> tuple[str | None, Grouped]:
    """A group, and the name that it was given."""
    if isinstance(by, tuple):
        name, written = by
        group = _group(table, written)[1]
        if not group.renamed:
            raise InvalidRequest(f"the group {group.default!r} keeps the name of its column")
        return name, group
    if not isinstance(by, str):
        raise InvalidRequest(f"by needs names of columns or expressions, not a {type(by).__name__}")
    for column in table.columns:
        if column.name.casefold() == by.casefold():
            return None, grouped(column)
    from adyton.query.sql.read import parse_group

    return None, parse_group(by, table)


def _condition(written: str | NumberExpression | Condition | None, table: Table) -> Condition:
    if isinstance(written, str):
        from adyton.query.sql.read import parse_condition

        return parse_condition(written, table)
    return EVERY_ROW if written is None else written  # type: ignore[return-value]  # the query checks it


def _value(
    written: str | NumberExpression | Condition | None, table: Table
) -> tuple[NumberExpression, Condition]:
    if isinstance(written, str):
        from adyton.query.sql.read import parse_value

        return parse_value(written, table)
    return written, EVERY_ROW  # type: ignore[return-value]  # the measure checks it


def _number(written: str | NumberExpression | Condition | None, table: Table) -> NumberExpression:
    if isinstance(written, str):
        from adyton.query.sql.read import parse_number

        return parse_number(written, table)
    return written  # type: ignore[return-value]  # the measure checks it
