"""The last score of a holdout: exact, because nothing adapts to it any more."""

from __future__ import annotations

from collections.abc import Callable

from adyton.errors import Interrupted, InvalidRequest, PrivacyRefused
from adyton.holdout.answers.bought import LAST, Bought, closed_by, used_up
from adyton.holdout.methods.gaussian import GaussianPlan
from adyton.holdout.methods.restoring import Plan, PricedPlan
from adyton.ledger import Ledger, Order, Receipt


def with_a_last_score(plan: Plan | PricedPlan) -> GaussianPlan:
    if not isinstance(plan, GaussianPlan):
        raise InvalidRequest("a last score without noise is given by the method 'gaussian', without groups")
    return plan


def last_bought(ledger: Ledger, plan: GaussianPlan, digest: str, read: Callable[[], int]) -> Bought:
    """One charge takes all that is left, so that the ledger itself refuses whatever comes after it.

    Of two processes that close at once one is charged; the other finds the holdout closed.
    Theorem: LAST-EXACT-SCORE.
    """
    question, mine = f"{LAST}{digest}", None
    try:
        receipt, mine = _closing(ledger, plan, question)
        kept = ledger.recall(receipt.number)
        if kept is not None:
            return receipt, kept, True
        return receipt, ledger.remember(receipt.number, str(read())), mine is None
    except KeyboardInterrupt:
        raise Interrupted(mine.number if mine else None) from None


def _closing(ledger: Ledger, plan: GaussianPlan, question: str) -> tuple[Receipt, Receipt | None]:
    """The receipt that closes the holdout, and once more if it was charged here."""
    while True:
        last = closed_by(ledger)
        if last is not None and last.order.question == question:
            return last, None
        left = ledger.header.limit - ledger.spent()
        if last is not None or left < plan.price:
            raise used_up(ledger, plan)
        try:
            made = ledger.charge(Order(question, plan.name, left, 0, unproved=True)).receipt
            return made, made
        except PrivacyRefused:  # somebody was first: with a score, or with the end
            continue
