"""adyton holdout compare, submit and leaderboard: on handwritten digits, bad input too."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits
from typer.testing import CliRunner, Result

from adyton.transports.cli.app import app


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Right 9 times of 10, 8.9 times of 10, and 3 times of 10."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    labels = load_digits().target
    np.save("y.npy", labels)
    rng = np.random.default_rng(5)
    for name, right in (("good", 0.9), ("alike", 0.89), ("bad", 0.3)):
        guesses = np.where(rng.random(len(labels)) < right, labels, (labels + 1) % 10)
        np.save(f"{name}.npy", guesses)
        lines = [f"{i},{guess}" for i, guess in enumerate(guesses)]
        Path(f"{name}.csv").write_text("\n".join(["id,guess", *lines]))
    said("create", "h.toml", "--labels", "y.npy", "--scores", "8")


def holdout(*words: str) -> Result:
    return CliRunner().invoke(app, ["holdout", *words])


def said(*words: str) -> Any:
    done = holdout(*words, "--json")
    assert done.exit_code == 0, done.output
    assert done.stdout.count("\n") == 1
    return json.loads(done.stdout)


def test_who_is_ahead_and_who_is_tied() -> None:
    """The noise of a score is 0.013; two of 0.9 are told apart where theirs differs by 6 times as much as it
    does, and 0.3 is never near: a false alarm is rarer than 1e-8.
    """
    assert said("leaderboard", "h.toml") == {"entries": []}
    assert "Nobody has sent anything yet" in holdout("leaderboard", "h.toml").stdout
    first = said("submit", "h.toml", "ann", "good.npy")
    assert said("submit", "h.toml", "bob", "alike.csv", "--column", "guess")["scores_left"] == 6
    assert said("submit", "h.toml", "cid", "bad.npy")["number"] == 3
    again = said("submit", "h.toml", "dora", "good.csv", "--column", "guess")  # ann sent it first
    assert (again["repeated"], again["value"], again["scores_left"]) == (True, first["value"], 5)
    entries = said("leaderboard", "h.toml")["entries"]
    assert {e["entrant"] for e in entries[:2]} == {"ann", "bob"}
    assert [(e["rank"], e["tied"], e["submissions"]) for e in entries] == [
        (1, True, 1),
        (1, True, 1),
        (3, False, 1),
    ]
    assert entries[2]["entrant"] == "cid"
    shown = holdout("leaderboard", "h.toml").stdout
    assert shown.count("1 (tied)") == 2
    assert "5 scores left" in shown
    assert said("budget", "h.toml")["scores"] == 3  # to look is free


def test_two_models_are_compared_for_the_price_of_one_score() -> None:
    better = said("compare", "h.toml", "good.npy", "bad.npy")
    assert (better["verdict"], better["scores_left"], better["repeated"]) == ("better", 7, False)
    assert 0.3 < better["interval"]["low"] < better["interval"]["high"] < 0.9
    worse = said("compare", "h.toml", "bad.csv", "good.csv", "--column", "guess")
    assert (worse["verdict"], worse["value"], worse["repeated"]) == ("worse", -better["value"], True)
    other = said("compare", "h.toml", "good.npy", "alike.csv", "--second-column", "guess")
    ends = other["interval"]["low"] > 0, other["interval"]["high"] < 0
    told = {(True, False): "better", (False, True): "worse", (False, False): "cannot tell"}[ends]
    assert (other["verdict"], other["scores_left"]) == (told, 6)
    assert told in holdout("compare", "h.toml", "good.npy", "alike.npy").stdout


def test_bad_input_is_explained_and_costs_nothing() -> None:
    np.save("short.npy", np.zeros(3, int))
    said("create", "s.toml", "--labels", "y.npy", "--method", "guess_and_check", "--tolerance", "0.2")
    for words, why in (
        (["compare", "h.toml", "good.npy", "good.npy"], "predict the same"),
        (["compare", "h.toml", "good.npy", "none.npy"], "no file"),
        (["compare", "h.toml", "good.npy", "short.npy"], "1797"),
        (["compare", "h.toml", "good.csv", "bad.csv"], "column"),
        (["compare", "s.toml", "good.npy", "bad.npy"], "gaussian"),
        (["compare", "none.toml", "good.npy", "bad.npy"], "none.toml"),
        (["submit", "h.toml", "", "good.npy"], "name of an entrant"),
        (["submit", "h.toml", "a\nb", "good.npy"], "name of an entrant"),
        (["submit", "h.toml", "ann", "short.npy"], "1797"),
        (["submit", "h.toml", "ann", "good.npy", "--guess", "0.5"], "takes no guess"),
        (["submit", "s.toml", "ann", "good.npy"], "keeps no list of scores"),
        (["leaderboard", "s.toml"], "keeps no list of scores"),
        (["leaderboard", "none.toml"], "none.toml"),
    ):
        done = holdout(*words, "--json")
        assert done.exit_code == 2, done.output
        message = json.loads(done.stdout)["error"]["message"].replace(",", "")
        assert why in message, message
        assert "Traceback" not in done.output
    assert said("budget", "h.toml")["scores_left"] == 8


def test_nobody_enters_when_scores_are_used_up() -> None:
    said("create", "one.toml", "--labels", "y.npy", "--scores", "1")
    said("submit", "one.toml", "ann", "good.npy")
    for words in (["submit", "one.toml", "bob", "bad.npy"], ["compare", "one.toml", "good.npy", "bad.npy"]):
        done = holdout(*words, "--json")
        assert done.exit_code == 3
        assert json.loads(done.stdout)["error"]["kind"] == "scores_refused"
    assert [e["entrant"] for e in said("leaderboard", "one.toml")["entries"]] == ["ann"]
