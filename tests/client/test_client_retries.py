"""What a client sends again, and what it does not: whatever breaks on the way, one charge and one answer."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adyton
from adyton import errors
from adyton.client import RemoteStudy
from adyton.client.faults import InterruptedOnTheWay
from adyton.operations.roles import Role
from adyton.service.identity import Identity
from adyton.service.tokens import Tokens
from support.faults import AFTER, BEFORE, HALF, SLOW, BrokenLine, broken_line, reply
from support.servers import COUNT, Server, server, write_study
from support.tries import LONG

LATER = reply(503, {"error": {"kind": "busy", "message": "later", "retry_after": 7}}, "Retry-After: 7")
TOO_OFTEN = reply(429, {"error": {"kind": "too_many_requests", "message": "later"}}, "Retry-After: 3")
LABELS = np.random.default_rng(2).integers(0, 2, 2000)


@pytest.fixture
def waited(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long the client would have waited."""
    waits: list[float] = []
    monkeypatch.setattr("adyton.client.line.sleep", waits.append)
    return waits


def study(running: Server, line: BrokenLine, name: str, **manner: Any) -> RemoteStudy:
    """For somebody with a budget share, so that shares are of that part."""
    tokens = Tokens(running.log.with_suffix(".toml"))
    token, _ = tokens.make(Identity(name, Role.ANALYST, adyton.kernel.exact.rational("0.1", "share")))
    tokens.close()
    return adyton.connect(line.url, token, **manner).study("people")


def spent(asker: RemoteStudy) -> tuple[int, int]:
    """Receipts and units of this name alone."""
    own = asker.budget().own
    assert own is not None
    return len(asker.receipts()), own.spent


BREAKS = {"before it arrives": BEFORE, "after the charge": AFTER, "in half of the answer": HALF, "late": SLOW}
TEXT = "SELECT COUNT(*) AS n FROM people WHERE income > 1000{}"
MEAN = "SELECT AVG(income), COUNT(*) FROM people"
PRICES = {"within": 70, "share": "0.01", "epsilon": "0.05", "scale": 900}
CALLS = {
    "/ask": lambda asker, number, price: asker.ask(TEXT.format(number), **price),
    "/ask_many": lambda asker, number, price: asker.ask_many([TEXT.format(number), MEAN], **price)[0],
    "/suggest_bounds": lambda asker, number, price: (
        asker.suggest_bounds("income", where=f"income < {10**5 + number}", **price).answer
    ),
    "/monitors": lambda asker, number, price: asker.open_monitor(positives=1, **price).budget(),
}
TRIED = [(path, price, how) for path, price in (
    ("/ask", "within"), ("/ask", "share"), ("/ask", "epsilon"), ("/ask", "scale"), ("/ask_many", "share"),
    ("/suggest_bounds", "share"), ("/monitors", "share"), ("/monitors", "epsilon"),
) for how in BREAKS if how != "late" or path in ("/monitors", "/suggest_bounds")]  # fmt: skip


@pytest.mark.parametrize(("path", "price", "how"), TRIED)
def test_what_is_lost_is_sent_again_and_charged_once(
    running: Server, line: BrokenLine, waited: list[float], how: str, path: str, price: str
) -> None:
    """Twice in a row.  Mutants: a new request id for each try; a share of what is left now, not of what was left then."""
    asker = study(running, line, f"{how} {path} {price}", timeout=0.7 if how == "late" else 30)
    line.plans[path] = [BREAKS[how]] * (1 if how == "late" else 2)
    tries = len(line.plans[path]) + 1
    words = {price: PRICES[price]} if path != "/suggest_bounds" else {"share": "0.3"}
    answer = CALLS[path](asker, TRIED.index((path, price, how)), words)
    assert len({body["request"] for body in line.sent(path)}) == 1
    assert len(line.sent(path)) == tries
    assert len(waited) == tries - 1
    (receipt,), (charged, units) = asker.receipts(), spent(asker)
    assert receipt.digest == answer.receipt.digest
    assert (charged, units) == (1, receipt.order.amount)
    assert asker.verify().receipts >= 1


