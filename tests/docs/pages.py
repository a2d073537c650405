"""The pages of the documentation, for the tests beside this file."""

from __future__ import annotations

import importlib.util
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
_TOP = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")
_FENCE = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: its language, the words after it, its text, and the line where it starts."""

    language: str
    words: str
    text: str
    line: int


def all_pages() -> list[Path]:
    return [ROOT / name for name in _TOP] + sorted((ROOT / "docs").rglob("*.md"))


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def blocks_of(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [
        Block(found[1], found[2].strip(), found[3], text.count("\n", 0, found.start()) + 2)
        for found in _FENCE.finditer(text)
    ]


def sections_of(page: Path) -> dict[str, str]:
    """The text under each heading of the second level, code marks removed from the heading."""
    parts = re.split(r"^## (.+)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {
        title.replace("`", "").strip(): body for title, body in zip(parts[1::2], parts[2::2], strict=True)
    }


def first_cells(section: str) -> set[str]:
    """What stands in code marks at the start of each row of the tables of a section."""
    return set(re.findall(r"^\| `([^`]+)` \|", section, flags=re.MULTILINE))


def program(name: str) -> Any:
    """One of the programs beside the documentation."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    sys.modules[name] = made  # dataclasses look their module up there
    spec.loader.exec_module(made)
    return made
