"""Nothing in the source is too large to read at once: no directory, no file, no function."""

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import adyton

ROOT = Path(adyton.__file__).parent
MOST_FILES, MOST_LINES, MOST_LINES_OF_A_FUNCTION = 24, 600, 50


def _too_large(root: Path) -> list[str]:
    files = sorted(root.rglob("*.py"))
    folders = Counter(path.parent for path in files)
    found = [f"{folder} has {many} files" for folder, many in folders.items() if many > MOST_FILES]
    for path in files:
        text = path.read_text(encoding="utf-8")
        lines = len(text.splitlines())
        found += [f"{path} has {lines} lines"] * (lines > MOST_LINES)
        for node in _statements(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                found += [f"{path}: {node.name} has {lines} lines"] * (lines > MOST_LINES_OF_A_FUNCTION)
    return found


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """All of them, in one another: no expression holds a function with a name."""
    for inner in ast.iter_child_nodes(node):
        if isinstance(inner, ast.stmt | ast.ExceptHandler | ast.match_case):
            yield inner
            yield from _statements(inner)


def test_no_directory_file_or_function_is_too_large() -> None:
    assert not _too_large(ROOT), "split by idea: " + "; ".join(_too_large(ROOT))


def test_what_is_too_large_is_named(tmp_path: Path) -> None:
    for place in range(MOST_FILES):
        (tmp_path / f"small_{place}.py").write_text("a = 1\n")
    (tmp_path / "small_0.py").write_text("def short():\n" + "    pass\n" * (MOST_LINES_OF_A_FUNCTION - 1))
    (tmp_path / "small_1.py").write_text("a = 1\n" * MOST_LINES)
    assert _too_large(tmp_path) == []
    (tmp_path / "small_0.py").write_text("def long():\n" + "    pass\n" * MOST_LINES_OF_A_FUNCTION)
    (tmp_path / "small_1.py").write_text("a = 1\n" * (MOST_LINES + 1))
    (tmp_path / "one_more.py").write_text("")
    assert [said.removeprefix(str(tmp_path)).lstrip("/\\: ") for said in _too_large(tmp_path)] == [
        "has 25 files",
        "small_0.py: long has 51 lines",
        "small_1.py has 601 lines",
    ]
