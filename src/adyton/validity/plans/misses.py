"""The chance that an adaptive answer is beyond a tolerance, although earlier answers led to its query.

For a location y of the normal tail and a part ``fresh`` of the rows every bound here is valid, so both are
chosen by what makes it least: with D(s) = s K'(s) - K(s), K the logarithm of one row's moments at the tilt s,

    tolerance = noise y + K'(s),      hazard(y) = noise rows fresh s,      spent = rows D(s) (1 - fresh)**2.

So from a tilt follows everything else, and what was spent grows with the tilt.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from adyton.arithmetic.search import Truths, edges, geometric
from adyton.kernel.exact.cells import Floats
from adyton.kernel.exact.outward import SAFE, UNIT_ROUNDOFF
from adyton.kernel.exact.special import special
from adyton.validity.plans.expected import Expected, LogMoments
from adyton.validity.subset.tails import MARGIN, hazard

LARGEST_TILT = 300.0
_LEAST_TILT = 1e-9
_TABLE = 3000
_MESH, _ROUNDS = 48, 5
_HALVINGS = 45
KEPT_FOR_COSTS = 0.05
"""Of the failure, where queries are expected to cost less than their radius: that has its own level."""


class Deviations:
    """By how much a mean of rows exceeds its expectation, with what chance: Chernoff's bound, by a table."""

    def __init__(self, expected: Expected) -> None:
        self._tilts = np.geomspace(_LEAST_TILT, LARGEST_TILT, _TABLE)
        one = expected.moments(self._tilts)
        self._log_moments = one.up + 10 * UNIT_ROUNDOFF * one.size
        self._apart = np.maximum.accumulate(divergence(one, self._tilts))

    def beyond(self, exponent: Floats) -> Floats:
        """u, rounded up: Pr[mean - expectation > u] <= exp(-rows exponent), for a query fixed in advance.

        Every tilt is valid, so that of the next entry is taken.  Theorem: EXPECTED-MOMENTS.
        """
        place = np.minimum(np.searchsorted(self._apart, exponent), _TABLE - 1)
        found: Floats = (exponent + self._log_moments[place]) / self._tilts[place] * SAFE
        return np.minimum(np.maximum.accumulate(found) if found.ndim else found, 1.0)


@lru_cache(maxsize=64)
def deviations(expected: Expected) -> Deviations:
    """The table of an expectation, made once."""
    return Deviations(expected)


class TangentPoint(NamedTuple):
    """Where the tangent lies at the normal tail, and which part of the rows counts as fresh."""

    location: Floats
    fresh: Floats


