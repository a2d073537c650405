"""A choice of the best among public candidates, and perhaps noisy values of those that were chosen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from adyton.errors import InvalidRequest
from adyton.kernel.exact.cells import whole
from adyton.kernel.measurement import Due, ReadOnce, Source
from adyton.kernel.mechanisms import QueryNoise
from adyton.kernel.noise import Bits
from adyton.kernel.noise.refine import Integers
from adyton.kernel.privacy import Adjacency, Cost, PureCost
from adyton.kernel.protection import Protection
from adyton.kernel.sensitivities import sensitivity_of
from adyton.kernel.sensitivity import Reading, Sensitivity
from adyton.kernel.special.mechanisms.composed_cost import ComposedCost
from adyton.kernel.special.mechanisms.selection.scores import ScoreSensitivity
from adyton.kernel.special.mechanisms.selection.top_k import TopK
from adyton.kernel.terms.measures import Extreme, Quantile


@dataclass(frozen=True, slots=True)
class ChosenPlaces:
    """What was released: the places of the chosen among the candidates, and their noisy values."""

    places: tuple[int, ...]
    values: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Choice(ReadOnce):
    """The ``machine`` chooses among all cells of the readings, by their integers.

    ``values`` is the noise of the values of those chosen; None: they are not released.
    """

    readings: tuple[Reading, ...]
    machine: TopK[int]
    largest: bool
    values: QueryNoise | None = None

    def due(self, protection: Protection) -> Due:
        """What the choice and the values cost together.

        Claim:    the places and the values that are released cost at most this, under the study's accounting.
        Assumes:  as TOP-K and the noise; one unit moves every score as ``of_scores`` says.
        Source:   composition.  Theorem: SELECTION-VALIDITY.
        """
        apart = self._checked(protection)
        one_value, values = of_one_value(apart), tuple[tuple[Cost, int], ...]()
        radii = tuple[tuple[Cost, int], ...]()
        if self.values is not None:
            values = ((self.values.cost(one_value), self.machine.k),)
            radii = ((self.values.radius(one_value), self.machine.k),)
        amount = protection.rule.amount(ComposedCost(((self.machine.cost(), 1), *values)))
        paid = protection.rule.validity(PureCost(self.exchanged), ComposedCost(radii))
        gaussian = ((self.machine.k, paid[0]),) if self.values is not None and self.values.gaussian else ()
        return Due(amount, *paid, gaussian=gaussian)

    @property
    def exchanged(self) -> Fraction:
        """The epsilon of the choice against a unit that is exchanged for another: then every score moves
        either way.  Theorem: SELECTION-VALIDITY.
        """
        machine = self.machine
        return machine.k * machine.rate * replace(machine.sensitivity, monotone=False).span

    def _checked(self, protection: Protection) -> set[Sensitivity]:
        """How far one unit moves the readings; refuses a machine that is made for less."""
        protection.refuse_split_or_rounded("a selection")
        apart = set()
        for reading in self.readings:
            if reading.table is None or isinstance(reading.measure, Quantile | Extreme):
                raise InvalidRequest("candidates are compared by numbers that are read of a table")
            apart.add(sensitivity_of(reading, protection.unit_of(reading.table)))
        tables = {reading.table for reading in self.readings}
        if not apart or any(len(one.boxes) != 1 for one in apart) or len(tables) > 1:
            raise InvalidRequest("candidates are compared by one number each, of one table")
        if self.machine.sensitivity != of_scores(apart):
            raise InvalidRequest("one unit moves these scores farther than the selection allows for")
        if self.machine.candidates != tuple(range(sum(reading.cells for reading in self.readings))):
            raise InvalidRequest("a selection is among all cells that are read")
        if type(self.machine) is not TopK or type(self.values) not in (protection.rule.noise, type(None)):
            raise InvalidRequest("this noise is not of a kind whose cost is proved")
        return apart

    def release(self, source: Source, bits: Bits) -> ChosenPlaces:
        """Reads every score, chooses, and lets the scores go."""
        exact = np.concatenate([whole(columns[0]) for columns in source.exact()])
        places = self.machine.release(_as_scores(exact if self.largest else -exact), bits)
        if self.values is None:
            return ChosenPlaces(places)
        own = [int(exact[place]) for place in places]
        return ChosenPlaces(places, tuple(map(int, self.values.release([own], bits)[0])))


def of_scores(readings: set[Sensitivity]) -> ScoreSensitivity:
    """How far one unit moves the scores.  Theorem: SCORE-SPAN.  Theorem: SELECTION-VALIDITY."""
    low = max(one.rows * max(0, -one.boxes[0][0]) for one in readings)
    high = max(one.rows * max(0, one.boxes[0][1]) for one in readings)
    return ScoreSensitivity(Fraction(low + high), _adjacency(readings) == "add-remove")


def of_one_value(readings: set[Sensitivity]) -> Sensitivity:
    """The widest box that holds the values of all candidates.  Theorem: SELECTION-VALIDITY."""
    boxes = [one.boxes[0] for one in readings]
    box = (min(low for low, _ in boxes), max(high for _, high in boxes))
    return Sensitivity((box,), 1, _adjacency(readings), max(one.rows for one in readings))


def _adjacency(readings: set[Sensitivity]) -> Adjacency:
    return next(iter(readings)).adjacency


def _as_scores(scores: Integers) -> Sequence[int] | Integers:
    return scores if scores.dtype == np.int64 else [int(score) for score in scores]
