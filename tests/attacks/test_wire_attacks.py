"""The second door under attack: broken messages, guesses, recordings, crowds, hostile SQL.  Nothing gets in that the first
door would not let in, and nobody else notices.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import datetime
import hashlib
import hmac
import resource
import ssl
import statistics
import struct
import subprocess
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd
import psycopg
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from adyton.query.sql.several.dialects import is_written_in
from adyton.service.proofs.scram import BrokenExchange, Exchange, ScramVerifier
from adyton.service.settings import Settings
from adyton.transports.pg.catalog.reading import is_catalog
from adyton.transports.pg.commands import COMMANDS
from adyton.transports.pg.statements import statements_in
from adyton.transports.pg.talking.cursors import WORDS
from adyton.transports.pg.talking.messages import BrokenMessage, Content, read_message, read_start
from support import processes
from support.hostile_sql import CLAUSES, HEADS, NESTED, SELECTS, SHAPES, STATEMENTS
from support.servers import QUICK, bearer, write_holdout, write_study
from support.wire import HOST, Raw, Wired, fields, message, start, wired
from support.worlds import study_text

PATIENT = settings(deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
LIMITED = Settings(**{**asdict(QUICK), "request_bytes": 20_000, "connections": 1200})
COUNTED = "SELECT COUNT(*) AS n FROM people WHERE income > {}"


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wired]:
    folder = tmp_path_factory.mktemp("attacked")
    with wired([write_study(folder), write_study(folder, "other"), write_holdout(folder)], LIMITED) as made:
        yield made


@pytest.fixture(scope="module")
def token(house: Wired) -> str:
    return house.token("ana")


def lives(house: Wired, token: str) -> bool:
    with house.connect(token) as connection:
        return connection.execute("SELECT 1").fetchone() == (1,)


# Who one is ------------------------------------------------------------------------------------------------


class Client:
    """SCRAM as a client speaks it, so that it can be spoken wrongly."""

    def __init__(self, raw: Raw, database: str, password: str, nonce: str = "0123456789abcdef") -> None:
        self.raw, self.password, self.nonce = raw, password, nonce
        raw.send(start(user="u", database=database))
        assert raw.read()[0] == b"R"

    def first(self) -> bytes:
        said = f"n,,n=,r={self.nonce}".encode()
        self.raw.send(message(b"p", b"SCRAM-SHA-256\0" + struct.pack("!i", len(said)) + said))
        kind, content = self.raw.read()
        assert kind == b"R"
        return content[4:]

    def proof(self, server: bytes, nonce: str | None = None) -> bytes:
        parts = dict(part.split("=", 1) for part in server.decode().split(","))
        salted = hashlib.pbkdf2_hmac(
            "sha256", self.password.encode(), base64.b64decode(parts["s"]), int(parts["i"])
        )
        key = hmac.digest(salted, b"Client Key", "sha256")
        bare = f"c=biws,r={nonce or parts['r']}"
        signed = f"n=,r={self.nonce},{server.decode()},{bare}".encode()
        signature = hmac.digest(hashlib.sha256(key).digest(), signed, "sha256")
        return f"{bare},p={base64.b64encode(bytes(a ^ b for a, b in zip(key, signature, strict=True))).decode()}".encode()

    def final(self, proof: bytes) -> tuple[bytes, bytes]:
        self.raw.send(message(b"p", proof))
        return self.raw.read()


def test_a_proof_that_was_recorded_is_worthless(house: Wired, token: str) -> None:
    """Mutants: the server's nonce is not looked at, or is the same for all."""
    with Raw(house.port) as raw:
        client = Client(raw, "people", token)
        recorded = client.proof(client.first())
        assert client.final(recorded)[0] == b"R"
    with Raw(house.port) as raw:
        again = Client(raw, "people", "nobody knows")
        again.first()
        kind, content = again.final(recorded)
        assert (kind, fields(content)["C"]) == (b"E", "28P01")
    with Raw(house.port) as raw:  # a proof about one's own nonce alone
        other = Client(raw, "people", token)
        server = other.first()
        assert other.final(other.proof(server.replace(b"r=", b"r=x", 1)))[0] == b"E"
    with Raw(house.port) as raw:  # a right proof, but for a nonce of somebody else
        other = Client(raw, "people", token)
        assert other.final(other.proof(other.first(), "another nonce"))[0] == b"E"


