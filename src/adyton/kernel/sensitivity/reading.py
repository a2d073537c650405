"""What may be read: sums over rows in cells, and how far one unit moves them."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod

from adyton.kernel.schema import Table
from adyton.kernel.sensitivity.bounds import Sensitivity
from adyton.kernel.terms.buckets import Group, group_size
from adyton.kernel.terms.expressions import Condition, NumberExpression
from adyton.kernel.terms.measures import Extreme, Measure, Quantile, middle_of_product, middle_of_square

_MOST_STEPS_PER_ROW = 2**20


@dataclass(frozen=True, slots=True)
class Coordinate:
    """A sum over contributing rows of ``times * value - minus``, or of ``times`` where there is no value.

    ``box`` has the least and the greatest that one row can add.
    """

    value: NumberExpression | None = None
    times: int = 1
    minus: int = 0
    box: tuple[int, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        low, high = self.times, self.times
        if self.value is not None:
            lattice = self.value.lattice
            low, high = self.times * lattice.low - self.minus, self.times * lattice.high - self.minus
        object.__setattr__(self, "box", (low, high))


@dataclass(frozen=True, slots=True)
class Persons:
    """Of each person, one number in a cell: the own sum, clipped to ``low..high``; ``groups`` cells at most.

    Where nothing is summed the number is 1, for being there.
    """

    low: int
    high: int
    groups: int


@dataclass(frozen=True, slots=True)
class Reading:
    """The integers behind one measure: ``coordinates`` in each of the cells of ``by``.

    A row contributes to all coordinates or to none: where ``where`` is true and every value is present.
    With ``persons`` there is a single coordinate, and what is added up is one number of each person.
    """

    name: str
    measure: Measure
    where: Condition
    coordinates: tuple[Coordinate, ...]
    by: tuple[Group, ...]
    sensitivity: Sensitivity
    public_rows: int | None = None
    persons: Persons | None = None
    table: Table | None = None  # the private table that is read, joined or not
    kept: tuple[int, ...] | None = None  # of all cells of the query's groups, those that are read; None: all
    groups: int = 0  # the first of ``by``, which are the query's own; further ones are bins
    part: int | None = None  # of the units, where they are split into parts: from 1 on

    @property
    def cells(self) -> int:
        """How many integers each coordinate has."""
        bins = prod(map(group_size, self.by[self.groups :]))
        own = prod(map(group_size, self.by[: self.groups])) if self.kept is None else len(self.kept)
        return own * bins


def search_weights(measure: Quantile | Extreme) -> tuple[int, int]:
    """``times`` and ``minus``: times * (rows not above) - minus * (all rows) rises through the target."""
    if isinstance(measure, Quantile):
        return measure.fraction.denominator, measure.fraction.numerator
    return (1, 0) if measure.which == "least" else (1, 1)


def squared_values(value: NumberExpression) -> tuple[Coordinate, ...]:
    """A value, its square and the count: what a variance needs."""
    return centred_and_counted(value, middle_of_square(value))


def moment_values(x: NumberExpression, y: NumberExpression) -> tuple[Coordinate, ...]:
    """Two values, their squares, their product and the count: what a covariance needs."""
    return centred_and_counted(x, middle_of_square(x), y, middle_of_square(y), middle_of_product(x, y))


def centred_and_counted(*values: NumberExpression) -> tuple[Coordinate, ...]:
    """Twice the distance from the middle of the bounds, whole even where the middle is not, and a count in
    steps about as fine: noise is rounded to whole steps, and a whole row would be a coarse step for a mean.
    """
    lattices = [value.lattice for value in values]
    centred = [Coordinate(v, times=2, minus=v.lattice.low + v.lattice.high) for v in values]
    steps_per_row = min(max(lattice.high - lattice.low for lattice in lattices), _MOST_STEPS_PER_ROW)
    return *centred, Coordinate(times=steps_per_row)
