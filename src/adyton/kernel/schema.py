"""What everyone may know about a table: its name, its columns, their kinds and their public bounds.

The value of a column *is* its clipped value on its step.  So every number that a query can touch is a
whole multiple of a public step between public bounds, and the private side needs integers only.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass, field
from difflib import get_close_matches
from fractions import Fraction
from math import gcd
from typing import ClassVar, Literal

from adyton.errors import InvalidRequest
from adyton.kernel.exact import rational

# Whole numbers up to here are exact in every engine, also where a value passes through a double.
LARGEST_COLUMN_VALUE = 2**53
# No intermediate result may pass this, so 64-bit arithmetic cannot overflow, not even on twice the value, and
# neither can the sum of fewer than 2**64 such values in 128 bits.
LARGEST_VALUE = 2**61

# Bytes in UTF-8.  A longer text is missing, so that no single value decides how much memory loading needs.
LONGEST_TEXT = 4096
_LONGEST_DECLARED_TEXT = 1_000_000

_EPOCH = datetime.date(1970, 1, 1)


@dataclass(frozen=True, slots=True)
class Lattice:
    """The whole multiples of ``step`` from ``low * step`` to ``high * step``."""

    step: Fraction
    low: int
    high: int

    def __post_init__(self) -> None:
        if max(abs(self.low), abs(self.high)) > LARGEST_VALUE:
            raise InvalidRequest(
                "an expression can become too large for exact arithmetic: bound its parts with "
                "CLAMP(x, low, high)"
            )

    def scaled(self, factor: int) -> Lattice:
        """The same numbers on a step that is ``factor`` times finer."""
        if factor == 1:
            return self
        return Lattice(self.step / factor, self.low * factor, self.high * factor)


def common_step(left: Fraction, right: Fraction) -> Fraction:
    """The coarsest step of which both are whole multiples."""
    return Fraction(
        gcd(left.numerator * right.denominator, right.numerator * left.denominator),
        left.denominator * right.denominator,
    )


def times_finer(coarse: Fraction, fine: Fraction) -> int:
    """How many steps of ``fine`` make one of ``coarse``, which is a whole multiple of it."""
    return coarse.numerator * fine.denominator // (coarse.denominator * fine.numerator)


# ``missing`` of a column: rows without a usable value of it are a group of their own, NULL as in SQL, where
# a query groups by it.  By default they are in no group, because an empty group would only be noise.

Clock = Literal["hour", "minute"]
CLOCK: dict[Clock, tuple[int, int]] = {"hour": (0, 23), "minute": (0, 59)}


@dataclass(frozen=True, slots=True)
class ClockPart:
    """A part of the time of day of the timestamps in the data's column ``of``.

    Instants are seen in UTC, and all timestamps in ``zone`` where it is given; those without a zone of their
    own are then taken to be in UTC.
    """

    of: str
    part: Clock
    zone: str | None = None


@dataclass(frozen=True, slots=True)
class IntegerColumn:
    """Whole numbers, clipped to ``low..high``; those of the data, or a part of its timestamps (``clock``)."""

    name: str
    low: int
    high: int
    clock: ClockPart | None = None
    missing: bool = False
    kind: ClassVar[str] = "integer"

    def __post_init__(self) -> None:
        for end in (self.low, self.high):
            if type(end) is not int:
                raise InvalidRequest(
                    f"columns.{self.name}: bounds of integers are whole numbers, not {end!r}"
                )
        if self.clock is not None and CLOCK.get(self.clock.part) != (self.low, self.high):
            raise InvalidRequest(
                f"columns.{self.name}: the bounds must be those of part, one of {', '.join(CLOCK)}"
            )
        _check_bounds(self.name, self.low, self.high, ": use narrower ones, or kind = 'real' with a step")

    @property
    def lattice(self) -> Lattice:
        return Lattice(Fraction(1), self.low, self.high)


@dataclass(frozen=True, slots=True)
class RealColumn:
    """Numbers, clipped to ``low..high`` and rounded to the nearest multiple of ``step``.

    All three may be given as any exact number; a float counts as the decimal it prints as.
    """

    name: str
    low: Fraction
    high: Fraction
    step: Fraction
    missing: bool = False
    kind: ClassVar[str] = "real"

    def __post_init__(self) -> None:
        for name in ("low", "high", "step"):
            object.__setattr__(self, name, rational(getattr(self, name), f"columns.{self.name}.{name}"))
        if self.step <= 0:
            raise InvalidRequest(f"columns.{self.name}.step must be above 0")
        for name in ("low", "high"):
            if (getattr(self, name) / self.step).denominator != 1:
                raise InvalidRequest(f"columns.{self.name}.{name} must be a whole multiple of the step")
        _check_bounds(self.name, self.low / self.step, self.high / self.step, " steps; use a coarser step")

    @property
    def lattice(self) -> Lattice:
        return Lattice(self.step, int(self.low / self.step), int(self.high / self.step))


@dataclass(frozen=True, slots=True)
class DateColumn:
    """Calendar days, clipped to ``low..high``; of timestamps, the day in ``zone``.

    Without a zone an instant has its day in UTC, and any other timestamp the day that it says.
    """

    name: str
    low: datetime.date
    high: datetime.date
    zone: str | None = None
    missing: bool = False
    kind: ClassVar[str] = "date"

    def __post_init__(self) -> None:
        _check_bounds(self.name, day_number(self.low), day_number(self.high))

    @property
    def lattice(self) -> Lattice:
        return Lattice(Fraction(1), day_number(self.low), day_number(self.high))


@dataclass(frozen=True, slots=True)
class CategoryColumn:
    """One of the declared ``values``, all texts or all whole numbers; any other value counts as missing."""

    name: str
    values: tuple[str, ...] | tuple[int, ...]
    missing: bool = False
    kind: ClassVar[str] = "category"

    def __post_init__(self) -> None:
        where = f"columns.{self.name}.values"
        if not self.values:
            raise InvalidRequest(f"{where} must list at least one value")
        if len({type(v) for v in self.values}) > 1 or type(self.values[0]) not in (str, int):
            raise InvalidRequest(f"{where} must be all strings or all whole numbers")
        if len(set(self.values)) < len(self.values):
            raise InvalidRequest(f"{where} lists a value twice")


@dataclass(frozen=True, slots=True)
class BooleanColumn:
    """True or false."""

    name: str
    missing: bool = False
    kind: ClassVar[str] = "boolean"


@dataclass(frozen=True, slots=True)
class TextColumn:
    """Any text.  Nobody declared which values there are: they can only be found, and few of them safely.

    A text of more than ``longest`` bytes, in UTF-8, counts as missing.
    """

    name: str
    longest: int = LONGEST_TEXT
    kind: ClassVar[str] = "text"

    def __post_init__(self) -> None:
        if type(self.longest) is not int or not 1 <= self.longest <= _LONGEST_DECLARED_TEXT:
            raise InvalidRequest(
                f"columns.{self.name}.longest must be a whole number of bytes from 1 to "
                f"{_LONGEST_DECLARED_TEXT}"
            )


Column = IntegerColumn | RealColumn | DateColumn | CategoryColumn | BooleanColumn | TextColumn


def declares_missing(column: Column) -> bool:
    """Whether rows without a value of it are a group of their own."""
    return not isinstance(column, TextColumn) and column.missing


def source_of(column: Column) -> str:
    """The name of the data's column that a declared one is read from."""
    clock = column.clock if isinstance(column, IntegerColumn) else None
    return column.name if clock is None else clock.of


