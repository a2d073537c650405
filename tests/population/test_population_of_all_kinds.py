"""Population intervals of quantiles, distributions, variances and group means: right for all at once, adaptively.

An analyst looks at the answers of one study and goes where these rows look unlike the population.  Every population
value is known exactly, because the population is a table of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from adyton.certify import Absent, Interval
from adyton.curator.curator import Curator
from adyton.kernel.privacy import PrivacyUnit
from adyton.kernel.schema import CategoryColumn, IntegerColumn, Table
from adyton.study import PrivateTable, Validity
from support.curators import open_kept, seeded
from support.randomness import SeededByHash
from support.tries import crossed, often
from support.worlds import study_with

ROWS, CONFIDENCE, RUNS = 40_000, Fraction(9, 10), often(10, 15)
REGIONS = ("north", "south", "east", "west")
COLUMNS = (IntegerColumn("age", 0, 63), CategoryColumn("region", REGIONS), IntegerColumn("kind", 0, 3))
# Ages 0..63 uniform, four regions, four kinds, all independent: every value below follows by hand.


def sample(seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.integers(0, 64, ROWS),
            "region": rng.choice(list(REGIONS), ROWS),
            "kind": rng.integers(0, 4, ROWS),
        }
    )


OPEN = Validity(CONFIDENCE)
CAPPED = Validity(CONFIDENCE, stability=Fraction(1, 10), beyond_plan="answer")  # of a pure study
PLANNED = Validity(CONFIDENCE, queries=8, tolerance=Fraction(1, 20))


def asker(
    seed: int, adjacency: str = "replace-one", accounting: str = "gdp", declared: Validity | None = None
) -> Curator:
    declared = declared or (CAPPED if accounting == "pure" else OPEN)
    study = study_with(Table("t", COLUMNS, ROWS), accounting, adjacency, 400, validity=declared)
    return seeded(study, sample(seed), seed)  # a miss has a chance, which must not come by surprise


Claim = tuple[str, Interval | Absent, float, float]  # what, its interval, the answer, the population's value


def analyst(curator: Curator, epsilon: float | None) -> Iterator[Claim]:
    """Means of groups first; then everything else about the kinds that looked unlike the rest.

    Without an epsilon the price is left to the plan.
    """
    price: Any = {} if epsilon is None else {"epsilon": epsilon}
    odd: list[int] = []
    for row in curator.ask("SELECT kind, AVG(age) AS m FROM t GROUP BY kind", **price).rows:
        value = row.values["m"]
        yield "mean", value.population_interval, value.value, 31.5
        if value.value > 31.5:
            odd.append(int(row.keys["kind"]))  # type: ignore[arg-type]
    chosen = " OR ".join(f"kind = {kind}" for kind in odd) or "kind = 0"
    for sql, truth in (
        (f"SELECT AVG(age) AS v FROM t WHERE {chosen}", 31.5),
        (f"SELECT MEDIAN(age) AS v FROM t WHERE {chosen}", 31.0),
        (f"SELECT QUANTILE(age, 0.75) AS v FROM t WHERE {chosen}", 47.0),
        (f"SELECT VARIANCE(age) AS v FROM t WHERE {chosen}", (64**2 - 1) / 12),
        (f"SELECT STDDEV(age) AS v FROM t WHERE {chosen}", ((64**2 - 1) / 12) ** 0.5),
    ):
        ((value,),) = [row.values.values() for row in curator.ask(sql, **price).rows]
        yield sql[7:15], value.population_interval, value.value, truth
    distribution = curator.ask(f"SELECT CDF(age, 15, 31, 47) AS v FROM t WHERE {chosen}", **price)
    for row in distribution.rows:
        (point,) = row.keys.values()
        value = row.values["v"]
        yield "CDF", value.population_interval, value.value, (float(point) + 1) / 64  # type: ignore[arg-type]


def of_pairs(curator: Curator, epsilon: float) -> Iterator[Claim]:
    """How ages go with numbers that are made of them, in the kinds whose mean age looked unlike the rest."""
    means = curator.ask("SELECT kind, AVG(age) AS m FROM t GROUP BY kind", epsilon=epsilon).rows
    odd = [row.keys["kind"] for row in means if row.values["m"].value > 31.5]
    chosen = " OR ".join(f"kind = {kind}" for kind in odd) or "kind = 0"
    for sql, truth in (
        (f"SELECT COVAR_POP(age, 3 - age) AS v FROM t WHERE {chosen}", -(64**2 - 1) / 12),
        (f"SELECT REGR_SLOPE(age, age * 2) AS v FROM t WHERE {chosen}", 0.5),
        (f"SELECT REGR_INTERCEPT(age, age - 9) AS v FROM t WHERE {chosen}", 9.0),
        ("SELECT CORR(age, kind) AS v FROM t", 0.0),
    ):
        value = curator.ask(sql, epsilon=epsilon).rows[0].values["v"]
        yield sql[7:18], value.population_interval, value.value, truth


def holds(interval: Interval | Absent, truth: float) -> bool:
    assert isinstance(interval, Interval), interval
    assert interval.level == pytest.approx(float(CONFIDENCE))
    return interval.low <= truth <= interval.high


def test_no_interval_is_all_that_the_bounds_allow() -> None:
    """Otherwise coverage would say nothing.  With fixed noise: now and then a quantile's end is all there is."""
    with asker(1) as opened:
        curator = Curator(opened.study, opened._engine, opened._ledger, SeededByHash(1))
        for what, interval, _, _ in analyst(curator, 0.04):
            assert isinstance(interval, Interval)
            assert interval.low > 0, what