def log_misses(
    rows: int,
    tolerance: float,
    noise: Floats | float,
    spent: Floats,
    choice: TangentPoint,
    expected: Expected,
) -> Floats:
    """log Pr[|answer - expectation| > ``tolerance``], both sides together, rounded up.

    Claim:    for an adaptive query as ``expected``, whose tolerance and noise are shares of all rows.
    Assumes:  rows are independent draws; everything released about them before was Gaussian answers whose
              noise was planned; sum of cost / (2 rows noise**2) of these answers is at most ``spent``.
    Source:   derived here.  Theorem: PLANNED-EXPECTATION.
    """
    y, fresh = choice
    h = hazard(y)
    tilt = h / (noise * fresh * rows)
    one = expected.moments(tilt)
    tail, moved, gap = special().log_ndtr(-y), h * y, h / noise * tolerance
    head = tail + moved
    if expected.group is not None:  # the noise of a difference may be less: see the page
        head = np.maximum(head, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        price = np.where(spent > 0, fresh / (1 - fresh) * spent, 0.0)
    size = 1 + np.abs(tail) + np.abs(moved) + gap + price + fresh * rows * one.size
    base = head - gap + price + MARGIN * size
    found: Floats = np.logaddexp(base + fresh * rows * one.up, base + fresh * rows * one.down)
    return np.where(fresh < 1, found, np.where(spent > 0, np.inf, found))


def best_choice(
    rows: int, tolerance: float, noise: Floats, spent: Floats, expected: Expected
) -> tuple[TangentPoint, Floats]:
    """About the best choice for each answer, and its tilt: by halving, as what was spent grows with it."""
    low, high = np.full_like(spent, _LEAST_TILT), np.full_like(spent, LARGEST_TILT)

    def more(tilt: Floats) -> Truths:
        return _spent_at(rows, tolerance, noise, tilt, expected)[0] > spent

    tilt = edges(more, high, low, _HALVINGS, geometric)
    return _spent_at(rows, tolerance, noise, tilt, expected)[1], tilt


def _spent_at(
    rows: int, tolerance: float, noise: Floats | float, tilt: Floats, expected: Expected
) -> tuple[Floats, TangentPoint]:
    """What may have been spent if this tilt is the best, below 0 if none is; and the choice."""
    one = expected.moments(tilt)
    y = np.clip((tolerance - one.slope) / noise, -36.0, 1e6)
    fresh = hazard(y) / (noise * rows * tilt)
    kept = 1 - fresh
    spent = rows * divergence(one, tilt) * np.abs(kept) * kept
    return spent, TangentPoint(y, np.clip(fresh, 1e-12, 1.0))


def divergence(one: LogMoments, tilt: Floats) -> Floats:
    found: Floats = np.maximum(tilt * one.slope - one.up, 0.0)
    return found


def track(
    rows: int, tolerance: float, noise: float, expected: Expected, blocks: int
) -> tuple[Floats, Floats]:
    """What may have been spent at the ends of blocks, from 0 on, and ``log_misses`` of an answer there."""

    def kept(tilt: Floats) -> Floats:
        return _spent_at(rows, tolerance, noise, tilt, expected)[0]

    tilts = tilts_between(kept, tolerance, expected, blocks)
    if not tilts.size:
        return np.zeros(0), np.zeros(0)
    spent, choice = _spent_at(rows, tolerance, noise, tilts, expected)
    spent[0] = 0.0
    spent = np.maximum.accumulate(np.maximum(spent, 0.0))
    choice.fresh[0] = 1.0
    return spent, log_misses(rows, tolerance, noise, spent, choice, expected)


def tilts_between(
    spent: Callable[[Floats], Floats], tolerance: float, expected: Expected, blocks: int
) -> Floats:
    """The ends of ``blocks`` blocks, from the tilt at which something may have been spent to that at which
    nothing of the tolerance is left; none, if that comes first."""
    first = _first_tilt(spent)
    last = _last_tilt(tolerance, expected)
    return np.linspace(first, last, blocks + 1) if first < last else np.zeros(0)


@lru_cache(maxsize=64)
def _last_tilt(tolerance: float, expected: Expected) -> float:
    """The same for every noise that a search tries."""
    return _first_tilt(lambda tilt: expected.moments(tilt).slope - tolerance)


def _first_tilt(sign: Callable[[Floats], Floats]) -> float:
    """About where ``sign`` becomes positive, or the largest tilt."""
    low, high = _LEAST_TILT, LARGEST_TILT
    for _ in range(_ROUNDS):
        mesh = np.geomspace(low, high, _MESH)
        positive = sign(mesh) > 0
        if not positive.any():
            return high
        place = int(np.argmax(positive))
        if place == 0:
            return float(low)
        low, high = float(mesh[place - 1]), float(mesh[place])
    return high


def costs_of(rows: int, expected: Expected, failure: float, queries: float) -> tuple[Costs, float]:
    """What one of that many queries costs, and the part of the failure that bounding it takes."""
    if expected.variance is None:
        return Costs(rows, expected, 0.0), 0.0
    apart = KEPT_FOR_COSTS * failure
    return Costs(rows, expected, math.log(apart / queries)), apart


class Costs:
    """What one query adds to what was spent, times 2 rows noise**2, if all queries are as expected.

    Its square distance from a centre, averaged over the rows, is a query too, with a known mean; how far
    that overfits is bounded at a level of its own.  Theorem: PLANNED-EXPECTATION.
    """

    def __init__(self, rows: int, expected: Expected, log_level: float) -> None:
        self._rows, self._level = rows, -log_level
        self._radius, self._whole = 0.25 * expected.noise**2, expected.cost * expected.noise**2
        self._mean = expected.variance
        if self._mean is not None:
            self._deviations = deviations(Expected.of(share=min(Fraction(self._mean), Fraction(1, 2))))

    @property
    def constant(self) -> bool:
        return self._mean is None

    def at(self, spent: Floats) -> Floats:
        """Rounded up; it grows with what was spent."""
        if self._mean is None:
            return np.full_like(spent, self._radius)
        exponent = np.square(np.sqrt(spent) + np.sqrt(self._level)) / self._rows
        scaled = (self._mean + self._deviations.beyond(exponent)) * self._whole
        found: Floats = np.minimum(scaled, self._radius) * SAFE
        return found
