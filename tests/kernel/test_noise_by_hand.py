"""Noise, grids and searches by hand: which integers come out, what they cost, where a search looks next."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
import pytest

from adyton.errors import InvalidRequest
from adyton.kernel.exact.cells import Cells, whole
from adyton.kernel.exact.outward import UP, float_up, next_up
from adyton.kernel.mechanisms import GaussianNoise, GeometricNoise, base
from adyton.kernel.mechanisms.grid import Grid, NoiseOnAGrid
from adyton.kernel.mechanisms.search import NoisySearch, rounds_for
from adyton.kernel.noise import SystemBits, rounded_gaussian, two_sided_geometric
from adyton.kernel.privacy import GaussianCost, PureCost
from adyton.kernel.sensitivity import Sensitivity
from support.randomness import Seeded

F = Fraction
QUIET = GeometricNoise((F(1, 100),))  # 0 but once in 10**43 draws
ONE = Sensitivity(((-1, 3),), 1, "replace-one")


# Noise -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [0, 1, 16, 17, 40])
def test_noise_is_added_to_each_integer(count: int) -> None:
    """Mutants: noise of another column, a sum that wraps around, a scale that is rounded down."""
    rng, asked = random.Random(count), []

    def draw(scale: float, size: int, bits: object) -> np.ndarray:
        asked.append((scale, size))
        return np.arange(size, dtype=np.int64) * 10 + len(asked)

    columns = [[rng.choice([0, -5, 2**63 - 1, -(2**63), 10**30]) for _ in range(count)] for _ in range(2)]
    found = base.with_noise(columns, (F(1, 3), F(2)), draw, SystemBits())
    assert asked == [(float_up(F(1, 3)), count), (2.0, count)]
    assert F(asked[0][0]) > F(1, 3)
    for k, (own, column) in enumerate(zip(found, columns, strict=True), 1):
        assert list(own) == [value + 10 * i + k for i, value in enumerate(column)]


@pytest.mark.parametrize("steps", [0, 1, 5, 63, 64])
def test_the_quietest_noise_is_looked_for_close_above(steps: int) -> None:
    """Mutants: another step, one more or one fewer of them."""
    looked: list[float] = []

    def scales_of(multiplier: float) -> base.Scales:
        looked.append(multiplier)
        return base.times((F(1), F(3, 2)), multiplier)

    def affordable(scales: base.Scales) -> bool:
        return len(looked) > steps

    if steps == 64:
        with pytest.raises(InvalidRequest, match="no noise scale"):
            base.quietest(scales_of, affordable, 0.1)
        assert len(looked) == 64
        return
    found = base.quietest(scales_of, affordable, 0.1)
    expected = 0.1
    for _ in range(steps):
        expected = next_up(expected * UP)
    assert found == (F(expected), F(1.5 * expected))


def test_what_noise_costs_and_how_far_it_reaches() -> None:
    """Mutants: the other of two scales, the other sensitivity, an error of nothing."""
    for kind, cost, law in (
        (GaussianNoise, GaussianCost, rounded_gaussian),
        (GeometricNoise, PureCost, two_sided_geometric),
    ):
        noise, square = kind((F(2), F(7))), 2 if kind is GaussianNoise else 1
        two = Sensitivity(((-1, 3), (0, 7)), 1, "replace-one")
        assert noise.cost(two) == cost(F(4, 2) ** square + F(7, 7) ** square)
        assert noise.at(0).radius(ONE) == cost(F(2, 2) ** square)
        assert (noise.at(1).scales, noise.at(1, 0).scales) == ((F(7),), (F(7), F(2)))
        assert noise.error(0.9) == law.coverage_radius(2.0, 0.9)
        for price in (F(1, 7), F(3)):
            bought = kind.for_cost(two, price, (F(1), F(2)))
            paid = bought.cost(two)
            assert price * (1 - F(1, 10**12)) <= (paid.mu_squared if square == 2 else paid.epsilon) <= price
            assert float(bought.scales[1] / bought.scales[0]) == pytest.approx(2)
            (scale,) = kind.for_cost(ONE, price).scales
            assert kind((scale,)).cost(ONE) == kind.for_cost(ONE, price).cost(ONE)
        for bad in (F(0), F(10) ** 40):
            with pytest.raises(InvalidRequest):
                kind((F(1), bad))
        drawn = noise.release([[5] * 3, [6] * 2], Seeded(3))
        assert [len(column) for column in drawn] == [3, 2]


# Grids -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("low", [-7, 0, 3])
@pytest.mark.parametrize("step", [1, 2, 3, 4])
@pytest.mark.parametrize("cells", [1, 2, 5])
def test_every_number_is_answered_with_the_middle_of_its_cell(low: int, step: int, cells: int) -> None:
    """Mutants: another middle, another cell for what is farther out, machine integers that wrap around."""
    grid = Grid(low, step, cells)
    parts = [range(low + k * step, low + (k + 1) * step) for k in range(cells)]
    numbers = list(range(-20, 40))
    for values in (whole(numbers), whole([*numbers, 2**80, -(2**80)]), whole([2**63 - 1, 9, -(2**63)])):
        found = grid.rounded(values).tolist()
        for value, middle in zip(values.tolist(), found, strict=True):
            own = next((part for part in parts if value in part), parts[0] if value < low else parts[-1])
            assert middle == own[(step - 1) // 2]
            assert value not in own or abs(value - middle) <= grid.moved
    assert grid.moved == max(abs(value - parts[0][(step - 1) // 2]) for value in parts[0])
    for high in range(low, low + 12):
        over = Grid.over(low, high, step)
        assert (over.low, over.step) == (low, step)
        assert over.step * (over.cells - 1) <= high - low < over.step * over.cells


def test_noise_on_a_grid_is_its_noise_and_the_grid() -> None:
    """Mutants: a cost of its own, an error without the grid's, grids that are not taken along."""
    noise = GaussianNoise((F(2), F(7)))
    both = NoiseOnAGrid(noise, (Grid(0, 4, 9), Grid(-5, 3, 4)))
    two = Sensitivity(((-1, 3), (0, 7)), 1, "replace-one")
    assert (both.cost(two), both.radius(two), both.scales) == (
        noise.cost(two),
        noise.radius(two),
        noise.scales,
    )
    assert (both.gaussian, both.error(0.9)) == (True, noise.error(0.9) + 2)
    assert both.said == ("grid 4", "grid 3")
    assert both.at(1) == NoiseOnAGrid(GaussianNoise((F(7),)), (Grid(-5, 3, 4),))
    plain = noise.release([[5, 50], [6, -9]], Seeded(3))
    on_grid = both.release([[5, 50], [6, -9]], Seeded(3))
    for grid, column, own in zip(both.grids, plain, on_grid, strict=True):
        assert list(own) == grid.rounded(whole(column)).tolist()


