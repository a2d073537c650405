"""One cheap message of somebody who is let in: it ends with a word, and neither time nor memory of all others with it.

The server is a process of its own, which may not grow beyond a limit: a statement that never ends would otherwise
stop the tests, and not only itself.
"""

from __future__ import annotations

import asyncio
import random
import re
import resource
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx2
import psycopg
import pytest

import adyton
from adyton.operations.roles import Role
from adyton.service.identity import Identity
from adyton.service.tokens import Tokens
from adyton.transports.pg.catalog.reading import Catalog
from adyton.transports.pg.ends import without_ends
from adyton.transports.pg.parameters import tree_of
from adyton.transports.pg.settings import SessionSettings
from support import processes
from support.servers import bearer, free_port, server, write_study
from support.wire import HOST, wired

PATIENCE = 60  # seconds: what never ends, does not end by then either
GROWTH = 1_500_000_000  # bytes, of which each bomb below wants many times as many


def _doubled(inner: str, around: str, times: int) -> str:
    for _ in range(times):
        inner = around.format(inner)
    return inner


BOMBS = {
    "a pattern that can be read in many ways": "SELECT 1 FROM pg_class WHERE 'x' ~ '" + "[^a]" * 70 + "{'",
    "letters that may be missing": f"SELECT 1 FROM pg_class WHERE '{'a' * 60}' ~ '{'a?' * 60 + 'a' * 60}'",
    "replace": "SELECT " + _doubled("'aaaaaaaaaa'", "replace({}, 'a', 'aaaaaaaaaaaaaaaaaaaa')", 12),
    "split_part": "SELECT split_part('a', 'b', 4000000000)",
    "texts": "SELECT x FROM " + _doubled("(SELECT 'a' AS x) s", "(SELECT x || x AS x FROM {}) s", 40),
    "lists": "SELECT x FROM " + _doubled("(SELECT ARRAY[1] AS x) s", "(SELECT ARRAY[x, x] AS x FROM {}) s", 40),
    "rows of rows": "SELECT s FROM " + _doubled("(SELECT 1 AS x) s", "(SELECT s AS x, s AS y FROM {}) s", 40),
    "columns": "SELECT * FROM " + _doubled("(SELECT 1 AS x) s", "(SELECT s.*, s.* FROM {}) s", 30),
    "digits": "SELECT x FROM " + _doubled("(SELECT 9999999999 AS x) s", "(SELECT x * x AS x FROM {}) s", 40),
    "an exponent": "SELECT CAST(1e999999999 AS bigint)",
    "an exponent in a text": "SELECT '1e999999999' & 1",
    "an exponent that is cast": "SELECT CAST(CAST('1e999999999' AS numeric) AS bigint)",
    "a limit": "SELECT 1 FROM pg_class LIMIT 1e999999999",
    "long texts of many rows": (
        "SELECT replace('aaaaaaaaaa', 'a', '" + "a" * 2000 + "') || g FROM generate_series(1, 10000) g"
    ),
    "LIKE": (
        "SELECT count(*) FROM generate_series(1, 9000) g WHERE replace('aaaaa', 'a', '" + "a" * 900 + "') LIKE '"
        + "%a" * 400 + "b'"
    ),
    "many conditions": (
        "SELECT count(*) FROM generate_series(1, 9999) a, generate_series(1, 29) b WHERE a = a AND "
        + " AND ".join(["1 = 1"] * 700)
    ),
    "a series": "SELECT count(*) FROM generate_series(1, 1000000000000) g",
    "repeat": "SELECT repeat('x', 1000000000)",
    "a product of tables": "SELECT count(*) FROM " + ", ".join(f"pg_type t{at}" for at in range(12)),
    "very many tables": "SELECT count(*) FROM " + ", ".join(f"pg_attribute a{at}" for at in range(95)),
    "a list of a product": "SELECT array_agg(a.oid) FROM " + ", ".join(f"pg_type {at}" for at in "abcde"),
    "a text of a product": "SELECT string_agg(a.typname, ',') FROM " + ", ".join(f"pg_type {at}" for at in "abcde"),
    "a product in order": "SELECT a.oid, b.oid FROM " + ", ".join(f"pg_type {at}" for at in "abcde") + " ORDER BY 1, 2",
    "recursion": "WITH RECURSIVE t AS (SELECT 1 AS x UNION ALL SELECT x + 1 FROM t) SELECT count(*) FROM t",
    "names of products": "WITH a0 AS (SELECT 1 AS x FROM pg_type), "
    + ", ".join(f"a{at} AS (SELECT a.x FROM a{at - 1} a, a{at - 1} b)" for at in range(1, 30)) + " SELECT count(*) FROM a29",
    "selects inside each other": "SELECT x FROM " + _doubled("(SELECT 1 AS x) s", "(SELECT * FROM {}) s", 300),
    "values inside each other": "SELECT " + _doubled("1", "(SELECT {})", 300),
    "NOT": "SELECT 1 FROM pg_class WHERE " + "NOT " * 3000 + "true",
    "CASE": "SELECT " + _doubled("1", "CASE WHEN true THEN {} END", 300),
    "UNION": " UNION ".join(["SELECT oid FROM pg_class"] * 300),
    "patterns": "SELECT count(*) FROM pg_type a, pg_type b WHERE "
    + " OR ".join(f"a.typname ~ '.*{at}x.*y'" for at in range(400)),
    "a long pattern": "SELECT count(*) FROM pg_type a, pg_type b, pg_type c WHERE a.typname ~ '" + "(a?){20}" * 4 + "b'",
    "a pattern that grows": "SELECT 1 FROM pg_type WHERE typname ~ '((((a{20}){20}){20}){20})'",
    "a pattern and long texts": "SELECT count(*) FROM (SELECT repeat('a', 30000) AS x) q, generate_series(1, 9999) g "
    "WHERE x || g ~ '" + "(a|b)*" * 49 + "c'",
    "laterals": "SELECT 1 FROM a, LATERAL " + "(SELECT 1 FROM b, LATERAL " * 18,
    "spaces in a setting": "SET application_name = x" + " " * 300_000 + "x",
    "spaces before TO": "SET application_name" + " " * 300_000 + "x",
    "ends": "SELECT " + "''||" * 1000 + "''" + ", NOISE_LOW(n)" * 600 + " FROM people",
}  # fmt: skip


