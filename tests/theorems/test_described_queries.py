"""Intervals of described queries: bounds on the sample alone, which hold whoever asks and whatever was seen."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from mpmath import mp, mpf
from scipy.stats import binom

import adyton
from adyton.kernel.schema import CategoryColumn, IntegerColumn, Table
from adyton.planning.plan import make_batch
from adyton.planning.price import price_of
from adyton.population import base
from adyton.population.base import narrowest
from adyton.population.claims import CertainOfDescribed, GeometricNoises, NormalNoise
from adyton.query.conditions.possible_cells import number_of_cells
from adyton.query.description import Dictionary
from adyton.query.description_weights import rational_nats
from adyton.query.request import request_of
from adyton.study import Validity
from adyton.study.validity import FOR_COUNTS, FOR_NOISE, FOR_THEIR_NOISE, claims_failure
from adyton.validity.described import (
    FOR_DESCRIBED,
    described_width,
    greatest_described_share,
    least_described_share,
)
from support.curators import standing_of

BUDGET = adyton.Guarantee(epsilon=500, delta=1e-9)  # noise is no protection here: it hides nothing
REPLACE = adyton.PrivacyUnit("replace-one")


# Bounds on the sample --------------------------------------------------------------------------------------


@pytest.mark.parametrize("units", [1, 7, 60, 2_000])
@pytest.mark.parametrize("nats", [0.7, 4.0, 15.0])
def test_theorem_DESCRIBED_QUERIES_shares_fail_as_seldom_as_they_say(units: int, nats: float) -> None:
    """Exactly, for coins of any share.  Mutant: an exponent that is larger by a tenth of a nat."""
    counts = np.arange(units + 1)
    least = least_described_share(counts.astype(float), units, nats)
    greatest = greatest_described_share(counts.astype(float), units, nats)
    assert np.all(np.diff(least) >= 0)
    assert np.allclose(greatest, 1 - least[::-1], atol=1e-14)
    worst = 0.0
    for share in np.concatenate([np.linspace(1e-6, 1 - 1e-6, 101), least[least > 0] * (1 - 1e-12)]):
        missed = binom.pmf(counts[least > share], units, share).sum()
        assert missed <= math.exp(-nats) * (1 + 1e-9)
        worst = max(worst, missed)
    assert worst > math.exp(-nats) / (20 if units > 1 else 1.01)


def test_theorem_DESCRIBED_QUERIES_units_of_different_laws_miss_no_more() -> None:
    """Half of the units surely have the property, and half never: the sum does not move at all."""
    counts, units = np.array([500.0]), 1000
    assert least_described_share(counts, units, 5.0) < 0.5 < greatest_described_share(counts, units, 5.0)


def test_theorem_DESCRIBED_QUERIES_shares_against_fifty_digits() -> None:
    """Rounded down, and close to the end that Chernoff's bound has."""
    with mp.workdps(50):
        for units, count, nats in [
            (10**6, 500_000, 20.0),
            (10**6, 40, 9.0),
            (50, 50, 3.0),
            (10**8, 10**7, 30.0),
        ]:
            found = mpf(float(least_described_share(np.array([float(count)]), units, nats)[0]))
            q = mpf(count) / units

            def left(p: mpf, q: mpf = q, units: int = units, nats: float = nats) -> mpf:
                tail = (1 - q) * mp.log((1 - q) / (1 - p)) if q < 1 else 0
                return units * (q * mp.log(q / p) + tail) - nats

            assert left(found) >= 0  # at the end itself a count like this is still rejected
            assert left(found * (1 + mpf(10) ** -6)) < nats * mpf(10) ** -2


@pytest.mark.parametrize("share", [0.5, 0.05, 0.002])
@pytest.mark.parametrize("nats", [1.0, 6.0, 14.0])
def test_theorem_DESCRIBED_QUERIES_widths_fail_as_seldom_as_they_say(share: float, nats: float) -> None:
    units = 3_000
    variance, beyond = np.array([units * share * (1 - share)]), np.array([1 - share])
    width = float(described_width(variance, beyond, nats)[0])
    assert binom.sf(math.floor(units * share + width), units, share) <= math.exp(-nats)
    assert width < math.sqrt(2 * nats * variance[0]) + nats / 3 * beyond[0] + 1e-9  # Bernstein's


