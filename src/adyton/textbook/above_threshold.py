"""The first query whose answer is above its threshold: any number of queries for one price."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from adyton.kernel.noise import Bits
from adyton.kernel.privacy import PureCost
from adyton.kernel.special.mechanisms.sparse.sparse import check_noise, draw_one, is_above, reach
from adyton.noise_intervals.sparse import queries_per_threshold, scale_for


@dataclass(frozen=True, slots=True)
class AboveThreshold:
    """Says of each integer whether it is at or above its threshold, noisily, and stops at the first that is.

    Claim:    epsilon-DP with epsilon = D / threshold_scale + k D / query_scale, however many queries are
              below; k = 1 if the queries are monotone, 2 otherwise.
    Assumes:  one unit moves each integer by at most D = ``sensitivity``, all the same way if monotone;
              queries and thresholds may depend on earlier answers, but on nothing else that is secret; the
              words of ``bits`` are uniform and independent of everything the analyst has seen.
    Source:   Dwork, Roth 2014, section 3.6; Lyu, Su, Li 2017.  Theorem: ABOVE-THRESHOLD.
    """

    threshold_scale: Fraction
    query_scale: Fraction
    sensitivity: int = 1
    monotone: bool = False
    name: ClassVar[str] = "above threshold"
    theorems: ClassVar[tuple[str, ...]] = ("ABOVE-THRESHOLD",)

    def __post_init__(self) -> None:
        check_noise(self.sensitivity, self.threshold_scale, self.query_scale)

    def cost(self) -> PureCost:
        return PureCost(
            self.sensitivity / self.threshold_scale
            + reach(self.sensitivity, self.monotone) / self.query_scale
        )

    def release(self, exact: Iterable[int], thresholds: Iterable[int], bits: Bits) -> list[bool]:
        """One answer a query, up to and including the first that is True."""
        offset = draw_one(self.threshold_scale, bits)
        said: list[bool] = []
        for value, threshold in zip(exact, thresholds, strict=False):
            said.append(is_above(value, threshold, offset, self.query_scale, bits))
            if said[-1]:
                break
        return said

    @classmethod
    def for_cost(cls, epsilon: Fraction, *, sensitivity: int = 1, monotone: bool = False) -> AboveThreshold:
        """The least noise, divided so that the comparison varies least."""
        share = 1 / (1 + queries_per_threshold(1, monotone=monotone, refresh=False))
        return cls(
            scale_for(Fraction(sensitivity), share * epsilon),
            scale_for(reach(sensitivity, monotone), (1 - share) * epsilon),
            sensitivity,
            monotone,
        )
