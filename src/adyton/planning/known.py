"""What is public about the values of a question before anything is read: for how they are shown."""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from adyton.certify import Known
from adyton.exact import float_down, float_up
from adyton.query.leaves import EVERY_ROW
from adyton.query.measures import (
    Cdf,
    Count,
    CountPersons,
    Extreme,
    Mean,
    Measure,
    Proportion,
    Quantile,
    Sum,
    SumOfPersons,
    Variance,
)
from adyton.query.nodes import Question
from adyton.schema import Lattice, Table
from adyton.study import Study

_WITHOUT = "Rows without a person do not count."


def known_of(measure: Measure) -> Known:
    """Whether it counts, and between which numbers its value must lie.

    The ends are rounded outwards, as those of a noise interval are, so that an interval which is cut at them
    and excludes nothing is known by it.
    """
    match measure:
        case Count() | CountPersons():
            return Known(count=True, step=1.0)
        case Sum() | SumOfPersons():
            return Known()
        case Proportion() | Cdf():
            return Known(low=0.0, high=1.0)
        case Mean(value):
            return _between(value.lattice)
        case Quantile(value) | Extreme(value):
            return replace(_between(value.lattice), step=float(value.lattice.grain))
        case Variance(value, root):
            half = (value.lattice.high - value.lattice.low) * value.lattice.grain / 2
            return Known(low=0.0, high=float_up(half if root else half**2))
        case _:
            assert_never(measure)


def _between(lattice: Lattice) -> Known:
    low, high = lattice.low * lattice.grain, lattice.high * lattice.grain
    return Known(low=float_down(low), high=float_up(high))


def left_out_rows(study: Study, question: Question) -> str | None:
    """Which rows never count, where a person is protected: public, and part of what an answer means."""
    if study.unit.person is None:
        return None
    return _WITHOUT if _counts_all_persons(question) else left_out_of(study, question.table)


def left_out_of(study: Study, table: Table) -> str | None:
    """The same for a question that looks at what rows of a person say."""
    if study.unit.person is None:
        return None
    most = {
        study.table.name: study.unit.rows,
        **{one.table.name: one.rows_per_person for one in study.further},
    }
    names = [member.name for member in table.join.tables] if table.join is not None else [table.name]
    rows = [f"{most[name]:,} row{'' if most[name] == 1 else 's'}" for name in names]
    if len(names) > 1:
        rows = [f"{most_rows} of {name}" for most_rows, name in zip(rows, names, strict=True)]
    counts = "counts" if rows == ["1 row"] else "count"
    return f"At most {' and '.join(rows)} of each person {counts}; rows without a person do not."


def _counts_all_persons(question: Question) -> bool:
    """Then it does not matter which rows of a person are used."""
    return (
        question.where == EVERY_ROW
        and not question.by
        and all(isinstance(m, CountPersons) and m.where == EVERY_ROW for _, m in question.measures)
    )
