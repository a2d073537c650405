"""The ledger in Postgres keeps the contract of all ledgers, and what only a server can get wrong."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg
import pytest
from typer.testing import CliRunner

import adyton
from adyton.errors import BudgetRefused, InvalidRequest, LedgerCorrupt
from adyton.kernel.ledger import Header, Ledger
from adyton.ledgers import postgres
from adyton.ledgers.postgres import PostgresLedger
from adyton.testing.ledgers.contract import LedgerContract, Reopen, order
from adyton.transports.cli.app import app
from support.postgres import NoServer, postgres_server
from support.worlds import query, write_study

ROOT = Path(__file__).parents[2]
STUDY = "ab" * 32
NUMBERS = itertools.count()


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    try:
        with postgres_server(durable=True) as address:
            yield address
    except NoServer as missing:
        pytest.skip(str(missing))


def header(limit: int) -> Header:
    return Header.fresh(STUDY, "gdp", limit)


class TestPostgresLedger(LedgerContract):
    @pytest.fixture
    def ledgers(self) -> Iterator[list[PostgresLedger]]:
        opened: list[PostgresLedger] = []
        yield opened
        for ledger in opened:
            ledger.close()

    @pytest.fixture
    def make_ledger(self, server: str, ledgers: list[PostgresLedger]) -> Callable[[int], PostgresLedger]:
        def make(limit: int) -> PostgresLedger:
            ledgers.append(PostgresLedger.open_or_create(f"{server}/ledger_{next(NUMBERS)}", header(limit)))
            return ledgers[-1]

        return make

    @pytest.fixture
    def reopen(self, server: str, ledgers: list[PostgresLedger]) -> Reopen:
        def again(ledger: Ledger) -> PostgresLedger:
            assert isinstance(ledger, PostgresLedger)
            ledgers.append(PostgresLedger(f"{server}/{ledger.store.name}"))
            return ledgers[-1]

        return again


# What only a server can get wrong.


@pytest.fixture
def ledger(server: str) -> Iterator[PostgresLedger]:
    made = PostgresLedger.open_or_create(f"{server}/ledger_{next(NUMBERS)}", header(10))
    yield made
    made.close()


def end_session(server: str, ledger: PostgresLedger) -> None:
    """As when the server, or the network before it, dies."""
    assert ledger.store._connection is not None
    with psycopg.connect(server, autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(%s)", (ledger.store._connection.info.backend_pid,))


def test_a_connection_that_breaks_before_the_commit_is_a_refusal(
    server: str, ledger: PostgresLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Mutant: the receipt is returned although it was not found."""
    ledger.charge(order())
    commit = ledger.store._commit
    monkeypatch.setattr(
        ledger.store,
        "_commit",
        lambda statements: (end_session(server, ledger), commit(statements)),
    )
    with pytest.raises(LedgerCorrupt, match="nothing was charged"):
        ledger.charge(order())
    monkeypatch.undo()
    assert ledger.verify().receipts == 1
    assert ledger.charge(order()).receipt.number == 2


def commit_and_break(server: str, ledger: PostgresLedger) -> Callable[[Any], None]:
    def commit(connection: Any) -> None:
        connection.execute("COMMIT")
        end_session(server, ledger)
        ledger.store._disconnect()
        raise postgres.CommitUnknown("as if the answer of the server had been lost")

    return commit


