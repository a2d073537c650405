"""A theorem of the library refuses what it does not speak about: a negative width would be believed."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import pytest

from adyton.errors import InvalidRequest
from adyton.validity.published.compressibility import compressed_width
from adyton.validity.published.jung import closed_form_epsilon, transfer_failure, transfer_width
from adyton.validity.published.rogers import sum_width
from adyton.validity.textbook.concentration import chebyshev_tail, markov_tail
from literature.information import gap_square

CALLS: list[tuple[Callable[..., Any], tuple[Any, ...], tuple[int, ...]]] = [
    (markov_tail, (1, 10), (0, 1)),
    (chebyshev_tail, (1, 10), (0, 1)),
    (compressed_width, (100, 10, 5.0, "0.1"), (2,)),
    (sum_width, (100, 10, "0.1", 0.1), (3,)),
    (transfer_width, (0.1, 0.1, 0.1, 0.1), (0, 1, 2, 3)),
    (transfer_failure, (0.1, 0.1, 0.1, 0.1), (0, 1, 2, 3)),
    (closed_form_epsilon, (0.1, 0.001), (0, 1)),
    (gap_square, (1.0, 100), (0,)),
]


@pytest.mark.parametrize("wrong", [-1.0, -1e-9, math.nan])
@pytest.mark.parametrize(("theorem", "right", "places"), CALLS)
def test_law_nothing_negative_and_no_nan(
    theorem: Callable[..., Any], right: tuple[Any, ...], places: tuple[int, ...], wrong: float
) -> None:
    theorem(*right)
    for place in places:
        with pytest.raises(InvalidRequest):
            theorem(*right[:place], wrong, *right[place + 1 :])


@pytest.mark.parametrize(
    ("rows", "tolerance", "failure"),
    [(20, "0.3", "0.05"), (50, "0.4", "0.5"), (10**9, "0.01", "0.000000001")],
)
def test_a_search_without_a_better_solution_says_so_quietly(rows: int, tolerance: str, failure: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
