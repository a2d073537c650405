"""Means that release their squares: a little more noise, and an interval that knows how spread values are."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise, product
from typing import Any

import numpy as np
import pandas as pd
import pytest

import adyton
from adyton.kernel.exact import UNITS_PER_ONE
from adyton.kernel.mechanisms import GaussianNoise
from adyton.kernel.schema import BooleanColumn, CategoryColumn, IntegerColumn, Table
from adyton.noise_intervals.widths import largest_ratio
from adyton.planning import learned
from adyton.planning.measures import mean_with_squares
from adyton.planning.measures.additive import Additive
from adyton.planning.measures.mean_with_squares import SQUARES, MeanWithSquares
from adyton.planning.plan import make_batch
from adyton.planning.price import price_of
from adyton.population import base
from adyton.query.request import request_of
from adyton.study import Study, Validity
from support.curators import seeded

REGIONS = ("n", "s", "e", "w")
COLUMNS = (
    CategoryColumn("region", REGIONS),
    IntegerColumn("x", 0, 1000),
    IntegerColumn("one", 0, 1),
    BooleanColumn("b"),
)
ROWS = 20_000


def study(
    rows: int = ROWS, *, accounting: str = "gdp", validity: Validity | None = None, **more: Any
) -> Study:
    budget = adyton.Guarantee(epsilon=more.pop("epsilon", 1), delta=0 if accounting == "pure" else 1e-9)
    unit = more.pop("unit", adyton.PrivacyUnit("replace-one"))
    return Study(Table("t", COLUMNS, rows), unit, budget, accounting, validity=validity, **more)


VALID = Validity(Fraction(95, 100), dictionary="schema")


def part_of(known: Study, sql: str, **price: Any) -> Any:
    price = price or {"epsilon": "0.3"}
    (plan,) = make_batch(known, [request_of(sql, known.table)], price_of(**price), known.allowed).plans
    return plan.parts[0]


@pytest.mark.parametrize("sql", ["SELECT AVG(x) FROM t", "SELECT region, AVG(x) FROM t GROUP BY region"])
@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
def test_theorem_VARIANCE_INTERVAL_squares_beside_a_mean_cost_a_twentieth(
    monkeypatch: pytest.MonkeyPatch, sql: str, adjacency: str
) -> None:
    """At one price the noise of the mean is at most 2.7 % larger.  Mutant: squares as dear as the sum."""
    known = study(validity=VALID, unit=adyton.PrivacyUnit(adjacency))
    with_them = part_of(known, sql)
    monkeypatch.setattr(mean_with_squares, "SQUARES", Fraction(0))
    without = part_of(known, sql)
    assert isinstance(with_them, MeanWithSquares)
    assert isinstance(without, Additive)
    for own, pair in ((0, 0), (2, 1)):
        louder, before = (
            part.mechanism.scales[place]
            / part.reading.coordinates[place].times  # a count has steps of its own
            for part, place in ((with_them, own), (without, pair))
        )
        assert 1 <= louder / before <= Fraction(1027, 1000)
    assert with_them.only.amount(known.rule) <= without.only.amount(known.rule) * (1 + 1e-6)


def test_theorem_VARIANCE_INTERVAL_a_named_width_stays_and_costs_little(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known, price = study(validity=VALID), {"within": 5, "expected_rows": ROWS}
    with_them = part_of(known, "SELECT AVG(x) FROM t", **price)
    monkeypatch.setattr(mean_with_squares, "SQUARES", Fraction(0))
    without = part_of(known, "SELECT AVG(x) FROM t", **price)
    assert with_them.bound(ROWS).half_width == pytest.approx(without.bound(ROWS).half_width, rel=1e-9)
    dearer = with_them.only.amount(known.rule) / without.only.amount(known.rule)
    assert 1 < dearer <= 1.055


@pytest.mark.parametrize(
    ("known", "sql"),
    [
        (study(validity=VALID), "SELECT AVG(one) FROM t"),
        (study(validity=VALID), "SELECT region, PROPORTION(b) FROM t GROUP BY region"),
        (study(11_999, validity=VALID), "SELECT region, AVG(x) FROM t GROUP BY region"),
        (study(), "SELECT AVG(x) FROM t"),
        (
            study(accounting="pure", validity=Validity(Fraction(95, 100), Fraction(1, 20))),
            "SELECT AVG(x) FROM t",
        ),
        (
            study(validity=Validity(Fraction(95, 100), method="rounding", grid=Fraction(1, 50))),
            "SELECT AVG(x) FROM t",
        ),
    ],
    ids=["two values", "a share", "few rows a cell", "no population", "pure", "rounded"],
)
def test_squares_are_read_only_where_they_pay(known: Study, sql: str) -> None:
    assert not isinstance(part_of(known, sql), MeanWithSquares)


@pytest.mark.parametrize(
    ("sql", "rows"), [("AVG(x) FROM t", ROWS), ("region, AVG(x) FROM t GROUP BY region", ROWS // 4)]
)
@pytest.mark.parametrize("accuracy", [0.1, 0.5, 1.3, 2.2, 10])
def test_squares_are_not_read_where_noise_drowns_what_rows_do(
    monkeypatch: pytest.MonkeyPatch, sql: str, rows: int, accuracy: float
) -> None:
    """The noise of the mean, at its worst ratio, is so many times what values at both ends of their range do.

    That of the sum alone is smaller, by the root of two at most.

    Mutants: squares at every price; at half of this noise; the rows of all cells for those of one.
    """
    known = study(validity=VALID, epsilon=500)
    scale = {"scale": 1000 / 2 * accuracy / math.sqrt(rows)}
    part = part_of(known, f"SELECT {sql}", **scale)
    assert isinstance(part, MeanWithSquares) == (accuracy < 2)
    monkeypatch.setattr(mean_with_squares, "SQUARES", Fraction(0))
    without = part_of(known, f"SELECT {sql}", **scale)
    assert accuracy < 2 or part == without


def test_theorem_VARIANCE_INTERVAL_a_mean_knows_its_spread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """60 studies at a confidence of one half, with a heavy tail.

    The claim allows 30 misses; the bounds leave so much room that ten would be a fault.  Mutant: a spread of a
    quarter of what was released.
    """
    known, misses, widths = study(validity=Validity(Fraction(1, 2), dictionary="schema")), 0, []
    rng = np.random.default_rng(4)
    truth = float(np.minimum(rng.exponential(60, 4_000_000), 1000).astype(int).mean())
    for _ in range(60):
        rows = pd.DataFrame(
            {
                "region": rng.choice(REGIONS, ROWS),
                "x": np.minimum(rng.exponential(60, ROWS), 1000).astype(int),
                "one": 0,
                "b": True,
            }
        )
        with adyton.open(known, data=rows) as curator:
            found = curator.ask("SELECT AVG(x) FROM t", epsilon="0.5").population_interval
        misses += not found.low <= truth <= found.high
        widths.append(found.high - found.low)
    assert misses <= 10
    assert np.median(widths) < 8  # with values at both ends it would be more than thirty


def test_theorem_VARIANCE_INTERVAL_the_level_of_a_mean_is_divided_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Mutants: the whole level for the variance, or for the mean, although both have to be right; a count of
    their own for one of them.
    """
    said: list[tuple[str, float]] = []
    for owner, name in ((base, "most_variance"), (base, "mean_ends"), (base.Around, "weighed")):
        own = getattr(owner, name)

        def noted(*given: Any, name: str = name, own: Any = own) -> Any:
            certain = next(one for one in given if hasattr(one, "level"))
            said.append((name, certain.level))
            return own(*given)

        monkeypatch.setattr(owner, name, noted)
    monkeypatch.setattr(Study, "nats", lambda *_: None)
    known = study(validity=VALID)
    part = part_of(known, "SELECT AVG(x) FROM t")
    context = base.PopulationContext(
        adyton.population.which.population_of(known), base.Position(1, Fraction(0), Fraction(0), 1), ROWS
    )
    columns = [np.array([0]), np.array([0]), np.array([ROWS * part.reading.coordinates[2].times])]
    context.population.means_with_squares(part.only, part.mean, columns, context)
    (of_count, count), (of_spread, spread), (_, mean) = said
    assert (of_count, of_spread) == ("weighed", "most_variance")  # once, with its part of the whole
    whole = context.population._certain(context).level  # type: ignore[attr-defined]
    assert count == whole
    assert spread + mean == pytest.approx(whole)