def test_a_connection_that_breaks_during_the_commit_is_resolved_by_looking(
    server: str, ledger: PostgresLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was written, and only we do not know it.  Mutants: a second charge; a refusal although it was charged."""
    monkeypatch.setattr(ledger.store, "_commit", commit_and_break(server, ledger))
    resolved: list[Any] = []

    def once(connection: Any) -> None:
        monkeypatch.undo()
        try:
            commit_and_break(server, ledger)(connection)
        finally:
            resolved.append(True)

    for work in (
        lambda: ledger.charge(order(request="one")).receipt.number,
        lambda: ledger.remember(1, "an answer"),
        lambda: ledger.annotate(1, 0, "a note"),
    ):
        monkeypatch.setattr(ledger.store, "_commit", once)
        assert work() in (1, "an answer", True)
    assert len(resolved) == 3
    assert ledger.verify().receipts == 1
    assert (ledger.recall(1), ledger.notes(1)) == ("an answer", ["a note"])


def test_a_charge_of_which_a_part_fails_is_not_made(
    server: str, ledger: PostgresLedger, caplog: pytest.LogCaptureFixture
) -> None:
    """The parts and the commit travel together.  Mutants: the commit travels alone after a failure; a failure of a part is
    passed over; it is raised within the pipeline, which then logs what it meets.
    """
    ledger.charge(order())
    stop = "CREATE FUNCTION stop() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'secret words'; END $$; CREATE TRIGGER stop BEFORE INSERT ON unanswered EXECUTE FUNCTION stop()"
    with psycopg.connect(server, autocommit=True) as owner:
        owner.execute(f'SET search_path = "{ledger.store.name}", pg_catalog'.encode())
        owner.execute(stop.encode())
        with pytest.raises(LedgerCorrupt) as refused:
            ledger.charge(order())
        owner.execute("DROP TRIGGER stop ON unanswered")
    assert "secret" not in f"{refused.value} {caplog.text}"
    assert refused.value.__cause__ is None
    assert ledger.verify().receipts == 1
    assert ledger.charge(order()).receipt.number == 2


@pytest.mark.parametrize("breaks", [True, False])
def test_a_commit_that_cannot_be_sent_is_a_refusal(
    breaks: bool, ledger: PostgresLedger, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The parts of the charge have been sent by then.  Mutants: it is passed over; it is raised within the pipeline."""
    ledger.charge(order())
    execute = psycopg.Connection.execute

    def no_commit(self: Any, query: Any, *rest: Any, **more: Any) -> Any:
        if query == b"COMMIT":
            if breaks:
                self.close()
            raise psycopg.OperationalError("secret words")
        return execute(self, query, *rest, **more)

    monkeypatch.setattr(psycopg.Connection, "execute", no_commit)
    with pytest.raises(LedgerCorrupt):
        ledger.charge(order())
    monkeypatch.undo()
    assert caplog.text == ""
    assert ledger.verify().receipts == 1
    assert ledger.charge(order()).receipt.number == 2


def test_a_server_that_is_gone_answers_nothing(server: str, ledger: PostgresLedger) -> None:
    ledger.charge(order())
    end_session(server, ledger)
    with pytest.raises(LedgerCorrupt, match="nothing was answered") as caught:
        ledger.charge(order())
    assert server not in caught.value.message
    assert ledger.charge(order()).receipt.number == 2  # a new connection


def test_nothing_can_be_changed_deleted_or_emptied(server: str, ledger: PostgresLedger) -> None:
    """Mutant: one table without its trigger."""
    ledger.charge(order())
    ledger.remember(1, "x")
    ledger.annotate(1, 0, "x")
    tables = (
        "format",
        "header",
        "receipts",
        "answers",
        "notes",
        "facts",
        "closed",
        "restored",
        "unanswered",
        "turn",
    )
    with psycopg.connect(server, autocommit=True) as owner:
        for table in tables:
            for statement in (
                f"UPDATE {ledger.store.name}.{table} SET number = number",
                f"DELETE FROM {ledger.store.name}.{table}",
                f"TRUNCATE {ledger.store.name}.{table} CASCADE",
            ):
                if (table, statement[:6]) in (("turn", "UPDATE"), ("unanswered", "DELETE")):
                    continue
                with pytest.raises(psycopg.errors.RaiseException, match="append only"):
                    owner.execute(statement.encode())
    assert ledger.verify().receipts == 1


def test_a_role_with_the_grants_can_charge_and_nothing_else(server: str, ledger: PostgresLedger) -> None:
    """Those of the how-to.  Mutants: a grant is missing; a grant is too much."""
    page = (ROOT / "docs" / "how-to" / "run-a-server.md").read_text(encoding="utf-8")
    grants = re.findall(r"^GRANT .*\bpeople\b.* TO ledger;$", page, flags=re.MULTILINE)
    assert len(grants) == 5
    with psycopg.connect(server, autocommit=True) as owner:
        owner.execute("DROP ROLE IF EXISTS serving")
        owner.execute("CREATE ROLE serving LOGIN")
        for statement in grants:
            granted = re.sub(r"\bpeople\b", ledger.store.name, statement).replace("TO ledger", "TO serving")
            owner.execute(granted.encode())
    address = server.replace("owner@", "serving@")
    serving = PostgresLedger(f"{address}/{ledger.store.name}")
    try:
        assert serving.charge(order()).receipt.number == 1
        assert serving.remember(1, "x") == "x"
        assert serving.annotate(1, 0, "note")
        assert serving.verify().receipts == 1
    finally:
        serving.close()
    with psycopg.connect(address, autocommit=True) as session:
        for statement in (
            f"UPDATE {ledger.store.name}.receipts SET amount = '0'", f"DELETE FROM {ledger.store.name}.answers", f"TRUNCATE {ledger.store.name}.notes",
            f"DROP TABLE {ledger.store.name}.receipts CASCADE", f"INSERT INTO {ledger.store.name}.header VALUES (1)",
            f"ALTER TABLE {ledger.store.name}.receipts DISABLE TRIGGER ALL",
        ):  # fmt: skip
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                session.execute(statement.encode())
    with psycopg.connect(server, autocommit=True) as owner:
        owner.execute("DROP OWNED BY serving")
        owner.execute("DROP ROLE serving")


@pytest.mark.parametrize("setting", ["synchronous_commit"])
def test_a_server_that_does_not_wait_for_its_disk_is_refused(
    server: str, ledger: PostgresLedger, setting: str
) -> None:
    """Mutant: the check is left out."""
    with pytest.raises(LedgerCorrupt, match=f"{setting} = off"):
        PostgresLedger(f"{server}/{ledger.store.name}?options=-c%20{setting}%3Doff")


def test_a_server_without_fsync_is_refused() -> None:
    try:
        with postgres_server() as address, pytest.raises(LedgerCorrupt, match="fsync = off"):
            PostgresLedger.open_or_create(f"{address}/ledger", header(10))
    except NoServer as missing:
        pytest.skip(str(missing))


@pytest.mark.parametrize(
    "change",
    ["UPDATE {0}.receipts SET amount = '0' WHERE number = 2", "DELETE FROM {0}.receipts WHERE number = 2"],
)
def test_what_the_owner_of_the_database_changes_is_found(
    server: str, ledger: PostgresLedger, change: str
) -> None:
    for number in range(3):
        ledger.charge(order(request=str(number)))
        ledger.remember(number + 1, "x")
    with psycopg.connect(server, autocommit=True) as owner:
        owner.execute("SET session_replication_role = replica")  # no triggers, no foreign keys
        owner.execute(change.format(ledger.store.name).encode())
    with pytest.raises(LedgerCorrupt):
        PostgresLedger(f"{server}/{ledger.store.name}")


def test_an_existing_ledger_is_never_overwritten_and_another_one_refused(
    server: str, ledger: PostgresLedger
) -> None:
    """An existing ledger is never overwritten, and one of another study is refused."""
    address = f"{server}/{ledger.store.name}"
    ledger.charge(order())
    again = PostgresLedger.open_or_create(address, header(10))
    assert list(again.receipts()) == list(ledger.receipts())
    again.close()
    with pytest.raises(InvalidRequest, match="does not belong"):
        PostgresLedger.open_or_create(address, Header.fresh("cd" * 32, "gdp", 10))
    assert ledger.verify().receipts == 1


def test_many_processes_make_one_ledger(server: str) -> None:
    address, limit = f"{server}/ledger_{next(NUMBERS)}", 25

    def charged(number: int) -> int:
        ledger = PostgresLedger.open_or_create(address, Header.fresh(STUDY, "gdp", limit))
        try:
            return sum(_charges(ledger, number, turn) for turn in range(10))
        finally:
            ledger.close()

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(charged, range(8))) == limit
    ledger = PostgresLedger(address)
    assert ledger.verify().spent == limit
    ledger.close()


