"""The curator: the only place where data, noise and budget meet."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Unpack

from adyton.certify import (
    Amount,
    Answer,
    Certificate,
    Preview,
    Promise,
    Proof,
    Statement,
    Step,
)
from adyton.curator.estimate import cells_in, found_in, rows_of_many, scales_of, sensitivity_of, shaped
from adyton.curator.noised import Noised
from adyton.curator.plan import Basket, Plan, make_basket, planned_anew
from adyton.curator.plan_price import planned_basket
from adyton.curator.population import Population, Standing
from adyton.curator.price import PriceWords, agreed_price, names_a_price, price_of
from adyton.curator.releasing import Releasing
from adyton.curator.stand_in import StandIn
from adyton.curator.stream import Stream
from adyton.curator.stream_plan import plan_stream
from adyton.engines.base import Engine
from adyton.errors import BudgetRefused, EngineFailed, InvalidRequest
from adyton.exact import UNITS_PER_ONE, Number, float_up, units_down
from adyton.ledger import Charged, Ledger, Order, Receipt, Verification
from adyton.noise import Bits, SystemBits
from adyton.query.asking import Asking, asking_of
from adyton.query.draft import Draft
from adyton.query.nodes import Extreme, Question
from adyton.study import Study
from adyton.wire import Stored, many_from_text, many_to_text

if TYPE_CHECKING:
    from adyton.curator.bounds import SuggestedBounds

MOST_QUESTIONS = 10_000
_PATIENCE = 10.0  # seconds for another process to finish the same request


class Curator:
    """Answers questions about one study.  A crash after the charge loses an answer, before it nothing."""

    def __init__(self, study: Study, engine: Engine, ledger: Ledger, bits: Bits | None = None) -> None:
        self.study, self._engine, self._ledger = study, engine, ledger
        self._bits = bits if bits is not None else SystemBits()
        self._releasing = Releasing(engine, self._bits)
        self._population = Population(study)
        self._stand_in = StandIn(study, ledger, self._population)

    def ask(
        self, question: str | Draft | Question, *, request: str | None = None, **price: Unpack[PriceWords]
    ) -> Answer:
        """The answer to ``question``, SQL text or a question made in Python, at exactly one price.

        Where the study plans its questions (``validity.tolerance``) the price may be left to the plan.
        The same question at the same price again returns the stored answer free of charge.  ``request`` makes
        a retry safe: one id is charged once.
        """
        return self._answer(self._basket([question], price), request)[0]

    def ask_many(
        self,
        questions: Iterable[str | Draft | Question],
        *,
        request: str | None = None,
        **price: Unpack[PriceWords],
    ) -> list[Answer]:
        """The answers to all ``questions``, paid for by one charge and read in one go.

        An epsilon or a share is for all of them together; what is within, or a scale, is for each value.
        Questions whose filters exclude each other share a price.  All are answered, or none.
        """
        return self._answer(self._basket(questions, price), request)

    def sql(self, text: str, *, request: str | None = None, **price: Unpack[PriceWords]) -> Answer:
        """``ask`` for SQL text."""
        return self.ask(text, request=request, **price)

    def preview(self, question: str | Draft | Question, **price: Unpack[PriceWords]) -> Preview:
        """What ``ask`` would cost and how wide its intervals would be.  Reads no data and is free."""
        return self.preview_many([question], **price)[0]

    def preview_many(
        self, questions: Iterable[str | Draft | Question], **price: Unpack[PriceWords]
    ) -> list[Preview]:
        """What ``ask_many`` would cost, for all together, and how wide the intervals of each would be."""
        basket, spent = self._basket(questions, price), self._ledger.spent()
        standing, left = self._next(basket), self._left(spent)
        fits = basket.amount <= left and not self._population.refuses(standing.at)
        after = self._promise(spent + basket.amount) if fits else None
        repeated = self._ledger.repeated(basket.text, basket.detail, basket.amount) is not None
        return [
            Preview(
                question=plan.text,
                keys=None if plan.question.finds_keys else tuple(map(plan.shape.named, plan.keys())),
                bounds={part.name: part.bound(plan.matching) for part in plan.parts},
                population={p.name: p.population_bound(standing, plan.matching) for p in plan.parts},
                cost=self._amount(basket.amount),
                left=self._amount(left),
                spent=self._promise(spent),
                spent_after=after,
                fits=fits,
                limit=self._limit(),
                steps=tuple(map(self._step, plan.noised)),
                certificate=self._certificate(plan, standing),
                repeated=repeated,
                together=len(basket.plans),
                keys_sought=plan.finding.sought(standing.at.question) if plan.finding else None,
            )
            for plan in basket.plans
        ]

    def suggest_bounds(self, column: str, **words: Any) -> SuggestedBounds:
        """Where nearly all values of ``column`` lie, for a part of the budget: a price, and more options."""
        from adyton.curator.bounds import suggest_bounds

        return suggest_bounds(self, column, **words)

    def dummy(self, rows: int | None = None) -> Curator:
        """A curator of the same study on rows that are made up from public facts: to try questions on."""
        from adyton.curator.dummy import dummy_of

        return dummy_of(self.study, rows)

    def open_stream(
        self,
        *,
        positives: int,
        numeric: bool = False,
        refresh: bool = False,
        request: str | None = None,
        **price: Unpack[PriceWords],
    ) -> Stream:
        """A stream of counts, charged now, at ``epsilon`` or a ``share``, whatever is fed into it later.

        It halts after ``positives`` counts were found above their threshold.  ``numeric`` adds a noisy value
        to each of them; ``refresh`` draws the noise of the threshold anew after each, which needs more noise.
        """
        left = self._left(self._ledger.spent())
        plan = plan_stream(self.study, price_of(**price), left, positives, numeric, refresh)
        spent_radius = self._ledger.spent_radius() + plan.radius
        position = self._population.position(self._ledger.count() + 1, spent_radius, 1)
        self._population.check(position, self._stability_spent())
        self._engine.prepare()
        return self._stream(self._charge(replace(plan.order(request), cap=self._population.cap)).receipt)

    def stream(self, number: int) -> Stream:
        """The stream that receipt ``number`` paid for, where it was left, also after a restart."""
        receipt = self._ledger.receipt(number)
        if receipt is None:
            raise InvalidRequest(f"there is no receipt {number}")
        self._engine.prepare()
        return self._stream(receipt)

    def statement(self) -> Statement:
        """What has been spent, and what is left."""
        spent, schedule = self._ledger.spent(), self._population.schedule
        return Statement(
            spent=self._promise(spent),
            limit=self._limit(),
            currency=self.study.filter_name,
            left=self._left(spent),
            questions=self._ledger.count(),
            stability=self._ledger.spent_radius() if schedule else None,
            stability_cap=units_down(schedule.cap) if schedule else None,
            certified_questions=schedule.questions if schedule else None,
        )

    def p_value_threshold(self, alpha: Number) -> float:
        """For tests that the owner runs on the rows after they have been questioned.

        A test rejects only if its own p-value is at most this; then it errs with probability at most
        ``alpha``, although the answers so far may have led to the very test.
        """
        units = self._stand_in.units(self._population.for_counts(alpha))
        return self._population.p_value_threshold(alpha, self._stability_spent(), units)

    def receipts(self) -> list[Receipt]:
        """Everything that was ever charged, oldest first."""
        return list(self._ledger.receipts())

    def verify(self, head: str | None = None) -> Verification:
        """Replays the ledger; LedgerCorrupt unless it is intact and, if given, ``head`` is in its chain."""
        return self._ledger.verify(head)

    def close(self) -> None:
        self._engine.close()
        self._ledger.close()

    def __enter__(self) -> Curator:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Steps of ask, in the order in which they happen.

    def _basket(self, questions: Iterable[str | Draft | Question], price: PriceWords) -> Basket:
        asked = [asking_of(q, *self.study.tables) for q in questions]
        if not 1 <= len(asked) <= MOST_QUESTIONS:
            raise InvalidRequest(f"a batch has 1 to {MOST_QUESTIONS} questions, not {len(asked)}")
        return self._stored_before(asked, price) or self._planned(asked, price)

    def _planned(self, asked: list[Asking], price: PriceWords, *, as_before: bool = False) -> Basket:
        each, study = self._population.each, self.study
        if each is not None and not names_a_price(asked, price):
            matching = agreed_price(asked, {**price, "share": 1}, study).matching
            return planned_basket(study, asked, each, matching, as_before=as_before)
        left = self._left(self._ledger.spent())
        return make_basket(study, asked, agreed_price(asked, price, study), left, as_before=as_before)

    def _stored_before(self, asked: list[Asking], price: PriceWords) -> Basket | None:
        """What is asked as an older version planned it, if an answer of that version is stored."""
        if not planned_anew(self.study, asked):
            return None
        with suppress(InvalidRequest):
            basket = self._planned(asked, price, as_before=True)
            if self._ledger.repeated(basket.text, basket.detail, basket.amount) is not None:
                return basket
        return None

    def _asked_before(self, order: Order) -> tuple[Receipt, str] | None:
        """A request id that was used before is for the ledger to judge, not for this short cut."""
        if order.request is not None and self._ledger.requested(order.request) is not None:
            return None
        return self._ledger.repeated(order.question, order.detail, order.amount)

    def _charge(self, order: Order) -> Charged:
        """A refusal also says, in epsilon, how much would still fit."""
        try:
            return self._ledger.charge(order)
        except BudgetRefused as refusal:
            if refusal.facts["currency"] != self._ledger.header.currency:
                raise  # by a cap on validity, of which epsilon says nothing
            left = self._promise(self._left(self._ledger.spent())).epsilon
            message = f"{refusal.message} (about epsilon {left:.3g} for a question of its own)"
            raise BudgetRefused(message, **refusal.facts, largest_epsilon=f"{left:.6g}") from None

    def _stream(self, receipt: Receipt) -> Stream:
        return Stream(self.study, self._ledger, self._bits, lambda r: self._releasing.once(r)[0][0], receipt)

    def _await(self, receipt: Receipt) -> str:
        """The answer that another thread or process is making for the same request."""
        end = time.monotonic() + _PATIENCE
        while (stored := self._ledger.recall(receipt.number)) is None:
            if time.monotonic() > end:
                raise EngineFailed(f"receipt-{receipt.number}")
            time.sleep(0.02)
        return stored

    def _answer(self, basket: Basket, request: str | None) -> list[Answer]:
        """The walk of a question, or of a batch: plan, charge, read, release, certify."""
        order = basket.order(request, self._population.cap)
        if known := self._asked_before(order):
            return self._certify(basket, *known, repeated=True)
        if self._population.validity is not None:
            self._population.check(self._next(basket).at, self._stability_spent())
        self._engine.prepare(basket.readings)  # public facts only: what is missing is found before the charge
        charged = self._charge(order)
        number = charged.receipt.number
        if not charged.fresh:
            return self._certify(basket, charged.receipt, self._await(charged.receipt), repeated=True)
        released = self._releasing.release(basket.plans, number)  # the only line that sees private data
        stored = self._ledger.remember(number, many_to_text(released))
        return self._certify(basket, charged.receipt, stored, repeated=False)

    def _certify(self, basket: Basket, receipt: Receipt, stored: str, *, repeated: bool) -> list[Answer]:
        released = many_from_text(stored)
        standing = self._standing(basket, receipt.number, receipt.spent_radius, released)
        spent = self._promise(self._ledger.spent() if repeated else receipt.spent)
        limit, cost = self._limit(), self._amount(0 if repeated else receipt.order.amount)
        proof = Proof(receipt.number, receipt.digest, receipt.previous)
        answers = []
        for plan, own, rows in zip(
            basket.plans, released, rows_of_many(basket.plans, released, standing), strict=True
        ):
            shown = shaped(rows, plan.shape)
            answers.append(
                Answer(
                    question=plan.text,
                    rows=shown,
                    cost=cost,
                    spent=spent,
                    limit=limit,
                    receipt=proof,
                    certificate=self._certificate(plan, standing),
                    repeated=repeated,
                    keys_found=found_in(plan, own, receipt.number),
                    left_out=len(rows) - len(shown),
                    together=len(basket.plans),
                )
            )
        return answers

    # What an answer may say about the population.

    def _standing(
        self, basket: Basket, number: int, spent_radius: int, released: Sequence[Stored] = ()
    ) -> Standing:
        known: Sequence[Stored | None] = released or [None] * len(basket.plans)
        values = sum(plan.values(cells_in(plan, own)) for plan, own in zip(basket.plans, known, strict=True))
        elsewhere = any(reading.table not in (None, self.study.table) for reading in basket.readings)
        at = self._population.position(number, spent_radius, values, elsewhere=elsewhere)
        return Standing(self._population, at, self._stand_in.units())

    def _next(self, basket: Basket) -> Standing:
        """Where the answers would stand if they were asked now."""
        return self._standing(basket, self._ledger.count() + 1, self._ledger.spent_radius() + basket.radius)

    def _stability_spent(self) -> Fraction:
        return Fraction(self._ledger.spent_radius(), UNITS_PER_ONE)

    def _certificate(self, plan: Plan, standing: Standing) -> Certificate:
        if all(isinstance(measure, Extreme) for _, measure in plan.question.measures):
            return plan.certificate  # nothing is said about a population's extremes
        ratios = any(len(noised.reading.coordinates) > 1 for noised in plan.noised)
        theorems, assumptions = self._population.certificate(standing.at, standing.units, ratios=ratios)
        known = plan.certificate
        return Certificate(known.theorems + theorems, known.assumptions + assumptions)

    # The same facts in the words of an answer.

    def _amount(self, units: int) -> Amount:
        return Amount(self.study.filter_name, units)

    def _left(self, spent: int) -> int:
        return self._ledger.header.limit - spent

    def _promise(self, units: int) -> Promise:
        return Promise(self.study.epsilon_of(units), float(self.study.limit.delta))

    def _limit(self) -> Promise:
        return Promise(float_up(self.study.limit.epsilon), float(self.study.limit.delta))

    def _step(self, noised: Noised) -> Step:
        drawn = f" ({noised.times} comparisons)" if noised.times > 1 else ""
        return Step(
            value=noised.reading.name,
            mechanism=noised.mechanism.name + drawn,
            scales=scales_of(noised),
            sensitivity=sensitivity_of(noised),
            cost=self._amount(noised.amount(self.study.filter)),
        )
