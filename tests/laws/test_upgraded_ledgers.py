"""Ledgers of format 1 are refused with advice, and converted by a command: nothing is lost, nothing given back.

The files in old_ledgers were written by the last version of that format, and are kept as SQL; but for ``weighted``, a
holdout that was made before weights counted by their squares.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import adyton
from adyton.holdout import Holdout
from adyton.holdout.weights import weights_from
from adyton.ledger import Anchor, SqliteLedger
from adyton.ledger.older import upgrading
from adyton.ledger.older.format_1 import OldLedger, OldReceipt
from adyton.ledger.older.upgrading import CONVERTED, ForValidity, open_format, upgrade_file
from adyton.ledger.stored.tables import write_closing
from adyton.ledger.texts import carried_texts
from adyton.setup.upgrading import paid_by, upgrade
from adyton.study import read_study
from adyton.transports.cli.app import app
from seeded import SeededByHash
from study_on_disk import tamper

OLD = Path(__file__).parent / "old_ledgers"
FIRST = "SELECT COUNT(*) FROM people WHERE age > 30"
NAMES = ("gdp", "pure")


def restore(dump: Path, path: Path, version: int = 1) -> Path:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.executescript(dump.read_text(encoding="utf-8"))
        connection.execute(f"PRAGMA application_id = {0x61647974}")
        connection.execute(f"PRAGMA user_version = {version}")
        connection.execute("PRAGMA journal_mode = WAL")
    return path


def old_study(folder: Path, name: str = "gdp", more: str = "") -> Path:
    rows = [f"{20 + row % 60},{'Rome' if row % 2 else 'Oslo'}" for row in range(400)]
    (folder / "people.csv").write_text("\n".join(["age,city", *rows]) + "\n")
    text = (OLD / "people.toml").read_text(encoding="utf-8")
    if name == "pure":
        text = text.replace("delta = 1e-9\nkeys_delta = 1e-10\n", 'delta = 0\nfilter = "pure"\n')
    (folder / f"{name}.toml").write_text(text + more)
    restore(OLD / f"{name}.sql", folder / f"{name}.ledger")
    return folder / f"{name}.toml"


def read_old(path: Path) -> tuple[OldLedger, sqlite3.Connection]:
    connection, version = open_format(path)
    assert version == 1
    return OldLedger(connection), connection


def rows_of(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as connection:
        return list(connection.iterdump())


def convert(path: Path, check: Any = lambda old, mark: None) -> upgrading.Upgraded:
    return upgrade_file(path, lambda receipt: ForValidity(receipt.radius), check)


@pytest.mark.parametrize("name", NAMES)
def test_format_1_is_refused_with_advice_and_nothing_is_touched(tmp_path: Path, name: str) -> None:
    study = old_study(tmp_path, name)
    before = rows_of(study.with_suffix(".ledger"))
    with pytest.raises(adyton.LedgerCorrupt, match=r"format 1.*adyton upgrade-ledger"):
        adyton.open(study)
    assert rows_of(study.with_suffix(".ledger")) == before


@pytest.mark.parametrize("name", NAMES)
def test_everything_is_carried_over(tmp_path: Path, name: str) -> None:
    study = old_study(tmp_path, name)
    path = study.with_suffix(".ledger")
    old, connection = read_old(path)
    entries, mark = list(old.entries()), old.mark(closed=False)
    connection.close()
    done = upgrade(read_study(study))
    assert (done.receipts, done.old_head, done.kept.name) == (
        len(entries),
        mark.head,
        f"{name}.ledger.format-1",
    )
    with closing(SqliteLedger(path)) as ledger:
        assert ledger.verify().head == done.head == ledger.head()
        assert ledger.header.converted_from == mark.head
        for entry, receipt in zip(entries, ledger.receipts(), strict=True):
            then, order = entry.receipt, receipt.order
            assert (receipt.number, receipt.asked_at, receipt.spent) == (
                then.number,
                then.asked_at,
                then.spent,
            )
            assert (order.question, order.detail, order.request) == (then.question, then.detail, then.request)
            assert (order.amount, order.by, receipt.sub_limit) == (then.amount, None, None)
            assert ledger.recall(receipt.number) == entry.answer
            assert tuple(ledger.notes(receipt.number)) == entry.notes
            assert ledger.settled(receipt.number) == order.radius
        last = ledger.receipt(ledger.count())
        assert last is not None
        now = ledger.mark()
        assert (now.answers, now.notes) == (mark.answers, mark.notes)
        radii = sum(receipt.order.radius for receipt in ledger.receipts())
        assert last.spent_radius == radii == ledger.spent_radius()


def test_what_validity_pays_is_said_in_the_new_words(tmp_path: Path) -> None:
    """Streams by their pure part, found keys as not proved; all else as it was charged."""
    study = old_study(tmp_path)
    upgrade(read_study(study))
    with closing(SqliteLedger(study.with_suffix(".ledger"))) as ledger:
        orders = [receipt.order for receipt in ledger.receipts()]
        assert [order.unproved for order in orders] == [False, False, False, True, False, False]
        assert [order.pure > 0 for order in orders] == [False, False, True, False, False, False]
        assert [order.radius > 0 for order in orders] == [True, True, False, True, True, True]
        assert (orders[0].radius, orders[3].radius) == (625000000000000, 4250251784594970)
        assert ledger.totals().unproved == 1


def test_in_a_pure_study_the_radius_says_it_all(tmp_path: Path) -> None:
    study = old_study(tmp_path, "pure")
    old, connection = read_old(study.with_suffix(".ledger"))
    radii = [entry.receipt.radius for entry in old.entries()]
    connection.close()
    upgrade(read_study(study))
    with closing(SqliteLedger(study.with_suffix(".ledger"))) as ledger:
        assert [receipt.order.radius for receipt in ledger.receipts()] == radii
        assert (ledger.totals().pure, ledger.totals().unproved) == (0, 0)


@pytest.mark.parametrize(
    ("question", "detail"),
    [
        carried_texts("ab" * 32, 7),
        ("q", '[["n", "another noise", "1.0"]]'),
        ("q", "not json"),
        ("q", "[7]"),
        ("q", '[["number of keys", "rounded Gaussian", "1.0"]]'),
    ],
)
def test_what_cannot_be_told_from_an_old_receipt_counts_as_not_proved(question: str, detail: str) -> None:
    receipt = OldReceipt(1, question, detail, 1, 5, None, 1, 5, "", "")
    assert paid_by("gdp", receipt) == ForValidity(5, unproved=True)
    assert paid_by("zcdp", receipt).unproved
    assert paid_by("pure", receipt) == ForValidity(5)


@pytest.mark.parametrize("name", NAMES)
def test_a_study_goes_on_with_its_converted_ledger(tmp_path: Path, name: str) -> None:
    study = old_study(tmp_path, name)
    upgrade(read_study(study))
    with adyton.open(study) as curator:
        again = curator.ask(FIRST, scale=20)
        assert (again.repeated, again.receipt.number) == (True, 1)
        assert curator.ask(FIRST, scale=20, request="first é").receipt.number == 1
        with pytest.raises(adyton.InvalidRequest, match="already used"):
            curator.ask(FIRST, scale=21, request="first é")
        stream = curator.stream(3)
        assert len(stream.answers()) == 2
        count = len(curator.receipts())
        assert curator.ask("SELECT COUNT(*) FROM people WHERE age > 50", scale=50).receipt.number == count + 1
        assert curator.verify().receipts == count + 1


def test_what_was_paid_for_and_not_answered_stays_so(tmp_path: Path) -> None:
    path = old_study(tmp_path).with_suffix(".ledger")
    convert(path)
    with closing(SqliteLedger(path)) as ledger:
        waiting = ledger.unanswered("SELECT 1", '[["n", "rounded Gaussian", "1.0"]]', 7)
        assert waiting is not None
        assert (waiting.number, waiting.order.request) == (5, "unanswered")
        assert ledger.remember(5, "an answer", 2) == "an answer"


def test_an_answer_that_an_older_version_may_have_lost_is_not_given_twice(tmp_path: Path) -> None:
    """The first may have been shown, and lost with the power.  Mutant: ``remember`` without ``refuse_if_older``."""
    path = old_study(tmp_path).with_suffix(".ledger")
    tamper(path, "DROP TABLE unanswered")
    convert(path)
    with closing(SqliteLedger(path)) as ledger:
        assert ledger.unanswered("SELECT 1", '[["n", "rounded Gaussian", "1.0"]]', 7) is None
        with pytest.raises(adyton.InvalidRequest, match="older version"):
            ledger.remember(5, "a second answer")
        assert (ledger.mark().answers, ledger.verify().receipts) == (4, 6)


def test_a_ledger_from_before_notes_is_converted(tmp_path: Path) -> None:
    path = old_study(tmp_path).with_suffix(".ledger")
    tamper(path, "DROP TABLE notes")
    convert(path)
    with closing(SqliteLedger(path)) as ledger:
        assert ledger.notes(3) == []
        assert ledger.annotate(3, 0, "a note")


def test_answers_that_were_hashed_as_they_are_are_read_too(tmp_path: Path) -> None:
    path = old_study(tmp_path).with_suffix(".ledger")
    old, connection = read_old(path)
    entry = next(old.entries())
    connection.close()
    begin = json.dumps(["adyton", 1, "text of an answer", entry.receipt.digest])
    hashed = "text:" + hashlib.sha256(f"{begin}{entry.answer}".encode()).hexdigest()
    tamper(path, f"UPDATE answers SET digest = '{hashed}' WHERE number = 1")
    convert(path)
    with closing(SqliteLedger(path)) as ledger:
        assert ledger.recall(1) == entry.answer


# The old file


def test_the_old_file_is_kept_closed_and_connects_to_the_new_one(tmp_path: Path) -> None:
    path = old_study(tmp_path).with_suffix(".ledger")
    done = convert(path)
    old, connection = read_old(done.kept)
    assert old.mark(closed=True).head == done.old_head
    assert len(list(old.entries())) == done.receipts
    connection.close()
    with closing(sqlite3.connect(done.kept)) as kept:
        assert kept.execute("SELECT text FROM closed").fetchall() == [
            (CONVERTED,)
        ]  # older versions refuse it
    assert sorted(file.name for file in tmp_path.glob("*.ledger*")) == ["gdp.ledger", "gdp.ledger.format-1"]
    assert path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(adyton.InvalidRequest, match="nothing to convert"):
        convert(path)


EDITS = {
    "an amount": "UPDATE receipts SET amount = '1' WHERE number = 3",
    "a radius": "UPDATE receipts SET radius = '0' WHERE number = 4",
    "a total": "UPDATE receipts SET spent = '0' WHERE number = 6",
    "a receipt deleted": "DELETE FROM receipts WHERE number = 2",
    "a receipt deleted with its answer": "DELETE FROM answers WHERE number = 2; "
    "DELETE FROM receipts WHERE number = 2",
    "the first receipts deleted": "DELETE FROM answers WHERE number < 3; DELETE FROM receipts WHERE number < 3",
    "the tail cut off, its answers left": "DELETE FROM receipts WHERE number > 5",
    "an answer": "UPDATE answers SET answer = '[]' WHERE number = 2",
    "an answer deleted": "DELETE FROM answers WHERE number = 2",
    "a note": "UPDATE notes SET text = '{}' WHERE place = 1",
    "a note deleted": "DELETE FROM notes WHERE place = 0",
    "a note of nobody": "UPDATE notes SET number = 99",
    "a limit": "UPDATE header SET \"limit\" = '1000000'",
    "no header": "DELETE FROM header",
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_an_edited_ledger_is_not_converted(tmp_path: Path, edit: str) -> None:
    path = old_study(tmp_path).with_suffix(".ledger")
    tamper(path, *edit.split(";"))
    before = rows_of(path)
    with pytest.raises(adyton.LedgerCorrupt):
        convert(path)
    assert rows_of(path) == before
    assert [file.name for file in tmp_path.glob("*ledger*")] == ["gdp.ledger"]


def test_a_closed_ledger_and_one_of_another_study_are_not_converted(tmp_path: Path) -> None:
    study = old_study(tmp_path)
    path = study.with_suffix(".ledger")
    study.write_text(study.read_text().replace("high = 120", "high = 121"))
    with pytest.raises(adyton.InvalidRequest, match="another study"):
        upgrade(read_study(study))
    with closing(sqlite3.connect(path)) as connection:
        write_closing(connection, '{"ledger": "elsewhere"}')
        connection.commit()
    with pytest.raises(adyton.InvalidRequest, match=r"amended.*keep it as it is"):
        convert(path)
    path.unlink()
    with pytest.raises(adyton.InvalidRequest, match="nothing was charged"):
        convert(path)


def test_what_is_in_the_way_is_not_overwritten(tmp_path: Path) -> None:
    path = old_study(tmp_path).with_suffix(".ledger")
    path.with_name("gdp.ledger.format-1").write_text("something else")
    before = rows_of(path)
    with pytest.raises(adyton.InvalidRequest, match="exists already"):
        convert(path)
    assert rows_of(path) == before


class Crash(BaseException):
    """The power goes."""


@pytest.mark.parametrize("place", ["verify", "write_closing", "link", "replace", "flush_folder"])
def test_after_a_crash_the_same_command_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """At no moment is there no ledger where the study looks for it: the first charge would make an empty one."""
    study = old_study(tmp_path)
    path = study.with_suffix(".ledger")

    def crash(*_: Any) -> None:
        raise Crash

    owner: Any = {"verify": SqliteLedger, "link": os, "replace": Path}.get(place, upgrading)
    with monkeypatch.context() as patch:
        patch.setattr(owner, place, crash)
        with pytest.raises(Crash):
            upgrade(read_study(study))
    with closing(sqlite3.connect(path)) as connection:
        version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version == 1:
        with pytest.raises(adyton.LedgerCorrupt, match="upgrade-ledger"):
            adyton.open(study)
        upgrade(read_study(study))
    with adyton.open(study) as curator:
        assert curator.verify().receipts == 6
    assert len(list(tmp_path.glob("*.ledger*"))) == 2
    assert not list(tmp_path.glob(".gdp*"))


def test_who_still_has_the_old_ledger_open_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = old_study(tmp_path).with_suffix(".ledger")
    with closing(sqlite3.connect(path, timeout=0)) as other:
        assert other.execute("SELECT COUNT(*) FROM receipts").fetchone() == (6,)
        monkeypatch.setattr("adyton.ledger.stored.sqlite._PATIENCE", 0.1)
        with pytest.raises((adyton.InvalidRequest, adyton.LedgerCorrupt)):
            convert(path)
        assert other.execute("SELECT text FROM closed").fetchall() == [(CONVERTED,)]  # so it charges no more
        with pytest.raises(adyton.LedgerCorrupt, match="format 1"):
            SqliteLedger(path)
    assert convert(path).receipts == 6


# Anchors, holdouts and the command


ANCHOR = '\n[ledger]\nanchor = "gdp.anchor"\n'


def anchored(folder: Path) -> tuple[Path, Anchor]:
    study = old_study(folder, more=ANCHOR)
    anchor = Anchor(folder / "gdp.anchor")
    old, connection = read_old(study.with_suffix(".ledger"))
    anchor.write(old.mark(closed=False))
    connection.close()
    return study, anchor


def test_an_anchor_is_written_anew_if_it_had_seen_nothing_else(tmp_path: Path) -> None:
    study, anchor = anchored(tmp_path)
    done = upgrade(read_study(study))
    kept = anchor.read()
    assert kept is not None
    assert (kept.head, kept.receipts, kept.closed) == (done.head, 6, False)
    with adyton.open(study) as curator:
        assert curator.ask(FIRST, scale=20).repeated


def test_a_ledger_that_is_behind_its_anchor_is_not_converted(tmp_path: Path) -> None:
    study, anchor = anchored(tmp_path)
    path, text = study.with_suffix(".ledger"), anchor.path.read_text()
    tamper(
        path, *(f"DELETE FROM {table} WHERE number > 4" for table in ("answers", "unanswered", "receipts"))
    )
    before = rows_of(path)
    with pytest.raises(adyton.LedgerCorrupt, match="rolled back"):
        upgrade(read_study(study))
    assert (rows_of(path), anchor.path.read_text()) == (before, text)
    anchor.path.unlink()
    with pytest.raises(adyton.InvalidRequest, match="is missing: put it back first"):
        upgrade(read_study(study))


def test_the_ledger_of_a_holdout_is_converted(tmp_path: Path) -> None:
    labels = np.arange(500) % 2
    shutil.copy(OLD / "scores.toml", tmp_path)
    np.save(tmp_path / "scores.labels.npy", labels)
    restore(OLD / "scores.sql", tmp_path / "scores.ledger")
    done = CliRunner().invoke(app, ["upgrade-ledger", str(tmp_path / "scores.toml"), "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["receipts"] == 2
    with closing(SqliteLedger(tmp_path / "scores.ledger")) as ledger:
        assert ledger.verify().receipts == 2
    with pytest.raises(adyton.InvalidRequest, match="planned by an older theorem"):
        Holdout.open(tmp_path / "scores.toml")


def test_theorem_WEIGHTED_SCORES_a_holdout_without_squares_keeps_its_numbers(tmp_path: Path) -> None:
    """What the version said that made it, of two scores that it stored and of two more with the same noise.

    Mutants: the squares of its weights taken although its file has none; a file that must have them.
    """
    items = np.arange(1200)
    shutil.copy(OLD / "weighted.toml", tmp_path)
    np.save(tmp_path / "weighted.labels.npy", items % 2)
    np.save(tmp_path / "weighted.weights.npy", weights_from(np.where(items % 4 == 0, 4, 1), 1200).steps)
    restore(OLD / "weighted.sql", tmp_path / "weighted.ledger", version=2)
    said = {
        900: (0.795904046921503, 0.669139328963574, 0.9065342239495743),
        600: (0.5439867001488096, 0.40865767748003756, 0.6764746299601274),
        1100: (0.9668009149460566, 0.85301018434044, 1.0),
    }
    with Holdout.open(tmp_path / "weighted.toml", bits=SeededByHash(3)) as holdout:
        assert holdout.verify().receipts == 2
        guesses = {right: np.where(items < right, items % 2, 1 - items % 2) for right in said}
        for right, numbers in said.items():
            score = holdout.score(guesses[right])
            assert score.repeated == (right != 1100)
            assert (score.value, score.interval.low, score.interval.high) == pytest.approx(numbers, rel=1e-9)
        better = holdout.compare(guesses[900], guesses[600])
        ends = (better.value, better.interval.low, better.interval.high)
        # The ends of comparisons are those of today: the old ones, wider here, were not proved.
        assert ends == pytest.approx((0.3263412620907738, 0.05396071740987924, 0.5754845001542767), rel=1e-9)
        assert holdout.statement().scores_left == 5


def test_the_command_says_what_it_did(tmp_path: Path) -> None:
    study = old_study(tmp_path)
    done = CliRunner().invoke(app, ["upgrade-ledger", str(study)])
    assert done.exit_code == 0, done.output
    assert "6 receipts converted" in done.stdout
    assert "gdp.ledger.format-1" in done.stdout
    with adyton.open(study) as curator:
        assert f"New head: {curator.verify().head}" in done.stdout
    again = CliRunner().invoke(app, ["upgrade-ledger", str(study)])
    assert again.exit_code == 2
    assert "nothing to convert" in again.stderr
