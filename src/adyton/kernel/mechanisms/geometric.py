"""Two-sided geometric noise: the Laplace mechanism of the integers."""

from __future__ import annotations

from dataclasses import dataclass
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
from adyton.kernel.noise import Bits, two_sided_geometric
from adyton.kernel.noise.refine import check_scale
from adyton.kernel.privacy import PureCost
from adyton.kernel.sensitivity import Sensitivity


@dataclass(frozen=True, slots=True)
class GeometricNoise:
    """Adds Z to each integer, P(Z = z) proportional to exp(-|z| / scale).

    Claim:    epsilon-DP with epsilon = the L1 diameter measured in scales, for the neighbors that the
              sensitivity was computed for.
    Assumes:  the exact values are integers, and the words of ``bits`` are uniform and independent of
              everything the analyst has seen.
    Source:   Ghosh, Roughgarden, Sundararajan 2009; cf. Dwork, Roth 2014, Theorem 3.6.
    Theorem: GEOMETRIC-IS-PURE-DP.
    """

    scales: Scales
    name: ClassVar[str] = "two-sided geometric"
    gaussian: ClassVar[bool] = False
    theorems: ClassVar[tuple[str, ...]] = ("L1-SENSITIVITY", "GEOMETRIC-IS-PURE-DP")

    def __post_init__(self) -> None:
        for scale in self.scales:  # before anything is charged, not when the noise is drawn
            check_scale(float_up(scale), "a noise scale", two_sided_geometric.LARGEST_SCALE)

    def cost(self, sensitivity: Sensitivity) -> PureCost:
        return PureCost(sensitivity.l1_diameter(self.scales))

    def radius(self, sensitivity: Sensitivity) -> PureCost:
        """Of this cost ``gdp`` is meant: against a phantom between the integers no pure guarantee holds, but
        the pair of laws is dominated as if it did.  Theorem: HINGE-OF-A-PAIR.
        """
        return PureCost(sensitivity.l1_radius(self.scales))

    def release(self, exact: Columns, bits: Bits) -> list[Cells]:
        return with_noise(exact, self.scales, two_sided_geometric.draw, bits)

    def error(self, confidence: float) -> int:
        """Theorem: NOISE-INTERVAL."""
        return two_sided_geometric.coverage_radius(float_up(self.scales[0]), confidence)

    def at(self, *coordinates: int) -> GeometricNoise:
        return GeometricNoise(tuple(self.scales[i] for i in coordinates))

    @classmethod
    def for_cost(
        cls, sensitivity: Sensitivity, epsilon: Fraction, relative: Scales = (Fraction(1),)
    ) -> GeometricNoise:
        """The least noise in these proportions whose epsilon is at most ``epsilon``."""
        return cls(
            quietest(
                lambda t: times(relative, t),
                lambda scales: sensitivity.l1_diameter(scales) <= epsilon,
                float(sensitivity.l1_diameter(relative) / epsilon),
            )
        )
