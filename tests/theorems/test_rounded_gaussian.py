"""ROUNDED-GAUSSIAN-SAMPLER: the map from bits to integers, digit by digit, and the resulting law."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from noise_oracle import PRECISION, Script, digits, fit, misplaced
from scipy.special import ndtri

from adyton.errors import InvalidRequest
from adyton.kernel.noise import SystemBits, refine, rounded_gaussian
from adyton.noise_intervals.laws import gaussian_log_pmf, gaussian_pmf, gaussian_tail
from support.randomness import Seeded
from support.tries import often

WORD = st.integers(0, 2**64 - 1) | st.integers(0, 63).map(lambda i: 2**i) | st.sampled_from([0, 2**64 - 1])
SIGMA = st.floats(-3, 12).map(lambda x: 10.0**x)
ALARM = 1e-8  # of each test of fit, were its bits fresh; they are fixed, so it never wavers


def tail(sigma: float, m: int) -> mpmath.mpf:
    """P(Z >= m), by the definition of the normal law."""
    with mpmath.workprec(PRECISION):
        return mpmath.erfc((mpmath.mpf(m) - 0.5) / (mpmath.mpf(sigma) * mpmath.sqrt(2))) / 2


def magnitude(sigma: float, p: mpmath.mpf) -> int:
    """round(sigma * x) where x is the normal quantile of 1 - p, by mpmath's own inverse."""
    x = mpmath.sqrt(2) * mpmath.erfinv(1 - 2 * p)
    return int(mpmath.floor(mpmath.mpf(sigma) * x + 0.5))


def law(sigma: float) -> refine.Law:
    return rounded_gaussian._RoundedGaussian(sigma)


@given(SIGMA, WORD, WORD, WORD)
@example(17.5, 0, 0, 1)
@example(1e-3, 1, 0, 5)
@example(1.0, 2**64 - 1, 2**64 - 1, 2**64 - 1)
@settings(max_examples=often(60, 150), deadline=None, derandomize=True)
def test_theorem_ROUNDED_GAUSSIAN_SAMPLER_maps_every_word_as_the_oracle(
    sigma: float, first: int, second: int, third: int
) -> None:
    with mpmath.workprec(PRECISION):
        whole = (first >> 1) << 128 | second << 64 | third
        expected = magnitude(sigma, mpmath.ldexp(whole + 1, -192))
        assume(whole > 0 and magnitude(sigma, mpmath.ldexp(whole, -192)) == expected)
    bits = Script(first, second, third, 0, 0)
    assert rounded_gaussian.draw(sigma, 1, bits)[0] == (-expected if first & 1 else expected)


@pytest.mark.parametrize("sigma", [0.1, 0.3, 1.0, 17.5, 1000.0, 2.0**30, 2.0**45])
def test_theorem_ROUNDED_GAUSSIAN_SAMPLER_no_word_at_an_edge_is_misplaced(sigma: float) -> None:
    """No word beside a boundary is misplaced."""
    for multiple in (1e-9, 0.1, 0.7, 1.1015, 1.2, 3.0, 5.0, 8.0):
        m = max(1, round(sigma * multiple))
        if m / sigma < 9:
            assert misplaced(law(sigma), lambda m: tail(sigma, m), m) == 0


