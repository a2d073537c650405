"""Noisy searches: what one comparison can be moved by, where the search ends, and what it is sure of."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

import adyton
from adyton.certify import Interval
from adyton.kernel.accounting import accounting_named
from adyton.kernel.accounting.noisy_reading import LEVEL, NoisyReading
from adyton.kernel.measurement import Columns
from adyton.kernel.mechanisms import GaussianNoise, GeometricNoise, Mechanism
from adyton.kernel.mechanisms.search import NoisySearch, rounds_for
from adyton.kernel.noise import Bits
from adyton.kernel.privacy import Adjacency, Guarantee, PrivacyUnit
from adyton.kernel.schema import CategoryColumn, IntegerColumn, RealColumn, Table
from adyton.kernel.searching import SearchLevels, rounds_of
from adyton.kernel.sensitivity import Reading
from adyton.kernel.sensitivity.bins import levels_of
from adyton.kernel.sensitivity.reading import search_weights
from adyton.kernel.terms.buckets import Bucket, Group, group_size
from adyton.kernel.terms.leaves import ValueOf
from adyton.kernel.terms.measures import Extreme, Quantile
from adyton.planning.measures.search import Search, surely_between
from adyton.planning.readings import readings_of
from adyton.population.base import PopulationContext
from adyton.query.nodes import Query
from adyton.study import Study, Validity
from adyton.testing.engines.meaning import condition, number
from support.curators import standing_of
from support.randomness import Seeded
from support.tries import often
from support.worlds import study_with

RUNS = often(60, 200)
MOST_MISSED = binom.isf(1e-9, RUNS, 1 - LEVEL)  # of intervals at this level


class Planted:
    """Noise that a test chose: it is added in the order of the rounds."""

    name, norm, theorems, scales = "planted", 2, (), (Fraction(1),)

    def __init__(self, noise: list[list[int]]) -> None:
        self._noise = iter(noise)

    def release(self, exact: Columns, bits: Bits) -> Columns:
        return [[z + n for z, n in zip(exact[0], next(self._noise), strict=True)]]


rising = st.lists(st.integers(0, 6), min_size=2, max_size=40).map(lambda steps: np.cumsum(steps) - 40)


@given(counts=rising)
def test_theorem_NOISY_SEARCH_without_noise_ends_at_the_first_place(counts: np.ndarray) -> None:
    search = NoisySearch(len(counts), Planted([[0]] * 10))  # type: ignore[arg-type]
    released = search.release(lambda place: [int(counts[place[0]])], 1, Seeded(0))
    enough = [place for place, count in enumerate(counts) if count >= 0]
    assert int(search.found(released)[0]) == (enough[0] if enough else len(counts) - 1)
    assert len(released) == search.rounds == rounds_for(len(counts))


@given(counts=rising, error=st.integers(0, 15), data=st.data())
def test_theorem_NOISY_SEARCH_is_sure_of_what_noise_cannot_change(
    counts: np.ndarray, error: int, data: st.DataObject
) -> None:
    """Whatever the noise is, as long as no comparison is off by more than ``error``."""
    extra = data.draw(st.integers(0, 6))
    rounds = rounds_for(len(counts)) + extra
    noise = data.draw(st.lists(st.integers(-error, error), min_size=rounds, max_size=rounds))
    search = NoisySearch(len(counts), Planted([[z] for z in noise]), extra, error)  # type: ignore[arg-type]
    released = search.release(lambda place: [int(counts[place[0]])], 1, Seeded(0))
    first, last = surely_between(list(search.places(released)), released, -error, error, 0, len(counts) - 1)
    enough = [place for place, count in enumerate(counts) if count >= 0]
    truth = enough[0] if enough else len(counts) - 1
    assert first[0] <= truth <= last[0]


def test_extra_comparisons_find_the_end_that_the_search_never_looked_for() -> None:
    """The first comparison is a toss-up: the search is then sure of nothing on the side that it left."""
    counts = np.arange(1024) * 10 - 5113  # -3 where the search looks first
    for first_noise in (-6, 6):
        noise = [[first_noise], *([[0]] * 30)]
        plain = NoisySearch(1024, Planted(list(noise)), 0, 10)  # type: ignore[arg-type]
        more = NoisySearch(1024, Planted(list(noise)), 8, 10)  # type: ignore[arg-type]
        widths = []
        for search in (plain, more):
            released = search.release(lambda place: [int(counts[place[0]])], 1, Seeded(0))
            ends = surely_between(list(search.places(released)), released, -10, 10, 0, 1023)
            widths.append(int(ends[1][0] - ends[0][0]))
            assert ends[0][0] <= 512 <= ends[1][0]
        assert widths[0] >= 500
        assert widths[1] <= 8


# What one unit can do to a comparison ------------------------------------------------------------------------

AGE = IntegerColumn("age", -2, 3)
REGION = CategoryColumn("region", ("a", "b"))
TABLE = Table("people", (AGE, REGION), rows=3)
KINDS = [{"age": age, "region": region} for age in (-2, 0, 1, 3, None) for region in (0, 1, None)]
MEASURES = [
    Quantile(ValueOf(AGE), Fraction(1, 2)),
    Quantile(ValueOf(AGE), Fraction(9, 10)),
    Extreme(ValueOf(AGE), "least"),
    Extreme(ValueOf(AGE), "greatest"),
]


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
@pytest.mark.parametrize("by", [(), (REGION,)])
@pytest.mark.parametrize("rows", [1, 2])
def test_theorem_NOISY_SEARCH_sensitivity_equals_brute_force(
    measure: Quantile | Extreme, adjacency: Adjacency, by: tuple[CategoryColumn, ...], rows: int
) -> None:
    """All tables of one other row and a unit, all places at once in all cells: the worst is what is charged."""
    unit = PrivacyUnit(adjacency, "pid" if rows > 1 else None, rows)
    (reading,) = readings_of(Query(TABLE, (("q", measure),), by=by), unit)
    sensitivity = reading.sensitivity
    owned = [list(u) for u in itertools.combinations_with_replacement(KINDS, rows)] + [[]]
    points = np.array([_compared(reading, measure, unit) for unit in owned])  # units x cells x places
    others = points if adjacency == "replace-one" else np.zeros_like(points[:1])
    # A round looks at one place of each cell, and may look at the worst.
    change = np.abs(points[:, None] - others[None, :]).max(axis=3)
    one = (Fraction(1),)
    assert sensitivity.l1_diameter(one) == int(change.sum(axis=2).max())
    assert sensitivity.l2_diameter_squared(one) == int((change**2).sum(axis=2).max())


def _counted(reading: Reading, rows: Sequence[Mapping[str, Any]]) -> Columns:
    """How many rows lie in each cell, by a plain loop."""
    sizes = [group_size(group) for group in reading.by]
    counts = [0] * math.prod(sizes)
    for row in rows:
        codes = [_code(group, row) for group in reading.by]
        if None not in codes and condition(reading.where, dict(row)) is True:
            place = 0
            for size, code in zip(sizes, codes, strict=True):
                place = place * size + (code or 0)
            counts[place] += 1
    return [counts]


def _code(group: Group, row: Mapping[str, Any]) -> int | None:
    if not isinstance(group, Bucket):
        code: int | None = row[group.name]
        return code
    found = number(group.value, dict(row))
    return None if found is None else found - group.value.lattice.low


def _compared(reading: Reading, measure: Quantile | Extreme, rows: Sequence[Mapping[str, Any]]) -> np.ndarray:
    times, minus = search_weights(measure)
    counts = np.array(_counted(reading, rows)[0]).reshape(reading.sensitivity.cells, -1)
    upto = np.cumsum(counts, axis=1)
    compared: np.ndarray = times * upto - minus * upto[:, -1:]
    return compared


def test_theorem_NOISY_SEARCH_every_comparison_is_charged() -> None:
    unit, rule = PrivacyUnit("replace-one"), accounting_named("gdp")
    (reading,) = readings_of(Query(TABLE, (("q", MEASURES[0]),)), unit)
    noise = GaussianNoise((Fraction(2),))
    one, all_rounds = NoisyReading(reading, noise), NoisyReading(reading, noise, rounds_of(reading))
    assert rounds_of(reading) == 5  # three for six values, and two for the ends of the interval
    assert all_rounds.amount(rule) == 5 * one.amount(rule)
    assert all_rounds.radius() == 5 * one.radius()
    released = SearchLevels(all_rounds).release([[1, 2, 3, 4, 5, 6]], lambda _: [[]], Seeded(0))
    assert len(released) == 5


# Through all levels, from rows to intervals ------------------------------------------------------------------

WIDE = IntegerColumn("wide", -(10**9), 10**9)
WIDE_TABLE = Table("people", (WIDE,), rows=120)


def _search(measure: Quantile | Extreme, noise: Mechanism) -> Search:
    (reading,) = readings_of(Query(WIDE_TABLE, (("q", measure),)), PrivacyUnit("replace-one"))
    return Search(NoisyReading(reading, noise, rounds_of(reading)))


@cache
def _read(reading: Reading, values: tuple[int, ...]) -> Columns:
    """Many searches of the same rows read the same counts."""
    return _counted(reading, [{"wide": value} for value in values])


def _released(search: Search, values: list[int], bits: Bits) -> Columns:
    def read(reading: Reading) -> Columns:
        return [list(column) for column in _read(reading, tuple(values))]

    return search._levels.release(read(search.only.reading), read, bits)


def _standing() -> PopulationContext:
    study = Study(WIDE_TABLE, PrivacyUnit("replace-one"), Guarantee(Fraction(5), Fraction(1, 10**6)))
    return standing_of(study, 120)


@pytest.mark.parametrize("fraction", [Fraction(1, 2), Fraction(1, 100), Fraction(99, 100)])
def test_a_search_through_levels_finds_the_quantile_with_hardly_any_noise(fraction: Fraction) -> None:
    values = [int(v) for v in np.random.default_rng(3).integers(-(10**9), 10**9, 120)]
    measure = Quantile(ValueOf(WIDE), fraction)
    assert levels_of(measure.value, 1) == (61036, 32768)
    search = _search(measure, GaussianNoise((Fraction(1, 1000),)))
    (found,) = search.values(_released(search, values, Seeded(1)), _standing(), [])
    needed = -(-fraction.numerator * 120 // fraction.denominator)
    assert found.value == sorted(values)[needed - 1]
    assert found.noise_interval == Interval(LEVEL, found.value, found.value)


FINE = RealColumn("fine", Fraction(0), Fraction(2**20), Fraction(1, 2**20))


@pytest.mark.parametrize("target", [0, 2**24, 2**30, 2**30 + 2**8, 3 * 2**24 + 5, 2**40])
def test_theorem_NOISY_SEARCH_counts_what_lies_below_through_three_levels(target: int) -> None:
    """Also where the target lies in the first bin of a level: the rows below that bin still count."""
    table = Table("people", (FINE,), rows=9)
    measure = Quantile(ValueOf(FINE), Fraction(1, 2))
    assert len(levels_of(measure.value, 1)) == 3
    (reading,) = readings_of(Query(table, (("q", measure),)), PrivacyUnit("replace-one"))
    search = Search(NoisyReading(reading, GaussianNoise((Fraction(1, 1000),)), rounds_of(reading)))
    rows = [{"fine": step} for step in [0] * 4 + [target] + [2**40] * 4]

    def read(reading: Reading) -> Columns:
        return _counted(reading, rows)

    released = search._levels.release(read(search.only.reading), read, Seeded(1))
    (found,) = search.values(released, _standing(), [])
    assert found.value == target / 2**20
    assert found.noise_interval == Interval(LEVEL, found.value, found.value)


@pytest.mark.parametrize("noise", [GaussianNoise((Fraction(4),)), GeometricNoise((Fraction(5, 2),))])
def test_theorem_NOISY_SEARCH_interval_covers_at_its_level(noise: Mechanism) -> None:
    """False alarm below 1e-9 (binomial, of runs at 95 %); an interval of a third of the error fails."""
    values = [int(v) for v in np.random.default_rng(4).normal(0, 10**6, 120)]
    measure = Quantile(ValueOf(WIDE), Fraction(1, 2))
    truth, search = sorted(values)[59], _search(measure, noise)
    missed = narrow_missed = 0
    for seed in range(RUNS):
        released = _released(search, values, Seeded(seed))
        (found,) = search.values(released, _standing(), [])
        missed += not found.noise_interval.low <= truth <= found.noise_interval.high
        third = search._levels.error // 3
        low, high = search._ends(released, list(search._looked_at(released)), below=-third, above=third)
        narrow_missed += not low[0] <= truth <= high[0]
    assert missed <= MOST_MISSED
    assert narrow_missed > MOST_MISSED


@pytest.mark.parametrize(("which", "sign"), [("least", 1), ("greatest", -1)])
def test_an_extreme_is_not_beyond_every_row(which: str, sign: int) -> None:
    """The end of its interval that is not a declared bound has a row beyond it, at the stated level."""
    values = [int(v) for v in np.random.default_rng(5).normal(0, 10**6, 120)]
    search = _search(Extreme(ValueOf(WIDE), which), GaussianNoise((Fraction(4),)))  # type: ignore[arg-type]
    failures = 0
    for seed in range(RUNS):
        (found,) = search.values(_released(search, values, Seeded(seed)), _standing(), [])
        inner = found.noise_interval.high if which == "least" else found.noise_interval.low
        failures += not any(sign * v <= sign * inner for v in values)
        beyond = sum(sign * v < sign * found.value for v in values)
        assert beyond < 50  # far inside, but not in the middle
    assert failures <= MOST_MISSED


class Worst(Planted):
    """Noise that is as large as it says in every round, on one side: larger at higher levels than the usual."""

    def __init__(self, sign: int, level: float) -> None:
        self._level, self._off = level, sign * (5 if level == LEVEL else 9)

    def release(self, exact: Columns, bits: Bits) -> Columns:
        return [[z + self._off for z in exact[0]]]

    def error(self, confidence: float) -> int:
        rounds = 31  # of a search over all that ``WIDE`` can be
        return 5 if confidence <= 1 - (1 - LEVEL) / rounds else 9


@pytest.mark.parametrize("level", [LEVEL, 0.999])
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("which", ["least", "greatest"])
@pytest.mark.parametrize("rows", [1, 6, 40])
def test_theorem_NOISY_SEARCH_an_extreme_is_surely_not_beyond_every_row(
    which: str, sign: int, level: float, rows: int
) -> None:
    """Whatever the noise within its bound.  Mutants: an offset that is nearer by one; the bound of another level."""
    values = [17 * 10**6 + 3] * rows
    search = _search(Extreme(ValueOf(WIDE), which), Worst(sign, level))  # type: ignore[arg-type]
    assert search.only.times == 31
    released = _released(search, values, Seeded(0))
    (found,) = search.values(released, replace(_standing(), noise_level=level), [])
    low, high = found.noise_interval.low, found.noise_interval.high
    assert high >= values[0] if which == "least" else low <= values[0]


@pytest.mark.parametrize("sql", ["SELECT MEDIAN(x) AS v FROM t", "SELECT MAX(x) AS v FROM t"])
def test_a_last_bin_with_one_value_is_searched_to_its_end(sql: str) -> None:
    """0..1,000,000 is one value more than full bins: what lies in the last one once failed after the charge."""
    column = IntegerColumn("x", 0, 1_000_000)
    budget = Guarantee(Fraction(50), Fraction(1, 10**6))
    study = Study(Table("t", (column,), rows=1000), PrivacyUnit("replace-one"), budget)
    with adyton.open(study, data=pd.DataFrame({"x": [10**6] * 900 + [5] * 100})) as asker:
        assert asker.ask(sql, epsilon=20).rows[0].values["v"].value == 10**6


@pytest.mark.parametrize(
    ("accounting", "validity"),
    [
        ("gdp", Validity(Fraction(9, 10))),
        ("zcdp", Validity(Fraction(9, 10), queries=1, tolerance=Fraction(1, 10))),
        ("pure", Validity(Fraction(9, 10), stability=Fraction(1, 10**4))),
        ("pure", Validity(Fraction(9, 10), queries=1, tolerance=Fraction(1, 4))),
    ],
)
def test_theorem_NOISY_SEARCH_the_interval_holds_what_no_comparison_denies(
    accounting: str, validity: Validity
) -> None:
    """Worked out again, step by step: a number below -below excludes what is not above, one of above what is above.

    A plan's reach is that of all rows together; the others are at least that of the noise, for all eleven
    comparisons.
    """
    column, rows = IntegerColumn("age", 0, 100), 10_000
    table, unit = Table("people", (column,), rows=rows), PrivacyUnit("replace-one")
    pure, scale = accounting == "pure", 100 if accounting == "pure" else 300
    study = study_with(table, accounting, unit, 5, validity=validity)
    noise = GeometricNoise((Fraction(scale),)) if pure else GaussianNoise((Fraction(scale),))
    (reading,) = readings_of(Query(table, (("q", Quantile(ValueOf(column), Fraction(1, 2))),)), unit)
    search = Search(NoisyReading(reading, noise, rounds_of(reading)))
    assert search.noises == 11
    context = standing_of(study, rows, values=search.noises)
    below, above, way = context.population.turns(search.only, context)
    assert way == "releases"
    assert min(below, above) > 2.9 * scale  # the quantile of one of eleven normals at 5 % is 2.9
    narrowed = 0
    for seed in range(30):
        released = search._levels.release([[99] * 100 + [100]], lambda _: [[]], Seeded(seed))
        possible = set(range(101))
        for places, noisy in zip(search._looked_at(released), released, strict=True):
            place, z = int(places[0]), noisy[0]
            if z < -below:
                possible -= set(range(place + 1))
            if z >= above:
                possible -= set(range(place + 1, 101))
        (found,) = search.values(released, context, [])
        interval = found.population_interval
        assert isinstance(interval, Interval)
        narrowed += len(possible) < 101
        assert interval.low <= min(possible)
        assert max(possible) <= interval.high
        assert {interval.low, interval.high} == {min(possible), max(possible)}
    assert narrowed > 20


def test_theorem_NOISY_SEARCH_no_comparison_has_less_confidence() -> None:
    """Mutant: 1 - (1 - LEVEL) / rounds in floats, which is below it for some numbers of rounds."""
    for rounds in range(1, 60):
        one = SimpleNamespace(mechanism=SimpleNamespace(error=Fraction), times=rounds)
        confidence = SearchLevels.error_at(SimpleNamespace(only=one), LEVEL)  # type: ignore[arg-type]
        assert confidence >= 1 - Fraction(1, 20) / rounds
