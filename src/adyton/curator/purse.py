"""What a study has spent, what was paid for before, what is left, and what would still fit.

Which price would fit now is said in the words in which the asker named one that does not.  It is searched
for and then tried, from public facts alone: whoever names the price that is said, before anybody else is
answered, gets an answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, cached_property
from typing import Protocol, TypedDict, TypeVar

from adyton.arithmetic.search import edge, geometric
from adyton.certify import Amount, AmountLeft, Budget, Proof, RoundedGuarantee, Step
from adyton.curator.certifying import scales_of, sensitivity_of
from adyton.errors import BudgetRefused, InvalidRequest
from adyton.kernel.accounting.noisy_reading import NoisyReading
from adyton.kernel.exact import printed_up
from adyton.kernel.ledger import Ledger, Order, Receipt
from adyton.kernel.ledger.base import (
    InFront,
    counted,
    counted_totals,
    least_left,
    next_place,
    totals_after,
)
from adyton.kernel.ledger.links import Cap
from adyton.kernel.ledger.validity import FinalCost
from adyton.ledgers.shared_budget.ledger import shared_budget_ledger
from adyton.planning.odometer import read_odometer
from adyton.planning.plan import Outline, PricedBatch
from adyton.planning.price import Price
from adyton.population.base import Population
from adyton.query.text import fraction_text
from adyton.refusals import refusal_of, refused
from adyton.study import Study


class Charge(Protocol):
    """What something at a price costs."""

    @property
    def amount(self) -> int: ...

    @property
    def radius(self) -> int: ...


Planned = Callable[[Price], Charge]
Advice = tuple[Price, Planned, int]  # the price that was named, what others would cost, and how many plans
_MANY = 100  # plans of a batch, which take a while to make
Fits = dict[str, object]  # {"within": "435"}, or {"within": {"n": "100", "avg_income": "500"}}
_Plan = TypeVar("_Plan")
Over = Callable[[Price], float]  # how many times more a price would spend than is left

_DIGITS = 3
_WIDER, _NEAR, _ROUGH = 1.02, 0.001, 0.1
_ROUNDS = 30
_JUST_OVER = 1 + 1e-9
_LEAST_DECIMAL = Fraction(1, 10**9)
_OVERTAKEN = 64  # charges of others between a plan and its own
_ROUGHLY = 2  # times what was charged is at least what a share of that comes to
_ROUNDED = 10**9  # by a part of so many a charge may be above the share that was named for it


# What is left ----------------------------------------------------------------------------------------------


class Account(TypedDict):
    """What is said of the budget beside any charge."""

    cost: Amount
    spent: Amount
    left: AmountLeft
    budget: RoundedGuarantee


class ChargeFacts(Account):
    """What is said of the charge of any release."""

    receipt: Proof
    repeated: bool


class Purse:
    """Looks at the ledger, and never charges."""

    def __init__(self, study: Study, ledger: Ledger, population: Population) -> None:
        self.study, self._ledger, self._population = study, ledger, population

    @cached_property
    def guarantee(self) -> RoundedGuarantee:
        """The guarantee: fixed when the study was made, whatever is asked."""
        return RoundedGuarantee(printed_up(self.study.budget.epsilon), printed_up(self.study.budget.delta))

    def amount(self, units: int) -> Amount:
        return Amount(self.study.accounting, units, self._ledger.header.budget)

    def left(self, spent: int) -> AmountLeft:
        budget = self._ledger.header.budget
        return AmountLeft(self.study.accounting, budget - spent, budget)

    def step(self, noisy: NoisyReading) -> Step:
        """A reading and its noise."""
        drawn = f" ({noisy.times} comparisons)" if noisy.times > 1 else ""
        return Step(
            value=noisy.reading.name,
            mechanism=noisy.mechanism.name + drawn,
            scales=scales_of(noisy),
            sensitivity=sensitivity_of(noisy),
            cost=self.amount(noisy.amount(self.study.rule)),
        )

    @property
    def spent(self) -> int:
        return self._ledger.totals().spent

    @property
    def left_now(self) -> int:
        return self.left_after(self.spent)

    def left_after(self, spent: int) -> int:
        """Where units are split, by the study's reckoning; a shared budget may have less.

        Shares of it never take the unit that opening a reserve costs.
        """
        return max(0, least_left(self._ledger, self._ledger.left(spent) - self._kept))

    def left_before(self, receipt: Receipt, price: Price) -> int:
        """What was left to whoever was charged this receipt, before it: a share was a share of that.

        If that share is too small for the charge, others were charged after it was planned, and before it.
        """
        lefts, amount = self._lefts_before(receipt, self._most), receipt.order.amount
        first = next(lefts)
        if price.by != "share" or self.study.parts > 1:
            return first
        least = amount - amount // _ROUNDED
        return next((left for left in (first, *lefts) if price.amount * left >= least), first)

    def lefts_of_share(self, receipt: Receipt, price: Price) -> Iterator[int]:
        """What was left before it, if it may be what this share of that was charged, to whomever."""
        if price.by != "share" or self.study.parts > 1:
            return
        amount = receipt.order.amount
        for most in dict.fromkeys((self._most, None)):
            lefts = list(self._lefts_before(receipt, most))
            least = amount - amount // _ROUNDED
            left = next((left for left in lefts if price.amount * left >= least), 0)
            if price.amount * left <= _ROUGHLY * amount:
                yield left

    @property
    def _most(self) -> int | None:
        """What one charge of whoever asks may be at most, if not all that is left."""
        return self._ledger.most_at_once if isinstance(self._ledger, InFront) else None

    def _lefts_before(self, receipt: Receipt, most: int | None) -> Iterator[int]:
        """Before it, then before each of those that were charged just before it; to somebody who may be
        charged at most so much at once.
        """
        ledger, own = self._ledger, receipt
        for number in range(receipt.number, max(0, receipt.number - _OVERTAKEN), -1):
            last = receipt if number == receipt.number else ledger.receipt(number)
            if last is None:
                return
            own = last if last.order.by == receipt.order.by else own
            left = ledger.header.budget - last.spent + last.order.amount
            if receipt.budget_share is not None:
                left = min(left, receipt.budget_share - own.spent_by + own.order.amount)
            if most is not None and receipt.order.amount <= most:  # or it was another one then
                left = min(left, most)
            amount = last.order.amount
            yield max(0, least_left(ledger, left - self._kept - amount, last) + amount)

    @property
    def _kept(self) -> int:
        """What no share is taken of."""
        beyond = self._ledger.header.budget - self.study.allowed if self.study.parts > 1 else 0
        return beyond + (self.study.reserve is not None)

    @property
    def next_place(self) -> int:
        """The number by which the next receipt gets a share of delta for keys."""
        return next_place(self._ledger)

    def room(self, last: Receipt | None = None) -> Room:
        """What was free after the ``last`` receipt, or is now."""
        if last is None:
            own, now = self._ledger.totals(), counted_totals(self._ledger)
        else:
            own, now = (
                totals_after(one, FinalCost(one.order.radius)) for one in (last, counted(self._ledger, last))
            )
        cap = self._population.cap or Cap()
        return Room(
            least_left(self._ledger, self._ledger.left(own.spent), last),
            cap.radius - now.radius if cap.radius is not None else None,
            cap.queries - now.receipts if cap.queries is not None else None,
        )

    def account(self, amount: int, spent: int | None = None) -> Account:
        """A charge, what is spent, now or after it, and what that leaves."""
        spent = self.spent if spent is None else spent
        return {
            "cost": self.amount(amount),
            "spent": self.amount(spent),
            "left": self.left(spent),
            "budget": self.guarantee,
        }

    def paid(self, receipt: Receipt, *, repeated: bool) -> ChargeFacts:
        """What a receipt paid, and what that leaves; nothing where it was paid before."""
        account = self.account(0) if repeated else self.account(receipt.order.amount, receipt.spent)
        proof = Proof(receipt.number, receipt.digest, receipt.previous)
        return {**account, "receipt": proof, "repeated": repeated}

    def times_again(self, order: Order, last: Receipt | None = None) -> int:
        """How many like this, which was paid for, would fit: of other units, each for the least charge."""
        return self.room(last).times(order.amount if self.study.parts == 1 else 1, order.radius)

    def budget(self) -> Budget:
        """What has been spent, and what is left."""
        totals = self._ledger.totals()
        cap, certified = self._population.certified
        last = self._ledger.receipt(totals.receipts) if totals.receipts else None
        if last is not None and last.order.kind in ("carried", "reserve opening"):
            last = None  # nobody asks such a one again
        reserve = None
        if self.study.reserve is not None:
            from adyton.population.reserve import said_of

            reserve = said_of(self.study, self._ledger)
        return Budget(
            spent=self.amount(totals.spent),
            left=self.left(totals.spent),
            guarantee=self.guarantee,
            queries=totals.receipts,
            more=self.times_again(last.order) if last else None,
            odometer=read_odometer(self.study, totals.spent),
            stability=counted_totals(self._ledger).radius if cap is not None else None,
            stability_cap=cap,
            certified_queries=certified,
            bits=totals.radius if self.study.grid is not None else None,
            reserve=reserve,
            shared_budget=shared_budget.share
            if (shared_budget := shared_budget_ledger(self._ledger)) is not None
            else None,
        )

    def repriced(self, batch: PricedBatch) -> Planned:
        """The same queries at other prices; what does not depend on the price is made once, if at all."""
        outline = cache(lambda: Outline.of(self.study, batch.requests))
        return lambda price: outline().priced(price, self.left_now).after(self.spent)

    def fitting(self, advice: Advice) -> Fits | None:
        """The price that would fit now, where the one that was named does not."""
        (price, planned, plans), room = advice, self.room()

        def over(tried: Price) -> float:
            made = planned(tried)
            return room.over(made.amount, made.radius)

        return fitting_price(price, over, rough=plans > _MANY)

    @contextmanager
    def advising(self, advice: Advice) -> Iterator[None]:
        """A refusal says what would fit."""
        try:
            yield
        except BudgetRefused as refusal:
            facts, by = refusal_of(refusal), advice[0].by
            assert facts is not None
            raise refused(facts.fitting(self.fitting(advice), None if by == "units" else by)) from None


def plan_as_charged(
    planned: Callable[[int], _Plan], left: int, lefts_before: Iterable[int], was_paid: Callable[[_Plan], bool]
) -> _Plan:
    """A share is of what is left now; or of what was left before a charge, if that was for this very plan:
    then what it paid for is meant.
    """
    for before in lefts_before:
        with suppress(InvalidRequest, BudgetRefused):
            plan = planned(before)
            if was_paid(plan):
                return plan
    return planned(left)


# Which price would fit -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Room:
    """What is free: of the budget, and of stability and queries where charges beyond them are refused."""

    left: int
    radius: int | None = None
    queries: int | None = None

    def times(self, amount: int, radius: int) -> int:
        """How many charges of this amount and radius fit."""
        fitting = [self.left // max(amount, 1)]
        fitting += [self.radius // max(radius, 1)] if self.radius is not None else []
        fitting += [self.queries] if self.queries is not None else []
        return max(0, min(fitting))

    def over(self, amount: int, radius: int) -> float:
        """How many times more than is free; at most 1 if it fits."""
        if self.times(amount, radius) > 0:
            return 1.0
        if self.left < 1 or self.queries == 0 or (self.radius is not None and self.radius < 1):
            return math.inf
        return max(amount / self.left, radius / self.radius if self.radius else 0.0, _JUST_OVER)


def fitting_price(price: Price, over: Over, *, rough: bool = False) -> Fits | None:
    """The narrowest width or scale, or the largest epsilon or share, that fits; None if none was found.

    ``rough``: a few per cent from it will do, because every trial takes long.
    """
    wider = price.by in ("within", "scale")
    start = price
    if price.by in ("share", "units"):  # what a plan names nobody can name, but a share
        start = replace(price, by="share", amount=Fraction(1))
    excess = _tried(start, over)
    if excess <= 1 and start is not price:
        return {"share": "1"}
    if not 1 < excess < math.inf:
        return None
    factor = _searched(lambda times: _tried(_scaled(start, times), over), excess, wider, rough)
    return None if factor is None else _readable(start, factor, over, wider=wider)


def _searched(over: Callable[[float], float], excess: float, wider: bool, rough: bool) -> float | None:
    """A factor that fits, nearly the nearest to 1.

    What a width costs falls with its square, or in proportion, or not at all while a count stays within one
    step: so every trial says how far the next one goes.
    """
    near, far, power = 1.0, 1.0, 2.0
    for _ in range(_ROUNDS):
        step = excess ** (1 / power) * _WIDER
        near, far, before = far, far * step, excess
        excess = over(far if wider else 1 / far)
        if excess <= 1:
            break
        if math.isinf(excess):
            return None
        power = min(2.0, max(0.5, math.log(before / excess) / math.log(step)))
    else:
        return None

    def fits(factor: float) -> bool:
        return over(factor if wider else 1 / factor) <= 1

    found: float = edge(fits, far, near, close=_ROUGH if rough else _NEAR, middle=geometric)
    return found if wider else 1 / found


def _readable(price: Price, factor: float, over: Over, *, wider: bool) -> Fits | None:
    """In three digits, as near as they allow, and tried as it will be read."""
    for times, up in (
        (factor, not wider),
        (factor, wider),
        (factor * (_WIDER if wider else 1 / _WIDER), wider),
    ):
        near = _scaled(price, times)
        if price.each:
            each = tuple((name, _rounded(near.of(name), up=up)) for name, _ in price.each)
            if _tried(replace(price, each=each), over) <= 1:
                return {price.by: {name: _written(width) for name, width in each}}
        else:
            rounded = replace(near, amount=_rounded(near.amount, up=up))
            if _tried(rounded, over) <= 1:
                return {price.by: _written(rounded.amount)}
    return None


def _scaled(price: Price, times: float) -> Price:
    return replace(price, amount=price.amount * Fraction(times))


def _tried(price: Price, over: Over) -> float:
    try:
        return over(price)
    except InvalidRequest:
        return math.inf  # no noise can be found for such a price


def _rounded(value: Fraction, *, up: bool) -> Fraction:
    step = Fraction(10) ** (math.floor(math.log10(value)) - _DIGITS + 1)
    return (math.ceil(value / step) if up else math.floor(value / step)) * step


def _written(value: Fraction) -> str:
    return fraction_text(value) if value >= _LEAST_DECIMAL else f"{float(value):.{_DIGITS - 1}e}"
