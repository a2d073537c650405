"""What a study has spent, what is left, and what would still fit, in the words of answers and of askers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache

from adyton.accounting.noisy_reading import NoisyReading
from adyton.certify import Amount, Promise, Statement, Step
from adyton.curator.certifying import scales_of, sensitivity_of
from adyton.curator.fitting import Fits, Room, fitting_price, refused
from adyton.curator.odometer import read_odometer
from adyton.errors import BudgetRefused
from adyton.exact import printed_up
from adyton.ledger import Ledger, Order, Receipt
from adyton.ledger.base import totals_after
from adyton.ledger.cap import Cap
from adyton.ledger.carried import receipts_carried
from adyton.planning.plan import Outline, Priced, PricedBatch
from adyton.planning.price import Price
from adyton.population.base import Population
from adyton.streams.plan import StreamPlan
from adyton.study import Study

Planned = Callable[[Price], Priced | StreamPlan]
_MANY = 100  # plans of a batch, which take a while to make


class Purse:
    """Looks at the ledger, and never charges."""

    def __init__(self, study: Study, ledger: Ledger, population: Population) -> None:
        self.study, self._ledger, self._population = study, ledger, population

    @property
    def limit(self) -> Promise:
        """The promise: fixed when the study was made, whatever is asked."""
        return Promise(printed_up(self.study.limit.epsilon), printed_up(self.study.limit.delta))

    def amount(self, units: int) -> Amount:
        return Amount(self.study.filter_name, units, self._ledger.header.limit)

    def left(self, spent: int) -> Amount:
        return replace(self.amount(self._ledger.header.limit - spent), is_left=True)

    def step(self, noisy: NoisyReading) -> Step:
        """A reading and its noise."""
        drawn = f" ({noisy.times} comparisons)" if noisy.times > 1 else ""
        return Step(
            value=noisy.reading.name,
            mechanism=noisy.mechanism.name + drawn,
            scales=scales_of(noisy),
            sensitivity=sensitivity_of(noisy),
            cost=self.amount(noisy.amount(self.study.filter)),
        )

    @property
    def spent(self) -> int:
        return self._ledger.totals().spent

    @property
    def left_now(self) -> int:
        return self.left_after(self.spent)

    def left_after(self, spent: int) -> int:
        """Where units are split, by the study's own reckoning of the limit: a price less this is a charge."""
        limit = self._ledger.header.limit if self.study.parts == 1 else self.study.allowed
        return limit - spent

    def room(self, last: Receipt | None = None) -> Room:
        """What was free after the ``last`` receipt, or is now."""
        now = self._ledger.totals() if last is None else totals_after(last, last.order.radius)
        cap = self._population.cap or Cap()
        return Room(
            self._ledger.header.limit - now.spent,
            cap.radius - now.radius if cap.radius is not None else None,
            cap.questions - now.receipts if cap.questions is not None else None,
        )

    def times_again(self, order: Order, last: Receipt | None = None) -> int:
        """How many like this, which was paid for, would fit: of other units, each for the least charge."""
        return self.room(last).times(order.amount if self.study.parts == 1 else 1, order.radius)

    def statement(self) -> Statement:
        """What has been spent, and what is left."""
        totals = self._ledger.totals()
        cap, certified = self._population.certified
        last = self._ledger.receipt(totals.receipts) if totals.receipts else None
        if last is not None and receipts_carried(last.order.question, last.order.detail):
            last = None  # nobody asks such a one again
        return Statement(
            spent=self.amount(totals.spent),
            left=self.left(totals.spent),
            limit=self.limit,
            questions=totals.receipts,
            more=self.times_again(last.order) if last else None,
            odometer=read_odometer(self.study, totals.spent),
            stability=totals.radius if cap is not None else None,
            stability_cap=cap,
            certified_questions=certified,
        )

    def repriced(self, batch: PricedBatch) -> Planned:
        """The same questions at other prices; what does not depend on the price is made once, if at all."""
        outline = cache(lambda: Outline.of(self.study, batch.requests))
        return lambda price: outline().priced(price, self.left_now)

    def fitting(self, price: Price, planned: Planned, *, plans: int = 1) -> Fits | None:
        """The price that would fit now, where ``price`` does not, for so many plans."""
        room = self.room()

        def over(tried: Price) -> float:
            made = planned(tried)
            return room.over(made.amount, made.radius)

        return fitting_price(price, over, rough=plans > _MANY)

    @contextmanager
    def advising(self, price: Price, planned: Planned, *, plans: int = 1) -> Iterator[None]:
        """A refusal says what would fit."""
        try:
            yield
        except BudgetRefused as refusal:
            fits = self.fitting(price, planned, plans=plans)
            raise refused(refusal, fits) from None
