"""Charge, read, release, keep: the walk of everything that a priced holdout answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from adyton.errors import BudgetRefused, Interrupted, InvalidRequest, PrivacyRefused
from adyton.holdout.classes.uniform_plan import UniformPlan
from adyton.holdout.methods.gaussian import GaussianPlan
from adyton.holdout.methods.restoring import Plan, PricedPlan
from adyton.kernel.ledger import Ledger, Order, Receipt
from adyton.kernel.ledger.subjects import Kind, ReceiptSubject
from adyton.refusals import Refusal, refusal_of, refused

Release = Callable[[int], int | str]
Bought = tuple[Receipt, str, bool]


def bought(ledger: Ledger, plan: PricedPlan, query: str, release: Release, kind: Kind = "score") -> Bought:
    """Charge, then read and release, then keep; or the answer that was given before."""
    price, subject = plan.price, ReceiptSubject(kind)
    order = Order(query, plan.name, price, plan.radius, subject=subject)
    before = ledger.repeated(query, plan.name, price)
    if before is not None:
        return (*before, True)
    try:
        earlier = ledger.unanswered(query, plan.name, price)  # paid for before a crash
        receipt = earlier or ledger.charge(order).receipt
        released = release(receipt.number)
        return receipt, ledger.remember(receipt.number, str(released)), earlier is not None
    except PrivacyRefused as refusal:  # the ledger counts scores as it counts privacy
        facts = refusal_of(refusal)
        if facts is None or facts.by is None:
            raise used_up(ledger, plan) from None
        raise _own_part_used_up(facts) from None
    except KeyboardInterrupt:
        known = ledger.repeated(query, plan.name, price)
        paid = known[0] if known else ledger.unanswered(query, plan.name, price)
        raise Interrupted(paid.number if paid else None) from None


def scores_left(plan: PricedPlan, spent: int) -> int | None:
    """None: any number.  The last score takes all that was left."""
    return None if isinstance(plan, UniformPlan) else plan.scores - -(-spent // plan.price)


def closed_by(ledger: Ledger) -> Receipt | None:
    """The receipt of the last, exact score, if there was one."""
    found = ledger.find("last score", most=1)
    return found[0] if found else None


def used_up(ledger: Ledger, plan: PricedPlan) -> BudgetRefused:
    last = closed_by(ledger)
    return refused(no_score_left("scores", plan.scores, None if last is None else last.number))


def no_score_left(counted_in: str, budget: int, closed: int | None = None) -> Refusal:
    """One more than all of them; ``closed``: the receipt of the last score, without noise."""
    return Refusal(
        whose="holdout",
        asked_for="score",
        counted_in=counted_in,
        requested="1",
        spent=str(budget),
        budget=str(budget),
        largest="0",
        closed_by=closed,
    )


def _own_part_used_up(facts: Refusal) -> BudgetRefused:
    """In scores, whole ones: what is left of a part of one is none."""
    price = Fraction(facts.requested)
    spent, budget, largest = (
        str(int(Fraction(amount) / price)) for amount in (facts.spent, facts.budget, facts.largest)
    )
    return refused(
        replace(
            facts,
            whose="holdout",
            asked_for="score",
            counted_in="scores",
            requested="1",
            spent=spent,
            budget=budget,
            largest=largest,
        )
    )


# The last score: exact, because nothing adapts to it any more ----------------------------------------------


def with_a_last_score(plan: Plan) -> GaussianPlan:
    if not isinstance(plan, GaussianPlan):
        raise InvalidRequest("a last score without noise is given by the method 'gaussian', without groups")
    return plan


def last_bought(ledger: Ledger, plan: GaussianPlan, digest: str, read: Callable[[], int]) -> Bought:
    """One charge takes all that is left, so that the ledger itself refuses whatever comes after it.

    Of two processes that close at once one is charged; the other finds the holdout closed.
    Theorem: LAST-EXACT-SCORE.
    """
    query, mine = f"LAST {digest}", None
    try:
        receipt, mine = _closing(ledger, plan, query)
        kept = ledger.recall(receipt.number)
        if kept is not None:
            return receipt, kept, True
        return receipt, ledger.remember(receipt.number, str(read())), mine is None
    except KeyboardInterrupt:
        raise Interrupted(mine.number if mine else None) from None


def _closing(ledger: Ledger, plan: GaussianPlan, query: str) -> tuple[Receipt, Receipt | None]:
    """The receipt that closes the holdout, and once more if it was charged here."""
    while True:
        last = closed_by(ledger)
        if last is not None and last.order.query == query:
            return last, None
        left = ledger.header.budget - ledger.spent()
        if last is not None or left < plan.price:
            raise used_up(ledger, plan)
        try:
            last_score = ReceiptSubject("last score")
            made = ledger.charge(Order(query, plan.name, left, 0, unproved=True, subject=last_score)).receipt
            return made, made
        except PrivacyRefused as refusal:
            facts = refusal_of(refusal)
            if facts is not None and facts.by is not None:  # a part is never all that is left
                raise _only_a_part(plan, facts.by, left) from None
            continue  # somebody was first: with a score, or with the end


def _only_a_part(plan: GaussianPlan, by: str, left: int) -> BudgetRefused:
    whole = left // plan.price
    return refused(
        Refusal(
            whose="holdout",
            asked_for="last score",
            by=by,
            counted_in="scores",
            requested=str(whole),
            spent=str(plan.scores - whole),
            budget=str(plan.scores),
            largest="0",
        )
    )
