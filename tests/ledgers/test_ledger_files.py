"""Where a ledger file is, who may only read it, and which errors a wrong one raises."""

from __future__ import annotations

import errno
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import adyton
from adyton.kernel.ledger import Header, Order, SqliteLedger
from adyton.kernel.ledger.faults import reason
from adyton.kernel.schema import CategoryColumn, IntegerColumn, RealColumn
from adyton.study import Validity, named_facts
from support.worlds import query, tamper, write_study


def asked(study: Path, numbers: int = 2) -> Path:
    with adyton.open(study) as curator:
        for number in range(numbers):
            curator.ask(query(number), scale=1000)
    return study


# The section [ledger]


def test_the_ledger_lies_where_the_study_says_and_that_is_no_fact(tmp_path: Path) -> None:
    (tmp_path / "ledgers").mkdir()
    plain = write_study(tmp_path)
    moved = write_study(tmp_path, name="moved", more='\n[ledger]\naddress = "ledgers/ours.ledger"\n')
    one, two = adyton.read_study(plain), adyton.read_study(moved)
    assert one.fingerprint == two.fingerprint
    assert two.ledger == tmp_path / "ledgers" / "ours.ledger"
    asked(moved)
    assert (tmp_path / "ledgers" / "ours.ledger").exists()
    assert not (tmp_path / "moved.ledger").exists()


@pytest.mark.parametrize(
    ("section", "said"),
    [
        ('address = "mysql://host/ledgers"', "NAME; mysql:// is not"),
        ('checkpoint = "s3://bucket/checkpoint"', "NAME; s3:// is not supported"),
        ('checkpoint = "people.ledger"', "ledger.checkpoint has a place of its own"),
        ("checkpoint = 7", "ledger.checkpoint"),
        ('anker = "x"', "ledger.anker"),
    ],
)
def test_what_is_wrong_with_the_section_is_said(tmp_path: Path, section: str, said: str) -> None:
    study = write_study(tmp_path, more=f"\n[ledger]\n{section}\n")
    with pytest.raises(adyton.InvalidRequest) as wrong:
        adyton.read_study(study)
    assert said in wrong.value.message


# Facts that differ


def test_a_ledger_of_other_facts_says_which(tmp_path: Path) -> None:
    study = asked(write_study(tmp_path))
    write_study(tmp_path, high=99, epsilon="10")
    with pytest.raises(adyton.InvalidRequest) as differs:
        adyton.open(study)
    for said in (
        "columns.age.high: 120 in the ledger, 99 here",
        "privacy.epsilon: 100 in the ledger, 10 here",
        "adyton amend",
    ):
        assert said in differs.value.message


def test_a_ledger_that_was_made_without_facts_does_not_know_which(tmp_path: Path) -> None:
    study = write_study(tmp_path)
    known = adyton.read_study(study)
    header = Header.fresh(known.fingerprint, known.accounting, known.allowed)
    SqliteLedger.create(study.with_suffix(".ledger"), header).close()
    with adyton.open(asked(study)) as curator:
        assert curator.verify().receipts == 2
    write_study(tmp_path, high=99)
    with pytest.raises(adyton.InvalidRequest, match="it does not know which"):
        adyton.open(study)


def test_every_fact_of_the_fingerprint_has_a_name(tmp_path: Path) -> None:
    """A change that the fingerprint sees and no name says would be a riddle."""
    known = adyton.read_study(write_study(tmp_path))
    table = known.table
    age = IntegerColumn("age", 0, 120)
    plan = Validity(Fraction(9, 10), queries=1, tolerance=Fraction(9, 10))
    pure = {"accounting": "pure", "budget": adyton.Guarantee(known.budget.epsilon, Fraction(0))}
    changes: list[Any] = [
        {"table": replace(table, name="persons")},
        {"table": replace(table, rows=51)},
        {"table": replace(table, columns=(IntegerColumn("age", 0, 99),))},
        {"table": replace(table, columns=(IntegerColumn("age", 1, 120),))},
        {"table": replace(table, columns=(RealColumn("age", Fraction(0), Fraction(120), Fraction(1)),))},
        {"table": replace(table, columns=(age, CategoryColumn("region", ("a", "b"))))},
        {"unit": adyton.PrivacyUnit("add-remove")},
        {"unit": adyton.PrivacyUnit("replace-one", "who", 3), "table": replace(table, person="who")},
        {"budget": adyton.Guarantee(Fraction(9), known.budget.delta)},
        {"budget": adyton.Guarantee(known.budget.epsilon, Fraction(1, 10**10))},
        {"accounting": "zcdp"},
        {"discovery_delta": Fraction(1, 10**10)},
        {"validity": Validity(Fraction(9, 10))},
        {"validity": Validity(Fraction(8, 10))},
        {"validity": Validity(Fraction(9, 10), queries=5)},
        {"validity": Validity(Fraction(9, 10), queries=5, beyond_plan="answer")},
        {"validity": plan},
        {"validity": replace(plan, tolerance=Fraction(8, 9))},
        {"validity": replace(plan, noise="decreasing")},
        {"validity": replace(plan, share=Fraction(1, 9))},
        {"validity": replace(plan, spread=Fraction(1, 9))},
        {"validity": replace(plan, group=Fraction(8, 9))},
        {"validity": Validity(Fraction(9, 10), stability=Fraction(1, 10)), **pure},
        {"validity": Validity(Fraction(9, 10), stability=Fraction(2, 10)), **pure},
    ]
    seen = [named_facts(known)]
    for change in changes:
        other = replace(known, **change)
        assert other.fingerprint != known.fingerprint
        assert named_facts(other) not in seen
        seen.append(named_facts(other))


# To read only


