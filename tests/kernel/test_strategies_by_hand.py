"""What strategies measure and what it costs, against matrices that are written out; sparse vectors and scores."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from adyton.errors import InvalidRequest
from adyton.kernel.mechanisms import GaussianNoise, GeometricNoise
from adyton.kernel.noise import rounded_gaussian, two_sided_geometric
from adyton.kernel.privacy import ADJACENCIES, GaussianCost, PureCost
from adyton.kernel.special import workload
from adyton.kernel.special.mechanisms.composed_cost import ComposedCost
from adyton.kernel.special.mechanisms.selection import scores
from adyton.kernel.special.mechanisms.selection.exponential import ExponentialMechanism
from adyton.kernel.special.mechanisms.selection.permute_and_flip import PermuteAndFlip, flip_law
from adyton.kernel.special.mechanisms.selection.top_k import TopK
from adyton.kernel.special.mechanisms.sparse import sparse as sparse_vectors
from adyton.kernel.special.mechanisms.sparse.numeric_sparse import NumericSparse, one_integer
from adyton.kernel.special.mechanisms.sparse.sparse import Sparse, SparseState
from adyton.kernel.special.mechanisms.workloads import strategy as strategies
from adyton.kernel.special.mechanisms.workloads.each_cell import EachCell
from adyton.kernel.special.mechanisms.workloads.measured import GaussianMeasured, GeometricMeasured
from adyton.kernel.special.mechanisms.workloads.product import Product
from adyton.kernel.special.mechanisms.workloads.residuals import ResidualAttribute, Residuals
from adyton.kernel.special.mechanisms.workloads.strategy import Strategy
from refusing import refused
from support.randomness import Seeded

F = Fraction
QUIET = F(1, 100)  # noise of this scale is 0 but once in 10**43 draws


def apart(matrix: np.ndarray, adjacency: str) -> list[list[int]]:
    """All that two neighbors may differ by: a column, or two columns."""
    columns = [list(map(int, column)) for column in matrix.T]
    if adjacency == "add-remove":
        return columns
    return columns + [
        [a - b for a, b in zip(one, other, strict=True)] for one, other in product(columns, repeat=2)
    ]


def l1(move: list[int]) -> int:
    return sum(map(abs, move))


def l2(move: list[int]) -> int:
    return sum(v * v for v in move)


def dense(cells: int, measure: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    return np.stack([measure(row) for row in np.eye(cells, dtype=np.int64)], axis=1)


# Strategies ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cells", [1, 2, 3, 7])
@pytest.mark.parametrize("total", [False, True])
def test_each_cell_costs_what_its_matrix_would(cells: int, total: bool) -> None:
    """Mutants: every number of ``EachCell``."""
    found = EachCell(cells, total)
    matrix = np.concatenate([np.eye(cells, dtype=np.int64), np.ones((int(total), cells), np.int64)])
    histogram = np.arange(3, 3 + cells)
    assert (found.rows, found.measure(histogram).tolist()) == (len(matrix), (matrix @ histogram).tolist())
    for adjacency in ADJACENCIES:
        assert found.l1_diameter(adjacency) == max(map(l1, apart(matrix, adjacency)))
        assert found.l2_diameter_squared(adjacency) == max(map(l2, apart(matrix, adjacency)))
    centre = [F(1, cells)] * cells + [1 - F(1, cells)] * total
    reach = [
        sum((v - c) ** 2 for v, c in zip(point, centre, strict=True))
        for point in [*matrix.T.tolist(), [0] * len(matrix)]
    ]
    assert found.l2_radius_squared() == max(reach)
    assert found.l1_radius() == max(map(l1, apart(matrix, "add-remove")))


MATRICES = (
    [[1]], [[1, 0], [0, 1], [1, 1]], [[2, -1, 0], [0, 3, 1]], [[1, 1, 1], [0, 0, 0]], [[5, -5]], [[0, 4], [3, 0]],
    [[-2, -6, 9], [-5, -6, 0]],  # not of full rank, which its rounded pivots do not say
)  # fmt: skip


@pytest.mark.parametrize("rows", MATRICES)
def test_a_strategy_costs_what_its_columns_move(rows: list[list[int]]) -> None:
    """Mutants: every sign and number of ``Strategy``, its ball, its inverse."""
    matrix = np.array(rows)
    found = Strategy("any", matrix)
    for adjacency in ADJACENCIES:
        assert found.l1_diameter(adjacency) == max(map(l1, apart(matrix, adjacency)))
        assert found.l2_diameter_squared(adjacency) == max(map(l2, apart(matrix, adjacency)))
    assert found.l1_radius() == max(map(l1, apart(matrix, "add-remove")))
    points = [*matrix.T.tolist(), [0] * len(matrix)]
    far = max(
        l2([a - b for a, b in zip(one, other, strict=True)]) for one, other in product(points, repeat=2)
    )
    assert far / 4 <= float(found.l2_radius_squared()) <= min(far / 3 * 1.01, max(map(l2, points)))
    histogram = np.arange(7, 7 + len(rows[0]))
    assert found.measure(histogram).tolist() == (matrix @ histogram).tolist()
    assert (found.rows, found.cells, found.gram.tolist()) == (*matrix.shape, (matrix.T @ matrix).tolist())
    assert not found.matrix.flags.writeable
    assert np.allclose(found.inverse, np.linalg.pinv(matrix.T @ matrix))
    unseen = np.eye(matrix.shape[1]) - np.linalg.pinv(matrix) @ matrix
    assert (found.unseen is None) == bool(np.allclose(unseen, 0))
    assert found.unseen is None or np.allclose(found.unseen, unseen)
    for bad in (histogram[:-1], histogram.astype(float)):
        with pytest.raises(InvalidRequest):
            found.measure(bad)
    with pytest.raises(InvalidRequest, match="adjacency"):
        found.l2_diameter_squared("none")  # type: ignore[arg-type]
    with pytest.raises(InvalidRequest, match="adjacency"):
        found.l1_diameter("none")  # type: ignore[arg-type]


def test_a_strategy_is_small_enough_to_be_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mutants: each border moved, a reach that is not exact, a radius that is rounded."""
    for matrix, good in (
        (np.array([[2**25]]), True), (np.array([[2**25 + 1]]), False), (np.array([[2**24]] * 4), True),
        (np.array([[2**24]] * 5), False), (np.array([[-(2**25) - 1, 1]]), False), (np.array([[0]]), False),
        (np.array([1]), False), (np.array([[1.0]]), False), (np.zeros((0, 2), int), False), (np.array([[0, 1]]), True),
    ):  # fmt: skip
        assert refused(lambda m=matrix: Strategy("any", m)) != good
    assert strategies.MOST_ENTRIES == 2**24
    monkeypatch.setattr(strategies, "MOST_ENTRIES", 4)
    assert [refused(lambda n=n: Strategy("any", np.ones((1, n), int))) for n in (4, 5)] == [False, True]
    found = Strategy("any", np.array([[3, 1], [0, 2]]))
    for centre in ([0, 0], [1024, 512], [-2048, 700], [2048, 1024]):
        at = [F(c, 1024) for c in centre]
        points = ([3, 0], [1, 2], [0, 0])
        expected = max(sum((v - c) ** 2 for v, c in zip(point, at, strict=True)) for point in points)
        assert found._reach_squared(np.array(centre, np.int64)) == expected


