"""A study on a server, with the methods that a curator has in process."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Unpack

from adyton.certify import Answer, Budget, LastLook, Preview
from adyton.client.address import path_of
from adyton.client.chain import Chain
from adyton.client.facts import tables_of
from adyton.client.line import HttpTransport, LeftOpen, checked_reply, each
from adyton.client.monitors import RemoteMonitor
from adyton.client.wording import text_of, words_of
from adyton.curator.bounds import SuggestedBounds, column_of
from adyton.curator.mock import MockAnswer
from adyton.curator.receipts import Receipts
from adyton.curator.tables import Asking
from adyton.errors import InvalidRequest
from adyton.kernel.exact import Number
from adyton.kernel.ledger import Verification
from adyton.monitors.answer import MonitorList, MonitorPreview
from adyton.monitors.kinds import MonitorKind
from adyton.monitors.plan import monitor_in
from adyton.planning.price import PriceWords
from adyton.show import Sheet, Shown

if TYPE_CHECKING:
    from adyton.synthesis.result import Synthesis

_MADE_UP_THERE = "the server makes up the rows, as many as the study declares: leave rows and like out"


class _RemoteStudy(LeftOpen):
    """Queries to one place of a server."""

    def __init__(self, line: HttpTransport, name: str, facts: Mapping[str, Any]) -> None:
        self.name, self.facts, self._line = name, dict(facts), line
        self._tables = checked_reply(tables_of, facts)

    def _path(self, *rest: str) -> str:
        return path_of("studies", self.name, *rest)

    def _body(self, query: Asking, **said: Any) -> dict[str, Any]:
        return {"query": text_of(query, self._tables[0]), **words_of(**said)}

    def _bodies(self, queries: Iterable[Asking], **said: Any) -> dict[str, Any]:
        if isinstance(queries, str):
            raise InvalidRequest("several queries are a list; for one, call the method for one")
        return {"queries": [text_of(one, self._tables[0]) for one in queries], **words_of(**said)}


class RemoteStudy(_RemoteStudy, Shown):
    """One study of a server.  Made by ``ServerConnection.study``; ``facts`` are its public facts.

    Every charge carries a request id: ``request``, or a new one.  If no answer comes back it is sent again
    under the same id, and the error that comes in the end has it.
    """

    def __init__(self, line: HttpTransport, name: str, facts: Mapping[str, Any]) -> None:
        super().__init__(line, name, facts)
        self.paid_for: int | None = None  # the receipt of the newest answer that was charged here
        self._seen: dict[int, str] = {}  # receipts that came with answers, which the chain must have

    def ask(
        self,
        query: Asking,
        *,
        request: str | None = None,
        dialect: str | None = None,
        strategy: str | None = None,
        **price: Unpack[PriceWords],
    ) -> Answer:
        """The answer to ``query``, SQL text or a query made in Python, at exactly one price.

        As ``Curator.ask``: the same at the same price again is free, and one request id is charged once.
        """
        body = self._body(query, dialect=dialect, strategy=strategy, **price)
        return self._received(self._line.charged(self._path("ask"), body, Answer.from_json, request))

    def ask_many(
        self,
        queries: Iterable[Asking],
        *,
        request: str | None = None,
        dialect: str | None = None,
        strategy: str | None = None,
        **price: Unpack[PriceWords],
    ) -> list[Answer]:
        """The answers to all ``queries``, paid for by one charge.  All are answered, or none."""
        body = self._bodies(queries, dialect=dialect, strategy=strategy, **price)
        answers = self._line.charged(self._path("ask_many"), body, each(Answer.from_json), request)
        return [self._received(answer) for answer in answers]

    def preview(
        self,
        query: Asking,
        *,
        expect: Number | Mapping[str, Number] | None = None,
        dialect: str | None = None,
        strategy: str | None = None,
        **price: Unpack[PriceWords],
    ) -> Preview:
        """What ``ask`` would cost and how wide its intervals would be.  Reads no data and is free."""
        body = self._body(query, expect=expect, dialect=dialect, strategy=strategy, **price)
        return self._line.post(self._path("preview"), body, Preview.from_json)

    def preview_many(
        self,
        queries: Iterable[Asking],
        *,
        expect: Number | Mapping[str, Number] | None = None,
        dialect: str | None = None,
        strategy: str | None = None,
        **price: Unpack[PriceWords],
    ) -> list[Preview]:
        """What ``ask_many`` would cost, for all together, and how wide the intervals of each would be."""
        body = self._bodies(queries, expect=expect, dialect=dialect, strategy=strategy, **price)
        return self._line.post(self._path("preview_many"), body, each(Preview.from_json))

    def suggest_bounds(
        self,
        column: str,
        *,
        low_fraction: Number | None = None,
        high_fraction: Number | None = None,
        where: str | None = None,
        request: str | None = None,
        **price: Unpack[PriceWords],
    ) -> SuggestedBounds:
        """Where nearly all values of ``column`` lie, for a part of the budget: ``epsilon`` or ``share``."""
        _, known = column_of(self._tables, column)
        ends = {"low_fraction": low_fraction, "high_fraction": high_fraction}
        body = {"column": column, **words_of(where=where, **ends, **price)}
        read = partial(SuggestedBounds.from_json, column=known)
        found = self._line.charged(self._path("suggest_bounds"), body, read, request)
        self._received(found.answer)
        return found

    def open_monitor(
        self,
        *,
        positives: int,
        of: MonitorKind = "counts",
        numeric: bool = False,
        refresh: bool | None = None,
        request: str | None = None,
        **price: Unpack[PriceWords],
    ) -> RemoteMonitor:
        """A monitor ``of`` "counts", charged now, at ``epsilon`` or a ``share``, whatever is fed later."""
        body = words_of(positives=positives, of=of, numeric=numeric, refresh=refresh, **price)
        paid = self._line.charged(self._path("monitors"), body, lambda told: told["receipt"], request)
        self.paid_for = paid["number"]
        self._seen[paid["number"]] = paid["digest"]
        return self.monitor(paid["number"])

    def preview_monitor(
        self,
        *,
        positives: int,
        of: MonitorKind = "counts",
        numeric: bool = False,
        refresh: bool | None = None,
        **price: Unpack[PriceWords],
    ) -> MonitorPreview:
        """What ``open_monitor`` would cost, and how much wider later population intervals would be.  Free."""
        body = words_of(positives=positives, of=of, numeric=numeric, refresh=refresh, **price)
        return self._line.post(self._path("monitors", "preview"), body, MonitorPreview.from_json)

    def monitor(self, number: int) -> RemoteMonitor:
        """The monitor that receipt ``number`` paid for, where it was left: one's own."""
        return RemoteMonitor(self._line, self.name, self._tables[0], number)

    def monitors(self) -> MonitorList:
        """How far every own monitor is, oldest first.  Reads no data."""
        paid = [r.number for r in self._chain().receipts if monitor_in(r.order)]
        return MonitorList([self.monitor(number).budget() for number in paid])

    def mock(self, rows: int | None = None, *, like: Synthesis | None = None) -> RemoteMock:
        """The same study on rows that the server makes up from public facts: to try queries on, free."""
        if rows is not None or like is not None:
            raise InvalidRequest(_MADE_UP_THERE)
        return RemoteMock(self._line, self.name, self.facts)

    def budget(self) -> Budget:
        """What has been spent, and what is left, in all and of one's own share."""
        return self._line.get(self._path("budget"), Budget.from_json)

    def p_value_threshold(self, alpha: Number) -> float:
        """For tests that the owner runs on the rows after they have been queried, as a curator says it."""
        return self.last_look(alpha).threshold

    def last_look(
        self,
        alpha: Number,
        p_value: Number | None = None,
        *,
        query: str | None = None,
        null: Number | None = None,
        method: str = "t",
    ) -> LastLook:
        """What a p-value computed on the rows now means at the level ``alpha``, and what it is worth."""
        test = {} if query is None else {"query": query, "null": null, "method": method}
        body = words_of(alpha=alpha, p_value=p_value, **test)
        return self._line.post(self._path("last_look"), body, LastLook.from_json)

    def receipts(self) -> Receipts:
        """Everything that was charged and may be seen, oldest first: one's own, for overseers all."""
        return self._chain().listed()

    def verify(self, head: str | None = None) -> Verification:
        """Replays the chain here, from all links and the receipts that may be seen: nobody is trusted.

        LedgerCorrupt unless it is intact, has every receipt that came with an answer and, if given, ``head``.
        """
        return self._chain().verify(head, self._seen)

    def sheet(self, verbose: bool = False) -> Sheet:
        """Where it is, and its guarantee."""
        budget, tables = self.facts["budget"], self._tables
        rows = [
            ("server", self._line.url),
            ("the guarantee, whatever is asked", f"epsilon {budget['epsilon']:g}, delta {budget['delta']:g}"),
            *((f"table {one.name}", ", ".join(column.name for column in one.columns)) for one in tables),
        ]
        return Sheet(f"Study {self.name}", ("", ""), tuple(rows), left_aligned=2)

    def __repr__(self) -> str:
        return f"<Study {self.name!r} at {self._line.host}>"

    def _chain(self) -> Chain:
        return Chain.of(self._line, self._path("receipts"))

    def _received(self, answer: Answer) -> Answer:
        """Its receipt must be in the chain later."""
        if answer.free is None:
            self._seen[answer.receipt.number] = answer.receipt.digest
            self.paid_for = self.paid_for if answer.repeated else answer.receipt.number
        return answer


class RemoteMock(_RemoteStudy):
    """Made-up rows of a study, on its server.  Answers are marked, and nothing is charged."""

    paid_for: int | None = None

    def ask(
        self,
        query: Asking,
        *,
        request: str | None = None,
        dialect: str | None = None,
        strategy: str | None = None,
        **price: Unpack[PriceWords],
    ) -> Answer:
        """As ``RemoteStudy.ask``, about rows that nobody ever had; a request id means nothing here."""
        body = self._body(query, dialect=dialect, strategy=strategy, **price)
        return self._line.post(self._path("mock", "ask"), body, MockAnswer.from_json)

    def ask_many(
        self,
        queries: Iterable[Asking],
        *,
        request: str | None = None,
        dialect: str | None = None,
        strategy: str | None = None,
        **price: Unpack[PriceWords],
    ) -> list[Answer]:
        """As ``RemoteStudy.ask_many``, about rows that nobody ever had."""
        body = self._bodies(queries, dialect=dialect, strategy=strategy, **price)
        return self._line.post(self._path("mock", "ask_many"), body, each(MockAnswer.from_json))

    def __repr__(self) -> str:
        return f"<Mock of the study {self.name!r} at {self._line.host}>"
