"""Sessions of agents: one for each name and span of time, whatever connects; their caps are held exactly."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from adyton.errors import InvalidRequest, LedgerCorrupt, PrivacyRefused, SessionRefused
from adyton.kernel.ledger import Header, MemoryLedger, Order
from adyton.operations.roles import Role
from adyton.service.agents.sessions import AgentSessions, Caps, Turns
from adyton.service.identity import Identity
from adyton.service.named_ledger import NamedLedger
from adyton.service.settings import Settings, read_settings

LIMIT = 1_000


class Clock:
    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def nothing() -> int:
    return 0


def test_a_session_outlives_connections_processes_and_restarts(tmp_path: Path, clock: Clock) -> None:
    """Mutants: a session is begun whenever somebody connects; its end is counted from the last query."""
    first, other = (AgentSessions(tmp_path / "people.toml", Fraction(2), clock) for _ in range(2))
    begun = first.current("bot", lambda: 7)
    assert begun.spent_before == 7
    assert begun.ends_at == clock.now + 7200
    clock.now += 7199
    first.close()
    for sessions in (first, other, AgentSessions(tmp_path / "people.toml", Fraction(2), clock)):
        assert sessions.current("bot", lambda: 99) == begun
        assert sessions.current("bob", nothing).id != begun.id
    clock.now += 1
    later = other.current("bot", lambda: 99)
    assert later.id != begun.id
    assert (later.spent_before, later.taken) == (99, 0)
    assert first.current("bot", nothing) == later


def test_as_many_charges_as_a_session_has_are_taken_and_no_more(tmp_path: Path) -> None:
    """Two processes, many threads.  Mutant: the number is read, and written afterwards."""
    every = [AgentSessions(tmp_path / "people.toml") for _ in range(2)]
    sessions = [one.current("bot", nothing) for one in every]
    assert sessions[0] == sessions[1]
    barrier = threading.Barrier(16)

    def taken(number: int) -> int:
        barrier.wait(60)
        got = 0
        for _ in range(4):
            try:
                every[number % 2].take("bot", sessions[0], 37)
                got += 1
            except SessionRefused:
                pass
        return got

    with ThreadPoolExecutor(16) as pool:
        assert sum(pool.map(taken, range(16))) == 37
    every[1].give_back("bot", sessions[0])
    every[0].take("bot", sessions[0], 37)
    with pytest.raises(SessionRefused) as refused:
        every[0].take("bot", sessions[0], 37)
    seconds = refused.value.facts["next_session_in"]
    assert refused.value.facts == {
        "whose": "session", "by": "bot", "asked_for": "query", "next_session_in": seconds,
        "requested": "1", "spent": "37", "budget": "37", "largest": "0", "counted_in": "queries",
    }  # fmt: skip


def test_what_cannot_be_read_lets_nobody_ask(tmp_path: Path) -> None:
    """Mutant: a broken file begins a new session."""
    (tmp_path / "people.sessions").write_bytes(b"this is no database, and longer than a header of one" * 20)
    with pytest.raises(LedgerCorrupt, match=r"people\.sessions"):
        AgentSessions(tmp_path / "people.toml").current("bot", nothing)


def named(sessions: AgentSessions, ledger: Any, caps: Caps) -> NamedLedger:
    who = Identity("bot", Role.ANALYST, session=caps)
    turns = Turns(sessions, "bot", caps, lambda: ledger.spent_by("bot"))
    return NamedLedger(ledger, who, lambda: None, lambda: None, turns)


def order(number: int, amount: int, request: str | None = None) -> Order:
    return Order(f"query {number}", "", amount, 0, request)


def test_the_price_of_a_session_is_a_condition_of_the_charge(tmp_path: Path, clock: Clock) -> None:
    """Mutants: the cap does not travel with the order; it is of the name's whole life; ``left`` forgets it."""
    ledger = MemoryLedger(Header.fresh("study", "gdp", LIMIT))
    sessions = AgentSessions(tmp_path / "people.toml", Fraction(1), clock)
    ledger.charge(Order("before", "", 300, 0, None, by="bot"))
    agent = named(sessions, ledger, Caps(budget_share=Fraction(1, 10)))
    assert agent.left(ledger.spent()) == 100
    agent.charge(order(1, 60))
    assert agent.left(ledger.spent()) == 40
    with pytest.raises(PrivacyRefused) as refused:
        agent.charge(order(2, 41))
    assert refused.value.facts["by"] == "bot"
    assert agent.charge(order(3, 40)).receipt.budget_share == 400
    clock.now += 3600
    assert agent.left(ledger.spent()) == 100
    assert agent.charge(order(4, 100)).fresh


def test_only_what_is_charged_counts(tmp_path: Path) -> None:
    """Mutants: a refusal is counted; a retry is; a retry is refused when the session is used up."""
    ledger = MemoryLedger(Header.fresh("study", "gdp", LIMIT))
    sessions = AgentSessions(tmp_path / "people.toml")
    agent = named(sessions, ledger, Caps(queries=2))
    with pytest.raises(PrivacyRefused):
        agent.charge(order(1, LIMIT + 1))
    first = agent.charge(order(2, 1, "once"))
    for _ in range(3):
        assert agent.charge(order(2, 1, "once")).receipt == first.receipt
    assert agent.left(ledger.spent()) == LIMIT - 1
    agent.charge(order(3, 1))
    assert agent.left(ledger.spent()) == 0  # so that previews say so
    with pytest.raises(SessionRefused):
        agent.charge(order(4, 1))
    assert not agent.charge(order(2, 1, "once")).fresh
    assert ledger.spent() == 2


@pytest.mark.parametrize(
    ("section", "said"),
    [
        ({"budget_share": 0}, "agent.budget_share"),
        ({"budget_share": 1.5}, "agent.budget_share"),
        ({"budget_share": "much"}, "agent.budget_share"),
        ({"queries": 0}, "agent.queries"),
        ({"queries": 2.5}, "agent.queries"),
        ({"queries": True}, "agent.queries"),
        ({"hours": 0}, "agent.hours"),
        ({"hours": 10**6}, "agent.hours"),
        ({"query": 3}, "agent.query is not known; known: budget_share, queries, hours"),
    ],
)
def test_what_is_wrong_in_the_section_is_said_at_the_start(section: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidRequest, match=said):
        Settings(agent=section)


def test_the_section_of_the_server_file(tmp_path: Path) -> None:
    file = tmp_path / "server.toml"
    file.write_text(
        '[server]\nnames = ["stats.example.org"]\n[agent]\nbudget_share = 0.05\nqueries = 20\nhours = 1\n'
    )
    settings = read_settings(file)
    assert settings.caps == Caps(Fraction(1, 20), 20, Fraction(1))
    assert list(settings.names) == ["stats.example.org"]
    assert not Settings().caps.any
    for names in ('["https://stats.example.org"]', '"stats.example.org"', "[1]", '["a b"]', '["x/y"]'):
        file.write_text(f"[server]\nnames = {names}\n")
        with pytest.raises(InvalidRequest, match=r"server\.names"):
            read_settings(file)
