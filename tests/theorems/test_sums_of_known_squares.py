"""Sums whose squares are known: as often right as they say, never wider than without, exact against fifty digits.

The population is a law on a few values.  The chance that a sum misses is worked out exactly, over all that the rows
can add up to and over all noise; upper ends of sums of squares are drawn, and fail by chance less often than once in
a billion runs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import numpy.typing as npt
import pytest
from scipy.special import ndtr
from scipy.stats import binom

from adyton.kernel.accounting.noisy_reading import NoisyReading
from adyton.kernel.exact.cells import Array
from adyton.kernel.mechanisms import GaussianNoise
from adyton.kernel.privacy import PrivacyUnit
from adyton.kernel.schema import BooleanColumn, IntegerColumn, Table
from adyton.planning.readings import readings_of
from adyton.population import claims
from adyton.population.claims import CertainAfter
from adyton.population.subset_ends import single_ends, span_of, sum_ends
from adyton.population.variance_ends import EACH, Around, most_squares
from adyton.query.request import request_of
from adyton.validity.subset.tails import Before
from adyton.validity.subset.widths import variance_width

Floats = npt.NDArray[np.float64]
DRAWS, FALSE_ALARM = 20_000, 1e-9


@dataclass(frozen=True)
class Law:
    """So many units, each in the filter with some probability, and then with one of some values."""

    units: int
    inside: float
    bounds: tuple[int, int]
    values: tuple[int, ...]
    chances: tuple[float, ...]

    def part(self, measure: str, *scales: int) -> NoisyReading:
        table = Table("t", (IntegerColumn("x", *self.bounds), BooleanColumn("inside")), self.units)
        query = request_of(f"SELECT {measure}(x) AS v FROM t WHERE inside", table).query
        (reading,) = readings_of(query, PrivacyUnit("replace-one"))
        return NoisyReading(reading, GaussianNoise(tuple(map(Fraction, scales))))

    def expected(self, power: int) -> float:
        """Of the sum of the values, or of their squares."""
        each = sum(p * x**power for x, p in zip(self.values, self.chances, strict=True))
        return self.units * self.inside * each

    def sums(self) -> tuple[Array, Floats]:
        """All that the values of all units can add up to, and how likely each is."""
        low, high = min(0, *self.values), max(0, *self.values)
        one = np.zeros(high - low + 1)
        one[-low] = 1 - self.inside
        for x, p in zip(self.values, self.chances, strict=True):
            one[x - low] += self.inside * p
        law = np.ones(1)
        for _ in range(self.units):
            law = np.convolve(law, one)
        return np.arange(self.units * low, self.units * high + 1), law

    def misses(self, scale: int, squares: float, certain: CertainAfter, rows: int = 1) -> tuple[float, float]:
        """Exactly, with what probability the interval of the sum lies below the truth, and above it."""
        sums, law = self.sums()
        answers = np.arange(sums[0] - 12 * scale, sums[-1] + 12 * scale + 1)
        part = self.part("SUM", scale)
        if rows > 1:
            limits = replace(part.reading.sensitivity, rows=rows)
            part = replace(part, reading=replace(part.reading, sensitivity=limits))
        low, high = sum_ends(part, answers, certain, np.full(len(answers), squares))
        steps = ndtr((answers[:, None] + 0.5 - sums) / scale) - ndtr((answers[:, None] - 0.5 - sums) / scale)
        chances, truth = steps @ law, self.expected(1)
        return float(chances[high < truth].sum()), float(chances[low > truth].sum())


SMALL = Law(60, 0.5, (0, 16), (2, 3, 4), (0.25, 0.5, 0.25))
COIN = Law(40, 0.3, (0, 16), (0, 8), (0.5, 0.5))
BOTH = Law(50, 0.9, (-12, 6), (-2, 0, 1), (0.3, 0.3, 0.4))
FAR = Law(50, 1.0, (20, 25), (20, 24), (0.9, 0.1))
LAWS = {"small": SMALL, "coin": COIN, "both": BOTH, "far": FAR}
PAID = Before(Fraction(1, 100))


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("scale", [2, 10])
@pytest.mark.parametrize("level", [0.2, 0.01])
def test_theorem_SUBSET_SUMS_miss_as_seldom_as_they_say_of_known_squares(
    name: str, scale: int, level: float
) -> None:
    """Each side has half of the level; it is not divided once more between this bound and that of a coin."""
    law = LAWS[name]
    below, above = law.misses(scale, law.expected(2), CertainAfter(Before(), law.units, level))
    assert below <= level / 2
    assert above <= level / 2


def test_theorem_SUBSET_SUMS_rows_of_a_person_add_up_before_squaring() -> None:
    """Twenty rows of each person with the same value: in all the square is twenty times that of the rows."""
    law, level = Law(60, 0.5, (0, 16), (20, 40), (0.5, 0.5)), 0.2
    squares = law.expected(2) / 20
    below, above = law.misses(20, squares, CertainAfter(Before(), law.units, level), rows=20)
    assert max(below, above) <= level / 2
    below, above = law.misses(20, squares / 20, CertainAfter(Before(), law.units, level), rows=20)
    assert max(below, above) > level / 2


def test_theorem_SUBSET_SUMS_squares_that_are_too_small_would_be_refuted() -> None:
    level = 0.2
    least = SMALL.expected(1) ** 2 / SMALL.units
    few = least + 0.05 * (SMALL.expected(2) - least)  # a twentieth of the variance
    assert max(SMALL.misses(2, few, CertainAfter(Before(), SMALL.units, level))) > level / 2


def test_theorem_SUBSET_SUMS_a_narrower_width_would_be_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    full = variance_width
    monkeypatch.setattr(claims, "variance_width", lambda *given: 0.6 * full(*given))
    assert max(SMALL.misses(10, SMALL.expected(2), CertainAfter(Before(), SMALL.units, 0.01))) > 0.005


@pytest.mark.parametrize("name", LAWS)
def test_theorem_SUBSET_SUMS_are_never_wider_nor_outside_the_possible(name: str) -> None:
    law = LAWS[name]
    part, certain = law.part("SUM", 10), CertainAfter(PAID, law.units, 0.01)
    answers = np.arange(-2_000, 2_001, 7)
    before = single_ends(part, answers, certain)
    for squares in (0.0, law.expected(2), 1e9):
        low, high = sum_ends(part, answers, certain, np.full(len(answers), squares))
        least, most = (law.units * end for end in span_of(part))
        assert np.all(before[0] <= low)
        assert np.all(high <= before[1])
        assert np.all((least <= low) & (low <= high) & (high <= most))


@pytest.mark.parametrize("name", LAWS)
def test_theorem_SUBSET_SUMS_what_is_left_out_is_rejected_by_its_own_width(name: str) -> None:
    """For few units, whose mean is far from 0: what a unit can add beyond it differs from theta to theta.

    Mutants: that of the end next to the answer; the variance of the end that is farther from 0.
    """
    law = replace(LAWS[name], units=4)
    part, certain = law.part("SUM", 3), CertainAfter(Before(), law.units, 0.2)
    (least, most), squares = span_of(part), law.expected(2)
    claims = certain.claims(1 / 2)
    for answer in range(4 * least - 6, 4 * most + 7, 3):
        whole = single_ends(part, np.array([answer]), certain)
        low, high = sum_ends(part, np.array([answer]), certain, np.array([squares]))
        for end, first, theta in (
            (low, whole[0], np.linspace(whole[0], low, 50, endpoint=False).ravel()),
            (high, whole[1], np.linspace(whole[1], high, 50, endpoint=False).ravel()),
        ):
            if end == first:
                continue
            variance = np.maximum(squares - theta**2 / law.units, 0.0)
            below = end is low
            beyond = most - theta / law.units if below else theta / law.units - least
            width = claims.width(variance, np.maximum(beyond, 1e-9), np.array(3.0)) + 0.5
            assert np.all((answer - theta if below else theta - answer) >= width * (1 - 1e-9))


def test_sums_that_use_little_of_their_range_are_much_narrower() -> None:
    law = Law(2_000, 0.25, (0, 1_000), (20, 40), (0.5, 0.5))
    part, certain = law.part("SUM", 100), CertainAfter(PAID, law.units, 1e-4)
    answer = np.array([round(law.expected(1))])
    known = sum_ends(part, answer, certain, np.array([law.expected(2)]))
    (narrow,), (wide,) = known[1] - known[0], np.subtract(*single_ends(part, answer, certain)[::-1])
    assert narrow < 0.3 * wide


def test_theorem_SUBSET_SUMS_against_fifty_digits() -> None:
    """At both ends the variance, above the answer that at the answer, needs this width, or a little less."""
    mp = mpmath.mp.clone()
    mp.dps = 50
    law, scale, level = Law(2_000, 0.25, (0, 1_000), (20, 40), (0.5, 0.5)), 100, 1e-4
    certain, answer = CertainAfter(Before(), law.units, level), round(law.expected(1))
    squares = law.expected(2)
    (low,), (high,) = sum_ends(law.part("SUM", scale), np.array([answer]), certain, np.array([squares]))
    for end, away in ((low, 1), (high, -1)):
        theta = mp.mpf(float(end))
        beyond = 1_000 - theta / law.units if away > 0 else theta / law.units
        spread, width = squares - min(theta, answer) ** 2 / law.units, away * (answer - theta) - mp.mpf("0.5")
        best = mp.inf
        for y in np.linspace(-3, 12, 3001):
            tail = mp.erfc(mp.mpf(y) / mp.sqrt(2)) / 2
            tilt = mp.npdf(y) / tail / scale
            moments = spread * (mp.expm1(tilt * beyond) - tilt * beyond) / beyond**2
            best = min(best, mp.log(tail) - tilt * (width - scale * y) + moments)
        assert math.log(level / 2) - 0.4 <= best <= math.log(level / 2) + 1e-3


# Where the squares are known from.


def released(law: Law, scales: tuple[int, int, int]) -> list[Array]:
    rng = np.random.default_rng(7)
    chances = [1 - law.inside, *(law.inside * p for p in law.chances)]
    rows, low, high = rng.multinomial(law.units, chances, DRAWS)[:, 1:], *law.bounds
    part = law.part("VARIANCE", *scales)
    centred = 2 * np.array(law.values) - (low + high)
    (_, reach), (_, square), (counted, _) = part.reading.sensitivity.boxes
    y = centred / reach
    exact = rows @ centred, np.rint(rows @ (square * (2 * y**2 - 1))).astype(np.int64), counted * rows.sum(1)
    return [
        z + np.rint(rng.normal(0, scale, DRAWS)).astype(np.int64)
        for z, scale in zip(exact, scales, strict=True)
    ]


RARE = Law(2_000, 0.5, (0, 16), (0, 16), (0.97, 0.03))
OUTSIDE = Law(2_000, 0.2, (40, 56), (40, 41, 56), (0.5, 0.4, 0.1))
NOISES = [(10, 40, 40), (1200, 40, 40), (10, 4800, 40), (10, 40, 4800)]
"""Of the sum, of the squares and of the count: each in turn is most of the noise."""


def failures(law: Law, scales: tuple[int, int, int], level: float) -> int:
    """The level of all claims of a variance is so large that the one of the squares alone has ``level``."""
    certain = replace(CertainAfter(Before(), law.units, 0.5), level=level / EACH)
    ends = most_squares(law.part("VARIANCE", *scales), released(law, scales), certain)
    return int(np.sum(ends < law.expected(2)))


def too_many(failure: float) -> float:
    return float(binom.isf(FALSE_ALARM, DRAWS, failure))


@pytest.mark.parametrize("scales", NOISES)
@pytest.mark.parametrize("law", [SMALL, BOTH, RARE, OUTSIDE], ids=["small", "both", "rare", "outside"])
@pytest.mark.parametrize("level", [0.04, 0.001])
def test_theorem_SUBSET_SUMS_upper_ends_of_squares_fail_as_seldom(
    law: Law, scales: tuple[int, int, int], level: float
) -> None:
    """Upper ends of squares fail as seldom as they say."""
    assert failures(law, scales, level) <= too_many(level)


@pytest.mark.parametrize("which", [0, 1, 2])
def test_leaving_out_one_of_the_three_noises_would_be_refuted(
    which: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = Around.__init__

    def forgetful(self: Around, *given: Any) -> None:
        before(self, *given)
        self._scales = tuple(s / 20 if i == which else s for i, s in enumerate(self._scales))

    monkeypatch.setattr(Around, "__init__", forgetful)
    assert failures(SMALL, NOISES[which + 1], 0.001) > too_many(0.001)


def test_squares_are_counted_from_nothing_and_not_from_the_middle() -> None:
    """Without noise to speak of and with very many units the upper end is nearly the truth."""
    for law in (
        Law(10**9, 0.5, (-12, 6), (-2, 5), (0.5, 0.5)),
        Law(10**9, 0.5, (40, 56), (40, 56), (0.5, 0.5)),
    ):
        part = law.part("VARIANCE", 10, 10, 10)
        (_, reach), (_, square), (counted, _) = part.reading.sensitivity.boxes
        low, high = law.bounds
        y = (2 * np.array(law.values) - (low + high)) / reach
        half = law.units * law.inside / 2
        exact = [reach * y.sum() * half, square * (2 * y**2 - 1).sum() * half, 2 * counted * half]
        (end,) = most_squares(
            part, [np.array([round(z)]) for z in exact], CertainAfter(Before(), law.units, 0.01)
        )
        assert law.expected(2) < end < 1.001 * law.expected(2)
