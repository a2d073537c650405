"""adyton pmw, as a stranger would use it: on the diabetes table of scikit-learn, bad input too."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from sklearn.datasets import load_diabetes
from typer.testing import CliRunner, Result

from adyton.curator.opening import accept_copy
from adyton.transports.cli.app import app
from adyton.transports.cli.synthesize import bins_of
from support.worlds import copied, put_back, study_text

STUDY = study_text(
    {
        "age": {"kind": "integer", "low": 0, "high": 100},
        "bmi": {"kind": "real", "low": 15, "high": 45, "step": 0.1},
        "bp": {"kind": "real", "low": 60, "high": 140, "step": 0.1},
        "sex": {"kind": "category", "values": ["1", "2"]},
        "name": {"kind": "text"},
    },
    name="patients",
    rows=442,
    epsilon=20,
    delta="1e-6",
    dialect="bigquery",
)
COLUMNS = ("--columns", "age,bmi,bp,sex", "--bins", "age=20,bmi=18.5/25/30/35,bp=100", "--queries", "10000")
COUNT = "SELECT COUNT(*) FROM patients WHERE bmi < 30"
OPEN = ("open", "p.toml", *COLUMNS, "--epsilon", "20")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    frame = load_diabetes(as_frame=True, scaled=False).frame[["age", "bmi", "bp", "sex"]]
    frame = frame.astype({"age": int}).assign(sex=frame["sex"].astype(int).astype(str), name="nobody")
    frame.to_parquet("patients.parquet")
    Path("p.toml").write_text(STUDY)


def pmw(*words: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(app, ["pmw", *words], input=stdin)


def said(*words: str, stdin: str | None = None) -> Any:
    done = pmw(*words, "--json", stdin=stdin)
    assert done.exit_code == 0, done.output
    assert done.stdout.count("\n") == 1
    return json.loads(done.stdout)


def test_opened_fed_and_listed_each_by_a_process_of_its_own() -> None:
    """Mutants: ``list`` forgets what was fed; ``--file`` feeds the first query alone; updates are not told."""
    assert said("list", "p.toml") == {"pmw": []}
    preview = said(*OPEN, "--preview")
    assert preview["error"] < preview["independent"]
    opened = said(*OPEN)
    assert (opened["feeds"], opened["total"], opened["updates"]) == (0, 442, preview["updates"])
    one = said("feed", "p.toml", "1", COUNT)
    assert one["value"] == pytest.approx(442 * one["share"])
    asked = f'{COUNT};\nSELECT COUNTIF(sex = "1") FROM patients;\nSELECT COUNT(*) FROM `patients`'
    several = said("feed", "p.toml", "1", "--file", "-", stdin=asked)
    kept = said("list", "p.toml", "1")
    assert kept["answers"] == [one, *several["answers"]]
    assert [answer["feeds"] for answer in kept["answers"]] == [1, 2, 3, 4]
    assert "sex IN ('1')" in kept["answers"][2]["query"]
    used = sum(answer["measured"] for answer in kept["answers"])
    (listed,) = said("list", "p.toml")["pmw"]
    assert listed["updates_left"] == kept["updates_left"] == opened["updates"] - used
    assert listed["head"] == kept["head"] != opened["head"]
    people = pmw("list", "p.toml").stdout
    assert f"{used} of {opened['updates']}" in people
    assert "4 of 10000" in people
    assert f"updates left: {listed['updates_left']}," in pmw("list", "p.toml", "1").stdout


def test_data_are_not_needed_to_look() -> None:
    said(*OPEN)
    Path("patients.parquet").unlink()
    assert len(said("list", "p.toml")["pmw"]) == 1
    assert said("list", "p.toml", "1")["answers"] == []
    assert pmw("feed", "p.toml", "1", COUNT).exit_code == 2
    assert said("list", "p.toml")["pmw"][0]["feeds"] == 0


def test_pmw_that_a_restored_ledger_ended_are_not_listed() -> None:
    """Mutant: what a restored ledger ended is listed, which cannot be opened."""
    Path("kept").mkdir()
    Path("p.toml").write_text(f'{STUDY}[ledger]\ncheckpoint = "kept/p.checkpoint"\n')
    said(*OPEN[:-1], "10")
    copy = copied(Path("p.toml"), "copy.ledger")
    said("feed", "p.toml", "1", COUNT)
    put_back(Path("p.toml"), copy)
    accept_copy(Path("p.toml"))
    assert said("list", "p.toml") == {"pmw": []}
    done = pmw("feed", "p.toml", "1", COUNT, "--json")
    assert "over" in json.loads(done.stdout)["error"]["message"]


def test_whoever_does_not_know_the_number_of_rows_says_what_is_expected() -> None:
    """Mutant: ``--expected-rows`` is not handed on."""
    unknown = (
        STUDY.replace("rows = 442\n", "").replace('"replace-one"', '"add-remove"').replace("1e-6", "1e-9")
    )
    Path("p.toml").write_text(unknown)
    assert pmw(*OPEN, "--preview").exit_code == 2
    few, many = (said(*OPEN, "--preview", "--expected-rows", rows) for rows in ("442", "100000"))
    assert few["against"] is None
    assert "would be better" in many["against"]


def test_bins_are_numbers_of_them_or_where_they_begin() -> None:
    """Mutants: a number with two signs is a day; a single edge is a number of bins; the last option wins."""
    read = bins_of(["age=20, bmi = 18.5/25,low=-1e-5/3", "born=1990-01-01/2000-12-31,one=7/"])
    assert read == {
        "age": 20,
        "bmi": ["18.5", "25"],
        "low": ["-1e-5", "3"],
        "born": [date(1990, 1, 1), date(2000, 12, 31)],
        "one": ["7"],
    }
    assert bins_of(None) == {}


def test_a_request_opens_them_once() -> None:
    words = (*OPEN, "--request", "mine")
    assert said(*words)["receipt"] == said(*words)["receipt"]
    assert len(said("list", "p.toml")["pmw"]) == 1


BAD = [
    (["open", "p.toml", *COLUMNS], "exactly one price"),
    (["open", "p.toml", *COLUMNS, "--epsilon", "1", "--share", "1"], "exactly one price"),
    (["open", "p.toml", *COLUMNS, "--epsilon", "0"], "epsilon must be above 0"),
    (["open", "p.toml", *COLUMNS, "--epsilon", "1", "--tolerance", "2"], "tolerance is a share"),
    (["open", "p.toml", "--columns", "age", "--queries", "9", "--epsilon", "1"], "bins"),
    (["open", "p.toml", *COLUMNS, "--epsilon", "1", "--bins", "age=20", "--bins", "age=9"], "twice"),
    (["open", "p.toml", "--columns", "name", "--queries", "9", "--epsilon", "1"], "name"),
    (["open", "p.toml", "--columns", "sex", "--queries", "many", "--epsilon", "1"], "--queries must be"),
    (["open", "p.toml", "--columns", "sex", "--queries", "9", "--epsilon", "1"], "would be better"),
    (["open", "p.toml", *COLUMNS[:2], "--bins", "age", "--queries", "9", "--epsilon", "1"], "--bins is"),
    (
        ["open", "p.toml", *COLUMNS[:2], "--bins", "age=5/x", "--queries", "9", "--epsilon", "1"],
        "bins of age",
    ),
    (
        ["open", "p.toml", "--columns", "age", "--bins", "age=2020-13-01/", *COLUMNS[-2:], "--epsilon", "1"],
        "a day is",
    ),
    (["feed", "p.toml", "1"], "either a query or --file"),
    (["feed", "p.toml", "x", COUNT], "NUMBER must be a whole number"),
    (["feed", "p.toml", "7", COUNT], "there is no receipt 7"),
    (["feed", "p.toml", "1", "SELECT COUNT(*) FROM patients WHERE bmi < 30.5"], "begin at 30 and 35"),
    (["feed", "p.toml", "1", "SELECT COUNT(*) FROM patients WHERE name = 'x'"], "name"),
    (["feed", "p.toml", "1", "SELECT AVG(age) FROM patients"], "PMW takes one COUNT"),
    (["feed", "p.toml", "1", COUNT, "--dialect", "french"], "french"),
    (["feed", "p.toml", "1", "--file", "two.sql"], "query 2 of 2"),
    (["list", "p.toml", "x"], "NUMBER must be a whole number"),
]


def test_bad_input_is_explained_and_changes_nothing() -> None:
    """Also of a file: if one query of it cannot be asked, none is."""
    said(*OPEN[:-1], "10")
    Path("two.sql").write_text(f"{COUNT};\nSELECT COUNT(*) FROM patients WHERE bmi < 30.5")
    before = said("list", "p.toml")
    for words, why in BAD:
        done = pmw(*words, "--json")
        assert done.exit_code == 2, done.output
        assert why in json.loads(done.stdout)["error"]["message"], words
    assert said("list", "p.toml") == before


def test_a_price_that_does_not_fit_is_refused_with_one_that_does() -> None:
    done = pmw("open", "p.toml", *COLUMNS, "--epsilon", "21", "--json")
    assert done.exit_code == 3
    assert json.loads(done.stdout)["error"]["fits"]["epsilon"] == "20"
    assert said("list", "p.toml") == {"pmw": []}
