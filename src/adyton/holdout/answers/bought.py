"""Charge, read, release, keep: the walk of everything that a priced holdout answers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from adyton.errors import BudgetRefused, Interrupted, InvalidRequest, PrivacyRefused
from adyton.holdout.classes.uniform_plan import UniformPlan
from adyton.holdout.labels import LabelReader
from adyton.holdout.measures import Measures, ScoreTexts
from adyton.holdout.methods.gaussian import GaussianPlan
from adyton.holdout.methods.restoring import Plan, PricedPlan
from adyton.holdout.methods.slices import SlicesPlan
from adyton.holdout.metrics import Submission
from adyton.kernel.data import Data
from adyton.kernel.ledger import Ledger, Receipt
from adyton.kernel.measurement import AnyMeasurement
from adyton.kernel.noise import Bits
from adyton.kernel.paid import Paid, charge, resume
from adyton.kernel.price import Priced
from adyton.kernel.release import release
from adyton.refusals import Refusal, refusal_of, refused

Bought = tuple[Receipt, str, bool]


@dataclass(frozen=True, slots=True)
class Scoring:
    """All that a priced method needs: whose labels, which ledger, and how the kernel measures."""

    plan: PricedPlan
    measures: Measures
    labels: LabelReader
    ledger: Ledger
    bits: Bits

    def bought(self, query: str, measurement: AnyMeasurement) -> Bought:
        """Charge, then read and release, then keep; or the answer that was given before."""
        ledger, plan, price = self.ledger, self.plan, self.measures.amount
        before = ledger.repeated(query, plan.name, price)
        if before is not None:
            return (*before, True)
        priced = self.measures.priced(measurement, query)
        try:
            earlier = ledger.unanswered(query, plan.name, price)  # paid for before a crash
            paid = charge(ledger, priced) if earlier is None else resume(ledger, priced, earlier)
            return paid.receipt, self.released(paid), earlier is not None
        except PrivacyRefused as refusal:  # the ledger counts scores as it counts privacy
            facts = refusal_of(refusal)
            if facts is None or facts.by is None:
                raise used_up(self) from None
            raise _own_part_used_up(facts) from None
        except KeyboardInterrupt:
            known = ledger.repeated(query, plan.name, price)
            paid_for = known[0] if known else ledger.unanswered(query, plan.name, price)
            raise Interrupted(paid_for.number if paid_for else None) from None

    def released(self, paid: Paid) -> str:
        texts = ScoreTexts(listed=isinstance(self.plan, SlicesPlan))
        return release(paid, Data(self.labels), self.bits, texts).read()

    def left(self, spent: int) -> int | None:
        """In scores; None: any number.  The last score takes all that was left."""
        plan = self.plan
        return None if isinstance(plan, UniformPlan) else plan.scores - -(-spent // self.measures.amount)


def closed_by(ledger: Ledger) -> Receipt | None:
    """The receipt of the last, exact score, if there was one."""
    found = ledger.find("last score", most=1)
    return found[0] if found else None


def used_up(scoring: Scoring) -> BudgetRefused:
    last = closed_by(scoring.ledger)
    return refused(no_score_left("scores", scoring.plan.scores, None if last is None else last.number))


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


def last_bought(scoring: Scoring, submission: Submission) -> Bought:
    """One charge takes all that is left, so that the ledger itself refuses whatever comes after it.

    Of two processes that close at once one is charged; the other finds the holdout closed.
    Theorem: LAST-EXACT-SCORE.
    """
    measures, mine = scoring.measures, None
    measurement = measures.last(scoring.labels.name(submission))
    priced = measures.priced(measurement, f"LAST {submission.digest}")
    try:
        paid, mine = _closing(scoring, priced)
        kept = scoring.ledger.recall(paid.receipt.number)
        if kept is not None:
            return paid.receipt, kept, True
        return paid.receipt, scoring.released(paid), mine is None
    except KeyboardInterrupt:
        raise Interrupted(mine.number if mine else None) from None


def _closing(scoring: Scoring, priced: Priced) -> tuple[Paid, Receipt | None]:
    """What closes the holdout, and once more its receipt if it was charged here."""
    ledger, amount = scoring.ledger, scoring.measures.amount
    while True:
        last = closed_by(ledger)
        if last is not None and last.order.query == priced.label.query:
            return resume(ledger, priced, last), None
        left = ledger.header.budget - ledger.spent()
        if last is not None or left < amount:
            raise used_up(scoring)
        try:
            paid = charge(ledger, priced)
            return paid, paid.receipt
        except PrivacyRefused as refusal:
            facts = refusal_of(refusal)
            if facts is not None and facts.by is not None:  # a part is never all that is left
                raise _only_a_part(scoring, facts.by, left) from None
            continue  # somebody was first: with a score, or with the end


def _only_a_part(scoring: Scoring, by: str, left: int) -> BudgetRefused:
    plan, whole = scoring.plan, left // scoring.measures.amount
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
