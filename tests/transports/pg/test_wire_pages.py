"""The page of the wire says what the code does; the examples run."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import adyton.transports.pg as package
from adyton.transports.pg.catalog.facts import VIEWS
from adyton.transports.pg.settings import SessionSettings
from adyton.transports.pg.statements import statements_in
from support.servers import write_study
from support.wire import Wired, wired

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "reference" / "wire.md").read_text(encoding="utf-8")


@pytest.fixture
def house(tmp_path: Path) -> Iterator[Wired]:
    with wired([write_study(tmp_path)]) as made:
        yield made


def section(title: str) -> str:
    return PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def test_every_setting_table_and_code_is_on_the_page() -> None:
    own = {name for name, _ in SessionSettings("x").all() if name.startswith("adyton.")}
    assert set(re.findall(r"^\| `(adyton\.\w+)` \|", section("Settings"), re.MULTILINE)) == own
    views = {f"adyton.{name}" for name, _, _ in VIEWS}
    assert set(re.findall(r"^\| `(adyton\.\w+)` \|", section("Price and receipt"), re.MULTILINE)) == views
    told = set(re.findall(r"`([0-9A-Z]{5})`", section("Codes")))
    assert codes_in_code() - told == {"00000"}
    assert told <= codes_in_code()


def codes_in_code() -> set[str]:
    """All texts of five letters and digits that are used as codes."""
    found: set[str] = set()
    for path in Path(str(package.__file__)).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                code = re.fullmatch(r"(?=.*\d)[0-9A-Z]{5}", node.value)
                found |= {code[0]} if code else set()
    return found


def test_the_tiles_of_the_dashboard_are_answered_and_free_again(house: Wired) -> None:
    text = (ROOT / "examples" / "dashboard.sql").read_text(encoding="utf-8")
    tiles = [one.text for one in statements_in(text)]
    assert len(tiles) >= 8
    shown: list[list[object]] = []
    for _ in range(2):
        with house.connect(house.token("dashboard")) as connection:
            said: list[str] = []
            connection.add_notice_handler(lambda one, said=said: said.append(str(one.message_primary)))
            cursors = [connection.execute(tile) for tile in tiles]
            shown.append([cursor.fetchall() for cursor in cursors if cursor.description is not None])
    assert len(said) == 3
    assert all("free of charge" in one for one in said)
    assert shown[0][1:4] == shown[1][1:4]


NOTEBOOK = """
import sys
sys.modules["pyspark"] = None  # looked for, slow, and not needed
import json
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell()
for text in json.load(open(sys.argv[1])):
    done = shell.run_cell(text)
    done.raise_error()
frame = shell.user_ns["frame"]
print(list(frame.columns), list(frame["region"]))
"""


def test_the_notebook_runs(house: Wired, tmp_path: Path) -> None:
    cells = json.loads((ROOT / "examples" / "jupysql.ipynb").read_text(encoding="utf-8"))["cells"]
    code = tmp_path / "cells.json"
    code.write_text(json.dumps(["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]))
    address = f"{house.url(house.token('ana'))}?options=-c%20adyton.within%3D60"
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", NOTEBOOK, str(code)],
        capture_output=True, text=True, timeout=120, cwd=tmp_path,
        env={**os.environ, "DATABASE_URL": address, "PLOOMBER_STATS_ENABLED": "false", "HOME": str(tmp_path)},
    )  # fmt: skip
    assert run.returncode == 0, (run.stdout + run.stderr)[-3000:]
    last = next(line for line in reversed(run.stdout.splitlines()) if line.startswith("["))
    assert last.startswith(
        "['region', 'n', 'n_noise_low', 'n_noise_high', 'n_population_low', 'n_population_high'] ['north',"
    )
