"""Rows of the study's kinds, drawn from a public guess of the cells: post-processing, hence free.

The numbers of rows in the cells are the expected ones, rounded down or up so that running sums are off by
less than one row; inside a bin, values are even on the column's step.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from adyton.kernel.exact.cells import Floats
from adyton.kernel.noise.refine import Integers
from adyton.kernel.schema import BooleanColumn, CategoryColumn, Column, DateColumn, IntegerColumn, TextColumn
from adyton.query.conditions.atoms import Axes
from adyton.query.conditions.axis import Axis

Columns = dict[str, Any]  # of arrays, masked where a value is missing
Random = np.random.Generator


def generator(digest: str) -> Random:
    """The same draws for the same receipt: who asks again gets the same table."""
    return np.random.Generator(np.random.Philox(key=int(digest[:32], 16)))


def cells_of_rows(shares: Floats, rows: int, random: Random) -> Integers:
    """The cell of each of ``rows`` rows, in random order."""
    running = np.cumsum(shares.ravel())
    upto = np.floor(running * (rows / running[-1]) + random.random()).astype(np.int64)
    upto[-1] = rows
    np.minimum(upto, rows, out=upto)
    numbers = np.diff(upto, prepend=0)
    return random.permutation(np.repeat(np.arange(numbers.size), numbers))


def classes_of_rows(shape: tuple[int, ...], cells: Integers) -> list[Integers]:
    """For each axis, the class of each row."""
    return [np.asarray(one, np.int64) for one in np.unravel_index(cells, shape)]


def values_of(axes: Axes, classes: Mapping[int, Integers], random: Random) -> Columns:
    """The columns of a table whose rows are in these classes."""
    return {
        axis.subject.column.name: _column(axis, classes[place], random)
        for place, axis in enumerate(axes.axes)
    }


def _column(axis: Axis, classes: Integers, random: Random) -> Any:
    column = axis.subject.column
    codes, there = axis.first[0][classes], axis.first[1][classes]
    declared = isinstance(column, CategoryColumn | BooleanColumn)
    return made_up(column, np.where(there, codes, 0) if declared else _inside(axis, classes, random), ~there)


def made_up(column: Column, codes: Integers, missing: Any) -> Any:
    """The values of a column, from codes of what is declared, or from steps of its lattice."""
    assert not isinstance(column, TextColumn)
    match column:
        case CategoryColumn(_, values):
            kind = object if isinstance(values[0], str) else np.int64
            return or_missing(np.array(values, dtype=kind)[codes], missing)
        case BooleanColumn():
            return np.ma.masked_array(codes == 1, missing)
        case IntegerColumn():
            return np.ma.masked_array(codes, missing)
        case DateColumn():
            days = codes.astype("datetime64[D]").astype("datetime64[s]")
            return np.where(missing, np.datetime64("NaT"), days)
    top, bottom = column.lattice.step.as_integer_ratio()
    return np.ma.masked_array([step * top / bottom for step in codes.tolist()], missing)


def _inside(axis: Axis, classes: Integers, random: Random) -> Integers:
    """A step of the lattice in the bin of each row.  Where the value is missing, any."""
    column = axis.subject.column
    assert not isinstance(column, CategoryColumn | BooleanColumn | TextColumn)
    first = np.append(axis.starts, column.lattice.high + 1)
    low, width = np.zeros(axis.size, np.int64), np.ones(axis.size, np.int64)
    low[axis.labels[:-1]], width[axis.labels[:-1]] = axis.starts, np.diff(first)
    drawn: Integers = low[classes] + np.floor(random.random(classes.size) * width[classes]).astype(np.int64)
    inside: Integers = np.minimum(drawn, low[classes] + width[classes] - 1)  # a product may be rounded up
    return inside


def or_missing(values: Any, missing: Any) -> Any:
    """Masked; strings have None."""
    if values.dtype != object:
        return np.ma.masked_array(values, missing)
    values[missing] = None
    return values
