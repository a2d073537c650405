"""Searches return only what was found to hold, and find it."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from adyton.arithmetic.search import (
    edge,
    edges,
    edges_in_few_calls,
    geometric,
    largest_near,
    largest_real_within,
    largest_that_holds,
    largest_within,
    least_that_holds,
    least_within,
    reaching,
    root_between,
    whole_edge,
)
from adyton.kernel.exact.search import largest_real


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


@given(st.floats(1e-6, 1e6), st.booleans(), st.booleans())
def test_law_an_edge_is_a_place_that_was_seen_to_hold(place: float, upwards: bool, logarithmic: bool) -> None:
    """In both directions, and within what was asked for: mutants return the other end, or the first."""
    seen: dict[float, bool] = {}

    def holds(x: float) -> bool:
        seen[x] = x <= place if upwards else x >= place
        return seen[x]

    ends = (1e-7, 1e7) if upwards else (1e7, 1e-7)
    found = edge(holds, *ends, close=1e-9, **({"middle": geometric} if logarithmic else {}))
    assert seen[found]
    assert abs(found - place) <= 1.1e-9 * place


def test_law_an_edge_of_fractions_is_exact() -> None:
    third = edge(lambda x: x >= Fraction(1, 3), Fraction(1), Fraction(0), halvings=60)
    assert 0 <= third - Fraction(1, 3) <= Fraction(1, 2**60)


def test_law_an_edge_that_nothing_holds_beyond_is_the_end_that_was_given() -> None:
    assert edge(lambda x: False, 1.0, 2.0, halvings=50) == 1.0
    assert whole_edge(lambda x: False, 7, 100) == 7


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_law_edges_of_arrays_are_those_of_their_elements(places: list[float]) -> None:
    wanted = np.array(places)
    found = edges(lambda x: x <= wanted, np.zeros(len(places)), np.full(len(places), 2.0), 40)
    alone = [edge(lambda x, at=at: x <= at, 0.0, 2.0, halvings=40) for at in places]  # type: ignore[misc]
    assert found.tolist() == alone


@given(
    st.lists(st.floats(0, 1), min_size=1, max_size=20),
    st.sampled_from([(0.0, 2.0), (2.0, -1.0)]),
    st.integers(1, 9),
    st.integers(1, 5),
)
def test_law_edges_in_few_calls_are_the_same_to_the_last_digit(
    places: list[float], ends: tuple[float, float], rounds: int, ahead: int
) -> None:
    """Also where it holds here and there: the same places are looked at, and others beside them."""
    wanted, (good, bad) = np.array(places), (np.full(len(places), end) for end in ends)
    for holds in (lambda x: x <= wanted, lambda x: x >= wanted, lambda x: np.sin(97 * x) < wanted):
        found = edges_in_few_calls(holds, good, bad, rounds, ahead)
        assert found.tolist() == edges(holds, good, bad, rounds * ahead).tolist()


@given(st.integers(-1000, 1000), st.integers(1, 1000), st.integers(1, 1000))
def test_law_a_whole_edge_has_a_neighbors_that_does_not_hold(last: int, below: int, above: int) -> None:
    assert whole_edge(lambda x: x <= last, last - below, last + above) == last
    assert whole_edge(lambda x: x >= last, last + above, last - below) == last


@given(st.floats(1e-3, 1e3), st.floats(0.2, 5), st.floats(1e-4, 1e4))
def test_law_the_largest_real_within_a_limit_was_seen_to_be(limit: float, power: float, start: float) -> None:
    found = largest_real_within(lambda x: x**power, limit, start)
    assert limit * (1 - 1e-8) <= found**power <= limit


@given(st.floats(0.01, 50), st.floats(0.2, 5))
def test_law_a_root_lies_between_two_adjacency(place: float, power: float) -> None:
    low, high = root_between(lambda x: power * math.log(place / x), 1e-3, 100.0, 1e-9, 200)
    assert low < place * (1 + 1e-12)
    assert place <= high * (1 + 1e-12)
    assert high - low <= 1e-9 * high


@given(st.floats(1e-12, 1e12))
def test_law_the_largest_real_fits_and_a_little_more_does_not(limit: float) -> None:
    """Mutants: ``largest_real`` that returns ``high``, stops ten times too early, or never doubles."""
    found = largest_real(lambda x: x <= limit, 1e-12)
    assert found <= limit <= found * (1 + 2e-12)
