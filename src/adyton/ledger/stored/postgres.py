"""A ledger in a schema of a Postgres database, for any number of processes on any number of machines.

Storage only: every rule is in ``ledger/base.py``.  A charge whose commit broke off is looked for, after the
same lock, before anything is read: it was made, or it was not.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping

from adyton.errors import InvalidRequest, LedgerCorrupt
from adyton.ledger.base import Charged, First, documented
from adyton.ledger.links import FORMAT, Header, Order, Receipt
from adyton.ledger.stored.ledger import StoredLedger, check_owner
from adyton.ledger.stored.postgres_session import CommitUnknown, PostgresSession, has_table, one_errand
from adyton.ledger.stored.tables import COUNTS_ALL, Connection

# SQLite numbers its rows by itself, and its schema can be asked for tables: both have these names here too.
_TABLES = f"""
CREATE FUNCTION instr(text, text) RETURNS integer LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    AS 'SELECT pg_catalog.strpos($1, $2)';
CREATE TABLE turn (number INTEGER PRIMARY KEY CHECK (number = 1));
INSERT INTO turn VALUES (1);
CREATE TABLE format (number INTEGER PRIMARY KEY CHECK (number = 1), format INTEGER NOT NULL);
INSERT INTO format VALUES (1, {FORMAT});
CREATE TABLE header (
    number INTEGER PRIMARY KEY CHECK (number = 1), study TEXT NOT NULL, currency TEXT NOT NULL,
    "limit" TEXT NOT NULL, salt TEXT NOT NULL, converted_from TEXT, digest TEXT NOT NULL
);
CREATE TABLE receipts (
    number BIGINT PRIMARY KEY, question TEXT NOT NULL, detail TEXT NOT NULL, amount TEXT NOT NULL,
    radius TEXT NOT NULL, request TEXT, name TEXT NOT NULL, pure TEXT NOT NULL, unproved INTEGER NOT NULL,
    spent TEXT NOT NULL, spent_radius TEXT NOT NULL, spent_pure TEXT NOT NULL,
    unproved_so_far INTEGER NOT NULL, spent_by TEXT NOT NULL, sub_limit TEXT, settled TEXT NOT NULL,
    asked_at TEXT NOT NULL, previous TEXT NOT NULL, secret TEXT NOT NULL, digest TEXT NOT NULL
);
CREATE INDEX receipts_by_name ON receipts (name, number);
CREATE UNIQUE INDEX receipts_by_request ON receipts (name, request) WHERE request IS NOT NULL;
CREATE INDEX receipts_that_count_all ON receipts (number) WHERE {COUNTS_ALL};
CREATE TABLE answers (
    number BIGINT PRIMARY KEY REFERENCES receipts, question TEXT NOT NULL, radius TEXT NOT NULL,
    content TEXT NOT NULL, digest TEXT NOT NULL, answer TEXT NOT NULL
);
CREATE INDEX answers_by_question ON answers (question, number);
CREATE TABLE unanswered (number BIGINT PRIMARY KEY REFERENCES receipts, question TEXT NOT NULL);
CREATE INDEX unanswered_by_question ON unanswered (question, number);
CREATE TABLE notes (
    number BIGINT NOT NULL REFERENCES receipts, place BIGINT NOT NULL, text TEXT NOT NULL,
    digest TEXT NOT NULL, rowid BIGINT NOT NULL UNIQUE, PRIMARY KEY (number, place)
);
CREATE TABLE facts (number INTEGER PRIMARY KEY CHECK (number = 1), text TEXT NOT NULL);
CREATE TABLE closed (number INTEGER PRIMARY KEY CHECK (number IN (1, 2)), text TEXT NOT NULL);
CREATE TABLE restored (number BIGINT PRIMARY KEY REFERENCES receipts, skipped BIGINT NOT NULL);
CREATE VIEW sqlite_schema AS SELECT 'table'::text AS type, name::text AS name
    FROM (VALUES ('closed'), ('facts'), ('restored')) AS made (name);
CREATE FUNCTION append_only() RETURNS trigger LANGUAGE plpgsql
    AS $$ BEGIN RAISE EXCEPTION 'append only'; END $$;
CREATE FUNCTION next_note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF NEW.place <> COALESCE((SELECT MAX(place) + 1 FROM notes WHERE number = NEW.number), 0) THEN
        RAISE EXCEPTION 'append only';
    END IF;
    NEW.rowid := COALESCE((SELECT MAX(rowid) + 1 FROM notes), 1);
    RETURN NEW;
END $$;
CREATE TRIGGER notes_order BEFORE INSERT ON notes FOR EACH ROW EXECUTE FUNCTION next_note();
CREATE FUNCTION only_answered() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF NOT EXISTS (SELECT 1 FROM answers WHERE number = OLD.number) THEN
        RAISE EXCEPTION 'append only';
    END IF;
    RETURN OLD;
END $$;
CREATE TRIGGER unanswered_delete BEFORE DELETE ON unanswered
    FOR EACH ROW EXECUTE FUNCTION only_answered();
CREATE TRIGGER unanswered_update BEFORE UPDATE OR TRUNCATE ON unanswered
    EXECUTE FUNCTION append_only();
