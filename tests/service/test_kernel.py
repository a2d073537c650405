"""A notebook whose kernel has nothing but ipykernel, as many servers of notebooks start it: without ipywidgets."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import KernelManager

Run = Callable[[str], str]

SETUP = """
import sys
sys.modules["ipywidgets"] = None  # as if it were not installed
import pathlib, tempfile
import duckdb, pandas
import adyton
from adyton.kernel.schema import CategoryColumn, IntegerColumn
from adyton.study import Study

folder = pathlib.Path(tempfile.mkdtemp())
frame = pandas.DataFrame({"income": range(1000), "region": ["north", "south"] * 500})
frame.to_csv(folder / "people.csv", index=False)
frame.to_parquet(folder / "people.parquet")
table = adyton.Table("people", (IntegerColumn("income", 0, 1000), CategoryColumn("region", ("north", "south"))), rows=1000)
study = Study(table, adyton.PrivacyUnit("replace-one"), adyton.Guarantee(epsilon=1, delta=1e-9))
"""


class Kernel(KernelManager):
    """This Python, whatever kernels are installed on the machine."""

    @property
    def kernel_spec(self) -> KernelSpec:
        return KernelSpec(argv=[sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"])


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """What a cell prints; a cell that raises fails the test."""
    place = tmp_path_factory.mktemp("kernel")
    manager = Kernel(transport="ipc", ip=str(place / "k"), connection_file=str(place / "kernel.json"))
    manager.start_kernel(cwd=str(place))
    client = manager.blocking_client()
    client.start_channels()

    def cell(code: str) -> str:
        seen: list[Any] = []
        reply = client.execute_interactive(code, timeout=120, output_hook=seen.append)
        assert reply["content"]["status"] == "ok", "\n".join(reply["content"]["traceback"])
        return "".join(one["content"]["text"] for one in seen if one["msg_type"] == "stream")

    try:
        client.wait_for_ready(timeout=120)
        cell(SETUP)
        yield cell
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
        manager.cleanup_resources()


def test_this_kernel_is_one_in_which_duckdb_has_no_bar_to_turn_off(run: Run) -> None:
    refused = run("""
try:
    duckdb.connect(":memory:").execute("SET enable_progress_bar = false")
except duckdb.Error as error:
    print(error)
""")
    assert "ipywidgets" in refused


@pytest.mark.parametrize("source", ["frame", "folder / 'people.csv'", "folder / 'people.parquet'"])
def test_a_query_is_answered_in_a_kernel_without_widgets(source: str, run: Run) -> None:
    printed = run(f"""
with adyton.open(study, data={source}) as curator:
    print(curator.ask("SELECT COUNT(*) FROM people WHERE income < 500", within=100).value)
""")
    assert 300 < float(printed) < 700


def test_labels_of_a_holdout_are_read_in_a_kernel_without_widgets(run: Run) -> None:
    printed = run("""
from adyton.holdout.files import read_values
print(*read_values(folder / "people.parquet", "region")[:2])
""")
    assert printed == "north south\n"


def test_where_duckdb_has_a_bar_it_is_turned_off(run: Run) -> None:
    """DuckDB's own default is to draw one in a Python without a script."""
    code = "from adyton.duckdb_files import connect\nprint(connect().execute(\"SELECT current_setting('enable_progress_bar')\").fetchall())"
    assert run(code) == "[(False,)]\n"
    own = f"import subprocess, sys\nprint(subprocess.run([sys.executable, '-c', {code!r}], capture_output=True, text=True).stdout)"
    assert run(own).strip() == "[(False,)]"
