"""Widths that grow with what has been spent: early answers need not wait for the end of a study.

The levels of mu0**2 are fixed in advance: the cap, half of it, a quarter, ...  The stability part holds for
the transcript stopped before it would pass a level, at every level at once, each with its share of the
failure. Answer j is part of every transcript whose level is not below what has been spent including j; it
uses the lowest.  The noise of query j needs no union over levels: it has one level, which the transcript
knows.
"""

from __future__ import annotations

import bisect
from dataclasses import dataclass
from fractions import Fraction

from adyton.errors import InvalidRequest
from adyton.kernel.exact import Number, positive, probability, rational, whole
from adyton.kernel.exact.outward import square_root_up
from adyton.validity.hinge.stability import stability_width

_MOST_LEVELS = 60
NOISE_SHARE = Fraction(3, 10)
"""Of the failure, for the noise: about the best for hundreds to millions of queries."""


@dataclass(frozen=True, slots=True)
class Level:
    """Up to ``spent`` (a sum of (radius / (rows sigma))**2) the stability width is ``width``."""

    spent: Fraction
    width: float


@dataclass(frozen=True, slots=True)
class Schedule:
    """Widths by what has been spent; beyond the cap nothing is certified."""

    levels: tuple[Level, ...]  # ascending; the last one is the cap

    @property
    def cap(self) -> Fraction:
        """The most that may be spent, as mu0**2."""
        return self.levels[-1].spent

    def covers(self, spent: Fraction) -> bool:
        return spent <= self.cap

    def stability(self, spent: Fraction) -> float:
        """t2 of an answer after which ``spent`` has been spent, that answer included."""
        if not 0 <= spent <= self.cap:
            raise InvalidRequest(
                f"{float(spent):g} is beyond the {float(self.cap):g} that this study was certified for"
            )
        return self.levels[bisect.bisect_left(self.levels, spent, key=lambda level: level.spent)].width


@dataclass(frozen=True, slots=True)
class WidthSchedule(Schedule):
    """The widths of a study whose number of queries, noise levels and end are open.

    Claim:    with probability 1 - failure, |a_j - q_j(P)| <= noise_j + stability(spent after j) for all
              queries j at once, noise_j being what NOISE-GIVEN-TRANSCRIPT gives for the part of query
              j in ``noise_failure``; spent is the sum of (radius_i / (rows sigma_i))**2 up to j.
    Assumes:  as ``stability_width``; cap, levels and shares were fixed before the rows were first used.
    Source:   derived here.  Theorem: PEELING.
    """

    noise_failure: Fraction
    queries: int | None  # None: any number, query j gets 6 / (pi j)**2 of the failure

    @classmethod
    def plan(
        cls,
        failure: Number,
        cap: Number,
        levels: int = 10,
        *,
        queries: int | None = None,
        noise_share: Number = NOISE_SHARE,
        delta: Number = 0,
    ) -> WidthSchedule:
        """``cap`` is mu0, the most that may be spent; level i below it is cap**2 / 2**i.

        ``delta`` is what all releases of a study may leak of one row beside that.  Theorem: HINGE-WITH-DELTA.
        """
        total, share = probability(failure, "the failure probability"), rational(noise_share, "noise_share")
        if not 0 < share < 1:
            raise InvalidRequest("the share of the noise must be above 0 and below 1")
        if not 1 <= whole(levels, "the number of levels") <= _MOST_LEVELS:
            raise InvalidRequest(f"at most {_MOST_LEVELS} levels, not {levels}")
        if queries is not None:
            whole(queries, "the number of queries")
        highest = positive(cap, "the cap") ** 2
        stable = total * (1 - share) / levels
        spent = [highest / 2**i for i in reversed(range(levels))]
        made = tuple(Level(s, stability_width(square_root_up(s), stable, delta)) for s in spent)
        return cls(made, total * share, queries)
