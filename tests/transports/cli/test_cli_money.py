"""Money on the command line: shares of the budget, the guarantee, the price that fits, and which accounting to draft."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import duckdb
import pytest
from typer.testing import CliRunner, Result

import adyton
from adyton.study import read_study
from adyton.transports.cli.app import app
from support.worlds import study_text

COLUMNS = {
    "income": {"kind": "real", "low": 0, "high": 200000},
    "region": {"kind": "category", "values": ["north", "south"]},
}
BOTH = "SELECT region, COUNT(*) AS n, AVG(income) FROM people GROUP BY region"
INIT = ("init", "people.parquet", "--epsilon", "1", "-o", "new.toml")


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    region = "CASE WHEN i % 2 = 0 THEN 'north' ELSE 'south' END"
    with duckdb.connect() as database:
        database.execute(
            f"COPY (SELECT 20000.0 + i AS income, {region} AS region FROM range(2000) AS r(i)) TO 'people.parquet'"
        )
    for name in ("gdp", "zcdp", "pure"):
        delta = "0" if name == "pure" else "1e-6"
        study = study_text(COLUMNS, rows=2000, delta=delta, accounting=name)
        Path(f"{name}.toml").write_text(study, encoding="utf-8")


def run(*words: str) -> Result:
    return CliRunner().invoke(app, list(words), env={"COLUMNS": "200"})


def of(result: Result) -> Any:
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.mark.parametrize("name", ["gdp", "zcdp", "pure"])
def test_no_filter_precedes_a_person_and_no_running_epsilon_is_a_guarantee(name: str) -> None:
    """Mutants: str(Amount) as the accounting counts; "Spent so far: epsilon ..." from filter.epsilon."""
    study, count = f"{name}.toml", "SELECT COUNT(*) FROM people"
    commands = (
        ("preview", study, count, "--epsilon", "0.3"),
        ("ask", study, count, "--epsilon", "0.3"),
        ("ask", study, count, "--epsilon", "0.3"),
        ("ask", study, count, "--within", "0.5"),
        ("preview", study, count, "--within", "0.5"),
        ("budget", study),
        ("receipts", study),
    )
    for words in commands:
        done = run(*words)
        shown = done.output
        assert not re.search(r"\b(gdp|zcdp|mu²|rho)\b", shown), shown
        assert not re.search(r"epsilon 0\.\d", shown), shown
        assert " %" in shown
        if words[0] != "receipts" and done.exit_code == 0:
            delta = "0" if name == "pure" else "1e-6"
            assert re.search(rf"epsilon 1, delta {delta}\b", shown), shown
    for words in ((*commands[0], "--verbose"), (*commands[1], "--verbose"), (*commands[5], "--verbose")):
        assert name in run(*words).stdout
    assert name in run("receipts", study, "--verbose").stdout
    assert "Theorems: " in run(*commands[1], "--verbose").stdout
    assert "scale " in run(*commands[0], "--verbose").stdout


@pytest.mark.parametrize("name", ["gdp", "zcdp", "pure"])
def test_the_odometer_is_shown_to_whoever_asks_for_it(name: str) -> None:
    study = f"{name}.toml"
    run("ask", study, "SELECT COUNT(*) FROM people", "--epsilon", "0.3")
    found = of(run("budget", study, "--json"))["odometer"]
    assert set(found) == {"epsilon", "delta", "theorem"}
    assert 0.3 * (1 - 1e-6) <= found["epsilon"] < 0.4
    assert "odometer" not in run("budget", study).stdout
    shown = run("budget", study, "--odometer").stdout
    assert "odometer" in shown
    assert found["theorem"] in shown
    assert "at whatever moment somebody stops" in " ".join(shown.split())


def test_the_width_that_a_refusal_names_is_answered() -> None:
    refused = run("ask", "gdp.toml", "SELECT COUNT(*) FROM people", "--within", "1")
    assert refused.exit_code == 3
    (width,) = re.findall(r"within (\S+) would fit now", refused.stderr)
    assert run("ask", "gdp.toml", "SELECT COUNT(*) FROM people", "--within", width).exit_code == 0


def test_widths_by_name_on_the_command_line() -> None:
    both = run("ask", "gdp.toml", BOTH, "--within", "5")
    assert both.exit_code == 2
    assert "within n=W,avg_income=W" in both.stderr
    refused = run("ask", "gdp.toml", BOTH, "--within", "n=1,avg_income=100", "--json")
    assert refused.exit_code == 3
    widths = json.loads(refused.stdout)["error"]["fits"]["within"]
    named = ",".join(f"{name}={width}" for name, width in widths.items())
    assert f"within {named} would fit now" in json.loads(refused.stdout)["error"]["message"]
    assert run("ask", "gdp.toml", BOTH, "--within", named).exit_code == 0


# Which accounting ----------------------------------------------------------------------------------------------


def test_init_drafts_the_accounting_with_less_noise_and_says_why() -> None:
    few = run(*INIT, "--delta", "1e-6", "--queries", "3")
    assert (
        "Accounting pure: 3 counts at equal prices are each within 9 with pure, within 14 with gdp"
        in few.stdout
    )
    text = Path("new.toml").read_text()
    assert 'accounting = "pure"' in text
    assert "delta = 0\n" in text
    assert "# 3 counts at equal prices are each within 9 with pure, within 14 with gdp (95 %)" in text
    many = of(run(*INIT, "--delta", "1e-6", "--queries", "100", "--force", "--json"))
    assert (many["accounting"], "pure is better up to 7" in many["why"]) == ("gdp", True)
    assert 'accounting = "gdp"' in Path("new.toml").read_text()


def test_an_accounting_that_is_named_is_drafted_and_compared() -> None:
    done = of(run(*INIT, "--delta", "1e-6", "--queries", "3", "--accounting", "zcdp", "--json"))
    assert done["accounting"] == "zcdp"
    assert "within 9 with pure" in done["why"]


def test_without_a_number_of_queries_gdp_is_drafted_with_one_line() -> None:
    done = run(*INIT, "--delta", "1e-6")
    assert "Accounting gdp: better for many queries; --queries N compares for yours." in done.stdout
    assert 'accounting = "gdp"' in Path("new.toml").read_text()


def test_a_delta_of_0_is_a_pure_study() -> None:
    done = of(run(*INIT, "--delta", "0", "--queries", "3", "--json"))
    assert (done["accounting"], done["why"]) == ("pure", "the one whose delta is 0")
    Path("new.toml").write_text(filled(Path("new.toml").read_text()))
    assert read_study(Path("new.toml")).accounting == "pure"


def test_a_draft_says_first_that_columns_may_go_and_where_some_are_left() -> None:
    """A draft says first that columns may go and where something is left."""
    done = run(*INIT, "--delta", "1e-6")
    lines = done.stdout.splitlines()
    assert lines[0] == "Wrote new.toml with 2 columns. Delete the columns that no query needs."
    assert lines[-3:] == [
        "3 entries still say 'FILL IN'. Set them from public knowledge, never from the data.",
        "2 in income",
        "1 in region",
    ]
    assert Path("new.toml").read_text().startswith("# First delete the columns that no query needs")
    assert of(run(*INIT, "--delta", "0", "--force", "--json"))["columns"] == [
        {"name": "income", "to_fill_in": 2},
        {"name": "region", "to_fill_in": 1},
    ]
    wrong = run("check", "new.toml").stderr
    assert wrong.count("or delete the column") == 2


def test_a_number_of_rows_that_is_private_is_asked_for_in_the_draft() -> None:
    """Without --rows.  Mutants: it is refused before any file exists; the draft leaves it out, or takes it from the data."""
    private = (*INIT, "--adjacency", "add-remove", "--delta", "1e-6")
    assert "1 in [table]" in run(*private).stdout
    draft = Path("new.toml").read_text()
    assert 'rows = "FILL IN"  # a public guess of how many rows there are' in draft
    assert "2000" not in draft
    Path("new.toml").write_text(filled(draft))
    assert "table.rows says 'FILL IN'" in run("check", "new.toml").stderr
    Path("new.toml").write_text(filled(draft).replace('rows = "FILL IN"', "rows = 3000"))
    assert read_study(Path("new.toml")).table.rows == 3000
    Path("new.toml").write_text(filled(draft).replace('rows = "FILL IN"', "# none"))
    assert "must be below 1e-8 unless table.rows says how many" in run("check", "new.toml").stderr
    refused = run(*private, "--rows", "1000001", "--force")
    assert (refused.exit_code, "must be below 1/rows = 1/1000001" in refused.stderr) == (2, True)
    small = run(*INIT, "--adjacency", "add-remove", "--delta", "1e-9", "--force")
    assert "[table]" not in small.stdout
    Path("new.toml").write_text(filled(Path("new.toml").read_text()))
    assert read_study(Path("new.toml")).table.rows is None


def filled(draft: str) -> str:
    """With bounds and values."""
    for key, bound in (("low", "0"), ("high", "1")):
        draft = re.sub(rf'{key} = "FILL IN"', f"{key} = {bound}", draft)
    return re.sub(r'values = "FILL IN"', 'values = ["north"]', draft)


@pytest.mark.parametrize("number", ["0", "-3", "many", "1e9", "9999999"])
def test_a_number_of_queries_that_means_nothing_is_refused(number: str) -> None:
    done = run(*INIT, "--delta", "1e-6", "--queries", number)
    assert done.exit_code == 2
    assert "--queries" in done.stderr
    assert not Path("new.toml").exists()


def numbers(text: str) -> list[int]:
    return [int(number) for number in re.findall(r"^│ +([0-9]+) +│", text, re.MULTILINE)]


def test_receipts_shows_the_newest_and_how_to_see_the_others() -> None:
    """Mutants: the oldest are shown; the earlier ones are not counted; a page overlaps with the next."""
    with adyton.open("gdp.toml") as curator:
        for i in range(70):
            curator.ask(f"SELECT COUNT(*) FROM people WHERE income < {20_000 + i}", epsilon="0.001")
        found = curator.receipts()
    said = run("receipts", "gdp.toml").stdout
    assert numbers(said) == list(range(11, 71))
    assert "10 earlier receipts are not shown: --before 11." in said
    assert numbers(run("receipts", "gdp.toml", "--before", "11").stdout) == list(range(1, 11))
    assert "earlier" not in run("receipts", "gdp.toml", "--last", "70").stdout
    assert numbers(run("receipts", "gdp.toml", "--last", "70").stdout) == list(range(1, 71))
    page = run("receipts", "gdp.toml", "--last", "2", "--before", "5").stdout
    assert numbers(page) == [3, 4]
    assert "2 earlier receipts are not shown: --before 3." in page
    assert "Nothing was charged before 1." in run("receipts", "gdp.toml", "--before", "1").stdout
    told = [of(run("receipts", "gdp.toml", *words, "--json"))["receipts"] for words in ((), ("--last", "3"))]
    assert [[one["number"] for one in receipts] for receipts in told] == [list(range(1, 71)), [68, 69, 70]]
    for words in (("--last", "0"), ("--before", "0"), ("--last", "many")):
        refused = run("receipts", "gdp.toml", *words)
        assert refused.exit_code == 2
        assert words[0] in refused.stderr

    assert numbers(str(found)) == list(range(11, 71))
    assert "10 earlier receipts are not shown: newest(before=11)." in str(found)
    assert numbers(str(found.newest(before=11))) == list(range(1, 11))
    assert [receipt.number for receipt in found.newest(2)] == [69, 70]
    assert len(found) == 70
    for wrong in (0, True, "3"):
        with pytest.raises(adyton.InvalidRequest, match="last is a whole number"):
            found.newest(wrong)  # type: ignore[arg-type]


def test_nothing_was_charged_in_a_new_study() -> None:
    for words in ((), ("--last", "5"), ("--json",)):
        done = run("receipts", "gdp.toml", *words)
        assert done.exit_code == 0
        assert "Nothing was charged yet." in done.stdout or of(done)["receipts"] == []
