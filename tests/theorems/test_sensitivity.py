"""Both neighbor relations against brute force on small tables, and radii against smallest balls."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adyton.kernel.privacy import PrivacyUnit
from adyton.kernel.schema import BooleanColumn, CategoryColumn, IntegerColumn, Table
from adyton.kernel.sensitivity import Sensitivity
from adyton.kernel.terms.leaves import IsTrue, ValueOf
from adyton.kernel.terms.measures import Cdf, Count, CountPersons, Mean, Measure, Proportion, Sum, Variance
from adyton.planning.readings import readings_of
from adyton.query.labels import group_values
from adyton.query.nodes import Query

bounds = st.integers(-2, 2)
boxes = st.tuples(bounds, bounds).map(lambda b: (min(b), max(b)))
ONE = Fraction(1)


def _points(sensitivity: Sensitivity) -> list[np.ndarray]:
    """Everything one unit can add: sums of as many points as it has rows."""
    one, points = (
        _points_of_a_row(sensitivity),
        [np.zeros((sensitivity.cells, len(sensitivity.boxes)), dtype=int)],
    )
    for _ in range(sensitivity.rows):
        sums = {(p + q).tobytes(): p + q for p in points for q in one}
        points = list(sums.values())
    return points


def _points_of_a_row(sensitivity: Sensitivity) -> list[np.ndarray]:
    """By enumeration: nothing, or a point of the box in one cell."""
    width = len(sensitivity.boxes)
    points = [np.zeros((sensitivity.cells, width), dtype=int)]
    for cell in range(sensitivity.cells):
        for v in itertools.product(*(range(low, high + 1) for low, high in sensitivity.boxes)):
            point = np.zeros((sensitivity.cells, width), dtype=int)
            point[cell] = v
            points.append(point)
    return points


def _moves(sensitivity: Sensitivity) -> np.ndarray:
    """All differences between neighbors: against every other unit, or against none."""
    points = np.array(_points(sensitivity))
    others = points if sensitivity.adjacency == "replace-one" else np.zeros_like(points[:1])
    return (points[:, None] - others[None, :]).reshape(-1, *points.shape[1:])


sensitivities = st.builds(
    Sensitivity,
    boxes=st.lists(boxes, min_size=1, max_size=2).map(tuple),
    cells=st.integers(1, 3),
    adjacency=st.sampled_from(["replace-one", "add-remove"]),
) | st.builds(
    Sensitivity,
    boxes=st.lists(st.sampled_from([(1, 1), (-1, 1), (0, 1), (-1, 0)]), min_size=1, max_size=2).map(tuple),
    cells=st.integers(1, 2),
    adjacency=st.sampled_from(["replace-one", "add-remove"]),
    rows=st.integers(2, 3),
)
# One over a whole number, so that the brute force stays in integers.
scale_pairs = st.tuples(*[st.integers(1, 5).map(lambda w: Fraction(1, w))] * 2)


def _weights(scales: tuple[Fraction, ...]) -> np.ndarray:
    return np.array([int(1 / s) for s in scales])


@given(sensitivity=sensitivities, pair=scale_pairs)
def test_theorem_L1_SENSITIVITY_equals_brute_force(
    sensitivity: Sensitivity, pair: tuple[Fraction, Fraction]
) -> None:
    scales = pair[: len(sensitivity.boxes)]
    moves = np.abs(_moves(sensitivity)) * _weights(scales)
    assert sensitivity.l1_diameter(scales) == int(moves.sum(axis=(1, 2)).max())


@given(sensitivity=sensitivities, pair=scale_pairs)
def test_theorem_L2_SENSITIVITY_equals_brute_force(
    sensitivity: Sensitivity, pair: tuple[Fraction, Fraction]
) -> None:
    scales = pair[: len(sensitivity.boxes)]
    moves = (_moves(sensitivity) * _weights(scales)) ** 2
    assert sensitivity.l2_diameter_squared(scales) == int(moves.sum(axis=(1, 2)).max())


def _smallest_ball_squared(points: np.ndarray) -> float:
    """Badoiu-Clarkson: step towards the farthest point; converges from above within 1/sqrt(steps)."""
    centre = points.mean(axis=0)
    for step in range(1, 3000):
        farthest = points[((points - centre) ** 2).sum(axis=1).argmax()]
        centre = centre + (farthest - centre) / (step + 1)
    return float(((points - centre) ** 2).sum(axis=1).max())


def _scaled_points(sensitivity: Sensitivity, scales: tuple[Fraction, ...]) -> np.ndarray:
    divisor = np.array([float(s) for s in scales])
    return np.array([(p / divisor).ravel() for p in _points(sensitivity)])


def _no_ball_is_smaller_squared(points: np.ndarray) -> float:
    """For any weights that sum to 1 a ball that holds the points has a squared radius of at least the weighted
    mean of |p|^2 less |weighted mean of p|^2; the steps towards the farthest point make good weights.
    """
    weights, squares = np.full(len(points), 1 / len(points)), (points**2).sum(axis=1)
    best = 0.0
    for step in range(1, 200):
        centre = weights @ points
        best = max(best, float(weights @ squares - centre @ centre))
        weights *= step / (step + 1)
        weights[((points - centre) ** 2).sum(axis=1).argmax()] += 1 / (step + 1)
    return best


@given(sensitivity=sensitivities, pair=scale_pairs)
def test_theorem_L2_RADIUS_some_ball_of_this_radius_holds_every_unit(
    sensitivity: Sensitivity, pair: tuple[Fraction, Fraction]
) -> None:
    """A radius below that of the smallest ball would make every population interval too narrow."""
    scales = pair[: len(sensitivity.boxes)]
    points = _scaled_points(sensitivity, scales)
    radius_squared = float(sensitivity.l2_radius_squared(scales))
    assert radius_squared >= _no_ball_is_smaller_squared(points) * (1 - 1e-12)


@pytest.mark.parametrize(
    ("boxes", "cells"),
    [
        (((1, 1),), 1),
        (((1, 1),), 2),
        (((1, 1),), 5),
        (((0, 4),), 1),
        (((2, 4),), 1),
        (((-3, 3), (1, 1)), 1),
        (((-1, 1), (1, 1)), 1),
        (((-3, 3), (1, 1)), 3),
        (((-4, -1),), 1),
    ],
)
def test_theorem_L2_RADIUS_is_the_smallest_ball_for_the_queries_we_ask(
    boxes: tuple[tuple[int, int], ...], cells: int
) -> None:
    sensitivity = Sensitivity(boxes, cells, "replace-one")
    scales = (ONE,) * len(boxes)
    smallest = _smallest_ball_squared(_scaled_points(sensitivity, scales))
    radius_squared = float(sensitivity.l2_radius_squared(scales))
    assert radius_squared >= smallest * 0.995  # the search stops within half a per cent
    assert radius_squared <= smallest * 1.005


@given(sensitivity=sensitivities, pair=scale_pairs)
def test_theorem_L1_RADIUS_some_point_is_this_near_to_every_unit(
    sensitivity: Sensitivity, pair: tuple[Fraction, Fraction]
) -> None:
    scales = pair[: len(sensitivity.boxes)]
    centre = [Fraction(0)] * len(scales)
    if sensitivity.cells == 1:
        centre = [
            sensitivity.rows * Fraction(min(low, 0) + max(high, 0), 2) for low, high in sensitivity.boxes
        ]
    reach = max(
        sum(
            (abs(int(v) - c) / s for row in p for v, c, s in zip(row, centre, scales, strict=True)),
            Fraction(0),
        )
        for p in _points(sensitivity)
    )
    assert sensitivity.l1_radius(scales) >= reach


@given(sensitivity=sensitivities, pair=scale_pairs, factor=st.fractions(1, 4))
def test_law_more_noise_never_costs_more(
    sensitivity: Sensitivity, pair: tuple[Fraction, Fraction], factor: Fraction
) -> None:
    scales = pair[: len(sensitivity.boxes)]
    louder = tuple(s * factor for s in scales)
    for distance in ("l1_diameter", "l2_diameter_squared", "l1_radius", "l2_radius_squared"):
        assert getattr(sensitivity, distance)(louder) <= getattr(sensitivity, distance)(scales)


# A value and its square ------------------------------------------------------------------------------------

STEPS = 24  # of u from 0 to 1: an even number, so that u = 1/2 is one of them


def _curve(values: np.ndarray, cells: int, scales: tuple[Fraction, ...]) -> np.ndarray:
    """What one row can add to the numbers behind a variance, in noise: (u, 2 u^2 - 1, 1) in one of the cells."""
    points = np.stack([values, 2 * values**2 - 1, np.ones_like(values)], axis=1) / [float(s) for s in scales]
    wide = np.zeros((cells * len(values) + 1, cells, 3))
    for cell in range(cells):
        wide[1 + cell * len(values) : 1 + (cell + 1) * len(values), cell] = points
    return wide.reshape(len(wide), -1)


def _of_a_variance(cells: int, adjacency: str, rows: int = 1) -> Sensitivity:
    return Sensitivity(((-1, 1), (-1, 1), (1, 1)), cells, adjacency, rows, curved=True)  # type: ignore[arg-type]


def _diameters(points: np.ndarray, adjacency: str) -> tuple[float, float]:
    others = points if adjacency == "replace-one" else np.zeros_like(points[:1])
    moves = points[:, None] - others[None, :]
    return float(np.abs(moves).sum(axis=2).max()), float((moves**2).sum(axis=2).max())


@given(
    cells=st.integers(1, 2),
    adjacency=st.sampled_from(["replace-one", "add-remove"]),
    scales=st.tuples(*[st.fractions(Fraction(1, 8), 8, max_denominator=16)] * 3),
)
def test_theorem_L2_SENSITIVITY_of_a_value_and_its_square(
    cells: int, adjacency: str, scales: tuple[Fraction, Fraction, Fraction]
) -> None:
    """Never less than the farthest pair of many, in L1 and in L2, and hardly more: the grid misses the best
    place by half a step at most, which is the difference that is allowed.
    """
    sensitivity = _of_a_variance(cells, adjacency)
    l1, l2 = _diameters(_curve(np.arange(-STEPS, STEPS + 1) / STEPS, cells, scales), adjacency)
    assert l1 * (1 - 1e-12) <= sensitivity.l1_diameter(scales) <= l1 * (1 + 1 / STEPS)
    assert l2 * (1 - 1e-12) <= sensitivity.l2_diameter_squared(scales) <= l2 * (1 + 2 / STEPS)
    boxed = replace(sensitivity, curved=False)
    assert sensitivity.l1_diameter(scales) <= boxed.l1_diameter(scales)
    assert sensitivity.l2_diameter_squared(scales) <= boxed.l2_diameter_squared(scales)


def test_theorem_L1_SENSITIVITY_two_points_of_the_curve_are_so_far_apart() -> None:
    """The best pair is known where the roots are rational: then the bound is attained, to the last digit."""
    one = _of_a_variance(1, "replace-one")
    far = Fraction(1000)  # so much noise on the count that it does not decide
    # L1, equal noise: from u = -1/4 to u = 1.
    assert one.l1_diameter((ONE, ONE, far)) == Fraction(5, 4) + 2 * (1 - Fraction(1, 16)) == Fraction(25, 8)
    # Squared L2, the noises of value and square as 9 to 8: the root is 7/9, from u = -1/9 to u = 1.
    p, r, root = Fraction(1, 81), Fraction(1, 64), Fraction(7, 9)
    assert 1 - p / (2 * r) == root**2
    inside = p * (1 + Fraction(1, 9)) ** 2 + r * (2 * (1 - Fraction(1, 81))) ** 2
    assert (
        4 * p
        < inside
        <= one.l2_diameter_squared((Fraction(9), Fraction(8), far))
        <= inside + Fraction(1, 10**15)
    )
    # As 3 to 4: now the ends decide, and the square comes for free.
    assert one.l2_diameter_squared((Fraction(3), Fraction(4), far)) == Fraction(4, 9)


def test_theorem_L2_SENSITIVITY_of_persons_and_the_middle_between_steps() -> None:
    """Whole tables: all pairs of rows, and of persons with two of them, through the reading of the query."""
    for adjacency, by, rows in itertools.product(["replace-one", "add-remove"], [(), (REGION,)], [1, 2]):
        query = Query(PEOPLE, (("value", Variance(ValueOf(AGE))),), by=by)
        unit = PrivacyUnit(adjacency, "who" if rows > 1 else None, rows)  # type: ignore[arg-type]
        (reading,) = readings_of(query, unit)
        assert reading.sensitivity.curved
        people = [{"age": age, "smoker": True, "region": r} for age in (-1, 0, 1, 2, None) for r in "ab"]
        units = [list(u) for n in range(rows + 1) for u in itertools.combinations_with_replacement(people, n)]
        vectors = np.unique([_vector(query, unit, one) for one in units], axis=0)
        scales = tuple(Fraction(high) for _, high in reading.sensitivity.boxes)
        l1, l2 = _diameters(vectors / np.tile([float(s) for s in scales], 2 if by else 1), adjacency)
        assert float(reading.sensitivity.l1_diameter(scales)) >= l1 * (1 - 1e-12)
        assert float(reading.sensitivity.l2_diameter_squared(scales)) >= l2 * (1 - 1e-12)
        if by or adjacency == "add-remove":  # the ends of the bounds are on the step
            assert float(reading.sensitivity.l1_diameter(scales)) == pytest.approx(l1)
            assert float(reading.sensitivity.l2_diameter_squared(scales)) == pytest.approx(l2)


@given(cells=st.integers(1, 3), scales=st.tuples(*[st.fractions(Fraction(1, 4), 4, max_denominator=16)] * 3))
def test_theorem_L2_RADIUS_of_a_value_and_its_square(
    cells: int, scales: tuple[Fraction, Fraction, Fraction]
) -> None:
    points = _curve(np.arange(-8, 9) / 8, cells, scales)
    radius_squared = float(_of_a_variance(cells, "replace-one").l2_radius_squared(scales))
    assert radius_squared >= _no_ball_is_smaller_squared(points) * (1 - 1e-12)


# A unit whose share of each cell is bounded, not its rows --------------------------------------------------

shares = st.builds(
    Sensitivity,
    boxes=st.lists(st.sampled_from([(1, 1), (-1, 1), (0, 2), (-2, -1)]), min_size=1, max_size=2).map(tuple),
    cells=st.integers(2, 4),
    adjacency=st.sampled_from(["replace-one", "add-remove"]),
    touched=st.integers(1, 2),
) | st.builds(
    Sensitivity,
    boxes=st.sampled_from([(1, 1), (-1, 1), (-1, 2), (-2, -1)]).map(lambda box: (box,)),
    cells=st.integers(3, 5),
    adjacency=st.just("replace-one"),
    touched=st.integers(1, 3),
)


def _shares(sensitivity: Sensitivity) -> np.ndarray:
    """Everything one unit can add: nothing, or a corner of the box, in each of at most ``touched`` cells."""
    nothing = (0,) * len(sensitivity.boxes)
    corners = [nothing, *itertools.product(*sensitivity.boxes)]
    wholes = itertools.product(dict.fromkeys(corners), repeat=sensitivity.cells)
    return np.array([w for w in wholes if sum(cell != nothing for cell in w) <= sensitivity.touched])


@given(sensitivity=shares, pair=scale_pairs)
def test_theorem_L1_SENSITIVITY_of_shares_of_several_cells(
    sensitivity: Sensitivity, pair: tuple[Fraction, Fraction]
) -> None:
    """Exactly the farthest pair, in L1 and in L2, also where two units cannot keep out of each other's cells."""
    scales = pair[: len(sensitivity.boxes)]
    points = _shares(sensitivity)
    others = points if sensitivity.adjacency == "replace-one" else np.zeros_like(points[:1])
    moves = (points[:, None] - others[None, :]).reshape(-1, *points.shape[1:]) * _weights(scales)
    l1, l2 = int(np.abs(moves).sum(axis=(1, 2)).max()), int((moves**2).sum(axis=(1, 2)).max())
    assert sensitivity.l1_diameter(scales) == l1
    assert sensitivity.l2_diameter_squared(scales) == l2


