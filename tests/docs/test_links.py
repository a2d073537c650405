"""Relative links lead somewhere, and so do the headings that they name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pages import all_pages, name_of

_LINK = re.compile(r"\[[^\]]+\]\(([^)\s]+)\)")


def checkpoints_of(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", all_pages(), ids=name_of)
def test_relative_links_exist(page: Path) -> None:
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for link in _LINK.findall(text):
        if "://" in link:
            continue
        path, _, checkpoint = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{name_of(page)} links to {link}"
        if checkpoint:
            assert checkpoint in checkpoints_of(target), f"{name_of(page)} links to {link}"
