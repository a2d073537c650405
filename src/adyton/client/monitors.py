"""A monitor on a server, where whoever opened it left it."""

from __future__ import annotations

from collections.abc import Sequence

from adyton.client.address import path_of
from adyton.client.line import HttpTransport
from adyton.client.wording import text_of, words_of
from adyton.errors import InvalidRequest, PrivacyRefused
from adyton.kernel.exact import Number
from adyton.kernel.schema import Table
from adyton.monitors.answer import MonitorAnswer, MonitorAnswers, MonitorBudget
from adyton.query.draft import Draft
from adyton.query.nodes import Query

_LOOK = "whether it was fed is not known: answers() of the monitor shows it"
_CLOSED = "close it again"


class RemoteMonitor:
    """``feed`` it again and again; it halts after its positives.  Made by ``RemoteStudy.open_monitor``.

    What is fed has no request id, and the same twice may use up two positives.  So it is not sent again after
    a lost connection: the error says so, and ``answers()`` shows whether it arrived.
    """

    def __init__(self, line: HttpTransport, study: str, table: Table, number: int) -> None:
        self.number = number
        self._line, self._study, self._table = line, study, table

    def feed(
        self, query: str | Draft | Query, *, above: Number | None = None, dialect: str | None = None
    ) -> MonitorAnswer:
        """Whether the number is above a threshold, noisily; if so, a numeric monitor adds a noisy value."""
        body = words_of(query=text_of(query, self._table), above=above, dialect=dialect)
        return self._line.post(f"{self._path}/feed", body, MonitorAnswer.from_json, _LOOK, again=False)

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
        return self._line.get(self._path, lambda told: list(map(MonitorAnswer.from_json, told["answers"])))

    def budget(self) -> MonitorBudget:
        """How far the monitor is, and what it cost."""
        return self._line.get(self._path, MonitorBudget.from_json)

    def close(self) -> MonitorBudget:
        """For good: nothing is answered after it.  What was paid stays paid."""
        return self._line.post(f"{self._path}/close", {}, MonitorBudget.from_json, _CLOSED)

    def __repr__(self) -> str:
        return f"<Monitor {self.number} of {self._study!r} at {self._line.host}>"

    @property
    def _path(self) -> str:
        return path_of("studies", self._study, "monitors", self.number)