def test_a_product_costs_what_its_matrix_would() -> None:
    """Mutants: an axis that is taken for another, another least inner product."""
    factors = [
        Strategy("a", np.array([[1, 0], [0, 1], [1, 1]])),
        Strategy("b", np.array([[1, 1, 1], [0, -2, 1]])),
    ]
    found, matrix = Product(factors), np.kron(factors[0].matrix, factors[1].matrix)
    assert (found.rows, found.shape) == (6, (2, 3))
    histogram = np.arange(5, 11)
    assert found.measure(histogram).tolist() == (matrix @ histogram).tolist()
    longest = max(map(l2, apart(matrix, "add-remove")))
    assert found.l2_diameter_squared("add-remove") == longest == found.l2_radius_squared()
    gram = [factor.gram for factor in factors]
    inner = min(a * b for a, b in product(*((int(g.min()), int(np.diag(g).max())) for g in gram)))
    assert [int(np.diag(g).min()) != int(np.diag(g).max()) for g in gram] == [False, True]
    assert (
        found.l2_diameter_squared("replace-one")
        == 2 * (longest - inner)
        >= max(map(l2, apart(matrix, "replace-one")))
    )
    assert found.l1_radius() == found.l1_diameter("add-remove") == max(map(l1, apart(matrix, "add-remove")))
    assert found.l1_diameter("replace-one") == 2 * found.l1_radius()
    one = Product([Strategy("c", np.array([[2]]))])
    assert (one.l2_diameter_squared("replace-one"), one.l2_diameter_squared("add-remove")) == (4, 4)
    back, weights = np.linalg.pinv(matrix), np.arange(12.0).reshape(2, 6)
    assert np.allclose(found.cells((matrix @ histogram).astype(float)), back @ matrix @ histogram)
    assert np.allclose(found.combination(weights), weights @ back)
    assert np.allclose(found.weighed(found.combination(weights)), weights @ back @ matrix)
    uneven = Product([Strategy("f", np.array([[1, 2], [1, 1]])), Strategy("g", np.array([[1, -1]]))])
    assert uneven.l2_diameter_squared("replace-one") == 2 * (5 + 5)  # grams from 2 to 5, and from -1 to 1
    half = Strategy("d", np.array([[2**13]]))
    assert not refused(lambda: Product([half, Strategy("e", np.array([[2**12]]))]))
    assert refused(lambda: Product([half, half]))


