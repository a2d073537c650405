"""Population intervals through the whole curator: simultaneous for all answers, although the analyst adapts."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

import adyton
from adyton.certify import Absent, Interval
from adyton.curator.curator import Curator
from adyton.errors import InvalidRequest
from adyton.kernel.exact import UNITS_PER_ONE
from adyton.kernel.privacy import Guarantee, PrivacyUnit
from adyton.kernel.schema import BooleanColumn, CategoryColumn, IntegerColumn, Table, TextColumn
from adyton.study import Study, Validity, read_study
from support.curators import open_kept, seeded, undescribed
from support.tries import often

ROWS = 3000
FEATURES = 24
COLUMNS = (
    *(BooleanColumn(f"f{i}") for i in range(FEATURES)),
    IntegerColumn("age", 0, 100),
    CategoryColumn("region", ("north", "south")),
)
BUDGET = Guarantee(Fraction(100), Fraction(1, 10**6))


def sample(seed: int, rows: int = ROWS) -> pd.DataFrame:
    """Fair coins, uniform ages and regions: every population value is known exactly."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({f"f{i}": rng.random(rows) < 0.5 for i in range(FEATURES)})
    return frame.assign(age=rng.integers(0, 101, rows), region=rng.choice(["north", "south"], rows))


def curator(
    seed: int = 0,
    adjacency: str = "replace-one",
    accounting: str = "gdp",
    described: bool = True,
    **validity: Any,
) -> Curator:
    capped = {"stability": Fraction(1, 20)} if accounting == "pure" else {}
    declared = Validity(Fraction(95, 100), **(capped | validity))
    budget = Guarantee(BUDGET.epsilon, Fraction(0)) if accounting == "pure" else BUDGET
    unit = PrivacyUnit(adjacency)  # type: ignore[arg-type]
    study = Study(Table("t", COLUMNS, ROWS), unit, budget, accounting, validity=declared)
    return seeded(
        study if described else undescribed(study), sample(seed), seed
    )  # a miss has a chance of 5 %, which must not come by surprise


def only(answer: adyton.Answer) -> Any:
    ((value,),) = [row.values.values() for row in answer.rows]
    return value


def holds(interval: Interval | Absent, truth: float) -> bool:
    assert isinstance(interval, Interval)
    return interval.low <= truth <= interval.high


def voting_analyst(asker: Curator, scale: float) -> tuple[bool, bool]:
    """Asks for each coin how often it is heads, then how often a row agrees with most of the noisy leanings.

    In the population every share is 1/2; among these rows the vote was chosen to look better than that.
    Returns whether the noise intervals, and whether the population intervals, all contain the truth.
    """
    values = [only(asker.ask(f"SELECT PROPORTION(f{i}) FROM t", scale=scale)) for i in range(FEATURES - 1)]
    leaning = [1 if v.value > 0.5 else -1 for v in values]
    votes = " + ".join(f"({2 * w}) * CASE WHEN f{i} THEN 1 ELSE 0 END" for i, w in enumerate(leaning))
    values.append(only(asker.ask(f"SELECT PROPORTION({votes} > {sum(leaning)}) FROM t", scale=scale)))
    return (
        all(holds(v.noise_interval, 0.5) for v in values),
        all(holds(v.population_interval, 0.5) for v in values),
    )


@pytest.mark.parametrize("accounting", ["gdp", "pure"])
def test_theorem_PEELING_or_PAY_AS_YOU_GO_the_interval_survives_adapting(
    accounting: str,
) -> None:
    """A failure rate far above 5 % would show (the 1e-6 quantile); naive intervals fail often, as a mutant would.

    In a pure study the intervals are wide at this stability, so there it is a test of the whole path, not of how
    tight the bound is.
    """
    runs, cap = often(8, 20), {"stability": Fraction(3, 10)} if accounting == "pure" else {}
    outcomes = []
    for seed in range(runs):
        with curator(seed, accounting=accounting, **cap) as asker:
            outcomes.append(voting_analyst(asker, 0.004))
    naive_failures = sum(not naive for naive, _ in outcomes)
    failures = sum(not ours for _, ours in outcomes)
    assert failures <= binom.isf(1e-6, runs, 0.05)
    assert naive_failures > binom.isf(1e-6, runs, 0.05)


