"""Attempts to get an answer that no durable debit paid for, or to make the record of debits lie."""

from __future__ import annotations

import math
import os
import random
import resource
import shutil
import signal
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from adyton.errors import BudgetRefused, InvalidRequest, LedgerCorrupt
from adyton.kernel.exact import units_up
from adyton.kernel.ledger import Cap, Header, MemoryLedger, Order, SqliteLedger
from adyton.kernel.ledger.base import next_receipt
from adyton.kernel.ledger.stored import sqlite as sqlite_file
from adyton.kernel.ledger.stored.tables import append
from adyton.kernel.ledger.subjects import ReceiptSubject
from adyton.kernel.ledger.validity import FinalCost, ValidityRecord
from adyton.ledgers.on_demand import LedgerOnDemand
from support.processes import APART
from support.tries import often

STUDY = "ab" * 32


def order(amount: int = 1, request: str | None = None) -> Order:
    return Order("count", "{}", amount, 0, request)


def enter(path: Path, limit: int) -> SqliteLedger:
    return SqliteLedger.open_or_create(path, Header.fresh(STUDY, "gdp", limit))


def in_another_process(attack: Callable[..., None], *arguments: Any) -> None:
    process = APART.Process(target=attack, args=arguments)
    process.start()
    process.join(60)
    assert process.exitcode == 0


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "people.ledger"


@pytest.fixture
def ledger(path: Path) -> Iterator[SqliteLedger]:
    with closing(enter(path, 100)) as opened:
        yield opened


# A16: prices that are no prices


@pytest.mark.parametrize(
    "amount", [0, -1, math.nan, math.inf, 1e308, 1e-30, "1", True, 10**400, Fraction(1, 2), None], ids=repr
)
def test_A16_a_price_that_is_no_price_is_refused_and_spends_nothing(
    ledger: SqliteLedger, amount: Any
) -> None:
    ledger.charge(order(7))
    with pytest.raises(InvalidRequest):
        ledger.charge(order(amount))
    assert (ledger.spent(), ledger.count()) == (7, 1)


def test_A16_the_smallest_price_is_one_unit_and_never_nothing(ledger: SqliteLedger) -> None:
    for _ in range(100):
        ledger.charge(order(units_up(Fraction(1, 10**30))))
    with pytest.raises(BudgetRefused):
        ledger.charge(order(units_up(Fraction(1, 10**30))))
    assert ledger.spent() == 100


# A20, A21: many clients at once


def spend(path: Path, limit: int, amount: int, times: int, start: Any, accepted: Any) -> None:
    start.wait()  # also the ledger is made by whoever comes first
    with closing(enter(path, limit)) as ledger:
        for _ in range(times):
            try:
                ledger.charge(order(amount))
            except BudgetRefused:
                continue
            with accepted.get_lock():
                accepted.value += 1


def test_A20_two_processes_never_overspend(path: Path) -> None:
    limit, amount = 500, 7
    start, accepted = APART.Barrier(2), APART.Value("i", 0)
    arguments = (path, limit, amount, 50, start, accepted)
    clients = [APART.Process(target=spend, args=arguments) for _ in range(2)]
    for client in clients:
        client.start()
    for client in clients:
        client.join(60)
    assert [client.exitcode for client in clients] == [0, 0]
    with closing(enter(path, limit)) as ledger:
        found = ledger.verify()
    assert accepted.value == found.receipts == limit // amount == 71
    assert found.spent == 497


def spend_stability(path: Path, caps: list[Cap], together: Any, accepted: Any) -> None:
    ledger = LedgerOnDemand(path, study=STUDY, accounting="gdp", budget=10**6)
    with closing(ledger):
        for cap in caps:
            together.wait()  # also the first time, when the file is made
            try:
                receipt = ledger.charge(Order("count", "{}", 1, 7, None, cap)).receipt
            except BudgetRefused:
                continue
            assert cap.radius is None or receipt.spent_radius <= cap.radius
            assert cap.queries is None or receipt.number <= cap.queries
            with accepted.get_lock():
                accepted.value += 1


