"""What the study has learned about the spread of values: it narrows the intervals of their means and sums.

A variance or a standard deviation that was asked has a population interval with a level of its own, so its
upper end may stand for the variance in the interval of a mean over the same rows.  The same integers give an
upper end for the sum of the squares of the values, which bounds how far a sum over these rows fluctuates.
All hold at once with the confidence of the study, whichever was asked first.  Theorems: SUBSET-BENNETT,
SUBSET-SUMS.
"""

from __future__ import annotations

import json
import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from types import MappingProxyType

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
from adyton.wire import Stored, many_from_text

_MOST = 1000  # receipts that are looked at, the newest first
_MOST_TOGETHER = 100  # questions of a batch that is looked at: all of them have to be read again
_WORDS = ("STDDEV(", "VARIANCE(")
_ONE_TEXT = re.compile(
    r"""(?:[^;'"]+|'[^']*'|"[^"]*")+"""
)  # of a batch, between semicolons that are not quoted


@dataclass(frozen=True, slots=True)
class Paid:
    """What a receipt paid for: one question, or a batch of them."""

    number: int
    at: Position  # with all values of all its questions, among which its level is divided
    parts: Sequence[tuple[Reading, list[object]]]


@dataclass(frozen=True, slots=True)
class Asked:
    """A variance that was asked, what was released for it, and where it stands."""

    part: NoisyReading
    released: Columns
    context: PopulationContext


class Learned:
    """Looks at receipts that paid for a variance; the newest one of each that was answered is taken."""

    def __init__(self, study: Study, ledger: Ledger) -> None:
        self._study, self._ledger = study, ledger
        self._looked_at = 0
        self._known: dict[Hashable, list[Paid]] = {}

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
        self,
        readings: Iterable[Reading],
        context: PopulationContext,
        units: Units,
        released: Mapping[int, Sequence[Stored]] = MappingProxyType({}),
    ) -> dict[Hashable, float]:
        """Of values whose means are read: bounds on the squares of what these units add, from the middle.

        ``released``: what a receipt, by its number, paid for that is not stored yet.
        """
        population = context.population
        means = {spread_key(reading): reading for reading in readings if isinstance(reading.measure, Mean)}
        if not means or not isinstance(population, SubsetPopulation):
            return {}
        self._look()
        found = {}
        for key, reading in means.items():
            if (asked := self._asked(reading, context, released)) is not None:
                z = largest_normal(population.squares_failure(asked.context))
                found[key] = most_centred_squares(asked.part, asked.released, units, z)
        return found

    def _look(self) -> None:
        newest = self._ledger.count()
        for receipt in self._ledger.mentioning(_WORDS, max(self._looked_at, newest - _MOST)):
            paid = self._paid(receipt)
            for reading, _ in paid.parts:
                if isinstance(reading.measure, Variance):
                    self._known.setdefault(spread_key(reading), []).append(paid)
        self._looked_at = newest

    def _paid(self, receipt: Receipt) -> Paid:
        """Without parts, if nothing can be learned from it."""
        details = iter(json.loads(receipt.order.detail))
        parts, values = list[tuple[Reading, list[object]]](), 0
        for question in self._questions(receipt):
            readings = readings_of(question, self._study.unit_of(question.table))
            own = [(reading, next(details)) for reading in readings]
            values += number_of_cells(question) * sum(_noises(*part) for part in own)
            parts += own
        at = replace(Position.of(receipt), values=values)
        return Paid(receipt.number, at, parts if all(_has_its_cells(*part) for part in parts) else ())

    def _questions(self, receipt: Receipt) -> list[Question]:
        """Nothing where one of them is about another table, or finds its groups in the data."""
        texts = _ONE_TEXT.findall(receipt.order.question)
        try:
            asked = [request_of(text, *self._study.tables) for text in texts[: _MOST_TOGETHER + 1]]
        except InvalidRequest:  # a stream, or something else that is no question
            return []
        questions = [one.question for one in asked]
        other = any(one.finds_keys or one.table != self._study.table for one in questions)
        return [] if other or len(texts) > _MOST_TOGETHER else questions

    def _upper_end(self, wanted: Reading, context: PopulationContext) -> Floats | None:
        asked, population = self._asked(wanted, context), context.population
        if asked is None or not isinstance(population, SubsetPopulation):
            return None
        if isinstance(wanted.measure, Sum):
            columns = [whole(column) for column in asked.released]
            return population.most_squares(asked.part, columns, asked.context)
        return Spread(asked.part, root=False).population(asked.released, asked.context).high

    def _asked(
        self,
        wanted: Reading,
        context: PopulationContext,
        released: Mapping[int, Sequence[Stored]] = MappingProxyType({}),
    ) -> Asked | None:
        """The newest variance of the same values of the same rows."""
        for paid in reversed(self._known.get(spread_key(wanted), ())):
            if paid.at.unproved:
                continue
            answers = released.get(paid.number)
            if answers is None and (stored := self._ledger.recall(paid.number)) is not None:
                answers = many_from_text(stored)
            if answers is not None:
                return _among(paid, answers, wanted, context)
        return None


def _among(paid: Paid, answers: Sequence[Stored], wanted: Reading, context: PopulationContext) -> Asked:
    """The variance that ``wanted`` needs, in the answers to all that was paid for together."""
    released = [columns for answer in answers for columns in answer.released]
    reading, detail, columns = next(
        (reading, detail, columns)
        for (reading, detail), columns in zip(paid.parts, released, strict=True)
        if isinstance(reading.measure, Variance) and spread_key(reading) == spread_key(wanted)
    )
    noise = GaussianNoise(tuple(Fraction(float(str(scale))) for scale in detail[2:5]))
    return Asked(NoisyReading(reading, noise), columns, replace(context, at=paid.at))


def _has_its_cells(reading: Reading, detail: list[object]) -> bool:
    """Older versions answered cells that cannot match as well."""
    return reading.kept is None or detail[-1] == f"{len(reading.kept)} cells"


def _noises(reading: Reading, detail: list[object]) -> int:
    """How many noisy values of one cell had to be right at the same time."""
    match reading.measure:
        case Variance():
            return 2
        case Cdf(_, points):
            return len(points) + 1
        case _:
            times = [part for part in detail[2:] if isinstance(part, int)]
            return times[0] if times else 1
