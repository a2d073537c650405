"""p-values after questions: levels by exact laws of small studies, and the examples of the pages."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from scipy.special import ndtr, ndtri
from small_tables import SMALL, Small

from adyton.errors import InvalidRequest
from adyton.validity.hinge import stability_width
from adyton.validity.p_values import p_value, pure_threshold


@pytest.mark.parametrize("small", SMALL[:3])
def test_theorem_P_VALUE_BY_INVERSION_has_its_level(small: Small) -> None:
    """The hypothesis is true for both questions; p falls with the excess, so one threshold decides for each alpha."""
    truth = small.tables @ small.law
    excess = np.maximum(
        small.first - truth[0], small.second - np.where(small.first < 0.5, truth[1], truth[2])
    )
    scale = str(small.sigma)
    for alpha in (0.5, 0.2, 0.05):
        low, high = 0.0, 1000.0
        for _ in range(40):  # the least excess with p <= alpha
            middle = (low + high) / 2
            low, high = (low, middle) if p_value(middle, small.n, 2, scale) <= alpha else (middle, high)
        assert small.probability(excess > low) <= alpha


def test_theorem_P_VALUE_BY_INVERSION_falls_with_the_excess() -> None:
    found = [p_value(x, 10**5, 100, "0.004") for x in ("0", "0.02", "0.03", "0.04", "0.06", "0.5")]
    assert found == sorted(found, reverse=True)
    assert found[0] == 1
    assert found[-1] == 1e-12
    assert found[2] < 0.05  # the two-sided width at 5 % is 0.0297
    assert p_value("0.03", 10**5, 1000, "0.004") > found[2]


@pytest.mark.parametrize("excess", [0.02, 0.025, 0.03, 0.035])
def test_theorem_P_VALUE_BY_INVERSION_width_at_p_is_the_excess(excess: float) -> None:
    """Recomputed from the statement: sigma [u + k G(u) / p] + t2(p), P(N > u) = p / k."""
    rows, questions, sigma = 10**5, 100, 0.004
    p = p_value(excess, rows, questions, str(sigma))
    u = -float(ndtri(p / questions))
    above = math.exp(-u * u / 2) / math.sqrt(2 * math.pi) - u * float(ndtr(-u))
    t2 = stability_width(math.sqrt(questions) / (2 * rows * sigma), p)
    assert sigma * (u + questions * above / p) + t2 == pytest.approx(excess, rel=1e-6)


def test_theorem_EVENT_INFLATION_threshold_of_the_example() -> None:
    assert pure_threshold("0.05", 10**4, "0.01", failure="0.01") == pytest.approx(0.00774, abs=5e-6)
    assert pure_threshold("0.05", 10**4, "0.01") >= pure_threshold("0.05", 10**4, "0.02")
    with pytest.raises(InvalidRequest):
        pure_threshold("0.05", 10, "0.1", failure="0.05")


def test_theorem_EVENT_INFLATION_keeps_the_level_of_a_chosen_test() -> None:
    """Four bits, each released by randomized response; the test is then "all rows are as released"."""
    n, epsilon, alpha = 4, 0.4, 0.5
    keep = math.exp(epsilon) / (1 + math.exp(epsilon))
    fresh = 2.0**-n  # the level of the test for a fixed transcript
    threshold = pure_threshold(str(alpha), n, str(epsilon), failure="0.1")
    chosen = sum(
        2.0**-n
        * keep ** sum(a == b for a, b in zip(s, t, strict=True))
        * (1 - keep) ** sum(a != b for a, b in zip(s, t, strict=True))
        for s, t in product(product((0, 1), repeat=n), repeat=2)
        if s == t
    )
    assert chosen == pytest.approx(keep**n)
    assert fresh <= threshold
    assert chosen <= alpha
