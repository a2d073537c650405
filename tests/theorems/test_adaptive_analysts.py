"""Real adaptive analysts: the simultaneous interval holds, the naive one does not.

Every test is seeded.  With the true failure rate at its guaranteed limit, more failures than ``allowed`` are seen
with probability below 0.001, so a rate above the guarantee is refuted at 99.9 %.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from adyton.validity.attack_limit import attack_limit, decreasing_attack_limit, overfit, success
from adyton.validity.hinge.joint import joint_width
from adyton.validity.plans.plans import queries_within
from adyton.validity.textbook.accuracy import fixed_width

Array = np.ndarray[Any, np.dtype[np.float64]]
Generator = np.random.Generator
FAILURE = 0.05
RUNS = 300


def allowed(runs: int) -> int:
    return int(binom.ppf(0.999, runs, FAILURE))


class Table:
    """Rows with endless random bits; a query is a column; every answer is the mean and noise."""

    def __init__(self, rows: int, scale: float, random: Generator) -> None:
        self.rows, self.scale, self.random = rows, scale, random
        self.errors: list[float] = []

    def ask(self, column: Array, truth: float) -> float:
        answer = float(column.mean()) + self.scale * float(self.random.standard_normal())
        self.errors.append(abs(answer - truth))
        return answer


def vote(table: Table, queries: int) -> None:
    """Random queries, weighted by their answers, then the vote itself."""
    columns = table.random.integers(0, 2, (queries - 1, table.rows)).astype(float)
    weights = np.array([table.ask(column, 0.5) - 0.5 for column in columns])
    table.ask((weights @ (columns - 0.5) > 0).astype(float), 0.5)


def greedy(table: Table, queries: int) -> None:
    """Keep a new random score in the sum only if the answer to "is the sum positive?" grows."""
    total = np.zeros(table.rows)
    best = -math.inf
    for _ in range(queries):
        trial = total + table.random.standard_normal(table.rows)
        answer = table.ask((trial > 0).astype(float), 0.5)
        if answer > best:
            total, best = trial, answer


def binary_encoding(table: Table, queries: int) -> None:
    """Read from the digits of weighted means which values are in the table, then ask for those (002-09)."""
    bits = table.rows.bit_length()  # a digit for how often a value occurs
    digits = 45 // bits
    universe = digits * (queries - 1)
    values = table.random.integers(0, universe, table.rows)
    seen = np.zeros(universe)
    for first in range(0, universe, digits):
        code = np.zeros(universe)
        code[first : first + digits] = np.ldexp(1.0, -bits * np.arange(1, digits + 1))
        answer = table.ask(code[values], float(code.mean()))
        number = round(max(0.0, answer) * table.rows * 2.0 ** (bits * digits))
        seen[first : first + digits] = [number >> bits * j & (2**bits - 1) for j in reversed(range(digits))]
    guess = (seen > 0).astype(float)
    table.ask(guess[values], float(guess.mean()))


def unrealistic_example(table: Table, queries: int) -> None:
    """Many small parts of the rows; of every two the one that looks better; then these together (000-25)."""
    parts = queries // 2 * 2 - 2
    values = table.random.integers(0, 2, table.rows).astype(float)
    part = table.random.integers(0, parts, table.rows)  # drawn with the row, so each is an independent draw
    answers = np.array([table.ask(values * (part == i), 0.5 / parts) for i in range(parts)])
    better = np.array([i if answers[i] >= answers[i + 1] else i + 1 for i in range(0, parts, 2)])
    table.ask(values * np.isin(part, better), 0.25)


def failures(
    analyst: Callable[[Table, int], None], rows: int, queries: int, scale: float, width: float
) -> int:
    random = np.random.default_rng(11)
    count = 0
    for _ in range(RUNS):
        table = Table(rows, scale, random)
        analyst(table, queries)
        count += max(table.errors) > width
    return count


CASES = [
    (vote, 2000, 60),
    (vote, 500, 8),
    (greedy, 1000, 40),
    (binary_encoding, 400, 10),
    (unrealistic_example, 2000, 50),
]


@pytest.mark.parametrize(("analyst", "rows", "queries"), CASES)
def test_simultaneous_interval_holds_for_adaptive_analysts(
    analyst: Callable[[Table, int], None], rows: int, queries: int
) -> None:
    width = joint_width(rows, queries, FAILURE)
    assert width.tolerance < 0.5  # it says something
    assert failures(analyst, rows, queries, width.scale, width.tolerance) <= allowed(RUNS)


@pytest.mark.parametrize(
    ("analyst", "rows", "queries"),
    [(vote, 500, 400), (greedy, 400, 500), (binary_encoding, 20, 41), (unrealistic_example, 4000, 1000)],
)
def test_naive_interval_fails_for_adaptive_analysts(
    analyst: Callable[[Table, int], None], rows: int, queries: int
) -> None:
    """The averages themselves, with an interval that would be right for queries fixed in advance."""
    random, runs, count = np.random.default_rng(12), 20, 0
    for _ in range(runs):
        table = Table(rows, 0.0, random)
        analyst(table, queries)
        count += max(table.errors) > fixed_width(rows, queries, FAILURE)
    assert count > allowed(runs) + 5


def test_attack_is_as_strong_as_computed() -> None:
    """The vote overfits by Phi(z) - 1/2: 60 runs, five standard errors."""
    rows, votes, scale, runs = 1000, 300, 0.02, 60
    random, gaps = np.random.default_rng(13), []
    for _ in range(runs):
        columns = random.integers(0, 2, (votes, rows)) - 0.5
        weights = columns.mean(axis=1) + scale * random.standard_normal(votes)
        gaps.append(float((weights @ columns > 0).mean()) - 0.5)
    assert np.mean(gaps) == pytest.approx(overfit(rows, votes, scale), abs=5 * 0.5 / math.sqrt(rows * runs))


@pytest.mark.parametrize(
    ("rows", "tolerance", "limit", "certified"),
    [
        (10**4, "0.1", 1532, 123),
        (10**5, "0.1", 91337, 7943),
        (10**5, "0.05", 7548, 639),
        (10**6, "0.1", 6363855, 578879),
    ],
)
def test_attack_limit_is_above_what_is_certified(
    rows: int, tolerance: str, limit: int, certified: int
) -> None:
    found = attack_limit(rows, tolerance, FAILURE)
    assert found == pytest.approx(limit, rel=0.004)
    assert found > 10 * certified
    scale = joint_width(rows, certified, FAILURE).scale
    assert success(rows, certified, scale, float(tolerance)) < FAILURE / 100
    same = queries_within(rows, Fraction(tolerance), Fraction(1, 20))
    falling = queries_within(rows, Fraction(tolerance), Fraction(1, 20), "decreasing")
    assert same is not None
    assert falling is not None
    assert same.queries < found < falling.queries * 1.3
    longest = decreasing_attack_limit(rows, tolerance, FAILURE)
    assert longest is not None
    assert 1.8 * falling.queries < longest < 3 * falling.queries
