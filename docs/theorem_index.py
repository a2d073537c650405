"""Writes docs/theorems.md: theorems that an answer may cite, what stands behind them, and the textbook.

    python docs/theorem_index.py     # after a page was added, or its code moved

A certificate can only name an id that is written in the code of a room that certifies: those are read here,
so the first list cannot forget one.  A test compares the page with what this program writes.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "adyton"
PAGES = ROOT / "docs" / "theorems"
INDEX = ROOT / "docs" / "theorems.md"

# Rooms and files that put theorems to answers, previews, budgets, monitors and scores.
CERTIFYING = (
    "kernel/accounting/rules.py",
    "accounting/odometer.py",
    "curator/",
    "holdout/",
    "kernel/mechanisms/gaussian.py",
    "kernel/mechanisms/geometric.py",
    "kernel/special/mechanisms/sparse/",
    "planning/",
    "population/",
    "monitors/",
    "validity/last_look/",
)
# Rooms on no answer's path.
TEXTBOOK = (
    "accounting/pld/",
    "accounting/textbook/",
    "literature/",
    "kernel/special/mechanisms/selection/",
    "kernel/special/mechanisms/workloads/",
    "kernel/special/mechanisms/exponential_weights.py",
    "textbook/",
    "validity/published/",
    "validity/textbook/",
)

WORDS = """\
# The theorems

One page for each, tied to the code it speaks about and to a test that would refute it:
[CONTRIBUTING](../CONTRIBUTING.md#the-theorem-registry) says how. They stand beside the room where their code
begins. `python docs/theorem_index.py` writes this list.

## What an answer may cite

The ids in the certificate of an answer, a preview, a budget, a monitor or a score of a holdout;
`--verbose` and `--json` show them.

{cited}

## What stands behind answers, and is not cited

Samplers, receipts, plans, widths that the theorems above are built from, and the audit.

{behind}

## Textbook and comparison

No answer rests on these: composition and conversion for `adyton compose`, `calibrate` and `plan`, mechanisms
that stand beside studies, and published theorems that ours are compared with. `literature` is in tests/, as
no part of adyton uses it.

{textbook}
"""


def cited() -> set[str]:
    """The ids that a certificate can contain: those written in the code of the rooms that certify."""
    known = {page.stem for page in PAGES.glob("*.md")}
    files = [f for f in SOURCE.rglob("*.py") if f.relative_to(SOURCE).as_posix().startswith(CERTIFYING)]
    return known & {text for file in files for text in _texts(file)}


def place_of(name: str) -> str:
    """The first piece of code that a page speaks about."""
    page = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    places = re.search(r"^code: (?:src/adyton|tests)/([^,\s]+)", page, re.MULTILINE)
    assert places is not None, name
    return places[1]


def index() -> str:
    named = cited()
    others = [page.stem for page in sorted(PAGES.glob("*.md")) if page.stem not in named]
    textbook = [name for name in others if place_of(name).startswith(TEXTBOOK)]
    behind = [name for name in others if name not in textbook]
    return WORDS.format(cited=_lines(named), behind=_lines(behind), textbook=_lines(textbook))


def _texts(file: Path) -> set[str]:
    """Every constant text of a file; a docstring is one, but never the id of a theorem alone."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return {n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)}


def _lines(names: Iterable[str]) -> str:
    """One line a room, with the pages whose code begins there."""
    rooms: dict[str, list[str]] = defaultdict(list)
    for name in sorted(names):
        rooms[place_of(name).partition("::")[0].rpartition("/")[0]].append(f"[{name}](theorems/{name}.md)")
    return "\n".join(f"- `{room or 'adyton'}`: {', '.join(links)}" for room, links in sorted(rooms.items()))


if __name__ == "__main__":
    INDEX.write_text(index(), encoding="utf-8")
