"""Searches return only what was found to hold, and find it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from adyton.validity.search import largest, largest_near


@given(st.integers(0, 3000), st.integers(1, 2000), st.integers(0, 5000))
def test_law_looking_near_finds_the_same_as_looking_everywhere(limit: int, most: int, near: int) -> None:
    tried: list[int] = []

    def holds(number: int) -> bool:
        assert 1 <= number <= most
        tried.append(number)
        return number <= limit

    exact = largest(lambda number: number <= limit, most)
    found = largest_near(holds, near, most)
    assert exact * (1 - 1 / 128) <= found <= exact
    assert found in tried or found == 0
    assert exact > 255 or found == exact


def test_law_a_good_guess_saves_calls() -> None:
    tried = []
    found = largest_near(lambda number: tried.append(number) is None and number <= 9000, 9100, 10**6)
    assert 8960 <= found <= 9000
    assert len(tried) < 9
