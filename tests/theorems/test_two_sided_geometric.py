"""TWO-SIDED-GEOMETRIC-SAMPLER: the map from bits to integers, digit by digit, and the resulting law."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from noise_oracle import PRECISION, Script, digits, fit, misplaced

from adyton.errors import InvalidRequest
from adyton.kernel.noise import SystemBits, refine, two_sided_geometric
from adyton.noise_intervals.laws import geometric_log_pmf, geometric_pmf, geometric_tail
from support.randomness import Seeded

WORD = st.integers(0, 2**64 - 1) | st.integers(0, 63).map(lambda i: 2**i) | st.sampled_from([0, 2**64 - 1])
SCALE = st.floats(-3, 12).map(lambda x: 10.0**x)
ALARM = 1e-8  # of each test of fit, were its bits fresh; they are fixed, so it never wavers


def tail(scale: float, m: int) -> mpmath.mpf:
    """P(Z >= m) for m >= 1: the geometric series."""
    with mpmath.workprec(PRECISION):
        unit = 1 / mpmath.mpf(scale)
        return mpmath.exp(-m * unit) / (1 + mpmath.exp(-unit))


def magnitude(scale: float, p: mpmath.mpf) -> int:
    """The largest m with p < tail(m), through the logarithm and then by trying its neighbors."""
    near = int(-mpmath.mpf(scale) * (mpmath.log(p) + mpmath.log1p(mpmath.exp(-1 / mpmath.mpf(scale)))))
    return max([0] + [m for m in range(max(near - 2, 1), near + 3) if p < tail(scale, m)])


def law(scale: float) -> refine.Law:
    return two_sided_geometric._TwoSidedGeometric(scale)


@given(SCALE, WORD, WORD, WORD)
@example(17.5, 0, 0, 1)
@example(1e-3, 1, 0, 5)
@example(1.0, 2**64 - 1, 2**64 - 1, 2**64 - 1)
@example(1e12, 2**64 - 1, 2**64 - 1, 2**64 - 1)
@settings(max_examples=150, deadline=None, derandomize=True)
def test_theorem_TWO_SIDED_GEOMETRIC_SAMPLER_maps_every_word_as_the_oracle(
    scale: float, first: int, second: int, third: int
) -> None:
    with mpmath.workprec(PRECISION):
        whole = (first >> 1) << 128 | second << 64 | third
        expected = magnitude(scale, mpmath.ldexp(whole + 1, -192))
        assume(whole > 0 and magnitude(scale, mpmath.ldexp(whole, -192)) == expected)
    bits = Script(first, second, third, 0, 0)
    assert two_sided_geometric.draw(scale, 1, bits)[0] == (-expected if first & 1 else expected)


@pytest.mark.parametrize("scale", [0.1, 0.3, 1.0, 17.5, 1000.0, 2.0**30, 2.0**45])
def test_theorem_TWO_SIDED_GEOMETRIC_SAMPLER_no_word_is_misplaced(scale: float) -> None:
    """No word beside a boundary is misplaced."""
    for multiple in (1e-9, 0.1, 0.7, 2.0, 9.0, 20.0, 40.0):
        m = max(1, round(scale * multiple))
        if m / scale < 43:
            assert misplaced(law(scale), lambda m: tail(scale, m), m) == 0


def test_theorem_TWO_SIDED_GEOMETRIC_SAMPLER_without_margin_misplaces(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(refine, "MARGIN", 0.0)
    monkeypatch.setattr(refine, "WIDTH", 0.0)
    assert sum(misplaced(law(1000.0), lambda m: tail(1000.0, m), m) for m in range(700, 720)) > 0


@pytest.mark.parametrize("scale", [0.3, 1.0, 17.5, 1000.0, 2.0**35, 2.0**50])
@pytest.mark.parametrize("sign", [0, 1])
def test_theorem_TWO_SIDED_GEOMETRIC_SAMPLER_reads_on_until_it_is_decided(scale: float, sign: int) -> None:
    """The sampler reads on until the boundary is decided."""
    m = max(1, round(scale / 2))
    first, second, third = digits(tail(scale, m), 3)
    for step, expected in ((-1, m), (1, m - 1)):
        bits = Script(first << 1 | sign, second, third + step, 2**63)
        assert two_sided_geometric.draw(scale, 1, bits)[0] == (-expected if sign else expected)
        assert bits.left == 1


@pytest.mark.parametrize("scale", [0.3, 1.0, 17.5, 1000.0])
def test_theorem_TWO_SIDED_GEOMETRIC_SAMPLER_fits_its_law(scale: float) -> None:
    drawn = two_sided_geometric.draw(scale, 10**6, Seeded(1))
    assert fit(drawn, lambda z: geometric_pmf(scale, z)) > ALARM


@pytest.mark.parametrize("scale", [0.3, 1.0, 17.5, 1000.0])
def test_theorem_TWO_SIDED_GEOMETRIC_SAMPLER_a_tenth_less_noise_is_noticed(scale: float) -> None:
    drawn = two_sided_geometric.draw(0.9 * scale, 10**6, Seeded(2))
    assert fit(drawn, lambda z: geometric_pmf(scale, z)) < ALARM


def test_theorem_TWO_SIDED_GEOMETRIC_SAMPLER_logarithm_errs_by_a_quarter() -> None:
    """The logarithm errs by a quarter of what is assumed."""
    random = np.random.Generator(np.random.Philox(key=3))
    p = np.concatenate([2.0 ** -random.uniform(1, 65, 3000), 0.5 - 2.0 ** -random.uniform(2, 53, 1000)])
    worst = 0.0
    with mpmath.workprec(160):
        for exact_p, x in zip(map(mpmath.mpf, p), map(mpmath.mpf, np.log(p)), strict=True):
            worst = max(worst, abs(float((x - mpmath.log(exact_p)) / x)))
    assert worst < 2.0**-49
    assert refine.MARGIN / 2 >= 4 * 2.0**-49


@given(
    st.floats(-6, 18).map(lambda x: 10.0**x),
    st.floats(0.01, 15).map(lambda x: 1 - 10.0**-x),
    st.integers(-2, 2),
)
@settings(max_examples=120, deadline=None, derandomize=True)
def test_theorem_TWO_SIDED_GEOMETRIC_SAMPLER_coverage_radius_is_the_least(
    scale: float, confidence: float, nudge: int
) -> None:
    """Once for any confidence, and once for the floats around one that a radius meets almost exactly."""
    with mpmath.workprec(PRECISION):
        w = two_sided_geometric.coverage_radius(scale, confidence)
        assert is_least(scale, w, confidence)
        met = float(1 - 2 * tail(scale, w + 1))
        for _ in range(abs(nudge)):
            met = math.nextafter(met, math.copysign(2, nudge))
        if 0 < met < 1:
            assert is_least(scale, two_sided_geometric.coverage_radius(scale, met), met)


def is_least(scale: float, w: int, confidence: float) -> bool:
    spare = mpmath.mpf(1) - mpmath.mpf(confidence)
    return w >= 0 and 2 * tail(scale, w + 1) <= spare and (w == 0 or 2 * tail(scale, w) > spare)


@given(st.floats(-6, 15).map(lambda x: 10.0**x), st.floats(0, 600))
@settings(max_examples=150, deadline=None, derandomize=True)
def test_theorem_TWO_SIDED_GEOMETRIC_SAMPLER_prints_true_probabilities(scale: float, multiple: float) -> None:
    z = int(scale * multiple) + 1
    with mpmath.workprec(PRECISION):
        unit = 1 / mpmath.mpf(scale)
        exact = mpmath.log(mpmath.tanh(unit / 2)) - z * unit
        assert abs(geometric_log_pmf(scale, z) - exact) <= 2e-15 * (4 + z / scale)
        assert geometric_log_pmf(scale, -z) == geometric_log_pmf(scale, z)
        if z < 600 * scale:
            assert abs(geometric_tail(scale, z) / tail(scale, z) - 1) <= 1e-12
            assert abs(geometric_tail(scale, 1 - z) - (1 - tail(scale, z))) <= 1e-15


def test_theorem_TWO_SIDED_GEOMETRIC_SAMPLER_follows_leading_zeros() -> None:
    """At scale = 0.02 a magnitude of 1 begins at p = 2**-72, and one of 2 at 2**-144."""
    assert two_sided_geometric.draw(0.02, 1, Script(0, 2**63)) == [0]
    assert two_sided_geometric.draw(0.02, 1, Script(0, 0, 2**63)) == [1]


@pytest.mark.parametrize("scale", [5e-324, 1e-300, 1e-3])
def test_theorem_TWO_SIDED_GEOMETRIC_SAMPLER_tiny_noise_is_no_noise(scale: float) -> None:
    assert not two_sided_geometric.draw(scale, 1000, Seeded(4)).any()
    assert two_sided_geometric.draw(scale, 1, Script(1, 0, 7)) == [0]
    assert two_sided_geometric.coverage_radius(scale, 1 - 1e-15) == 0
    assert geometric_pmf(scale, 0) == 1
    assert geometric_pmf(scale, 1) == 0


@pytest.mark.parametrize("scale", [0.0, -1.0, math.nan, math.inf, 2.0**51, 1e300])
def test_law_a_scale_without_a_sampler_is_refused(scale: float) -> None:
    with pytest.raises(InvalidRequest):
        two_sided_geometric.draw(scale, 1, SystemBits())
