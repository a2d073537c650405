"""Every dotted name of adyton that the documentation mentions exists."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest
from pages import all_pages, name_of

# Not inside a path, an address or a longer word.
DOTTED = re.compile(r"(?<![\w./:-])adyton(?:\.[A-Za-z_]\w*)+")
LOGS = {"adyton.operator"}  # the name of a log, not of a module


def resolved(name: str) -> object:
    """What a dotted name stands for: the longest part of it that is a module, then attributes."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found: object = import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for part in parts[length:]:
            found = getattr(found, part)
        return found
    raise AttributeError(name)


@pytest.mark.parametrize("page", all_pages(), ids=name_of)
def test_every_dotted_name_of_a_page_exists(page: Path) -> None:
    for name in sorted(set(DOTTED.findall(page.read_text(encoding="utf-8"))) - LOGS):
        try:
            resolved(name)
        except AttributeError:
            pytest.fail(f"{name_of(page)} names {name}, which does not exist")


def test_a_name_that_does_not_exist_is_noticed() -> None:
    assert DOTTED.findall("`adyton.testing.NoContract`, see adyton.open") == [
        "adyton.testing.NoContract",
        "adyton.open",
    ]
    with pytest.raises(AttributeError):
        resolved("adyton.testing.NoContract")
