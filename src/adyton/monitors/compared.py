"""What is compared when a monitor is fed: one exact integer and one whole threshold, by public facts alone.

The noise of a monitor is made for integers that one unit moves by at most ``reach``.  A count moves by its
own rows, a sum of incomes by many steps: each is multiplied by the largest whole number that keeps it within
the reach.  A mean is compared without a division.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal, get_args

from adyton.errors import InvalidRequest
from adyton.kernel.accounting.noisy_reading import step_of
from adyton.kernel.exact import Number, rational
from adyton.kernel.sensitivity import Reading
from adyton.kernel.terms.expressions import Indicator, NumberExpression, Plus
from adyton.kernel.terms.leaves import Constant
from adyton.kernel.terms.measures import Count, CountPersons, Mean, Measure, Proportion, Sum, SumOfPersons
from adyton.kernel.terms.persons import TableOfPersons
from adyton.monitors.kinds import MonitorKind, moves_one_way
from adyton.planning.readings import readings_of
from adyton.query.nodes import Query
from adyton.study import Study

ComparedAs = Literal["count", "sum", "mean"]
COMPARED: tuple[ComparedAs, ...] = get_args(ComparedAs)
_TAKEN: dict[MonitorKind, tuple[type[Measure], ...]] = {
    "counts": (Count,),
    "sums": (Count, CountPersons, Sum, SumOfPersons),
    "means": (Count, CountPersons, Sum, SumOfPersons, Mean, Proportion),
}
_WORDS = {"counts": "COUNT", "sums": "COUNT or SUM", "means": "COUNT, SUM, AVG or PROPORTION"}
_MOST_UNITS = 2**63 - 1  # where their number is private: what every engine can count to
_LONGEST_DENOMINATOR = 10**100  # a note keeps every digit
_ONE = (Fraction(1),)


@dataclass(frozen=True, slots=True)
class Compared:
    """``factor`` times what is read is compared with ``least``: it is above if it is at least that.

    ``step`` is what one of these integers means in the unit of the answer.
    """

    reading: Reading
    factor: int
    least: int
    step: Fraction
    threshold: Fraction
    compared_as: ComparedAs


def compared(study: Study, kind: MonitorKind, reach: int, asked: Query, above: Number | None) -> Compared:
    """What a monitor of this kind reads and compares for a query.

    Claim:    without noise it is above exactly where the count, the sum or the mean is above its threshold,
              and one unit moves it by at most ``reach``, up or down with all others of a monitor that counts
              on it.
    Assumes:  bounds and steps as declared: the sensitivities of the reading.
    Source:   derived here.  Theorem: MONITOR-OF-SUMS.
    """
    measure = _only(asked, kind)
    threshold = _written(above)
    compared_as: ComparedAs = "count" if isinstance(measure, Count | CountPersons) else "sum"
    limit = threshold
    if isinstance(measure, Mean | Proportion):
        asked, compared_as, limit = _excess(asked, measure, threshold), "mean", Fraction(0)
    (reading,) = readings_of(asked, study.unit)
    if compared_as != "mean":
        _check_within(reading, study, threshold)
    if moves_one_way(study, kind) and reading.sensitivity.boxes[0][0] < 0:
        raise InvalidRequest(
            "a sum of numbers that can be negative falls where others rise: open the monitor of means, which "
            "allows for it; nothing was charged"
        )
    factor, step = _factor(reading, reach), step_of(reading)
    least = factor * (math.floor(limit / step) + 1)
    return Compared(reading, factor, least, step / factor, threshold, compared_as)


def _only(asked: Query, kind: MonitorKind) -> Measure:
    if isinstance(asked.table, TableOfPersons):
        raise InvalidRequest("a monitor asks about rows, not about numbers of each person")
    measures = [measure for _, measure in asked.measures]
    if asked.by or len(measures) != 1 or not isinstance(measures[0], _TAKEN[kind]):
        more = "" if kind == "means" else "; one that is opened of means takes sums and means too"
        raise InvalidRequest(
            f"a monitor of {kind} takes one {_WORDS[kind]} without GROUP BY at a time{more}; "
            "nothing was charged"
        )
    return measures[0]


def _written(above: Number | None) -> Fraction:
    if above is None:
        raise InvalidRequest("a monitor compares each number with a threshold: name it, as in above=100")
    threshold = rational(above, "above")
    if threshold.denominator > _LONGEST_DENOMINATOR:
        raise InvalidRequest("above must be a number such as 25 or 0.5, not a fraction of hundreds of digits")
    return threshold


def _excess(asked: Query, measure: Mean | Proportion, threshold: Fraction) -> Query:
    """A mean is above t where the sum of what each row has above t is above 0; that of no rows is not."""
    value: NumberExpression = measure.value if isinstance(measure, Mean) else Indicator(measure.condition)
    lattice = value.lattice
    low, high = lattice.low * lattice.step, lattice.high * lattice.step
    if not low <= threshold <= high:
        raise InvalidRequest(
            f"above must be from {_shown(low)} to {_shown(high)}: no mean of these numbers lies beyond"
        )
    over = Plus(value, Constant(-threshold)) if threshold else value
    return replace(asked, measures=((asked.measures[0][0], Sum(over, measure.where)),))


def _check_within(reading: Reading, study: Study, threshold: Fraction) -> None:
    """A threshold that such a number could be on either side of."""
    (low, high), step = reading.sensitivity.boxes[0], step_of(reading)
    units = study.table.rows if study.unit.adjacency == "replace-one" else None
    each = 1 if reading.persons is not None else study.unit.rows
    most = _MOST_UNITS if units is None else units * each
    least, greatest = most * min(low, 0) * step, most * max(high, 0) * step
    if not least <= threshold <= greatest:
        what = "count" if low == high == 1 else "sum"
        raise InvalidRequest(
            f"above must be from {_shown(least)} to {_shown(greatest)}: no {what} of this table lies beyond"
        )


def _shown(end: Fraction) -> str:
    return str(end) if end.denominator == 1 else f"{float(end):.15g}"


def _factor(reading: Reading, reach: int) -> int:
    moved = math.ceil(reading.sensitivity.l1_diameter(_ONE))
    if moved > reach:
        raise InvalidRequest(
            f"one unit can move this by {moved} steps of its step, and the monitor allows for {reach}: "
            "a coarser step, narrower bounds (CLAMP) or a threshold with fewer digits makes them fewer"
        )
    return reach // moved
