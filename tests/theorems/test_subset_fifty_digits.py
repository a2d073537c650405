"""Every width of the subset theorem that a study shows, against its page in fifty digits: never below, hardly above.

Prices, moments and tails are written down anew here, from the pages; the best location is searched for in fifty
digits.  A width that were rounded to the wrong side, or that paid 9/16 of the price (three quarters of the shift),
would be below.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import mpmath
import numpy as np
import pytest

from adyton.validity.subset.last_look import p_value_threshold
from adyton.validity.subset.tails import KEPT, KEPT_TWICE, Before, Way, largest_normal, ways_after
from adyton.validity.subset.widths import (
    beyond_linear,
    greatest_share,
    hoeffding_width,
    least_share,
    price_of,
    variance_width,
)
from support.shorthands import paid_threshold, worth

MP = mpmath.mp.clone()
MP.dps = 50
ROWS = [1, 300, 10**6]
LEVELS = [0.2, 1e-3, 1e-9]
HARDLY = 2e-3  # tilts are tried in steps


def whole(number):
    part = Fraction(number)
    return MP.mpf(part.numerator) / part.denominator


def tail(y):
    return MP.erfc(y / MP.sqrt(2)) / 2


@lru_cache(maxsize=1000)
def at_location(y):
    """phi(y) / P(N > y), and log P(N > y)."""
    beyond = tail(y)
    return MP.npdf(y) / beyond, MP.log(beyond)


def exact_price(rows, spent, kept):
    """PAY-AS-YOU-GO and SUBSET-VARIANCE: n + 2 in place of n, and 1/(4 c**3 99) for whole sizes."""
    c = whole(kept)
    return ((1 - c) / c * (rows + 2) / 2 + 1 / (4 * c**3 * 99)) * whole(spent)


def exact_ways(rows, before, level):
    """fresh, price and log level of each way: an answer may use any of them, at its share of the level."""
    failure = whole(level)
    if before.pure:
        epsilon = whole(before.pure)
        for c, d in KEPT_TWICE:
            fresh = 1 - whole(c) - whole(d)
            pure = (1 - whole(d)) / whole(d) * rows * epsilon**2 / 8
            yield (
                fresh,
                exact_price(rows, before.spent, c) + pure,
                MP.log(failure / 32 / len(KEPT_TWICE)),
            )
    elif before.spent:
        for c, weight in KEPT:
            yield (
                1 - whole(c),
                exact_price(rows, before.spent, c),
                MP.log(failure * 31 / 32 * whole(weight)),
            )
    else:
        yield MP.mpf(1), MP.mpf(0), MP.log(failure)


PLACES = [MP.mpf(i) / 2 for i in range(-12, 17)] + [MP.mpf("1.15") ** i for i in range(15, 60)]
GOLDEN = (MP.sqrt(5) - 1) / 2


def lowest(found):
    """The least value over all locations: a coarse look, then golden sections, in fifty digits."""
    best = min(range(1, len(PLACES) - 1), key=lambda i: found(PLACES[i]))
    low, high = PLACES[best - 1], PLACES[best + 1]
    one, two = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    at_one, at_two = found(one), found(two)
    for _ in range(38):
        if at_one < at_two:
            high, two, at_two = two, one, at_one
            one = high - GOLDEN * (high - low)
            at_one = found(one)
        else:
            low, one, at_one = one, two, at_two
            two = low + GOLDEN * (high - low)
            at_two = found(two)
    return min(at_one, at_two)


def exact_width(scale, moment, ways):
    """SUBSET-ANSWERS: t = s y + (log P(N > y) + M + price - level) / tilt at its best location, of the best way."""

    def at(y, fresh, price, log_level):
        steepness, log_tail = at_location(y)
        tilt = steepness / scale
        return scale * y + (log_tail + moment(tilt, fresh) + price - log_level) / tilt

    return min(lowest(lambda y, way=way: at(y, *way)) for way in ways)


def hoeffding(rows):
    return lambda tilt, fresh: tilt**2 * rows / (8 * fresh)


def bennett(variance, beyond):
    v, b = whole(variance), whole(beyond)
    return lambda tilt, fresh: fresh * v / b**2 * (MP.expm1(tilt * b / fresh) - tilt * b / fresh)


def assert_just_above(width, exact):
    assert exact <= width <= exact + HARDLY * abs(exact)


BEFORE = [
    Before(),
    Before(Fraction(1, 10**4)),
    Before(Fraction(1, 50)),
    Before(Fraction(1, 50), Fraction(1, 5)),
]


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("before", BEFORE, ids=["nothing", "little", "much", "and a monitor"])
@pytest.mark.parametrize("level", LEVELS)
def test_theorem_PAY_AS_YOU_GO_widths_are_never_below_fifty_digits(rows, before, level):
    scale = 0.7 * math.sqrt(rows)
    found = hoeffding_width(rows, np.array([1.0]), np.array([scale]), ways_after(before, rows, level))
    assert_just_above(
        whole(float(found[0])),
        exact_width(whole(scale), hoeffding(rows), list(exact_ways(rows, before, level))),
    )


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("level", LEVELS)
def test_theorem_SUBSET_ANSWERS_fixed_and_paid_widths_to_fifty_digits(rows, level):
    """Fixed and paid widths are never below those of fifty digits."""
    scale, spent, log_level = 0.4 * math.sqrt(rows) + 0.1, Fraction(3, 1000), math.log(level)
    c = whole(0.8)
    paid = (1 - c, (1 - c) / c * rows * whole(spent) / 2, whole(log_level))
    for way, exact in (
        (Way(1.0, 0.0, log_level), (MP.mpf(1), MP.mpf(0), whole(log_level))),
        (Way(1 - 0.8, price_of(rows, spent, 0.8), log_level), paid),
    ):
        found = hoeffding_width(rows, np.array([1.0]), np.array([scale]), [way])
        assert_just_above(whole(float(found[0])), exact_width(whole(scale), hoeffding(rows), [exact]))


@pytest.mark.parametrize("before", BEFORE, ids=["nothing", "little", "much", "and a monitor"])
@pytest.mark.parametrize("level", LEVELS[:2])
@pytest.mark.parametrize(("variance", "beyond"), [(0.01, 1.0), (30.0, 1.0), (250.0, 3.0)])
def test_theorem_SUBSET_BENNETT_widths_are_never_below_fifty_digits(before, level, variance, beyond):
    rows, scale = 1000, 8.0
    ways = ways_after(before, rows, level)
    found = whole(float(variance_width(np.array([variance]), beyond, np.array([scale]), ways)[0]))
    exact = exact_width(MP.mpf(scale), bennett(variance, beyond), list(exact_ways(rows, before, level)))
    assert_just_above(found, exact)


def exact_least_share(answer, rows, scale, ways):
    """SUBSET-SHARES: (exp(e / (fresh n)) - 1) / (exp(tilt / fresh) - 1) at its best location, of the best way."""

    def at(y, fresh, price, log_level):
        steepness, log_tail = at_location(y)
        tilt = steepness / scale
        left = (log_level - log_tail + tilt * (answer - scale * y) - price) / (fresh * rows)
        return -MP.expm1(left) / MP.expm1(tilt / fresh)

    return max(MP.mpf(0), -min(lowest(lambda y, way=way: at(y, *way)) for way in ways))


@pytest.mark.parametrize("rows", ROWS[1:])
@pytest.mark.parametrize("before", BEFORE, ids=["nothing", "little", "much", "and a monitor"])
@pytest.mark.parametrize("share", [0.5, 0.05, 0.01])
def test_theorem_SUBSET_SHARES_ends_are_never_inside_those_of_fifty_digits(rows, before, share):
    level, scale, answer = 1e-3, 0.3 * math.sqrt(rows), round(share * rows)
    ways, exact = ways_after(before, rows, level), list(exact_ways(rows, before, level))
    low = float(least_share(np.array([float(answer)]), rows, scale, ways)[0])
    high = float(greatest_share(np.array([float(answer)]), rows, scale, ways)[0])
    least = exact_least_share(MP.mpf(answer), rows, whole(scale), exact)
    greatest = 1 - exact_least_share(MP.mpf(rows - answer), rows, whole(scale), exact)
    length = greatest - least
    assert least - HARDLY * length <= whole(low) <= least
    assert greatest <= whole(high) <= greatest + HARDLY * length


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("spent", [Fraction(1, 10**6), Fraction(1, 10**4), Fraction(1, 50)])
@pytest.mark.parametrize("alpha", [Fraction(1, 2), Fraction(1, 20), Fraction(1, 10**6)])
def test_theorem_SUBSET_P_VALUES_thresholds_are_never_above_fifty_digits(rows, spent, alpha):
    a, level = rows * whole(spent) / 2, whole(alpha)
    exact = MP.exp(-((MP.sqrt(a) + MP.sqrt(-MP.log(level))) ** 2))
    found = whole(p_value_threshold(alpha, rows, spent))
    assert exact * (1 - MP.mpf("1e-6")) <= found <= exact or exact < MP.mpf(2) ** -1000
    paid = [
        MP.exp((MP.log(level * 31 / 32 * whole(w)) - exact_price(rows, spent, c)) / (1 - whole(c)))
        for c, w in ((0.25, 0.6), (0.6, 0.3), (0.9, 0.1))
    ]
    found = whole(paid_threshold(alpha, rows, spent))
    assert max(paid) * (1 - MP.mpf("1e-6")) <= found <= max(paid) or max(paid) < MP.mpf(2) ** -1000


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("p", [Fraction(1, 3), Fraction(1, 10**5), Fraction(1, 10**40)])
def test_theorem_SUBSET_P_VALUES_corrected_are_never_below_fifty_digits(rows, p):
    spent = Fraction(1, 10**5)
    exact = min(
        whole(p) ** (1 - whole(c)) * MP.exp(exact_price(rows, spent, c)) / (MP.mpf(31) / 32 * whole(w))
        for c, w in ((0.25, 0.6), (0.6, 0.3), (0.9, 0.1))
    )
    found = whole(worth(p, rows, spent))
    assert min(exact, MP.mpf(1)) <= found <= exact * (1 + MP.mpf("1e-6"))


@pytest.mark.parametrize("failure", [Fraction(1, 3), Fraction(1, 1000), Fraction(1, 10**30)])
def test_the_largest_normal_is_never_below_fifty_digits(failure):
    found = whole(largest_normal(failure))
    assert 2 * tail(found) <= whole(failure) <= 2 * tail(found * (1 - MP.mpf("1e-6")))


def test_theorem_SUBSET_BENNETT_its_exponent_is_rounded_up_everywhere() -> None:
    """Near 0, where it cancels, on both sides of the change from a series, and far out.

    Mutants: six terms of the series; no margin; a subtraction from 1e-5 on.
    """
    places = np.concatenate(
        [np.geomspace(1e-12, 600, 400), np.linspace(0.2, 0.3, 201), [np.nextafter(0.25, 0)]]
    )
    for x, found in zip(places, beyond_linear(places), strict=True):
        exact = MP.expm1(whole(x)) - whole(x)
        assert exact < found <= exact * (1 + whole(2e-13))
