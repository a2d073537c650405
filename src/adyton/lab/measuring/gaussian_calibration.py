"""The textbook's Gaussian noise: where its formula breaks its delta, and what it wastes before."""

from __future__ import annotations

from fractions import Fraction

from adyton.accounting.textbook.calibration import (
    analytic_sigma,
    classical_breaks_at,
    classical_sigma,
    true_delta,
)
from adyton.figures.report import Chart, ChartLine, LabFinding, LabReport, Topic
from adyton.figures.sources import BELLET
from adyton.kernel.privacy import Guarantee

GAUSSIAN_CALIBRATION = Topic(
    "gaussian-calibration",
    (BELLET,),
    "Gaussian noise by the textbook: wasteful where it is proved, wrong from about epsilon 7",
    story="A textbook gives a formula for Gaussian noise: what delta does that noise really have?",
)
_BREAKS = {"1e-2": 6.80, "1e-3": 7.50, "1e-5": 8.45, "1e-6": 8.80, "1e-9": 9.65}
_DELTA = Fraction(1, 10**5)


def gaussian_calibration() -> LabReport:
    """sqrt(2 ln(1.25/delta))/epsilon against the exact delta of Gaussian noise."""
    findings = [
        LabFinding(f"breaks delta {delta} from epsilon", classical_breaks_at(delta), expected, 0.05)
        for delta, expected in _BREAKS.items()
    ]
    findings += [
        LabFinding("true delta at epsilon 10, guaranteed 1e-5", _true_delta(Fraction(10)), 2.27e-5, 1e-7),
        LabFinding("noise over what is needed, epsilon 1, delta 1e-5", waste(Fraction(1)), 1.299, 5e-4),
        LabFinding("noise over what is needed, epsilon 0.1, delta 1e-5", waste(Fraction(1, 10)), 1.576, 5e-4),
    ]
    return LabReport(GAUSSIAN_CALIBRATION, tuple(findings), _NOTES, _chart())


def waste(epsilon: Fraction) -> float:
    guarantee = Guarantee(epsilon, _DELTA)
    return classical_sigma(1, guarantee, unproved=True) / analytic_sigma(1, guarantee)


def _true_delta(epsilon: Fraction) -> float:
    return true_delta(1, classical_sigma(1, Guarantee(epsilon, _DELTA), unproved=True), epsilon)


def _chart() -> Chart:
    epsilons = [Fraction(i, 4) for i in range(1, 49)]
    x = tuple(map(float, epsilons))
    return Chart(
        "epsilon",
        "delta",
        (
            ChartLine(
                "true delta of the textbook's noise", x, tuple(map(_true_delta, epsilons)), strong=True
            ),
            ChartLine("guaranteed delta", x, tuple(float(_DELTA) for _ in x), limit=True),
        ),
        ("y",),
    )


_NOTES = (
    "The expected break points were read off a grid of 0.05; the exact ones are found here.",
    "adyton calibrates by the exact delta; the textbook's formula is refused from epsilon 1 on.",
)
