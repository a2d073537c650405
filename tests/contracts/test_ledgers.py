"""Every ledger that adyton ships keeps the contract that plug-in writers get."""

from __future__ import annotations

import itertools
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from adyton.errors import BudgetRefused, InvalidRequest, LedgerCorrupt
from adyton.kernel.ledger import Cap, Header, Ledger, MemoryLedger, Order, SqliteLedger
from adyton.ledgers.checkpoint import Checkpoint
from adyton.ledgers.checkpointed import CheckpointedLedger
from adyton.ledgers.on_demand import LedgerOnDemand
from adyton.testing.ledgers.contract import LedgerContract, MakeLedger, Reopen, order

STUDY = "ab" * 32


def header(limit: int) -> Header:
    return Header.fresh(STUDY, "gdp", limit)


class TestMemoryLedger(LedgerContract):
    @pytest.fixture
    def make_ledger(self) -> MakeLedger:
        return lambda limit: MemoryLedger(header(limit))


class TestSqliteLedger(LedgerContract):
    @pytest.fixture
    def ledgers(self) -> Iterator[list[SqliteLedger]]:
        opened: list[SqliteLedger] = []
        yield opened
        for ledger in opened:
            ledger.close()

    @pytest.fixture
    def make_ledger(self, tmp_path: Path, ledgers: list[SqliteLedger]) -> Callable[[int], SqliteLedger]:
        numbers = itertools.count()

        def make(limit: int) -> SqliteLedger:
            ledgers.append(SqliteLedger.create(tmp_path / f"{next(numbers)}.ledger", header(limit)))
            return ledgers[-1]

        return make

    @pytest.fixture
    def reopen(self, ledgers: list[SqliteLedger]) -> Reopen:
        def again(ledger: Ledger) -> SqliteLedger:
            assert isinstance(ledger, SqliteLedger)
            facts = ledger.header
            ledgers.append(
                SqliteLedger.open(
                    ledger.path, study=facts.study, accounting=facts.accounting, budget=facts.budget
                )
            )
            return ledgers[-1]

        return again

    def test_the_cost_of_a_charge_does_not_grow(self, make_ledger: Callable[[int], SqliteLedger]) -> None:
        ledger = make_ledger(10**9)
        ledger.charge(order())
        early = steps_of_a_charge(ledger)
        ledger.store._connection.execute(
            "PRAGMA synchronous = OFF"
        )  # the filling need not survive a power cut
        for number in range(1500):
            ledger.charge(order(request=f"filling {number}"))
        assert steps_of_a_charge(ledger) <= 1.2 * early

    def test_the_cost_of_a_charge_does_not_grow_with_names_and_answers(
        self, make_ledger: Callable[[int], SqliteLedger]
    ) -> None:
        """Looked at are the last receipt, the radius of its answer, and the last receipt of the name."""
        ledger = make_ledger(10**9)
        for by in ("ana", "ben"):
            ledger.charge(order(by=by, radius=9))
        ledger.remember(2, "x", 3)
        early = steps_of_a_charge(ledger, by="ana")
        ledger.store._connection.execute(
            "PRAGMA synchronous = OFF"
        )  # the filling need not survive a power cut
        for number in range(800):
            receipt = ledger.charge(order(by=f"name {number % 50}", radius=9)).receipt
            ledger.remember(receipt.number, "x" * 5000, 3)
        assert steps_of_a_charge(ledger, by="ana") <= 1.2 * early

    def test_two_open_ledgers_see_one_file(self, make_ledger: MakeLedger, reopen: Reopen) -> None:
        first = make_ledger(10)
        second = reopen(first)
        for ledger in (first, second) * 3:
            ledger.charge(order())
        assert first.head() == second.head()
        assert first.verify().spent == 6

    def test_the_file_is_for_its_owner_only(self, make_ledger: Callable[[int], SqliteLedger]) -> None:
        ledger = make_ledger(10)
        ledger.charge(order())
        for file in ledger.path.parent.iterdir():
            assert stat.S_IMODE(file.stat().st_mode) == 0o600

    def test_charges_are_flushed_to_the_disk(self, make_ledger: Callable[[int], SqliteLedger]) -> None:
        ledger = make_ledger(10)
        facts = [
            ledger.store._connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("journal_mode", "synchronous", "busy_timeout")
        ]
        assert facts == ["wal", 2, 30000]

    def test_nothing_is_overwritten(self, make_ledger: Callable[[int], SqliteLedger]) -> None:
        ledger = make_ledger(10)
        ledger.charge(order())
        with pytest.raises(InvalidRequest, match="never overwritten"):
            SqliteLedger.create(ledger.path, header(10))
        assert ledger.verify().receipts == 1

    def test_the_log_of_a_lost_ledger_is_not_played_into_a_new_one(self, tmp_path: Path) -> None:
        (tmp_path / "people.ledger-wal").write_bytes(b"an older log")
        with pytest.raises(InvalidRequest, match="left over"):
            SqliteLedger.open_or_create(tmp_path / "people.ledger", Header.fresh(STUDY, "gdp", 5))

    def test_the_written_limit_rules_over_the_last_digits_of_a_new_conversion(self, tmp_path: Path) -> None:
        path = tmp_path / "people.ledger"
        SqliteLedger.create(path, Header.fresh(STUDY, "gdp", 10**18)).close()
        ledger = SqliteLedger.open(path, study=STUDY, accounting="gdp", budget=10**18 + 10**9)
        assert ledger.header.budget == 10**18
        ledger.close()

    @pytest.mark.parametrize(
        ("change", "said"),
        [
            ({"study": "cd" * 32}, "other public facts"),
            ({"accounting": "pure"}, "accounting gdp, not pure"),
            ({"budget": 11 * 10**17}, "budget 1, not 1.1"),
        ],
    )
    def test_a_ledger_of_another_study_is_refused(
        self, tmp_path: Path, change: dict[str, object], said: str
    ) -> None:
        facts: dict[str, object] = {"study": STUDY, "accounting": "gdp", "budget": 10**18}
        SqliteLedger.open_or_create(tmp_path / "people.ledger", Header.fresh(**facts)).close()
        with pytest.raises(InvalidRequest, match=said) as refused:
            SqliteLedger.open_or_create(tmp_path / "people.ledger", Header.fresh(**facts | change))
        assert "people.ledger does not belong to this study" in refused.value.message

    def test_threads_that_race_to_create_share_one_ledger(self, tmp_path: Path) -> None:
        def enter(_: int) -> str:
            ledger = SqliteLedger.open_or_create(tmp_path / "x.ledger", Header.fresh(STUDY, "gdp", 99))
            ledger.charge(order())
            ledger.close()
            return ledger.header.salt

        with ThreadPoolExecutor(8) as pool:
            assert len(set(pool.map(enter, range(16)))) == 1
        ledger = SqliteLedger(tmp_path / "x.ledger")
        assert ledger.verify().receipts == 16
        ledger.close()
        assert [file.name for file in tmp_path.iterdir()] == ["x.ledger"]

    @pytest.mark.parametrize("content", [b"", b"people = 1\n", b"SQLite format 3\0" + bytes(200)])
    def test_what_is_not_a_ledger_is_not_opened(self, tmp_path: Path, content: bytes) -> None:
        path = tmp_path / "people.ledger"
        path.write_bytes(content)
        with pytest.raises(LedgerCorrupt):
            SqliteLedger.open_or_create(path, Header.fresh(STUDY, "gdp", 5))
        assert path.read_bytes() == content

    def test_another_database_or_format_is_not_opened(self, tmp_path: Path) -> None:
        path = tmp_path / "people.ledger"
        SqliteLedger.create(path, header(5)).close()
        for pragma, said in (("user_version = 3", "format 3"), ("application_id = 7", "not a ledger")):
            connection = sqlite3.connect(path)
            connection.execute(f"PRAGMA {pragma}")
            connection.close()
            with pytest.raises(LedgerCorrupt, match=said):
                SqliteLedger(path)

    @pytest.mark.parametrize(
        "change",
        [
            "UPDATE notes SET text = 'b' WHERE place = 0",
            "UPDATE notes SET place = 7 WHERE place = 1",
            "DELETE FROM notes WHERE place = 0",
            "UPDATE notes SET number = 2",
            "INSERT INTO notes SELECT number, place + 1, text, digest FROM notes WHERE place = 1",
        ],
    )
    def test_changed_notes_are_refused_by_the_file_and_found_by_verify(
        self, make_ledger: Callable[[int], SqliteLedger], change: str
    ) -> None:
        ledger = make_ledger(10)
        ledger.charge(order())
        for index, text in enumerate(("a", "b")):
            ledger.annotate(1, index, text)
        connection = sqlite3.connect(ledger.path)
        if not change.startswith("INSERT"):
            with pytest.raises(sqlite3.IntegrityError, match="append only"):
                connection.execute(change)
            connection.rollback()
        for trigger in ("update", "delete", "order"):
            connection.execute(f"DROP TRIGGER notes_{trigger}")
        connection.execute(change)
        connection.commit()
        connection.close()
        with pytest.raises(LedgerCorrupt):
            ledger.verify()

    @pytest.mark.parametrize("place", [0, 1, 3])
    def test_the_file_itself_keeps_notes_in_order(
        self, make_ledger: Callable[[int], SqliteLedger], place: int
    ) -> None:
        ledger = make_ledger(10)
        ledger.charge(order())
        for index, text in enumerate(("a", "b")):
            ledger.annotate(1, index, text)
        connection = sqlite3.connect(ledger.path)
        for verb in ("INSERT", "INSERT OR REPLACE"):
            with pytest.raises(sqlite3.IntegrityError, match="append only"):
                connection.execute(f"{verb} INTO notes VALUES (1, {place}, 'x', 'y')")
        connection.close()
        assert ledger.notes(1) == ["a", "b"]

    def test_the_cost_of_a_note_does_not_grow(self, make_ledger: Callable[[int], SqliteLedger]) -> None:
        ledger = make_ledger(10)
        ledger.charge(order())
        ledger.annotate(1, 0, "first")
        ledger.store._connection.execute(
            "PRAGMA synchronous = OFF"
        )  # the filling need not survive a power cut
        early = steps_of(ledger, lambda: ledger.annotate(1, 1, "early"))
        for index in range(2, 2000):
            ledger.annotate(1, index, "filling")
        assert steps_of(ledger, lambda: ledger.annotate(1, 2000, "late")) <= 1.2 * early

    def test_a_closed_ledger_answers_nothing(self, make_ledger: MakeLedger) -> None:
        ledger = make_ledger(10)
        ledger.close()
        ledger.close()
        with pytest.raises(LedgerCorrupt, match="closed"):
            ledger.charge(order())


