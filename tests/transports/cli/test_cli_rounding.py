"""A study that rounds its answers, from the command line, on a table that nobody here made."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from sklearn.datasets import load_breast_cancer
from typer.testing import CliRunner, Result

from adyton.population.last_look import FOR_DESCRIBED
from adyton.transports.cli.app import app
from support.worlds import study_text


def study(grid: str) -> str:
    columns = {"radius": {"kind": "real", "low": 0, "high": 40}, "benign": {"kind": "boolean"}}
    validity = f'independent = true\nmethod = "rounding"\n{grid}'
    return study_text(columns, name="tumours", rows=569, epsilon=20, delta="1e-6", validity=validity)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    data = load_breast_cancer(as_frame=True)
    frame = data.frame[["mean radius", "target"]].rename(
        columns={"mean radius": "radius", "target": "benign"}
    )
    frame.assign(benign=frame.benign == 1).to_parquet(tmp_path / "tumours.parquet")
    (tmp_path / "tumours.toml").write_text(study("grid = 0.05"))
    return tmp_path / "tumours.toml"


def run(*words: str) -> Result:
    return CliRunner().invoke(app, list(words))


def told(*words: str) -> dict[str, Any]:
    result = run(*words, "--json")
    assert result.exit_code == 0, result.stdout
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def value(answer: dict[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] = answer["answer"][0]["values"][name]
    return found


def test_a_rounding_study_from_the_first_query_to_the_last(file: Path) -> None:
    """The table has 357 benign tumours of 569, .627, and their mean radius is 12.15."""
    share = "SELECT PROPORTION(benign) AS share FROM tumours"
    preview = told("preview", str(file), share, "--epsilon", "3")
    assert preview["transcript"]["before"] == "0"
    first = told("ask", str(file), share, "--epsilon", "3")
    found = value(first, "share")
    assert (found["value"] * 569 - 14) % 29 == pytest.approx(0, abs=1e-6)  # the middle of a cell of 29 counts
    low, high = found["noise_interval"]["low"], found["noise_interval"]["high"]
    assert high - low >= 28 / 569
    assert low - 0.02 < 0.627 < high + 0.02
    wide = found["population_interval"]
    assert wide["low"] < low < high < wide["high"]
    assert "ROUNDING-STUDY" in first["certificate"]["theorems"]

    mean = told("ask", str(file), "SELECT AVG(radius) AS mean FROM tumours WHERE benign", "--epsilon", "3")
    around = value(mean, "mean")["population_interval"]
    assert around["low"] < 12.15 < around["high"]
    budget, receipts = told("budget", str(file)), told("receipts", str(file))["receipts"]
    assert budget["transcript"]["bits"] == receipts[-1]["spent_radius"]
    assert float(budget["transcript"]["bits"]) == pytest.approx(sum(float(r["radius"]) for r in receipts))
    assert "bits of all answers so far" in run("budget", str(file)).stdout
    assert "bits came before" in run("preview", str(file), share, "--epsilon", "1").stdout
    assert told("verify", str(file))["receipts"] == 2
    again = told("ask", str(file), share, "--epsilon", "3")
    assert again["repeated"]
    assert value(again, "share") == found
    rest = float(1 - FOR_DESCRIBED)  # of the level; a part is kept for tests with a description
    threshold = told("p-value", str(file), "--alpha", "0.05")["threshold"]
    assert threshold == pytest.approx(0.05 * rest / 2 ** float(budget["transcript"]["bits"]), rel=1e-9)


@pytest.mark.parametrize(
    ("sql", "price", "reason"),
    [
        ("SELECT MEDIAN(radius) FROM tumours", ("--epsilon", "1"), "a quantile is not put on a grid"),
        ("SELECT COUNT(*) FROM tumours", ("--within", "10"), "half a cell of the grid"),
        ("SELECT COUNT(*) FROM tumours", ("--within", "1e-9"), "times this width or more"),
    ],
)
def test_bad_queries_are_refused_and_nothing_is_charged(
    file: Path, sql: str, price: tuple[str, str], reason: str
) -> None:
    result = run("ask", str(file), sql, *price, "--json")
    assert result.exit_code == 2
    assert reason in json.loads(result.stdout)["error"]["message"]
    assert told("budget", str(file))["queries"] == 0


@pytest.mark.parametrize(
    ("grid", "reason"),
    [
        ("", "needs validity.grid"),
        ("grid = 0.9", "at most 0.5"),
        ("grid = 0.1\ntolerance = 0.1", "needs validity.queries"),
    ],
)
def test_study_files_that_cannot_be_are_refused_with_the_fix(file: Path, grid: str, reason: str) -> None:
    file.write_text(study(grid))
    result = run("budget", str(file), "--json")
    assert result.exit_code == 2
    assert reason in result.stdout
