"""What an answer says about the population where answers are rounded, so that few of them are possible.

Whatever the analyst does, a query after answers with G1, G2, ... possible values is one of G1 G2 ... at
its place, all of them fixed before the rows were seen.  Each has the interval of a query that was fixed in
advance, at as small a part of the level; so all of them hold at once.  What was released, and with how much
noise, makes no difference: only bits count.  Theorem: ROUNDING-STUDY.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from adyton.kernel.exact import float_down
from adyton.population.base import PopulationContext
from adyton.population.claims import AfterReleases, CertainAfter, Claims
from adyton.population.position import Position
from adyton.population.subset import SubsetPopulation
from adyton.study.validity import FOR_THEIR_NOISE
from adyton.validity.described import FOR_DESCRIBED
from adyton.validity.published.transcripts import nats_of
from adyton.validity.subset.tails import Before, Way


@dataclass(frozen=True, slots=True)
class CertainOfAll(CertainAfter):
    """What the intervals of one answer rest on, whichever of all possible transcripts came before it."""

    transcripts: float = 0.0  # the logarithm of their number

    def claims(self, share: float, more: Fraction = Fraction(0)) -> Claims:
        """One way: as if the query was fixed in advance, at a level for each transcript."""
        return AfterReleases([Way(1.0, self.transcripts, math.log(self.level * share))])


class RoundingPopulation(SubsetPopulation):
    """The population intervals of a study that rounds its answers.  A radius is a number of bits here.

    Claim:    with the confidence of the study all intervals hold at once, however queries, prices and the
              number of queries were chosen.
    Assumes:  units are independent draws from the population; nothing about these units was released but
              answers on grids, each of which can have no more values than its receipt says.
    Source:   Dwork, Feldman, Hardt, Pitassi, Reingold, Roth 2015 (description length), with the weights of a
              prefix code.  Theorem: ROUNDING-STUDY.
    """

    def _theorems(self, at: Position, ratios: bool) -> tuple[str, ...]:
        return ("SUBSET-SHARES", *(("SUBSET-MEANS", "SUBSET-BENNETT") if ratios else ()))

    def _assumptions(self) -> tuple[str, ...]:
        known = "nothing about these units is known but what this study answered"
        return (*super()._assumptions(), known)

    def _certain(self, context: PopulationContext) -> CertainOfAll:
        left = self._failure * (1 - FOR_DESCRIBED - FOR_THEIR_NOISE)
        level = float_down(left) * self.level_of(context.at.query) / context.at.values
        before = nats_of(context.at.before)
        return CertainOfAll(Before(), context.known_units, level, transcripts=before)
