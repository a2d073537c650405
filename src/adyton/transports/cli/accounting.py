"""adyton compose and calibrate: what many releases cost by every theorem, and the noise they need."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from adyton.errors import InvalidRequest
from adyton.kernel.exact import positive, rational
from adyton.show import Sheet, Shown
from adyton.transports.figure_file import Figure, check_figure, write_figure
from adyton.transports.terminal import Json, progress, show, whole

if TYPE_CHECKING:  # numpy's and mpmath's share of these takes 0.1 s, which other commands need not wait for
    from adyton.accounting.textbook.comparison import Calibrated, Composed
    from adyton.figures.report import LabReport

VIEWS = ("composition", "profile", "trade-off")

Each = Annotated[str | None, typer.Option(help="Pure epsilon of each release.", metavar="E")]
Sigma = Annotated[
    str | None, typer.Option(help="Or Gaussian noise of this deviation, sensitivity 1.", metavar="S")
]
Target = Annotated[str, typer.Option(help="What all releases together may reveal.", metavar="E")]
Delta = Annotated[str, typer.Option(help="Total delta, above 0 and below 1.", metavar="D")]
Times = Annotated[str, typer.Option(help="Number of releases.", metavar="K")]
Sensitivity = Annotated[
    str, typer.Option(help="Sensitivity of each release: L1 for Laplace, L2 for Gaussian.", metavar="X")
]
View = Annotated[str, typer.Option(help="Which figure: composition, profile or trade-off.", metavar="NAME")]


def compose(
    epsilon: Each = None,
    sigma: Sigma = None,
    times: Times = "1",
    delta: Delta = "1e-6",
    figure: Figure = None,
    view: View = "composition",
    as_json: Json = False,
) -> None:
    """Say what many releases reveal together, by every theorem side by side."""

    def make() -> Composition:
        if (epsilon is None) == (sigma is None):
            raise InvalidRequest("give either --epsilon or --sigma: the price of one release")
        count, total = whole(times, "--times"), rational(delta, "delta")
        _check(view, figure)
        with progress("composing") as step:
            found = _composed(epsilon, sigma, count, total, step)
            composition = Composition(epsilon, sigma, count, total, found)
            if figure is not None:
                write_figure(composition.figure(view, step).figure(), figure)
        return composition

    show(make, as_json)


def calibrate(
    epsilon: Target,
    delta: Delta = "1e-6",
    times: Times = "1",
    sensitivity: Sensitivity = "1",
    figure: Figure = None,
    view: View = "composition",
    as_json: Json = False,
) -> None:
    """Say how much noise keeps many releases inside one guarantee, by every theorem and mechanism."""

    def make() -> Calibration:
        from adyton.accounting.textbook import comparison

        count, total = whole(times, "--times"), rational(delta, "delta")
        _check(view, figure)
        with progress("composing") as step:
            found = comparison.calibrate(epsilon, count, total, sensitivity, step)
            calibration = Calibration(
                positive(epsilon, "epsilon"), total, count, positive(sensitivity, "the sensitivity"), found
            )
            if figure is not None:
                write_figure(calibration.figure(view, step).figure(), figure)
        return calibration

    show(make, as_json)


def _composed(
    epsilon: str | None, sigma: str | None, times: int, delta: Fraction, step: Callable[[str], None]
) -> list[Composed]:
    from adyton.accounting.textbook import comparison

    if sigma is not None:
        return comparison.compose_gaussian(sigma, times, delta, step)
    assert epsilon is not None
    return comparison.compose(epsilon, times, delta, step)


@dataclass(frozen=True, slots=True)
class Composition(Shown):
    """The answer of compose: of one of epsilon and sigma, so often, and at this delta."""

    epsilon: str | None
    sigma: str | None
    times: int
    delta: Fraction
    results: list[Composed]

    @property
    def price(self) -> Fraction:
        """epsilon, or mu = 1 / sigma."""
        return positive(self.epsilon, "epsilon") if self.sigma is None else 1 / positive(self.sigma, "sigma")

    def figure(self, view: str, step: Callable[[str], None]) -> LabReport:
        from adyton.accounting.textbook import comparison
        from adyton.figures import accounting as figures

        if view == "composition":
            theorems = comparison.PURE if self.sigma is None else comparison.GAUSSIAN
            return figures.composition_figure(theorems, self.price, self.times, self.delta, step)
        return _of_all(view, self.price, self.times, self.delta, self.sigma is not None, step)

    def to_json(self) -> dict[str, Any]:
        return {
            "epsilon0": None if self.epsilon is None else float(self.price),
            "sigma": None if self.sigma is None else float(positive(self.sigma, "sigma")),
            "times": self.times,
            "delta": float(self.delta),
            "results": [
                {"theorem": one.theorem, "epsilon": one.epsilon, "holds_for": one.holds_for}
                for one in self.results
            ],
        }

    def sheet(self, verbose: bool = False) -> Sheet:
        each = f"epsilon {self.epsilon}" if self.sigma is None else f"sigma {self.sigma}"
        title = f"{self.times:,} releases of {each}, together, at delta {float(self.delta):g}"
        rows = tuple((one.theorem, one.holds_for, _up(one.epsilon)) for one in self.results)
        notes = (
            "Every line is true, so the smallest that holds for your releases counts.",
            "The prices are fixed in advance; for prices chosen on the way, use the accounting of a study.",
        )
        return Sheet(title, ("theorem", "holds for", "epsilon"), rows, notes, left_aligned=2)


@dataclass(frozen=True, slots=True)
class Calibration(Shown):
    """The answer of calibrate."""

    epsilon: Fraction
    delta: Fraction
    times: int
    sensitivity: Fraction
    results: list[Calibrated]

    def to_json(self) -> dict[str, Any]:
        return {
            "epsilon": float(self.epsilon),
            "delta": float(self.delta),
            "times": self.times,
            "sensitivity": float(self.sensitivity),
            "results": [asdict(one) for one in self.results],
        }

    def sheet(self, verbose: bool = False) -> Sheet:
        title = (
            f"Noise for {self.times:,} releases inside epsilon {float(self.epsilon):g}, delta "
            f"{float(self.delta):g}, sensitivity {float(self.sensitivity):g}"
        )
        rows = tuple(
            (
                one.mechanism,
                one.theorem,
                _up(one.scale),
                f"mu {_down(one.mu or 0.0)}" if one.epsilon0 is None else f"epsilon0 {_down(one.epsilon0)}",
            )
            for one in self.results
        )
        notes = (
            "Scale: b of Laplace noise, whose standard deviation is 1.414 b, and sigma of Gaussian noise.",
        )
        return Sheet(
            title, ("mechanism", "theorem", "scale", "one release costs"), rows, notes, left_aligned=2
        )

    def figure(self, view: str, step: Callable[[str], None]) -> LabReport:
        from adyton.figures import accounting as figures

        if view == "composition":
            return figures.noise_figure(self.epsilon, self.times, self.delta, self.sensitivity, step)
        mu = next(one.mu for one in self.results if one.theorem == "gdp")
        return _of_all(view, rational(mu, "mu"), self.times, self.delta, True, step)


def _of_all(
    view: str, price: Fraction, times: int, delta: Fraction, is_gaussian: bool, step: Callable[[str], None]
) -> LabReport:
    """The profile or the trade-off curve of ``times`` releases of one price together."""
    from adyton.accounting.textbook import comparison
    from adyton.figures import accounting as figures

    together = float(price) * math.sqrt(times)
    profiles = figures.gaussian_profile(together) if is_gaussian else figures.profiles_of(price, times)
    best = comparison.THEOREMS["gdp" if is_gaussian else "optimal"].epsilon(price, times, delta)
    highest = min(max(best * 1.25, 1e-6), 500.0)
    label = f"{times:,} releases of {'mu' if is_gaussian else 'epsilon'} {float(price):g}"
    if view == "profile":
        return figures.profile_figure(profiles, highest, f"Privacy profile of {label}", step)
    if is_gaussian:
        views = figures.view_of_gaussian(float(price), "one release, Gaussian noise")
        views |= figures.view_of_gaussian(together, "all together, Gaussian noise")
    else:
        views = figures.views_of_one(price)
        views |= {name: figures.ProfileView(profile, highest) for name, profile in profiles.items()}
    return figures.trade_off_figure(views, f"Trade-off curve of {label}", step)


def _check(view: str, figure: Path | None) -> None:
    if view not in VIEWS:
        raise InvalidRequest(f"--view must be one of {', '.join(VIEWS)}, not {view[:40]!r}")
    if figure is None and view != VIEWS[0]:
        raise InvalidRequest("--view chooses a figure: say with --figure where to write it")
    check_figure(figure)


def _up(value: float) -> str:
    return _six_digits(value, ROUND_CEILING)


def _down(value: float) -> str:
    return _six_digits(value, ROUND_FLOOR)


def _six_digits(value: float, rounding: str) -> str:
    """For people, and still on the safe side."""
    return f"{float(Context(prec=6, rounding=rounding).create_decimal_from_float(value)):.6g}"
