"""What one connection, or one token, can make a server do by PostgreSQL's protocol: each limit has a word, others are
answered meanwhile, and nothing is charged.
"""

from __future__ import annotations

import contextlib
import logging
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pandas as pd
import psycopg
import pytest

from adyton.operations.roles import Role
from adyton.service.identity import Identity
from adyton.service.limits import LIMITS
from adyton.service.settings import Settings
from adyton.service.tokens import Tokens
from adyton.transports.pg import parameters, results
from adyton.transports.pg.catalog import database, limits
from adyton.transports.pg.errors import SqlError
from adyton.transports.pg.statements import statements_in
from adyton.transports.pg.talking import keeping, listening, messages, session
from support.children.held_engine import wait_until
from support.servers import QUICK, await_ready, free_port, server, write_study
from support.wire import (
    CANCEL,
    FLUSH,
    HOST,
    LARGE_ROWS,
    MENTIONS,
    MESSAGES,
    ONES,
    SETTINGS,
    SYNC,
    Raw,
    Wired,
    bind,
    declared,
    execute,
    extended,
    fields,
    log_in,
    long_comparisons,
    message,
    parse,
    query,
    start,
    wired,
)

BIG = '[columns.big]\nkind = "integer"\nlow = 0\nhigh = {}\n'
TRANSACTION = query("BEGIN")


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wired]:
    folder = tmp_path_factory.mktemp("limits")
    with wired([write_study(folder), write_study(folder, "other")]) as made:
        yield made


@pytest.fixture(scope="module")
def token(house: Wired) -> str:
    return house.token("ana")


def limited(patch: pytest.MonkeyPatch, *modules: Any, **limits: Any) -> None:
    for module in modules:
        patch.setattr(module, "LIMITS", replace(LIMITS, **limits))


def answered(raw: Raw, sent: bytes) -> str:
    """The code of the error in the answer to what is sent, or nothing; the connection must live on."""
    raw.send(sent)
    found = [fields(content) for kind, content in raw.until(b"Z") if kind == b"E"]
    assert all(one["S"] == "ERROR" for one in found)
    return found[0]["C"] if found else ""


def last_word(raw: Raw, *, only: bool = True) -> str:
    """The code of the error before the end, which is the only one."""
    found = []
    with contextlib.suppress(ConnectionError):
        while True:
            found.append(raw.read())
    errors = [fields(content) for kind, content in found if kind == b"E"]
    assert [one["S"] for one in errors[-1:] if one["S"] == "FATAL"] == ["FATAL"]
    assert len(errors) == 1 or not only
    return errors[-1]["C"]


def charged(house: Wired, token: str) -> int:
    with house.connect(token) as connection:
        (row,) = connection.execute("SELECT count(*) FROM adyton.receipts").fetchall()
    return int(row[0])


def threads_of(patch: pytest.MonkeyPatch, module: Any, name: str) -> list[tuple[str, int]]:
    """In which threads a function works, and on how much, from now on."""
    done, seen = getattr(module, name), list[tuple[str, int]]()

    def watched(first: Any, *others: Any) -> Any:
        seen.append((threading.current_thread().name, len(first)))
        return done(first, *others)

    patch.setattr(module, name, watched)
    return seen


# What one message may hold ---------------------------------------------------------------------------------


@pytest.mark.parametrize("make", MESSAGES.values(), ids=MESSAGES.keys())
def test_a_large_message_has_a_word_and_its_connection_lives_on(
    house: Wired, token: str, make: Callable[[], bytes]
) -> None:
    """Mutants: each of the limits of statements, names and parameters taken away."""
    with log_in(Raw(house.port), token) as raw:
        assert answered(raw, make()) in ("54000", "54011", "42622", "22P02", "08P01")
        assert answered(raw, query("SELECT 1")) == ""
    assert charged(house, token) == 0


