"""A plan of that many queries whose noise may still differ: the joint form, with an equal part for each.

The joint form of the centred hinge theorem uses Markov's inequality once, on the sum of all hinges, so that
noise and stability share the failure without dividing it.  Nothing in it needs equal noise: it is enough that
the mean excess of every query's noise over its threshold is at most its part of what was planned, measured
by how far the rows could move the query.  Less noise then needs a lower threshold, more noise a higher
one, always in units of Laplace noise: only pure studies are planned like this.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from adyton.kernel.exact import Number, float_up, probability, rational, whole
from adyton.kernel.exact.outward import square_root_up
from adyton.kernel.privacy import PureCost
from adyton.validity.hinge.noise_part import laplace_multiplier, laplace_threshold
from adyton.validity.hinge.peeling import Level, Schedule
from adyton.validity.hinge.stability import balanced_mu, stability_width


@dataclass(frozen=True, slots=True)
class PlannedSchedule(Schedule):
    """The widths of a study of at most ``queries`` queries: one level, the same for every answer.

    Its stability width has the excess of all noise in it.

    Claim:    with probability 1 - failure, |a_j - q_j(P)| <= threshold_j scale_j + stability for all
              queries at once, q_j with values in [0, 1] and Laplace noise; and all |noise of a count of the
              units| are within their part of ``counting``, if that is not 0.
    Assumes:  as ``stability_width``; noise j is independent of the rows and of everything before it, and of
              a size that earlier answers may choose.
    Source:   derived here.  Theorem: CENTRED-HINGE-PLAN.
    """

    excess: Fraction  # what the mean excess of one query's noise may be, as a share of the range
    queries: int
    tolerance: float  # of an answer with the planned noise
    counting: Fraction  # the failure that is left for noisy counts of the units

    @classmethod
    def plan(
        cls,
        rows: int,
        queries: int,
        failure: Number,
        *,
        counting: Number = 0,
        delta: Number = 0,
    ) -> PlannedSchedule:
        """``delta``: as in ``stability_width``.  Noise of about the least width is planned; any is valid."""
        n, k = whole(rows, "the number of rows"), whole(queries, "the number of queries")
        for_counts = rational(counting, "the failure of counts")
        share = probability(failure, "the failure probability") - for_counts
        scale, each, spent = _best_noise(n, k, share)
        stability = stability_width(square_root_up(spent), share, delta)
        if math.isinf(stability):
            return cls((Level(spent, stability),), each, k, stability, for_counts)
        width = Fraction(stability) + k * each / share
        tolerance = float_up(width + Fraction(laplace_threshold(each / scale)) * scale)
        return cls((Level(spent, float_up(width)),), each, k, tolerance, for_counts)

    def threshold(self, relative: Fraction, noises: int = 1) -> float:
        """How many scales to add for one of the ``noises``, the noise terms of a query.

        ``relative`` is the scale, times the weight of the noise in what is claimed, over how far all rows
        together could move that.
        """
        return laplace_threshold(self.excess / noises / relative)


def _best_noise(rows: int, queries: int, failure: Fraction) -> tuple[Fraction, Fraction, Fraction]:
    """The scale with about the least width, what its excess may be for one query, and mu0**2.

    Laplace noise of scale b is mu-GDP against the phantom with mu about sqrt(pi/2) / (2 rows b).
    """
    factor = laplace_multiplier(failure, queries) * math.sqrt(math.pi * queries / 2) / (2 * rows)
    mu0 = balanced_mu(factor, failure)
    scale = Fraction(math.sqrt(math.pi * queries / 2) / (2 * rows * mu0))
    spent = queries * PureCost(1 / (2 * rows * scale)).gdp
    return scale, scale * failure / queries, spent