def steps_of_a_charge(ledger: SqliteLedger, by: str | None = None) -> int:
    """How many instructions SQLite runs for one charge with a request id: look-up, limit, append."""
    wanted = order(request=f"measured after {ledger.count()}", by=by)
    return steps_of(ledger, lambda: ledger.charge(wanted))


def steps_of(ledger: SqliteLedger, run: Callable[[], object]) -> int:
    steps = 0

    def count() -> int:
        nonlocal steps
        steps += 1
        return 0

    ledger.store._connection.set_progress_handler(count, 1)
    run()
    ledger.store._connection.set_progress_handler(None, 1)
    return steps


def test_an_order_is_written_unambiguously() -> None:
    ledger = MemoryLedger(header(100))
    alike = [
        ("ab", "c", None),
        ("a", "bc", None),
        ('a","b', "c", None),
        ("ab", "c", "None"),
        ("ab", "c", "null"),
    ]
    digests = {ledger.charge(Order(q, d, 1, 0, request)).receipt.digest for q, d, request in alike}
    assert len(digests) == len(alike)


def test_the_contract_is_not_imported_with_adyton() -> None:
    look = "import sys, adyton, adyton.kernel.ledger; print(*sys.modules)"
    found = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True)
    assert not {"pytest", "hypothesis", "adyton.testing"} & set(found.stdout.split())


