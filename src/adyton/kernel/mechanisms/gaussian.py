"""Gaussian noise, rounded to the integers."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

from adyton.kernel.exact import float_up
from adyton.kernel.exact.cells import Cells
from adyton.kernel.mechanisms.base import (
    Columns,
    Scales,
    quietest,
    times,
    with_noise,
)
from adyton.kernel.noise import Bits, rounded_gaussian
from adyton.kernel.noise.refine import check_scale
from adyton.kernel.privacy import GaussianCost
from adyton.kernel.sensitivity import Sensitivity


@dataclass(frozen=True, slots=True)
class GaussianNoise:
    """Adds round(sigma * N) to each integer, N standard normal; ``scales`` are the sigmas.

    Claim:    mu-GDP with mu**2 = the squared L2 diameter measured in sigmas, for the neighbors that the
              sensitivity was computed for.
    Assumes:  the exact values are integers (then rounding is post-processing of the real Gaussian mechanism),
              and the words of ``bits`` are uniform and independent of everything the analyst has seen.
    Source:   Dong, Roth, Su 2022, Theorem 2.7 and post-processing.  Theorem: ROUNDED-GAUSSIAN-IS-GDP.
    """

    scales: Scales
    _hash: int = field(init=False, repr=False, compare=False)  # that of fractions takes long
    name: ClassVar[str] = "rounded Gaussian"
    gaussian: ClassVar[bool] = True
    theorems: ClassVar[tuple[str, ...]] = ("L2-SENSITIVITY", "ROUNDED-GAUSSIAN-IS-GDP")

    def __post_init__(self) -> None:
        for scale in self.scales:  # before anything is charged, not when the noise is drawn
            check_scale(float_up(scale), "a standard deviation", rounded_gaussian.LARGEST_SIGMA)
        object.__setattr__(self, "_hash", hash(self.scales))

    def __hash__(self) -> int:
        return self._hash

    def cost(self, sensitivity: Sensitivity) -> GaussianCost:
        return GaussianCost(sensitivity.l2_diameter_squared(self.scales))

    def radius(self, sensitivity: Sensitivity) -> GaussianCost:
        return GaussianCost(sensitivity.l2_radius_squared(self.scales))

    def release(self, exact: Columns, bits: Bits) -> list[Cells]:
        return with_noise(exact, self.scales, rounded_gaussian.draw, bits)

    def error(self, confidence: float) -> int:
        """Theorem: NOISE-INTERVAL."""
        return rounded_gaussian.coverage_radius(float_up(self.scales[0]), confidence)

    def at(self, *coordinates: int) -> GaussianNoise:
        return GaussianNoise(tuple(self.scales[i] for i in coordinates))

    @classmethod
    def for_cost(
        cls, sensitivity: Sensitivity, mu_squared: Fraction, relative: Scales = (Fraction(1),)
    ) -> GaussianNoise:
        """The least noise in these proportions whose mu**2 is at most ``mu_squared``."""
        near = math.sqrt(sensitivity.l2_diameter_squared(relative) / mu_squared)
        return cls(
            quietest(
                lambda t: times(relative, t),
                lambda scales: sensitivity.l2_diameter_squared(scales) <= mu_squared,
                near,
            )
        )
