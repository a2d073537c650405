"""A monitor: any number of queries for one price, until so many were found above their threshold.

The price is charged when the monitor is opened.  Its state lives in the ledger, as notes on the receipt that
paid for it: the noise of the threshold before the first answer, then each answer before it leaves.  So
neither a crash nor a second process can see another threshold or get a positive back.
"""

from __future__ import annotations

from collections.abc import Sequence

from adyton.certify import Amount, Interval, Proof
from adyton.errors import InvalidRequest, LedgerCorrupt, PrivacyRefused
from adyton.kernel.accounting.noisy_reading import LEVEL
from adyton.kernel.exact import Number, float_down, float_up
from adyton.kernel.ledger import Verification
from adyton.kernel.ledger.texts import check_head
from adyton.kernel.special.comparing import Asked, Comparisons
from adyton.kernel.special.mechanisms.sparse.numeric_sparse import NumericSparse
from adyton.kernel.special.monitor import sparse_of
from adyton.monitors.answer import MonitorAnswer, MonitorAnswers, MonitorBudget
from adyton.monitors.compared import Compared, compared
from adyton.monitors.notes import (
    MonitorEntry,
    Progress,
    asked_json,
    chained,
    closed_after,
    entry_of,
    nearest_float,
)
from adyton.monitors.plan import certificate_of, monitor_of
from adyton.noise_intervals.sparse import comparison_error
from adyton.planning.known import left_out_of
from adyton.query.draft import Draft
from adyton.query.nodes import Query
from adyton.query.request import alone_of
from adyton.query.text import query_text
from adyton.refusals import Refusal, refused
from adyton.study import Study