def test_wrong_unknown_and_foreign_look_alike_and_take_one_time(house: Wired, token: str) -> None:
    """Mutants: an unknown database is told so; nothing is tried where there is nobody; no delay."""
    foreign = house.token("somebody", study="other")
    cases = {
        "wrong": ("people", "adyton_" + "0" * 64),
        "unknown": ("nothing", token),
        "foreign": ("people", foreign),
        "holdout": ("test", token),
        "empty": ("people", "x"),
    }
    told: set[str] = set()
    times: dict[str, list[float]] = {}
    for _ in range(3):
        for name, (database, password) in cases.items():
            with Raw(house.port) as raw:
                client = Client(raw, database, password)
                proof = client.proof(client.first())
                began = time.perf_counter()
                kind, content = client.final(proof)
                times.setdefault(name, []).append(time.perf_counter() - began)
                assert kind == b"E"
                told.add(str(fields(content)))
                assert raw.is_closed()
    assert len(told) == 1
    assert all(statistics.median(own) >= 0.1 for own in times.values())  # none leaves before all could


def test_salts_say_nothing(house: Wired, token: str) -> None:
    """The same for a name each time, whether there is such a study or not."""

    def salt(database: str) -> str:
        with Raw(house.port) as raw:
            return Client(raw, database, "x").first().decode().split(",")[1]

    names = ["people", "other", "test", "nothing", "nobody"]
    found = {name: salt(name) for name in names}
    assert found == {name: salt(name) for name in names}
    assert len(set(found.values())) == len(names)
    assert len({len(one) for one in found.values()}) == 1


def test_a_verifier_makes_no_proof() -> None:
    verifier = ScramVerifier.of("token", b"salt" * 4)
    assert ScramVerifier.from_text(verifier.to_text()) == verifier
    exchange = Exchange(verifier.salt)
    with pytest.raises(BrokenExchange):
        exchange.final(b"c=biws,r=x,p=eA==", [verifier])
    server = exchange.first(b"n,,n=u,r=abcdefgh").decode()
    bare = f"c=biws,r={server.split(',')[0][2:]}"
    signed = f"n=u,r=abcdefgh,{server},{bare}".encode()
    for key in (verifier.stored_key, verifier.server_key, b"\0" * 32):
        signature = hmac.digest(verifier.stored_key, signed, "sha256")
        proof = base64.b64encode(bytes(a ^ b for a, b in zip(key, signature, strict=True))).decode()
        tried = Exchange(verifier.salt)
        tried._nonce, tried._header, tried._bare, tried._said = (
            exchange._nonce,
            "n,,",
            "n=u,r=abcdefgh",
            server,
        )
        assert tried.final(f"{bare},p={proof}".encode(), [verifier]) is None


def test_tls_is_asked_for_where_there_is_a_certificate(tmp_path: Path) -> None:
    """Mutants: what was sent before TLS is taken for secret; without TLS one is let in."""
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:P-256",
        "-nodes",
        "-days",
        "2",
    ]
    command += [
        "-subj",
        "/CN=127.0.0.1",
        "-addext",
        "subjectAltName=IP:127.0.0.1",
        "-keyout",
        str(key),
        "-out",
        str(cert),
    ]
    subprocess.run(command, check=True, capture_output=True)
    with wired([write_study(tmp_path)], QUICK, (str(cert), str(key))) as house:
        token = house.token("ana")
        words = {**house.words(token), "sslmode": "verify-full", "sslrootcert": str(cert)}
        with psycopg.connect(**words) as connection:
            assert connection.pgconn.ssl_in_use
            assert connection.execute("SELECT 1").fetchone() == (1,)
        with pytest.raises(psycopg.OperationalError, match="TLS only"):
            psycopg.connect(**{**words, "sslmode": "disable"})
        with Raw(house.port) as raw:
            raw.send(struct.pack("!ii", 8, 80_877_103) + start(user="u", database="people"))
            with contextlib.suppress(ConnectionError):
                assert raw.socket.recv(1) == b""  # closed, and no word of going on in secret
        with Raw(house.port) as raw:
            raw.send(struct.pack("!ii", 8, 80_877_103))
            assert raw.socket.recv(1) == b"S"
            context = ssl.create_default_context(cafile=str(cert))
            with context.wrap_socket(raw.socket, server_hostname=HOST) as secure:
                secure.sendall(start(user="u", database="people"))
                assert secure.recv(1) == b"R"


# Broken messages -------------------------------------------------------------------------------------------


class Fed(asyncio.StreamReader):
    """Counts how much is asked for at once."""

    most = 0

    async def readexactly(self, n: int) -> bytes:
        Fed.most = max(Fed.most, n)
        return await super().readexactly(n)


