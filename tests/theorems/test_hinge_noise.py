"""The noise part of the centred hinge theorem, which is attained, and never below fifty digits."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr, ndtri

from adyton.errors import InvalidRequest
from adyton.kernel.exact.shares import query_share
from adyton.noise_intervals.laws import geometric_pmf
from adyton.validity.hinge.noise_part import gaussian_multiplier, laplace_multiplier


@settings(deadline=None, max_examples=60)
@given(st.floats(-12, -0.05), st.integers(1, 10**9))
def test_theorem_NOISE_GIVEN_TRANSCRIPT_is_never_below_fifty_digits(log_failure: float, queries: int) -> None:
    failure = 10**log_failure
    z = gaussian_multiplier(failure, queries)
    with mpmath.workdps(50):
        tail = mpmath.mpf(str(failure)) / (2 * queries)
        u = max(mpmath.mpf(0), mpmath.sqrt(2) * mpmath.erfinv(1 - 2 * tail))
        exact = u + (mpmath.npdf(u) - u * mpmath.erfc(u / mpmath.sqrt(2)) / 2) / tail
        assert exact <= z <= exact * (1 + mpmath.mpf(10) ** -9)


@pytest.mark.parametrize("failure", [0.3, 0.05, 0.001, 1e-9])
def test_theorem_NOISE_GIVEN_TRANSCRIPT_is_attained(failure: float) -> None:
    """If only the sign of a large |Z| is released, |E[Z | T]| = z with probability exactly ``failure``."""
    u = -float(ndtri(failure / 2))
    attained = math.exp(-u * u / 2) / math.sqrt(2 * math.pi) / (failure / 2)
    z = gaussian_multiplier(failure)
    assert attained <= z <= attained * (1 + 1e-9)


@pytest.mark.parametrize("queries", [1, 10, 1000])
def test_theorem_NOISE_GIVEN_TRANSCRIPT_revealed_noise(queries: int) -> None:
    """Constant queries reveal their noise: the largest of k is beyond z with probability below failure."""
    z = gaussian_multiplier("0.05", queries)
    assert -math.expm1(queries * math.log1p(-2 * ndtr(-z))) <= 0.05
    union_forgotten = gaussian_multiplier("0.05")
    assert queries == 1 or -math.expm1(queries * math.log1p(-2 * ndtr(-union_forgotten))) > 0.05


def test_theorem_NOISE_GIVEN_TRANSCRIPT_laplace_and_shares() -> None:
    z = laplace_multiplier("0.05", 20)
    assert z == pytest.approx(math.log(400) + 1)
    a = math.log(1 / 0.05)  # released: whether |Z| > a, and the sign; then |E[Z | T]| = a + 1
    assert a + 1 <= laplace_multiplier("0.05")
    assert sum(query_share(j) for j in range(1, 2000)) < 1
    assert float(query_share(3)) == pytest.approx(6 / (3 * math.pi) ** 2)


@pytest.mark.parametrize(
    ("queries", "z"), [(1, 2.337803), (98, 3.728143), (518, 4.129571), (6560, 4.680810), (493568, 5.500811)]
)
def test_theorem_NOISE_GIVEN_TRANSCRIPT_reference_values(queries: int, z: float) -> None:
    assert gaussian_multiplier("0.05", queries) == pytest.approx(z, abs=6e-7)


@pytest.mark.parametrize("scale", [0.2, 0.9, 2.0, 35.0])
def test_theorem_NOISE_GIVEN_TRANSCRIPT_geometric_noise_with_one_step_more(scale: float) -> None:
    """The worst that can be hidden: the sign of the noise, and whether it is among the largest of all."""
    reach = int(60 * scale) + 40
    mass = [2 * geometric_pmf(scale, z) for z in range(1, reach)]
    for a in (0.0, 0.3, scale, 2.7 * scale):
        exact = math.fsum(max(z - 1 - a, 0) * m for z, m in enumerate(mass, start=1))
        assert exact <= scale * math.exp(-a / scale) * (1 + 1e-9)
    for failure in (0.5, 0.05, 0.001):
        left, hidden = failure, 0.0  # E |Z| over the largest |Z| of total probability ``failure``
        for z in range(reach - 1, 0, -1):
            taken = min(left, mass[z - 1])
            left, hidden = left - taken, hidden + z * taken
        assert hidden / failure <= laplace_multiplier(str(failure)) * scale + 1


@pytest.mark.parametrize("multiplier", [gaussian_multiplier, laplace_multiplier])
def test_theorem_NOISE_GIVEN_TRANSCRIPT_certifies_nothing_beyond_floats(
    multiplier: Callable[..., float],
) -> None:
    """Not even where it comes from many queries.  Mutant: Laplace's logarithm of any share, which overflows."""
    assert multiplier(Fraction(1, 10**290)) > 0
    for failure, queries in (
        (Fraction(1, 10**291), 1),
        (Fraction(1, 10**280), 10**11),
        (Fraction(1, 10**400), 1),
    ):
        with pytest.raises(InvalidRequest, match="below 1e-290 for one query cannot be certified"):
            multiplier(failure, queries)
