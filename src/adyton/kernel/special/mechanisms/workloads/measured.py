"""Noise on what a strategy measures: what it costs, how it is added, and how wrong a combination may be.

A strategy may be a matrix, or a rule that says what a matrix would: what is paid for is how far one unit can
move all that is measured.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Protocol, Self

import numpy as np

from adyton.errors import InvalidRequest
from adyton.kernel.exact import float_up
from adyton.kernel.exact.cells import Floats
from adyton.kernel.exact.outward import COARSE
from adyton.kernel.exact.special import special
from adyton.kernel.mechanisms.base import quietest
from adyton.kernel.noise import Bits, rounded_gaussian, two_sided_geometric
from adyton.kernel.noise.refine import Integers, check_scale
from adyton.kernel.privacy import GaussianCost, Neighbours, PureCost

_FINE = 64  # sigma is at least this many steps for each root of a row: rounding costs below half a per cent
_TILTS = np.linspace(0.02, 0.98, 49)  # of how far an exponential moment of geometric noise exists


class Measured(Protocol):
    """What a strategy measures, and how far one unit, which adds 1 to one cell or to none, can move it."""

    @property
    def name(self) -> str: ...

    @property
    def rows(self) -> int:
        """How many whole numbers are measured."""
        ...

    def measure(self, histogram: Any) -> Integers: ...

    def l2_diameter_squared(self, neighbours: Neighbours) -> int: ...

    def l1_diameter(self, neighbours: Neighbours) -> int: ...

    def l2_radius_squared(self) -> Fraction: ...

    def l1_radius(self) -> int: ...


@dataclass(frozen=True, slots=True, eq=False)
class GaussianMeasured:
    """Adds round(sigma * N) to ``steps`` times each number that a strategy measures.

    Claim:    mu-GDP with mu**2 = (rows_each * steps)**2 times the squared L2 diameter of the strategy over
              sigma**2, whatever is inferred afterwards.
    Assumes:  the histogram is whole, a unit adds up to ``rows_each`` rows, each 1 to one cell or to none, and
              the words of ``bits`` are uniform and independent of everything the analyst has seen.
    Source:   Li, Hay, Rastogi, Miklau, McGregor 2010, with rounded Gaussian noise.
    Theorem: MATRIX-MECHANISM-PRIVACY.
    """

    strategy: Measured
    sigma: Fraction
    steps: int = 1
    rows_each: int = 1
    theorems: ClassVar[tuple[str, ...]] = ("STRATEGY-SENSITIVITY", "MATRIX-MECHANISM-PRIVACY")

    def __post_init__(self) -> None:
        if not 1 <= self.steps <= 2**40:
            raise InvalidRequest(f"a mechanism counts in 1 to 2**40 steps, not {self.steps}")
        check_scale(float_up(self.sigma), "a standard deviation", rounded_gaussian.LARGEST_SIGMA)

    def cost(self, neighbours: Neighbours) -> GaussianCost:
        return GaussianCost(self._in_noise * self.strategy.l2_diameter_squared(neighbours))

    def radius(self) -> GaussianCost:
        """What validity pays, whatever the neighbours."""
        return GaussianCost(self._in_noise * self.strategy.l2_radius_squared())

    @property
    def _in_noise(self) -> Fraction:
        return (self.rows_each * self.steps) ** 2 / self.sigma**2

    def release(self, histogram: Any, bits: Bits) -> Integers:
        noise = rounded_gaussian.draw(float_up(self.sigma), self.strategy.rows, bits)
        return self.strategy.measure(histogram) * np.int64(self.steps) + noise

    @property
    def deviation(self) -> float:
        """Of the noise of one number, in its own units."""
        return float_up(self.sigma / self.steps)

    def widths(self, deviations: Floats, largest: Floats, confidence: float) -> Floats:
        """For combinations with these L2 norms: what their noise stays within, each with this probability.

        Theorem: MATRIX-MECHANISM-ERROR.
        """
        z = float(-special().ndtri((1 - confidence) / 2))
        each = z * float_up(self.sigma) + math.sqrt(self.strategy.rows) / 2  # half a step of rounding a row
        widths: Floats = deviations * (each / self.steps * (1 + COARSE))
        return widths

    def simultaneous(self, deviations: Floats, sums: Floats, rank: int, confidence: float) -> Floats:
        """For combinations with these L2 and L1 norms, chosen after the noise was seen, in a space of this
        dimension: what the noise of all of them stays within at once, with this probability.

        Theorem: DERIVED-ANSWERS.
        """
        half, rows, sigma = (1 - confidence) / 2, self.strategy.rows, float_up(self.sigma)
        each = sigma * float(-special().ndtri(half / rows / 2)) + 0.5
        whole = sigma * math.sqrt(float(special().chdtri(rank, half))) + math.sqrt(rows) / 2
        widths: Floats = np.minimum(sums * each, deviations * whole) * ((1 + COARSE) / self.steps)
        return widths

    @classmethod
    def for_cost(
        cls, strategy: Measured, neighbours: Neighbours, mu_squared: Fraction, rows_each: int = 1
    ) -> Self:
        """The least noise whose mu**2 is at most ``mu_squared``, in steps that make rounding small."""
        diameter = rows_each**2 * strategy.l2_diameter_squared(neighbours)
        ratio = math.sqrt(diameter / mu_squared)
        steps = max(1, math.ceil(_FINE * math.sqrt(strategy.rows) / ratio))
        (sigma,) = quietest(
            lambda s: (Fraction(s),), lambda s: steps**2 * diameter <= mu_squared * s[0] ** 2, steps * ratio
        )
        return cls(strategy, sigma, steps, rows_each)


@dataclass(frozen=True, slots=True, eq=False)
class GeometricMeasured:
    """Adds two-sided geometric noise to each number that a strategy measures: the pure form.

    Claim:    epsilon-DP with epsilon = rows_each times the L1 diameter of the strategy over ``scale``.
    Assumes:  as for ``GaussianMeasured``.
    Source:   Li, Hay, Rastogi, Miklau, McGregor 2010, with geometric noise.
    Theorem: MATRIX-MECHANISM-PRIVACY.
    """

    strategy: Measured
    scale: Fraction
    rows_each: int = 1
    theorems: ClassVar[tuple[str, ...]] = ("STRATEGY-SENSITIVITY", "MATRIX-MECHANISM-PRIVACY")

    def __post_init__(self) -> None:
        check_scale(float_up(self.scale), "a noise scale", two_sided_geometric.LARGEST_SCALE)

    def cost(self, neighbours: Neighbours) -> PureCost:
        return PureCost(self.rows_each * self.strategy.l1_diameter(neighbours) / self.scale)

    def radius(self) -> PureCost:
        return PureCost(self.rows_each * self.strategy.l1_radius() / self.scale)

    def release(self, histogram: Any, bits: Bits) -> Integers:
        noise = two_sided_geometric.draw(float_up(self.scale), self.strategy.rows, bits)
        return self.strategy.measure(histogram) + noise

    @property
    def deviation(self) -> float:
        """Of the noise of one number."""
        return math.sqrt(geometric_variance(float_up(self.scale)))

    def widths(self, deviations: Floats, largest: Floats, confidence: float) -> Floats:
        """For combinations with these L2 and L-infinity norms: by the best of some exponential moments.

        Theorem: MATRIX-MECHANISM-ERROR.
        """
        scale, level = float_up(self.scale), math.log(2 / (1 - confidence))
        q, tilts = math.exp(-1 / scale), _TILTS / scale
        # log E exp(t Z) of one noise, which over t**2 rises with t: so the largest coefficient is the worst.
        moments = 2 * math.log1p(-q) - np.log1p(-q * np.exp(tilts)) - np.log1p(-q * np.exp(-tilts))
        peak = np.maximum(largest, 1e-300)[:, None]
        exponent = (deviations[:, None] / peak) ** 2 * moments + level
        widths: Floats = (exponent * peak / tilts).min(axis=1) * (1 + COARSE)
        return np.where(deviations > 0, widths, 0.0)

    def simultaneous(self, deviations: Floats, sums: Floats, rank: int, confidence: float) -> Floats:
        """As ``GaussianMeasured.simultaneous``, from a bound on each noise alone.

        Theorem: DERIVED-ANSWERS.
        """
        each = 1 - (1 - confidence) / self.strategy.rows
        widths: Floats = sums * (
            two_sided_geometric.coverage_radius(float_up(self.scale), each) * (1 + COARSE)
        )
        return widths

    @classmethod
    def for_cost(
        cls, strategy: Measured, neighbours: Neighbours, epsilon: Fraction, rows_each: int = 1
    ) -> Self:
        """The least noise whose epsilon is at most ``epsilon``."""
        diameter = rows_each * strategy.l1_diameter(neighbours)
        (scale,) = quietest(
            lambda s: (Fraction(s),), lambda s: diameter <= epsilon * s[0], float(diameter / epsilon)
        )
        return cls(strategy, scale, rows_each)


def geometric_variance(scale: float) -> float:
    """2 q / (1 - q)**2 with q = exp(-1 / scale)."""
    return 0.5 / math.sinh(0.5 / scale) ** 2 if scale > 1e-2 else 0.0
