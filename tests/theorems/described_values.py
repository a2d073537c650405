"""What each word says of each kind of unit that a tiny population has, by vectors: code of its own, and no engine.

A population is a list of kinds of rows, or of persons with as many rows each.  A word adds up a number of each unit; a
ratio adds up what it would have to subtract for its true value.  So how far any number of samples is from the
truth, for all words at once, is a product of matrices: how often each kind occurs, times what words say of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from described_words import Word

from adyton.kernel.schema import CategoryColumn, Column, RealColumn, Table
from adyton.kernel.terms import buckets, expressions, leaves, measures
from adyton.kernel.terms.persons import PersonNumber, TableOfPersons

Numbers = npt.NDArray[np.float64]
NONE = math.nan  # what is missing; of conditions, neither true nor false


@dataclass(frozen=True)
class Rows:
    """Kinds of rows: what they have in each column, and whether it came from outside of what is declared.

    Values of categories are places in their lists.  ``unit[i]`` is the kind of unit that has row i.
    """

    columns: dict[str, Numbers]
    outside: dict[str, Numbers]
    unit: npt.NDArray[np.intp]
    units: int
    tables: dict[Table, tuple[Rows, Numbers]] = field(default_factory=dict)
    _known: dict[Any, Numbers] = field(default_factory=dict)

    def of(self, node: Any) -> Numbers:
        """A number, or a condition: 1 where it is true, 0 where false."""
        if node not in self._known:
            self._known[node] = self._of(node)
        return self._known[node]

    def _of(self, node: Any) -> Numbers:
        ones = np.ones(len(self.unit))
        match node:
            case leaves.ValueOf(column) | leaves.IsTrue(column):
                return self.columns[column.name]
            case leaves.Constant(value):
                return ones * float(value)
            case leaves.Always(truth):
                return ones * truth
            case leaves.IsMissing(column):
                return np.isnan(self.columns[column.name]).astype(float)
            case leaves.IsOutside(column):
                return self.outside[column.name]
            case leaves.OneOf(column, values):
                places = [column.values.index(value) for value in values]
                return _known(self.columns[column.name], lambda codes: np.isin(codes, places))
            case leaves.Lookup(column, listed, step):
                numbers = np.array([NONE if one is None else float(one * step) for one in listed])
                return _known(self.columns[column.name], lambda codes: numbers[codes.astype(int)])
            case expressions.Not(inner):
                return 1 - self.of(inner)
            case expressions.And(parts):
                return _all(map(self.of, parts))
            case expressions.Or(parts):
                return 1 - _all(1 - self.of(one) for one in parts)
            case expressions.Compare(left, sign, right):
                apart = self.of(left) - self.of(right)
                return _known(apart, lambda apart: _SIGNS[sign](apart.round(9), 0))
            case expressions.Case(branches, otherwise):
                return self._case(branches, otherwise)
        return self._computed(node)

    def _case(self, branches: Sequence[tuple[Any, Any]], otherwise: Any) -> Numbers:
        found = np.full(len(self.unit), NONE) if otherwise is None else self.of(otherwise)
        for when, then in reversed(branches):
            found = np.where(self.of(when) == 1, self.of(then), found)
        return found

    def _computed(self, node: Any) -> Numbers:
        match node:
            case expressions.Plus(left, right):
                return self.of(left) + self.of(right)
            case expressions.Times(left, right):
                return self.of(left) * self.of(right)
            case expressions.Negative(inner):
                return -self.of(inner)
            case expressions.Square(inner):
                return self.of(inner) ** 2
            case expressions.Clip(inner, low, high):
                return np.clip(self.of(inner), float(low), float(high))
            case expressions.Floor(inner, step):
                return np.floor(self.of(inner) / float(step) + 1e-9)
            case expressions.Indicator(condition):
                return (self.of(condition) == 1).astype(float)
            case expressions.Curved(curve, inner, decimals):
                return _rounded(_known(self.of(inner), _CURVES[curve]), decimals)
            case expressions.Quotient(over, under, low, high, decimals):
                below = np.where(self.of(under) == 0, NONE, self.of(under))
                return np.clip(_rounded(self.of(over) / below, decimals), float(low), float(high))
        raise AssertionError(node)

    def in_each_unit(self, of_rows: Numbers) -> Numbers:
        if len(self.unit) == self.units:  # each has one row
            return of_rows
        return np.bincount(self.unit, of_rows, self.units)


_SIGNS: dict[str, Callable[..., Any]] = {
    "<": np.less,
    "<=": np.less_equal,
    "=": np.equal,
    "<>": np.not_equal,
    ">=": np.greater_equal,
    ">": np.greater,
}
_CURVES: dict[str, Callable[..., Any]] = {
    "sqrt": np.sqrt,
    "ln": np.log,
    "log10": np.log10,
    "exp": np.exp,
}


def _known(of: Numbers, function: Callable[[Numbers], Any]) -> Numbers:
    """Where there is something to speak of."""
    found, there = np.full(len(of), NONE), ~np.isnan(of)
    found[there] = function(of[there])
    return found


def _all(parts: Iterable[Numbers]) -> Numbers:
    """False where one is false, else unknown where one is unknown."""
    listed = np.array(list(parts))
    least = np.where(np.isnan(listed).any(axis=0), NONE, 1.0)
    return np.where((listed == 0).any(axis=0), 0.0, least)


def _rounded(value: Numbers, decimals: int) -> Numbers:
    """Half away from zero."""
    return np.sign(value) * np.floor(np.abs(value) * 10**decimals + 0.5 + 1e-9) / 10**decimals


# Tables ----------------------------------------------------------------------------------------------------


def rows_of(table: Table, base: Rows) -> tuple[Rows, Numbers]:
    """The rows of a table made of the base table's, and which of them there are."""
    if table not in base.tables:
        base.tables[table] = _rows_of(table, base)
    return base.tables[table]


