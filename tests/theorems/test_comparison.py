"""The theorems side by side: the table of the examples, and calibration as the inverse on the safe side."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adyton.accounting.textbook.comparison import (
    GAUSSIAN,
    PURE,
    THEOREMS,
    calibrate,
    compose,
    compose_gaussian,
    largest_price,
)
from adyton.errors import InvalidRequest

MICRO = Fraction(1, 10**6)
BOB = Fraction(math.exp(-32))
NAMES = [
    "basic",
    "advanced",
    "strong",
    "optimal",
    "zcdp",
    "rdp_laplace",
    "pld_laplace",
    "pld_randomized_response",
]
targets = st.floats(-3, 1.5).map(lambda x: Fraction(f"{10**x:.4g}"))
counts = st.floats(0, 4).map(lambda x: round(10**x))
deltas = st.floats(-15, -1).map(lambda x: Fraction(10**x))


def by_name(composed) -> dict[str, float]:
    return {one.theorem: one.epsilon for one in composed}


@pytest.mark.parametrize(
    ("e", "k", "laplace", "optimal"),
    [
        ("0.01", 10, 0.09898, 0.09903),
        ("0.01", 1000, 1.36292, 1.36545),
        ("0.001", 10_000, 0.39673, 0.39681),
        ("0.1", 100, 4.69267, 4.77457),
    ],
)
def test_the_table_of_composition(e: str, k: int, laplace: float, optimal: float) -> None:
    found = by_name(compose(e, k, "1e-6"))
    assert list(found) == NAMES
    assert found["pld_laplace"] == pytest.approx(laplace, abs=5e-5)
    assert found["pld_randomized_response"] == pytest.approx(optimal, abs=2e-5)
    assert found["optimal"] == pytest.approx(found["pld_randomized_response"], rel=1e-7)


def test_a_thousand_gaussians() -> None:
    found = by_name(compose_gaussian(50, 1000, "1e-6"))
    assert list(found) == ["gdp", "rdp", "pld"]
    assert found["gdp"] == pytest.approx(2.921601, abs=5e-7)
    assert found["pld"] == pytest.approx(2.921601, abs=5e-7)
    assert found["rdp"] > found["gdp"]


@settings(deadline=None, max_examples=40)
@given(targets, counts, deltas)
def test_law_tight_is_never_above_loose(e: Fraction, k: int, delta: Fraction) -> None:
    """What holds for Laplace noise alone is below what holds for every release; fuzz is what each search allows."""
    found = {
        name: epsilon * (1 - 1e-8) - 1e-9 * float(e)
        for name, epsilon in by_name(compose(e, k, delta)).items()
    }
    assert found["optimal"] <= min(found["basic"], found["strong"], found["zcdp"]) + 2e-8 * float(k * e)
    assert found["strong"] <= found["advanced"]
    assert found["rdp_laplace"] <= found["zcdp"] + 1e-9
    assert found["pld_laplace"] <= found["optimal"] * (1 + 1e-4) + 1e-3 * float(e)


@settings(deadline=None, max_examples=25)
@given(targets, counts, deltas, st.sampled_from(PURE + GAUSSIAN))
def test_law_calibrate_is_the_inverse_of_compose_on_the_safe_side(
    target: Fraction, k: int, delta: Fraction, theorem
) -> None:
    """compose(calibrate(target)) <= target, and less than 1e-6 of it is given away, even after printing."""
    price = largest_price(theorem, target, k, delta)
    again = theorem.epsilon(Fraction(repr(price)), k, delta)
    assert Fraction(repr(again)) <= target
    assert again >= target * (1 - Fraction(1, 10**6))


@pytest.mark.parametrize("theorem", [*PURE, *GAUSSIAN], ids=lambda t: t.name)
def test_law_the_largest_price_grows_with_what_is_allowed(theorem) -> None:
    here = largest_price(theorem, Fraction(1), 100, MICRO)
    assert here < largest_price(theorem, Fraction(2), 100, MICRO)
    assert here > largest_price(theorem, Fraction(1), 200, MICRO)
    assert here <= largest_price(theorem, Fraction(1), 100, MICRO * 10)


def test_bob_solved_exactly() -> None:
    found = {
        name: 1 / largest_price(THEOREMS[name], Fraction(1), 10_000, BOB)
        for name in ("advanced", "strong", "optimal")
    }
    assert found == pytest.approx({"advanced": 812.3180, "strong": 806.2019, "optimal": 715.51}, abs=5e-3)
    assert found["advanced"] == pytest.approx(812.3180, abs=5e-5)
    assert found["strong"] == pytest.approx(806.2019, abs=5e-5)


def test_noise_for_a_thousand_releases() -> None:
    found = {(one.mechanism, one.theorem): one for one in calibrate(1, 1000, "1e-6")}
    assert len(found) == len(PURE) - 1 + len(GAUSSIAN)
    assert found["laplace", "basic"].scale == 1000
    assert found["gaussian", "gdp"].scale == pytest.approx(133.59607, abs=1e-4)
    assert found["gaussian", "rdp"].scale > found["gaussian", "pld"].scale
    for one in found.values():
        price = one.epsilon0 if one.mechanism == "laplace" else one.mu
        assert price is not None
        assert Fraction(repr(one.scale)) * Fraction(repr(price)) >= 1
        assert one.scale * price == pytest.approx(1, rel=1e-12)


def test_noise_is_in_proportion_to_the_sensitivity() -> None:
    for one, three in zip(calibrate(1, 10, "1e-6"), calibrate(1, 10, "1e-6", sensitivity="2.5"), strict=True):
        assert three.scale == pytest.approx(2.5 * one.scale, rel=1e-12)


def test_gaussian_noise_of_calibrate_stays_inside_compose() -> None:
    for one in calibrate("0.7", 321, "1e-7"):
        if one.mechanism == "gaussian":
            assert by_name(compose_gaussian(one.scale, 321, "1e-7"))[one.theorem] <= 0.7


def test_progress_names_every_theorem() -> None:
    named: list[str] = []
    compose("0.1", 3, "1e-6", named.append)
    calibrate(1, 3, "1e-6", step=named.append)
    assert named == [*NAMES, *NAMES[:-1], "gdp", "rdp", "pld"]


@pytest.mark.parametrize(
    "call",
    [
        lambda: compose(0, 1, "1e-6"),
        lambda: compose(-1, 1, "1e-6"),
        lambda: compose("nan", 1, "1e-6"),
        lambda: compose(501, 1, "1e-6"),
        lambda: compose("1e-10", 1, "1e-6"),
        lambda: compose(1, 0, "1e-6"),
        lambda: compose(1, 10**9 + 1, "1e-6"),
        lambda: compose(1, 1, 0),
        lambda: compose(1, 1, 1),
        lambda: compose(1, 1, -0.5),
        lambda: compose_gaussian(0, 1, "1e-6"),
        lambda: compose_gaussian("0.001", 1, "1e-6"),
        lambda: compose_gaussian("1e10", 1, "1e-6"),
        lambda: compose_gaussian("inf", 1, "1e-6"),
        lambda: calibrate(0, 1, "1e-6"),
        lambda: calibrate(501, 1, "1e-6"),
        lambda: calibrate(1, 1, 0),
        lambda: calibrate(1, 0, "1e-6"),
        lambda: calibrate(1, 1, "1e-6", 0),
        lambda: calibrate("1e-9", 10**9, "1e-6"),
    ],
)
def test_bad_input_is_refused(call) -> None:
    with pytest.raises(InvalidRequest):
        call()
