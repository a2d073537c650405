"""A width for all ratios of an interval is a width for each of them, also where less noise needs more room.

Noise that is small beside what the rows do smooths the chance to be beyond a width: with less of it a width at
the same level is larger, so the most noise of an interval alone does not cover the rest.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest

from adyton.kernel.accounting.noisy_reading import NoisyReading
from adyton.kernel.exact import UNITS_PER_ONE
from adyton.kernel.mechanisms import GaussianNoise
from adyton.kernel.privacy import PrivacyUnit
from adyton.kernel.schema import IntegerColumn, Table
from adyton.planning import learned
from adyton.planning.readings import readings_of
from adyton.population import claims, subset_ends, variance_ends
from adyton.population.claims import CertainAfter
from adyton.population.subset_ends import cumulated_ends, mean_ends
from adyton.population.variance_ends import least_variance, most_variance
from adyton.query.request import request_of
from adyton.validity.plans.expected import ANYTHING
from adyton.validity.plans.study_plans import StudyPlan
from adyton.validity.subset.tails import Before, Way
from adyton.validity.subset.widths import rough_variance_width, variance_width

ONE_WAY = [Way(1.0, 0.0, math.log(1e-3))]
SOME_WAYS = [Way(0.5, 1.5, math.log(1e-4)), Way(0.1, 13.5, math.log(1e-4))]
TABLE = Table("t", (IntegerColumn("x", 0, 16),), 5_000)
CERTAIN = CertainAfter(Before(Fraction(1, 1000)), 5_000, 1e-3)


@pytest.mark.parametrize("ways", [ONE_WAY, SOME_WAYS])
@pytest.mark.parametrize("variance", [3.0, 2500.0])
@pytest.mark.parametrize("most", [0.02, 0.3, 3.0])  # of the noise, beside what the rows do
@pytest.mark.parametrize("steady", [0.0, 0.3, 0.9, 1.0])
def test_theorem_SUBSET_MEANS_a_width_for_more_noise_holds_for_less(ways, variance, most, steady):
    spread = np.array([variance])
    scale = most * math.sqrt(variance)
    together = float(variance_width(spread, 1.0, scale, ways, steady)[0])
    for part in np.linspace(max(steady, 1e-3), 1.0, 8):
        alone = float(variance_width(spread, 1.0, scale * part, ways)[0])
        assert together >= alone * (1 - 2e-3)  # each of them tries a few locations only


def test_theorem_SUBSET_MEANS_the_most_noise_alone_would_not_do():
    spread = np.array([2500.0])
    assert variance_width(spread, 1.0, 15.0, ONE_WAY) < 0.98 * variance_width(spread, 1.0, 1.0, ONE_WAY)


def _noised(sql: str, *scales: int) -> NoisyReading:
    (reading,) = readings_of(request_of(sql, TABLE).query, PrivacyUnit("replace-one"))
    return NoisyReading(reading, GaussianNoise(tuple(map(Fraction, scales))))


def _said(monkeypatch) -> list[tuple[float, float]]:
    """The least and the most noise of each width that is asked for."""
    said = []

    def width(variance, beyond, scale, ways, steady=1.0):
        said.append((float(np.min(scale * steady)), float(np.max(scale))))
        return variance_width(variance, beyond, scale, ways, steady)

    def rough(variance, beyond, scale, ways, steady=1.0):
        said.append((scale * steady, scale))
        return rough_variance_width(variance, beyond, scale, ways, steady)

    monkeypatch.setattr(claims, "variance_width", width)
    monkeypatch.setattr(claims, "rough_variance_width", rough)
    return said


@pytest.mark.parametrize("cells", [1, 1000])
def test_theorem_SUBSET_MEANS_means_say_how_small_their_noise_may_be(monkeypatch, cells):
    part, said = _noised("SELECT AVG(x) AS m FROM t", 30, 40), _said(monkeypatch)
    reach = subset_ends.largest_ratio(part.reading.sensitivity)
    tops, counts = np.full(cells, 2_000), np.full(cells, 4_000)
    mean_ends(part, tops, counts, CERTAIN, (30.0, 40.0))
    assert said[0][0] <= 30 < math.hypot(30, 40 * reach) <= said[0][1]


def test_theorem_SUBSET_MEANS_distributions_say_their_smallest_noise(monkeypatch):
    """Distributions say how small their noise may be."""
    part, said = _noised("SELECT CDF(x, 4, 8, 12) AS f FROM t", 30), _said(monkeypatch)
    bins = np.array([1.0]), np.array([3.0])
    cumulated_ends(part, np.array([1_000.0]), np.array([3_000.0]), bins, CERTAIN)
    assert said[0][0] <= 30 * math.sqrt(3 / 4)  # (1 - F) L - F R at F = 1/4
    assert said[0][1] >= 30 * math.sqrt(3)


def test_theorem_VARIANCE_INTERVAL_says_how_small_its_noise_may_be(monkeypatch):
    part, said = _noised("SELECT VARIANCE(x) AS v FROM t", 30, 300, 300), _said(monkeypatch)
    (_, reach), (_, square), (counted, _) = part.reading.sensitivity.boxes
    values = np.arange(5_000) % 2 * 2 - 1  # at both ends, so that the place is in the middle
    sums = np.array([reach * values.sum()]), np.array([square * len(values)]), np.array([counted * 5_000])
    most_variance(part, sums, CERTAIN)
    around = variance_ends.Around(part, [column.astype(float) for column in sums])
    noises = [float(around._noise(np.array([0.0]), np.array([psi]))[0]) for psi in np.linspace(0, 1, 101)]
    assert all(least <= most for least, most in said)
    place = np.array([0.0])
    first = around._guess(around._top(place), place)[0]
    inside = [noise for psi, noise in zip(np.linspace(0, 1, 101), noises, strict=True) if psi >= first]
    assert said[0][0] <= min(inside)
    said.clear()
    least_variance(part, sums, (np.zeros(1), np.zeros(1)), CERTAIN)  # from 0 up to the guess, which is 1
    assert said[0][0] <= min(noises)
    assert said[0][1] >= max(noises)


@pytest.mark.parametrize("short", [1e-3, 1e-8, 3e-10, 1e-12])
def test_theorem_SUBSET_VARIANCE_a_property_of_nearly_all_loses_nothing(short):
    """There two terms cancel, and what is left is as small as their rounding."""
    for most in (1.0, 3.0, 977.0):
        first = most * (1 - short)
        exact = Fraction(most) * Fraction(first) - Fraction(first) ** 2
        assert Fraction(learned._most_spread(first, most, most, 1)) >= exact


def test_theorem_SUBSET_VARIANCE_after_an_answer_no_query_was_fixed(monkeypatch):
    """Also where the noise, against all odds, left less than nothing: 0 would mean that nothing was released."""
    monkeypatch.setattr(learned, "_final_radius_of_part", lambda *_: 0)
    part = SimpleNamespace(only=_noised("SELECT COUNT(*) FROM t", 5))
    batch = SimpleNamespace(plans=[SimpleNamespace(discovery=None, parts=[part])], radius=5)
    stored = [SimpleNamespace(released=[None])]
    assert learned.final_radius(batch, stored, learned.UnitRange(500, 500), Fraction(1, 100)) == 1


@pytest.mark.parametrize("cells", [1, 2, 5])
@pytest.mark.parametrize(
    "share", [0.5, 0.9, 1.0]
)  # of the values that are at the upper bound, the rest at the lower
@pytest.mark.parametrize("inside", [0.1, 1.0])  # of the units that count
def test_theorem_SUBSET_VARIANCE_a_mean_covers_its_spread_for_small_noise(cells, share, inside):
    """Values at both bounds are as spread as can be, so that there is nothing to spare.

    Mutants: no room for the noise of the sum, or of the count; the square of the mean not divided among the cells;
    the largest noise taken for the one of the other column.
    """
    units, z, scales = 5_000, 3.0, (90, 400)
    part = _noised("SELECT AVG(x) AS m FROM t", *scales)
    (_, reach), (counted, _) = part.reading.sensitivity.boxes
    each = inside / cells  # of the units, in one cell
    means = (2 * share - 1) * reach * each, counted * each
    squares = reach**2 * each, counted**2 * each
    spread = sum(
        cells * (square - mean**2) / scale**2
        for square, mean, scale in zip(squares, means, scales, strict=True)
    )
    for off in product((-z, 0.0, z), repeat=2):
        released = [
            np.full(cells, round(units * mean + noise * scale / math.sqrt(cells)))
            for mean, scale, noise in zip(means, scales, off, strict=True)
        ]
        final = learned._final_radius_of_part(
            SimpleNamespace(only=part), released, learned.UnitRange(units, units), z, {}
        )
        assert final >= min(spread * UNITS_PER_ONE, part.radius()) * (1 - 1e-9)


@pytest.mark.parametrize("cells", [1, 4])
@pytest.mark.parametrize("off", [-3.0, 3.0])
def test_theorem_SUBSET_VARIANCE_squares_of_a_variance_cover_those_of_rows(cells, off):
    """Mutants: no room for the noise of the squares or of the count; half of what they are; other cells' noise."""
    units, scales = 5_000, (90, 700, 900)
    part = _noised("SELECT VARIANCE(x) AS v FROM t", *scales)
    (_, reach), (_, square), (counted, _) = part.reading.sensitivity.boxes
    y = np.array([-1.0, -0.5, -0.5, 0.25])  # a quarter of the units each, in every cell as often
    wanted = reach**2 * float(np.mean(y**2))
    exact = reach * np.sum(y), square * np.sum(2 * y**2 - 1), counted * len(y)
    # The noise of the sum that is made of both is 3 of its standard deviations, and all of it counts.
    parts = np.array([scales[1] / square, scales[2] / counted])
    noises = off * math.sqrt(cells) * parts / math.hypot(*parts) * (square, counted) * parts
    released = [
        np.full(cells, round((units / len(y) * total + noise) / cells))
        for total, noise in zip(exact, (0.0, *noises), strict=True)
    ]
    found = learned.most_centred_squares(part, released, learned.UnitRange(units, units), 3.0)
    assert wanted * (1 - 1e-9) <= found < 1.5 * wanted