class OpenMonitor:
    """``feed`` it again and again; it halts after its positives.  Made by ``Curator.open_monitor``."""

    def __init__(self, study: Study, comparisons: Comparisons) -> None:
        self._study, self._comparisons, self._receipt = study, comparisons, comparisons.receipt
        self.number = self._receipt.number
        self._machine, self._kind = monitor_of(self._receipt)
        self._sparse = sparse_of(self._machine)
        self._seen = Progress(self._sparse.positives)

    def feed(
        self, query: str | Draft | Query, *, above: Number | None = None, dialect: str | None = None
    ) -> MonitorAnswer:
        """Whether the number is above a threshold, noisily; if so, a numeric monitor adds a noisy value.

        The query is one COUNT without groups; in a monitor of sums or means also one SUM, in one of means
        also one AVG or PROPORTION.  Below costs nothing, above costs one of the positives.  The threshold is
        one that such a number of this table could pass or miss.
        """
        asked, fitted = self._fitted(query, above, dialect)
        public = asked_json(query_text(asked), fitted.threshold, fitted.step, fitted.compared_as)

        def comparison() -> Asked:
            return Asked(self._running().feeds, fitted.least, public)

        noted = self._comparisons.compare(fitted.reading, fitted.factor, comparison)
        assert noted is not None
        note, place = noted
        fed = entry_of(note)
        assert fed is not None
        return self._answer(fed, place)

    def feed_many(
        self,
        queries: Sequence[tuple[str | Draft | Query, Number | None]],
        *,
        dialect: str | None = None,
    ) -> MonitorAnswers:
        """Queries with a threshold each, in their order, until they or the positives end.

        All are looked at first: if one of them cannot be asked, none is.
        """
        for place, (query, above) in enumerate(queries, start=1):
            try:
                self._fitted(query, above, dialect)
            except InvalidRequest as wrong:
                said = f"query {place} of {len(queries)}: {wrong.message}"
                raise InvalidRequest(said, **wrong.facts) from None
        self._running()
        answers: list[MonitorAnswer] = []
        for query, above in queries:
            try:
                answers.append(self.feed(query, above=above, dialect=dialect))
            except PrivacyRefused:  # it has halted, by these answers or by those of others
                break
        return MonitorAnswers(answers, self.budget(), len(queries) - len(answers))

    def close(self) -> MonitorBudget:
        """For good: nothing is answered after it, here or in any other process.  What was paid stays paid."""
        self._comparisons.close()
        return self.budget()

    def answers(self) -> list[MonitorAnswer]:
        """Every answer so far, oldest first; also one that a crash kept from its asker.  Free of charge."""
        notes = map(entry_of, self._comparisons.notes())
        return [self._answer(fed, place) for place, fed in enumerate(notes, start=1) if fed is not None]

    def budget(self) -> MonitorBudget:
        """How far the monitor is, and what it cost."""
        heads, last = self._heads()
        return MonitorBudget(
            monitor=self._receipt.order.query,
            number=self.number,
            kind=self._kind,
            positives=self._sparse.positives,
            positives_left=last.left,
            feeds=last.feeds,
            closed=last.closed,
            head=heads[-1],
            cost=Amount(self._study.accounting, self._receipt.order.amount, self._study.allowed),
            receipt=Proof(self.number, self._receipt.digest, self._receipt.previous),
            certificate=certificate_of(self._study, self._machine, self._kind),
        )

    def verify(self, head: str | None = None) -> Verification:
        """Its answers and their newest head; LedgerCorrupt if ``head``, kept from earlier, is not among them.

        ``Curator.verify`` replays the receipts and notes themselves.
        """
        check_head(head)
        heads, last = self._heads()
        if head not in (None, *heads):
            raise LedgerCorrupt("the monitor was rolled back or exchanged: the expected head is not in it")
        return Verification(last.feeds, heads[-1], self._receipt.order.amount)

    def error(
        self,
        queries: int,
        confidence: float = LEVEL,
        *,
        of: str | Draft | Query | None = None,
        above: Number | None = None,
    ) -> float:
        """With this probability ``queries`` answers are right, for numbers farther from their threshold.

        In a monitor of counts that is a whole number of rows.  In others it depends on the query: ``of``
        says of which, and for a mean ``above`` which threshold; it is then in the unit of a sum, of a mean
        in that of the sum over its rows.  Theorem: SPARSE-ACCURACY.
        """
        error = comparison_error(self._machine, confidence, queries)
        if of is None and self._kind == "counts":
            return error
        if of is None:
            raise InvalidRequest(
                f"in a monitor of {self._kind} it depends on the query: name one, as in "
                "monitor.error(100, of='SELECT SUM(income) FROM people', above=0)"
            )
        _, fitted = self._fitted(of, above, None)
        return float_up(error * fitted.step)

    def __repr__(self) -> str:
        return f"<Monitor {self.number}: {self._receipt.order.query}>"

    # Steps of feed, in the order in which they happen.

    def _fitted(
        self, query: str | Draft | Query, above: Number | None, dialect: str | None
    ) -> tuple[Query, Compared]:
        asked = alone_of(query, self._study.table, dialect or self._study.dialect)
        return asked, compared(self._study, self._kind, self._sparse.sensitivity, asked, above)

    def _running(self) -> Progress:
        """The state, if the monitor has not halted and was not closed."""
        known = self._state()
        if known.left < 1:
            positives = str(self._sparse.positives)
            raise refused(
                Refusal(
                    whose="monitor",
                    monitor=self.number,
                    counted_in="positives",
                    requested="1",
                    spent=positives,
                    budget=positives,
                    largest="0",
                )
            )
        if known.closed:
            raise InvalidRequest(
                f"monitor {self.number} was closed: it answers no more, and what it cost stays spent; "
                "nothing was read and nothing was charged"
            )
        return known

    def _answer(self, fed: MonitorEntry, feeds: int) -> MonitorAnswer:
        interval, value = None, None
        if fed.value is not None and isinstance(self._machine, NumericSparse):
            error = self._machine.values.error(LEVEL)
            low, high = ((fed.value + end) * fed.step for end in (-error, error))
            value, interval = float(fed.value * fed.step), Interval(LEVEL, float_down(low), float_up(high))
        return MonitorAnswer(
            query=fed.query,
            threshold=nearest_float(fed.threshold),
            above=fed.above,
            value=value,
            noise_interval=interval,
            positives_left=fed.left,
            feeds=feeds,
            monitor=self.number,
            left_out_rows=left_out_of(self._study, self._study.table),
            compared_as=fed.compared_as,
        )

    # The state, which is the ledger's.

    def _heads(self) -> tuple[list[str], Progress]:
        """The digests of the receipt and of every note with all before it, and the newest state."""
        heads, last = [self._receipt.digest], Progress(self._sparse.positives)
        for note in map(entry_of, self._comparisons.notes()):
            heads.append(closed_after(heads[-1]) if note is None else chained(heads[-1], note))
            last = last.then(note)
        return heads, last

    def _state(self) -> Progress:
        """What this object knows and what others have added since."""
        known = self._seen
        for note in self._comparisons.notes(known.feeds + known.closed + 1):
            known = known.then(entry_of(note))
        self._seen = known
        return known
