"""The checkpoint: a ledger that is behind it, or another one, answers nothing.

Mutants that fail here: ``_compare`` without each of its five conditions; ``advance`` left out after a charge, an
answer or a note; a checkpoint that is written without the lock of the ledger; a missing checkpoint taken for a new one.
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import adyton
from adyton.errors import Interrupted
from adyton.kernel.ledger import Order
from adyton.kernel.ledger.base import Mark
from adyton.kernel.noisy import NoisyQueries
from adyton.ledgers.checkpoint import Checkpoint
from adyton.ledgers.checkpointed import CheckpointedLedger
from adyton.ledgers.on_demand import LedgerOnDemand
from adyton.transports.cli.app import app
from support.curators import open_kept
from support.processes import APART
from support.worlds import query, tamper, write_study

CUT = [f"DELETE FROM {table} WHERE number > 2" for table in ("answers", "unanswered", "notes", "receipts")]


@pytest.fixture
def study(tmp_path: Path) -> Path:
    (tmp_path / "elsewhere").mkdir()
    return write_study(tmp_path, more='\n[ledger]\ncheckpoint = "elsewhere/people.checkpoint"\n')


@pytest.fixture
def asked(study: Path) -> Path:
    with open_kept(study) as curator:
        for number in range(1, 4):
            curator.ask(query(number), scale=1000)
    return study


def checkpoint_of(study: Path) -> Path:
    return study.parent / "elsewhere" / "people.checkpoint"


def ledger_of(study: Path) -> Path:
    return study.with_suffix(".ledger")


def refused(study: Path, *said: str) -> None:
    with pytest.raises(adyton.LedgerCorrupt, match="nothing was answered") as caught:
        open_kept(study)
    assert all(word in caught.value.message for word in said)


def test_the_checkpoint_says_how_far_the_ledger_is(asked: Path) -> None:
    known = json.loads(checkpoint_of(asked).read_text())
    with open_kept(asked) as curator:
        last = curator.receipts()[-1]
        assert known["head"] == last.digest
        assert (known["receipts"], known["answers"], known["notes"]) == (3, 3, 0)
        assert (known["spent"], known["spent_radius"]) == (str(last.spent), str(last.spent_radius))
        monitor = curator.open_monitor(positives=2, epsilon=1)
        monitor.feed(query(1), above=10)
    known = json.loads(checkpoint_of(asked).read_text())
    assert (known["receipts"], known["answers"], known["notes"]) == (4, 3, 2)
    assert list(checkpoint_of(asked).parent.iterdir()) == [checkpoint_of(asked)]


def test_the_checkpoint_knows_a_charge_before_anything_is_read_for_it(asked: Path, monkeypatch: Any) -> None:
    def stopped(*_: Any) -> Any:
        known = json.loads(checkpoint_of(asked).read_text())
        assert (known["receipts"], known["answers"]) == (4, 3)
        raise KeyboardInterrupt

    monkeypatch.setattr(NoisyQueries, "release", stopped)
    with open_kept(asked) as curator, pytest.raises(Interrupted):
        curator.ask(query(9), scale=1000)


def test_A24_a_tail_cut_off_cleanly_is_found(asked: Path) -> None:
    tamper(ledger_of(asked), *CUT)
    refused(asked, "3 receipts", "has 2", "--write-checkpoint")


def test_A24_a_restored_copy_is_found(asked: Path) -> None:
    copy = shutil.copy(ledger_of(asked), asked.parent / "copy")
    with open_kept(asked) as curator:
        curator.ask(query(9), scale=1000)
    shutil.copy(copy, ledger_of(asked))
    refused(asked, "4 receipts", "has 3")


def test_A24_a_deleted_ledger_is_found(asked: Path) -> None:
    ledger_of(asked).unlink()
    refused(asked, "empty or missing")


def test_A24_another_ledger_is_found(asked: Path, tmp_path: Path) -> None:
    kept = asked.rename(tmp_path / "kept.toml")
    ledger_of(asked).unlink()
    plain = write_study(tmp_path)
    with open_kept(plain) as curator:
        for number in range(1, 5):
            curator.ask(query(number), scale=1000)
    kept.rename(asked)
    refused(asked, "another ledger")


def test_A24_a_forged_chain_is_found(asked: Path) -> None:
    """Somebody replaces the third receipt by a cheaper one, with a right digest."""
    tamper(ledger_of(asked), *CUT)
    with LedgerOnDemandOf(asked) as ledger:
        ledger.charge(Order("SELECT 1", "[]", 1, 0))
        ledger.charge(Order("SELECT 2", "[]", 1, 0))
    refused(asked, "other receipts")


class LedgerOnDemandOf:
    """The ledger of a study without its checkpoint."""

    def __init__(self, study: Path) -> None:
        known = adyton.read_study(study)
        assert known.ledger is not None
        self._ledger = LedgerOnDemand(
            known.ledger, study=known.fingerprint, accounting=known.accounting, budget=known.allowed
        )

    def __enter__(self) -> LedgerOnDemand:
        return self._ledger

    def __exit__(self, *_: object) -> None:
        self._ledger.close()


def test_A24_the_forgotten_answers_of_a_monitor_are_found(asked: Path) -> None:
    with open_kept(asked) as curator:
        monitor = curator.open_monitor(positives=2, epsilon=1)
        monitor.feed(query(1), above=10)
        copy = shutil.copy(ledger_of(asked), asked.parent / "copy")
        shutil.copy(str(ledger_of(asked)) + "-wal", str(copy) + "-wal")
        monitor.feed(query(2), above=10)
    shutil.copy(copy, ledger_of(asked))
    shutil.copy(str(copy) + "-wal", str(ledger_of(asked)) + "-wal")
    refused(asked, "3 notes", "has 2")


def test_A24_a_copy_from_between_a_charge_and_its_answer_is_found(asked: Path) -> None:
    """Else the receipt, unanswered again, would release a second answer."""
    with LedgerOnDemandOf(asked) as ledger:
        ledger.charge(Order("SELECT 1", "[]", 1, 0))
    copy = shutil.copy(ledger_of(asked), asked.parent / "copy")
    with LedgerOnDemandOf(asked) as inner:
        CheckpointedLedger(inner, Checkpoint(checkpoint_of(asked))).remember(4, "[]")
    shutil.copy(copy, ledger_of(asked))
    refused(asked, "4 answers", "has 3")


@pytest.mark.parametrize("what", ["answers", "notes"])
def test_A24_what_a_crash_kept_from_the_checkpoint_is_counted_first(
    asked: Path, monkeypatch: Any, what: str
) -> None:
    """Else a copy from before it would not be behind, and a second answer would be drawn.

    Mutants: ``_seen`` that does not advance; ``repeated`` or ``notes`` without it.
    """
    copy, most = asked.parent / "copy", {"answers": 4, "notes": 2}[what]
    written, released = Checkpoint.write, NoisyQueries.release

    def copy_it() -> None:
        for end in ("", "-wal"):
            shutil.copy(f"{ledger_of(asked)}{end}", f"{copy}{end}")

    def copied_before(self: NoisyQueries, *plans: Any) -> Any:
        copy_it()
        return released(self, *plans)

    def crash(self: Checkpoint, mark: Any) -> None:
        if getattr(mark, what) == most:
            raise KeyboardInterrupt
        written(self, mark)

    with open_kept(asked) as curator:
        monitor = curator.open_monitor(positives=2, epsilon=1)
        copy_it()
        asks = {
            "answers": lambda: curator.ask(query(9), scale=1000),
            "notes": lambda: monitor.feed(query(2), above=10),
        }
        with monkeypatch.context() as patch:
            patch.setattr(NoisyQueries, "release", copied_before)
            patch.setattr(Checkpoint, "write", crash)
            with pytest.raises(KeyboardInterrupt):
                asks[what]()
    with open_kept(asked) as curator:
        if what == "answers":
            assert curator.ask(query(9), scale=1000).repeated
        else:
            assert len(curator.monitor(monitor.number).answers()) == 1
    for end in ("", "-wal"):
        shutil.copy(f"{copy}{end}", f"{ledger_of(asked)}{end}")
    refused(asked, f"{most} {what}", f"has {most - 1}")


@pytest.mark.parametrize("how", ["missing", "damaged", "of another format", "no JSON", "wrong types"])
def test_an_checkpoint_that_says_nothing_is_no_reason_to_answer(asked: Path, how: str) -> None:
    checkpoint = checkpoint_of(asked)
    known = json.loads(checkpoint.read_text())
    match how:
        case "missing":
            checkpoint.unlink()
        case "damaged":
            del known["head"]
            checkpoint.write_text(json.dumps(known))
        case "of another format":
            checkpoint.write_text(json.dumps(known | {"format": 3}))
        case "no JSON":
            checkpoint.write_bytes(b"\xff\x00")
        case _:
            checkpoint.write_text(json.dumps(known | {"notes": "0"}))
    refused(asked, "people.checkpoint", "adyton verify STUDY --write-checkpoint")


def test_the_owner_can_write_an_checkpoint_that_was_lost(asked: Path) -> None:
    checkpoint_of(asked).unlink()
    done = CliRunner().invoke(app, ["verify", str(asked), "--write-checkpoint"])
    assert done.exit_code == 0, done.output
    assert "there was none" in done.output
    with open_kept(asked) as curator:
        assert curator.ask(query(7), scale=1000).receipt.number == 4


def test_a_ledger_that_was_cut_gives_nothing_back(asked: Path) -> None:
    """Mutant: ``write_checkpoint`` accepts a ledger that is behind."""
    with open_kept(asked) as curator:
        spent = curator.ledger.spent()
    tamper(ledger_of(asked), *CUT)
    assert CliRunner().invoke(app, ["verify", str(asked), "--write-checkpoint"]).exit_code == 2
    assert CliRunner().invoke(app, ["checkpoint", "accept", str(asked)]).exit_code == 0
    with open_kept(asked) as curator:
        assert curator.ledger.spent() == spent
        assert curator.ask(query(7), scale=1000).receipt.number == 5


def test_a_damaged_ledger_cannot_be_accepted(asked: Path) -> None:
    before = checkpoint_of(asked).read_bytes()
    tamper(ledger_of(asked), "UPDATE receipts SET amount = '1' WHERE number = 2")
    done = CliRunner().invoke(app, ["verify", str(asked), "--write-checkpoint"])
    assert done.exit_code == 5
    assert checkpoint_of(asked).read_bytes() == before


def test_a_ledger_ahead_of_its_checkpoint_goes_on(asked: Path) -> None:
    """As after a crash between the commit and the checkpoint."""
    with LedgerOnDemandOf(asked) as ledger:
        ledger.charge(Order("SELECT 1", "[]", 1, 0))
        ledger.annotate(4, 0, "a note")
        ledger.remember(4, "[]")
    with open_kept(asked) as curator:
        assert curator.ask(query(8), scale=1000).receipt.number == 5
    assert json.loads(checkpoint_of(asked).read_text())["receipts"] == 5


def test_a_crash_in_the_first_charge_leaves_a_study_that_can_be_asked(study: Path, monkeypatch: Any) -> None:
    written = Checkpoint.write

    def crash_after_the_charge(self: Checkpoint, mark: Any) -> None:
        if mark.receipts:
            raise KeyboardInterrupt
        written(self, mark)

    monkeypatch.setattr(Checkpoint, "write", crash_after_the_charge)
    with open_kept(study) as curator, pytest.raises(KeyboardInterrupt):
        curator.ask(query(1), scale=1000)
    monkeypatch.undo()
    with open_kept(study) as curator:
        assert curator.ask(query(1), scale=1000).receipt.number == 1


def test_looking_and_a_refused_first_charge_leave_neither_file(study: Path) -> None:
    """Looking and a refused first charge leave neither ledger nor checkpoint."""
    with open_kept(study) as curator:
        curator.preview(query(1), scale=1000)
        curator.budget()
        with pytest.raises(adyton.BudgetRefused):
            curator.ask(query(1), scale="0.001")
    assert not ledger_of(study).exists()
    assert not checkpoint_of(study).exists()


def test_A23_an_checkpoint_that_cannot_be_written_stops_the_answer(asked: Path) -> None:
    with open_kept(asked) as curator:
        shutil.rmtree(checkpoint_of(asked).parent)
        with pytest.raises(adyton.LedgerCorrupt, match="checkpoint"):
            curator.ask(query(9), scale=1000)


def test_an_checkpoint_taken_away_from_a_running_curator_stops_it(asked: Path) -> None:
    with open_kept(asked) as curator:
        checkpoint_of(asked).unlink()
        with pytest.raises(adyton.LedgerCorrupt, match="was removed"):
            curator.ask(query(9), scale=1000)


def ask_many(study: Path, first: int) -> None:
    with open_kept(study) as curator:
        for number in range(first, first + 15):
            curator.ask(query(number), scale=1000)
            with open_kept(study):  # would refuse if the checkpoint were ahead of the ledger
                pass


def test_A20_two_processes_never_move_the_checkpoint_backwards(asked: Path) -> None:
    """Its number is read again and again while two processes charge; it must never fall."""
    clients = [APART.Process(target=ask_many, args=(asked, first)) for first in (10, 40)]
    for client in clients:
        client.start()
    seen = []
    while any(client.is_alive() for client in clients):
        seen.append(json.loads(checkpoint_of(asked).read_text()))
        time.sleep(0.001)  # a checkpoint is flushed to the disk, which takes longer
    for client in clients:
        client.join(60)
    assert [client.exitcode for client in clients] == [0, 0]
    for what in ("receipts", "answers"):
        assert all(one[what] <= two[what] for one, two in itertools.pairwise(seen))
    last = Checkpoint(checkpoint_of(asked)).read()
    assert last is not None
    assert (last.receipts, last.answers) == (33, 33)


def test_A20_nobody_else_writes_to_the_ledger_during_its_checkpoint(
    asked: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Mutant: ``advance`` without the lock of the ledger, which two processes meet too rarely to be relied on."""
    written, locked = Checkpoint.write, list[bool]()

    def watched(self: Checkpoint, mark: Mark) -> None:
        with closing(sqlite3.connect(ledger_of(asked), timeout=0, isolation_level=None)) as other:
            try:
                other.execute("BEGIN IMMEDIATE")
                locked.append(False)
            except sqlite3.OperationalError:
                locked.append(True)
        written(self, mark)

    monkeypatch.setattr(Checkpoint, "write", watched)
    with open_kept(asked) as curator:
        curator.ask(query(9), scale=1000)
    assert locked == [True, True]  # for the charge and for the answer


def test_the_checkpoint_is_on_the_disk_before_it_has_its_name(asked: Path, monkeypatch: Any) -> None:
    done: list[str] = []
    flush, replace = os.fsync, Path.replace
    monkeypatch.setattr(os, "fsync", lambda handle: (done.append("flush"), flush(handle)))
    monkeypatch.setattr(Path, "replace", lambda self, to: (done.append("rename"), replace(self, to)))
    checkpoint = Checkpoint(checkpoint_of(asked))
    mark = checkpoint.read()
    assert mark is not None
    checkpoint.write(mark)
    assert done == ["flush", "rename", "flush"]