def test_an_id_of_a_share_is_one_charge_whatever_others_spend_in_between(
    running: Server, line: BrokenLine
) -> None:
    """Mutant: ``left_before`` looks at the newest receipt."""
    ann, ben = study(running, line, "ann"), study(running, line, "ben")
    query = "SELECT COUNT(*) AS n, AVG(income) AS mean FROM people WHERE region = 'east'"
    first = ann.ask(query, share="0.1", request="mine")
    ann.ask(COUNT, scale=333)
    ben.ask(COUNT, share="0.2")
    again = ann.ask(query, share="0.1", request="mine")
    assert again.repeated
    assert again.receipt == first.receipt
    assert list(again.rows) == list(first.rows)
    with pytest.raises(errors.RequestIdUsed):
        ann.ask(query, share="0.2", request="mine")
    assert spent(ann)[0] == 2


def test_later_means_later(running: Server, line: BrokenLine, waited: list[float]) -> None:
    """429, and 503 with Retry-After, after so many seconds.  Mutant: Retry-After is not read."""
    asker = study(running, line, "patient")
    line.plans["/ask"] = [LATER, TOO_OFTEN, LATER]
    assert asker.ask(COUNT, within=71).receipt.number
    assert waited == [7.0, 3.0, 7.0]
    line.plans["/preview"] = [LATER] * 6
    with pytest.raises(errors.Busy) as busy:
        asker.preview(COUNT, within=71)
    assert busy.value.facts["retry_after"] == 7
    assert len(line.sent("/preview")) == 6
    line.plans["/preview"] = [reply(503, {"error": {"kind": "ledger_corrupt", "message": "stop"}})]
    with pytest.raises(adyton.LedgerCorrupt):
        asker.preview(COUNT, within=71)
    assert len(line.sent("/preview")) == 7


def test_after_502_nothing_is_sent_again(running: Server, line: BrokenLine, waited: list[float]) -> None:
    """Mutant: 502 is one of those after which it is."""
    asker = study(running, line, "failing")
    failed = {"error": {"kind": "engine_failed", "message": "the engine failed", "reference": "abc"}}
    line.plans["/ask"] = [reply(502, failed, "Retry-After: 1"), reply(502, b"<html>")]
    with pytest.raises(adyton.EngineFailed) as error:
        asker.ask(COUNT, within=72, request="an id")
    assert error.value.facts == {"reference": "abc", "request": "an id"}
    assert "'an id'" in error.value.message
    with pytest.raises(errors.Unanswered, match="an id"):
        asker.ask(COUNT, within=72, request="an id")
    assert waited == []
    assert len(line.sent("/ask")) == 2


def test_who_gives_up_says_how_to_fetch_the_answer(
    running: Server, line: BrokenLine, waited: list[float]
) -> None:
    asker = study(running, line, "unlucky", retries=2)
    query = "SELECT COUNT(*) FROM people WHERE income > 41234"
    line.plans["/ask"] = [AFTER, BEFORE, AFTER]
    with pytest.raises(errors.Unanswered) as lost:
        asker.ask(query, share="0.1")
    request = lost.value.facts["request"]
    assert f"request={request!r}" in lost.value.message
    assert len(waited) == 2
    fetched = asker.ask(query, share="0.1", request=request)
    assert fetched.repeated
    assert spent(asker)[0] == 1
    line.plans["/ask"] = [
        AFTER,
        LATER,
        LATER,
    ]  # the first may have been taken, so it is not said that none was
    with pytest.raises(errors.Unanswered, match="later"):
        asker.ask(COUNT, within=73)


