"""Uniform noise looks harmless and is private for no epsilon."""

from __future__ import annotations

from fractions import Fraction

from adyton.figures.report import Chart, ChartLine, LabFinding, LabReport, Topic
from adyton.figures.sources import BASSI

UNIFORM_NOISE = Topic(
    "uniform-noise",
    (BASSI,),
    "Uniform noise on a mean: private for no epsilon",
    story="Somebody adds noise that is uniform on a short stretch, and an answer at its edge says whether "
    "Bob is in the table.",
)
_REACH = 10  # L: the noise is uniform on -L/n .. L/n


def uniform_noise() -> LabReport:
    """Uniform noise on the total of n values: the supports of two neighbors differ."""
    findings = tuple(
        LabFinding(
            f"delta at odds of {odds:,}, Bob moves the total by {shift}",
            float(delta(shift, odds)),
            shift / (2 * _REACH + 1),
        )
        for shift in (1, 2, 5)
        for odds in (1, 3, 10**9)
    )
    return LabReport(UNIFORM_NOISE, findings, _NOTES, _chart())


def law(total: int) -> dict[int, Fraction]:
    """The seed's noisy mean, in steps of 1/n."""
    return {total + z: Fraction(1, 2 * _REACH + 1) for z in range(-_REACH, _REACH + 1)}


def delta(shift: int, odds: int) -> Fraction:
    """The largest P(S) - odds Q(S) over all sets S of outputs; ``odds`` stands for e**epsilon."""
    here, there = law(shift), law(0)
    gaps = (chance - odds * there.get(output, Fraction(0)) for output, chance in here.items())
    return sum((gap for gap in gaps if gap > 0), Fraction(0))


def _chart() -> Chart:
    x = tuple(range(-_REACH - 2, _REACH + 8))
    lines = tuple(
        ChartLine(f"total {t}", x, tuple(float(law(t).get(output, Fraction(0))) for output in x))
        for t in (0, 5)
    )
    return Chart("noisy total", "probability", lines)


_NOTES = (
    "delta does not fall as epsilon grows: an output at the edge is possible on one side only.",
    "So it is (0, s/(2L+1))-DP, the total variation distance, and nothing better. Odds are e^epsilon.",
)
