"""The curator: the only place where data, noise and budget meet."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Unpack

from adyton.certify import Answer, Budget, Chosen, LastLook, Preview
from adyton.curator.certifying import (
    NewestNumbers,
    Reads,
    found_in,
    read_for_keys,
    rows_of_many,
)
from adyton.curator.paid_once import PaidOnce
from adyton.curator.previewing import previews
from adyton.curator.purse import plan_as_charged
from adyton.curator.receipts import EarlierAnswers, Receipts
from adyton.curator.releasing import Announced, Release, WrittenAnswers, advice_on
from adyton.curator.remarks import remarks
from adyton.curator.shaping import shaped
from adyton.curator.tables import Asking, Tables, table_of
from adyton.errors import InvalidRequest
from adyton.kernel.data import Observer
from adyton.kernel.engine import Engine
from adyton.kernel.exact import Number
from adyton.kernel.ledger import Ledger, Receipt, Verification
from adyton.kernel.ledger.base import counted, counted_totals, place_of
from adyton.kernel.ledger.texts import Stored
from adyton.kernel.noise import Bits, SystemBits
from adyton.kernel.paid import record
from adyton.kernel.release import Written
from adyton.planning.known import left_out_rows
from adyton.planning.plan import PricedBatch, make_batch
from adyton.planning.planned_price import planned_batch
from adyton.planning.price import PriceWords, agreed_price, names_a_price, price_of
from adyton.population.position import Position
from adyton.query.canonical import canonical_text
from adyton.query.request import AS_ASKED, Request, Requests
from adyton.show import Sheet, Shown
from adyton.study import Study

if TYPE_CHECKING:
    from adyton.curator.bounds import SuggestedBounds
    from adyton.curator.coordinated.selecting import Selecting
    from adyton.planning.selecting import AllValues, SelectionPlan
    from adyton.query.selecting import Selection
    from adyton.synthesis.result import Synthesis


class Curator(PaidOnce, Shown):
    """Answers queries about one study.  A crash loses nothing that was paid for: the same is read again.

    >>> with adyton.open(study, data=people) as curator:
    ...     answer = curator.ask(adyton.mean("age", where="smoker"), within=20)
    >>> answer.receipt.number
    1
    """

    def __init__(
        self,
        study: Study,
        engine: Engine,
        ledger: Ledger,
        bits: Bits | None = None,
        earlier: EarlierAnswers | None = None,
        observer: Observer | None = None,
    ) -> None:
        super().__init__(study, engine, ledger, bits if bits is not None else SystemBits(), earlier, observer)
        self._requests, self._newest = Requests(*study.tables), NewestNumbers()

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

        Where the study plans its queries (``validity.tolerance``) the price may be left to the plan.
        The same query at the same price again returns the stored answer free of charge.  ``request`` makes
        a retry safe: one id is charged once.  SQL may be in the ``dialect`` of a database, by its name.
        """
        return self.ask_many([query], request=request, dialect=dialect, strategy=strategy, **price)[0]

    def ask_many(
        self,
        queries: Iterable[Asking],
        *,
        request: str | None = None,
        dialect: str | None = None,
        strategy: str | None = None,
        **price: Unpack[PriceWords],
    ) -> list[Answer]:
        """The answers to all ``queries``, paid for by one charge and read in one go.

        An epsilon or a share is for all of them together; what is within, or a scale, is for each value.
        Queries whose filters exclude each other share a price.  All are answered, or none.
        Counts are measured together where that has less noise at the same price, or as ``strategy`` says:
        "independent", "atoms", "tree", "optimised", "product" or "marginals".
        """
        asked = self._tables(queries, dialect)
        if (selection := asked.selection(price, strategy or self.study.one_by_one)) is not None:
            return [self._choose(selection, price, request)]
        return asked.answers(
            lambda: self._answer(self._batch(asked, price, strategy, request), request), self._purse
        )

    def preview(
        self,
        query: Asking,
        *,
        expect: Number | Mapping[str, Number] | None = None,
        dialect: str | None = None,
        strategy: str | None = None,
        **price: Unpack[PriceWords],
    ) -> Preview:
        """What ``ask`` would cost and how wide its intervals would be.  Reads no data and is free.

        ``expect``: population widths for this value, or for values by their names, instead of for the worst.
        """
        return self.preview_many([query], expect=expect, dialect=dialect, strategy=strategy, **price)[0]

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
        asked, known = self._tables(queries, dialect), (self._purse, self._claims, self._asked)
        if (selection := asked.selection(price, strategy or self.study.one_by_one)) is not None:
            way, plan, chosen = self._selecting(selection, price)
            return [way.preview(plan, chosen, expect)]
        made = asked.previews(
            lambda: previews(self._batch(asked, price, strategy), expect, *known), self._purse
        )
        return self._offered(asked, made)

    def derive(self, query: Asking, *, dialect: str | None = None) -> Answer:
        """The answer to ``query`` as far as it follows from batches that were measured together: free.

        Nothing is read and nothing charged.  Intervals are wider than those of what was asked, because they
        hold for everything that could be derived, whatever led to it.
        """
        from adyton.curator.coordinated.deriving import derive

        asked = table_of(self._requests.of(query, dialect=dialect or self.study.dialect))
        if not isinstance(asked, Request):
            raise InvalidRequest("one SELECT is derived at a time; ask for its parts")
        return derive(self, asked)

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
        """Where nearly all values of ``column`` lie, for a part of the budget: an ``epsilon`` or a ``share``.

        ``low_fraction`` of the values may lie below, those above ``high_fraction`` above; 0.005 and 0.995, or
        as far inside as noise makes necessary.  Of the rows ``where`` a condition holds.
        """
        from adyton.curator.bounds import suggest_bounds

        return suggest_bounds(self, column, low_fraction, high_fraction, where, request, price)

    def mock(self, rows: int | None = None, *, like: Synthesis | None = None) -> Curator:
        """A curator of the same study on rows that are made up from public facts: to try queries on.

        ``like``: those of a synthetic table, which is more realistic; other columns are made up as ever.
        """
        from adyton.curator.mock import mock_of

        return mock_of(self.study, rows, None if like is None else like.columns)

    def through(self, view: Callable[[Ledger], Ledger], reads: Callable[[], None]) -> Curator:
        """The same study for somebody who uses its ledger in another way; ``reads`` says when it is read."""
        ledger = view(self._ledger)
        same = ledger.header.digest == self._ledger.header.digest
        earlier = self._asked.earlier if same else None
        return type(self)(self.study, self._engine, ledger, self._bits, earlier, Announced(reads))

    def observed(self, observer: Observer, bits: Bits | None = None) -> Curator:
        """The same study, watched at work: for audits and tests, which may also choose ``bits``."""
        return type(self)(
            self.study, self._engine, self._ledger, bits or self._bits, self._asked.earlier, observer
        )

    def prepare(self) -> None:
        """Loads the data now, as the first query would, and says what is wrong with it.  Free."""
        self._data.prepare()

    def budget(self) -> Budget:
        """What has been spent, and what is left."""
        return self._purse.budget()

    def p_value_threshold(self, alpha: Number) -> float:
        """For tests that the owner runs on the rows after they have been queried.

        A test rejects only if its own p-value is at most this; then it errs with probability at most
        ``alpha``, although the answers so far may have led to the very test.
        """
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
        """What a p-value computed on the rows now means at the level ``alpha``, and what it is worth.

        ``query``: what the test is about, by a ``method`` and under a ``null`` hypothesis that states a
        number, or that all groups are alike.  No query makes the threshold of such a test smaller.
        """
        from adyton.monitors.told import told_by
        from adyton.population.described_tests import described_test
        from adyton.population.last_look import look

        told, totals = told_by(self.study, self._ledger), counted_totals(self._ledger)
        if query is None and null is not None:
            raise InvalidRequest("null says what the value of a query would be: name the query")
        described = None if query is None else described_test(self.study, query, null, method)
        return look(self.study, self._claims.stand_in, totals, told, alpha, p_value, described)

    def publish_test(self, p_value: Number) -> Receipt:
        """Records that the result of a test on the rows was published: nothing is proved about later answers.

        The result itself is not private; the ledger only remembers that it is known.
        """
        from adyton.population.last_look import order_of

        return record(self._ledger, order_of(p_value)).receipt

    def receipts(self) -> Receipts:
        """Everything that was ever charged, oldest first: a list that prints."""
        return Receipts(self._ledger.receipts(), self._ledger.header, self.study.allowed)

    def verify(self, head: str | None = None) -> Verification:
        """Replays the ledger; LedgerCorrupt unless it is intact and, if given, ``head`` is in its chain."""
        return self._ledger.verify(head)

    def __repr__(self) -> str:
        return f"<Curator of the study of {self.study.table.name!r}>"

    def sheet(self, verbose: bool = False) -> Sheet:
        """The study, and how much of its budget is spent.  Nothing is read."""
        totals = self._ledger.totals()
        spent = f"{self._purse.amount(totals.spent)} of the budget"
        used = (("spent", spent), ("charges", f"{totals.receipts:,}"))
        plain = self.study.sheet(verbose=verbose)
        return replace(plain, title=f"Curator of {self.study.table.name}", rows=used + plain.rows)

    def close(self) -> None:
        """Lets go of data and ledger."""
        self._engine.close()
        self._ledger.close()

    def __enter__(self) -> Curator:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Which are the largest, among candidates.

    def _choose(self, selection: Selection, price: PriceWords, request: str | None) -> Answer:
        from adyton.planning.selecting import AllValues

        way, plan, chosen = self._selecting(selection, price, request)
        if isinstance(plan, AllValues):
            (answer,) = self._answer(plan.batch, request)
            return replace(answer, chosen=chosen, certificate=answer.certificate.citing("NOISY-ORDER"))
        return self._walked(way.release(plan), request, partial(way.answer, plan, chosen))

    def _selecting(
        self, selection: Selection, price: PriceWords, request: str | None = None
    ) -> tuple[Selecting, SelectionPlan | AllValues, Chosen]:
        from adyton.curator.coordinated.selecting import Selecting

        named = price_of(**price)
        way = Selecting(selection, self._purse, self._claims, self._asked)
        texts = (selection.text, *map(canonical_text, selection.queries[:1]))
        return way, *way.plans(named, self._lefts_before(named, texts, self._asked.requested(request)))

    # Steps of ask, in the order in which they happen.

    def _tables(self, queries: Iterable[Asking], dialect: str | None = None) -> Tables:
        self.paid_for = None
        return Tables(queries, partial(self._requests.of, dialect=dialect or self.study.dialect))

    def _batch(
        self,
        asked: Tables | Iterable[Asking],
        price: PriceWords,
        strategy: str | None = None,
        request: str | None = None,
    ) -> PricedBatch:
        asked = asked if isinstance(asked, Tables) else self._tables(asked)
        requests, price = asked.requests, asked.price(price)
        batch = self._planned(requests, price, strategy=strategy, request=request)
        alone = batch.independent if strategy is None else None
        return alone if alone is not None and self._was_paid(alone, request) else batch

    def _offered(self, asked: Tables, made: list[Preview]) -> list[Preview]:
        """A query alone that follows from what was measured together is offered for nothing."""
        if len(made) > 1 or len(asked.requests) != 1 or made[0].free or made[0].repeated:
            return made
        from adyton.curator.coordinated.deriving import offered

        return [replace(made[0], determined=offered(self, asked.requests[0]))]

    def _planned(
        self,
        asked: list[Request],
        price: PriceWords,
        *,
        strategy: str | None = None,
        request: str | None = None,
    ) -> PricedBatch:
        study, named = self.study, names_a_price(asked, price)
        totals = self._ledger.totals()
        left, earlier = self._purse.left_after(totals.spent), self._asked.requested(request)
        each = self._population.each(totals.receipts + 1 if earlier is None else earlier.number)
        if each is not None and not named:
            expected_rows = agreed_price(asked, {**price, "share": 1}, study).expected_rows
            return planned_batch(study, asked, each, expected_rows)
        agreed = agreed_price(asked, price, study)
        planned = partial(make_batch, study, asked, agreed, strategy=strategy)
        text = "; ".join(canonical_text(asking.query) for asking in asked)
        before = self._lefts_before(agreed, [text], earlier)
        made = plan_as_charged(planned, left, before, lambda own: bool(earlier or self._knows(own)))
        return made.after(totals.spent)

    def _knows(self, batch: PricedBatch) -> bool:
        each = (batch, batch.independent) if batch.independent is not None else (batch,)
        return any(map(self._asked.knows, each))

    def _was_paid(self, batch: PricedBatch, request: str | None = None) -> bool:
        """Whether the very same was charged before, or by this request id."""
        if (earlier := self._asked.requested(request)) is not None:
            return earlier.order.detail == batch.detail
        return self._asked.knows(batch)

    def _answer(self, batch: PricedBatch, request: str | None) -> list[Answer]:
        """The walk of a query, or of a batch: plan, charge, read, release, certify."""
        return self._walked(self._release_of(batch), request, partial(self._certify, batch))

    def _release_of(self, batch: PricedBatch) -> Release[Sequence[Stored]]:
        written: Written[Sequence[Stored]] = WrittenAnswers(batch, self._claims)
        if batch.independent is not None:
            from adyton.curator.coordinated.batches import written_together

            written = written_together(batch, self._claims)
        return Release(batch, advice_on(batch, self._purse), written)

    def _certify(self, batch: PricedBatch, receipt: Receipt, read: Reads, repeated: bool) -> list[Answer]:
        known = read_for_keys(batch.plans, read)
        context = self._claims.context(batch, Position.of(counted(self._ledger, receipt)), known)
        stored = [own for own in known if own is not None]
        if stored:
            rows_of_each = rows_of_many(batch.plans, stored, context)
        else:
            rows_of_each = self._newest.of(batch.plans, read, context).rows()
        paid = self._purse.paid(receipt, repeated=repeated)
        more = None if repeated else self._purse.times_again(receipt.order, receipt)
        answers = []
        for place, (plan, own, rows) in enumerate(zip(batch.plans, known, rows_of_each, strict=True)):
            shown = rows if plan.shape == AS_ASKED else shaped(rows, plan, place, read, context)
            answers.append(
                Answer(
                    query=plan.title,
                    rows=shown,
                    **paid,
                    more=more,
                    certificate=self._claims.certificate(plan, context),
                    discovered_groups=found_in(plan, own, place_of(self._ledger, receipt.number)),
                    rows_hidden=0 if plan.shape.folded else len(rows) - len(shown),
                    batch_size=len(batch.plans),
                    known=plan.shown,
                    hidden=plan.hidden,
                    remarks=remarks(plan, shown),
                    left_out_rows=left_out_rows(self.study, plan.query),
                    rows_planned=batch.rows_planned(plan),
                    widths_named=batch.widths_named(plan),
                )
            )
        return answers
