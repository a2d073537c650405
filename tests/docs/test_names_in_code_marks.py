"""What the documentation writes in code marks is there: files, names of the code, options of commands."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer
from pages import ROOT, all_pages, name_of

from adyton.transports.cli.app import app

PAGES = [page for page in all_pages() if page.name != "CHANGELOG.md"]  # which speaks of what was, too
FOR_PROGRAMMERS = [
    ROOT / "ARCHITECTURE.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs" / "decisions").glob("*.md")),
]
PLACES = ("", "src", "src/adyton", "tests", "docs")
FILE = re.compile(r"[\w./-]+\.(?:py|md|sql|service)")
FOLDER = re.compile(r"(?:src|tests|docs|benchmarks|deploy|examples)(?:/[\w.-]+)*/?")
PLACEHOLDERS = {"NAME", "ID", "test_NAME", "test_theorem_ID", "utils"}
OF_OTHER_PROGRAMS = {
    "--strict",
    "--schema",
    "--format",
    "--file",
    "--module",
    "--line",
}  # mypy, pg_dump, tests/mutants.py


def code_marks(page: Path) -> set[str]:
    return set(re.findall(r"`([^`\n]+)`", page.read_text(encoding="utf-8")))


@cache
def files() -> frozenset[Path]:
    return frozenset(path for place in PLACES[1:] for path in (ROOT / place).rglob("*.*"))


@cache
def names_of_files() -> frozenset[str]:
    """A page names a folder once and then its files."""
    return frozenset(path.name for path in files())


def is_there(named: str, page: Path) -> bool:
    path = named.partition("::")[0]
    found = any((folder / path).exists() for folder in (page.parent, *(ROOT / place for place in PLACES)))
    return found or ("/" not in path and path in names_of_files())


def missing_files(page: Path) -> list[str]:
    marks = {mark for mark in code_marks(page) if not PLACEHOLDERS & set(re.findall(r"\w+", mark))}
    paths = {mark for mark in marks if FILE.fullmatch(mark.partition("::")[0]) or FOLDER.fullmatch(mark)}
    return sorted(mark for mark in paths if not is_there(mark, page))


@cache
def words_of_the_code() -> frozenset[str]:
    kinds = (".py", ".js", ".html", ".toml")
    sources = [path for path in files() if path.suffix in kinds and path != Path(__file__)]
    texts = [
        path.read_text(encoding="utf-8") for path in (*sources, ROOT / "Makefile", ROOT / "pyproject.toml")
    ]
    return frozenset(re.findall(r"\w+", "\n".join([*texts, *(path.stem for path in files())])))


def unknown_words(page: Path) -> list[str]:
    words = {word for mark in code_marks(page) for word in re.findall(r"[A-Za-z_]\w+", mark)}
    return sorted(word for word in words - words_of_the_code() - PLACEHOLDERS if not word.endswith("_"))


def commands(command: Any, *path: str) -> Iterator[tuple[tuple[str, ...], set[str]]]:
    yield path, {"--help", *(name for one in command.params for name in (*one.opts, *one.secondary_opts))}
    for name, inner in getattr(command, "commands", {}).items():
        yield from commands(inner, *path, name)


@cache
def options() -> dict[tuple[str, ...], set[str]]:
    return dict(commands(typer.main.get_command(app)))


def wrong_options(text: str) -> list[str]:
    """Options after a command of adyton that it does not have, and elsewhere those that no command has."""
    wrong, every = set(), set().union(*options().values()) | OF_OTHER_PROGRAMS
    for line in re.sub(r"\\\n\s*", " ", text).splitlines():
        wrong |= {option for option in re.findall(r"(?<![\w-])--[a-z][\w-]*", line) if option not in every}
        for asked in re.findall(r"\badyton ([a-z][^`|;&#]*)", line):
            words = tuple(asked.split())
            command = max((words[:many] for many in range(3) if words[:many] in options()), key=len)
            if command:
                given = re.findall(r"(?<![\w-])--[a-z][\w-]*", asked)
                wrong |= {
                    f"{' '.join(command)} {option}" for option in given if option not in options()[command]
                }
    return sorted(wrong)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_file_and_every_option_that_is_named_exists(page: Path) -> None:
    assert missing_files(page) == []
    assert wrong_options(page.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("page", FOR_PROGRAMMERS, ids=name_of)
def test_every_name_of_the_code_exists(page: Path) -> None:
    assert unknown_words(page) == []


def test_what_does_not_exist_is_seen(tmp_path: Path) -> None:
    """The mutants: a hook that is gone, a file that moved, an option of another command."""
    page = tmp_path / "page.md"
    page.write_text(
        "`_calibrator` in `planning/plans.py`, `price_of` in `planning/price.py`, `price.py`, `src/adytons/`"
    )
    assert unknown_words(page) == ["_calibrator", "adytons"]
    assert missing_files(page) == ["planning/plans.py", "src/adytons/"]
    assert wrong_options("`adyton serve people.toml --json`, `adyton ask x --json --widthin 3`") == [
        "--widthin",
        "ask --widthin",
        "serve --json",
    ]


def test_every_command_but_those_that_are_named_takes_json() -> None:
    """README.md and docs/reference/cli.md say so."""
    without = {path for path, names in options().items() if path and "--json" not in names}
    groups = {path[:-1] for path in options() if len(path) > 1}
    assert without - groups == {("serve",), ("mcp",)}