@PATIENT
@given(st.binary(max_size=200))
@example(b"Q\x7f\xff\xff\xff")
@example(b"Q\xff\xff\xff\xff")
@example(struct.pack("!i", 2**31 - 1))
def test_no_bytes_make_the_reader_crash_or_wait_for_more_than_the_cap(content: bytes) -> None:
    async def read() -> None:
        for step in (read_start, lambda reader: read_message(reader, 1000)):
            reader = Fed()
            reader.feed_data(content)
            reader.feed_eof()
            try:
                while True:
                    await step(reader)
            except (BrokenMessage, asyncio.IncompleteReadError):
                pass

    Fed.most = 0
    processes.run(read())
    assert Fed.most <= 10_000


@PATIENT
@given(
    st.binary(max_size=100),
    st.lists(st.sampled_from(["text", "number", "count", "value", "end"]), max_size=20),
)
def test_no_content_makes_its_reader_crash(content: bytes, steps: list[str]) -> None:
    reader = Content(content)
    try:
        for step in steps:
            getattr(reader, step)()
    except BrokenMessage:
        pass


def test_a_length_is_not_believed() -> None:
    for content in (b"\0\0\0\5abc", b"\0\0", b"\x7f\xff\xff\xff"):
        with pytest.raises(BrokenMessage):
            Content(content).value()
    with pytest.raises(BrokenMessage):
        Content(b"abc").take(4)
    assert Content(b"\xff\xff\xff\xff").value() is None


def logged_in(house: Wired, token: str) -> Raw:
    raw = Raw(house.port)
    client = Client(raw, "people", token)
    assert client.final(client.proof(client.first()))[0] == b"R"
    raw.until(b"Z")
    return raw


KINDS = [b"Q", b"P", b"B", b"D", b"E", b"C", b"H", b"S", b"F", b"d", b"X", b"p", b"Z", b"\0"]


@settings(parent=PATIENT, max_examples=60)
@given(st.lists(st.tuples(st.sampled_from(KINDS), st.binary(max_size=60)), min_size=1, max_size=6))
def test_whatever_a_guest_says_others_live_on(
    house: Wired, token: str, said: list[tuple[bytes, bytes]]
) -> None:
    with logged_in(house, token) as raw:
        for kind, content in said:
            try:
                raw.send(message(kind, content))
            except ConnectionError:
                break
    assert house.client.get("/healthz").status_code == 200