@pytest.mark.parametrize("accounting", ["gdp", "zcdp", "pure"])
def test_every_kind_of_answer_has_an_interval_with_the_population_value(
    accounting: str,
) -> None:
    """One study for each filter; a true failure rate of 5 % in all, and the bounds are far from tight."""
    with curator(3, accounting=accounting) as asker:
        price = {"scale": 100.0}
        count = only(asker.ask("SELECT COUNT(*) FROM t WHERE f0", **price))
        assert holds(count.population_interval, ROWS / 2)
        total = only(asker.ask("SELECT SUM(age) FROM t", scale=5000))
        assert holds(total.population_interval, ROWS * 50)
        mean = only(asker.ask("SELECT AVG(age) FROM t WHERE f1", scale=3))
        assert holds(mean.population_interval, 50)
        share = only(asker.ask("SELECT PROPORTION(f2) FROM t WHERE f3", scale=0.05))
        assert holds(share.population_interval, 0.5)
        for row in asker.ask(
            "SELECT region, COUNT(*) AS n, AVG(age) AS a FROM t GROUP BY region", scale=200
        ).rows:
            assert holds(row.values["n"].population_interval, ROWS / 2)
            assert holds(row.values["a"].population_interval, 50)
        for value in (count, total, mean, share):
            assert value.population_interval.low <= value.noise_interval.low
            assert value.population_interval.high >= value.noise_interval.high


@pytest.mark.parametrize("accounting", ["gdp", "pure"])
def test_widths_grow_with_what_was_spent_and_old_answers_keep_theirs(accounting: str) -> None:
    with curator(1, accounting=accounting) as asker:
        first = only(asker.ask("SELECT COUNT(*) FROM t WHERE f0", scale=200)).population_interval
        for i in range(1, 9):
            asker.ask(f"SELECT COUNT(*) FROM t WHERE f{i}", scale=60)
        late = only(asker.ask("SELECT COUNT(*) FROM t WHERE f20", scale=200)).population_interval
        assert late.high - late.low > first.high - first.low
        assert only(asker.ask("SELECT COUNT(*) FROM t WHERE f0", scale=200)).population_interval == first


def test_preview_says_how_wide_it_will_be() -> None:
    """Exactly in a pure study; with Gaussian noise it follows the answer, and the preview is for one half."""
    with curator(1, accounting="pure") as asker:
        seen = asker.preview("SELECT COUNT(*) FROM t WHERE f0", scale=100).population["count"]
        got = only(asker.ask("SELECT COUNT(*) FROM t WHERE f0", scale=100)).population_interval
        assert seen.half_width == pytest.approx((got.high - got.low) / 2)


def test_beyond_the_cap_of_a_pure_study_a_query_is_refused_free_of_charge() -> None:
    with curator(1, accounting="pure") as asker:
        with pytest.raises(adyton.BudgetRefused, match="stability") as caught:
            asker.ask("SELECT COUNT(*) FROM t WHERE f0", scale=5)
        wanted = asker._batch(["SELECT COUNT(*) FROM t WHERE f0"], {"scale": 5}).radius
        assert Fraction(caught.value.facts["requested"]) == Fraction(wanted, UNITS_PER_ONE)
        assert (caught.value.facts["spent"], caught.value.facts["largest"]) == ("0", "0.0025")
        assert not asker.preview("SELECT COUNT(*) FROM t WHERE f0", scale=5).affordable
        assert asker.budget().queries == 0
        asker.ask("SELECT COUNT(*) FROM t WHERE f0", scale=100)