def test_theorem_DESCRIBED_QUERIES_widths_are_the_best_of_many_tilts() -> None:
    variance, beyond = np.geomspace(1e-12, 1e9, 200), np.full(200, 2.5)
    widths = described_width(variance, beyond, 12.0)
    tilts = np.geomspace(1e-9, 300, 4000)[:, None]
    with np.errstate(over="ignore"):
        tried = (variance / beyond**2 * (np.expm1(tilts * beyond) - tilts * beyond) + 12.0) / tilts
    assert np.all(widths <= tried.min(0) * 1.001)
    assert np.all(widths >= tried.min(0) * 0.999)


@pytest.mark.parametrize("failure", [0.3, 1e-3, 1e-9])
def test_theorem_DESCRIBED_QUERIES_noise_goes_beyond_its_bound_as_seldom(failure: float) -> None:
    """Noise goes beyond its bound as seldom as it says."""
    from scipy.stats import norm

    assert norm.sf(NormalNoise().most(failure)) <= failure
    for scale in (0.5, 4.0, 50.0):
        ratio, bound = math.exp(-1 / scale), GeometricNoises(1).most(failure) * scale
        assert ratio ** (math.floor(bound) + 1) / (1 + ratio) <= failure


def test_theorem_DESCRIBED_QUERIES_the_failure_is_divided_once() -> None:
    """What is kept for described queries, for final radii and for counts is not used again."""
    validity = Validity(Fraction(95, 100))
    kept = FOR_DESCRIBED + FOR_THEIR_NOISE + FOR_NOISE
    assert claims_failure(validity, "replace-one") == Fraction(5, 100) * (1 - kept)
    assert claims_failure(validity, "add-remove") == Fraction(5, 100) * (1 - kept - FOR_COUNTS)


@pytest.mark.parametrize("accounting", ["gdp", "pure"])
def test_theorem_DESCRIBED_QUERIES_answers_and_values_share_the_noise(
    accounting: str,
) -> None:
    """Mutants: each value, or each answer, has all of it."""
    table, plan = Table("t", (IntegerColumn("x", 0, 9),), rows=10_000), {"queries": 50, "tolerance": "0.2"}
    known = adyton.Study(
        table,
        REPLACE,
        adyton.Guarantee(epsilon=500, delta=0 if accounting == "pure" else 1e-9),
        accounting,
        validity=Validity(Fraction(19, 20), dictionary="schema", **(plan if accounting == "pure" else {})),
    )
    sql, together = "SELECT COUNT(*) AS v FROM t WHERE x > 3", 0.0
    batch = make_batch(known, [request_of(sql, table)], price_of(epsilon=1), known.allowed)
    (part,) = batch.plans[0].parts
    for query in range(1, 400):
        standing = standing_of(known, 10_000, query=query, values=7)
        (certain,) = standing.population.described(part.only, standing)
        assert isinstance(certain, CertainOfDescribed)
        together += 7 * certain.failure
    assert 0.5 * float(FOR_THEIR_NOISE) / 20 < together <= float(FOR_THEIR_NOISE) / 20


def test_theorem_DESCRIBED_QUERIES_a_part_of_the_level_costs_its_logarithm() -> None:
    certain = CertainOfDescribed(1000, 7.0, 0.01)
    half = certain.scaled(1 / 2).claims(1 / 4)
    assert half.nats == pytest.approx(7.0 + math.log(8))
    assert half.noise == certain.noise.most(0.01 / 8)


def test_theorem_DESCRIBED_QUERIES_the_narrower_end_is_taken_and_named() -> None:
    wide, narrow = (np.zeros(2), np.array([10.0, 10.0])), (np.array([2.0, -1.0]), np.array([7.0, 11.0]))
    found = narrowest([wide], [narrow])
    assert found.low.tolist() == [2.0, 0.0]
    assert found.high.tolist() == [7.0, 10.0]
    assert found.way == "both"
    assert narrowest([wide], []).way == "releases"
    assert narrowest([], [narrow]).way == "description"


