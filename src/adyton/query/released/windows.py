"""Windows over the rows of an answer: functions of other rows, by their keys and in an order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import fsum

import numpy as np

from adyton.kernel.exact.cells import Floats
from adyton.query.released.answered import Answered, Numbers, Places, Truths, missing, ranks
from adyton.query.released.nodes import Window

MOST_ROWS = 10_000
RANKS = ("RANK", "DENSE_RANK", "ROW_NUMBER", "PERCENT_RANK", "CUME_DIST", "NTILE")
SHIFTS = ("LAG", "LEAD")
ENDS = ("FIRST_VALUE", "LAST_VALUE")
TOTALS = ("SUM", "AVG", "MIN", "MAX", "COUNT")
OCCURRING = "OCCURRING"  # how many rows surely have a count above 0: intervals decide that, not values alone


@dataclass(frozen=True, slots=True)
class Laid:
    """The rows of one partition, in the order of the window."""

    rows: Places
    peers: Places  # for each place the number of its peers, rising from 0

    @property
    def size(self) -> int:
        return len(self.rows)

    def frame(self, window: Window, place: int) -> slice:
        """Which places a row looks at."""
        frame = window.frame
        first, last = place, place
        if frame.peers:
            first = int(np.searchsorted(self.peers, self.peers[place], "left"))
            last = int(np.searchsorted(self.peers, self.peers[place], "right")) - 1
        start = 0 if frame.start is None else max(0, first + frame.start)
        end = self.size if frame.end is None else min(self.size, last + frame.end + 1)
        return slice(start, max(start, end))


def laid_out(answered: Answered, window: Window) -> list[Laid]:
    """The partitions."""
    codes = np.zeros(answered.rows, np.int64)
    for name in window.partition:
        own = ranks(answered.columns[name])
        _, codes = np.unique(codes * (answered.rows + 1) + own, return_inverse=True)
    ordered = answered.order(window.order, np.arange(answered.rows))
    alike = _alike(answered, window)
    laid = []
    for code in range(int(codes.max(initial=-1)) + 1):
        rows = ordered[codes[ordered] == code]
        keys = alike[rows]
        new = np.r_[False, (keys[1:] != keys[:-1]).any(1)] if len(rows) else np.zeros(0, np.bool_)
        laid.append(Laid(rows, np.cumsum(new)))
    return laid


def _alike(answered: Answered, window: Window) -> Places:
    """Equal lines for rows that are equal in the order."""
    columns = [np.zeros(answered.rows, np.int64)]
    for term in window.order:
        told = answered.told(term.value)
        columns.append(np.where(missing(told, answered.rows), -1, ranks(told)))
    return np.stack(columns, 1)


def window_numbers(answered: Answered, window: Window) -> Numbers:
    """The value of a window in each row."""
    laid = laid_out(answered, window)
    if window.function in RANKS:
        return Numbers(ranked(window, laid, answered.rows), np.zeros(answered.rows, np.bool_))
    parts = [answered.numbers(part) for part in window.inner]
    if window.function in (*SHIFTS, *ENDS):
        return shifted(window, laid, parts)
    return totalled(window, laid, parts)


def ranked(window: Window, laid: Sequence[Laid], rows: int) -> Floats:
    found = np.zeros(rows)
    for one in laid:
        place, size = np.arange(one.size), one.size
        first = np.searchsorted(one.peers, one.peers, "left")
        found[one.rows] = as_rank(window, first, place, one.peers, size)
    return found


def as_rank(window: Window, first: Places, place: Places, dense: Places, size: int) -> Floats:
    """From the number of rows before a row, or before all its peers, to what the function gives."""
    match window.function:
        case "RANK":
            return first.astype(np.float64) + 1.0
        case "DENSE_RANK":
            return dense.astype(np.float64) + 1.0
        case "PERCENT_RANK":
            return np.asarray(first / max(1, size - 1), np.float64)
        case "CUME_DIST":
            return np.asarray(np.searchsorted(dense, dense, "right") / size, np.float64)
        case "NTILE":
            return _ntile(place, size, tiles(window))
    return place.astype(np.float64) + 1.0


def tiles(window: Window) -> int:
    (number,) = window.inner
    return int(number)  # type: ignore[arg-type]  # a literal: checked when it was read


def _ntile(place: Places, size: int, number: int) -> Floats:
    """The first size % number tiles have one row more."""
    least, more = divmod(size, number)
    longer = more * (least + 1)
    late = (place - longer) // max(1, least) + more
    return np.asarray(np.where(place < longer, place // (least + 1), late) + 1.0, np.float64)


def sources(window: Window, laid: Sequence[Laid], rows: int) -> Places:
    """For each row the one that LAG, LEAD, FIRST_VALUE or LAST_VALUE looks at; -1: none."""
    found = np.full(rows, -1)
    by = int(window.inner[1]) if len(window.inner) > 1 else 1  # type: ignore[arg-type]  # a literal
    for one in laid:
        for place, row in enumerate(one.rows.tolist()):
            if window.function in SHIFTS:
                wanted = place - by if window.function == "LAG" else place + by
            else:
                seen = one.frame(window, place)
                wanted = seen.start if window.function == "FIRST_VALUE" else seen.stop - 1
                wanted = wanted if seen.stop > seen.start else -1
            if 0 <= wanted < one.size:
                found[row] = one.rows[wanted]
    return found


def shifted(window: Window, laid: Sequence[Laid], parts: Sequence[Numbers]) -> Numbers:
    own, rows = parts[0], len(parts[0].values)
    source = sources(window, laid, rows)
    none = source < 0
    default = parts[2] if len(parts) > 2 else Numbers(np.full(rows, np.nan), np.ones(rows, np.bool_))
    return Numbers(
        np.where(none, default.values, own.values[source]), np.where(none, default.null, own.null[source])
    )


def totalled(window: Window, laid: Sequence[Laid], parts: Sequence[Numbers]) -> Numbers:
    """NULLs are passed over; what is unknown makes the total unknown."""
    rows = sum(one.size for one in laid)
    values = parts[0].values if parts else np.ones(rows)
    null = parts[0].null if parts else np.zeros(rows, np.bool_)
    found, none = np.zeros(rows), np.zeros(rows, np.bool_)
    total = _TOTALS[window.function]
    for one in laid:
        own, there = values[one.rows], ~null[one.rows]
        for place, row in enumerate(one.rows.tolist()):
            seen = one.frame(window, place)
            chosen = own[seen][there[seen]]
            none[row] = not len(chosen) and window.function != "COUNT"
            found[row] = total(chosen) if len(chosen) else 0.0
    return Numbers(np.where(none, np.nan, found), none)


def members(window: Window, laid: Sequence[Laid], null: Truths) -> Floats:
    """The weight of each row in the SUM or AVG of each row: a square matrix."""
    rows = len(null)
    found = np.zeros((rows, rows))
    for one in laid:
        for place, row in enumerate(one.rows.tolist()):
            seen = one.rows[one.frame(window, place)]
            seen = seen[~null[seen]]
            found[row, seen] = 1.0 / max(1, len(seen)) if window.function == "AVG" else 1.0
    return found


_TOTALS: dict[str, Callable[[Floats], float]] = {
    "SUM": lambda chosen: fsum(chosen) if np.isfinite(chosen).all() else float(np.sum(chosen)),
    "AVG": lambda chosen: fsum(chosen) / len(chosen) if np.isfinite(chosen).all() else float(np.mean(chosen)),
    "MIN": lambda chosen: float(np.min(chosen)),
    "MAX": lambda chosen: float(np.max(chosen)),
    "COUNT": len,
}
