"""Few transcripts, few paths: exact counts, the seeds' numbers, and rounded answers against a voting analyst."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adyton.errors import InvalidRequest
from adyton.validity.published.compressibility import (
    compressed_width,
    counted_rounding_width,
    rounding_width,
    together,
)
from adyton.validity.textbook.accuracy import (
    Accuracy,
    fixed_queries,
    fixed_width,
    forking_queries,
    forking_width,
    loose_forking_queries,
    tree_size,
    union,
)


@given(st.lists(st.fractions(0, 1), max_size=6))
def test_theorem_UNION_BOUND_adds_up(failures: list[Fraction]) -> None:
    assert union(failures) == min(1, sum(failures))


def test_theorem_UNION_BOUND_over_all_small_families() -> None:
    """Three events on eight equally likely points: every family of events."""
    worst = 0.0
    for masks in product(range(8), repeat=3):
        events = [set(np.flatnonzero([mask >> i & 1 for i in range(3)])) for mask in masks]
        some = len(set().union(*events))
        assert some <= sum(map(len, events))
        worst = max(worst, some / max(1, sum(map(len, events))))
    assert worst == 1  # attained by disjoint events
    two = Accuracy(0.1, Fraction(1, 20)).and_then(Accuracy(0.2, Fraction(1, 10)))
    assert (two.alpha, two.beta) == (pytest.approx(0.3), Fraction(3, 20))


def test_theorem_FIXED_QUERIES_of_the_seed() -> None:
    assert fixed_queries(10**5, "0.01", "0.01") == 2_425_825
    assert fixed_width(10**5, 2_425_825, "0.01") <= 0.01
    assert fixed_width(10**5, 2_425_826, "0.01") > 0.01 - 1e-11
    true = math.sqrt(math.log(2 * 2_425_826 / 0.01) / (2 * 10**5))
    assert true > 0.01  # the seed rounds 2,425,825.98 up
    with pytest.raises(InvalidRequest):
        fixed_queries(10**9, "0.5", "0.01")


@pytest.mark.parametrize(("answers", "queries"), list(product((1, 2, 3, 5), (1, 2, 3, 4))))
def test_theorem_FORKING_PATHS_counts_every_node(answers: int, queries: int) -> None:
    nodes = sum(1 for depth in range(queries) for _ in product(range(answers), repeat=depth))
    assert tree_size(queries, answers) == nodes


def test_theorem_FORKING_PATHS_of_the_seed() -> None:
    assert forking_queries(10**5, "0.01", "0.01") == 21
    assert loose_forking_queries(10**5, "0.01", "0.01") == 14
    assert forking_width(10**5, 21, "0.01") <= 0.01 < forking_width(10**5, 22, "0.01")
    with pytest.raises(InvalidRequest):
        tree_size(10**7, 2)


def test_theorem_FORKING_PATHS_worst_path_of_a_small_table() -> None:
    """Six fair bits; the next query depends on whether the last mean was high: the worst of all analysts.

    Bit i of a row is query i.  For each table the analyst walks to the query with the largest error among
    those that the answers lead to; the exact law of that error is enumerated over 2**12 tables.
    """
    rows, failure = 4, Fraction(1, 2)
    width = forking_width(rows, 2, failure)
    wrong = 0
    for bits in product((0, 1), repeat=rows * 3):
        table = np.array(bits).reshape(3, rows)  # the root's query, and the one after each answer
        first = table[0].mean()
        second = table[1 if first < 0.5 else 2].mean()
        wrong += max(abs(first - 0.5), abs(second - 0.5)) > width
    assert Fraction(wrong, 2 ** (rows * 3)) <= failure


def test_theorem_TRANSCRIPT_COMPRESSION_is_a_union_over_transcripts() -> None:
    """b bits and k queries are 2**b k queries fixed in advance."""
    for bits, queries in ((0, 1), (5, 3), (20, 7)):
        assert compressed_width(1000, queries, bits, "0.05") == pytest.approx(
            fixed_width(1000, queries * 2**bits, "0.05"), rel=1e-9
        )
    assert compressed_width(1000, 3, 5, "0.05", empirical=0.1) == pytest.approx(
        0.1 + compressed_width(1000, 3, 5, "0.05")
    )
    assert together(3.0, 4.5) == pytest.approx(7.5)


@pytest.mark.parametrize(
    ("rows", "tolerance", "queries"),
    [
        (10**4, 0.05, 7),
        (10**5, 0.05, 86),
        (10**6, 0.05, 876),
        (10**4, 0.1, 39),
        (10**5, 0.1, 412),
        (10**6, 0.1, 4144),
    ],
)
def test_theorem_TRANSCRIPT_COMPRESSION_rounding_table(rows: int, tolerance: float, queries: int) -> None:
    assert rounding_width(rows, queries, "0.05").tolerance <= tolerance
    assert rounding_width(rows, int(queries * 1.01) + 1, "0.05").tolerance > tolerance
    assert counted_rounding_width(rows, queries, "0.05").tolerance < tolerance


def test_theorem_TRANSCRIPT_COMPRESSION_best_grid() -> None:
    best = rounding_width(10**5, 86, "0.05")
    assert best.step == 1 / best.levels

    def width(levels: int) -> float:
        return compressed_width(10**5, 86, 86 * math.log2(levels), "0.05", empirical=1 / (2 * levels))

    assert best.tolerance <= min(map(width, range(2, 400))) * (1 + 1e-9)


def test_theorem_TRANSCRIPT_COMPRESSION_voting_analyst_of_rounded_answers() -> None:
    """At the guaranteed 5 % more than 23 of 200 runs fail with probability below 1e-4."""
    rows, queries, random, wrong = 2000, 12, np.random.default_rng(4), 0
    plan = rounding_width(rows, queries, "0.05")
    assert plan.tolerance < 0.25
    for _ in range(200):
        columns = random.integers(0, 2, (queries - 1, rows))
        answers = (np.floor(columns.mean(axis=1) * plan.levels) + 0.5) / plan.levels
        vote = ((answers - 0.5) @ (columns - 0.5) > 0).astype(float)
        last = (math.floor(vote.mean() * plan.levels) + 0.5) / plan.levels
        fresh = random.integers(0, 2, (queries - 1, 20000)) - 0.5
        truth = float(((answers - 0.5) @ fresh > 0).mean())
        wrong += max(np.abs(answers - 0.5).max(), abs(last - truth)) > plan.tolerance
    assert wrong <= 23
