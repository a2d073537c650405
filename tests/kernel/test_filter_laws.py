"""What every filter obeys, whatever it spends."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adyton.errors import InvalidRequest
from adyton.kernel.accounting import ACCOUNTING_NAMES, Accounting, accounting_named
from adyton.kernel.exact import UNITS_PER_ONE, float_up
from adyton.kernel.privacy import Cost, GaussianCost, Guarantee, PureCost

names = st.sampled_from(ACCOUNTING_NAMES)
epsilons = st.one_of(
    st.fractions(Fraction(1, 10**9), Fraction(500)),
    st.floats(-9, 2.69).map(lambda x: Fraction(10**x)),
    st.floats(-3, 1.5).map(lambda x: Fraction(f"{10**x:.4f}") + Fraction(1, 1000)),
)
deltas = st.floats(-299, -0.302).map(lambda x: Fraction(10**x))
views = st.floats(-20, 4).map(lambda x: Fraction(10**x))
close = settings(deadline=None, max_examples=150)


def guarantee(name: str, epsilon: Fraction, delta: Fraction) -> Guarantee:
    return Guarantee(epsilon, Fraction(0) if name == "pure" else delta)


def cost(name: str, view: Fraction) -> Cost:
    return PureCost(view) if name == "pure" else GaussianCost(view)


def view_of(filter_: Accounting, priced: Cost) -> Fraction:
    view = {"gdp": priced.gdp, "zcdp": priced.zcdp, "pure": priced.pure}[filter_.name]
    assert view is not None
    return view


@close
@given(names, epsilons, deltas)
def test_law_what_is_allowed_keeps_the_guarantee(name: str, epsilon: Fraction, delta: Fraction) -> None:
    """A pure study shows epsilon as the least float not below it, which may be a hair above 1/10, say."""
    filter_, wanted = accounting_named(name), guarantee(name, epsilon, delta)
    reported = filter_.epsilon(filter_.allowed(wanted), wanted.delta)
    assert reported <= (float_up(epsilon) if name == "pure" else epsilon)


@close
@given(names, epsilons, deltas)
def test_law_nothing_is_wasted(name: str, epsilon: Fraction, delta: Fraction) -> None:
    """One part in 10**8 more, and a unit, does not fit."""
    filter_, wanted = accounting_named(name), guarantee(name, epsilon, delta)
    allowed = filter_.allowed(wanted)
    assert filter_.epsilon(allowed + allowed // 10**8 + 1, wanted.delta) > epsilon


@close
@given(names, views, st.integers(1, 10**6))
def test_law_n_charges_equal_one_charge_of_n(name: str, view: Fraction, n: int) -> None:
    """Exactly on whole units; otherwise rounding costs at most one unit a charge, and never too little."""
    filter_, whole = accounting_named(name), Fraction(2 * math.ceil(view * UNITS_PER_ONE), UNITS_PER_ONE)
    assert n * filter_.amount(cost(name, whole)) == filter_.amount(cost(name, n * whole))
    apart, together = n * filter_.amount(cost(name, view)), filter_.amount(cost(name, n * view))
    assert together <= apart <= together + n


@close
@given(names, views)
def test_law_an_amount_is_never_below_the_cost_and_never_free(name: str, view: Fraction) -> None:
    filter_, priced = accounting_named(name), cost(name, view)
    exact = view_of(filter_, priced) * UNITS_PER_ONE
    assert max(1, exact) <= filter_.amount(priced) < exact + 1 or filter_.amount(priced) == 1


@close
@given(names, views, views)
def test_law_more_noise_never_costs_more(name: str, a: Fraction, b: Fraction) -> None:
    filter_ = accounting_named(name)
    assert filter_.amount(cost(name, min(a, b))) <= filter_.amount(cost(name, max(a, b)))


@close
@given(names, st.integers(0, 10**21), st.integers(0, 10**21), deltas, deltas)
def test_law_epsilon_grows_with_spending_and_falls_with_delta(
    name: str, a: int, b: int, d1: Fraction, d2: Fraction
) -> None:
    filter_, (low, high) = accounting_named(name), sorted([d1, d2])
    most = filter_.epsilon(max(a, b), low)
    assert filter_.epsilon(min(a, b), high) <= most * (1 + 1e-8) + 1e-8


@pytest.mark.parametrize("name", ACCOUNTING_NAMES)
def test_law_nothing_spent_is_nothing_revealed(name: str) -> None:
    assert accounting_named(name).epsilon(0, Fraction(1, 10**6)) == 0.0


@pytest.mark.parametrize("name", ACCOUNTING_NAMES)
def test_law_limits_outside_the_range_are_refused(name: str) -> None:
    filter_, delta = accounting_named(name), Fraction(1, 10**6)
    with pytest.raises(InvalidRequest, match="below the minimum of 1e-9"):
        filter_.allowed(guarantee(name, Fraction(1, 10**10), delta))
    with pytest.raises(InvalidRequest, match="above the maximum of 500"):
        filter_.allowed(guarantee(name, Fraction(501), delta))
    assert filter_.allowed(guarantee(name, Fraction(1, 10**9), delta)) > 0
    assert filter_.allowed(guarantee(name, Fraction(500), delta)) > 0


@pytest.mark.parametrize("name", ["gdp", "zcdp"])
def test_law_a_delta_below_the_floats_is_refused(name: str) -> None:
    with pytest.raises(InvalidRequest, match="below the minimum of 1e-300"):
        accounting_named(name).allowed(Guarantee(Fraction(1), Fraction(1, 10**301)))


def test_law_unknown_filters_are_refused_with_the_known_ones() -> None:
    with pytest.raises(InvalidRequest, match="known: gdp, zcdp, pure"):
        accounting_named("renyi")


@pytest.mark.parametrize("name", ACCOUNTING_NAMES)
def test_law_a_filter_is_a_value_that_names_its_theorems(name: str) -> None:
    filter_ = accounting_named(name)
    assert filter_ == accounting_named(name)
    assert filter_.name == name
    assert f"{name.upper()}-FILTER" in filter_.theorems
