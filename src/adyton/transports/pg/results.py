"""What comes back: rows with the types of their columns, a tag, and what is said beside them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from adyton.certify import Answer
from adyton.certify.values import finite
from adyton.service.limits import LIMITS
from adyton.transports.pg.errors import SqlError
from adyton.transports.pg.values import TEXT, Field

Row = Sequence[Any]
_A_ROW, _A_VALUE, _A_CELL = 64, 56, 8  # bytes of memory
_INSTEAD = (
    "Ask for less with WHERE, LIMIT or fewer columns, or ask over HTTP: POST /v1/studies/NAME/ask with "
    "Accept: text/csv or application/vnd.apache.arrow.stream."
)


@dataclass(frozen=True, slots=True)
class Result:
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


def listed(fields: Sequence[Field], rows: Sequence[Row], *notices: dict[str, str]) -> Result:
    """Rows that cost nothing: there may not be too many."""
    check_free(len(rows))
    size = 0
    for row in rows:
        size += _A_ROW + sum(map(size_of, row))
        if size > LIMITS.wire_free_bytes:
            raise SqlError("54000", f"a free answer takes at most {LIMITS.wire_free_bytes:,} bytes", _INSTEAD)
    return Result(f"SELECT {len(rows)}", fields, rows, notices, size=size)


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


def of_answer(answer: Answer, shown: Sequence[tuple[str, Field]]) -> Result:
    """The answer to a question, with the columns in the order of the text."""
    rows = AnswerRows(answer, [name for name, _ in shown])
    fields = [field for _, field in shown]
    return Result(f"SELECT {len(rows)}", fields, rows, (notice_of(answer),), size=rows.size)


def lines(name: str, said: Sequence[str], tag: str) -> Result:
    """One column of text."""
    size = sum(_A_ROW + size_of(line) for line in said)
    return Result(tag, [Field(name, TEXT)], [[line] for line in said], size=size)


def notice_of(answer: Answer) -> dict[str, str]:
    """What it cost and its receipt; behind it all else that there is to say."""
    *others, cost, promise, receipt = answer.notes() if answer.free is None else (*answer.notes(), "", "")
    said = " ".join(part for part in (cost, receipt) if part)
    beside = "\n".join(part for part in (*others, promise) if part)
    return {"S": "NOTICE", "V": "NOTICE", "C": "00000", "M": said, **({"D": beside} if beside else {})}


def preview_lines(preview: dict[str, Any], groups: int) -> Iterator[str]:
    """A preview of so many groups, of which it may hold the first one alone: a fact a line."""
    yield f"Question: {preview['question']}"
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
        else f"Cost: {100 * cost['share']:.4g} % of the limit ({cost['amount']} {cost['filter']})"
    )
    left = f"{100 * preview['left']['share']:.4g}"
    yield f"Left: {left} % of the limit; {preview['more']} of this cost would fit"
    if not preview["affordable"]:
        fits = preview["fits"]
        yield f"It does not fit; this price would: {fits}" if fits else "It does not fit, at no price"


def _width(interval: dict[str, Any]) -> str:
    half = interval.get("half_width")
    told = "unknown width" if half is None else f"± {half:.6g}"
    return f"{told}, {100 * interval['level']:.4g} %" if "level" in interval else told
