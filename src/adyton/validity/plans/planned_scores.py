"""What a plan for scores fixes before the first of them: noise in blocks, parts kept, and levels."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

EVEN = 0.01
"""Of the failure, dealt out evenly: by the plan alone early scores would have almost no level, and no use
for the little that was spent before them."""


@dataclass(frozen=True, slots=True)
class Side:
    """Of one end of an interval: the part of rows kept, and the logarithm of its level."""

    kept: float
    log_level: float


@dataclass(frozen=True, slots=True)
class Reach:
    """How far one end of an interval may be from a score, in units of the sum, and the mean of one row's
    value there; None: whatever it is.
    """

    room: float
    share: float | None = None


@dataclass(frozen=True, slots=True)
class ScoreTarget:
    """What a plan is made for: so many independent rows, a failure, and both ends of the interval of an
    expected score.  ``high`` is measured from above; an end that nothing is asked of has no room.
    ``anytime``: levels that do not know how many scores there will be.  ``squares``: those of the rows'
    weights, added up, if the heaviest is 1 and all together are ``units``; None if each is 1.
    """

    units: int
    failure: Fraction
    low: Reach
    high: Reach
    anytime: bool = False
    squares: float | None = None

    @property
    def ends(self) -> tuple[Reach, Reach]:
        return self.low, self.high

    def parts(self, expected: float | None) -> tuple[float, float]:
        """How far the ends are from an expected score, as parts of the range; none is beyond it."""
        low, high = self.low.room / self.units, self.high.room / self.units
        if expected is None:
            return low, high
        return low if low else expected, high if high else 1 - expected

    def levels(self) -> tuple[float, float]:
        """How the failure is divided where it is not the reach that decides."""
        if self.low.room and self.high.room:
            return 0.5, 0.5
        return (1 - EVEN, EVEN) if self.low.room else (EVEN, 1 - EVEN)


@dataclass(frozen=True, slots=True)
class ScoreEnds:
    """Both ends of every score up to each of ``ends``."""

    ends: tuple[int, ...]
    low: tuple[Side, ...]
    high: tuple[Side, ...]

    def sides(self, number: int) -> tuple[Side, Side]:
        place = int(np.searchsorted(np.array(self.ends), number))
        return self.low[place], self.high[place]
