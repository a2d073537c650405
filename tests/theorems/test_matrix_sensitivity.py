"""Strategies and workloads against their written-out matrices, and sensitivities against brute force."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adyton.errors import InvalidRequest
from adyton.kernel.privacy import ADJACENCIES, Adjacency
from adyton.kernel.special.mechanisms.workloads.strategy import Strategy
from adyton.planning.coordinated.linear_query import BoxQuery, WeightedQuery
from adyton.planning.coordinated.range_workload import (
    ExplicitQueries,
    IdentityQueries,
    LinearQueries,
    Prefixes,
    Ranges,
)
from adyton.planning.coordinated.strategies import identity, tree, wavelet
from adyton.planning.coordinated.strategy_choice import with_free_total
from literature.marginals import Marginals

matrices = st.tuples(st.integers(1, 4), st.integers(1, 4)).flatmap(
    lambda s: st.lists(
        st.lists(st.integers(-5, 5), min_size=s[1], max_size=s[1]), min_size=s[0], max_size=s[0]
    )
)
nonzero = matrices.filter(lambda rows: any(any(row) for row in rows))
neighborhoods = st.sampled_from(ADJACENCIES)


def neighboring(cells: int, adjacency: Adjacency) -> list[tuple[np.ndarray, np.ndarray]]:
    """Every pair of neighboring tables of one or two units, as histograms."""
    places = [None, *range(cells)]  # where a unit can be

    def histogram(units: tuple[int | None, ...]) -> np.ndarray:
        return np.array([sum(u == c for u in units) for c in range(cells)], dtype=np.int64)

    pairs = []
    for fixed in places:
        if adjacency == "add-remove":
            pairs += [(histogram((fixed,)), histogram((fixed, u))) for u in places]
        else:
            pairs += [(histogram((fixed, u)), histogram((fixed, v))) for u in places for v in places]
    return pairs


@given(rows=nonzero, adjacency=neighborhoods)
@settings(deadline=None, derandomize=True)
def test_theorem_STRATEGY_SENSITIVITY_equals_brute_force_over_adjacency(
    rows: list[list[int]], adjacency: Adjacency
) -> None:
    strategy = Strategy("any", np.array(rows))
    moves = [strategy.measure(x) - strategy.measure(y) for x, y in neighboring(strategy.cells, adjacency)]
    assert strategy.l2_diameter_squared(adjacency) == max(int((m * m).sum()) for m in moves)
    assert strategy.l1_diameter(adjacency) == max(int(np.abs(m).sum()) for m in moves)


@given(rows=nonzero)
@settings(max_examples=40, deadline=None, derandomize=True)
def test_theorem_STRATEGY_SENSITIVITY_the_ball_holds_every_column_and_zero(rows: list[list[int]]) -> None:
    """Never below half the diameter, and for these small matrices within a hundredth of the smallest ball."""
    strategy = Strategy("any", np.array(rows))
    points = np.concatenate([np.array(rows).T, np.zeros((1, len(rows)))])
    half_diameter_squared = max(float(((a - b) ** 2).sum()) / 4 for a in points for b in points)
    radius_squared = float(strategy.l2_radius_squared())
    assert radius_squared >= half_diameter_squared * (1 - 1e-12)
    centre = points.mean(axis=0)
    for step in range(1, 3000):
        farthest = points[((points - centre) ** 2).sum(axis=1).argmax()]
        centre = centre + (farthest - centre) / (step + 1)
    smallest = float(((points - centre) ** 2).sum(axis=1).max())
    assert smallest * 0.98 <= radius_squared <= smallest * 1.02


@given(rows=nonzero, data=st.data())
@settings(max_examples=40, deadline=None, derandomize=True)
def test_theorem_STRATEGY_SENSITIVITY_a_radius_is_exact_from_any_center(
    rows: list[list[int]], data: st.DataObject
) -> None:
    """A radius is judged exactly from any center."""
    strategy = Strategy("any", np.array(rows))
    centre = data.draw(st.lists(st.integers(-9000, 9000), min_size=len(rows), max_size=len(rows)))
    points = [*zip(*rows, strict=True), (0,) * len(rows)]
    reach = max(
        sum((Fraction(v) - Fraction(c, 1024)) ** 2 for v, c in zip(point, centre, strict=True))
        for point in points
    )
    assert strategy._reach_squared(np.array(centre)) == reach


def test_theorem_STRATEGY_SENSITIVITY_known_radii() -> None:
    assert identity(1).l2_radius_squared() == Fraction(1, 4)  # a count
    assert identity(5).l2_radius_squared() == pytest.approx(1 - 1 / 5, rel=1e-5)  # a histogram
    assert identity(5).l2_diameter_squared("replace-one") == 2
    assert tree(16, 4).l2_diameter_squared("add-remove") == 3
    assert wavelet(16).l2_diameter_squared("replace-one") == 10


@pytest.mark.parametrize("cells", [1, 2, 3, 5, 8, 13, 16])
@pytest.mark.parametrize("make", [identity, wavelet, tree, lambda m: tree(m, 2), lambda m: tree(m, 3)])
def test_built_strategies_measure_what_they_say_and_determine_every_cell(make, cells: int) -> None:
    strategy = make(cells)
    assert set(np.unique(strategy.matrix)) <= {-1, 0, 1}
    assert np.linalg.matrix_rank(strategy.matrix) == cells
    assert strategy.matrix.any(axis=1).all()
    histogram = np.arange(1, cells + 1)
    assert strategy.measure(histogram).tolist() == [
        sum(int(a) * int(x) for a, x in zip(row, histogram, strict=True)) for row in strategy.matrix
    ]


@pytest.mark.parametrize(
    "strategy", [identity(6), tree(6, 2), wavelet(7), Strategy("few", np.array([[3, -1, 2]]))]
)
def test_the_free_total_is_free_under_replace(strategy: Strategy) -> None:
    richer = with_free_total(strategy)
    assert richer.l2_diameter_squared("replace-one") == strategy.l2_diameter_squared("replace-one")


def test_a_count_too_large_for_64_bits_neither_raises_nor_warns() -> None:
    """It wraps, and the noise with it: a function of the true noisy sum, so nobody is given away."""
    huge = np.full(4, 2**62, dtype=np.int64)
    wrapped = (4 * 2**62 + 2**63) % 2**64 - 2**63
    assert tree(4, 4).measure(huge).tolist() == [wrapped, *([2**62] * 4)]


@pytest.mark.parametrize(
    "matrix",
    [
        np.zeros((2, 2), dtype=int),
        np.ones((2, 2)),
        np.ones(3, dtype=int),
        np.full((1, 2), 2**27),
        np.zeros((0, 3), dtype=int),
    ],
)
def test_a_strategy_that_could_be_rounded_is_refused(matrix: np.ndarray) -> None:
    with pytest.raises(InvalidRequest):
        Strategy("bad", matrix)


# Workloads against their definitions, written out -----------------------------------------------------------


def written_out(workload: LinearQueries) -> np.ndarray:
    match workload:
        case IdentityQueries(m):
            rows = [[float(i == c) for c in range(m)] for i in range(m)]
        case Prefixes(m):
            rows = [[float(c <= i) for c in range(m)] for i in range(m)]
        case Ranges(m):
            rows = [[float(i <= c <= j) for c in range(m)] for i in range(m) for j in range(i, m)]
        case Marginals(shape, ways):
            cells = list(itertools.product(*map(range, shape)))
            rows = [
                [float(tuple(cell[a] for a in kept) == wanted) for cell in cells]
                for kept in itertools.combinations(range(len(shape)), ways)
                for wanted in itertools.product(*(range(shape[a]) for a in kept))
            ]
        case _:
            raise AssertionError
    return np.array(rows)


WORKLOADS: list[LinearQueries] = [
    IdentityQueries(1),
    IdentityQueries(5),
    Prefixes(6),
    Ranges(1),
    Ranges(7),
    *(Marginals((2, 3, 2), ways) for ways in range(4)),
]


@pytest.mark.parametrize("workload", WORKLOADS, ids=repr)
def test_an_implicit_workload_is_its_matrix(workload: LinearQueries) -> None:
    matrix = written_out(workload)
    random = np.random.Generator(np.random.Philox(1))
    histogram = random.integers(0, 100, workload.cells)
    square = random.normal(size=(workload.cells, workload.cells))
    covariance = square @ square.T
    assert matrix.shape == (workload.queries, workload.cells)
    assert np.array_equal(workload.numerators(histogram), matrix @ histogram)
    assert workload.numerators(histogram).dtype == np.int64
    assert np.array_equal(workload.gram(), matrix.T @ matrix)
    assert np.allclose(workload.variances(covariance), np.diag(matrix @ covariance @ matrix.T))
    for index, row in enumerate(matrix):
        query, weights = workload.query(index), np.zeros(workload.cells)
        query.spread(1.0, weights)
        assert np.array_equal(weights, row)
        assert query.numerator(histogram) == row @ histogram


@given(rows=matrices, denominator=st.integers(1, 6))
@settings(max_examples=40, deadline=None, derandomize=True)
def test_written_out_queries_keep_their_fractions(rows: list[list[int]], denominator: int) -> None:
    exact = [[Fraction(w, denominator) for w in row] for row in rows]
    workload = ExplicitQueries(exact)
    matrix = np.array(exact, dtype=float)
    histogram = np.arange(workload.cells)
    expected = [sum((w * int(x) for w, x in zip(row, histogram, strict=True)), Fraction(0)) for row in exact]
    assert [Fraction(int(n), workload.denominator) for n in workload.numerators(histogram)] == expected
    assert np.allclose(workload.gram(), matrix.T @ matrix)
    assert np.allclose(workload.variances(np.eye(workload.cells)), (matrix**2).sum(axis=1))
    assert workload.fractional == (matrix.min() >= 0 and matrix.max() <= 1)


@given(
    shape=st.lists(st.integers(1, 4), min_size=1, max_size=3),
    data=st.data(),
)
@settings(max_examples=60, deadline=None, derandomize=True)
def test_a_box_is_its_indicator(shape: list[int], data: st.DataObject) -> None:
    axes = data.draw(st.sets(st.integers(0, len(shape) - 1)))
    chosen = {a: sorted(data.draw(st.sets(st.integers(0, shape[a] - 1), min_size=1))) for a in sorted(axes)}
    box = BoxQuery(shape, chosen)
    inside = np.array(
        [
            all(cell[a] in wanted for a, wanted in chosen.items())
            for cell in itertools.product(*map(range, shape))
        ],
        dtype=np.int64,
    )
    histogram = np.arange(inside.size) + 3
    assert box.numerator(histogram) == inside @ histogram
    spread = np.ones(inside.size)
    box.spread(-0.5, spread)
    assert np.array_equal(spread, 1 - 0.5 * inside)


@pytest.mark.parametrize(
    "make",
    [
        lambda: WeightedQuery([0, 2], 1),
        lambda: WeightedQuery([-1, 1], 1),
        lambda: WeightedQuery([], 1),
        lambda: WeightedQuery([[1]], 1),
        lambda: BoxQuery((2, 2), {2: [0]}),
        lambda: BoxQuery((2, 2), {0: [2]}),
        lambda: BoxQuery((2, 2), {0: []}),
        lambda: BoxQuery((10**5, 10**5), {}),
        lambda: Marginals((2, 2), 3),
        lambda: ExplicitQueries([]),
        lambda: ExplicitQueries([[Fraction(1, 3), Fraction(1, 2**20 + 1)]]),
        lambda: Ranges(4).query(10),
        lambda: Marginals((2, 2), 1).query(4),
        lambda: tree(5, 1),
        lambda: identity(0),
        lambda: identity(5000),
        lambda: identity(2).measure(np.ones(2)),
        lambda: identity(2).measure(np.ones(3, dtype=int)),
        lambda: identity(2).l2_diameter_squared("near"),  # type: ignore[arg-type]
    ],
)
def test_nonsense_is_refused(make) -> None:
    with pytest.raises(InvalidRequest):
        make()
