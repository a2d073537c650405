"""The reader of hidden labels: exact sums of what submissions are worth, for the kernel alone.

It is an engine (``kernel/engine.py``) whose table has a row for each item.  The columns ``score`` and ``gap``
are what the submission that a reading is named for is worth there, and how much more than another one.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn
from weakref import WeakValueDictionary

import numpy as np

from adyton.errors import InvalidRequest
from adyton.holdout.facts import HoldoutFacts, read_groups, read_weights
from adyton.holdout.metrics import HiddenLabels, Steps, Submission, total, values_of
from adyton.holdout.weights import WEIGHT_STEPS, balancing
from adyton.kernel.engine import Exact
from adyton.kernel.schema import IntegerColumn
from adyton.kernel.sensitivity import Coordinate, Reading
from adyton.kernel.terms.expressions import Square
from adyton.kernel.terms.leaves import ValueOf

SCORE, GAP = "score", "gap"
_FROM = " from "  # between the names of two submissions


class LabelReader:
    """Satisfies ``Engine``.  ``parts``: into how many equal parts the items are divided, in their order."""

    def __init__(self, path: Path, facts: HoldoutFacts, key: HiddenLabels, parts: int) -> None:
        self._facts, self._key, self._each = facts, key, facts.items // parts
        self._groups = read_groups(path, facts)
        self._weights = read_weights(path, facts)
        if facts.balanced and key.labels is not None:
            self._weights = balancing(key.labels).steps
        if self._weights is not None:
            self._weights = np.minimum(self._weights, WEIGHT_STEPS)
        self._known: WeakValueDictionary[str, Submission] = WeakValueDictionary()

    @property
    def weighted(self) -> bool:
        return self._weights is not None

    def name(self, submission: Submission, other: Submission | None = None) -> str:
        """Under which a reading names them, for as long as somebody holds them."""
        self._known[submission.digest] = submission
        if other is None:
            return submission.digest
        self._known[other.digest] = other
        return f"{submission.digest}{_FROM}{other.digest}"

    def prepare(self, readings: Sequence[Reading] = ()) -> None:
        for reading in readings:
            if not all(name in self._known for name in reading.name.split(_FROM)):
                raise InvalidRequest("a submission is scored while somebody holds it")

    def exact(self, readings: Sequence[Reading]) -> Exact:
        return [[self._sums(reading, one) for one in reading.coordinates] for reading in readings]

    def found(self, readings: Sequence[Reading]) -> NoReturn:
        raise TypeError("the groups of items are public")

    def close(self) -> None:
        pass

    def _sums(self, reading: Reading, coordinate: Coordinate) -> list[int]:
        values, *others = (self._values(name, reading.part) for name in reading.name.split(_FROM))
        match coordinate.value:
            case ValueOf(IntegerColumn(name="score")) if reading.by and self._groups is not None:
                sums = np.bincount(self._groups, weights=values, minlength=reading.cells)
                return [int(exact) for exact in sums]  # floats, exact below 2**53
            case ValueOf(IntegerColumn(name="score")):
                return [total(values)]
            case ValueOf(IntegerColumn(name="gap")):
                return [total(values) - total(others[0])]
            case Square(ValueOf(IntegerColumn(name="gap"))):
                apart = values.astype(np.int64) - others[0]
                return [int(np.dot(apart, apart))]
        raise TypeError("of submissions a score is read, or the gap between two")

    def _values(self, name: str, part: int | None) -> Steps:
        """What each item of the part is worth, in steps: never more than the columns declare."""
        facts = self._facts
        values: Any = values_of(facts.metric, self._key, facts.range, self._known[name])
        if values.max() > facts.metric.steps:  # of no metric that there is; this is quicker than to clip all
            values = np.minimum(values, facts.metric.steps)
        steps: Steps = values if self._weights is None else values * self._weights
        return steps if part is None else steps[(part - 1) * self._each : part * self._each]