CREATE TRIGGER turn_kept BEFORE DELETE OR TRUNCATE ON turn EXECUTE FUNCTION append_only();
"""
_KEPT = ("format", "header", "receipts", "answers", "notes", "facts", "closed", "restored")
_GUARD = "CREATE TRIGGER {0}_kept BEFORE UPDATE OR DELETE OR TRUNCATE ON {0} EXECUTE FUNCTION append_only();"


@documented
class PostgresLedger(PostgresSession, StoredLedger):
    """The contract of ``Ledger`` over a schema.

    ``PostgresLedger(address)`` takes whatever ledger is there; a curator asks whose it is, with ``open``.
    """

    def __init__(self, address: str) -> None:
        super().__init__(address)
        self._writing = threading.local()
        try:
            with self._session() as connection:
                _check_format(connection, self.name)
            self._begin()
        except BaseException:
            self.close()
            raise

    @classmethod
    def exists(cls, address: str) -> bool:
        """Whether a ledger was made there."""
        with one_errand(address) as (connection, name):
            return has_table(connection, name, "header")

    @classmethod
    def create(cls, address: str, header: Header, facts: Mapping[str, str] | None = None) -> PostgresLedger:
        """A new ledger; an existing one is never overwritten."""
        if not _make(address, header, facts):
            raise InvalidRequest("this schema has a ledger already; a ledger is never overwritten")
        return cls(address)

    @classmethod
    def open_or_create(
        cls, address: str, header: Header, facts: Mapping[str, str] | None = None
    ) -> PostgresLedger:
        """For a study that may be new.  Of several processes that try at once, one creates and all open."""
        if not cls.exists(address):
            _make(address, header, facts)
        ledger = cls(address)
        try:
            check_owner(ledger, ledger.name, header.study, header.filter_name, header.limit, facts)
        except BaseException:
            ledger.close()
            raise
        return ledger

    def charge(self, order: Order, first: First | None = None) -> Charged:
        try:
            return super().charge(order, first)
        except CommitUnknown:
            pass
        receipt = self._writing.receipt
        with self._transaction():  # whoever was committing has ended when the lock is free
            found = self.receipt(receipt.number)
        if found != receipt:
            raise LedgerCorrupt(
                f"the connection to the ledger {self.name} broke before the charge was written; nothing was "
                "charged and nothing was answered"
            )
        self._seen = receipt
        return Charged(receipt, fresh=True)

    def remember(self, number: int, answer: str, radius: int | None = None) -> str:
        try:
            return super().remember(number, answer, radius)
        except CommitUnknown:
            return super().remember(number, answer, radius)  # the first one wins, if it was written

    def annotate(self, number: int, index: int, text: str) -> bool:
        try:
            return super().annotate(number, index, text)
        except CommitUnknown:
            pass
        if super().annotate(number, index, text):
            return True
        return self.notes(number, index)[:1] == [text]  # it was written, and by us: its noise is fresh

    def _written(self, receipt: Receipt) -> None:
        self._writing.receipt = receipt

    def _check_storage(self, connection: Connection) -> None:
        _check_format(connection, self.name)


def _make(address: str, header: Header, facts: Mapping[str, str] | None) -> bool:
    """False if there is one already.  All of it appears at once."""
    row = (1, header.study, header.filter_name, str(header.limit), header.salt, header.converted_from)
    with one_errand(address) as (connection, name):
        connection.execute("BEGIN ISOLATION LEVEL READ COMMITTED")  # who waited sees what the other one made
        connection.execute("SELECT pg_advisory_xact_lock(hashtextextended(?, 0))", (f"adyton {name}",))
        connection.execute(f'CREATE SCHEMA IF NOT EXISTS "{name}"')
        is_new = not has_table(connection, name, "header")
        if is_new:
            connection.execute(_TABLES)
            for table in _KEPT:
                connection.execute(_GUARD.format(table))
            connection.execute("INSERT INTO header VALUES (?, ?, ?, ?, ?, ?, ?)", (*row, header.digest))
            if facts is not None:
                connection.execute("INSERT INTO facts VALUES (1, ?)", (json.dumps(dict(facts)),))
            connection.execute(f'REVOKE ALL ON ALL TABLES IN SCHEMA "{name}" FROM PUBLIC')
        connection.execute("COMMIT")
    return is_new


def _check_format(connection: Connection, name: str) -> None:
    row = connection.execute("SELECT format FROM format").fetchone()
    if row is None or row[0] != FORMAT:
        raise LedgerCorrupt(f"the schema {name} holds no ledger of this version; nothing was answered")


def grants(name: str, role: str) -> list[str]:
    """What a role that serves questions needs, and no more: it can neither change nor delete."""

    def listed(*tables: str) -> str:
        return ", ".join(f'"{name}".{table}' for table in tables)

    tables = listed(*_KEPT, "unanswered", "turn", "sqlite_schema")
    added = listed("receipts", "answers", "notes", "unanswered", "closed", "restored")
    return [
        f'GRANT USAGE ON SCHEMA "{name}" TO "{role}"',
        f'GRANT SELECT ON {tables} TO "{role}"',
        f'GRANT INSERT ON {added} TO "{role}"',
        f'GRANT UPDATE ON "{name}".turn TO "{role}"',
        f'GRANT DELETE ON "{name}".unanswered TO "{role}"',
    ]
