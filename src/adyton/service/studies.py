"""A study that is served: opened once, used by many names, each on its own account.

Everything that goes out is an object of docs/reference/json.md.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any

from adyton.certify import Answer, Budget, Preview
from adyton.curator import Curator, open_study
from adyton.curator.coordinated.any_price import answered_before
from adyton.curator.mock import mock_of
from adyton.curator.opening import show_checkpoint
from adyton.curator.receipts import header_told
from adyton.errors import NotFound, PrivacyRefused
from adyton.kernel.exact import decimal_text
from adyton.kernel.ledger import Charged, Header, Ledger, MemoryLedger, Order, Receipt
from adyton.kernel.ledger.base import First, InFront
from adyton.monitors.answer import MonitorAnswers
from adyton.monitors.open_monitor import OpenMonitor
from adyton.operations.facts import facts_told
from adyton.operations.operation import Operation
from adyton.operations.results import JsonResult, PublicFacts, ReceiptTable
from adyton.operations.roles import Action, may
from adyton.operations.studies import MockOperations, MonitorOperations, StudyOperations
from adyton.operations.tokens import TokenOperations
from adyton.planning.known import number_of_values
from adyton.query.request import Asked, Requests, queries_of
from adyton.refusals import refusal_of, refused
from adyton.service.agents.sessions import AgentSession, AgentSessions, Turns
from adyton.service.chain import PAGE, links_told, numbered, page_of
from adyton.service.grid import TimedRequest
from adyton.service.identity import Identity
from adyton.service.named_ledger import NamedLedger
from adyton.service.repeats import Repeats
from adyton.service.tokens import Tokens
from adyton.study import Study

_MOST_NAMES = 32  # whose curators are kept, with their newest answers, which may be large
READING: ContextVar[TimedRequest | None] = ContextVar("the request that is being answered", default=None)
Words = Mapping[str, Any]  # a price, and what else is said of a query


class ServedStudy:
    """One study file.  Its data is loaded and its ledger replayed before anybody can ask."""

    def __init__(self, path: Path, hours: Fraction, **limits: Any) -> None:
        self.path, self.name = path, path.stem
        self.tokens = Tokens(self.path)
        self.sessions = AgentSessions(self.path, hours)
        self._curator = open_study(self.path, **limits)
        self.repeats: Repeats[Any] = Repeats(self._curator.ledger)
        self._for = lru_cache(_MOST_NAMES)(self._opened_for)
        self._mock: Curator | None = None
        self._charged: dict[str, int | None] = {}
        self._looked_at, self._looking = 0, threading.Lock()
        self._requests = Requests(*self._curator.study.tables)
        self._lock = threading.Lock()

    def load(self) -> None:
        """What is wrong with data or ledger is the operator's to know, before the first request."""
        self._curator.verify()
        self._curator.prepare()

    def close(self) -> None:
        self.repeats.close()
        self._curator.close()
        self.tokens.close()
        self.sessions.close()

    # What may be known by everybody who may look.

    @property
    def study(self) -> Study:
        return self._curator.study

    def facts(self) -> dict[str, Any]:
        return facts_told(self.name, self._curator.study)

    def read(self, query: str, dialect: str | None = None) -> Asked:
        """What a text asks: its columns and its shape follow from that, before a price is named.  Free."""
        return self._requests.of(query, dialect=dialect or self.study.dialect)

    def values_asked(self, queries: Sequence[str], dialect: str | None = None) -> int:
        """How many values are asked for, as far as that is public: groups, times what is asked in each."""
        return sum(number_of_values(queries_of(self.read(one, dialect))) for one in queries)

    def budget_told(self) -> str:
        """All that may be spent, in the units of the ledger."""
        return decimal_text(self._header.budget)

    def budget(self, who: Identity) -> dict[str, Any]:
        """Of all together, and of the own share; the shares of others for those who may see them."""
        told = {**self._for(who).budget().to_json(), "own": self.own(who)}
        if may(who.role, Action.ALL_RECEIPTS):
            told["by_name"] = self._by_everybody()
        return told

    def own(self, who: Identity) -> dict[str, Any]:
        """What a name has spent and left of its share; where its sessions are capped, also of this one."""
        told = {"by": who.name, **self._part(who.name, who.budget_share_of(self._header.budget))}
        turns = _turns(self.sessions, self._ledger, who)
        return told if turns is None else {**told, "session": self._of_session(who, turns)}

    def session(self, who: Identity) -> AgentSession:
        """The session in which a name asks."""
        return self.sessions.current(who.name, lambda: self._ledger.spent_by(who.name))

    def share_left_to(self, who: Identity) -> Fraction:
        """What a name may still spend in all, as a share of the study's budget."""
        ledger = on_account(self._ledger, who, self.sessions)
        return Fraction(ledger.left_in_all(self._ledger.spent()), self._header.budget)

    # Operations.

    def perform(self, operation: Operation[Any, Any], who: Identity, words: Words) -> Any:
        """What one name gets of an operation, on its account."""
        own = _AT_A_SERVER.get(operation)
        if own is not None:
            return own(self, who, **words)
        if operation.place is TokenOperations.place:
            return operation.apply(self.tokens, words)
        if operation.place is MockOperations.place:
            return operation.apply(self._emptied_mock(), {**words, "request": None})
        if operation.place is MonitorOperations.place:
            given = {name: said for name, said in words.items() if name != "number"}
            return operation.apply(self._monitor(who, words["number"]), given)
        with self._on_account(who) as curator:
            return operation.apply(curator, words)

    # Queries.

    def previews(self, who: Identity, queries: Sequence[str], words: Words) -> list[Preview]:
        with self._on_account(who) as curator:
            return curator.preview_many(queries, **words)

    def ask(self, who: Identity, queries: Sequence[str], words: Words) -> list[Any]:
        with self._on_account(who) as curator:
            return curator.ask_many(queries, **words)

    def left_to(self, who: Identity) -> int:
        """The most that one query of this name may cost now, in units of the ledger."""
        ledger = self._for(who).ledger
        return ledger.left(ledger.totals().spent)

    def again(self, who: Identity, query: str, words: Words) -> Answer:
        """An answer that was given, or paid for under this request id: never a charge, whatever happens."""
        return self._for(who).through(_NothingNew, reads).ask(query, **words)

    def receipt(self, number: int) -> Receipt | None:
        """The one that paid for an answer; who may read its query is for the caller to say."""
        return self._ledger.receipt(number) if number > 0 else None

    def asked_before(self, who: Identity, query: str, dialect: str | None) -> Answer | None:
        """The newest answer that anybody got to this very query, at whatever price: free."""
        return answered_before(self._for(who), query, dialect)

    def try_out(self, queries: Sequence[str], words: Words) -> list[Any]:
        """On made-up rows, with a ledger that is thrown away: free, and nobody's account."""
        return self._emptied_mock().ask_many(queries, **words)

    def _emptied_mock(self) -> Curator:
        with self._lock:
            if self._mock is None:
                self._mock = mock_of(self._curator.study)
            mock = self._mock
        return mock.through(_emptied, _nothing)

    # The chain.

    def count(self) -> int:
        """The number of the newest receipt."""
        return self._ledger.count()

    def receipts(self, who: Identity, after: int = 0, most: int = PAGE) -> dict[str, Any]:
        """One page: the open part of every link, and of the own receipts, or of all, everything."""
        page, following = page_of(self._ledger, after, most)
        return {**self._chain(who, page), "next": following}

    def course(self, who: Identity, most: int) -> dict[str, Any]:
        """The same of at most so many receipts, spread evenly over the whole chain, the newest among them."""
        newest = self._ledger.count()
        wanted = {-(-place * newest // most) for place in range(1, most + 1)}
        return self._chain(who, numbered(self._ledger, sorted(wanted)))

    def _chain(self, who: Identity, page: list[Receipt]) -> dict[str, Any]:
        header = {"accounting": self._header.accounting, "header": header_told(self._header)}
        return {**header, **links_told(who, page)}

    def page(self, who: Identity, after: int, last: int | None) -> dict[str, Any]:
        """The page of receipts after a number, or of the newest."""
        return self.receipts(who, after if last is None else max(0, self.count() - last))

    def verify(self, head: str | None = None) -> dict[str, Any]:
        found = self._curator.verify(head)
        return {"ok": True, "receipts": found.receipts, "head": found.head}

    def checkpoint(self) -> dict[str, Any] | None:
        """What it has seen, and how far the ledger is; None if the study has none."""
        return None if self._curator.study.checkpoint is None else show_checkpoint(self.path)

    # How a name uses the study.

    @property
    def _ledger(self) -> Ledger:
        return self._curator.ledger

    @property
    def _header(self) -> Header:
        return self._ledger.header

    def _opened_for(self, who: Identity) -> Curator:
        return self._curator.through(lambda ledger: on_account(ledger, who, self.sessions), reads)

    @contextmanager
    def _on_account(self, who: Identity) -> Iterator[Curator]:
        """A refusal says whose share it was, also where nothing came to be ordered."""
        try:
            yield self._for(who)
        except PrivacyRefused as refusal:
            part, facts = who.budget_share_of(self._header.budget), refusal_of(refusal)
            if part is None or facts is None or facts.largest != "0" or facts.by is not None:
                raise
            spent = self._ledger.spent_by(who.name)
            if spent < part:
                raise
            own = replace(facts, whose="analyst", by=who.name, spent=decimal_text(spent))
            raise refused(replace(own, budget=decimal_text(part))) from None

    def _monitor(self, who: Identity, number: int) -> OpenMonitor:
        """One that belongs to this name, which opened it."""
        receipt = self.receipt(number)
        if receipt is None or receipt.order.by != who.name:
            raise NotFound
        return self._for(who).monitor(number)

    def _part(self, name: str, budget_share: int | None) -> dict[str, Any]:
        spent = self._ledger.spent_by(name)
        left = None if budget_share is None else max(0, budget_share - spent)
        return {
            "spent": decimal_text(spent),
            "budget_share": None if budget_share is None else decimal_text(budget_share),
            "left": None if left is None else decimal_text(left),
        }

    def _of_session(self, who: Identity, turns: Turns) -> dict[str, Any]:
        session = turns.session()
        share = turns.budget_share(session, self._header.budget)
        left = None if share is None else max(0, share - self._ledger.spent_by(who.name))
        return {
            "left": None if left is None else decimal_text(left),
            "queries_left": turns.queries_left(session),
            "ends_at": session.ends_at,
        }

    def _by_everybody(self) -> dict[str, Any]:
        """All who ever asked or have a token, and what each has spent; with the share of the newest token, or
        of the newest receipt of somebody who has none.
        """
        shares = self._shares_charged() | {
            known.identity.name: known.identity.budget_share_of(self._header.budget)
            for known in self.tokens.all()
        }
        return {name: self._part(name, budget_share) for name, budget_share in shares.items()}

    def _shares_charged(self) -> dict[str, int | None]:
        """What was in force when each name was charged last.  Receipts never change: each is read once."""
        with self._looking:
            for receipt in reversed(self._ledger.find(after=self._looked_at)):
                self._looked_at = receipt.number
                if receipt.order.by is not None:
                    self._charged[receipt.order.by] = receipt.budget_share
            return dict(self._charged)


class _NothingNew(InFront):
    """A ledger that finds what was charged, and charges nothing."""

    def charge(self, order: Order, first: First | None = None) -> Charged:
        if order.request is None or self._ledger.requested(order.request) is None:
            raise NotFound
        return self._ledger.charge(order, first)


def _budget(study: ServedStudy, who: Identity) -> JsonResult:
    told = study.budget(who)
    return JsonResult(told, Budget.from_json(told))


def _monitor(study: ServedStudy, who: Identity, number: int) -> JsonResult:
    monitor = study._monitor(who, number)
    found = MonitorAnswers(monitor.answers(), monitor.budget())
    return JsonResult({**found.budget.to_json(), "answers": [one.to_json() for one in found.answers]}, found)


# What a server does otherwise than a curator.
_AT_A_SERVER: dict[Operation[Any, Any], Callable[..., Any]] = {
    StudyOperations.describe: lambda study, who: PublicFacts(study.facts()),
    StudyOperations.budget: _budget,
    StudyOperations.receipts: lambda study, who, after=0, last=None: ReceiptTable(
        study.page(who, after, last)
    ),
    StudyOperations.verify: lambda study, who, head=None: JsonResult(study.verify(head)),
    MonitorOperations.answers: _monitor,
}


def _emptied(ledger: Ledger) -> Ledger:
    """The same budget, and nothing spent of it."""
    header = ledger.header
    return MemoryLedger(Header.fresh(header.study, header.accounting, header.budget))


def _nothing() -> None:
    """Made-up rows may take as long as they like."""


def on_account(ledger: Ledger, who: Identity, sessions: AgentSessions) -> NamedLedger:
    """The ledger as a name uses it, in the request that this thread works on."""
    return NamedLedger(ledger, who, reads, shows, _turns(sessions, ledger, who), charges)


def _turns(sessions: AgentSessions, ledger: Ledger, who: Identity) -> Turns | None:
    """The session of a name, if what it may do in one is capped."""
    if who.session is None:
        return None
    return Turns(sessions, who.name, who.session, lambda: ledger.spent_by(who.name))


def charges() -> None:
    """The request that this thread works on is about to be charged."""
    reading = READING.get()
    if reading is not None:
        reading.charges()


def reads() -> None:
    """The request that this thread works on is about to read data."""
    reading = READING.get()
    if reading is not None:
        reading.reads()


def shows() -> None:
    """What the request that this thread works on has read is about to be seen."""
    reading = READING.get()
    if reading is not None:
        reading.shows()
