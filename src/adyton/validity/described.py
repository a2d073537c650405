"""How far what these rows say may be from the population, for a query that was described in advance.

Nothing here knows noise, or what was released: these are bounds on the sample alone, each wrong with at most
a chance exp(-nats).  A union bound makes them hold for all queries of a dictionary at once,
however the analyst chooses them.

Shares by Chernoff's bound for coins, sums of values with a known variance by Bennett's inequality.  Both are
the best of many exponential moments, and *every* one of them is valid: floats choose a good one, and only the
last evaluation is rounded to the safe side.  Theorem: DESCRIBED-QUERIES.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from adyton.kernel.exact.cells import Floats
from adyton.kernel.exact.outward import FEW, UNIT_ROUNDOFF, UP
from adyton.validity.subset.tails import MARGIN
from adyton.validity.subset.widths import beyond_linear

FOR_DESCRIBED = Fraction(3, 64)
"""Of a study's failure: that the rows are as all queries with a description take them to be."""
_STEPS = 6  # of Newton's method, which doubles the digits each time
_LEAST = 2.0**-900
_LARGEST = 700.0


def least_described_share(counts: Floats, units: float, nats: float) -> Floats:
    """The lower ends, rounded down, of the expected share of ``units`` of which ``counts`` have a property.

    Claim:    for a query fixed in advance, the expected share is below its end with probability at most
              exp(-nats), whatever the laws of the units.
    Assumes:  units are independent; what each adds lies between 0 and 1.
    Source:   Chernoff 1952, Hoeffding 1963.  Theorem: DESCRIBED-QUERIES.
    """
    share = np.clip(counts / units, 0.0, 1.0)
    rare = nats / units
    inside = np.clip(share, _LEAST, 1 - 2.0**-40)
    # Where a normal law would put the end, and from there Newton's method for the logarithm of the end.
    spread = np.sqrt(rare**2 + 2 * rare * inside * (1 - inside))
    end = np.clip((inside + rare - spread) / (1 + 2 * rare), inside * 2.0**-40, inside * (1 - 2.0**-20))
    for _ in range(_STEPS):
        apart = inside * np.log(inside / end) + (1 - inside) * (np.log1p(-inside) - np.log1p(-end)) - rare
        step = np.clip(apart * (1 - end) / (inside - end), -50.0, 50.0)
        end = np.clip(end * np.exp(step), _LEAST, inside * (1 - 2.0**-30))
    tilt = np.clip(np.log(inside / end) + np.log1p(-end) - np.log1p(-inside), 2.0**-60, _LARGEST)
    margin = MARGIN * (1 + tilt * np.abs(counts) + nats)
    rejected = np.expm1((tilt * counts - nats - margin) / units) / np.expm1(tilt)
    found: Floats = np.clip(rejected - 128 * UNIT_ROUNDOFF * np.abs(rejected), 0.0, 1.0)
    return found


def greatest_described_share(counts: Floats, units: float, nats: float) -> Floats:
    """The upper ends, rounded up: those who lack the property are a share as well."""
    return np.minimum(1 - least_described_share(units - counts, units, nats) + FEW, 1.0)


def described_width(variance: Floats, beyond: Floats, nats: float) -> Floats:
    """t, rounded up: the sum exceeds its expectation by more than t with probability at most exp(-nats).

    Claim:    as above, for a query fixed in advance.
    Assumes:  units are independent; the variances of their parts sum to at most ``variance``; no part
              exceeds its mean by more than ``beyond``.
    Source:   Bennett 1962.  Theorem: DESCRIBED-QUERIES.
    """
    spread = np.maximum(variance, _LEAST * beyond**2)
    level = nats * beyond**2 / spread
    place = np.sqrt(2 * level) + level / 3  # at most this (Bernstein), and Newton's method from above
    for _ in range(_STEPS):
        log = np.log1p(place)
        place = np.maximum(place - ((1 + place) * log - place - level) / log, level * 2.0**-60)
    tilt = np.log1p(place) / beyond
    moment = spread / beyond**2 * beyond_linear(tilt * beyond)
    width: Floats = (moment + nats) / tilt
    return width * (1 + MARGIN)


def described_half_width(units: int, nats: float, failure: Fraction, share: float = 0.5) -> float:
    """Half of the interval, rounded up, of a share of all units whose query has so many ``nats`` and whose
    answer has no noise: whatever was asked before, and however often.  A share of 1/2 has the widest.

    ``failure`` is that of a study, which keeps a part of it for described queries.
    """
    each = nats - math.log(failure * FOR_DESCRIBED / 2)  # either side has half
    count = np.array([units * share])
    low, high = least_described_share(count, units, each), greatest_described_share(count, units, each)
    return float((high - low)[0]) / 2 * UP