@pytest.mark.parametrize(
    ("groups", "cells", "moved"), [(1, 1, 1), (1, 3, 2), (2, 3, 3), (3, 3, 3), (2, 9, 4)]
)
def test_theorem_L1_SENSITIVITY_of_persons_counted_in_few_groups(groups: int, cells: int, moved: int) -> None:
    """The one leaves its groups and the other enters its own: no more than there are."""
    region = CategoryColumn("region", tuple("abcdefghi"[:cells]))
    table = Table("people", (AGE, region), rows=9, person="who")
    unit = PrivacyUnit("replace-one", "who", groups)
    (reading,) = readings_of(Query(table, (("n", CountPersons()),), by=(region,)), unit)
    assert reading.sensitivity.l1_diameter((ONE,)) == moved
    assert reading.sensitivity.l2_diameter_squared((ONE,)) == moved


@given(sensitivity=shares, pair=scale_pairs)
def test_theorem_L2_RADIUS_of_shares_of_several_cells(
    sensitivity: Sensitivity, pair: tuple[Fraction, Fraction]
) -> None:
    scales = pair[: len(sensitivity.boxes)]
    points = _shares(sensitivity) * _weights(scales)
    flat = points.reshape(len(points), -1).astype(float)
    assert float(sensitivity.l2_radius_squared(scales)) >= _no_ball_is_smaller_squared(flat) * (1 - 1e-12)
    assert sensitivity.l1_radius(scales) >= int(np.abs(points).sum(axis=(1, 2)).max())


