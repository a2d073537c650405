"""What a mechanism returned, as columns: numbers, and labels for all that is no finite number.

Whatever comes out, a tuple, a dictionary, a set, text, a missing value, becomes columns that are functions of
one output each.  So an event about columns is an event about outputs, and that is all that a bound needs.
"""

from __future__ import annotations

import marshal
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from numbers import Rational
from typing import Any

import numpy as np
import numpy.typing as npt

from adyton.errors import InvalidRequest

Array = npt.NDArray[Any]
Codes = npt.NDArray[np.int64]

_MOST_CHILDREN = 512
_ABSENT = object()


@dataclass(frozen=True, slots=True)
class Column:
    """A number or a label of each output; ``labels`` is 0 where the number counts, None if it always does."""

    name: str
    numbers: Array  # int64 or float64, finite
    labels: Codes | None = None
    kinds: int = 1  # how many labels there are, 0 included

    @property
    def has_labels(self) -> bool:
        return self.labels is not None and bool(self.labels.any())

    def part(self, start: int, stop: int) -> Column:
        labels = None if self.labels is None else self.labels[start:stop]
        return Column(self.name, self.numbers[start:stop], labels, self.kinds)


@dataclass(frozen=True, slots=True)
class Outputs:
    columns: tuple[Column, ...]
    count: int

    def part(self, start: int, stop: int) -> Outputs:
        return Outputs(tuple(c.part(start, stop) for c in self.columns), stop - start)


def read(first: Any, second: Any) -> tuple[Outputs, Outputs]:
    """The outputs on the two inputs, with one coding for both."""
    if (
        isinstance(first, np.ndarray)
        and isinstance(second, np.ndarray)
        and first.shape[1:] == second.shape[1:]
    ):
        together: Any = np.concatenate([first, second])
    else:
        together = [*first, *second]
    if len(first) != len(second):
        raise InvalidRequest(f"{len(first)} outputs on one input and {len(second)} on the other")
    columns = tuple(_columns("output", together))[:_MOST_CHILDREN]
    both = Outputs(columns, len(together))
    return both.part(0, len(first)), both.part(len(first), len(together))


def _columns(name: str, values: Any) -> Iterator[Column]:
    if isinstance(values, np.ndarray):
        if values.ndim > 1:
            for i, column in enumerate(values.reshape(len(values), -1).T[:_MOST_CHILDREN]):
                yield from _columns(f"{name}[{i}]", np.ascontiguousarray(column))
            return
        if values.dtype.kind in "fiub":
            yield _numeric(name, values)
            return
        values = values.tolist()
    kinds = set(map(type, values))
    if kinds == {np.ndarray} and len({v.shape for v in values}) == 1:
        yield from _columns(name, np.stack(values))
    elif kinds <= {float, np.float64} or kinds == {bool}:
        yield _numeric(name, np.array(values))
    elif kinds <= {int}:
        yield _whole(name, values)
    else:
        yield from _mixed(name, values, kinds)


def _numeric(name: str, values: Array) -> Column:
    if values.dtype.kind in "ib" or (values.dtype.kind == "u" and values.dtype.itemsize < 8):
        return Column(name, values.astype(np.int64))
    if values.dtype.kind == "u":
        return _whole(name, values.tolist())
    numbers = values.astype(np.float64)
    finite = np.isfinite(numbers)
    if finite.all():
        return Column(name, numbers)
    labels = np.where(finite, 0, np.where(np.isnan(numbers), 1, np.where(numbers > 0, 2, 3)))
    return Column(name, np.where(finite, numbers, 0.0), labels.astype(np.int64), 4)


def _whole(name: str, values: Sequence[int]) -> Column:
    """Integers of any size, moved by a round number if that is needed to make them fit."""
    least, greatest = min(values), max(values)
    if least >= -(2**63) and greatest < 2**63:
        return Column(name, np.array(values, dtype=np.int64))
    base = least >> 20 << 20
    if greatest - base >= 2**63:
        raise InvalidRequest(f"the integers of {name} are more than 2**63 apart: audit their quotient")
    return Column(name, np.array([v - base for v in values], dtype=np.int64))


