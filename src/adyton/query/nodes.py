"""The closed set of questions, as frozen values: measures, groups, and a question made of them.

Numbers and conditions on one row are in ``expressions``; they can be imported from here as well.  Nothing
happens when a question is built, but an ill-typed one, or one whose bounds are unknown, cannot exist.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np

from adyton.errors import InvalidRequest
from adyton.query.check import check_columns, check_names, check_outside
from adyton.query.expressions import (
    EVERY_ROW,
    Always,
    And,
    Case,
    Clip,
    Comparable,
    Compare,
    Condition,
    Constant,
    DatePart,
    Day,
    DayOf,
    Floor,
    Indicator,
    IsMissing,
    IsTrue,
    Lookup,
    Negative,
    Not,
    Number,
    OneOf,
    Operator,
    Or,
    Part,
    Plus,
    Square,
    Times,
    ValueOf,
    aligned,
    all_of,
    condition,
    number,
)
from adyton.query.outside import IsOutside
from adyton.query.weight import MOST_WEIGHT, weight
from adyton.schema import BooleanColumn, CategoryColumn, Lattice, Table, TextColumn

__all__ = [
    "EVERY_ROW",
    "MOST_CELLS",
    "POINTS",
    "Always",
    "And",
    "Bucket",
    "Case",
    "Cdf",
    "Clip",
    "Comparable",
    "Compare",
    "Condition",
    "Constant",
    "Count",
    "CountPersons",
    "DatePart",
    "Day",
    "DayOf",
    "Extreme",
    "Floor",
    "Group",
    "Indicator",
    "IsMissing",
    "IsOutside",
    "IsTrue",
    "Lookup",
    "Mean",
    "Measure",
    "Negative",
    "Not",
    "Number",
    "OneOf",
    "Operator",
    "Or",
    "Part",
    "Plus",
    "Proportion",
    "Quantile",
    "Question",
    "Square",
    "Sum",
    "SumOfPersons",
    "Times",
    "ValueOf",
    "Variance",
    "aligned",
    "all_of",
    "condition",
    "group_size",
    "group_values",
    "middle_of_square",
    "number",
]

MOST_CELLS = 1_000_000
MOST_POINTS = 1_000
LARGEST_DENOMINATOR = 10_000
POINTS = "upto"  # what an answer calls the points of a distribution


# Measures --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Count:
    """How many rows."""

    where: Condition = EVERY_ROW

    def __post_init__(self) -> None:
        condition(self.where)


@dataclass(frozen=True, slots=True)
class CountPersons:
    """How many persons have such a row.  SQL: COUNT(DISTINCT person)."""

    where: Condition = EVERY_ROW

    def __post_init__(self) -> None:
        condition(self.where)


@dataclass(frozen=True, slots=True)
class Sum:
    """The sum of ``value`` over rows where it is present."""

    value: Number
    where: Condition = EVERY_ROW

    def __post_init__(self) -> None:
        condition(self.where)
        _check_sum(self.value)


@dataclass(frozen=True, slots=True)
class SumOfPersons:
    """Each person's own sum of ``value``, clipped to ``low..high``, added up over all persons.

    Within groups a person's sum is taken in each group.  SQL: SUM(value, contribution_bounds_per_group =>
    (low, high)).
    """

    value: Number
    low: Fraction
    high: Fraction
    where: Condition = EVERY_ROW

    def __post_init__(self) -> None:
        condition(self.where)
        grain = number(self.value).lattice.grain
        if any((bound / grain).denominator != 1 for bound in (self.low, self.high)):
            raise InvalidRequest(f"the bounds of a person's sum must be whole multiples of its grain {grain}")
        if not self.low < self.high:
            raise InvalidRequest("the bounds of a person's sum need low < high")
        Lattice(grain, *self.steps)  # refuses what 64 bits cannot hold
        _check_sum(self.value)

    @property
    def steps(self) -> tuple[int, int]:
        """The bounds in steps of the value's grain."""
        grain = self.value.lattice.grain
        return int(self.low / grain), int(self.high / grain)


@dataclass(frozen=True, slots=True)
class Mean:
    """The average of ``value`` over rows where it is present."""

    value: Number
    where: Condition = EVERY_ROW

    def __post_init__(self) -> None:
        condition(self.where)
        _check_varies(self.value, "mean")


@dataclass(frozen=True, slots=True)
class Proportion:
    """The fraction of rows for which ``condition`` is true (a missing truth counts as not true)."""

    condition: Condition
    where: Condition = EVERY_ROW

    def __post_init__(self) -> None:
        condition(self.condition)
        condition(self.where)


