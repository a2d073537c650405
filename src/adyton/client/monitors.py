"""A monitor on a server, where whoever opened it left it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from adyton.client.line import HttpTransport
from adyton.client.remote import Remote
from adyton.client.wording import text_of
from adyton.errors import InvalidRequest, PrivacyRefused
from adyton.kernel.exact import Number
from adyton.kernel.schema import Table
from adyton.monitors.answer import MonitorAnswer, MonitorAnswers, MonitorBudget
from adyton.operations.studies import MonitorOperations
from adyton.query.draft import Draft
from adyton.query.nodes import Query


class RemoteMonitor(MonitorOperations, Remote):
    """``feed`` it again and again; it halts after its positives.  Made by ``RemoteStudy.open_monitor``.

    What is fed has no request id, and the same twice may use up two positives.  So it is not sent again after
    a lost connection: the error says so, and ``answers()`` shows whether it arrived.
    """

    def __init__(self, line: HttpTransport, study: str, number: int, *, table: Table) -> None:
        super().__init__(line, study, number)
        self.number, self._table = number, table

    def _sent(self, name: str, value: Any) -> Any:
        return text_of(value, self._table) if name == "query" else value

    def feed_many(
        self,
        queries: Sequence[tuple[str | Draft | Query, Number | None]],
        *,
        dialect: str | None = None,
    ) -> MonitorAnswers:
        """Queries with a threshold each, in their order, until they or the positives end.

        Each is looked at when its turn comes; if one cannot be asked, those before it were answered.
        """
        answers: list[MonitorAnswer] = []
        for place, (query, above) in enumerate(queries, start=1):
            try:
                answers.append(self.feed(query, above=above, dialect=dialect))
            except PrivacyRefused:  # it has halted, by these answers or by those of others
                if not answers:
                    raise
                break
            except InvalidRequest as wrong:
                before = f"; the {place - 1} before it were answered: see answers()" if place > 1 else ""
                said = f"query {place} of {len(queries)}: {wrong.message}{before}"
                raise InvalidRequest(said, **wrong.facts) from None
        return MonitorAnswers(answers, self.budget(), len(queries) - len(answers))

    def answers(self) -> list[MonitorAnswer]:
        """Every answer so far, oldest first; also one that was lost on the way.  Free of charge."""
        return self._line.get(self._place, lambda told: list(map(MonitorAnswer.from_json, told["answers"])))

    def budget(self) -> MonitorBudget:
        """How far the monitor is, and what it cost."""
        return self._line.get(self._place, MonitorBudget.from_json)

    def __repr__(self) -> str:
        return f"<Monitor {self.number} of {self._names[0]!r} at {self._line.host}>"

    @property
    def _place(self) -> str:
        return self._path(MonitorOperations.answers)
