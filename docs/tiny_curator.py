"""A trusted curator on one page.  Read it from top to bottom: a query enters, an answer leaves.

    Table -> Query -> sensitivity -> Mechanism -> Cost -> Ledger -> Engine -> Answer + Certificate

Each section below is one package of adyton, in the same order and under the same name.  The page keeps the
ideas and leaves out the comfort: one mechanism, two queries, add-remove neighbors, no SQL, no previews,
no intervals, and a sampler that is exact but slower than the real one and not of constant time.

    python docs/tiny_curator.py
"""

from __future__ import annotations

import hashlib
import json
import secrets
import sqlite3
import sys
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol, assert_never


# errors: the first level says who must act and what it cost ----------------------------------------------
class CuratorError(Exception):
    """Root of every error.  No message holds a value that was read from the data."""


class InvalidRequest(CuratorError):
    """The request is wrong; decided from public facts, so it costs nothing."""


class BudgetRefused(CuratorError):
    """The charge does not fit; nothing was read and nothing was spent."""


class EngineFailed(CuratorError):
    """The charge stands, the answer is lost."""


# schema: what everyone may know ----------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Column:
    name: str
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class Table:
    name: str
    columns: tuple[Column, ...]
    rows_per_person: int = 1

    def column(self, name: str) -> Column:
        for column in self.columns:
            if column.name == name:
                return column
        raise InvalidRequest(f"table {self.name!r} has no column {name!r}")


# query: a closed set of frozen queries -------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Count:
    pass


@dataclass(frozen=True, slots=True)
class Sum:
    column: str


Query = Count | Sum


# sensitivity: the only place that knows who is a neighbor -------------------------------------------------
def sensitivity(query: Query, table: Table) -> int:
    """How far the exact answer moves when one person joins or leaves.  Theorem: L1-SENSITIVITY."""
    match query:
        case Count():
            return table.rows_per_person
        case Sum(name):
            column = table.column(name)
            return table.rows_per_person * max(abs(column.low), abs(column.high))
        case _:
            assert_never(query)


# mechanisms and noise: integers in, integers out, randomness from the caller -------------------------------
Coin = Callable[[int], int]  # coin(n) is uniform on 0..n-1; production passes secrets.randbelow


@dataclass(frozen=True, slots=True)
class Cost:
    """Pure differential privacy with parameter ``epsilon``."""

    epsilon: Fraction

    def __post_init__(self) -> None:
        if self.epsilon <= 0:
            raise InvalidRequest("a cost is positive: a release never gives budget back")


@dataclass(frozen=True, slots=True)
class GeometricNoise:
    """Adds Z with P(Z = z) proportional to exp(-|z| / scale).  Theorem: GEOMETRIC-IS-PURE-DP."""

    scale: Fraction

    def cost(self, sensitivity: int) -> Cost:
        return Cost(sensitivity / self.scale)

    def release(self, exact: int, coin: Coin) -> int:
        while True:
            magnitude, negative = _magnitude(self.scale, coin), coin(2) == 1
            if magnitude or not negative:  # zero has no sign, so it must not be counted twice
                return exact - magnitude if negative else exact + magnitude


def _magnitude(scale: Fraction, coin: Coin) -> int:
    """Y >= 0 with P(Y = y) proportional to exp(-y / scale), with integers only (Canonne and others 2020)."""
    whole, parts = scale.numerator, scale.denominator
    while True:
        u = coin(whole)
        if _happens(Fraction(u, whole), coin):
            v = 0
            while _happens(Fraction(1), coin):
                v += 1
            return (u + whole * v) // parts


def _happens(x: Fraction, coin: Coin) -> bool:
    """True with probability exp(-x), 0 <= x <= 1: the alternating series of exp, term by term."""
    k = 1
    while coin(x.denominator * k) < x.numerator:
        k += 1
    return k % 2 == 1


# ledger: append and read; check and charge in one transaction ----------------------------------------------
@dataclass(frozen=True, slots=True)
class Receipt:
    number: int
    query: str
    epsilon: Fraction
    spent: Fraction
    previous: str

    @property
    def digest(self) -> str:
        facts = [self.number, self.query, str(self.epsilon), str(self.spent), self.previous]
        return hashlib.sha256(json.dumps(facts).encode()).hexdigest()


