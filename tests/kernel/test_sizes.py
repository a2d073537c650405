"""How large the project is, and how much of it privacy rests on: printed (``pytest -s``) and bounded.

The bounds are in the table under *Sizes* in ARCHITECTURE.md, each with its reason: whoever raises one says why there.
"""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest
from test_borders import READS, calls, modules, reads_an_engine

from query_path import SOURCE, changes_of_package, one_query

ROOT = Path(__file__).parents[2]
MOST_LINES_OF_A_FUNCTION = 50
MOST_LETTERS_OF_A_TEST = 70
READERS = {"kernel", "engines", "testing"}  # testing has the contracts of engines


@cache
def sources() -> Mapping[str, Path]:
    """The file of each module of adyton."""
    found = {}
    for path in SOURCE.rglob("*.py"):
        parts = path.relative_to(SOURCE.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@cache
def lines_of(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def kernel(*, special: bool) -> set[str]:
    """The modules that privacy rests on, with or without what a plain query does not need."""
    inside = {name for name in sources() if name.split(".")[1:2] in (["kernel"], ["errors"])}
    return inside if special else {name for name in inside if name.split(".")[2:3] != ["special"]}


def lines_by_package(names: set[str]) -> Counter[str]:
    lines: Counter[str] = Counter()
    for name in names:
        inner = name.split(".")[2:3] if sources()[name].parent != SOURCE / "kernel" else []
        lines[".".join(name.split(".")[1:2] + inner)] += lines_of(sources()[name])
    return lines


def readers_outside() -> list[str]:
    """Functions that ask an engine for exact integers, in no package of ``READERS``."""
    found = []
    for name, tree in modules():
        if name.split("/")[0] in READERS:
            continue
        asking = {line for line, called, method in calls(tree) if method and called in READS}
        asking = {line for line in asking if any(reads_an_engine(tree, line, one) for one in READS)}
        found += [
            f"{name}:{node.name}"
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef)
            and any(node.lineno <= line <= (node.end_lineno or node.lineno) for line in asking)
        ]
    return found


def names_used_twice() -> dict[str, list[str]]:
    places: dict[str, list[str]] = defaultdict(list)
    for name, tree in modules():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(f"{name}:{node.lineno}")
    return {name: where for name, where in sorted(places.items()) if len(where) > 1}


def bounds_of_the_page() -> dict[str, tuple[int, str]]:
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    rows = re.findall(
        r"^\| (.+?) \| ([\d,]+) \| [\d,]+ \| (.*?) \|$", page.partition("\n## Sizes\n")[2], flags=re.MULTILINE
    )
    return {name: (int(most.replace(",", "")), why) for name, most, why in rows}


@pytest.fixture(scope="module")
def sizes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, int]:
    return {
        "lines of the first ring": sum(lines_by_package(kernel(special=False)).values()),
        "lines of the kernel": sum(lines_by_package(kernel(special=True)).values()),
        "functions outside that see exact integers": len(readers_outside()),
        "changes of package on the path of a query": changes_of_package(
            one_query(tmp_path_factory.mktemp("path"))
        ).total(),
        "class names used twice": len(names_used_twice()),
        "lines of src": sum(map(lines_of, sources().values())),
        "lines of tests": sum(map(lines_of, (ROOT / "tests").rglob("*.py"))),
    }


def test_nothing_is_larger_than_the_page_allows(sizes: dict[str, int]) -> None:
    """Mutants: a class with a name that another has; an import of ``adyton.query.sql`` in the kernel."""
    bounds = bounds_of_the_page()
    print(f"\n{'':42}{'today':>9}{'at most':>9}")
    for name, today in sizes.items():
        print(f"{name:42}{today:>9,}{bounds[name][0]:>9,}")
    print(f"the kernel: {dict(lines_by_package(kernel(special=True)).most_common())}")
    print(f"functions outside that see exact integers: {', '.join(readers_outside())}")
    for name, places in names_used_twice().items():
        print(f"{name}: {', '.join(places)}")
    assert {name: today for name, today in sizes.items() if today > bounds[name][0]} == {}


def test_every_bound_has_its_reason(sizes: dict[str, int]) -> None:
    bounds = bounds_of_the_page()
    assert bounds.keys() == sizes.keys()
    assert [name for name, (_, why) in bounds.items() if len(why.split()) < 3] == []


def large_functions(root: Path) -> list[str]:
    found = []
    for path in sorted(root.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                found += [f"{path.name}: {node.name} has {lines} lines"] * (lines > MOST_LINES_OF_A_FUNCTION)
    return found


def test_no_function_is_too_large_to_read_at_once() -> None:
    assert large_functions(SOURCE) == []


def test_a_function_that_is_too_large_is_named(tmp_path: Path) -> None:
    for name, lines in (("short", MOST_LINES_OF_A_FUNCTION), ("long", MOST_LINES_OF_A_FUNCTION + 1)):
        (tmp_path / f"{name}.py").write_text(
            f"class A:\n    def {name}():\n" + "        pass\n" * (lines - 1)
        )
    assert large_functions(tmp_path) == ["long.py: long has 51 lines"]


def long_names(text: str) -> list[str]:
    return [name for name in re.findall(r"def (test_\w+)", text) if len(name) > MOST_LETTERS_OF_A_TEST]


def test_no_name_of_a_test_is_too_long_to_read_in_a_list() -> None:
    """What it leaves out is said by its docstring."""
    paths = [path for folder in ("src", "tests") for path in (ROOT / folder).rglob("*.py")]
    assert [path.name for path in paths if len(path.name) > MOST_LETTERS_OF_A_TEST] == []
    assert [name for path in paths for name in long_names(path.read_text(encoding="utf-8"))] == []
    assert long_names(f"def test_{'a' * 65}(): ...\n    def test_{'b' * 66}(self): ...") == [
        f"test_{'b' * 66}"
    ]
