"""Privacy as a test: how well can anybody tell "Sasho smokes" from "he does not"?"""

from __future__ import annotations

import math
from fractions import Fraction

from adyton.figures.report import Chart, ChartLine, LabFinding, LabReport, Topic
from adyton.figures.sources import BASSI, NIKOLOV, ZHOU
from adyton.kernel.accounting import gaussian
from adyton.kernel.exact.special import special
from adyton.noise_intervals.laws import geometric_tail

TWO_HYPOTHESES = Topic(
    "two-hypotheses",
    (BASSI, NIKOLOV, ZHOU),
    "Two hypotheses: no test has more than e^epsilon true positives for each false positive",
    story="A prosecutor has the noisy answer and must decide whether Sasho smokes: how good can the best "
    "test be?",
)
_EPSILON = 1.0
_MU = 0.5


def two_hypotheses() -> LabReport:
    """The best tests between a count of 0 and of 1, for geometric and for Gaussian noise."""
    tests = best_tests(1 / _EPSILON)
    delta = gaussian.delta_up(_MU, _EPSILON)
    findings = (
        LabFinding(
            "most true positives per false positive, geometric noise, epsilon 1", _steepest(tests), math.e
        ),
        LabFinding(
            "most true negatives per false negative", _steepest(wrong_negatives(1 / _EPSILON)), math.e
        ),
        LabFinding(
            "delta at epsilon 1 of Gaussian noise, mu = 1/2, from its best test",
            _gaussian_delta(),
            delta,
            1e-9,
        ),
        LabFinding("power of that noise's best test at 5 % false positives", _power(0.05), share=True),
    )
    return LabReport(TWO_HYPOTHESES, findings, _NOTES, _chart(tests))


def best_tests(scale: float) -> list[tuple[float, float]]:
    """(false, true) positives of "the output is at least t", the best tests by Neyman and Pearson."""
    return [(geometric_tail(scale, t), geometric_tail(scale, t - 1)) for t in range(-30, 32)]


def wrong_negatives(scale: float) -> list[tuple[float, float]]:
    """(wrong, honest) negatives of the same tests."""
    return [(geometric_tail(scale, 2 - t), geometric_tail(scale, 1 - t)) for t in range(-30, 32)]


def _steepest(tests: list[tuple[float, float]]) -> float:
    return max(true / false for false, true in tests if false > 1e-12)


def _power(false: float) -> float:
    """Phi(Phi^-1(false) + mu): the curve that defines mu-GDP."""
    return float(special().ndtr(special().ndtri(false) + _MU))


def _gaussian_delta() -> float:
    """The largest true - e^epsilon false over all thresholds, by a fine grid about the best one."""
    best = _EPSILON / _MU + _MU / 2
    grid = (best + Fraction(i, 10_000) for i in range(-50, 51))
    return max(
        float(special().ndtr(_MU - t) - math.exp(_EPSILON) * special().ndtr(-t)) for t in map(float, grid)
    )


def _chart(tests: list[tuple[float, float]]) -> Chart:
    false = tuple(i / 100 for i in range(101))
    bound = tuple(min(1.0, math.e * f, 1 - math.exp(-1) * (1 - f)) for f in false)
    shown = [(0.0, 0.0), *sorted(tests), (1.0, 1.0)]
    return Chart(
        "false positives: accused, but innocent",
        "true positives: accused, and rightly so",
        (
            ChartLine("no test is above: epsilon 1", false, bound, limit=True),
            ChartLine("geometric noise", tuple(f for f, _ in shown), tuple(t for _, t in shown)),
            ChartLine("Gaussian noise, mu = 1/2", false[1:-1], tuple(_power(f) for f in false[1:-1])),
            ChartLine("guessing", false, false),
        ),
        percent=("x", "y"),
    )


_NOTES = (
    "For every test: P(accused | he smokes) <= e^epsilon P(accused | he does not), and the other way round.",
    "A single output has the same bound as a set of outputs: a sum of terms keeps the ratio of its terms.",
)
