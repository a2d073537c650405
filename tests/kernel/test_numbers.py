"""The arithmetic under every price: integers that do not wrap around, roundings that go one way, and no farther."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from mpmath import mp

from adyton.arithmetic.search import edge, whole_edge
from adyton.errors import InvalidRequest
from adyton.kernel.exact import outward as o
from adyton.kernel.exact.cells import Cells, largest, weighted, whole
from adyton.kernel.exact.curves import Curve, curve_steps
from adyton.kernel.exact.doubled import two_product, two_sum
from adyton.kernel.exact.search import largest_real
from adyton.kernel.exact.shares import query_share

F = Fraction
EDGES = (0, 1, -1, 2**31, 2**61 - 1, 2**62 - 1, -(2**62), 2**63 - 1, -(2**63), 2**63, 3**62, -(10**30))


# Integers of cells -----------------------------------------------------------------------------------------


def test_sums_of_cells_are_those_of_whole_numbers() -> None:
    """Mutants: ``weighted`` that adds up machine integers which are too large, ``largest`` without the least."""
    rng = random.Random(1)
    for _ in range(200):
        columns = [[rng.choice(EDGES) for _ in range(3)] for _ in range(rng.randint(1, 4))]
        weights = [rng.choice((1, 1, 1, -1, 0, 2, 2**40)) for _ in columns]
        found = weighted(*((weight, whole(own)) for weight, own in zip(weights, columns, strict=True)))
        expected = [sum(w * own[i] for w, own in zip(weights, columns, strict=True)) for i in range(3)]
        assert [int(one) for one in found] == expected
        assert largest(whole(columns[0])) == max(map(abs, columns[0]))
    most = whole([2**62 - 1])
    assert weighted((1, most), (1, most), (1, most)).tolist() == [3 * (2**62 - 1)]
    assert largest(whole([])) == 0


def test_cells_are_the_integers_that_they_were_made_of() -> None:
    """Mutants: ``whole`` that takes any array as it is; ``Cells`` that forget their places, or take all as one."""
    assert whole(np.array([2**31 - 1], np.int32)).dtype == np.int64
    assert whole(np.array([1], np.int64)).dtype == np.int64
    assert whole(Cells([3, 2**80])).tolist() == [3, 2**80]
    some = Cells.at(np.array([1, 4]), whole([7, -2]), 6)
    assert list(some) == [0, 7, 0, 0, -2, 0] == some
    assert (len(some), some[4], list(some[1:3]), some.places is None) == (6, -2, [7, 0], False)
    assert some == Cells([0, 7, 0, 0, -2, 0])
    assert some != Cells([0, 7, 0, 0, -2, 1])
    assert some != [0, 7, 0]
    assert some != 7
    assert np.array(some, object).tolist() == list(some)
    assert repr(some) == "[0, 7, 0, 0, -2, 0]"
    full = Cells.at(np.array([0, 1]), whole([5, 6]), 2)
    assert (full.places, list(full), len(full)) == (None, [5, 6], 2)


def test_sums_and_products_of_floats_lose_nothing() -> None:
    """Mutants: another split, another sign, a term less."""
    rng = np.random.default_rng(1)
    a = rng.standard_normal(3000) * 2.0 ** rng.integers(-40, 40, 3000)
    b = rng.standard_normal(3000) * 2.0 ** rng.integers(-40, 40, 3000)
    for meant, pair in ((lambda x, y: x + y, two_sum(a, b)), (lambda x, y: x * y, two_product(a, b))):
        for x, y, high, low in zip(a, b, *pair, strict=True):
            assert meant(F(x), F(y)) == F(high) + F(low)


# Shares, searches ------------------------------------------------------------------------------------------


def test_all_shares_together_are_hardly_less_than_one() -> None:
    """Mutants: another numerator, another power."""
    with mp.workdps(40):
        total = sum(mp.mpf(query_share(j).numerator) / query_share(j).denominator for j in range(1, 50))
        rest = mp.zeta(2, 50) * 6 / mp.pi**2
        assert 1 - mp.mpf(10) ** -15 < total + rest <= 1
    for bad in (0, -1, True, 1.0):
        with pytest.raises(InvalidRequest):
            query_share(bad)  # type: ignore[arg-type]


def test_an_edge_is_a_place_that_was_looked_at() -> None:
    """Mutants: the other end, another middle, a search that never ends or that ends too early."""
    third, looked = F(1, 3), list[Fraction]()

    def below(place: Fraction) -> bool:
        looked.append(place)
        return place <= third

    found = edge(below, F(0), F(1))
    assert 0 < third - found <= F(1, 2**200)
    assert (found in looked, len(looked)) == (True, 200)
    assert edge(below, F(0), F(1), halvings=3) == F(1, 4)
    close = edge(lambda place: place <= third, F(1, 8), F(1), close=0.01)
    assert 0 <= third - close <= F(1, 100)
    assert third - close > F(1, 100_000)
    assert edge(lambda place: place >= 2, 8.0, 1.0, middle=lambda one, other: math.sqrt(one * other)) == 2
    assert edge(lambda place: False, F(0), F(1), halvings=9) == 0
    for good, bad in ((0, 100), (100, 0)):
        for last in range(1, 99):
            holds = (lambda n, last=last: n <= last) if good < bad else (lambda n, last=last: n >= last)
            assert whole_edge(holds, good, bad) == last
    assert whole_edge(lambda n: False, 5, 6) == 5


# Roundings -------------------------------------------------------------------------------------------------


def test_margins_are_what_their_descriptions_say() -> None:
    """Mutants: each of the constants."""
    u = o.UNIT_ROUNDOFF
    assert 1 + u == 1 < 1 + 1.0001 * u
    assert (2.0**-50, 2.0**-48, F(2) ** -150, 10**18) == (o.FEW, o.CANCELLED, o.MPMATH, o.UNITS_PER_ONE)
    assert (900 * u < o.SEVERAL < 901 * u, o.MANY // u, o.STEEP // u // 1000) == (True, 9007, 900)
    assert (o.UP, o.SAFE) == (1 + 2.0**-50, 1 + 1e-12)


class Other(Fraction):
    """No plain fraction: ``float_up`` and ``float_down`` go the long way."""


def test_floats_are_rounded_as_their_functions_say() -> None:
    """Mutants: the other direction, a step too far, minus zero."""
    rng = random.Random(2)
    values = [F(rng.randint(-(10**20), 10**20), rng.randint(1, 10**20)) for _ in range(200)]
    for value in [*values, F(0), F(1, 2), F(-3), F(10) ** 30 + 1]:
        up, down = o.float_up(value), o.float_down(value)
        assert F(down) <= value <= F(up)
        assert (down == up) == (F(float(value)) == value)
        assert (o.float_up(Other(value)), o.float_down(Other(value))) == (up, down)
        assert math.nextafter(down, math.inf) >= up
        printed = o.printed_up(value)
        assert F(repr(printed)) >= value > F(repr(math.nextafter(printed, -math.inf)))
        if value > 0:
            root = o.square_root_up(value)
            assert F(root) ** 2 >= value
            assert F(math.nextafter(math.nextafter(root, 0), 0)) ** 2 < value
    assert [math.copysign(1, one) for one in (o.float_down(F(0)), o.ratio_down(0, 3))] == [1, 1]
    assert [math.copysign(1, one) for one in (o.float_down(Other(0)), o.float_up(F(0)))] == [1, 1]
    with mp.workdps(50):
        for number, place in ((mp.pi, 0), (mp.mpf(1) / 3, 1), (mp.mpf(2), 2)):
            assert o.down(number) <= number <= o.up(number) <= math.nextafter(o.down(number), math.inf), place
            assert (o.down(mp.mpf(2)), o.up(mp.mpf(2))) == (2, 2)


def test_logarithms_are_rounded_up_and_hardly() -> None:
    """Mutants: the margin's sign and size, another border between short and long numbers."""
    rng = random.Random(3)
    values = [F(rng.randint(1, 10**30), rng.randint(1, 10**30)) for _ in range(100)]
    for size in (898, 899, 900, 901, 5000):
        values += [F(2**size + 1, 3), F(3, 2**size + 1), F(2**size + 1, 2**size - 1), F(3**size, 2**size)]
    with mp.workdps(60):
        for value in values:
            exact = mp.log(mp.mpf(value.numerator)) - mp.log(mp.mpf(value.denominator))
            found, terms = o.log_up(value), mp.log(value.numerator) + mp.log(value.denominator)
            assert exact < found
            assert found - exact < 120 * o.UNIT_ROUNDOFF * (terms if terms > 600 else abs(exact) + 10)
        for answers in (1, 2, 3, 10**6, 2**70):
            exact, bits = mp.log(answers) / mp.log(2), o.bits_of(answers)
            above = mp.mpf(bits.numerator) / bits.denominator - exact
            assert 0 <= above < 1e-13 * exact + 1e-300


