"""The (epsilon, delta) filter against analysts who choose both prices from earlier answers."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from random import Random

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adyton.errors import BudgetRefused, InvalidRequest
from adyton.kernel.exact import UNITS_PER_ONE
from adyton.kernel.privacy import Guarantee
from literature.approximate_filter import DELTA_UNITS, ApproximateFilter, Spent
from support.tries import often

MILLIONTH = Fraction(1, 10**6)


def filter_of(epsilon: str | Fraction, delta: str | Fraction, aside: str | Fraction = 0) -> ApproximateFilter:
    return ApproximateFilter(Guarantee(Fraction(epsilon), Fraction(delta)), Fraction(aside))


@settings(deadline=None, max_examples=150)
@given(
    st.floats(-6, 2.5).map(lambda x: Fraction(10**x)),
    st.floats(-12, -0.4).map(lambda x: Fraction(10**x)),
    st.floats(0, 0.99).map(Fraction),
)
def test_theorem_APPROXIMATE_FILTER_the_limit_is_the_formula_rounded_down(
    epsilon: Fraction, delta: Fraction, share: Fraction
) -> None:
    aside = delta * share
    limit = filter_of(epsilon, delta, aside).allowed()
    with mpmath.workdps(60):
        rest = delta - aside
        log_inverse = -mpmath.log(mpmath.mpf(rest.numerator) / rest.denominator)
        target = mpmath.mpf(epsilon.numerator) / epsilon.denominator

        def reached(units: float) -> mpmath.mpf:
            s = mpmath.mpf(units) / UNITS_PER_ONE
            return mpmath.sqrt(2 * log_inverse * s) + s / 2

        assert reached(limit.squares) <= target
        assert reached(limit.squares * (1 + mpmath.mpf(10) ** -13) + 2) > target
    assert 0 <= aside * DELTA_UNITS - limit.deltas < 1


Menu = tuple[tuple[float, float], ...]


def worst_delta(filter_: ApproximateFilter, menu: Menu, epsilon: float) -> float:
    """The best that any adaptive analyst can do, exactly: backwards over all of its choices.

    A release of (e, d) is at worst: with probability d it tells everything, else a randomized response of e.
    The state is what the filter remembers and the loss so far; the analyst maximises E max(0, 1 - exp(epsilon - L)).
    """

    @cache
    def value(spent: Spent, loss_key: int) -> float:
        loss = loss_key / 10**9
        best = max(0.0, -math.expm1(epsilon - loss))
        for e, d in menu:
            try:
                after = filter_.charge(spent, Fraction(str(e)), Fraction(str(d)))
            except BudgetRefused:
                continue
            true = 1 / (1 + math.exp(-e))
            step = round(e * 10**9)
            rest = true * value(after, loss_key + step) + (1 - true) * value(after, loss_key - step)
            best = max(best, d + (1 - d) * rest)
        return best

    return value(Spent(), 0)


MENUS: list[Menu] = [
    ((0.25, 0.0),),
    ((0.25, 0.0), (0.5, 0.0)),
    ((0.25, 0.01), (0.5, 0.0)),
    ((0.125, 0.0), (0.375, 0.01), (0.625, 0.0)),
    ((1.0, 0.0), (0.25, 0.02)),
]


@pytest.mark.parametrize("menu", MENUS)
@pytest.mark.parametrize(
    ("epsilon", "delta", "aside"), [("2", "0.1", "0.04"), ("1.5", "0.3", "0.05"), ("1", "0.5", "0.1")]
)
def test_theorem_APPROXIMATE_FILTER_no_adaptive_analyst_beats_it(
    menu: Menu, epsilon: str, delta: str, aside: str
) -> None:
    assert worst_delta(filter_of(epsilon, delta, aside), menu, float(epsilon)) <= float(Fraction(delta))


class _Wrong(ApproximateFilter):
    """The same filter with a limit that is too generous by a factor, or with free deltas."""

    factor: int = 1
    free: bool = False

    def allowed(self) -> Spent:
        limit = ApproximateFilter.allowed(self)
        return Spent(limit.squares * self.factor, 10**41 if self.free else limit.deltas)


class _Twice(_Wrong):
    factor = 2


class _Free(_Wrong):
    free = True


@pytest.mark.parametrize("wrong", [_Twice, _Free])
def test_theorem_APPROXIMATE_FILTER_the_test_would_see_a_wrong_filter(wrong: type[ApproximateFilter]) -> None:
    """Squares counted at half their size; deltas forgotten."""
    menu: Menu = ((0.25, 0.001),) if wrong is _Free else ((0.5, 0.0), (0.75, 0.0))
    mutant, right = (
        kind(Guarantee(Fraction(5), Fraction("0.01")), Fraction("0.002"))
        for kind in (wrong, ApproximateFilter)
    )
    assert worst_delta(mutant, menu, 5.0) > 0.01 >= worst_delta(right, menu, 5.0)


def test_theorem_APPROXIMATE_FILTER_thousands_of_sequences_stay_within_it() -> None:
    """Exactly: one charge of a sequence that was rounded down would be seen."""
    random = Random(17)
    for _ in range(often(2_500, 10_000)):
        filter_ = filter_of(
            Fraction(random.randrange(1, 40), 10), MILLIONTH, MILLIONTH / random.choice([2, 3, 10])
        )
        limit, spent, squares, deltas, answer = filter_.allowed(), Spent(), Fraction(0), Fraction(0), 0.0
        for _ in range(6):
            epsilon = Fraction(random.randrange(1, 10**9), random.choice([10**9, 7 * 10**9, 10**10]))
            delta = Fraction(random.randrange(0, 10**6), random.choice([10**12, 3 * 10**12, 7 * 10**13]))
            epsilon = epsilon * 3 if answer > 0 else epsilon
            try:
                spent = filter_.charge(spent, epsilon, delta)
            except BudgetRefused:
                continue
            squares, deltas, answer = squares + epsilon**2, deltas + delta, random.gauss(0, 1)
        assert squares * UNITS_PER_ONE <= spent.squares <= limit.squares
        assert deltas * DELTA_UNITS <= spent.deltas <= limit.deltas
        assert deltas <= filter_.set_aside


def test_theorem_APPROXIMATE_FILTER_admits_as_many_as_advanced_composition() -> None:
    """sqrt(2 k ln(1/d)) e + k e**2 / 2 <= 1 at e = 0.01 and d = 1e-6: k = 349, as if fixed in advance."""
    filter_, spent, k = filter_of("1", MILLIONTH), Spent(), 0
    while True:
        try:
            spent = filter_.charge(spent, "0.01")
        except BudgetRefused:
            break
        k += 1
    assert k == 349


def test_law_a_refused_charge_leaves_no_trace_and_says_what_is_left() -> None:
    filter_ = filter_of("1", MILLIONTH, MILLIONTH / 2)
    spent = filter_.charge(Spent(), "0.1", "1e-7")
    with pytest.raises(BudgetRefused) as refused:
        filter_.charge(spent, "0.5")
    assert float(refused.value.facts["largest_epsilon"]) < 0.2
    assert float(refused.value.facts["left_delta"]) == pytest.approx(4e-7)
    with pytest.raises(BudgetRefused):
        filter_.charge(spent, "0.01", "4.1e-7")
    assert filter_.charge(spent, "0.01", "4e-7").deltas == filter_.allowed().deltas


@pytest.mark.parametrize("epsilon", [0, -1, "nan", "inf", None])
def test_law_impossible_epsilons_are_refused(epsilon: object) -> None:
    with pytest.raises(InvalidRequest):
        filter_of("1", MILLIONTH).charge(Spent(), epsilon)  # type: ignore[arg-type]


@pytest.mark.parametrize("delta", [-1, 1, 2, "nan"])
def test_law_impossible_deltas_are_refused(delta: object) -> None:
    with pytest.raises(InvalidRequest):
        filter_of("1", MILLIONTH).charge(Spent(), "0.1", delta)  # type: ignore[arg-type]


@pytest.mark.parametrize("aside", [-1, MILLIONTH, 1])
def test_law_an_impossible_share_is_refused(aside: Fraction) -> None:
    with pytest.raises(InvalidRequest, match="set aside"):
        filter_of("1", MILLIONTH, aside)


@pytest.mark.parametrize("digits", [301, 400])
def test_law_a_delta_that_no_float_holds_is_refused(digits: int) -> None:
    with pytest.raises(InvalidRequest, match="1e-300"):
        filter_of("1", Fraction(1, 10**digits))
