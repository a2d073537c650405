"""Ctrl-C sent to the real command, at moments that it does not choose: one line, exit code 130, no traceback.

Mutants that fail here: ``interruptible`` left out of the engine (a RuntimeError while loading, EngineFailed while
scanning); ``run`` without its KeyboardInterrupt; an entry that loads the command before its try.
"""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import pytest

from adyton.kernel.ledger import SqliteLedger
from support.worlds import study_text

ROWS = 8_000_000
STUDY = study_text(
    {
        "age": {"kind": "integer", "low": 0, "high": 1000},
    },
    rows=ROWS,
)
# Long enough that the signal comes in the middle, on any machine.
LONG = [f"SELECT AVG(age * age * {n} + {n}) FROM people WHERE age * {n} > {n * 7}" for n in range(1, 90)]
SHORT = "SELECT COUNT(*) FROM people"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("interrupted")
    people = f"SELECT (i * 7919 % 1000)::INTEGER AS age FROM range({ROWS}) t(i)"
    duckdb.sql(f"COPY ({people}) TO '{made / 'people.parquet'}' (COMPRESSION uncompressed)")
    (made / "long.sql").write_text(";\n".join(LONG))
    return made


@pytest.fixture
def study(folder: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    file = folder / f"{request.node.name.partition('[')[0]}.toml"
    file.write_text(STUDY)
    yield file
    file.with_suffix(".ledger").unlink(missing_ok=True)


class Command:
    """adyton in a process of its own.

    With ``traced`` what it imports is seen as it happens.  Only ``wait_for_import`` reads that trace: for
    any other wait it must be off, because it is longer than a pipe holds, and the command would stop.
    """

    def __init__(self, *arguments: object, traced: bool = False) -> None:
        trace = ["-X", "importtime"] if traced else []
        begin = [sys.executable, *trace, "-m", "adyton.transports.cli.entry"]
        self.process = subprocess.Popen(
            [*begin, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self._said: list[str] = []

    def wait_for_import(self, module: str) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self._said.append(line)
            if line.startswith("import time:") and line.split("|")[-1].strip() == module:
                return
        raise AssertionError(f"{module} was never imported: {''.join(self._said)}")

    def wait_until(self, happened: Callable[[], bool]) -> None:
        end = time.monotonic() + 120
        while not happened():
            assert self.process.poll() is None, self.process.communicate()
            assert time.monotonic() < end
            time.sleep(0.002)

    def interrupt(self) -> tuple[list[str], str]:
        """What it says to people, and its output."""
        self.process.send_signal(signal.SIGINT)
        output, errors = self.process.communicate(timeout=120)
        assert self.process.returncode == 130, errors
        said = [line for line in errors.splitlines() if not line.startswith("import time:")]
        return said, output


def has_open(process: int, name: str) -> bool:
    links = []
    for handle in Path(f"/proc/{process}/fd").iterdir():
        try:
            links.append(str(handle.readlink()))
        except OSError:
            continue
    return any(link.endswith(name) for link in links)


def receipts(study: Path) -> int:
    ledger = study.with_suffix(".ledger")
    if not ledger.exists():
        return 0
    connection = sqlite3.connect(ledger)
    try:
        return int(connection.execute("SELECT COUNT(*) FROM receipts").fetchone()[0])
    finally:
        connection.close()


NOTHING = ["adyton: interrupted; nothing was charged"]
# Whoever opens it waits until somebody writes: else the command may end before the signal comes.
WAITS = "holdout.toml"


@pytest.mark.parametrize("module", ["adyton.errors", "typer", "adyton.curator.curator"])
def test_while_the_command_is_loaded(study: Path, module: str) -> None:
    command = Command("ask", study, SHORT, "--within", "1000", traced=True)
    command.wait_for_import(module)
    assert command.interrupt() == (NOTHING, "")
    assert receipts(study) == 0


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc to see that the file is being read")
def test_while_the_table_is_loaded(study: Path) -> None:
    command = Command("ask", study, SHORT, "--within", "1000")
    command.wait_until(lambda: has_open(command.process.pid, "people.parquet"))
    assert command.interrupt() == (NOTHING, "")
    assert receipts(study) == 0


@pytest.mark.parametrize("as_json", [False, True])
def test_while_a_batch_is_read_that_is_paid_for(study: Path, folder: Path, as_json: bool) -> None:
    study.with_suffix(".ledger").unlink(missing_ok=True)
    command = Command(
        "ask", study, "--file", folder / "long.sql", "--epsilon", "0.5", *(["--json"] if as_json else [])
    )
    command.wait_until(lambda: receipts(study) == 1)
    said, output = command.interrupt()
    sentence = "interrupted after receipt 1 was paid; ask the same again: it is paid for"
    if as_json:
        assert json.loads(output) == {"error": {"kind": "interrupted", "message": sentence, "receipt": 1}}
        assert said == []
    else:
        assert (said, output) == ([f"adyton: {sentence}"], "")
    ledger = SqliteLedger(study.with_suffix(".ledger"))
    assert (ledger.count(), ledger.recall(1)) == (1, None)
    ledger.close()


@pytest.mark.parametrize(
    ("arguments", "module"),
    [
        (["audit", "--all", "--samples", "100000000"], "adyton.audit.cases.catalogue"),
        (["lab", "holdout-science"], "adyton.figures.report"),
        (["plan", "--rows", "100000", "--queries", "5000"], "adyton.validity.planner"),
        (["holdout", "score", WAITS, "nothing.csv"], "adyton.holdout.holdout"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else None,
)
def test_other_commands(arguments: list[str], module: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / WAITS)
    words = (tmp_path / word if word == WAITS else word for word in arguments)
    command = Command(*words, traced=True)
    command.wait_for_import(module)
    assert command.interrupt() == (NOTHING, "")
