"""The planner: the table of certified queries, its three tasks, its JSON, and how much it computes."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adyton
from adyton.errors import InvalidRequest
from adyton.kernel.schema import BooleanColumn
from adyton.study import Validity
from adyton.validity import planner
from adyton.validity.described import described_half_width, greatest_described_share, least_described_share
from adyton.validity.hinge.joint import joint_width
from adyton.validity.methods import ALIKE, METHODS, ROUTES, Certified, Method, described, methods_for
from adyton.validity.planner import HALF, in_words, plan
from adyton.validity.plans.expected import ANYTHING, Expected
from adyton.validity.plans.noise_plan import MOST
from support.tries import LONG

TABLE = {
    (10**4, "0.05"): {"split": 8, "rounding": 7, "laplace": 0, "jlnrss": 0, "rrsstw": 0, "hinge": 11},
    (10**5, "0.05"): {"split": 63, "rounding": 86, "laplace": 0, "jlnrss": 11, "rrsstw": 16, "hinge": 639},
    (10**6, "0.05"): {
        "split": 504,
        "rounding": 876,
        "laplace": 14,
        "jlnrss": 832,
        "rrsstw": 1532,
        "hinge": 43648,
    },
    (10**4, "0.1"): {"split": 28, "rounding": 39, "laplace": 0, "jlnrss": 2, "rrsstw": 2, "hinge": 123},
    (10**5, "0.1"): {
        "split": 219,
        "rounding": 412,
        "laplace": 1,
        "jlnrss": 153,
        "rrsstw": 263,
        "hinge": 7943,
    },
    (10**6, "0.1"): {
        "split": 1784,
        "rounding": 4144,
        "laplace": 124,
        "jlnrss": 11616,
        "rrsstw": 21184,
        "hinge": 578879,
    },
}


@pytest.mark.parametrize(("rows", "tolerance"), TABLE)
def test_certified_queries_of_every_method(rows: int, tolerance: str) -> None:
    """The table was searched to half a per cent; ours is exact, so it may be that much above."""
    made = plan(rows=rows, tolerance=tolerance)
    found = {option.method: option.value for option in made.options}
    for name, expected in TABLE[(rows, tolerance)].items():
        value = found[name]
        assert isinstance(value, int)
        assert expected <= value <= expected * 1.01
    assert found["subset, decreasing"] > found["subset"] > 4.5 * found["hinge"]  # type: ignore[operator]
    assert found["split, exact"] > found["split"]  # type: ignore[operator]
    assert made.recommended == "subset, decreasing"


def test_json_of_the_first_task() -> None:
    made = plan(rows=100_000, tolerance=0.1, confidence=0.95)
    found = json.loads(json.dumps(made.to_json()))
    assert list(found) == ["rows", "tolerance", "confidence", "methods", "recommended"]
    assert (found["rows"], found["tolerance"], found["confidence"]) == (100_000, 0.1, 0.95)
    assert [m["method"] for m in found["methods"]] == [
        "split",
        "split, exact",
        "rounding",
        "rounding, counted",
        "dp-generalizes",
        "max-information",
        "laplace",
        "jlnrss",
        "rrsstw",
        "hinge",
        "subset",
        "subset, decreasing",
        *(route.name for route in ROUTES),
    ]
    methods, routes = found["methods"][: len(METHODS)], found["methods"][len(METHODS) :]
    assert all(list(m) == ["method", "queries", "scale", "theorem"] for m in methods[:-1])
    assert all(list(m) == ["method", "queries", "scale", "theorem", "applies"] for m in routes)
    falling = methods[-1]
    assert list(falling) == ["method", "queries", "scale", "last_scale", "theorem"]
    assert falling["scale"] > 5 * falling["last_scale"] > 0
    hinge = methods[9]
    assert (hinge["queries"], hinge["theorem"]) == (7943, "CENTRED-HINGE-JOINT")
    assert hinge["scale"] == pytest.approx(0.01066, abs=5e-6)
    assert found["recommended"] == "subset, decreasing"
    assert made.attack_limit() == pytest.approx(91_337, rel=0.004)
    assert made.decreasing_attack_limit() == pytest.approx(214_000, rel=0.01)
    assert plan(rows=10**5, queries=9).decreasing_attack_limit() is None
    assert plan(rows=10**12, tolerance="0.5").attack_limit() is None  # not with any number that is looked at


def test_json_of_the_other_tasks() -> None:
    widths = plan(rows=100_000, queries=7943).to_json()
    assert list(widths) == ["rows", "queries", "confidence", "methods", "recommended"]
    assert isinstance(widths["methods"], list)
    assert widths["methods"][9]["tolerance"] == pytest.approx(0.0999974, abs=5e-7)
    rows = plan(tolerance="0.1", queries=7943)
    assert rows.to_json()["recommended"] == "subset, decreasing"
    assert rows.options[9].value == pytest.approx(99_995, abs=5)
    assert rows.attack_limit() is None


@settings(deadline=None, max_examples=8)
@given(
    st.integers(1000, 10**8),
    st.sampled_from(["0.02", "0.1", "0.25"]),
    st.sampled_from(["0.9", "0.95", "0.999"]),
)
def test_law_the_three_tasks_agree(rows: int, tolerance: str, confidence: str) -> None:
    """What is certified as queries is within the tolerance as a width, and needs no more rows."""
    failure = 1 - Fraction(confidence)
    made = plan(rows=rows, tolerance=tolerance, confidence=confidence)
    for option, method in zip(made.options, METHODS, strict=True):
        if option.value:
            certified = method.width(rows, int(option.value), failure, ANYTHING)
            about = 1 + (2e-3 if method.name.startswith("subset") else 1e-9)  # searches of its own
            assert certified is not None
            assert certified.value is not None
            assert certified.value <= float(tolerance) * about
            needed = method.rows(int(option.value), Fraction(tolerance), failure).value
            assert needed is not None
            assert needed <= rows * about**2
    hinge = made.options[6]
    if hinge.value:
        assert joint_width(rows, int(hinge.value), failure, hinge.scale).tolerance <= float(tolerance)


@pytest.mark.parametrize(
    "given_two",
    [
        {"rows": 10**8, "tolerance": "0.05"},
        {"rows": 10**8, "queries": 10**7},
        {"tolerance": "0.003", "queries": 10**6},
    ],
)
def test_a_plan_computes_few_widths(given_two: dict[str, int | str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Each takes milliseconds, and a plan is wanted in two seconds."""
    computed: list[str] = []

    def counted(method: Method) -> Method:
        def width(rows: int, queries: int, failure: Fraction, expected: Expected) -> Certified | None:
            computed.append(method.name)
            return method.width(rows, queries, failure, expected)

        return replace(method, width=width)

    monkeypatch.setattr(planner, "methods_for", lambda expected: tuple(map(counted, METHODS)))
    plan(**given_two)  # type: ignore[arg-type]
    most = 20 if "rows" in given_two else 80  # of one method
    assert len(computed) < most * len(METHODS)


