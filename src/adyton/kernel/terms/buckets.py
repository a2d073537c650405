"""Groups of rows: by a column with declared values, or by a number that has few of them."""

from __future__ import annotations

from dataclasses import dataclass

from adyton.errors import InvalidRequest
from adyton.kernel.schema import BooleanColumn, CategoryColumn, TextColumn, declares_missing
from adyton.kernel.terms.expressions import NumberExpression, number
from adyton.kernel.terms.leaves import DayFrom, DayOf, ValueOf

MOST_CELLS = 1_000_000


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


def group_size(group: Group) -> int:
    """How many values a group may have, NULL among them."""
    match group:
        case Bucket():
            values = group.value.lattice.high - group.value.lattice.low + 1
        case BooleanColumn():
            values = 2
        case CategoryColumn():
            values = len(group.values)
        case TextColumn():
            raise InvalidRequest(f"the values of {group.name!r} are not declared")
    return values + has_null(group)