# A union over many -----------------------------------------------------------------------------------------


def test_theorem_DESCRIBED_QUERIES_independent_columns_nearly_attain_it() -> None:
    """Thousands of independent shares, the worst of them: the union bound is not loose, Chernoff's is a bit.

    Missed with the nats of their number, and always without them.  False alarm: 1e-9 by a normal law.
    """
    rng, many, units, studies = np.random.default_rng(9), 2_000, 400, 2_000
    nats = math.log(many / 0.5)
    counts = rng.binomial(units, 0.5, (studies, many)).max(axis=1).astype(float)
    missed = np.mean(least_described_share(counts, units, nats) > 0.5)
    alone = np.mean(least_described_share(counts, units, math.log(1 / 0.5)) > 0.5)
    assert alone == 1.0
    assert 0.005 < missed <= 0.5


@pytest.mark.parametrize(
    ("value", "means"),
    [
        ("COUNT(*)", 1),
        ("AVG(x)", 1),
        ("STDDEV(x)", 2),
        ("COVAR_POP(y, x)", 3),
        ("REGR_SLOPE(y, x)", 4),
        ("CORR(y, x)", 5),
    ],
)
def test_theorem_DESCRIBED_QUERIES_several_means_share_one_weight(value: str, means: int) -> None:
    """Mutants: each mean of a variance, or of a covariance, has all of it."""
    table = Table("t", (IntegerColumn("x", 0, 9), IntegerColumn("y", 0, 9)), rows=1000)
    known = adyton.Study(table, REPLACE, BUDGET, validity=Validity(Fraction(19, 20), dictionary="schema"))
    sql = f"SELECT {value} AS v FROM t"
    request = request_of(sql, table)
    nats = known.nats(request.query, request.query.measures[0][1])
    batch = make_batch(known, [request], price_of(epsilon=1), known.allowed)
    (part,) = batch.plans[0].parts
    assert nats is not None
    assert part.only.nats == pytest.approx(nats + math.log(means))


# Lists, constants and study files that were chosen by looking ----------------------------------------------


@pytest.fixture
def only_descriptions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Intervals by what was released before are left out: they would hide what is asked here."""
    monkeypatch.setattr(base.Population, "silent", lambda self, at: base.UNPROVED)


CITIES = tuple(f"city {i}" for i in range(600))


def _by_city(seed: int) -> tuple[pd.DataFrame, list[str]]:
    """Values from -10 to 10 with mean 0 in each of many cities, and the cities whose sums are above 0."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"city": rng.choice(CITIES, 2_000), "y": rng.choice([-10, 10], 2_000)})
    sums = frame.groupby("city")["y"].sum()
    return frame, sorted(sums[sums > 0].index)


def _asked(cities: tuple[str, ...], dictionary: str, frame: pd.DataFrame, sql: str) -> tuple[bool, float]:
    """Whether the interval of a mean holds 0, and how many nats it has."""
    table = Table("t", (CategoryColumn("city", cities), IntegerColumn("y", -10, 10)), rows=len(frame))
    validity = Validity(Fraction(95, 100), dictionary=dictionary)
    answer = adyton.open(adyton.Study(table, REPLACE, BUDGET, validity=validity), data=frame).ask(
        sql, epsilon=50
    )
    (nats,) = answer.certificate.nats.values()
    interval = answer.population_interval
    return interval.low <= 0 <= interval.high, nats


def test_theorem_DESCRIBED_QUERIES_a_list_of_values_is_counted(only_descriptions: None) -> None:
    """Mutant: a list that costs no more than one value misses in each of these studies."""
    for seed in range(8):
        frame, positive = _by_city(seed)
        listed = ", ".join(f"'{city}'" for city in positive)
        holds, nats = _asked(CITIES, "schema", frame, f"SELECT AVG(y) FROM t WHERE city IN ({listed})")
        assert nats > 150
        assert holds


