"""What answers call the values of a group."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from adyton.errors import InvalidRequest
from adyton.kernel.schema import BooleanColumn, CategoryColumn
from adyton.kernel.terms.buckets import Bucket, Group, has_null
from adyton.kernel.terms.leaves import DayFrom, DayOf

# None: NULL, the group of rows without a value; or a row of a table of several queries has no such key.
KeyLabel = str | int | float | bool | None


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


def plain_number(value: Fraction) -> int | float:
    return int(value) if value.denominator == 1 else float(value)
