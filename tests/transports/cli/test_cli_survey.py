"""A survey on the command line: answers stay where they are, reports are counted, and nothing repeats an answer."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from sklearn.datasets import load_iris
from typer.testing import CliRunner, Result

from adyton.surveys import read_survey
from adyton.transports.cli.app import app

SURVEY = """
[survey]
name = "flowers"
epsilon = 4
delta = 1e-6
independent = true
[questions.species]
values = ["setosa", "versicolor", "virginica"]
[questions.petal]
low = 0
high = 8
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("survey.toml").write_text(SURVEY, encoding="utf-8")


def run(*words: str) -> Result:
    return CliRunner().invoke(app, ["survey", *words], env={"COLUMNS": "160"})


def of(result: Result) -> Any:
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def iris(times: int) -> None:
    """A real table: 150 flowers, several times."""
    flowers = load_iris()
    with Path("answers.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["petal", "species"])
        for _ in range(times):
            for row, kind in zip(flowers.data, flowers.target, strict=True):
                writer.writerow([row[2], flowers.target_names[kind]])


def test_from_answers_to_an_estimate() -> None:
    """6,000 flowers.  All intervals hold at once but with 5e-9: the test asks for that confidence."""
    iris(40)
    assert run("randomize", "survey.toml", "answers.csv", "-o", "reports.csv").exit_code == 0
    found = of(run("estimate", "survey.toml", "reports.csv", "--confidence", "0.999999995", "--json"))
    assert found["people"] == 6000
    shares = {r["value"]: r for r in found["results"] if r["question"] == "species"}
    for share in shares.values():
        assert share["respondents"][0] <= 1 / 3 <= share["respondents"][1]
        assert (
            share["population"][0] <= share["respondents"][0] <= share["estimate"] <= share["respondents"][1]
        )
    (petal,) = (r for r in found["results"] if r["question"] == "petal")
    assert petal["respondents"][0] <= 3.758 <= petal["respondents"][1]
    assert petal["population"][0] < petal["respondents"][0]
    shown = run("estimate", "survey.toml", "reports.csv")
    assert "6,000 reports" in shown.stdout
    assert "versicolor" in shown.stdout


def test_reports_are_not_the_answers_and_are_all_that_is_written() -> None:
    """Mutant: the answers are written.  Six standard deviations: 2e-9."""
    iris(40)
    run("randomize", "survey.toml", "answers.csv", "-o", "reports.csv")
    rows, answers = (
        list(csv.DictReader(Path(name).read_text(encoding="utf-8").splitlines()))
        for name in ("reports.csv", "answers.csv")
    )
    assert set(rows[0]) == {"survey", "species", "petal"}
    kept = sum(row["species"] == answer["species"] for row, answer in zip(rows, answers, strict=True))
    truth = float(read_survey("survey.toml").randomizers[0].truth)
    assert abs(kept / 6000 - truth) < 6 * (truth * (1 - truth) / 6000) ** 0.5
    assert sorted(path.name for path in Path().iterdir()) == ["answers.csv", "reports.csv", "survey.toml"]


def test_one_person_alone() -> None:
    told = of(
        run("randomize", "survey.toml", "--answer", "species=setosa", "--answer", "petal=1.5", "--json")
    )
    (report,) = told["reports"]
    assert report["survey"] == told["survey"] == read_survey("survey.toml").fingerprint
    assert report["species"] in ("setosa", "versicolor", "virginica")
    plain = run("randomize", "survey.toml", "--answer", "species=setosa", "--answer", "petal=1.5")
    header, line = plain.stdout.splitlines()
    assert header == "survey,species,petal"
    assert line.startswith(told["survey"])


def test_a_preview_reads_the_file_alone() -> None:
    few, many = (of(run("preview", "survey.toml", "--people", n, "--json")) for n in ("1000", "100,000"))
    assert (few["epsilon"], few["delta"]) == (4, 1e-6)
    for one, other in zip(few["questions"], many["questions"], strict=True):
        assert one["respondents"] < one["population"]
        assert 8 < one["respondents"] / other["respondents"] < 12
    assert "± " in run("preview", "survey.toml").stdout


def test_without_the_word_nothing_is_said_about_a_population() -> None:
    Path("survey.toml").write_text(SURVEY.replace("independent = true\n", ""), encoding="utf-8")
    iris(1)
    run("randomize", "survey.toml", "answers.csv", "-o", "reports.csv")
    found = of(run("estimate", "survey.toml", "reports.csv", "--json"))
    assert {r["population"] for r in found["results"]} == {None}
    assert "not declared" in run("estimate", "survey.toml", "reports.csv").stdout


WRONG = {
    "no file": (("randomize", "nowhere.toml", "answers.csv"), "no survey file"),
    "no answers": (("randomize", "survey.toml"), "either a file of answers"),
    "nobody": (("randomize", "survey.toml", "nobody.csv"), "has no answers"),
    "both": (("randomize", "survey.toml", "answers.csv", "--answer", "petal=1"), "either a file of answers"),
    "half an answer": (("randomize", "survey.toml", "--answer", "petal"), "NAME=VALUE"),
    "one is missing": (("randomize", "survey.toml", "--answer", "petal=1"), "'species' is missing"),
    "not a csv": (("estimate", "survey.toml", "survey.toml"), ".csv"),
    "answers for reports": (("estimate", "survey.toml", "answers.csv"), "not one of this survey"),
    "no people": (("preview", "survey.toml", "--people", "0"), "whole number"),
    "no confidence": (("preview", "survey.toml", "--confidence", "1"), "below 1"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_refused_with_the_fix(case: str) -> None:
    iris(1)
    Path("nobody.csv").write_text("species,petal\n")
    words, said = WRONG[case]
    done = run(*words)
    assert done.exit_code == 2
    assert said in done.stderr
    assert said in of_error(run(*words, "--json"))


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ("{survey},setosa,--5", "report 3: 'petal' must be a whole number of steps"),
        ("{survey},rose,5", "report 3: 'species' is none of its values"),
        ("other,setosa,5", "report 3 is not one of this survey"),
    ],
)
def test_a_report_that_cannot_be_is_named_by_its_place(bad: str, said: str) -> None:
    survey = of(
        run("randomize", "survey.toml", "--answer", "species=setosa", "--answer", "petal=1", "--json")
    )
    lines = ["{survey},setosa,5", "{survey},setosa,-5", bad]
    told = "\n".join(line.format(survey=survey["survey"]) for line in ("survey,species,petal", *lines))
    Path("reports.csv").write_text(told, encoding="utf-8")
    assert said in of_error(run("estimate", "survey.toml", "reports.csv", "--json"))


def test_an_answer_that_nobody_asked_for_is_refused_with_what_is_asked() -> None:
    words = ("randomize", "survey.toml", "--answer", "specie=setosa", "--answer", "petal=1", "--json")
    assert "it asks for: species, petal" in of_error(run(*words))


def of_error(result: Result) -> str:
    assert result.exit_code == 2
    message: str = json.loads(result.stdout)["error"]["message"]
    return message


def test_an_existing_file_is_kept_unless_forced() -> None:
    iris(1)
    Path("reports.csv").write_text("mine")
    assert "exists" in run("randomize", "survey.toml", "answers.csv", "-o", "reports.csv").stderr
    assert Path("reports.csv").read_text() == "mine"
    assert run("randomize", "survey.toml", "answers.csv", "-o", "reports.csv", "--force").exit_code == 0


@pytest.mark.parametrize(
    "bad", ["petal,species\nSECRET,setosa\n", "petal,species\n1,SECRET\n", 'petal,species\n1,"SECRET\n']
)
def test_no_error_repeats_what_is_in_a_file(bad: str) -> None:
    Path("answers.csv").write_text(bad, encoding="utf-8")
    for more in ((), ("--json",)):
        done = run("randomize", "survey.toml", "answers.csv", *more)
        assert done.exit_code == 2
        assert "SECRET" not in done.output + done.stderr


def test_all_that_is_wrong_with_a_survey_file_is_said_at_once() -> None:
    Path("bad.toml").write_text(
        '[survey]\nepsilon = -1\nindependent = "yes"\nepsilonn = 2\n[questions.a]\nlow = 2\n[questions.b]\nvalues = ["x"]\n'
    )
    said = run("preview", "bad.toml").stderr
    for part in (
        "survey.name",
        "survey.epsilon",
        "true or false",
        "epsilonn",
        "low and high",
        "different ones",
    ):
        assert part in said, part