def test_theorem_DESCRIBED_QUERIES_an_owner_who_looks_breaks_the_schema(
    only_descriptions: None,
) -> None:
    """The study file lists exactly the cities whose values sum to more than 0."""
    missed = {"schema": 0, "universal": 0}
    for seed in range(8):
        frame, positive = _by_city(seed)
        for dictionary in missed:
            holds, nats = _asked(
                tuple(positive), dictionary, frame, "SELECT AVG(y) FROM t WHERE city IS NOT NULL"
            )
            missed[dictionary] += not holds
            assert (nats < 20) == (dictionary == "schema")
    assert missed == {"schema": 8, "universal": 0}


CONSTANTS = [
    ("SELECT COUNT(*) FROM t WHERE y IN (1, 2)", "SELECT COUNT(*) FROM t WHERE y IN (1, 2, 3, 5, 8)"),
    ("SELECT AVG(y) FROM t", "SELECT AVG(CLAMP(y, -3, 7)) FROM t"),
    ("SELECT AVG(CLAMP(y, -5, 5)) FROM t", "SELECT AVG(CLAMP(y, -3, 7)) FROM t WHERE y < 9"),
    (
        "SELECT SUM(CASE WHEN y < 5 THEN 1 ELSE 0 END) FROM t",
        "SELECT SUM(CASE WHEN y < 5 THEN 1.37 ELSE 0 END) FROM t",
    ),
    ("SELECT y, COUNT(*) FROM t GROUP BY y", "SELECT FLOOR(y / 3) AS b, COUNT(*) FROM t GROUP BY 1"),
    ("SELECT COUNT(*) FROM t WHERE y < 5", "SELECT COUNT(*) FROM t WHERE y < 4.37"),
    ("SELECT QUANTILE(y, 0.5) FROM t", "SELECT QUANTILE(y, 0.4321) FROM t"),
    ("SELECT CDF(y, 5) FROM t", "SELECT CDF(y, 4.37) FROM t"),
    (
        "SELECT COUNT(*) FROM t WHERE city = 'city 1'",
        "SELECT COUNT(*) FROM t WHERE city IN ('city 1', 'city 2')",
    ),
    ("SELECT COUNT(*) FROM t WHERE y BETWEEN 1 AND 5", "SELECT COUNT(*) FROM t WHERE y BETWEEN 1.1 AND 4.37"),
]


@pytest.mark.parametrize(("shorter", "longer"), CONSTANTS)
def test_theorem_DESCRIBED_QUERIES_every_constant_is_counted(shorter: str, longer: str) -> None:
    """Mutants: constants of IN, CLAMP, CASE, bins, quantiles or points that cost nothing."""
    table = Table("t", (CategoryColumn("city", CITIES), IntegerColumn("y", -10, 10)), rows=100)
    lengths = []
    for text in (shorter, longer):
        query = request_of(text, table).query
        nats = Dictionary(table, "schema").nats(query, query.measures[0][1])
        assert nats is not None
        lengths.append(nats - math.log(number_of_cells(query)))
    assert lengths[1] > lengths[0] + 1


def test_theorem_DESCRIBED_QUERIES_nats_are_rounded_up() -> None:
    table = Table("t", (IntegerColumn("a0", 0, 9),), rows=100)
    query = request_of("SELECT COUNT(*) FROM t WHERE a0 < 7", table).query
    dictionary = Dictionary(table, "schema")
    nats = dictionary.nats(query, query.measures[0][1])
    exact = dictionary._described(query, query.measures[0][1])
    assert nats is not None
    assert 0 < nats - exact < 1 / 64 + 1e-6
    assert rational_nats(Fraction(1, 3)) > rational_nats(Fraction(1))


# Studies of other kinds ------------------------------------------------------------------------------------


def _study(**changes: object) -> adyton.Study:
    table = Table("t", (CategoryColumn("city", CITIES[:4]), IntegerColumn("y", 0, 100)), rows=20_000)
    validity = Validity(Fraction(95, 100), dictionary="schema")
    study = adyton.Study(table, REPLACE, adyton.Guarantee(epsilon=4, delta=1e-9), validity=validity)
    return replace(study, **changes)


