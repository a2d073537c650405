"""Marginal tables measured by their residuals: what each set of attributes adds to its subsets.

All tables of two out of eight attributes are sums of the cells of a product that is far too large to be
counted.  But what each table adds to its smaller ones is a space of its own, orthogonal to all others: so it
is measured from that table alone, the least squares have a closed form, and so has the best division of the
price.

One class of an attribute may stand aside: that of missing values, which tables do not show.  It is measured
by itself, in room that the others leave.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import Any

import numpy as np

from adyton.errors import InvalidRequest
from adyton.kernel.noise.refine import Integers
from adyton.kernel.privacy import Adjacency

MOST_ATTRIBUTES = 16  # for which all sets in which two cells may differ are tried

Set = tuple[int, ...]  # of attributes, rising


@dataclass(frozen=True, slots=True)
class ResidualAttribute:
    """``size`` classes, and one more behind them that stands aside."""

    size: int
    aside: bool = False

    def __post_init__(self) -> None:
        if self.size < 2:
            raise InvalidRequest("an attribute has two classes at least, beside one that stands aside")

    @property
    def classes(self) -> int:
        return self.size + self.aside

    def measured(self, table: Any, axis: int) -> Any:
        """n times a class less all, and n - 1 times the class aside, along one axis of whole numbers."""
        shown, aside = np.split(table, [self.size], axis=axis)
        residual = self.size * shown - shown.sum(axis=axis, keepdims=True)
        return np.concatenate([residual, (self.size - 1) * aside], axis=axis)


class Residuals:
    """For each set T of attributes, c_T times the residuals of its table; ``weights`` has the whole c_T.

    Claim:    as for ``Strategy``: neighboring tables of counts measure what lies within the diameters of
              each other, and a ball of ``l2_radius_squared`` holds what a unit can add.
    Assumes:  a unit adds 1 to one cell of the product, or to none.
    Source:   Xiao, He, Zhang, Kifer 2023 (ResidualPlanner); the class aside, replace-one and whole
              numbers derived on the theorem's page.  Theorem: RESIDUAL-STRATEGY.
    """

    name = "marginals"

    def __init__(self, attributes: Sequence[ResidualAttribute], weights: Mapping[Set, int]) -> None:
        self.attributes = tuple(attributes)
        self.weights = dict(sorted(weights.items(), key=lambda kept: (len(kept[0]), kept[0])))
        if not self.weights or not all(type(c) is int and 1 <= c <= 2**40 for c in self.weights.values()):
            raise InvalidRequest("a strategy of marginals needs a whole weight for each of its sets")
        self.rows = sum(map(self.table_size, self.weights))

    def shape(self, kept: Set) -> tuple[int, ...]:
        return tuple(self.attributes[a].classes for a in kept)

    def table_size(self, kept: Set) -> int:
        return prod(self.shape(kept))

    @property
    def tables(self) -> list[Set]:
        """The largest sets, whose tables have all others in them."""
        return [s for s in self.weights if not any(set(s) < set(other) for other in self.weights)]

    def measure(self, tables: Mapping[Set, Integers]) -> Integers:
        """Modulo 2**64, without an error: as ``Strategy.measure``."""
        return np.concatenate([self._measured(kept, weight, tables) for kept, weight in self.weights.items()])

    def _measured(self, kept: Set, weight: int, tables: Mapping[Set, Integers]) -> Integers:
        whole = next(one for one in tables if set(kept) <= set(one))
        table: Integers = np.asarray(tables[whole], np.int64).reshape(self.shape(whole))
        table = table.sum(axis=tuple(i for i, a in enumerate(whole) if a not in kept))
        for axis, attribute in enumerate(kept):
            table = self.attributes[attribute].measured(table, axis)
        weighted: Integers = (table * np.int64(weight)).ravel()
        return weighted

    # What a unit can do ------------------------------------------------------------------------------------

    def l2_diameter_squared(self, adjacency: Adjacency) -> int:
        """Theorem: RESIDUAL-STRATEGY."""
        largest = sum(c * c * self._square(kept) for kept, c in self.weights.items())
        return largest if adjacency == "add-remove" else max(largest, self._between())

    def l1_diameter(self, adjacency: Adjacency) -> int:
        """Theorem: RESIDUAL-STRATEGY."""
        return self.l1_radius() * (1 if adjacency == "add-remove" else 2)

    def l1_radius(self) -> int:
        """From 0: the largest column."""
        return sum(c * prod(self._sum(a) for a in kept) for kept, c in self.weights.items())

    def l2_radius_squared(self) -> Fraction:
        """From a part of what all units add to the total alone.  Theorem: RESIDUAL-STRATEGY."""
        total = Fraction(self.weights.get((), 0)) ** 2
        others = self.l2_diameter_squared("add-remove") - total
        if total <= others:
            return Fraction(others)  # around what each adds to the total
        part = (others + total) / (2 * total)
        return part**2 * total

    def _square(self, kept: Set) -> int:
        return prod(_square(self.attributes[a].size) for a in kept)

    def _sum(self, attribute: int) -> int:
        return 2 * (self.attributes[attribute].size - 1)

    def _between(self) -> int:
        """The largest squared distance of two columns, over all sets in which two cells may differ."""
        used = sorted({a for kept in self.weights for a in kept})
        if len(used) > MOST_ATTRIBUTES:
            raise InvalidRequest(f"at most {MOST_ATTRIBUTES} attributes are measured together")
        differ = (np.arange(2 ** len(used))[:, None] >> np.arange(len(used))) & 1 == 1
        total = np.zeros(len(differ), object)
        for kept, c in self.weights.items():
            product = np.full(len(differ), 1, object)
            for a in kept:
                size = self.attributes[a].size
                product = product * np.where(differ[:, used.index(a)], -size, _square(size))
            total = total + 2 * c * c * (self._square(kept) - product)
        return int(total.max())


def _square(size: int) -> int:
    """The squared length of a class in the residuals."""
    return size * (size - 1)
