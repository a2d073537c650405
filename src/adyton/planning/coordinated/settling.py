"""How spread the units can have been in what was measured together, now that it is known."""

from __future__ import annotations

import math
from fractions import Fraction

from adyton.exact import float_up, units_up
from adyton.exact.outward import COARSE
from adyton.exact.special import special
from adyton.mechanisms.workloads.measured import GaussianMeasured
from adyton.planning.coordinated.inferred import Measurement
from adyton.planning.learned import Units
from adyton.validity.subset.tails import SETTLED_FROM


def settled_together(measurement: Measurement, charged: int, units: Units, failure: Fraction) -> int:
    """At most what was charged; all of it where nothing can be said.

    Claim:    with probability 1 - failure the mean squared distance of the units from their mean, in units
              of the noise and over all that was measured, is at most this.
    Assumes:  the number of units is in ``units``.
    Source:   derived here.  Theorem: SUBSET-VARIANCE.
    """
    own = measurement.noise.mechanism
    if not isinstance(own, GaussianMeasured) or units.least < SETTLED_FROM:
        return charged
    rows, deviation = own.strategy.rows, own.deviation
    noise = deviation * math.sqrt(float(special().chdtri(rows, float(failure)))) * (1 + COARSE)
    noise += math.sqrt(rows) / 2 / own.steps
    mean = max(measurement.length * (1 - COARSE) - noise, 0.0) / units.most
    farthest = float_up(Fraction(own.rows_each**2 * own.strategy.l2_diameter_squared("add-or-remove")))
    spread = max(farthest - mean**2 * (1 - COARSE), 0.0) * (1 + COARSE)
    in_noise = Fraction(spread) * own.steps**2 / own.sigma**2
    return min(charged, max(1, units_up(in_noise)))