FRAME = pd.DataFrame(
    {
        "city": np.random.default_rng(1).choice(CITIES[:4], 20_000),
        "y": np.random.default_rng(2).integers(0, 101, 20_000),
    }
)
VALUES = {
    "SELECT COUNT(*) FROM t WHERE y < 50": 20_000 * 50 / 101,
    "SELECT SUM(y) FROM t": 20_000 * 50.0,
    "SELECT AVG(y) FROM t": 50.0,
    "SELECT STDDEV(y) FROM t": math.sqrt((101**2 - 1) / 12),
    "SELECT MEDIAN(y) FROM t": 50.0,
    "SELECT CDF(y, 24) FROM t": 25 / 101,
    "SELECT PROPORTION(y < 50) FROM t": 50 / 101,
    "SELECT city, AVG(y) FROM t GROUP BY city": 50.0,
    "SELECT COVAR_POP(y, CASE WHEN y < 50 THEN 1 ELSE 0 END) FROM t": -1275 / 101,
}


@pytest.mark.parametrize("sql", VALUES)
@pytest.mark.parametrize(
    "kind",
    [
        {},
        {
            "validity": Validity(
                Fraction(95, 100), Fraction(1, 100), beyond_plan="answer", dictionary="schema"
            ),
            "accounting": "pure",
            "budget": adyton.Guarantee(epsilon=4, delta=0),
        },
        {"unit": adyton.PrivacyUnit("add-remove")},
        {"validity": Validity(Fraction(95, 100), dictionary="universal")},
    ],
    ids=["gaussian", "pure", "private size", "universal"],
)
def test_theorem_DESCRIBED_QUERIES_hold_in_studies_of_every_kind(kind: dict[str, object], sql: str) -> None:
    """After much was released, each value of this population lies in its interval, which says something."""
    curator = adyton.open(_study(**kind), data=FRAME)
    curator.ask("SELECT COUNT(*) FROM t", share=0.2)
    for k in range(10, 30):
        curator.ask(f"SELECT COUNT(*) FROM t WHERE y < {k}", share=0.02)
    answer = curator.ask(sql, share=0.5)
    (interval,) = answer[0].values.values()
    wide = interval.population_interval
    assert wide.low <= VALUES[sql] <= wide.high
    assert "DESCRIBED-QUERIES" in answer.certificate.theorems
    if kind.get("accounting") != "pure" or "SUM" not in sql:
        assert answer.ways


def test_theorem_DESCRIBED_QUERIES_hold_for_persons_and_after_a_monitor() -> None:
    """A person has two rows of three; her rows, and a number of them, are functions of one unit.

    Mutants: a table of persons, or its numbers, without a description.
    """
    rng, people = np.random.default_rng(4), 20_000
    frame = pd.DataFrame({"who": np.arange(3 * people) // 3, "y": rng.integers(0, 101, 3 * people)})
    table = Table("t", (IntegerColumn("y", 0, 100),), rows=people, person="who")
    unit = adyton.PrivacyUnit("replace-one", person="who", rows=2)
    validity = Validity(Fraction(95, 100), dictionary="schema")
    limit = adyton.Guarantee(epsilon=4, delta=1e-9)
    inner = "SELECT who, SUM(CLAMP(y, 0, 50)) AS s FROM t GROUP BY who"
    asked = {
        "SELECT AVG(y) FROM t": 50.0,
        "SELECT COUNT(DISTINCT who) FROM t WHERE y < 50": people * (1 - (51 / 101) ** 2),
        f"SELECT AVG(s) FROM ({inner})": 2 * (1225 + 51 * 50) / 101,
    }
    with adyton.open(adyton.Study(table, unit, limit, validity=validity), data=frame) as curator:
        curator.open_monitor(positives=3, epsilon="0.5")
        curator.ask("SELECT COUNT(*) FROM t", epsilon="0.5")
        for sql, truth in asked.items():
            answer = curator.ask(sql, epsilon="0.3")
            ((name, nats),) = answer.certificate.nats.items()
            interval = answer.population_interval
            assert interval.low <= truth <= interval.high, sql
            assert 0 < nats < 25
            assert answer.ways[name] in ("description", "both")
