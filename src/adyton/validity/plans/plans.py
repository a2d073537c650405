"""Plans of a study: of rows, questions and tolerance two are given; noise for every question, and the third.

    plan = within(rows=100_000, questions=100, failure=Fraction(1, 20), noise="decreasing")
    plan.tolerance          # what all hundred answers are within, as a part of the range of an answer
    plan.scale_of(7)        # standard deviation of the noise of the seventh, as a share of the rows

``Expected.of(share="0.01").of_all_questions`` plans for rare shares; see ``expected`` for what that says.
"""

from __future__ import annotations

from fractions import Fraction

from adyton.validity.plans.constant import constant_questions, constant_rows, constant_width
from adyton.validity.plans.decreasing import decreasing_questions, decreasing_rows, decreasing_width
from adyton.validity.plans.expected import ANYTHING, Expected
from adyton.validity.plans.noise_plan import Noise, NoisePlan


def questions_within(
    rows: int,
    tolerance: Fraction,
    failure: Fraction,
    noise: Noise = "constant",
    expected: Expected = ANYTHING,
) -> NoisePlan | None:
    """The most questions that stay within the tolerance; None if not even one does."""
    make = constant_questions if noise == "constant" else decreasing_questions
    plan = make(rows, tolerance, failure, expected)
    return plan if plan.questions else None


def within(
    rows: int, questions: int, failure: Fraction, noise: Noise = "constant", expected: Expected = ANYTHING
) -> NoisePlan | None:
    """The least tolerance of that many questions; None if it would be the whole range."""
    make = constant_width if noise == "constant" else decreasing_width
    return make(rows, questions, failure, expected)


def rows_needed(
    questions: int,
    tolerance: Fraction,
    failure: Fraction,
    noise: Noise = "constant",
    expected: Expected = ANYTHING,
) -> tuple[int, NoisePlan] | None:
    """The fewest rows for that many questions within the tolerance; None if even 10**15 are too few."""
    make = constant_rows if noise == "constant" else decreasing_rows
    return make(questions, tolerance, failure, expected)
