"""Private quantiles: ranks, their sensitivity and the guarantee, on every small table; wide ranges; the order."""

from __future__ import annotations

import itertools
from bisect import bisect_left, bisect_right
from collections import Counter
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from noise_oracle import Script
from selection_oracle import ROUNDING, exponential, fit, neighboring, tables, worst_ratio

from adyton.errors import InvalidRequest
from adyton.kernel.privacy import ADJACENCIES, Adjacency, PureCost
from adyton.kernel.special.mechanisms.coins import below
from adyton.kernel.special.mechanisms.exponential_weights import choose
from adyton.textbook.quantile import (
    PrivateQuantile,
    blocks_of,
    rank_sensitivity,
)
from literature.private_quantiles import PrivateQuantiles, near_maximum, near_minimum
from support.randomness import Seeded
from support.tries import often

ALARM = 1e-8  # of each test of fit, were its bits fresh; they are fixed, so it never wavers
ONE = Fraction(1)
HALF = Fraction(1, 2)
LATTICE = (0, 1, 2, 3)
FRACTIONS = [Fraction(0), Fraction(1, 4), HALF, Fraction(2, 3), Fraction(9, 10), ONE]
VALUES = st.lists(st.integers(-12, 12), max_size=12)


@cache
def distance(rows: tuple[int, ...], v: int, fraction: Fraction, offset: int = 0) -> int:
    """From the definition, row by row, in units of 1 / denominator."""
    target = fraction * len(rows) + offset
    fewer, not_more = sum(x < v for x in rows), sum(x <= v for x in rows)
    return int(max(0, fewer - target, target - not_more) * fraction.denominator)


def of(
    fraction: Fraction, adjacency: Adjacency = "replace-one", epsilon: Fraction = ONE, offset: int = 0
) -> PrivateQuantile:
    return PrivateQuantile(fraction, LATTICE[0], LATTICE[-1], epsilon, adjacency, offset)


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("fraction", FRACTIONS)
@pytest.mark.parametrize("offset", [0, 1, -2])
def test_theorem_QUANTILE_SENSITIVITY_is_the_largest_move_on_small_tables(
    fraction: Fraction, adjacency: Adjacency, offset: int
) -> None:
    """Under add-remove the number of rows moves too, and the target with it."""
    largest = max(
        abs(distance(a, v, fraction, offset) - distance(b, v, fraction, offset))
        for a, b in neighboring(LATTICE, 5, adjacency)
        for v in LATTICE
    )
    assert largest <= rank_sensitivity(fraction, adjacency).bound
    if offset == 0:
        assert largest == rank_sensitivity(fraction, adjacency).bound


def test_theorem_QUANTILE_SENSITIVITY_of_a_median_is_half_if_rows_come() -> None:
    """The sensitivity of a median is half as large when rows come and go."""
    assert rank_sensitivity(HALF, "add-remove").bound / 2 == HALF
    assert rank_sensitivity(HALF, "replace-one").bound / 2 == 1


@given(VALUES, st.sampled_from(FRACTIONS), st.integers(-3, 3))
@settings(max_examples=150, deadline=None, derandomize=True)
def test_theorem_PRIVATE_QUANTILE_blocks_hold_every_candidate_once(
    rows: list[int], fraction: Fraction, offset: int
) -> None:
    """Blocks hold every candidate once with its rank."""
    low, high = -9, 9  # some rows lie outside and count as the nearer bound
    quantile = PrivateQuantile(fraction, low, high, ONE, "replace-one", offset)
    clipped = tuple(min(max(x, low), high) for x in rows)
    counted = Counter(rows)
    for blocks in (
        blocks_of(rows, None, low, high),
        blocks_of(np.array(rows, np.int64), None, low, high),
        blocks_of(list(counted), list(counted.values()), low, high),
        blocks_of(list(range(-12, 13)), [counted[v] for v in range(-12, 13)], low, high),
    ):
        found = {}
        for start, width, d in zip(blocks.starts, blocks.widths, quantile.distances(blocks), strict=True):
            found |= {v: int(d) for v in range(int(start), int(start) + int(width))}
        assert blocks.rows == len(rows)
        assert int(blocks.widths.sum()) == high - low + 1
        assert found == {v: distance(clipped, v, fraction, offset) for v in range(low, high + 1)}


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("fraction", FRACTIONS)
def test_theorem_PRIVATE_QUANTILE_on_every_pair_of_small_tables(
    fraction: Fraction, adjacency: Adjacency
) -> None:
    for epsilon, offset in ((ONE, 0), (Fraction(3), 0), (ONE, 1)):
        quantile = of(fraction, adjacency, epsilon, offset)
        worst = worst_ratio(neighboring(LATTICE, 5, adjacency), lambda t, q=quantile: q.law(t))
        assert worst <= epsilon + ROUNDING
        assert worst > 0.3 * epsilon


