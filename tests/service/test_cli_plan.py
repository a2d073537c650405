"""adyton plan: the numbers that a study owner sees before anything is asked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from adyton.transports.cli import app


def run(*words: str) -> Result:
    return CliRunner().invoke(app, ["plan", *words])


def methods(result: Result) -> dict[str, Any]:
    assert result.exit_code == 0
    return {method["method"]: method for method in json.loads(result.stdout)["methods"]}


def test_the_json_contract_and_the_numbers_of_the_headline() -> None:
    result = run("--rows", "100000", "--tolerance", "0.1", "--confidence", "0.95", "--json")
    made = json.loads(result.stdout)
    assert (made["rows"], made["tolerance"], made["confidence"]) == (100000, 0.1, 0.95)
    assert made["recommended"] == "hinge"
    found = methods(result)
    assert set(found["hinge"]) == {"method", "questions", "scale", "theorem"}
    expected = {"split": 219, "rounding": 412, "laplace": 1, "jlnrss": 153, "rrsstw": 263, "hinge": 7943}
    for name, questions in expected.items():
        assert abs(found[name]["questions"] - questions) <= max(1, questions // 100)
    assert 80_000 < made["attack_limit"] < 100_000
    assert found["ladder"]["questions"] > found["hinge"]["questions"]
    assert found["thresholdout"]["overfits"] >= 1
    assert found["ladder"]["applies"] == "only the best score so far is published"


def test_the_two_inverse_questions() -> None:
    tolerance = methods(run("--rows", "100000", "--questions", "7943", "--json"))["hinge"]["tolerance"]
    assert tolerance == pytest.approx(0.1, rel=1e-3)
    rows = methods(run("--tolerance", "0.1", "--questions", "7943", "--json"))["hinge"]["rows"]
    assert rows == pytest.approx(100_000, rel=1e-2)


def test_people_get_a_table() -> None:
    shown = run("--rows", "10000", "--tolerance", "0.1").stdout
    assert "Recommended: hinge" in shown
    assert "known attack" in shown


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
        ("--rows", "100", "--tolerance", "0.1", "--questions", "5"),
        ("--rows", "100", "--tolerance", "0.1", "--confidence", "1"),
        ("--rows", "100", "--questions", "5", "--figure", "x.html"),
        ("--rows", "100", "--tolerance", "0.1", "--figure", "x.gif"),
        ("--rows", "100", "--tolerance", "0.1", "--figure", "no/such/folder.html"),
    ],
)
def test_bad_input_is_refused(words: tuple[str, ...]) -> None:
    result = run(*words, "--json")
    assert result.exit_code == 2
    assert json.loads(result.stdout)["error"]["kind"] == "invalid_request"


def test_the_figure_shows_every_method_and_the_attack(tmp_path: Path) -> None:
    path = tmp_path / "plan.html"
    assert run("--rows", "10000", "--tolerance", "0.1", "--figure", str(path), "--json").exit_code == 0
    page = path.read_text()
    for name in ("centred hinge", "sample splitting", "an attack succeeds"):
        assert name in page
