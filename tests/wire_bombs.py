"""What one client of PostgreSQL's protocol can send to keep a server busy, as bytes or as small functions.

Each is used by tests, and by whoever attacks a server that runs.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import struct
from collections.abc import Callable

from wire import Raw, message, start

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
