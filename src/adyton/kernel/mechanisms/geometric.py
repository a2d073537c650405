"""Two-sided geometric noise: the Laplace mechanism of the integers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal

from adyton.errors import InvalidRequest
from adyton.kernel.exact import each_of, float_up
from adyton.kernel.exact.cells import Cells
from adyton.kernel.exact.search import edge, geometric
from adyton.kernel.mechanisms.base import (
    TOO_FINE,
    Columns,
    Scales,
    quietest,
    relative_scales,
    times,
    weights_of_worst_mean,
    with_noise,
    worst_error,
)
from adyton.kernel.mechanisms.ratio import Band
from adyton.kernel.noise import Bits, two_sided_geometric
from adyton.kernel.noise.refine import check_scale
from adyton.kernel.privacy import PureCost
from adyton.kernel.sensitivity import Sensitivity


@dataclass(frozen=True, slots=True)
class GeometricNoise:
    """Adds Z to each integer, P(Z = z) proportional to exp(-|z| / scale).

    Claim:    epsilon-DP with epsilon = the L1 diameter measured in scales, for the neighbours that the
              sensitivity was computed for.
    Assumes:  the exact values are integers, and the words of ``bits`` are uniform and independent of
              everything the analyst has seen.
    Source:   Ghosh, Roughgarden, Sundararajan 2009; cf. Dwork, Roth 2014, Theorem 3.6.
    Theorem: GEOMETRIC-IS-PURE-DP.
    """

    scales: Scales
    name: ClassVar[str] = "two-sided geometric"
    norm: ClassVar[Literal[1, 2]] = 1
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

    def ratio_error(self, confidence: float) -> Band:
        """Both noise terms within their own quantiles at once.  Theorem: NOISE-INTERVAL."""
        each = float_up(each_of(confidence, 2))
        top, bottom = (two_sided_geometric.coverage_radius(float_up(s), each) for s in self.scales)
        return Band(0.0, 0.0, top, bottom)

    def at(self, *coordinates: int) -> GeometricNoise:
        return GeometricNoise(tuple(self.scales[i] for i in coordinates))

    @classmethod
    def for_cost(cls, sensitivity: Sensitivity, epsilon: Fraction) -> GeometricNoise:
        """The least noise whose epsilon is at most ``epsilon``."""
        relative = _best(sensitivity)
        return cls(
            quietest(
                lambda t: times(relative, t),
                lambda scales: sensitivity.l1_diameter(scales) <= epsilon,
                float(sensitivity.l1_diameter(relative) / epsilon),
            )
        )

    @classmethod
    def for_error(cls, sensitivity: Sensitivity, half_width: float, confidence: float) -> GeometricNoise:
        """The most noise, to nine digits, whose worst error stays within ``half_width``."""
        relative = _best(sensitivity)
        unit = float(max(relative))

        def at(scale: float) -> GeometricNoise:
            return cls(times(relative, scale / unit))

        def fits(scale: float) -> bool:
            return worst_error(at(scale), sensitivity, confidence) <= half_width

        quiet, loud = 1e-3, max(1.0, half_width)
        if not fits(quiet):
            raise InvalidRequest(TOO_FINE)
        return at(edge(fits, quiet, loud, close=1e-9, middle=geometric))

    @classmethod
    def for_scale(cls, sensitivity: Sensitivity, scale: float) -> GeometricNoise:
        """Noise of this scale, shared out at the worst ratio where there are two coordinates."""
        relative = _best(sensitivity)
        return cls(times(relative, scale / _spread(relative, weights_of_worst_mean(sensitivity))))


def _best(sensitivity: Sensitivity) -> Scales:
    weights = weights_of_worst_mean(sensitivity)
    return min(
        relative_scales(sensitivity), key=lambda r: float(sensitivity.l1_diameter(r)) * _spread(r, weights)
    )


def _spread(scales: Scales, weights: Sequence[float]) -> float:
    return sum(w * float(s) for w, s in zip(weights, scales, strict=True))
