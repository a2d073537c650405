"""The data of the figures of accounting: every line is what its theorem says."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from adyton.accounting.textbook import comparison
from adyton.accounting.textbook.trade_off import GaussianView
from adyton.figures import accounting as figures

MICRO = Fraction(1, 10**6)
TENTH = Fraction(1, 10)


def silent(name: str) -> None:
    assert name


def test_composition_curves_end_at_the_table() -> None:
    chart = figures.composition_figure(comparison.PURE, TENTH, 100, MICRO, silent).chart
    assert [line.name for line in chart.lines] == [figures.NAMES[theorem.name] for theorem in comparison.PURE]
    assert chart.log == ("x", "y")
    expected = {figures.NAMES[one.theorem]: one.epsilon for one in comparison.compose(TENTH, 100, MICRO)}
    for line in chart.lines:
        assert (line.x[0], line.x[-1]) == (1, 100)
        assert line.y[-1] == expected[line.name]
        assert list(line.y) == sorted(line.y)


def test_one_release_is_one_point() -> None:
    chart = figures.composition_figure(comparison.GAUSSIAN, TENTH, 1, MICRO, silent).chart
    assert all(line.x == (1.0,) for line in chart.lines)


def test_noise_curves_end_at_calibrate() -> None:
    chart = figures.noise_figure(Fraction(1), 50, MICRO, Fraction(2), silent).chart
    expected = [one.scale for one in comparison.calibrate(1, 50, MICRO, 2)]
    assert [line.y[-1] for line in chart.lines] == expected


def test_a_profile_falls_and_laplace_reveals_less_than_the_worst() -> None:
    profiles = figures.profiles_of(TENTH, 100)
    worst, laplace = figures.profile_figure(profiles, 6.0, "title", silent).chart.lines
    for line in (worst, laplace):
        assert list(line.y) == sorted(line.y, reverse=True)
    known = dict(zip(worst.x, worst.y, strict=True))
    assert all(y <= known[x] * (1 + 1e-6) for x, y in zip(laplace.x, laplace.y, strict=True) if x in known)
    assert known[0.0] == pytest.approx(0.3829, abs=2e-3)  # near 2 Phi(1/2) - 1, for mu is near 1


def test_the_trade_off_curves_are_ordered_and_end_at_the_corners() -> None:
    profiles = figures.profiles_of(TENTH, 100)
    views = figures.views_of_one(TENTH) | {name: figures.ProfileView(p, 6.0) for name, p in profiles.items()}
    nothing, one, one_laplace, worst, laplace = figures.trade_off_figure(views, "title", silent).chart.lines
    for i in range(len(nothing.x)):
        assert worst.y[i] <= laplace.y[i] + 1e-6
        assert laplace.y[i] <= one.y[i] <= one_laplace.y[i] + 1e-15 <= nothing.y[i] + 1e-14
    assert (nothing.y[0], nothing.y[-1]) == (1, 0)


def test_the_curve_of_a_profile_is_near_the_true_one_and_never_above() -> None:
    """Lines of 41 epsilons under the Gaussian curve, which is known."""
    (profile,) = figures.gaussian_profile(1.0).values()
    view, truth = figures.ProfileView(profile, 6.0), GaussianView(1.0)
    for false in (0.001, 0.01, 0.1, 0.5, 0.9):
        assert truth.true_positives_up(false) <= view.true_positives_up(false) * (1 + 1e-9)
        assert view.true_positives_up(false) == pytest.approx(truth.true_positives_up(false), abs=0.005)
    assert view.delta_up(3.07) == profile(3.0)


def test_the_figure_of_gaussians_knows_both_curves() -> None:
    views = figures.view_of_gaussian(0.1, "one") | figures.view_of_gaussian(1.0, "all")
    chart = figures.trade_off_figure(views, "title", silent).chart
    assert [line.name for line in chart.lines] == ["nothing revealed", "one", "all"]
    assert math.isclose(chart.lines[2].y[40], 0.15865525393, abs_tol=1e-8)
