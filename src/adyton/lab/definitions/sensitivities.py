"""How far one person can move an answer, by trying all small tables, under both relations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement

from adyton.figures.report import Chart, ChartLine, LabFinding, LabReport, Topic
from adyton.figures.sources import BASSI, BELLET, NIKOLOV, ZHOU
from adyton.kernel.privacy import Adjacency
from adyton.kernel.sensitivity import Sensitivity
from adyton.lab.attacks.cigarettes import HISTOGRAM, WITHOUT_BOB

SENSITIVITIES = Topic(
    "sensitivities",
    (BASSI, NIKOLOV, BELLET, ZHOU),
    "Sensitivity: how far one person moves an answer",
    story="One person joins, leaves or is replaced: how far can each kind of answer move? All tables of "
    "three rows are tried.",
)
Rows = tuple[int, ...]
Statistic = Callable[[Rows], tuple[Fraction, ...]]
_ONE = (Fraction(1),)
_INTEGERS = range(1, 11)
_HEIGHTS = (1, 2, 150, 299, 300)  # the ends decide
_SIZE = 3


def sensitivities() -> LabReport:
    """The largest L1 change over all pairs of neighbors, beside the rule and beside what adyton uses."""
    findings = [
        LabFinding("distance of Bassi's two histograms", _distance(HISTOGRAM, WITHOUT_BOB), 1, 0),
        LabFinding(
            "the same if Bob had been replaced by a non-smoker", _distance(HISTOGRAM, _REPLACED), 2, 0
        ),
    ]
    for what, statistic, values, expected in _CASES:
        for relation, rule in expected.items():
            found = float(largest_change(statistic, values, relation))
            findings.append(LabFinding(f"{what}, {relation}", found, float(rule)))
    for what, boxes, cells, expected in _ADYTON:
        for relation, rule in expected.items():
            found = float(Sensitivity(boxes, cells, relation).l1_diameter(_ONE * len(boxes)))
            findings.append(LabFinding(f"adyton's bound: {what}, {relation}", found, float(rule)))
    return LabReport(SENSITIVITIES, tuple(findings), _NOTES, _chart())


def largest_change(statistic: Statistic, values: range | Rows, relation: Adjacency) -> Fraction:
    """Over all tables of three rows (order does not matter) and all their neighbors."""
    worst, of = Fraction(0), cache(statistic)
    for table in combinations_with_replacement(values, _SIZE):
        here = of(table)
        for other in _adjacency(table, values, relation):
            there = of(other)
            worst = max(worst, sum((abs(a - b) for a, b in zip(here, there, strict=True)), Fraction(0)))
    return worst


def _adjacency(table: Rows, values: range | Rows, relation: Adjacency) -> Iterator[Rows]:
    for i in range(len(table)):
        rest = table[:i] + table[i + 1 :]
        if relation == "add-remove":
            yield rest
        else:
            yield from ((*rest, value) for value in values)


def _distance(x: tuple[int, ...], y: tuple[int, ...]) -> int:
    return sum(abs(a - b) for a, b in zip(x, y, strict=True))


def _maximum(rows: Rows) -> tuple[Fraction, ...]:
    return (Fraction(max(rows)),)


def _total(rows: Rows) -> tuple[Fraction, ...]:
    return (Fraction(sum(rows)),)


def _mean(rows: Rows) -> tuple[Fraction, ...]:
    return (Fraction(sum(rows), len(rows)),)


def _histogram(rows: Rows) -> tuple[Fraction, ...]:
    counts = Counter(rows)
    return tuple(Fraction(counts[value]) for value in _INTEGERS)


def _one_count(rows: Rows) -> tuple[Fraction, ...]:
    return (Fraction(sum(row > 5 for row in rows)),)


def _five_counts(rows: Rows) -> tuple[Fraction, ...]:
    """Overlapping queries: a large value is counted in all of them."""
    return tuple(Fraction(sum(row > bound for row in rows)) for bound in range(1, 6))


_REPLACED = (11, 2, 4, 13, 44, 34)
_CASES: tuple[tuple[str, Statistic, range | Rows, dict[Adjacency, Fraction]], ...] = (
    ("one count", _one_count, _INTEGERS, {"replace-one": Fraction(1), "add-remove": Fraction(1)}),
    (
        "m = 5 overlapping counts",
        _five_counts,
        _INTEGERS,
        {"replace-one": Fraction(5), "add-remove": Fraction(5)},
    ),
    ("histogram of 1..10", _histogram, _INTEGERS, {"replace-one": Fraction(2), "add-remove": Fraction(1)}),
    ("maximum of 1..10", _maximum, _INTEGERS, {"replace-one": Fraction(9), "add-remove": Fraction(9)}),
    ("sum of 1..10", _total, _INTEGERS, {"replace-one": Fraction(9), "add-remove": Fraction(10)}),
    ("maximum height, 1..300", _maximum, _HEIGHTS, {"replace-one": Fraction(299)}),
    ("average height of 3, 1..300", _mean, _HEIGHTS, {"replace-one": Fraction(299, 3)}),
)
_ADYTON: tuple[tuple[str, tuple[tuple[int, int], ...], int, dict[Adjacency, Fraction]], ...] = (
    ("count", ((1, 1),), 1, {"replace-one": Fraction(1), "add-remove": Fraction(1)}),
    ("histogram", ((1, 1),), 10, {"replace-one": Fraction(2), "add-remove": Fraction(1)}),
    ("sum of 1..10", ((1, 10),), 1, {"replace-one": Fraction(10), "add-remove": Fraction(10)}),
    (
        "centred sum, twice 1..10 minus 11",
        ((-9, 9),),
        1,
        {"replace-one": Fraction(18), "add-remove": Fraction(9)},
    ),
)


def _chart() -> Chart:
    """Why means are easy: the average of n heights, with n in public."""
    rows = tuple(10**i for i in range(1, 7))
    return Chart(
        "rows",
        "how far one person moves it (cm)",
        (
            ChartLine("average height", rows, tuple(299 / n for n in rows)),
            ChartLine("maximum height", rows, tuple(299.0 for _ in rows)),
        ),
        ("x", "y"),
    )


_NOTES = (
    "Replacing somebody is removing one person and adding another: a histogram moves in two cells.",
    "adyton's bound for a sum under replace-one is 10, not 9: a row without a value is a neighbor too.",
    "So a mean is read as a centred sum (half the sensitivity, measured in doubled steps) and a count.",
    "Every table of 3 rows was tried; more rows change nothing but the average's 299/n.",
)
