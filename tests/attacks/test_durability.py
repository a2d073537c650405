"""A23 on the product: nothing is read before its debit, and nothing shown before its answer, is on the disk.

The system itself is watched: a library between the process and the disk writes down every flush, and makes
flushes and writes fail.  Mutants that fail here: ``PRAGMA synchronous = OFF`` or ``NORMAL`` in a transaction;
``remember`` with less than a charge's durability; ``settle`` left out after a failed flush.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.worlds import write_study

HERE = Path(__file__).parent
pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("gcc") is None,
    reason="the disk is watched through LD_PRELOAD, which needs Linux and gcc",
)

# Runs beside the watched disk.  Each line of WATCHED is a flush, or what happened in between.  Every test has a process
# of its own, forked by one that has loaded what they need and has done nothing else.
ASKER = """
import os, sys, json
from pathlib import Path
import adyton, adyton.curator.opening, adyton.query.sql.read, duckdb, scipy.special
from adyton.engines.duckdb import DuckDBEngine

def say(text):
    with open(os.environ["WATCHED"], "a") as file:
        file.write(text + "\\n")

def fault(text):
    if text: Path(os.environ["FAULT"]).write_text(text)
    else: Path(os.environ["FAULT"]).unlink(missing_ok=True)

fault_at_read = ""
real = DuckDBEngine.exact
def exact(self, readings):
    say("read")
    if fault_at_read: fault(fault_at_read)
    return real(self, readings)
DuckDBEngine.exact = exact

def ask(curator, number):
    say("ask")
    try:
        answer = curator.ask(f"SELECT COUNT(*) FROM people WHERE age > {number}", scale=1000)
        say("answered " + json.dumps([answer.receipt.number, [list(map(str, row.values.values())) for row in answer.rows]]))
    except adyton.CuratorError as error:
        say("refused " + error.message)

for line in sys.stdin:
    study, places, steps = json.loads(line)
    if os.fork() == 0:
        os.environ.update(places)
        with adyton.open(study) as curator:
            exec(steps)
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.wait()[1]), flush=True)
"""
Asker = subprocess.Popen[str]


@pytest.fixture(scope="module")
def asker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asker]:
    library = tmp_path_factory.mktemp("faulty") / "disk.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, HERE / "faulty_disk.c", "-ldl"], check=True)
    with subprocess.Popen(
        [sys.executable, "-c", ASKER], env=os.environ | {"LD_PRELOAD": str(library)},
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as made:  # fmt: skip
        yield made


def watched(asker: Asker, folder: Path, steps: str) -> list[str]:
    study = write_study(folder)
    places = {"WATCHED": str(folder / "watched"), "FAULT": str(folder / "fault")}
    assert asker.stdin is not None
    assert asker.stdout is not None
    print(json.dumps([str(study), places, steps]), file=asker.stdin, flush=True)
    assert asker.stdout.readline() == "0\n"
    return (folder / "watched").read_text().splitlines()


def between(lines: list[str], first: str, second: str) -> list[str]:
    """The lines from the last ``first`` before ``second`` up to it."""
    end = next(place for place, line in enumerate(lines) if line.startswith(second))
    begin = max(place for place, line in enumerate(lines[:end]) if line.startswith(first))
    return lines[begin + 1 : end]


LOG = "flushed people.ledger-wal"


def test_A23_the_debit_is_on_the_disk_before_reading(asker: Asker, tmp_path: Path) -> None:
    """The debit is on the disk before reading, and the answer before it is shown."""
    lines = watched(asker, tmp_path, "ask(curator, 1)\nask(curator, 2)\nask(curator, 3)")
    asks = [place for place, line in enumerate(lines) if line == "ask"]
    assert len(asks) == 3
    for begin, end in zip(asks, [*asks[1:], len(lines)], strict=True):
        one = lines[begin:end]
        assert LOG in between(one, "ask", "read")
        assert LOG in between(one, "read", "answered")


def test_A23_a_debit_that_cannot_be_flushed_is_no_debit(asker: Asker, tmp_path: Path) -> None:
    steps = """
ask(curator, 1)
fault("flush")
ask(curator, 2)
ask(curator, 3)
fault("")
ask(curator, 3)
say(f"receipts {curator.verify().receipts}")
"""
    lines = watched(asker, tmp_path, steps)
    failing = lines[[place for place, line in enumerate(lines) if line == "ask"][1] :]
    refused = [line for line in lines if line.startswith("refused")]
    assert len(refused) == 2
    assert all("may not be durable" in line and "SQLITE" not in line for line in refused)
    assert lines.count("read") == 2  # nothing was read for a debit that is not durable
    # What had been written by then is put into the file itself, before anything rests on it.
    settled = between(failing, "refused", "read")
    assert "flushed people.ledger" in settled
    assert LOG in settled[settled.index("flushed people.ledger") :]  # and then the debit


def test_A23_an_answer_that_cannot_be_flushed_is_not_shown_and_stays_paid(
    asker: Asker, tmp_path: Path
) -> None:
    steps = """
ask(curator, 1)
fault_at_read = "flush"
ask(curator, 2)
fault_at_read = ""
fault("")
ask(curator, 2)
ask(curator, 2)
say(f"receipts {curator.verify().receipts}")
"""
    lines = watched(asker, tmp_path, steps)
    (refused,) = (line for line in lines if line.startswith("refused"))
    assert refused.endswith("receipt 2 is paid for: ask the same again")
    answers = [json.loads(line.removeprefix("answered ")) for line in lines if line.startswith("answered")]
    assert [number for number, _ in answers] == [1, 2, 2]
    assert answers[1] == answers[2]
    assert "receipts 2" in lines


def test_A23_a_full_disk_gives_no_answer_says_so_and_leaves_no_log_behind(
    asker: Asker, tmp_path: Path
) -> None:
    steps = """
ask(curator, 1)
fault("full")
ask(curator, 2)
fault_at_read, _ = "full", fault("")
ask(curator, 3)
fault_at_read, _ = "", fault("")
ask(curator, 3)
say(f"receipts {curator.verify().receipts}")
"""
    lines = watched(asker, tmp_path, steps)
    refused = [line for line in lines if line.startswith("refused")]
    assert len(refused) == 2
    assert all("the disk is full" in line for line in refused)
    assert lines.count("read") == 3
    assert "receipts 2" in lines
    assert {file.name for file in tmp_path.glob("*people.ledger*")} == {"people.ledger"}


@pytest.mark.parametrize("fault", ["full", "full-wal", "full-late"])
def test_A23_a_first_charge_on_a_full_disk_leaves_nothing_behind(
    asker: Asker, tmp_path: Path, fault: str
) -> None:
    """Mutants: ``make_file`` that leaves its draft, or the files that SQLite put beside it; a draft that is not settled
    before it is linked, of which the log would be lost.
    """
    lines = watched(asker, tmp_path, f'fault("{fault}")\nask(curator, 1)')
    assert any("the disk is full" in line for line in lines)
    assert not [file for file in tmp_path.iterdir() if "ledger" in file.name]
