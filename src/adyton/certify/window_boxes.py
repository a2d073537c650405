"""Intervals of windows: of totals from those of their rows, of ranks from how many rows may come before.

Claim:    if every value lies in its interval, so does what the window gives for the exact values: a total
          over the rows that it looked at, a rank among the rows that were left.
Source:   derived here.  Theorem: BOX-OF-PARTS.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum

import numpy as np

from adyton.arithmetic.boxes import Box, negative, outward
from adyton.kernel.exact.cells import Floats
from adyton.query.released.answered import Places, Truths
from adyton.query.released.nodes import Window
from adyton.query.released.windows import Laid, as_rank, sources


def shifted_box(window: Window, laid: Sequence[Laid], boxes: Sequence[Box]) -> Box:
    """That of the row that is looked at, or of the default."""
    rows = len(boxes[0].low)
    source = sources(window, laid, rows)
    default = boxes[2] if len(boxes) > 2 else Box.everything(rows)
    return boxes[0].at(source).where(source >= 0, default)


def total_box(window: Window, laid: Sequence[Laid], box: Box | None, null: Truths | None) -> Box:
    rows = sum(one.size for one in laid)
    low, high = np.full(rows, -np.inf), np.full(rows, np.inf)
    for one in laid:
        for place, row in enumerate(one.rows.tolist()):
            seen = one.rows[one.frame(window, place)]
            missing = bool(null[seen].any()) if null is not None else False
            if window.function == "COUNT":
                least = 0 if missing else len(seen)
                low[row], high[row] = least, len(seen)
            elif box is not None and not missing and len(seen):
                low[row], high[row] = _total(window.function, box.low[seen], box.high[seen])
    return Box(low, high) if window.function in ("COUNT", "MIN", "MAX") else outward(low, high)


def _total(function: str, low: Floats, high: Floats) -> tuple[float, float]:
    if function == "MIN":
        return float(low.min()), float(high.min())
    if function == "MAX":
        return float(low.max()), float(high.max())
    least, most = fsum(low), fsum(high)
    if function == "AVG":
        ends = outward(np.array([least / len(low)]), np.array([most / len(high)]))
        return float(ends.low[0]), float(ends.high[0])
    return least, most


def occurring_box(laid: Sequence[Laid], counts: Box, *, whole: bool) -> Box:
    """How many of the rows have a count above 0: surely, and possibly; if ``whole``, then it is 1 or more.

    Theorem: BOX-OF-PARTS.
    """
    sure, possible = counts.low > 0, counts.high >= 1 if whole else counts.high > 0
    low, high = np.zeros(len(sure)), np.zeros(len(sure))
    for one in laid:
        low[one.rows], high[one.rows] = sure[one.rows].sum(), possible[one.rows].sum()
    return Box(low, high)


def rank_box(window: Window, laid: Sequence[Laid], ordered: Box | None, told: Floats, *, noisy: bool) -> Box:
    """From the rows that surely and that possibly come before; keys alone are public."""
    if not noisy:
        return Box(told, told)
    rows = len(told)
    low, high = np.zeros(rows), np.zeros(rows)
    for one in laid:
        size = one.size
        sure, possible = np.zeros(size, np.int64), np.full(size, size - 1)
        if ordered is not None:
            own = ordered.at(one.rows)
            own = negative(own) if window.order[0].descending else own
            sure = np.searchsorted(np.sort(own.high), own.low, "left")
            possible = np.searchsorted(np.sort(own.low), own.high, "right") - 1
        low[one.rows] = _rank(window, sure, size, least=True)
        high[one.rows] = _rank(window, possible, size, least=False)
    return outward(low, high) if window.function in ("PERCENT_RANK", "CUME_DIST") else Box(low, high)


def _rank(window: Window, before: Places, size: int, *, least: bool) -> Floats:
    """At the least, or at the most, so many rows come before."""
    if window.function == "DENSE_RANK" and least:
        return np.minimum(before, 1) + 1.0  # they may all be equal
    if window.function == "CUME_DIST":
        return np.asarray((before + 1.0) / size, np.float64)
    return as_rank(window, before, before, before, size)