# The same, from the query to whole tables ---------------------------------------------------------------

AGE = IntegerColumn("age", -1, 2)
SMOKER = BooleanColumn("smoker")
REGION = CategoryColumn("region", ("a", "b"))
OR_NULL = replace(REGION, missing=True)
PEOPLE = Table("people", (AGE, SMOKER, REGION), rows=2)
ROWS = [
    {"age": age, "smoker": smoker, "region": region}
    for age in (-1, 0, 2, None)
    for smoker in (False, True, None)
    for region in ("a", "b", None)
]
MEASURES: list[Measure] = [
    Count(),
    Count(IsTrue(SMOKER)),
    Sum(ValueOf(AGE)),
    Mean(ValueOf(AGE)),
    Proportion(IsTrue(SMOKER)),
]


def _vector(query: Query, unit: PrivacyUnit, rows: list[dict[str, object]]) -> list[int]:
    """What the engine would read, by a plain loop."""
    from support.strategies import evaluate_condition, evaluate_number

    (reading,) = readings_of(query, unit)
    keys = list(itertools.product(*map(group_values, reading.by)))
    sums = {key: [0] * len(reading.coordinates) for key in keys}
    for row in rows:
        key = tuple(row[c.name] for c in reading.by)
        values = [None if c.value is None else evaluate_number(c.value, row) for c in reading.coordinates]
        absent = any(
            c.value is not None and v is None for c, v in zip(reading.coordinates, values, strict=True)
        )
        if key not in sums or absent or evaluate_condition(reading.where, row) is not True:
            continue
        for i, (c, v) in enumerate(zip(reading.coordinates, values, strict=True)):
            sums[key][i] += c.times if v is None else c.times * v - c.minus
    return [x for key in keys for x in sums[key]]


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
@pytest.mark.parametrize("by", [(), (REGION,), (SMOKER, REGION), (OR_NULL,), (SMOKER, OR_NULL)])
@pytest.mark.parametrize("measure", MEASURES, ids=lambda m: type(m).__name__)
def test_theorem_L2_SENSITIVITY_of_whole_queries_on_all_neighboring_tables(
    measure: Measure, by: tuple[BooleanColumn | CategoryColumn, ...], adjacency: str
) -> None:
    """Also where rows without a region are a group of their own: a unit may leave any group and enter it."""
    table = replace(PEOPLE, columns=(AGE, SMOKER, OR_NULL if OR_NULL in by else REGION))
    query = Query(table, (("value", measure),), by=by)
    unit = PrivacyUnit(adjacency)  # type: ignore[arg-type]
    (reading,) = readings_of(query, unit)
    scales = (ONE,) * len(reading.coordinates)
    base = [{"age": 2, "smoker": True, "region": "a"}]
    without = _vector(query, unit, base)
    with_each = [_vector(query, unit, [*base, row]) for row in ROWS]
    if adjacency == "replace-one":
        pairs = [(one, other) for one in with_each for other in with_each]
    else:
        pairs = [(without, one) for one in with_each]
    if measure == Count() and not by and adjacency == "replace-one":
        pairs.append((without, with_each[0]))  # priced as if a row could be missing: never too little
    moves = [np.subtract(x, y) for x, y in pairs]
    assert reading.sensitivity.l1_diameter(scales) == max(int(np.abs(m).sum()) for m in moves)
    assert reading.sensitivity.l2_diameter_squared(scales) == max(int((m**2).sum()) for m in moves)


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
@pytest.mark.parametrize("by", [(), (REGION,), (OR_NULL,)])
@pytest.mark.parametrize("measure", MEASURES, ids=lambda m: type(m).__name__)
def test_theorem_L1_SENSITIVITY_of_persons_with_two_rows(
    measure: Measure, by: tuple[CategoryColumn, ...], adjacency: str
) -> None:
    """All persons of at most two rows, against all others (replace-one) or against nobody (add-remove)."""
    table = replace(PEOPLE, columns=(AGE, SMOKER, OR_NULL if OR_NULL in by else REGION))
    query = Query(table, (("value", measure),), by=by)
    unit = PrivacyUnit(adjacency, "who", 2)  # type: ignore[arg-type]
    (reading,) = readings_of(query, unit)
    scales = (ONE,) * len(reading.coordinates)
    rows = [r for r in ROWS if r["age"] != 0 and r["smoker"] is not None]
    persons = [
        [],
        *([r] for r in rows),
        *([a, b] for a, b in itertools.combinations_with_replacement(rows, 2)),
    ]
    vectors = np.unique([_vector(query, unit, person) for person in persons], axis=0)
    others = vectors if adjacency == "replace-one" else np.array([_vector(query, unit, [])])
    moves = [a - b for a in vectors for b in others]
    assert reading.sensitivity.l1_diameter(scales) == max(int(np.abs(m).sum()) for m in moves)
    assert reading.sensitivity.l2_diameter_squared(scales) == max(int((m**2).sum()) for m in moves)


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
@pytest.mark.parametrize("by", [(), (REGION,)])
@pytest.mark.parametrize("rows", [1, 2])
def test_theorem_L2_SENSITIVITY_of_a_distribution_counts_bins_as_cells(
    rows: int, by: tuple[CategoryColumn, ...], adjacency: str
) -> None:
    """A unit that is exchanged may leave one bin and enter another, with groups and without."""
    points = (Fraction(-1), Fraction(0), Fraction(1))
    query = Query(PEOPLE, (("value", Cdf(ValueOf(AGE), points)),), by=by)
    unit = PrivacyUnit(adjacency, "who" if rows > 1 else None, rows)  # type: ignore[arg-type]
    (reading,) = readings_of(query, unit)
    bins = [
        [int(sum(point < age for point in points) == place) for place in range(len(points) + 1)]
        for age in (-1, 0, 1, 2)
    ]
    cells = 2 if by else 1
    one = [
        np.zeros(4 * cells, int),
        *(np.pad(b, (4 * c, 4 * (cells - 1 - c))) for b in bins for c in range(cells)),
    ]
    units = [sum(chosen) for chosen in itertools.product(one, repeat=rows)]
    others = units if adjacency == "replace-one" else [np.zeros(4 * cells, int)]
    moves = [a - b for a in units for b in others]
    assert reading.sensitivity.l1_diameter((ONE,)) == max(int(np.abs(m).sum()) for m in moves)
    assert reading.sensitivity.l2_diameter_squared((ONE,)) == max(int((m**2).sum()) for m in moves)
    least = _no_ball_is_smaller_squared(np.array(units, dtype=float))
    assert float(reading.sensitivity.l2_radius_squared((ONE,))) >= least * (1 - 1e-12)


def test_theorem_L1_SENSITIVITY_a_denominator_is_public_for_one_row_only() -> None:
    """Exchanging a person of two rows for one of one row changes how many rows there are."""
    query = Query(PEOPLE, (("value", Proportion(IsTrue(SMOKER))),))
    denominators = {
        unit: readings_of(query, unit)[0].public_rows
        for unit in (
            PrivacyUnit("replace-one"),
            PrivacyUnit("add-remove"),
            PrivacyUnit("replace-one", "who", 1),
            PrivacyUnit("replace-one", "who", 2),
        )
    }
    assert list(denominators.values()) == [PEOPLE.rows, None, PEOPLE.rows, None]