def test_A20_two_processes_never_pass_a_cap(path: Path) -> None:
    """The cap moves on by one charge a round, and in each round two processes race for it.

    What comes after the cap would be paid for, and would have no population interval.
    """
    caps = [Cap(radius=7 * n) if n % 2 else Cap(queries=n) for n in range(1, 151)]
    together, accepted = APART.Barrier(2, timeout=20), APART.Value("i", 0)
    clients = [APART.Process(target=spend_stability, args=(path, caps, together, accepted)) for _ in range(2)]
    for client in clients:
        client.start()
    for client in clients:
        client.join(60)
    assert [client.exitcode for client in clients] == [0, 0]
    with closing(SqliteLedger(path)) as ledger:
        assert accepted.value == ledger.verify().receipts == len(caps)


def spend_around_forks(path: Path) -> None:
    """Charge, fork with the ledger open, charge on both sides at once; the parent never reopens by hand."""
    with closing(enter(path, 1000)) as ledger:
        ledger.charge(order())
        for _ in range(5):
            child = os.fork()
            for _ in range(10):
                ledger.charge(order())
            if child == 0:
                os._exit(0)
            assert os.waitpid(child, 0)[1] == 0
        assert ledger.verify().spent == 101


def test_A20_a_connection_does_not_cross_a_fork(path: Path) -> None:
    in_another_process(spend_around_forks, path)
    with closing(enter(path, 1000)) as ledger:
        assert ledger.verify().receipts == 101


def test_A20_a_connection_that_crossed_a_fork_unseen_is_not_used(ledger: SqliteLedger) -> None:
    ledger.charge(order())
    ledger.store._process += 1  # as after a fork by a library that does not tell Python
    with pytest.raises(LedgerCorrupt, match="after the fork"):
        ledger.charge(order())


def test_A20_a_forked_copy_of_a_ledger_in_memory_is_not_a_second_budget() -> None:
    ledger = MemoryLedger(Header.fresh(STUDY, "gdp", 10))
    ledger.store._process += 1
    with pytest.raises(LedgerCorrupt, match="fork"):
        ledger.charge(order())


def test_A21_one_request_sent_320_times_is_one_debit(ledger: SqliteLedger) -> None:
    digests = {ledger.charge(order(60, request="again")).receipt.digest for _ in range(320)}
    assert len(digests) == 1
    assert (ledger.spent(), ledger.count()) == (60, 1)
    with pytest.raises(InvalidRequest, match="already used for another query"):
        ledger.charge(order(1, request="again"))


# A22: killed at any moment


KILLS = often(60, 200)


def charge_and_tell(path: Path, told: int) -> None:
    with closing(enter(path, 10**9)) as ledger:
        while True:
            receipt = ledger.charge(order()).receipt
            os.write(told, f"{receipt.number} {receipt.digest}\n".encode())


def wait_for_growth(file: int, size: int) -> None:
    deadline = time.monotonic() + 20
    while os.fstat(file).st_size <= size and time.monotonic() < deadline:
        time.sleep(0.0005)


def kill_again_and_again(path: Path, told: Path) -> None:
    """Half of the kills come at any moment of a life, the others soon after the first receipt."""
    rng = random.Random(22)
    with told.open("ab") as report:
        for kill in range(KILLS):
            size = os.fstat(report.fileno()).st_size
            child = os.fork()
            if child == 0:
                try:
                    charge_and_tell(path, report.fileno())
                finally:
                    os._exit(1)
            if kill % 2:
                wait_for_growth(report.fileno(), size)
            time.sleep(rng.uniform(0, 0.01))
            os.kill(child, signal.SIGKILL)
            assert os.waitpid(child, 0)[1] == signal.SIGKILL  # it did not stop by itself


def test_A22_what_was_told_before_SIGKILL_is_in_the_ledger(path: Path, tmp_path: Path) -> None:
    told = tmp_path / "told"
    in_another_process(kill_again_and_again, path, told)
    claims = [line.split() for line in told.read_text().splitlines()]
    with closing(enter(path, 10**9)) as ledger:
        kept = {str(receipt.number): receipt.digest for receipt in ledger.receipts()}
        found = ledger.verify()
    assert len(claims) >= KILLS // 2
    assert all(kept[number] == digest for number, digest in claims)
    assert found.spent == found.receipts
    assert found.receipts - len(claims) <= KILLS  # each kill loses at most one answer


def kill_at_commit(path: Path, request: str) -> None:
    def trace(statement: str) -> None:
        if statement == "COMMIT":
            os.kill(os.getpid(), signal.SIGKILL)

    child = os.fork()
    if child == 0:
        ledger = enter(path, 100)
        ledger.store._connection.set_trace_callback(trace)
        ledger.charge(order(request=request))
        os._exit(0)
    assert os.waitpid(child, 0)[1] == signal.SIGKILL


