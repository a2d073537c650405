"""Plans of a study: of rows, queries and tolerance two are given; noise for every query, and the third.

    plan = within(rows=100_000, queries=100, failure=Fraction(1, 20), noise="decreasing")
    plan.tolerance          # what all hundred answers are within, as a part of the range of an answer
    plan.scale_of(7)        # standard deviation of the noise of the seventh, as a share of the rows

``Expected.of(share="0.01").of_all_queries`` plans for rare shares; see ``expected`` for what that says.
"""

from __future__ import annotations

from fractions import Fraction

from adyton.validity.plans.constant import constant_queries, constant_rows, constant_width
from adyton.validity.plans.decreasing import decreasing_queries, decreasing_rows, decreasing_width
from adyton.validity.plans.expected import ANYTHING, Expected
from adyton.validity.plans.noise_plan import Noise, NoisePlan


def queries_within(
    rows: int,
    tolerance: Fraction,
    failure: Fraction,
    noise: Noise = "constant",
    expected: Expected = ANYTHING,
) -> NoisePlan | None:
    """The most queries that stay within the tolerance; None if not even one does."""
    make = constant_queries if noise == "constant" else decreasing_queries
    plan = make(rows, tolerance, failure, expected)
    return plan if plan.queries else None


def within(
    rows: int, queries: int, failure: Fraction, noise: Noise = "constant", expected: Expected = ANYTHING
) -> NoisePlan | None:
    """The least tolerance of that many queries; None if it would be the whole range."""
    make = constant_width if noise == "constant" else decreasing_width
    return make(rows, queries, failure, expected)


def rows_needed(
    queries: int,
    tolerance: Fraction,
    failure: Fraction,
    noise: Noise = "constant",
    expected: Expected = ANYTHING,
) -> tuple[int, NoisePlan] | None:
    """The fewest rows for that many queries within the tolerance; None if even 10**15 are too few."""
    make = constant_rows if noise == "constant" else decreasing_rows
    return make(queries, tolerance, failure, expected)