LONGEST = "0." + "1" * 58


def test_a_written_number_has_at_most_60_characters_and_a_small_exponent() -> None:
    """Mutants: ``_from_text``, ``rational`` and ``positive`` with other borders."""
    assert o.rational(LONGEST, "x") == F(LONGEST)
    assert o.rational("1e40", "x") == 10**40 == 1 / o.rational("1E-40", "x")
    assert o.rational(10**100, "x") == 10**100 == -o.rational(-(10**100), "x")
    assert o.positive(F(1, 2**12_000), "x") > 0
    long = [LONGEST + "1", "1e41", "1e-41", 10**100 + 1, -(10**100) - 1]
    for bad in long:
        with pytest.raises(InvalidRequest) as refused:
            o.rational(bad, "x")
        assert len(str(refused.value)) < 150
    with pytest.raises(InvalidRequest, match=r"0\.1{58}\.\.\."):
        o.rational(LONGEST + "1", "x")
    with pytest.raises(InvalidRequest, match=r"0\.1{57}x'"):
        o.rational(LONGEST[:-1] + "x", "x")
    for bad in (F(1, 2**12_000 + 1), 0, -1):
        with pytest.raises(InvalidRequest):
            o.positive(bad, "x")


def test_whole_numbers_probabilities_and_what_is_not_negative() -> None:
    """Mutants: another border, a truth taken for a number, a check left out."""
    assert [o.whole(1, "x"), o.whole(0, "x", 0), o.whole(7, "x", 7)] == [1, 0, 7]
    for value, least in ((0, 1), (True, 1), (1.0, 1), ("1", 1), (6, 7), (-1, 0)):
        with pytest.raises(InvalidRequest):
            o.whole(value, "x", least)
    assert o.probability("0.95", "x") == F(19, 20) == 1 - o.failure_of(0.95)
    assert o.each_of("0.9", 4) == F(39, 40)
    for bad in (0, 1, 2, -1):
        with pytest.raises(InvalidRequest):
            o.probability(bad, "x")
    assert o.not_negative(0, "x") == 0
    for number in (math.nan, -1e-300):
        with pytest.raises(InvalidRequest):
            o.not_negative(number, "x")


