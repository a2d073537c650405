"""The sparse vector with numbers: each positive also gets a noisy value, paid for separately."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from adyton.errors import InvalidRequest
from adyton.exact import float_up
from adyton.mechanisms.above_threshold import Watch, check_noise, draw_one, scale_for
from adyton.mechanisms.sparse import Sparse, check_positives
from adyton.mechanisms.sparse_split import value_share
from adyton.noise import Bits, two_sided_geometric
from adyton.privacy import PureCost


@dataclass(frozen=True, slots=True)
class NumericSparse:
    """As ``sparse``, and the value of each positive with noise of its own, never that of the comparison.

    Claim:    epsilon-DP with epsilon = that of ``sparse`` plus c D / value_scale.
    Assumes:  as SPARSE; the noise of a value is independent of the noise of its comparison.
    Source:   Dwork, Roth 2014, section 3.6; Lyu, Su, Li 2017.  Theorem: NUMERIC-SPARSE.
    """

    sparse: Sparse
    value_scale: Fraction
    name: ClassVar[str] = "numeric sparse vector"

    def __post_init__(self) -> None:
        check_noise(self.sparse.sensitivity, self.value_scale)

    @property
    def theorems(self) -> tuple[str, ...]:
        return (*self.sparse.theorems, "NUMERIC-SPARSE")

    def cost(self) -> PureCost:
        values = self.sparse.positives * self.sparse.sensitivity / self.value_scale
        return PureCost(self.sparse.cost().epsilon + values)

    def start(self, bits: Bits) -> Watch:
        return self.sparse.start(bits)

    def step(self, watch: Watch, exact: int, threshold: int, bits: Bits) -> tuple[int | None, Watch]:
        """The noisy value if the question was found above, else None; and what to keep for the next."""
        above, after = self.sparse.step(watch, exact, threshold, bits)
        return (exact + draw_one(self.value_scale, bits) if above else None), after

    def release(self, exact: Iterable[int], thresholds: Iterable[int], bits: Bits) -> list[int | None]:
        watch, said = self.start(bits), list[int | None]()
        for value, threshold in zip(exact, thresholds, strict=False):
            answer, watch = self.step(watch, value, threshold, bits)
            said.append(answer)
            if not watch.left:
                break
        return said

    def error(self, confidence: float, questions: int) -> int:
        """Of the comparisons.  Theorem: SPARSE-ACCURACY."""
        return self.sparse.error(confidence, questions)

    def value_error(self, confidence: float) -> int:
        """Half-width that the noise of one value stays within.  Theorem: NOISE-INTERVAL."""
        return two_sided_geometric.coverage_radius(float_up(self.value_scale), confidence)

    @classmethod
    def for_cost(
        cls,
        epsilon: Fraction,
        positives: int,
        *,
        sensitivity: int = 1,
        monotone: bool = False,
        refresh: bool = False,
        share: Fraction | None = None,
    ) -> NumericSparse:
        """The least noise for ``epsilon``; by default ``share`` makes values as loud as comparisons."""
        check_positives(positives)
        part = value_share(positives, monotone=monotone, refresh=refresh) if share is None else share
        if not 0 < part < 1:
            raise InvalidRequest("the share of the values is above 0 and below 1")
        sparse = Sparse.for_cost(
            (1 - part) * epsilon, positives, sensitivity=sensitivity, monotone=monotone, refresh=refresh
        )
        return cls(sparse, scale_for(Fraction(positives * sensitivity), part * epsilon))