def test_or_it_is_answered_and_every_later_answer_says_so() -> None:
    """Of queries without a description."""
    with curator(1, accounting="pure", described=False, beyond_plan="answer") as asker:
        early = only(asker.ask("SELECT COUNT(*) FROM t WHERE f0", scale=100))
        assert isinstance(early.population_interval, Interval)
        for where in ("f1", "f2"):
            later = asker.ask(f"SELECT COUNT(*) FROM t WHERE {where}", scale=5 if where == "f1" else 1000)
            assert isinstance(only(later).population_interval, Absent)
            assert "beyond the stability" in str(later)
            assert "PEELING" not in later.certificate.theorems
        assert isinstance(
            only(asker.ask("SELECT COUNT(*) FROM t WHERE f0", scale=100)).population_interval, Interval
        )


def test_and_beyond_the_cap_described_queries_keep_their_intervals() -> None:
    """Mutant: that of the cap, which says nothing here, in its place."""
    with curator(1, accounting="pure", beyond_plan="answer") as asker:
        asker.ask("SELECT COUNT(*) FROM t WHERE f0", scale=5)
        later = asker.ask("SELECT COUNT(*) FROM t WHERE f1", scale=5)
        assert later.ways == {"count": "description"}
        assert holds(only(later).population_interval, ROWS / 2)
        assert "DESCRIBED-QUERIES" in later.certificate.theorems
        assert not {"PEELING", "CENTRED-HINGE"} & set(later.certificate.theorems)
        assert "does not widen with other queries" in " ".join(str(later).split())


@pytest.mark.parametrize("accounting", ["gdp", "pure"])
def test_a_known_number_of_queries_within_a_tolerance(accounting: str) -> None:
    plan = {"stability": None, "queries": 5, "tolerance": Fraction(1, 5), "beyond_plan": "refuse"}
    with curator(1, accounting=accounting, **plan) as asker:
        for i in range(5):
            value = only(asker.ask(f"SELECT PROPORTION(f{i}) FROM t", scale=0.014))
            assert value.population_interval.high - value.population_interval.low <= 0.4
        with pytest.raises(adyton.BudgetRefused, match="queries"):
            asker.ask("SELECT PROPORTION(f9) FROM t", scale=0.02)


@pytest.mark.parametrize("accounting", ["gdp", "zcdp", "pure"])
@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
def test_theorem_CENTRED_HINGE_PLAN_a_planned_query_needs_no_price(adjacency: str, accounting: str) -> None:
    """Every query gets its part of the plan, and a proportion the tolerance.

    In a pure study all parts together are the cap of its stability; with Gaussian noise there is none.
    """
    plan = {"stability": None, "queries": 6, "tolerance": Fraction(1, 5), "beyond_plan": "refuse"}
    with curator(1, adjacency, accounting, **plan) as asker:
        asker.ask("SELECT COUNT(*) FROM t")
        count = only(asker.ask("SELECT COUNT(*) FROM t WHERE f3")).population_interval
        room = 1.05 if adjacency == "replace-one" else 1.15  # for the noisy number of units, and rounding
        assert (count.high - count.low) / 2 / ROWS <= 0.2 * room
        assert holds(count, ROWS / 2)
        for sql in (
            "SELECT AVG(age) FROM t",
            "SELECT MEDIAN(age) FROM t WHERE f0",
            "SELECT VARIANCE(age) FROM t",
        ):
            value = only(asker.ask(sql))
            assert isinstance(value.population_interval, Interval)
            assert only(asker.ask(sql)) == value  # the same query at the plan's price again is free
        seen = asker.preview("SELECT COUNT(*) FROM t WHERE f5")
        assert seen.fits
        last = only(asker.ask("SELECT COUNT(*) FROM t WHERE f5")).population_interval
        near = 1e-6 if accounting == "pure" else 0.05  # it is for a share of one half
        assert seen.population["count"].half_width == pytest.approx((last.high - last.low) / 2, rel=near)
        budget = asker.budget()
        assert budget.queries == 6
        if accounting == "pure":
            assert 0.9999 * budget.stability_cap < budget.stability <= budget.stability_cap
        else:
            assert (budget.stability, budget.stability_cap) == (None, None)
        with pytest.raises(adyton.BudgetRefused, match="queries"):
            asker.ask("SELECT COUNT(*) FROM t WHERE f6")


