"""Testing a real table after queries, from the command line: 569 tumours, as they come with scikit-learn."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import ttest_ind
from sklearn.datasets import load_breast_cancer
from typer.testing import CliRunner, Result

from adyton.certify.last_look import ByRoute, LastLook
from adyton.transports.cli.app import app
from support.worlds import study_text

COLUMNS = {
    "malignant": {"kind": "boolean"},
    "texture": {"kind": "real", "low": 0, "high": 50},
    "symmetry": {"kind": "real", "low": 0, "high": 1},
}
STUDY = {"name": "tumours", "source": "tumours.csv", "rows": 569, "epsilon": 20}
VALIDITY = "independent = true\nconfidence = 0.95"
PURE = f'{VALIDITY}\nstability = 0.1\nbeyond_plan = "answer"'
SHARE = "SELECT PROPORTION(malignant) FROM tumours"


@pytest.fixture(params=["pure", "gdp", "zcdp"])
def study(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    pure = request.param == "pure"
    declared = {"validity": PURE if pure else VALIDITY, "delta": "0" if pure else "1e-6"}
    study = study_text(COLUMNS, accounting=request.param, **declared, **STUDY)
    Path("tumours.toml").write_text(study)
    frame = load_breast_cancer(as_frame=True).frame
    malignant = frame.target == 0
    tumours = frame.assign(
        malignant=malignant, texture=frame["mean texture"], symmetry=frame["mean symmetry"]
    )
    tumours[["malignant", "texture", "symmetry"]].to_csv("tumours.csv", index=False)
    return str(request.param)


def run(*words: str) -> Result:
    return CliRunner().invoke(app, list(words))


def of(*words: str) -> Any:
    result = run(*words, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def refused(*words: str) -> str:
    result = run(*words)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    return result.stderr


def test_a_test_after_queries(study: str) -> None:
    """Alpha before, less and less after each query, the winner named; what is real is still found."""
    before = of("p-value", "tumours.toml", "--p", "0.03")
    assert (before["threshold"], before["corrected"]) == pytest.approx((0.05, 0.03), rel=1e-12)
    assert (before["route"], before["queries"]) == ("nothing was released", 0)
    run("ask", "tumours.toml", SHARE, "--epsilon", "0.05")
    table = load_breast_cancer(as_frame=True).frame
    p_value = ttest_ind(
        *(table["mean texture"][table.target == group] for group in (0, 1)), equal_var=False
    ).pvalue
    small = of("p-value", "tumours.toml", "--p", repr(float(p_value)))
    assert small["route"] == ("moments" if study == "pure" else "subset")
    assert 0.005 < small["threshold"] < 0.05
    assert small["significant"]
    assert p_value < small["corrected"] < 1e-12
    assert not of("p-value", "tumours.toml", "--p", "0.03")["significant"]
    run("ask", "tumours.toml", "SELECT AVG(symmetry) FROM tumours", "--epsilon", "10")
    exact = of("p-value", "tumours.toml", "--p", repr(float(p_value)))
    assert exact["route"] == "bits of the transcript"
    assert exact["theorem"] == "TRANSCRIPT-LEAKAGE"
    assert 0 < exact["threshold"] < small["threshold"]
    assert exact["significant"]
    thresholds = [by["threshold"] for by in exact["routes"]]
    assert thresholds == sorted(thresholds, reverse=True)
    assert thresholds[0] == exact["threshold"]


def test_what_people_see(study: str) -> None:
    run("ask", "tumours.toml", SHARE, "--epsilon", "0.05")
    shown = run("p-value", "tumours.toml", "--p", "0.001").stdout
    assert ("moments" if study == "pure" else "subset") in shown
    assert "bits of the transcript" not in shown
    verbose = run("p-value", "tumours.toml", "--verbose").stdout
    assert "by bits of the transcript alone" in verbose
    assert ("by max-information alone" in verbose) == (study == "pure")


def test_people_are_told_of_a_reserve_and_where_no_threshold_is_left(study: str) -> None:
    assert "keeps a reserve" not in run("p-value", "tumours.toml").stdout
    file = Path("tumours.toml")
    file.write_text(file.read_text().replace("confidence = 0.95", "confidence = 0.95\nreserve = 0.2"))
    assert "keeps a reserve" in run("p-value", "tumours.toml").stdout
    nothing = LastLook(0.05, 9, (ByRoute("subset", "SUBSET-P-VALUES", 0.0),))
    assert "no p-value is small enough" in str(nothing)


def test_what_cannot_be_said_is_refused_with_the_reason(study: str) -> None:
    assert "alpha" in refused("p-value", "tumours.toml", "--alpha", "2")
    assert "p-value" in refused("p-value", "tumours.toml", "--p", "0")
    assert "--p" in refused("p-value", "tumours.toml", "--publish")
    assert "p-value" in refused("p-value", "tumours.toml", "--p", "small")
    of_a_large_table = of("p-value", "tumours.toml", "--p", "3.7e-44")
    assert of_a_large_table["p_value"] == pytest.approx(1e-40, rel=1e-12, abs=0)
    assert of("p-value", "tumours.toml", "--p", "0.001", "--publish")["published"] == 1
    assert "published" in refused("p-value", "tumours.toml", "--p", "0.001")
    without = Path("tumours.toml").read_text()
    start, end = without.index("[validity]"), without.index("[columns.malignant]")
    Path("other.toml").write_text(without[:start] + without[end:])
    assert "[validity]" in refused("p-value", "other.toml")
