"""What one charge pays for, from a plan to what is shown.

Asked before?  Then what is stored is the answer.  Otherwise the kernel prices the plan, charges it, reads,
adds noise and keeps what was released.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Generic, NamedTuple, Protocol, TypeVar

from adyton.curator.certifying import PopulationClaims
from adyton.curator.purse import Advice, Planned, Purse
from adyton.curator.receipts import EarlierAnswers
from adyton.errors import Interrupted, InvalidRequest
from adyton.kernel.data import Data, Observer, Unobserved
from adyton.kernel.engine import Engine
from adyton.kernel.ledger import Ledger, Receipt
from adyton.kernel.ledger.base import InFront
from adyton.kernel.ledger.texts import Stored, many_from_text, many_to_text
from adyton.kernel.ledger.validity import FinalCost
from adyton.kernel.measurement import AnyMeasurement
from adyton.kernel.noise import Bits
from adyton.kernel.paid import Paid, charge, reopen, resume
from adyton.kernel.price import Label, Priced, price
from adyton.kernel.release import Written, release
from adyton.kernel.sensitivity import Reading
from adyton.kernel.special.comparing import Comparisons
from adyton.planning.plan import PricedBatch
from adyton.planning.price import Price
from adyton.population.which import population_of
from adyton.study import Study
from adyton.study.validity import refuse_where_rounded

_Kept = TypeVar("_Kept")  # what was released, as it was read back
_Shown = TypeVar("_Shown")
_MOST_SHARES = 64  # earlier charges that are tried, whether a share was the same


# What one charge pays for ----------------------------------------------------------------------------------


class Plan(Protocol):
    """Something that is paid for by one charge: a query, a batch, a selection, a synthetic table.

    The same ``text`` and ``detail`` at the same amount are the same release, which is free.  ``texts``: those
    of its queries, which make up the ``text``.
    """

    @property
    def text(self) -> str: ...

    @property
    def texts(self) -> tuple[str, ...]: ...

    @property
    def detail(self) -> str: ...

    @property
    def amount(self) -> int: ...

    @property
    def radius(self) -> int: ...

    @property
    def measurement(self) -> AnyMeasurement: ...


@dataclass(frozen=True, slots=True)
class Release(Generic[_Kept]):
    """A plan, how what it releases is written down, and what a refusal needs to say what would fit."""

    plan: Plan
    advice: Advice
    written: Written[_Kept]


@dataclass(frozen=True, slots=True)
class WrittenAnswers:
    """The answers to one query, or to a batch of them."""

    batch: PricedBatch
    claims: PopulationClaims

    def made(self, noisy: Sequence[Stored]) -> Sequence[Stored]:
        return noisy

    def text(self, kept: Sequence[Stored]) -> str:
        return many_to_text(kept)

    def read(self, text: str) -> Sequence[Stored]:
        return many_from_text(text)

    def final_cost(self, number: int, kept: Sequence[Stored]) -> FinalCost | None:
        return self.claims.final_cost(self.batch, number, kept)


class Announced(Unobserved):
    """Says when private data are about to be read: whoever asked for it, somebody else knows."""

    def __init__(self, reads: Callable[[], None]) -> None:
        self._reads = reads

    def reads(self, readings: Sequence[Reading], *, groups: bool) -> None:
        self._reads()


def advice_on(batch: PricedBatch, purse: Purse) -> Advice:
    return batch.price, purse.repriced(batch), len(batch.plans)


# What was paid for before ----------------------------------------------------------------------------------


class ReleaseKey(Protocol):
    """What the ledger knows a release by."""

    @property
    def text(self) -> str: ...

    @property
    def texts(self) -> tuple[str, ...]: ...

    @property
    def detail(self) -> str: ...

    @property
    def amount(self) -> int: ...


class KnownBy(NamedTuple):
    """The same, worked out once: the detail of a long batch takes a while."""

    texts: tuple[str, ...]
    detail: str
    amount: int

    @property
    def text(self) -> str:
        return "; ".join(self.texts)


class AskedBefore:
    """Looks into the ledger.

    Where units are split, the same query at the same price is charged differently at another time: then it
    is known by its mechanisms, which follow from the price.
    """

    def __init__(self, ledger: Ledger, earlier: EarlierAnswers, *, split: bool) -> None:
        self._ledger, self.earlier, self._split = ledger, earlier, split
        self._name = ledger.name if isinstance(ledger, InFront) else None

    def repeated(self, query: str, detail: str, amount: int) -> tuple[Receipt, str] | None:
        """The newest answer already given."""
        if not self._split:
            return self._ledger.repeated(query, detail, amount)
        for receipt in self._same(query, detail):
            stored = self._ledger.recall(receipt.number)
            if stored is not None:
                return receipt, stored
        return None

    def unanswered(self, query: str, detail: str, amount: int) -> Receipt | None:
        """The newest receipt that has no answer yet."""
        if not self._split:
            return self._ledger.unanswered(query, detail, amount)
        amounts = dict.fromkeys(receipt.order.amount for receipt in self._same(query, detail))
        found = (self._ledger.unanswered(query, detail, amount) for amount in amounts)
        return next((receipt for receipt in found if receipt is not None), None)

    def knows(self, plan: ReleaseKey) -> bool:
        """Whether the same was paid for before, answered or not."""
        what = (plan.text, plan.detail, plan.amount)
        return self.repeated(*what) is not None or self.unanswered(*what) is not None

    def requested(self, request: str | None) -> Receipt | None:
        """What was charged under a request id: a retry is planned as that was, whatever was spent since."""
        return self._ledger.requested(request) if request is not None else None

    def charged(self, query: str) -> Iterator[Receipt]:
        """What was charged for it, the newest first: what was answered, and what the caller has paid for."""
        for number in self.earlier.numbers(query):
            receipt = self._ledger.receipt(number)
            if receipt is None or receipt.order.query != query:
                continue
            if receipt.order.by == self._name or self._ledger.recall(number) is not None:
                yield receipt

    def is_new(self, request: str | None) -> bool:
        """Under a request id that was used before, the ledger has to judge."""
        return request is None or self._ledger.requested(request) is None

    def _same(self, query: str, detail: str) -> list[Receipt]:
        """The newest first."""
        found = map(self._ledger.receipt, self.earlier.numbers(query))
        return [receipt for receipt in found if receipt is not None and receipt.order.detail == detail]


class Walk:
    """Asked before, or paid for, read, given noise and kept, in this order; then it is shown."""

    def __init__(
        self,
        study: Study,
        engine: Engine,
        ledger: Ledger,
        bits: Bits,
        earlier: EarlierAnswers | None = None,
        observer: Observer | None = None,
    ) -> None:
        self.study, self._engine, self._ledger, self._bits = study, engine, ledger, bits
        self._data = Data(engine, observer)
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

    def _lefts_before_any(self, price: Price, key: str) -> list[int]:
        """The same, for every query whose receipt has this key."""
        if price.by != "share":
            return []
        found = self._ledger.find("query", key)
        return self._lefts_before(price, list(dict.fromkeys(receipt.order.query for receipt in found)))

    def _lefts_of(self, price: Price, charged: Iterable[Receipt]) -> list[int]:
        found = (left for receipt in charged for left in self._purse.lefts_of_share(receipt, price))
        return list(dict.fromkeys(islice(found, _MOST_SHARES)))

    def _walked(
        self,
        wanted: Release[_Kept],
        request: str | None,
        show: Callable[[Receipt, Callable[[], _Kept], bool], _Shown],
    ) -> _Shown:
        """``show`` gets the receipt, how to read what is kept, and whether it was free."""
        plan = wanted.plan
        key = KnownBy(plan.texts, plan.detail, plan.amount)
        if known := self._asked_before(key, request):
            receipt, text = known
            return show(receipt, partial(wanted.written.read, text), True)
        try:
            earlier = self._unanswered(key, request)
            paid = self._paid(plan, key, request, wanted.advice, earlier)
            released = release(paid, self._data, self._bits, wanted.written)
            return show(paid.receipt, released.read, not paid.fresh)
        except KeyboardInterrupt:
            last = self._unanswered(key, request) or self._ledger.requested(request or "")
            self.paid_for = last.number if last else self.paid_for
            raise Interrupted(self.paid_for, shared=self.study.shared_budget is not None) from None

    def _asked_before(self, plan: ReleaseKey, request: str | None = None) -> tuple[Receipt, str] | None:
        if not self._asked.is_new(request):
            return None
        return self._asked.repeated(plan.text, plan.detail, plan.amount)

    def _unanswered(self, plan: ReleaseKey, request: str | None) -> Receipt | None:
        """A receipt that paid for the very same before a crash, an interrupt or a failure of the engine."""
        if not self._asked.is_new(request):
            return None
        return self._asked.unanswered(plan.text, plan.detail, plan.amount)

    def _paid(
        self,
        plan: Plan,
        key: ReleaseKey,
        request: str | None,
        advice: Advice,
        earlier: Receipt | None = None,
        *,
        later: bool = False,
    ) -> Paid:
        """A charge; or the ``earlier`` one that paid for the same, and was never answered.

        ``later``: nothing is read at once.
        """
        priced = self._priced(plan.measurement, key.texts, key.detail)
        with self._purse.advising(advice):
            if earlier is None and self._asked.is_new(request):
                self._claims.refuse_beyond_cap(plan.radius)
            self._data.prepare(() if later else priced.readings)  # public facts: what is missing is found now
            if earlier is not None:
                paid = resume(self._ledger, priced, earlier)
            else:
                paid = charge(self._ledger, priced, request, self._population.cap)
        self.paid_for = paid.receipt.number
        return paid

    def _priced(self, measurement: AnyMeasurement, texts: tuple[str, ...], detail: str) -> Priced:
        return price(measurement, self.study.protection, Label(texts, detail))

    # What is charged once and fed later: monitors and PMW, which keep their state in the ledger.

    def _opened(self, plan: Plan, request: str | None, named: Price, planned: Planned) -> Comparisons:
        """Charged, and nothing read."""
        refuse_where_rounded(self.study, "what is opened once and fed later")
        paid = self._paid(plan, plan, request, (named, planned, 1), later=True)
        return Comparisons(paid, self._data, self._bits)

    def _opened_before(self, number: int, paid_for: Callable[[Receipt], AnyMeasurement]) -> Comparisons:
        """``paid_for``: what a receipt says that it paid for."""
        receipt = self._ledger.receipt(number)
        if receipt is None:
            raise InvalidRequest(f"there is no receipt {number}")
        order = receipt.order
        priced = self._priced(paid_for(receipt), order.texts, order.detail)
        return Comparisons(reopen(self._ledger, priced, receipt), self._data, self._bits)
