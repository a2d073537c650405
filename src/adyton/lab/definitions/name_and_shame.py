"""Total variation is not a measure of privacy: useless when small, shameless when not."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from adyton.figures.report import Chart, ChartLine, LabFinding, LabReport, Topic
from adyton.figures.sources import NIKOLOV

NAME_AND_SHAME = Topic(
    "name-and-shame",
    (NIKOLOV,),
    "Name and shame: total variation alone allows publishing somebody's row",
    story="A mechanism publishes each person's row with a small probability, and total variation calls it "
    "private.",
)
_ROWS = 1000


def name_and_shame(rng: np.random.Generator) -> LabReport:
    """Publish each row with probability delta: delta-close in total variation, and yet."""
    n, runs = _ROWS, 20_000
    found = float(np.count_nonzero(rng.binomial(n, 1 / n, runs)) / runs)
    findings = (
        LabFinding("somebody is published, delta = 1/n", published(1 / n, n), 0.632, 0.0005, share=True),
        LabFinding(
            "somebody is published, delta = 1/(2n)", published(1 / (2 * n), n), 0.394, 0.0005, share=True
        ),
        LabFinding(
            f"share of {runs:,} simulated runs that publish somebody",
            found,
            published(1 / n, n),
            0.021,
            share=True,
        ),
        LabFinding(
            "total variation of two neighbors, delta = 1/10", float(shame_distance(Fraction(1, 10))), 0.1
        ),
        LabFinding(
            "all zeros against all ones, n = 20, each step 1/40",
            float(far_distance(20, Fraction(1, 40))),
            0.5,
        ),
        LabFinding(
            "best guess between them, 1/2 (1 + distance)",
            float((1 + far_distance(20, Fraction(1, 40))) / 2),
            0.75,
            share=True,
        ),
    )
    return LabReport(NAME_AND_SHAME, findings, _NOTES, _chart())


def published(delta: float, rows: int) -> float:
    """The chance that at least one row is published."""
    return -math.expm1(rows * math.log1p(-delta))


def shame_distance(delta: Fraction) -> Fraction:
    """Total variation of the outputs of two neighbors, over all outputs of two rows (a published set)."""
    laws = [_law((0, value), delta) for value in (1, 2)]
    outputs = set(laws[0]) | set(laws[1])
    return (
        sum((abs(laws[0].get(o, Fraction(0)) - laws[1].get(o, Fraction(0))) for o in outputs), Fraction(0))
        / 2
    )


def _law(rows: tuple[int, int], delta: Fraction) -> dict[tuple[int | None, ...], Fraction]:
    """Each row is published or replaced by None, independently."""
    law: dict[tuple[int | None, ...], Fraction] = {}
    for first in (True, False):
        for second in (True, False):
            output = (rows[0] if first else None, rows[1] if second else None)
            law[output] = (delta if first else 1 - delta) * (delta if second else 1 - delta)
    return law


def far_distance(rows: int, delta: Fraction) -> Fraction:
    """Between all zeros and all ones, for a coin that is delta-close on neighbors and no closer."""
    return _coin(rows, rows, delta) - _coin(0, rows, delta)


def _coin(ones: int, rows: int, delta: Fraction) -> Fraction:
    """The chance of heads: each row moves it by delta."""
    return Fraction(1, 2) + delta * (ones - Fraction(rows, 2))


def _chart() -> Chart:
    share = tuple(i / 20 for i in range(1, 61))
    return Chart(
        "delta times n",
        "probability",
        (
            ChartLine("somebody is published", share, tuple(published(s / _ROWS, _ROWS) for s in share)),
            ChartLine(
                "best guess between any two tables, at most",
                share,
                tuple(min(1.0, (1 + s) / 2) for s in share),
            ),
        ),
        percent=("y",),
    )


_NOTES = (
    "Below delta = 1/(2n) any two tables, however different, are within total variation 1/2: useless.",
    "From 1/(2n) on the definition allows publishing somebody's row with constant probability.",
    "Differential privacy bounds ratios: an output that is impossible without Bob is impossible with him.",
)