@dataclass(frozen=True, slots=True)
class Variance:
    """The mean squared distance of ``value`` from its mean, or the ``root`` of it: the standard deviation."""

    value: Number
    root: bool = False
    where: Condition = EVERY_ROW

    def __post_init__(self) -> None:
        condition(self.where)
        _check_varies(self.value, "variance")
        middle_of_square(self.value)


@dataclass(frozen=True, slots=True)
class Quantile:
    """The least number that at least this ``fraction`` of the values do not exceed."""

    value: Number
    fraction: Fraction
    where: Condition = EVERY_ROW

    def __post_init__(self) -> None:
        condition(self.where)
        _check_varies(self.value, "quantile")
        if not 0 < self.fraction < 1 or self.fraction.denominator > LARGEST_DENOMINATOR:
            raise InvalidRequest(
                "a quantile is asked for by a fraction above 0 and below 1, with at most four decimals"
            )


@dataclass(frozen=True, slots=True)
class Extreme:
    """About the least or the greatest value: as far in from the end as the noise makes necessary."""

    value: Number
    which: Literal["least", "greatest"]
    where: Condition = EVERY_ROW

    def __post_init__(self) -> None:
        condition(self.where)
        _check_varies(self.value, "extreme")


@dataclass(frozen=True, slots=True)
class Cdf:
    """For each of ``points``, which rise, the fraction of values that do not exceed it."""

    value: Number
    points: tuple[Fraction, ...]
    where: Condition = EVERY_ROW

    def __post_init__(self) -> None:
        condition(self.where)
        _check_varies(self.value, "distribution")
        if not 1 <= len(self.points) <= MOST_POINTS:
            raise InvalidRequest(f"a distribution is asked for at 1 to {MOST_POINTS} points")
        if any(a >= b for a, b in zip(self.points, self.points[1:], strict=False)):
            raise InvalidRequest("the points of a distribution must rise")


Measure = Count | CountPersons | Sum | SumOfPersons | Mean | Proportion | Variance | Quantile | Extreme | Cdf


# Groups ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Bucket:
    """Groups by a number with few possible values: a bin, a part of a date, a day, or a label for a number.

    ``labels[i]`` names the value ``i``; without labels a group is named by its number, or by its day.
    """

    name: str
    value: Number | DayOf
    labels: tuple[str | int | bool, ...] | None = None

    def __post_init__(self) -> None:
        lattice = (self.value if isinstance(self.value, DayOf) else number(self.value)).lattice
        if lattice.high - lattice.low >= MOST_CELLS:
            raise InvalidRequest(
                f"{self.name!r} has {lattice.high - lattice.low + 1} possible values; at most {MOST_CELLS} "
                f"are groups: use wider bins, e.g. {_wider(self)}"
            )
        if self.labels is not None and (lattice.low < 0 or lattice.high >= len(self.labels)):
            raise InvalidRequest(f"{self.name!r} has a value without a label")


def _wider(bucket: Bucket) -> str:
    if isinstance(bucket.value, DayOf):
        return f"YEAR({bucket.value.column.name})"
    lattice, width = bucket.value.lattice, 10
    while (lattice.high - lattice.low) * lattice.grain > 1000 * width:
        width *= 10
    return f"FLOOR({bucket.value.column.name if isinstance(bucket.value, ValueOf) else 'number'} / {width})"


Group = CategoryColumn | BooleanColumn | Bucket | TextColumn


def group_values(group: Group) -> tuple[str | int | bool | float, ...]:
    """The possible values of a group, in the order in which answers list them."""
    match group:
        case BooleanColumn():
            return (False, True)
        case CategoryColumn():
            return group.values
        case Bucket(_, DayOf() as value, None):
            days = np.arange(value.lattice.low, value.lattice.high + 1).astype("datetime64[D]")
            return tuple(np.datetime_as_string(days).tolist())
        case Bucket(_, value, None):
            grain, low, high = value.lattice.grain, value.lattice.low, value.lattice.high
            if grain.denominator == 1:
                return tuple(range(low * grain.numerator, (high + 1) * grain.numerator, grain.numerator))
            return tuple(_plain(step * grain) for step in range(low, high + 1))
        case Bucket(_, value, labels):
            assert labels is not None
            return labels[value.lattice.low : value.lattice.high + 1]
    raise InvalidRequest(f"the values of {group.name!r} are not declared")