def _charges(ledger: PostgresLedger, number: int, turn: int) -> bool:
    try:
        return ledger.charge(order(by=f"name {number}", request=str(turn))).fresh
    except BudgetRefused:
        return False


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("postgresql://h/db", "NAME"), ("postgresql://h/db/", "NAME"), ("postgresql://h/db/UPPER", "small letters"),
        ("postgresql://u:secret@h/db/name", "pgpass"), ("postgresql://[h/db/name", "of the form"), ("mysql://h/db/name", "of the form"),
    ],
)  # fmt: skip
def test_addresses_that_make_no_sense_are_refused_and_not_repeated(address: str, said: str) -> None:
    with pytest.raises(InvalidRequest, match=said) as caught:
        PostgresLedger(address)
    assert "secret" not in caught.value.message


def test_a_study_with_its_ledger_in_postgres(server: str, tmp_path: Path) -> None:
    """From the command line, made by the first charge; a preview leaves nothing behind."""
    address = f"{server}/ledger_{next(NUMBERS)}"
    study = write_study(
        tmp_path, more=f'\n[ledger]\naddress = "{address}"\ncheckpoint = "people.checkpoint"\n'
    )
    assert CliRunner().invoke(app, ["preview", str(study), query(1), "--scale", "1000"]).exit_code == 0
    assert not PostgresLedger.exists(address)
    first = json.loads(
        CliRunner().invoke(app, ["ask", str(study), query(1), "--scale", "1000", "--json"]).output
    )
    again = json.loads(
        CliRunner().invoke(app, ["ask", str(study), query(1), "--scale", "1000", "--json"]).output
    )
    assert (again["repeated"], again["answer"]) == (True, first["answer"])
    assert json.loads((tmp_path / "people.checkpoint").read_text())["receipts"] == 1
    assert "1 receipt" in CliRunner().invoke(app, ["verify", str(study)]).output
    with psycopg.connect(server, autocommit=True) as owner:  # an older copy is put back
        name = address.rpartition("/")[2]
        owner.execute("SET session_replication_role = replica")
        for table in ("answers", "receipts", "unanswered"):
            owner.execute(f"DELETE FROM {name}.{table}".encode())
    with pytest.raises(LedgerCorrupt, match=r"behind|empty or missing"):
        adyton.open(study)


