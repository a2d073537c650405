"""What the study has learned about the spread of values: it narrows the intervals of their means.

A variance or a standard deviation that was asked has a population interval with a level of its own, so its
upper end may stand for the variance in the interval of a mean over the same rows.  Both hold at once with the
confidence of the study, whichever was asked first.  Theorem: SUBSET-BENNETT.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable
from dataclasses import replace
from fractions import Fraction

from adyton.curator.noised import Noised
from adyton.curator.population import Position, Standing, spread_key
from adyton.curator.spread import Spread
from adyton.curator.subset_population import SubsetPopulation
from adyton.errors import InvalidRequest
from adyton.ledger import Ledger, Receipt
from adyton.mechanisms import GaussianNoise
from adyton.noise.refine import Floats
from adyton.query.asking import asking_of
from adyton.query.cells import number_of_cells
from adyton.query.nodes import Cdf, Mean, Question, Variance
from adyton.sensitivity import Reading
from adyton.sensitivity.readings import readings_of
from adyton.study import Study
from adyton.wire import many_from_text

_MOST = 1000  # receipts that are looked at, the newest first
_WORDS = ("STDDEV(", "VARIANCE(")

PlaceOf = Callable[[Receipt], Position]


class Learned:
    """Looks at receipts that paid for a variance; the newest one of each is taken."""

    def __init__(self, study: Study, ledger: Ledger, place: PlaceOf) -> None:
        self._study, self._ledger, self._place = study, ledger, place
        self._looked_at = 0
        self._known: dict[Hashable, Receipt] = {}

    def variances(self, readings: Iterable[Reading], standing: Standing) -> dict[Hashable, Floats]:
        """Upper ends, for each cell, of the variances of values whose means are read, as far as known."""
        means = [reading for reading in readings if isinstance(reading.measure, Mean)]
        if not means or standing.missing is not None or not isinstance(standing.population, SubsetPopulation):
            return {}
        self._look()
        known = {spread_key(reading): self._known.get(spread_key(reading)) for reading in means}
        ends = {
            key: self._upper_end(receipt, key, standing)
            for key, receipt in known.items()
            if receipt is not None
        }
        return {key: end for key, end in ends.items() if end is not None}

    def _look(self) -> None:
        newest = self._ledger.count()
        for receipt in self._ledger.mentioning(_WORDS, max(self._looked_at, newest - _MOST)):
            question = self._question(receipt)
            if question is not None:
                self._known |= {spread_key(reading): receipt for reading in self._variances(question)}
        self._looked_at = newest

    def _question(self, receipt: Receipt) -> Question | None:
        try:
            question = asking_of(receipt.order.question, *self._study.tables).question
        except InvalidRequest:  # a batch, or something else that is no one question
            return None
        return None if question.finds_keys or question.table != self._study.table else question

    def _variances(self, question: Question) -> list[Reading]:
        readings = readings_of(question, self._study.unit_of(question.table))
        return [reading for reading in readings if isinstance(reading.measure, Variance)]

    def _upper_end(self, receipt: Receipt, wanted: Hashable, standing: Standing) -> Floats | None:
        question, stored = self._question(receipt), self._ledger.recall(receipt.number)
        if question is None or stored is None or receipt.unproved:
            return None
        readings = readings_of(question, self._study.unit_of(question.table))
        details = json.loads(receipt.order.detail)
        at = replace(self._place(receipt), values=number_of_cells(question) * _noises(readings, details))
        own = replace(standing, at=at)
        released = many_from_text(stored)[0].released
        for reading, detail, columns in zip(readings, details, released, strict=True):
            of_these = len(columns[0]) == reading.cells  # older versions answered cells that cannot match
            if isinstance(reading.measure, Variance) and spread_key(reading) == wanted and of_these:
                noise = GaussianNoise(tuple(Fraction(float(scale)) for scale in detail[2:5]))
                return Spread(Noised(reading, noise), root=False).population(columns, own).high
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
