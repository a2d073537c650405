"""Private multiplicative weights (PMW): linear queries for one price, answered from a public
guess of the whole histogram.

The price is charged when a run is opened.  Its state lives in the ledger, as notes on the receipt that paid
for it: the noise of the threshold before the first answer, then each answer before it leaves.  The guess is
no part of it: whoever comes back makes it again from what was released.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from threading import RLock

from adyton.certify import Amount, Interval, Proof
from adyton.errors import InvalidRequest, LedgerCorrupt
from adyton.kernel.accounting.noisy_reading import LEVEL
from adyton.kernel.exact.cells import Floats
from adyton.kernel.ledger import Verification
from adyton.kernel.ledger.texts import check_head
from adyton.kernel.special.comparing import Asked, Comparisons
from adyton.kernel.terms.expressions import Condition, all_of
from adyton.kernel.terms.leaves import EVERY_ROW
from adyton.kernel.terms.measures import Count, Proportion
from adyton.kernel.terms.persons import TableOfPersons
from adyton.monitors.pmw.answer import PmwAnswer, PmwAnswers, PmwBudget
from adyton.monitors.pmw.guess import CellDistribution
from adyton.monitors.pmw.notes import (
    PmwEntry,
    asked_json,
    chained,
    entry_of,
    first_head,
    left_after,
    total_of,
)
from adyton.monitors.pmw.run import PrivateMwPlan
from adyton.monitors.pmw.terms import terms_of
from adyton.planning.coordinated.linear_query import MarginalQuery
from adyton.planning.known import left_out_of
from adyton.planning.readings import readings_of
from adyton.query.draft import Draft
from adyton.query.nodes import Query
from adyton.query.request import alone_of, request_of
from adyton.query.text import query_text
from adyton.study import Study


@dataclass(slots=True)
class _Progress:
    """The run so far: what to keep for the next query, and the guess that the answers have made."""

    plan: PrivateMwPlan
    left: int
    guess: CellDistribution
    feeds: int = 0
    margins: dict[tuple[int, ...], Floats] = field(default_factory=dict)

    def guessed(self, query: MarginalQuery) -> int:
        """A public number of rows.  Margins of the guess are kept until it is corrected."""
        margin = self.margins.get(query.axes)
        if margin is None:
            margin = self.margins[query.axes] = query.margin(self.guess.weights)
        return round(float(margin[query.inside].sum()) * self.plan.total)

    def correct(self, query: MarginalQuery, entry: PmwEntry) -> None:
        """The guess fits what was measured, as far as noise can tell it from nobody and from everybody."""
        assert entry.found is not None
        least = float(self.plan.machine.value_scale) / 2
        least = min(least, entry.guess, self.plan.total - entry.guess)
        found = entry.guess + entry.found.sign * max(entry.found.excess, 0)
        self.guess.fit(query, min(max(found, least), self.plan.total - least) / self.plan.total)
        self.margins.clear()


class OpenPmw:
    """``feed`` it again and again.  Made by ``Curator.open_pmw``."""

    def __init__(self, study: Study, comparisons: Comparisons) -> None:
        self._study, self._comparisons, self._receipt = study, comparisons, comparisons.receipt
        self.number = self._receipt.number
        self._terms = terms_of(self._receipt)
        self._axes = self._terms.axes(study.table)
        self._total = total_of(comparisons.start())
        self._lock = RLock()  # the guess is corrected in place: one thread at a time
        plan = self._terms.run(self._total)
        self._error = plan.guess_error(LEVEL, self._terms.queries)
        self._seen = _Progress(plan, self._terms.updates, CellDistribution(plan.cells))

    def feed(self, query: str | Draft | Query, *, dialect: str | None = None) -> PmwAnswer:
        """The count, as it is guessed, or measured with noise where the guess is found wrong.

        The query is one COUNT, or a PROPORTION of all rows, that is the same for all rows of a cell.
        What is measured uses up an update.  When updates or queries are used up, guesses still come free,
        without a guarantee, and nothing is read for them.  SQL may be in the ``dialect`` of a database.
        """
        text = self._text(query, dialect)
        asked, linear = self._linear(text)
        (reading,) = readings_of(asked, self._study.unit)
        if reading.sensitivity.l1_diameter((Fraction(1),)) > 1:
            raise InvalidRequest("one unit can move this count farther than PMW allows for")
        with self._lock:
            noted = self._comparisons.compare(reading, 1, partial(self._comparison, text, linear))
            if noted is None:
                return self._guess_alone(text, linear)
            note, place = noted
            return self._answer(entry_of(note), place)

    def feed_many(self, queries: Sequence[str | Draft | Query], *, dialect: str | None = None) -> PmwAnswers:
        """Several in their order.  If one of them cannot be asked, none is."""
        for place, query in enumerate(queries, start=1):
            try:
                self._linear(self._text(query, dialect))
            except InvalidRequest as wrong:
                raise InvalidRequest(
                    f"query {place} of {len(queries)}: {wrong.message}", **wrong.facts
                ) from None
        answers = [self.feed(query, dialect=dialect) for query in queries]
        return PmwAnswers(answers, self.budget())

    def answers(self) -> list[PmwAnswer]:
        """Every answer before they halted, oldest first; also one that a crash kept from its asker.  Free."""
        notes = map(entry_of, self._comparisons.notes())
        return [self._answer(entry, place) for place, entry in enumerate(notes, start=1)]

    def budget(self) -> PmwBudget:
        """How far they are, and what they cost."""
        heads, last = self._heads()
        return PmwBudget(
            pmw=self._receipt.order.query,
            queries=self._terms.queries,
            updates=self._terms.updates,
            updates_left=last,
            feeds=len(heads) - 1,
            total=self._total,
            head=heads[-1],
            cost=Amount(self._study.accounting, self._receipt.order.amount, self._study.allowed),
            receipt=Proof(self.number, self._receipt.digest, self._receipt.previous),
            certificate=self._terms.certificate(self._study),
        )

    def verify(self, head: str | None = None) -> Verification:
        """Their answers and the newest head; LedgerCorrupt if ``head``, kept from earlier, is not among them.

        ``Curator.verify`` replays the receipts and notes themselves.
        """
        check_head(head)
        heads, _ = self._heads()
        if head not in (None, *heads):
            raise LedgerCorrupt("the PMW run was rolled back or exchanged: the expected head is not in it")
        return Verification(len(heads) - 1, heads[-1], self._receipt.order.amount)

    def __repr__(self) -> str:
        return f"<PMW {self.number}: {self._receipt.order.query}>"

    # Steps of feed, in the order in which they happen.

    def _text(self, query: str | Draft | Query, dialect: str | None) -> str:
        """The canonical text of a count.  All that follows, now and after a restart, is made of it."""
        asked = alone_of(query, self._study.table, dialect or self._study.dialect)
        if isinstance(asked.table, TableOfPersons) or asked.table != self._study.table:
            raise InvalidRequest("PMW is asked about the rows of its own table, without joins")
        if not asked.by and len(asked.measures) == 1:
            match asked.measures[0][1]:
                case Count(where):
                    return self._counted(all_of(asked.where, where))
                case Proportion(condition, where) if asked.where == where == EVERY_ROW:
                    return self._counted(condition)
        raise InvalidRequest(
            "PMW takes one COUNT, or one PROPORTION of all rows, without GROUP BY at a time; "
            "nothing was charged"
        )

    def _counted(self, where: Condition) -> str:
        return query_text(Query(self._study.table, (("count", Count()),), where))

    def _linear(self, text: str) -> tuple[Query, MarginalQuery]:
        """The query of a canonical text, and the cells that it counts."""
        asked = request_of(text, self._study.table).alone
        by = self._axes.read_by(asked.where)
        return asked, MarginalQuery(self._axes.shape, by, self._axes.mask(asked.where, by))

    def _halted(self, known: _Progress) -> bool:
        return known.left < 1 or known.feeds >= self._terms.queries

    def _comparison(self, text: str, linear: MarginalQuery) -> Asked | None:
        """The count with its guess; None once they have halted."""
        if self._halted(known := self._state()):
            return None
        guess = known.guessed(linear)
        return Asked(known.feeds, guess, asked_json(text, guess))

    def _answer(self, entry: PmwEntry, feeds: int) -> PmwAnswer:
        measured = entry.found is not None
        error = self._terms.machine.values.error(LEVEL) if measured else self._error
        interval = Interval(LEVEL, float(entry.value - error), float(entry.value + error))
        return self._said(entry.query, entry.value, interval, entry.left, feeds, measured=measured)

    def _guess_alone(self, text: str, linear: MarginalQuery) -> PmwAnswer:
        known = self._seen
        return self._said(text, known.guessed(linear), None, known.left, known.feeds, measured=False)

    def _said(
        self, text: str, value: int, interval: Interval | None, left: int, feeds: int, *, measured: bool
    ) -> PmwAnswer:
        return PmwAnswer(
            text,
            float(value),
            value / self._total,
            measured,
            interval is not None,
            interval,
            left,
            feeds,
            self.number,
            left_out_of(self._study, self._study.table),
        )

    # The state, which is the ledger's.

    def _heads(self) -> tuple[list[str], int]:
        """The digests of the receipt and of every answer with all before it, and the updates left."""
        heads, left = [first_head(self._receipt.digest, self._total)], self._terms.updates
        for entry in map(entry_of, self._comparisons.notes()):
            heads.append(chained(heads[-1], entry))
            left = left_after(left, entry)
        return heads, left

    def _state(self) -> _Progress:
        """What this object knows and what others, or it itself, have added since."""
        known = self._seen
        for entry in map(entry_of, self._comparisons.notes(known.feeds + 1)):
            left = left_after(known.left, entry)
            if entry.found is not None:
                _, linear = self._linear(entry.query)
                known.correct(linear, entry)
            known.left, known.feeds = left, known.feeds + 1
        return known
