"""No code recognizes a receipt by its text: what it is for stands in its subject."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "adyton"
TEXTS = {"query", "detail"}
ASKING = {"startswith", "endswith", "find", "index", "partition", "split", "removeprefix", "count"}
PATTERNS = {"match", "search", "fullmatch", "findall", "finditer", "sub", "split"}


def is_text_of_an_order(node: ast.AST) -> bool:
    """``....order.query``, ``order.detail`` and the like, in any parentheses."""
    if not isinstance(node, ast.Attribute) or node.attr not in TEXTS:
        return False
    owner = node.value
    name = owner.attr if isinstance(owner, ast.Attribute) else owner.id if isinstance(owner, ast.Name) else ""
    return name in {"order", "label", "earlier", "charged", "asked"}


def looks_into_texts(tree: ast.AST) -> Iterator[int]:
    """The lines where a text of a receipt is looked into."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            asked, given = node.func, node.args
            pattern = isinstance(asked.value, ast.Name) and asked.value.id == "re" and asked.attr in PATTERNS
            if (asked.attr in ASKING and is_text_of_an_order(asked.value)) or (
                (pattern or asked.attr in PATTERNS) and any(map(is_text_of_an_order, given))
            ):
                yield node.lineno
        elif isinstance(node, ast.Compare):
            inside = [isinstance(one, ast.In | ast.NotIn) for one in node.ops]
            if any(
                yes and is_text_of_an_order(one) for yes, one in zip(inside, node.comparators, strict=True)
            ):
                yield node.lineno
            literal = [
                one for one in (node.left, *node.comparators) if isinstance(one, ast.Constant | ast.JoinedStr)
            ]
            if literal and any(map(is_text_of_an_order, (node.left, *node.comparators))):
                yield node.lineno
        elif isinstance(node, ast.Subscript) and is_text_of_an_order(node.value):
            yield node.lineno


@pytest.mark.parametrize(
    "code",
    [
        'order.query.startswith("STREAM OF ")',
        'receipt.order.detail.startswith("[[")',
        '"STDDEV(" in receipt.order.query',
        'receipt.order.query == "THE RESERVE WAS OPENED"',
        're.findall("x", one.order.query)',
        "_ONE_TEXT.findall(receipt.order.query)",
        'order.query[:5] == "SCORE"',
        'label.query.partition(" AS ")',
    ],
)
def test_what_looks_into_a_text_is_found(code: str) -> None:
    assert list(looks_into_texts(ast.parse(code)))


def test_no_code_recognizes_a_receipt_by_its_text() -> None:
    """Mutant: ``closed_by`` that asks whether the newest receipt's query begins with "LAST "."""
    found = [
        f"{path.relative_to(SOURCE)}:{line}"
        for path in sorted(SOURCE.rglob("*.py"))
        for line in looks_into_texts(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert found == []


def test_no_statement_of_a_ledger_looks_into_a_text() -> None:
    """Mutant: ``instr(query, ?) > 0`` in ``find_kinds``."""
    for path in (*(SOURCE / "kernel" / "ledger").rglob("*.py"), *(SOURCE / "ledgers").rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        texts = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in prose]
        words = [node.value.casefold() for node in texts if isinstance(node.value, str)]
        for asking in ("instr(", "substr(", " like ", " glob ", "strpos"):
            assert not any(asking in word for word in words), path
