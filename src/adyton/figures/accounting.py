"""Figures of accounting: composition by every theorem, noise, privacy profile and trade-off curve."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

from adyton.accounting.pld import pairs, pld
from adyton.accounting.textbook import comparison
from adyton.accounting.textbook.composition import same
from adyton.accounting.textbook.optimal import optimal_delta
from adyton.accounting.textbook.trade_off import (
    ApproximateView,
    GaussianView,
    LaplaceView,
    Testable,
    trade_off,
)
from adyton.figures.report import Chart, ChartLine, LabReport, Topic
from adyton.kernel.accounting import gaussian
from adyton.kernel.exact import Number
from adyton.kernel.privacy import Guarantee

DeltaCurve = Callable[[float], float]
Step = comparison.Step

_SOURCE = "adyton's calculators, each by its theorem: docs/reference/accounting.md"
NAMES = {
    "basic": "basic composition",
    "advanced": "advanced composition",
    "strong": "strong composition",
    "optimal": "optimal composition",
    "zcdp": "concentrated privacy (zCDP)",
    "rdp_laplace": "Renyi privacy of Laplace noise",
    "pld_laplace": "privacy losses (PLD) of Laplace noise",
    "pld_randomized_response": "privacy losses (PLD) of randomized response",
    "gdp": "Gaussian privacy (GDP)",
    "rdp": "Renyi privacy",
    "pld": "privacy losses (PLD)",
}
_POINTS = 40
_LEAST_SHOWN = 1e-12  # of delta: below it the axis would be all there is to see


def composition_figure(
    theorems: Sequence[comparison.Theorem], price: Fraction, times: int, delta: Fraction, step: Step
) -> LabReport:
    """epsilon against the number of releases, one line for each theorem."""
    counts = _counts(times, 24)
    lines = []
    for theorem in theorems:
        step(theorem.name)
        values = [theorem.epsilon(price, k, delta) for k in counts]
        lines.append(_line(NAMES[theorem.name], counts, values))
    title = f"What up to {times:,} releases reveal together, at delta = {float(delta):g}"
    return _report(
        "composition",
        title,
        Chart("number of releases", "epsilon of all releases together", tuple(lines), ("x", "y")),
    )


def noise_figure(
    target: Fraction, times: int, delta: Fraction, sensitivity: Fraction, step: Step
) -> LabReport:
    """The noise that each theorem asks for, against the number of releases."""
    counts = _counts(times, 9)
    found = {k: comparison.calibrate(target, k, delta, sensitivity, step) for k in counts}
    labels = [f"{one.mechanism.capitalize()} noise, {NAMES[one.theorem]}" for one in found[counts[0]]]
    lines = tuple(_line(label, counts, [found[k][i].scale for k in counts]) for i, label in enumerate(labels))
    title = f"Noise for up to {times:,} releases inside epsilon {float(target):g}, delta {float(delta):g}"
    return _report(
        "noise",
        title,
        Chart("number of releases", "noise scale (b of Laplace, sigma of Gaussian)", lines, ("x", "y")),
    )


def profile_figure(profiles: dict[str, DeltaCurve], highest: float, title: str, step: Step) -> LabReport:
    """delta(epsilon): every point is a guarantee that holds."""
    points = [highest * i / _POINTS for i in range(_POINTS + 1)]
    lines = []
    for name, delta in profiles.items():
        step(name)
        pairs_shown = [(x, y) for x in points if (y := delta(x)) >= _LEAST_SHOWN]
        lines.append(ChartLine(name, tuple(x for x, _ in pairs_shown), tuple(y for _, y in pairs_shown)))
    return _report(
        "profile", title, Chart("epsilon", "delta that holds with this epsilon", tuple(lines), ("y",))
    )


def trade_off_figure(views: dict[str, Testable], title: str, step: Step) -> LabReport:
    """The least chance of missing a difference, for each chance of a false alarm."""
    points = [i / (2 * _POINTS) for i in range(2 * _POINTS + 1)]
    lines = [_line("nothing revealed", points, [1 - x for x in points])]
    for name, view in views.items():
        step(name)
        lines.append(_line(name, points, [trade_off(view, x) for x in points]))
    return _report(
        "trade-off",
        title,
        Chart(
            "chance of a false alarm (type I error)", "least chance of a miss (type II error)", tuple(lines)
        ),
    )


class ProfileView:
    """The trade-off curve that a whole profile implies: the best of the lines of many epsilons."""

    def __init__(self, profile: DeltaCurve, highest: float) -> None:
        self._epsilons = [highest * i / _POINTS for i in range(_POINTS + 1)]
        self._deltas = [min(1.0, profile(epsilon)) for epsilon in self._epsilons]

    def true_positives_up(self, false: Number) -> float:
        fpr = float(false)
        return max(
            0.0, min(1.0, *(self._one(e, d, fpr) for e, d in zip(self._epsilons, self._deltas, strict=True)))
        )

    def delta_up(self, epsilon: float) -> float:
        return min(d for e, d in zip(self._epsilons, self._deltas, strict=True) if e <= epsilon)

    def _one(self, epsilon: float, delta: float, fpr: float) -> float:
        return min(math.exp(epsilon) * fpr + delta, 1 - math.exp(-epsilon) * (1 - delta - fpr))


def profiles_of(epsilon0: Fraction, times: int) -> dict[str, DeltaCurve]:
    """Of ``times`` releases of a pure epsilon0: whatever they are, and if they add Laplace noise."""
    found: dict[str, DeltaCurve] = {
        "all together, whatever they are": lambda e: optimal_delta(same(epsilon0, times), e)
    }
    if epsilon0 <= pairs.LARGEST_REACH:
        plan = [(pairs.LaplacePair(epsilon0), times)]
        found["all together, Laplace noise"] = lambda e: pld.delta_up(plan, e)
    return found


def gaussian_profile(mu: float) -> dict[str, DeltaCurve]:
    return {"all together, Gaussian noise": lambda e: gaussian.delta_up(mu, e)}


def views_of_one(epsilon0: Fraction) -> dict[str, Testable]:
    return {
        "one release, whatever it is": ApproximateView(Guarantee(epsilon0, Fraction(0))),
        "one release, Laplace noise": LaplaceView(epsilon0),
    }


def view_of_gaussian(mu: float, label: str) -> dict[str, Testable]:
    return {label: GaussianView(mu)}


def _counts(times: int, most: int) -> list[int]:
    """Whole numbers from 1 to ``times``, evenly spread on a logarithmic axis."""
    return sorted({round(times ** (i / (most - 1))) for i in range(most)}) if times > 1 else [1]


def _line(name: str, x: Sequence[float], y: Sequence[float]) -> ChartLine:
    return ChartLine(name, tuple(map(float, x)), tuple(map(float, y)))


def _report(name: str, title: str, chart: Chart) -> LabReport:
    return LabReport(Topic(name, (), title, (_SOURCE,)), (), (), chart)
