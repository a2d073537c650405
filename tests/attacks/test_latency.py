"""Who waits for answers about neighboring tables learns nothing from the time they take, but for whole ticks.

A server of its own serves tables that differ in one row, with an engine that this row makes slow.  Pairs of the same
query are sent, one to each table, and a fair coin says which comes first.  If a table has no influence on times, then
in which half of a pair its answer took longer is another fair coin, whatever else the machine does: so the number of such
pairs is bet against, and a wealth of ten million refutes it (false alarm 1e-7, at whatever moment somebody looks).
"""

from __future__ import annotations

import contextlib
import http.client
import itertools
import json
import math
import random
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pandas as pd
import pytest

from adyton.operations.roles import Role
from adyton.service.identity import Identity
from adyton.service.tokens import Tokens
from support.children import slow_engine
from support.servers import server, write_study
from support.tries import LONG, often

AT_ONCE = 5  # pairs at a time: most of it is waiting
REFUTED = 1e7
TABLES = ("base", "same", "near", "far")


def wealth(longer: int, pairs: int) -> float:
    """Of somebody who bets on a coin that is not fair, without knowing which side (Krichevsky and Trofimov)."""
    bet = (
        math.lgamma(longer + 0.5)
        + math.lgamma(pairs - longer + 0.5)
        - math.lgamma(pairs + 1)
        - math.log(math.pi)
    )
    return math.exp(min(700.0, pairs * math.log(2) + bet))


def write_tables(folder: Path) -> list[Path]:
    """Each differs from the first in one row, but for one that is a copy of it."""
    studies = []
    for name in TABLES:
        own = folder / name
        own.mkdir()
        studies.append(write_study(own, name))
        if name in slow_engine.EXTREME:
            people = pd.read_parquet(own / "people.parquet")
            people.loc[500, "income"] = slow_engine.EXTREME[name]
            people.to_parquet(own / "people.parquet")
    return studies


class Analyst:
    """Sends pairs, each over a connection of its own."""

    def __init__(self, url: str, tokens: dict[str, str], numbers: Iterator[int]) -> None:
        self._place, self._tokens, self._numbers = url.removeprefix("http://"), tokens, numbers
        self._coins = random.Random(17)

    def pairs(self, table: str, number: int, start: float) -> list[bool]:
        """Whether the answers about ``table`` took longer than those about the first one, pair by pair.

        Everybody starts at another part of a tick, and nobody asks twice in one: who asks at once waits for others.
        """
        time.sleep(start * slow_engine.TICK)
        return [self._took_longer(table) for _ in range(number)]

    def _took_longer(self, table: str) -> bool:
        number, pair = next(self._numbers), self._coins.sample(["base", table], 2)
        times = {}
        with contextlib.closing(http.client.HTTPConnection(self._place, timeout=120)) as connection:
            connection.connect()
            for one in pair:
                times[one] = self._asked(connection, one, number)
                time.sleep(max(0.0, slow_engine.TICK - times[one]))
        return times[table] > times["base"]

    def _asked(self, connection: http.client.HTTPConnection, table: str, number: int) -> float:
        """How long it took, as it is seen from outside."""
        query = f"SELECT COUNT(*) AS n FROM people WHERE income > {number}"
        body = json.dumps({"query": query, "scale": 2000})
        headers = {"Authorization": f"Bearer {self._tokens[table]}", "Content-Type": "application/json"}
        began = time.perf_counter()
        connection.request("POST", f"/v1/studies/{table}/ask", body, headers)
        answer = connection.getresponse()
        told = answer.read()
        took = time.perf_counter() - began
        assert answer.status == 200, told
        assert not json.loads(told)["repeated"]
        return took


class Comparison:
    """Pairs of one table with the first."""

    def __init__(self) -> None:
        self.seen: list[bool] = []
        self.most = 0.0  # that the wealth was when somebody looked

    def add(self, seen: Sequence[bool]) -> None:
        self.seen += seen
        self.most = max(self.most, wealth(sum(self.seen), self.pairs))

    @property
    def pairs(self) -> int:
        return len(self.seen)


Comparisons = dict[str, Comparison]


def compare(analyst: Analyst, rounds: dict[str, int]) -> Comparisons:
    """So often with each table, and all of them at once: whatever the machine does meets all."""
    made = {table: Comparison() for table in rounds}
    with ThreadPoolExecutor(AT_ONCE * len(rounds)) as pool:
        asking = [
            (table, pool.submit(analyst.pairs, table, rounds[table], place / (AT_ONCE * len(rounds))))
            for place, table in enumerate([*rounds] * AT_ONCE)
        ]
        for table, seen in asking:
            made[table].add(seen.result())
    return made


@contextlib.contextmanager
def analyst_of(studies: Sequence[Path], tick: float) -> Iterator[Analyst]:
    """Somebody with a token for each table of a server."""
    settings = studies[0].with_name("server.toml")
    free = "rate_by_token = 1000000\nrate_by_address = 1000000\nplaces = 64\nplaces_by_token = 64\n"
    settings.write_text(f"[server]\ntick = {tick}\n{free}", encoding="utf-8")
    made = {}
    for study in studies:
        with contextlib.closing(Tokens(study)) as tokens:
            made[study.stem] = tokens.make(Identity("ana", Role.ANALYST))[0]
    with server(studies, "--settings", str(settings), program=[slow_engine.__file__]) as running:
        analyst = Analyst(running.url, made, itertools.count(1000))
        analyst.pairs("same", 1, 0)  # imports what a first query needs
        yield analyst


def test_times_of_neighboring_tables_differ_by_whole_ticks_alone(tmp_path: Path) -> None:
    """Within a tick nothing is seen, as little as between a table and its copy; a row that costs a tick is seen.

    Mutants: a wait of one tick after reading; in the long form also answers that do not wait at all.
    """
    rounds = often(8, 80)
    with analyst_of(write_tables(tmp_path), slow_engine.TICK) as analyst:
        seen = compare(analyst, {"near": rounds, "same": rounds, "far": 6})
        for _ in range(10):
            if seen["far"].most < REFUTED:  # a bad moment of the machine
                seen["far"].add(compare(analyst, {"far": 6})["far"].seen)
    assert seen["near"].pairs == seen["same"].pairs == AT_ONCE * rounds
    assert seen["same"].most < REFUTED
    assert seen["near"].most < REFUTED
    assert seen["far"].most > REFUTED


@pytest.mark.skipif(not LONG, reason="a second server: in the long run")
def test_without_a_grid_the_same_row_is_seen(tmp_path: Path) -> None:
    with analyst_of(write_tables(tmp_path), 0) as analyst:
        seen = compare(analyst, {"near": 60, "same": 60})
    assert seen["near"].most > REFUTED > seen["same"].most


def test_a_fair_coin_is_seldom_refuted_and_a_false_one_soon() -> None:
    """What is bet is worth one on average: summed over all runs of a length, exactly."""
    for pairs in (1, 2, 7, 28):
        mean = sum(math.comb(pairs, longer) * wealth(longer, pairs) for longer in range(pairs + 1)) / 2**pairs
        assert mean == pytest.approx(1)
    assert wealth(28, 28) > REFUTED > wealth(27, 28)
    assert wealth(38, 40) > REFUTED > wealth(37, 40)