def test_units_are_written_with_every_digit_and_read_again() -> None:
    """Mutants: ``decimal_text`` and ``decimal_units`` with another number of digits, or without a sign."""
    rng = random.Random(4)
    for units in [0, 1, -1, 10**18, 15 * 10**17, *(rng.randint(-(10**40), 10**40) for _ in range(50))]:
        text = o.decimal_text(units)
        assert (F(text) * 10**18, o.decimal_units(text)) == (units, units)
        assert not text.endswith((".", "0")) or "." not in text
    assert o.decimal_units("9" * 120 + "." + "9" * 18) == 10**138 - 1
    for bad in ("", "1.", ".5", "+1", "1e3", "9" * 121, "0." + "1" * 19, "--1", "1 ", "٣"):
        with pytest.raises(InvalidRequest):
            o.decimal_units(bad)
    assert (o.units_up(F(1, 3)), o.units_down(F(1, 3))) == (333333333333333334, 333333333333333333)
    assert (o.units_up(F(2)), o.units_down(F(2))) == (2 * 10**18, 2 * 10**18)


# Curves ----------------------------------------------------------------------------------------------------

PLACES: list[tuple[Curve, Fraction, int, int]] = [
    ("sqrt", F(1, 4), 0, 60),
    ("sqrt", F(3), 0, 30),
    ("ln", F(1, 3), 1, 40),
    ("ln", F(1, 2), 1, 4),
    ("log10", F(7, 2), 1, 300),
    ("exp", F(1, 4), -20, 40),
    ("exp", F(1), 40, 45),
]


