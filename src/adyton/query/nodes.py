"""Questions, as frozen values: measures of the rows that count, in groups.

Nothing happens when a question is built, but an ill-typed one, or one whose bounds are unknown, cannot exist.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from adyton.errors import InvalidRequest
from adyton.query.expressions import Condition, NumberExpression, condition, number
from adyton.query.leaves import EVERY_ROW, DayOf, ValueOf
from adyton.query.measures import MOST_WEIGHT, Cdf, Measure, weight, weight_of
from adyton.query.names import check_columns, check_names, check_outside
from adyton.schema import BooleanColumn, CategoryColumn, Table, TextColumn

MOST_CELLS = 1_000_000
POINTS = "upto"  # what an answer calls the points of a distribution


# Groups ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Bucket:
    """Groups by a number with few possible values: a bin, a part of a date, a day, or a label for a number.

    ``labels[i]`` names the value ``i``; without labels a group is named by its number, or by its day.
    """

    name: str
    value: NumberExpression | DayOf
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
        return filters * weight(self.where) + sum(map(weight_of, measures)) + 2 * sum(map(weight, groups))

    @property
    def cells(self) -> int:
        """All combinations of declared values, whether a row can have them or not."""
        product = 1
        for group in self.by:
            product *= group_size(group)
        return product