class TestLedgerOnDemand(LedgerContract):
    @pytest.fixture
    def make_ledger(self, tmp_path: Path) -> Iterator[MakeLedger]:
        opened: list[LedgerOnDemand] = []

        def make(limit: int) -> LedgerOnDemand:
            path = tmp_path / f"{len(opened)}.ledger"
            opened.append(LedgerOnDemand(path, study=STUDY, accounting="gdp", budget=limit))
            return opened[-1]

        yield make
        for ledger in opened:
            ledger.close()

    @pytest.fixture
    def reopen(self) -> Iterator[Reopen]:
        opened: list[LedgerOnDemand] = []

        def again(ledger: Ledger) -> LedgerOnDemand:
            assert isinstance(ledger, LedgerOnDemand)
            limit = ledger._unwritten.budget
            opened.append(LedgerOnDemand(ledger._place, study=STUDY, accounting="gdp", budget=limit))
            return opened[-1]

        yield again
        for ledger in opened:
            ledger.close()

    @pytest.mark.parametrize(
        "refused", [order(11), order(radius=3, cap=Cap(radius=2)), order(cap=Cap(queries=0))]
    )
    def test_a_refused_first_charge_leaves_no_file(self, tmp_path: Path, refused: Order) -> None:
        ledger = LedgerOnDemand(tmp_path / "new.ledger", study=STUDY, accounting="gdp", budget=10)
        with pytest.raises(BudgetRefused):
            ledger.charge(refused)
        assert list(tmp_path.iterdir()) == []

    def test_looking_leaves_nothing_behind_and_the_first_charge_makes_the_file(self, tmp_path: Path) -> None:
        path = tmp_path / "new.ledger"
        ledger = LedgerOnDemand(path, study=STUDY, accounting="gdp", budget=10)
        assert (ledger.spent(), ledger.count(), list(ledger.receipts())) == (0, 0, [])
        assert ledger.repeated("q", "[]", 1) is ledger.requested("r") is ledger.recall(1) is None
        assert ledger.receipt(1) is None
        assert ledger.notes(1) == []
        assert ledger.verify().head == ledger.head() == ledger.header.digest
        assert not path.exists()
        ledger.charge(order(3))
        assert path.exists()
        assert ledger.spent() == 3
        ledger.close()

    def test_what_another_process_charges_is_seen(self, tmp_path: Path) -> None:
        path = tmp_path / "shared.ledger"
        early, other = (LedgerOnDemand(path, study=STUDY, accounting="gdp", budget=10) for _ in range(2))
        other.charge(order(10))
        assert early.spent() == 10
        early.close()
        other.close()

    def test_the_ledger_of_another_study_is_refused_at_once(self, tmp_path: Path) -> None:
        path = tmp_path / "theirs.ledger"
        SqliteLedger.create(path, header(10)).close()
        with pytest.raises(InvalidRequest, match="does not belong"):
            LedgerOnDemand(path, study="cd" * 32, accounting="gdp", budget=10)


