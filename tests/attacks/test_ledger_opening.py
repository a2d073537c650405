"""A24 on the product: after an edit of the ledger no further query is answered.

Mutants that fail here: opening without ``check_newest``; ``_begin`` without ``check_since``; ``check_newest`` without
``check_unanswered``, without the comparison of the newest answers or of the newest notes; ``_last`` without
``check_since``.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import adyton
from adyton.kernel.ledger import Header, Order, SqliteLedger
from adyton.kernel.ledger.base import next_receipt
from adyton.kernel.ledger.stored import checking
from adyton.kernel.ledger.stored.tables import CHECKPOINT, append
from adyton.kernel.ledger.validity import FinalCost
from support.worlds import query, tamper, write_study

BEFORE = 8  # queries that were asked; the last is a monitor with three answers


@pytest.fixture
def study(tmp_path: Path) -> Path:
    file = write_study(tmp_path)
    with adyton.open(file) as curator:
        for number in range(1, BEFORE):
            curator.ask(query(number), scale=1000)
        monitor = curator.open_monitor(positives=3, epsilon=1)
        for number in range(3):
            monitor.feed(query(number), above=40)
    return file


EDITS = {
    "an amount": ["UPDATE receipts SET amount = '1' WHERE number = 3"],
    "a total": ["UPDATE receipts SET spent = '0' WHERE number = 8"],
    "a query": ["UPDATE receipts SET query = 'sum' WHERE number = 1"],
    "a receipt deleted": ["DELETE FROM receipts WHERE number = 3"],
    "a receipt deleted with its answer": [
        "DELETE FROM answers WHERE number = 3",
        "DELETE FROM receipts WHERE number = 3",
    ],
    "the first receipt deleted": ["DELETE FROM receipts WHERE number = 1"],
    "the tail cut off, its answers left": ["DELETE FROM receipts WHERE number > 4"],
    "the tail cut off, its notes left": [
        "DELETE FROM answers WHERE number > 4",
        "DELETE FROM unanswered WHERE number > 4",
        "DELETE FROM receipts WHERE number > 4",
    ],
    "an answer": ["UPDATE answers SET answer = '[[[\"7\"]]]' WHERE number = 2"],
    "an answer deleted, to get a second one": ["DELETE FROM answers WHERE number = 2"],
    "an answer put in": [
        "INSERT INTO answers SELECT 8, query, radius, level, content, digest, answer FROM answers WHERE number = 7"
    ],
    "a note": ["UPDATE notes SET text = '{}' WHERE place = 2"],
    "a note deleted": ["DELETE FROM notes WHERE place = 1"],
    "a limit": ["UPDATE header SET budget = '1000000'"],
}


@pytest.mark.parametrize("statements", EDITS.values(), ids=EDITS)
def test_A24_after_an_edit_a_restarted_curator_answers_nothing(study: Path, statements: list[str]) -> None:
    tamper(study.with_suffix(".ledger"), *statements)
    with pytest.raises(adyton.LedgerCorrupt):
        adyton.open(study)


RUNNING = [
    "an amount",
    "a total",
    "a receipt deleted",
    "the tail cut off, its answers left",
]


@pytest.mark.parametrize("name", RUNNING)
def test_A24_a_running_curator_never_rests_on_an_edited_receipt(study: Path, name: str) -> None:
    """It has seen receipt 8, and somebody adds receipts and edits at the same time."""
    with adyton.open(study) as curator:
        assert curator.ask(query(1), scale=1000).repeated
        with adyton.open(study) as other:
            other.ask(query(20), scale=1000)
            other.ask(query(21), scale=1000)
        edit = {
            "an amount": "UPDATE receipts SET amount = '1' WHERE number = 9",
            "a total": "UPDATE receipts SET spent = '0' WHERE number = 10",
            "a receipt deleted": "DELETE FROM receipts WHERE number = 9",
            "the tail cut off, its answers left": "DELETE FROM receipts WHERE number > 7",
        }[name]
        tamper(study.with_suffix(".ledger"), edit)
        with pytest.raises(adyton.LedgerCorrupt):
            curator.ask(query(30), scale=1000)


def long_ledger(path: Path, receipts: int) -> SqliteLedger:
    ledger = SqliteLedger.create(path, Header.fresh("ab" * 32, "gdp", 10**6))
    with ledger.store.lock() as connection:
        last = None
        for number in range(receipts):
            last = next_receipt(
                ledger.header,
                last,
                Order(f"q{number}", "[]", 1, 0),
                "2026-01-01",
                final=FinalCost(0),
                last_of_name=last,
                secret=f"secret {number}",
            )
            append(connection, last)
    return ledger


@pytest.mark.parametrize("behind", [1, CHECKPOINT - 1, CHECKPOINT, CHECKPOINT + 1])
def test_A24_the_checkpoint_is_256_behind_and_verify_sees_beyond_it(tmp_path: Path, behind: int) -> None:
    """guarantee.md: found at opening after the checkpoint, by verify before it."""
    path, last = tmp_path / "long.ledger", 2 * CHECKPOINT
    long_ledger(path, last).close()
    tamper(path, f"DELETE FROM unanswered WHERE number = {last - behind}")
    tamper(path, f"DELETE FROM receipts WHERE number = {last - behind}")
    if behind <= CHECKPOINT:
        with pytest.raises(adyton.LedgerCorrupt):
            SqliteLedger(path)
    else:
        with closing(SqliteLedger(path)) as ledger, pytest.raises(adyton.LedgerCorrupt):
            ledger.verify()


def test_A24_a_tail_that_is_cut_off_cleanly_is_a_valid_chain(study: Path) -> None:
    """Which is why there are checkpoints: see test_checkpoint."""
    path = study.with_suffix(".ledger")
    tables: Callable[[str], str] = "DELETE FROM {} WHERE number > 4".format
    tamper(path, *map(tables, ("answers", "unanswered", "notes", "receipts")))
    with adyton.open(study) as curator:
        assert curator.verify().receipts == 4


def test_A24_an_answer_removed_from_an_open_ledger_gets_no_second_one(study: Path) -> None:
    """Mutant: ``remember`` without ``refuse_if_not_awaited``."""
    path = study.with_suffix(".ledger")
    with closing(SqliteLedger(path)) as ledger:
        tamper(path, "DELETE FROM answers WHERE number = 2")
        with pytest.raises(adyton.LedgerCorrupt, match="was removed"):
            ledger.remember(2, "another")
        assert ledger.recall(2) is None


def test_a_charge_of_another_process_is_not_taken_for_an_edit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It comes between two statements of a look at the newest receipt.  Mutant: ``_newest`` without a snapshot."""
    header = Header.fresh("study", "pure", 1000)
    with (
        closing(SqliteLedger.create(tmp_path / "a.ledger", header)) as ours,
        closing(SqliteLedger(tmp_path / "a.ledger")) as theirs,
    ):
        theirs.charge(Order("q1", "[]", 1, 0))
        pages = checking.page_after

        def overtaken(*words: Any) -> Any:
            monkeypatch.undo()
            theirs.charge(Order("q2", "[]", 1, 0))
            return pages(*words)

        monkeypatch.setattr(checking, "page_after", overtaken)
        assert ours.spent() == 1
        assert ours.spent() == 2