@pytest.mark.parametrize("decimals", [0, 1, 4])
@pytest.mark.parametrize("case", range(len(PLACES)))
def test_curves_are_rounded_to_the_nearest_step_half_away_from_zero(case: int, decimals: int) -> None:
    """Against Python's decimals.  Mutants: ``_root`` and ``_nearest`` that round otherwise, a place too many."""
    curve, step, low, high = PLACES[case]
    found, context = curve_steps(curve, step, low, high, decimals), Context(prec=60)
    assert len(found) == high - low + 1
    for place, steps in zip(range(low, high + 1), found, strict=True):
        at = place * step
        x = context.divide(Decimal(at.numerator), Decimal(at.denominator))
        exact = F({"sqrt": x.sqrt, "ln": x.ln, "log10": x.log10, "exp": x.exp}[curve](context))
        size = (2 * abs(exact) * 10**decimals + 1) // 2
        assert steps == (size if exact > 0 else -size)


def test_curves_are_refused_where_they_are_not_defined_or_too_steep() -> None:
    """Mutants: each border."""
    assert curve_steps("sqrt", F(1), 0, 1, 0) == (0, 1)
    assert curve_steps("ln", F(1), 1, 1, 0) == (0,)
    bad: list[tuple[Any, int, int]] = [
        ("sqrt", -1, 1),
        ("ln", 0, 1),
        ("log10", 0, 1),
        ("log10", -1, 1),
        ("exp", 0, 46),
    ]
    for curve, low, high in bad:
        with pytest.raises(InvalidRequest):
            curve_steps(curve, F(1), low, high, 1)
    assert curve_steps("exp", F(1, 2), 90, 90, 0)


@dataclass(frozen=True)
class Kept:
    epsilon: Any
    delta: Any


def test_numbers_that_were_written_are_kept_exactly() -> None:
    """Mutants: a field that stays as it is, one that is not there, a sign of nothing."""
    kept = Kept(0.1, None)
    o.keep_exactly(kept, "epsilon", "delta")
    assert (type(kept.epsilon), kept.epsilon, kept.delta) == (F, F(1, 10), None)
    same = F(3, 7)
    other = Kept(same, "1e-3")
    o.keep_exactly(other, "epsilon", "delta")
    assert (other.epsilon is same, other.delta) == (True, F(1, 1000))
    assert (o.decimal_text(0), o.decimal_text(-1), o.decimal_units("0")) == ("0", "-0.000000000000000001", 0)
    assert (o.next_up(1.0), o.next_down(1.0)) == (1 + 2.0**-52, 1 - 2.0**-53)
    assert [o.square_root_up(F(n * n)) for n in (1, 2, 3, 1000)] == [1, 2, 3, 1000]
    assert [o.nats_up(n) for n in (0, 1, 10**16, 10**17)] == [0, 1, 6931471805599454, 69314718055994540]
    assert o.COARSE == 1e-9


@pytest.mark.parametrize("border", [1e-12, 0.3, 0.9999, 1.0, 1.0001, 3.7, 8.0, 1e9])
def test_the_largest_number_that_fits_is_found_closely(border: float) -> None:
    """Mutants: a search that goes the other way, or ends too early or never."""
    for close in (1e-3, 1e-12):
        looked: list[float] = []

        def fits(place: float, looked: list[float] = looked) -> bool:
            looked.append(place)
            return place <= border

        found = largest_real(fits, close)
        assert found <= border < found * (1 + 1.01 * close)
        assert found in looked
        assert len(looked) < 100