def test_A22_killed_before_the_commit_nothing_is_charged(ledger: SqliteLedger, path: Path) -> None:
    ledger.charge(order())
    in_another_process(kill_at_commit, path, "killed")
    assert ledger.verify().receipts == 1
    assert ledger.charge(order(request="killed")).fresh


# A23: the disk fails


def refused(attack: Callable[[], object]) -> None:
    with pytest.raises(LedgerCorrupt, match="nothing was answered"):
        attack()


def test_A23_a_full_disk_gives_no_receipt_and_no_answer(ledger: SqliteLedger) -> None:
    number = ledger.charge(order()).receipt.number
    ledger.store._connection.execute("PRAGMA max_page_count = 1")  # at once full: no page can be added
    large = Order("count" * 5000, "{}", 1, 0, None)
    refused(lambda: ledger.charge(large))
    assert ledger.verify().receipts == 1
    ledger.store._connection.execute("PRAGMA max_page_count = 1")
    refused(lambda: ledger.remember(number, "answer" * 5000))
    assert ledger.recall(number) is None
    assert ledger.charge(order()).receipt.number == 2  # there is room again


def charges_until_refused(ledger: SqliteLedger) -> int:
    for accepted in range(1000):
        try:
            ledger.charge(order())
        except LedgerCorrupt:
            return accepted
    raise AssertionError("the disk never became full")


def charge_until_the_disk_is_full(path: Path) -> None:
    with closing(enter(path, 10**6)) as ledger:
        ledger.charge(order())
        size = path.with_name(path.name + "-wal").stat().st_size
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 40_000, resource.RLIM_INFINITY))
        accepted = 1 + charges_until_refused(ledger)
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        assert 1 < accepted == ledger.verify().receipts
        ledger.charge(order())


def test_A23_a_write_that_fails_in_the_middle_gives_no_receipt(path: Path) -> None:
    in_another_process(charge_until_the_disk_is_full, path)


def test_A23_a_ledger_that_cannot_be_written_answers_nothing(ledger: SqliteLedger) -> None:
    ledger.charge(order())
    ledger.store._connection.execute("PRAGMA query_only = ON")
    refused(lambda: ledger.charge(order()))
    assert ledger.count() == 1


def charge_a_read_only_file(folder: str) -> None:
    if os.geteuid() == 0:  # root may write to everything, so become nobody
        os.chown(folder, 65534, 65534)
        os.setuid(65534)
    path = Path(folder, "people.ledger")
    with closing(enter(path, 100)) as ledger:
        ledger.charge(order())
    path.chmod(0o400)
    with closing(enter(path, 100)) as ledger:
        refused(lambda: ledger.charge(order()))
        assert ledger.count() == 1


def test_A23_a_read_only_file_answers_nothing() -> None:
    with tempfile.TemporaryDirectory() as folder:
        in_another_process(charge_a_read_only_file, folder)


def test_A23_a_folder_is_not_a_ledger(tmp_path: Path) -> None:
    for missing in (tmp_path, tmp_path / "no such folder" / "people.ledger"):
        with pytest.raises(LedgerCorrupt, match="nothing was answered"):
            enter(missing, 100)
    with pytest.raises(LedgerCorrupt, match="nothing was answered"):
        SqliteLedger.open(tmp_path / "missing.ledger", study=STUDY, accounting="gdp", budget=100)
    assert list(tmp_path.iterdir()) == []