def far_apart(fraction: Fraction, adjacency: Adjacency, epsilon: Fraction) -> float:
    """The loss where it is nearly as large as allowed: a row that comes at the far end makes the many values
    below the target worse, and the few above it better.
    """
    rows = [0, 1990, 1990, 1990] if fraction == HALF else [0] * 8 + [1990] * 2
    other = [*rows, 2000] if adjacency == "add-remove" else [*rows[1:], 2000]
    quantile = PrivateQuantile(fraction, 0, 2000, epsilon, adjacency)
    return float(np.abs(np.log(quantile.law(rows)) - np.log(quantile.law(other))).max())


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("fraction", [HALF, Fraction(9, 10)])
def test_theorem_PRIVATE_QUANTILE_the_claim_is_nearly_attained(
    fraction: Fraction, adjacency: Adjacency
) -> None:
    """The claim is nearly attained, and a tenth more breaks it."""
    assert 0.99 < far_apart(fraction, adjacency, ONE) <= 1
    assert far_apart(fraction, adjacency, Fraction(11, 10)) > 1.08


def test_theorem_PRIVATE_QUANTILE_a_median_of_added_rows_fails_if_replaced() -> None:
    """A median calibrated for added rows is refuted when they are replaced."""
    careless = of(HALF, "add-remove")
    assert worst_ratio(neighboring(LATTICE, 5, "replace-one"), lambda t: careless.law(t)) > 1.2


def test_theorem_PRIVATE_QUANTILE_ignoring_a_private_n_is_refuted() -> None:
    """At 9/10 the target moves by nine tenths of a rank with every row that comes; a median's half does not do."""
    assert rank_sensitivity(Fraction(9, 10), "add-remove").bound == 9
    sized_for_a_median = ONE * 9 / 5
    assert far_apart(Fraction(9, 10), "add-remove", sized_for_a_median) > 1.7


@given(st.lists(st.integers(0, 3), max_size=6), st.sampled_from(FRACTIONS), st.sampled_from(ADJACENCIES))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_theorem_PRIVATE_QUANTILE_has_the_law_of_the_exponential_mechanism(
    rows: list[int], fraction: Fraction, adjacency: Adjacency
) -> None:
    quantile = of(fraction, adjacency, Fraction(3, 2))
    a, b = fraction.numerator, fraction.denominator
    rate = Fraction(3, 4) / (b if adjacency == "replace-one" else max(a, b - a))
    expected = exponential([-distance(tuple(rows), v, fraction) for v in LATTICE], rate)
    assert np.allclose(quantile.law(rows), [float(p) for p in expected], rtol=1e-11)


@pytest.mark.parametrize("rows", [[], [2], [0, 0, 3], [1, 1, 1, 1], [-7, 9, 2, 2]])
def test_theorem_PRIVATE_QUANTILE_releases_by_its_law(rows: list[int]) -> None:
    """Also the fewer releases see a rate of one and a half times; a smaller difference is seen below."""
    quantile, bits = of(HALF, "replace-one", Fraction(2)), Seeded(51)
    taken = Counter(quantile.release(rows, bits) for _ in range(often(1200, 3000)))
    assert fit([taken[v] for v in LATTICE], quantile.law(rows)) > ALARM


