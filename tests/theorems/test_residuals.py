"""Marginals by residuals, against the matrix written out in full on small products."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from adyton.errors import InvalidRequest
from adyton.kernel.special.mechanisms.workloads.residuals import ResidualAttribute, Residuals
from adyton.kernel.special.mechanisms.workloads.strategy import Strategy
from adyton.planning.coordinated.strategies import best_residuals, combination, components, subsets

SHAPES = [
    (ResidualAttribute(3), ResidualAttribute(2)),
    (ResidualAttribute(3, aside=True), ResidualAttribute(2)),
    (ResidualAttribute(2, aside=True), ResidualAttribute(3, aside=True)),
    (ResidualAttribute(2), ResidualAttribute(3), ResidualAttribute(2, aside=True)),
    (ResidualAttribute(4),),
]  # fmt: skip


def cells(attributes: tuple[ResidualAttribute, ...]) -> list[tuple[int, ...]]:
    return list(itertools.product(*(range(a.classes) for a in attributes)))


def table(
    attributes: tuple[ResidualAttribute, ...], cell: tuple[int, ...], kept: tuple[int, ...]
) -> np.ndarray:
    made = np.zeros([attributes[a].classes for a in kept], np.int64)
    made[tuple(cell[a] for a in kept)] = 1
    return made


def written_out(residuals: Residuals) -> Strategy:
    """Column by column, from the tables of one unit."""
    columns = [
        residuals.measure({kept: table(residuals.attributes, cell, kept) for kept in residuals.tables})
        for cell in cells(residuals.attributes)
    ]
    return Strategy("written out", np.stack(columns, axis=1))


def all_subsets(
    attributes: tuple[ResidualAttribute, ...], seed: int = 0, ways: int | None = None
) -> Residuals:
    rng = np.random.default_rng(seed)
    every = tuple(range(len(attributes)))
    kept = [s for s in subsets(every) if len(s) <= (len(every) if ways is None else ways)]
    return Residuals(attributes, {s: int(rng.integers(1, 20)) for s in kept})


@pytest.mark.parametrize("attributes", SHAPES)
@pytest.mark.parametrize("seed", range(3))
def test_theorem_RESIDUAL_STRATEGY_diameters_and_radius(
    attributes: tuple[ResidualAttribute, ...], seed: int
) -> None:
    residuals = all_subsets(attributes, seed)
    if seed == 2:  # a total that is measured better than all else
        residuals = Residuals(attributes, {**residuals.weights, (): 1000})
    plain = written_out(residuals)
    assert residuals.rows == plain.rows
    for adjacency in ("add-remove", "replace-one"):
        assert residuals.l2_diameter_squared(adjacency) == plain.l2_diameter_squared(adjacency)
        assert residuals.l1_diameter(adjacency) >= plain.l1_diameter(adjacency)
    assert residuals.l1_diameter("add-remove") == plain.l1_diameter("add-remove")
    centre = np.zeros(plain.rows)
    total = residuals.weights[()]
    others = residuals.l2_diameter_squared("add-remove") - total**2
    centre[0] = total if total**2 <= others else float(Fraction(others + total**2, 2 * total))
    points = np.concatenate([np.zeros((1, plain.rows)), plain.matrix.T])
    farthest = ((points - centre) ** 2).sum(axis=1).max()
    assert farthest <= float(residuals.l2_radius_squared()) * (1 + 1e-12)


@pytest.mark.parametrize("attributes", SHAPES)
def test_theorem_RESIDUAL_STRATEGY_combinations_are_the_least_squares(
    attributes: tuple[ResidualAttribute, ...],
) -> None:
    residuals = all_subsets(attributes)
    plain, every = written_out(residuals), tuple(range(len(attributes)))
    rng = np.random.default_rng(1)
    for by in subsets(every):
        size = math.prod(attributes[a].classes for a in by)
        weights = rng.normal(size=(4, size))
        combined = combination(residuals, by, weights)
        query = np.array([weights[:, _place(attributes, by, cell)] for cell in cells(attributes)]).T
        assert np.allclose(combined @ plain.matrix, query)  # unbiased
        least = np.einsum("qc,cd,qd->q", query, plain.inverse, query)
        assert np.allclose((combined**2).sum(axis=1), least)  # and of the least variance


def _place(attributes: tuple[ResidualAttribute, ...], by: tuple[int, ...], cell: tuple[int, ...]) -> int:
    return int(np.ravel_multi_index([cell[a] for a in by], [attributes[a].classes for a in by])) if by else 0


def marginals(
    attributes: tuple[ResidualAttribute, ...], ways: int
) -> list[tuple[tuple[int, ...], np.ndarray]]:
    """All tables of so many attributes, without the classes aside."""
    asked = []
    for by in itertools.combinations(range(len(attributes)), ways):
        shown = np.ones((), bool)
        for a in by:
            shown = np.multiply.outer(shown, np.arange(attributes[a].classes) < attributes[a].size)
        asked.append((by, np.eye(shown.size)[shown.ravel()]))
    return asked


def energies(
    attributes: tuple[ResidualAttribute, ...], asked: list[tuple[tuple[int, ...], np.ndarray]]
) -> dict:  # type: ignore[type-arg]
    total: dict[tuple[int, ...], float] = {}
    for by, weights in asked:
        for kept, own in components(attributes, by, weights):
            total[kept] = total.get(kept, 0.0) + float((own**2).sum())
    return total


def cost(residuals: Residuals, needed: dict, adjacency: str, norm: int) -> float:  # type: ignore[type-arg]
    """Total variance times the price."""
    variance = sum(energy / residuals.weights[kept] ** 2 for kept, energy in needed.items())
    if norm == 2:
        return variance * residuals.l2_diameter_squared(adjacency)  # type: ignore[arg-type]
    return variance * residuals.l1_diameter(adjacency) ** 2  # type: ignore[arg-type]


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("attributes", [SHAPES[0], SHAPES[1], SHAPES[3]])
def test_theorem_RESIDUAL_STRATEGY_no_other_weights_are_better(
    attributes: tuple[ResidualAttribute, ...], norm: int
) -> None:
    needed = energies(attributes, marginals(attributes, 2))
    best = best_residuals(attributes, needed, "add-remove", norm == 2)
    own, rng = cost(best, needed, "add-remove", norm), np.random.default_rng(3)
    for spread in (0.02, 0.2, 1.0):
        for _ in range(100):
            other = {k: max(1, round(c * math.exp(rng.normal() * spread))) for k, c in best.weights.items()}
            assert cost(Residuals(attributes, other), needed, "add-remove", norm) >= own * (1 - 1e-4)


@pytest.mark.parametrize("size", [2, 3, 4])
def test_theorem_RESIDUAL_STRATEGY_attains_the_singular_value_bound(size: int) -> None:
    """Of all strategies whatever, where tables have no class aside (Li, Miklau 2013)."""
    attributes = (ResidualAttribute(size),) * 3
    asked = marginals(attributes, 2)
    needed = energies(attributes, asked)
    best = best_residuals(attributes, needed, "add-remove", True)
    rows = [
        [row[_place(attributes, by, cell)] for cell in cells(attributes)]
        for by, weights in asked
        for row in weights
    ]
    bound = np.linalg.svd(np.array(rows), compute_uv=False).sum() ** 2 / size**3
    assert bound * (1 - 1e-9) <= cost(best, needed, "add-remove", 2) <= bound * 1.001


def test_eight_columns_of_ten_values_and_missing_ones_are_near_the_bound() -> None:
    """The class aside costs less than three per cent; independent noise costs a quarter more."""
    needed, apart = ({}, {})  # type: ignore[var-annotated]
    for aside, kept in ((False, needed), (True, apart)):
        attributes = (ResidualAttribute(10, aside),) * 8
        kept |= energies(attributes, marginals(attributes, 2))
    best = best_residuals((ResidualAttribute(10),) * 8, needed, "add-remove", True)
    bound = cost(best, needed, "add-remove", 2)
    own = best_residuals((ResidualAttribute(10, aside=True),) * 8, apart, "add-remove", True)
    assert cost(own, apart, "add-remove", 2) <= 1.03 * bound
    assert 28 * 2800 / cost(own, apart, "add-remove", 2) >= 1.25


def test_replace_measures_the_total_in_the_room_that_is_left() -> None:
    attributes = (ResidualAttribute(3), ResidualAttribute(4))
    needed = energies(attributes, marginals(attributes, 2))
    best = best_residuals(attributes, needed, "replace-one", True)
    assert best.l2_diameter_squared("add-remove") <= best.l2_diameter_squared("replace-one")
    without = Residuals(attributes, {k: c for k, c in best.weights.items() if k})
    assert best.l2_diameter_squared("replace-one") == without.l2_diameter_squared("replace-one")


def test_what_is_not_measured_is_refused() -> None:
    attributes = (ResidualAttribute(3), ResidualAttribute(4))
    some = Residuals(attributes, {(): 5, (0,): 5})
    combination(some, (0, 1), np.ones((1, 12)))  # the total
    with pytest.raises(InvalidRequest, match="not measure enough"):
        combination(some, (1,), np.eye(4))
    with pytest.raises(InvalidRequest, match="two classes"):
        ResidualAttribute(1)
    with pytest.raises(InvalidRequest, match="whole weight"):
        Residuals(attributes, {})
