"""How events are found: one part of the samples learns, another chooses, and neither judges."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from adyton.audit.judge import FINALISTS
from adyton.audit.outputs import Codes, Column, Outputs
from adyton.audit.views import (
    Take,
    View,
    by_ratio,
    linear_score,
    pattern,
    pattern_and,
    ratio_score,
    separation,
    thresholds_of,
    views_of,
    whole_output,
)
from adyton.kernel.exact.cells import Floats
from adyton.kernel.exact.special import special

_MOST_COLUMNS = 16  # looked at one by one
_MOST_SCORED = 64  # in a score of all
_MOST_PAIRED = 6

Loss = Callable[[Any, Any], Any]


@dataclass(frozen=True, slots=True)
class Event:
    """A set of cells of a view, held to be likelier on input ``numerator``."""

    description: str
    view: View
    start: int
    stop: int
    numerator: int
    score: float

    def count(self, outputs: Outputs) -> int:
        inside = np.zeros(self.view.size, dtype=bool)
        inside[self.view.order[self.start : self.stop]] = True
        return int(np.count_nonzero(inside[self.view.encode(outputs)]))


def find(first: Outputs, second: Outputs, loss: Loss, failure: float) -> list[Event]:
    """The few events on which the two samples differ most; at most ``FINALISTS``."""
    half = first.count // 2
    learn = first.part(0, half), second.part(0, half)
    choose = first.part(half, first.count), second.part(half, second.count)
    found = [e for view in _views(*learn) for e in _best_of(view, *choose, loss, failure)]
    found.sort(key=lambda e: -e.score)
    return found[:FINALISTS]


def _best_of(view: View, first: Outputs, second: Outputs, loss: Loss, failure: float) -> list[Event]:
    """The best event of a view in either direction."""
    n = first.count
    p, q = (np.bincount(view.encode(outputs), minlength=view.size)[view.order] for outputs in (first, second))
    beginnings = np.cumsum(p)[:-1], np.cumsum(q)[:-1]
    if len(beginnings[0]) == 0:
        return []
    endings = n - beginnings[0], n - beginnings[1]
    best = []
    for numerator in (0, 1):
        scores = [
            _rough(counts[numerator], counts[1 - numerator], n, loss, failure)
            for counts in (beginnings, endings)
        ]
        side = int(scores[1].max() > scores[0].max())
        cut = int(scores[side].argmax()) + 1
        start, stop = (0, cut) if side == 0 else (cut, view.size)
        best.append(
            Event(view.describe(start, stop), view, start, stop, numerator, float(scores[side][cut - 1]))
        )
    return best


def _rough(likely: Codes, unlikely: Codes, n: int, loss: Loss, failure: float) -> Floats:
    """The loss at Wilson's bounds: quick, and near enough to choose by."""
    z = -float(special().ndtri(failure))
    return np.asarray(loss(_wilson(likely, n, -z), _wilson(unlikely, n, z)), dtype=np.float64)


def _wilson(successes: Codes, n: int, z: float) -> Floats:
    p = successes / n
    middle = p + z * z / (2 * n)
    bound: Floats = (middle + z * np.sqrt(p * (1 - p) / n + z * z / (4 * n * n))) / (1 + z * z / n)
    return np.clip(bound, 1e-12, 1 - 1e-12)


# What to look at -------------------------------------------------------------------------------------------


def _views(first: Outputs, second: Outputs) -> Iterator[View]:
    ranked = sorted(range(len(first.columns)), key=lambda i: -separation(first.columns[i], second.columns[i]))
    for i in ranked[:_MOST_COLUMNS]:
        yield from views_of(_column(i), first, second)
    if len(ranked) > 1:
        yield from _of_several(ranked, first, second)


def _of_several(ranked: list[int], first: Outputs, second: Outputs) -> Iterator[View]:
    yield by_ratio("the whole output", whole_output, first, second)
    plain = [i for i in ranked if not (first.columns[i].has_labels or second.columns[i].has_labels)]
    if len(plain) < len(ranked):
        yield by_ratio("the pattern of the output", pattern, first, second)
        for i in ranked[:_MOST_COLUMNS]:
            name = f"the pattern of the output and {first.columns[i].name}"
            yield by_ratio(name, pattern_and(_column(i), first, second), first, second)
    score = ratio_score([_column(i) for i in ranked[:_MOST_SCORED]], first, second)
    yield from thresholds_of(score, first, second)
    if len(plain) > 1:
        yield from thresholds_of(linear_score(plain[:_MOST_SCORED], first, second), first, second)
        yield from thresholds_of(_total(plain), first, second)
    for i, j in combinations(plain[:_MOST_PAIRED], 2):
        for sign in (1, -1):
            yield from thresholds_of(_combined(i, j, sign), first, second)


def _column(i: int) -> Take:
    return lambda outputs: outputs.columns[i]


def _combined(i: int, j: int, sign: int) -> Take:
    def take(outputs: Outputs) -> Column:
        a, b = outputs.columns[i], outputs.columns[j]
        return Column(f"{a.name} {'+' if sign > 0 else '-'} {b.name}", a.numbers + sign * b.numbers)

    return take


def _total(columns: list[int]) -> Take:
    def take(outputs: Outputs) -> Column:
        total = sum(outputs.columns[i].numbers.astype(np.float64) for i in columns)
        return Column("the sum of all numbers", np.asarray(total))

    return take
