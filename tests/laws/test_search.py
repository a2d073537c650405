"""Searches return only what was found to hold, and find it."""

from __future__ import annotations

import math
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from adyton.exact.search import (
    largest_near,
    largest_that_holds,
    largest_within,
    least_that_holds,
    least_within,
    reaching,
)


@given(st.integers(0, 3000), st.integers(1, 2000), st.integers(0, 5000))
def test_law_looking_near_finds_the_same_as_looking_everywhere(limit: int, most: int, near: int) -> None:
    tried: list[int] = []

    def holds(number: int) -> bool:
        assert 1 <= number <= most
        tried.append(number)
        return number <= limit

    exact = largest_that_holds(lambda number: number <= limit, most)
    found = largest_near(holds, near, most)
    assert exact * (1 - 1 / 128) <= found <= exact
    assert found in tried or found == 0
    assert exact > 255 or found == exact


def test_law_a_good_guess_saves_calls() -> None:
    tried = []
    found = largest_near(lambda number: tried.append(number) is None and number <= 9000, 9100, 10**6)
    assert 8960 <= found <= 9000
    assert len(tried) < 9


@given(st.integers(0, 3000), st.integers(1, 2000))
def test_law_the_last_and_the_first_that_hold_up_to_the_very_end(edge: int, most: int) -> None:
    def at_most_edge(number: int) -> bool:
        assert 1 <= number <= most
        return number <= edge

    def above_edge(number: int) -> bool:
        return not at_most_edge(number)

    assert largest_that_holds(at_most_edge, most) == min(edge, most)
    assert least_that_holds(above_edge, most) == (edge + 1 if edge < most else None)


@given(
    st.floats(0.1, 1),
    st.floats(0.001, 3),
    st.fractions(0, 2, max_denominator=1000),
    st.integers(1, 10**9),
    st.integers(1, 10**9),
)
def test_law_the_last_within_a_limit_is_found_whatever_grows(
    power: float, first: float, limit: Fraction, most: int, end: int
) -> None:
    """Powers, as widths nearly are; in steps, as for sample splitting; without any width from some number on."""

    def smooth(k: int) -> float:
        return first * k**power if k <= end else math.inf

    def steps(k: int) -> float:
        return smooth(k // 7 * 7 + 1)

    for width in (smooth, steps):
        exact = largest_that_holds(lambda k, of=width: of(k) <= limit, most)  # type: ignore[misc]
        assert largest_within(width, limit, most) == exact


def test_law_where_widths_are_powers_few_are_looked_at() -> None:
    asked: list[int] = []

    def width(k: int) -> float:
        asked.append(k)
        return 1e-4 * k**0.27 * (1 + math.log(k)) ** 0.5

    found = largest_within(width, Fraction(1, 10), 10**15)
    assert width(found) <= 0.1 < width(found + 1)
    assert len(asked) < 20


@given(
    st.floats(0.2, 1),
    st.floats(0.01, 100),
    st.fractions(Fraction(1, 1000), 2, max_denominator=1000),
    st.integers(1, 10**9),
    st.integers(1, 10**6),
)
def test_law_the_first_within_a_limit_is_found_whatever_falls(
    power: float, first: float, limit: Fraction, most: int, start: int
) -> None:
    """The other way round; without any width up to some number."""

    def smooth(n: int) -> float:
        return first * n**-power if n >= start else math.inf

    def steps(n: int) -> float:
        return smooth(n // 7) if n >= 7 else math.inf

    for width in (smooth, steps):
        exact = least_that_holds(lambda n, of=width: of(n) <= limit, most)  # type: ignore[misc]
        assert least_within(width, limit, most) == exact


@given(st.floats(0.5, 40), st.floats(1e-6, 0.9), st.floats(1e-6, 0.99), st.floats(0.5, 60))
def test_law_reaching_returns_what_was_seen_to_reach(
    power: float, place: float, guess: float, thought: float
) -> None:
    """It was at least the target there, and is not a hair before; whatever the guesses."""
    seen: dict[float, float] = {}

    def value(x: float) -> float:
        seen[x] = (x / place) ** power
        return seen[x]

    found = reaching(value, 1.0, guess, 1.0, thought, 1e-6)
    assert found is not None
    assert seen[found] >= 1
    assert place * (1 - 1e-9) <= found <= place * (1 + 2e-6)
    assert reaching(lambda x: x, 2.0, guess, 1.0, thought, 1e-6) is None
