"""What validity pays for an answer once it is known: how spread the units can have been, not how spread ever.

A question is charged as if its values were as far apart as they can be.  Where few units have a property, or
few rows are in a filter, the released counts show it, but for the noise; then the answer settles for less,
and all later answers have narrower intervals.  Theorem: SUBSET-VARIANCE.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType

import numpy as np

from adyton.accounting.noisy_reading import NoisyReading
from adyton.columns import whole
from adyton.exact import float_down, float_up, units_up
from adyton.exact.outward import MANY
from adyton.mechanisms import GaussianNoise
from adyton.planning.measures.search import Search
from adyton.planning.part import Columns, MeasurePlan
from adyton.planning.plan import PricedBatch
from adyton.population.base import spread_key
from adyton.query.measures import Mean
from adyton.validity.subset.tails import largest_normal
from adyton.validity.subset.ways import SETTLED_FROM
from adyton.wire import Stored


@dataclass(frozen=True, slots=True)
class Units:
    """How many units there are, at least and at most: the same where that is public."""

    least: int
    most: int


def settled_radius(
    batch: PricedBatch,
    stored: Sequence[Stored],
    units: Units,
    failure: Fraction,
    squares: Mapping[Hashable, float] = MappingProxyType({}),
) -> int:
    """At most what was charged; all of it where nothing can be said.

    ``squares``: of the values of some means, by ``spread_key``, as ``most_centred_squares`` bounds them.

    Claim:    with probability 1 - failure the mean squared distance of the units from their mean, in units
              of the noise and over all that was released, is at most this.
    Assumes:  the number of units is in ``units`` and ``squares`` are right, each with a level of its own.
    Source:   derived here.  Theorem: SUBSET-VARIANCE.
    """
    if units.least < SETTLED_FROM or any(plan.finding is not None for plan in batch.plans):
        return batch.radius
    parts = [
        (part, released)
        for plan, own in zip(batch.plans, stored, strict=True)
        for part, released in zip(plan.parts, own.released, strict=True)
    ]
    z = largest_normal(failure / sum(_columns(part) for part, _ in parts))
    # Never 0: a question after it was not fixed in advance, and must not pay as if it had been.
    return min(
        batch.radius, max(1, sum(_settled(part, released, units, z, squares) for part, released in parts))
    )


def _columns(part: MeasurePlan) -> int:
    """Each has a sum over all cells, whose noise has to be small."""
    return sum(len(noisy.reading.coordinates) for noisy in part.noisy)


def _settled(
    part: MeasurePlan, released: Columns, units: Units, z: float, squares: Mapping[Hashable, float]
) -> int:
    """What one part settles for: by the noisy count of what it adds up, which is its last column, and by how
    far from 0 the sums of the others are.
    """
    full = sum(noisy.radius() for noisy in part.noisy)
    (noisy,) = part.noisy
    low, high = noisy.reading.sensitivity.boxes[-1]
    if isinstance(part, Search) or not isinstance(noisy.mechanism, GaussianNoise) or low < 0:
        return full
    cells, most = len(released[-1]), float(high * noisy.reading.sensitivity.rows)
    *others, (total, beyond) = (
        _total(column, float_up(scale), z)
        for column, scale in zip(released, noisy.mechanism.scales, strict=True)
    )
    first, last = max(total - beyond, 0.0) / units.most, max(total + beyond, 0.0) / units.least
    if others:  # rows, of which a unit has no more than this in all cells together
        first, last = min(first, most), min(last, most)
    scales, last_scale = noisy.mechanism.scales, noisy.mechanism.scales[-1]
    spread = _most_spread(first, last, most, cells, float_up(_weight(noisy) * last_scale**2))
    if isinstance(noisy.reading.measure, Mean) and spread_key(noisy.reading) in squares:
        known = squares[spread_key(noisy.reading)] * float_up((last_scale / scales[0]) ** 2)
        spread = min(spread, _most_spread(first, last, most, cells) + known * (1 + MANY))
    for (total, beyond), scale in zip(others, scales, strict=False):
        mean = max(abs(total) - beyond, 0.0) / units.most * float_down(last_scale / scale)
        spread -= mean**2 / cells * (1 - MANY)
    return min(full, units_up(Fraction(max(spread, 0.0)) / last_scale**2 * (1 + Fraction(MANY))))


def most_centred_squares(variance: NoisyReading, released: Columns, units: Units, z: float) -> float:
    """Of what units add to the centred sums of all cells: the most that its squares can be, in the mean.

    ``released`` are the sum, the squares and the count of a variance of the same values.

    Claim:    with at most the chance that a standard normal is beyond z it is more than this.
    Assumes:  the number of units is in ``units``.
    Source:   derived here.  Theorem: SUBSET-VARIANCE.
    """
    (_, reach), (_, square), (counted, _) = variance.reading.sensitivity.boxes
    _, of_square, of_count = (float_up(scale) for scale in variance.mechanism.scales)
    (squares, more), (counts, beyond) = (_total(column, 0.0, z) for column in released[1:])
    noise = math.hypot(of_square / square, of_count / counted) * math.sqrt(len(released[1]))  # of the one sum
    total = squares / square + counts / counted + more / square + beyond / counted + z * noise
    of_a_row = variance.reading.sensitivity.rows * float(reach) ** 2 / 2
    return max(total, 0.0) * of_a_row / units.least * (1 + MANY)


def _total(column: Sequence[int], scale: float, z: float) -> tuple[float, float]:
    """The sum over all cells, and how far from it that without noise may be."""
    known = whole(column).astype(float)
    lost = len(known) / 2 + MANY * float(np.sum(np.abs(known)))
    return float(np.sum(known)), z * scale * len(known) ** 0.5 * (1 + MANY) + lost


def _most_spread(first: float, last: float, most: float, cells: int, weight: float = 1.0) -> float:
    """Of what units add to some cells, each 0 or more, together up to ``most``, on average first..last.

    The mean square is at most most * m, and the square of the mean, over all cells, at least m**2 / cells.
    ``weight``: of the squares of all columns, beside those of this one.
    """
    m = min(max(weight * most * cells / 2, first), last)
    return max(weight * most * m * (1 + MANY) - m**2 / cells, 0.0)


def _weight(noisy: NoisyReading) -> Fraction:
    """The squares of all coordinates of one row, in units of their noise, for each square of the last one.

    The others are at most so many times as large: a sum lies between bounds times its count.
    """
    scales, boxes = noisy.mechanism.scales, noisy.reading.sensitivity.boxes
    last = Fraction(boxes[-1][1])
    farthest = [Fraction(max(abs(low), abs(high))) / last for low, high in boxes[:-1]]
    squares = [(far / scale) ** 2 for far, scale in zip(farthest, scales[:-1], strict=True)]
    return sum(squares, 1 / scales[-1] ** 2)
