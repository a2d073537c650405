"""GEOMETRIC_MEAN: what it asks, what it says, and how often its intervals are right.

The file ``query/measures/geometric_mean.py`` is all that is its own; here it is asked on every way that it has.
"""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from adyton.certify import Answer, Intervals
from adyton.errors import InvalidRequest
from adyton.kernel.privacy import Guarantee, PrivacyUnit
from adyton.kernel.schema import CategoryColumn, IntegerColumn, RealColumn, Table
from adyton.query import queries
from adyton.query.measures import COMPUTED_MEASURES
from adyton.query.request import request_of
from adyton.study import Study, Validity
from support.curators import open_kept, seeded
from support.tries import often

FALSE_ALARM = 1e-6
REGIONS = ("north", "south", "east")
COLUMNS = (
    IntegerColumn("size", 1, 5000),
    RealColumn("price", Fraction(0), Fraction(40), Fraction(1, 2)),
    CategoryColumn("region", REGIONS),
    IntegerColumn("batch", 0, 99),
)
TABLE = Table("goods", COLUMNS, rows=400)
DICTIONARY = Validity(confidence=Fraction(19, 20), dictionary="schema")


def goods(seed: int, rows: int = 400) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    sizes = np.clip(rng.lognormal(5, 1, rows).round(), 1, 5000)
    data = {
        "size": pd.array(np.where(rng.random(rows) < 0.1, -1, sizes).astype(int), dtype="Int64"),
        "price": rng.integers(0, 81, rows) / 2,
        "region": rng.choice(REGIONS, rows),
        "batch": rng.integers(0, 100, rows),
    }
    frame = pd.DataFrame(data)
    frame.loc[frame["size"] == -1, "size"] = pd.NA
    return frame


def study(epsilon: float = 500, rows: int = 400, **more: Any) -> Study:
    table = Table("goods", COLUMNS, rows=rows)
    unit = PrivacyUnit("replace-one")
    return Study(table, unit, Guarantee(Fraction(epsilon), Fraction(1, 10**9)), validity=DICTIONARY, **more)


# What it asks ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sql", "inside"),
    [
        ("GEOMETRIC_MEAN(size)", "AVG(ROUND(LN(size), 5)) AS avg_ln_size"),
        ("geomean(size)", "AVG(ROUND(LN(size), 5)) AS avg_ln_size"),
        ("GEOMEAN(CLAMP(price, 1, 40))", "AVG(ROUND(LN(CLAMP(price, 1, 40)), 5)) AS avg_ln"),
        (
            "GEOMEAN(price, contribution_bounds_per_row => (1, 40))",
            "AVG(ROUND(LN(CLAMP(price, 1, 40)), 5)) AS avg_ln",
        ),
        (
            "GEOMEAN(size) FILTER (WHERE batch > 5)",
            "AVG(ROUND(LN(size), 5)) FILTER (WHERE (batch > 5)) AS avg_ln_size",
        ),
    ],
)
def test_the_mean_of_logarithms_is_the_query_that_is_paid_for(sql: str, inside: str) -> None:
    """So its canonical text, its receipt, its price and its description are those of that mean."""
    read = request_of(f"SELECT {sql} AS g FROM goods WHERE batch < 50", TABLE)
    plain = request_of(f"SELECT {inside} FROM goods WHERE batch < 50", TABLE)
    assert read.query == plain.query
    asked = study()
    measure = read.query.measures[0][1]
    assert asked.nats(read.query, measure) == asked.nats(plain.query, measure) < 40


def test_who_asked_for_it_has_the_mean_of_logarithms_for_free() -> None:
    with open_kept(study(1), goods(1)) as curator:
        first = curator.ask("SELECT GEOMETRIC_MEAN(size) FROM goods", epsilon="0.1")
        again = curator.ask("SELECT AVG(ROUND(LN(size), 5)) AS m FROM goods", epsilon="0.1")
    assert list(first.rows.values) == ["geometric_mean_size"]
    assert again.repeated
    assert np.exp(again.value) == pytest.approx(first.value)


