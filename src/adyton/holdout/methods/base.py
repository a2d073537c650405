"""What every method of a holdout has in common.

No method sees an exact score: the kernel measures (``kernel/special/scores.py``), and a method says what.

A *priced* method is charged score by score: the ledger's chain of receipts is its state.  A *staged* method
is charged once, when the holdout is made, for its ``measurement``; its answers are a chain of notes on that
receipt, as with monitors, and its state follows from them: ``start`` is the first one, ``question`` says what
the kernel compares a sum with, and ``answered`` what its answer means, and the next state.  From the state
alone ``used_up`` says what nothing more is answered for, and ``left`` how many more queries are answered at
least, None if there is no fixed number.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

State = dict[str, Any]
Ends = tuple[Fraction, Fraction]


@dataclass(frozen=True, slots=True)
class HoldoutSize:
    """The public facts that every plan starts from: items, steps of one value, failure probability."""

    items: int
    steps: int
    rounding: Fraction
    failure: Fraction
    greater_is_better: bool = True
    squares: Fraction | None = None  # of weights, the heaviest being 1, added up; None: items weigh the same

    @property
    def whole(self) -> int:
        """The sum of values that are all 1, in steps."""
        return self.items * self.steps

    def lattice(self, value: Fraction) -> int:
        """The nearest sum to a share."""
        return round(value * self.whole)


class UsedUp(NamedTuple):
    """Why a staged method answers nothing more: it had so many of these, and all are used up."""

    counted_in: str
    budget: int


@dataclass(frozen=True, slots=True)
class Reply:
    """What a staged method says; ``half_width`` is None where no interval is certified."""

    said: str
    value: Fraction | None
    half_width: float | None
