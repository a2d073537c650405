"""A reusable holdout: one hidden test set, scored again and again, and still right about the world.

As with a curator: check, charge, read, release, certify.  After a crash the same predictions are read again
under the receipt that paid for them.  The same predictions again get the same answer, free of charge.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from adyton.errors import InvalidRequest, LedgerCorrupt
from adyton.holdout.answers.best import Choosing, ModelChoice, named_models
from adyton.holdout.answers.bought import Scoring, closed_by, last_bought, with_a_last_score
from adyton.holdout.certifying import Certifier
from adyton.holdout.classes.hypotheses import HypothesisClass, applied, checked_class
from adyton.holdout.create import (
    Items,
    aim_of,
    checked_folder,
    file_named,
    given_items,
    make_files,
    range_of,
)
from adyton.holdout.facts import (
    HoldoutFacts,
    ledger_path,
    read_facts,
    read_features,
    read_labels,
)
from adyton.holdout.labels import LabelReader
from adyton.holdout.measures import Measures
from adyton.holdout.methods.gaussian import GaussianPlan
from adyton.holdout.methods.ladder import FreeLadderPlan, LadderPlan
from adyton.holdout.methods.options import Gaussian, Method, checked_method
from adyton.holdout.methods.restoring import PricedPlan, restore
from adyton.holdout.metrics import (
    HiddenLabels,
    Submission,
    check_predictions,
    differing,
    metric_named,
)
from adyton.holdout.score import Comparison, HoldoutBudget, Score
from adyton.holdout.scorer import Scorer, check_candidates, check_no_guess
from adyton.holdout.senders import Sender
from adyton.holdout.stages import Transcript
from adyton.kernel.exact import Number, rational
from adyton.kernel.ledger import Ledger, Receipt, SqliteLedger, Verification
from adyton.kernel.ledger.texts import check_head
from adyton.kernel.noise import Bits, SystemBits
from adyton.show import Sheet, Shown

if TYPE_CHECKING:
    from adyton.holdout.leaderboard import Leaderboard


class Holdout(Shown):
    """Made once by ``create``, used by ``open``.  It never copies or sends its labels.

    Scores say something about labels.  Where they have noise, they say little about each of them.  With a
    ``hypothesis_class`` scores can be exact and without end: then they reveal every label.

    >>> with adyton.Holdout.create(folder / "h.toml", labels=labels, tolerance="0.1") as holdout:
    ...     score = holdout.score(labels)
    >>> score.interval.low <= 1 <= score.interval.high
    True
    """

    __slots__ = (
        "__bits",
        "__certifier",
        "__features",
        "__key",
        "__labels",
        "__ledger",
        "__plan",
        "__scoring",
        "__stages",
        "facts",
        "path",
    )

    def __init__(
        self, path: Path, facts: HoldoutFacts, key: HiddenLabels, ledger: Ledger, bits: Bits
    ) -> None:
        self.path, self.facts = path, facts
        self.__plan = plan = restore(facts.frame, facts.method, facts.tolerance, facts.settings)
        self.__key, self.__ledger, self.__bits = key, ledger, bits
        measures = Measures(plan)
        self.__labels = labels = LabelReader(path, facts, key, measures.protection.unit.parts)
        self.__features = read_features(path, facts)
        self.__certifier = Certifier(facts, plan)
        self.__scoring = self.__stages = None
        if isinstance(plan, PricedPlan):
            self.__scoring = Scoring(plan, measures, labels, ledger, bits)
        else:
            self.__stages = Transcript(plan, measures, labels, ledger, bits)

    @classmethod
    def create(
        cls,
        path: str | Path,
        *,
        labels: object = None,
        items: int | None = None,
        metric: str = "accuracy",
        tolerance: Number | None = None,
        confidence: Number = "0.95",
        method: Method = Gaussian(),  # noqa: B008  (frozen)
        scores: int | None = None,
        low: Number | None = None,
        high: Number | None = None,
        error_high: Number | None = None,
        top: int | None = None,
        weights: object = None,
        hypothesis_class: HypothesisClass | str | None = None,
        features: object = None,
        scores_reveal_labels: bool = False,
        bits: Bits | None = None,
    ) -> Holdout:
        """Plan it, then write three files: public facts, labels (for the owner alone), and the ledger.

        With a ``hypothesis_class`` the ``features`` of the items are kept beside the labels, and what is
        scored are rules of that class, by their numbers.  If all rules of the class are within the tolerance,
        scores are exact and without end, and so **reveal the labels**: whoever may score can read all of them
        from one score more than there are items.  That needs ``scores_reveal_labels=True``.  If labels must
        stay private, leave the class out: scores have noise then, and the ledger limits their number.
        """
        file, method = file_named(path), checked_method(method)
        checked_folder(file)
        measured = metric_named(metric)
        given = given_items(measured, labels, items)
        bounds = range_of(measured, low, high, error_high, top)
        scored = Items(measured, bounds, *given, weights, checked_class(hypothesis_class), features)
        aim = aim_of(tolerance, scores, bounds.unit(measured))
        make_files(file, scored, method, aim, confidence, reveals=scores_reveal_labels)
        return cls.open(path, bits=bits)

    @classmethod
    def open(cls, path: str | Path, *, bits: Bits | None = None) -> Holdout:
        """The holdout in a file that ``create`` made, with the ledger that belongs to it."""
        path = file_named(path)
        facts = read_facts(path)
        labels = read_labels(path, facts)
        plan = restore(facts.frame, facts.method, facts.tolerance, facts.settings)
        if not ledger_path(path).exists():
            raise InvalidRequest(f"the ledger of {path.name} is missing; without it nothing is scored")
        ledger = SqliteLedger(ledger_path(path))
        try:
            made = facts.fingerprint(labels, read_features(path, facts))
            if ledger.header.study != made or ledger.header.budget != Measures(plan).budget:
                raise InvalidRequest(f"{path.name}, its labels and its ledger do not belong together")
            return cls(path, facts, HiddenLabels(labels), ledger, bits if bits is not None else SystemBits())
        except BaseException:
            ledger.close()
            raise

    @property
    def is_priced(self) -> bool:
        """Whether each score is charged; if not, all of them were when the holdout was made."""
        return self.__stages is None

    @property
    def needs_guess(self) -> bool:
        """Whether each score comes with a guess, as methods such as Thresholdout compare."""
        plan = self.__plan
        return not isinstance(plan, PricedPlan) and plan.needs_guess

    def through(self, view: Callable[[Ledger], Ledger]) -> Holdout:
        """The same holdout for somebody who uses its ledger in another way: under a name, for instance."""
        if not self.is_priced:
            raise InvalidRequest(
                f"the method {self.facts.method!r} is paid for at once: no part can be given"
            )
        return type(self)(self.path, self.facts, self.__key, view(self.__ledger), self.__bits)

    @property
    def ledger(self) -> Ledger:
        """What was charged.  Its header tells the right labels from wrong ones, so nobody else sees that."""
        return self.__ledger

    def score(self, predictions: object, *, guess: Number | None = None, by: str | None = None) -> Score:
        """The noisy value of the metric, and an interval for the population that holds for all scores.

        ``guess`` is what methods such as Thresholdout compare with: the score on the training data.
        ``by`` is who sent it: the name is kept with the score.
        """
        return self.__scored(predictions, guess, None if by is None else Sender.checked(by))

    def submit(
        self, entrant: str, predictions: object, *, guess: Number | None = None, name: str | None = None
    ) -> Score:
        """Score and enter on the leaderboard, as one model of ``entrant``, called ``name``.

        The same predictions count for the first who sent them, under the first name that they gave.
        """
        sender = Sender.checked(entrant, name)
        self.check_listed()
        return self.__scored(predictions, guess, sender)

    def leaderboard(self) -> Leaderboard:
        """Who is ahead, and who only seems to be: the holdout opened once more, to be closed by itself."""
        from adyton.holdout.leaderboard import Leaderboard  # which opens holdouts

        return Leaderboard(self.path)

    def compare(self, first: object, second: object) -> Comparison:
        """By how much the first predictions are better than the second, for the price of one score.

        The interval counts the items of which the two say different things; the noise is twice that of a
        score.
        Theorem: PAIRED-COMPARISON.
        """
        plan = self.__plan
        if not isinstance(plan, GaussianPlan) or self.__features is not None:
            raise InvalidRequest(
                "comparisons are made by the method 'gaussian', without groups and without a hypothesis class"
            )
        one, two = self.__checked(first), self.__checked(second)
        apart = self.__differing(one, two)
        swapped = one.digest > two.digest
        a, b = (two, one) if swapped else (one, two)
        scoring = self.__priced()
        gap = scoring.measures.compared(plan, scoring.labels.name(a, b))
        receipt, text, repeated = scoring.bought(f"COMPARE {a.digest} {b.digest}", gap)
        sign = (-1 if swapped else 1) * (1 if self.facts.metric.greater_is_better else -1)
        return self.__certifier.comparison(
            plan, receipt, sign * int(text), apart, self.__left(receipt, repeated), repeated=repeated
        )

    def best_of(self, models: object, *, X: Any = None, scores: int = 1) -> ModelChoice:  # noqa: N803
        """Which of several models is the best on these items, or nearly: for the price of ``scores`` scores.

        ``models`` are predictions by name, or, with the features ``X`` of the items, models that predict.
        Nothing else is released about any of them.  Theorem: CHOICE-AS-SCORES.
        """
        named = named_models(models, self.facts.metric.name, X)
        sent = {name: self.__checked(one) for name, one in named.items()}
        found = Choosing(self.__plan, self.__scoring, self.facts).best(sent, scores)
        return self.__certifier.choice(found, self.__left(found.paid[0], found.paid[2]))

    def close_with(self, predictions: object) -> Score:
        """The last score, without noise: nothing adapts to it any more, and afterwards nothing is scored.

        It takes whatever scores are left.  The same predictions again get the same answer.
        Theorem: LAST-EXACT-SCORE.
        """
        plan = with_a_last_score(self.__plan)
        submission = self.__checked(predictions)
        return self.__certifier.last(plan, last_bought(self.__priced(), submission))

    def check_listed(self) -> None:
        """InvalidRequest where the method keeps no list of scores, so that there are no ranks either."""
        if not isinstance(self.__plan, PricedPlan | LadderPlan | FreeLadderPlan):
            raise InvalidRequest(f"the method {self.facts.method!r} keeps no list of scores")

    def scores(self) -> list[Score]:
        """Every score so far, oldest first, also one that a crash kept from its asker.  Free of charge.

        Of a ladder those that improved it, because it says nothing about others.
        """
        self.check_listed()
        plan, stages = self.__plan, self.__stages
        if stages is not None:
            improved = [stage for stage in stages.history() if stage.reply.said == "improved"]
            return [self.__certifier.staged(stage, stages.left()) for stage in improved]
        assert isinstance(plan, PricedPlan)
        given = [(receipt, self.__ledger.recall(receipt.number)) for receipt in self.__ledger.receipts()]
        scored = [
            (receipt, text) for receipt, text in given if text is not None and receipt.order.kind == "score"
        ]
        left = self.__priced().left(self.__ledger.spent())
        found = self.__certifier.priced(plan, scored, left, repeated=True)
        newest = given[-1] if given else None
        if isinstance(plan, GaussianPlan) and newest and newest[1] is not None and closed_by(self.__ledger):
            found.append(self.__certifier.last(plan, (newest[0], newest[1], True)))
        return found

    def senders(self) -> dict[int, Sender]:
        """Who sent which score, by its number, as far as names were given."""
        if self.__stages is not None:
            return self.__stages.senders()
        scored = [r.number for r in self.__ledger.receipts() if r.order.kind == "score"]
        known = {number: Sender.of_notes(self.__ledger.notes(number)) for number in scored}
        return {number: sender for number, sender in known.items() if sender is not None}

    def answers(self) -> list[dict[str, Any]]:
        """What a staged method answered, as its answers are chained; empty where each score has a receipt."""
        return [] if self.__stages is None else self.__stages.answers()

    def scorer(self, *, candidates: int | None = None) -> Scorer:
        """For ``scoring=`` in scikit-learn: ``predict`` is called on the items, in their order.

        ``candidates`` is how many models will be tried: ScoresRefused now if fewer scores are left.
        """
        check_no_guess(self.facts.method, needed=self.needs_guess)
        check_candidates(candidates, self.budget().scores_left)
        return Scorer(self.path)

    def budget(self) -> HoldoutBudget:
        """How many scores are left, and how close to the population each of them is."""
        plan, ledger, stages = self.__plan, self.__ledger, self.__stages
        if stages is not None:
            return self.__certifier.budget(stages.count(), stages.left(), stages.heads()[-1])
        assert isinstance(plan, PricedPlan)
        left, closed = self.__priced().left(ledger.spent()), closed_by(ledger) is not None
        return self.__certifier.budget(ledger.count(), left, ledger.head(), closed)

    def sheet(self, verbose: bool = False) -> Sheet:
        """How far it is; no label is part of it."""
        return self.budget().sheet(verbose=verbose)

    def verify(self, head: str | None = None) -> Verification:
        """Replay the ledger; keep its head elsewhere and give it here to notice a rollback.

        Of a staged method, which one receipt has paid for, its answers count.
        """
        check_head(head)
        stages = self.__stages
        if stages is None:
            return self.__ledger.verify(head)
        found, heads = self.__ledger.verify(), stages.heads()
        if head not in (None, self.__ledger.header.digest, *heads):
            raise LedgerCorrupt(
                "the ledger was rolled back or exchanged: the expected head is not in its chain"
            )
        return replace(found, receipts=len(heads) - 1, head=heads[-1])

    def close(self) -> None:
        """Lets go of the ledger."""
        self.__ledger.close()

    # Steps of score, in the order in which they happen.

    def __scored(self, predictions: object, guess: Number | None, sender: Sender | None) -> Score:
        submission = self.__checked(predictions)
        stages = self.__stages
        if stages is None:
            if guess is not None:
                raise InvalidRequest(f"the method {self.facts.method!r} takes no guess")
            score = self.__one_score(submission)
            if sender is not None:
                self.__name(score.number, sender)
            return score
        expected = self.__guess(guess)
        stage = stages.ask(submission, expected, sender)
        return self.__certifier.staged(stage, stages.left())

    def __name(self, number: int, sender: Sender) -> None:
        """The first who sent it is kept, and the first name that this entrant gave the model."""
        if self.__ledger.annotate(number, 0, sender.note) or sender.model is None:
            return
        if self.__ledger.notes(number) == [sender.entrant]:
            self.__ledger.annotate(number, 1, sender.model)

    def __checked(self, predictions: object) -> Submission:
        facts = self.facts
        kind = checked_class(facts.hypothesis_class or None)
        if kind is not None and self.__features is not None:
            return applied(kind, predictions, self.__features)
        return check_predictions(facts.metric, facts.kind, facts.items, predictions, facts.range.top)

    def __guess(self, guess: Number | None) -> Fraction | None:
        plan = self.__plan
        assert not isinstance(plan, PricedPlan)
        if not plan.needs_guess:
            if guess is not None:
                raise InvalidRequest(f"the method {self.facts.method!r} takes no guess")
            return None
        if guess is None:
            raise InvalidRequest(f"the method {self.facts.method!r} needs a guess: the score that you expect")
        expected = rational(guess, "the guess")
        if not 0 <= expected <= self.facts.unit:
            raise InvalidRequest(f"the guess must be from 0 to {float(self.facts.unit):g}")
        return expected / self.facts.unit

    def __priced(self) -> Scoring:
        assert self.__scoring is not None
        return self.__scoring

    def __one_score(self, submission: Submission) -> Score:
        scoring = self.__priced()
        measurement = scoring.measures.scored(scoring.labels.name(submission))
        receipt, text, repeated = scoring.bought(f"SCORE {submission.digest}", measurement)
        left = self.__left(receipt, repeated)
        return self.__certifier.priced(scoring.plan, [(receipt, text)], left, repeated=repeated)[0]

    def __left(self, receipt: Receipt, repeated: bool) -> int | None:
        return self.__priced().left(self.__ledger.spent() if repeated else receipt.spent)

    def __differing(self, a: Submission, b: Submission) -> int:
        """In how many items of full weight they can differ at most, by what the submissions alone say."""
        facts, apart = self.facts, differing(a, b)
        if facts.metric.name == "rmse":
            raise InvalidRequest("roots are not compared: make the holdout with squared_error")
        if not apart.any():
            raise InvalidRequest("the two predict the same for every item: neither is better, free of charge")
        if self.__labels.weighted:  # unlike items: which of them differ is no fixed population
            return facts.frame.items
        return min(int(np.count_nonzero(apart)), facts.frame.items)

    def __repr__(self) -> str:
        facts = self.facts
        return f"<Holdout {self.path.name}: {facts.items:,} items, {facts.metric.name}, {facts.method}>"

    def __enter__(self) -> Holdout:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce_ex__(self, _protocol: object) -> NoReturn:
        raise InvalidRequest("a holdout is not pickled or copied: open it where it is needed")

    def __iter__(self) -> Iterator[object]:
        raise InvalidRequest("the labels of a holdout cannot be listed")