def day_number(day: datetime.date) -> int:
    return (day - _EPOCH).days


def day_of(number: int) -> datetime.date:
    return _EPOCH + datetime.timedelta(days=number)


def _check_bounds(name: str, low: int | Fraction, high: int | Fraction, remedy: str = "") -> None:
    if not low < high:
        raise InvalidRequest(f"columns.{name}: low must be below high")
    if not -LARGEST_COLUMN_VALUE <= low < high <= LARGEST_COLUMN_VALUE:
        raise InvalidRequest(f"columns.{name}: the bounds reach beyond 2**53{remedy}")


@dataclass(frozen=True, slots=True)
class Attribute:
    """What a public table says about each of its keys: a column, and its value there; None is missing.

    The values are those of the column: a number is counted in steps of the step.
    """

    column: CategoryColumn | BooleanColumn | IntegerColumn | RealColumn
    values: tuple[str | int | bool | None, ...]


@dataclass(frozen=True, slots=True)
class Dimension:
    """A public table: ``keys`` are values of the private column ``joins``, called ``key`` here.

    Its attributes take every value that they declare, so a group of them has a key.  ``unusable`` are columns
    of the file that cannot be one, each with the reason, which whoever asks for it is told.  Rows of the
    file whose key is not declared, which no private row can have, are only counted: ``rows_left_out``.
    """

    name: str
    key: str
    joins: str
    keys: tuple[str, ...] | tuple[int, ...]
    attributes: tuple[Attribute, ...]
    unusable: tuple[tuple[str, str], ...] = ()
    rows_left_out: int = 0

    def __post_init__(self) -> None:
        where = f"public.{self.name}"
        if not self.keys or len(set(self.keys)) < len(self.keys):
            raise InvalidRequest(f"{where}: a public table has at least one key, and each only once")
        for attribute in self.attributes:
            column, known = attribute.column, {value for value in attribute.values if value is not None}
            if len(attribute.values) != len(self.keys) or not known:
                raise InvalidRequest(f"{where}: {column.name!r} needs a value for each key, some not missing")
            if not _takes_exactly(column, known):
                raise InvalidRequest(
                    f"{where}: {column.name!r} must take exactly the values that it declares"
                )


