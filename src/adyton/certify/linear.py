"""Sums of released values with public weights: one Gaussian, so their noises add as squares do.

Claim:    where each released value is step * (f + the rounding of scale * N), with independent normal N and
          whole f, the sum of w * step * f lies within z * sqrt(sum of (w * step * scale)**2) plus half of
          the sum of |w * step| of the released sum, with the probability of |N| <= z.
Source:   f + round(x) = round(f + x) is within 1/2 of f + x.  Theorem: BOX-OF-PARTS.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from adyton.kernel.exact import float_up
from adyton.kernel.exact.cells import Floats
from adyton.kernel.exact.outward import SAFE, UNIT_ROUNDOFF
from adyton.kernel.exact.special import special
from adyton.query.released.answered import Answered, Told, as_floats
from adyton.query.released.nodes import Apply, Released, ReleasedName, Window
from adyton.query.released.windows import ENDS, SHIFTS, laid_out, members, sources

MOST_ROWS = 512  # a window has a weight for each two rows


@dataclass(frozen=True, slots=True)
class GaussianValue:
    """A value that is ``step`` times an integer with rounded Gaussian noise of ``scale``."""

    step: Fraction
    scale: float


@dataclass(frozen=True, slots=True)
class LinearCombination:
    """``weights`` of values by their names: one for each row, or where rows are mixed one for each two; and
    a number in each row that is public.
    """

    weights: Mapping[str, Floats]
    public: Floats

    @property
    def mixes(self) -> bool:
        """Whether it has several noises in it: a single one is better told by itself."""
        return len(self.weights) > 1 or any(weight.ndim > 1 for weight in self.weights.values())

    def times(self, factor: Floats) -> LinearCombination:
        scaled = {name: _scaled(weight, factor) for name, weight in self.weights.items()}
        return LinearCombination(scaled, self.public * factor)

    def plus(self, other: LinearCombination) -> LinearCombination:
        both = dict(self.weights)
        for name, weight in other.weights.items():
            both[name] = _added(both[name], weight) if name in both else weight
        return LinearCombination(both, self.public + other.public)

    def mixed(self, matrix: Floats) -> LinearCombination:
        """The same of other rows: ``matrix`` has the weight of each row in each row."""
        mixed = {n: matrix * w if w.ndim == 1 else matrix @ w for n, w in self.weights.items()}
        return LinearCombination(mixed, matrix @ self.public)

    def width(self, gaussian: Mapping[str, GaussianValue], level: float) -> Floats:
        """Half of the width of the interval in each row; rounded up."""
        spread = quantile_up(level) * np.sqrt(self.product(self, gaussian))
        return (spread + self.rounding(gaussian)) * SAFE

    def product(self, other: LinearCombination, gaussian: Mapping[str, GaussianValue]) -> Floats:
        """The covariance of the noise of both in each row; the variance of one with itself."""
        found = np.zeros(len(self.public))
        for name in self.weights.keys() & other.weights.keys():
            square = (float_up(gaussian[name].step) * gaussian[name].scale) ** 2
            one, two = self.weights[name], other.weights[name]
            both = one * two if one.ndim == two.ndim else _square(one) * _square(two)
            found += _total(both) * square
        return found

    def rounding(self, gaussian: Mapping[str, GaussianValue]) -> Floats:
        """What the rounding of the noise may add in each row."""
        found = np.zeros(len(self.public))
        for name, weight in self.weights.items():
            found += _total(np.abs(weight)) * float_up(gaussian[name].step) / 2
        return found

    def slack(self, values: Mapping[str, Floats], told: Floats) -> Floats:
        """What the roundings on the way to the sum itself may have cost."""
        size = np.abs(told) + np.abs(self.public)
        operations = 64 + 4 * len(self.weights)
        for name, weight in self.weights.items():
            own = np.abs(np.where(np.isnan(values[name]), 0.0, values[name]))
            size = size + (np.abs(weight) * own if weight.ndim == 1 else np.abs(weight) @ own)
            operations += 4 * (weight.shape[-1] if weight.ndim > 1 else 1)
        return 2 * operations * UNIT_ROUNDOFF * size


def quantile_up(level: float) -> float:
    """The z with P(|N| <= z) = level; rounded up."""
    return float(-special().ndtri((1 - level) / 2)) * SAFE


def _scaled(weight: Floats, factor: Floats) -> Floats:
    return weight * factor if weight.ndim == 1 else weight * factor[:, None]


def _added(one: Floats, other: Floats) -> Floats:
    square = max(one.ndim, other.ndim) > 1
    return _square(one) + _square(other) if square else one + other


def _square(weight: Floats) -> Floats:
    return np.diag(weight) if weight.ndim == 1 else weight


def _total(weight: Floats) -> Floats:
    return weight if weight.ndim == 1 else weight.sum(1)


def linear_of(
    node: Released,
    answered: Answered,
    gaussian: Mapping[str, GaussianValue],
    is_fixed: Callable[[Window], bool],
) -> LinearCombination | None:
    """``node`` as such a sum, if it is one; ``is_fixed``: which rows a window looks at is public."""

    def read(inner: Released) -> LinearCombination | None:
        return linear_of(inner, answered, gaussian, is_fixed)

    match node:
        case Fraction():
            return LinearCombination({}, np.full(answered.rows, float(node)))
        case ReleasedName(name) if name in gaussian:
            return LinearCombination({name: np.ones(answered.rows)}, np.zeros(answered.rows))
        case ReleasedName(name) if _is_numeric_key(answered.columns[name]):
            return LinearCombination({}, as_floats(answered.columns[name], answered.rows))
        case Apply("NEG", (inner,)):
            return None if (one := read(inner)) is None else one.times(np.full(answered.rows, -1.0))
        case Apply("+" | "-" | "*" | "/" as sign, (left, right)):
            return _combined(sign, read(left), read(right))
        case Window() if is_fixed(node) and answered.rows <= MOST_ROWS:
            return _over_rows(node, answered, read)
    return None


def _is_numeric_key(told: Told) -> bool:
    if isinstance(told, np.ndarray):
        return False
    return all(isinstance(label, int | float) and not isinstance(label, bool) for label in told[0])


def _combined(
    sign: str, one: LinearCombination | None, other: LinearCombination | None
) -> LinearCombination | None:
    if one is None or other is None:
        return None
    if sign in ("+", "-"):
        return one.plus(other if sign == "+" else other.times(np.full(len(other.public), -1.0)))
    if sign == "*" and not one.weights:
        return other.times(one.public)
    if other.weights or (sign == "/" and not other.public.all()):
        return None
    return one.times(other.public if sign == "*" else 1.0 / other.public)


def _over_rows(
    window: Window, answered: Answered, read: Callable[[Released], LinearCombination | None]
) -> LinearCombination | None:
    if window.function not in ("SUM", "AVG", *SHIFTS, *ENDS) or not window.inner:
        return None
    inner = read(window.inner[0])
    if inner is None or not inner.weights or len(window.inner) > 2:  # a default is another expression
        return None
    laid = laid_out(answered, window)
    if window.function in ("SUM", "AVG"):
        return inner.mixed(members(window, laid, answered.numbers(window.inner[0]).null))
    source, matrix = sources(window, laid, answered.rows), np.zeros((answered.rows, answered.rows))
    there = np.flatnonzero(source >= 0)
    matrix[there, source[there]] = 1.0
    return inner.mixed(matrix)