def test_A23_a_ledger_locked_for_too_long_answers_nothing(path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(sqlite_file, "_PATIENCE", 0.05)
    with closing(enter(path, 100)) as ledger, closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        refused(lambda: ledger.charge(order()))
        other.execute("ROLLBACK")
        assert ledger.charge(order()).receipt.number == 1


def test_A23_a_commit_that_fails_is_not_a_receipt(ledger: SqliteLedger) -> None:
    def no_commit(action: int, what: str | None, *_: object) -> int:
        forbidden = action == sqlite3.SQLITE_TRANSACTION and what == "COMMIT"
        return sqlite3.SQLITE_DENY if forbidden else sqlite3.SQLITE_OK

    ledger.charge(order())
    ledger.store._connection.set_authorizer(no_commit)
    refused(lambda: ledger.charge(order(request="a")))
    assert ledger.count() == 1
    assert ledger.charge(order(request="a")).fresh


def test_A23_a_deleted_or_replaced_file_answers_nothing(ledger: SqliteLedger, path: Path) -> None:
    ledger.charge(order())
    aside = path.rename(path.with_name("aside"))
    refused(lambda: ledger.charge(order()))
    shutil.copy(aside, path)
    refused(lambda: ledger.charge(order()))
    path.unlink()
    aside.rename(path)
    assert ledger.charge(order()).receipt.number == 2


# A24: the record is edited by somebody who can write to the file


def tamper(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        triggers = connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for (name,) in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            connection.execute(statement)


@pytest.fixture
def history(path: Path) -> str:
    """Six charges, two answers; the head is what an owner would have written down elsewhere."""
    with closing(enter(path, 100)) as ledger:
        for number in range(1, 7):
            more: dict[str, Any] = (
                {"by": "ana", "budget_share": 40, "pure": 2} if number % 2 else {"unproved": True}
            )
            more |= {"subject": SUBJECT, "validity": VALIDITY}
            ledger.charge(Order("count", "{}", number, 9, f"r{number}", **more))
            if number in (2, 5):
                ledger.remember(number, "forty-two" if number == 2 else "forty-three", 4, 7)
        assert ledger.verify().spent == 21
        return ledger.head()


SUBJECT = ReceiptSubject("query", ("a", "b"), "people", ("Count",), counts_all=True)
OTHER_SUBJECTS = {
    "kind": ReceiptSubject("batch", ("a", "b"), "people", ("Count",)),
    "texts": replace(SUBJECT, texts=("a", "c")),
    "table": replace(SUBJECT, table="visits"),
    "measures": replace(SUBJECT, measures=("Mean",)),
    "counts_all": replace(SUBJECT, counts_all=False),
    "receipts": ReceiptSubject("restored", receipts=2, head="a"),
    "began": ReceiptSubject("carried", receipts=2, head="a", began="b"),
}
VALIDITY = ValidityRecord(((12, 3), (1, 2)), 5, 40, 1, (3, 7))
OTHER_RECORDS = {
    "numbers": replace(VALIDITY, gaussian=((13, 3), (1, 2))),
    "their radius": replace(VALIDITY, gaussian=((12, 4), (1, 2))),
    "one release fewer": replace(VALIDITY, gaussian=((12, 3),)),
    "coded nats": replace(VALIDITY, coded_nats=6),
    "units": replace(VALIDITY, units=41),
    "unknown units": replace(VALIDITY, units=None),
    "the law": replace(VALIDITY, law=2),
    "blocks": replace(VALIDITY, blocks=(3, 8)),
    "no blocks": replace(VALIDITY, blocks=None),
}
SWAP = (
    "UPDATE receipts SET number = 100 WHERE number = 3",
    "UPDATE receipts SET number = 3 WHERE number = 4",
    "UPDATE receipts SET number = 4 WHERE number = 100",
)
EDITS = {
    "an amount": ("UPDATE receipts SET amount = '1' WHERE number = 3",),
    "an amount that is none": ("UPDATE receipts SET amount = 'x' WHERE number = 3",),
    "a negative amount": ("UPDATE receipts SET amount = '-3' WHERE number = 3",),
    "a total": ("UPDATE receipts SET spent = '0' WHERE number = 6",),
    "a query": ("UPDATE receipts SET query = 'sum' WHERE number = 3",),
    "a request id": ("UPDATE receipts SET request = NULL WHERE number = 3",),
    "a time": ("UPDATE receipts SET asked_at = '2001-01-01T00:00:00+00:00' WHERE number = 1",),
    "a digest": ("UPDATE receipts SET digest = previous WHERE number = 3",),
    "the first receipt deleted": ("DELETE FROM receipts WHERE number = 1",),
    "one in the middle deleted": ("DELETE FROM receipts WHERE number = 3",),
    "deleted and closed up": (
        "DELETE FROM receipts WHERE number = 3",
        "UPDATE receipts SET number = number - 1 WHERE number > 3",
    ),
    "reordered": SWAP,
    "a receipt copied": (
        "CREATE TEMP TABLE copied AS SELECT * FROM receipts WHERE number = 6",
        "UPDATE copied SET number = 7, request = 'r7'",
        "INSERT INTO receipts SELECT * FROM copied",
    ),
    "the tail cut off, its answer left": ("DELETE FROM receipts WHERE number > 4",),
    "a name": ("UPDATE receipts SET name = 'ben' WHERE number = 3",),
    "no name": ("UPDATE receipts SET name = '' WHERE number = 5",),
    "a budget share": ("UPDATE receipts SET budget_share = '41' WHERE number = 3",),
    "no budget share": ("UPDATE receipts SET budget_share = NULL WHERE number = 3",),
    "a kind": ("UPDATE receipts SET kind = 'note' WHERE number = 3",),
    "what it is looked up by": ("UPDATE receipts SET look_up = 'spread' WHERE number = 3",),
    "not looked up": ("UPDATE receipts SET look_up = NULL WHERE number = 3",),
    **{
        f"a subject, {name}": (f"UPDATE receipts SET subject = '{subject.text}' WHERE number = 3",)
        for name, subject in OTHER_SUBJECTS.items()
    },
    "no subject": ("UPDATE receipts SET subject = 'x' WHERE number = 3",),
    "a subject in other words": ("UPDATE receipts SET subject = subject || ' ' WHERE number = 3",),
    "another kind with its subject": (
        """UPDATE receipts SET kind = 'note', look_up = NULL, subject = '{"kind":"note"}' WHERE number = 3""",
    ),
    **{
        f"for validity, {name}": (f"UPDATE receipts SET validity = '{record.text}' WHERE number = 3",)
        for name, record in OTHER_RECORDS.items()
    },
    "nothing for validity": ("UPDATE receipts SET validity = '{}' WHERE number = 3",),
    "a total of a name": ("UPDATE receipts SET spent_by = '3' WHERE number = 5",),
    "a radius": ("UPDATE receipts SET radius = '8' WHERE number = 4",),
    "a final radius": ("UPDATE receipts SET final_radius = '3' WHERE number = 3",),
    "a final level": ("UPDATE receipts SET final_level = '6' WHERE number = 3",),
    "the level of an answer": ("UPDATE answers SET level = '6' WHERE number = 2",),
    "no level of an answer": ("UPDATE answers SET level = 'x' WHERE number = 5",),
    "a pure part": ("UPDATE receipts SET pure = '0' WHERE number = 3",),
    "a total of pure parts": ("UPDATE receipts SET spent_pure = '0' WHERE number = 6",),
    "what is proved": ("UPDATE receipts SET unproved = 0 WHERE number = 6",),
    "how much is proved": ("UPDATE receipts SET unproved_so_far = 0 WHERE number = 6",),
    "a secret": ("UPDATE receipts SET secret = 'other' WHERE number = 3",),
    "the radius of an answer": ("UPDATE answers SET radius = '3' WHERE number = 2",),
    "the radius of an answer, in full": ("UPDATE answers SET radius = '9' WHERE number = 2",),
    "no radius of an answer": ("UPDATE answers SET radius = 'x' WHERE number = 5",),
    "the digest of a text": ("UPDATE answers SET content = digest WHERE number = 2",),
    "an answer": ("UPDATE answers SET answer = 'forty-four' WHERE number = 2",),
    "an answer moved": ("UPDATE answers SET number = 3 WHERE number = 2",),
    "a limit": ("UPDATE header SET budget = '1000000'",),
    "a salt": ("UPDATE header SET salt = 'other'",),
    "no header": ("DELETE FROM header",),
    "no table": ("DROP TABLE answers",),
}


@pytest.mark.parametrize("statements", EDITS.values(), ids=EDITS)
def test_A24_an_edit_is_noticed(path: Path, history: str, statements: tuple[str, ...]) -> None:
    tamper(path, *statements)
    with pytest.raises(LedgerCorrupt), closing(SqliteLedger(path)) as ledger:
        ledger.verify()


@pytest.mark.parametrize("statements", EDITS.values(), ids=EDITS)
def test_A24_an_edit_under_a_running_curator_is_noticed(
    path: Path, history: str, statements: tuple[str, ...]
) -> None:
    with closing(SqliteLedger(path)) as ledger:
        tamper(path, *statements)
        with pytest.raises(LedgerCorrupt):
            ledger.verify()


@pytest.mark.parametrize("statements", [EDITS["a total"], EDITS["a receipt copied"]], ids=["total", "copy"])
def test_A24_no_charge_is_built_on_a_broken_last_receipt(
    path: Path, history: str, statements: tuple[str, ...]
) -> None:
    with closing(SqliteLedger(path)) as ledger:
        tamper(path, *statements)
        for attack in (lambda: ledger.charge(order()), ledger.spent, ledger.head):
            with pytest.raises(LedgerCorrupt):
                attack()


def test_A24_a_changed_answer_is_not_given(path: Path, history: str) -> None:
    with closing(SqliteLedger(path)) as ledger:
        tamper(path, *EDITS["an answer"])
        attacks: list[Callable[[], object]] = [
            lambda: ledger.recall(2),
            lambda: ledger.remember(2, "again"),
            lambda: ledger.repeated("count", "{}", 2),
        ]
        for attack in attacks:
            with pytest.raises(LedgerCorrupt):
                attack()


@pytest.mark.parametrize(
    ("final", "follows"),
    [
        ((9, 0), True),
        ((4, 7), True),
        ((4, 6), False),
        ((4, 0), False),
        ((9, 7), False),
        ((3, 7), False),
        ((5, 7), False),
        ((0, 0), False),
    ],
    ids=str,
)
def test_A24_a_final_radius_is_that_of_the_answer_or_all_of_it(
    path: Path, final: tuple[int, int], follows: bool
) -> None:
    """By whoever can write a link with a right digest.  Mutant: ``_due`` that believes the receipt."""
    with closing(enter(path, 100)) as ledger:
        last = ledger.charge(Order("count", "{}", 1, 9)).receipt
        ledger.remember(1, "forty-two", 4, 7)
        facts = {"final": FinalCost(*final), "last_of_name": last, "secret": "s"}
        forged = next_receipt(ledger.header, last, Order("sum", "{}", 1, 2), "2026-01-01", **facts)
        with ledger.store.lock() as connection:
            append(connection, forged)
    if follows:
        with closing(SqliteLedger(path)) as ledger:
            assert ledger.verify().head == forged.digest
    else:
        with pytest.raises(LedgerCorrupt, match="does not follow"):
            SqliteLedger(path)


@pytest.mark.parametrize("radius", ["0", "3", "5", "9", "10", "-1", "x"])
def test_A24_no_charge_is_built_on_a_radius_that_was_changed(path: Path, radius: str) -> None:
    """That of the newest answer, which no receipt repeats yet.  Mutant: ``answer_digest`` without the radius."""
    with closing(enter(path, 100)) as ledger:
        ledger.charge(Order("count", "{}", 1, 9))
        ledger.remember(1, "forty-two", 4)
        tamper(path, f"UPDATE answers SET radius = '{radius}'")
        attacks: list[Callable[[], object]] = [
            lambda: ledger.charge(order()),
            lambda: ledger.final_cost(1),
            lambda: ledger.recall(1),
            ledger.totals,
            ledger.verify,
        ]
        for attack in attacks:
            with pytest.raises(LedgerCorrupt):
                attack()


def test_A24_totals_by_name_must_follow(path: Path) -> None:
    """A link with a right digest that forgets what its name has spent.  Mutant: ``replay`` without names."""
    with closing(enter(path, 100)) as ledger:
        ledger.charge(Order("count", "{}", 30, 0, by="ana"))
        last = ledger.charge(Order("count", "{}", 1, 0, by="ben")).receipt
        facts = {"final": FinalCost(0), "last_of_name": None, "secret": "s"}
        wanted = Order("sum", "{}", 1, 0, by="ana", budget_share=10)
        with ledger.store.lock() as connection:
            append(connection, next_receipt(ledger.header, last, wanted, "2026-01-01", **facts))
    with pytest.raises(LedgerCorrupt, match="does not follow"):
        SqliteLedger(path)


def test_A24_names_are_followed_from_before_the_checkpoint_on(path: Path) -> None:
    """Opening replays 256 receipts; what a name spent before them is looked up.  Mutant: ``no_receipt``."""
    with closing(enter(path, 10**6)) as ledger:
        ledger.store._connection.execute("PRAGMA synchronous = OFF")
        ledger.charge(Order("count", "{}", 30, 0, by="ana"))
        for _ in range(300):
            ledger.charge(Order("count", "{}", 1, 0, by="ben"))
        ledger.charge(Order("count", "{}", 5, 0, by="ana"))
    with closing(enter(path, 10**6)) as ledger:
        assert ledger.charge(Order("count", "{}", 1, 0, by="ana")).receipt.spent_by == 36
        assert ledger.verify().receipts == 303


def test_A24_an_answer_is_not_given_to_another_query(path: Path, history: str) -> None:
    tamper(path, "UPDATE answers SET query = (SELECT query FROM answers WHERE number = 2) WHERE number = 5")
    with closing(SqliteLedger(path)) as ledger, pytest.raises(LedgerCorrupt):
        ledger.repeated("count", "{}", 2)


def test_A24_a_header_of_another_study_does_not_fit(path: Path, history: str, tmp_path: Path) -> None:
    rich = Header.fresh(STUDY, "gdp", 10**6)
    tamper(
        path, f"UPDATE header SET budget = '{rich.budget}', salt = '{rich.salt}', digest = '{rich.digest}'"
    )
    with pytest.raises(LedgerCorrupt):
        enter(path, rich.budget)


def test_A24_a_tail_cut_off_cleanly_is_noticed_by_the_expected_head(path: Path, history: str) -> None:
    tails = [f"DELETE FROM {table} WHERE number > 4" for table in ("answers", "unanswered", "receipts")]
    tamper(path, *tails)
    with closing(enter(path, 100)) as ledger:
        assert ledger.verify().receipts == 4  # a shorter chain is a chain: only the head from outside tells
        with pytest.raises(LedgerCorrupt, match="rolled back"):
            ledger.verify(head=history)


def test_A24_a_restored_backup_is_noticed_by_the_expected_head(path: Path, history: str) -> None:
    backup = shutil.copy(path, path.with_name("backup"))
    with closing(enter(path, 100)) as ledger:
        later = ledger.charge(order()).receipt.digest
        assert ledger.verify(head=history).receipts == 7
    shutil.copy(backup, path)
    with closing(enter(path, 100)) as ledger:
        assert ledger.verify(head=history).receipts == 6
        with pytest.raises(LedgerCorrupt, match="rolled back"):
            ledger.verify(head=later)


def test_A24_a_running_curator_notices_a_rollback_by_itself(path: Path, history: str) -> None:
    with closing(enter(path, 100)) as ledger:
        assert ledger.charge(order()).receipt.number == 7
        tamper(path, "DELETE FROM receipts WHERE number > 6")
        for attack in (lambda: ledger.charge(order()), ledger.spent, ledger.verify):
            with pytest.raises(LedgerCorrupt, match="rolled back"):
                attack()


@pytest.mark.parametrize("table", ["header", "receipts", "answers"])
def test_A24_the_file_itself_refuses_update_delete_and_replace(path: Path, history: str, table: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        for statement in (
            f"UPDATE {table} SET digest = ''",
            f"DELETE FROM {table}",
            f"INSERT OR REPLACE INTO {table} SELECT * FROM {table}",
        ):
            with pytest.raises(sqlite3.IntegrityError, match="append only"):
                connection.execute(statement)


@pytest.mark.parametrize("table", ["closed", "restored", "unanswered"])
def test_A24_what_ends_a_ledger_or_awaits_an_answer_cannot_be_replaced(
    path: Path, history: str, table: str
) -> None:
    """Mutant: ``_guards`` in place of ``_all_guards`` in the schema."""
    with closing(SqliteLedger(path)) as ledger:
        ledger.restore(replace(ledger.mark(), receipts=9, answers=9))
        ledger.close_for_good(lambda _: "amended")
    with closing(sqlite3.connect(path)) as connection:
        columns = [name for _, name, *_ in connection.execute(f"PRAGMA table_info({table})")]
        changed = ", ".join("number" if name == "number" else "0" for name in columns)
        for statement in (
            f"UPDATE {table} SET number = number + 100",
            f"DELETE FROM {table}",
            f"INSERT OR REPLACE INTO {table} SELECT {changed} FROM {table}",
        ):
            with pytest.raises(sqlite3.IntegrityError, match="append only"):
                connection.execute(statement)


def test_A24_damaged_bytes_are_noticed(path: Path, history: str) -> None:
    content = bytearray(path.read_bytes())
    place = content.rindex(b"forty-two")
    for offset in (place, 4096 + 3, 100):
        damaged = bytearray(content)
        damaged[offset] ^= 0xFF
        path.write_bytes(damaged)
        with pytest.raises(LedgerCorrupt), closing(SqliteLedger(path)) as ledger:
            ledger.verify()