def test_a_server_that_is_gone_may_have_taken_the_first_try(
    running: Server, line: BrokenLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Mutant: only the last try decides whether something may be charged."""
    asker = study(running, line, "last seen", retries=1)
    monkeypatch.setattr("adyton.client.line.sleep", lambda _: line.stop())
    line.plans["/ask"] = [AFTER]
    with pytest.raises(errors.Unanswered, match=r"nothing listens .* with request='seen'"):
        asker.ask(COUNT, within=77, request="seen")


def test_what_is_free_is_never_in_doubt(running: Server, line: BrokenLine, waited: list[float]) -> None:
    asker = study(running, line, "free", retries=1)
    line.plans["/budget"] = [AFTER, AFTER, BEFORE]
    with pytest.raises(errors.Unreachable, match="nothing was charged"):
        asker.budget()
    assert asker.budget().queries >= 0
    assert len(waited) == 2


def test_what_is_fed_is_not_sent_again_but_can_be_looked_up(
    running: Server, line: BrokenLine, waited: list[float]
) -> None:
    """The same twice would use up two positives.  Mutant: ``again=True``."""
    asker = study(running, line, "feeding")
    monitor = asker.open_monitor(positives=5, share="0.5")
    line.plans["/feed"] = [AFTER]
    with pytest.raises(errors.Unanswered, match="answers"):
        monitor.feed(COUNT, above=0)
    assert len(line.sent("/feed")) == 1
    assert [one.above for one in monitor.answers()] == [True]
    line.plans["/feed"] = [LATER]  # nothing was fed
    assert monitor.feed(COUNT, above=0).feeds == 2
    assert monitor.budget().positives_left == 3


def test_a_score_that_is_lost_is_charged_once(running: Server, line: BrokenLine, waited: list[float]) -> None:
    with adyton.connect(line.url, running.owner["Authorization"].partition(" ")[2]) as connection:
        holdout, guesses = connection.holdout("test"), np.roll(LABELS, 1)
        before = holdout.budget().scores
        line.plans["/score"], line.plans["/compare"] = [AFTER, HALF], [BEFORE, AFTER]
        assert holdout.score(guesses).number == before + 1
        assert holdout.compare(guesses, 1 - guesses).number == before + 2
        assert holdout.budget().scores == before + 2


def test_an_interrupt_on_the_way_says_that_it_may_be_charged(running: Server, line: BrokenLine) -> None:
    """Mutant: a plain KeyboardInterrupt, of which the command says that nothing was charged."""
    asker = study(running, line, "interrupting")
    line.plans["/ask"] = [SLOW]

    def interrupt() -> None:
        while not line.sent("/ask"):
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(InterruptedOnTheWay, match="with request='by hand'") as stopped:
        asker.ask(COUNT, within=74, request="by hand")
    thread.join()
    assert stopped.value.__cause__ is stopped.value.__context__ is None
    assert asker.ask(COUNT, within=74, request="by hand").receipt.number


@pytest.mark.skipif(
    not LONG, reason="starts two servers, which takes longer than all of these: see make long"
)
def test_a_server_that_stops_and_comes_back_is_found_again(tmp_path: Path) -> None:
    """The same address, after a restart: nothing is sent twice, and nothing is lost."""
    path, answers = write_study(tmp_path), []
    with server([path]) as first, broken_line(first.url) as line:
        secret = first.owner["Authorization"].partition(" ")[2]
        asker = adyton.connect(line.url, secret, retries=1).study("people")
        answers.append(asker.ask(COUNT, within=75, request="before and after"))
    with pytest.raises((errors.Unreachable, errors.Unanswered), match="nothing listens"):
        asker.ask(COUNT, within=76)
    with server([path]) as second, adyton.connect(second.url, secret) as connection:
        answers.append(connection.study("people").ask(COUNT, within=75, request="before and after"))
        assert connection.study("people").verify(answers[0].receipt.digest).receipts == 1
    assert answers[0].receipt == answers[1].receipt
