"""The best tilt of a bound: which part of the rows to keep, and what an answer then misses.

Everything here chooses; nothing here is a guarantee.  Levels that sum to the failure and any parts kept are
valid, and only the width depends on how good they are.

Units are those of a sum over all rows.  Let M be the logarithm of the moments of one row's value around its
mean, c the part kept, t the tilt and s the noise.  The bound is least over the location y of the normal tail
where room = s y + n M'(t), and over c where A / c**2 = n (t M'(t) - M(t)), A = n mu0**2 / 2.  So c, y, room
and bound follow from t.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np

from adyton.arithmetic.search import Truths, edges_in_few_calls
from adyton.kernel.exact.cells import Floats
from adyton.kernel.exact.special import special
from adyton.validity.subset.tails import hazard

_ROUNDS, _AHEAD = 8, 4  # 32 halvings
_LEAST_KEPT, _MOST_KEPT = 0.9, 1 - 2.0**-20
_LARGEST, _LONGEST = math.log(500.0), math.log(2.0**20)  # more would not fit into the moments of an interval
_FARTHEST = 60.0
_LOCATIONS = np.linspace(-30.0, _FARTHEST, 20_000)


class TiltBound(NamedTuple):
    """What follows from the tilts: the parts kept, how far an answer may be, and log Pr[it is further]."""

    kept: Floats
    room: Floats
    log_miss: Floats


def at_room(
    units: int,
    scale: Floats | float,
    share: float | None,
    spent: Floats,
    room: Floats | float,
    squares: float | None = None,
) -> TiltBound:
    """Where answers may be ``room`` above their expectation; ``spent`` is mu0**2 before each of them.

    ``share`` is the mean of one row's value in [0, 1]; None: whatever it is.  ``squares``: as in
    ``ScoreTarget``.
    """
    bound = _Bound(units, squares or units, scale, share, spent)
    return bound.at(bound.searched(lambda place: ~(bound.reached(place).room < room)))


def at_level(
    units: int,
    scale: Floats | float,
    share: float | None,
    spent: Floats,
    log_level: Floats,
    squares: float | None = None,
) -> TiltBound:
    """Where they miss with probability exp(log_level)."""
    bound = _Bound(units, squares or units, scale, share, spent)
    return bound.at(bound.searched(lambda place: ~(bound.at(place).log_miss > log_level)))


class _Reached(NamedTuple):
    """What follows from the tilts without the bound itself, which takes longer: enough to find a room."""

    slope: Floats
    kept: Floats
    steepness: Floats
    location: Floats
    room: Floats


class _Bound(NamedTuple):
    """What is known of rows and noise; a ``place`` is the logarithm of the tilt up to the largest one.

    Beyond it less is kept: where so much was spent that the most that rows can be is all that is known of
    them, the best part would be all of the rows, and the tilt infinite.
    """

    rows: int  # by their weights
    squares: float  # by the squares of these
    scale: Floats | float
    share: float | None
    spent: Floats

    def searched(self, enough: Callable[[Floats], Truths]) -> Floats:
        low, high = np.full_like(self.spent, -18.0), np.full_like(self.spent, _LARGEST + _LONGEST)
        return edges_in_few_calls(enough, high, low, _ROUNDS, _AHEAD)

    @property
    def units(self) -> float:
        """By Hoeffding's lemma, or by a coin's moments."""
        return self.squares if self.share is None else self.rows

    @property
    def amount(self) -> Floats:
        return self.squares * self.spent / 2

    def reached(self, place: Floats) -> _Reached:
        tilt = np.exp(np.minimum(place, _LARGEST))
        moment, slope = _moments(self.share, tilt)
        units = self.units
        most = np.sqrt(self.amount / np.maximum(units * (tilt * slope - moment), 1e-300))
        kept = np.minimum(most, _MOST_KEPT)
        kept = np.minimum(
            kept, np.maximum(1 - (1 - kept) * np.exp(np.maximum(place - _LARGEST, 0.0)), _LEAST_KEPT)
        )
        steepness = tilt * (1 - kept) * self.scale
        y = _location_of(steepness)
        return _Reached(slope, kept, steepness, y, self.scale * y + units * slope)

    def at(self, place: Floats) -> TiltBound:
        slope, kept, steepness, y, room = self.reached(place)
        units, amount, scale = self.units, self.amount, self.scale
        h = hazard(y)
        price = np.where(amount > 0, (1 - kept) / np.maximum(kept, 1e-300) * amount, 0.0)
        bound = special().log_ndtr(-y) - h / scale * units * slope + price
        bound = bound + (1 - kept) * units * _moments(self.share, h / scale / (1 - kept))[0]
        never = steepness > _FARTHEST  # less than exp(-1800): such a miss is none
        return TiltBound(kept, room, np.where(never, -np.inf, np.minimum(bound, 0.0)))


def _moments(share: float | None, tilt: Floats) -> tuple[Floats, Floats]:
    """M(t) = log E exp(t (x - E x)) and its slope: by Hoeffding's lemma, or of a coin with this mean."""
    if share is None:
        return tilt**2 / 8, tilt / 4
    small = np.log1p(share * np.expm1(np.minimum(tilt, 30.0)))
    shrunk = share + (1 - share) * np.exp(-tilt)
    moment = np.where(tilt < 30.0, small, tilt + np.log(shrunk)) - tilt * share
    return moment, share / shrunk - share


def _location_of(hazards: Floats) -> Floats:
    """About the location with this hazard: any is valid."""
    steep, y = _table()
    found: Floats = np.interp(np.log(np.maximum(hazards, 1e-300)), steep, y)
    return found


@cache
def _table() -> tuple[Floats, Floats]:
    return np.log(hazard(_LOCATIONS)), _LOCATIONS
