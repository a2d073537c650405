"""adyton plan: the numbers that a study owner sees before anything is asked."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from adyton.figures.plan import curves, figure, rows_around
from adyton.holdout.methods.base import HoldoutSize
from adyton.holdout.methods.guess_and_check import most_wrong_guesses
from adyton.holdout.methods.ladder import ladder_width
from adyton.holdout.methods.thresholdout import plan_thresholdout
from adyton.transports.cli.app import app
from adyton.validity.described import described_half_width


@cache  # several tests read the same plan
def run(*words: str) -> Result:
    return CliRunner().invoke(app, ["plan", *words])


def methods(result: Result) -> dict[str, Any]:
    assert result.exit_code == 0
    return {method["method"]: method for method in json.loads(result.stdout)["methods"]}


def test_the_json_contract_and_the_numbers_of_the_headline() -> None:
    result = run("--rows", "100000", "--tolerance", "0.1", "--confidence", "0.95", "--json")
    made = json.loads(result.stdout)
    assert (made["rows"], made["tolerance"], made["confidence"]) == (100000, 0.1, 0.95)
    assert made["recommended"] == "subset, decreasing"
    found = methods(result)
    assert set(found["hinge"]) == {"method", "queries", "scale", "theorem"}
    expected = {"split": 219, "rounding": 412, "laplace": 1, "jlnrss": 153, "rrsstw": 263, "hinge": 7943}
    for name, queries in expected.items():
        assert abs(found[name]["queries"] - queries) <= max(1, queries // 100)
    assert 80_000 < made["attack_limit"] < 100_000 < made["decreasing_attack_limit"] < 250_000
    assert found["subset"]["queries"] >= 0.999 * 50_754
    assert found["subset, decreasing"]["queries"] >= 0.99 * 99_722
    assert found["ladder"]["queries"] > found["hinge"]["queries"]
    assert found["thresholdout"]["overfits"] >= 1
    assert found["ladder"]["applies"] == "only the best score so far is published"


def test_the_two_inverse_queries() -> None:
    tolerance = methods(run("--rows", "100000", "--queries", "7943", "--json"))["hinge"]["tolerance"]
    assert tolerance == pytest.approx(0.1, rel=1e-3)
    rows = methods(run("--tolerance", "0.1", "--queries", "7943", "--json"))["hinge"]["rows"]
    assert rows == pytest.approx(100_000, rel=1e-2)


@pytest.mark.parametrize(
    ("rows", "tolerance", "least"), [(10, "0.95", 8), (1684476, "0.01712", 800), (10**12, "0.000013", 20)]
)
def test_the_rung_of_a_ladder_is_one_that_certifies_its_scores(rows: int, tolerance: str, least: int) -> None:
    found = methods(run("--rows", str(rows), "--tolerance", tolerance, "--json"))["ladder"]
    frame = HoldoutSize(rows, 2, Fraction(0), Fraction(1, 20))
    assert found["queries"] >= least
    assert ladder_width(frame, found["queries"], round(found["scale"] * frame.whole)) <= Fraction(tolerance)


def test_a_method_that_certifies_nothing_has_no_conditions() -> None:
    shown = run("--rows", "10", "--tolerance", "0.01").stdout
    assert "none: no method certifies anything here" in shown
    assert "if a training set answers" not in shown
    assert "comes with a guess" not in shown


def test_guess_and_check_says_how_many_guesses_may_be_wrong() -> None:
    found = methods(run("--rows", "100000", "--tolerance", "0.1", "--json"))["guess_and_check"]
    keys = {"method", "queries", "scale", "theorem", "wrong_guesses", "at_worst", "applies"}
    assert set(found) == keys
    assert (found["queries"], found["wrong_guesses"], found["theorem"]) == (10_000, 56, "GUESS-AND-CHECK")
    assert found["at_worst"] == pytest.approx(590, abs=5)
    assert found["scale"] == pytest.approx(1 / 6)
    assert "at most 56 of the guesses are off by more than 0.05" in found["applies"]


def test_guess_and_check_with_few_rows_or_many_takes_any_guesses() -> None:
    few = methods(run("--rows", "1000", "--tolerance", "0.1", "--json"))["guess_and_check"]
    assert few["queries"] == few["wrong_guesses"] == few["at_worst"] == 4
    many = methods(run("--rows", "10000000", "--tolerance", "0.1", "--json"))["guess_and_check"]
    assert many["queries"] == many["wrong_guesses"] == 10_000
    none = methods(run("--rows", "20", "--tolerance", "0.01", "--json"))["guess_and_check"]
    assert (none["queries"], none["scale"]) == (0, None)


def test_guess_and_check_has_both_inverses_and_they_agree() -> None:
    """Ten wrong guesses, which the output says; one row less, or a little less tolerance, is not enough."""
    exact = methods(run("--rows", "100000", "--queries", "1000", "--json"))["guess_and_check"]
    assert exact["wrong_guesses"] == 10
    assert "at most 10 of the guesses" in exact["applies"]
    tolerance = Fraction(exact["tolerance"])
    assert 0.04 < tolerance < 0.06
    assert allowed(100_000, tolerance, 1000) == 10
    assert allowed(100_000, tolerance * Fraction(9999, 10_000), 1000) < 10
    rows = methods(run("--tolerance", "0.05", "--queries", "1000", "--json"))["guess_and_check"]["rows"]
    assert allowed(rows, Fraction(1, 20), 1000) == 10
    assert allowed(rows - 1, Fraction(1, 20), 1000) < 10
    nothing = methods(run("--rows", "10", "--queries", "5", "--json"))["guess_and_check"]
    assert nothing["tolerance"] is None


def test_thresholdout_has_both_inverses_and_they_agree() -> None:
    """Ten overfits; a per cent less tolerance, or two per cent fewer rows, is not enough."""
    failure = Fraction(1, 20)

    def fits(rows: int, tolerance: Fraction) -> bool:
        return (
            plan_thresholdout(HoldoutSize(rows, 2, Fraction(0), failure), tolerance, 1000, overfits=10)
            is not None
        )

    exact = methods(run("--rows", "1000000", "--queries", "1000", "--json"))["thresholdout"]
    assert (exact["overfits"], exact["theorem"]) == (10, "THRESHOLDOUT-VALIDITY")
    assert fits(10**6, Fraction(exact["tolerance"]))
    assert not fits(10**6, Fraction(exact["tolerance"]) * Fraction(99, 100))
    rows = methods(run("--tolerance", "0.05", "--queries", "1000", "--json"))["thresholdout"]["rows"]
    assert fits(rows, failure)
    assert not fits(rows * 98 // 100, failure)
    assert methods(run("--rows", "10", "--queries", "5", "--json"))["thresholdout"]["tolerance"] is None
    wide = methods(run("--tolerance", "0.9999", "--queries", "1000", "--json"))["thresholdout"]["rows"]
    assert wide is None or fits(wide, Fraction("0.9999"))


def test_a_ladder_has_both_inverses_and_they_agree() -> None:
    failure = Fraction(1, 20)
    exact = methods(run("--rows", "100000", "--queries", "1000", "--json"))["ladder"]
    frame = HoldoutSize(100_000, 2, Fraction(0), failure)
    assert ladder_width(frame, 1000, round(exact["scale"] * frame.whole)) == exact["tolerance"]
    tolerance = str(exact["tolerance"] * 1.0001)
    scores = methods(run("--rows", "100000", "--tolerance", tolerance, "--json"))["ladder"]["queries"]
    assert 1000 <= scores <= 1010
    rows = methods(run("--tolerance", tolerance, "--queries", "1000", "--json"))["ladder"]["rows"]
    assert 0.99 * 100_000 <= rows <= 100_000
    assert methods(run("--rows", "10", "--queries", "5", "--json"))["ladder"]["tolerance"] is None
    many = methods(run("--rows", "100000", "--queries", "100000000", "--json"))
    assert many["ladder"]["tolerance"] is many["thresholdout"]["tolerance"] is None


def allowed(rows: int, tolerance: Fraction, queries: int) -> int:
    frame = HoldoutSize(rows, 2, Fraction(0), Fraction(1, 20))
    return most_wrong_guesses(frame, tolerance, queries, tolerance / 2, enough=10) or 0


def test_a_special_method_is_never_recommended() -> None:
    made = json.loads(run("--rows", "100000", "--tolerance", "0.1", "--json").stdout)
    assert made["recommended"] == "subset, decreasing"  # although a ladder says a million, of less


def test_people_get_a_table() -> None:
    shown = run("--rows", "10000", "--tolerance", "0.1").stdout
    assert "Recommended: subset, decreasing" in shown
    assert "A study takes it from [validity]" in shown
    assert 'noise = "decreasing"' in " ".join(shown.split())
    assert "known attack" in shown
    assert "guarantees nothing" not in shown
    few = " ".join(run("--rows", "1000", "--queries", "2").stdout.split())
    assert "If all queries are shares, which are means of values 0 and 1, split, exact is better." in few


def test_what_is_expected_is_called_no_guarantee() -> None:
    """Rare shares, little spread, a group: the noise is chosen for them, and the words say no more."""
    words = ("--rows", "100000", "--queries", "100")
    result = run(*words, "--expect-share", "0.01", "--json")
    assert json.loads(result.stdout)["expected"] == {"share": 0.01}
    found = methods(result)
    assert found["subset"]["tolerance"] <= 0.0081
    assert found["subset, alike"]["tolerance"] <= 0.0042
    for option in (("--expect-share", "0.01"), ("--spread", "0.1"), ("--group", "0.2")):
        shown = " ".join(run(*words, *option).stdout.split())
        assert "What is expected chooses the noise and guarantees nothing" in shown
        assert "wider, never wrong" in shown
    assert "its count has twice as much" in shown
    assert "ladder" not in shown  # it knows no groups


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("--rows", "10"),
        ("--rows", "x", "--tolerance", "0.1"),
        ("--rows", "-5", "--tolerance", "0.1"),
        ("--rows", "100", "--tolerance", "0"),
        ("--rows", "100", "--tolerance", "nan"),
        ("--rows", "100", "--tolerance", "2"),
        ("--rows", "100", "--tolerance", "0.1", "--queries", "5"),
        ("--rows", "100", "--tolerance", "0.1", "--confidence", "1"),
        ("--rows", "100", "--queries", "5", "--expect-share", "2"),
        ("--rows", "100", "--queries", "5", "--spread", "0.6"),
        ("--rows", "100", "--queries", "5", "--group", "x"),
        ("--rows", "100", "--tolerance", "0.1", "--figure", "x.gif"),
        ("--rows", "100", "--tolerance", "0.1", "--figure", "no/such/folder.html"),
    ],
)
def test_bad_input_is_refused(words: tuple[str, ...]) -> None:
    result = run(*words, "--json")
    assert result.exit_code == 2
    assert json.loads(result.stdout)["error"]["kind"] == "invalid_request"


def test_the_figure_shows_every_method_and_the_attack(tmp_path: Path) -> None:
    pytest.importorskip("altair", reason="figures need the extra 'plot'")
    path = tmp_path / "plan.svg"
    assert run("--rows", "10000", "--tolerance", "0.1", "--figure", str(path), "--json").exit_code == 0
    page = path.read_text()
    for name in ("decreasing noise", "sample splitting", "attack on constant noise"):
        assert name in page


@pytest.mark.parametrize("rows", [1, 9, 10, 2_000, 100_000, 10**15])
def test_the_figure_is_about_the_rows_that_were_given(rows: int) -> None:
    shown = rows_around(rows)
    assert shown[0] <= rows <= shown[-1] <= 10**15
    assert shown[-1] == 10**5 * shown[0]


def test_the_figure_is_about_the_rows_that_are_needed(tmp_path: Path) -> None:
    pytest.importorskip("altair", reason="figures need the extra 'plot'")
    path = tmp_path / "plan.json"
    found = methods(run("--queries", "3", "--tolerance", "0.2", "--figure", str(path), "--json"))
    assert found["split"]["rows"] < 1000
    shown = {point["x"] for points in json.loads(path.read_text())["datasets"].values() for point in points}
    assert {1, 3, 10, 32, 100, 316, 1000, 3162, 10000, 31623, 100000} <= shown
    assert max(shown) == 10**5


def test_the_figure_of_widths_against_shares(tmp_path: Path) -> None:
    pytest.importorskip("altair", reason="figures need the extra 'plot'")
    path = tmp_path / "plan.svg"
    assert run("--rows", "10000", "--queries", "20", "--figure", str(path)).exit_code == 0
    for name in ("sample splitting, exact", "fixed in advance", "an attack is off by more in 5"):
        assert name in path.read_text()


@pytest.mark.parametrize(("tolerance", "rows"), [("0.1", 100_000), ("0.02", 1_000_000)])
def test_theorem_DESCRIBED_QUERIES_the_figure_has_as_many_as_widths_allow(tolerance: str, rows: int) -> None:
    """At each of its points so many queries are within the tolerance, and with one row less they are not.

    Mutants: bits in place of nats; the tolerance of both sides together.
    """
    within, failure = Fraction(tolerance), Fraction(1, 20)
    found = curves(within, 1 - failure, rows_around(rows))
    assert len(found.described) > 9
    for n, queries in found.described:
        nats = math.log(queries)
        widths = [described_half_width(units, nats, failure) for units in (n, n - 1)]
        assert widths[0] <= within < widths[1]
    reached = [q or 0 for column in (*found.certified.values(), found.decreasing_attack) for q in column]
    assert found.described[-1][1] > max(reached)
    assert found.described[0][1] == 1
    assert found.short is not None
    assert described_half_width(found.short, 12, failure) <= within
    assert described_half_width(found.short - 1, 12, failure) > within
    drawn = figure(found, within, 1 - failure)
    assert "adyton, described queries" in drawn.headers
    assert not any("nats" in name for name in drawn.headers)


def test_a_figure_of_far_more_rows_than_needed_does_without_their_curve() -> None:
    """A figure of far more rows than described queries need does without their curve."""
    found = curves(Fraction(1, 10), Fraction("0.95"), rows_around(10**12))
    assert found.described == ()
    assert "adyton, described queries" not in figure(found, Fraction(1, 10), Fraction("0.95")).headers


def test_people_are_told_that_simple_queries_do_not_pay() -> None:
    shown = " ".join(run("--rows", "100000", "--tolerance", "0.1").stdout.split())
    assert "A query with a short description has the width of described, whatever else is asked" in shown
    assert "described, 12 nats: if each query has a description of at most 12 nats" in shown
    assert "described, 12 nats: 1,000,000" not in shown
    none = " ".join(run("--rows", "10", "--tolerance", "0.01").stdout.split())
    assert "short description" not in none
