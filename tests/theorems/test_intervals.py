"""Ratios, quantiles and sums of answers: every interval against everything that the widths leave open."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_tables import SMALL, Small

from adyton.errors import InvalidRequest
from adyton.exact import float_down, float_up
from adyton.validity.intervals import cdf_band, linear_width, quantile_interval, ratio_interval

unit = st.floats(0, 1)
signed = st.floats(-1, 1)


@settings(max_examples=300)
@given(
    unit, st.floats(0.001, 1), st.floats(0, 0.3), st.floats(0, 0.3), st.floats(0, 0.3), signed, signed, signed
)
def test_theorem_RATIO_OF_MEANS_contains_every_ratio_that_is_possible(
    theta: float, below: float, t_f: float, t_g: float, t2: float, z_f: float, z_g: float, shift: float
) -> None:
    """theta and E g are the truth; the posterior means obey (f - theta g)(Q) = shift t2; noises are z t."""
    posterior_g = min(1.0, max(0.0, below + 0.1 * z_f))
    posterior_f = theta * posterior_g + shift * t2
    top, bottom = posterior_f + z_f * t_f, posterior_g + z_g * t_g
    low, high = ratio_interval(top, bottom, (t_f, t_g), t2)
    assert low - 1e-9 <= theta <= high + 1e-9


def test_theorem_RATIO_OF_MEANS_uses_the_stability_once() -> None:
    low, high = ratio_interval(0.2, 0.4, (0.01, 0.01), 0.02)
    assert (low, high) == (pytest.approx(0.17 / 0.41), pytest.approx(0.23 / 0.39))
    assert ratio_interval(0.2, 0.005, (0.01, 0.01), 0.02)[1] == 1
    assert ratio_interval(0.0, 0.0, (0.01, 0.01), 0.02) == (0, 1)
    with pytest.raises(InvalidRequest):
        ratio_interval(0.2, 0.4, (-0.01, 0.01), 0.02)


@pytest.mark.literature
def test_theorem_RATIO_OF_MEANS_range_of_the_difference() -> None:
    """f - theta g lies in [-theta, 1 - theta], and both ends are reached."""
    steps = [i / 10 for i in range(11)]
    for theta in steps:
        values = [f - theta * g for g in steps for f in steps if f <= g]
        assert min(values) == pytest.approx(-theta)
        assert max(values) == pytest.approx(1 - theta)


@settings(max_examples=200)
@given(
    st.lists(st.tuples(st.integers(0, 20), signed), min_size=1, max_size=8),
    st.floats(0.05, 0.95),
    st.floats(0, 0.2),
)
def test_theorem_QUANTILE_FROM_SHARES_contains_the_quantile(
    asked: list[tuple[int, float]], level: float, width: float
) -> None:
    """A law on 0..20 with uneven steps; answers anywhere within the width."""
    weights = [(i * i) % 7 + 1 for i in range(21)]
    shares = [sum(weights[: i + 1]) / sum(weights) for i in range(21)]
    answers = [shares[v] + z * width for v, z in asked]
    thresholds = [float(v) for v, _ in asked]
    low, high = quantile_interval(thresholds, answers, level, width)
    quantile = next(i for i in range(21) if shares[i] >= level)
    assert low < quantile <= high
    for v, (bottom, top) in cdf_band(thresholds, answers, width):
        assert bottom - 1e-12 <= shares[int(v)] <= top + 1e-12


def test_theorem_QUANTILE_FROM_SHARES_narrows_with_the_width() -> None:
    thresholds = [i / 100 for i in range(101)]
    low, high = quantile_interval(thresholds, thresholds, 0.5, 0.02)
    assert (low, high) == (pytest.approx(0.47), pytest.approx(0.53))
    assert quantile_interval([], [], 0.5, 0.1) == (-math.inf, math.inf)
    band = cdf_band([0.3, 0.1], [0.36, 0.4], 0.05)
    assert [v for v, _ in band] == [0.1, 0.3]
    assert band[1][1].low == pytest.approx(0.35)  # a share cannot fall
    for bad in (0.0, 1.0):
        with pytest.raises(InvalidRequest):
            quantile_interval([0.1], [0.2], bad, 0.1)
    with pytest.raises(InvalidRequest):
        quantile_interval([0.1], [], 0.5, 0.1)


@settings(max_examples=300)
@given(st.fractions(0, 1, max_denominator=10**6), st.sampled_from([-1, 1]), st.floats(0, 1e-9))
def test_theorem_QUANTILE_FROM_SHARES_is_exact_to_the_last_digit(
    share: Fraction, side: int, width: float
) -> None:
    """An answer as far away as the width allows, in rationals: neither end of the band may pass the share."""
    answer = float_down(share + Fraction(width)) if side > 0 else float_up(share - Fraction(width))
    if abs(Fraction(answer) - share) <= Fraction(width):
        ((_, (low, high)),) = cdf_band([0.0], [answer], width)
        assert Fraction(low) <= share <= Fraction(high)


@settings(max_examples=200)
@given(
    st.lists(st.tuples(signed, signed, unit, unit), min_size=1, max_size=5),
    st.floats(0, 0.2),
    st.floats(0, 0.2),
)
def test_theorem_LINEAR_IN_ANSWERS_error_of_a_sum(
    terms: list[tuple[float, float, float, float]], t1: float, t2: float
) -> None:
    """Weights, signs of the noises, prior and posterior means that are t2 apart along the worst function."""
    weights = [w for w, _, _, _ in terms]
    noise = sum(w * z * t1 for w, z, _, _ in terms)
    reach = (sum(min(w, 0) for w in weights), sum(max(w, 0) for w in weights))
    moved = (reach[1] - reach[0]) * t2  # the most by which X_T <= t2 can move the mean of such a sum
    assert abs(noise) + moved <= linear_width(weights, [t1] * len(weights), reach, t2) + 1e-12
    with pytest.raises(InvalidRequest):
        linear_width(weights, [], reach, t2)


def test_theorem_LINEAR_IN_ANSWERS_a_difference_pays_its_own_range() -> None:
    """Two disjoint groups: the difference has range [-1, 1], so the stability counts twice."""
    assert linear_width([1, -1], [0.01, 0.01], (-1, 1), 0.02) == pytest.approx(0.06)


# Exact posteriors: what the answers hide of their noise, and X_T, at every transcript ----------------------


@pytest.mark.parametrize("small", SMALL)
def test_theorem_LINEAR_IN_ANSWERS_at_every_transcript_of_a_small_table(small: Small) -> None:
    """phi = w_1 q_1 + w_2 q_2, the second question chosen by the first answer; nothing is left to chance."""
    hidden, distance = np.abs(small.noise / small.density), small.distance()
    low = small.first < 0.5
    for weights in ((1.0, 1.0), (1.0, -1.0), (0.3, 2.0)):
        for chosen, where in ((1, low), (2, ~low)):
            phi = weights[0] * small.tables[0] + weights[1] * small.tables[chosen]
            error = np.abs(weights[0] * small.first + weights[1] * small.second - float(phi @ small.law))
            length = float(phi.max() - phi.min())
            noise = abs(weights[0]) * hidden[0] + abs(weights[1]) * hidden[1]
            assert np.all((error <= noise + length * distance + 1e-9)[where])
            i = np.unravel_index(np.argmax(np.where(where, error, -1)), error.shape)
            noises = [float(h[i]) for h in hidden]
            assert (
                error[i] <= linear_width(weights, noises, (phi.min(), phi.max()), float(distance[i])) + 1e-9
            )


def test_theorem_RATIO_OF_MEANS_at_every_transcript_of_a_small_table() -> None:
    """g is 0, 1 or 1, f is 0, 0 or 1, of three kinds of rows; both are asked.  t2 once is enough, half is not."""
    small = Small([0.2, 0.5, 0.3], [[0, 1, 1], [0, 0, 1], [0, 0, 1]], 2, 1.2)
    hidden, distance = np.abs(small.noise / small.density), small.distance()
    theta, refuted = 0.3 / 0.8, 0
    for i in np.ndindex(small.first.shape):
        top, bottom, noise = small.second[i], small.first[i], (float(hidden[1][i]), float(hidden[0][i]))
        low, high = ratio_interval(top, bottom, noise, float(distance[i]))
        assert low - 1e-9 <= theta <= high + 1e-9
        low, high = ratio_interval(top, bottom, (0.0, 0.0), float(distance[i]))
        refuted += not low <= theta <= high
    assert refuted > 0  # without the noise's widths it would not hold
