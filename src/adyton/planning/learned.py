"""What answers teach once they are known: how spread the units can have been, not how spread ever.

A query is charged as if its values were as far apart as they can be.  Where few units have a property,
or few rows are in a filter, the released counts show it, but for the noise; then the final validity cost is
less, and all later answers have narrower intervals.  Theorem: SUBSET-VARIANCE.

A variance or a standard deviation that was asked has a population interval with a level of its own, so its
upper end may stand for the variance in the interval of a mean over the same rows.  The same integers give
an upper end for the sum of the squares of the values, which bounds how far a sum over these rows
fluctuates.  All hold at once with the confidence of the study, whichever was asked first.  Theorems:
SUBSET-BENNETT, SUBSET-SUMS.
"""

from __future__ import annotations

import json
import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from types import MappingProxyType
from typing import assert_never

import numpy as np

from adyton.errors import InvalidRequest
from adyton.kernel.accounting.noisy_reading import NoisyReading
from adyton.kernel.exact import float_down, float_up, floats_up, units_up
from adyton.kernel.exact.cells import Floats, whole
from adyton.kernel.exact.outward import MANY
from adyton.kernel.ledger import Ledger, Order, Receipt
from adyton.kernel.ledger.base import counted
from adyton.kernel.ledger.subjects import SPREAD, Kind
from adyton.kernel.ledger.texts import Stored, many_from_text
from adyton.kernel.measurement import Columns
from adyton.kernel.mechanisms import GaussianNoise
from adyton.kernel.sensitivity import Reading
from adyton.kernel.terms.measures import (
    Cdf,
    Count,
    CountPersons,
    Extreme,
    Mean,
    Moments,
    Proportion,
    Quantile,
    Sum,
    SumOfPersons,
    Variance,
)
from adyton.planning.measures.moments import NEEDED
from adyton.planning.measures.search import Search
from adyton.planning.measures.spread import Spread
from adyton.planning.part import MeasurePlan
from adyton.planning.plan import PricedBatch
from adyton.planning.readings import readings_of
from adyton.population.base import PopulationContext, learned_key, spread_key
from adyton.population.position import Position
from adyton.population.subset import SubsetPopulation
from adyton.query.conditions.possible_cells import number_of_cells
from adyton.query.nodes import Query
from adyton.query.request import request_of
from adyton.study import Study
from adyton.validity.subset.tails import FINAL_RADIUS_FROM, largest_normal

_MOST = 1000  # receipts that are looked at, the newest first
_MOST_TOGETHER = 100  # queries of a batch that is looked at: all of them have to be read again
_WITH_SQUARES = 3  # columns: a sum, its squares and a count


@dataclass(frozen=True, slots=True)
class PaidReadings:
    """What a receipt paid for: one query, or a batch of them."""

    number: int
    at: Position  # with all values of all its queries, among which its level is divided
    parts: Sequence[tuple[Reading, list[object]]]


# What validity pays for an answer --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class UnitRange:
    """How many units there are, at least and at most: the same where that is public."""

    least: int
    most: int


