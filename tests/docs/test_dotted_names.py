"""Every dotted name of adyton in the documentation is one that Python finds."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

from adyton.transports.pg.catalog.facts import VIEWS
from adyton.transports.pg.settings import SessionSettings

ROOT = Path(__file__).parents[2]
PAGES = [
    *(ROOT / f"{name}.md" for name in ("README", "ARCHITECTURE", "CONTRIBUTING")),
    *ROOT.glob("docs/**/*.md"),
]
DOTTED = re.compile(r"(?<![\w/.\"'-])adyton(?:\.[A-Za-z_]\w*)+")
LOGS = {"adyton.operator"}  # the name of a log
WIRE = {name for name, _ in SessionSettings("x").all()} | {f"adyton.{name}" for name, _, _ in VIEWS}  # in SQL


def resolves(name: str) -> bool:
    """Attributes first: ``adyton.open`` is no module, and a module may be hidden by what it holds."""
    found, place = import_module("adyton"), "adyton"
    for part in name.split(".")[1:]:
        place = f"{place}.{part}"
        try:
            found = getattr(found, part)
        except AttributeError:
            try:
                found = import_module(place)
            except ImportError:
                return False
    return True


def names_in(text: str) -> set[str]:
    return set(DOTTED.findall(text)) - LOGS - WIRE


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_dotted_name_exists(page: Path) -> None:
    assert [name for name in sorted(names_in(page.read_text())) if not resolves(name)] == []


def test_wrong_names_are_seen_and_right_ones_found() -> None:
    """The mutants: a name that never was, a module and a method that moved."""
    text = (
        "`adyton.testing.LedgerContracts`, adyton.curator.making and adyton.Curator.sql(...), src/adyton/x.py"
    )
    wrong = {"adyton.testing.LedgerContracts", "adyton.curator.making", "adyton.Curator.sql"}
    assert names_in(text) == wrong
    assert not any(map(resolves, wrong))
    assert resolves("adyton.testing.LedgerContract")
    assert resolves("adyton.curator.bounds.suggest_bounds")
    assert sum(len(names_in(page.read_text())) for page in PAGES) > 20