@dataclass(frozen=True)
class House:
    url: str
    port: int
    token: str
    log: Path

    def said(self, text: str) -> str:
        """The code of the error, or nothing; TimeoutError if there was no word at all."""

        async def ask() -> str:
            connection = await psycopg.AsyncConnection.connect(
                host=HOST, port=self.port, user="ana", password=self.token, dbname="people", autocommit=True
            )
            try:
                await connection.execute(text.encode())
            except psycopg.DatabaseError as error:
                return str(error.sqlstate)
            finally:
                await connection.close()
            return ""

        return processes.run(asyncio.wait_for(ask(), PATIENCE))


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    study = write_study(tmp_path_factory.mktemp("bombs"))
    tokens, port = Tokens(study), free_port()
    token, _ = tokens.make(Identity("ana", Role.ANALYST))
    tokens.close()
    with server([study], "--pg-port", str(port)) as running:
        process = running.process.pid
        used = int(Path(f"/proc/{process}/statm").read_text().split()[0]) * resource.getpagesize()
        resource.prlimit(process, resource.RLIMIT_AS, (used + GROWTH, used + GROWTH))
        yield House(running.url, port, token, running.log)


@pytest.mark.parametrize("text", BOMBS.values(), ids=BOMBS.keys())
def test_a_bomb_ends_with_a_word_and_others_live_on(house: House, text: str) -> None:
    """Mutants: each of the limits in catalog/limits.py and catalog/shape.py, commands.py, ends.py and parameters.py taken away."""
    about = "" if "people" in text or "SET" in text else " /* pg_catalog */"  # else it is read as a query
    assert house.said(text + about)[:2] in ("", "0A", "22", "42", "54", "57")
    assert house.said("SELECT 1") == ""


