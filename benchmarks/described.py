"""Half-widths of population intervals after 99 other queries: with descriptions of queries, and without.

    python benchmarks/run.py described

A study with ten columns, epsilon 1 and delta 1e-9, that pays as it goes: each query gets 1% of the budget,
and the 99 before are counts near one half.  The reference is the same study where no query has a description
and means release no squares, so that every interval pays for what was released before.  Then: how many values
of ``tests/sql_corpus`` have a narrower preview by their descriptions, with 500,000 rows or persons.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import adyton
from adyton.curator.mock import mock_of
from adyton.kernel.schema import BooleanColumn, CategoryColumn, IntegerColumn
from adyton.planning.measures import mean_with_squares
from adyton.study import Study, Validity
from engines import row

REGIONS = ("north", "south", "east", "west")
SIZES = (50_000, 500_000)
BEFORE = 99
SHARE = "SELECT COUNT(*) AS v FROM people WHERE code < 500"
MEAN = "SELECT AVG(income) AS v FROM people"
BY_REGION = "SELECT region, AVG(income) AS v FROM people GROUP BY region"
ASKED = {"share of one half": SHARE, "mean income": MEAN, "mean income of four regions": BY_REGION}
VALID = Validity(Fraction(95, 100), dictionary="schema")
TESTS = Path(__file__).resolve().parent.parent / "tests"
sys.path.append(str(TESTS))
CORPUS_ROWS = 500_000
CORPUS = (("shop", "price < {} / 5", "*"), ("clinic", "cost < {}", "DISTINCT patient_id"))


def people(rows: int) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    found = {
        "region": rng.choice(REGIONS, rows),
        "income": np.minimum(rng.gamma(4, 9000, rows), 150_000).astype(int),
        "age": rng.integers(18, 95, rows),
        "code": rng.integers(0, 1000, rows),
        "smoker": rng.random(rows) < 0.2,
        "children": rng.poisson(1.5, rows).clip(0, 10),
        "rooms": rng.integers(1, 10, rows),
        "sex": rng.choice(("f", "m"), rows),
        "owner": rng.random(rows) < 0.5,
        "score": rng.integers(0, 101, rows),
    }
    return pd.DataFrame(found)


def study(rows: int) -> Study:
    columns = (
        CategoryColumn("region", REGIONS),
        IntegerColumn("income", 0, 150_000),
        IntegerColumn("age", 0, 120),
        IntegerColumn("code", 0, 999),
        BooleanColumn("smoker"),
        IntegerColumn("children", 0, 10),
        IntegerColumn("rooms", 1, 9),
        CategoryColumn("sex", ("f", "m")),
        BooleanColumn("owner"),
        IntegerColumn("score", 0, 100),
    )
    table = adyton.Table("people", columns, rows=rows)
    budget = adyton.Guarantee(epsilon=1, delta=1e-9)
    return Study(table, adyton.PrivacyUnit("replace-one"), budget, validity=VALID)


@contextmanager
def by_releases_alone() -> Iterator[None]:
    """No query has a description, and no mean releases its squares."""
    nats, squares = Study.nats, mean_with_squares.SQUARES
    Study.nats = lambda *_: None  # type: ignore[method-assign]
    mean_with_squares.SQUARES = Fraction(0)
    try:
        yield
    finally:
        Study.nats, mean_with_squares.SQUARES = nats, squares  # type: ignore[method-assign]


def price(place: int) -> Fraction:
    """Of what is left: one percent of the whole, for each of a hundred queries."""
    return Fraction(1, BEFORE + 1 - place)


def ask_before(curator: adyton.Curator, condition: str) -> None:
    table = curator.study.table.name
    for place in range(BEFORE):
        where = condition.format(451 + place)
        curator.ask(f"SELECT COUNT(*) FROM {table} WHERE {where}", share=price(place))


def half_widths(known: Study, frame: pd.DataFrame, sql: str) -> tuple[float, float]:
    """Of the population and of the noise interval at query 100; of groups the mean of them."""
    with adyton.open(known, data=frame) as curator:
        ask_before(curator, "code < {}")
        answer = curator.ask(sql, share=price(BEFORE))
        found = [one.values["v"] for one in answer.rows]
    whole = known.table.rows if sql == SHARE else 1
    assert whole is not None
    intervals = [_mean(one.population_interval for one in found), _mean(one.noise_interval for one in found)]
    return intervals[0] / whole, intervals[1] / whole


def _mean(intervals: Iterator[Any]) -> float:
    return statistics.fmean((one.high - one.low) / 2 for one in intervals)


def at_query_100() -> list[dict[str, object]]:
    rows = []
    for size in SIZES:
        frame, known = people(size), study(size)
        for name, sql in ASKED.items():
            wide, quiet = half_widths(known, frame, sql)
            with by_releases_alone():
                before, noise = half_widths(known, frame, sql)
            of = f"{name}, n = {size:,}, query 100"
            rows.append(row(of, wide, before, "half-width", "what was released"))
            rows.append(row(f"{of}, noise", quiet, noise, "half-width", "no squares"))
    return rows


def example_of_the_readme() -> dict[str, object]:
    """Its second query, with 50,000 people."""
    frame = people(50_000)[["region", "income"]]
    known = study(50_000)
    known = replace(known, table=replace(known.table, columns=known.table.columns[:2]))

    def asked() -> float:
        with adyton.open(known, data=frame) as curator:
            curator.ask(MEAN, within=200)
            answer = curator.ask(BY_REGION, within=1000, expected_rows=12_000)
            return _mean(one.values["v"].population_interval for one in answer.rows)

    own = asked()
    with by_releases_alone():
        before = asked()
    return row("mean of four regions, second query of README.md", own, before, "half-width", "releases")


# The corpus of SQL ------------------------------------------------------------------------------------------


def corpus() -> list[dict[str, object]]:
    """Each value with a population interval counts by itself."""
    own = corpus_widths()
    with by_releases_alone():
        before = corpus_widths()
    ratios = [own[name] / wide for name, wide in before.items()]
    narrower = sum(ratio < 1 for ratio in ratios)
    name = f"values of the SQL corpus, n = {CORPUS_ROWS:,}, query 100"
    return [
        row(f"{name}: narrower", narrower, len(ratios), "values", "all with an interval"),
        row(f"{name}: median half-width", statistics.median(ratios), 1, "", "what was released"),
        row(f"{name}: largest half-width", max(ratios), 1, "", "what was released"),
    ]


def corpus_widths() -> dict[tuple[str, str], float]:
    """Half-widths by the name of the statement and that of the value."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, condition, units in CORPUS:
            with _studied(name, Path(folder)) as curator:
                # Their number is private.
                curator.ask(f"SELECT COUNT({units}) FROM {curator.study.table.name}", epsilon="0.01")
                ask_before(curator, condition)
                found |= dict(_previews(curator, name))
    return found


def _studied(name: str, folder: Path) -> adyton.Curator:
    from sql_corpus.studies import study_of

    plain = study_of(name, folder)
    table = replace(plain.table, rows=CORPUS_ROWS, lines=None)
    budget = adyton.Guarantee(epsilon=1, delta=1e-9)
    return mock_of(replace(plain, table=table, budget=budget, validity=VALID), CORPUS_ROWS)


def _previews(curator: adyton.Curator, study_name: str) -> Iterator[tuple[tuple[str, str], float]]:
    from sql_corpus.cases import STATEMENTS

    for one in STATEMENTS:
        if one.outcome != "answered" or one.study != study_name or not one.is_expected:
            continue
        try:
            bounds = curator.preview(one.sql, share=price(BEFORE), dialect=one.dialect).population
        except adyton.errors.InvalidRequest:  # too little is left for it
            continue
        widths = {name: getattr(bound, "half_width", None) for name, bound in bounds.items()}
        yield from (((one.name, name), width) for name, width in widths.items() if width)


def run() -> list[dict[str, object]]:
    return [*at_query_100(), example_of_the_readme(), *corpus()]
