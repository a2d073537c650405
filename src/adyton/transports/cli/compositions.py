"""What ``adyton compose`` and ``adyton calibrate`` print, and their figures."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from fractions import Fraction

from adyton.accounting.textbook import comparison
from adyton.accounting.textbook.comparison import Calibrated, Composed
from adyton.documents import Document
from adyton.figures import accounting as figures
from adyton.figures.report import LabReport
from adyton.kernel.exact import positive, rational
from adyton.show import Sheet, Shown


def composition_of(
    epsilon: str | None, sigma: str | None, times: int, delta: Fraction, step: Callable[[str], None]
) -> Composition:
    if sigma is not None:
        found = comparison.compose_gaussian(sigma, times, delta, step)
    else:
        assert epsilon is not None
        found = comparison.compose(epsilon, times, delta, step)
    return Composition(epsilon, sigma, times, delta, found)


@dataclass(frozen=True, slots=True)
class Composition(Shown, Document):
    """The answer of compose: of one of epsilon and sigma, so often, and at this delta."""

    epsilon: str | None
    sigma: str | None
    times: int
    delta: Fraction
    results: list[Composed]

    json_keys = "epsilon0 sigma=exact_sigma times delta results"

    @property
    def price(self) -> Fraction:
        """epsilon, or mu = 1 / sigma."""
        return positive(self.epsilon, "epsilon") if self.sigma is None else 1 / positive(self.sigma, "sigma")

    def figure(self, view: str, step: Callable[[str], None]) -> LabReport:
        if view == "composition":
            theorems = comparison.PURE if self.sigma is None else comparison.GAUSSIAN
            return figures.composition_figure(theorems, self.price, self.times, self.delta, step)
        return _of_all(view, self.price, self.times, self.delta, self.sigma is not None, step)

    @property
    def epsilon0(self) -> Fraction | None:
        return None if self.epsilon is None else self.price

    @property
    def exact_sigma(self) -> Fraction | None:
        return None if self.sigma is None else positive(self.sigma, "sigma")

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
class Calibration(Shown, Document):
    """The answer of calibrate."""

    epsilon: Fraction
    delta: Fraction
    times: int
    sensitivity: Fraction
    results: list[Calibrated]

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
        if view == "composition":
            return figures.noise_figure(self.epsilon, self.times, self.delta, self.sensitivity, step)
        mu = next(one.mu for one in self.results if one.theorem == "gdp")
        return _of_all(view, rational(mu, "mu"), self.times, self.delta, True, step)


def _of_all(
    view: str, price: Fraction, times: int, delta: Fraction, is_gaussian: bool, step: Callable[[str], None]
) -> LabReport:
    """The profile or the trade-off curve of ``times`` releases of one price together."""
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


def _up(value: float) -> str:
    return _six_digits(value, ROUND_CEILING)


def _down(value: float) -> str:
    return _six_digits(value, ROUND_FLOOR)


def _six_digits(value: float, rounding: str) -> str:
    """For people, and still on the safe side."""
    return f"{float(Context(prec=6, rounding=rounding).create_decimal_from_float(value)):.6g}"