def test_residuals_cost_what_their_matrix_would() -> None:
    """Mutants: every sign and number of what is measured and of its distances."""
    for sizes, aside, weights in (
        ((3,), (False,), {(0,): 1}),
        ((3, 2), (False, True), {(): 2, (0,): 1, (0, 1): 3}),
        ((2, 2), (False, False), {(): 7, (1,): 1}),
        ((4, 2), (True, False), {(0,): 2, (1,): 5}),
    ):
        attributes = [ResidualAttribute(n, a) for n, a in zip(sizes, aside, strict=True)]
        found = Residuals(attributes, weights)
        shape = tuple(attributes[a].classes for a in range(len(sizes)))
        every = tuple(range(len(sizes)))

        def measured(
            cell: np.ndarray, found: Residuals = found, shape: Any = shape, every: Any = every
        ) -> np.ndarray:
            return found.measure({every: cell.reshape(shape)})

        matrix = dense(math.prod(shape), measured)
        assert found.rows == len(matrix) == sum(math.prod(shape[a] for a in kept) for kept in weights)
        for kept, weight in weights.items():
            assert found.table_size(kept) == math.prod(found.shape(kept))
            expected = np.ones((1, 1), np.int64)
            for axis, attribute in enumerate(attributes):
                n = attribute.size
                residual = n * np.eye(n, dtype=np.int64) - 1
                if attribute.aside:
                    residual = np.block(
                        [[residual, np.zeros((n, 1), int)], [np.zeros((1, n), int), np.full((1, 1), n - 1)]]
                    )
                own = residual if axis in kept else np.ones((1, attribute.classes), np.int64)
                expected = np.kron(expected, own)
            start = sum(
                found.table_size(other) for other in list(found.weights)[: list(found.weights).index(kept)]
            )
            assert matrix[start : start + found.table_size(kept)].tolist() == (weight * expected).tolist()
        assert found.l2_diameter_squared("add-remove") == max(map(l2, apart(matrix, "add-remove")))
        assert found.l2_diameter_squared("replace-one") == max(map(l2, apart(matrix, "replace-one")))
        assert (
            found.l1_radius() == max(map(l1, apart(matrix, "add-remove"))) == found.l1_diameter("add-remove")
        )
        assert found.l1_diameter("replace-one") == 2 * found.l1_radius()
        total, longest = weights.get((), 0) ** 2, found.l2_diameter_squared("add-remove")
        centre = total if 2 * total <= longest else F(longest, 2 * total) ** 2 * total
        assert found.l2_radius_squared() == (longest - total if 2 * total <= longest else centre)
        largest = [kept for kept in weights if not any(set(kept) < set(other) for other in weights)]
        assert sorted(found.tables) == sorted(largest)
    for bad in ({}, {(0,): 0}, {(0,): 2**40 + 1}, {(0,): 1.0}):
        assert refused(lambda bad=bad: Residuals([ResidualAttribute(2)], bad))
    assert not refused(lambda: Residuals([ResidualAttribute(2)], {(0,): 2**40}))
    assert refused(lambda: ResidualAttribute(1))
    assert (ResidualAttribute(2).classes, ResidualAttribute(2, aside=True).classes) == (2, 3)
    assert refused(lambda: Residuals([ResidualAttribute(2)] * 2, {(0,): 1, (1,): 0}))
    counted = {(0,): np.array([3, 4]), (1, 2): np.arange(6).reshape(2, 3)}
    of_two = Residuals([ResidualAttribute(2), ResidualAttribute(2), ResidualAttribute(3)], {(1,): 1, (0,): 1})
    assert of_two.measure(counted).tolist() == [-1, 1, 2 * 3 - 15, 2 * 12 - 15]
    assert list(Residuals([ResidualAttribute(2)] * 3, {(0, 1): 1, (1,): 2, (2,): 1, (0,): 5}).weights) == [
        (0,),
        (1,),
        (2,),
        (0, 1),
    ]
    many = [ResidualAttribute(2)] * 17
    assert refused(lambda: Residuals(many, {(a,): 1 for a in range(17)}).l2_diameter_squared("replace-one"))
    sixteen = Residuals(many, {(a,): 1 for a in range(16)})
    assert sixteen.l2_diameter_squared("replace-one") == 16 * 8


