"""What the study has learned about the spread of values: it narrows the intervals of their means and sums.

A variance or a standard deviation that was asked has a population interval with a level of its own, so its
upper end may stand for the variance in the interval of a mean over the same rows.  The same integers give an
upper end for the sum of the squares of the values, which bounds how far a sum over these rows fluctuates.
All hold at once with the confidence of the study, whichever was asked first.  Theorems: SUBSET-BENNETT,
SUBSET-SUMS.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction

from adyton.accounting.noisy_reading import NoisyReading
from adyton.columns import Floats, whole
from adyton.errors import InvalidRequest
from adyton.ledger import Ledger, Receipt
from adyton.mechanisms import GaussianNoise
from adyton.planning.measures.spread import Spread
from adyton.planning.part import Columns
from adyton.planning.settling import Units, most_centred_squares
from adyton.population.base import PopulationContext, Position, learned_key, spread_key
from adyton.population.subset import SubsetPopulation
from adyton.query.conditions.possible_cells import number_of_cells
from adyton.query.measures import Cdf, Mean, Sum, Variance
from adyton.query.nodes import Question
from adyton.query.request import request_of
from adyton.sensitivity import Reading
from adyton.sensitivity.readings import readings_of
from adyton.study import Study
from adyton.validity.subset.tails import largest_normal
from adyton.wire import many_from_text

_MOST = 1000  # receipts that are looked at, the newest first
_WORDS = ("STDDEV(", "VARIANCE(")


@dataclass(frozen=True, slots=True)
class Asked:
    """A variance that was asked, what was released for it, and where it stands."""

    part: NoisyReading
    released: Columns
    context: PopulationContext


class Learned:
    """Looks at receipts that paid for a variance; the newest one of each is taken."""

    def __init__(self, study: Study, ledger: Ledger) -> None:
        self._study, self._ledger = study, ledger
        self._looked_at = 0
        self._known: dict[Hashable, Receipt] = {}

    def spreads(self, readings: Iterable[Reading], context: PopulationContext) -> dict[Hashable, Floats]:
        """Upper ends, for each cell, as far as known: of the variances of values whose means are read, in
        their own units, and of the sums of the squares of values whose sums are, in squared steps.
        """
        # Parts of split units have sizes of their own, so that the sums of one say nothing about another.
        kinds = Mean if self._study.parts > 1 else Mean | Sum
        wanted = {learned_key(reading): reading for reading in readings if isinstance(reading.measure, kinds)}
        if not wanted or context.missing is not None:
            return {}
        self._look()
        ends = {key: self._upper_end(reading, context) for key, reading in wanted.items()}
        return {key: end for key, end in ends.items() if end is not None}

    def squares_in_sample(
        self, readings: Iterable[Reading], context: PopulationContext, units: Units
    ) -> dict[Hashable, float]:
        """Of values whose means are read: bounds on the squares of what these units add, from the middle."""
        population = context.population
        means = {spread_key(reading): reading for reading in readings if isinstance(reading.measure, Mean)}
        if not means or not isinstance(population, SubsetPopulation):
            return {}
        self._look()
        found = {}
        for key, reading in means.items():
            if (asked := self._asked(reading, context)) is not None:
                z = largest_normal(population.squares_failure(asked.context))
                found[key] = most_centred_squares(asked.part, asked.released, units, z)
        return found

    def _look(self) -> None:
        newest = self._ledger.count()
        for receipt in self._ledger.mentioning(_WORDS, max(self._looked_at, newest - _MOST)):
            question = self._question(receipt)
            if question is not None:
                self._known |= {spread_key(reading): receipt for reading in self._variances(question)}
        self._looked_at = newest

    def _question(self, receipt: Receipt) -> Question | None:
        try:
            question = request_of(receipt.order.question, *self._study.tables).question
        except InvalidRequest:  # a batch, or something else that is no one question
            return None
        return None if question.finds_keys or question.table != self._study.table else question

    def _variances(self, question: Question) -> list[Reading]:
        readings = readings_of(question, self._study.unit_of(question.table))
        return [reading for reading in readings if isinstance(reading.measure, Variance)]

    def _upper_end(self, wanted: Reading, context: PopulationContext) -> Floats | None:
        asked, population = self._asked(wanted, context), context.population
        if asked is None or not isinstance(population, SubsetPopulation):
            return None
        if isinstance(wanted.measure, Sum):
            columns = [whole(column) for column in asked.released]
            return population.most_squares(asked.part, columns, asked.context)
        return Spread(asked.part, root=False).population(asked.released, asked.context).high

    def _asked(self, wanted: Reading, context: PopulationContext) -> Asked | None:
        """The newest variance of the same values of the same rows."""
        receipt = self._known.get(spread_key(wanted))
        if receipt is None or receipt.unproved:
            return None
        question, stored = self._question(receipt), self._ledger.recall(receipt.number)
        if question is None or stored is None:
            return None
        readings = readings_of(question, self._study.unit_of(question.table))
        details = json.loads(receipt.order.detail)
        at = replace(Position.of(receipt), values=number_of_cells(question) * _noises(readings, details))
        released = many_from_text(stored)[0].released
        for reading, detail, columns in zip(readings, details, released, strict=True):
            of_these = len(columns[0]) == reading.cells  # older versions answered cells that cannot match
            of_these = of_these and isinstance(reading.measure, Variance)
            if of_these and spread_key(reading) == spread_key(wanted):
                noise = GaussianNoise(tuple(Fraction(float(scale)) for scale in detail[2:5]))
                return Asked(NoisyReading(reading, noise), columns, replace(context, at=at))
        return None


def _noises(readings: tuple[Reading, ...], details: list[list[object]]) -> int:
    """How many noisy values of one cell had to be right at the same time."""
    total = 0
    for reading, detail in zip(readings, details, strict=True):
        match reading.measure:
            case Variance():
                total += 2
            case Cdf(_, points):
                total += len(points) + 1
            case _:
                times = [part for part in detail[2:] if isinstance(part, int)]
                total += times[0] if times else 1
    return total
