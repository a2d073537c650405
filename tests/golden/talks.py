"""A recorded conversation in PostgreSQL's protocol: what is sent, and each message that comes back, to the byte.

The number and the key of a connection (K) are left out; all else is said as it was sent, also the proof of the server.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from golden.held import Entry
from golden.rows import write_people
from golden.still import still
from support.wire import FLUSH, SYNC, Raw, bind, execute, log_in, message, parse, query, wired
from support.wire_statements import METABASE

COUNT, GROUPS = (
    "SELECT COUNT(*) AS n FROM people",
    "SELECT region, COUNT(*) AS n, AVG(income) AS a FROM people GROUP BY region",
)
DESCRIBE, DESCRIBE_PORTAL = message(b"D", b"Sone\0"), message(b"D", b"P\0")
FILTERED = b"SELECT COUNT(*) AS n FROM people WHERE region = $1 AND income > $2"
SAID: dict[str, bytes] = {
    "no price": query(COUNT),
    "a price": query("SET adyton.within = 50"),
    "shown": query("SHOW adyton.within"),
    "a count": query(COUNT),
    "a count again": query(COUNT),
    "groups": query("SET adyton.epsilon = 0.3; " + GROUPS),
    "a price in the text": query("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 0.05) COUNT(*) AS n FROM people WHERE income > 300"),
    "intervals": query("SET adyton.intervals = on; " + GROUPS + "; RESET adyton.intervals"),
    "ends by name": query("SELECT NOISE_LOW(n), COUNT(*) AS n, POPULATION_HIGH(n) FROM people WHERE income > 1"),
    "explained": query("EXPLAIN " + GROUPS + " LIMIT 2"),
    "free": query("SELECT DISTINCT region FROM people; SELECT 1 AS one, 'a' AS two"),
    "budget": query("SELECT * FROM adyton.budget"),
    "receipts": query("SELECT number, query FROM adyton.receipts"),
    "empty": query(""),
    "a transaction": query("BEGIN; SELECT 1; COMMIT"),
    "broken": query("SELECT COUNT( FROM people"),
    "unknown column": query("SELECT AVG(agee) FROM people"),
    "rows": query("SELECT * FROM people"),
    "written": query("DELETE FROM people"),
    "too dear": query("SET adyton.scale = 0.0001; " + COUNT + " WHERE income > 7; SET adyton.within = 50"),
    "prepared with wrong types": parse(b"other", FILTERED, 2) + message(b"D", b"Sother\0") + SYNC,
    "prepared": parse(b"one", FILTERED) + DESCRIBE + SYNC,
    "bound": bind([b"north", b"12000.5"], b"", b"one") + DESCRIBE_PORTAL + execute() + SYNC,
    "bound wrongly": bind([b"nowhere"], b"", b"one") + SYNC,
    "row by row": parse(b"", GROUPS.encode()) + bind([]) + execute(b"", 2) + FLUSH + execute(b"", 2) + SYNC,
    "no such statement": message(b"D", b"Snone\0") + SYNC,
    "closed": message(b"C", b"Sone\0") + SYNC,
    "version": query("SELECT version(); SELECT current_schema(); SHOW server_version"),
    "relations": query("SELECT c.oid, n.nspname, c.relname, c.relkind FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace ORDER BY 2, 3"),
    "columns": query("SELECT table_name, column_name, data_type, is_nullable FROM information_schema.columns ORDER BY 1, ordinal_position"),
    "types": query("SELECT oid, typname, typlen FROM pg_type ORDER BY oid LIMIT 20"),
    **{f"metabase {name}": query(text) for name, text in METABASE.items()},
}  # fmt: skip


class Recorded(Raw):
    """Remembers what the server says."""

    def __init__(self, port: int) -> None:
        super().__init__(port)
        self.heard: list[str] = []

    def read(self) -> tuple[bytes, bytes]:
        kind, content = super().read()
        self.heard.append(f"{kind.decode()} {'(left out)' if kind == b'K' else _readable(content)}")
        return kind, content

    def told(self) -> list[str]:
        told, self.heard = self.heard, []
        return told


def _readable(content: bytes) -> str:
    """Each byte, as text where it is a letter of ASCII; a zero has a sign of its own."""
    return content.decode("latin-1").encode("unicode_escape").decode().replace("\\x00", "\N{SYMBOL FOR NULL}")


def talk() -> Iterator[Entry]:
    with TemporaryDirectory() as folder, still("talk"), wired([write_people(Path(folder))]) as house:
        with Recorded(house.port) as refused:
            refused.send(message(b"\0", b""))
            yield Entry("no protocol", ["closed" if refused.is_closed() else "open"])
        with log_in(Recorded(house.port), house.token()) as raw:
            yield Entry("startup", raw.told())
            for name, sent in SAID.items():
                raw.send(sent)
                raw.until(b"Z")
                yield Entry(name, raw.told())
