"""Odometers: a bound on the loss so far that is right at all times at once, with no limit set in advance."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from adyton.accounting.filters import LEAST_DELTA
from adyton.errors import InvalidRequest
from adyton.exact import UNITS_PER_ONE, Number, float_down, float_up, positive

_U = 2.0**-53
_MOST_SLOPES = 1000


@dataclass(frozen=True, slots=True)
class ZcdpOdometer:
    """Reads rho, shows epsilon.  The slopes are fixed in advance; several of them share delta equally.

    Claim:    with probability 1 - delta the privacy loss after n releases is at most epsilon(spent after n),
              for all n at once, whichever way questions and prices were chosen.
    Assumes:  each release is rho_i-zCDP given everything released before it; slopes and delta do not
              depend on any answer.
    Source:   Ville 1939; Whitehouse, Ramdas, Rogers, Wu 2023.  Theorem: ZCDP-ODOMETER.
    """

    delta: Fraction
    slopes: tuple[Fraction, ...]
    theorems: ClassVar[tuple[str, ...]] = ("ZCDP-ODOMETER",)

    def __post_init__(self) -> None:
        if not 0 < self.delta < 1:
            raise InvalidRequest("an odometer has a delta above 0 and below 1")
        if not 0 < len(self.slopes) <= _MOST_SLOPES or min(self.slopes) <= 0:
            raise InvalidRequest(f"an odometer has from 1 to {_MOST_SLOPES} slopes, all above 0")
        if self.delta / len(self.slopes) < LEAST_DELTA:
            raise InvalidRequest("the share of delta of a slope is below the minimum of 1e-300")

    @classmethod
    def around(cls, rho: Number, delta: Number, octaves: int = 0) -> ZcdpOdometer:
        """Tightest near ``rho``; with ``octaves``, good from rho / 4**octaves to rho * 4**octaves."""
        expected, failure = positive(rho, "rho"), positive(delta, "delta")
        best = Fraction(math.sqrt(-math.log(float_down(failure)) / float_up(expected)))
        return cls(failure, tuple(best * Fraction(2) ** k for k in range(-octaves, octaves + 1)))

    def epsilon(self, spent: int) -> float:
        """The bound, rounded up, after ``spent`` units of rho: the least over the slopes of
        (1 + slope) rho + ln(number of slopes / delta) / slope.
        """
        if spent < 0:
            raise InvalidRequest("what was spent is at least 0")
        if spent == 0:
            return 0.0
        rho = float_up(Fraction(spent, UNITS_PER_ONE))
        log_share = -math.log(float_down(self.delta / len(self.slopes))) * (1 + 8 * _U)
        return min(_line(rho, log_share, float_up(s), float_down(s)) for s in self.slopes)


def _line(rho: float, log_share: float, slope_up: float, slope_down: float) -> float:
    return ((1 + slope_up) * rho + log_share / slope_down) * (1 + 8 * _U)
