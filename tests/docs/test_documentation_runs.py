"""Every page runs: its Python, its commands and its study files, from top to bottom, in one directory.

```python     is executed; all blocks of a page share one namespace
```toml       is saved if its first line is a comment with a file name:  # people.toml
```console    each line "$ adyton ..." is run; "```console exit=3" says how the last one must end
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pages import ROOT, Block, all_pages, blocks_of, name_of
from typer.testing import CliRunner

from adyton.transports.cli.app import app
from support.worlds import make_people

RUNS = {"python", "console", "toml"}
RUNNING = [page for page in all_pages() if RUNS & {block.language for block in blocks_of(page)}]


def run_console(block: Block) -> None:
    commands = [line[2:] for line in block.text.splitlines() if line.startswith("$ adyton ")]
    codes = [0] * len(commands)
    if expected := re.search(r"\bexit=(\d+)", block.words):
        codes[-1] = int(expected[1])
    for command, code in zip(commands, codes, strict=True):
        done = CliRunner().invoke(app, shlex.split(command)[1:])
        assert done.exit_code == code, f"{command}\n{done.output}"


def run_toml(block: Block) -> None:
    if named := re.match(r"# ([\w-]+\.toml)$", block.text.partition("\n")[0]):
        Path(named[1]).write_text(block.text, encoding="utf-8")


def run_python(block: Block, page: Path, names: dict[str, Any]) -> None:
    source = "\n" * (block.line - 1) + block.text  # so that a traceback shows the line of the page
    exec(compile(source, str(page), "exec"), names)


@pytest.mark.parametrize("page", RUNNING, ids=name_of)
def test_every_block_of_a_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    make_people(tmp_path)
    names: dict[str, Any] = {"__name__": "a_page"}
    for block in blocks_of(page):
        match block.language:
            case "python":
                run_python(block, page, names)
            case "console":
                run_console(block)
            case "toml":
                run_toml(block)


def test_the_pages_that_must_run_do_run() -> None:
    found = {name_of(page) for page in RUNNING}
    assert {"README.md", "docs/why.md", "docs/reference/python.md", "docs/reference/json.md"} <= found


def test_the_demo_runs_from_anywhere_with_the_core_alone(tmp_path: Path) -> None:
    demo = str(ROOT / "examples" / "demo.py")
    program = (
        "import runpy, sys\n"
        "for extra in ('pandas', 'polars', 'pyarrow'): sys.modules[extra] = None  # importing it now fails\n"
        f"runpy.run_path({demo!r}, run_name='__main__')"
    )
    command = [sys.executable, "-W", "error", "-c", program]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert not list(tmp_path.iterdir())
    assert all(
        word in done.stdout
        for word in ("would fit now", "The guarantee: epsilon", "free of charge", "intact chain")
    )
    assert re.search(r"population interval: what the world says.* yes ", done.stdout)
