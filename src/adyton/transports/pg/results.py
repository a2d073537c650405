"""What comes back: rows with the types of their columns, a tag, and what is said beside them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from adyton.certify import Absent, Answer, Intervals
from adyton.certify.rows import NOTHING_KNOWN
from adyton.certify.values import finite
from adyton.service.limits import LIMITS
from adyton.show import number
from adyton.transports.pg.errors import SqlError
from adyton.transports.pg.values import TEXT, Field

_MOST_WIDTHS = 6  # values whose widths are in a notice
Row = Sequence[Any]
_A_ROW, _A_VALUE, _A_CELL = 64, 56, 8  # bytes of memory
_INSTEAD = (
    "Ask for less with WHERE, LIMIT or fewer columns, or ask over HTTP: POST /v1/studies/NAME/ask with "
    "Accept: text/csv or application/vnd.apache.arrow.stream."
)


@dataclass(frozen=True, slots=True)
class StatementResult:
    """``fields`` is None for what has no rows.  ``size``: about how many bytes the rows take in memory.
    ``places``: which of the rows are sent, None: all.
    """

    tag: str
    fields: Sequence[Field] | None = None
    rows: Sequence[Row] = ()
    notices: tuple[dict[str, str], ...] = ()
    changed: tuple[str, str] | None = None  # a setting that the client must be told
    size: int = 0
    places: range | None = None

    @property
    def sent(self) -> range:
        return range(len(self.rows)) if self.places is None else self.places


class AnswerRows(Sequence[Row]):
    """Rows of an answer, made when they are sent: only its columns are kept."""

    def __init__(self, answer: Answer, names: Sequence[str]) -> None:
        columns = answer.columns()
        self._sides = [columns.get(name) for name in names]
        self._number = len(answer.rows)
        self.size = _A_CELL * self._number * len(self._sides)

    def __len__(self) -> int:
        return self._number

    def __getitem__(self, place: Any) -> Any:
        if not isinstance(place, slice):
            return self[place : place + 1][0]
        number = len(range(self._number)[place])
        if not self._sides:
            return [[] for _ in range(number)]
        return list(zip(*(_cells(side, place, number) for side in self._sides), strict=True))


def _cells(side: Any, place: slice, number: int) -> Any:
    if side is None:
        return [None] * number
    return side[place] if isinstance(side, list) else map(finite, side[place].tolist())


def listed(fields: Sequence[Field], rows: Sequence[Row], *notices: dict[str, str]) -> StatementResult:
    """Rows that cost nothing: there may not be too many."""
    check_free(len(rows))
    size = 0
    for row in rows:
        size += _A_ROW + sum(map(size_of, row))
        if size > LIMITS.wire_free_bytes:
            raise SqlError("54000", f"a free answer takes at most {LIMITS.wire_free_bytes:,} bytes", _INSTEAD)
    return StatementResult(f"SELECT {len(rows)}", fields, rows, notices, size=size)


def check_free(rows: int, hint: str = _INSTEAD) -> None:
    """What costs nothing is refused beyond a public size."""
    if rows > LIMITS.wire_free_rows:
        message = f"this free answer has {rows:,} rows; at most {LIMITS.wire_free_rows:,} are sent here"
        raise SqlError("54000", message, hint)


def size_of(value: Any) -> int:
    """About how many bytes of memory a value takes."""
    if isinstance(value, str):
        return _A_VALUE + len(value)
    return _A_VALUE + sum(map(size_of, value)) if isinstance(value, list | tuple) else _A_VALUE


def of_answer(answer: Answer, shown: Sequence[tuple[str, Field]]) -> StatementResult:
    """The answer to a query, with the columns in the order of the text."""
    rows = AnswerRows(answer, [name for name, _ in shown])
    fields = [field for _, field in shown]
    return StatementResult(f"SELECT {len(rows)}", fields, rows, (notice_of(answer),), size=rows.size)


def lines(name: str, said: Sequence[str], tag: str) -> StatementResult:
    """One column of text."""
    size = sum(_A_ROW + size_of(line) for line in said)
    return StatementResult(tag, [Field(name, TEXT)], [[line] for line in said], size=size)


def notice_of(answer: Answer) -> dict[str, str]:
    """How wide it is, what it cost and its receipt; behind them all else that there is to say."""
    *others, cost, guarantee, receipt = answer.notes() if answer.free is None else (*answer.notes(), "", "")
    paid = " ".join(part for part in (cost, receipt) if part)
    said = "\n".join([*widths_of(answer), paid])
    beside = "\n".join(part for part in (*others, guarantee) if part)
    return {"S": "NOTICE", "V": "NOTICE", "C": "00000", "M": said, **({"D": beside} if beside else {})}


def widths_of(answer: Answer) -> list[str]:
    """A line on how wide intervals are, and one on values that are smaller than their noise."""
    if answer.free is not None or not len(answer.rows) or not answer.rows.values:
        return []
    rows, told, drowned = len(answer.rows), [], []
    some = dict(islice(answer.rows.values.items(), _MOST_WIDTHS))
    for name, values in some.items():
        noise, population = _half_width(values.noise), values.population
        days = " days" if answer.known.get(name, NOTHING_KNOWN).day else ""
        wide = f", population ± {_wide(_half_width(population))}{days}" if _has_any(population) else ""
        told.append(f"{name} ± {_wide(noise)}{days}{wide}")
        under = int(np.sum((values.noise.high - values.noise.low) / 2 > np.abs(values.value)))
        if under and not days:
            drowned.append(name if rows == 1 else f"{name} in {under:,} of {rows:,} rows")
    more = len(answer.rows.values) - len(some)
    widest = "Half-width" if rows == 1 else "Largest half-width"
    lines = [f"{widest} of the 95 % noise interval: {'; '.join(told)}{f'; and {more} more' * bool(more)}."]
    return lines + [f"NOISE LARGER THAN THE VALUE: {', '.join(drowned)}."] * bool(drowned)


def _half_width(intervals: Intervals | Absent) -> float:
    """Of the widest."""
    if isinstance(intervals, Absent):
        return math.nan
    halves = (intervals.high - intervals.low) / 2
    return float(np.max(halves[~np.isnan(halves)], initial=0.0))


def _has_any(population: Intervals | Absent) -> bool:
    return not isinstance(population, Absent) and not np.all(np.isnan(population.low))


def _wide(half: float) -> str:
    return number(half, half) if math.isfinite(half) else "any number"


def preview_lines(preview: dict[str, Any], groups: int) -> Iterator[str]:
    """A preview of so many groups, of which it may hold the first one alone: a fact a line."""
    yield f"Query: {preview['query']}"
    if "free" in preview:
        yield f"Free of charge: {preview['free']}."
        return
    rows = preview["answer"]
    for name, ends in (rows[0]["values"] if rows else {}).items():
        noise, population = ends["noise_interval"], ends["population_interval"]
        yield f"{name}: {_width(noise)} noise interval" + (
            f", {_width(population)} population interval" if "half_width" in population else ""
        )
    if groups > 1:
        yield f"Groups: {groups}"
    cost = preview["cost"]
    yield (
        "Asked before: free of charge"
        if preview["repeated"]
        else f"Cost: {100 * cost['share']:.4g} % of the budget ({cost['amount']} {cost['accounting']})"
    )
    left = f"{100 * preview['left']['share']:.4g}"
    yield f"Left: {left} % of the budget; {preview['more']} of this cost would fit"
    if not preview["affordable"]:
        fits = preview["fits"]
        yield f"It does not fit; this price would: {fits}" if fits else "It does not fit, at no price"


def _width(interval: dict[str, Any]) -> str:
    half = interval.get("half_width")
    told = "unknown width" if half is None else f"± {half:.6g}"
    return f"{told}, {100 * interval['level']:.4g} %" if "level" in interval else told
