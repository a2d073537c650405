"""adyton monitor, as a stranger would use it: on the diabetes table of scikit-learn, bad input too."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from sklearn.datasets import load_diabetes
from typer.testing import CliRunner, Result

from adyton.transports.cli.app import app
from support.worlds import study_text

COLUMNS = {
    "age": {"kind": "integer", "low": 0, "high": 100},
    "bmi": {"kind": "real", "low": 15, "high": 45, "step": 0.1},
    "change": {"kind": "integer", "low": -200, "high": 400},
}
STUDY = {"name": "patients", "rows": 442, "epsilon": 400, "delta": "0", "accounting": "pure"}
SUM = "SELECT SUM(age) FROM patients"  # 21,445 years
MEAN = "SELECT AVG(bmi) FROM patients WHERE age > 60"  # 27.64
COUNT = "SELECT COUNT(*) FROM patients WHERE age > 60"  # 91


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    frame = load_diabetes(as_frame=True, scaled=False).frame
    frame = frame.assign(change=frame["target"] - 150)[["age", "bmi", "change"]]
    frame.astype({"age": int, "change": int}).to_parquet("patients.parquet")
    for name, adjacency in (("p.toml", "replace-one"), ("add.toml", "add-remove")):
        Path(name).write_text(study_text(COLUMNS, adjacency=adjacency, **STUDY))


def monitor(*words: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(app, ["monitor", *words], input=stdin)


def said(*words: str, stdin: str | None = None) -> Any:
    done = monitor(*words, "--json", stdin=stdin)
    assert done.exit_code == 0, done.output
    assert done.stdout.count("\n") == 1
    return json.loads(done.stdout)


def refused(code: int, *words: str, stdin: str | None = None) -> str:
    """What people are told, and programs too."""
    done, of_json = monitor(*words, stdin=stdin), monitor(*words, "--json", stdin=stdin)
    assert (done.exit_code, of_json.exit_code) == (code, code), done.output
    error = json.loads(of_json.stdout)["error"]
    assert error["message"] in " ".join(done.stderr.split())
    return str(error["message"])


def test_counts_sums_and_means_until_the_monitor_halts() -> None:
    """At 95 % and more the noise is far below the distances: false alarms are below e**-30."""
    preview = said("open", "p.toml", "--positives", "3", "--of", "means", "--epsilon", "300", "--preview")
    assert preview["monitor"] == "MONITOR OF MEANS HALTING AFTER 3 POSITIVES"
    assert 0 < preview["right_beyond"] < 1
    assert said("list", "p.toml") == {"monitors": []}
    made = said("open", "p.toml", "--positives", "3", "--of", "means", "--epsilon", "300", "--numeric")
    assert (made["number"], made["kind"], made["halted"], made["closed"]) == (1, "means", False, False)
    answers = [
        said("feed", "p.toml", "1", SUM, "--above", "3e4"),
        said("feed", "p.toml", "1", SUM, "--above", "15000.5"),
        said("feed", "p.toml", "1", MEAN, "--above", "30"),
        said("feed", "p.toml", "1", MEAN, "--above", "25"),
        said("feed", "p.toml", "1", COUNT, "--above", "150"),
    ]
    assert [a["above"] for a in answers] == [False, True, False, True, False]
    assert [a["compared_as"] for a in answers] == ["sum", "sum", "mean", "mean", "count"]
    assert answers[1]["value"] == pytest.approx(21_445, abs=300)
    assert answers[3]["value"] == pytest.approx(91 * 2.64, abs=90)  # of a mean the excess
    shown = monitor("feed", "p.toml", "1", COUNT, "--above", "40").stdout
    assert "above 40" in shown
    assert "the monitor has halted and answers no more" in shown
    assert "halted" in refused(3, "feed", "p.toml", "1", COUNT, "--above", "40")
    assert "Halted: it was paid for 3 answers above their threshold" in monitor("list", "p.toml", "1").stdout
    (listed,) = said("list", "p.toml")["monitors"]
    assert (listed["halted"], listed["feeds"], listed["positives_left"]) == (True, 6, 0)
    assert [a["above"] for a in said("list", "p.toml", "1")["answers"]][:5] == [a["above"] for a in answers]
    assert "halted" in monitor("list", "p.toml").stdout


def test_a_file_has_a_threshold_for_each_query() -> None:
    said("open", "p.toml", "--positives", "2", "--of", "sums", "--share", "0.9")
    fed = [
        {"query": COUNT, "above": 200},
        {"query": SUM, "above": 15000.5},
        COUNT,
        {"query": SUM, "above": "1e4"},
    ]
    Path("fed.json").write_text(json.dumps(fed))
    found = said("feed", "p.toml", "1", "--file", "fed.json", "--above", "180")
    assert [(a["threshold"], a["above"]) for a in found["answers"]] == [
        (200, False),
        (15000.5, True),
        (180, False),
        (10_000, True),
    ]
    assert (found["not_asked"], found["halted"], found["positives_left"]) == (0, True, 0)
    said("open", "add.toml", "--positives", "1", "--share", "0.9")
    found = said("feed", "add.toml", "1", "--file", "-", "--above", "20", stdin=f"{COUNT};\n{COUNT}; {COUNT}")
    assert ([a["above"] for a in found["answers"]], found["not_asked"]) == ([True], 2)
    said("open", "p.toml", "--positives", "1", "--share", "0.9")
    shown = monitor("feed", "p.toml", "2", "--file", "-", "--above", "20", stdin=f"{COUNT}; {COUNT}").stdout
    assert "1 query was not asked: nothing was read for it." in " ".join(shown.split())


def test_one_bad_query_in_a_file_and_none_is_asked() -> None:
    said("open", "p.toml", "--positives", "2", "--epsilon", "9")
    fed = [{"query": COUNT, "above": 20}, {"query": SUM, "above": 20}]
    assert "query 2 of 2: a monitor of counts takes one COUNT" in refused(
        2, "feed", "p.toml", "1", "--file", "-", stdin=json.dumps(fed)
    )
    assert said("list", "p.toml")["monitors"][0]["feeds"] == 0
    assert "query 1 of 1: a monitor compares each number with a threshold" in refused(
        2, "feed", "p.toml", "1", "--file", "-", stdin=COUNT
    )


def test_closed_is_closed_for_everybody_and_after_a_restart() -> None:
    """Every command is a process of its own to the ledger.  Mutant: ``close`` without its note."""
    said("open", "p.toml", "--positives", "2", "--epsilon", "100")
    said("feed", "p.toml", "1", COUNT, "--above", "200")
    closed = said("close", "p.toml", "1")
    assert (closed["closed"], closed["halted"], closed["feeds"]) == (True, False, 1)
    assert said("close", "p.toml", "1") == closed  # again changes nothing
    assert "was closed" in refused(2, "feed", "p.toml", "1", COUNT, "--above", "200")
    assert "closed" in monitor("list", "p.toml").stdout
    assert CliRunner().invoke(app, ["verify", "p.toml"]).exit_code == 0


def test_data_are_not_needed_to_look_or_to_close() -> None:
    said("open", "p.toml", "--positives", "2", "--epsilon", "100")
    Path("patients.parquet").unlink()
    assert len(said("list", "p.toml")["monitors"]) == 1
    assert said("list", "p.toml", "1")["answers"] == []
    assert "patients.parquet" in refused(2, "feed", "p.toml", "1", COUNT, "--above", "3")
    assert said("list", "p.toml")["monitors"][0]["feeds"] == 0
    assert said("close", "p.toml", "1")["closed"]


BAD = [
    (["open", "p.toml", "--positives", "2"], "exactly one price"),
    (["open", "p.toml", "--positives", "2", "--epsilon", "1", "--share", "1"], "exactly one price"),
    (["open", "p.toml", "--positives", "two", "--epsilon", "1"], "--positives must be a whole number"),
    (["open", "p.toml", "--positives", "0", "--epsilon", "1"], "positives must be a whole number"),
    (
        ["open", "p.toml", "--positives", "2", "--epsilon", "1", "--of", "medians"],
        "counts, sums or means",
    ),
    (["open", "p.toml", "--positives", "2", "--epsilon", "x"], "epsilon"),
    (["open", "none.toml", "--positives", "2", "--epsilon", "1"], "none.toml"),
    (["feed", "p.toml", "1"], "either a query or --file"),
    (["feed", "p.toml", "1", COUNT], "--above"),
    (["feed", "p.toml", "x", COUNT, "--above", "1"], "NUMBER must be a whole number"),
    (["feed", "p.toml", "7", COUNT, "--above", "1"], "there is no receipt 7"),
    (["feed", "p.toml", "1", COUNT, "--above", "443"], "from 0 to 442"),
    (["feed", "p.toml", "1", COUNT, "--above", "many"], "above"),
    (["feed", "p.toml", "1", SUM, "--above", "44201"], "from 0 to 44200"),
    (["feed", "p.toml", "1", MEAN, "--above", "14"], "from 15 to 45"),
    (["feed", "p.toml", "1", "SELECT MEDIAN(age) FROM patients", "--above", "3"], "COUNT, SUM, AVG"),
    (["feed", "p.toml", "1", "SELECT SUM(age), COUNT(*) FROM patients", "--above", "3"], "at a time"),
    (["feed", "p.toml", "1", "SELECT age, COUNT(*) FROM patients GROUP BY age", "--above", "3"], "GROUP"),
    (["feed", "p.toml", "1", "SELEKT", "--above", "3"], "begins with SELECT"),
    (["feed", "p.toml", "1", "--file", "none.json"], "there is no file"),
    (["feed", "p.toml", "1", "--file", "bad.json"], "is not JSON"),
    (["feed", "p.toml", "1", "--file", "odd.json"], "texts, or objects"),
    (["close", "p.toml", "5"], "there is no receipt 5"),
    (["list", "p.toml", "x"], "NUMBER must be a whole number"),
]


def test_bad_input_is_explained_and_changes_nothing() -> None:
    said("open", "p.toml", "--positives", "2", "--of", "means", "--epsilon", "1")
    Path("bad.json").write_text("[1, ")
    Path("odd.json").write_text('[{"query": "SELECT 1", "threshold": 3}]')
    before = said("list", "p.toml")
    for words, why in BAD:
        done = monitor(*words, "--json")
        assert done.exit_code == 2, done.output
        assert why in json.loads(done.stdout)["error"]["message"]
    assert said("list", "p.toml") == before


def test_a_sum_that_can_be_negative_needs_a_monitor_of_means() -> None:
    """A sum that can be negative needs a monitor of means where rows come and go."""
    sql = "SELECT SUM(change) FROM patients"  # 945
    said("open", "add.toml", "--positives", "1", "--of", "sums", "--epsilon", "9")
    assert "open the monitor of means" in refused(2, "feed", "add.toml", "1", sql, "--above", "0")
    said("open", "add.toml", "--positives", "1", "--of", "means", "--epsilon", "300")
    assert said("feed", "add.toml", "2", sql, "--above", "-3000")["above"]
    said("open", "p.toml", "--positives", "1", "--of", "sums", "--epsilon", "300")
    assert said("feed", "p.toml", "1", sql, "--above", "-3000")["above"]


def test_a_price_that_does_not_fit_is_refused_with_one_that_does() -> None:
    done = monitor("open", "p.toml", "--positives", "1", "--epsilon", "401", "--json")
    assert done.exit_code == 3
    assert json.loads(done.stdout)["error"]["fits"]["epsilon"] == "400"
    assert said("list", "p.toml") == {"monitors": []}


def test_a_request_opens_one_monitor() -> None:
    words = ("open", "p.toml", "--positives", "1", "--epsilon", "9", "--request", "alarm", "--keep")
    assert said(*words)["number"] == said(*words)["number"] == 1
    assert len(said("list", "p.toml")["monitors"]) == 1
