"""docs/seeds.md: every row of the sources once, where a user meets it, and every place that it names exists."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from collections import Counter
from functools import cache
from typing import Any

import pytest
from pages import ROOT
from typer.main import get_command

from adyton.lab import EXPERIMENTS
from adyton.transports.cli.app import app

PAGE = (ROOT / "docs" / "seeds.md").read_text(encoding="utf-8")
LINES = re.findall(r"^\| (\d{3}-\d{2}) \| (.+?) \| (.+?) \| (.+?) \| (.+?) \|$", PAGE, flags=re.MULTILINE)
ROWS = {row: (item, kind, met, where) for row, item, kind, met, where in LINES}
HOW_MANY = {"000": 39, "001": 10, "002": 34, "003": 17, "004": 12}
PLACES = {row: re.findall(r"`([^`]+)`", where) for row, (_, _, _, where) in ROWS.items()}
MET = {row: re.findall(r"`([^`]+)`", met) for row, (_, _, met, _) in ROWS.items()}
AUTHORS = dict(re.findall(r"^## (\d{3}): .* \((.+)\)$", PAGE, flags=re.MULTILINE))
LAB = {topic.name: topic for topic in EXPERIMENTS}
KINDS = {"user": "reached by a user", "library": "library, on purpose", "lab": "lab", "text": "text"}


def test_there_is_one_row_for_every_row_of_the_sources() -> None:
    expected = {f"{seed}-{n:02d}" for seed, rows in HOW_MANY.items() for n in range(1, rows + 1)}
    assert len(expected) == 112
    assert set(ROWS) == expected
    assert (
        len(re.findall(r"^\| \d{3}-\d{2} \|", PAGE, flags=re.MULTILINE)) == 112
    )  # none twice, none malformed


@pytest.mark.parametrize("row", ROWS)
def test_a_row_says_who_meets_it_where_and_names_places_and_nothing_else(row: str) -> None:
    item, kind, met, where = ROWS[row]
    assert len(item) >= 8
    assert kind in KINDS
    assert re.sub(r"`[^`]+`", "", where).strip(" ,") == ""
    assert PLACES[row]
    lab = [place for place in MET[row] if place.startswith("adyton lab ")]
    commands = [place for place in MET[row] if place.startswith("adyton ") and place not in lab]
    calls = [place for place in MET[row] if place.startswith("adyton.")]
    match kind:
        case "user":
            assert commands or calls
        case "library":
            assert calls
            assert len(met.partition(":")[2]) > 30  # why no command needs it
        case "lab":
            assert lab
        case "text":
            assert re.search(r"\]\(\S+\.md", met)
    assert kind == "text" or any(place.startswith("tests/") for place in PLACES[row]), "no test"


@pytest.mark.parametrize("row", MET)
def test_every_command_and_call_is_there(row: str) -> None:
    for place in MET[row]:
        if place.startswith("adyton lab "):
            assert place.removeprefix("adyton lab ") in LAB, place
        elif place.startswith("adyton "):
            assert is_command(place.split()[1:]), place
        elif place.startswith("adyton."):
            assert resolved(place) is not None, place


commands = cache(lambda: get_command(app))  # made anew, they take longer than all tests of this file


def is_command(words: list[str]) -> bool:
    found: Any = commands()
    for word in words:
        found = getattr(found, "commands", {}).get(word)
        if found is None:
            return False
    return True


def resolved(dotted: str) -> object:
    """A module, or what it holds."""
    parts = dotted.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found: object = importlib.import_module(".".join(parts[:length]))
        except ImportError:
            continue
        for name in parts[length:]:
            found = getattr(found, name, None)
        return found
    return None


def test_the_count_at_the_end_is_right() -> None:
    told = dict(re.findall(r"^\| ([a-z, ]+) \| (\d+) \|$", PAGE, flags=re.MULTILINE))
    seen = Counter(kind for _, kind, _, _ in ROWS.values())
    assert {name: int(told[words]) for name, words in KINDS.items()} == seen
    assert int(told["all"]) == 112


def test_pytest_finds_every_test_by_the_id_that_stands_here(request: pytest.FixtureRequest) -> None:
    """Those that this run has not found already are looked for.  Mutant: an id that is only the beginning of a name."""
    ids = {place for places in PLACES.values() for place in places if place.startswith("tests/")}
    assert len(ids) > 70
    for item in request.session.items:
        ids -= {item.nodeid, item.nodeid.partition("[")[0], item.nodeid.partition("::")[0]}
    if not ids:
        return
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *sorted(ids)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]


@pytest.mark.parametrize("row", PLACES)
def test_every_place_exists(row: str) -> None:
    for place in PLACES[row]:
        assert exists(place), f"{row} names {place}"


def exists(place: str) -> bool:
    """A heading of a page, a file, or a name in a file."""
    path, _, name = place.partition("[")[0].replace("#", "::").partition("::")
    file = ROOT / path
    if not file.is_file():
        return False
    text = file.read_text(encoding="utf-8")
    if "#" in place:
        return name in {
            heading.lower().replace(" ", "-") for heading in re.findall(r"^#+ (.+)$", text, re.MULTILINE)
        }
    return not name or re.search(rf"^\s*(?:def|class) {re.escape(name)}\b", text, re.MULTILINE) is not None


def test_what_does_not_exist_is_noticed() -> None:
    assert exists("src/adyton/kernel/privacy.py::Guarantee")
    for wrong in (
        "src/adyton/kernel/privacy.py::Guarante",
        "src/adyton/none.py",
        "docs/seeds.md#none",
    ):
        assert not exists(wrong)
    assert is_command(["survey", "estimate"])
    assert not is_command(["survey", "none"])
    assert resolved("adyton.Guarantee") is not None
    assert resolved("adyton.Guarante") is None


@pytest.mark.parametrize("name", LAB)
def test_the_page_and_the_lab_name_each_other(name: str) -> None:
    on_the_page = {row[:3] for row, places in MET.items() if f"adyton lab {name}" in places}
    authors = {AUTHORS[seed] for seed in on_the_page}
    papers = {
        "Dinur, Nissim",
        "Mironov",
        "Li, Hay, Rastogi, Miklau, McGregor",
        "Bousquet, Elisseeff",
        "Blumer, Ehrenfeucht, Haussler, Warmuth",
    }  # of entries that no lecture notes describe
    assert authors >= {notes.author for notes in LAB[name].notes} - papers


def test_every_correction_is_about_a_finished_row() -> None:
    corrected = re.findall(r"^- \*\*(\d{3}-\d{2})\.\*\*", PAGE, flags=re.MULTILINE)
    assert len(corrected) >= 10
    assert set(corrected) == {row for row, places in PLACES.items() if "docs/seeds.md#corrections" in places}
