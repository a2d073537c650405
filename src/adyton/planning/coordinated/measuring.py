"""What may be measured in place of the values of a batch, and the way back: atoms, a matrix, or marginals.

Each says which tables of the axes are read, and what its least squares make of measured numbers.  All of it
is floats, and post-processing; what may be wrong with them is said, and goes into the intervals.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any, Protocol

import numpy as np

from adyton.errors import LedgerCorrupt
from adyton.kernel.exact.cells import Floats
from adyton.kernel.exact.outward import MANY
from adyton.kernel.special.mechanisms.workloads.each_cell import EachCell
from adyton.kernel.special.mechanisms.workloads.measured import Measured
from adyton.kernel.special.mechanisms.workloads.product import Product
from adyton.kernel.special.mechanisms.workloads.residuals import ResidualAttribute, Residuals
from adyton.kernel.special.mechanisms.workloads.strategy import Strategy
from adyton.planning.coordinated.linear import CellSums, Set
from adyton.planning.coordinated.strategies import combination


@dataclass(frozen=True, slots=True, eq=False)
class Norms:
    """Of the combination of measured numbers that is each value: L2, L-infinity and L1, rounded up; and how
    far, at most, one row may be from counting 0 or 1 in it.
    """

    deviations: Floats
    largest: Floats
    sums: Floats
    off: Floats

    @classmethod
    def of(cls, some: Iterable[tuple[Floats, Floats, Floats, Floats]]) -> Norms:
        """Of some values at a time, one after another."""
        return cls(*(np.concatenate(column) for column in zip(*some, strict=True)))


class Measuring(Protocol):
    @property
    def kind(self) -> str: ...

    @property
    def strategy(self) -> Measured: ...

    @property
    def tables(self) -> Sequence[Set]:
        """Of which axes the cells are counted."""
        ...

    def norms(self, linear: CellSums) -> Norms: ...

    def estimate(self, measured: Floats) -> Floats:
        """What all values are made of: the cells by least squares, or what was measured itself."""
        ...

    def values(self, linear: CellSums, estimate: Floats) -> Floats: ...

    @property
    def rank(self) -> int:
        """In how many directions of what is measured the combinations of all values lie, at most."""
        ...

    def mass(self, estimate: Floats) -> float:
        """About how many rows there are, for what floats make of them; 0 where they make nothing."""
        ...

    def told(self) -> dict[str, Any]:
        """Enough to make it again."""
        ...


class AllAxes:
    """What is measured in the cells of all axes at once, and gives an estimate of each of them."""

    shape: tuple[int, ...]

    @property
    def tables(self) -> Sequence[Set]:
        return [tuple(range(len(self.shape)))]

    def values(self, linear: CellSums, estimate: Floats) -> Floats:
        return linear.summed(estimate, self.shape)

    def mass(self, estimate: Floats) -> float:
        return 2 * float(np.abs(estimate).sum())


# Every cell by itself --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Atoms(AllAxes):
    """Noise on every cell of all axes."""

    shape: tuple[int, ...]
    total: bool
    kind = "atoms"

    @cached_property
    def strategy(self) -> EachCell:
        return EachCell(prod(self.shape), self.total)

    @property
    def rank(self) -> int:
        return self.strategy.cells

    def norms(self, linear: CellSums) -> Norms:
        """A value has the sum of its cells, less its share of how far all of them are from the total."""
        cells = linear.counted * float(self.strategy.cells // len(linear.places))
        spread = cells - cells**2 / (self.strategy.cells + 1) * self.total
        deviations = np.sqrt(np.maximum(spread, 0.0)) * (1 + MANY)
        share = cells / (self.strategy.cells + 1) * self.total  # of each other cell, and of the total
        sums = cells * (1 - share) + (self.strategy.cells - cells + 1) * share
        return Norms(deviations, np.ones(len(cells)), sums * (1 + MANY), np.zeros(len(cells)))

    def estimate(self, measured: Floats) -> Floats:
        cells = measured[: self.strategy.cells]
        return cells + (measured[-1] - cells.sum()) / (self.strategy.cells + 1) if self.total else cells

    def mass(self, estimate: Floats) -> float:
        return 0.0

    def told(self) -> dict[str, Any]:
        return {"kind": self.kind, "shape": list(self.shape), "total": self.total}


# A matrix --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Matrix(AllAxes):
    """Any whole-number sums of the cells of all axes."""

    shape: tuple[int, ...]
    strategy: Strategy

    @property
    def kind(self) -> str:
        return self.strategy.name

    @property
    def rank(self) -> int:
        return min(self.strategy.rows, self.strategy.cells)

    @cached_property
    def _back(self) -> Floats:
        """From measured numbers to cells."""
        back: Floats = self.strategy.inverse @ self.strategy.matrix.T
        return back

    @cached_property
    def _wrong(self) -> Floats:
        """What the way there and back makes of each cell, beyond the cell itself."""
        wrong: Floats = self._back @ self.strategy.matrix - np.eye(self.strategy.cells)
        return wrong

    def norms(self, linear: CellSums) -> Norms:
        return Norms.of(self._norms(weights) for _, weights in linear.everywhere(self.shape).weights())

    def _norms(self, weights: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        off = np.abs(weights @ self._wrong).max(axis=1) + MANY
        return *_lengths(weights @ self._back), off

    def estimate(self, measured: Floats) -> Floats:
        cells: Floats = self._back @ measured
        return cells

    def told(self) -> dict[str, Any]:
        return {"kind": self.kind, "shape": list(self.shape), **_packed(self.strategy)}


# Products --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Products(AllAxes):
    """Products of what is measured along each axis."""

    shape: tuple[int, ...]
    strategy: Product
    kind = "product"

    @property
    def rank(self) -> int:
        return min(self.strategy.rows, prod(self.shape))

    def norms(self, linear: CellSums) -> Norms:
        parts = linear.factors(self.shape)
        if parts is not None:
            return self._norms_of_product(parts)
        return Norms.of(self._norms(weights) for _, weights in linear.everywhere(self.shape).weights())

    def _norms(self, weights: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        combined = self.strategy.combination(weights)
        off = np.abs(self.strategy.weighed(combined) - weights).max(axis=1) + MANY
        return *_lengths(combined), off

    def _norms_of_product(self, parts: Sequence[Floats]) -> Norms:
        """A product of classes of each axis has the products of their norms."""
        deviations, largest, sums, right = np.ones(1), np.ones(1), np.ones(1), 1.0
        for part, back, factor in zip(parts, self.strategy.backs, self.strategy.factors, strict=True):
            combined = part[None] @ back
            own = _lengths(combined)
            deviations, largest, sums = deviations * own[0], largest * own[1], sums * own[2]
            right *= 1 + float(np.abs(combined @ factor.matrix - part).max())
        return Norms(deviations, largest, sums, np.array([right - 1 + MANY]))

    def estimate(self, measured: Floats) -> Floats:
        return self.strategy.cells(measured)

    def told(self) -> dict[str, Any]:
        return {"kind": self.kind, "factors": [_packed(factor) for factor in self.strategy.factors]}


# Marginals by residuals ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class MarginalTables:
    """Marginal tables of the axes, each by what it adds to its smaller ones."""

    strategy: Residuals
    kind = "marginals"

    @property
    def rank(self) -> int:
        own = self.strategy.attributes
        return sum(prod(own[a].classes - 1 for a in kept) for kept in self.strategy.weights)

    @property
    def tables(self) -> Sequence[Set]:
        return self.strategy.tables

    def norms(self, linear: CellSums) -> Norms:
        return Norms.of(
            (*_lengths(combination(self.strategy, linear.by, weights)), np.zeros(len(weights)))
            for _, weights in linear.weights()
        )

    def estimate(self, measured: Floats) -> Floats:
        return measured

    def values(self, linear: CellSums, estimate: Floats) -> Floats:
        return np.concatenate(
            [combination(self.strategy, linear.by, weights) @ estimate for _, weights in linear.weights()]
        )

    def mass(self, estimate: Floats) -> float:
        return 0.0

    def told(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "attributes": [[a.size, a.aside] for a in self.strategy.attributes],
            "weights": [[list(kept), weight] for kept, weight in self.strategy.weights.items()],
        }


def _lengths(combined: Floats) -> tuple[Floats, Floats, Floats]:
    """L2, L-infinity and L1 of each row, rounded up."""
    sizes, up = np.abs(combined), 1 + MANY
    return np.sqrt((combined**2).sum(axis=1)) * up, sizes.max(axis=1) * up, sizes.sum(axis=1) * up


def measuring_from(told: Mapping[str, Any]) -> Measuring:
    """What was measured by, as it was stored."""
    try:
        if told["kind"] == "atoms":
            return Atoms(tuple(told["shape"]), told["total"])
        if told["kind"] == "marginals":
            attributes = [ResidualAttribute(size, aside) for size, aside in told["attributes"]]
            return MarginalTables(
                Residuals(attributes, {tuple(kept): weight for kept, weight in told["weights"]})
            )
        if told["kind"] == "product":
            product = Product([_unpacked("factor", factor) for factor in told["factors"]])
            return Products(product.shape, product)
        return Matrix(tuple(told["shape"]), _unpacked(told["kind"], told))
    except (ValueError, TypeError, KeyError, zlib.error):
        raise LedgerCorrupt("a stored strategy cannot be read back") from None


def _packed(strategy: Strategy) -> dict[str, Any]:
    octets = zlib.compress(strategy.matrix.astype("<i8").tobytes(), 9)
    return {"rows": strategy.rows, "matrix": base64.b64encode(octets).decode("ascii")}


def _unpacked(name: str, packed: Mapping[str, Any]) -> Strategy:
    octets = zlib.decompress(base64.b64decode(packed["matrix"], validate=True))
    return Strategy(name, np.frombuffer(octets, "<i8").reshape(packed["rows"], -1))
