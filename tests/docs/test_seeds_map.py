"""docs/seeds.md: every row of the sources once, and every place that it names exists."""

from __future__ import annotations

import re

import pytest
from pages import ROOT

from adyton.lab import EXPERIMENTS

PAGE = (ROOT / "docs" / "seeds.md").read_text(encoding="utf-8")
ROWS = {
    row: (item.strip(), where.strip())
    for row, item, where in re.findall(r"^\| (\d{3}-\d{2}) \| (.+?) \| (.+?) \|$", PAGE, flags=re.MULTILINE)
}
HOW_MANY = {"000": 39, "001": 10, "002": 34, "003": 17, "004": 12}
PLACES = {row: re.findall(r"`([^`]+)`", where) for row, (_, where) in ROWS.items()}
AUTHORS = dict(re.findall(r"^## (\d{3}): .* \((.+)\)$", PAGE, flags=re.MULTILINE))
LAB = {topic.name: topic for topic in EXPERIMENTS}


def test_there_is_one_row_for_every_row_of_the_sources() -> None:
    expected = {f"{seed}-{n:02d}" for seed, rows in HOW_MANY.items() for n in range(1, rows + 1)}
    assert len(expected) == 112
    assert set(ROWS) == expected
    assert (
        len(re.findall(r"^\| \d{3}-\d{2} \|", PAGE, flags=re.MULTILINE)) == 112
    )  # none twice, none malformed


@pytest.mark.parametrize("row", ROWS)
def test_a_row_names_places_and_nothing_else(row: str) -> None:
    item, where = ROWS[row]
    assert len(item) >= 8
    assert PLACES[row]
    assert re.sub(r"`[^`]+`", "", where).strip(" ,") == ""


@pytest.mark.parametrize("row", PLACES)
def test_every_place_exists(row: str) -> None:
    for place in PLACES[row]:
        assert exists(place), f"{row} names {place}"


def exists(place: str) -> bool:
    """A lab entry, a heading of a page, a file, or a name in a file: the start of a test's name will do."""
    if place.startswith("adyton lab "):
        return place.removeprefix("adyton lab ") in LAB
    path, _, name = place.replace("#", "::").partition("::")
    file = ROOT / path
    if not file.is_file():
        return False
    text = file.read_text(encoding="utf-8")
    if "#" in place:
        return name in {
            heading.lower().replace(" ", "-") for heading in re.findall(r"^#+ (.+)$", text, re.MULTILINE)
        }
    end = "" if name.startswith("test_") else r"\b"
    return not name or re.search(rf"^\s*(?:def|class) {re.escape(name)}{end}", text, re.MULTILINE) is not None


def test_what_does_not_exist_is_noticed() -> None:
    assert exists("src/adyton/privacy.py::Guarantee")
    for wrong in (
        "src/adyton/privacy.py::Guarante",
        "src/adyton/none.py",
        "adyton lab none",
        "docs/seeds.md#none",
    ):
        assert not exists(wrong)


@pytest.mark.parametrize("name", LAB)
def test_the_page_and_the_lab_name_each_other(name: str) -> None:
    on_the_page = {row[:3] for row, places in PLACES.items() if f"adyton lab {name}" in places}
    authors = {AUTHORS[seed] for seed in on_the_page}
    papers = {
        "Dinur, Nissim",
        "Mironov",
        "Li, Hay, Rastogi, Miklau, McGregor",
        "Bousquet, Elisseeff",
    }  # of entries that no lecture notes describe
    assert authors == {notes.author for notes in LAB[name].notes} - papers


def test_every_correction_is_about_a_finished_row() -> None:
    corrected = re.findall(r"^- \*\*(\d{3}-\d{2})\.\*\*", PAGE, flags=re.MULTILINE)
    assert len(corrected) >= 10
    assert set(corrected) == {row for row, places in PLACES.items() if "docs/seeds.md#corrections" in places}