@pytest.mark.parametrize("where", [None, "batch > 20"])
@pytest.mark.parametrize("by", [(), "region"])
@pytest.mark.parametrize("name", [None, "g"])
def test_a_draft_asks_the_same_as_sql_and_is_sent_as_it(where: str | None, by: Any, name: str | None) -> None:
    """Mutant: ``Draft.text`` writes the mean that is read, and a server answers that."""
    draft = queries.geometric_mean("size", where=where, by=by, name=name)
    key, group = ("region, ", " GROUP BY region") if by else ("", "")
    sql = f"SELECT {key}GEOMETRIC_MEAN(size){f' AS {name}' if name else ''} FROM goods"
    sql += (f" WHERE {where}" if where else "") + group
    read, drafted, sent = (request_of(one, TABLE) for one in (sql, draft, draft.text(TABLE)))
    assert (read.query, read.shape.shown) == (drafted.query, drafted.shape.shown)
    assert (sent.query, sent.shape.shown) == (drafted.query, drafted.shape.shown)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("price", "price may be 0: declare a low bound above 0, or write CLAMP(price, low, high)"),
        ("size - 1", "(-1 + size) may be 0"),
        ("- size", "may be -5000"),
        ("size * size", "at most 10,000 possible values, not 25,000,000: declare narrower bounds"),
        ("region", "not a number"),
        ("size, 3", "write GEOMETRIC_MEAN(number)"),
        ("CLAMP(size, 7, 7)", "leave no two values"),
    ],
)
def test_what_has_none_is_refused_with_what_to_declare(value: str, message: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        request_of(f"SELECT GEOMETRIC_MEAN({value}) FROM goods", TABLE)
    assert message in refused.value.message
    assert "line 1, column" in refused.value.message


def test_a_draft_without_a_number_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="a number is needed here"):
        request_of(queries.geometric_mean(None), TABLE)  # type: ignore[arg-type]


def test_inside_of_a_select_over_persons_it_has_no_place() -> None:
    table = Table("goods", COLUMNS, rows=400, person="buyer")
    sql = "SELECT AVG(g) FROM (SELECT buyer, GEOMEAN(size) AS g FROM goods GROUP BY buyer)"
    with pytest.raises(InvalidRequest, match="GEOMEAN is computed from what is released"):
        request_of(sql, table)


# What it says ---------------------------------------------------------------------------------------------

STATEMENTS = [
    "SELECT {g}(size) AS g FROM goods",
    "SELECT {g}(size) AS g FROM goods WHERE batch < 30 AND price > 3",
    "SELECT region, {g}(size) AS g, COUNT(*) AS n FROM goods GROUP BY region ORDER BY region",
    "SELECT region, 2 * {g}(size) - 1 AS g FROM goods GROUP BY region HAVING {g}(size) > 1 ORDER BY {g}(size)",
    "SELECT {g}({clamp}) AS g FROM goods",
    "SELECT SUM(batch) / {g}(size) AS g FROM goods",
]
FILTERED = "SELECT region, {} AS g FROM goods GROUP BY region ORDER BY region"


def found_and_told(plain: str, sql: str) -> None:
    data = goods(2, 4000)
    found = duckdb.sql(plain.replace("goods", "data")).df()
    with seeded(study(rows=4000), data, 2) as curator:
        told = curator.ask(sql, share=1).to_pandas()
    assert told["g"].tolist() == pytest.approx(found["g"].tolist(), rel=5e-3)
    for value, low, high in zip(found["g"], told["g_noise_low"], told["g_noise_high"], strict=True):
        assert low <= value <= high


@pytest.mark.parametrize("sql", STATEMENTS)
@pytest.mark.parametrize("name", ["GEOMETRIC_MEAN", "GEOMEAN"])
def test_it_means_what_duckdb_means_by_it(sql: str, name: str) -> None:
    """NULLs do not count.  Mutants: base 10; a missing value counts as 1; EXP is left out."""
    plain, ours = (sql.format(g=name, clamp=one) for one in ("greatest(price, 0.5)", "CLAMP(price, 0.5, 40)"))
    found_and_told(plain, ours)


def test_a_filter_leaves_rows_out() -> None:
    """DuckDB's own is a macro, which takes no FILTER."""
    where = "FILTER (WHERE batch < 50)"
    plain, ours = f"exp(avg(ln(size)) {where})", f"GEOMETRIC_MEAN(size) {where}"
    found_and_told(FILTERED.format(plain), FILTERED.format(ours))


