"""adyton compose and adyton calibrate, as people and programs use them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from adyton.transports.cli.app import app


def run(*words: str) -> Result:
    return CliRunner().invoke(app, list(words))


def printed(*words: str) -> dict[str, Any]:
    result = run(*words, "--json")
    assert result.exit_code == 0, result.output
    assert result.stdout.count("\n") == 1
    return dict(json.loads(result.stdout))


def test_compose_prints_every_theorem_side_by_side() -> None:
    found = printed("compose", "--epsilon", "0.01", "--times", "1000", "--delta", "1e-6")
    assert {key: found[key] for key in ("epsilon0", "sigma", "times", "delta")} == {
        "epsilon0": 0.01,
        "sigma": None,
        "times": 1000,
        "delta": 1e-6,
    }
    epsilons = {one["theorem"]: one["epsilon"] for one in found["results"]}
    expected = {
        "basic": 10.0,
        "advanced": 1.76276,
        "strong": 1.71226,
        "optimal": 1.36545,
        "zcdp": 1.47159,
        "rdp_laplace": 1.46584,
        "pld_laplace": 1.36293,
        "pld_randomized_response": 1.36545,
    }
    assert epsilons == pytest.approx(expected, abs=1.1e-5)
    assert list(epsilons) == list(expected)
    assert {key for one in found["results"] for key in one} == {"theorem", "epsilon", "holds_for"}


def test_compose_gaussians() -> None:
    found = printed("compose", "--sigma", "50", "--times", "1000", "--delta", "1e-6")
    assert found["sigma"] == 50
    assert found["epsilon0"] is None
    epsilons = {one["theorem"]: one["epsilon"] for one in found["results"]}
    assert epsilons == pytest.approx({"gdp": 2.921601, "rdp": 3.131056, "pld": 2.921601}, abs=1e-6)


def test_calibrate_is_the_inverse_through_the_command_line() -> None:
    found = printed("calibrate", "--epsilon", "1", "--delta", "1e-6", "--times", "1000")
    assert {key for one in found["results"] for key in one} == {
        "theorem",
        "mechanism",
        "scale",
        "epsilon0",
        "mu",
    }
    assert found["epsilon"] == 1
    for one in found["results"]:
        assert one["mechanism"] in ("laplace", "gaussian")
        assert (one["epsilon0"] is None) == (one["mechanism"] == "gaussian") == (one["mu"] is not None)
        price = ("--epsilon", repr(one["epsilon0"])) if one["mu"] is None else ("--sigma", repr(one["scale"]))
        again = printed("compose", *price, "--times", "1000", "--delta", "1e-6")
        (epsilon,) = (two["epsilon"] for two in again["results"] if two["theorem"] == one["theorem"])
        assert 1 - 1e-6 <= epsilon <= 1


def test_people_get_tables_rounded_to_the_safe_side() -> None:
    shown = run("compose", "--epsilon", "0.01", "--times", "1000")
    assert shown.exit_code == 0
    assert "1.36293" in shown.stdout
    assert "1.36545" in shown.stdout
    noise = run("calibrate", "--epsilon", "1", "--times", "1000")
    assert noise.exit_code == 0
    assert "133.597" in noise.stdout
    assert "mu 0.00748524" in noise.stdout


@pytest.mark.parametrize(
    "command",
    [("compose", "--epsilon", "0.1"), ("compose", "--sigma", "10"), ("calibrate", "--epsilon", "1")],
)
@pytest.mark.parametrize("view", ["composition", "profile", "trade-off"])
def test_a_figure_of_each_kind(command: tuple[str, ...], view: str, tmp_path: Path) -> None:
    pytest.importorskip("altair", reason="figures need the extra 'plot'")
    target = tmp_path / "figure.svg"
    result = run(
        *command, "--times", "30", "--delta", "1e-6", "--figure", str(target), "--view", view, "--json"
    )
    assert result.exit_code == 0, result.output
    assert "results" in json.loads(result.stdout)
    text = target.read_text(encoding="utf-8")
    assert text.startswith("<svg")
    assert "release" in text


BAD = [
    ("compose",),
    ("compose", "--epsilon", "1", "--sigma", "1"),
    ("compose", "--epsilon", "nan"),
    ("compose", "--epsilon", "inf"),
    ("compose", "--epsilon", "-1"),
    ("compose", "--epsilon", "0"),
    ("compose", "--epsilon", "1e999"),
    ("compose", "--epsilon", "__import__('os')"),
    ("compose", "--epsilon", "1", "--times", "0"),
    ("compose", "--epsilon", "1", "--times", "-5"),
    ("compose", "--epsilon", "1", "--times", "1.5"),
    ("compose", "--epsilon", "1", "--times", "1000000001"),
    ("compose", "--epsilon", "1", "--times", "99999999999999999999"),
    ("compose", "--epsilon", "1", "--delta", "0"),
    ("compose", "--epsilon", "1", "--delta", "1"),
    ("compose", "--epsilon", "1", "--delta", "nan"),
    ("compose", "--epsilon", "1", "--delta", "-1"),
    ("compose", "--sigma", "0"),
    ("compose", "--sigma", "1e-5"),
    ("compose", "--epsilon", "1", "--view", "profile"),
    ("compose", "--epsilon", "1", "--view", "nothing", "--figure", "x.html"),
    ("compose", "--epsilon", "1", "--figure", "no/such/folder/x.html"),
    ("calibrate", "--epsilon", "1", "--delta", "0"),
    ("calibrate", "--epsilon", "0"),
    ("calibrate", "--epsilon", "1", "--times", "0"),
    ("calibrate", "--epsilon", "1", "--sensitivity", "0"),
    ("calibrate", "--epsilon", "1000"),
]


@pytest.mark.parametrize("words", BAD, ids=" ".join)
def test_bad_requests_are_refused_with_exit_code_2(words: tuple[str, ...]) -> None:
    result = run(*words, "--json")
    assert result.exit_code == 2, result.output
    assert json.loads(result.stdout)["error"]["kind"] == "invalid_request"
    spoken = run(*words)
    assert spoken.exit_code == 2
    assert "adyton:" in spoken.stderr
    assert spoken.stdout == ""
