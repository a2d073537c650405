"""Distances between laws, and what stable mechanisms cannot do: every small mechanism, drawn at random."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adyton.errors import InvalidRequest
from adyton.validity.textbook.stability import (
    composed,
    expected_error,
    expected_overfit,
    gap_of_one_query,
    guess_right,
    kl_from_multiplicative,
    multiplicative_distance,
    relative_entropy,
    total_variation,
    tv_from_kl,
    tv_from_multiplicative,
)
from adyton.validity.textbook.uncorrelated import expected_gap, uco_stability

QUERIES = list(product((0.0, 1.0), repeat=2))  # all queries about a bit
SAMPLES = list(product((0, 1), repeat=2))


@st.composite
def laws(draw: st.DrawFn) -> tuple[list[float], list[float]]:
    size = draw(st.integers(2, 5))
    pair = [draw(st.lists(st.floats(0.01, 1), min_size=size, max_size=size)) for _ in range(2)]
    p, q = ([x / sum(law) for x in law] for law in pair)
    return p, q


@settings(max_examples=150)
@given(laws(), st.data())
def test_theorem_STABILITY_DISTANCES_relations_and_processing(
    pair: tuple[list[float], list[float]], data: st.DataObject
) -> None:
    p, q = pair
    tv, kl, distance = total_variation(p, q), relative_entropy(p, q), multiplicative_distance(p, q)
    assert tv <= tv_from_multiplicative(distance) + 1e-12
    assert kl <= kl_from_multiplicative(distance) + 1e-12
    assert tv <= tv_from_kl(kl) + 1e-12
    kernel = np.array(
        data.draw(
            st.lists(st.lists(st.floats(0.01, 1), min_size=3, max_size=3), min_size=len(p), max_size=len(p))
        )
    )
    kernel /= kernel.sum(axis=1, keepdims=True)
    after = [list(np.array(law) @ kernel) for law in (p, q)]
    for measure, before in (
        (total_variation, tv),
        (relative_entropy, kl),
        (multiplicative_distance, distance),
    ):
        assert measure(*after) <= before + 1e-12


@settings(max_examples=100)
@given(laws())
def test_theorem_STABILITY_DISTANCES_guessing(pair: tuple[list[float], list[float]]) -> None:
    p, q = pair
    rules = product((0, 1), repeat=len(p))
    best = max(sum(a if rule else b for a, b, rule in zip(p, q, r, strict=True)) / 2 for r in rules)
    assert best == pytest.approx(guess_right(total_variation(p, q)))
    assert guess_right(0.0) == 0.5


def test_theorem_STABILITY_DISTANCES_are_attained_by_randomized_response() -> None:
    for epsilon in (0.1, 1.0, 3.0):
        keep = math.exp(epsilon) / (1 + math.exp(epsilon))
        p, q = [keep, 1 - keep], [1 - keep, keep]
        assert total_variation(p, q) == pytest.approx(tv_from_multiplicative(epsilon))
        assert relative_entropy(p, q) == pytest.approx(kl_from_multiplicative(epsilon))
    assert tv_from_multiplicative(1.0) == pytest.approx(0.462, abs=5e-4)  # the seed: 0.859
    assert kl_from_multiplicative(1.0) == pytest.approx(0.462, abs=5e-4)  # the seed: 1.718
    assert math.isinf(multiplicative_distance([1, 0], [0.5, 0.5]))
    assert math.isinf(relative_entropy([0.5, 0.5], [1, 0]))
    with pytest.raises(InvalidRequest):
        total_variation([1], [0.5, 0.5])
    with pytest.raises(InvalidRequest):
        tv_from_kl(-1)


def test_law_an_entropy_is_never_below_0_by_rounding() -> None:
    assert relative_entropy([0.5, 0.4999999999999999], [0.5, 0.5]) == 0


@settings(max_examples=100)
@given(laws(), st.lists(laws(), min_size=5, max_size=5))
def test_theorem_STABILITY_COMPOSITION_adaptive(
    first: tuple[list[float], list[float]], seconds: list[tuple[list[float], list[float]]]
) -> None:
    """The second mechanism is chosen by the first answer; all three distances add up at worst."""
    p = [a * b for a, (second, _) in zip(first[0], seconds, strict=False) for b in second]
    q = [a * b for a, (_, second) in zip(first[1], seconds, strict=False) for b in second]
    for measure in (total_variation, relative_entropy, multiplicative_distance):
        worst = max(measure(*second) for second in seconds)
        assert measure(p, q) <= composed([measure(*first), worst]) + 1e-12


def random_mechanism(random: Random, outputs: int) -> dict[tuple[int, ...], list[float]]:
    """A law over the outputs for each of the four tables of two bits."""
    spread = random.choice([0.05, 0.3, 1.0])
    common = [random.random() for _ in range(outputs)]
    made = {}
    for sample in SAMPLES:
        weights = [c * (1 - spread) + spread * random.random() ** 3 for c in common]
        made[sample] = [w / sum(weights) for w in weights]
    return made


def stability_of(mechanism: dict[tuple[int, ...], list[float]]) -> float:
    adjacency = [
        (s, t) for s, t in product(SAMPLES, repeat=2) if sum(a != b for a, b in zip(s, t, strict=True)) == 1
    ]
    return max(total_variation(mechanism[s], mechanism[t]) for s, t in adjacency)


def average(query: tuple[float, ...], sample: tuple[int, ...]) -> float:
    return sum(query[x] for x in sample) / len(sample)


def test_theorem_STABLE_QUERIES_no_mechanism_breaks_them() -> None:
    """1,000 random mechanisms that output one query about two bits, and as many that output two."""
    random = Random(9)
    pairs = list(product(QUERIES, repeat=2))
    for _ in range(1000):
        p = random.choice([0.5, 0.2, 0.9])
        weight = {s: math.prod(p if x else 1 - p for x in s) for s in SAMPLES}
        truth = {q: (1 - p) * q[0] + p * q[1] for q in QUERIES}
        one, two = random_mechanism(random, 4), random_mechanism(random, 16)
        mean = sum(
            weight[s] * one[s][i] * (average(q, s) - truth[q]) for s in SAMPLES for i, q in enumerate(QUERIES)
        )
        assert abs(mean) <= gap_of_one_query(stability_of(one)) + 1e-12
        worst = sum(
            weight[s] * two[s][i] * max(abs(average(q, s) - truth[q]) for q in pair)
            for s in SAMPLES
            for i, pair in enumerate(pairs)
        )
        assert worst <= expected_overfit(stability_of(two), 2, 2) + 1e-12


def test_theorem_STABLE_QUERIES_the_seed_is_wrong_for_one_query() -> None:
    """A fair coin: E |mean - 1/2| = 1/2, more than the 0 of sqrt(ln(k) / n) at k = 1."""
    assert expected_overfit(0.0, 1, 1) >= 0.5
    assert expected_overfit(0.0, 100, 1) <= 2 / math.sqrt(100)  # and better than 002-26
    assert expected_error(0.1, 0.2) == pytest.approx(0.3)


def test_theorem_STABLE_QUERIES_error_of_answers() -> None:
    """Randomized answers on two bits: the mechanism answers one query with noise on a grid."""
    random = Random(10)
    for _ in range(300):
        mechanism = random_mechanism(random, 5)
        answers = [0, 0.25, 0.5, 0.75, 1]
        empirical = sum(
            0.25 * m * abs(a - average((0, 1), s))
            for s in SAMPLES
            for a, m in zip(answers, mechanism[s], strict=True)
        )
        error = sum(
            0.25 * m * abs(a - 0.5) for s in SAMPLES for a, m in zip(answers, mechanism[s], strict=True)
        )
        assert error <= expected_error(stability_of(mechanism), empirical) + 1e-12


def test_theorem_UCO_STABILITY_every_small_algorithm() -> None:
    """Random algorithms on one or two rows from a universe of three: the gap is within the stability."""
    random = Random(8)
    for _ in range(60):
        rows = random.choice([1, 2])
        table = {
            (s, x): Fraction(random.randrange(20), 20)
            for s in product(range(3), repeat=rows)
            for x in range(3)
        }
        stability = uco_stability(lambda s, x, t=table: t[(s, x)], range(3), rows)
        samples = list(product(range(3), repeat=rows))
        on_rows = sum(table[(s, x)] for s in samples for x in s) / (len(samples) * rows)
        fresh = sum(table[(s, x)] for s in samples for x in range(3)) / (len(samples) * 3)
        assert abs(on_rows - fresh) <= expected_gap(stability)
    with pytest.raises(InvalidRequest):
        expected_gap(-1)


def test_theorem_UCO_STABILITY_is_attained() -> None:
    """Memorising one row of one: the score is 1 at the row and 0 elsewhere."""

    def memory(s: tuple[int, ...], x: int) -> Fraction:
        return Fraction(int(s[0] == x))

    assert uco_stability(memory, range(20), 1) == 1  # and the gap is 1 - 1/20
