"""The JSON page on suggested bounds and mocks says what is printed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pages import ROOT, first_cells, sections_of
from test_reference import STUDY, paths
from typer.testing import CliRunner

from adyton.transports.cli.app import app
from support.worlds import make_people


@pytest.fixture
def sections(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    monkeypatch.chdir(tmp_path)
    make_people(tmp_path)
    Path("people.toml").write_text(STUDY, encoding="utf-8")
    return sections_of(ROOT / "docs" / "reference" / "json.md")


def printed(*words: str) -> Any:
    done = CliRunner().invoke(app, [*words, "--json"])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_the_page_lists_the_keys_of_suggested_bounds(sections: dict[str, str]) -> None:
    found = printed("suggest-bounds", "people.toml", "income", "--share", "0.1")
    answer = {f"asked.{key}" for key in paths(found["asked"])}  # described there as what ask prints
    assert first_cells(sections["suggest-bounds"]) == set(paths(found)) - answer


def test_the_page_lists_the_keys_of_a_check(sections: dict[str, str]) -> None:
    """With a finding of every kind that has examples, discovered groups, and regions that are missing."""
    rows = ["pid,age,region,city", "7,-5,x,ur", "7,500,north,ur", "8,old,north,ur"]
    rows += [f"{i},30,{'north' if i % 9 else ''},ur" for i in range(9, 3000)]
    Path("odd.csv").write_text("\n".join(rows))
    Path("odd.toml").write_text(
        """
        table = { name = "odd", source = "odd.csv" }
        [privacy]
        unit = "person"
        person = "pid"
        rows_per_person = 2
        adjacency = "add-remove"
        epsilon = 1
        delta = 1e-9
        discovery_delta = 1e-10
        [validity]
        independent = true
        reserve = 0.1
        [columns]
        age = { kind = "integer", low = 0, high = 120 }
        region = { kind = "category", values = ["north"] }
        city = { kind = "text" }
        """
    )
    done = CliRunner().invoke(app, ["check", "odd.toml", "--show-values", "--json"])
    assert done.exit_code == 1
    assert first_cells(sections["check"]) == set(paths(json.loads(done.stdout)))


def test_the_page_lists_the_keys_of_a_mock(sections: dict[str, str]) -> None:
    assert first_cells(sections["mock"]) == set(paths(printed("mock", "people.toml", "-o", "d.csv")))


def test_an_answer_about_a_mock_has_one_key_more(sections: dict[str, str]) -> None:
    query = ("ask", "people.toml", "SELECT region, COUNT(*) FROM people GROUP BY region", "--share", "0.1")
    plain, mock = printed(*query), printed(*query, "--mock")
    assert set(paths(mock)) - set(paths(plain)) == {"mock"}
    assert '`"mock": true`' in sections["ask"]
