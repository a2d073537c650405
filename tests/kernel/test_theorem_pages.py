"""The theorem pages that a plain query's privacy rests on name code in the kernel alone.

A page counts if a module of the first ring, which is ``kernel/`` without ``kernel/special/``, names it.  What else a
page names is listed here with its reason.
"""

from __future__ import annotations

import re
from pathlib import Path

import adyton

ROOT = Path(__file__).parents[2]
KERNEL = Path(adyton.__file__).parent / "kernel"
BEYOND = {
    "HINGE-OF-A-PAIR": "about population intervals: why noise has a radius",
    "JOINED-ROWS": "an engine bounds the rows of a person; planning counts groups to choose noise",
    "NOISE-INTERVAL": "about noise intervals: privacy rests on no line of it",
    "NOISY-SEARCH": "also about the interval of a quantile",
    "ONE-ANSWER": "also about who asks the kernel: the curator, a holdout, a ledger behind a checkpoint",
    "PURE-FILTER": "also about the epsilon that is shown while a study runs",
    "RESTORED-LEDGER": "also about what a restored ledger means for population intervals",
    "ROUNDING-STUDY": "about population intervals: why answers are put on a grid",
    "SPLIT-STUDY": "an engine divides the units; population intervals use that",
    "TWO-LEVEL": "an engine adds up the rows of each person; planning chooses what is read",
}


def named_by_the_first_ring() -> set[str]:
    texts = [path.read_text(encoding="utf-8") for path in KERNEL.rglob("*.py") if "special" not in path.parts]
    words = set(re.findall(r"[A-Z0-9]+(?:-[A-Z0-9]+)+", "\n".join(texts)))
    return {word for word in words if (ROOT / "docs" / "theorems" / f"{word}.md").exists()}


def code_outside(page: str) -> list[str]:
    text = (ROOT / "docs" / "theorems" / f"{page}.md").read_text(encoding="utf-8")
    (listed,) = re.findall(r"^code: (.*)$", text, flags=re.MULTILINE)
    return [place for place in listed.split(", ") if not place.startswith("src/adyton/kernel/")]


def test_pages_of_a_plain_query_name_code_of_the_kernel() -> None:
    """Mutants: ``src/adyton/planning/plan.py`` on the page GDP-FILTER; an entry of ``BEYOND`` that is not needed."""
    pages = named_by_the_first_ring()
    assert len(pages) > 20
    assert {page for page in pages if code_outside(page)} == BEYOND.keys()
