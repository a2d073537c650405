"""How large an answer may be: one text could otherwise ask for more numbers than a machine has memory.

Decided from public facts, before anything is charged: a curator that dies of an answer has charged for it.
What the largest answers cost that are not refused is measured in ``benchmarks/large_answers.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from adyton.errors import InvalidRequest
from adyton.planning.measures.search import rounds_of
from adyton.query.conditions.possible_cells import number_of_cells
from adyton.query.measures import Cdf, Extreme, Measure, Quantile
from adyton.query.nodes import Question, group_size
from adyton.schema import TextColumn
from adyton.sensitivity import Reading

MOST_VALUES = 1_000_000  # of all answers together; each has an interval or two
MOST_NOISES = 4_000_000  # integers that are drawn and stored: two for a mean, a dozen or so for a median
MOST_INTEGERS = 2**26  # that are read: the counts of all bins, for a quantile


def check_size(questions: Sequence[Question], readings: Sequence[Reading]) -> None:
    """InvalidRequest where the answers to ``questions``, asked together, would be too large."""
    values = sum(
        number_of_cells(question) * sum(_values(m) for _, m in question.measures) for question in questions
    )
    if values > MOST_VALUES:
        raise InvalidRequest(
            f"this asks for {values:,} values, groups times what is asked in each; at most {MOST_VALUES:,} "
            "are answered at once: ask for fewer, or make the groups wider"
        )
    noises = sum(map(_noises, readings))
    if noises > MOST_NOISES:
        raise InvalidRequest(
            f"this needs {noises:,} noisy numbers, groups times a few for each value; at most {MOST_NOISES:,}"
            " are drawn at once: ask for fewer values at a time (a median needs about a dozen in each group),"
            " or make the groups wider"
        )
    integers = sum(_cells(reading) * len(reading.coordinates) for reading in readings)
    if integers > MOST_INTEGERS:
        raise InvalidRequest(
            f"to answer this, {integers:,} numbers must be read at once; at most {MOST_INTEGERS:,} are: "
            "ask for fewer quantiles at a time"
        )


def _cells(reading: Reading) -> int:
    """All groups that are declared; how many are found is not known."""
    declared = tuple(group for group in reading.by if not isinstance(group, TextColumn))
    return reading.cells if declared == reading.by else prod(map(group_size, declared))


def _noises(reading: Reading) -> int:
    if isinstance(reading.measure, Quantile | Extreme):
        return reading.sensitivity.cells * rounds_of(reading)
    return _cells(reading) * len(reading.coordinates)


def _values(measure: Measure) -> int:
    return len(measure.points) if isinstance(measure, Cdf) else 1
