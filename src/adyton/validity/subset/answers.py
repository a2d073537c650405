"""How far a Gaussian answer may be from the population, although earlier answers led to its question."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np

from adyton.columns import Floats
from adyton.exact import float_up
from adyton.exact.outward import UNIT_ROUNDOFF
from adyton.validity.subset.tails import Places, Way, least_width


def price_of(units: int | Fraction, spent: Fraction, kept: float) -> float:
    """((1 - c) / c) A, A = n mu0**2 / 2, rounded up: what earlier answers add to an exponent.

    Of units that count as parts of one, the squares of those parts are added up instead.

    Theorem: SUBSET-TRANSFER.
    """
    part = Fraction(kept)
    return float_up((1 - part) / part * units * spent / 2)


def hoeffding_width(units: float, span: Floats, scale: Floats, ways: Sequence[Way]) -> Floats:
    """t, rounded up, of each answer: the least that one of the ways certifies at its level.

    Claim:    the sum of ``units`` independent parts plus normal noise exceeds its expectation by more than t
              with at most that probability, for a question fixed in advance (all is fresh, the price is 0);
              and for one that earlier answers led to, if a way keeps a part of the rows that was fixed in
              advance and pays ``price_of`` what was spent before.  If levels b_j, functions of the answers
              before j, sum to at most b on every path, and either side is taken at b_j / 2, all widths hold
              at once with probability 1 - b.
    Assumes:  rows are independent draws; each part lies in an interval of length ``span``; noise is
              fresh; everything released about the rows was Gaussian answers.
    Source:   derived here, from Hoeffding 1963 and the concavity of the logarithm of the normal tail.
    Theorem: SUBSET-ANSWERS.  Theorem: SUBSET-OVERFIT.  Theorem: PAY-AS-YOU-GO.
    """
    length, noise = np.broadcast_arrays(np.asarray(span, np.float64), np.asarray(scale, np.float64))
    proxy = units * length**2 / 4 * (1 + 10 * UNIT_ROUNDOFF)

    def moment(some: Places) -> Callable[[Floats, Floats], Floats]:
        v = proxy[some][:, None, None]
        return lambda tilt, fresh: tilt**2 * v / (2 * fresh)

    return least_width(noise, proxy, moment, ways)
