"""Groups before they have a name: a column with values of its own, or a number with few of them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from adyton.kernel.schema import (
    BooleanColumn,
    CategoryColumn,
    Column,
    DateColumn,
    IntegerColumn,
    RealColumn,
    TextColumn,
    declares_missing,
)
from adyton.kernel.terms.buckets import Bucket, Group
from adyton.kernel.terms.expressions import Floor, NumberExpression, Times
from adyton.kernel.terms.leaves import Constant, DatePart, DayFrom, DayOf, ValueOf
from adyton.kernel.terms.names import columns_in
from adyton.query.conditions.possible_cells import can_be_missing
from adyton.query.names import default_name
from adyton.query.text import grouped_text, name_text

Labels = tuple[str | int | bool, ...]


@dataclass(frozen=True, slots=True)
class Grouped:
    """What rows are grouped by.  ``labels`` name the values of a number from 0 on."""

    value: CategoryColumn | BooleanColumn | TextColumn | NumberExpression | DayOf | DayFrom
    labels: Labels | None = None
    default: str = "group"

    @property
    def text(self) -> str:
        """One spelling for one meaning: two groups are the same if this is."""
        if isinstance(self.value, CategoryColumn | BooleanColumn | TextColumn):
            return name_text(self.value.name)
        return grouped_text(self.value, self.labels)

    @property
    def renamed(self) -> bool:
        """Whether it may be given a name; a column keeps its own."""
        return not isinstance(self.value, CategoryColumn | BooleanColumn | TextColumn)

    @property
    def null(self) -> bool:
        """Whether rows without a value are a group: where a column that is declared so can be missing."""
        return any(map(declares_missing, columns_in(self.value))) and can_be_missing(self.value)

    def named(self, name: str) -> Group:
        if isinstance(self.value, CategoryColumn | BooleanColumn | TextColumn):
            return self.value
        return Bucket(name, self.value, self.labels, self.null)


def grouped(value: Column | NumberExpression, labels: Labels | None = None) -> Grouped:
    """Rows with the same value are a group, called after its column where there is one."""
    if isinstance(value, CategoryColumn | BooleanColumn | TextColumn):
        return Grouped(value, None, value.name)
    if isinstance(value, DateColumn):
        return Grouped(DayOf(value), None, value.name)
    number: NumberExpression = ValueOf(value) if isinstance(value, IntegerColumn | RealColumn) else value
    return Grouped(number, labels, _name(number))


def bins(value: NumberExpression, width: Fraction) -> Grouped:
    """Bins of one width, each called by its lower end."""
    lower_end = Times(Floor(value, width), Constant(width))
    return Grouped(lower_end, None, value.column.name if isinstance(value, ValueOf) else "bin")


def _name(number: NumberExpression) -> str:
    match number:
        case ValueOf(column):
            return column.name
        case DatePart(part, DayOf(column)):
            return f"{part}_{column.name}"
        case Floor(inner) | Times(Floor(inner), Constant()) | Times(Constant(), Floor(inner)):
            return default_name("floor", inner)
    return "group"
