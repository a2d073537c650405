"""A server whose ledger cannot be written any more: nothing is answered, and what was answered is in the ledger."""

from __future__ import annotations

import contextlib
import itertools
import os
import resource
import signal
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import psycopg
import pytest

import adyton
from adyton.engines.duckdb import DuckDBEngine
from adyton.operations.roles import Role
from adyton.service.identity import Identity
from adyton.service.tokens import Tokens
from support.postgres import PATIENCE, NoServer, _account, _await, binaries, postgres_server
from support.servers import bearer, served, server, write_study

FAST = "[server]\ntick = 0\nrate_by_token = 1000000\nrate_by_address = 1000000\n"


def written(folder: Path, more: str = "") -> tuple[Path, list[str], dict[str, str]]:
    (folder / "server.toml").write_text(FAST)
    study = write_study(folder, more=more)
    token = bearer(Tokens(study).make(Identity("ana", Role.ANALYST))[0])
    return study, ["--settings", str(folder / "server.toml")], token


def query(number: int) -> str:
    return f"SELECT COUNT(*) FROM people WHERE income > {number}"


def asked(url: str, headers: dict[str, str], number: int) -> httpx2.Response:
    body = {"query": query(number), "within": 400}
    return httpx2.post(f"{url}/v1/studies/people/ask", headers=headers, json=body, timeout=120)


def check(study: Path, seen: list[dict[str, Any]]) -> None:
    """Every answer that a client saw is in the ledger, under its receipt, and is given again."""
    with adyton.open(study) as curator:
        curator.verify()
        for answer in seen:
            receipt = curator.ledger.receipt(answer["receipt"]["number"])
            assert receipt is not None
            assert receipt.digest == answer["receipt"]["digest"]
            again = curator.ask(receipt.order.query, within=400).to_json()
            assert (again["repeated"], again["answer"]) == (True, answer["answer"])


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="only Linux can limit a process from outside")
def test_A23_a_full_disk_under_a_running_server_gives_no_answer(tmp_path: Path) -> None:
    """Not a byte can be written any more, then there is room again.  Mutant: a commit that failed is passed over."""
    study, options, ana = written(tmp_path)
    with server([study], *options) as running:
        seen = [asked(running.url, ana, 20_000).json()]
        before = resource.prlimit(running.process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(running.process.pid, resource.RLIMIT_FSIZE, (1, before[1]))
        full = [asked(running.url, ana, 21_000 + number) for number in range(3)]
        assert [(one.status_code, one.json()["error"]["kind"]) for one in full] == [
            (503, "ledger_corrupt")
        ] * 3
        resource.prlimit(running.process.pid, resource.RLIMIT_FSIZE, before)
        after = asked(running.url, ana, 22_000)
        assert after.status_code == 200
        seen.append(after.json())
    check(study, seen)
    with adyton.open(study) as curator:
        assert curator.verify().receipts == 2  # what was refused left no trace


@contextlib.contextmanager
def again(data: Path, port: int) -> Iterator[None]:
    """The same database, by another process: it recovers from its log, once all of the other have gone."""
    log, end = data.parent / "again", time.monotonic() + PATIENCE
    while True:
        with log.open("wb") as told:
            process = subprocess.Popen(
                [binaries() / "postgres", "-D", data, "-p", str(port), "-h", "127.0.0.1", "-k", data.parent],
                stdout=told, stderr=told, cwd=data.parent, **_account(),
            )  # fmt: skip
        try:
            _await(process, port, log)
            break
        except NoServer as late:
            process.kill()
            process.wait(PATIENCE)
            if time.monotonic() > end:
                raise AssertionError(str(late)) from None
            time.sleep(0.2)
    try:
        yield
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(PATIENCE)


def status_of(process: int) -> list[str]:
    """Whether it runs, its parent, and more."""
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()


def is_running(process: int) -> bool:
    try:
        return status_of(process)[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def kill_postgres(address: str) -> tuple[Path, int]:
    """SIGKILL for the first process of the server and all that serve somebody: its folder and port."""
    with psycopg.connect(address) as connection:
        place = connection.execute(
            "SELECT pg_backend_pid(), current_setting('data_directory'), current_setting('port')"
        ).fetchone()
        rows = connection.execute("SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend'")
        serving = [pid for (pid,) in rows.fetchall()]
        assert place is not None
        first = int(status_of(place[0])[1])
    os.kill(first, signal.SIGKILL)
    os.waitpid(first, 0)
    end = time.monotonic() + PATIENCE
    for pid in serving:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        while is_running(pid) and time.monotonic() < end:
            time.sleep(0.005)
    return Path(place[1]), int(place[2])


def test_A22_a_killed_postgres_gives_no_answer_that_was_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While clients ask, and one of them has paid and is being read.  Mutant: what could not be kept is answered."""
    exact, reads, places = DuckDBEngine.exact, itertools.count(1), []

    def reading(self: DuckDBEngine, readings: Any) -> Any:
        if next(reads) == 8:
            places.append(kill_postgres(address))
        return exact(self, readings)

    monkeypatch.setattr(DuckDBEngine, "exact", reading)
    try:
        with postgres_server(durable=True) as address:
            study = write_study(tmp_path, more=f'\n[ledger]\naddress = "{address}/killed"\n')
            with served([study]) as house, ThreadPoolExecutor(3) as pool:
                ana = house.made("ana")

                def client(start: int) -> list[httpx2.Response]:
                    answers: list[httpx2.Response] = []
                    while not answers or answers[-1].status_code == 200:
                        number = start + len(answers)
                        answers.append(house.ask(ana, query(number), within=400))
                    return answers

                answers = list(pool.map(client, (10_000, 20_000, 30_000)))
                assert [own[-1].status_code for own in answers] == [503] * 3
                seen = [answer.json() for own in answers for answer in own[:-1]]
                assert len(seen) >= 5
                with again(*places[0]):
                    check(study, seen)
                    assert (
                        house.ask(ana, query(99_000), within=400).status_code == 200
                    )  # it goes on by itself
    except NoServer as missing:
        pytest.skip(str(missing))
