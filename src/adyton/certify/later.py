"""What later answers pay for one that is asked now, or for all that were."""

from __future__ import annotations

from dataclasses import dataclass

from adyton.documents import Document, Units
from adyton.kernel.exact import UNITS_PER_ONE
from adyton.show import number


@dataclass(frozen=True, slots=True)
class Later(Document):
    """Half-widths of the population interval of a later count, of half of all units, with noise as large as
    the luck of the draw: without this charge and after it; None where there is no interval any more.
    """

    without: float
    after: float | None

    def __str__(self) -> str:
        if self.after is None:
            return (
                "It ends population intervals, of this answer and of later ones, but for queries with a "
                "description, whose intervals do not depend on what was released."
            )
        wider, now = number(self.after, self.without), number(self.without, self.without)
        return (
            "Later population intervals of queries with long descriptions are wider: that of a count, for "
            f"example, ± {wider} instead of ± {now}."
        )


@dataclass(frozen=True, slots=True)
class AnswerBits(Document):
    """Of a study that rounds its answers: bits, in units of 10**-18, of all answers ``before`` one, which it
    pays for, and its ``own``, which later ones pay for as well.
    """

    before: Units
    own: Units

    def __str__(self) -> str:
        return (
            f"Answers are on a grid: this one has {in_bits(self.own)}, {in_bits(self.before)} came before. "
            "Its population interval pays for those before; later ones pay for its own as well."
        )


def in_bits(units: int) -> str:
    """Rounded up to a tenth."""
    return f"{-(-units * 10 // UNITS_PER_ONE) / 10:,.1f} bits"