# As nobody else may read root's Python, all that will be needed is loaded first, by a query elsewhere.
BECOME_NOBODY = """
import os, sys, adyton
from pathlib import Path
study = Path(sys.argv[1])
with adyton.open(sys.argv[2]) as curator:
    curator.ask("SELECT COUNT(*) FROM people", scale=1000)
    curator.verify()
    curator.budget()
if os.geteuid() == 0: os.setuid(65534)
"""
READ = """
assert not os.access(study.parent, os.W_OK)
with adyton.open(study) as curator:
    assert len(curator.receipts()) == curator.verify().receipts == int(sys.argv[3])
    assert curator.budget().queries == int(sys.argv[3])
    assert curator.ask("SELECT COUNT(*) FROM people WHERE age > 0", scale=1000).repeated
    try:
        curator.ask("SELECT COUNT(*) FROM people WHERE age > 77", scale=1000)
        raise SystemExit("it was answered")
    except adyton.LedgerCorrupt as refusal:
        assert "read-only here: it can be read, listed and verified" in refusal.message, refusal.message
        assert "SQLITE" not in refusal.message
"""


def read_only(folder: Path, script: str, *arguments: str) -> str:
    """By somebody who may read the folder and not write to it."""
    for file in (folder, *folder.iterdir()):
        file.chmod(0o555 if file.is_dir() else 0o444)
    with tempfile.TemporaryDirectory() as elsewhere:
        own = write_study(Path(elsewhere))
        command = [sys.executable, "-c", BECOME_NOBODY + script, folder / "people.toml", own, *arguments]
        done = subprocess.run(command, capture_output=True, text=True)
    folder.chmod(0o755)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def public_folder() -> Any:
    """A folder that everybody can reach, unlike pytest's own."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


def test_a_copy_in_a_read_only_folder_can_be_read_and_verified(tmp_path: Path, public_folder: Path) -> None:
    asked(write_study(tmp_path))
    shutil.copytree(tmp_path, public_folder, dirs_exist_ok=True)
    read_only(public_folder, READ, "2")


def test_a_copy_with_its_log_is_read_with_its_log(tmp_path: Path, public_folder: Path) -> None:
    """A mutant that opens it as immutable sees an older ledger, and calls it whole."""
    study = asked(write_study(tmp_path))
    with adyton.open(study) as curator:
        curator.ask(query(5), scale=1000)
        shutil.copytree(tmp_path, public_folder, dirs_exist_ok=True)
        assert (public_folder / "people.ledger-wal").stat().st_size
    (public_folder / "people.ledger-shm").unlink()
    read_only(public_folder, READ, "3")


def test_the_first_charge_in_a_read_only_folder_says_so(public_folder: Path) -> None:
    write_study(public_folder)
    ask = (
        "try: adyton.open(study).ask('SELECT COUNT(*) FROM people', scale=1000)\n"
        "except adyton.LedgerCorrupt as refusal: print(refusal.message)"
    )
    assert "its folder does not allow it" in read_only(public_folder, ask)


# In English


def test_no_code_of_sqlite_reaches_a_person() -> None:
    for name in [name for name in dir(sqlite3) if name.startswith("SQLITE_")]:
        fault = sqlite3.OperationalError("x")
        fault.sqlite_errorname = name  # type: ignore[misc]
        assert "SQLITE" not in reason(fault)
        assert len(reason(fault)) > 15
    for number in (errno.ENOSPC, errno.EROFS, 0):
        assert "Errno" not in reason(OSError(number, "words of the system"))
        assert "words of the system" not in reason(OSError(number, "words of the system"))


@pytest.mark.parametrize("content", [b"people = 1\n" * 100, b"SQLite format 3\0" + bytes(4096)])
def test_what_is_no_ledger_is_called_so(tmp_path: Path, content: bytes) -> None:
    study = write_study(tmp_path)
    study.with_suffix(".ledger").write_bytes(content)
    with pytest.raises(adyton.LedgerCorrupt, match=r"not a ledger|damaged"):
        adyton.open(study)


LONG = "ä" * 70_000 + "z"  # more than is hashed at a time, and more bytes than characters


def answered(path: Path, answer: str = LONG) -> None:
    with closing(SqliteLedger.create(path, Header.fresh("ab" * 32, "gdp", 10))) as ledger:
        ledger.charge(Order("q", "[]", 1, 0))
        ledger.remember(1, answer)


@pytest.mark.parametrize("place", [0, 65_535, 65_536, 70_000])
def test_a_changed_letter_of_an_answer_is_found(tmp_path: Path, place: int) -> None:
    """Mutant: only the first piece is hashed."""
    path = tmp_path / "a.ledger"
    answered(path)
    with closing(SqliteLedger(path)) as ledger:
        assert ledger.recall(1) == LONG
        assert ledger.verify().receipts == 1
    tamper(path, f"UPDATE answers SET answer = '{LONG[:place] + 'x' + LONG[place + 1 :]}'")
    with pytest.raises(adyton.LedgerCorrupt, match="answer 1 of the ledger was changed"):
        SqliteLedger(path)  # which reads the newest answers


def test_an_answer_is_tied_to_its_receipt(tmp_path: Path) -> None:
    """Mutant: the digest of an answer without that of its receipt."""
    one, other = tmp_path / "one.ledger", tmp_path / "other.ledger"
    for path in (one, other):
        answered(path)  # the same order, and ledgers with salts of their own
    with closing(sqlite3.connect(one)) as connection:
        ((digest,),) = connection.execute("SELECT digest FROM answers").fetchall()
    tamper(other, f"UPDATE answers SET digest = '{digest}'")
    with pytest.raises(adyton.LedgerCorrupt, match="answer 1 of the ledger was changed"):
        SqliteLedger(other)