@pytest.mark.parametrize(("accounting", "narrow"), [("gdp", 5), ("pure", 40)])
def test_theorem_PEELING_or_PAY_AS_YOU_GO_all_kinds_hold_at_once(accounting: str, narrow: int) -> None:
    """Studies enough that more failures than the 1e-7 quantile at 10 % are an alarm.  Narrower intervals fail:
    a fifth of those of the subset theorem, a fortieth of those of a pure study.
    """
    failures = narrow_failures = 0
    for seed in range(RUNS):
        with asker(seed, accounting=accounting) as curator:
            claims = list(analyst(curator, 0.02 if accounting == "pure" else 0.04))
        failures += not all(holds(interval, truth) for _, interval, _, truth in claims)
        narrow_failures += not all(
            abs(truth - value) <= (interval.high - interval.low) / 2 / narrow  # type: ignore[union-attr]
            for _, interval, value, truth in claims
        )
    assert failures <= binom.isf(1e-7, RUNS, float(1 - CONFIDENCE))
    assert narrow_failures > binom.isf(1e-7, RUNS, float(1 - CONFIDENCE))


def test_theorem_MOMENT_BOX_population_intervals_hold_at_once() -> None:
    """Alarms as above; a fiftieth of the widths fails."""
    failures = narrow_failures = 0
    for seed in range(RUNS):
        with asker(seed) as curator:
            claims = list(of_pairs(curator, 0.1))
        failures += not all(holds(interval, truth) for _, interval, _, truth in claims)
        assert claims[0][1].high < 0 < claims[1][1].low  # type: ignore[union-attr]  # and so they say something
        narrow_failures += not all(
            abs(truth - value) <= (interval.high - interval.low) / 2 / 50  # type: ignore[union-attr]
            for _, interval, value, truth in claims
        )
    assert failures <= binom.isf(1e-7, RUNS, float(1 - CONFIDENCE))
    assert narrow_failures > binom.isf(1e-7, RUNS, float(1 - CONFIDENCE))


@pytest.mark.parametrize(("adjacency", "accounting"), crossed(["add-remove", "replace-one"], ["gdp", "pure"]))
def test_theorem_CENTRED_HINGE_PLAN_or_PLANNED_NOISE_all_kinds_at_once(
    adjacency: str, accounting: str
) -> None:
    """8 studies; an alarm is less likely than 1e-6.  All answers have the plan's noise and fit into it."""
    runs, failures, narrow_failures = 8, 0, 0
    plan = PLANNED if accounting == "gdp" else replace(PLANNED, tolerance=Fraction(1, 10))
    for seed in range(runs):
        with asker(seed, adjacency, accounting, plan) as curator:
            if adjacency == "add-remove":
                curator.ask("SELECT COUNT(*) FROM t")
            claims = list(analyst(curator, None))
            budget = curator.budget()
        if accounting == "pure":
            assert budget.stability is not None
            assert budget.stability <= (budget.stability_cap or 0)
        failures += not all(holds(interval, truth) for _, interval, _, truth in claims)
        narrow_failures += not all(
            abs(truth - value) <= (interval.high - interval.low) / 40  # type: ignore[union-attr]
            for _, interval, value, truth in claims
        )
    assert failures <= binom.isf(1e-6, runs, float(1 - CONFIDENCE))
    assert narrow_failures > binom.isf(1e-6, runs, float(1 - CONFIDENCE))


