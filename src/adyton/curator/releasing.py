"""The walk of whatever one charge pays for, and the only place where exact integers and noise meet.

Asked before?  Then what is stored is the answer.  Otherwise: charge, read, add noise, keep; and nothing exact
leaves this file.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Protocol, TypeVar

from adyton.curator.certifying import PopulationClaims
from adyton.curator.purse import Advice, Planned, Purse
from adyton.curator.receipts import EarlierAnswers
from adyton.engines.base import Engine
from adyton.errors import EngineFailed, Forbidden, Interrupted, InvalidRequest, LedgerCorrupt, sealed
from adyton.exact.cells import Cells, whole
from adyton.ledger import Charged, Ledger, Order, Receipt
from adyton.ledger.base import InFront, place_of
from adyton.ledger.texts import RESTORED, Stored, many_from_text, many_to_text
from adyton.noise import Bits
from adyton.planning.keys import KeyFinding
from adyton.planning.part import Columns
from adyton.planning.plan import PricedBatch, QuestionPlan
from adyton.planning.price import Price
from adyton.population.which import population_of
from adyton.sensitivity import Reading
from adyton.study import Study
from adyton.study.validity import refuse_where_rounded

_operator_log = logging.getLogger("adyton.operator")
_Found = TypeVar("_Found")
_Kept = TypeVar("_Kept")  # what was released, as it was read back
_Shown = TypeVar("_Shown")
Place = Callable[[int], int]  # of a receipt, the number by which keys get their share of delta
_MOST_SHARES = 64  # earlier charges that are tried, whether a share was the same
_AT_ONCE = 2**22  # as many as an engine computes in one scan


class Releasing:
    """Reads what a plan needs, after it was paid for, and adds its noise at once."""

    def __init__(self, engine: Engine, bits: Bits, place: Place, *, split: bool) -> None:
        self._engine, self._bits, self._place, self._split = engine, bits, place, split

    @property
    def bits(self) -> Bits:
        return self._bits

    def prepare(self, readings: Sequence[Reading] = ()) -> None:
        """The engine checks public facts.  Whatever else goes wrong in it, only the kind of error is told."""
        sealed(
            lambda: self._engine.prepare(readings),
            lambda error: f"the data cannot be read: {type(error).__name__}",
        )

    def release(self, plans: Sequence[QuestionPlan], receipt: int) -> list[Stored]:
        """All plans from few scans, except for keys that must be found.

        Where units are split, from the part with the number of the receipt, and from no other.
        """
        exact = self.exact(
            [reading for plan in plans if plan.finding is None for reading in plan.readings], receipt
        )
        return [
            Stored(self._with_noise(plan, exact, receipt if self._split else None))
            if plan.finding is None
            else self._release_found(plan, plan.finding, receipt)
            for plan in plans
        ]

    def exact(self, readings: Sequence[Reading], receipt: int) -> Iterator[Columns]:
        """The integers that a receipt paid for, for whoever adds noise to them at once.

        Not more at a time than fits into memory: integers that got their noise are let go.
        """
        if self._split:
            readings = [replace(reading, part=receipt) for reading in readings]
        for some in _together(readings):
            yield from self._read(partial(self._engine.exact, some))

    def once(self, reading: Reading) -> Columns:
        """The integers of one reading that was paid for before."""
        return self._read(lambda: self._engine.exact([reading]))[0]

    def _release_found(self, plan: QuestionPlan, finding: KeyFinding, receipt: int) -> Stored:
        readings = [finding.counted.reading, *plan.readings]
        keys, (counted, *rest) = self._read(lambda: self._engine.found(readings))
        kept = finding.release(keys, counted, self._place(receipt), self._bits)
        exact = iter([[Cells(whole(column)[kept.places]) for column in columns] for columns in rest])
        return Stored(self._with_noise(plan, exact, None), kept.keys, kept.noisy_number)

    def _with_noise(
        self, plan: QuestionPlan, exact: Iterator[Columns], part: int | None
    ) -> list[list[Cells]]:
        def again(reading: Reading) -> Columns:
            return self.once(replace(reading, part=part))

        return [one.release(next(exact), again, self._bits) for one in plan.parts]

    def _read(self, read: Callable[[], _Found]) -> _Found:
        try:
            return read()
        except Exception as error:
            # The engine's own words may quote a row, so neither the log nor the analyst gets them.
            reference = secrets.token_hex(6)
            _operator_log.error("the engine failed with %s (reference %s)", type(error).__name__, reference)
        raise EngineFailed(reference)


def _together(readings: Sequence[Reading]) -> Iterator[list[Reading]]:
    """Consecutive readings, as many as have ``_AT_ONCE`` integers: decided from public facts."""
    some: list[Reading] = []
    integers = 0
    for reading in readings:
        own = reading.cells * len(reading.coordinates)
        if some and integers + own > _AT_ONCE:
            yield some
            some, integers = [], 0
        some.append(reading)
        integers += own
    if some:
        yield some


# What one charge pays for ----------------------------------------------------------------------------------


class Release(Protocol[_Kept]):
    """Something that is released once for one charge: a question, a batch, a selection, a synthetic table.

    All but ``release`` is made of public facts and of what was released.
    """

    @property
    def readings(self) -> Sequence[Reading]:
        """What the engine is asked for, as far as that is known before the charge."""
        ...

    @property
    def advice(self) -> Advice:
        """For a refusal that says what would fit."""
        ...

    def order(self, request: str | None) -> Order:
        """The charge.  Its text, detail and amount say what is released: the same again is free."""
        ...

    def release(self, releasing: Releasing, receipt: int) -> _Kept:
        """Reads and adds noise, after the charge: the only line that sees private data."""
        ...

    def text(self, released: _Kept) -> str:
        """What is stored."""
        ...

    def read(self, text: str) -> _Kept: ...

    def settled(self, receipt: int, released: _Kept) -> int | None:
        """What validity pays, now that it is known what was released; None: what was charged."""
        ...


@dataclass(frozen=True, slots=True)
class BatchRelease:
    """One question, or a batch of them."""

    batch: PricedBatch
    claims: PopulationClaims
    purse: Purse

    @property
    def readings(self) -> Sequence[Reading]:
        return self.batch.readings

    @property
    def advice(self) -> Advice:
        return self.batch.price, self.purse.repriced(self.batch), len(self.batch.plans)

    def order(self, request: str | None) -> Order:
        return self.batch.order(request)

    def release(self, releasing: Releasing, receipt: int) -> Sequence[Stored]:
        return releasing.release(self.batch.plans, receipt)

    def text(self, released: Sequence[Stored]) -> str:
        return many_to_text(released)

    def read(self, text: str) -> Sequence[Stored]:
        return many_from_text(text)

    def settled(self, receipt: int, released: Sequence[Stored]) -> int | None:
        return self.claims.settled(self.batch, receipt, released)


# What was paid for before ----------------------------------------------------------------------------------


class AskedBefore:
    """Looks into the ledger.

    Where units are split, the same question at the same price is charged differently at another time: then it
    is known by its mechanisms, which follow from the price.
    """

    def __init__(self, ledger: Ledger, earlier: EarlierAnswers, *, split: bool) -> None:
        self._ledger, self.earlier, self._split = ledger, earlier, split
        self._name = ledger.name if isinstance(ledger, InFront) else None

    def repeated(self, question: str, detail: str, amount: int) -> tuple[Receipt, str] | None:
        """The newest answer already given."""
        if not self._split:
            return self._ledger.repeated(question, detail, amount)
        for receipt in self._same(question, detail):
            stored = self._ledger.recall(receipt.number)
            if stored is not None:
                return receipt, stored
        return None

    def unanswered(self, question: str, detail: str, amount: int) -> Receipt | None:
        """The newest receipt that has no answer yet."""
        if not self._split:
            return self._ledger.unanswered(question, detail, amount)
        amounts = dict.fromkeys(receipt.order.amount for receipt in self._same(question, detail))
        found = (self._ledger.unanswered(question, detail, amount) for amount in amounts)
        return next((receipt for receipt in found if receipt is not None), None)

    def knows(self, order: Order) -> bool:
        """Whether the same was paid for before, answered or not."""
        what = (order.question, order.detail, order.amount)
        return self.repeated(*what) is not None or self.unanswered(*what) is not None

    def requested(self, request: str | None) -> Receipt | None:
        """What was charged under a request id: a retry is planned as that was, whatever was spent since."""
        return self._ledger.requested(request) if request is not None else None

    def charged(self, question: str) -> Iterator[Receipt]:
        """What was charged for it, the newest first: what was answered, and what the caller has paid for."""
        for number in self.earlier.numbers(question):
            receipt = self._ledger.receipt(number)
            if receipt is None or receipt.order.question != question:
                continue
            if receipt.order.by == self._name or self._ledger.recall(number) is not None:
                yield receipt

    def unrequested(self, order: Order) -> tuple[str, str, int] | None:
        """What is ordered; None under a request id that was used before, which the ledger has to judge."""
        if order.request is not None and self._ledger.requested(order.request) is not None:
            return None
        return order.question, order.detail, order.amount

    def as_charged(self, order: Order) -> Order:
        """The order as it was charged under its request id, if it was for the same."""
        earlier = self._ledger.requested(order.request) if self._split and order.request else None
        if earlier is None or (earlier.order.question, earlier.order.detail) != (
            order.question,
            order.detail,
        ):
            return order
        return replace(order, amount=earlier.order.amount)

    def _same(self, question: str, detail: str) -> list[Receipt]:
        """The newest first."""
        found = map(self._ledger.receipt, self.earlier.numbers(question))
        return [receipt for receipt in found if receipt is not None and receipt.order.detail == detail]


Fed = tuple[Study, Ledger, Bits, Callable[[Reading], int], Receipt]  # what it is then made of


class Walk:
    """Asked before, or paid for, read, given noise and kept, in this order; then it is shown."""

    def __init__(
        self, study: Study, engine: Engine, ledger: Ledger, bits: Bits, earlier: EarlierAnswers | None = None
    ) -> None:
        self.study, self._engine, self._ledger, self._bits = study, engine, ledger, bits
        self._releasing = Releasing(engine, bits, partial(place_of, ledger), split=study.parts > 1)
        self._population = population_of(study)
        self._asked = AskedBefore(ledger, earlier or EarlierAnswers(ledger), split=study.parts > 1)
        self._purse = Purse(study, ledger, self._population)
        self._claims = PopulationClaims(study, ledger, self._population)
        self.paid_for: int | None = None  # the receipt of the newest release that was charged here

    @property
    def ledger(self) -> Ledger:
        """What was spent, and what was answered."""
        return self._ledger

    def left_for(self, request: str | None, price: Price) -> int:
        """What a share is a share of: what is left, or was before the charge under this request id."""
        left, earlier = self._purse.left_now, self._asked.requested(request)
        return left if earlier is None else self._purse.left_before(earlier, price)

    def _lefts_before(self, price: Price, texts: Sequence[str], earlier: Receipt | None = None) -> list[int]:
        """What a share may be a share of, if it was charged before: for the same, by whomever, at the same
        share of what was left then; or under a request id, by the ``earlier`` receipt.
        """
        if price.by != "share":
            return []
        if earlier is not None:
            return [self._purse.left_before(earlier, price)]
        return self._lefts_of(price, (receipt for text in texts for receipt in self._asked.charged(text)))

    def _lefts_before_any(self, price: Price, begins: str) -> list[int]:
        """The same, for whatever was asked with a text that begins so."""
        if price.by != "share":
            return []
        texts = [receipt.order.question for receipt in self._ledger.mentioning((begins,), 0)][::-1]
        alike = [text for text in dict.fromkeys(texts) if text.startswith(begins)]
        return self._lefts_before(price, alike)

    def _lefts_of(self, price: Price, charged: Iterable[Receipt]) -> list[int]:
        found = (left for receipt in charged for left in self._purse.lefts_of_share(receipt, price))
        return list(dict.fromkeys(islice(found, _MOST_SHARES)))

    def _walked(
        self,
        release: Release[_Kept],
        request: str | None,
        show: Callable[[Receipt, Callable[[], _Kept], bool], _Shown],
    ) -> _Shown:
        """``show`` gets the receipt, how to read what is kept, and whether it was free."""
        order = self._asked.as_charged(replace(release.order(request), cap=self._population.cap))
        if known := self._asked_before(order):
            receipt, text = known
            return show(receipt, partial(release.read, text), True)
        try:
            charged = self._paid(order, release.advice, release.readings, self._unanswered(order))
            return show(charged.receipt, self._released(release, charged), not charged.fresh)
        except KeyboardInterrupt:
            paid = self._unanswered(order) or self._ledger.requested(order.request or "")
            self.paid_for = paid.number if paid else self.paid_for
            raise Interrupted(self.paid_for, booked=self.study.book is not None) from None

    def _asked_before(self, order: Order) -> tuple[Receipt, str] | None:
        return self._asked.repeated(*what) if (what := self._asked.unrequested(order)) else None

    def _unanswered(self, order: Order) -> Receipt | None:
        """A receipt that paid for the very same before a crash, an interrupt or a failure of the engine."""
        return self._asked.unanswered(*what) if (what := self._asked.unrequested(order)) else None

    def _paid(
        self, order: Order, advice: Advice, readings: Sequence[Reading] = (), earlier: Receipt | None = None
    ) -> Charged:
        """A charge; or the ``earlier`` one that paid for the same, and was never answered."""
        with self._purse.advising(advice):
            if earlier is None and self._asked.requested(order.request) is None:
                self._claims.refuse_beyond_cap(order.radius)
            self._releasing.prepare(readings)  # public facts: what is missing is found now
            charged = Charged(earlier, fresh=False) if earlier else self._ledger.charge(order)
        self.paid_for = charged.receipt.number
        return charged

    def _released(self, release: Release[_Kept], charged: Charged) -> Callable[[], _Kept]:
        """What the receipt paid for: one answer, kept durably before anybody sees it; the first one wins.

        Claim:    however often it is read for one receipt, at most one noisy answer is released.
        Assumes:  whether a reading is cut off by a crash, an interrupt or the engine, or is overtaken by
                  another one, depends on no row and on no noise.
        Source:   derived here.  Theorem: ONE-ANSWER.
        """
        number = charged.receipt.number
        stored = None if charged.fresh else self._ledger.recall(number)
        if stored is not None:
            return partial(release.read, stored)
        released = release.release(self._releasing, number)  # the only line that sees private data
        text = release.text(released)
        try:
            stored = self._ledger.remember(number, text, release.settled(number, released))
            return (lambda: released) if stored == text else partial(release.read, stored)
        except LedgerCorrupt as fault:
            raise LedgerCorrupt(
                f"{fault.message}; receipt {number} is paid for: ask the same again"
            ) from None

    # What is charged once and fed later: streams and weights, which keep their state in the ledger.

    def _opened(self, order: Order, named: Price, planned: Planned) -> Fed:
        """Charged, and nothing read."""
        refuse_where_rounded(self.study, "what is opened once and fed later")
        order = replace(order, cap=self._population.cap)
        return self._fed_by(self._paid(order, (named, planned, 1)).receipt)

    def _opened_before(self, number: int) -> Fed:
        receipt = self._ledger.receipt(number)
        if receipt is None:
            raise InvalidRequest(f"there is no receipt {number}")
        if self._ledger.mentioning((RESTORED,), number):
            raise Forbidden(
                f"what receipt {number} paid for is over: a copy of the ledger was put back since, which may "
                "have forgotten some of its answers"
            )
        return self._fed_by(receipt)

    def _fed_by(self, receipt: Receipt) -> Fed:
        return self.study, self._ledger, self._bits, self._one_integer, receipt

    def _one_integer(self, reading: Reading) -> int:
        """Of what was paid for before.  Data that are missing are found before they are read."""
        self._releasing.prepare([reading])
        return self._releasing.once(reading)[0][0]