def _takes_exactly(column: Column, known: set[str | int | bool]) -> bool:
    """All values of a category, or a number from its least to its greatest."""
    if isinstance(column, CategoryColumn):
        return known == set(column.values)
    if isinstance(column, IntegerColumn | RealColumn):
        steps = [value for value in known if type(value) is int]
        ends = (column.lattice.low, column.lattice.high)
        return len(steps) == len(known) and (min(steps), max(steps)) == ends
    return all(isinstance(value, bool) for value in known)


@dataclass(frozen=True, slots=True)
class PublicJoin:
    """A public table beside a private one: rows without a match are left out, or kept (``left``)."""

    table: str
    dimension: Dimension
    left: bool


@dataclass(frozen=True, slots=True)
class Join:
    """What was put together: private tables, row by row of each person, and public ones beside them."""

    tables: tuple[Table, ...]
    links: tuple[PublicJoin, ...] = ()


@dataclass(frozen=True, slots=True)
class Table:
    """A table that may be queried.  ``rows``, the units, is public: exact under ``replace-one``, else a
    guess.

    ``lines`` is a public guess of how many rows count, where a unit may have several.  It chooses noise and
    sizes; no guarantee rests on it.
    ``person`` is the name of the column that says whose row it is; it can be counted, never looked at.
    ``dimensions`` are the public tables that may be joined; ``join`` says what a joined table is made of.
    ``most_rows`` of a person count, where persons are units; the study says it, here as well.

    >>> table = adyton.Table("people", (IntegerColumn("age", 0, 120),), rows=1000)
    >>> table.column("AGE").name
    'age'
    """

    name: str
    columns: tuple[Column, ...]
    rows: int | None = None
    person: str | None = None
    dimensions: tuple[Dimension, ...] = ()
    join: Join | None = None
    lines: int | None = None
    most_rows: int | None = field(default=None, compare=False)
    _by_name: dict[str, Column] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        by_name = {column.name.casefold(): column for column in self.columns}
        if len(by_name) < len(self.columns):
            raise InvalidRequest("two columns have the same name (names are case-insensitive)")
        object.__setattr__(self, "_by_name", by_name)
        for dimension in self.dimensions:
            self._check(dimension)

    def _check(self, dimension: Dimension) -> None:
        where = f"public.{dimension.name}.joins"
        column = self._by_name.get(dimension.joins.casefold())
        if not isinstance(column, CategoryColumn):
            raise InvalidRequest(f"{where}: table {self.name!r} has no category {dimension.joins!r}")
        if not set(dimension.keys) <= set(column.values):
            raise InvalidRequest(f"{where}: a key is not a declared value of {dimension.joins!r}")

    @property
    def behind(self) -> Table:
        """The table that an engine holds: this one, unless it is made of another's rows."""
        return self

    def column(self, name: str) -> Column:
        """The column called ``name``; names are case-insensitive, as in SQL."""
        found = self._by_name.get(name.casefold())
        if found is None:
            close = get_close_matches(name.casefold(), self._by_name, n=1)
            hint = f"; did you mean {self._by_name[close[0]].name!r}?" if close else "."
            known = ", ".join(column.name for column in self.columns)
            why = f"table {self.name!r} has no column {name!r}{hint} Columns: {known}"
            raise InvalidRequest(why, reason="no_such_column")
        return found