def test_the_last_row_that_is_looked_at_is_not_forgotten() -> None:
    certified = {option.method: option.value for option in plan(rows=10**15, tolerance="0.5").options}
    for name in ("split", "rounding"):
        needed = plan(tolerance="0.5", queries=int(certified[name] or 0))
        assert {option.method: option.value for option in needed.options}[name] is not None


def test_nothing_to_offer() -> None:
    assert plan(rows=10, tolerance="0.01").recommended is None
    assert plan(rows=10, queries=100).recommended is None  # every width is above 1/2


def test_refuses_what_is_not_two_of_three() -> None:
    for wrong in (
        {},
        {"rows": 100},
        {"rows": 100, "tolerance": "0.1", "queries": 5},
        {"rows": 0, "tolerance": "0.1"},
        {"rows": 100.5, "tolerance": "0.1"},
        {"rows": 100, "tolerance": "0"},
        {"rows": 100, "tolerance": "1"},
        {"rows": 100, "tolerance": "nan"},
        {"rows": 10**16, "tolerance": "0.1"},
        {"rows": 100, "queries": -1},
        {"rows": 100, "tolerance": "0.1", "confidence": "1"},
        {"rows": 100, "tolerance": "0.1", "confidence": 0},
        {"rows": 100, "tolerance": "0.1", "expect_share": "1.5"},
        {"rows": 100, "tolerance": "0.1", "spread": "0.7"},
        {"rows": 100, "tolerance": "0.1", "group": "0"},
    ):
        with pytest.raises(InvalidRequest):
            plan(**wrong)  # type: ignore[arg-type]


@given(st.floats(1e-12, 1e4))
def test_law_a_tolerance_is_never_shown_smaller_than_it_is(value: float) -> None:
    shown = Fraction(in_words(value, up=True))
    assert Fraction(value) <= shown <= Fraction(value) * Fraction(1002, 1000)


