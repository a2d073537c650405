"""Coordinated answers: all ranges of a column at one price, each by itself or measured together."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import TypeVar

import numpy as np

from adyton.certify import Bound
from adyton.curator import Curator, open_study
from adyton.figures.report import Chart, ChartLine, LabFinding, LabReport, Topic
from adyton.figures.sources import LI_MIKLAU
from adyton.kernel.exact.cells import Floats
from adyton.kernel.mechanisms.geometric import GeometricNoise
from adyton.kernel.noise import Bits
from adyton.kernel.noise.refine import Integers
from adyton.kernel.privacy import Guarantee, PrivacyUnit
from adyton.kernel.schema import CategoryColumn, IntegerColumn, Table
from adyton.planning.coordinated.range_workload import Ranges
from adyton.study import Study
from adyton.textbook.mwem import Mwem

COORDINATED = Topic(
    "coordinated",
    (LI_MIKLAU,),
    "Coordinated answers: what is asked together is measured together",
    story="An analyst wants all 136 ranges of a column at one price: answer each by itself, or measure a "
    "few things from which all of them follow?",
)
AGES, PEOPLE = 16, 20_000
_FEW, _ROUNDS = 500, 8
_MOST_WITH_ONE = (AGES // 2) ** 2 + AGES // 2  # ranges that hold one age, in the middle
_BUDGET = Guarantee(Fraction(1), Fraction(1, 10**9))
_RANGES = [(first, last) for first in range(AGES) for last in range(first, AGES)]
_ASKED = [f"SELECT COUNT(*) AS n FROM people WHERE age BETWEEN {a} AND {b}" for a, b in _RANGES]
_Made = TypeVar("_Made")


def coordinated(bits: Bits, rng: np.random.Generator) -> LabReport:
    """Half-widths, and whether two neighboring ranges add up to the one that holds both."""
    ages = rng.binomial(AGES - 1, 0.4, PEOPLE)
    alone, together = (_widths(ages, strategy) for strategy in ("independent", None))
    gain = (sum(w * w for w in alone) / sum(w * w for w in together)) ** 0.5
    findings = (
        LabFinding(f"noise of each of {len(_RANGES)} ranges by itself, ± at 95 %", max(alone)),
        LabFinding("noise of the widest when measured together, ± at 95 %", max(together)),
        LabFinding("times narrower on average", gain),
        LabFinding("two ranges less the one that they make, each by itself", _gap(ages, "independent")),
        LabFinding("the same when measured together", _gap(ages, None), 0, 1e-6),
        *_guessed(bits, rng),
        *_pmw(),
    )
    return LabReport(COORDINATED, findings, _NOTES, _chart(alone, together))


def _guessed(bits: Bits, rng: np.random.Generator) -> tuple[LabFinding, ...]:
    """Few people: a guess that is corrected where it is worst, beside noise on every range."""
    ages = np.bincount(rng.binomial(AGES - 1, 0.4, _FEW), minlength=AGES)
    ranges = Ranges(AGES)
    exact = np.asarray(ranges.numerators(ages), np.int64)
    mwem = Mwem.for_cost(ranges, Fraction(1), _ROUNDS)
    told = mwem.release(ranges, exact, _FEW, bits).answers(ranges)
    error, bound = np.abs(told - exact / _FEW), mwem.error(AGES, _FEW, 0.999)
    alone = GeometricNoise((Fraction(_MOST_WITH_ONE),))  # one person is in so many ranges
    noisy = np.array(alone.release([exact.tolist()], bits)[0], float)
    return (
        LabFinding(
            f"{_FEW} people, epsilon 1, noise on each range: mean error", _mean_gap(noisy, exact), share=True
        ),
        LabFinding(f"the same by MWEM, {_ROUNDS} rounds", float(error.mean()), share=True),
        LabFinding("its worst range", float(error.max()), share=True),
        LabFinding("is that within its bound of 99.9 %", float(error.max() <= bound), 1, 0),
    )


def _mean_gap(noisy: Floats, exact: Integers) -> float:
    return float(np.abs(noisy - exact).mean() / _FEW)


def _pmw() -> tuple[LabFinding, ...]:
    """What a curator expects of PMW, and of noise on each answer: 10,000 counts over a million cells."""
    values = tuple("123456789")
    table = Table("people", tuple(CategoryColumn(name, values) for name in "abcdef"), rows=10_000)
    budget = Guarantee(Fraction(1), Fraction(1, 10**6))
    with open_study(
        Study(table, PrivacyUnit("replace-one"), budget), data=Path("never-read.parquet")
    ) as curator:
        seen = curator.preview_pmw(list("abcdef"), queries=10_000, share=1)
    return (
        LabFinding(
            "10,000 counts of 10,000 people, each with own noise: error", seen.independent, share=True
        ),
        LabFinding("the same by PMW", seen.error, share=True),
        LabFinding("is PMW better there", float(seen.error < seen.independent), 1, 0),
    )


def _widths(ages: np.ndarray, strategy: str | None) -> list[float]:
    def bounds(curator: Curator) -> list[Bound]:
        return [p.bounds["n"] for p in curator.preview_many(_ASKED, share=1, strategy=strategy)]

    return [float(bound.half_width or 0) for bound in _with_curator(ages, bounds)]


def _gap(ages: np.ndarray, strategy: str | None) -> float:
    """The largest difference between n(0..b) + n(b + 1..last) and n(0..last)."""

    def values(curator: Curator) -> list[float]:
        return [float(a.value) for a in curator.ask_many(_ASKED, share=1, strategy=strategy)]

    found = dict(zip(_RANGES, _with_curator(ages, values), strict=True))
    last = AGES - 1
    return max(abs(found[0, b] + found[b + 1, last] - found[0, last]) for b in range(last))


def _with_curator(ages: np.ndarray, ask: Callable[[Curator], _Made]) -> _Made:
    import pyarrow as pa

    table = Table("people", (IntegerColumn("age", 0, AGES - 1),))
    study = Study(table, PrivacyUnit("add-remove"), _BUDGET)
    with open_study(study, data=pa.table({"age": ages})) as curator:
        return ask(curator)


def _chart(alone: list[float], together: list[float]) -> Chart:
    lengths = np.array([last - first + 1 for first, last in _RANGES])
    x = tuple(range(1, AGES + 1))

    def mean(widths: list[float]) -> tuple[float, ...]:
        return tuple(float(np.array(widths)[lengths == length].mean()) for length in x)

    return Chart(
        "length of the range",
        "noise of a range, ± at 95 %",
        (
            ChartLine("each by itself", x, mean(alone)),
            ChartLine("measured together", x, mean(together), strong=True),
        ),
        ("y",),
    )


_NOTES = (
    "One price for all. By itself each range pays for every other that the same person is in.",
    "Together a few sums of ages are measured, chosen for these ranges, and least squares make all of them.",
    "MWEM and PMW answer from a guess that is corrected where it is found wrong: for few people and many"
    " queries.",
)
