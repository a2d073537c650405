"""Which of several models is the best: a choice costs as little as one score, whatever their number."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

from adyton.certify import Certificate, Proof
from adyton.documents import Document
from adyton.errors import InvalidRequest
from adyton.holdout.answers.bought import Bought, Scoring, used_up
from adyton.holdout.classes.uniform_plan import UniformPlan
from adyton.holdout.facts import HoldoutFacts
from adyton.holdout.methods.choosing import choosing_rate
from adyton.holdout.methods.gaussian import GaussianPlan
from adyton.holdout.methods.restoring import Plan
from adyton.holdout.metrics import Submission
from adyton.holdout.scorer import predicted
from adyton.kernel.exact import whole
from adyton.kernel.ledger import Ledger
from adyton.kernel.ledger.base import InFront
from adyton.noise_intervals.selections import exponential_chance, largest_shortfall
from adyton.refusals import Refusal, refused
from adyton.show import Sheet, Shown

_MOST_MODELS = 100_000
_MOST_SCORES = 1000


@dataclass(frozen=True, slots=True)
class ModelChoice(Shown, Document):
    """The name of the winner, and how much worse than the best of them it can be on these items.

    ``within`` is in the unit of scores and holds with ``confidence``; 0 where the choice is exact.  ``cost``
    is in scores.
    """

    winner: str
    candidates: int
    within: float
    confidence: float
    metric: str
    cost: int
    scores_left: int | None
    number: int
    receipt: Proof
    certificate: Certificate
    repeated: bool = False

    json_keys = (
        "winner candidates within confidence metric cost scores_left number repeated receipt certificate"
    )

    def sheet(self, verbose: bool = False) -> Sheet:
        near = f"at most {self.within:.3g} worse than the best, {100 * self.confidence:.10g} %"
        rows = (
            ("chosen", self.winner),
            ("among", f"{self.candidates:,} models"),
            (self.metric, near if self.within else "the best of them"),
            ("cost", f"{self.cost:,} score{'' if self.cost == 1 else 's'}"),
            ("scores left", "open" if self.scores_left is None else f"{self.scores_left:,}"),
        )
        notes = (
            "On these items: a score of the winner says what it is worth in the population.",
            f"Theorems: {', '.join(self.certificate.theorems)}.",
            *["The same choice as before: the same answer, free of charge."] * self.repeated,
        )
        return Sheet("Best of several models", ("", ""), rows, notes)


def named_models(models: object, metric: str, X: Any) -> dict[str, Any]:  # noqa: N803
    """Predictions by name; made here of models that predict, if there are features of the items."""
    if not isinstance(models, Mapping) or not all(isinstance(name, str) for name in models):
        raise InvalidRequest('models are given by name: best_of({"small": ..., "large": ...})')
    if not 2 <= len(models) <= _MOST_MODELS:
        raise InvalidRequest(f"a choice is among 2 to {_MOST_MODELS:,} models, not {len(models):,}")
    if X is None:
        return dict(models)
    return {name: predicted(metric, model, X) for name, model in models.items()}


class ChosenModel(NamedTuple):
    """``within`` is a part of the range of a score, 0 of a choice without noise; ``cost`` is in scores."""

    winner: str
    within: Fraction
    cost: int
    candidates: int
    paid: Bought


@dataclass(frozen=True, slots=True)
class Choosing:
    """Chooses among submissions."""

    plan: Plan
    scoring: Scoring | None  # None: the method is paid for at once
    facts: HoldoutFacts

    def best(self, sent: dict[str, Submission], cost: int) -> ChosenModel:
        """By noise in the place of so many scores; exactly, where all scores are exact."""
        if self.facts.metric.name == "rmse":
            raise InvalidRequest("roots are not compared: make the holdout with squared_error")
        if whole(cost, "what a choice may cost, in scores,") > _MOST_SCORES:
            raise InvalidRequest(f"a choice may cost at most {_MOST_SCORES:,} scores")
        match self.plan, self.scoring:
            case UniformPlan(), Scoring() as scoring:
                return _exactly(scoring, sent)
            case GaussianPlan() as plan, Scoring() as scoring:
                return self._noisily(plan, scoring, sent, cost)
        raise InvalidRequest(
            "a choice is made by the method 'gaussian', without groups, or of a hypothesis class"
        )

    def _noisily(
        self, plan: GaussianPlan, scoring: Scoring, sent: dict[str, Submission], cost: int
    ) -> ChosenModel:
        """In the order of digests, which is the same for everybody; those that say the same are one.

        All places are paid for before anything is read; the last one keeps the winner.
        Theorem: CHOICE-AS-SCORES.
        """
        names = {one.digest: name for name, one in sent.items()}
        digests, of = sorted(names), {one.digest: one for one in sent.values()}
        if len(digests) < 2:
            raise InvalidRequest("all of them predict the same: there is nothing to choose, free of charge")
        which = hashlib.sha256(" ".join(digests).encode()).hexdigest()
        *parts, last = (f"BEST {part}/{cost} {which}" for part in range(1, cost + 1))
        _refuse_beyond(scoring, plan, [*parts, last])
        known = [scoring.labels.name(of[digest]) for digest in digests]
        place = scoring.measures.voted(plan, known)
        places = [scoring.bought(part, place)[0].number for part in parts]
        paid = scoring.bought(last, scoring.measures.voted(plan, known, places))
        rate = choosing_rate(plan, (*places, paid[0].number))
        within = _shortfall(rate, len(digests), self.facts.confidence)
        share = min(Fraction(within, plan.frame.whole), Fraction(1))
        return ChosenModel(names[digests[int(paid[1])]], share, cost, len(digests), paid)


def _exactly(scoring: Scoring, sent: dict[str, Submission]) -> ChosenModel:
    """Scores of rules of a class are exact, and there are as many as one likes."""

    def scored(one: Submission) -> Bought:
        return scoring.bought(f"SCORE {one.digest}", scoring.measures.scored(scoring.labels.name(one)))

    found = {name: scored(one) for name, one in sent.items()}
    winner = max(found, key=lambda name: int(found[name][1]))
    return ChosenModel(winner, Fraction(0), len(found), len(found), found[winner])


def _refuse_beyond(scoring: Scoring, plan: GaussianPlan, queries: Sequence[str]) -> None:
    """Before one is charged: a choice that cannot be paid for would use up all that is left."""
    ledger, amount = scoring.ledger, scoring.measures.amount
    orders = [(query, plan.name, amount) for query in queries]
    paid = [ledger.repeated(*order) or ledger.unanswered(*order) for order in orders]
    missing, spent = paid.count(None), ledger.spent()
    in_all = scoring.left(spent) or 0
    if missing and in_all < 1:
        raise used_up(scoring)
    left = min(in_all, _left_to_asker(ledger, amount, spent))
    by = ledger.name if isinstance(ledger, InFront) else None
    if missing > left:
        raise refused(
            Refusal(
                whose="holdout",
                asked_for="choice",
                by=by if left < in_all else None,
                counted_in="scores",
                requested=str(missing),
                spent=str(plan.scores - in_all),
                budget=str(plan.scores),
                largest=str(left),
            )
        )


def _left_to_asker(ledger: Ledger, amount: int, spent: int) -> int:
    """In scores: whoever asks may have a part of the holdout alone, or a number of charges."""
    left = max(0, ledger.left(spent)) // amount
    charges = ledger.charges_left() if isinstance(ledger, InFront) else None
    return left if charges is None else min(left, charges)


def _shortfall(rate: Fraction, candidates: int, confidence: Fraction) -> int:
    """In steps.  Theorem: EXPONENTIAL-UTILITY."""
    return largest_shortfall(lambda c: exponential_chance(rate, Fraction(c), candidates), confidence)
