"""Odometers: a running epsilon that holds at the moment at which somebody stops, however it was chosen."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from adyton.errors import InvalidRequest
from adyton.kernel.accounting import zcdp
from adyton.kernel.accounting.rules import LEAST_DELTA
from adyton.kernel.exact import UNITS_PER_ONE, Number, float_down, float_up, positive

_MOST_SLOPES = 1000


@dataclass(frozen=True, slots=True)
class ZcdpOdometer:
    """Reads rho, shows epsilon.  The slopes are fixed in advance; several of them share delta equally.

    Claim:    whenever the analyst stops, P(transcript in S) <= E'[exp(epsilon(spent)); transcript in S] +
              delta, for two neighboring tables (E' is the expectation under the second), every set S of
              transcripts, and every way to choose queries, prices and the moment by earlier answers.
    Assumes:  each release is rho_i-zCDP given everything released before it; slopes and delta do not
              depend on any answer.
    Source:   Whitehouse, Ramdas, Rogers, Wu 2023, with the conversion of Canonne, Kamath, Steinke 2020;
              derived on the theorem's page.  Theorem: ZCDP-ODOMETER.
    """

    delta: Fraction
    slopes: tuple[float, ...]
    theorems: ClassVar[tuple[str, ...]] = ("ZCDP-ODOMETER",)

    def __post_init__(self) -> None:
        if not 0 < self.delta < 1:
            raise InvalidRequest("an odometer has a delta above 0 and below 1")
        if not 0 < len(self.slopes) <= _MOST_SLOPES or min(self.slopes) <= 0:
            raise InvalidRequest(f"an odometer has from 1 to {_MOST_SLOPES} slopes, all above 0")
        if self.delta / len(self.slopes) < LEAST_DELTA:
            raise InvalidRequest("the share of delta of a slope is below the minimum of 1e-300")

    @classmethod
    def up_to(cls, rho: Number, delta: Number, octaves: int = 0) -> ZcdpOdometer:
        """Tightest near ``rho``, and with ``octaves`` good from there down to rho / 4**octaves."""
        expected, failure = positive(rho, "rho"), positive(delta, "delta")
        best = zcdp.best_order(float_up(expected), float_down(failure / (octaves + 1)))
        return cls(failure, tuple(best * 2.0**k for k in range(octaves + 1)))

    def epsilon(self, spent: int) -> float:
        """The reading, rounded up, after ``spent`` units of rho: the least over the slopes x of the epsilon
        that the order 1 + x gives for rho at delta / (number of slopes).
        """
        if spent < 0:
            raise InvalidRequest("what was spent is at least 0")
        if spent == 0:
            return 0.0
        rho, share = float_up(Fraction(spent, UNITS_PER_ONE)), float_down(self.delta / len(self.slopes))
        return min(zcdp.epsilon_at(slope, rho, share) for slope in self.slopes)