# Searches --------------------------------------------------------------------------------------------------


def walked(search: NoisySearch, count_at: Callable[[int], int]) -> tuple[list[int], int]:
    """Where one cell is looked at, and where the search ends: for one cell, in plain words."""
    low, high, places = 0, search.candidates - 1, list[int]()
    for _ in range(rounds_for(search.candidates)):
        places.append((low + high) // 2)
        if count_at(places[-1]) < 0:
            low = min(places[-1] + 1, high)
        else:
            high = places[-1]
    found = left_end = right_start = low
    first, last = 0, search.candidates - 1
    for turn in range(len(places) + search.extra):
        if turn >= rounds_for(search.candidates):
            left, right = left_end - first, last - 1 - right_start
            wider = (first + left_end - 1) // 2 if left >= right else (right_start + last) // 2
            places.append(wider if max(left, right) > 0 else found)
        count = count_at(places[turn])
        if count < -search.sure:
            first = max(first, places[turn] + 1)
        else:
            left_end = min(left_end, places[turn])
        if count >= search.sure:
            last = min(last, places[turn])
        else:
            right_start = max(right_start, places[turn])
    return places, found


@pytest.mark.parametrize("candidates", [1, 2, 3, 4, 5, 8, 9, 30])
@pytest.mark.parametrize(("extra", "sure"), [(0, 0), (1, 0), (3, 2), (6, 4)])
def test_a_search_looks_where_its_counts_send_it(candidates: int, extra: int, sure: int) -> None:
    """Mutants: every sign, border and end of ``NoisySearch`` and of what lies beside what it found."""
    rng = random.Random(candidates * 100 + extra)
    search = NoisySearch(candidates, QUIET, extra, sure)
    assert rounds_for(candidates) == next(n for n in range(9) if 2**n >= candidates)
    assert search.rounds == rounds_for(candidates) + extra
    cells = 40
    tables = [[rng.randint(-6, 6) for _ in range(candidates)] for _ in range(cells)]
    for table in tables[: cells // 2]:
        table.sort()

    def count_at(place: Sequence[int]) -> list[int]:
        return [table[at] for table, at in zip(tables, place, strict=True)]

    released = search.release(count_at, cells, SystemBits())
    assert len(released) == search.rounds
    expected = [walked(search, table.__getitem__) for table in tables]
    if released:
        places = [place.tolist() for place in search.places(released)]
        assert [list(cell) for cell in zip(*places, strict=True)] == [own for own, _ in expected]
        assert [count_at(place) for place in places] == [list(one) for one in released]
        assert search.found(released).tolist() == [found for _, found in expected]
    for table, (_, found) in zip(tables[: cells // 2], expected, strict=False):
        assert found == min((at for at in range(candidates) if table[at] >= 0), default=candidates - 1)
    assert (NoisySearch(5, QUIET).extra, NoisySearch(5, QUIET).sure) == (0, 0)
    assert NoisySearch(1, QUIET, 1).found([Cells([-3])]).tolist() == [0]
