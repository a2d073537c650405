"""Rounded Gaussian noise on integers, enumerated, never tells more than the real Gaussian."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtr

from adyton.kernel.accounting.gaussian import delta_up
from adyton.kernel.privacy import GaussianCost

Array = np.ndarray[Any, np.dtype[np.float64]]
TOLERANCE = 1e-12  # the sum has a few thousand terms, each known to about 1e-15 of the largest


def rounded(sigma: float, shift: int, reach: int) -> Array:
    """Probabilities of -reach..reach under round(shift + sigma N), from the tail that does not cancel."""
    k = np.abs(np.arange(-reach, reach + 1) - shift)
    return ndtr((0.5 - k) / sigma) - ndtr((-0.5 - k) / sigma)


def hockey_stick(p: Array, q: Array, epsilon: float) -> float:
    return float(np.sum(np.maximum(0, p - math.exp(epsilon) * q)))


SCALES = [(0.4, 1), (1.0, 1), (3.7, 1), (3.7, 5), (50.0, 1), (50.0, 120)]


@pytest.mark.parametrize(("sigma", "sensitivity"), SCALES)
def test_theorem_GAUSSIAN_IS_GDP_rounded_on_the_integers(sigma: float, sensitivity: int) -> None:
    mu, reach = sensitivity / sigma, int(12 * sigma) + 2 * sensitivity + 2
    p, q = rounded(sigma, sensitivity, reach), rounded(sigma, 0, reach)
    for epsilon in np.linspace(0, 4 * mu + mu**2 / 2, 30):
        assert hockey_stick(p, q, epsilon) <= delta_up(mu, epsilon) + TOLERANCE
        assert hockey_stick(q, p, epsilon) <= delta_up(mu, epsilon) + TOLERANCE


def test_theorem_GAUSSIAN_IS_GDP_is_attained_so_a_smaller_mu_is_seen() -> None:
    sigma, sensitivity = 50.0, 120
    p, q = rounded(sigma, sensitivity, 900), rounded(sigma, 0, 900)
    mu = sensitivity / sigma
    assert hockey_stick(p, q, 2.0) == pytest.approx(delta_up(mu, 2.0), rel=1e-3)
    assert hockey_stick(p, q, 2.0) > delta_up(0.98 * mu, 2.0)


@pytest.mark.parametrize("sigma", [0.7, 2.5])
def test_theorem_GAUSSIAN_IS_GDP_vector_with_its_l2_norm(sigma: float) -> None:
    """A unit that moves two coordinates by 1 has L2 sensitivity sqrt(2); the joint law is enumerated."""
    reach = int(11 * sigma) + 3
    one, other = rounded(sigma, 1, reach), rounded(sigma, 0, reach)
    p, q = np.outer(one, one), np.outer(other, other)
    mu = math.sqrt(2) / sigma
    for epsilon in np.linspace(0, 4 * mu + mu**2 / 2, 30):
        assert hockey_stick(p, q, epsilon) <= delta_up(mu, epsilon) + TOLERANCE


@pytest.mark.parametrize(("sigma", "sensitivity"), SCALES)
@pytest.mark.parametrize("alpha", [1.1, 2.0, 3.0])
def test_theorem_GAUSSIAN_IS_GDP_hence_zcdp(sigma: float, sensitivity: int, alpha: float) -> None:
    """A few sigmas beyond the shift carry all of the Renyi sum at these orders."""
    reach = int(20 * sigma) + 4 * sensitivity + 2
    p, q = rounded(sigma, sensitivity, reach), rounded(sigma, 0, reach)
    seen = (p > 0) & (q > 0)
    total = np.sum(np.exp(alpha * np.log(p[seen]) + (1 - alpha) * np.log(q[seen])))
    cost = GaussianCost(Fraction(sensitivity) ** 2 / Fraction(sigma) ** 2)
    assert math.log(total) / (alpha - 1) <= alpha * float(cost.zcdp) + 1e-12
