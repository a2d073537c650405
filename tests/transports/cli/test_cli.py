"""The command line as a stranger uses it: real files, real processes where it matters, bad input too."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner, Result

from adyton.transports.cli.app import app

CANARY = 86753.09


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files, and what ``init`` writes about them: made once, and copied for each test."""
    folder = tmp_path_factory.mktemp("made")
    rng = np.random.default_rng(2)
    n = 2000
    frame = pd.DataFrame(
        {
            "person_id": np.arange(n),
            "income": np.where(np.arange(n) == 7, CANARY, rng.gamma(2, 20_000, n)),
            "region": rng.choice(["north", "south"], n),
            "smoker": rng.random(n) < 0.3,
        }
    )
    frame.to_parquet(folder / "people.parquet")
    frame.to_csv(folder / "people.csv", index=False)
    with contextlib.chdir(folder):
        result = run(
            "init", "people.parquet", "--person", "person_id", "--rows-per-person", "1", "--epsilon", "1", "--delta", "1e-9",
            "-o", "people.toml",
        )  # fmt: skip
    assert result.exit_code == 0
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("people.parquet", "people.csv"):
        shutil.copy(made / name, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def study(made: Path, folder: Path) -> Path:
    """As in the README: init, then the owner fills in the bounds."""
    text = (made / "people.toml").read_text()
    text = text.replace('low = "FILL IN"', "low = 0").replace('high = "FILL IN"', "high = 200000")
    Path("people.toml").write_text(text.replace('values = "FILL IN"', 'values = ["north", "south"]'))
    return folder / "people.toml"


def run(*words: str) -> Result:
    return CliRunner().invoke(app, list(words))


def of(result: Result) -> Any:
    """The one JSON object on standard output."""
    assert result.stdout.count("\n") == 1
    return json.loads(result.stdout)


ASK = (
    "ask",
    "people.toml",
    "SELECT region, COUNT(*) FROM people GROUP BY region",
    "--epsilon",
    "0.1",
    "--json",
)


@pytest.mark.usefixtures("study")
def test_the_walk_of_the_readme() -> None:
    preview = run("preview", "people.toml", "SELECT AVG(income) FROM people WHERE smoker", "--within", "500")
    assert preview.exit_code == 0
    assert "Nothing was read and nothing was charged" in preview.stdout
    assert of(run("budget", "people.toml", "--json"))["queries"] == 0
    answer = of(run(*ASK))
    assert of(run("budget", "people.toml", "--json")) == {
        "spent": answer["spent"],
        "left": answer["left"],
        "guarantee": {"epsilon": 1.0, "delta": 1e-9},
        "queries": 1,
        "more": answer["more"],
        "odometer": of(run("budget", "people.toml", "--json"))["odometer"],
    }
    assert of(run("verify", "people.toml", "--json")) == {
        "ok": True,
        "receipts": 1,
        "head": answer["receipt"]["digest"],
    }
    shown = run("budget", "people.toml")
    assert "the guarantee, whatever is asked" in shown.stdout
    assert "1 receipt: the chain is intact" in run("verify", "people.toml").stdout
    assert (
        of(run("receipts", "people.toml", "--json"))["receipts"][0]["digest"] == answer["receipt"]["digest"]
    )


@pytest.mark.usefixtures("study")
def test_the_json_contract_of_ask() -> None:
    answer = of(run(*ASK))
    assert set(answer) == {
        "query",
        "repeated",
        "answer",
        "cost",
        "spent",
        "left",
        "more",
        "budget",
        "receipt",
        "certificate",
        "known",
        "left_out_rows",
        "remarks",
    }
    assert answer["left_out_rows"] == "At most 1 row of each person counts; rows without a person do not."
    assert answer["query"] == "SELECT region, COUNT(*) AS count FROM people GROUP BY region"
    assert answer["repeated"] is False
    assert [row["keys"] for row in answer["answer"]] == [{"region": "north"}, {"region": "south"}]
    for row in answer["answer"]:
        (value,) = row["values"].values()
        assert set(value) == {"value", "noise_interval", "population_interval"}
        assert set(value["noise_interval"]) == {"level", "low", "high"}
        assert value["noise_interval"]["level"] == 0.95
        assert value["noise_interval"]["low"] < value["value"] < value["noise_interval"]["high"]
        assert value["population_interval"]["absent"].startswith("not declared: ")
    assert (
        set(answer["cost"])
        == set(answer["spent"])
        == set(answer["left"])
        == {"accounting", "amount", "share", "of"}
    )
    assert re.fullmatch(r"0\.\d+", answer["cost"]["amount"])
    assert answer["spent"] == answer["cost"]
    assert answer["spent"]["share"] + answer["left"]["share"] == pytest.approx(1)
    assert answer["more"] == int(answer["left"]["share"] / answer["cost"]["share"])
    assert answer["budget"] == {"epsilon": 1.0, "delta": 1e-9}
    assert set(answer["receipt"]) == {"number", "digest", "previous"}
    assert answer["receipt"]["number"] == 1
    assert "GDP-FILTER" in answer["certificate"]["theorems"]
    assert all(isinstance(text, str) for text in answer["certificate"]["assumptions"])
    again = of(run(*ASK))
    assert again["repeated"] is True
    assert again["answer"] == answer["answer"]
    assert again["cost"]["amount"] == "0"
    assert again["receipt"] == answer["receipt"]


@pytest.mark.usefixtures("study")
def test_a_query_without_groups_has_one_row_without_keys() -> None:
    answer = of(
        run("ask", "people.toml", "SELECT COUNT(*) FROM people WHERE smoker", "--scale", "100", "--json")
    )
    assert [row["keys"] for row in answer["answer"]] == [{}]


@pytest.mark.usefixtures("study")
def test_the_json_contract_of_preview() -> None:
    preview = of(run("preview", *ASK[1:]))
    answer = of(run(*ASK))
    assert set(answer) - set(preview) == {"receipt", "known"}
    assert preview["cost"] == answer["cost"]
    assert preview["certificate"] == answer["certificate"]
    assert preview["affordable"] is True
    assert preview["fits"] is None
    assert preview["spent"]["share"] == 0.0
    assert preview["more"] == answer["more"] + 1
    for row in preview["answer"]:
        assert set(row["values"]["count"]) == {"noise_interval", "population_interval"}
        assert set(row["values"]["count"]["noise_interval"]) == {"level", "half_width", "if_rows"}
    (step,) = preview["mechanisms"]
    assert step["mechanism"] == "rounded Gaussian"
    assert step["sensitivity"] == pytest.approx(2**0.5)


BAD: list[tuple[tuple[str, ...], int, str]] = [
    (("ask", "none.toml", "SELECT COUNT(*) FROM people", "--epsilon", "0.1"), 2, "invalid_request"),
    (("ask", "people.toml", "SELECT COUNT(*) FROM people"), 2, "invalid_request"),
    (("ask", "people.toml", "SELECT COUNT(*) FROM people", "--epsilon", "nan"), 2, "invalid_request"),
    (("ask", "people.toml", "SELECT COUNT(*) FROM people", "--epsilon=-1"), 2, "invalid_request"),
    (("ask", "people.toml", "SELECT COUNT(*) FROM people", "--epsilon", "inf"), 2, "invalid_request"),
    (("ask", "people.toml", "SELECT COUNT(*) FROM people", "--epsilon", "abc"), 2, "invalid_request"),
    (("ask", "people.toml", "SELECT COUNT(*) FROM people", "--epsilon", "0.1", "--within", "3"), 2, "invalid_request"),
    (("ask", "people.toml", "SELECT AVG(wage) FROM people", "--epsilon", "0.1"), 2, "invalid_request"),
    (("ask", "people.toml", "SELECT * FROM people", "--epsilon", "0.1"), 2, "invalid_request"),
    (("ask", "people.toml", "DROP TABLE people", "--epsilon", "0.1"), 2, "invalid_request"),
    (("ask", "people.toml", "", "--epsilon", "0.1"), 2, "invalid_request"),
    (("ask", "people.toml", "SELECT COUNT(*) FROM people", "--epsilon", "2"), 3, "privacy_refused"),
    (("ask", "people.toml", "SELECT COUNT(*) FROM people", "--within", "0.001"), 3, "privacy_refused"),
    (("ask", "people.toml", "SELECT COUNT(*) FROM people", "--epsilon", "0.1", "--request", ""), 2, "invalid_request"),
    (("preview", "people.toml", "SELECT COUNT(*)", "--epsilon", "0.1"), 2, "invalid_request"),
    (("preview", "people.toml", "SELECT COUNT(*) FROM people", "--epsilon", "0.1", "--expected-rows", "x"), 2, "invalid_request"),
    (("init", ".", "--epsilon", "1", "--delta", "1e-9"), 2, "invalid_request"),
    (("init", "people.parquet", "--epsilon", "1", "--delta", "1e-9", "--rows", "many", "-o", "z.toml"), 2, "invalid_request"),
    (("verify", "people.toml", "--head", "00ff" * 16), 5, "ledger_corrupt"),
    (("verify", "people.toml", "--head", "00ff"), 2, "invalid_request"),
    (("init", "gone.parquet", "--epsilon", "1", "--delta", "1e-9"), 2, "invalid_request"),
    (("init", "people.parquet", "--epsilon", "1", "--delta", "0.01", "-o", "x.toml"), 2, "invalid_request"),
    (("init", "people.parquet", "--epsilon", "1", "--delta", "1e-9", "-o", "people.toml"), 2, "invalid_request"),
    (("init", "people.parquet", "--epsilon", "1", "--delta", "1e-9", "--adjacency", "x", "-o", "y.toml"), 2, "invalid_request"),
    (("init", "people.parquet", "--epsilon", "1", "--delta", "1e-9", "-o", "no/such/folder/y.toml"), 2, "invalid_request"),
]  # fmt: skip


@pytest.mark.usefixtures("study")
@pytest.mark.parametrize(("words", "code", "kind"), BAD, ids=[" ".join(words)[:70] for words, _, _ in BAD])
def test_bad_input_is_refused_with_its_code_and_charges_nothing(
    words: tuple[str, ...], code: int, kind: str
) -> None:
    before = of(run("budget", "people.toml", "--json"))
    plain = run(*words)
    assert plain.exit_code == code
    assert plain.stderr.startswith("adyton: ")
    assert plain.stdout == ""
    assert "Traceback" not in plain.stderr
    machine = run(*words, "--json")
    assert machine.exit_code == code
    error = of(machine)["error"]
    assert error["kind"] == kind
    assert error["message"]
    assert of(run("budget", "people.toml", "--json")) == before


@pytest.mark.usefixtures("study")
def test_a_refusal_says_requested_spent_budget_and_largest() -> None:
    error = of(run("ask", "people.toml", "SELECT COUNT(*) FROM people", "--epsilon", "2", "--json"))["error"]
    assert {"requested", "spent", "budget", "largest", "counted_in"} <= set(error)
    assert error["fits"] == {"epsilon": "1"}
    assert "epsilon 1 would fit now" in error["message"]


def test_the_version_is_told() -> None:
    assert re.fullmatch(r"adyton \d+\.\d+\.\d+", run("--version").stdout.strip())


def test_a_wrong_study_file_is_explained(study: Path) -> None:
    study.write_text(
        study.read_text().replace("low = 0", "low = 300000").replace("epsilon = 1", "epsilon = nan")
    )
    for words in (("budget",), ("verify",), ("ask", "SELECT COUNT(*) FROM people", "--epsilon", "1")):
        result = run(words[0], "people.toml", *words[1:])
        assert result.exit_code == 2
        assert "columns.income: low must be below high" in result.stderr
        assert "privacy.epsilon must be a finite number" in result.stderr


def test_a_missing_or_broken_data_file_is_found_free_of_charge(study: Path) -> None:
    data = study.with_name("people.parquet")
    for content in (None, b"PAR1 rubbish"):
        data.unlink(missing_ok=True)
        if content is not None:
            data.write_bytes(content)
        assert run(*ASK).exit_code == 2
    assert of(run("budget", "people.toml", "--json"))["queries"] == 0


def test_a_ledger_of_another_study_is_refused(study: Path) -> None:
    assert run(*ASK).exit_code == 0
    study.write_text(study.read_text().replace("epsilon = 1", "epsilon = 5"))
    result = run(*ASK)
    assert result.exit_code == 2
    assert "does not belong to this study" in of(result)["error"]["message"]


def test_A24_a_forged_or_foreign_ledger_stops_everything(study: Path) -> None:
    run(*ASK)
    ledger = study.with_suffix(".ledger")
    for extra in ledger.parent.glob("people.ledger-*"):
        extra.unlink()
    ledger.write_bytes(b"this is no database" * 100)
    result = run(*ASK)
    assert result.exit_code == 5
    assert of(result)["error"]["kind"] == "ledger_corrupt"


@pytest.mark.usefixtures("study")
def test_A19_no_output_and_no_error_quotes_the_data() -> None:
    outputs = [
        run(*ASK),
        run(
            "ask",
            "people.toml",
            "SELECT AVG(income), SUM(income) FROM people WHERE income > 86000",
            "--share",
            "0.5",
        ),
        run("ask", "people.toml", "SELECT MAX(income) FROM people", "--epsilon", "0.1"),
        run("receipts", "people.toml"),
    ]
    for result in outputs[2:]:
        assert "86753" not in result.output
    values = json.loads(outputs[0].stdout)
    assert "86753" not in json.dumps(values["answer"])


@pytest.mark.usefixtures("folder")
def test_csv_works_as_parquet_does() -> None:
    result = run("init", "people.csv", "--epsilon", "1", "--delta", "1e-9", "--name", "people")
    assert result.exit_code == 0
    text = Path("people.toml").read_text()
    assert "86753" not in text
    assert 'kind = "category"' in text  # every CSV column is text until the owner says otherwise
    Path("people.toml").write_text(
        text.split("[columns.")[0]
        + '[columns.income]\nkind = "real"\nlow = 0\nhigh = 200000\n[columns.smoker]\nkind = "boolean"\n'
    )
    answer = of(
        run("ask", "people.toml", "SELECT PROPORTION(smoker) FROM people", "--epsilon", "0.9", "--json")
    )
    (value,) = (v["value"] for v in answer["answer"][0]["values"].values())
    assert value == pytest.approx(0.3, abs=0.08)


def test_every_command_explains_itself() -> None:
    for command in ("init", "preview", "ask", "budget", "receipts", "verify"):
        result = run(command, "--help")
        assert result.exit_code == 0
        assert "--json" in result.stdout


@pytest.mark.usefixtures("study")
def test_the_installed_command_runs() -> None:
    """One real process, so that the entry point itself is tested."""
    command = [sys.executable, "-m", "adyton.transports.cli.app", *ASK]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["receipt"]["number"] == 1
    refused = subprocess.run(
        [*command[:-2], "7", "--json"], capture_output=True, text=True, timeout=120, check=False
    )
    assert refused.returncode == 3
    assert json.loads(refused.stdout)["error"]["kind"] == "privacy_refused"


@pytest.mark.usefixtures("study")
def test_a_terminal_that_knows_only_ascii_shows_what_was_paid_for() -> None:
    """Mutant: without ``_spell_out_what_cannot_be_written`` ± is a traceback, and the answer is charged."""
    command = [sys.executable, "-m", "adyton.transports.cli.app"]
    sql = "SELECT region, COUNT(*) AS n, SUM(income) AS s FROM people GROUP BY region"
    for name in ("preview", "ask"):
        done = subprocess.run(
            [*command, name, "people.toml", sql, "--epsilon", "0.2"],
            capture_output=True,
            env={**os.environ, "PYTHONIOENCODING": "ascii", "COLUMNS": "80"},
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert b" +- " in done.stdout
        assert done.stdout.isascii()


@pytest.mark.usefixtures("study")
def test_the_largest_of_the_queries_in_a_file_or_of_the_groups_of_one() -> None:
    Path("candidates.sql").write_text(
        "SELECT COUNT(*) FROM people WHERE smoker; SELECT COUNT(*) FROM people WHERE NOT smoker"
    )
    seen = of(
        run("preview", "people.toml", "--file", "candidates.sql", "--best", "1", "--share", "0.3", "--json")
    )
    asked = of(
        run("ask", "people.toml", "--file", "candidates.sql", "--best", "1", "--share", "0.3", "--json")
    )
    assert seen["chosen"] == asked["chosen"]
    assert [row["keys"]["candidate"].split("WHERE")[1] for row in asked["answer"]] == [" (NOT smoker)"]
    shown = run("ask", "people.toml", ASK[2], "--best", "1", "--share", "0.3")
    assert shown.exit_code == 0
    assert "2 candidates" in shown.stdout
    wrong = run("ask", "people.toml", "SELECT COUNT(*) FROM people", "--best", "1", "--share", "0.3")
    assert wrong.exit_code != 0
