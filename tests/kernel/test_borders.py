"""Nobody outside of the kernel makes what only the kernel may make, reads exact integers or charges a ledger.

Read from the syntax tree of every module, so a line that breaks the law is named.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import adyton

SOURCE = Path(adyton.__file__).parent
MADE_HERE = {"Priced", "Paid", "Released", "made_here"}
READS = {"exact", "found"}
# Packages that hold ledgers and engines, that build them, or that attack and test them.
KEEPS_LEDGERS = {"kernel", "ledgers", "testing"}
KEEPS_ENGINES = {"kernel", "engines", "testing"}
MAY_READ = {"setup/exact.py": "one function, for the owner and the auditor: nothing of it is released"}
# What adds up labels, what draws noise, and what makes an amount: of a holdout one module may do the first.
ADDS_LABELS, READS_LABELS = {"values_of", "total"}, "holdout/labels.py"
MAKES_NOISE_OR_AMOUNTS = {
    "draw", "draw_one", "choose", "flip", "winner", "cost", "units_up", "stability_units", "Order", "Due", "record",
}  # fmt: skip
MAY_CHARGE = {
    "service/named_ledger.py": "a ledger in front of another one",
    "service/studies.py": "a ledger in front of another one",
}


def modules() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(SOURCE.rglob("*.py")):
        yield path.relative_to(SOURCE).as_posix(), ast.parse(path.read_text())


def calls(tree: ast.AST) -> Iterator[tuple[int, str, bool]]:
    """The line and the name of all that is called, and whether it is a method."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name):
                yield node.lineno, node.func.id, False
            elif isinstance(node.func, ast.Attribute):
                yield node.lineno, node.func.attr, True


def broken(name: str, tree: ast.Module) -> Iterator[str]:
    package = name.split("/")[0]
    from_kernel = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("adyton.kernel")
        for alias in node.names
        if alias.name in MADE_HERE
    }
    for line, called, method in calls(tree):
        where = f"{name}:{line} calls {called}"
        if package != "kernel" and (called in from_kernel or called == "made_here"):
            yield where
        may_read = package in KEEPS_ENGINES or name in MAY_READ
        if method and called in READS and not may_read and reads_an_engine(tree, line, called):
            yield where
        if method and called == "charge" and package not in KEEPS_LEDGERS and name not in MAY_CHARGE:
            yield where


def broken_by_a_holdout(name: str, tree: ast.Module) -> Iterator[str]:
    """Where it sees an exact score, adds noise, or works out what is charged."""
    if not name.startswith("holdout/"):
        return
    for line, called, _ in calls(tree):
        if called in MAKES_NOISE_OR_AMOUNTS or (called in ADDS_LABELS and name != READS_LABELS):
            yield f"{name}:{line} calls {called}"
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("adyton.kernel.noise"):
            others = {alias.name for alias in node.names} - {"Bits", "SystemBits"}
            yield from (f"{name}:{node.lineno} imports {other}" for other in sorted(others))


def reads_an_engine(tree: ast.Module, line: int, called: str) -> bool:
    """``.found`` is a name of other things too: whoever is called it takes a list of readings."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(attr=attr), lineno=at) if (attr, at) == (called, line):
                text = ast.unparse(node)
                return any(word in text for word in ("engine", "reading", "data.", "source", "paid"))
    return False


def test_nobody_outside_makes_reads_or_charges() -> None:
    assert [line for name, tree in modules() for line in broken(name, tree)] == []


def test_a_holdout_sees_no_exact_score_and_makes_no_noise_and_no_amount() -> None:
    assert [line for name, tree in modules() for line in broken_by_a_holdout(name, tree)] == []
    assert {called for _, called, _ in calls(dict(modules())[READS_LABELS])} >= ADDS_LABELS


@pytest.mark.parametrize(
    "line",
    [
        "exact = total(values)",
        "values_of(metric, key, within, submission)",
        "Order(query, plan.name, 1, 0)",
        "rounded_gaussian.draw(scale, 1, bits)",
        "amount = units_up((steps / scale) ** 2)",
        "from adyton.kernel.noise import rounded_gaussian",
    ],
)
def test_a_line_of_a_holdout_that_breaks_the_law_is_found(line: str) -> None:
    assert list(broken_by_a_holdout("holdout/holdout.py", ast.parse(line)))


def test_every_exception_is_needed() -> None:
    trees = dict(modules())
    for name in MAY_READ:
        assert any(method and called in READS for _, called, method in calls(trees[name])), name
    for name in MAY_CHARGE:
        assert any(method and called == "charge" for _, called, method in calls(trees[name])), name


@pytest.mark.parametrize(
    "line",
    [
        "from adyton.kernel.paid import Paid\nPaid(priced, ledger, receipt, True)",
        "from adyton.kernel.price import Priced as P\nP(1, 2, 3, 4, 5)",
        "from adyton.kernel.genuine import made_here\nmade_here(forged)",
        "self._engine.exact(readings)",
        "engine.found([reading])",
        "self._ledger.charge(order)",
    ],
)
def test_a_line_that_breaks_the_law_is_found(line: str) -> None:
    assert list(broken("curator/anything.py", ast.parse(line)))


def test_exact_integers_are_given_to_measurements_alone() -> None:
    """One line in the kernel hands them to ``Measurement.release``; engines are called in one class."""
    found = {
        name: [line for line, called, method in calls(tree) if method and called == "release"]
        for name, tree in modules()
        if name.startswith("kernel/")
    }
    assert len(found["kernel/release.py"]) == 1
    reading = {
        name
        for name, tree in modules()
        if name.startswith("kernel/")
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr in READS and "_engine" in ast.unparse(node)
    }
    assert reading == {"kernel/data.py"}
