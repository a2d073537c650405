"""Groups of rows: by a column with declared values, or by a number that has few of them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from adyton.errors import InvalidRequest
from adyton.kernel.schema import BooleanColumn, CategoryColumn, TextColumn, declares_missing
from adyton.kernel.terms.expressions import NumberExpression, number
from adyton.kernel.terms.leaves import DayFrom, DayOf, ValueOf

MOST_CELLS = 1_000_000
KeyLabel = str | int | float | bool | None  # None: the row has no such key, as NULL in SQL


@dataclass(frozen=True, slots=True)
class Bucket:
    """Groups by a number with few possible values: a bin, a part of a date, a day, or a label for a number.

    ``labels[i]`` names the value ``i``; without labels a group is named by its number, or by its day.
    With ``null`` rows without a value are a group as well, the last one.
    """

    name: str
    value: NumberExpression | DayOf | DayFrom
    labels: tuple[str | int | bool, ...] | None = None
    null: bool = False

    def __post_init__(self) -> None:
        lattice = (self.value if isinstance(self.value, DayOf | DayFrom) else number(self.value)).lattice
        if group_size(self) > MOST_CELLS:
            raise InvalidRequest(
                f"{self.name!r} has {group_size(self)} possible values; at most {MOST_CELLS} "
                f"are groups: use wider bins, e.g. {_wider(self)}"
            )
        if self.labels is not None and (lattice.low < 0 or lattice.high >= len(self.labels)):
            raise InvalidRequest(f"{self.name!r} has a value without a label")


def _wider(bucket: Bucket) -> str:
    if isinstance(bucket.value, DayOf):
        return f"YEAR({bucket.value.column.name})"
    lattice, width = bucket.value.lattice, 10
    while (lattice.high - lattice.low) * lattice.step > 1000 * width:
        width *= 10
    return f"FLOOR({bucket.value.column.name if isinstance(bucket.value, ValueOf) else 'number'} / {width})"


Group = CategoryColumn | BooleanColumn | Bucket | TextColumn


def has_null(group: Group) -> bool:
    """Whether rows without a value are a group too, with the key NULL."""
    return group.null if isinstance(group, Bucket) else declares_missing(group)


def group_values(group: Group) -> tuple[KeyLabel, ...]:
    """The possible values of a group, in the order in which answers list them; NULL is the last."""
    return (*_known_values(group), None) if has_null(group) else _known_values(group)


def _known_values(group: Group) -> tuple[KeyLabel, ...]:
    match group:
        case BooleanColumn():
            return (False, True)
        case CategoryColumn():
            return group.values
        case Bucket(_, DayOf() | DayFrom() as value, None):
            days = np.arange(value.lattice.low, value.lattice.high + 1).astype("datetime64[D]")
            return tuple(np.datetime_as_string(days).tolist())
        case Bucket(_, value, None):
            step, low, high = value.lattice.step, value.lattice.low, value.lattice.high
            if step.denominator == 1:
                return tuple(range(low * step.numerator, (high + 1) * step.numerator, step.numerator))
            return tuple(plain_number(multiple * step) for multiple in range(low, high + 1))
        case Bucket(_, value, labels):
            assert labels is not None
            return labels[value.lattice.low : value.lattice.high + 1]
    raise InvalidRequest(f"the values of {group.name!r} are not declared")


def group_size(group: Group) -> int:
    """How many values a group may have; a long list of them need not be made for it."""
    if isinstance(group, Bucket):
        return group.value.lattice.high - group.value.lattice.low + 1 + group.null
    return len(group_values(group))


def plain_number(value: Fraction) -> int | float:
    return int(value) if value.denominator == 1 else float(value)
