"""The rows of an answer, kept as columns: a ``Row`` is made when somebody looks at it.

Also what is public about a value before it is asked, and whether its noise leaves anything to learn.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Annotated, Any, TypeVar, overload

import numpy as np
import numpy.typing as npt
from msgspec import UNSET, Meta, Struct, UnsetType

from adyton.certify.values import Absent, Interval, KeyLabel, Row, Value, Way, finite
from adyton.documents import Document, HighEnd, LowEnd
from adyton.kernel.exact.cells import Floats

Places = npt.NDArray[np.int64] | slice
_One = TypeVar("_One")
UNINFORMATIVE = (
    "the noise interval covers every possible value, so the answer says nothing: "
    "pay a higher price, or ask about more rows"
)
NO_VALUE = (
    "there is no value: it is NULL, or it rests on one that says nothing, or its noise interval has no bounds"
)


class _Made(Sequence[_One]):
    """A sequence whose parts are made when they are asked for.  Equal to any sequence of equal parts."""

    __slots__ = ()

    @abstractmethod
    def _one(self, place: int) -> _One: ...

    @abstractmethod
    def at(self, places: Places) -> Any:
        """The parts at these places, in this order."""

    @overload
    def __getitem__(self, place: int) -> _One: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[_One]: ...
    def __getitem__(self, place: int | slice) -> Any:
        if isinstance(place, slice):
            return self.at(place)
        return self._one(range(len(self))[place])  # counts from the end, and ends, as a tuple does

    def __iter__(self) -> Iterator[_One]:
        return map(self._one, range(len(self)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or isinstance(other, str):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(tuple(self))


def joined_way(ways: Iterable[Way | None]) -> Way | None:
    """The way of what several intervals say together."""
    found = {way for way in ways if way is not None}
    return found.pop() if len(found) == 1 else "both" if found else None


@dataclass(frozen=True, slots=True, eq=False)
class Intervals:
    """The ends of an interval for each cell, all at one level; ``absent`` holds why some have none.

    ``way``: by which way intervals for the population are as narrow as they are.
    """

    level: float
    low: Floats
    high: Floats
    absent: npt.NDArray[np.object_] | None = None
    way: Way | None = None

    def at(self, places: Places) -> Intervals:
        absent = None if self.absent is None else self.absent[places]
        return Intervals(self.level, self.low[places], self.high[places], absent, self.way)

    def why_none(self, place: int) -> Absent | None:
        """Why the cell has no interval, or None if it has one."""
        return None if self.absent is None else self.absent[place]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Values(_Made[Value]):
    """The values of one measure."""

    value: Floats
    noise: Intervals
    population: Intervals | Absent

    def __len__(self) -> int:
        return len(self.value)

    def _one(self, place: int) -> Value:
        wide = self.population
        return Value(
            float(self.value[place]),
            _interval(self.noise, place),
            wide if isinstance(wide, Absent) else wide.why_none(place) or _interval(wide, place),
        )

    def at(self, places: Places) -> Values:
        wide = self.population
        return Values(
            self.value[places], self.noise.at(places), wide if isinstance(wide, Absent) else wide.at(places)
        )

    def columns(self, name: str) -> dict[str, Floats]:
        """As they are exported."""
        found = {name: self.value, f"{name}_noise_low": self.noise.low, f"{name}_noise_high": self.noise.high}
        if isinstance(self.population, Intervals):
            found[f"{name}_population_low"] = self.population.low
            found[f"{name}_population_high"] = self.population.high
        return found

    def to_json(self) -> list[dict[str, object]]:
        wide = self.population
        population = [wide.to_json()] * len(self) if isinstance(wide, Absent) else _json(wide)
        told = zip(map(finite, self.value.tolist()), _json(self.noise), population, strict=True)
        return [{"value": v, "noise_interval": n, "population_interval": p} for v, n, p in told]


def _interval(intervals: Intervals, place: int) -> Interval:
    return Interval(intervals.level, float(intervals.low[place]), float(intervals.high[place]))


def _json(intervals: Intervals) -> list[dict[str, object]]:
    level = intervals.level
    ends = zip(intervals.low.tolist(), intervals.high.tolist(), strict=True)
    told: list[dict[str, object]] = [
        {"level": level, "low": finite(low), "high": finite(high)} for low, high in ends
    ]
    for place in range(len(told)) if intervals.absent is not None else ():
        if (absent := intervals.why_none(place)) is not None:
            told[place] = absent.to_json()
    return told


class LateValues(Mapping[str, Values]):
    """Values by their names, all made when somebody looks at the first of them."""

    __slots__ = ("_make", "_names")

    def __init__(self, names: Iterable[str], make: Callable[[], Mapping[str, Values]]) -> None:
        self._names, self._make = tuple(names), make

    def __getitem__(self, name: str) -> Values:
        return self._made()[name]

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __reduce__(self) -> tuple[Any, ...]:
        """Another process gets the values themselves."""
        return dict, (dict(self._made()),)

    def _made(self) -> Mapping[str, Values]:
        made = self._make()
        self._make = lambda: made  # what they were made from is let go
        return made


@dataclass(frozen=True, slots=True, eq=False)
class KeyColumn:
    """One part of the keys: row number i has the label number ``codes[i]``."""

    labels: Sequence[KeyLabel]
    codes: npt.NDArray[np.int32]

    def at(self, places: Places) -> KeyColumn:
        return KeyColumn(self.labels, self.codes[places])

    def tolist(self) -> list[KeyLabel]:
        found: list[KeyLabel] = np.fromiter(self.labels, object, len(self.labels))[self.codes].tolist()
        return found


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RowKeys(_Made[dict[str, KeyLabel]]):
    """The keys of ``size`` rows."""

    columns: Mapping[str, KeyColumn]
    size: int

    def __len__(self) -> int:
        return self.size

    def _one(self, place: int) -> dict[str, KeyLabel]:
        return {name: column.labels[column.codes[place]] for name, column in self.columns.items()}

    def at(self, places: Places) -> RowKeys:
        columns = {name: column.at(places) for name, column in self.columns.items()}
        return RowKeys(columns, len(np.arange(self.size)[places]))

    def renamed(self, names: Mapping[str, str]) -> RowKeys:
        return RowKeys({names.get(name, name): column for name, column in self.columns.items()}, self.size)

    def to_json(self) -> list[dict[str, KeyLabel]]:
        names, columns = tuple(self.columns), [column.tolist() for column in self.columns.values()]
        if not names:
            return [{} for _ in range(self.size)]
        return [dict(zip(names, key, strict=True)) for key in zip(*columns, strict=True)]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class KeyedRows(_Made[Row]):
    """What an answer lists: for each row its keys, and a value of each measure."""

    keys: RowKeys
    values: Mapping[str, Values]

    def __len__(self) -> int:
        return len(self.keys)

    def _one(self, place: int) -> Row:
        return Row(self.keys[place], {name: values[place] for name, values in self.values.items()})

    def at(self, places: Places) -> KeyedRows:
        return KeyedRows(
            self.keys.at(places), {name: values.at(places) for name, values in self.values.items()}
        )

    def columns(self) -> dict[str, list[KeyLabel] | Floats]:
        """Keys, values and the ends of their intervals, as they are exported."""
        found: dict[str, list[KeyLabel] | Floats] = {n: c.tolist() for n, c in self.keys.columns.items()}
        for name, values in self.values.items():
            found |= values.columns(name)
        return found

    def names(self) -> ColumnNames:
        wide = tuple(name for name, own in self.values.items() if isinstance(own.population, Intervals))
        return ColumnNames(tuple(self.keys.columns), tuple(self.values), wide)

    def to_json(self) -> list[dict[str, object]]:
        keys, names = self.keys.to_json(), tuple(self.values)
        if not names:  # nothing but keys and texts
            return [{"keys": key, "values": {}} for key in keys]
        told = zip(*(values.to_json() for values in self.values.values()), strict=True)
        return [
            {"keys": key, "values": dict(zip(names, own, strict=True))}
            for key, own in zip(keys, told, strict=True)
        ]


@dataclass(frozen=True, slots=True)
class ColumnNames(Document):
    """What columns are called, for answers without rows, and which values have a population."""

    keys: tuple[str, ...]
    values: tuple[str, ...]
    population: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class KnownRange(Document):
    """Whether a value is a ``count``, and the ``low`` and ``high`` between which it must lie, if any.

    ``step``: what is asked about is a multiple of it, so finer digits mean nothing.  ``day``: it counts days
    from 1970-01-01, and is shown as a date.
    """

    count: bool = False
    low: LowEnd | None = None
    high: HighEnd | None = None
    step: float = 0.0
    day: bool = False

    def is_informative(self, value: Value) -> bool:
        """Whether the noise interval excludes anything that was possible before."""
        if isnan(value.value):
            return False
        if self.low is None or self.high is None:
            return True
        return value.noise_interval.low > self.low or value.noise_interval.high < self.high

    def tells(self, values: Values) -> npt.NDArray[np.bool_]:
        """The same for each of many values."""
        if self.low is None or self.high is None:
            return ~np.isnan(values.value)
        return (values.noise.low > self.low) | (values.noise.high < self.high)


NOTHING_KNOWN = KnownRange()


@dataclass(frozen=True, slots=True)
class NamedRange(KnownRange):
    """The same, with the name of its value."""

    name: str = ""

    json_keys = "name count low high step day"


# Rows in JSON ----------------------------------------------------------------------------------------------


class ShownEnds(Struct):
    """An interval; of a value that is a day, its ends are dates.  An end that does not exist is null."""

    level: float
    low: float | str | None
    high: float | str | None


class ShownEndsOrWhy(Struct, omit_defaults=True):
    """An interval, or why there is none."""

    level: float | UnsetType = UNSET
    low: float | str | UnsetType | None = UNSET
    high: float | str | UnsetType | None = UNSET
    absent: str | UnsetType = UNSET


_EITHER = {"anyOf": [{"required": ["level", "low", "high"]}, {"required": ["absent"]}]}


class ShownValue(Struct, omit_defaults=True):
    """A value and its intervals, and why it says nothing, if so."""

    value: float | str | None
    noise_interval: ShownEnds
    population_interval: Annotated[ShownEndsOrWhy, Meta(extra_json_schema=_EITHER)]
    uninformative: str | UnsetType = UNSET


class ShownRow(Struct):
    """A group, and its values by their names."""

    keys: dict[str, str | int | float | bool | None]
    values: dict[str, ShownValue]
