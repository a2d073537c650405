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
from adyton.kernel.mechanisms.base import quietest
from adyton.kernel.noise import Bits, rounded_gaussian, two_sided_geometric
from adyton.kernel.noise.refine import Integers, check_scale
from adyton.kernel.privacy import Adjacency, GaussianCost, PureCost

_FINE = 64  # sigma is at least this many steps for each root of a row: rounding costs below half a per cent


class Measured(Protocol):
    """What a strategy measures, and how far one unit, which adds 1 to one cell or to none, can move it."""

    @property
    def name(self) -> str: ...

    @property
    def rows(self) -> int:
        """How many whole numbers are measured."""
        ...

    def measure(self, histogram: Any) -> Integers: ...

    def l2_diameter_squared(self, adjacency: Adjacency) -> int: ...

    def l1_diameter(self, adjacency: Adjacency) -> int: ...

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

    def cost(self, adjacency: Adjacency) -> GaussianCost:
        return GaussianCost(self._in_noise * self.strategy.l2_diameter_squared(adjacency))

    def radius(self) -> GaussianCost:
        """What validity pays, whatever the neighbors."""
        return GaussianCost(self._in_noise * self.strategy.l2_radius_squared())

    @property
    def _in_noise(self) -> Fraction:
        return (self.rows_each * self.steps) ** 2 / self.sigma**2

    def release(self, histogram: Any, bits: Bits) -> Integers:
        noise = rounded_gaussian.draw(float_up(self.sigma), self.strategy.rows, bits)
        return self.strategy.measure(histogram) * np.int64(self.steps) + noise

    @classmethod
    def for_cost(
        cls, strategy: Measured, adjacency: Adjacency, mu_squared: Fraction, rows_each: int = 1
    ) -> Self:
        """The least noise whose mu**2 is at most ``mu_squared``, in steps that make rounding small."""
        diameter = rows_each**2 * strategy.l2_diameter_squared(adjacency)
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

    def cost(self, adjacency: Adjacency) -> PureCost:
        return PureCost(self.rows_each * self.strategy.l1_diameter(adjacency) / self.scale)

    def radius(self) -> PureCost:
        return PureCost(self.rows_each * self.strategy.l1_radius() / self.scale)

    def release(self, histogram: Any, bits: Bits) -> Integers:
        noise = two_sided_geometric.draw(float_up(self.scale), self.strategy.rows, bits)
        return self.strategy.measure(histogram) + noise

    @classmethod
    def for_cost(
        cls, strategy: Measured, adjacency: Adjacency, epsilon: Fraction, rows_each: int = 1
    ) -> Self:
        """The least noise whose epsilon is at most ``epsilon``."""
        diameter = rows_each * strategy.l1_diameter(adjacency)
        (scale,) = quietest(
            lambda s: (Fraction(s),), lambda s: diameter <= epsilon * s[0], float(diameter / epsilon)
        )
        return cls(strategy, scale, rows_each)
