"""A22 on the product: a process that asks is killed at any moment, started again, and asks the same again.

Free answers: an answer that was told and is not the one that a receipt in the ledger paid for.  There are none,
and nothing is charged twice.  Mutants that fail here: an answer that is shown before it is remembered; a
``remember`` whose answer does not win over a later one; ``_unanswered`` that finds nothing; a charge after reading.
Set ADYTON_KILLS to kill more often than 20 times; ``make long`` kills 200 times.
"""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import adyton
from adyton.kernel.ledger.stored.sqlite import SqliteStore
from adyton.kernel.noisy import NoisyQueries
from adyton.ledgers.postgres import PostgresStore
from support.postgres import NoServer, postgres_server
from support.processes import APART
from support.tries import LONG
from support.worlds import query, write_study

KILLS = int(os.environ.get("ADYTON_KILLS", "20"))


def in_another_process(attack: Callable[..., None], *arguments: Any) -> None:
    process = APART.Process(target=attack, args=arguments)
    process.start()
    process.join(600)
    assert process.exitcode == 0


def tell(file: int, number: int, answer: adyton.Answer) -> None:
    values = [str(value.value) for row in answer.rows for value in row.values.values()]
    os.write(
        file, (json.dumps([number, answer.receipt.number, answer.receipt.digest, values]) + "\n").encode()
    )


def told(report: Path) -> list[Any]:
    return [json.loads(line) for line in report.read_text().splitlines()]


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def ask_from(study: Path, first: int, file: int) -> None:
    with adyton.open(study) as curator:
        for number in range(first, first + 1000):
            tell(file, number, curator.ask(query(number), scale=1000))


def kill_again_and_again(study: Path, report: Path) -> None:
    rng = random.Random(22)
    with adyton.open(study) as curator:
        curator.preview(query(0), scale=1000)  # loads what each child would have to load again
    with report.open("ab") as open_report:
        for _ in range(KILLS):
            lines = len(told(report))
            child = os.fork()
            if child == 0:
                try:
                    ask_from(study, lines, open_report.fileno())
                finally:
                    os._exit(1)
            end = time.monotonic() + 60
            wanted = lines + rng.randrange(3)
            while len(told_so_far(report)) <= wanted and time.monotonic() < end:
                time.sleep(0.0005)
            time.sleep(rng.uniform(0, 0.02))
            os.kill(child, signal.SIGKILL)
            assert os.waitpid(child, 0)[1] == signal.SIGKILL


def told_so_far(report: Path) -> list[str]:
    return report.read_text().splitlines()


def check(study: Path, report: Path) -> None:
    with adyton.open(study) as curator:
        curator.verify()
        receipts = {receipt.number: receipt for receipt in curator.receipts()}
        asked = [receipt.order.query for receipt in receipts.values()]
        assert len(set(asked)) == len(asked)  # nothing was charged twice
        for number, receipt, digest, values in told(report):
            assert receipts[receipt].digest == digest
            again = curator.ask(query(number), scale=1000)
            assert again.receipt.number == receipt
            assert [str(value.value) for row in again.rows for value in row.values.values()] == values
        assert len(curator.receipts()) == len(receipts)


def test_A22_killed_again_and_again_no_answer_is_free_or_paid_twice(tmp_path: Path) -> None:
    study, report = write_study(tmp_path), tmp_path / "told"
    report.touch()
    in_another_process(kill_again_and_again, study, report)
    assert len(told(report)) >= KILLS
    check(study, report)


def at_commit(which: int, *, after: bool) -> Callable[[], None]:
    """Dies at a commit of the ledger: before it, or when it has returned."""

    def arrange() -> None:
        commits = 0
        session = SqliteStore.lock

        def counted(self: SqliteStore) -> Any:
            nonlocal commits
            commits += 1
            if commits == which and not after:
                assert self._connection is not None
                self._connection.set_trace_callback(lambda sql: die() if sql == "COMMIT" else None)
            inner = session(self)
            return _Then(inner, die) if commits == which and after else inner

        commit = PostgresStore._commit

        def counted_commit(self: PostgresStore, statements: Any) -> None:
            nonlocal commits
            commits += 1
            if commits == which and not after:
                die()
            commit(self, statements)
            if commits == which:
                die()

        SqliteStore.lock = counted  # type: ignore[method-assign]
        PostgresStore._commit = counted_commit  # type: ignore[method-assign]

    return arrange


class _Then:
    def __init__(self, inner: Any, act: Callable[[], None]) -> None:
        self._inner, self._act = inner, act

    def __enter__(self) -> Any:
        return self._inner.__enter__()

    def __exit__(self, *error: Any) -> Any:
        result = self._inner.__exit__(*error)
        self._act()
        return result


def when_read() -> None:
    release = NoisyQueries.release

    def dying(self: NoisyQueries, *arguments: Any) -> Any:
        release(self, *arguments)
        die()

    NoisyQueries.release = dying  # type: ignore[method-assign]


MOMENTS = {
    "before the commit of the charge": (at_commit(1, after=False), 0),
    "after the commit of the charge": (at_commit(1, after=True), 1),
    "when it was read and has its noise": (when_read, 1),
    "before the commit of the answer": (at_commit(2, after=False), 1),
    "after the commit of the answer": (at_commit(2, after=True), 1),
}


def die_once(study: Path, name: str) -> None:
    child = os.fork()
    if child == 0:
        MOMENTS[name][0]()
        try:
            with adyton.open(study) as curator:
                curator.ask(query(1), scale=1000)
        finally:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == signal.SIGKILL


@pytest.fixture(scope="module")
def database() -> Iterator[str]:
    try:
        with postgres_server(durable=True) as address:
            yield address
    except NoServer as missing:
        pytest.skip(str(missing))


@pytest.mark.parametrize("name", MOMENTS)
def test_A22_killed_at_the_worst_moments(tmp_path: Path, name: str) -> None:
    killed_once(write_study(tmp_path), tmp_path / "told", name)


@pytest.mark.parametrize("name", MOMENTS if LONG else ["before the commit of the answer"])
def test_A22_killed_at_the_worst_moments_with_a_ledger_in_postgres(
    tmp_path: Path, database: str, name: str
) -> None:
    """The server ends what was under way when it misses its client."""
    address = f"{database}/killed_{list(MOMENTS).index(name)}"
    study = write_study(tmp_path, more=f'\n[ledger]\naddress = "{address}"\n')
    killed_once(study, tmp_path / "told", name)


def killed_once(study: Path, report: Path, name: str) -> None:
    in_another_process(die_once, study, name)
    with adyton.open(study) as curator, report.open("ab") as file:
        assert len(curator.receipts()) == MOMENTS[name][1]
        tell(file.fileno(), 1, curator.ask(query(1), scale=1000))
        assert len(curator.receipts()) == 1
    check(study, report)
