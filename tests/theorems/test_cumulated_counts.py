"""Distribution functions: the ends hold the true fraction whatever the noise is, and no farther apart than they must be."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from adyton.kernel.accounting.noisy_reading import LEVEL, NoisyReading
from adyton.kernel.mechanisms import GaussianNoise, GeometricNoise, Mechanism
from adyton.kernel.privacy import Guarantee, PrivacyUnit
from adyton.kernel.schema import CategoryColumn, IntegerColumn, Table
from adyton.kernel.terms.leaves import ValueOf
from adyton.kernel.terms.measures import Cdf
from adyton.planning.measures.distribution import Distribution, Error, _added, _ends, _weighted
from adyton.planning.readings import readings_of
from adyton.population.base import PopulationContext
from adyton.query.nodes import Query
from adyton.study import Study, Validity
from support.curators import standing_of
from support.randomness import Seeded
from support.tries import often

AGE = IntegerColumn("age", 0, 100)
REGION = CategoryColumn("region", ("a", "b"))
TABLE = Table("t", (AGE, REGION), rows=1000)
POINTS = tuple(map(Fraction, (10, 25, 50, 90)))
BINS = len(POINTS) + 1


def weighted(scale: float, rounding: float) -> Error:
    return lambda f, left, right: _weighted(f, left, right, scale, rounding)


def added(each: float) -> Error:
    return lambda f, left, right: _added(f, left, right, each)


def ends(left: float, right: float, bins: tuple[int, int], error: Error) -> tuple[float, float]:
    """Of a single point."""
    low, high = _ends(*(np.array([side], float) for side in (left, right, *bins)), error)
    return float(low[0]), float(high[0])


errors: st.SearchStrategy[Error] = st.one_of(
    st.builds(weighted, st.floats(0, 50), st.sampled_from([0.0, 0.5])), st.builds(added, st.floats(0, 50))
)
counts = st.integers(0, 1000)


@given(
    left=counts,
    right=counts,
    bins=st.tuples(st.integers(1, 9), st.integers(1, 9)),
    error=errors,
    data=st.data(),
)
def test_theorem_CUMULATED_COUNTS_holds_whatever_the_noise_is(
    left: int, right: int, bins: tuple[int, int], error: Error, data: st.DataObject
) -> None:
    """Any two noises whose combination at the true fraction is within the error, however large each is."""
    if left + right == 0:
        return
    truth = left / (left + right)
    allowed = error(truth, *bins)
    combined = data.draw(st.floats(-allowed, allowed))
    free = data.draw(st.floats(-2000, 2000))  # along the direction that the combination does not see
    norm = (1 - truth) ** 2 + truth**2
    noise = (
        combined * (1 - truth) / norm + free * truth,
        -combined * truth / norm + free * (1 - truth),
    )
    low, high = ends(left + noise[0], right + noise[1], bins, error)
    assert 0 <= low <= truth + 1e-9
    assert truth - 1e-9 <= high <= 1


@given(left=st.integers(200, 1000), right=st.integers(200, 1000), each=st.floats(0.5, 10))
def test_theorem_CUMULATED_COUNTS_ends_are_where_the_error_is_used_up(
    left: int, right: int, each: float
) -> None:
    """So no interval is wider than the claim needs; and half of the error loses the fraction at the edge."""
    bins, error = (2, 3), added(each)
    low, high = ends(left, right, bins, error)
    for end, sign in ((low, 1), (high, -1)):
        assert sign * ((1 - end) * left - end * right) == pytest.approx(error(end, *bins), abs=1e-5)
    narrow_low, narrow_high = ends(left, right, bins, added(each / 2))
    assert low < narrow_low <= narrow_high < high


@given(
    error=errors, bins=st.tuples(st.integers(1, 9), st.integers(1, 9)), a=st.floats(0, 1), b=st.floats(0, 1)
)
def test_theorem_CUMULATED_COUNTS_errors_are_convex(
    error: Error, bins: tuple[int, int], a: float, b: float
) -> None:
    middle = error((a + b) / 2, *bins)
    assert middle <= (error(a, *bins) + error(b, *bins)) / 2 * (1 + 1e-12) + 1e-12


# From counts to intervals -----------------------------------------------------------------------------------


def distribution(noise: Mechanism) -> Distribution:
    query = Query(TABLE, (("f", Cdf(ValueOf(AGE), POINTS)),), by=(REGION,))
    (reading,) = readings_of(query, PrivacyUnit("replace-one"))
    return Distribution(NoisyReading(reading, noise))


def context(validity: Validity | None = None) -> PopulationContext:
    pure = validity is not None and validity.stability is not None
    budget = Guarantee(Fraction(5), Fraction(0) if pure else Fraction(1, 10**6))
    study = Study(TABLE, PrivacyUnit("replace-one"), budget, "pure" if pure else "gdp", validity=validity)
    return standing_of(study, 1000, values=2 * BINS)


EXACT = [[120, 80, 5, 300, 95, 3, 0, 1, 2, 0]]  # the second region has next to nobody


def truths() -> list[float]:
    cells = np.array(EXACT[0]).reshape(2, BINS)
    return [float(f) for row in cells for f in np.cumsum(row)[:-1] / row.sum()]


@pytest.mark.parametrize(
    ("noise", "divisor"), [(GaussianNoise((Fraction(6),)), 3), (GeometricNoise((Fraction(4),)), 8)]
)
def test_theorem_CUMULATED_COUNTS_interval_covers_at_its_level(noise: Mechanism, divisor: int) -> None:
    """False alarm 1e-9 for each of eight values (binomial, of runs at 95 %); a part of the error fails."""
    part, runs = distribution(noise), often(100, 200)
    limit = binom.isf(1e-9, runs, 1 - LEVEL)
    missed, cells = np.zeros(8), []
    error = part._noise_error(LEVEL)
    narrow: Error = lambda f, a, b: error(f, a, b) / divisor  # noqa: E731
    standing, exact = context(), truths()
    for seed in range(runs):
        released = part.mechanism.release(EXACT, Seeded(seed))
        found = part.values(released, standing, [])
        cells.append(np.array(released[0], dtype=float).reshape(2, BINS))
        for i, (value, truth) in enumerate(zip(found, exact, strict=True)):
            interval = value.noise_interval
            missed[i] += not interval.low <= truth <= interval.high
            assert interval.low <= value.value <= interval.high
    upto, on_left = np.cumsum(cells, axis=2), np.broadcast_to(np.arange(1.0, BINS), (runs, 2, BINS - 1))
    left, right = upto[..., :-1], upto[..., -1:] - upto[..., :-1]
    low, high = _ends(*(side.ravel() for side in (left, right, on_left, BINS - on_left)), narrow)
    outside = (np.tile(exact, runs) < low) | (np.tile(exact, runs) > high)
    assert missed.max() <= limit
    assert outside.reshape(runs, 8).sum(axis=0)[:4].max() > limit


def test_theorem_CUMULATED_COUNTS_little_noise_is_covered_with_rounding() -> None:
    """Three of 803 rows below the first point.  A fifth of all noises is rounded to 1 or more, which no
    interval holds that forgets it.  False alarm 1e-9 (binomial, 400 runs)."""
    part, exact_columns = distribution(GaussianNoise((Fraction(2, 5),))), [[3, 100, 400, 200, 100] * 2]
    released = [part.mechanism.release(exact_columns, Seeded(seed))[0][:BINS] for seed in range(400)]
    counts = np.array(released, float)
    below, others = counts[:, 0], counts[:, 1:].sum(axis=1)
    low, high = _ends(below, others, np.ones(400), np.full(400, BINS - 1.0), part._noise_error(LEVEL))
    missed = np.count_nonzero((low > 3 / 803) | (high < 3 / 803))
    assert missed <= binom.isf(1e-9, 400, 1 - LEVEL) < np.count_nonzero(below != 3)


def test_theorem_CUMULATED_COUNTS_rises_with_the_points_where_counts_do() -> None:
    """With next to no noise every interval is a point, the fraction itself."""
    part = distribution(GaussianNoise((Fraction(1, 1000),)))
    released = part.mechanism.release(EXACT, Seeded(1))
    for value, truth in zip(part.values(released, context(), [])[:4], truths(), strict=False):
        assert value.value == pytest.approx(truth)
        assert value.noise_interval.high - value.noise_interval.low < 0.02


def test_population_intervals_are_wider_and_hold_the_noise_of_all_bins() -> None:
    confidence, cap = Fraction(95, 100), Fraction(1, 20)
    for noise, validity in (
        (GaussianNoise((Fraction(6),)), Validity(confidence)),
        (GeometricNoise((Fraction(4),)), Validity(confidence, stability=cap)),
    ):
        part = distribution(noise)
        released = part.mechanism.release(EXACT, Seeded(2))
        for value in part.values(released, context(validity), []):
            wide, narrow = value.population_interval, value.noise_interval
            assert wide.low <= narrow.low  # type: ignore[union-attr]
            assert wide.high >= narrow.high  # type: ignore[union-attr]