def test_an_checkpoint_in_a_database_sees_what_a_file_would(server: str, tmp_path: Path) -> None:
    """The ledger is a file, put back from a copy; the checkpoint lies elsewhere.  Mutant: ``_store`` writes nothing."""
    address = f"{server}/checkpoint_{next(NUMBERS)}"
    study = write_study(tmp_path, more=f'\n[ledger]\ncheckpoint = "{address}"\n')
    with adyton.open(study) as curator:
        curator.ask(query(1), scale=1000)
    copy = (tmp_path / "people.ledger").read_bytes()
    with adyton.open(study) as curator:
        curator.ask(query(2), scale=1000)
    (tmp_path / "people.ledger").write_bytes(copy)
    with pytest.raises(LedgerCorrupt, match="has seen 2 receipts"):
        adyton.open(study)
    accepted = CliRunner().invoke(app, ["checkpoint", "accept", str(study)])
    assert "Receipt 3 charges" in accepted.output
    with adyton.open(study) as curator:
        assert curator.ask(query(3), scale=1000).receipt.number == 4
    with psycopg.connect(server, autocommit=True) as owner:
        owner.execute(f"UPDATE {address.rpartition('/')[2]}.checkpoint SET text = 'x'".encode())
    with pytest.raises(LedgerCorrupt, match="damaged"):
        adyton.open(study)
