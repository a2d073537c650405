"""What is public about an answer before anything is read: what its values can be, what it rests on, and how
large it is.

One text could otherwise ask for more numbers than a machine has memory.  How many is decided before
anything is charged: a curator that dies of an answer has charged for it.  What the largest answers cost
that are not refused is measured in ``benchmarks/large_answers.py``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from math import prod
from typing import assert_never

from adyton.certify import Certificate, KnownRange
from adyton.errors import InvalidRequest
from adyton.kernel.exact import float_down, float_up
from adyton.kernel.schema import Lattice, Table, TextColumn
from adyton.kernel.searching import rounds_of
from adyton.kernel.sensitivity import Reading
from adyton.kernel.special.discovery import GroupDiscovery
from adyton.kernel.terms.buckets import group_size
from adyton.kernel.terms.leaves import EVERY_ROW, DayCount
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
from adyton.kernel.terms.persons import TableOfPersons
from adyton.planning.measures.moments import range_of
from adyton.planning.part import MeasurePlan
from adyton.query.conditions.possible_cells import number_of_cells
from adyton.query.nodes import Query
from adyton.query.released.nodes import Apply, Released, ReleasedName, When, Window
from adyton.study import Study

_WITHOUT = "Rows without a person do not count."
_OF_EACH = "The numbers of each person are of those rows."
_RESERVE = (
    "No query reads the reserve, about {} % of the {}: counts and sums are those of the others, not "
    "scaled up."
)
MOST_VALUES = 1_000_000  # of all answers together; each has an interval or two
MOST_NOISES = 4_000_000  # integers that are drawn and stored: two for a mean, a dozen or so for a median
MOST_INTEGERS = 2**26  # that are read: the counts of all bins, for a quantile


# Values ----------------------------------------------------------------------------------------------------


def known_of(measure: Measure) -> KnownRange:
    """Whether it counts, and between which numbers its value must lie.

    The ends are rounded outwards, as those of a noise interval are, so that an interval which is cut at them
    and excludes nothing is known by it.
    """
    match measure:
        case Count() | CountPersons():
            return KnownRange(count=True, step=1.0)
        case Sum() | SumOfPersons():
            return KnownRange()
        case Proportion() | Cdf():
            return KnownRange(low=0.0, high=1.0)
        case Mean(value):
            return replace(_between(value.lattice), day=isinstance(value, DayCount))
        case Quantile(value) | Extreme(value):
            between = _between(value.lattice)
            return replace(between, step=float(value.lattice.step), day=isinstance(value, DayCount))
        case Variance(value, root):
            half = (value.lattice.high - value.lattice.low) * value.lattice.step / 2
            return KnownRange(low=0.0, high=float_up(half if root else half**2))
        case Moments():
            low, high = range_of(measure)
            return KnownRange(low=low, high=high)
        case _:
            assert_never(measure)


def known_of_computed(value: Released, known: Mapping[str, KnownRange]) -> KnownRange:
    """Of what is computed from values only that it is rounded, one of some literals, or counts rows of the
    answer.
    """
    match value:
        case ReleasedName(name) if name in known:
            return known[name]
        case Apply("ROUND", (_, Fraction() as digits)):
            return KnownRange(step=10.0 ** -int(digits))
        case Apply("FLOOR" | "CEIL" | "TRUNC" | "SIGN"):
            return KnownRange(step=1.0)
        case When(branches, otherwise):
            return _one_of([*(then for _, then in branches), otherwise])
        case Window("RANK" | "DENSE_RANK" | "ROW_NUMBER" | "NTILE" | "COUNT" | "OCCURRING"):
            return KnownRange(step=1.0)
    return KnownRange()


def _one_of(values: Sequence[Released]) -> KnownRange:
    """One of several numbers that were written: an interval from the least to the greatest says nothing."""
    written = [value for value in values if isinstance(value, Fraction)]
    if len(written) < len(values) or len(set(written)) == 1:
        return KnownRange()
    whole = all(value.denominator == 1 for value in written)
    return KnownRange(low=float_down(min(written)), high=float_up(max(written)), step=float(whole))


def _between(lattice: Lattice) -> KnownRange:
    low, high = lattice.low * lattice.step, lattice.high * lattice.step
    return KnownRange(low=float_down(low), high=float_up(high))


def left_out_rows(study: Study, query: Query) -> str | None:
    """Which rows never count, where a person is protected or there is a reserve: public, and part of what an
    answer means.
    """
    counts_all = study.unit.person is not None and _counts_all_persons(query)
    return _joined(_WITHOUT if counts_all else _rows_left_out(study, query.table), _reserved(study))


def left_out_of(study: Study, table: Table) -> str | None:
    """The same for a query that looks at what rows of a person say."""
    return _joined(_rows_left_out(study, table), _reserved(study))


def _joined(*sentences: str | None) -> str | None:
    return " ".join(one for one in sentences if one) or None


def _reserved(study: Study) -> str | None:
    if study.reserve is None:
        return None
    return _RESERVE.format(f"{float(100 * study.reserve.share):.4g}", f"{study.unit.word}s")


def _rows_left_out(study: Study, table: Table) -> str | None:
    if study.unit.person is None:
        return None
    if isinstance(table, TableOfPersons):
        return f"{_rows_left_out(study, table.of)} {_OF_EACH}"
    members = table.join.tables if table.join is not None else (table,)
    most = [study.unit_of(member).rows for member in members]
    rows = [f"{number:,} row{'' if number == 1 else 's'}" for number in most]
    if len(members) > 1:
        rows = [f"{most_rows} of {one.name}" for most_rows, one in zip(rows, members, strict=True)]
    counts = "counts" if rows == ["1 row"] else "count"
    return f"At most {' and '.join(rows)} of each person {counts}; rows without a person do not."


def _counts_all_persons(query: Query) -> bool:
    """Then it does not matter which rows of a person are used."""
    table = query.table
    return (
        query.where == EVERY_ROW
        and not (isinstance(table, TableOfPersons) and table.given != EVERY_ROW)
        and not query.by
        and all(isinstance(m, CountPersons) and m.where == EVERY_ROW for _, m in query.measures)
    )


# What it rests on ---------------------------------------------------------------------------


def certificate_of(
    study: Study,
    table: Table,
    parts: tuple[MeasurePlan, ...],
    discovery: GroupDiscovery | None,
    *,
    disjoint: bool,
) -> Certificate:
    theorems = [name for part in parts for name in part.only.mechanism.theorems]
    theorems += [*study.rule.theorems, "POST-PROCESSING", "NOISE-INTERVAL"]
    theorems += [name for part in parts for name in part.theorems]
    theorems += discovery.theorems if discovery is not None else ()
    theorems += ["DISJOINT-FILTERS"] if disjoint else []
    theorems += ["SPLIT-STUDY"] if study.parts > 1 else []
    theorems += ["RESERVE-TEST"] if study.reserve is not None else []
    left_out = any(part.only.reading.kept is not None for part in parts)
    theorems += ["CELLS-THAT-CAN-MATCH"] if left_out else []
    theorems += ["JOINED-ROWS"] if table.join is not None and len(table.join.tables) > 1 else []
    theorems += ["TWO-LEVEL"] if isinstance(table, TableOfPersons) else []
    return Certificate(tuple(dict.fromkeys(theorems)), assumptions_of(study, table))


def assumptions_of(study: Study, table: Table) -> tuple[str, ...]:
    unit = study.unit_of(table.behind)
    who = "one row"
    if unit.person is not None:
        who = f"one person ({unit.person}), of whose rows at most {unit.rows} are used"
    replaced = "exchanged for another; the number of units is public"
    how = replaced if unit.adjacency == "replace-one" else "added or removed"
    return (
        f"protected is {who}",
        f"neighboring tables differ by one unit {how}",
        f"a value of {table.name} is the clipped value on its step; rows without one do not count",
        "the noise comes from the operating system's generator",
        *_not_read(study),
    )


def _not_read(study: Study) -> list[str]:
    """Units that a query leaves to others, or to a reserve."""
    same = "persons keep their names" if study.unit.person is not None else "rows keep their order"
    left = []
    if study.parts > 1:
        left.append(
            f"this query reads one of {study.parts} parts of the units, which no other query reads: "
            f"counts and sums are those of that part ({same} while the study lasts)"
        )
    if study.reserve is not None:
        left.append(
            "no query reads the units of the reserve: counts and sums are those of the others "
            f"({same} while the study lasts)"
        )
    return left


# Sizes -----------------------------------------------------------------------------------------------------


def number_of_values(queries: Sequence[Query]) -> int:
    """Groups that are declared, times what is asked in each."""
    return sum(number_of_cells(query) * sum(_values(m) for _, m in query.measures) for query in queries)


def check_size(queries: Sequence[Query], readings: Sequence[Reading]) -> None:
    """InvalidRequest where the answers to ``queries``, asked together, would be too large."""
    values = number_of_values(queries)
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
