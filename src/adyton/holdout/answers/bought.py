"""Charge, read, release, keep: the walk of everything that a priced holdout answers."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from adyton.errors import Interrupted, InvalidRequest, PrivacyRefused, ScoresRefused
from adyton.holdout.classes.uniform_plan import UniformPlan
from adyton.holdout.methods.gaussian import GaussianPlan
from adyton.holdout.methods.restoring import Plan, PricedPlan
from adyton.kernel.ledger import Ledger, Order, Receipt
from adyton.kernel.ledger.subjects import Kind, ReceiptSubject

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
        raise (_own_part_used_up(refusal) if "by" in refusal.facts else used_up(ledger, plan)) from None
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


def used_up(ledger: Ledger, plan: PricedPlan) -> ScoresRefused:
    last = closed_by(ledger)
    many = f"all {plan.scores:,} scores of this holdout are used up"
    why = many if last is None else f"score {last.number:,} was the last of this holdout, without noise"
    return ScoresRefused(
        f"{why}; nothing was read and nothing was charged",
        requested="1",
        spent=str(plan.scores),
        limit=str(plan.scores),
        largest="0",
        counted_in="scores",
    )


def _own_part_used_up(refusal: PrivacyRefused) -> ScoresRefused:
    """In scores, whole ones: what is left of a part of one is none."""
    facts = refusal.facts
    price = Fraction(facts["requested"])
    counts = {name: str(int(Fraction(facts[name]) / price)) for name in ("spent", "limit", "largest")}
    return ScoresRefused(
        f"{facts['by']} has sent {counts['spent']} of the {counts['limit']} scores that are its part of this "
        "holdout; nothing was read and nothing was charged",
        requested="1",
        counted_in="scores",
        by=facts["by"],
        **counts,
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
            if "by" in refusal.facts:  # a part is never all that is left
                raise _only_a_part(plan, refusal, left) from None
            continue  # somebody was first: with a score, or with the end


def _only_a_part(plan: GaussianPlan, refusal: PrivacyRefused, left: int) -> ScoresRefused:
    by, whole = refusal.facts["by"], left // plan.price
    return ScoresRefused(
        f"the last score takes all {whole:,} scores that are left, and {by} has only a part of this holdout; "
        "nothing was read and nothing was charged",
        requested=str(whole),
        spent=str(plan.scores - whole),
        limit=str(plan.scores),
        largest="0",
        counted_in="scores",
        by=by,
    )
