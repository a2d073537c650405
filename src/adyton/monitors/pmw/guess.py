"""Multiplicative weights: a public guess of the whole histogram, corrected by one answer at a time.

A guess is a distribution over the cells.  Everything here is a function of public or released numbers, so
floats are good enough: what they get wrong costs accuracy, never privacy.
"""

from __future__ import annotations

import math

import numpy as np

from adyton.errors import InvalidRequest
from adyton.kernel.exact.cells import Floats
from adyton.planning.coordinated.linear_query import MOST_CELLS, LinearQuery

BEST_RATE = 4.0  # times the gap: then 4 gap**2 - 16 gap**2 / 8 = 2 gap**2 is the most that the bound can give
_NEVER = 1e-12  # a share that is taken for 0: whoever guesses nothing at all could not be taught


def mw_update(log_weights: Floats, query: LinearQuery, step: float) -> Floats:
    """Multiplies each weight by exp(step * value of its cell), in place, and returns the normalised weights.

    Claim:    with q the query's value (between 0 and 1), p any distribution and w the weights before, the
              relative entropy D(p || w) falls by at least step (p.q - w.q) - step**2 / 8.
    Assumes:  ``log_weights`` are logarithms of weights that sum to 1, as they are again afterwards.
    Source:   Arora, Hazan, Kale 2012 (survey); the constant is Hoeffding's lemma.  Theorem: MW-POTENTIAL.
    """
    query.spread(step, log_weights)
    log_weights -= log_weights.max()
    weights = np.exp(log_weights)
    total = weights.sum()
    weights /= total
    log_weights -= math.log(total)
    return weights


def most_updates(cells: int, gap: float) -> float:
    """How many updates of at least this gap there can be, from the uniform guess: ln(cells) / (2 gap**2).

    Claim:    if every update has step = 4 times a number g' in the direction of the error, where both g' and
              twice the true gap less g' are at least ``gap``, there are no more; g' = gap will do.
    Source:   Hardt, Rothblum 2010, with the constant of MW-POTENTIAL.  Theorem: MW-UPDATES.
    """
    if not 0 < gap <= 1:
        raise InvalidRequest(f"a gap is above 0 and at most 1, not {gap}")
    return math.log(cells) / (2 * gap * gap)


class CellDistribution:
    """A distribution over the cells that starts uniform."""

    __slots__ = ("_log_weights", "weights")

    def __init__(self, cells: int) -> None:
        if not 1 <= cells <= MOST_CELLS:
            raise InvalidRequest(f"a guess has between 1 and {MOST_CELLS} cells, not {cells}")
        self._log_weights = np.full(cells, -math.log(cells))
        self.weights = np.full(cells, 1 / cells)

    @property
    def cells(self) -> int:
        return self.weights.size

    def answer(self, query: LinearQuery) -> float:
        """The mean value of the query, between 0 and 1."""
        if query.cells != self.cells:
            raise InvalidRequest(f"the query is about {query.cells} cells, not {self.cells}")
        return float(query.numerator(self.weights)) / query.denominator

    def correct(self, query: LinearQuery, gap: float) -> None:
        """One update with the best step for this signed gap, true mean less guessed mean."""
        self.weights = mw_update(self._log_weights, query, BEST_RATE * min(max(gap, -1.0), 1.0))

    def fit(self, query: LinearQuery, mean: float) -> None:
        """The nearest guess, in relative entropy, whose answer to a query of zeros and ones is ``mean``.

        For such a query it teaches more than ``correct`` where the mean is near 0 or 1.
        """
        before, after = (min(max(share, _NEVER), 1 - _NEVER) for share in (self.answer(query), mean))
        step = math.log(after / before) - math.log((1 - after) / (1 - before))
        self.weights = mw_update(self._log_weights, query, step)
