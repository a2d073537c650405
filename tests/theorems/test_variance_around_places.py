"""Ends of variances from public places: as often right as they say, at each place and at the best of all.

The population is a law on a few values, so that every mean squared distance is known exactly, and each of many
cells is a draw of the whole table of its own.  What is counted fails the test by chance less often than once in a
billion runs.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import binom

from adyton.kernel.accounting.noisy_reading import NoisyReading
from adyton.kernel.exact.cells import Array
from adyton.kernel.mechanisms import GaussianNoise
from adyton.kernel.privacy import Guarantee, PrivacyUnit
from adyton.kernel.schema import BooleanColumn, IntegerColumn, Table
from adyton.planning.measures.spread import Spread
from adyton.planning.readings import readings_of
from adyton.population import base, claims
from adyton.population.base import PopulationContext, Position
from adyton.population.claims import AfterReleases, CertainAfter, Claims
from adyton.population.subset import SubsetPopulation
from adyton.population.variance_ends import (
    OF_LEAST,
    PLACES,
    Around,
    least_variance,
    most_squares,
    most_variance,
)
from adyton.query.request import request_of
from adyton.study import Study, Validity
from adyton.validity.subset.tails import Before, Way
from adyton.validity.subset.widths import variance_width
from support.curators import standing_of
from support.tries import crossed
from support.worlds import study_with

Floats = npt.NDArray[np.float64]
DRAWS, FALSE_ALARM = 20_000, 1e-9
MIDDLE, HALF = 8, 8
COLUMNS = (IntegerColumn("x", 0, 16), BooleanColumn("inside"))


@dataclass(frozen=True)
class Law:
    """So many units, each in the filter with some probability, and then with one of some values."""

    units: int
    inside: float
    values: tuple[int, ...]
    chances: tuple[float, ...]
    scales: tuple[int, int, int]  # of the noise of the sum, of the squares and of the count

    @cached_property
    def part(self) -> NoisyReading:
        table = Table("t", COLUMNS, self.units)
        asking = request_of("SELECT VARIANCE(x) AS v FROM t WHERE inside", table)
        (reading,) = readings_of(asking.query, PrivacyUnit("replace-one"))
        return NoisyReading(reading, GaussianNoise(tuple(map(Fraction, self.scales))))

    def distance(self, place: float) -> float:
        """From a place, both in halves of the range."""
        return sum(
            p * ((x - MIDDLE) / HALF - place) ** 2 for x, p in zip(self.values, self.chances, strict=True)
        )

    @property
    def mean(self) -> float:
        return sum(p * (x - MIDDLE) / HALF for x, p in zip(self.values, self.chances, strict=True))

    @property
    def variance(self) -> float:
        return self.distance(self.mean)

    def released(self, draws: int = DRAWS) -> list[Array]:
        rng = np.random.default_rng(7)
        how_many = rng.multinomial(
            self.units, [1 - self.inside, *(self.inside * p for p in self.chances)], draws
        )
        rows, y = how_many[:, 1:], np.array(self.values) - MIDDLE
        (_, reach), (_, square), (counted, _) = self.part.reading.sensitivity.boxes
        exact = (
            reach * (rows @ y) // HALF,
            square * (rows @ (2 * y**2 - HALF**2)) // HALF**2,
            counted * rows.sum(1),
        )
        return [
            z + np.rint(rng.normal(0, scale, draws)).astype(np.int64)
            for z, scale in zip(exact, self.scales, strict=True)
        ]


NOISY = Law(2_000, 0.5, (2, 3, 4, 16), (0.2, 0.59, 0.2, 0.01), (1200, 4800, 4800))
RARE = Law(2_000, 0.5, (0, 16), (0.97, 0.03), (10, 40, 40))  # 0 or as far away as can be: spread as a coin
WIDE = Law(500, 0.9, (0, 8, 16), (0.5, 0.0, 0.5), (20, 300, 300))
LAWS = {"noisy": NOISY, "rare": RARE, "wide": WIDE}


def failures(law: Law, place: float, failure: float, *, least: bool = False) -> int:
    """How often the end of one place is on the wrong side of the truth, if the number of rows is known."""
    around = Around(law.part, [column.astype(float) for column in law.released()])
    counted = law.part.reading.sensitivity.boxes[-1][0]
    weighed = np.full(DRAWS, law.units * law.inside * counted**2)
    asked = np.full(DRAWS, place), weighed, AfterReleases([Way(1.0, 0.0, math.log(failure))])
    if least:
        return int(np.sum(around.least(*asked) > law.distance(place)))
    return int(np.sum(around.ends(*asked) < law.distance(place)))


def too_many(failure: float) -> float:
    return float(binom.isf(FALSE_ALARM, DRAWS, failure))


@pytest.mark.parametrize(
    ("asked", "failure"),
    crossed([*product(LAWS, [-1.0, -0.625, 0.0, 0.75], [False, True])], [0.1, 0.01, 0.001]),
)
def test_theorem_VARIANCE_INTERVAL_every_place_fails_as_seldom_as_it_says(
    asked: tuple[str, float, bool], failure: float
) -> None:
    name, place, least = asked
    assert failures(LAWS[name], place, failure, least=least) <= too_many(failure)


@pytest.mark.parametrize(
    ("law", "place", "part", "least"),
    [
        (NOISY, -0.625, 0.75, False),
        (NOISY, 0.75, 0.75, False),
        (RARE, -1.0, 0.6, False),
        (NOISY, -0.625, 0.75, True),
        (NOISY, 0.75, 0.75, True),
        (RARE, -1.0, 0.6, True),
    ],
)
def test_three_quarters_of_the_width_would_be_refuted(
    law: Law, place: float, part: float, least: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three fifths where it is not the noise that matters: there the tail is a little lighter than its bound."""
    full = variance_width
    monkeypatch.setattr(claims, "variance_width", lambda *given: part * full(*given))
    assert failures(law, place, 0.001, least=least) > too_many(0.001)