@pytest.mark.parametrize("inside", [0.02, 0.4, 0.98])
def test_theorem_SUBSET_VARIANCE_a_count_covers_its_spread_for_small_noise(inside):
    """Mutants: no room for the noise on either side."""
    units, z, scale = 5_000, 3.0, 9
    part = _noised("SELECT COUNT(*) AS n FROM t", scale)
    for off in (-z, 0.0, z):
        released = [np.array([round(units * inside + off * scale)])]
        final = learned._final_radius_of_part(
            SimpleNamespace(only=part), released, learned.UnitRange(units, units), z, {}
        )
        assert final >= inside * (1 - inside) / scale**2 * UNITS_PER_ONE * (1 - 1e-9)


def test_theorem_SUBSET_VARIANCE_every_bounded_sum_has_a_part_of_the_level(monkeypatch):
    """Two of a mean, three of a variance: the final radius rests on the noise of each."""
    seen = []
    monkeypatch.setattr(learned, "largest_normal", lambda failure: seen.append(failure) or 1.0)
    monkeypatch.setattr(learned, "_final_radius_of_part", lambda *_: 0)
    asked = ("SELECT AVG(x) AS m FROM t", 5, 5), ("SELECT VARIANCE(x) AS v FROM t", 5, 5, 5)
    parts = [SimpleNamespace(only=_noised(*one)) for one in asked]
    batch = SimpleNamespace(plans=[SimpleNamespace(discovery=None, parts=parts)], radius=5)
    learned.final_radius(
        batch, [SimpleNamespace(released=[None, None])], learned.UnitRange(500, 500), Fraction(1, 100)
    )
    assert seen == [Fraction(1, 500)]


def test_theorem_PLANNED_NOISE_more_noise_than_the_next_judged_by_itself():
    """Queries with more noise than the next are judged by their own."""
    plan = StudyPlan(100_000, 10_000, Fraction(1, 20), ANYTHING, (0.5, 0.01), (1, 10_000), rising=False)
    assert plan.tolerance >= plan.width(1)


def test_theorem_SUBSET_MEANS_many_groups_have_the_intervals_of_few():
    """Only the first step, for the whole range, is rough: groups that say something are told exactly."""
    part = _noised("SELECT AVG(x) AS m FROM t", 30, 3000)
    counts = np.full(600, 16 * 2_000)
    tops = np.linspace(-3_000, 3_000, 600).round().astype(np.int64)
    many = mean_ends(part, tops, counts, CERTAIN, (30.0, 3000.0))
    for place in (0, 250, 599):
        one = slice(place, place + 1)
        few = mean_ends(part, tops[one], counts[one], CERTAIN, (30.0, 3000.0))
        for end, alone in zip(many, few, strict=True):
            assert end[place] == pytest.approx(float(alone[0]), rel=5e-3, abs=5e-3)