def test_what_is_measured_costs_its_distance_in_noise() -> None:
    """Mutants: rows and steps that are not squared, noise of another size."""
    found = Strategy("any", np.array([[2, -1, 0], [0, 3, 1]]))
    noisy = GaussianMeasured(found, F(40), 5, 3)
    for adjacency in ADJACENCIES:
        assert noisy.cost(adjacency) == GaussianCost(F(15, 40) ** 2 * found.l2_diameter_squared(adjacency))
        pure = GeometricMeasured(found, F(7), 3)
        assert pure.cost(adjacency) == PureCost(F(3, 7) * found.l1_diameter(adjacency))
        for price, each in product((F(1, 10**7), F(1, 9), F(4), F(1000)), (1, 2)):
            bought = GaussianMeasured.for_cost(found, adjacency, price, each)
            assert price * (1 - F(1, 10**12)) <= bought.cost(adjacency).mu_squared <= price
            ratio = math.sqrt(each**2 * found.l2_diameter_squared(adjacency) / price)
            assert (bought.steps, bought.rows_each) == (max(1, math.ceil(64 * math.sqrt(2) / ratio)), each)
            cheap = GeometricMeasured.for_cost(found, adjacency, price, each)
            assert price * (1 - F(1, 10**12)) <= cheap.cost(adjacency).epsilon <= price
            assert cheap.rows_each == each
    assert noisy.radius() == GaussianCost(F(15, 40) ** 2 * found.l2_radius_squared())
    assert pure.radius() == PureCost(F(3, 7) * found.l1_radius())
    assert GaussianMeasured.for_cost(found, "add-remove", F(1)).rows_each == 1
    assert GeometricMeasured.for_cost(found, "add-remove", F(1)).rows_each == 1
    two = Strategy("two", np.array([[2]]))  # a price that is met exactly
    assert GaussianMeasured.for_cost(two, "add-remove", F(1)).cost("add-remove") == GaussianCost(F(1))
    assert GeometricMeasured.for_cost(two, "add-remove", F(1)).cost("add-remove") == PureCost(F(1))
    plain = GaussianMeasured(found, F(2))
    assert (plain.steps, plain.rows_each, GeometricMeasured(found, F(2)).rows_each) == (1, 1, 1)
    histogram = np.array([4, 5, 6])
    drawn = rounded_gaussian.draw(40.0, 2, Seeded(5))
    assert noisy.release(histogram, Seeded(5)).tolist() == (5 * found.measure(histogram) + drawn).tolist()
    drawn = two_sided_geometric.draw(7.0, 2, Seeded(5))
    assert pure.release(histogram, Seeded(5)).tolist() == (found.measure(histogram) + drawn).tolist()
    for steps, good in ((0, False), (1, True), (2**40, True), (2**40 + 1, False)):
        assert refused(lambda s=steps: GaussianMeasured(found, F(2), s)) != good
    for make in (lambda s: GaussianMeasured(found, s), lambda s: GeometricMeasured(found, s)):
        assert [refused(lambda s=s, make=make: make(s)) for s in (F(0), F(10) ** 40)] == [True, True]


