"""Tie each theorem to the code it speaks about.

A page in theorems/ names functions (``code:``, separated by commas) and the fingerprint that they had when a
person last compared them with the page (``read_at:``).  Change a function and ``stale`` names the page until
someone reads both again and blesses it:  make bless ID=GDP-FILTER

The fingerprint is taken from the syntax tree: comments, docstrings and layout do not count.
"""

import ast
import functools
import hashlib
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGES = ROOT / "docs" / "theorems"


def fingerprint(places: str) -> str:
    digest = hashlib.sha256()
    for place in places.split(","):
        digest.update(_syntax(place.strip()).encode())
    return digest.hexdigest()[:12]


@functools.cache
def _tree(path: str) -> ast.AST:
    """Of a file, without docstrings."""
    tree = ast.parse((ROOT / path).read_text())
    for inner in ast.walk(tree):
        if isinstance(inner, ast.FunctionDef | ast.ClassDef | ast.Module) and ast.get_docstring(inner):
            inner.body = inner.body[1:] or [ast.Pass()]
    return tree


def _syntax(place: str) -> str:
    path, _, name = place.partition("::")
    node = _tree(path)
    for part in name.split(".") if name else ():
        found = [n for n in ast.iter_child_nodes(node) if getattr(n, "name", None) == part]
        if not found:
            raise SystemExit(f"{place} does not exist")
        node = found[0]
    return ast.dump(node)


def field(text: str, key: str) -> str:
    match = re.search(rf"^{key}: (.*)$", text, re.M)
    if match is None:
        raise SystemExit(f"a theorem page has no {key!r}")
    return match.group(1).strip()


def stale() -> list[str]:
    """Theorems whose code has moved since a person last read them together."""
    pages = {page.stem: page.read_text() for page in sorted(PAGES.glob("*.md"))}
    return [n for n, text in pages.items() if field(text, "read_at") != fingerprint(field(text, "code"))]


def bless(names: list[str]) -> None:
    for name in names:
        page = PAGES / f"{name}.md"
        text = page.read_text()
        new = f"read_at: {fingerprint(field(text, 'code'))}"
        page.write_text(re.sub(r"^read_at: .*$", new, text, flags=re.M))


if __name__ == "__main__":
    bless(sys.argv[1:])
    if late := stale():
        raise SystemExit(f"read again, then bless: {', '.join(late)}")
