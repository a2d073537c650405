"""ARCHITECTURE.md: its table of layers is the list that import-linter holds, and its path of a query is real."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from pages import ROOT, program

from query_path import SOURCE, files_called, one_query

PAGE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
STEPS = re.findall(r"^\| \d+ \| (.+?) \| (.+?) \|", PAGE, flags=re.MULTILINE)


def layers_of_the_page() -> list[set[str]]:
    table = PAGE.partition("| layer | what it knows |")[2].partition("\n\n")[0]
    rows = re.findall(r"^\| (`.+?) \|", table, flags=re.MULTILINE)
    return [{re.sub(r"/$|\.py$", "", name) for name in re.findall(r"`([^`]+)`", row)} for row in rows]


def layers_that_are_held() -> list[set[str]]:
    raw = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    lines = raw["tool"]["importlinter"]["contracts"][0]["layers"]
    return [set(re.findall(r"\w+", line)) for line in lines]


def test_the_layers_are_those_of_import_linter_in_their_order() -> None:
    shown, held = layers_of_the_page(), layers_that_are_held()
    assert len(shown) == len(held)
    for on_the_page, all_of_them in zip(shown, held, strict=True):
        assert on_the_page == all_of_them


def test_the_picture_of_the_layers_is_current() -> None:
    """Mutant: one import more in the source, or a layer less in the contract."""
    shown = (ROOT / "docs" / "figures" / "layers.svg").read_text(encoding="utf-8")
    assert shown == program("layers").picture(), "the rooms have changed: python docs/layers.py"


def test_the_path_of_a_query_has_no_gaps() -> None:
    numbers = [int(n) for n in re.findall(r"^\| (\d+) \|", PAGE, flags=re.MULTILINE)]
    assert numbers == list(range(1, len(numbers) + 1))


@pytest.mark.parametrize(("functions", "files"), STEPS)
def test_every_step_is_where_the_page_says(functions: str, files: str) -> None:
    paths = [SOURCE / name for name in re.findall(r"`([\w/]+\.py)`", files)]
    assert paths
    assert all(path.is_file() for path in paths)
    text = "".join(path.read_text(encoding="utf-8") for path in paths)
    for name in re.findall(r"`([\w.]+)`", functions):
        last = name.rpartition(".")[2]
        assert re.search(rf"^\s*(?:def|class) {last}\b", text, flags=re.MULTILINE), name


def test_the_query_passes_through_every_step(tmp_path: Path) -> None:
    """The page's query goes through every file of its steps.  Mutant: a step with a file that is not used."""
    called = files_called(one_query(tmp_path))
    named = set(re.findall(r"`([\w/]+\.py)`", "\n".join(files for _, files in STEPS)))
    assert len(named) > 15
    assert named - called == set()


def test_every_decision_has_its_page_in_the_index() -> None:
    """Mutants: a page that the index leaves out, a title that differs, a page without its consequences."""
    index = (ROOT / "docs" / "decisions.md").read_text(encoding="utf-8")
    named = re.findall(r"^- \[([^\]]+)\]\(decisions/([\w-]+)\.md\)", index, flags=re.MULTILINE)
    pages = {
        page.stem: page.read_text(encoding="utf-8") for page in (ROOT / "docs" / "decisions").glob("*.md")
    }
    assert sorted(stem for _, stem in named) == sorted(pages)
    for title, stem in named:
        headings = re.findall(r"^#+ (.+)$", pages[stem], flags=re.MULTILINE)
        assert headings == [title, "Context", "Decision", "Consequences"], stem
        assert len(pages[stem].splitlines()) <= 40, stem


def test_the_page_can_be_read_at_once() -> None:
    assert len(PAGE.splitlines()) <= 250


def test_make_quick_names_tests_that_exist() -> None:
    """Otherwise it runs none at all."""
    listed = (ROOT / "Makefile").read_text(encoding="utf-8").partition("QUICK :=")[2].partition(")")[0]
    names = re.findall(r"[\w/]+\.py", listed)
    assert len(names) > 10
    assert [name for name in names if not (ROOT / "tests" / name).is_file()] == []