# Sparse vectors --------------------------------------------------------------------------------------------


def test_a_sparse_vector_costs_its_threshold_and_its_positives() -> None:
    """Mutants: every number of the costs; a border of what may be asked for."""
    for monotone, refresh in product((False, True), repeat=2):
        machine = Sparse(6, F(10), F(40), 3, monotone, refresh)
        reach = 3 if monotone else 6
        once = F(3, 10) + (1 if refresh else 6) * F(reach, 40)
        assert machine.cost() == ComposedCost(((PureCost(once), 6 if refresh else 1),))
        assert machine.runs == (6 if refresh else 1)
        numeric = NumericSparse(machine, F(50))
        assert numeric.cost().pure == machine.cost().pure + 6 * F(3, 50)
        noisy = NumericSparse(machine, F(50), gaussian=True)
        assert (noisy.cost().pure, noisy.cost().gdp) == (None, machine.cost().gdp + 6 * F(9, 2500))
        assert (numeric.name, noisy.name) == (
            "numeric sparse vector",
            "numeric sparse vector, Gaussian values",
        )
        assert ["ROUNDED-GAUSSIAN-IS-GDP" in one.theorems for one in (numeric, noisy)] == [False, True]
        assert [type(one.values) for one in (numeric, noisy)] == [GeometricNoise, GaussianNoise]
        assert ("MONOTONE-SPARSE" in machine.theorems) == monotone
    assert (one_integer(5).boxes, one_integer(5).cells, one_integer(5).adjacency) == (
        ((0, 5),),
        1,
        "replace-one",
    )
    plain = Sparse(1, F(1), F(1))
    assert (plain.sensitivity, plain.monotone, plain.refresh, NumericSparse(plain, F(1)).gaussian) == (
        1,
        False,
        False,
        False,
    )
    for positives, good in (
        (0, False),
        (1, True),
        (10**6, True),
        (10**6 + 1, False),
        (True, False),
        (1.0, False),
    ):
        assert refused(lambda p=positives: Sparse(p, F(1), F(1))) != good
    for moved, good in ((0, False), (1, True), (True, False), (1.0, False)):
        assert refused(lambda m=moved: Sparse(1, F(1), F(1), m)) != good
    for bad in (F(0), F(10) ** 40):
        assert refused(lambda s=bad: Sparse(1, s, F(1)))
        assert refused(lambda s=bad: Sparse(1, F(1), s))
        assert refused(lambda s=bad: NumericSparse(plain, s))