@pytest.mark.parametrize(
    ("adjacency", "rate"), [("replace-one", Fraction(1, 400)), ("add-remove", Fraction(1, 300))]
)
def test_theorem_PRIVATE_QUANTILE_releases_at_the_rate_of_the_book(
    adjacency: Adjacency, rate: Fraction
) -> None:
    """The same bits give the same block and member as the exact samplers at epsilon / (2 * bound)."""
    quantile = PrivateQuantile(Fraction(3, 4), 0, 2000, Fraction(1, 50), adjacency)
    rows = list(range(0, 2000, 2))
    blocks = blocks_of(rows, None, 0, 2000)

    def expected(rate: Fraction, seed: int) -> int:
        bits = Seeded(seed)
        gaps = np.array([distance_at(rows, int(v)) for v in blocks.starts], np.uint64)
        i = choose(gaps, rate, bits, blocks.widths)
        return int(blocks.starts[i]) + below(int(blocks.widths[i]), bits)

    taken = [quantile.release(rows, Seeded(s)) for s in range(20)]
    assert taken == [expected(rate, s) for s in range(20)]
    assert taken != [expected(rate * 51 / 50, s) for s in range(20)]


def distance_at(rows: list[int], v: int) -> int:
    """Of the third quartile of 1000 sorted rows, in quarters of a rank."""
    return max(0, 4 * bisect_left(rows, v) - 3000, 3000 - 4 * bisect_right(rows, v))


def test_theorem_PRIVATE_QUANTILE_costs_no_more_than_distinct_values() -> None:
    """2**54 candidates: each value and each gap is one block, and within a gap the choice is uniform."""
    low, high = -(2**53), 2**53
    quantile = PrivateQuantile(HALF, low, high, Fraction(20), "replace-one")
    blocks = blocks_of([5, 5, 2**50, -7], None, low, high)
    assert blocks.widths.size == 7
    bits = Seeded(52)
    drawn = [quantile.pick(blocks, bits) for _ in range(300)]
    inside = [v for v in drawn if 5 <= v <= 2**50]
    assert len(inside) > 290
    assert fit(np.histogram(inside, 4, (5, 2**50))[0], [0.25] * 4) > ALARM


def test_theorem_PRIVATE_QUANTILE_ties_are_one_value_and_not_a_jump() -> None:
    """Everybody is 5: the median is 5, although no value has half of the rows below it."""
    quantile = PrivateQuantile(HALF, 0, 100, ONE, "replace-one")
    law = quantile.law([5] * 100)
    assert law[5] > 0.999999


@given(
    VALUES.filter(bool),
    st.sampled_from(FRACTIONS),
    st.sampled_from(ADJACENCIES),
    st.fractions(Fraction(1, 5), 5),
)
@settings(max_examples=60, deadline=None, derandomize=True)
def test_theorem_QUANTILE_UTILITY_holds_for_all_rows(
    rows: list[int], fraction: Fraction, adjacency: Adjacency, epsilon: Fraction
) -> None:
    quantile = PrivateQuantile(fraction, -12, 12, epsilon, adjacency)
    law = quantile.law(rows)
    for confidence in (0.5, 0.9, 0.99):
        error = quantile.error(confidence)
        good = [
            Fraction(distance(tuple(rows), v, fraction), fraction.denominator) <= error
            for v in range(-12, 13)
        ]
        assert law[good].sum() >= confidence - 1e-12


def test_theorem_QUANTILE_UTILITY_of_a_wide_column() -> None:
    """Eighteen thousand million million values: the error is logarithmic in their number."""
    quantile = PrivateQuantile(HALF, -(2**53), 2**53, ONE, "add-remove")
    assert 20 < quantile.error(0.95) < 41  # ln(2**54 / .05) = 40.4, at half a rank a unit
    assert quantile.error(0.95) < PrivateQuantile(HALF, -(2**53), 2**53, ONE, "replace-one").error(0.95)


