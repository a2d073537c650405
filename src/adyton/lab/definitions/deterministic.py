"""A deterministic mechanism is private only if it says nothing."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from adyton.figures.report import Chart, ChartLine, LabFinding, LabReport, Topic
from adyton.figures.sources import ZHOU

DETERMINISTIC = Topic(
    "deterministic",
    (ZHOU,),
    "Deterministic and private: only a constant is both",
    story="Could a clever rule without any chance protect three people? All 256 of them are tried.",
)
_TABLES = tuple(product((0, 1), repeat=3))


def deterministic() -> LabReport:
    """Every function of three bits, tried against every pair of neighbors."""
    functions = list(product((0, 1), repeat=len(_TABLES)))
    private = [outputs for outputs in functions if has_finite_loss(outputs)]
    findings = (
        LabFinding("functions of three people's bits", len(functions), 2**2**3, 0),
        LabFinding("of them with a finite epsilon", len(private), 2, 0),
        LabFinding("of those, constant", sum(len(set(outputs)) == 1 for outputs in private), 2, 0),
    )
    return LabReport(DETERMINISTIC, findings, _NOTES, _chart(functions))


def has_finite_loss(outputs: Sequence[int]) -> bool:
    """P(output) is 0 or 1, so the ratio is finite only where neighbors have the same output."""
    answer = dict(zip(_TABLES, outputs, strict=True))
    return all(answer[here] == answer[there] for here in _TABLES for there in _adjacency(here))


def _adjacency(table: tuple[int, ...]) -> list[tuple[int, ...]]:
    return [(*table[:i], 1 - table[i], *table[i + 1 :]) for i in range(len(table))]


def _chart(functions: Sequence[Sequence[int]]) -> Chart:
    """How many functions agree on how many of the twelve pairs of neighbors."""
    agreeing = [
        sum(
            outputs[i] == outputs[_TABLES.index(there)]
            for i, here in enumerate(_TABLES)
            for there in _adjacency(here)
        )
        // 2
        for outputs in functions
    ]
    x = tuple(range(13))
    return Chart(
        "pairs of neighbors that are not told apart, of 12",
        "functions",
        (ChartLine("deterministic functions", x, tuple(float(agreeing.count(k)) for k in x)),),
    )


_NOTES = (
    "Any two tables are joined by a chain of neighbors; equal outputs along the chain make a constant.",
    "With a delta below 1 the same holds: 1 <= e^epsilon 0 + delta is false.",
)
