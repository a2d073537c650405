"""A public guess of a whole histogram that fits measured marginals: of all that do, nearly the most even one.

Everything here is a function of released numbers, so floats are good enough: what they get wrong costs
accuracy, never privacy.

With shares p over the cells, M p the shares of the measured marginals, y what was measured as a share, s its
standard deviation as a share, the guess is the least of

    evenness * relative entropy of p to the even guess  +  the sum over marginals of |M p - y|^2 / (2 s^2).

Its p is proportional to exp(-M' u), and u, one number for each measured cell, is the least of the convex

    log of the sum of exp(-M' u)  +  u.y  +  evenness * the sum of s^2 |u|^2 / 2:

multiplicative weights with all steps taken at once.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

import numpy as np

from adyton.kernel.exact.cells import Floats
from adyton.kernel.special.mechanisms.marginals.adaptive import NoisyMarginal
from adyton.kernel.special.mechanisms.marginals.tables import Array, Axes, tables_of

EVENNESS = 0.3  # standard deviations that the quietest marginal may be off for each factor e of a weight
_STEPS_IN_A_ROUND, _STEPS = 60, 400
_CLOSE = 0.1  # standard deviations of what was measured


@dataclass(slots=True, eq=False)
class CellGuess:
    """Shares of all cells, and the number of rows: ``known``, or told by the marginals."""

    shape: tuple[int, ...]
    known: int | None
    total: float
    shares: Floats
    most_steps: int = _STEPS_IN_A_ROUND
    duals: dict[Axes, Floats] = field(default_factory=dict)

    @classmethod
    def even(cls, shape: Sequence[int], known: int | None) -> CellGuess:
        """Before anything was measured."""
        return cls(tuple(shape), known, known or 1, np.full(tuple(shape), 1 / prod(shape)))

    def tables(self, wanted: Iterable[Axes]) -> dict[Axes, Floats]:
        """Guessed numbers of rows in the cells of marginals."""
        return {axes: self.total * table for axes, table in tables_of(self.shares, wanted).items()}

    def carefully(self) -> CellGuess:
        """The same, to be fitted with more steps."""
        return replace(self, most_steps=_STEPS)

    def bearable(self, candidates: Sequence[Axes], part: float) -> Sequence[Axes]:
        return candidates

    def fitted(self, measured: Sequence[NoisyMarginal]) -> CellGuess:
        """The guess that fits all of ``measured``, searched for from this one."""
        from scipy.optimize import minimize  # loaded late, as all of scipy

        total = float(self.known or total_of(measured))
        search = _Search(self.shape, _combined(measured, total))
        found: Any = minimize(
            search.value_and_slope,
            search.scaled(self.duals),
            jac=True,
            method="L-BFGS-B",
            callback=search.stop_when_close,
            options={"maxfun": self.most_steps, "maxcor": 20, "ftol": 0, "gtol": 0},
        )
        duals = search.split(found.x)
        return replace(self, total=total, shares=search.shares(duals)[0], duals=duals)


def total_of(measured: Sequence[NoisyMarginal]) -> float:
    """The number of rows as the marginals tell it, each by its noise; at least 1."""
    weights = [1 / (one.deviation**2 * one.noisy.size) for one in measured]
    sums = [float(one.noisy.sum()) for one in measured]
    return max(1.0, sum(w * s for w, s in zip(weights, sums, strict=True)) / sum(weights))


def _combined(measured: Sequence[NoisyMarginal], total: float) -> dict[Axes, tuple[Floats, float]]:
    """For each marginal its measured shares and their deviation, where it was measured again the mean."""
    found: dict[Axes, tuple[Floats, float]] = {}
    for axes in dict.fromkeys(one.axes for one in measured):
        same = [one for one in measured if one.axes == axes]
        weights = np.array([one.deviation**-2 for one in same])
        mean: Floats = np.average([one.noisy.ravel() for one in same], axis=0, weights=weights)
        found[axes] = mean / total, float(weights.sum() ** -0.5) / total
    return found


class _Search:
    """The convex function, in duals times a scale of their own: then all are about as steep."""

    def __init__(self, shape: tuple[int, ...], targets: dict[Axes, tuple[Floats, float]]) -> None:
        self._shape, self._targets, self._farthest = shape, targets, math.inf
        self._evenness = EVENNESS / min(deviation for _, deviation in targets.values())
        self._steep = {
            axes: np.sqrt(np.maximum(target, deviation)) for axes, (target, deviation) in targets.items()
        }

    def scaled(self, duals: Mapping[Axes, Floats]) -> Floats:
        return np.concatenate(
            [np.multiply(duals.get(axes, 0.0), steep) for axes, steep in self._steep.items()]
        )

    def split(self, scaled: Floats) -> dict[Axes, Floats]:
        duals, first = {}, 0
        for axes, steep in self._steep.items():
            duals[axes] = scaled[first : first + steep.size] / steep
            first += steep.size
        return duals

    def shares(self, duals: dict[Axes, Floats]) -> tuple[Floats, float]:
        """The shares of the cells, and the logarithm of the sum before they were made to sum to 1."""
        exponent = np.negative(spread(self._shape, duals))
        most = float(exponent.max())
        exponent -= most
        np.exp(exponent, out=exponent)
        total = float(exponent.sum())
        exponent /= total
        return exponent, math.log(total) + most

    def value_and_slope(self, scaled: Floats) -> tuple[float, Floats]:
        duals = self.split(scaled)
        shares, value = self.shares(duals)
        guessed = tables_of(shares, duals)
        slopes, farthest = [], 0.0
        for axes, (target, deviation) in self._targets.items():
            pull = self._evenness * deviation**2 * duals[axes]
            value += float(duals[axes] @ (target + pull / 2))
            slope = target - guessed[axes].ravel() + pull
            farthest = max(farthest, float(np.abs(slope).max()) / deviation)
            slopes.append(slope / self._steep[axes])
        self._farthest = farthest
        return value, np.concatenate(slopes)

    def stop_when_close(self, _: object) -> None:
        """No cell of a measured marginal is farther from the best guess than a small part of its noise."""
        if self._farthest <= _CLOSE:
            raise StopIteration


def spread(shape: Sequence[int], tables: Mapping[Axes, Array]) -> Array:
    """For each cell of the product, the sum of what all tables say about it: the transpose of ``tables_of``.

    Small tables are added to each other before they are spread.  What comes back may share memory with them.
    """
    return _spread(tuple(shape), (), 0, dict(tables))


def _spread(shape: Axes, kept: Axes, axis: int, tables: dict[Axes, Array]) -> Array:
    if axis == len(shape):
        return tables[kept].reshape([shape[one] for one in kept])
    with_it = {axes: table for axes, table in tables.items() if axis in axes}
    without = {axes: table for axes, table in tables.items() if axis not in axes}
    if not without:
        return _spread(shape, (*kept, axis), axis + 1, with_it)
    alike = np.expand_dims(_spread(shape, kept, axis + 1, without), len(kept))
    if with_it:
        both: Array = _spread(shape, (*kept, axis), axis + 1, with_it) + alike
        return both
    whole = (*(shape[one] for one in kept), *shape[axis:])
    return np.broadcast_to(alike, whole)
