"""Distribution functions: counts between points, added up from the left, as a fraction of all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from adyton.arithmetic.ratio import Ends, Solved
from adyton.arithmetic.search import Truths, edges
from adyton.certify import Absent, Bound, Intervals, Values
from adyton.kernel.accounting.noisy_reading import LEVEL
from adyton.kernel.exact import each_of, float_up
from adyton.kernel.exact.cells import Floats, whole
from adyton.kernel.exact.outward import MANY, SAFE
from adyton.kernel.exact.special import special
from adyton.kernel.measurement import Columns
from adyton.kernel.mechanisms import GaussianNoise
from adyton.kernel.terms.measures import Cdf
from adyton.planning.measures.additive import population_bound_of
from adyton.planning.part import OfOneReading
from adyton.population.base import PopulationContext
from adyton.query.nodes import POINTS

_HALVINGS = 60

_BLOCK = 1 << 13  # points at a time; the arrays of one block stay in the processor's cache

Error = Callable[[Floats, Floats, Floats], Floats]  # the fraction, bins on its left, bins on its right


@dataclass(frozen=True, slots=True)
class Distribution(OfOneReading):
    """F = L / (L + R) from noisy counts L of all bins up to a point and R of the others.

    Claim:    if |(1 - F) noise(L) - F noise(R)| <= error(F) for the true F, then F lies between the two ends.
    Assumes:  error is convex in F.
    Source:   derived on the theorem's page; Fieller 1954.  Theorem: CUMULATED-COUNTS.
    """

    theorems = ("CUMULATED-COUNTS",)

    @property
    def noises(self) -> int:
        return len(self._points) + 1

    @property
    def keys(self) -> tuple[str, tuple[float | int, ...]]:
        points = tuple(int(p) if p.denominator == 1 else float(p) for p in self._points)
        return POINTS, points

    @property
    def _points(self) -> tuple[Fraction, ...]:
        measure = self.only.reading.measure
        assert isinstance(measure, Cdf)
        return measure.points

    def values(self, released: Columns, context: PopulationContext, solved: list[Solved]) -> Values:
        bins = len(self._points) + 1
        counts = whole(released[0]).astype(float).reshape(-1, bins)
        left = np.cumsum(counts, axis=1)[:, :-1].ravel()
        right = np.cumsum(counts[:, ::-1], axis=1)[:, -2::-1].ravel()
        on_left = np.tile(np.arange(1.0, bins), len(counts))
        sides = left, right, on_left, bins - on_left
        low, high = _ends(*sides, self._noise_error(context.noise_level))
        wide: Intervals | Absent | None = context.missing(self.only)
        if wide is None:
            ends = context.population.cumulated(self.only, left, right, sides[2:], context)
            wide = Intervals(context.population.level, ends.low, ends.high, way=ends.way)
        guess = np.clip(left / np.maximum(left + right, 1.0), low, high)
        return Values(guess, Intervals(context.noise_level, low, high), wide)

    def bound(self, expected_rows: int | None) -> Bound:
        """Half of all on either side is the worst: then every bin's noise counts by a half."""
        bins = len(self._points) + 1
        error = _in_the_middle(self._noise_error(LEVEL), bins)
        return Bound(
            LEVEL, float_up(Fraction(error) / expected_rows) if expected_rows else None, expected_rows
        )

    def population_bound(
        self, context: PopulationContext, expected_rows: int | None, expect: Fraction | None = None
    ) -> Bound | Absent:
        if (absent := context.missing(self.only)) is not None:
            return absent
        width = context.population.half_width(self.only, context, expected_rows, expect)
        return population_bound_of(context, width, expected_rows)

    def _noise_error(self, level: float) -> Error:
        mechanism = self.only.mechanism
        if isinstance(mechanism, GaussianNoise):
            one = -float(special().ndtri((1 - level) / 2)) * float(mechanism.scales[0])
            return lambda f, left, right: _weighted(f, left, right, one, 0.5)
        each = mechanism.error(float_up(each_of(level, len(self._points) + 1)))
        return lambda f, left, right: _added(f, left, right, each)


def _in_the_middle(error: Error, bins: int) -> float:
    half = np.array([bins / 2])
    return float(error(np.array([0.5]), half, half)[0])


def _weighted(fraction: Floats, left: Floats, right: Floats, scale: float, rounding: float) -> Floats:
    """Independent normals: their weights add up in squares; what rounding adds, adds up plainly."""
    spread: Floats = np.hypot((1 - fraction) * np.sqrt(left), fraction * np.sqrt(right))
    return (scale * spread + rounding * ((1 - fraction) * left + fraction * right)) * SAFE


def _added(fraction: Floats, left: Floats, right: Floats, each: float) -> Floats:
    return each * ((1 - fraction) * left + fraction * right) * SAFE


def _ends(left: Floats, right: Floats, on_left: Floats, on_right: Floats, error: Error) -> Ends:
    """Theorem: CUMULATED-COUNTS.  Each side is a convex function of F that crosses 0 once, or not at all."""
    low, high = np.zeros(len(left)), np.ones(len(left))
    for start in range(0, len(left), _BLOCK):
        some = slice(start, start + _BLOCK)
        one = left[some], right[some], on_left[some], on_right[some]
        other = right[some], left[some], on_right[some], on_left[some]
        low[some] = _up_to(*one, error)
        high[some] = 1 - _up_to(*other, lambda f, a, b: error(1 - f, b, a))
    apart = low > high  # the errors did not hold: say nothing
    return np.where(apart, 0.0, low), np.where(apart, 1.0, high)


def _up_to(left: Floats, right: Floats, on_left: Floats, on_right: Floats, error: Error) -> Floats:
    """Up to which fraction, from 0 on, too much lies on the left; rounded down, and 0 where at none."""
    slack = MANY * (np.abs(left) + np.abs(right))
    open_still = left > error(np.zeros(len(left)), on_left, on_right) + slack
    found = np.zeros(len(left))
    if not open_still.any():
        return found
    a, b, slack = left[open_still], right[open_still], slack[open_still]
    bins = on_left[open_still], on_right[open_still]

    def too_much(fraction: Floats) -> Truths:
        return (1 - fraction) * a - fraction * b > error(fraction, *bins) + slack

    found[open_still] = edges(too_much, np.zeros(len(a)), np.ones(len(a)), _HALVINGS)
    return found