def test_a_plan_reads_well() -> None:
    shown = str(plan(rows=100_000, tolerance="0.1"))
    title, *lines = shown.splitlines()
    assert title == "Given rows 100,000, tolerance 0.1, confidence 0.95: queries of every method"
    assert len(lines) == len(METHODS) + len(ROUTES)
    assert lines[9].split() == ["hinge", "7,943", "noise", "scale", "0.01066", "CENTRED-HINGE-JOINT"]
    best = lines[len(METHODS) - 1]
    assert best.startswith("> subset, decreasing ")
    assert " .. " in best
    assert "&gt; subset, decreasing" in plan(rows=100_000, tolerance="0.1")._repr_html_()
    rare = str(plan(rows=100_000, queries=100, expect_share="0.01", group="0.5"))
    assert rare.startswith("Given rows 100,000, queries 100, confidence 0.95; expected share 0.01, group 0.5")
    assert "confidence 0.999999999:" in str(plan(rows=100, queries=1, confidence="0.999999999"))  # and not 1


@pytest.fixture
def remembered(monkeypatch: pytest.MonkeyPatch) -> Sequence[Method]:
    """All methods, each of which computes a width once: what a plan chooses among need not be computed again."""
    own = {method.name: replace(method, width=cache(method.width)) for method in (*METHODS, *ALIKE)}
    monkeypatch.setattr(planner, "methods_for", lambda expected: [own[m.name] for m in methods_for(expected)])
    return tuple(own.values())


@pytest.mark.parametrize(
    ("rows", "share", "queries"),
    [*product([300, 10**4, 10**6], [None, "0.3", "0.01"], [1, 2, 3, 4, 6, 8, 10, 13, 20, 100])]
    if LONG
    else [
        (rows, (None, "0.3", "0.01")[(i + j) % 3], queries)
        for i, rows in enumerate([300, 10**4, 10**6])
        for j, queries in enumerate([1, 3, 8, 13, 100])
    ],
)
def test_the_recommendation_is_right_for_every_number_of_queries(
    remembered: Sequence[Method], rows: int, share: str | None, queries: int
) -> None:
    """No method that may be used is narrower: with shares the exact one, which wins where queries are few."""
    expected, failure = Expected.of(share=share), Fraction(1, 20)
    made = plan(rows=rows, queries=queries, expect_share=share)
    widths = {}
    for method in remembered:
        if method.name in {one.name for one in ALIKE} and not share:
            continue
        certified = method.width(rows, queries, failure, expected)
        if certified is not None and certified.value is not None and certified.value < HALF:
            widths[method.name] = certified.value
    allowed = {name: width for name, width in widths.items() if share or name != "split, exact"}
    assert made.recommended == (min(allowed, key=allowed.__getitem__) if allowed else None)
    assert made.recommended_for_shares == (min(widths, key=widths.__getitem__) if widths else None)


def test_few_queries_about_shares_are_best_split() -> None:
    asked = range(1, 12) if LONG else (1, 2, 3, 4, 5, 11)
    for rows in (10**3, 10**5, 10**7):
        best = [plan(rows=rows, queries=k).recommended_for_shares for k in asked]
        assert best[:2] == ["split, exact"] * 2
        assert set(best[4:]) == {"subset, decreasing"}
        assert best.index("subset, decreasing") + best.count("subset, decreasing") == len(best)


def test_what_is_expected_is_said_and_narrows() -> None:
    plain = {option.method: option.value for option in plan(rows=10**5, queries=100).options}
    made = plan(rows=10**5, queries=100, spread="0.1")
    narrow = {option.method: option.value for option in made.options}
    assert made.to_json()["expected"] == {"spread": 0.1}
    assert "expected" not in plan(rows=10**5, queries=100).to_json()
    assert narrow["hinge"] == plain["hinge"]  # knows nothing of it
    for name in ("split", "subset", "subset, decreasing"):
        assert narrow[name] < 0.6 * plain[name]  # type: ignore[operator]
    assert narrow["subset, alike"] < narrow["subset"]  # type: ignore[operator]
    grouped = plan(rows=10**5, queries=100, group="0.1")
    assert [option.method for option in grouped.options][:2] == ["split", "subset"]
    assert grouped.recommended_for_shares == grouped.recommended


# Described queries -----------------------------------------------------------------------------------------

W = 0.05 * 3 / 64  # of the failure: the part of a study for the rows of described queries


