"""Every benchmark starts: it is imported, and what it takes from adyton is there, with the arguments that it passes.

Nothing is measured.  A benchmark runs for minutes, so a name that was changed elsewhere would be found weeks later.
"""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"
FILES = sorted(FOLDER.rglob("*.py"))
IMPORTED = """
import sys
from importlib import import_module
sys.path.insert(0, sys.argv[1])
for name in sys.argv[2:]:
    try:
        found = import_module(name)
        if not callable(getattr(found, "run", None)) and not callable(getattr(found, "main", None)):
            print(f"{name}: nothing to run")
    except Exception as error:
        if not isinstance(error, ModuleNotFoundError) or str(error.name).startswith("adyton"):
            print(f"{name}: {error!r}")
"""


def wrong(text: str) -> Iterator[str]:
    """Names that are imported from adyton, anywhere in a program, and are not there; and arguments that they do not take."""
    tree, known = ast.parse(text), dict[str, Any]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for name in (one.name for one in node.names if one.name.startswith("adyton")):
                if find_spec(name) is None:
                    yield name
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("adyton"):
            for one in node.names:
                try:
                    known[one.asname or one.name] = _member(str(node.module), one.name)
                except (ImportError, AttributeError):
                    yield f"{node.module}.{one.name}"
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and (called := _called(node.func, known)) is not None:
            yield from (f"{ast.unparse(node.func)}({name})" for name in _untaken(called, node))


def _member(module: str, name: str) -> Any:
    found = import_module(module)
    return getattr(found, name) if hasattr(found, name) else import_module(f"{module}.{name}")


def _called(function: ast.expr, known: dict[str, Any]) -> Any:
    """What a call is a call of: a name that was imported, or ``adyton.NAME``."""
    if isinstance(function, ast.Name):
        return known.get(function.id)
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
        import adyton

        return getattr(
            adyton if function.value.id == "adyton" else known.get(function.value.id), function.attr, None
        )
    return None


def _untaken(called: Any, call: ast.Call) -> list[str]:
    """The named arguments of a call that a function does not have."""
    try:
        taken = inspect.signature(called).parameters
    except (TypeError, ValueError):
        return []
    if any(one.kind is one.VAR_KEYWORD for one in taken.values()):
        return []
    return [one.arg for one in call.keywords if one.arg is not None and one.arg not in taken]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_benchmark_uses_names_that_are_there(path: Path) -> None:
    """Mutants: a class that a benchmark imports inside of a function is renamed; so is an argument."""
    assert list(wrong(path.read_text(encoding="utf-8"))) == []


def test_every_benchmark_can_be_imported_and_run() -> None:
    """In one process, as ``run.py`` does.  What needs a library that is not installed is left out."""
    names = sorted(path.stem for path in FOLDER.glob("*.py"))
    done = subprocess.run(
        [sys.executable, "-c", IMPORTED, str(FOLDER), *names], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert len(names) > 20


def test_the_comparison_of_two_checkouts_starts() -> None:
    command = [sys.executable, str(FOLDER / "pairs.py"), "--help"]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0


def test_what_is_missing_is_found() -> None:
    """The mutants of the tests above."""
    inside = "def run():\n    from adyton.kernel.mechanisms import {}\n    {}"
    assert list(wrong(inside.format("GaussianNoise", "GaussianNoise(scales=())"))) == []
    assert list(wrong(inside.format("NormalNoise", "pass"))) == ["adyton.kernel.mechanisms.NormalNoise"]
    assert list(wrong(inside.format("GaussianNoise", "GaussianNoise(sigmas=())"))) == [
        "GaussianNoise(sigmas)"
    ]
    assert list(wrong("import adyton\nadyton.Guarantee(eps=1)")) == ["adyton.Guarantee(eps)"]