@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_theorem_QUANTILE_UTILITY_near_the_ends(adjacency: Adjacency) -> None:
    """A value that is no smaller than the least row and has few rows below it; false alarm below 1e-9."""
    rows = list(range(1000, 3000))
    low, high, epsilon = 0, 10**6, Fraction(2)
    least = near_minimum(low, high, epsilon, adjacency, 1 - 1e-12)
    most = near_maximum(low, high, epsilon, adjacency, 1 - 1e-12)
    bits, reach = Seeded(53), 2 * least.offset
    assert most.offset == -least.offset < 0
    assert least.offset == PrivateQuantile(Fraction(0), low, high, epsilon, adjacency).error(1 - 1e-12) + 1
    for _ in range(100):
        assert 1000 <= least.release(rows, bits) <= 1000 + reach
        assert 2999 - reach <= most.release(rows, bits) <= 2999
    plain = [
        PrivateQuantile(Fraction(0), low, high, epsilon, adjacency).release(rows, bits) for _ in range(100)
    ]
    assert min(plain) < 900  # rank 0 suits every value below the data as well


@given(VALUES, st.lists(st.sampled_from(FRACTIONS), min_size=1, max_size=5), st.integers(0, 10**6))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_theorem_SORTED_QUANTILES_never_cross_and_keep_the_largest_error(
    rows: list[int], fractions: list[Fraction], seed: int
) -> None:
    several = PrivateQuantiles(tuple(fractions), -12, 12, ONE, "replace-one")
    blocks = blocks_of(rows, None, -12, 12)
    bits = Seeded(seed)
    raw = [part.pick(blocks, bits) for part in several.parts()]
    answers = several.release(rows, Seeded(seed))
    assert sorted(answers) == sorted(raw)
    for (f, v), (g, w) in itertools.combinations(zip(fractions, answers, strict=True), 2):
        assert v <= w if f < g else (v >= w if f > g else True)

    def largest(values: list[int]) -> Fraction:
        return max(
            Fraction(distance(tuple(rows), v, f), f.denominator)
            for f, v in zip(fractions, values, strict=True)
        )

    assert largest(list(answers)) <= largest(raw)


def test_theorem_SORTED_QUANTILES_share_the_price() -> None:
    quartiles = tuple(Fraction(i, 4) for i in (1, 2, 3))
    several = PrivateQuantiles(quartiles, 0, 3, ONE, "replace-one")
    assert several.cost() == PureCost(ONE)
    assert sum(part.cost().epsilon for part in several.parts()) == 1
    each = 1 - Fraction(1, 10) / 3
    assert several.error("0.9") == max(part.error(each) for part in several.parts())

    def joint(table: tuple[object, ...]) -> list[float]:
        laws = [part.law(table) for part in several.parts()]  # sorting them afterwards is post-processing
        return [float(np.prod(chances)) for chances in itertools.product(*laws)]

    assert worst_ratio(neighboring(LATTICE, 3, "replace-one"), joint) <= 1 + ROUNDING


@pytest.mark.parametrize(
    "wrong",
    [
        {"fraction": Fraction(-1, 2)},
        {"fraction": Fraction(3, 2)},
        {"fraction": Fraction(1, 2**17)},
        {"low": 5, "high": 4},
        {"high": 2**61 + 1},
        {"low": -(2**61), "high": 2**61},
        {"epsilon": Fraction(0)},
        {"offset": 2**41},
    ],
)
def test_law_declarations_that_make_no_sense_are_refused(wrong: dict[str, Fraction]) -> None:
    good = {"fraction": HALF, "low": 0, "high": 3, "epsilon": ONE, "adjacency": "replace-one"}
    with pytest.raises(InvalidRequest):
        PrivateQuantile(**(good | wrong))
    with pytest.raises(InvalidRequest):
        PrivateQuantiles((), 0, 3, ONE, "replace-one")


def test_law_rows_are_whole_numbers_and_one_count_each() -> None:
    for values, counts in (([0.5], None), ([1, 2], [1]), (["a"], None)):
        with pytest.raises(InvalidRequest):
            of(HALF).release(values, Script(), counts)
    assert of(HALF).release([10**30] * 50, Seeded(1)) == 3  # clipped, however large
    assert sum(1 for _ in tables(LATTICE, 2)) == 15
