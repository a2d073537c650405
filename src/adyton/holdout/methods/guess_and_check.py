"""Guess and check: a good guess is confirmed almost for nothing; a bad one is answered, and makes all later
answers cost a little more.  Neither the number of queries nor that of bad guesses is fixed in advance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from adyton.holdout.methods.base import HoldoutSize, Reply, State, UsedUp
from adyton.kernel.exact import float_down, float_up
from adyton.kernel.exact.outward import log_up
from adyton.kernel.special.scores import CountedAnswers, ScoreGrid
from adyton.validity.textbook.concentration import hoeffding_width

SERIES = Fraction(6079271018540266, 10**16)  # just below 6 / pi**2
MOST_CELLS = 10**6
MOST_ANSWERS = 10**12  # nobody comes to an end of them
_RELATIVE, _ABSOLUTE = 1 + 1e-8, 1e-6  # far more than the sums of logarithms below can lose


@dataclass(frozen=True, slots=True)
class GuessAndCheckPlan:
    """Every answer, a confirmed guess or a rounded score, is within ``tolerance`` of the population.

    Claim:    with probability 1 - failure all answers are, for any adaptive queries and guesses; when the
              items can no longer guarantee it, nothing is answered.
    Assumes:  items are independent draws from the population; nobody has seen them otherwise.
    Source:   Rogers, Roth, Smith, Srebro, Thakkar, Woodworth 2020; counted here.  Theorem: GUESS-AND-CHECK.
    """

    frame: HoldoutSize
    tolerance: Fraction
    name: ClassVar[str] = "guess_and_check"
    accounting: ClassVar[str] = "pure"
    needs_guess: ClassVar[bool] = True
    theorems: ClassVar[tuple[str, ...]] = ("GUESS-AND-CHECK", "HOEFFDING")

    @property
    def measurement(self) -> CountedAnswers:
        return CountedAnswers(MOST_ANSWERS)

    def start(self) -> State:
        return {"asked": 0, "failed": 0, "answers": 1}

    def left(self, state: State) -> int | None:
        return None if self.used_up(state) is None else 0

    def used_up(self, state: State) -> UsedUp | None:
        if self.cells(state) is None:
            return UsedUp("wrong guesses", state["failed"])
        return None

    def question(self, state: State, guess: Fraction | None) -> ScoreGrid:
        """Nothing is said of a sum that is near the guess; of another one its cell."""
        assert guess is not None
        cells, whole = self.cells(state), self.frame.whole
        assert cells is not None
        room = self.tolerance - self._stray(state)
        near = (math.ceil((guess - room) * whole), math.floor((guess + room) * whole))
        return ScoreGrid(cells, 0, whole, cells - 1, near)

    def answered(self, state: State, guess: Fraction | None, value: int | None) -> tuple[Reply, State]:
        half, after = float_up(self.tolerance), {**state, "asked": state["asked"] + 1}
        if value is None:
            return Reply("confirmed", guess, half), after
        cells = self.cells(state)
        assert cells is not None
        after |= {"failed": state["failed"] + 1, "answers": state["answers"] * cells}
        return Reply("answered", Fraction(2 * value + 1, 2 * cells), half), after

    def _stray(self, state: State) -> Fraction:
        share = query_failure(self.frame.failure, int(state["asked"]), int(state["failed"]), state["answers"])
        return Fraction(hoeffding_width(self.frame.items, share)) + self.frame.rounding

    def cells(self, state: State) -> int | None:
        """The fewest equal cells whose middles are near enough; None if none are."""
        room = self.tolerance - self._stray(state)
        if room <= 0:
            return None
        cells = math.ceil(1 / (2 * room))
        return cells if cells <= MOST_CELLS else None

    def settings(self) -> dict[str, str | int]:
        return {}


def query_failure(failure: Fraction, asked: int, failed: int, answers: int) -> Fraction:
    """beta c(i) c(f) / (C(i, f) answers): what a query may fail with, after i others of which f failed.

    c(x) = 6 / (pi (x + 1))**2 sums to 1; ``answers`` is the product of the cells of all past answers.
    Theorem: GUESS-AND-CHECK.
    """
    return failure * _share(asked) * _share(failed) / (math.comb(asked, failed) * answers)


def _share(x: int) -> Fraction:
    return SERIES / (x + 1) ** 2


# How long it goes on ---------------------------------------------------------------------------------------


def most_wrong_guesses(
    frame: HoldoutSize, tolerance: Fraction, queries: int, near: Fraction, enough: int | None = None
) -> int | None:
    """How many of ``queries`` guesses may be wrong if all queries shall be answered; None: not all can.

    A guess is wrong if it is further than ``near`` from the score on the items.  It looks no further than
    ``enough``.

    Claim:    if no more guesses are wrong, each query is answered within ``tolerance``, in any order.
    Assumes:  as GuessAndCheckPlan, whose states are followed here, each bounded by the worst that it can be.
    Source:   derived here.  Theorem: GUESS-AND-CHECK.
    """
    last, most = queries - 1, float_down(tolerance)
    always = log_up(2 / (frame.failure * SERIES**2)) + 2 * math.log(queries)
    histories = 0.0  # ln C(last, wrong), and ln of the number of cells of each answer to a wrong guess
    for wrong in range(queries):
        log = (always + 2 * math.log(wrong + 1) + histories) * _RELATIVE + _ABSOLUTE
        room = most - math.sqrt(log / (2 * frame.items)) * _RELATIVE - float_up(frame.rounding)
        if room <= 0 or room < near or (cells := math.ceil(_RELATIVE / (2 * room))) > MOST_CELLS:
            return wrong - 1 if wrong else None
        if wrong == enough:
            return wrong
        if wrong < last:
            histories += math.log((last - wrong) / (wrong + 1)) + math.log(cells)
    return queries


def first_step(frame: HoldoutSize, tolerance: Fraction) -> float | None:
    """The step of the grid to which the first answer to a wrong guess is rounded; later ones are finer."""
    cells = GuessAndCheckPlan(frame, tolerance).cells(GuessAndCheckPlan(frame, tolerance).start())
    return None if cells is None else 1 / cells
