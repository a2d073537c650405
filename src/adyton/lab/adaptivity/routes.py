"""The routes from answers to a population: the same rows and queries, and what each theorem certifies."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from adyton.figures.report import Chart, ChartLine, LabFinding, LabReport, Topic
from adyton.figures.sources import BASSI, LI
from adyton.kernel.mechanisms.gaussian import GaussianNoise
from adyton.kernel.noise import Bits
from adyton.validity.planner import plan

ROUTES = Topic(
    "routes",
    (BASSI, LI),
    "Routes to generalisation: the same queries of the same rows, by each theorem",
    story="Queries are asked, each after seeing the answers so far: how exact may each theorem call the "
    "answers, from the same rows?",
)
_ROWS, _WITHIN = 100_000, "0.1"
_EXPECTED = {
    "split": 219,
    "rounding": 412,
    "jlnrss": 153,
    "rrsstw": 263,
    "hinge": 7943,
    "subset": 50_732,
    "subset, decreasing": 101_494,
}
_ASKED, _TRIED_ON, _RUNS = 100, 4000, 40
_ALONG = (1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000)


def routes(bits: Bits, rng: np.random.Generator) -> LabReport:
    """Certified queries within 0.1 of 100,000 rows; and 100 answers under attack."""
    certified = {option.method: option.value for option in plan(rows=_ROWS, tolerance=_WITHIN).options}
    findings = [
        LabFinding(
            f"queries within {_WITHIN} from {_ROWS:,} rows, {name}", value or 0, _EXPECTED.get(name), 0
        )
        for name, value in certified.items()
    ]
    width, scale = _ours(_TRIED_ON)
    worst = max(_attacked(scale, bits, rng) for _ in range(_RUNS))
    findings += [
        LabFinding(f"{_TRIED_ON:,} rows, {_ASKED} answers, subset: half-width", width, share=True),
        LabFinding(f"worst answer of {_RUNS} attacks on it", worst, share=True),
        LabFinding("attacks that pass the half-width", float(worst > width), 0, 0),
    ]
    return LabReport(ROUTES, tuple(findings), _NOTES, _chart())


def _ours(rows: int) -> tuple[float, float]:
    """Half-width and noise of the route without a plan that decreases."""
    options = {option.method: option for option in plan(rows=rows, queries=_ASKED).options}
    found = options["subset"]
    return float(found.value or 1), float(found.scale or 0)


def _attacked(scale: float, bits: Bits, rng: np.random.Generator) -> float:
    """Random queries, a vote of the answers, and the query that the vote asks: the largest error."""
    noise = GaussianNoise((Fraction(scale) * _TRIED_ON,))
    table = rng.integers(0, 2, (_TRIED_ON, _ASKED - 1), dtype=np.int8)
    counts = table.sum(axis=0, dtype=np.int64).tolist()
    told = np.array(noise.release([counts], bits)[0], float) / _TRIED_ON
    votes = (2 * table.astype(np.float32) - 1) @ (told - 0.5).astype(np.float32)
    fits = int(np.count_nonzero(votes > 0))
    last = int(noise.release([[fits]], bits)[0][0]) / _TRIED_ON
    return float(max(np.abs(told - 0.5).max(), abs(last - 0.5)))


def _chart() -> Chart:
    """Half-width of 100 adaptive answers against the number of rows; what says nothing is left out."""
    made = [plan(rows=rows, queries=_ASKED) for rows in _ALONG]
    found: dict[str, list[tuple[int, float]]] = {}
    for rows, comparison in zip(_ALONG, made, strict=True):
        for option in comparison.options:
            if option.value is not None and option.value < 0.5:
                found.setdefault(option.method, []).append((rows, float(option.value)))
    lines = tuple(
        ChartLine(name, tuple(x for x, _ in points), tuple(y for _, y in points), strong=name == "subset")
        for name, points in found.items()
        if len(points) > 1
    )
    return Chart("rows", f"half-width of {_ASKED} adaptive answers", lines, ("x", "y"), ("y",))


_NOTES = (
    "split: fresh rows for each query. rounding: few digits, so few transcripts. laplace, jlnrss, rrsstw: "
    "published theorems about noisy answers. hinge, subset: ours.",
    "adyton plan compares them for your own numbers; no width may be chosen after the answers were seen.",
)