def closed_form(rows: int, nats: float) -> float:
    """Where half of all units have the property: KL(1/2 || 1/2 - d) = -ln(1 - 4 d^2)/2."""
    return math.sqrt(-math.expm1(-2 * (nats + math.log(2 / W)) / rows)) / 2


@pytest.mark.parametrize("rows", [400, 10**4, 10**5, 10**9])
def test_theorem_DESCRIBED_QUERIES_a_plan_has_their_width_in_any_case(rows: int) -> None:
    """As a study's intervals, without noise.  Mutants: the whole failure; one side's level for both."""
    few, many = plan(rows=rows, queries=1), plan(rows=rows, queries=10**6)
    for nats in (12, 35):
        found = {option.method: option for option in few.routes}[f"described, {nats} nats"]
        assert found in many.routes
        assert closed_form(rows, nats) <= found.value <= closed_form(rows, nats) * (1 + 1e-5)  # type: ignore[operator]
        assert (found.theorem, found.scale) == ("DESCRIBED-QUERIES", None)


def test_theorem_DESCRIBED_QUERIES_a_share_of_one_half_is_the_widest() -> None:
    """What a plan says is half of an interval of the study's bounds, and no other share has a wider one."""
    counts, units, level = np.arange(301.0), 300, 12 + math.log(2 / W)
    least = least_described_share(counts, units, level)
    greatest = greatest_described_share(counts, units, level)
    widths = (greatest - least) / 2
    planned = described_half_width(units, 12, Fraction(1, 20))
    assert widths.max() <= planned <= widths.max() * (1 + 1e-9)
    rare = described_half_width(units, 12, Fraction(1, 20), 0.1)
    assert widths[30] <= rare <= widths[30] * (1 + 1e-9) < 0.9 * planned


def test_described_queries_of_a_plan_are_any_number_from_some_rows_on() -> None:
    method, failure = described(12), Fraction(1, 20)
    needed = method.rows(1, Fraction(1, 10), failure).value
    assert needed == plan(tolerance="0.1", queries=10**7).routes[-2].value
    assert needed is not None
    assert closed_form(int(needed), 12) <= 0.1 < closed_form(int(needed) - 1, 12)
    enough, too_few = plan(rows=int(needed), tolerance="0.1"), plan(rows=int(needed) - 1, tolerance="0.1")
    assert [option.value for option in (enough.routes[-2], too_few.routes[-2])] == [MOST, 0]
    assert [option.offered for option in (enough.routes[-2], too_few.routes[-2])] == ["any number", "0"]
    assert "any number" in str(enough)
    assert "any number" not in str(too_few)
    assert enough.recommended is not None  # what holds under a condition is never recommended
    assert not enough.recommended.startswith("described")


@pytest.mark.parametrize("hope", [{"expect_share": "0.02"}, {"spread": "0.14"}])
def test_described_queries_of_a_plan_know_what_is_expected(hope: dict[str, str]) -> None:
    plain, rare = plan(rows=10**5, queries=100), plan(rows=10**5, queries=100, **hope)  # type: ignore[arg-type]
    assert rare.routes[-1].value < 0.5 * plain.routes[-1].value  # type: ignore[operator]


def test_theorem_DESCRIBED_QUERIES_a_study_has_the_width_of_a_plan() -> None:
    """A share, nearly without noise, after a hundred other answers."""
    rows = 20_000
    table = adyton.Table("t", (BooleanColumn("a"), BooleanColumn("b")), rows=rows)
    budget = adyton.Guarantee(epsilon=500, delta=1e-9)
    validity = Validity(Fraction("0.95"), dictionary="schema")
    study = adyton.Study(table, adyton.PrivacyUnit("replace-one"), budget, validity=validity)
    data = pd.DataFrame({"a": np.arange(rows) % 2 == 0, "b": np.arange(rows) % 3 == 0})
    with adyton.open(study, data=data) as curator:
        for scale in range(1, 60):
            curator.ask("SELECT COUNT(*) FROM t WHERE b", scale=scale)
        answer = curator.ask("SELECT PROPORTION(a) AS x FROM t", scale=0.0001)
    interval, nats = answer.population_interval, answer.certificate.nats["x"]
    planned = described_half_width(rows, nats, Fraction(1, 20))
    assert (interval.high - interval.low) / 2 == pytest.approx(planned, rel=0.08)  # noise and rounding
    assert (interval.high - interval.low) / 2 > planned