def test_theorem_ROUNDED_GAUSSIAN_SAMPLER_without_margin_would_misplace(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(refine, "MARGIN", 0.0)
    monkeypatch.setattr(refine, "WIDTH", 0.0)
    assert sum(misplaced(law(1000.0), lambda m: tail(1000.0, m), m) for m in range(700, 720)) > 0


@pytest.mark.parametrize("sigma", [0.3, 1.0, 17.5, 1000.0, 2.0**35, 2.0**52])
@pytest.mark.parametrize("sign", [0, 1])
def test_theorem_ROUNDED_GAUSSIAN_SAMPLER_reads_on_until_it_is_decided(sigma: float, sign: int) -> None:
    """The sampler reads on until the boundary is decided."""
    m = max(1, round(sigma / 2))
    first, second, third = digits(tail(sigma, m), 3)
    for step, expected in ((-1, m), (1, m - 1)):
        bits = Script(first << 1 | sign, second, third + step, 2**63)
        assert rounded_gaussian.draw(sigma, 1, bits)[0] == (-expected if sign else expected)
        assert bits.left == 1


@pytest.mark.parametrize("sigma", [0.3, 1.0, 17.5, 1000.0])
def test_theorem_ROUNDED_GAUSSIAN_SAMPLER_fits_its_law(sigma: float) -> None:
    drawn = rounded_gaussian.draw(sigma, 10**6, Seeded(1))
    assert fit(drawn, lambda z: gaussian_pmf(sigma, z)) > ALARM


@pytest.mark.parametrize("sigma", [0.3, 1.0, 17.5, 1000.0])
def test_theorem_ROUNDED_GAUSSIAN_SAMPLER_a_tenth_less_noise_is_noticed(sigma: float) -> None:
    drawn = rounded_gaussian.draw(0.9 * sigma, 10**6, Seeded(2))
    assert fit(drawn, lambda z: gaussian_pmf(sigma, z)) < ALARM


def test_theorem_ROUNDED_GAUSSIAN_SAMPLER_the_quantile_errs_by_a_quarter() -> None:
    """The quantile errs by a quarter of what is assumed."""
    random = np.random.Generator(np.random.Philox(key=3))
    p = np.concatenate(
        [
            2.0 ** -random.uniform(1, 65, 2000),
            0.5 - 2.0 ** -random.uniform(2, 53, 800),
            np.exp(-2) * (1 + 1e-6 * random.uniform(-1, 1, 800)),  # where scipy changes its formula
            np.exp(-32) * (1 + 1e-3 * random.uniform(-1, 1, 400)),
        ]
    )
    worst = 0.0
    with mpmath.workprec(160):
        for exact_p, x in zip(map(mpmath.mpf, p), map(mpmath.mpf, -ndtri(p)), strict=True):
            error = (mpmath.erfc(x / mpmath.sqrt(2)) / 2 - exact_p) / mpmath.npdf(x)
            worst = max(worst, abs(float(error / x)))
    assert worst < 2.0**-49
    assert refine.MARGIN / 2 >= 4 * 2.0**-49


@given(
    st.floats(-6, 18).map(lambda x: 10.0**x),
    st.floats(0.01, 15).map(lambda x: 1 - 10.0**-x),
    st.integers(-2, 2),
)
@settings(max_examples=120, deadline=None, derandomize=True)
def test_theorem_ROUNDED_GAUSSIAN_SAMPLER_coverage_radius_is_the_least(
    sigma: float, confidence: float, nudge: int
) -> None:
    """Once for any confidence, and once for the floats around one that a radius meets almost exactly."""
    with mpmath.workprec(PRECISION):
        w = rounded_gaussian.coverage_radius(sigma, confidence)
        assert is_least(sigma, w, confidence)
        met = float(1 - 2 * tail(sigma, w + 1))
        for _ in range(abs(nudge)):
            met = math.nextafter(met, math.copysign(2, nudge))
        if 0 < met < 1:
            assert is_least(sigma, rounded_gaussian.coverage_radius(sigma, met), met)


def is_least(sigma: float, w: int, confidence: float) -> bool:
    spare = mpmath.mpf(1) - mpmath.mpf(confidence)
    return w >= 0 and 2 * tail(sigma, w + 1) <= spare and (w == 0 or 2 * tail(sigma, w) > spare)


@given(st.floats(-6, 15).map(lambda x: 10.0**x), st.floats(0, 30))
@settings(max_examples=150, deadline=None, derandomize=True)
def test_theorem_ROUNDED_GAUSSIAN_SAMPLER_printed_probabilities_are_true(
    sigma: float, multiple: float
) -> None:
    z = int(sigma * multiple)
    with mpmath.workprec(PRECISION):
        exact = tail(sigma, z) - tail(sigma, z + 1)
        allowed = 2e-15 * (4 + (z / sigma) ** 2)
        assert abs(gaussian_log_pmf(sigma, z) - mpmath.log(exact)) <= allowed
        assert gaussian_log_pmf(sigma, -z) == gaussian_log_pmf(sigma, z)
        assert abs(gaussian_tail(sigma, z) / tail(sigma, z) - 1) <= 1e-12


def test_theorem_ROUNDED_GAUSSIAN_SAMPLER_follows_leading_zeros() -> None:
    """At sigma = 0.02 a magnitude of 1 lies 25 standard deviations out, at p = 2**-455."""
    assert rounded_gaussian.draw(0.02, 1, Script(*[0] * 8, 2**63)) == [1]
    assert rounded_gaussian.draw(0.02, 1, Script(*[0] * 6, 2**63)) == [0]


@pytest.mark.parametrize("sigma", [5e-324, 1e-300, 1e-3])
def test_theorem_ROUNDED_GAUSSIAN_SAMPLER_tiny_noise_is_no_noise(sigma: float) -> None:
    assert not rounded_gaussian.draw(sigma, 1000, Seeded(4)).any()
    assert rounded_gaussian.draw(sigma, 1, Script(1, 0, 7)) == [0]
    assert rounded_gaussian.coverage_radius(sigma, 1 - 1e-15) == 0
    assert gaussian_pmf(sigma, 0) == 1
    assert gaussian_pmf(sigma, 1) == 0


@pytest.mark.parametrize("sigma", [0.0, -1.0, math.nan, math.inf, 2.0**57, 1e300])
def test_law_a_sigma_without_a_sampler_is_refused(sigma: float) -> None:
    with pytest.raises(InvalidRequest):
        rounded_gaussian.draw(sigma, 1, SystemBits())


@pytest.mark.parametrize("confidence", [0.0, 1.0, -0.5, math.nan])
def test_law_a_confidence_without_a_radius_is_refused(confidence: float) -> None:
    with pytest.raises(InvalidRequest):
        rounded_gaussian.coverage_radius(1.0, confidence)


def test_law_the_largest_sigma_keeps_its_last_digit() -> None:
    """At 2**56 a float would be a multiple of 8 or more; two draws in three would end in 000."""
    drawn = rounded_gaussian.draw(rounded_gaussian.LARGEST_SIGMA, 200, Seeded(5))
    assert np.count_nonzero(drawn % 8 == 0) < 80
    assert abs(Fraction(int(np.abs(drawn).max())) / 2**56) < 6


def test_law_nothing_is_drawn_for_a_count_of_0() -> None:
    assert rounded_gaussian.draw(1.0, 0, Script()).size == 0
    with pytest.raises(InvalidRequest):
        rounded_gaussian.draw(1.0, -1, Script())