def _rows_of(table: Table, base: Rows) -> tuple[Rows, Numbers]:
    if isinstance(table, TableOfPersons):
        return _persons(table, base)
    if table.join is None:
        return base, np.ones(len(base.unit))
    columns, there = dict(base.columns), np.ones(len(base.unit))
    (own,) = table.join.tables
    for link in table.join.links:
        dimension = link.dimension
        key = own.column(dimension.joins)
        assert isinstance(key, CategoryColumn)
        at = [dimension.keys.index(one) if one in dimension.keys else None for one in key.values]
        places = np.array([NONE if place is None else place for place in at])
        found = _known(base.columns[key.name], lambda codes, places=places: places[codes.astype(int)])
        if link.left:
            columns[f"{dimension.name}.{dimension.key}"] = found
        else:
            there *= ~np.isnan(found)
        for attribute in dimension.attributes:
            listed = np.array([_as_number(attribute.column, value) for value in attribute.values])
            columns[attribute.column.name] = _known(
                found, lambda codes, listed=listed: listed[codes.astype(int)]
            )
    return Rows(columns, base.outside, base.unit, base.units), there


def _as_number(column: Column, value: Any) -> float:
    if value is None:
        return NONE
    if isinstance(column, CategoryColumn):
        return float(column.values.index(value))
    return float(value * column.step) if isinstance(column, RealColumn) else float(value)


def _persons(table: TableOfPersons, base: Rows) -> tuple[Rows, Numbers]:
    counted = base.of(table.given) == 1
    columns = {name: _number_of_persons(number, base, counted) for name, number in table.numbers}
    there = base.in_each_unit(counted.astype(float)) > 0
    return Rows(columns, {}, np.arange(base.units), base.units), there.astype(float)


def _number_of_persons(number: PersonNumber, base: Rows, rows: npt.NDArray[np.bool_]) -> Numbers:
    counted = rows & (base.of(number.where) == 1)
    if number.kind == "rows":
        return base.in_each_unit(counted.astype(float))
    category = isinstance(number.value, CategoryColumn)
    value = base.columns[number.value.name] if category else base.of(number.value)
    counted &= ~np.isnan(value)
    own = [value[counted & (base.unit == unit)] for unit in range(base.units)]
    functions: dict[str, Callable[[Numbers], float]] = {
        "sum": np.sum,
        "least": np.min,
        "greatest": np.max,
        "distinct": lambda values: len(set(values)),
    }
    if category:
        return np.array([functions["distinct"](values) for values in own], float)
    return np.array([functions[number.kind](values) if len(values) else NONE for values in own])


# Words -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Deviation:
    """What a word in one cell says of each kind of unit, less what it says on average; and its true value.

    ``side``: only numbers below 0, or only those above, are against it; else both.
    """

    cell: tuple[Any, ...]
    truth: float
    of_units: Numbers
    side: int = 0


def deviations_of(word: Word, base: Rows, law: Numbers, many: int, most_cells: float) -> list[Deviation]:
    """For each cell that units can be in, if there are not too many.

    ``law``: how likely each kind of unit is; there are ``many`` units.
    """
    rows, there = rows_of(word.table, base)
    counted = (there == 1) & (rows.of(word.where) == 1)
    cells, found = _cells(word, rows, counted), []
    if len(cells) > most_cells:
        return []
    for cell, inside in cells:
        found += [Deviation(cell, *one) for one in _measured(word.measure, rows, inside, law, many)]
    return found


