"""Queries written in Python: a draft holds the words, and becomes a query on a table.

The functions that write one are in ``queries``.
"""

from __future__ import annotations

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
from adyton.query.names import check_persons, default_name, distinct_names
from adyton.query.nodes import Query
from adyton.query.text import MOMENT_NAMES, moments_of

# The SQL parser is imported where text is read: it costs more than all other imports of a draft.

MeasureName = Literal[
    "count",
    "persons",
    "sum",
    "sum of persons",
    "mean",
    "proportion",
    "variance",
    "stddev",
    "covariance",
    "correlation",
    "slope",
    "quantile",
    "median",
    "least",
    "greatest",
    "cdf",
]
# A column or an expression; with a name of its own, or without.
By = str | tuple[str, str]


@dataclass(frozen=True, slots=True)
class Draft:
    """One measure, in words that a table will give a meaning to.

    ``numbers`` are what else the measure needs: bounds of a person's sum, a fraction, points.
    ``binned`` is a number and the width of its bins, which are one more group.
    """

    measure: MeasureName
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
        """The query that this draft asks about ``table``."""
        default, measure = self._measure(table)
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
        return Query(table, ((called, measure),), where, by, self.most_groups)

    def _measure(self, table: Table) -> tuple[str, Measure]:
        match self.measure:
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
                return self._of_value(table)
            case "covariance" | "correlation" | "slope":
                (y, with_y), (x, with_x) = _value(self.value, table), _value(self.beside, table)
                default = MOMENT_NAMES[self.measure].lower() + default_name("", y) + default_name("", x)
                return default, moments_of(y, x, self.measure, all_of(with_y, with_x))
            case "quantile" | "median" | "least" | "greatest" | "cdf":
                return self._of_place(table)
            case _:
                assert_never(self.measure)

    def _of_value(self, table: Table) -> tuple[str, Measure]:
        value, present = _value(self.value, table)
        match self.measure:
            case "sum of persons":
                check_persons(table)
                low, high = self._numbers(2)
                return default_name("sum", value), SumOfPersons(value, low, high, present)
            case "mean":
                return default_name("avg", value), Mean(value, present)
            case "variance" | "stddev":
                return default_name(self.measure, value), Variance(value, self.measure == "stddev", present)
        return default_name("sum", value), Sum(value, present)

    def _of_place(self, table: Table) -> tuple[str, Measure]:
        value = _number(self.value, table)
        match self.measure:
            case "median":
                return default_name("median", value), Quantile(value, Fraction(1, 2))
            case "least":
                return default_name("min", value), Extreme(value, "least")
            case "greatest":
                return default_name("max", value), Extreme(value, "greatest")
            case "cdf":
                return default_name("cdf", value), Cdf(value, self.numbers)
        return default_name("quantile", value), Quantile(value, self._numbers(1)[0])

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
