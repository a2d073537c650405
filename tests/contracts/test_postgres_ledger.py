"""The ledger in Postgres keeps the contract of all ledgers, and what only a server can get wrong."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import pytest

from adyton.ledger import Header, Ledger
from adyton.ledger.stored.postgres import PostgresLedger
from adyton.testing.ledgers.contract import LedgerContract, Reopen
from postgres_server import NoServer, postgres_server

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
            ledgers.append(PostgresLedger.create(f"{server}/ledger_{next(NUMBERS)}", header(limit)))
            return ledgers[-1]

        return make

    @pytest.fixture
    def reopen(self, server: str, ledgers: list[PostgresLedger]) -> Reopen:
        def again(ledger: Ledger) -> PostgresLedger:
            assert isinstance(ledger, PostgresLedger)
            ledgers.append(PostgresLedger(f"{server}/{ledger.name}"))
            return ledgers[-1]

        return again