def _cells(
    word: Word, rows: Rows, counted: npt.NDArray[np.bool_]
) -> list[tuple[tuple[Any, ...], npt.NDArray[np.bool_]]]:
    cells: list[tuple[tuple[Any, ...], npt.NDArray[np.bool_]]] = [((), counted)]
    for group in word.by:
        values = rows.of(group.value) if isinstance(group, buckets.Bucket) else rows.columns[group.name]
        null = isinstance(group, buckets.Bucket) and group.null
        finer = []
        for key, inside in cells:
            for value in np.unique(values[inside]):
                same = np.isnan(values) if np.isnan(value) else values == value
                if null or not np.isnan(value):
                    finer.append(((*key, _label(group, value)), inside & same))
        cells = finer
    return cells


def _label(group: Any, value: float) -> Any:
    if math.isnan(value):
        return None
    return group.values[int(value)] if isinstance(group, CategoryColumn) else float(value)


Measured = tuple[float, Numbers, int]


def _measured(
    measure: Any, rows: Rows, inside: npt.NDArray[np.bool_], law: Numbers, many: int
) -> list[Measured]:
    added = lambda values: rows.in_each_unit(np.where(inside & ~np.isnan(values), values, 0.0))  # noqa: E731
    match measure:
        case measures.Count():
            return _sum(added(np.ones(len(inside))), law, many)
        case measures.CountPersons():
            return _sum((added(np.ones(len(inside))) > 0).astype(float), law, many)
        case measures.Sum(value):
            return _sum(added(rows.of(value)), law, many)
        case measures.SumOfPersons(value, low, high):
            return _sum(np.clip(added(rows.of(value)), float(low), float(high)), law, many)
        case measures.Proportion(condition):
            truths = (rows.of(condition) == 1).astype(float)
            return _ratio(added(truths), added(np.ones(len(inside))), law)
        case measures.Mean(value):
            return _ratio(added(rows.of(value)), added(0 * rows.of(value) + 1), law)
        case measures.Cdf(value, (point,)):
            at_most = _known(rows.of(value), lambda values: values <= float(point) + 1e-9)
            return _ratio(added(at_most), added(0 * at_most + 1), law)
        case measures.Variance(value):
            return _moments(rows.of(value), rows.of(value), "covariance", added, law)
        case measures.Moments(y, x, which):
            return _moments(rows.of(y), rows.of(x), which, added, law)
        case measures.Quantile(value, fraction):
            return _quantile(rows.of(value), float(fraction), added, law)
    raise AssertionError(measure)


def _sum(values: Numbers, law: Numbers, many: int) -> list[Measured]:
    return [(many * float(law @ values), values - law @ values, 0)]


def _ratio(over: Numbers, under: Numbers, law: Numbers) -> list[Measured]:
    if law @ under <= 1e-12:
        return []
    theta = float(law @ over / (law @ under))
    return [(theta, over - theta * under, 0)]


def _quantile(
    values: Numbers, fraction: float, added: Callable[[Numbers], Numbers], law: Numbers
) -> list[Measured]:
    """Too few may not exceed it, or too many lie below it."""
    known = np.unique(values[~np.isnan(values)])
    shares = [float(law @ added(_known(values, lambda v, x=x: (v <= x) - fraction))) for x in known]
    if not law @ added(0 * values + 1) > 1e-12:
        return []
    place = next(i for i, share in enumerate(shares) if share >= -1e-12)
    at = known[place]
    sides = ((lambda v: (v <= at) - fraction, -1), (lambda v: (v < at) - fraction, 1))
    found = []
    for function, side in sides:
        each = added(_known(values, function))
        found.append((float(at), each, side))
    return found


def _moments(
    y: Numbers, x: Numbers, which: str, added: Callable[[Numbers], Numbers], law: Numbers
) -> list[Measured]:
    """As far as they are sums: what one unit more would change."""
    there = 0 * y * x + 1
    many = law @ added(there)
    if many <= 1e-12:
        return []
    mean = lambda values: float(law @ added(values) / many)  # noqa: E731
    dy, dx = y - mean(y + 0 * x), x - mean(x + 0 * y)
    covariance, vy, vx = mean(dy * dx), mean(dy**2 + 0 * dx), mean(dx**2 + 0 * dy)
    if which == "covariance":
        return [(covariance, added(dy * dx - covariance), 0)]
    if vy < 1e-12 or vx < 1e-12:
        return []
    slope, correlation = covariance / vx, covariance / math.sqrt(vy * vx)
    rest = dy - slope * dx
    turned = dy * dx / math.sqrt(vy * vx) - correlation / 2 * (dy**2 / vy + dx**2 / vx)
    return {
        "correlation": [(correlation, added(turned), 0)],
        "r2": [(correlation**2, added(2 * correlation * turned), 0)],
        "slope": [(slope, added(rest * dx / vx), 0)],
        "intercept": [
            (mean(y + 0 * x) - slope * mean(x + 0 * y), added(rest * (1 - mean(x + 0 * y) * dx / vx)), 0)
        ],
    }[which]