@pytest.mark.parametrize("noise", ["sum", "squares", "count"])
@pytest.mark.parametrize("least", [False, True])
def test_leaving_out_one_of_the_three_noises_would_be_refuted(
    noise: str, least: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each has a place at which it is most of the noise."""
    at = ["sum", "squares", "count"].index(noise)
    scales = [60, 240, 240]
    scales[at] *= 20
    law = Law(NOISY.units, NOISY.inside, NOISY.values, NOISY.chances, (scales[0], scales[1], scales[2]))
    before = Around.__init__

    def forgetful(self: Around, part: NoisyReading, released: list[Floats]) -> None:
        before(self, part, released)
        self._scales = tuple(s / 20 if i == at else s for i, s in enumerate(self._scales))

    assert failures(law, -0.625, 0.01, least=least) <= too_many(0.01)
    monkeypatch.setattr(Around, "__init__", forgetful)
    assert failures(law, -0.625, 0.01, least=least) > too_many(0.01)


@pytest.mark.parametrize("name", LAWS)
def test_theorem_VARIANCE_INTERVAL_the_answer_may_choose_the_best_place(name: str) -> None:
    law, level = LAWS[name], 0.05
    ends = most_variance(law.part, law.released(), CertainAfter(Before(), law.units, level))
    assert np.sum(ends < law.variance) <= too_many(level)


STEADY = Law(20_000, 0.5, (2, 3, 4), (0.3, 0.4, 0.3), (60, 240, 240))
UNEVEN = Law(20_000, 0.5, (1, 2, 3, 16), (0.2, 0.59, 0.2, 0.01), (120, 480, 480))


def below(law: Law, away: float, level: float = 0.05) -> Floats:
    """Lower ends, if all that is known of the mean is that it is within so much of the true one, on one side."""
    (_, reach), _, (counted, _) = law.part.reading.sensitivity.boxes
    first, last = sorted((law.mean, law.mean + away))
    mean = np.full(DRAWS, first * reach / counted), np.full(DRAWS, last * reach / counted)
    return least_variance(law.part, law.released(), mean, CertainAfter(Before(), law.units, level))


@pytest.mark.parametrize("law", [*LAWS.values(), STEADY, UNEVEN], ids=[*LAWS, "steady", "uneven"])
@pytest.mark.parametrize("away", [0.0, 0.1, -0.1, 0.5, -1.2])
def test_theorem_VARIANCE_INTERVAL_lower_ends_fail_as_seldom_as_they_say(law: Law, away: float) -> None:
    """Wherever the mean is in its interval."""
    assert np.sum(below(law, away, 0.8) > law.variance) <= too_many(0.8 * OF_LEAST)


def test_theorem_VARIANCE_INTERVAL_a_row_may_be_a_range_above_its_mean(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of lower ends: the answer is too large if a few rows are far away.  Mutant: how far below 0 they may be."""
    beyond: list[float] = []

    def noted(*given: Any) -> Floats:
        beyond.append(float(given[1].min()))
        return variance_width(*given)

    monkeypatch.setattr(claims, "variance_width", noted)
    assert failures(RARE, -1.0, 0.01, least=True) <= too_many(0.01)
    counted = RARE.part.reading.sensitivity.boxes[-1][0]
    assert min(beyond) >= (4 - 2 * RARE.distance(-1.0)) * counted


@pytest.mark.parametrize("away", [0.0, 0.03])
def test_lower_ends_are_worth_having(away: float) -> None:
    assert np.median(below(UNEVEN, away)) > 0.3 * UNEVEN.variance


def test_theorem_VARIANCE_INTERVAL_a_mean_beside_its_place_costs_a_square() -> None:
    """Nearly without noise, and with a mean that is half way between two places.

    Mutants: a mean that is taken to be at its place, or in the middle of what is known of it.
    """
    law = Law(10**8, 1.0, (3, 4), (0.5, 0.5), (1, 1, 1))
    for away in (0.0, 0.01, -0.01):
        assert np.max(below(law, away)) <= law.variance
        assert np.min(below(law, away)) > law.variance - abs(away) / 8 - away**2 - 1e-3


def test_theorem_VARIANCE_INTERVAL_places_share_the_level(monkeypatch: pytest.MonkeyPatch) -> None:
    """The count has an eighth; the rest is for all places, the sum of the squares and its noise together."""
    shares: list[float] = []
    made = CertainAfter.claims

    def noted(self: CertainAfter, share: float) -> Claims:
        shares.append(share)
        return made(self, share)

    monkeypatch.setattr(CertainAfter, "claims", noted)
    for told in (most_variance, most_squares):
        told(NOISY.part, NOISY.released(5), CertainAfter(Before(), NOISY.units, 0.05))
    count, each, squares = shares
    study = study_with(Table("t", COLUMNS, 500), epsilon=5, validity=Validity(Fraction(19, 20)))
    standing = standing_of(study, 500, values=2)
    population = standing.population
    assert isinstance(population, SubsetPopulation)
    noise = population.squares_failure(standing) / population._certain(standing).level
    assert count + len(PLACES) * each + squares + noise == pytest.approx(1.0, rel=1e-12)
    shares.clear()
    nothing = np.zeros(5)
    least_variance(
        NOISY.part, NOISY.released(5), (nothing, nothing), CertainAfter(Before(), NOISY.units, 0.05)
    )
    again, each = shares
    assert again == count  # the same claim about the same count
    assert len(PLACES) * each == pytest.approx(OF_LEAST, rel=1e-12)


def test_the_place_that_is_looked_at_is_about_the_best_of_all() -> None:
    for law in LAWS.values():
        certain = CertainAfter(Before(Fraction(1, 1000)), law.units, 0.05)
        around = Around(law.part, [column.astype(float) for column in law.released(50)])
        weighed, ways = around.weighed(certain), certain.claims(7 / 8 / len(PLACES))
        best = np.min([around.ends(np.full(50, place), weighed, ways) for place in PLACES], axis=0)
        place, likely = around.likely_best(weighed, ways)
        chosen = around.ends(place, weighed, ways, likely)
        assert np.all(chosen <= 1.05 * best)


def test_a_hundred_thousand_cells_take_less_than_a_second() -> None:
    law = Law(100_000, 0.5, (2, 3, 4), (0.3, 0.4, 0.3), (1200, 4800, 4800))
    released = law.released(100_000)
    started = time.process_time()
    most_variance(law.part, released, CertainAfter(Before(Fraction(1, 1000)), law.units, 1e-8))
    assert time.process_time() - started < 1.5


@pytest.mark.parametrize("count", [-5_000, 0, 3])
def test_where_the_noise_drowns_the_count_nothing_is_known(count: int) -> None:
    certain = CertainAfter(Before(), 500, 0.05)
    (end,) = most_variance(WIDE.part, [np.array([40]), np.array([90]), np.array([count])], certain)
    assert end == 1.0


def test_theorem_VARIANCE_INTERVAL_all_claims_share_the_levels_of_two(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """All claims of a variance share the levels of two values."""
    declared = Validity(Fraction(19, 20))
    study = Study(
        Table("t", COLUMNS, 500), PrivacyUnit("replace-one"), Guarantee(Fraction(5), Fraction(1, 10**6))
    )
    context = PopulationContext(
        SubsetPopulation(replace(study, validity=declared)), Position(1, Fraction(0), Fraction(0), 2), 500
    )
    levels: list[float] = []
    for name in ("mean_ends", "least_variance", "most_variance"):  # without a description
        said: Callable[..., Any] = getattr(base, name)

        def noted(*given: Any, said: Callable[..., Any] = said) -> Any:
            levels.extend(one.level for one in given if isinstance(one, CertainAfter))
            return said(*given)

        monkeypatch.setattr(base, name, noted)
    Spread(WIDE.part, root=False).population([column.tolist() for column in WIDE.released(3)], context)
    mean, square, least, most = levels
    assert least == most
    assert mean + square + most * (1 + OF_LEAST) == pytest.approx(
        2 * context.population._certain(context).level, rel=1e-12
    )  # type: ignore[attr-defined]