@pytest.mark.parametrize("accounting", ["gdp", "pure"])
def test_theorem_CENTRED_HINGE_PLAN_less_noise_is_narrower(accounting: str) -> None:
    """Less noise is narrower, and more is wider."""
    plan = {"stability": None, "queries": 5, "tolerance": Fraction(1, 5), "beyond_plan": "answer"}
    with curator(1, accounting=accounting, described=False, **plan) as asker:
        halves = [
            asker.preview("SELECT COUNT(*) FROM t WHERE f3", scale=scale).population["count"].half_width
            for scale in (20, 100, 500)
        ]
    assert halves == sorted(halves)
    assert halves[0] < halves[-1]
    if accounting == "pure":  # noise and rows are added there; Gaussian noise and rows by their squares
        assert (halves[1] - halves[0]) / 80 == pytest.approx((halves[2] - halves[1]) / 400, rel=0.25)


def test_without_a_plan_a_price_must_be_named() -> None:
    with curator(1) as asker, pytest.raises(InvalidRequest, match="no price was named"):
        asker.ask("SELECT COUNT(*) FROM t")


def test_a_planned_query_with_bad_options_is_refused() -> None:
    plan = {"stability": None, "queries": 6, "tolerance": Fraction(1, 5)}
    with curator(1, **plan) as asker:
        for bad in ({"expected_rows": 0}, {"budget": 3}, {"epsilon": 0}, {"epsilon": 1, "share": 1}):
            with pytest.raises(InvalidRequest):
                asker.ask("SELECT COUNT(*) FROM t", **bad)
        assert asker.budget().queries == 0


def test_a_plan_that_the_rows_cannot_bear_is_refused_in_python_too() -> None:
    for accounting, k in (("gdp", 1000), ("pure", 100)):
        with pytest.raises(InvalidRequest, match=f"rows certify {k} adaptive queries within"):
            curator(1, accounting=accounting, stability=None, queries=k, tolerance=Fraction(1, 10))


def test_where_the_size_is_private_a_noisy_count_stands_in() -> None:
    with curator(1, adjacency="add-remove") as asker:
        before = only(asker.ask("SELECT AVG(age) FROM t", scale=3))
        assert isinstance(before.population_interval, Absent)
        assert "ask COUNT(*)" in before.population_interval.reason
        asker.ask("SELECT COUNT(*) FROM t", scale=100)
        after = only(asker.ask("SELECT AVG(age) FROM t WHERE f1", scale=3))
        assert holds(after.population_interval, 50)


def test_without_a_declaration_nothing_is_said_about_a_population() -> None:
    study = Study(Table("t", COLUMNS, ROWS), PrivacyUnit("replace-one"), BUDGET)
    with open_kept(study, data=sample(1)) as asker:
        answer = asker.ask("SELECT COUNT(*) FROM t", scale=100)
    assert isinstance(only(answer).population_interval, Absent)
    assert "[validity]" in str(answer)


@pytest.mark.parametrize(
    ("accounting", "theorems"),
    [
        ("gdp", {"PAY-AS-YOU-GO", "SUBSET-TRANSFER", "SUBSET-SHARES", "SUBSET-VARIANCE"}),
        ("zcdp", {"PAY-AS-YOU-GO", "SUBSET-TRANSFER", "SUBSET-SHARES", "SUBSET-VARIANCE"}),
        ("pure", {"PEELING", "CENTRED-HINGE", "NOISE-GIVEN-TRANSCRIPT"}),
    ],
)
def test_certificates_repeat_the_assumptions(accounting: str, theorems: set[str]) -> None:
    with curator(1, accounting=accounting) as asker:
        certificate = asker.ask("SELECT COUNT(*) FROM t WHERE f0", scale=100).certificate
    assert theorems <= set(certificate.theorems)
    assert ("PEELING" in certificate.theorems) == (accounting == "pure")
    assert "the units are independent draws from the population" in certificate.assumptions


BASE = """
[table]
name = "t"
source = "t.parquet"
rows = 100000
[privacy]
unit = "row"
adjacency = "replace-one"
epsilon = 1
delta = 1e-6
[columns.age]
kind = "integer"
low = 0
high = 100
[validity]
"""