def test_after_all_of_that_somebody_new_is_let_in(
    house: Wired, token: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert lives(house, token)


@pytest.mark.parametrize(
    "content",
    [
        message(b"Q", b"SELECT '" + b"x" * 30_000 + b"'\0"),  # beyond the cap
        b"Q" + struct.pack("!i", 2**31 - 1),
        b"Q" + struct.pack("!i", -1),
        message(b"Q", b"no zero at the end"),
        message(b"Q", b"SELECT \xff\xfe\0"),
        message(b"P", b"\0SELECT 1\0\xff\xff"),
        message(b"B", b"\0\0\0\1\0\0\0\1\x7f\xff\xff\xff"),
        message(b"p", b"again"),
        message(b"?"),
    ],
)
def test_broken_messages_end_one_connection(house: Wired, token: str, content: bytes) -> None:
    with logged_in(house, token) as raw, house.connect(token) as other:
        raw.send(content)
        assert raw.is_closed()
        assert other.execute("SELECT 1").fetchone() == (1,)


@pytest.mark.parametrize(
    "content",
    [
        struct.pack("!i", 2**31 - 1) + b"x" * 100,
        struct.pack("!i", 4),
        struct.pack("!ii", 8, 1),
        b"GET / HTTP/1.1\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        start(user="u", database="people") + message(b"Q", b"SELECT 1\0"),
        start(user="u", database="people", replication="true"),
        struct.pack("!ii", 8, 80_877_103) * 4,
    ],
)
def test_broken_beginnings_end_one_connection(house: Wired, token: str, content: bytes) -> None:
    with Raw(house.port) as raw:
        raw.send(content)
        assert raw.is_closed()
    assert lives(house, token)


def test_newer_versions_of_the_protocol_are_told_which_one_is_spoken(house: Wired) -> None:
    with Raw(house.port) as raw:
        wanted = start(user="u", database="people", **{"_pq_.command": "x"})
        raw.send(wanted[:4] + struct.pack("!i", 196_610) + wanted[8:])
        kind, content = raw.read()
        assert kind == b"v"
        assert struct.unpack_from("!ii", content) == (196_608, 1)


# Crowds ----------------------------------------------------------------------------------------------------


def test_a_thousand_idle_connections_do_not_stop_a_query(house: Wired, token: str) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 3000:
        pytest.skip("this system allows too few open files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 3000), hard))
    idle = [Raw(house.port) for _ in range(990)]  # they have not even said who they are
    known = [house.connect(token) for _ in range(10)]
    try:
        with house.connect(token, within="500") as connection:
            assert len(connection.execute(COUNTED.format(71_000)).fetchall()) == 1
        assert house.client.get("/healthz").status_code == 200
    finally:
        for one in (*idle, *known):
            one.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_too_many_connections_are_told_so(tmp_path: Path) -> None:
    few = Settings(**{**asdict(QUICK), "connections": 2})
    with wired([write_study(tmp_path)], few) as house:
        token = house.token("ana")
        refused = pytest.raises(psycopg.OperationalError, match="too many connections")
        with house.connect(token), house.connect(token), refused:
            house.connect(token)
        end = time.monotonic() + 20
        while time.monotonic() < end:
            try:
                assert lives(house, token)
                break
            except psycopg.OperationalError:  # the others are still leaving
                time.sleep(0.01)


def test_rates_are_those_of_http(tmp_path: Path) -> None:
    """Mutant: statements are not counted."""
    slow = Settings(**{**asdict(QUICK), "rate_by_token": 5})
    with wired([write_study(tmp_path)], slow) as house:
        token = house.token("ana")
        for _ in range(3):
            house.client.get("/v1/studies", headers=bearer(token))
        with house.connect(token) as connection:
            connection.execute("SELECT 1")
            connection.execute("SELECT 1")
            with pytest.raises(psycopg.Error) as refused:
                connection.execute("SELECT 1")
            assert refused.value.sqlstate == "53000"
            assert "Try again in" in str(refused.value)


# Hostile SQL -----------------------------------------------------------------------------------------------

CANARIES = ("8675309", "8675.309", "canary")
DECLARED = study_text(
    {
        "age": {"kind": "integer", "low": 0, "high": 120},
        "income": {"kind": "real", "low": 0, "high": 200000},
        "region": {"kind": "category", "values": ["north", "south", "east", "west"]},
        "year": {"kind": "category", "values": [2023, 2024]},
        "smoker": {"kind": "boolean"},
        "born": {"kind": "date", "low": datetime.date(1900, 1, 1), "high": datetime.date(2024, 12, 31)},
    },
    source="canaries.parquet",
    rows=3,
    epsilon=10,
)


def outcome(connection: psycopg.Connection[Any], text: str) -> tuple[str, str]:
    """The code, and all that was said."""
    try:
        return "00000", str(connection.execute(text.encode("utf-8", "surrogatepass")).fetchall())
    except psycopg.Error as error:
        return str(error.sqlstate), f"{error} {error.diag.message_detail} {error.diag.message_hint}"


def test_the_whole_list_of_refusals_through_the_wire(tmp_path: Path) -> None:
    """What HTTP refuses is refused here, without a word of the rows; what it answers is answered, and no more."""
    rows = {
        "age": [8675309, 30, 40], "income": [8675.309, 8675.309, 1.0], "region": ["canary", "north", "south"],
        "year": [2023, 2024, 2024], "smoker": [True, False, True], "born": pd.to_datetime(["1990-01-01"] * 3),
    }  # fmt: skip
    pd.DataFrame(rows).to_parquet(tmp_path / "canaries.parquet")
    study = tmp_path / "people.toml"
    study.write_text(DECLARED, encoding="utf-8")
    texts = [one for one in (*STATEMENTS, *SELECTS, *CLAUSES, *NESTED, *SHAPES, *HEADS) if "\0" not in one]
    said: list[str] = []
    with wired([study]) as house:
        token = house.token("hostile")
        headers, answered = bearer(token), 0
        with house.connect(token, epsilon="0.001") as connection:
            for text in texts:
                pieces = statements_in(text)
                if (
                    len(pieces) > 1
                    or pieces[0].is_empty
                    or pieces[0].words[0] in (*COMMANDS, *WORDS, "EXPLAIN")
                ):
                    continue  # commands of the protocol, and several statements, which it allows
                if is_catalog(text, frozenset({"people"})):
                    continue  # public facts, which HTTP does not tell in SQL
                own = {"dialect": "postgres"} if is_written_in(pieces[0].text, "postgres") else {}
                there = house.ask(headers, pieces[0].text, epsilon="0.001", **own).status_code
                code, told = outcome(connection, text)
                said.append(told)
                assert there in ((200,) if code == "00000" else (422, 409)), text
                assert code[:2] in ("00", "42", "0A", "22", "25", "54", "53"), (text, code)
                answered += code == "00000"
    assert len(said) > 500
    assert answered < 60
    assert not any(one in "".join(said) for one in CANARIES)