class TestCheckpointedLedger(LedgerContract):
    """On the disk, and in memory: the checkpoint asks nothing of a ledger but its protocol."""

    @pytest.fixture(params=["a file", "memory"])
    def make_ledger(self, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[MakeLedger]:
        opened: list[CheckpointedLedger] = []

        def make(limit: int) -> CheckpointedLedger:
            checkpoint, inner = (
                Checkpoint(tmp_path / f"{len(opened)}.checkpoint"),
                MemoryLedger(header(limit)),
            )
            if request.param == "a file":
                path = tmp_path / f"{len(opened)}.ledger"
                inner = LedgerOnDemand(path, study=STUDY, accounting="gdp", budget=limit)
            opened.append(CheckpointedLedger(inner, checkpoint))
            return opened[-1]

        yield make
        for ledger in opened:
            ledger.close()

    @pytest.fixture
    def reopen(self) -> Iterator[Reopen]:
        opened: list[CheckpointedLedger] = []

        def again(ledger: Ledger) -> CheckpointedLedger:
            assert isinstance(ledger, CheckpointedLedger)
            inner = ledger._ledger
            if isinstance(inner, MemoryLedger):
                pytest.skip("this ledger does not outlive its process")
            limit = inner._unwritten.budget
            file = LedgerOnDemand(inner._place, study=STUDY, accounting="gdp", budget=limit)
            opened.append(CheckpointedLedger(file, ledger._checkpoint))
            return opened[-1]

        yield again
        for ledger in opened:
            ledger.close()


def test_a_changed_note_in_memory_is_found_by_verify() -> None:
    ledger = MemoryLedger(header(10))
    ledger.charge(order())
    ledger.annotate(1, 0, "a")
    ledger.verify()
    with ledger.store.read() as connection:
        connection.execute("DROP TRIGGER notes_update")
        connection.execute("UPDATE notes SET text = 'b'")
    with pytest.raises(LedgerCorrupt, match="note 0 of receipt 1 was changed"):
        ledger.verify()
