"""Studies that round their answers: bits are counted, all transcripts hold at once, and noise stays what it was."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import gammaln
from scipy.stats import binom

from adyton.audit import replay
from adyton.errors import InvalidRequest
from adyton.kernel.accounting.noisy_reading import NoisyReading
from adyton.kernel.exact import UNITS_PER_ONE, float_down, float_up
from adyton.kernel.exact.cells import whole
from adyton.kernel.exact.outward import bits_of
from adyton.kernel.mechanisms.gaussian import GaussianNoise
from adyton.kernel.mechanisms.grid import Grid
from adyton.kernel.privacy import Guarantee, PrivacyUnit
from adyton.kernel.schema import BooleanColumn, IntegerColumn, Table
from adyton.noise_intervals.widths import ratio_band
from adyton.planning.plan import make_batch
from adyton.planning.price import price_of
from adyton.population import subset_ends
from adyton.population.base import PopulationContext, Position
from adyton.population.rounding import RoundingPopulation
from adyton.query.request import request_of
from adyton.study import Study, Validity
from adyton.study.validity import FOR_THEIR_NOISE
from adyton.validity.described import FOR_DESCRIBED
from adyton.validity.published.transcripts import Transcripts, nats_of
from support.curators import open_kept
from support.randomness import SeededByHash

AGE, SMOKER = IntegerColumn("age", 0, 100), BooleanColumn("smoker")
COUNT = "SELECT COUNT(*) AS n FROM people WHERE age > 50"
MEAN = "SELECT AVG(age) AS a FROM people WHERE smoker"
FALSE_ALARM = 1e-7  # of each test below that draws anything, seeded
LEFT = float(1 - FOR_DESCRIBED - FOR_THEIR_NOISE)  # of the failure, for what is said after bits were released


def study(rows: int, grid: str | Fraction | None = "0.02", confidence: str = "0.95", **more: Any) -> Study:
    unit = more.pop("unit", PrivacyUnit("replace-one"))
    validity = Validity(confidence, method="rounding", grid=grid, **more)
    budget = Guarantee(Fraction(500), Fraction(1, 10**9))
    return Study(Table("people", (AGE, SMOKER), rows, unit.person), unit, budget, "gdp", validity=validity)


def asked(known: Study, sql: str = COUNT, **price: Any) -> tuple[NoisyReading, int]:
    """What is read, with its noise and grid, and the bits that a receipt would say, in units.

    Without a description, so that its intervals are those of this theorem alone.
    """
    batch = make_batch(known, [request_of(sql, known.table)], price_of(**price), known.allowed)
    return replace(batch.plans[0].parts[0].only, nats=None), batch.radius


def context(known: Study, query: int, bits: int) -> PopulationContext:
    at = Position(query, Fraction(bits, UNITS_PER_ONE), Fraction(0), 1)
    return PopulationContext(RoundingPopulation(known), at, known.table.rows)


def ends(known: Study, part: NoisyReading, released: Any, query: int, bits: int) -> tuple[Any, Any]:
    low, high, _ = RoundingPopulation(known).singles(part, whole(released), context(known, query, bits))
    return low, high


# The grid ----------------------------------------------------------------------------------------------------


@given(st.integers(-50, 50), st.integers(0, 60), st.integers(1, 40), st.integers(-300, 300))
def test_theorem_ROUNDING_STUDY_an_answer_is_one_of_few_and_near(
    low: int, length: int, step: int, value: int
) -> None:
    """Mutants: a cell more than is counted; the first of a cell for its middle; no clipping at an end."""
    grid = Grid.over(low, low + length, step)
    possible = {low + i * step + (step - 1) // 2 for i in range(grid.cells)}
    (found,) = grid.rounded(np.array([value])).tolist()
    assert found in possible
    assert len(possible) == grid.cells == -(-(length + 1) // step)
    if low <= value <= low + length:
        assert abs(found - value) <= grid.moved <= step // 2
    for exact in (low, low + length // 2, low + length):  # noise is cut off at the ends, never made larger
        assert abs(found - exact) <= abs(value - exact) + grid.moved


def test_theorem_ROUNDING_STUDY_large_numbers_do_not_wrap_around() -> None:
    grid = Grid.over(-(10**30), 10**30, 10**29)
    values = np.array([-(10**40), 0, 10**40], object)
    assert grid.rounded(values).tolist() == [grid.rounded(np.array([v], object))[0] for v in values]
    assert grid.cells == 21
    assert Grid.over(0, 2**62, 2**61).rounded(np.array([2**62], np.int64)).tolist() == [2**62 + 2**60 - 1]


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_theorem_ROUNDING_STUDY_the_noise_interval_has_the_grid_in_it(confidence: float) -> None:
    """For a count near an end of its grid and inside it, and for a mean whose count is near its end.

    Mutants: ``error`` without ``moved``; ``ratio_band`` without it.  False alarm: FALSE_ALARM.
    """
    draws, known = 20_000, study(60, "0.15")
    part, _ = asked(known, scale="6")
    for exact in (0, 3, 31, 60):
        (released,) = part.mechanism.release([[exact] * draws], SeededByHash(exact))
        inside = np.abs(whole(released) - exact) <= part.mechanism.error(confidence)
        assert binom.sf(draws - inside.sum() - 1, draws, 1 - confidence) > FALSE_ALARM
    part, _ = asked(known, MEAN, scale="300")
    top, bottom = -800, 60 * 100  # all rows, whose mean is a little below the middle
    columns = part.mechanism.release([[top] * draws, [bottom] * draws], SeededByHash(9))
    gaps = [whole(column) - exact for column, exact in zip(columns, (top, bottom), strict=True)]
    theta = top / bottom
    inside = np.abs(gaps[0] - theta * gaps[1]) <= ratio_band(part.mechanism, confidence)(np.array(theta))
    assert binom.sf(draws - inside.sum() - 1, draws, 1 - confidence) > FALSE_ALARM


def test_theorem_ROUNDING_STUDY_a_named_width_has_room_for_the_grid() -> None:
    known = study(5000)
    for sql, within in ((COUNT, 80), (MEAN, 4), ("SELECT SUM(age) AS s FROM people", 6000)):
        with open_kept(known, data=people(5000)) as curator:
            ((_, bound),) = curator.preview(sql, within=within).bounds.items()
            assert bound.half_width is not None
            assert within * 0.97 < bound.half_width <= within
            with pytest.raises(InvalidRequest, match="half a cell"):
                curator.preview(sql, within=within / 10)


# Bits --------------------------------------------------------------------------------------------------------


@given(
    st.recursive(st.just(()), lambda inner: st.lists(inner, min_size=1, max_size=5).map(tuple), max_leaves=40)
)
def test_theorem_ROUNDING_STUDY_weights_of_all_transcripts_sum_to_one(tree: Any) -> None:
    """A tree of answers, each node with as many branches as it likes: adaptive grids, and an adaptive end.

    Mutant: ``bits_of`` rounded down.
    """

    def weight(node: Any, bits: Fraction) -> float:
        if not node:
            return math.exp(-nats_of(bits))
        return sum(weight(child, bits + bits_of(len(node))) for child in node)

    assert weight(tree, Fraction(0)) <= 1
    assert weight(tree, Fraction(0)) > 1 - 1e-9


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        (COUNT, 50),  # 5001 possible counts in steps of 101
        (MEAN, None),
        ("SELECT smoker, COUNT(*) AS n FROM people GROUP BY smoker", 50**2),
        (
            "SELECT COUNT(*) AS n FROM people WHERE smoker; SELECT COUNT(*) AS m FROM people WHERE NOT smoker",
            50**2,
        ),
    ],
)
def test_theorem_ROUNDING_STUDY_a_receipt_counts_all_that_is_possible(sql: str, expected: int | None) -> None:
    """Disjoint filters share a price of privacy, never their bits.

    Mutants: the radius of the noise in the place of bits; the greatest of a family; a cell or a coordinate less.
    """
    known = study(5000)
    with open_kept(known, data=people(5000)) as curator:
        answers = curator.ask_many(sql.split("; "), epsilon=1)
        (receipt,) = curator.receipts()
        if expected is None:
            (part,) = (
                make_batch(known, [request_of(sql, known.table)], price_of(epsilon=1), known.allowed)
                .plans[0]
                .parts
            )
            expected = math.prod(grid.cells for grid in part.only.mechanism.grids)  # type: ignore[attr-defined]
            assert expected > 2000
        assert (
            receipt.order.radius
            == receipt.spent_radius
            == pytest.approx(math.log2(expected) * 1e18, rel=1e-12)
        )
        assert receipt.order.radius >= math.log2(expected) * 1e18 * (1 - 1e-15)
        assert "ROUNDING-STUDY" in answers[0].certificate.theorems
        assert curator.budget().bits == receipt.spent_radius


def test_theorem_ROUNDING_STUDY_bits_are_durable_and_replayed(tmp_path: Path) -> None:
    known, frame = replace(study(2000), ledger=tmp_path / "r.ledger"), people(2000)
    with open_kept(known, data=frame) as curator:
        first = curator.ask(COUNT, epsilon=1)
        before = curator.preview(MEAN, epsilon=1)
        curator.ask(MEAN, epsilon=1)
        again = curator.ask(COUNT, epsilon=1)
    assert again.repeated
    assert (again.to_json()["answer"]) == first.to_json()["answer"]
    with open_kept(known, data=frame) as curator:
        bits = [receipt.order.radius for receipt in curator.receipts()]
        assert curator.budget().bits == sum(bits) == [r.spent_radius for r in curator.receipts()][-1]
        assert curator.verify().receipts == 2
        assert before.transcript is not None
        assert (before.transcript.before, before.transcript.own) == tuple(bits)
        following = curator.preview(COUNT.replace("50", "60"), epsilon=1)
        assert following.transcript is not None
        assert following.transcript.before == sum(bits)
        first_of_all = curator.mock().preview(COUNT, epsilon=1).population["n"]
        assert following.population["n"].half_width > first_of_all.half_width  # type: ignore[union-attr,operator]


# The population ----------------------------------------------------------------------------------------------


def tables(size: int, kinds: int) -> Iterator[tuple[int, ...]]:
    """How many rows are of each kind."""
    if kinds == 1:
        yield (size,)
        return
    for first in range(size + 1):
        for rest in tables(size - first, kinds - 1):
            yield (first, *rest)


@pytest.mark.parametrize(
    ("size", "confidence", "grid"), [(12, "0.5", "0.5"), (12, "0.9", "0.25"), (20, "0.5", "0.25")]
)
def test_theorem_ROUNDING_STUDY_the_worst_of_all_analysts_exactly(
    size: int, confidence: str, grid: str
) -> None:
    """Rows of four kinds, equally likely, all tables, all queries: 16 first ones and, for each answer, 16 second ones.

    The noise is 0 but for 1e-15.  The chance that one of the two intervals misses is a sum over all tables, for
    the worst analyst there is.  Three quarters of the width are refuted: a query about nobody, whose answer is
    the middle of a cell, misses always.  Mutants: ends that forget the grid; those of the other side.
    """
    known = study(size, grid, confidence)
    part, bits = asked(known, scale="0.06")
    kinds = 4
    counts = np.array(list(tables(size, kinds)))
    chances = np.exp(gammaln(size + 1) - gammaln(counts + 1).sum(1) - size * math.log(kinds))
    queries = np.array(list(itertools.product((0, 1), repeat=kinds)))
    expected = queries.mean(1) * size
    grids: Grid = part.mechanism.grids[0]  # type: ignore[attr-defined]
    released = grids.rounded(counts @ queries.T)
    assert bits == pytest.approx(math.log2(grids.cells) * 1e18)

    def missed(number: int, before: int, part_of_it: float) -> Any:
        low, high = ends(known, part, released.ravel(), number, before)
        low, high = (released - (released - end.reshape(released.shape)) * part_of_it for end in (low, high))
        return (expected < low - 1e-9) | (expected > high + 1e-9)

    def worst(part_of_it: float) -> float:
        one, two = missed(1, 0, part_of_it), missed(2, bits, part_of_it)
        totals = []
        for first in range(len(queries)):
            seen = [released[:, first] == answer for answer in np.unique(released[:, first])]
            either = one[:, [first]] | two
            totals.append(sum(float(((chances * inside) @ either).max()) for inside in seen))
        return max(totals)

    assert worst(1.0) <= (1 - float(confidence)) * LEFT
    assert worst(0.75) > 1 - float(confidence)


def test_theorem_ROUNDING_STUDY_three_quarters_of_a_width_are_too_little() -> None:
    """Not because of the grid alone: exactly, for one query that was fixed in advance, at a level of 1e-6."""
    known = study(1000, "0.005", "0.999999")
    part, _ = asked(known, scale="0.06")
    counts = np.arange(1001)
    chances = binom.pmf(counts, 1000, 0.5)
    released = part.mechanism.grids[0].rounded(counts)  # type: ignore[attr-defined]
    low, high = ends(known, part, released, 1, 0)
    assert chances[(low > 500) | (high < 500)].sum() <= 1e-6 * LEFT
    shorter = np.abs(500 - released) > 0.75 * np.where(released > 500, released - low, high - released)
    assert chances[shorter].sum() > 1e-6


def test_theorem_ROUNDING_STUDY_holds_against_an_analyst_who_votes() -> None:
    """150 coins of each row are asked for; the last query counts the rows that agree with most of the answers.

    With one bit an answer such a vote is off by .318 sqrt(k / n), 54 % of sqrt(k ln 2 / (2n)); on finer grids the
    bits pay for more than it can use.  So it does not refute three quarters of the width, and it refutes at once
    whoever forgets the bits.  Of 60 studies each misses with chance .05 at most.  False alarm: FALSE_ALARM.
    """
    size, coins, studies = 1000, 150, 60
    known, rng = study(size, "0.02"), np.random.default_rng(3)
    part, bits = asked(known, scale="4")
    missed = forgotten = 0
    for number in range(studies):
        rows = rng.integers(0, 2, (size, coins))
        (answers,) = part.mechanism.release([rows.sum(0).tolist()], SeededByHash(number))
        signs = np.where(whole(answers) >= size / 2, 1, -1)
        score = (2 * rows - 1) @ signs
        agree, truth = int((score > 0).sum()), size * (1 - binom.pmf(coins // 2, coins, 0.5)) / 2
        (released,) = part.mechanism.release([[agree]], SeededByHash(1000 + number))
        low, high = ends(known, part, released, coins + 1, coins * bits)
        missed += not low[0] <= truth <= high[0]
        low, high = ends(known, part, released, coins + 1, 0)
        forgotten += not low[0] <= truth <= high[0]
    assert binom.sf(missed - 1, studies, 0.05 * LEFT) > FALSE_ALARM
    assert forgotten == studies


@pytest.mark.literature
def test_theorem_ROUNDING_STUDY_best_of_two_uses_all_of_a_bit() -> None:
    """Whether one count exceeds another is one bit, and the larger of two misses twice as often: exactly, on
    all pairs of two independent counts.  So no level for a transcript can be left out of the sum.
    """
    size = 400
    chances = binom.pmf(np.arange(size + 1), size, 0.5)
    above = binom.sf(np.arange(size + 1) - 1, size, 0.5)
    for threshold in (230, 240, 250):
        one = above[threshold]
        larger = 1 - (1 - one) ** 2  # whichever the bit names
        assert larger > 1.9 * one
    assert chances.sum() == pytest.approx(1)


@pytest.mark.parametrize("scale", ["8", "60"])
def test_theorem_ROUNDING_STUDY_means_hold_where_grids_end(scale: str) -> None:
    """All rows match and all values are at an end, so sum and count are at the ends of their grids, and noise is
    cut off: fixed queries, each interval missing with at most its level.  False alarm: FALSE_ALARM.

    Mutant: widths without the grids.
    """
    size, draws = 40, 4000
    known = study(size, "0.25", "0.6")
    part, _ = asked(known, MEAN, scale=scale)
    population, where = RoundingPopulation(known), context(known, 1, 0)
    rng = np.random.default_rng(1)
    value = rng.random((draws, size)) < 0.9  # 100, else 0: the mean is 90
    match = rng.random((draws, size)) < 0.97
    sums = ((2 * (100 * value) - 100) * match).sum(1)
    counts = match.sum(1) * part.reading.coordinates[1].times
    columns = part.mechanism.release([sums.tolist(), counts.tolist()], SeededByHash(5))
    low, high, _ = population.means(part, [whole(column) for column in columns], where)
    theta = (2 * 90 - 100) / part.reading.coordinates[1].times
    missed = int(((low > theta) | (high < theta)).sum())
    level = 0.4 * LEFT * (1 - 1 / math.log2(3))
    assert binom.sf(missed - 1, draws, level) > FALSE_ALARM
    assert np.median(high - low) < 2 * 100 / part.reading.coordinates[1].times + 1e-9


def test_theorem_ROUNDING_STUDY_there_is_room_for_noise_and_for_a_cell() -> None:
    """Six standard deviations on either side of both ranges, none for a single number; and the count that bounds a
    mean's variance is the largest of its cell.  Mutants: no padding; the middle of the cell.
    """
    known = study(500, "0.1")
    part, _ = asked(known, MEAN, scale="60")
    noise: Any = part.mechanism
    for grid, (low, high), scale in zip(
        noise.grids, ((-50_000, 50_000), (0, 50_000)), noise.scales, strict=True
    ):
        assert grid.low <= low - 6 * scale
        assert grid.low + grid.step * grid.cells - 1 >= high + 6 * scale
    single: Any = asked(known, scale="60")[0].mechanism
    assert single.grids[0].low == 0
    seen: list[Any] = []
    released = [noise.grids[0].rounded(np.array([1000])), noise.grids[1].rounded(np.array([20_000]))]
    with pytest.MonkeyPatch.context() as patch:
        own = subset_ends.most_rows
        patch.setattr(
            subset_ends,
            "most_rows",
            lambda coin, counts, *rest: (seen.append(counts), own(coin, counts, *rest))[1],
        )
        RoundingPopulation(known).means(part, released, context(known, 1, 0))
    assert seen[0][0] >= released[1][0] + noise.grids[1].moved


# Tests on the rows afterwards --------------------------------------------------------------------------------


def test_theorem_ROUNDING_STUDY_p_values_after_the_worst_answers_exactly() -> None:
    """The level of the worst test that one answer leads to, over all tables and queries.  Mutant: alpha itself."""
    size, kinds, alpha = 20, 4, Fraction(1, 10)
    counts = np.array(list(tables(size, kinds)))
    chances = np.exp(gammaln(size + 1) - gammaln(counts + 1).sum(1) - size * math.log(kinds))
    queries = np.array([q for q in itertools.product((0, 1), repeat=kinds) if 0 < sum(q) < kinds])
    found = counts @ queries.T
    p_values = binom.sf(found - 1, size, queries.mean(1))

    def worst(threshold: float) -> float:
        rejected, most = p_values <= threshold, 0.0
        for first in range(len(queries)):
            answers = Grid.over(0, size, 3).rounded(found[:, first])
            seen = (answers == answer for answer in np.unique(answers))
            most = max(most, sum(float(((chances * inside) @ rejected).max()) for inside in seen))
        return most

    bits = bits_of(Grid.over(0, size, 3).cells)
    assert worst(Transcripts(bits).threshold(alpha)) <= alpha
    assert worst(float(alpha)) > 2 * alpha


@given(st.fractions(0, 5000, max_denominator=1000), st.fractions("1e-30", "0.5"))
def test_theorem_ROUNDING_STUDY_thresholds_are_on_the_safe_side(bits: Fraction, alpha: Fraction) -> None:
    threshold = Transcripts(bits).threshold(alpha)
    exact = math.log2(alpha) - float(bits)
    assert threshold == 0 or abs(math.log2(threshold) - exact) < 1e-6 * (1 + float(bits))
    assert Transcripts(bits).level(threshold) <= float_up(alpha)
    assert Transcripts(bits).level(1) == 1.0
    assert Transcripts(Fraction(0)).threshold(alpha) == float_down(alpha)  # before any query


@pytest.mark.parametrize("p_value", [1e-41, 5e-324])
@pytest.mark.parametrize("bits", [0, 10, Fraction(201, 2)])
def test_theorem_ROUNDING_STUDY_p_values_may_be_as_small_as_floats_are(
    bits: Fraction, p_value: float
) -> None:
    level = Transcripts(Fraction(bits)).level(p_value)
    assert p_value * 2.0**bits <= level <= p_value * 2.0**bits * (1 + 1e-9) + 5e-324


def people(size: int, seed: int = 1) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame({"age": rng.integers(0, 101, size), "smoker": rng.random(size) < 0.3})


# Through curators --------------------------------------------------------------------------------------------


def test_theorem_ROUNDING_STUDY_replays_on_neighbors_find_a_planted_fault() -> None:
    """The number behind a cell has the same noise on both tables, the charge and the bits are the same.

    Planted: rounded, and without noise at all.
    """
    here, there = people(40), people(40)
    there.loc[7] = [100 - int(here.age[7]), not here.smoker[7]]
    for sql in (COUNT, MEAN, "SELECT smoker, SUM(age) AS s FROM people GROUP BY smoker"):
        found = replay(study(40, "0.1"), (here, there), sql, bits=SeededByHash(4), epsilon="1")
        assert found.faults == ()
        assert found.movements
    here, there = people(40), people(40)
    there.loc[:, "age"] = 0  # no neighbors: then the noise would have to be another one
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            GaussianNoise, "release", lambda _, exact, bits: [whole(c) * (1 + len(c)) for c in exact]
        )
        found = replay(study(40, "0.1"), (here, there), COUNT, bits=SeededByHash(4), epsilon="1")
    assert "the noise depends on the data" in found.faults


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("SELECT MEDIAN(age) FROM people", "a quantile"),
        ("SELECT STDDEV(age) FROM people", "a standard deviation"),
        ("SELECT CDF(age, 20, 50) FROM people", "a distribution"),
        ("SELECT CORR(age, age) FROM people", "the correlation"),
    ],
)
def test_what_is_not_rounded_is_refused_free_of_charge(sql: str, reason: str) -> None:
    with open_kept(study(500), data=people(500)) as curator:
        with pytest.raises(InvalidRequest, match=f"{reason} is not put on a grid"):
            curator.ask(sql, epsilon=1)
        with pytest.raises(InvalidRequest, match="monitor is not put on a grid"):
            curator.open_monitor(epsilon=1, positives=3)
        with pytest.raises(InvalidRequest, match="weighted histogram is not put on a grid"):
            curator.open_pmw(["smoker"], epsilon=1, queries=100)
        with pytest.raises(InvalidRequest, match="synthetic table is not put on a grid"):
            curator.synthesize(["smoker"], epsilon=1)
        with pytest.raises(InvalidRequest, match="is not put on a grid"):
            curator.suggest_bounds("age", epsilon=1)
        with pytest.raises(InvalidRequest, match="measured together is not put on a grid"):
            curator.ask_many([COUNT, COUNT.replace("50", "60")], strategy="optimised", epsilon=1)
        assert curator.budget().queries == 0


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"unit": PrivacyUnit("add-remove")}, "public number of units"),
        ({"grid": None}, "needs validity.grid"),
        ({"grid": "0.7"}, "at most 0.5"),
        ({"queries": 10, "tolerance": "0.3"}, "names its own price"),
    ],
)
def test_a_study_that_cannot_round_says_why(changed: dict[str, Any], reason: str) -> None:
    with pytest.raises(InvalidRequest, match=reason):
        study(5000, **changed)


def test_the_best_grid_for_so_many_queries_is_taken() -> None:
    few, many = (study(5000, None, queries=k).grid for k in (3, 100))
    assert few is not None
    assert many is not None
    assert few < many <= Fraction(1, 2)
    assert study(5000, "0.1").grid == Fraction(1, 10)
    assert study(5000).fingerprint != study(5000, "0.1").fingerprint