class Ledger:
    def __init__(self, connection: sqlite3.Connection, budget: Fraction) -> None:
        connection.isolation_level = None
        connection.execute("CREATE TABLE IF NOT EXISTS receipts (query, epsilon, spent, previous, digest)")
        connection.execute("CREATE TABLE IF NOT EXISTS answers (query, epsilon, answer)")
        self._connection, self.budget = connection, budget

    def charge(self, query: Query, cost: Cost) -> Receipt:
        """Append if the total stays within the budget.  Theorem: PURE-FILTER."""
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            history = self.receipts()
            last = history[-1].digest if history else ""
            receipt = Receipt(len(history) + 1, repr(query), cost.epsilon, self.spent() + cost.epsilon, last)
            if receipt.spent > self.budget:
                raise BudgetRefused(f"{cost.epsilon} does not fit: {self.spent()} of {self.budget} is spent")
            row = (receipt.query, str(receipt.epsilon), str(receipt.spent), last, receipt.digest)
            self._connection.execute("INSERT INTO receipts VALUES (?, ?, ?, ?, ?)", row)
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")
        return receipt

    def receipts(self) -> list[Receipt]:
        rows = self._connection.execute("SELECT query, epsilon, spent, previous FROM receipts ORDER BY rowid")
        return [Receipt(n, q, Fraction(e), Fraction(s), p) for n, (q, e, s, p) in enumerate(rows, start=1)]

    def spent(self) -> Fraction:
        return sum((receipt.epsilon for receipt in self.receipts()), Fraction(0))

    def remember(self, query: Query, epsilon: Fraction, answer: int) -> None:
        row = (repr(query), str(epsilon), str(answer))
        self._connection.execute("INSERT INTO answers VALUES (?, ?, ?)", row)

    def recall(self, query: Query, epsilon: Fraction) -> int | None:
        asked = "SELECT answer FROM answers WHERE query = ? AND epsilon = ?"
        row = self._connection.execute(asked, (repr(query), str(epsilon))).fetchone()
        return None if row is None else int(row[0])

    def verify(self) -> bool:
        """Every link follows from the one before it, and the total is within the budget."""
        stored = [row[0] for row in self._connection.execute("SELECT digest FROM receipts ORDER BY rowid")]
        linked = [receipt.previous for receipt in self.receipts()]
        intact = stored == [receipt.digest for receipt in self.receipts()]
        return intact and linked == ["", *stored][: len(stored)] and self.spent() <= self.budget


# engines: exact clipped integers, for the curator and for nobody else --------------------------------------
class Engine(Protocol):
    def exact(self, query: Query, table: Table) -> int: ...


@dataclass(frozen=True, slots=True)
class SqliteEngine:
    connection: sqlite3.Connection

    def exact(self, query: Query, table: Table) -> int:
        match query:
            case Count():
                sql = f'SELECT count(*) FROM "{table.name}"'
            case Sum(name):
                c = table.column(name)
                clipped = f'max({c.low}, min({c.high}, CAST("{c.name}" AS INTEGER)))'
                sql = f'SELECT coalesce(sum({clipped}), 0) FROM "{table.name}"'
            case _:
                assert_never(query)
        return int(self.connection.execute(sql).fetchone()[0])


# certify ---------------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Certificate:
    theorems: tuple[str, ...]
    assumptions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    value: int
    cost: Fraction
    spent: Fraction
    certificate: Certificate


# curator: the only place where data, noise and budget meet -------------------------------------------------
@dataclass(frozen=True, slots=True)
class Curator:
    table: Table
    engine: Engine
    ledger: Ledger
    coin: Coin = secrets.randbelow

    def ask(self, query: Query, *, epsilon: Fraction) -> Answer:
        """Bound, calibrate, charge, then read, then release.  A repeat is free: POST-PROCESSING."""
        bound = sensitivity(query, self.table)
        mechanism = GeometricNoise(bound / Cost(epsilon).epsilon)
        known = self.ledger.recall(query, epsilon)
        if known is not None:
            return Answer(known, Fraction(0), self.ledger.spent(), self._certificate())
        receipt = self.ledger.charge(query, mechanism.cost(bound))
        value = mechanism.release(self._read(query), self.coin)
        self.ledger.remember(query, epsilon, value)
        return Answer(value, receipt.epsilon, receipt.spent, self._certificate())

    def _read(self, query: Query) -> int:
        try:
            return self.engine.exact(query, self.table)
        except Exception:  # its words may quote a row
            pass
        raise EngineFailed("the engine failed; the charge stands")

    def _certificate(self) -> Certificate:
        return Certificate(
            theorems=("L1-SENSITIVITY", "GEOMETRIC-IS-PURE-DP", "PURE-FILTER", "POST-PROCESSING"),
            assumptions=(f"no person owns more than {self.table.rows_per_person} rows",),
        )


if __name__ == "__main__":
    people = sqlite3.connect(":memory:")
    people.execute("CREATE TABLE people (age INTEGER)")
    people.executemany("INSERT INTO people VALUES (?)", [(20 + i % 60,) for i in range(1000)])
    table = Table("people", (Column("age", 0, 110),))
    curator = Curator(table, SqliteEngine(people), Ledger(sqlite3.connect(":memory:"), Fraction(1)))
    for query in (Count(), Sum("age"), Count()):
        answer = curator.ask(query, epsilon=Fraction(1, 4))
        sys.stdout.write(f"{query}: {answer.value}, cost {answer.cost}, spent {answer.spent} of 1\n")