def test_scales_of_squares_are_those_of_their_price() -> None:
    """The squares alone would cost about a twentieth of all."""
    part = part_of(study(validity=VALID), "SELECT region, AVG(x) FROM t GROUP BY region")
    reading, scales = part.reading, part.mechanism.scales
    assert isinstance(part.mechanism, GaussianNoise)
    each = [
        (Fraction(max(map(abs, box))) / scale) ** 2
        for box, scale in zip(reading.sensitivity.boxes, scales, strict=True)
    ]
    assert each[1] / sum(each) == pytest.approx(float(SQUARES), rel=1e-6)
    assert largest_ratio(part.mean.reading.sensitivity) > 0


@pytest.mark.parametrize("sql", ["SELECT AVG(x) FROM t", "SELECT region, AVG(x) FROM t GROUP BY region"])
@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
def test_theorem_L2_SENSITIVITY_a_mean_with_squares_pays_for_every_pair(sql: str, adjacency: str) -> None:
    """Over all values of the two units, missing ones among them, in the same group or in two.

    Mutants: squares that cost nothing; a unit that only changes its value.
    """
    known = study(validity=VALID, unit=adyton.PrivacyUnit(adjacency))
    part = part_of(known, sql)
    assert isinstance(part, MeanWithSquares)
    scales = np.array([float(scale) for scale in part.mechanism.scales])
    values = np.arange(0, 1001, dtype=float)
    (_, reach), (_, square), (counted, _) = part.reading.sensitivity.boxes
    u = (2 * values - 1000) / 1000
    points = np.stack([u * reach, (2 * u**2 - 1) * square, np.full(len(u), float(counted))], axis=1) / scales
    alone = (points**2).sum(axis=1).max()
    worst = alone
    if adjacency == "replace-one":
        together = ((points[:, None, :] - points[None, ::5, :]) ** 2).sum(axis=-1).max()
        worst = max(alone, together, 2 * alone if "GROUP" in sql else 0.0)
    charged = float(part.only.amount(known.rule)) / 10**18
    assert worst * (1 - 1e-9) <= charged <= worst * 1.001


