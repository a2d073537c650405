"""The mechanisms against their claims, by enumeration of the true output laws, and their intervals."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from adyton.arithmetic.ratio import ratio_interval
from adyton.curator.certifying import rows_of_many
from adyton.errors import InvalidRequest
from adyton.kernel.accounting import gaussian
from adyton.kernel.ledger.texts import Stored
from adyton.kernel.mechanisms import GaussianNoise, GeometricNoise
from adyton.kernel.privacy import Guarantee, PrivacyUnit
from adyton.kernel.schema import IntegerColumn, Table
from adyton.kernel.sensitivity import Sensitivity
from adyton.kernel.terms.leaves import ValueOf
from adyton.kernel.terms.measures import Count, Mean
from adyton.noise_intervals.laws import gaussian_pmf, geometric_log_pmf, geometric_pmf
from adyton.noise_intervals.proportions import noise_for_cost
from adyton.noise_intervals.widths import noise_within, ratio_band, worst_error
from adyton.planning.plan import make_plan
from adyton.planning.price import price_of
from adyton.query.nodes import Query
from adyton.study import Study
from support.curators import standing_of
from support.randomness import SeededByHash

boxes = st.tuples(st.integers(-3, 3), st.integers(-3, 3)).map(lambda b: (min(b), max(b))).filter(any)
sensitivities = st.builds(
    Sensitivity, st.tuples(boxes), st.integers(1, 3), st.sampled_from(["replace-one", "add-remove"])
)
pairs = st.integers(1, 5000).flatmap(
    lambda h: st.builds(
        Sensitivity,
        st.just(((-h, h), (1, 1))),
        st.integers(1, 3),
        st.sampled_from(["replace-one", "add-remove"]),
    )
)


def _hockey_stick(p: np.ndarray, q: np.ndarray, epsilon: float) -> float:
    return float(np.maximum(p - math.exp(epsilon) * q, 0).sum())


@given(sigma=st.floats(0.3, 20), shift=st.integers(1, 8), epsilon=st.floats(0, 4))
def test_theorem_ROUNDED_GAUSSIAN_IS_GDP_on_one_integer(sigma: float, shift: int, epsilon: float) -> None:
    """The exact laws of two neighbors, all outputs: never easier to tell apart than mu-GDP says."""
    reach = int(14 * sigma) + shift + 2
    law = np.array([gaussian_pmf(sigma, z) for z in range(-reach - shift, reach + shift + 1)])
    p, q = law[: len(law) - shift], law[shift:]
    mechanism = GaussianNoise((Fraction(sigma),))
    sensitivity = Sensitivity(((0, shift),), 1, "replace-one")
    mu = math.sqrt(float(mechanism.cost(sensitivity).gdp))
    for a, b in ((p, q), (q, p)):
        assert _hockey_stick(a, b, epsilon) <= gaussian.delta_up(mu, epsilon) + 1e-13


def test_theorem_ROUNDED_GAUSSIAN_IS_GDP_in_two_coordinates() -> None:
    """The joint law of (centred sum, count) on two neighbors; a forgotten coordinate would show."""
    sensitivity = Sensitivity(((-3, 3), (1, 1)), 1, "add-remove")
    mechanism = noise_for_cost(GaussianNoise, sensitivity, Fraction(1, 2))
    sigmas = [float(s) for s in mechanism.scales]
    laws = []
    for move in ((0, 0), (3, 1)):
        one, two = (
            np.array([gaussian_pmf(s, z - m) for z in range(-80, 81)])
            for s, m in zip(sigmas, move, strict=True)
        )
        laws.append(np.outer(one, two).ravel())
    mu = math.sqrt(0.5)
    for epsilon in (0.0, 0.5, 1.0, 2.0):
        true = _hockey_stick(laws[0], laws[1], epsilon)
        assert true <= gaussian.delta_up(mu, epsilon) + 1e-12
        assert true > gaussian.delta_up(mu * 0.9, epsilon)  # no slack that would hide a forgotten factor


@given(sensitivity=sensitivities, scale=st.fractions(Fraction(1, 4), 20))
def test_theorem_GEOMETRIC_IS_PURE_DP(sensitivity: Sensitivity, scale: Fraction) -> None:
    """No output tells two neighbors apart by more than exp(epsilon), and some output does by that much."""
    epsilon = float(GeometricNoise((Fraction(float(scale)),)).cost(sensitivity).epsilon)
    (low, high), cells = sensitivity.boxes[0], sensitivity.cells
    points = [(0,) * cells]
    points += [
        tuple(v if i == cell else 0 for i in range(cells)) for cell in range(cells) for v in (low, high)
    ]
    base = points if sensitivity.adjacency == "replace-one" else points[:1]
    worst = 0.0
    for a in base:
        for b in points:
            for output in (a, b, tuple(x - 40 for x in a), tuple(x + 40 for x in b)):
                ratio = sum(
                    geometric_log_pmf(float(scale), o - x) - geometric_log_pmf(float(scale), o - y)
                    for o, x, y in zip(output, a, b, strict=True)
                )
                worst = max(worst, abs(ratio))
    assert worst <= epsilon * (1 + 1e-9) + 1e-9
    assert worst >= epsilon * (1 - 1e-9) - 1e-9


@given(sensitivity=sensitivities | pairs, units=st.integers(1, 10**20))
def test_law_calibrated_noise_never_costs_more_than_the_price(sensitivity: Sensitivity, units: int) -> None:
    price = Fraction(units, 10**18)
    for kind, view in ((GaussianNoise, "gdp"), (GeometricNoise, "pure")):
        try:
            mechanism = noise_for_cost(kind, sensitivity, price)
        except InvalidRequest:
            continue  # more noise than 64 bits hold
        cost = getattr(mechanism.cost(sensitivity), view)
        assert cost <= price
        assert cost >= price * (1 - Fraction(1, 10**12))


@given(sensitivity=pairs, mu_squared=st.fractions(Fraction(1, 1000), 10))
def test_law_the_chosen_proportions_beat_equal_shares(sensitivity: Sensitivity, mu_squared: Fraction) -> None:
    chosen = noise_for_cost(GaussianNoise, sensitivity, mu_squared)
    reach = sensitivity.boxes[0][1]
    naive = (Fraction(reach), Fraction(1))
    factor = math.sqrt(sensitivity.l2_diameter_squared(naive) / mu_squared)
    equal = GaussianNoise(tuple(Fraction(float(s) * factor) for s in naive))
    assert worst_error(chosen, sensitivity, 0.95) <= worst_error(equal, sensitivity, 0.95) * (1 + 1e-9)


@given(
    sensitivity=sensitivities | pairs, width=st.floats(1, 1e6), confidence=st.sampled_from([0.9, 0.95, 0.99])
)
@settings(max_examples=60)
def test_law_within_is_kept_and_used(sensitivity: Sensitivity, width: float, confidence: float) -> None:
    for kind in (GaussianNoise, GeometricNoise):
        try:
            mechanism = noise_within(kind, sensitivity, width, confidence)
        except InvalidRequest:
            continue  # finer than the step
        assert worst_error(mechanism, sensitivity, confidence) <= width * (1 + 1e-11)
        louder = kind(tuple(s * Fraction(11, 10) for s in mechanism.scales))
        assert worst_error(louder, sensitivity, confidence) >= math.floor(width)


@pytest.mark.parametrize("mechanism", [GaussianNoise((Fraction(7, 2),)), GeometricNoise((Fraction(7, 2),))])
def test_theorem_NOISE_INTERVAL_covers_at_its_level(mechanism: GaussianNoise | GeometricNoise) -> None:
    """By the exact law: the half-width reaches the level, and one less would not."""
    w = mechanism.error(0.95)
    pmf = gaussian_pmf if isinstance(mechanism, GaussianNoise) else geometric_pmf
    mass = [pmf(3.5, z) for z in range(-w, w + 1)]
    assert sum(mass) >= 0.95
    assert sum(mass[1:-1]) < 0.95


@pytest.mark.parametrize("kind", [GaussianNoise, GeometricNoise])
@pytest.mark.parametrize(
    ("total", "count", "scales"),
    [(4000, 50, (300, 3)), (0, 5, (900, 9)), (-990, 1, (50, 1)), (3000, 3, (2, 1))],
)
def test_theorem_RATIO_INTERVAL_covers_at_its_level(
    kind: type[GaussianNoise] | type[GeometricNoise], total: int, count: int, scales: tuple[int, int]
) -> None:
    """20,000 releases; fewer than 94 % covered would be a 1e-9 event at a true 95 %.

    The cases include a count smaller than its noise, where the interval must become the whole range.
    """
    mechanism = kind((Fraction(scales[0]), Fraction(scales[1])))
    runs = 20_000
    noisy = mechanism.release([[total] * runs, [count] * runs], SeededByHash(5))
    top, bottom = (np.array(column, dtype=float) for column in noisy)
    low, high = ratio_interval(top, bottom, 1000.0, ratio_band(mechanism, 0.95))
    covered = int(((low <= total / count) & (total / count <= high)).sum())
    assert covered >= binom.ppf(1e-9, runs, 0.95)
    assert np.all(low <= high)


def test_theorem_RATIO_INTERVAL_ends_are_where_the_band_ends() -> None:
    mechanism = GaussianNoise((Fraction(300), Fraction(3)))
    top, bottom = np.array([4000.0, -100.0]), np.array([50.0, 60.0])
    low, high = ratio_interval(top, bottom, 1000.0, ratio_band(mechanism, 0.95))
    for end in (low, high):
        gap = np.abs(top - end * bottom) - ratio_band(mechanism, 0.95)(end)
        assert np.all(np.abs(gap) < 1e-6)


def test_theorem_RATIO_INTERVAL_says_nothing_when_noise_drowns_the_count() -> None:
    mechanism = GaussianNoise((Fraction(300), Fraction(30)))
    low, high = ratio_interval(np.array([5.0]), np.array([2.0]), 1000.0, ratio_band(mechanism, 0.95))
    assert (low[0], high[0]) == (-1000.0, 1000.0)


def test_theorem_RATIO_INTERVAL_says_nothing_where_two_rays_are_left() -> None:
    """A count below the slope of the band excludes the ratios in the middle only: no interval may be cut out."""
    mechanism = GeometricNoise((Fraction(300), Fraction(30)))
    beyond = 2 * ratio_band(mechanism, 0.95)(np.array([0.0]))  # of the noise on the numerator
    slope = ratio_band(mechanism, 0.95)(np.array([1.0])) - ratio_band(mechanism, 0.95)(np.array([0.0]))
    low, high = ratio_interval(beyond, slope / 2, 1000.0, ratio_band(mechanism, 0.95))
    for ratio, kept in ((-900.0, True), (0.0, False), (900.0, True)):
        band = float(ratio_band(mechanism, 0.95)(np.array([ratio]))[0])
        assert (abs(float(beyond[0] - ratio * slope[0] / 2)) <= band) == kept
    assert (low[0], high[0]) == (-1000.0, 1000.0)


def test_theorem_POST_PROCESSING_answers_are_functions_of_what_is_released() -> None:
    """The same integers give the same rows, and each row reads its own integers only."""
    age = IntegerColumn("age", 0, 100)
    study = Study(
        Table("people", (age,), 1000), PrivacyUnit("replace-one"), Guarantee(Fraction(1), Fraction(1, 10**6))
    )
    query = Query(study.table, (("n", Count()), ("m", Mean(ValueOf(age)))))
    plan = make_plan(study, query, price_of(epsilon="0.5"), 10**18)
    context = standing_of(study, 1000, own=Fraction(1, 1000), values=2)
    first = rows_of_many([plan], [Stored([[[10]], [[50], [2000]]])], context)
    assert first == rows_of_many([plan], [Stored([[[10]], [[50], [2000]]])], context)
    changed = rows_of_many([plan], [Stored([[[11]], [[50], [2000]]])], context)
    assert changed[0].values["m"] == first[0].values["m"]
    assert changed[0].values["n"].value == first[0].values["n"].value + 1
    assert first[0].values["m"].value == pytest.approx((50 / 20 + 100) / 2)  # 2000 steps are 20 rows


def test_noise_too_large_for_64_bits_is_refused_before_anything_is_charged() -> None:
    with pytest.raises(InvalidRequest, match="coarser step"):
        GaussianNoise((Fraction(2**57),))
    with pytest.raises(InvalidRequest, match="coarser step"):
        GeometricNoise((Fraction(2**51),))