def test_the_rounding_of_logarithms_is_in_its_intervals() -> None:
    """All rows have the size whose logarithm is rounded farthest.  Bounds are so close to each other, and there
    is so little noise, that intervals of the rounded mean do not reach the mean.  Mutant: without ``UNROUNDED``.
    """
    sizes, rows, runs = np.arange(1000, 1101), 50_000, 30
    worst = int(sizes[np.argmax(np.abs(np.round(np.log(sizes), 5) - np.log(sizes)))])
    table = Table("goods", (IntegerColumn("size", 1000, 1100),), rows=rows)
    asked = Study(table, PrivacyUnit("replace-one"), Guarantee(500, Fraction(1, 10**9)))
    data, missed = pd.DataFrame({"size": np.full(rows, worst)}), [0, 0]
    for run in range(runs):
        with seeded(asked, data, run) as curator:
            for place, text in enumerate(("GEOMETRIC_MEAN(size)", "EXP(AVG(ROUND(LN(size), 5)))")):
                found = curator.ask(f"SELECT {text} AS g FROM goods", scale="2e-7").noise_interval
                missed[place] += not found.low <= worst <= found.high
                assert found.high - found.low < 3e-5 * worst
    most = binom.isf(FALSE_ALARM, runs, 0.05)
    assert missed[0] <= most < missed[1]


def test_preview_answer_and_json_are_those_of_other_values() -> None:
    sql = "SELECT region, GEOMETRIC_MEAN(size) AS g FROM goods GROUP BY region"
    with open_kept(study(20), goods(3)) as curator:
        preview, answer = curator.preview(sql, within="0.5"), curator.ask(sql, within="0.5")
    read = "SELECT region, AVG(ROUND(LN(size), 5)) AS avg_ln_size FROM goods GROUP BY region"
    assert preview.query == answer.query == read
    assert preview.hidden == answer.hidden == ("avg_ln_size",)
    assert preview.bounds.keys() >= {"g", "avg_ln_size"}
    assert "BOX-OF-PARTS" in answer.certificate.theorems
    told = json.loads(json.dumps(answer.to_json()))
    again = Answer.from_json(told)
    assert again.to_json() == answer.to_json()
    assert list(again.rows.values) == ["g"]


# How often its intervals are right -------------------------------------------------------------------------


def test_noise_intervals_cover_as_often_as_they_say() -> None:
    """A hundred groups have noise of their own each.  Mutant: the ends of the mean at a level of 80 %."""
    rows, runs, missed = 20_000, often(10, 40), 0
    data = goods(4, rows)
    exact = np.exp(np.log(data["size"].astype(float)).groupby(data["batch"]).mean())
    sql = "SELECT batch, GEOMETRIC_MEAN(size) AS g FROM goods GROUP BY batch"
    for run in range(runs):
        with seeded(study(1, rows), data, run) as curator:
            told = curator.ask(sql, epsilon=1).to_pandas().set_index("batch")
        missed += int(((exact < told["g_noise_low"]) | (told["g_noise_high"] < exact)).sum())
    assert 0 < missed <= binom.isf(FALSE_ALARM, 100 * runs, 0.05)


def test_population_intervals_hold_together_as_often_as_they_say() -> None:
    """Fresh rows each time, of a population that is known.  Mutant: the noise interval in their place."""
    sizes = np.array([1, 20, 400, 5000])
    truth, rows, runs, wrong = float(np.exp(np.log(sizes).mean())), 2000, often(20, 200), 0
    noise_wrong = 0
    for run in range(runs):
        rng = np.random.default_rng(run)
        data = goods(run, rows).assign(size=rng.choice(sizes, rows))
        with seeded(study(10, rows), data, run) as curator:
            answer = curator.ask("SELECT GEOMETRIC_MEAN(size) AS g FROM goods", epsilon=9)
        (values,) = answer.rows.values.values()
        population = values.population
        assert isinstance(population, Intervals)
        wrong += not population.low[0] <= truth <= population.high[0]
        noise_wrong += not values.noise.low[0] <= truth <= values.noise.high[0]
    assert wrong <= binom.isf(FALSE_ALARM, runs, 0.05)
    assert noise_wrong > binom.isf(FALSE_ALARM, runs, 0.05)  # it sees what is too narrow


def test_every_computed_measure_is_a_name_that_sql_knows() -> None:
    names = [name for measure in COMPUTED_MEASURES for name in measure.names]
    assert len(set(names)) == len(names)
    for name in names:
        assert request_of(f"SELECT {name}(size) FROM goods", TABLE).shape.shown