@pytest.mark.parametrize("refresh", [False, True])
def test_a_sparse_vector_halts_after_its_positives(refresh: bool) -> None:
    """With next to no noise.  Mutants: a tie that is below, a positive that is not counted, noise of nothing."""
    machine = Sparse(2, QUIET, QUIET, 1, False, refresh)
    bits, values, thresholds = Seeded(1), [1, 5, 4, 7, 9], [2, 5, 5, 6, 0]
    assert machine.release(values, thresholds, bits) == [False, True, False, True]
    assert NumericSparse(machine, QUIET).release(values, thresholds, bits) == [None, 5, None, 7]
    assert machine.release(values[:1], thresholds, bits) == [False]
    assert machine.start(bits) == SparseState(2, 0)
    assert "12345" not in repr(SparseState(2, 12345))  # whoever knows it can undo the protection
    kept = SparseState(2, 3)  # a threshold that its noise has raised
    assert machine.step(kept, 7, 5, bits) == (False, kept)
    assert machine.step(kept, 8, 5, bits) == (True, SparseState(1, 0 if refresh else 3))
    for left, halted in ((0, True), (1, False), (-1, True)):
        assert refused(lambda n=left: machine.step(SparseState(n, 0), 1, 1, bits)) == halted
    drawn = [int(two_sided_geometric.draw(5.0, 1, b)[0]) for b in (Seeded(4), Seeded(5))]
    found = [sparse_vectors.draw_one(F(5), b) for b in (Seeded(4), Seeded(5))]
    assert found == drawn
    for exact, b in product(range(-20, 20), (4, 5)):
        noise = int(two_sided_geometric.draw(5.0, 1, Seeded(b))[0])
        assert sparse_vectors.is_above(exact, 2, 1, F(5), Seeded(b)) == (exact + noise >= 3)


def test_costs_add_up_view_by_view() -> None:
    """Mutants: a part that is counted once, a view that one part lacks."""
    both = ComposedCost(((PureCost(F(1, 2)), 3), (GaussianCost(F(1, 5)), 2)))
    assert (both.pure, both.gdp) == (None, 3 * PureCost(F(1, 2)).gdp + F(2, 5))
    assert both.zcdp == 3 * PureCost(F(1, 2)).zcdp + 2 * GaussianCost(F(1, 5)).zcdp
    assert ComposedCost(()).pure == 0


# Selections ------------------------------------------------------------------------------------------------


def test_a_score_lies_below_the_best_by_a_whole_number() -> None:
    """Mutants: a gap that wraps around, a span of one bound, a score that is a float."""
    for own in ([5, 3, 9], [-(2**63), 2**63 - 1, 0], [0, -(10**30), 10**30], [7]):
        expected = [min(max(own) - s, 2**64 - 1) for s in own]
        assert scores.gaps_of(own, len(own)).tolist() == expected
    assert scores.gaps_of(np.array([1, 4], np.int32), 2).tolist() == [3, 0]
    for bad in ([1.0, 2], [True, 2], np.array([1.0, 2.0]), np.array([1, 2], np.uint64), [1]):
        assert refused(lambda bad=bad: scores.gaps_of(bad, 2))
    span = scores.ScoreSensitivity
    assert (span(F(3)).span, span(F(3), monotone=True).span) == (6, 3)
    assert (span.of_counts("add-remove").span, span.of_counts("replace-one").span) == (1, 2)
    assert [refused(lambda b=b: span(b)) for b in (F(0), F(-1), F(1, 9))] == [True, True, False]
    for epsilon, good in ((F(0), False), (F(-1), False), (F(1, 9), True)):
        assert refused(lambda e=epsilon: scores.rate_of(e, span(F(3)))) != good
        for kind in (ExponentialMechanism, PermuteAndFlip):
            assert refused(lambda e=epsilon, kind=kind: kind(("a",), e, span(F(3)))) != good
        assert refused(lambda e=epsilon: TopK(("a",), 1, e, span(F(3)))) != good
    assert scores.rate_of(F(5), span(F(3))) == F(5, 6)
    for kind in (ExponentialMechanism, PermuteAndFlip):
        assert refused(lambda kind=kind: kind((), F(1), span(F(3))))


