"""Exact choices and coins, digit by digit: what each step of the arithmetic is, and how near its ends are."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import accumulate

import numpy as np
import pytest
from mpmath import mp, mpf

from adyton.errors import InvalidRequest
from adyton.kernel.special.mechanisms import coins
from adyton.kernel.special.mechanisms import exponential_weights as weights
from support.randomness import Seeded

LEAST, MOST = 2**61, 2**62 - 1  # of a mantissa


class Written:
    """Bits that are written down beforehand, and how many words were read."""

    def __init__(self, *numbers: int, after: int = 0) -> None:
        self.left, self.after, self.read = list(numbers), after, 0

    def words(self, count: int) -> np.ndarray:
        self.read += count
        found = [self.left.pop(0) if self.left else self.after for _ in range(count)]
        return np.array(found, np.uint64)


def whole(numbers: list[int]) -> np.ndarray:
    return np.array(numbers, np.uint64)


def test_a_product_of_weights_is_cut_off_after_its_first_digits() -> None:
    """Mutants: a part of the product, a carry, a border of what is normal."""
    rng = random.Random(1)
    p = [LEAST, LEAST, MOST, MOST, 3 * 2**60, LEAST + 1] + [rng.randint(LEAST, MOST) for _ in range(3000)]
    q = [LEAST, MOST, MOST, LEAST, 2**123 // (3 * 2**60) + 1, LEAST] + [
        rng.randint(LEAST, MOST) for _ in range(3000)
    ]
    x, y = np.arange(len(p), dtype=np.int64), np.full(len(p), 7, np.int64)
    mantissas, exponents = weights._times((whole(p), x), (whole(q), y))
    for i, (one, other) in enumerate(zip(p, q, strict=True)):
        top = one * other >> 62
        short = top < LEAST
        assert (int(mantissas[i]), int(exponents[i])) == (top << short, i + 7 - 1 + short)


def test_a_whole_number_is_a_weight_exactly() -> None:
    """Mutants: each step of the search for its length."""
    numbers = sorted({2**k + off for k in range(62) for off in (-1, 0, 1)} - {0} | {MOST})
    mantissas, exponents = weights._normal(whole(numbers))
    for number, m, x in zip(numbers, mantissas.tolist(), exponents.tolist(), strict=True):
        assert LEAST <= m <= MOST
        assert Fraction(m) / Fraction(2) ** (61 + x) == number


RATES = (Fraction(300), Fraction(40), Fraction(1), Fraction(1, 7), Fraction(1, 2**40), Fraction(1, 2**57))


@pytest.mark.parametrize("rate", RATES)
def test_each_weight_is_enclosed(rate: Fraction) -> None:
    """Mutants: a table of another length, a last entry that is missing, a gap that is taken for a far one."""
    farthest = min(int(256 / rate), 2**64 - 1)
    gaps = {0, 1, 2, 255, 256, 257, 65535, 65536, farthest, farthest // 2, farthest - 1, 2**63, 2**64 - 1}
    gaps |= {farthest + 1, 2**64 - 2}
    known = sorted(gap for gap in gaps if 0 <= gap < 2**64)
    weights._tables.cache_clear()
    mantissas, exponents = weights.enclose(whole(known), rate)
    with mp.workdps(60):
        for gap, m, x in zip(known, mantissas.tolist(), exponents.tolist(), strict=True):
            assert (x == 400) == (gap > farthest)
            if gap <= farthest:
                exact = mp.exp(-mpf(rate.numerator) * gap / rate.denominator) * mpf(2) ** (61 + x)
                assert LEAST <= m <= MOST
                assert m <= exact < m + 64, gap
                assert farthest > 255 or exact < m + 1  # an entry of the only table, as it is
    for wrong in (Fraction(0), Fraction(-1)):
        with pytest.raises(InvalidRequest):
            weights.enclose(whole([1]), wrong)


def test_running_totals_are_exact_beyond_a_machine_integer() -> None:
    """Mutants: a carry that is lost, the first index that is at the number and not above."""
    rng = random.Random(2)
    units = [rng.choice([1, 2**31, 2**31 - 1, MOST, rng.randint(1, MOST)]) for _ in range(400)]
    sums = list(accumulate(units))
    top, rest, total = weights._running_total(whole(units))
    assert total == sums[-1]
    assert [weights._value(top, rest, i) for i in range(400)] == sums
    for i, end in enumerate(sums):
        assert weights._first_above(top, rest, end - 1) == i
        assert weights._first_above(top, rest, end - units[i]) == i


def test_far_gaps_are_chosen_by_their_difference() -> None:
    """Mutants: gaps that are not counted from the least."""
    bits = Seeded(1)
    found = [weights.choose(whole([1000, 1001]), Fraction(1), bits) for _ in range(1000)]
    assert 680 < found.count(0) < 780  # exp(0) / (exp(0) + exp(-1)) = 0.731; four standard errors are 56


@pytest.mark.parametrize("widths", [None, [1], [2]])
def test_what_lies_between_the_ends_is_worked_out(widths: list[int] | None) -> None:
    """A number from the exact weight on, and below its upper end, is drawn again.

    Mutants: another width in the exact weight, another comparison with the ends.
    """
    for inside, read in ((LEAST - 1, 3), (LEAST, 6), (LEAST + 64, 6)):
        bits = Written(inside, 0, 0)
        assert weights.choose(whole([0]), Fraction(1), bits, None if widths is None else whole(widths)) == 0
        assert bits.read == read, inside


def test_a_number_just_below_the_exact_weight_is_taken() -> None:
    """It is above the lower end, which is cut off.  Mutants: another width in the exact weight."""
    rate = Fraction(1, 1000)
    for gap in range(300, 3000):
        mantissas, exponents = weights.enclose(whole([0, gap]), rate)
        least = int(mantissas[1]) >> int(exponents[1])
        with mp.workdps(60):
            exact = int(mp.exp(-mpf(gap) / 1000) * LEAST)
        if exact > least:
            break
    for widths in (None, whole([1, 1])):
        bits = Written(LEAST + 64 + 1 + least, 0, 0)
        assert (weights.choose(whole([0, gap]), rate, bits, widths), bits.read) == (1, 3)


def test_a_coin_is_decided_by_its_first_digits_or_reads_on() -> None:
    """Mutants: another border of doubt, another number of places."""
    rate, third = Fraction(1, 7), whole([3])
    (mantissa,), (exponent,) = weights.enclose(third, rate)
    least, most = int(mantissa) >> int(exponent), int(mantissa) + 64 >> int(exponent)
    with mp.workdps(60):
        exact = mp.exp(-mpf(3) / 7) * mpf(2) ** 61
        last = int(exact)
        rest = int((exact - last) * 2**64)
    assert least <= last < most
    for uniform, head in ((0, True), (least - 1, True), (most + 1, False), (2**61 - 1, False)):
        bits = Written(uniform << 3)
        assert (weights.flip(third, rate, bits).tolist(), bits.read) == ([head], 1)
    for more, head in ((rest - 10, True), (rest + 10, False)):
        bits = Written(last << 3, more)
        assert (weights.flip(third, rate, bits).tolist(), bits.read) == ([head], 2)


# Coins -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n", "words"), [(1, 2), (2**62, 2), (2**63, 3), (2**64, 3), (2**127 - 1, 3), (2**127, 4)]
)
def test_as_many_words_are_read_as_hide_what_is_drawn(n: int, words: int) -> None:
    """Mutants: a word less, from another length on."""
    bits = Written()
    coins.below(n, bits)
    assert bits.read == words
    bits = Written()
    coins.below(n, bits, 5)
    assert bits.read == 5


def test_the_series_is_within_what_it_says() -> None:
    """Each term loses less than 2, what follows the last less than 2, and y for t less than 1.

    Mutants: a sign of a term, ends that are nearer or farther than the terms need.
    """
    rng = random.Random(3)
    with mp.workdps(80):
        for work in (40, 64, 150):
            for y in (0, 1, 2 ** (work - 8) - 1, *(rng.randrange(2 ** (work - 8)) for _ in range(20))):
                low, high = coins._series(y, work)
                terms, term = 0, 1 << work
                while term:
                    terms += 1
                    term = (term * y >> work) // terms
                assert high - low == 2 * (2 * terms + 2)
                assert low <= mp.exp(-mpf(y + 1) / 2**work) * 2**work
                assert high >= mp.exp(-mpf(y) / 2**work) * 2**work
                middle = mp.exp(-mpf(y) / 2**work) * 2**work
                assert abs((low + high) // 2 - middle) <= 2 * terms + 1


@pytest.mark.parametrize("places", [0, 1, 5, 64, 300])
def test_an_exponential_is_enclosed_closely(places: int) -> None:
    """Mutants: another border of what is too small, other ends there."""
    assert coins.exp_bounds(Fraction(0), places) == (1 << places, 1 << places)
    for x in (Fraction(places), Fraction(places) + Fraction(1, 3), Fraction(10**6)):
        if x:
            assert coins.exp_bounds(x, places) == (0, 1)
    with mp.workdps(200):
        for x in (Fraction(1, 10**9), Fraction(1, 3), Fraction(2 * places, 3), Fraction(999 * places, 1000)):
            if x:
                low, high = coins.exp_bounds(x, places)
                exact = mp.exp(-mpf(x.numerator) / x.denominator) * mpf(2) ** places
                assert max(low, high - 2) <= exact <= high
                assert exact - low < 1.01 > high - exact