@pytest.mark.parametrize("accounting", ["gdp", "zcdp", "pure"])
def test_every_new_kind_has_an_interval_under_every_filter(accounting: str) -> None:
    with asker(2, accounting=accounting) as curator:
        for what, interval, _, truth in analyst(curator, 0.02 if accounting == "pure" else 0.04):
            assert holds(interval, truth), what


def test_the_certificate_names_theorems_and_assumptions() -> None:
    with asker(2) as curator:
        for sql, theorems in (
            ("SELECT MEDIAN(age) FROM t", {"NOISY-SEARCH"}),
            ("SELECT VARIANCE(age) FROM t", {"VARIANCE-INTERVAL", "RATIO-INTERVAL", "SUBSET-MEANS"}),
            ("SELECT CDF(age, 10, 20) FROM t", {"CUMULATED-COUNTS"}),
        ):
            certificate = curator.ask(sql, epsilon="0.1").certificate
            common = {"PAY-AS-YOU-GO", "SUBSET-TRANSFER", "SUBSET-VARIANCE", "L2-RADIUS"}
            assert theorems | common <= set(certificate.theorems)
            said = " ".join(certificate.assumptions)
            assert "independent draws" in said
            assert "simultaneously, for all answers of the study, with probability 0.9" in said
            assert "clipped value" in said
            assert "number of units is public" in said


@pytest.mark.parametrize("which", ["MIN", "MAX"])
def test_least_and_greatest_say_why_there_is_none(which: str) -> None:
    with asker(3) as curator:
        answer = curator.ask(f"SELECT {which}(age) AS v FROM t", epsilon=1)
        absent = answer.rows[0].values["v"].population_interval
        assert isinstance(absent, Absent)
        assert "beyond those of every row" in absent.reason
        preview = curator.preview(f"SELECT {which}(age) AS v FROM t", epsilon=1).population["v"]
        assert isinstance(preview, Absent)


def test_another_table_says_why_there_is_none() -> None:
    persons = PrivacyUnit("add-remove", "pid", 2)
    first = Table("t", COLUMNS, ROWS, person="pid")
    second = Table("visits", (IntegerColumn("days", 0, 30),), person="pid")
    study = study_with(
        first,
        unit=persons,
        epsilon=10,
        delta=Fraction(1, 10**9),
        validity=OPEN,
        further=(PrivateTable(second, 3),),
    )
    data: dict[str, Any] = {
        "t": sample(1).assign(pid=range(ROWS)),
        "visits": pd.DataFrame({"pid": range(100), "days": [3] * 100}),
    }
    with open_kept(study, data=data) as curator:
        curator.ask("SELECT COUNT(DISTINCT pid) FROM t", epsilon=1)  # the number of units
        for sql in (
            "SELECT AVG(days) AS v FROM visits",
            "SELECT MEDIAN(days) AS v FROM visits",
            "SELECT VARIANCE(days) AS v FROM visits",
            "SELECT CDF(days, 5) AS v FROM visits",
            "SELECT AVG(days) AS v FROM t JOIN visits ON t.pid = visits.pid",
        ):
            answer = curator.ask(sql, epsilon=1)
            absent = answer.rows[0].values["v"].population_interval
            assert isinstance(absent, Absent), sql
            assert "another table, or a join" in absent.reason
            assert "PAY-AS-YOU-GO" not in answer.certificate.theorems
        own = curator.ask("SELECT MEDIAN(age) AS v FROM t", epsilon=1)
        assert isinstance(own.rows[0].values["v"].population_interval, Interval)
        assert "PERSONS-AS-ROWS" in own.certificate.theorems


def kept_of(bits: np.ndarray, each: int) -> float:
    """The mean over persons with so many rows each, of which one is kept."""
    people = pd.DataFrame({"x": bits, "who": np.repeat(np.arange(len(bits) // each), each)})
    study = study_with(
        Table("t", (IntegerColumn("x", 0, 1),), len(bits) // each, "who"),
        unit=PrivacyUnit("replace-one", "who"),
        epsilon=10,
    )
    with open_kept(study, data=people) as curator:
        return curator.ask("SELECT AVG(x) AS m FROM t", epsilon=5).value


@pytest.mark.parametrize("share", [0.5, 0.9])
def test_law_of_a_person_with_too_many_rows_none_is_preferred(share: float) -> None:
    """3,000 persons with ten bits each: the mean is that of the rows, within ten standard errors of 0.009."""
    bits = np.random.default_rng(3).random(30_000) < share
    assert abs(kept_of(bits.astype(int), 10) - share) < 0.1