GAUSSIAN = [
    ("", "validity.independent must be true"),
    ("independent = false", "validity.independent must be true"),
    ("independent = true\nstability = 0.02", "the cap of a pure study"),
    ("independent = true\nstability = 0.02\ntolerance = 0.1", "needs validity.queries"),
    ("independent = true\ntolerance = 0.1", "needs validity.queries"),
    ("independent = true\nconfidence = 1", "validity.confidence must be"),
    ("independent = true\nbeyond_plan = 'x'", "validity.beyond_plan"),
    ("independent = true\nqueries = 0", "at least 1"),
    ("independent = true\ntolerance = 0.01\nqueries = 100000", "certify 100000 adaptive queries within"),
    ("independent = true\nshare = 0.01", "choose the noise of a plan"),
    ("independent = true\ntolerance = 0.1\nqueries = 9\nnoise = 'falling'", "validity.noise"),
    ("independent = true\ntolerance = 0.1\nqueries = 9\nshare = 0", "validity.share must be above 0"),
    ("independent = true\ntolerance = 0.1\nqueries = 9\nspread = 0.6", "validity.spread must be"),
    ("independent = true\ntolerance = 0.1\nqueries = 9\ngroup = 2", "validity.group must be"),
    ("independent = true\ntolerance = 0.1\nqueries = 9\nspred = 0.1", "did you mean 'spread'?"),
]
PURE = [
    ("stability = 0.02", "validity.independent must be true"),
    ("independent = false\nstability = 0.02", "validity.independent must be true"),
    ("independent = true", "either validity.stability, or validity.tolerance"),
    ("independent = true\nstability = 0.02\ntolerance = 0.1\nqueries = 9", "gives either"),
    ("independent = true\ntolerance = 0.1", "needs validity.queries"),
    ("independent = true\nstability = 0", "validity.stability must be above 0"),
    ("independent = true\nstability = nan", "finite number"),
    ("independent = true\nstability = 3", "certifies nothing"),
    ("independent = true\nstability = 0.02\nconfidence = 1", "validity.confidence must be"),
    ("independent = true\nstability = 0.02\nbeyond_plan = 'x'", "validity.beyond_plan"),
    ("independent = true\nstability = 0.02\nqueries = 0", "at least 1"),
    ("independent = true\ntolerance = 0.01\nqueries = 100000", "certify 100000 adaptive queries within"),
    ("independent = true\ntolerance = 0.5\nqueries = 2\nshare = 0.1", "go with Gaussian noise"),
    ("independent = true\nstabilty = 0.02", "did you mean 'stability'?"),
]


@pytest.mark.parametrize(
    ("section", "says", "accounting"),
    [(*one, "gdp") for one in GAUSSIAN] + [(*one, "pure") for one in PURE],
)
def test_a_wrong_validity_section_is_named_with_its_fix(
    section: str, says: str, accounting: str, tmp_path: Path
) -> None:
    pure = BASE.replace("delta = 1e-6", 'delta = 0\naccounting = "pure"')
    (tmp_path / "t.toml").write_text((pure if accounting == "pure" else BASE) + section)
    with pytest.raises(adyton.InvalidRequest) as caught:
        read_study(tmp_path / "t.toml")
    assert says in caught.value.message


def test_a_validity_section_is_read(tmp_path: Path) -> None:
    (tmp_path / "t.toml").write_text(
        BASE + "independent = true\nqueries = 100\ntolerance = 0.1\nbeyond_plan = 'answer'\n"
    )
    expected = Validity(Fraction(95, 100), None, 100, Fraction(1, 10), "answer")
    assert read_study(tmp_path / "t.toml").validity == expected
    (tmp_path / "t.toml").write_text(BASE + "independent = true\n")
    assert read_study(tmp_path / "t.toml").validity == Validity(Fraction(95, 100))
    more = "queries = 9\ntolerance = 0.3\nshare = 0.01\ngroup = 0.5\nnoise = 'decreasing'\nconfidence = 0.9\n"
    (tmp_path / "t.toml").write_text(BASE + "independent = true\n" + more)
    read = read_study(tmp_path / "t.toml").validity
    assert read == Validity(
        Fraction(9, 10),
        queries=9,
        tolerance=Fraction(3, 10),
        share=Fraction(1, 100),
        group=Fraction(1, 2),
        noise="decreasing",
    )