def test_selections_cost_their_epsilon_and_take_the_best() -> None:
    """Mutants: an epsilon that is not divided, a candidate that is taken twice."""
    moved = scores.ScoreSensitivity(F(1, 2))
    names = tuple("abcd")
    for flips in (True, False):
        machine = TopK(names, 3, F(300), moved, flips)
        assert (machine.rate, machine.cost().pure) == (100, 300)
        assert machine.release([5, 90, 40, 7], Seeded(2)) == ("b", "c", "d")
        for k, good in ((0, False), (1, True), (4, True), (5, False)):
            assert refused(lambda k=k: TopK(names, k, F(1), moved)) != good
    flipped, ranged = TopK(names, 3, F(3), moved), TopK(names, 3, F(3), moved, flips=False)
    assert (flipped.flips, flipped.cost(), ranged.cost().zcdp < flipped.cost().zcdp) == (
        True,
        PureCost(F(3)),
        True,
    )
    weight = np.exp(-2.0 * np.array([4, 0, 1, 9]))
    one = ExponentialMechanism(names, F(2), moved)
    assert (one.rate, one.cost().pure) == (2, 2)
    assert np.allclose(one.law([5, 9, 8, 0]), weight / weight.sum(), rtol=1e-12)
    other = PermuteAndFlip(names, F(2), moved)
    assert other.cost() == PureCost(F(2))
    assert ("PERMUTE-AND-FLIP" in flipped.theorems, "BOUNDED-RANGE" in ranged.theorems) == (True, True)
    orders = np.zeros(4)
    for order in (o for o in product(range(4), repeat=4) if len(set(o)) == 4):
        missed = 1.0
        for place in order:
            orders[place] += missed * weight[place] / 24
            missed *= 1 - weight[place]
    assert np.allclose(other.law([5, 9, 8, 0]), orders, rtol=1e-12)
    assert np.allclose(flip_law(np.array([1.0])), [1])
    many = np.array([1, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2])
    for place, p in enumerate(many):  # p times the integral over u of the product of 1 - u q over all others
        polynomial = np.polynomial.Polynomial([1.0])
        for q in np.delete(many, place):
            polynomial *= np.polynomial.Polynomial([1, -q])
        assert flip_law(many)[place] == pytest.approx(p * polynomial.integ()(1), rel=1e-11)
    for flips, kind in ((True, PermuteAndFlip), (False, ExponentialMechanism)):
        one_of, plain = TopK(names, 1, F(2), moved, flips), kind(names, F(2), moved)
        drawn = [
            (one_of.release([3, 4, 4, 2], Seeded(k)), plain.release([3, 4, 4, 2], Seeded(k)))
            for k in range(30)
        ]
        assert all(found == (expected,) for found, expected in drawn)
        assert refused(lambda one_of=one_of: one_of.release([1, 2, 3], Seeded(1)))
    long = PermuteAndFlip(tuple(range(2001)), F(2), moved)
    assert refused(lambda: long.law([0] * 2001))
    assert not refused(lambda: PermuteAndFlip(tuple(range(2000)), F(2), moved).law([0] * 2000))
    found = [other.release([0, 1, 1, 0], Seeded(k)) for k in range(300)]
    law = dict(zip(names, other.law([0, 1, 1, 0]), strict=True))
    for name, p in law.items():
        assert abs(found.count(name) / 300 - p) < 5 * math.sqrt(p * (1 - p) / 300)


def test_a_strategy_fits_the_cells_that_are_counted() -> None:
    """Mutants: a strategy of one's own, one table of several that fits, another order of axes."""

    class Own:
        cells = 6

    one = {(0,): [2, 3]}
    square, both = (
        Strategy("s", np.eye(6, dtype=np.int64)),
        [Strategy("a", np.eye(n, dtype=np.int64)) for n in (2, 3)],
    )
    found = [
        workload._fits(kind, one)
        for kind in (
            EachCell(6, total=True),
            square,
            Product(both),
            Own(),
            EachCell(5, total=False),
            Product(both[::-1]),
        )
    ]
    assert found == [True, True, True, False, False, False]
    residuals = Residuals([ResidualAttribute(2), ResidualAttribute(3)], {(0,): 1, (1,): 1})
    for sizes, fits in (
        ({(0,): [2], (1,): [3]}, True),
        ({(0,): [2], (1,): [4]}, False),
        ({(0,): [2]}, False),
        ({(0,): [3], (1,): [3]}, False),
    ):
        assert workload._fits(residuals, sizes) == fits
    assert not workload._fits(square, {(0,): [2], (1,): [3]})