def spread_of(part: Any, y: Any, inside: float, cells: int) -> float:
    """Of such values, halves of the range from the middle, in each of some cells as often: what validity pays."""
    boxes = [float(box[1]) for box in part.reading.sensitivity.boxes]
    columns = boxes[0] * y, boxes[1] * (2 * y**2 - 1), np.full(len(y), boxes[2])
    each = inside / cells
    return sum(
        float(cells * (each * np.mean(column**2) - (each * np.mean(column)) ** 2)) / float(scale) ** 2
        for column, scale in zip(columns, part.mechanism.scales, strict=True)
    )


@pytest.mark.parametrize("measure", ["AVG(x)", "VARIANCE(x)"])
@pytest.mark.parametrize("cells", [1, 4])
@pytest.mark.parametrize("inside", [0.2, 1.0])  # of the units that count
@pytest.mark.parametrize("learned_too", [False, True])
def test_theorem_SUBSET_VARIANCE_squares_beside_a_sum_cover_its_spread(
    measure: str, cells: int, inside: float, learned_too: bool
) -> None:
    """Wherever no noise is beyond z, also where a variance of the same values was asked before.

    Mutants: no room for the noise of the squares; half of the squares; without the column of the squares itself;
    without the column of the count.
    """
    sql = f"SELECT region, {measure} FROM t GROUP BY region" if cells > 1 else f"SELECT {measure} FROM t"
    z, part = 3.0, part_of(study(validity=VALID), sql, epsilon="1")
    key, units = base.spread_key(part.reading), learned.UnitRange(ROWS, ROWS)
    boxes = [float(box[1]) for box in part.reading.sensitivity.boxes]
    for values in ((-0.5, -0.3, -0.2, 0.1), (-0.05, 0.05), (0.8, 0.9), (-1.0, 1.0)):
        y = np.array(values)
        exact = spread_of(part, y, inside, cells)
        known = {key: float(inside * np.mean((boxes[0] * y) ** 2))} if learned_too else {}
        for off in product((-z, 0.0, z), repeat=3):
            means = boxes[0] * y.mean(), boxes[1] * np.mean(2 * y**2 - 1), boxes[2]
            released = [
                np.full(cells, round(ROWS * inside / cells * mean + noise * float(scale) / math.sqrt(cells)))
                for mean, noise, scale in zip(means, off, part.mechanism.scales, strict=True)
            ]
            final = learned._final_radius_of_part(part, released, units, z, known)
            assert final >= min(exact * UNITS_PER_ONE, part.only.radius()) * (1 - 1e-9), (y, off)


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
def test_theorem_SUBSET_VARIANCE_a_radius_of_a_mean_knows_its_own_squares(adjacency: str) -> None:
    """What a study records covers the rows; for values that are close together it is a third of the charge.

    A failure is less likely than 1e-3 for all answers of all studies of this kind; here noise is seeded.
    Mutants: a mean that does not look at its squares; an answer whose squares are not paid for after a variance.
    """
    known = study(validity=VALID, unit=adyton.PrivacyUnit(adjacency), epsilon=100)
    asked = ("SELECT AVG(x) FROM t WHERE b", "SELECT VARIANCE(x) FROM t", "SELECT AVG(x) FROM t")
    for seed in range(3):
        x = np.random.default_rng(seed).integers(300, 500, ROWS)
        rows = pd.DataFrame({"region": "n", "x": x, "one": 0, "b": True})
        with seeded(known, rows, seed) as curator:
            curator.ask("SELECT COUNT(*) FROM t", epsilon=5)
            before = [curator._ledger.totals().radius]
            for sql in asked:
                curator.ask(sql, epsilon=5)
                before.append(curator._ledger.totals().radius)
            charged = [receipt.order.radius for receipt in curator.receipts()][1:]
        for sql, (first, last), full in zip(asked, pairwise(before), charged, strict=True):
            exact = spread_of(part_of(known, sql, epsilon="5"), (x - 500) / 500, 1.0, 1)
            assert exact * UNITS_PER_ONE <= last - first < full / 3, sql