@pytest.mark.parametrize("accounting", ["gdp", "pure"])
def test_theorem_LAST_LOOK_ROUTES_thresholds_shrink_with_what_was_asked(
    accounting: str,
) -> None:
    """Nothing asked: alpha itself.  Then less and less, never more."""
    cap = {"stability": Fraction(1, 25)} if accounting == "pure" else {}
    with curator(1, accounting=accounting, **cap) as asker:
        thresholds = [asker.p_value_threshold("0.05")]
        for i in range(4):
            asker.ask(f"SELECT COUNT(*) FROM t WHERE f{i}", scale=200)
            thresholds.append(asker.p_value_threshold("0.05"))
    assert thresholds[0] == pytest.approx(0.05, rel=1e-12)
    assert thresholds == sorted(thresholds, reverse=True)
    assert thresholds[-1] < thresholds[0]
    study = Study(Table("t", COLUMNS, ROWS), PrivacyUnit("replace-one"), BUDGET)
    with open_kept(study, data=sample(1)) as asker, pytest.raises(adyton.InvalidRequest, match="validity"):
        asker.p_value_threshold("0.05")


@pytest.mark.parametrize(
    "facts",
    [{}, {"stability": Fraction(1, 50), "tolerance": Fraction(1, 10)}, {"tolerance": Fraction(1, 10)}],
)
def test_a_validity_that_says_nothing_goes_with_no_pure_study(facts: dict[str, Any]) -> None:
    with pytest.raises(adyton.InvalidRequest):
        curator(1, accounting="pure", **({"stability": None} | facts))


@pytest.mark.parametrize("alpha", [1, 2, "1.0", 0, -1])
def test_a_level_of_a_test_is_a_probability(alpha: Any) -> None:
    with curator() as asker, pytest.raises(InvalidRequest, match="alpha"):
        asker.p_value_threshold(alpha)


@pytest.mark.parametrize("accounting", ["gdp", "pure"])
def test_no_threshold_for_p_values_where_keys_may_be_found(accounting: str) -> None:
    """A release with a delta has no bounded information, and no theorem here covers it.

    A pure study knows its delta when it is made; with Gaussian noise only a query that discovered groups matters.
    """
    keys = Fraction(1, 10**9)
    made = Study(
        Table("t", (*COLUMNS, TextColumn("town")), ROWS),
        PrivacyUnit("replace-one"),
        Guarantee(BUDGET.epsilon, keys) if accounting == "pure" else BUDGET,
        accounting,
        validity=Validity(Fraction(95, 100), stability=Fraction(1, 20) if accounting == "pure" else None),
        discovery_delta=keys,
    )
    with open_kept(made, data=sample(0).assign(town="Ur")) as asker:
        if accounting == "pure":
            with pytest.raises(InvalidRequest, match="discovery_delta"):
                asker.p_value_threshold("0.05")
            return
        assert asker.p_value_threshold("0.05") == pytest.approx(0.05)
        asker.ask("SELECT town, COUNT(*) FROM t GROUP BY town", epsilon=1)
        with pytest.raises(InvalidRequest, match="groups were discovered"):
            asker.p_value_threshold("0.05")


def test_a_confidence_near_1_is_never_shown_as_certain() -> None:
    declared = Validity(Fraction(999_999_999, 10**9))
    study = Study(Table("t", COLUMNS, ROWS), PrivacyUnit("replace-one"), BUDGET, validity=declared)
    with open_kept(study, data=sample(1)) as asker:
        answer = asker.ask("SELECT COUNT(*) FROM t WHERE f0", scale=100)
    assert "99.9999999 %" in str(answer)
    assert any("probability 0.999999999" in said for said in answer.certificate.assumptions)
