"""Commands with the address of a study in place of its file: the same words, the same tables, the same JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import adyton
from adyton.operations.roles import Role
from adyton.service.identity import Identity
from adyton.service.tokens import Tokens
from adyton.transports.cli.app import app
from support.servers import COUNT, Server

GROUPS = "SELECT region, COUNT(*) AS n FROM people GROUP BY region"


@pytest.fixture
def place(running: Server, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """An analyst's, in a directory without the study."""
    tokens = Tokens(folder / "people.toml")
    token, _ = tokens.make(Identity(tmp_path.name, Role.ANALYST))
    tokens.close()
    monkeypatch.setenv("ADYTON_TOKEN", token)
    monkeypatch.chdir(tmp_path)
    return f"{running.url}/people"


def said(*words: str, code: int = 0) -> str:
    done = CliRunner().invoke(app, list(words))
    assert done.exit_code == code, done.output
    return done.output


def printed(*words: str, code: int = 0) -> Any:
    return json.loads(said(*words, "--json", code=code))


def test_queries(place: str, folder: Path) -> None:
    """Mutant: an address is taken for a file."""
    preview = printed("preview", place, GROUPS, "--within", "51", "--expect", "250")
    assert preview["affordable"]
    answer = printed("ask", place, GROUPS, "--within", "51", "--request", "by hand")
    assert answer["cost"]["amount"] == preview["cost"]["amount"]
    here = printed("ask", str(folder / "people.toml"), GROUPS, "--within", "51")
    assert here["answer"] == answer["answer"]
    assert here["receipt"] == answer["receipt"]
    assert "noise interval" in said("ask", place, GROUPS, "--within", "51", "--verbose")
    assert said("ask", place, GROUPS, "--within", "51", "--csv").startswith("region,n,n_noise_low")
    assert printed("ask", place, GROUPS, "--within", "51", "--mock")["mock"] is True
    Path("queries.sql").write_text(f"{COUNT};\n{GROUPS};\n", encoding="utf-8")
    assert [
        one["batch_size"] for one in printed("ask", place, "--file", "queries.sql", "--share", "0.001")
    ] == [2, 2]
    assert len(printed("preview", place, "--file", "queries.sql", "--share", "0.001")) == 2
    assert len(printed("ask", place, "--file", "queries.sql", "--share", "0.1", "--mock")) == 2


def test_the_account(place: str) -> None:
    printed("ask", place, COUNT, "--within", "52")
    told = printed("budget", place)
    assert told["own"]["spent"] != "0"
    assert "spent by" in said("budget", place, "--odometer")
    assert [one["by"] for one in printed("receipts", place)["receipts"]] == [told["own"]["by"]]
    found = printed("verify", place)
    assert found["ok"] is True
    assert printed("verify", place, "--head", found["head"])["receipts"] == found["receipts"]
    assert "intact" in said("verify", place)
    assert printed("verify", place, "--head", "0" * 64, code=5)["error"]["kind"] == "ledger_corrupt"


def test_bounds_monitors_and_made_up_files(place: str) -> None:
    assert printed("suggest-bounds", place, "income", "--share", "0.02")["write"].startswith("CLAMP")
    assert printed("monitor", "open", place, "--positives", "2", "--share", "0.02", "--preview")["more"]
    opened = printed("monitor", "open", place, "--positives", "2", "--share", "0.02")
    number = str(opened["number"])
    assert printed("monitor", "feed", place, number, COUNT, "--above", "0")["above"] is True
    Path("fed.json").write_text(json.dumps([{"query": COUNT, "above": 1000}]), encoding="utf-8")
    assert printed("monitor", "feed", place, number, "--file", "fed.json")["feeds"] == 2
    assert [one["number"] for one in printed("monitor", "list", place)["monitors"]] == [opened["number"]]
    assert len(printed("monitor", "list", place, number)["answers"]) == 2
    assert printed("monitor", "close", place, number)["closed"] is True
    assert printed("mock", place, "-o", "made_up.parquet", "--rows", "40")["files"] == ["made_up.parquet"]
    made_up = pd.read_parquet("made_up.parquet")
    assert list(made_up.columns) == ["income", "region"]
    assert len(made_up) == 40


def test_a_holdout(running: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADYTON_TOKEN", running.owner["Authorization"].partition(" ")[2])
    monkeypatch.chdir(tmp_path)
    place, rng = f"{running.url}/test", np.random.default_rng(5)
    np.save("one.npy", rng.integers(0, 2, 2000))
    np.save("two.npy", rng.integers(0, 2, 2000))
    assert printed("holdout", "score", place, "one.npy")["metric"] == "accuracy"
    assert printed("holdout", "compare", place, "one.npy", "two.npy")["verdict"] == "cannot tell"
    assert printed("holdout", "budget", place)["items"] == 2000
    assert [one["entrant"] for one in printed("holdout", "leaderboard", place)["entries"]] == ["owner"]
    assert "Leaderboard" in said("holdout", "leaderboard", place)
    assert printed("p-value", f"{running.url}/people", "--alpha", "0.05", "--p", "0.001")["alpha"] == 0.05


def test_what_is_done_only_where_the_study_lies(place: str, running: Server) -> None:
    for words in (
        ("derive", place, COUNT),
        ("check", place),
        ("synthesize", place, "--columns", "region", "--share", "0.1"),
        ("checkpoint", "show", place),
    ):
        assert "where the study lies" in said(*words, code=2).replace("\n", " ")
    assert (
        "where the study lies" in printed("verify", place, "--write-checkpoint", code=2)["error"]["message"]
    )
    assert (
        "where the study lies"
        in printed("p-value", place, "--p", "0.1", "--publish", code=2)["error"]["message"]
    )
    assert printed("p-value", place, code=3)["error"]["kind"] == "forbidden"


def test_what_goes_wrong_is_said_with_its_code(
    place: str, running: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (
        printed("ask", place, "SELECT nothing", "--within", "5", code=2)["error"]["kind"] == "invalid_request"
    )
    assert printed("ask", place, COUNT, "--epsilon", "100", code=3)["error"]["counted_in"] == "gdp"
    assert (
        printed("ask", f"{running.url}/nothing", COUNT, "--within", "5", code=3)["error"]["kind"]
        == "not_found"
    )
    assert printed("ask", running.url, COUNT, "--within", "5", code=2)["error"]["kind"] == "invalid_request"
    assert "in the clear" in said("ask", "http://example.org/people", COUNT, "--within", "5", code=2)
    monkeypatch.setenv("ADYTON_TOKEN", "adyton_" + "0" * 64)
    assert printed("budget", place, code=3)["error"]["kind"] == "unauthenticated"
    monkeypatch.delenv("ADYTON_TOKEN")
    monkeypatch.delenv("ADYTON_TOKEN_FILE", raising=False)
    assert "ADYTON_TOKEN" in printed("budget", place, code=2)["error"]["message"]
    assert adyton.errors.Unanswered.exit_code == 4
