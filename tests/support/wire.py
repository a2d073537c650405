"""A study that clients of PostgreSQL can reach, and what one of them can send to keep a server busy."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
import socket
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from fastapi.testclient import TestClient

from adyton.service.house import House
from adyton.service.settings import Settings
from adyton.transports.http.app import make_app
from adyton.transports.pg.door import WireDoor
from support.servers import QUICK, Served, free_port

# A study that clients of PostgreSQL can reach, for tests: a real port, in this process.

HOST = "127.0.0.1"


@dataclass
class Wired(Served):
    """As over HTTP, and a port."""

    port: int = 0

    def token(self, name: str = "ana", role: str = "analyst", **words: Any) -> str:
        return self.made(name, role, **words)["Authorization"].removeprefix("Bearer ")

    def words(self, token: str, study: str = "people", **settings: str) -> dict[str, Any]:
        """As psycopg takes them."""
        options = " ".join(f"-c adyton.{name}={value}" for name, value in settings.items())
        return {
            "host": HOST, "port": self.port, "user": "anybody", "password": token, "dbname": study, "options": options,
            "connect_timeout": 20,
        }  # fmt: skip

    def connect(self, token: str, study: str = "people", **settings: str) -> psycopg.Connection[Any]:
        return psycopg.connect(**self.words(token, study, **settings), autocommit=True)

    def url(self, token: str, driver: str = "postgresql+psycopg") -> str:
        return f"{driver}://anybody:{token}@{HOST}:{self.port}/people"


@contextlib.contextmanager
def wired(
    paths: Sequence[Path], settings: Settings = QUICK, cert: tuple[str, str] | None = None
) -> Iterator[Wired]:
    house = House.of_files(paths, settings)
    house.load()
    door = WireDoor(HOST, free_port(), *(cert or (None, None)))
    with TestClient(make_app(house, wire=door), raise_server_exceptions=False) as client:
        yield Wired(house, client, port=door.port)


def message(kind: bytes, content: bytes = b"") -> bytes:
    return kind + struct.pack("!i", len(content) + 4) + content


def start(**parameters: str) -> bytes:
    told = b"".join(name.encode() + b"\0" + said.encode() + b"\0" for name, said in parameters.items())
    return struct.pack("!ii", len(told) + 9, 196_608) + told + b"\0"


class Raw:
    """A bare socket that speaks whatever it is told."""

    def __init__(self, port: int, patience: float = 20.0) -> None:
        self.socket = socket.create_connection((HOST, port), timeout=patience)

    def send(self, content: bytes) -> None:
        self.socket.sendall(content)

    def read(self) -> tuple[bytes, bytes]:
        """The next message."""
        head = self._exactly(5)
        kind, length = struct.unpack("!ci", head)
        return kind, self._exactly(length - 4)

    def until(self, kind: bytes) -> list[tuple[bytes, bytes]]:
        found = [self.read()]
        while found[-1][0] != kind:
            found.append(self.read())
        return found

    def is_closed(self) -> bool:
        """Whether the other side ends the connection, whatever it says before."""
        try:
            while self.socket.recv(65536):
                pass
        except ConnectionError:
            return True
        except TimeoutError:
            return False
        return True

    def _exactly(self, number: int) -> bytes:
        came = b""
        while len(came) < number:
            part = self.socket.recv(number - len(came))
            if not part:
                raise ConnectionError("closed")
            came += part
        return came

    def close(self) -> None:
        self.socket.close()

    def __enter__(self) -> Raw:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def fields(content: bytes) -> dict[str, str]:
    """Of an error or a notice."""
    return {part[:1].decode(): part[1:].decode() for part in content.split(b"\0") if part}


# What one client of PostgreSQL's protocol can send to keep a server busy, as bytes or as small functions.
#
# Each is used by tests, and by whoever attacks a server that runs.

CANCEL = struct.pack("!iiII", 16, 80_877_102, 1, 1)
SEMICOLONS = ";" * 990_000
SETTINGS = "SET a=1;" * 20_000
ONES = "SELECT " + ",".join(["1"] * 4_000)
MENTIONS = (
    "SELECT count(*) FROM " + ", ".join(f"adyton.receipts r{n}" for n in range(10)) + " WHERE r0.number < 0"
)
LARGE_ROWS = "SELECT s.x || g AS x FROM (SELECT replace('aaaaaaaaaa', 'a', '{}') AS x) s, generate_series(1, {}) g, pg_am"


def long_comparisons(rows: int = 5_000, letters: int = 49_000, times: int = 200) -> tuple[str, list[bytes]]:
    """Two long texts that differ in their last letter, compared very often."""
    tests = " AND ".join(["$1::text < $2::text"] * times)
    text = f"SELECT count(*) FROM generate_series(1, {rows}) g WHERE {tests} /* pg_catalog */"
    return text, [b"a" * letters + b"a", b"a" * letters + b"b"]


def log_in(raw: Raw, token: str, database: str = "people") -> Raw:
    """By SCRAM-SHA-256, up to the first ReadyForQuery."""
    raw.send(start(user="u", database=database))
    assert raw.read()[0] == b"R"
    bare = "n=,r=0123456789abcdef"
    said = f"n,,{bare}".encode()
    raw.send(message(b"p", b"SCRAM-SHA-256\0" + struct.pack("!i", len(said)) + said))
    server = raw.read()[1][4:].decode()
    parts = dict(part.split("=", 1) for part in server.split(","))
    salted = hashlib.pbkdf2_hmac("sha256", token.encode(), base64.b64decode(parts["s"]), int(parts["i"]))
    key = hmac.digest(salted, b"Client Key", "sha256")
    final = f"c=biws,r={parts['r']}"
    signature = hmac.digest(hashlib.sha256(key).digest(), f"{bare},{server},{final}".encode(), "sha256")
    proof = base64.b64encode(bytes(a ^ b for a, b in zip(key, signature, strict=True))).decode()
    raw.send(message(b"p", f"{final},p={proof}".encode()))
    raw.until(b"Z")
    return raw


def query(text: str | bytes) -> bytes:
    return message(b"Q", (text.encode() if isinstance(text, str) else text) + b"\0")


def parse(name: bytes, text: bytes, types: int = 0) -> bytes:
    return message(b"P", name + b"\0" + text + b"\0" + struct.pack("!H", types) + b"\0\0\0\x19" * types)


def bind(values: list[bytes], portal: bytes = b"", name: bytes = b"") -> bytes:
    told = b"".join(struct.pack("!i", len(one)) + one for one in values)
    return message(b"B", portal + b"\0" + name + b"\0\0\0" + struct.pack("!H", len(values)) + told + b"\0\0")


def execute(portal: bytes = b"", most: int = 0) -> bytes:
    return message(b"E", portal + b"\0" + struct.pack("!i", most))


SYNC = message(b"S")
FLUSH = message(b"H")


def declared(name: str, rows: int = 90, letters: int = 1_000) -> str:
    """A cursor over about ten times so many letters a row."""
    return f"DECLARE {name} CURSOR FOR " + LARGE_ROWS.format("a" * letters, rows)


def extended(text: str, values: list[bytes]) -> bytes:
    return parse(b"", text.encode()) + bind(values) + execute() + SYNC


MESSAGES: dict[str, Callable[[], bytes]] = {  # each wants a word in return, and the connection lives on
    "semicolons": lambda: query(SEMICOLONS),
    "settings": lambda: query(SETTINGS),
    "ones": lambda: query(ONES),
    "a long statement": lambda: query("SELECT '" + "x" * 900_000 + "'"),
    "quotes": lambda: query("SELECT " + "''" * 400_000),
    "a long name of a statement": lambda: parse(b"n" * 900_000, b"SELECT 1") + SYNC,
    "a long name of a setting": lambda: query("SET " + "n" * 9_000 + " = 1"),
    "many types": lambda: parse(b"", b"SELECT 1", 65_535) + SYNC,
    "many values": lambda: parse(b"", b"SELECT 1") + bind([b"x"] * 65_535) + SYNC,
    "a long value": lambda: extended("SELECT $1::text", [b"x" * 900_000]),
    "one value in many places": lambda: extended(
        "SELECT COUNT(*) FROM people WHERE region IN (" + ",".join(["$1"] * 5_000) + ")", [b"x" * 90_000]
    ),
    "an unknown name": lambda: message(b"D", b"S" + b"n" * 900_000 + b"\0") + SYNC,
}  # fmt: skip