def _mixed(name: str, values: list[Any], kinds: set[type]) -> Iterator[Column]:
    distinct, places = _distinct(values)
    if len(distinct) < len(values) // 2:
        for column in _spread(name, distinct, kinds):
            labels = None if column.labels is None else column.labels[places]
            yield Column(column.name, column.numbers[places], labels, column.kinds)
    else:
        yield from _spread(name, values, kinds)


def _distinct(values: list[Any]) -> tuple[list[Any], Codes]:
    """Each output once, and where each belongs; told apart by type and value, as 1 and True must be."""
    try:
        keys = [marshal.dumps(v, 0) for v in values]
    except ValueError:
        return values, np.arange(len(values))
    known: dict[bytes, int] = {}
    places = [known.setdefault(key, len(known)) for key in keys]
    first = dict(zip(reversed(places), reversed(values), strict=True))
    return [first[i] for i in range(len(known))], np.array(places, dtype=np.int64)


def _spread(name: str, values: list[Any], kinds: set[type]) -> Iterator[Column]:
    """A container as its parts, beside a column that says which container, number or label it is."""
    if kinds <= {tuple, list} and len(lengths := set(map(len, values))) == 1:
        for i in range(min(lengths.pop(), _MOST_CHILDREN)):
            yield from _columns(f"{name}[{i}]", [v[i] for v in values])
        return
    yield _head(name, values, kinds)
    for key in _keys(values):
        yield from _columns(f"{name}[{key!r}]", [_child(v, key) for v in values])
    if any(isinstance(v, tuple | list) for v in values):
        yield from _columns(f"the last of {name}", [_last(v) for v in values])


def _head(name: str, values: list[Any], kinds: set[type]) -> Column:
    """The numbers, with a label for everything else: for a container its type and length."""
    labels, numbers = np.zeros(len(values), dtype=np.int64), np.zeros(len(values))
    known: dict[Any, int] = {}
    kind_of = list(map(type, values))
    for kind in sorted(kinds, key=repr):
        where = [i for i, k in enumerate(kind_of) if k is kind]
        found = [_number(values[i]) for i in where] if issubclass(kind, _NUMBERS) else [None] * len(where)
        for i, number in zip(where, found, strict=True):
            if number is None:
                labels[i] = known.setdefault(_label(values[i]), len(known) + 1)
            else:
                numbers[i] = number
    return Column(name, numbers, labels, len(known) + 1)


_NUMBERS = (int, float, Rational, np.number)


def _number(value: Any) -> float | None:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, int | float | Rational):
        return None
    return float(value) if math.isfinite(value) else None


def _label(value: Any) -> Any:
    if value is _ABSENT:
        return "absent"
    if isinstance(value, dict | set | frozenset | list | tuple | np.ndarray):
        return type(value).__name__, len(value)
    return type(value).__name__, repr(value)


def _keys(values: list[Any]) -> list[Any]:
    """Positions, keys or members that some output has."""
    positions = max((len(v) for v in values if isinstance(v, tuple | list | np.ndarray)), default=0)
    names: set[Any] = set()
    for v in values:
        if isinstance(v, dict | set | frozenset):
            names.update(v)
    return [*range(min(positions, _MOST_CHILDREN)), *sorted(names, key=repr)[:_MOST_CHILDREN]]


def _child(value: Any, key: Any) -> Any:
    if isinstance(value, tuple | list | np.ndarray):
        return value[key] if isinstance(key, int) and key < len(value) else _ABSENT
    if isinstance(value, dict):
        return value.get(key, _ABSENT)
    if isinstance(value, set | frozenset):
        return key in value
    return _ABSENT


def _last(value: Any) -> Any:
    return value[-1] if isinstance(value, tuple | list) and len(value) else _ABSENT
