"""How the tables of a ledger are made: what SQLite and Postgres say alike, and what each needs besides.

Triggers see to it that rows are added, and neither changed nor deleted.
"""

from __future__ import annotations

from adyton.kernel.ledger.links import FORMAT

# Amounts are text because integers of databases end at 64 bits.
_TABLES = """
CREATE TABLE header (
    number INTEGER PRIMARY KEY CHECK (number = 1), study TEXT NOT NULL, accounting TEXT NOT NULL,
    budget TEXT NOT NULL, salt TEXT NOT NULL, digest TEXT NOT NULL
){strict};
CREATE TABLE receipts (
    number {whole} PRIMARY KEY, kind TEXT NOT NULL, look_up TEXT, subject TEXT NOT NULL,
    query TEXT NOT NULL, detail TEXT NOT NULL, amount TEXT NOT NULL, radius TEXT NOT NULL, request TEXT,
    name TEXT NOT NULL, pure TEXT NOT NULL, unproved INTEGER NOT NULL, validity TEXT NOT NULL,
    spent TEXT NOT NULL, spent_radius TEXT NOT NULL, spent_pure TEXT NOT NULL,
    unproved_so_far INTEGER NOT NULL, spent_by TEXT NOT NULL, budget_share TEXT,
    final_radius TEXT NOT NULL, final_level TEXT NOT NULL, asked_at TEXT NOT NULL,
    previous TEXT NOT NULL, secret TEXT NOT NULL, digest TEXT NOT NULL
){strict};
CREATE INDEX receipts_by_name ON receipts (name, number);
CREATE UNIQUE INDEX receipts_by_request ON receipts (name, request) WHERE request IS NOT NULL;
CREATE INDEX receipts_by_kind ON receipts (kind, look_up, number);
CREATE TABLE answers (
    number {whole} PRIMARY KEY REFERENCES receipts, query TEXT NOT NULL, radius TEXT NOT NULL,
    level TEXT NOT NULL, content TEXT NOT NULL, digest TEXT NOT NULL, answer TEXT NOT NULL
){strict};
CREATE INDEX answers_by_query ON answers (query, number);
CREATE TABLE unanswered (
    number {whole} PRIMARY KEY REFERENCES receipts, query TEXT NOT NULL
){strict};
CREATE INDEX unanswered_by_query ON unanswered (query, number);
CREATE TABLE facts (number INTEGER PRIMARY KEY CHECK (number = 1), text TEXT NOT NULL){strict};
CREATE TABLE closed (
    number INTEGER PRIMARY KEY CHECK (number IN (1, 2)), text TEXT NOT NULL
){strict};
CREATE TABLE restored (
    number {whole} PRIMARY KEY REFERENCES receipts, skipped {whole} NOT NULL
){strict};
"""
_ONLY_ADDED = ("header", "receipts", "answers", "facts", "closed", "restored")


# SQLite ----------------------------------------------------------------------------------------------------

_REFUSED = "BEGIN SELECT RAISE(ABORT, 'append only'); END;"


def _guards(table: str) -> list[str]:
    return [
        f"CREATE TRIGGER {table}_update BEFORE UPDATE ON {table} {_REFUSED}",
        f"CREATE TRIGGER {table}_delete BEFORE DELETE ON {table} {_REFUSED}",
    ]


def _guard_of_rows(table: str) -> str:
    """INSERT OR REPLACE deletes without asking the DELETE trigger."""
    there = f"EXISTS (SELECT 1 FROM {table} WHERE number = NEW.number)"
    return f"CREATE TRIGGER {table}_replace BEFORE INSERT ON {table} WHEN {there} {_REFUSED}"


_OF_SQLITE = f"""
CREATE TABLE notes (
    number INTEGER NOT NULL REFERENCES receipts, place INTEGER NOT NULL, text TEXT NOT NULL,
    digest TEXT NOT NULL, PRIMARY KEY (number, place)
) STRICT;
CREATE TRIGGER notes_order BEFORE INSERT ON notes
    WHEN NEW.place <> COALESCE((SELECT MAX(place) + 1 FROM notes WHERE number = NEW.number), 0)
    {_REFUSED}
CREATE TRIGGER unanswered_update BEFORE UPDATE ON unanswered {_REFUSED}
CREATE TRIGGER unanswered_delete BEFORE DELETE ON unanswered
    WHEN NOT EXISTS (SELECT 1 FROM answers WHERE number = OLD.number)
    {_REFUSED}
CREATE TRIGGER answered AFTER INSERT ON answers
    BEGIN DELETE FROM unanswered WHERE number = NEW.number; END;
"""
SQLITE = "\n".join(
    [
        _TABLES.format(whole="INTEGER", strict=" STRICT"),
        _OF_SQLITE,
        _guard_of_rows("unanswered"),
        *_guards("notes"),
        *(guard for table in _ONLY_ADDED for guard in [*_guards(table), _guard_of_rows(table)]),
    ]
)


# Postgres --------------------------------------------------------------------------------------------------

# SQLite numbers its rows by itself; here notes have a column of that name.
_BEFORE = f"""
CREATE TABLE turn (number INTEGER PRIMARY KEY CHECK (number = 1));
INSERT INTO turn VALUES (1);
CREATE TABLE format (number INTEGER PRIMARY KEY CHECK (number = 1), format INTEGER NOT NULL);
INSERT INTO format VALUES (1, {FORMAT});
"""
_AFTER = """
CREATE TABLE notes (
    number BIGINT NOT NULL REFERENCES receipts, place BIGINT NOT NULL, text TEXT NOT NULL,
    digest TEXT NOT NULL, rowid BIGINT NOT NULL UNIQUE, PRIMARY KEY (number, place)
);
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
CREATE FUNCTION answered() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    DELETE FROM unanswered WHERE number = NEW.number;
    RETURN NEW;
END $$;
CREATE TRIGGER answered AFTER INSERT ON answers FOR EACH ROW EXECUTE FUNCTION answered();
CREATE TRIGGER unanswered_update BEFORE UPDATE OR TRUNCATE ON unanswered
    EXECUTE FUNCTION append_only();
CREATE TRIGGER turn_kept BEFORE DELETE OR TRUNCATE ON turn EXECUTE FUNCTION append_only();
"""
_GUARD = "CREATE TRIGGER {0}_kept BEFORE UPDATE OR DELETE OR TRUNCATE ON {0} EXECUTE FUNCTION append_only();"
POSTGRES = "".join(
    [
        _BEFORE,
        _TABLES.format(whole="BIGINT", strict=""),
        _AFTER,
        *map(_GUARD.format, ("format", "notes", *_ONLY_ADDED)),
    ]
)