def test_what_was_typed_is_in_no_log(house: House) -> None:
    """Mutant: the parser's own log."""
    for text in ("SHOW canary LEVEL x", "GRANT canary", "DECLARE canary CURSOR FOR SELECT 1"):
        body = {"query": text, "dialect": "postgres", "epsilon": 0.01}
        reply = httpx2.post(f"{house.url}/v1/studies/people/preview", headers=bearer(house.token), json=body)
        assert reply.status_code == 422
    assert house.said("COPY (SELECT canary_in_a_log FROM people) TO STDOUT" + " " * 600) == "0A000"
    assert "canary" not in house.log.read_text(encoding="utf-8")


def test_what_is_prepared_is_bounded(tmp_path: Path) -> None:
    """Mutant: names and number alone are; see test_wire_limits.py for all that is kept."""
    with wired([write_study(tmp_path)]) as house, house.connect(house.token("ana")) as connection:
        raw = connection.pgconn
        codes = [raw.prepare(f"s{number}".encode(), b"SELECT 1").error_field(67) for number in range(1001)]
        assert codes == [None] * 1000 + [b"53000"]
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_patterns_say_what_they_say_elsewhere(tmp_path: Path) -> None:
    """Against Python's own, on patterns that are too short to be slow there.  Mutant: (?s) is left out, or one sign of LIKE is another."""
    drawn = random.Random(7)
    catalog = Catalog("people", adyton.read_study(write_study(tmp_path)), "ana")

    def pattern(depth: int = 0) -> str:
        made = ""
        for _ in range(drawn.randint(0, 4)):
            kind = drawn.random()
            if kind < 0.15 and depth < 2:
                made += f"({pattern(depth + 1)})"
            elif kind < 0.32:
                made += drawn.choice("||^$")
            else:
                made += drawn.choice(["a", "b", ".", "[ab]", "[^a]", r"\.", "_"]) + drawn.choice(
                    ["", "", *"*+?"]
                )
        return made

    pairs = [(pattern(), "".join(drawn.choices("ab._\n", k=drawn.randint(0, 6)))) for _ in range(400)]
    tests = ", ".join(f"'{text}' ~ '{written}'" for written, text in pairs)
    _, (row,) = catalog.answer(f"SELECT {tests}", {}, SessionSettings("ana"), None, None)  # type: ignore[arg-type]
    assert row == [
        re.search(written.replace("$", r"\Z"), text, re.DOTALL) is not None for written, text in pairs
    ]


def test_trees_of_long_texts_are_not_kept() -> None:
    """Mutant: a text of any length is read."""
    assert tree_of("SELECT 1 FROM pg_class WHERE " + " OR ".join(["1 = 1"] * 3000)) is None
    assert tree_of("SELECT 1 FROM a, LATERAL (SELECT 1) b") is not None


def test_ends_stand_where_they_were_written() -> None:
    text = "SELECT region, ''||',', NOISE_LOW(n), count(*) AS n, NOISE_HIGH(n) AS high FROM people"
    plain, ends = without_ends(text)
    assert [(one.column, one.alias, one.before) for one in ends] == [
        ("n_noise_low", "n_noise_low", 2),
        ("n_noise_high", "high", 4),
    ]
    assert len(plain) == len(text)


@pytest.mark.parametrize("dialect", ["bigquery", "mysql", "redshift", "snowflake", "spark"])
def test_a_parameter_is_never_a_word_of_the_grammar(house: House, dialect: str) -> None:
    """A backslash hides the sign behind it in some databases, the quote at the end of a literal for instance.

    Mutant: dialects are not looked at; then the condition is always true, and the query is charged.
    """
    text = "SELECT COUNT(*) AS n FROM people WHERE region = %s AND region <> %s"
    words = {"host": HOST, "port": house.port, "user": "ana", "password": house.token, "dbname": "people"}
    options = f"-c adyton.epsilon=0.01 -c adyton.dialect={dialect}"
    with psycopg.connect(**words, options=options, autocommit=True) as connection:
        with pytest.raises(psycopg.DatabaseError) as refused:
            connection.execute(text, ("x\\", " OR 1=1 --"))
        assert refused.value.sqlstate == "22P02"
        assert connection.execute("SELECT COUNT(*) FROM adyton.receipts").fetchone() == (0,)
