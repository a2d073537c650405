"""Several studies of the same persons from the command line, on a table that others have measured."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from sklearn.datasets import load_breast_cancer
from typer.testing import CliRunner, Result

import adyton
from adyton.transports.cli.app import app
from support.worlds import study_text


def study(name: str) -> str:
    columns = {
        "radius": {"kind": "real", "low": 5, "high": 30, "step": 0.01},
        "benign": {"kind": "boolean"},
    }
    facts = {"source": "tumours.parquet", "rows": 569, "epsilon": 2, "shared_budget": "clinic.ledger"}
    return study_text(columns, name=name, validity="independent = true\nconfidence = 0.95", **facts)


CREATE = ("shared-budget", "create", "clinic.ledger", "--epsilon", "2.5", "--delta", "1e-9", "--unit", "row")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    known = load_breast_cancer(as_frame=True)
    table = known.data[["mean radius"]].rename(columns={"mean radius": "radius"})
    table.assign(benign=known.target == 1).to_parquet("tumours.parquet")
    for name in ("sizes", "kinds"):
        Path(f"{name}.toml").write_text(study(name))


def run(*words: str) -> Result:
    return CliRunner().invoke(app, list(words))


def told(*words: str) -> dict[str, Any]:
    done = run(*words, "--json")
    assert done.exit_code == 0, done.output
    return dict(json.loads(done.stdout))


def test_two_studies_share_a_shared_budget_from_creation_to_refusal() -> None:
    made = run(*CREATE, "--rows", "same", "--confidence", "0.95")
    assert made.exit_code == 0
    assert "epsilon 2.5, delta 1e-9 (one row, replace-one)" in " ".join(made.stdout.split())
    size = told("ask", "sizes.toml", "SELECT AVG(radius) FROM sizes", "--epsilon", "1")
    told("ask", "kinds.toml", "SELECT COUNT(*) FROM kinds WHERE benign", "--epsilon", "1.9")
    assert size["receipt"]["number"] == 1
    spent = told("shared-budget", "show", "clinic.ledger")
    assert [one["name"].split()[0] for one in spent["studies"]] == ["sizes", "kinds"]
    assert spent["charges"] == 2
    shares = [one["spent"]["share"] for one in spent["studies"]]
    assert sum(shares) == pytest.approx(spent["spent"]["share"])
    own = told("budget", "sizes.toml")
    assert own["queries"] == 1
    assert own["shared_budget"]["spent"] == spent["spent"]
    assert own["spent"]["amount"] == spent["studies"][0]["spent"]["amount"]
    refused = run("ask", "sizes.toml", "SELECT COUNT(*) FROM sizes", "--epsilon", "1.5", "--json")
    error = json.loads(refused.stdout)["error"]
    assert refused.exit_code == 3
    assert (error["kind"], error["shared_budget"]) == ("privacy_refused", "clinic.ledger")
    fits = error["fits"]["epsilon"]
    told("ask", "sizes.toml", "SELECT COUNT(*) FROM sizes", "--epsilon", fits)
    assert told("shared-budget", "verify", "clinic.ledger")["receipts"] == 3
    assert told("verify", "sizes.toml")["shared_budget"] == {"name": "clinic.ledger", "charges": 3}
    plain = run("verify", "kinds.toml")
    assert "The shared budget clinic.ledger is intact and has every receipt of this study." in plain.stdout
    seen = run("shared-budget", "show", "clinic.ledger", "--verbose")
    for words in ("Shared budget clinic.ledger", "all studies", "left of the budget", "gdp"):
        assert words in seen.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--rows", "alike"), "rows of a shared budget is one of same, related, unrelated, not 'alike'"),
        (("--accounting", "renyi"), "accounting of a shared budget is one of gdp, zcdp, pure"),
        (("--epsilon", "lots"), "epsilon"),
        (("--delta", "0"), "delta"),
        (("--confidence", "0.95"), "confidence is fixed by a shared budget of the same rows"),
        (("--rows", "same", "--confidence", "95"), "above 0 and below 1"),
        (("--rows", "same", "--stability", "0.05"), "pure accounting"),
        (("--discovery-delta", "1e-3"), "discovery_delta of a shared budget is a part of its delta"),
    ],
)
def test_a_shared_budget_that_makes_no_sense_is_not_made(words: tuple[str, ...], said: str) -> None:
    done = run(*CREATE, *words)
    assert done.exit_code == 2
    assert said in done.output
    assert not Path("clinic.ledger").exists()


def test_what_is_missing_or_does_not_fit_is_said_with_the_way_out() -> None:
    query = ("SELECT COUNT(*) FROM sizes", "--within", "50")
    missing = run("ask", "sizes.toml", *query)
    assert missing.exit_code == 2
    assert "make it with: adyton shared-budget create clinic.ledger" in missing.stderr
    run(*CREATE[:-1], "person")
    for command in (("ask", "sizes.toml", *query), ("budget", "sizes.toml"), ("check", "sizes.toml")):
        done = run(*command)
        assert done.exit_code == 2
        assert "privacy.unit is row here and person in the shared budget" in done.stderr
    assert run(*CREATE).exit_code == 2  # never overwritten
    assert not Path("sizes.ledger").exists()
    for command in ("show", "verify"):
        assert "there is no shared budget none.ledger" in run("shared-budget", command, "none.ledger").stderr
        assert "not a ledger" in run("shared-budget", command, "sizes.toml").stderr


def test_a_corrected_study_goes_on_in_its_shared_budget_and_in_no_other() -> None:
    run(*CREATE)
    told("ask", "sizes.toml", "SELECT COUNT(*) FROM sizes WHERE benign", "--within", "50")
    corrected = study("sizes").replace("high = 30", "high = 40")
    Path("sizes-2.toml").write_text(corrected.replace("clinic.ledger", "other.ledger"))
    run(*CREATE[:2], "other.ledger", *CREATE[3:])
    wrong = run("amend", "sizes.toml", "sizes-2.toml")
    assert wrong.exit_code == 5
    assert "is not in the shared budget other.ledger" in wrong.stderr
    told("ask", "sizes.toml", "SELECT COUNT(*) FROM sizes", "--within", "50")  # nothing was closed
    Path("sizes-2.toml").write_text(corrected.replace('shared_budget = "clinic.ledger"\n', ""))
    assert "privacy.shared_budget cannot be amended" in run("amend", "sizes.toml", "sizes-2.toml").stderr
    Path("sizes-2.toml").write_text(corrected)
    assert run("amend", "sizes.toml", "sizes-2.toml").exit_code == 0
    before = told("shared-budget", "show", "clinic.ledger")
    assert before["charges"] == 2
    told("ask", "sizes-2.toml", "SELECT AVG(radius) FROM sizes", "--share", "0.1")
    told("verify", "sizes-2.toml", "--amended", "sizes.toml")
    after = told("shared-budget", "show", "clinic.ledger")
    assert (after["charges"], len(after["studies"])) == (3, 2)
    assert after["studies"][0] == before["studies"][0]


def test_whatever_a_study_releases_is_in_its_shared_budget() -> None:
    """Queries, batches, selections, monitors, synthetic tables, bounds, tests that were published."""
    run(*CREATE, "--rows", "same", "--confidence", "0.95")
    low = {"share": "0.05"}
    with adyton.open("sizes.toml") as curator, adyton.SharedBudget("clinic.ledger") as shared_budget:
        count = "SELECT COUNT(*) FROM sizes WHERE benign"

        releases: list[Any] = [
            lambda: curator.ask(count, **low),
            lambda: curator.ask_many([count, "SELECT COUNT(*) FROM sizes WHERE radius > 12"], **low),
            lambda: curator.ask(adyton.best_of("SELECT benign, COUNT(*) FROM sizes GROUP BY benign"), **low),
            lambda: curator.open_monitor(positives=1, **low).feed(count, above=100),
            lambda: curator.synthesize(["benign"], **low),
            lambda: curator.suggest_bounds("radius", share="0.6"),
            lambda: curator.publish_test("0.01"),
        ]
        for place, release in enumerate(releases, 1):
            release()
            assert shared_budget.totals().receipts == len(curator.receipts()) == place
        assert shared_budget.totals().spent == curator.receipts()[-1].spent
        assert shared_budget.totals().pure == curator.receipts()[-1].spent_pure > 0
        assert shared_budget.totals().unproved == 1
        curator.verify()
