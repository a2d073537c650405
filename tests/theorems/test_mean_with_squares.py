"""Means that release their squares: a little more noise, and an interval that knows how spread values are."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

import adyton
from adyton.mechanisms import GaussianNoise, largest_ratio
from adyton.planning.measures import mean_with_squares
from adyton.planning.measures.additive import Additive
from adyton.planning.measures.mean_with_squares import SQUARES, MeanWithSquares
from adyton.planning.plan import make_batch
from adyton.planning.price import price_of
from adyton.population import base
from adyton.query.request import request_of
from adyton.schema import BooleanColumn, CategoryColumn, IntegerColumn, Table
from adyton.study import Study, Validity

REGIONS = ("n", "s", "e", "w")
COLUMNS = (
    CategoryColumn("region", REGIONS),
    IntegerColumn("x", 0, 1000),
    IntegerColumn("one", 0, 1),
    BooleanColumn("b"),
)
ROWS = 20_000


def study(
    rows: int = ROWS, *, filter_name: str = "gdp", validity: Validity | None = None, **more: Any
) -> Study:
    limit = adyton.Guarantee(epsilon=1, delta=0 if filter_name == "pure" else 1e-9)
    unit = more.pop("unit", adyton.PrivacyUnit("replace"))
    return Study(Table("t", COLUMNS, rows), unit, limit, filter_name, validity=validity, **more)


VALID = Validity(Fraction(95, 100), dictionary="schema")


def part_of(known: Study, sql: str, **price: Any) -> Any:
    price = price or {"epsilon": "0.1"}
    (plan,) = make_batch(known, [request_of(sql, known.table)], price_of(**price), known.allowed).plans
    return plan.parts[0]


@pytest.mark.parametrize("sql", ["SELECT AVG(x) FROM t", "SELECT region, AVG(x) FROM t GROUP BY region"])
@pytest.mark.parametrize("neighbours", ["replace", "add-or-remove"])
def test_theorem_VARIANCE_INTERVAL_squares_beside_a_mean_cost_a_twentieth(
    monkeypatch: pytest.MonkeyPatch, sql: str, neighbours: str
) -> None:
    """At one price the noise of the mean is at most 2.7 % larger.  Mutant: squares as dear as the sum."""
    known = study(validity=VALID, unit=adyton.PrivacyUnit(neighbours))
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
    assert with_them.only.amount(known.filter) <= without.only.amount(known.filter) * (1 + 1e-6)


def test_theorem_VARIANCE_INTERVAL_a_named_width_stays_and_costs_little_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known, price = study(validity=VALID), {"within": 10, "expected_rows": ROWS}
    with_them = part_of(known, "SELECT AVG(x) FROM t", **price)
    monkeypatch.setattr(mean_with_squares, "SQUARES", Fraction(0))
    without = part_of(known, "SELECT AVG(x) FROM t", **price)
    assert with_them.bound(ROWS).half_width == pytest.approx(without.bound(ROWS).half_width, rel=1e-9)
    dearer = with_them.only.amount(known.filter) / without.only.amount(known.filter)
    assert 1 < dearer <= 1.055


@pytest.mark.parametrize(
    ("known", "sql"),
    [
        (study(validity=VALID), "SELECT AVG(one) FROM t"),
        (study(validity=VALID), "SELECT region, PROPORTION(b) FROM t GROUP BY region"),
        (study(11_999, validity=VALID), "SELECT region, AVG(x) FROM t GROUP BY region"),
        (study(), "SELECT AVG(x) FROM t"),
        (
            study(filter_name="pure", validity=Validity(Fraction(95, 100), Fraction(1, 20))),
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


def test_theorem_VARIANCE_INTERVAL_a_mean_knows_its_spread_and_holds_the_truth(
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
    """Mutants: the whole level for the variance, or for the mean, although both have to be right."""
    said: list[tuple[str, float]] = []
    for name in ("most_variance", "mean_ends"):
        own = getattr(base, name)

        def noted(*given: Any, name: str = name, own: Any = own) -> Any:
            certain = next(one for one in given if hasattr(one, "level"))
            said.append((name, certain.level))
            return own(*given)

        monkeypatch.setattr(base, name, noted)
    monkeypatch.setattr(Study, "nats", lambda *_: None)
    known = study(validity=VALID)
    part = part_of(known, "SELECT AVG(x) FROM t")
    context = base.PopulationContext(
        adyton.population.which.population_of(known), base.Position(1, Fraction(0), Fraction(0), 1), ROWS
    )
    columns = [np.array([0]), np.array([0]), np.array([ROWS * part.reading.coordinates[2].times])]
    context.population.means_with_squares(part.only, part.mean, columns, context)
    (_, spread), (_, mean) = said
    whole = context.population._certain(context).level  # type: ignore[attr-defined]
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
@pytest.mark.parametrize("neighbours", ["replace", "add-or-remove"])
def test_theorem_L2_SENSITIVITY_a_mean_with_its_squares_is_charged_for_every_pair_of_units(
    sql: str, neighbours: str
) -> None:
    """Over all values of the two units, missing ones among them, in the same group or in two.

    Mutants: squares that cost nothing; a unit that only changes its value.
    """
    known = study(validity=VALID, unit=adyton.PrivacyUnit(neighbours))
    part = part_of(known, sql)
    assert isinstance(part, MeanWithSquares)
    scales = np.array([float(scale) for scale in part.mechanism.scales])
    values = np.arange(0, 1001, dtype=float)
    (_, reach), (_, square), (counted, _) = part.reading.sensitivity.boxes
    u = (2 * values - 1000) / 1000
    points = np.stack([u * reach, (2 * u**2 - 1) * square, np.full(len(u), float(counted))], axis=1) / scales
    alone = (points**2).sum(axis=1).max()
    worst = alone
    if neighbours == "replace":
        together = ((points[:, None, :] - points[None, ::5, :]) ** 2).sum(axis=-1).max()
        worst = max(alone, together, 2 * alone if "GROUP" in sql else 0.0)
    charged = float(part.only.amount(known.filter)) / 10**18
    assert worst * (1 - 1e-9) <= charged <= worst * 1.001
