"""EXACT-COINS and EXPONENTIAL-WEIGHTS: integers that enclose, and choices made with them, digit by digit."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from noise_oracle import Script, digits
from selection_oracle import fit

from adyton.errors import InvalidRequest
from adyton.kernel.special.mechanisms import exponential_weights
from adyton.kernel.special.mechanisms.coins import below, exp_bounds, lies_below
from adyton.kernel.special.mechanisms.exponential_weights import choose, enclose, flip
from support.randomness import Seeded

ALARM = 1e-8  # of each test of fit, were its bits fresh; they are fixed, so it never wavers
RATIONALS = st.builds(Fraction, st.integers(0, 10**12), st.integers(1, 10**12)) | st.builds(
    Fraction, st.integers(0, 5000), st.integers(1, 100)
)
RATES = st.builds(lambda m, e: Fraction(m, 10**e), st.integers(1, 10**6), st.integers(0, 24))
LAST = 2**64 - 1


def exp_of(x: Fraction) -> mpmath.mpf:
    return mpmath.exp(-mpmath.mpf(x.numerator) / x.denominator)


def words(gaps: list[int]) -> np.ndarray:
    return np.array(gaps, np.uint64)


@given(RATIONALS, st.integers(0, 900))
@example(Fraction(0), 0)
@example(Fraction(1, 10**30), 64)
@example(Fraction(899), 900)
@settings(max_examples=300, deadline=None, derandomize=True)
def test_theorem_EXACT_COINS_bounds_enclose_the_exponential(x: Fraction, places: int) -> None:
    low, high = exp_bounds(x, places)
    assert 0 <= high - low <= 2
    with mpmath.workprec(3000):
        assert low <= mpmath.ldexp(exp_of(x), places) <= high


@pytest.mark.parametrize("n", [1, 2, 3, 7, 2**63 + 1, 2**64 - 1, 2**64, 2**200 + 1])
def test_theorem_EXACT_COINS_below_keeps_as_many_numbers_for_each_result(n: int) -> None:
    """The kept numbers are 0..end-1 with n dividing end, and fewer than one in 2**64 is not kept."""
    count = n.bit_length() // 64 + 2
    whole = 1 << 64 * count
    end = whole - whole % n
    assert (whole - end) << 64 <= whole

    def script(*numbers: int) -> Script:
        return Script(*(number >> 64 * i & LAST for number in numbers for i in range(count)))

    assert below(n, script(end - 1)) == n - 1
    assert below(n, Script(*[5] + [0] * count), words=count + 1) == 5 % n
    assert below(n, script(0)) == 0
    assert below(n, script(n)) == 0
    if end < whole:
        bits = script(end, whole - 1, 5)
        assert below(n, bits) == 5 % n
        assert bits.left == 0


def test_theorem_EXACT_COINS_below_is_uniform() -> None:
    bits = Seeded(11)
    drawn = np.bincount([below(7, bits) for _ in range(20000)], minlength=7)
    assert fit(drawn, [1 / 7] * 7) > ALARM


def coin(x: Fraction, bits: Any) -> bool:
    """True with probability exp(-x): one word is read, and another where its digits do not decide."""
    return lies_below(int(bits.words(1)[0]), 64, lambda places: exp_bounds(x, places), bits)


@pytest.mark.parametrize("x", [Fraction(1, 1000), Fraction(1, 2), Fraction(1), Fraction(7, 3), Fraction(30)])
def test_theorem_EXACT_COINS_a_coin_reads_on_until_its_digits_decide(x: Fraction) -> None:
    with mpmath.workprec(600):
        first, second, third = digits(exp_of(x), 3)
    assert coin(x, Script(first - 1)) or coin(x, Script(first - 2))
    assert not coin(x, Script(first + 2))
    assert coin(x, Script(first, second, third - 2))
    assert not coin(x, Script(first, second, third + 2))


def test_theorem_EXACT_COINS_the_ends() -> None:
    assert coin(Fraction(0), Script(LAST))
    assert not coin(Fraction(10**9), Script(1))
    assert not coin(Fraction(10**9), Script(0, 1))
    with pytest.raises(InvalidRequest):
        below(0, Script(0))


def test_theorem_EXACT_COINS_the_coin_fits_its_law() -> None:
    bits, x = Seeded(12), Fraction(9, 10)
    heads = sum(coin(x, bits) for _ in range(10000))
    p = float(exp_of(x))
    assert fit([heads, 10000 - heads], [p, 1 - p]) > ALARM


@given(
    RATES,
    st.lists(st.integers(0, LAST) | st.floats(0, 1).map(lambda u: int(u * 300)), min_size=1, max_size=8),
)
@example(Fraction(1, 10**24), [0, 1, 255, 256, LAST])
@example(Fraction(256), [0, 1, 2])
@example(Fraction(1), [255, 256, 257])
@settings(max_examples=300, deadline=None, derandomize=True)
def test_theorem_EXPONENTIAL_WEIGHTS_mantissas_enclose_the_weight(rate: Fraction, gaps: list[int]) -> None:
    near = [int(256 / rate) * g // LAST for g in gaps]
    gaps = [min(g, LAST) for g in (*gaps, *near)]
    with mpmath.workprec(600):
        for gap, m, x in zip(gaps, *(a.tolist() for a in enclose(words(gaps), rate)), strict=True):
            weight = exp_of(rate * gap) if rate * gap < 10**5 else mpmath.mpf(0)
            assert 2**61 <= m < 2**62
            if x == 400:
                assert weight < mpmath.mpf(2) ** -369
            else:
                assert m <= mpmath.ldexp(weight, 61 + x) < m + exponential_weights.MARGIN


def ends(gaps: list[int], rate: Fraction, widths: list[int]) -> tuple[list[int], list[int], int]:
    """At least, at most and scale of every weight, as ``choose`` uses them, but in plain integers."""
    mantissas, exponents = [], []
    for gap, width in zip(gaps, widths, strict=True):
        m, x = (int(a[0]) for a in enclose(words([gap]), rate))
        product, length = m * width << 62 - width.bit_length(), 1 - width.bit_length()
        product >>= 62
        short = product < 2**61
        mantissas.append(product << short)
        exponents.append(x + length - 1 + short)
    heaviest = min(exponents)
    shifts = [min(x - heaviest, 63) for x in exponents]
    least = [m >> s for m, s in zip(mantissas, shifts, strict=True)]
    most = [(m + 64 >> s) + 1 for m, s in zip(mantissas, shifts, strict=True)]
    return least, most, 61 + heaviest


def as_words(number: int, total: int) -> list[int]:
    assert total.bit_length() <= 128
    return [number >> 64 * i & LAST for i in range(3)]


@given(
    RATES,
    st.lists(
        st.tuples(st.integers(0, 10**6), st.integers(1, 2**62 - 1) | st.integers(1, 9)),
        min_size=1,
        max_size=6,
    ),
)
@example(Fraction(1, 2), [(0, 1), (400, 2**62 - 1), (3, 1)])
@example(Fraction(300), [(0, 5), (1, 2**62 - 1)])
@settings(max_examples=150, deadline=None, derandomize=True)
def test_theorem_EXPONENTIAL_WEIGHTS_ends_of_shares_are_in_their_places(
    rate: Fraction, pairs: list[tuple[int, int]]
) -> None:
    """A number in the certain part of share i gives i; one in the doubtful part is decided by the true weight."""
    gaps = [g - min(g for g, _ in pairs) for g, _ in pairs]
    widths = [w for _, w in pairs]
    least, most, places = ends(gaps, rate, widths)
    start, total = 0, sum(most)
    for i, (low, high) in enumerate(zip(least, most, strict=True)):
        with mpmath.workprec(1200):
            exact = (
                mpmath.ldexp(widths[i] * exp_of(rate * gaps[i]), places)
                if rate * gaps[i] < 10**4
                else mpmath.mpf(0)
            )
            assert low <= exact <= high
            cut = int(exact)
        for inside in {0, low - 1} if low else set():
            drawn = Script(*as_words(start + inside, total))
            assert choose(words(gaps), rate, drawn, words(widths)) == i
        if cut + 3 < high:  # surely beyond the weight: refused, and the next proposal is taken
            again = Script(*as_words(start + high - 1, total), *as_words(_certain(least, most), total))
            assert choose(words(gaps), rate, again, words(widths)) == _heavy(least)
            assert again.left == 0
        start += high


def _heavy(least: list[int]) -> int:
    return least.index(max(least))


def _certain(least: list[int], most: list[int]) -> int:
    return sum(most[: _heavy(least)])


@pytest.mark.parametrize("widths", [[1, 1], [3, 5], [7, 1], [1, 2**61 + 1]])
def test_theorem_EXPONENTIAL_WEIGHTS_further_digits_decide_a_doubtful_unit(widths: list[int]) -> None:
    rate, gaps = Fraction(1, 3), [0, 5]
    least, most, places = ends(gaps, rate, widths)
    with mpmath.workprec(600):
        exact = mpmath.ldexp(widths[1] * exp_of(rate * 5), places)
        cut = int(exact)
        first, second = digits(exact - cut, 2)
    assert least[1] <= cut < most[1]
    total, share = sum(most), most[0] + cut
    taken = Script(*as_words(share, total), first, second - 2)
    assert choose(words(gaps), rate, taken, words(widths)) == 1
    refused = Script(*as_words(share, total), first, second + 2, *as_words(0, total))
    assert choose(words(gaps), rate, refused, words(widths)) == 0
    assert refused.left == 0


@pytest.mark.parametrize("rate", [Fraction(1, 10**9), Fraction(1, 3), Fraction(2)])
def test_theorem_EXPONENTIAL_WEIGHTS_a_coin_reads_on_until_it_is_decided(rate: Fraction) -> None:
    """A coin of many reads on until its digits decide."""
    gap = max(1, int(3 / rate) // 2)
    with mpmath.workprec(600):
        whole = int(mpmath.ldexp(exp_of(rate * gap), 61 + 128))
    first, second, third = whole >> 128, whole >> 64 & LAST, whole & LAST
    for further, expected in (((second, third - 2), True), ((second, third + 2), False)):
        assert flip(words([gap]), rate, Script(first << 3, *further)).tolist() == [expected]
    assert flip(words([gap]), rate, Script((first + 70) << 3)).tolist() == [False]
    assert flip(words([gap]), rate, Script((first - 70) << 3)).tolist() == [True]
    assert flip(words([0]), rate, Script(LAST)).tolist() == [True]


@pytest.mark.parametrize("rate", [Fraction(1, 10**9), Fraction(1, 5), Fraction(1000)])
def test_theorem_EXPONENTIAL_WEIGHTS_fit_their_law(rate: Fraction) -> None:
    unit = max(1, round(1 / rate))
    gaps = words([0, unit, unit // 2, 3 * unit, 2**63])
    p = np.array([float(exp_of(rate * int(g))) if rate * int(g) < 1000 else 0.0 for g in gaps])
    heads = flip(np.repeat(gaps, 40000), rate, Seeded(13)).reshape(5, -1).sum(axis=1)
    for count, chance in zip(heads, p, strict=True):
        assert (
            fit([count, 40000 - count], [chance, 1 - chance]) > ALARM
            if 0 < chance < 1
            else count == 40000 * chance
        )
    bits = Seeded(14)
    taken = np.bincount([choose(gaps, rate, bits) for _ in range(4000)], minlength=5)
    assert fit(taken, p / p.sum()) > ALARM


def test_theorem_EXPONENTIAL_WEIGHTS_many_weights_with_widths_fit() -> None:
    """A hundred thousand weights: the running totals pass 2**64, and blocks of the tables meet."""
    gaps, rate = np.arange(100000, dtype=np.uint64), Fraction(1, 30000)
    widths = 1 + gaps % 7
    weights = widths * np.exp(gaps / -30000)
    bits = Seeded(15)
    taken = np.array([choose(gaps, rate, bits, widths) for _ in range(200)])
    groups = np.add.reduceat(weights, range(0, 100000, 5000)) / weights.sum()
    assert fit(np.bincount(taken // 5000, minlength=20), groups) > ALARM
    residues = np.bincount(np.arange(100000) % 7, weights) / weights.sum()
    assert fit(np.bincount(taken % 7, minlength=7), residues) > ALARM


def test_theorem_EXPONENTIAL_WEIGHTS_without_its_margin_would_not_enclose() -> None:
    """The product of eight cut-off entries does fall short: the margin is needed, and four times enough."""
    random = np.random.Generator(np.random.Philox(key=16))
    gaps, rate = random.integers(0, 2**63, 300, dtype=np.uint64), Fraction(1, 10**18)
    worst = mpmath.mpf(0)
    with mpmath.workprec(300):
        for gap, m, x in zip(gaps.tolist(), *(a.tolist() for a in enclose(gaps, rate)), strict=True):
            worst = max(worst, mpmath.ldexp(exp_of(rate * gap), 61 + x) - m)
    assert 3 < worst < exponential_weights.MARGIN / 4


@pytest.mark.parametrize("rate", [Fraction(0), Fraction(-1)])
def test_law_a_rate_of_nothing_is_refused(rate: Fraction) -> None:
    with pytest.raises(InvalidRequest):
        flip(words([0]), rate, Script(0))
