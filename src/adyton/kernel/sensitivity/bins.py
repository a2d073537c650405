"""Bins of a value's lattice: what a search for a quantile, or a distribution, counts.

How the lattice is divided depends on public facts alone, never on the data: on the bounds of the value and on
the number of groups.  A lattice too long for one count is divided again inside one bin, level by level.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from adyton.kernel.terms.buckets import MOST_CELLS, Bucket
from adyton.kernel.terms.expressions import (
    Case,
    Clip,
    Compare,
    Condition,
    Floor,
    NumberExpression,
    Plus,
    all_of,
)
from adyton.kernel.terms.leaves import Constant

MOST_BINS = 2**16
_BIN = "bin"


@dataclass(frozen=True, slots=True)
class Bins:
    """Equal bins of the steps from ``first`` to ``last``, ``width`` steps each, the last perhaps less."""

    first: int
    last: int
    width: int

    @property
    def number(self) -> int:
        return -(-(self.last - self.first + 1) // self.width)

    def ends(self, place: int) -> tuple[int, int]:
        """The first and the last step of a bin."""
        start = self.first + place * self.width
        return start, min(start + self.width - 1, self.last)


def levels_of(value: NumberExpression, cells: int) -> tuple[int, ...]:
    """How many bins each level has, coarse first.  Several cells have one level only."""
    levels = [bins_of(value.lattice.low, value.lattice.high, cells)]
    while cells == 1 and levels[-1].width > 1:
        levels.append(finer(levels[-1], 0))
    return tuple(bins.number for bins in levels)


def bins_of(first: int, last: int, cells: int) -> Bins:
    """As fine as the number of groups allows.  A width that is a power of two leaves full bins."""
    most = max(2, min(MOST_BINS, MOST_CELLS // cells))
    width = 1
    while -(-(last - first + 1) // width) > most:
        width *= 2
    return Bins(first, last, width)


def finer(bins: Bins, chosen: int) -> Bins:
    """One bin divided again; as if it were full, so that every bin has the same levels."""
    start = bins.first + chosen * bins.width
    return bins_of(start, start + bins.width - 1, 1)


def binned(value: NumberExpression, bins: Bins) -> tuple[Condition, Bucket]:
    """Where the value lies in any of the bins, and in which."""
    lattice = value.lattice
    inside = []
    if bins.first > lattice.low:
        inside.append(Compare(value, ">=", Constant(bins.first * lattice.step)))
    if bins.last < lattice.high:
        inside.append(Compare(value, "<=", Constant(bins.last * lattice.step)))
    from_first = Plus(value, Constant(-bins.first * lattice.step)) if bins.first else value
    place: NumberExpression = Floor(from_first, bins.width * lattice.step)
    if inside and min(bins.last, lattice.high) - bins.first < bins.width:  # the others lie beyond all values
        place = Case(((Compare(value, ">=", Constant(bins.first * lattice.step)), Constant(Fraction(0))),))
    elif bins.number > 1 and inside:
        place = Clip(place, Fraction(0), Fraction(bins.number - 1))
    return all_of(*inside), Bucket(_BIN, place)


def upto(value: NumberExpression, points: tuple[Fraction, ...]) -> Bucket:
    """The number of points that lie below the value: 0 for values up to the first point, and so on."""
    branches = [
        (Compare(value, "<=", Constant(point)), Constant(Fraction(i))) for i, point in enumerate(points)
    ]
    branches.append((Compare(value, ">", Constant(points[-1])), Constant(Fraction(len(points)))))
    return Bucket(_BIN, Case(tuple(branches)))
