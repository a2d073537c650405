"""adyton holdout, as a stranger uses it: real files of every kind, and bad ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from typer.testing import CliRunner, Result

from adyton.transports.cli.app import app

N = 3000


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    np.save("y.npy", np.arange(N) % 3)
    return tmp_path


def adyton(*words: str) -> Result:
    return CliRunner().invoke(app, ["holdout", *words], env={"COLUMNS": "200"})


def as_json(*words: str) -> dict[str, Any]:
    done = adyton(*words, "--json")
    assert done.exit_code == 0, done.output
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def write_predictions() -> list[str]:
    guess = np.where(np.arange(N) % 10 == 0, 0, np.arange(N) % 3)
    np.save("p.npy", guess)
    Path("p.csv").write_text("id,guess\n" + "".join(f"{i},{g}\n" for i, g in enumerate(guess)))
    Path("p.jsonl").write_text(
        "".join(json.dumps({"id": i, "guess": int(g)}) + "\n" for i, g in enumerate(guess))
    )
    Path("v.jsonl").write_text("".join(f"{g}\n" for g in guess))
    duckdb.sql(
        "SELECT i AS id, guess::BIGINT AS guess FROM read_csv('p.csv', names=['i', 'guess'], header=true)"
    ).write_parquet("p.parquet")
    return ["p.npy", "p.csv", "p.jsonl", "v.jsonl", "p.parquet"]


def test_create_score_budget_verify(folder: Path) -> None:
    made = as_json("create", "h.toml", "--labels", "y.npy", "--tolerance", "0.1")
    assert made["scores_left"] > 2
    files = write_predictions()
    found = [
        as_json("score", "h.toml", file, *([] if file in ("p.npy", "v.jsonl") else ["--column", "guess"]))
        for file in files
    ]
    assert [score["repeated"] for score in found] == [False, True, True, True, True]
    assert len({score["value"] for score in found}) == 1
    assert found[0]["interval"]["low"] < 0.93 < found[0]["interval"]["high"] + 0.01
    assert as_json("budget", "h.toml")["scores_left"] == made["scores_left"] - 1
    checked = as_json("verify", "h.toml", "--head", made["head"])
    assert checked["receipts"] == 1
    for words in (["budget", "h.toml"], ["score", "h.toml", "p.npy"], ["verify", "h.toml"]):
        done = adyton(*words)
        assert done.exit_code == 0
        assert ("scores left" in done.stdout) or ("intact" in done.stdout)


def test_texts_and_guesses(folder: Path) -> None:
    Path("y.csv").write_text("label\n" + "cat\ndog\n" * N)
    as_json("create", "g.toml", "--labels", "y.csv", "--method", "guess_and_check", "--tolerance", "0.1")
    assert as_json("score", "g.toml", "y.csv", "--guess", "1")["said"] == "confirmed"
    assert as_json("score", "g.toml", "y.csv", "--guess", "0.5")["said"] == "answered"


def test_top_k_is_scored_from_rows_of_predictions(folder: Path) -> None:
    """Of two predictions the second is always right: none of the first would be."""
    create = ["create", "k.toml", "--labels", "y.npy", "--metric", "top_k", "--tolerance", "0.1"]
    assert "top" in adyton(*create).stderr
    as_json(*create, "--top", "2")
    rows = np.stack([(np.arange(N) + 1) % 3, np.arange(N) % 3], axis=1)
    np.save("rows.npy", rows)
    Path("rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows.tolist()))
    first, again = as_json("score", "k.toml", "rows.npy"), as_json("score", "k.toml", "rows.jsonl")
    assert first["value"] == pytest.approx(1, abs=0.1)
    assert again["repeated"]
    assert "rows of 2 predictions" in adyton("score", "k.toml", "y.npy").stderr


def test_items_without_labels_until_they_are_used_up(folder: Path) -> None:
    as_json("create", "s.toml", "--metric", "scores", "--items", "100", "--scores", "1")
    np.save("half.npy", np.full(100, 0.5))
    np.save("one.npy", np.ones(100))
    assert as_json("score", "s.toml", "half.npy")["scores_left"] == 0
    done = adyton("score", "s.toml", "one.npy", "--json")
    assert done.exit_code == 3
    assert json.loads(done.stdout)["error"]["kind"] == "scores_refused"


@pytest.mark.parametrize(
    "words",
    [
        ["create", "x.toml", "--labels", "y.npy"],
        ["create", "x.toml", "--labels", "none.npy", "--scores", "1"],
        ["create", "x.toml", "--labels", "y.txt", "--scores", "1"],
        ["create", "x.toml", "--labels", "bad.npy", "--scores", "1"],
        ["create", "x.toml", "--labels", "bad.csv", "--scores", "1"],
        ["create", "x.toml", "--labels", "bad.jsonl", "--scores", "1"],
        ["create", "x.toml", "--labels", "bad.parquet", "--scores", "1"],
        ["create", "x.toml", "--labels", "y.npy", "--column", "a", "--scores", "1"],
        ["create", "x.toml", "--labels", "y.npy", "--scores", "many"],
        ["create", "x.toml", "--labels", "y.npy", "--scores", "1", "--top", "2"],
        ["create", "x.toml", "--labels", "y.npy", "--metric", "auc", "--scores", "1"],
        ["create", "x.csv", "--labels", "y.npy", "--scores", "1"],
        ["score", "none.toml", "y.npy"],
        ["budget", "none.toml"],
        ["verify", "none.toml"],
    ],
)
def test_what_cannot_be_done_is_said(folder: Path, words: list[str]) -> None:
    Path("y.txt").write_text("1")
    Path("bad.npy").write_bytes(b"\x93NUMPY")
    Path("bad.parquet").write_bytes(b"PAR1")
    Path("bad.jsonl").write_text("{")
    Path("bad.csv").write_text("a,b\n1,2\n")
    done = adyton(*words)
    assert done.exit_code == 2
    assert "adyton:" in done.stderr
    assert json.loads(adyton(*words, "--json").stdout)["error"]["kind"] == "invalid_request"
    assert not list(folder.glob("x.*"))


def test_weights_and_groups_come_from_files(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    labels = rng.integers(0, 2, 4000)
    np.save(tmp_path / "labels.npy", labels)
    np.save(tmp_path / "weights.npy", rng.integers(1, 4, 4000).astype(float))
    (tmp_path / "groups.csv").write_text("group\n" + "".join(f"{'ab'[i % 2]}\n" for i in range(4000)))
    np.save(tmp_path / "predictions.npy", labels)
    for option, file in (("--weights", "weights.npy"), ("--groups", "groups.csv")):
        made = str(tmp_path / f"{file}.toml")
        create = ["create", made, "--labels", str(tmp_path / "labels.npy"), "--tolerance", "0.2"]
        assert adyton(*create, option, str(tmp_path / file)).exit_code == 0
        scored = as_json("score", made, str(tmp_path / "predictions.npy"))
        assert scored["value"] == pytest.approx(1, abs=0.2)
