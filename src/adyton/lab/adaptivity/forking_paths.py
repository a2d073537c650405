"""Forking paths and compression: an analyst hears yes or no, and follows the answers to one that fits."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from adyton.figures.report import Chart, ChartLine, LabFinding, LabReport, Topic
from adyton.figures.sources import LI
from adyton.kernel.exact.special import special
from adyton.textbook.rounding import RoundedMeans
from adyton.validity.published.compressibility import compressed_width, rounding_width
from adyton.validity.textbook.accuracy import (
    fixed_queries,
    fixed_width,
    forking_queries,
    forking_width,
    loose_forking_queries,
)

FORKING_PATHS = Topic(
    "forking-paths",
    (LI,),
    "Forking paths: few bits of answer can mislead only so far, however they are used",
    story="Somebody asks yes/no queries about columns that mean nothing, and then one query that "
    "follows all the answers; only so many such paths exist, and that bounds how wrong the last answer is.",
)
ROWS, _RUNS = 1000, 100
_ASKED = (5, 20, 50, 100, 200, 400)
_HALF = RoundedMeans(2)  # its two answers are 1/4 and 3/4: below and above one half
_FAILURE = Fraction(1, 20)


def forking_paths(rng: np.random.Generator) -> LabReport:
    """Certified numbers of queries, and the gap that following the answers opens."""
    gaps = {k: _gap(k, rng) for k in _ASKED}
    most = max(_ASKED)
    worst, expected, spread = gaps[most], _theory(most), 6 * 0.5 / math.sqrt(ROWS * _RUNS)
    wide, tight = forking_width(ROWS, most + 1, _FAILURE), fixed_width(ROWS, most + 1, _FAILURE)
    findings = (
        LabFinding("fixed queries, n = 100,000, within 0.01, 99 %", _fixed(), 2_425_825, 0),
        LabFinding("yes/no queries on a path, the same", _forking(), 21, 0),
        LabFinding("by the looser count of paths in the notes", _loose(), 14, 0),
        LabFinding(f"gap after {most} yes/no answers, n = {ROWS:,}", worst, expected, spread, share=True),
        LabFinding("half-width if all queries had been fixed", tight, share=True),
        LabFinding("does the gap pass it", float(worst > tight), 1, 0),
        LabFinding("half-width for all paths", wide, share=True),
        LabFinding("does the gap stay within", float(worst <= wide), 1, 0),
        LabFinding(f"bits of the transcript of {most} answers", _HALF.bits(most), most, 1e-6),
        LabFinding("half-width from these bits", _compressed(most), share=True),
    )
    return LabReport(FORKING_PATHS, findings, _NOTES, _chart(gaps))


def _fixed() -> int:
    return fixed_queries(100_000, "0.01", "0.01")


def _forking() -> int:
    return forking_queries(100_000, "0.01", "0.01")


def _loose() -> int:
    return loose_forking_queries(100_000, "0.01", "0.01")


def _gap(asked: int, rng: np.random.Generator) -> float:
    """Each answer says on which side of one half a column's mean lies; the last query is their vote."""
    total = 0.0
    for _ in range(_RUNS):
        table = rng.integers(0, 2, (ROWS, asked), dtype=np.int8)
        means = [Fraction(int(ones), ROWS) for ones in table.sum(axis=0, dtype=np.int64)]
        signs = np.array([1 if told > Fraction(1, 2) else -1 for told in _HALF.release(means)], np.int32)
        votes = (2 * table.astype(np.int32) - 1) @ signs + rng.uniform(-0.5, 0.5, ROWS)
        total += float(np.mean(votes > 0)) - 0.5
    return total / _RUNS


def _theory(asked: int) -> float:
    """A column leans to its own side by sqrt(2/(pi n)) on average, and the vote has sqrt(k) deviations."""
    return float(special().ndtr(math.sqrt(asked * 2 / (math.pi * ROWS)))) - 0.5


def _compressed(asked: int) -> float:
    return compressed_width(ROWS, asked + 1, _HALF.bits(asked), _FAILURE)


def _chart(gaps: dict[int, float]) -> Chart:
    x = _ASKED
    return Chart(
        "yes/no answers that were followed",
        "how far off the last answer is, n = 1,000",
        (
            ChartLine("gap that was opened", x, tuple(gaps.values()), strong=True),
            ChartLine(
                "width if fixed before", x, tuple(fixed_width(ROWS, k + 1, _FAILURE) for k in x), limit=True
            ),
            ChartLine("width for all paths", x, tuple(forking_width(ROWS, k + 1, _FAILURE) for k in x)),
            ChartLine("width by the bits of the transcript", x, tuple(_compressed(k) for k in x)),
            ChartLine(
                "width of rounded means, best grid",
                x,
                tuple(rounding_width(ROWS, k + 1, _FAILURE).tolerance for k in x),
            ),
        ),
        ("x",),
        ("y",),
    )


_NOTES = (
    "A tree of k yes/no queries has 2^k - 1 nodes: a union bound over all of them holds on every path.",
    "A study with method rounding says how many bits its transcript has, and takes its widths from them.",
)
