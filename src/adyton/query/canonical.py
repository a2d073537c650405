"""The one text by which a query is recognised, however its values and groups were named.

Names belong to the shape of an answer, so each is replaced by the one that follows from what it names.
"""

from __future__ import annotations

from functools import lru_cache
from typing import assert_never

from adyton.kernel.terms.buckets import Bucket, Group
from adyton.kernel.terms.leaves import DayFrom, DayOf
from adyton.kernel.terms.measures import (
    Cdf,
    Count,
    CountPersons,
    Extreme,
    Mean,
    Measure,
    Moments,
    Proportion,
    Quantile,
    Sum,
    SumOfPersons,
    Variance,
)
from adyton.query.groups import grouped
from adyton.query.names import LONGEST_NAME, default_name, distinct_names
from adyton.query.nodes import POINTS, Query
from adyton.query.text import MOMENT_NAMES, Naming, query_text


def canonical_text(query: Query) -> str:
    """The text without the names that were given: the same for whoever asks the same."""
    return query_text(query, plain_names(query))


def plain_names(query: Query) -> Naming:
    """What groups and values are called that were given no name."""
    return _plain_names(query.by, tuple(measure for _, measure in query.measures))


@lru_cache(maxsize=256)
def _plain_names(by: tuple[Group, ...], measures: tuple[Measure, ...]) -> Naming:
    kept = [None if isinstance(group, Bucket) else group.name for group in by]
    groups = distinct_names(kept, [_of_group(group) for group in by], taken=())
    cdf = any(isinstance(measure, Cdf) for measure in measures)
    values = distinct_names([None] * len(measures), map(_of_measure, measures), [*groups, *[POINTS] * cdf])
    return tuple(groups), tuple(values)


def _of_group(group: Group) -> str:
    if not isinstance(group, Bucket):
        return group.name
    value = group.value
    default = value.column.name if isinstance(value, DayOf) else "group"
    return _short(default if isinstance(value, DayOf | DayFrom) else grouped(value, group.labels).default)


def _of_measure(measure: Measure) -> str:
    match measure:
        case Count():
            return "count"
        case CountPersons():
            return "count_persons"
        case Sum(value) | SumOfPersons(value):
            return _short(default_name("sum", value))
        case Mean(value):
            return _short(default_name("avg", value))
        case Proportion(condition):
            return _short(default_name("proportion", condition))
        case Variance(value, root):
            return _short(default_name("stddev" if root else "variance", value))
        case Moments(y, x, which):
            return _short(MOMENT_NAMES[which].lower() + default_name("", y) + default_name("", x))
        case Quantile(value):
            return _short(default_name("quantile", value))
        case Extreme(value, which):
            return _short(default_name("min" if which == "least" else "max", value))
        case Cdf(value):
            return _short(default_name("cdf", value))
        case _:
            assert_never(measure)


def _short(name: str) -> str:
    """A name that may be given, with room for a number behind it."""
    return name[: LONGEST_NAME - 8]
