"""A study on a server, with the methods that a curator has in process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Unpack

from adyton.client.chain import Chain
from adyton.client.facts import tables_of
from adyton.client.line import HttpTransport, LeftOpen, checked_reply, each
from adyton.client.monitors import RemoteMonitor
from adyton.client.remote import Remote
from adyton.client.wording import text_of
from adyton.curator.bounds import SuggestedBounds, column_of
from adyton.curator.mock import MockAnswer
from adyton.curator.receipts import Receipts
from adyton.errors import InvalidRequest
from adyton.kernel.exact import Number
from adyton.kernel.ledger import Verification
from adyton.monitors.answer import MonitorBudget, MonitorList
from adyton.monitors.kinds import MonitorKind
from adyton.monitors.plan import monitor_in
from adyton.operations.operation import Operation
from adyton.operations.studies import MockOperations, StudyOperations
from adyton.planning.price import PriceWords
from adyton.show import Sheet, Shown

if TYPE_CHECKING:
    from adyton.synthesis.result import Synthesis

_MADE_UP_THERE = "the server makes up the rows, as many as the study declares: leave rows and like out"


class _RemoteStudy(Remote):
    """Queries to one place of a server."""

    def __init__(self, line: HttpTransport, name: str, facts: Mapping[str, Any]) -> None:
        super().__init__(line, name)
        self.name, self.facts = name, dict(facts)
        self._tables = checked_reply(tables_of, facts)
        self.paid_for: int | None = None  # the receipt of the newest answer that was charged here

    def _sent(self, name: str, value: Any) -> Any:
        if name == "query":
            return text_of(value, self._tables[0])
        if name == "queries":
            if isinstance(value, str):
                raise InvalidRequest("several queries are a list; for one, call the method for one")
            return [text_of(one, self._tables[0]) for one in value]
        return value


class RemoteStudy(StudyOperations, _RemoteStudy, LeftOpen, Shown):
    """One study of a server.  Made by ``ServerConnection.study``; ``facts`` are its public facts.

    Every charge carries a request id: ``request``, or a new one.  If no answer comes back it is sent again
    under the same id, and the error that comes in the end has it.
    """

    def _reads(self, operation: Operation[Any, Any], words: dict[str, Any]) -> Callable[[Any], Any]:
        if operation is StudyOperations.suggest_bounds:
            _, known = column_of(self._tables, words["column"])
            return partial(SuggestedBounds.from_json, column=known)
        if operation is StudyOperations.open_monitor:
            return MonitorBudget.from_json
        return operation.reads

    def open_monitor(  # type: ignore[override]  # one that stays on the server
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
        words = {"positives": positives, "of": of, "numeric": numeric, "refresh": refresh, "request": request}
        opened = self._performed(StudyOperations.open_monitor, {**words, **price})
        return self.monitor(opened.number)

    def monitor(self, number: int) -> RemoteMonitor:
        """The monitor that receipt ``number`` paid for, where it was left: one's own."""
        return RemoteMonitor(self._line, self.name, number, table=self._tables[0])

    def monitors(self) -> MonitorList:
        """How far every own monitor is, oldest first.  Reads no data."""
        paid = [r.number for r in self._chain().receipts if monitor_in(r.order)]
        return MonitorList([self.monitor(number).budget() for number in paid])

    def mock(self, rows: int | None = None, *, like: Synthesis | None = None) -> RemoteMock:
        """The same study on rows that the server makes up from public facts: to try queries on, free."""
        if rows is not None or like is not None:
            raise InvalidRequest(_MADE_UP_THERE)
        return RemoteMock(self._line, self.name, self.facts)

    def p_value_threshold(self, alpha: Number) -> float:
        """For tests that the owner runs on the rows after they have been queried, as a curator says it."""
        return self.last_look(alpha).threshold

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
        return Chain.of(self._line, self._path(StudyOperations.receipts))

    def _received(self, made: Any) -> Any:
        """Its receipt must be in the chain later."""
        if isinstance(made, SuggestedBounds):
            self._received(made.answer)
        elif isinstance(made, MonitorBudget):
            self.paid_for = super()._received(made).receipt.number
        else:
            for answer in made if isinstance(made, list) else [made]:
                if answer.free is None:
                    super()._received(answer)
                    self.paid_for = self.paid_for if answer.repeated else answer.receipt.number
        return made


class RemoteMock(MockOperations, _RemoteStudy, LeftOpen):
    """Made-up rows of a study, on its server.  Answers are marked, and nothing is charged."""

    def _reads(self, operation: Operation[Any, Any], words: dict[str, Any]) -> Callable[[Any], Any]:
        return each(MockAnswer.from_json) if "queries" in words else MockAnswer.from_json

    def __repr__(self) -> str:
        return f"<Mock of the study {self.name!r} at {self._line.host}>"