def final_radius(
    batch: PricedBatch,
    stored: Sequence[Stored],
    units: UnitRange,
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
    if units.least < FINAL_RADIUS_FROM or any(plan.discovery is not None for plan in batch.plans):
        return batch.radius
    parts = [
        (part, released)
        for plan, own in zip(batch.plans, stored, strict=True)
        for part, released in zip(plan.parts, own.released, strict=True)
    ]
    columns = sum(len(part.only.reading.coordinates) for part, _ in parts)
    z = largest_normal(failure / columns)  # each has a sum over all cells, whose noise has to be small
    # Never 0: a query after it was not fixed in advance, and must not pay as if it had been.
    return min(
        batch.radius,
        max(1, sum(_final_radius_of_part(part, released, units, z, squares) for part, released in parts)),
    )


def _final_radius_of_part(
    part: MeasurePlan, released: Columns, units: UnitRange, z: float, squares: Mapping[Hashable, float]
) -> int:
    """By the noisy count of what the part adds up, which is its last column, and by how far from 0 the sums
    of the others are.
    """
    noisy, full = part.only, part.only.radius()
    low, high = noisy.reading.sensitivity.boxes[-1]
    if isinstance(part, Search) or not isinstance(noisy.mechanism, GaussianNoise) or low < 0:
        return full
    cells, most = len(released[-1]), float(high * noisy.reading.sensitivity.rows)
    totals = [
        _total(column, scale, z)
        for column, scale in zip(released, floats_up(noisy.mechanism.scales), strict=True)
    ]
    *others, (total, beyond) = totals
    first, last = max(total - beyond, 0.0) / units.most, max(total + beyond, 0.0) / units.least
    if others:  # rows, of which a unit has no more than this in all cells together
        first, last = min(first, most), min(last, most)
    scales, last_scale = noisy.mechanism.scales, noisy.mechanism.scales[-1]
    spread = _most_spread(first, last, most, cells, float_up(_weight(noisy) * last_scale**2))
    if (known := _known_squares(noisy, totals, units, squares)) is not None:
        rest = float_up(_weight(noisy, beside=1) * last_scale**2)
        known *= float_up((last_scale / scales[0]) ** 2) * (1 + MANY)
        spread = min(spread, _most_spread(first, last, most, cells, rest) + known)
    for (total, beyond), scale in zip(others, scales, strict=False):
        mean = max(abs(total) - beyond, 0.0) / units.most * float_down(last_scale / scale)
        spread -= mean**2 / cells * (1 - MANY)
    return min(full, units_up(Fraction(max(spread, 0.0)) / last_scale**2 * (1 + Fraction(MANY))))


def _known_squares(
    noisy: NoisyReading,
    totals: Sequence[tuple[float, float]],
    units: UnitRange,
    squares: Mapping[Hashable, float],
) -> float | None:
    """Of what units add to the centred sums: the most that its squares can be, in the mean, if that is known.

    From a variance, or from squares that were released beside the sums.

    Claim:    where every sum of ``totals`` without noise is as near as it says, and ``squares`` are right, it
              is not more than this.
    Assumes:  the number of units is in ``units``.
    Source:   derived here.  Theorem: SUBSET-VARIANCE.
    """
    measure, known = noisy.reading.measure, list[float]()
    if squares and isinstance(measure, Mean) and (key := spread_key(noisy.reading)) in squares:
        known.append(squares[key])
    if isinstance(measure, Mean | Variance) and len(totals) == _WITH_SQUARES:
        _, (_, square), (counted, _) = noisy.reading.sensitivity.boxes
        _, (own, more), (counts, beyond) = totals
        known.append(_mean_square(noisy, (own + more) / square + (counts + beyond) / counted, units))
    return min(known, default=None)


def most_centred_squares(variance: NoisyReading, released: Columns, units: UnitRange, z: float) -> float:
    """Of what units add to the centred sums of all cells: the most that its squares can be, in the mean.

    ``released`` are the sum, the squares and the count of a variance of the same values.

    Claim:    with at most the chance that a standard normal is beyond z it is more than this.
    Assumes:  the number of units is in ``units``.
    Source:   derived here.  Theorem: SUBSET-VARIANCE.
    """
    _, (_, square), (counted, _) = variance.reading.sensitivity.boxes
    _, of_square, of_count = floats_up(variance.mechanism.scales)
    (squares, more), (counts, beyond) = (_total(column, 0.0, z) for column in released[1:])
    noise = math.hypot(of_square / square, of_count / counted) * math.sqrt(len(released[1]))  # of the one sum
    total = squares / square + counts / counted + more / square + beyond / counted + z * noise
    return _mean_square(variance, total, units)


def _mean_square(noisy: NoisyReading, twice: float, units: UnitRange) -> float:
    """From twice the sum of the squares of all rows, each at most 1, to that of what units add to sums."""
    _, reach = noisy.reading.sensitivity.boxes[0]
    of_a_row = noisy.reading.sensitivity.rows * float(reach) ** 2 / 2
    return max(twice, 0.0) * of_a_row / units.least * (1 + MANY)


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


def _weight(noisy: NoisyReading, beside: int = 0) -> Fraction:
    """The squares of all coordinates of one row, in units of their noise, for each square of the last one.

    The others are at most so many times as large: a sum lies between bounds times its count.  ``beside``: so
    many of them, the first ones, are left out.
    """
    scales, boxes = noisy.mechanism.scales, noisy.reading.sensitivity.boxes
    last = Fraction(boxes[-1][1])
    farthest = [Fraction(max(abs(low), abs(high))) / last for low, high in boxes[:-1]]
    squares = [(far / scale) ** 2 for far, scale in zip(farthest, scales[:-1], strict=True)]
    return sum(squares[beside:], 1 / scales[-1] ** 2)


def radius_in_full(study: Study, order: Order) -> int:
    """The radius that was charged, in units of 10**-18; at least that, for all that a restored copy has lost.

    A checkpoint knows only the final radii of lost receipts.  But none was charged more than its price:
    privacy pays at least the distance from a unit that adds nothing, and validity at most that.

    Claim:    the squared radii of what the order stands for, as they were charged, sum to at most this.
    Assumes:  where final radii may be less, every amount is what all Gaussian noise of its order costs, or
              more.
    Source:   derived here.  Theorem: RESTORED-LEDGER.
    """
    may_be_less = not study.rule.capped and not study.one_by_one
    if not may_be_less or order.kind != "restored":
        return order.radius
    return max(order.radius, units_up(study.rule.noise_cost(order.amount)))


# What the study has learned --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AskedVariance:
    """A variance that was asked, what was released for it, and where it stands."""

    part: NoisyReading
    released: Columns
    context: PopulationContext


class Learned:
    """Looks at receipts that paid for a variance; the newest one of each that was answered is taken."""

    def __init__(self, study: Study, ledger: Ledger) -> None:
        self._study, self._ledger = study, ledger
        self._looked_at = 0
        self._known: dict[Hashable, list[PaidReadings]] = {}

    def spreads(self, readings: Iterable[Reading], context: PopulationContext) -> dict[Hashable, Floats]:
        """Upper ends, for each cell, as far as known: of the variances of values whose means are read, in
        their own units, and of the sums of the squares of values whose sums are, in squared steps.
        """
        # Parts of split units have sizes of their own, so that the sums of one say nothing about another.
        kinds = Mean if self._study.parts > 1 else Mean | Sum
        asked = [reading for reading in readings if isinstance(reading.measure, kinds)]
        if not asked or context.missing() is not None or not self._has_learned():
            return {}
        wanted = {key: reading for reading in asked if (key := learned_key(reading)) is not None}
        ends = {key: self._upper_end(key[1], reading, context) for key, reading in wanted.items()}
        return {key: end for key, end in ends.items() if end is not None}

    def squares_in_sample(
        self,
        readings: Iterable[Reading],
        context: PopulationContext,
        units: UnitRange,
        released: Mapping[int, Sequence[Stored]] = MappingProxyType({}),
    ) -> dict[Hashable, float]:
        """Of values whose means are read: bounds on the squares of what these units add, from the middle.

        ``released``: what a receipt, by its number, paid for that is not stored yet.
        """
        population = context.population
        means = [reading for reading in readings if isinstance(reading.measure, Mean)]
        if not means or not isinstance(population, SubsetPopulation) or not self._has_learned():
            return {}
        found = {}
        for key in dict.fromkeys(map(spread_key, means)):
            if (asked := self._asked(key, context, released)) is not None:
                z = largest_normal(population.squares_failure(asked.context))
                found[key] = most_centred_squares(asked.part, asked.released, units, z)
        return found

    def _has_learned(self) -> bool:
        """Looks at what was charged since it was asked last, and says whether any variance is known."""
        newest = self._ledger.count()
        after = max(self._looked_at, newest - _MOST)
        kinds: tuple[Kind, ...] = ("query", "batch")
        found = [receipt for kind in kinds for receipt in self._ledger.find(kind, SPREAD, after=after)]
        for receipt in sorted(found, key=lambda receipt: receipt.number):
            paid = self._paid(receipt)
            for reading, _ in paid.parts:
                if isinstance(reading.measure, Variance):
                    self._known.setdefault(spread_key(reading), []).append(paid)
        self._looked_at = newest
        return bool(self._known)

    def _paid(self, receipt: Receipt) -> PaidReadings:
        """Without parts, if nothing can be learned from it."""
        details = iter(json.loads(receipt.order.detail))
        parts, values = list[tuple[Reading, list[object]]](), 0
        for query in self._queries(receipt):
            readings = readings_of(query, self._study.unit_of(query.table))
            own = [(reading, next(details)) for reading in readings]
            values += number_of_cells(query) * sum(_noises(*part) for part in own)
            parts += own
        at = replace(Position.of(counted(self._ledger, receipt)), values=values)
        return PaidReadings(receipt.number, at, parts)

    def _queries(self, receipt: Receipt) -> list[Query]:
        """Nothing where one of them is about another table, or finds its groups in the data."""
        texts = receipt.order.texts
        try:
            asked = [request_of(text, *self._study.tables) for text in texts[: _MOST_TOGETHER + 1]]
        except InvalidRequest:  # it was asked of tables that are declared no more
            return []
        queries = [one.query for one in asked]
        other = any(one.discovers_groups or one.table.behind != self._study.table for one in queries)
        return [] if other or len(texts) > _MOST_TOGETHER else queries

    def _upper_end(self, key: Hashable, wanted: Reading, context: PopulationContext) -> Floats | None:
        asked, population = self._asked(key, context), context.population
        if asked is None or not isinstance(population, SubsetPopulation):
            return None
        if isinstance(wanted.measure, Sum):
            columns = [whole(column) for column in asked.released]
            return population.most_squares(asked.part, columns, asked.context)
        return Spread(asked.part, root=False).population(asked.released, asked.context).high

    def _asked(
        self,
        key: Hashable,
        context: PopulationContext,
        released: Mapping[int, Sequence[Stored]] = MappingProxyType({}),
    ) -> AskedVariance | None:
        """The newest variance of the same values of the same rows, by its ``spread_key``."""
        for paid in reversed(self._known.get(key, ())):
            if paid.at.unproved:
                continue
            answers = released.get(paid.number)
            if answers is None and (stored := self._ledger.recall(paid.number)) is not None:
                answers = many_from_text(stored)
            if answers is not None:
                return _among(paid, answers, key, context)
        return None


def _among(
    paid: PaidReadings, answers: Sequence[Stored], key: Hashable, context: PopulationContext
) -> AskedVariance:
    """The variance with this key, in the answers to all that was paid for together."""
    released = [columns for answer in answers for columns in answer.released]
    reading, detail, columns = next(
        (reading, detail, columns)
        for (reading, detail), columns in zip(paid.parts, released, strict=True)
        if isinstance(reading.measure, Variance) and spread_key(reading) == key
    )
    noise = GaussianNoise(tuple(Fraction(float(str(scale))) for scale in detail[2:5]))
    return AskedVariance(NoisyReading(reading, noise), columns, replace(context, at=paid.at))


def _noises(reading: Reading, detail: list[object]) -> int:
    """How many noisy values of one cell had to be right at the same time."""
    match reading.measure:
        case Variance():
            return 2
        case Moments(which=which):
            return len(NEEDED[which])
        case Cdf(_, points):
            return len(points) + 1
        case (
            Count() | CountPersons() | Sum() | SumOfPersons() | Mean() | Proportion() | Quantile() | Extreme()
        ):
            times = [part for part in detail[2:] if isinstance(part, int)]
            return times[0] if times else 1
        case _:
            assert_never(reading.measure)
