"""How long guess and check goes on: how many guesses may be wrong before a question stays unanswered."""

from __future__ import annotations

import math
from fractions import Fraction

from adyton.exact import float_down, float_up
from adyton.holdout.methods.base import HoldoutSize
from adyton.holdout.methods.guess_and_check import MOST_CELLS, SERIES, GuessAndCheckPlan
from adyton.validity.textbook.concentration import log_up

_RELATIVE, _ABSOLUTE = 1 + 1e-8, 1e-6  # far more than the sums of logarithms below can lose


def most_wrong_guesses(
    frame: HoldoutSize, tolerance: Fraction, questions: int, near: Fraction, enough: int | None = None
) -> int | None:
    """How many of ``questions`` guesses may be wrong if all questions shall be answered; None: not all can.

    A guess is wrong if it is further than ``near`` from the score on the items.  It looks no further than
    ``enough``.

    Claim:    if no more guesses are wrong, each question is answered within ``tolerance``, in any order.
    Assumes:  as GuessAndCheckPlan, whose states are followed here, each bounded by the worst that it can be.
    Source:   derived here.  Theorem: GUESS-AND-CHECK.
    """
    last, most = questions - 1, float_down(tolerance)
    always = log_up(2 / (frame.failure * SERIES**2)) + 2 * math.log(questions)
    histories = 0.0  # ln C(last, wrong), and ln of the number of cells of each answer to a wrong guess
    for wrong in range(questions):
        log = (always + 2 * math.log(wrong + 1) + histories) * _RELATIVE + _ABSOLUTE
        room = most - math.sqrt(log / (2 * frame.items)) * _RELATIVE - float_up(frame.rounding)
        if room <= 0 or room < near or (cells := math.ceil(_RELATIVE / (2 * room))) > MOST_CELLS:
            return wrong - 1 if wrong else None
        if wrong == enough:
            return wrong
        if wrong < last:
            histories += math.log((last - wrong) / (wrong + 1)) + math.log(cells)
    return questions


def first_step(frame: HoldoutSize, tolerance: Fraction) -> float | None:
    """The step of the grid to which the first answer to a wrong guess is rounded; later ones are finer."""
    cells = GuessAndCheckPlan(frame, tolerance).cells(GuessAndCheckPlan.START)
    return None if cells is None else 1 / cells