def group_size(group: Group) -> int:
    """How many values a group may have; a long list of them need not be made for it."""
    if isinstance(group, Bucket):
        return group.value.lattice.high - group.value.lattice.low + 1
    return len(group_values(group))


def _plain(value: Fraction) -> int | float:
    return int(value) if value.denominator == 1 else float(value)


# Questions -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Question:
    """Named measures of the rows of a table for which ``where`` is true, in each group of ``by``.

    A person counts in at most ``most_groups`` groups, for measures of persons.
    ``every_cell`` keeps groups that no row can be in: answers that were stored in older versions have them.
    """

    table: Table
    measures: tuple[tuple[str, Measure], ...]
    where: Condition = EVERY_ROW
    by: tuple[Group, ...] = ()
    most_groups: int | None = None
    every_cell: bool = False

    def __post_init__(self) -> None:
        condition(self.where)
        if not self.measures:
            raise InvalidRequest("ask for at least one measure, such as COUNT(*) or AVG(column)")
        points = [POINTS] * any(isinstance(measure, Cdf) for _, measure in self.measures)
        check_names([name for name, _ in self.measures], [group.name for group in self.by] + points)
        if not all(isinstance(measure, Measure) for _, measure in self.measures):
            raise InvalidRequest("a question asks for Count, Sum, Mean, Proportion or another measure")
        if len(self.measures) > 1 and any(isinstance(measure, Cdf) for _, measure in self.measures):
            raise InvalidRequest("a distribution is asked for alone: it has a row for each of its points")
        check_columns(self.table, self.by, self.where, self.measures)
        check_outside(self.table, self.by, self.where, self.measures)
        for group in self.by:
            if not isinstance(group, Group):
                raise InvalidRequest(
                    "GROUP BY needs a category, a boolean, a text, bins or parts of dates; "
                    f"{group.name!r} is {group.kind}"
                )
        if self._weight > MOST_WEIGHT:
            raise InvalidRequest(
                "this question is too long when it is written out: ask for less at a time, with shorter "
                "lists and fewer squares inside squares"
            )
        if self.most_groups is not None and (type(self.most_groups) is not int or self.most_groups < 1):
            raise InvalidRequest("the groups of a person are limited to a whole number, at least 1")
        if not self.finds_keys and not self._filters and self.cells > MOST_CELLS:
            raise InvalidRequest(f"the groups have {self.cells} cells; at most {MOST_CELLS} are answered")

    @property
    def finds_keys(self) -> bool:
        """Whether a group has values that nobody declared, so that they must be found in the data."""
        return any(isinstance(group, TextColumn) for group in self.by)

    @property
    def _filters(self) -> bool:
        """Whether a condition may leave some groups out, so that there are fewer than are declared."""
        said = {self.where, *(measure.where for _, measure in self.measures)}
        return said != {EVERY_ROW} or self.table.join is not None

    @property
    def _weight(self) -> int:
        """A filter of all is written once, or beside each filter of a value's own."""
        measures = [measure for _, measure in self.measures]
        filters = sum(measure.where != EVERY_ROW for measure in measures) or 1
        groups = [group.value for group in self.by if isinstance(group, Bucket)]
        return filters * weight(self.where) + sum(map(_weight, measures)) + 2 * sum(map(weight, groups))

    @property
    def cells(self) -> int:
        """All combinations of declared values, whether a row can have them or not."""
        product = 1
        for group in self.by:
            product *= group_size(group)
        return product


def middle_of_square(value: Number) -> Number:
    """The squared distance from the middle of the bounds, on which a variance rests."""
    lattice = value.lattice
    middle = (lattice.low + lattice.high) * lattice.grain / 2
    return Square(value if not middle else Plus(value, Constant(-middle)))


def _weight(measure: Measure) -> int:
    """A value is read to add it up, and to count where it is present."""
    own = weight(measure.where)
    match measure:
        case Count() | CountPersons():
            return own
        case Proportion(condition):
            return own + weight(condition)
        case Variance(value):
            return own + 6 * weight(value)
        case Cdf(value, points):
            return own + (len(points) + 1) * weight(value)
        case _:
            return own + 2 * weight(measure.value)


def _check_sum(value: Number) -> None:
    if not any((number(value).lattice.low, value.lattice.high)):
        raise InvalidRequest("the sum of zeros is zero: there is nothing to ask")


def _check_varies(value: Number, what: str) -> None:
    if number(value).lattice.low == value.lattice.high:
        raise InvalidRequest(f"the {what} of a constant is known: there is nothing to ask")
