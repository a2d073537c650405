"""The joint form of the centred hinge theorem: the numbers of the planner."""

from __future__ import annotations

import math
from collections.abc import Callable

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_tables import SMALL, Small

from adyton.errors import InvalidRequest
from adyton.validity.hinge.joint import joint_queries, joint_rows, joint_width
from adyton.validity.hinge.noise_part import gaussian_multiplier
from adyton.validity.hinge.opening import open_at
from adyton.validity.hinge.stability import LARGEST_MU, gaussian_hinge, stability_width

WIDTHS = [
    (10**4, 10, 0.048195, 0.00777381),
    (10**4, 98, 0.093631, 0.0126227),
    (10**4, 123, 0.099895, 0.0132728),
    (10**5, 100, 0.029707, 0.00398098),
    (10**5, 518, 0.047156, 0.00571755),
    (10**5, 639, 0.049990, 0.00599236),
    (10**5, 6560, 0.094904, 0.0101916),
    (10**5, 7943, 0.099997, 0.0106553),
    (10**6, 1000, 0.017881, 0.00209000),
    (10**6, 10000, 0.033571, 0.00352394),
    (10**6, 493568, 0.095823, 0.00875721),
]
QUERIES = [
    (10**4, "0.05", 11),
    (10**5, "0.05", 639),
    (10**6, "0.05", 43648),
    (10**4, "0.1", 123),
    (10**5, "0.1", 7943),
    (10**6, "0.1", 578879),
]


@pytest.mark.parametrize(("rows", "queries", "tolerance", "scale"), WIDTHS)
def test_theorem_CENTRED_HINGE_JOINT_reference_widths(
    rows: int, queries: int, tolerance: float, scale: float
) -> None:
    width = joint_width(rows, queries, "0.05")
    assert width.tolerance == pytest.approx(tolerance, abs=6e-7)
    assert width.scale == pytest.approx(scale, rel=1e-4)
    given_noise = joint_width(rows, queries, "0.05", scale)
    assert width.tolerance <= given_noise.tolerance * (1 + 1e-9)


@pytest.mark.parametrize(("rows", "tolerance", "joint"), QUERIES)
def test_theorem_CENTRED_HINGE_JOINT_certified_queries(rows: int, tolerance: str, joint: int) -> None:
    found, scale = joint_queries(rows, tolerance, "0.05")
    assert joint <= found <= joint * 1.01
    assert scale is not None
    assert joint_width(rows, found, "0.05", scale).tolerance <= float(tolerance)
    assert joint_width(rows, found + 1 + found // 10**4, "0.05").tolerance > float(tolerance)
    assert joint_rows(found, tolerance, "0.05")[0] in range(int(rows * 0.97), rows + 1)


@settings(deadline=None, max_examples=12)
@given(st.integers(1, 10**8), st.integers(1, 10**9), st.floats(-6, -0.02))
def test_law_widths_of_the_joint_theorem(rows: int, queries: int, log_failure: float) -> None:
    failure = 10**log_failure
    width = joint_width(rows, queries, failure)
    assert width.tolerance >= joint_width(2 * rows, queries, failure).tolerance * (1 - 1e-6)
    assert width.tolerance <= joint_width(rows, 2 * queries, failure).tolerance * (1 + 1e-6)
    noise = width.scale * gaussian_multiplier(failure, queries)
    mu0 = min(math.sqrt(queries) / (2 * rows * width.scale), LARGEST_MU)
    stability = stability_width(mu0, failure)
    assert width.tolerance >= noise + stability - 1e-9 * width.tolerance


@pytest.mark.parametrize(
    ("rows", "queries", "scale"), [(7, 3, 0.3), (10**5, 50, 0.01), (10**6, 10**5, 0.005)]
)
def test_theorem_CENTRED_HINGE_JOINT_is_never_below_fifty_digits(
    rows: int, queries: int, scale: float
) -> None:
    """The whole width again: mu0 from the exact noise, both parts with fifty digits."""
    width = joint_width(rows, queries, "0.05", scale)
    with mpmath.workdps(50):
        mu0 = mpmath.sqrt(queries) / (2 * rows * mpmath.mpf(scale))
        c, s = open_at(float(mu0), 0.05)
        tail = mpmath.mpf(1) / 40 / queries
        u = mpmath.sqrt(2) * mpmath.erfinv(1 - 2 * tail)
        noise = mpmath.mpf(scale) * (u + (mpmath.npdf(u) - u * mpmath.erfc(u / mpmath.sqrt(2)) / 2) / tail)
        stability = s + gaussian_hinge(mpmath, mu0, c, s) * 20
        assert noise + stability <= width.tolerance <= (noise + stability) * (1 + mpmath.mpf(10) ** -9)


def test_theorem_CENTRED_HINGE_JOINT_refuses_nonsense() -> None:
    nonsense: list[Callable[[], object]] = [
        lambda: joint_width(0, 1, "0.05"),
        lambda: joint_width(1, 0, "0.05"),
        lambda: joint_width(True, 1, "0.05"),
        lambda: joint_width(10, 1, "0.05", -1.0),
        lambda: joint_width(10, 1, "0.05", math.inf),
        lambda: joint_queries(10, "0", "0.05"),
        lambda: joint_queries(10, "0.1", "1.5"),
    ]
    for call in nonsense:
        with pytest.raises(InvalidRequest):
            call()


@pytest.mark.parametrize("small", SMALL)
def test_theorem_CENTRED_HINGE_JOINT_few_rows_two_adaptive_answers(small: Small) -> None:
    for failure in (0.3, 0.1, 0.02):
        width = joint_width(small.n, 2, failure, small.sigma)
        assert small.probability(small.errors() > width.tolerance) <= failure
        hidden = np.abs(small.noise / small.density).max(axis=0)  # max |E[Z_j | T]|
        both = small.probability(hidden + small.distance() > width.tolerance)
        assert both <= failure