def test_what_is_long_is_read_beside_the_others(
    house: Wired, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Mutant: ``apart`` works at once, whatever the size."""
    seen = threads_of(monkeypatch, session, "statements_in")
    with log_in(Raw(house.port), token) as raw:
        answered(raw, query("SELECT 1"))
        answered(raw, query(";" * 20_000))
        answered(raw, parse(b"", b"SELECT 1" + b" " * 20_000) + SYNC)
    (small, _), *large = seen
    assert [length > LIMITS.small_bytes for _, length in large] == [True, True]
    assert all(name != small for name, _ in large)


def test_statements_are_split_no_further_than_the_limit() -> None:
    """Mutants: empty statements are not counted; all are split before they are counted."""
    assert len(statements_in("SELECT 1;" * LIMITS.wire_statements)) == LIMITS.wire_statements
    for many in (";", "SELECT 1;"):
        with pytest.raises(SqlError) as refused:
            statements_in(many * (LIMITS.wire_statements + 1))
        assert refused.value.code == "54000"


def test_one_parameter_in_many_places_is_not_written_out() -> None:
    text = "SELECT " + ", ".join(["$1"] * 5_000)
    with pytest.raises(parameters.BadValue):
        parameters.filled(text, {1: "x" * 90_000})
    assert parameters.filled("SELECT $1", {1: "x"}) == "SELECT 'x'"


def test_what_was_sent_is_not_echoed_at_any_length(house: Wired, token: str) -> None:
    with log_in(Raw(house.port), token) as raw:
        raw.send(query("SELECT " + "x" * 9_000 + " FROM pg_class"))
        assert sum(len(content) for _, content in raw.until(b"Z")) < 3 * LIMITS.wire_error_letters


# Rates -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "sent",
    [query("SET a=1;" * 60), query("SET a=1"), FLUSH, SYNC, message(b"d", b"x"), execute(), parse(b"", b"")],
    ids=["statements", "messages", "flush", "sync", "copy", "execute", "parse"],
)
def test_every_message_and_statement_is_counted(tmp_path: Path, sent: bytes) -> None:
    """Mutants: only messages are counted, only statements are; nothing ends the connection."""
    with wired([write_study(tmp_path)], Settings(**{**asdict(QUICK), "rate_by_token": 5})) as house:
        token, other = house.token("ana"), house.token("ben")
        with log_in(Raw(house.port), token) as raw:
            with contextlib.suppress(ConnectionError):
                most = 5 * LIMITS.wire_messages_a_request
                for _ in range(3 if len(sent) > 100 else most + 10):
                    raw.send(sent)
            assert last_word(raw, only=sent[:1] not in b"EP") == "53000"
        with log_in(Raw(house.port), token) as raw:  # the rate is that of the token
            raw.send(SYNC)
            assert last_word(raw) == "53000"
        with house.connect(other) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)


def test_many_statements_write_one_line(house: Wired, token: str, caplog: pytest.LogCaptureFixture) -> None:
    """Mutant: a line for each statement."""
    with caplog.at_level(logging.INFO, "adyton.requests"), log_in(Raw(house.port), token) as raw:
        caplog.clear()
        assert answered(raw, query(SETTINGS[: 8 * 900])) == ""
        assert answered(raw, SYNC) == ""
    lines = [one.getMessage() for one in caplog.records if '"PG"' in one.getMessage()]
    assert len(lines) == 1
    assert '"number": 900' in lines[0]


def test_cancel_requests_are_counted_and_closed_at_once(tmp_path: Path) -> None:
    """Mutant: they are not counted."""
    few = Settings(**{**asdict(QUICK), "rate_by_address": 10})
    with wired([write_study(tmp_path)], few) as house:
        token = house.token("ana")
        for _ in range(10):
            with Raw(house.port) as raw:
                raw.send(CANCEL)
                assert raw.socket.recv(1) == b""
        with pytest.raises(psycopg.OperationalError, match="too many requests"):
            house.connect(token)


# What is kept ----------------------------------------------------------------------------------------------


def _cursor(raw: Raw, name: str) -> str:
    """A cursor of about 200 KB, run."""
    return answered(raw, query(f"{declared(name, 20)}; FETCH 1 FROM {name}"))


def _portal(raw: Raw, name: str) -> str:
    text = LARGE_ROWS.format("a" * 1_000, 20).encode()
    return answered(raw, parse(b"", text) + bind([], name.encode()) + execute(name.encode(), 1) + SYNC)


def _prepared(raw: Raw, name: str) -> str:
    return answered(raw, parse(name.encode(), b"SELECT 1 -- " + b"x" * 16_000) + SYNC)


@pytest.mark.parametrize("keep", [_cursor, _portal, _prepared], ids=["cursors", "portals", "prepared"])
def test_what_is_kept_is_bounded_by_connection_and_by_token(
    house: Wired, keep: Callable[[Raw, str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Mutants: rows are not counted; by connection alone; what ended is counted for ever."""
    limited(monkeypatch, keeping, wire_kept_bytes=1_000_000, wire_kept_bytes_by_token=1_500_000)
    token, other = house.token("keeper"), house.token("another keeper")
    with log_in(Raw(house.port), token) as first, log_in(Raw(house.port), token) as second:
        own = _until_refused(first, keep)
        assert 3 <= own <= 40
        assert 1 <= _until_refused(second, keep) < own
        with log_in(Raw(house.port), other) as third:
            assert keep(third, "x") == ""
        assert answered(first, query("DISCARD ALL")) == ""
        assert keep(first, "again") == ""

    def is_given_back() -> bool:
        with log_in(Raw(house.port), token) as raw:
            return _until_refused(raw, keep) == own

    wait_until(is_given_back)


def _until_refused(raw: Raw, keep: Callable[[Raw, str], str]) -> int:
    """How many are kept.  Portals last as long as a transaction."""
    assert answered(raw, TRANSACTION) == ""
    for number in range(100):
        code = keep(raw, f"c{number}")
        if code:
            assert code == "53200"
            return number
    raise AssertionError("nothing was refused")


def test_a_message_that_is_too_much_is_not_read(
    house: Wired, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Mutant: a message is not held against the bytes of its token."""
    limited(monkeypatch, keeping, wire_kept_bytes=100_000)
    with log_in(Raw(house.port), token) as raw:
        raw.send(b"Q" + (200_000).to_bytes(4, "big"))
        assert last_word(raw) == "53200"


def test_a_message_that_does_not_come_in_ends_its_connection(tmp_path: Path) -> None:
    """Mutant: it is waited for."""
    quick = Settings(**{**asdict(QUICK), "request_seconds": 0.2})
    with wired([write_study(tmp_path)], quick) as house:
        token = house.token("ana")
        with log_in(Raw(house.port), token) as raw, house.connect(token) as idle:
            raw.send(b"Q" + (500).to_bytes(4, "big") + b"SELECT")
            assert last_word(raw) == "57014"
            assert idle.execute("SELECT 1").fetchone() == (1,)  # nothing to say is no fault


# Statements about catalogs ---------------------------------------------------------------------------------

COSTLY = {
    "columns": (ONES[: 2 * 1_600 + 6], []),
    "tables": (MENTIONS, []),
    "comparisons": long_comparisons(50, 50, 100),
    "rows": (LARGE_ROWS.format("a", 1_000), []),
    "a list": ("SELECT 1 FROM pg_type WHERE oid IN (" + ",".join(map(str, range(2_000))) + ")", []),
}


@pytest.mark.parametrize(("text", "values"), COSTLY.values(), ids=COSTLY.keys())
def test_a_statement_about_catalogs_has_a_deadline(
    house: Wired, token: str, text: str, values: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Mutant: the clock is not looked at."""
    with log_in(Raw(house.port), token) as raw:
        assert answered(raw, extended(text, values)) == ""
        limited(monkeypatch, limits, wire_catalog_seconds=-1)
        assert answered(raw, extended(text, values)) == "57014"
        monkeypatch.undo()
        assert answered(raw, query("SELECT 1")) == ""


ENDLESS = "WITH RECURSIVE t AS (SELECT 1 AS x UNION ALL SELECT x + 1 FROM t) SELECT count(*) FROM t, pg_am"


def test_what_never_ends_is_interrupted(house: Wired, token: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Mutant: only what has ended looks at the clock."""
    limited(monkeypatch, limits, wire_catalog_seconds=0.2)
    with log_in(Raw(house.port, 60), token) as raw:
        assert answered(raw, query(ENDLESS)) == "57014"
        assert answered(raw, query("SELECT 1")) == ""


def test_it_ends_when_nobody_waits_for_it_any_more(
    house: Wired, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Mutant: whoever computes is not interrupted."""
    limited(monkeypatch, limits, wire_catalog_seconds=600)
    with house.connect(token) as connection:

        def cancel() -> None:
            wait_until(lambda: bool(database.CLOCK.running))
            connection.cancel_safe(timeout=30)

        canceller = threading.Thread(target=cancel)
        canceller.start()
        with pytest.raises(psycopg.errors.QueryCanceled):
            connection.execute(ENDLESS)
        canceller.join()
        wait_until(lambda: not database.CLOCK.running)
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_a_table_is_made_once_for_a_statement(
    house: Wired, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Mutant: once for each mention."""
    served = type(house.house.served[0])
    receipts, seen = served.receipts, []

    def counted(self: Any, *words: Any) -> Any:
        seen.append(words)
        return receipts(self, *words)

    monkeypatch.setattr(served, "receipts", counted)
    with house.connect(token) as connection:
        connection.execute(MENTIONS)
    assert len(seen) == 1


# Answers that cost nothing, and large ones -----------------------------------------------------------------


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wired]:
    """A column with very many declared values."""
    folder = tmp_path_factory.mktemp("wide")
    study = write_study(folder, more=BIG.format(199_999))
    frame = pd.read_parquet(folder / "people.parquet")
    frame.assign(big=range(len(frame))).to_parquet(folder / "people.parquet")
    with wired([study]) as made:
        yield made


def test_a_free_answer_is_bounded_and_says_what_to_do_instead(wide: Wired) -> None:
    """Mutants: no limit; for rows alone; the groups of a preview are all made."""
    token = wide.token("free")
    with wide.connect(token, epsilon="0.1") as connection:
        for text in (
            "SELECT DISTINCT big FROM people",
            "EXPLAIN (FORMAT JSON) SELECT big, COUNT(*) FROM people GROUP BY big",
        ):
            with pytest.raises(psycopg.Error) as refused:
                connection.execute(text)
            assert refused.value.sqlstate == "54000"
            assert refused.value.diag.message_hint
        assert len(connection.execute("SELECT DISTINCT big FROM people LIMIT 100").fetchall()) == 100
        told = connection.execute("EXPLAIN SELECT big, COUNT(*) AS n FROM people GROUP BY big").fetchall()
        assert ("Groups: 200000",) in told
        assert any(line.startswith("n: ±") for (line,) in told)
    assert charged(wide, token) == 0


def test_free_rows_are_bounded_in_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    limited(monkeypatch, results, wire_free_bytes=10_000)
    with pytest.raises(SqlError) as refused:
        results.listed([results.Field("x")], [["x" * 1_000]] * 10)
    assert refused.value.code == "54000"
    assert results.listed([results.Field("x")], [["x"]] * 10).size > 10


def test_a_large_answer_is_written_beside_others_and_as_fast_as_it_is_read(
    wide: Wired, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Mutants: rows are written by the loop; all at once."""
    seen = threads_of(monkeypatch, messages, "data_rows")
    token = wide.token("large")
    raw = Raw(wide.port, 60)
    raw.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)

    def written() -> int:
        return sum(length > 1_000 for _, length in seen)

    with log_in(raw, token), wide.connect(token) as other:
        assert answered(raw, query("SET adyton.epsilon = 0.5")) == ""
        raw.send(query("SELECT big, COUNT(*) AS n, big + 1 AS m FROM people GROUP BY big"))
        wait_until(lambda: written() > 3)
        before = -1
        while before != written():  # until it waits for whoever does not read
            before = written()
            for _ in range(3):
                assert other.execute("SHOW TimeZone").fetchone() == ("UTC",)
                time.sleep(0.05)
        rows = sum(kind == b"D" for kind, _ in raw.until(b"Z"))
    assert rows == 200_000
    assert before < written()
    (loop,) = {name for name, length in seen if length == 1}
    assert loop not in {name for name, length in seen if length > 1_000}


# Connections -----------------------------------------------------------------------------------------------


def test_whoever_is_not_logged_in_makes_room_for_whoever_comes(tmp_path: Path) -> None:
    """Mutants: the newest is refused; nobody is."""
    few = Settings(**{**asdict(QUICK), "connections": 2})
    with wired([write_study(tmp_path)], few) as house, contextlib.ExitStack() as crowd:
        token = house.token("ana")
        strangers = [crowd.enter_context(Raw(house.port)) for _ in range(40)]
        for one in strangers:
            one.send(b"\0")
        with house.connect(token) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)
        assert last_word(strangers[0]) == "53300"


def test_a_login_has_its_time(house: Wired, token: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Mutant: it ends without a word."""
    limited(monkeypatch, listening, wire_login_seconds=0)
    with Raw(house.port) as raw:
        raw.send(b"\0")
        assert last_word(raw) == "57014"


def test_one_token_cannot_take_all_connections(
    house: Wired, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Mutant: only all together are counted."""
    limited(monkeypatch, listening, wire_connections_by_token=2)
    with house.connect(house.token("busy")) as one, house.connect(house.token("else")):
        busy = one.info.password
        with house.connect(busy), pytest.raises(psycopg.OperationalError, match="one token"):
            house.connect(busy)


LITTLE = (
    "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256)); "
    "from adyton.transports.cli.app import app; app()"
)


def test_a_crowd_of_one_letter_neither_locks_others_out_nor_fills_the_log(tmp_path: Path) -> None:
    """Mutants: as many are taken as come, whatever files may be open; faults are told with a traceback."""
    study, port = write_study(tmp_path), free_port()
    tokens = Tokens(study)
    token, _ = tokens.make(Identity("ana", Role.ANALYST))
    tokens.close()
    with server([study], "--pg-port", str(port), program=("-c", LITTLE)) as running:
        with contextlib.ExitStack() as crowd:
            for _ in range(316):
                crowd.enter_context(Raw(port)).send(b"x")
            words = {"host": HOST, "port": port, "user": "ana", "password": token, "dbname": "people"}
            with psycopg.connect(**words, connect_timeout=30) as connection:
                assert connection.execute("SELECT 1").fetchone() == (1,)
        with contextlib.ExitStack() as crowd:  # at the other port, until no file can be opened
            for _ in range(316):
                crowd.enter_context(Raw(int(running.url.rpartition(":")[2]))).send(b"x")
        await_ready(running.url, running.process, running.log, 60)
        log = running.log.read_text(encoding="utf-8")
    assert "Traceback" not in log
    assert len(log) < 20_000


# Tokens that were revoked ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "sent",
    [
        query("SET a=1"),
        query("SHOW TimeZone"),
        query("SELECT 1"),
        query(""),
        SYNC,
        FLUSH,
        parse(b"", b"SELECT 1"),
    ],
    ids=["set", "show", "catalog", "empty", "sync", "flush", "parse"],
)
def test_a_revoked_token_ends_at_the_next_message(house: Wired, sent: bytes) -> None:
    """Mutant: only what needs the study looks at the token."""
    token = house.token("gone")
    with log_in(Raw(house.port), token) as raw:
        assert answered(raw, query("SELECT 1")) == ""
        house.house.served[0].tokens.revoke("gone")
        raw.send(sent)
        assert last_word(raw) == "28000"


@pytest.mark.parametrize(
    "sent",
    [
        message(b"Q", b"no zero at the end"),
        b"Q" + (2**31 - 1).to_bytes(4, "big") + b"x" * 100_000,
        message(b"?"),
    ],
    ids=["content", "length", "kind"],
)
def test_a_broken_message_has_one_last_word(house: Wired, token: str, sent: bytes) -> None:
    """Mutant: none."""
    with log_in(Raw(house.port), token) as raw:
        raw.send(sent)
        assert last_word(raw) in ("08P01", "54000")
    with Raw(house.port) as raw:
        raw.send(start(user="u", database="people") + message(b"Q", b"SELECT 1\0"))
        assert raw.read()[0] == b"R"
        assert last_word(raw) == "08P01"
