"""How far one unit can move the integers that a measure reads.

A unit adds to the vector of one cell either nothing or a point of a box, and nothing to the other cells:

    C = {0}  united with  {e_cell (x) v : v in box, cell = 1..cells}

With up to r rows a unit adds a sum of r such points, and every distance below is r times as long: no farther,
by the triangle inequality, and as far, by the same point r times.  Where a unit's share of a cell is bounded,
not its rows, it adds one point in each of up to ``touched`` cells instead.  Behind a variance the box is
``curved``: its first two coordinates are a value, as a part u of -1..1, and that value's square, 2 u**2 - 1.
Behind a covariance it is so twice: u, 2 u**2 - 1, v, 2 v**2 - 1, and then the product u v.

Privacy pays the *diameter*: the largest distance between the vectors of two neighboring tables.
Validity pays the *radius*: the largest distance from one fixed point to C, whatever the neighbors.
Distances are measured in noise: coordinate i is divided by ``scales[i]``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from adyton.kernel.privacy import Adjacency

Scales = tuple[Fraction, ...]
_Chord = Callable[[Fraction, Fraction, Fraction], Fraction]

_ROOT_STEPS = 2**64  # in one: how finely a root is rounded


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """L1 and L2 distances, exact, for a unit of at most ``rows`` rows."""

    boxes: tuple[tuple[int, int], ...]
    cells: int
    adjacency: Adjacency
    rows: int = 1
    touched: int = 1
    curved: int = 0  # of so many values the squares are read too, and of two the product
    squares: Fraction = Fraction(0)  # the part of the price for the squares beside a mean; 0: as all

    def l1_diameter(self, scales: Scales) -> Fraction:
        """Theorem: L1-SENSITIVITY."""
        farthest = sum((_farthest(b) / s for b, s in self._with(scales)), Fraction(0))
        if self.adjacency == "add-remove":
            return self.rows * self.touched * farthest
        lengths = [_length(b) / s for b, s in self._with(scales)]
        return self.rows * self._apart(self._within_cell(lengths, _chord_l1), farthest)

    def l2_diameter_squared(self, scales: Scales) -> Fraction:
        """Theorem: L2-SENSITIVITY."""
        farthest = sum(((_farthest(b) / s) ** 2 for b, s in self._with(scales)), Fraction(0))
        if self.adjacency == "add-remove":
            return self.rows**2 * self.touched * farthest
        squares = [(_length(b) / s) ** 2 for b, s in self._with(scales)]
        return self.rows**2 * self._apart(self._within_cell(squares, _chord_squared), farthest)

    def _within_cell(self, lengths: list[Fraction], chord: _Chord) -> Fraction:
        """How far apart two points in a cell may be, from the (squared) lengths of the sides of the box.

        Each of two values answers for half of their product.
        """
        ends = 2 * self.curved
        product, others = (lengths[4] / 2, lengths[5:]) if self.curved == 2 else (Fraction(0), lengths[ends:])
        chords = [chord(*pair, product) for pair in zip(lengths[0:ends:2], lengths[1:ends:2], strict=True)]
        return sum([*chords, *others], Fraction(0))

    def _apart(self, shared: Fraction, own: Fraction) -> Fraction:
        """How far apart two units are that are ``shared`` apart in a cell of both, ``own`` in a cell of one.

        With j cells of both there are at most 2 (t - j) others, and at most cells - j: up to where one bound
        takes over from the other, and from there on, the distance is linear in j.
        """
        common = (0, max(0, 2 * self.touched - self.cells), self.touched)
        return max(j * shared + min(2 * (self.touched - j), self.cells - j) * own for j in common)

    def l1_radius(self, scales: Scales) -> Fraction:
        """Distance from the middle of the hull of C (one cell) or from 0 (several).  Theorem: L1-RADIUS."""
        if self.cells == 1:
            return self.rows * sum((Fraction(_hull(b)) / 2 / s for b, s in self._with(scales)), Fraction(0))
        farthest = sum((_farthest(b) / s for b, s in self._with(scales)), Fraction(0))
        return self.rows * self.touched * farthest

    def l2_radius_squared(self, scales: Scales) -> Fraction:
        """Squared radius of a ball around C.  Any centre gives a valid one; the better of two is taken:
        the centre that suits units that contribute, and the same centre pulled towards those that do not.

        Theorem: L2-RADIUS.
        """
        centre = tuple(_least_squares_centre(b, self.cells) for b in self.boxes)
        pulled = tuple(self._pull(centre, scales) * c for c in centre)
        return self.rows**2 * min(self._reach_squared(centre, scales), self._reach_squared(pulled, scales))

    def _pull(self, centre: tuple[Fraction, ...], scales: Scales) -> Fraction:
        """The share of the way from 0 to ``centre`` at which 0 is as far away as the farthest corner."""
        square = product = Fraction(0)
        for (box, scale), c in zip(self._with(scales), centre, strict=True):
            corner = max(box, key=abs)
            square += Fraction(corner, 1) ** 2 / scale**2
            product += corner * c / scale**2
        return min(Fraction(1), square / (2 * product)) if product > 0 else Fraction(1)

    def _reach_squared(self, centre: tuple[Fraction, ...], scales: Scales) -> Fraction:
        """The largest squared distance from ``centre``, the same in every cell, to a point of C."""
        inside = zero = Fraction(0)
        for (box, scale), c in zip(self._with(scales), centre, strict=True):
            inside += (
                self.touched * max((v - c) ** 2 for v in box) + (self.cells - self.touched) * c**2
            ) / scale**2
            zero += self.cells * c**2 / scale**2
        return max(inside, zero)

    def _with(self, scales: Scales) -> list[tuple[tuple[int, int], Fraction]]:
        return list(zip(self.boxes, scales, strict=True))


def _farthest(box: tuple[int, int]) -> Fraction:
    return Fraction(max(abs(box[0]), abs(box[1])))


def _length(box: tuple[int, int]) -> Fraction:
    return Fraction(box[1] - box[0])


def _chord_l1(value: Fraction, square: Fraction, product: Fraction) -> Fraction:
    """The longest L1 distance of two points of the curve, whose coordinates have these lengths, and a bound
    on what the value adds to that of a product of this length.
    """
    bend = square - product / 2
    along = value / 2 - bend if value >= 4 * bend else value**2 / (16 * bend)
    return value / 2 + square + product / 2 + along


def _chord_squared(value: Fraction, square: Fraction, product: Fraction) -> Fraction:
    """The same of the squared L2 distance, from squared lengths.  It falls as the root rises: the root is
    rounded down.
    """
    ends_decide = 81 * (value + product) >= 112 * square and 54 * (2 * value + 3 * product) >= 175 * square
    if value >= 2 * square or ends_decide:
        return value + product
    root = Fraction(math.isqrt(math.floor((1 - value / (2 * square)) * _ROOT_STEPS**2)), _ROOT_STEPS)
    return max(value, square * (3 - root) ** 3 * (1 + root) / 16) + product


def _hull(box: tuple[int, int]) -> int:
    """Length of the shortest interval that holds the box and 0."""
    return max(box[1], 0) - min(box[0], 0)


def _least_squares_centre(box: tuple[int, int], cells: int) -> Fraction:
    """The c that minimises max((low-c)^2, (high-c)^2) + (cells-1) c^2: a corner's share, or the middle."""
    low, high = box
    candidates = (Fraction(low, cells), Fraction(high, cells), Fraction(low + high, 2))
    return min(candidates, key=lambda c: max((low - c) ** 2, (high - c) ** 2) + (cells - 1) * c**2)
