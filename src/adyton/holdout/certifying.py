"""What a holdout says: scores, comparisons and budgets, of public facts and released numbers alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from adyton.certify import Certificate, Interval, Proof
from adyton.holdout.answers.best import ChosenModel, ModelChoice
from adyton.holdout.answers.bought import Bought
from adyton.holdout.classes.uniform_plan import UniformPlan
from adyton.holdout.facts import HoldoutFacts
from adyton.holdout.methods.base import Ends
from adyton.holdout.methods.baselines import SplitPlan, around
from adyton.holdout.methods.gaussian import GaussianPlan
from adyton.holdout.methods.gaussian_last import last_ends
from adyton.holdout.methods.restoring import Plan, PricedPlan
from adyton.holdout.methods.slices import SlicesPlan
from adyton.holdout.score import Comparison, HoldoutBudget, Score, Slice
from adyton.holdout.stages import TranscriptEntry
from adyton.kernel.exact import float_down, float_up
from adyton.kernel.exact.outward import next_down, next_up
from adyton.kernel.ledger import Receipt

_ASSUMPTIONS = (
    "the items are independent draws from the population",
    "nobody has learned anything about the labels except through these scores",
    "what is predicted for an item follows from that item alone, by a rule chosen without looking at the "
    "items, apart from earlier scores",
)
_OF_A_CLASS = (
    "the items are independent draws from one population",
    "the class was declared before they were seen",
)
_ORDER = "the order of the items says nothing about them"
_DISAGREE = (
    "for the size of a difference, not for which is better: in the population the two disagree as often as "
    "on these items"
)
_GROUPED = "for the mean over all groups: each group's share of the population is its share of these items"
_WEIGHED = "the population is the one in which items count as their weights say"


@dataclass(frozen=True, slots=True)
class Certifier:
    """Puts intervals, theorems and assumptions to what was released."""

    facts: HoldoutFacts
    plan: Plan

    @property
    def level(self) -> float:
        return float(self.facts.confidence)

    def staged(self, stage: TranscriptEntry, left: int | None) -> Score:
        reply = stage.reply
        sure = (
            None if reply.value is None or reply.half_width is None else around(reply.value, reply.half_width)
        )
        return self._score(stage.link, reply.value, sure, left, stage.repeated, said=reply.said)

    def priced(
        self, plan: PricedPlan, given: Sequence[tuple[Receipt, str]], left: int | None, *, repeated: bool
    ) -> list[Score]:
        """Scores as they were released; ``left`` is how many there are still to come."""
        if isinstance(plan, SlicesPlan):
            return [self._sliced(plan, receipt, text, left, repeated) for receipt, text in given]
        released = [int(text) for _, text in given]
        ends = plan.ends(released, [receipt.number for receipt, _ in given]) if given else []
        found = zip(given, released, ends, strict=True)
        return [self._score(_proof(r), plan.share(x), sure, left, repeated) for (r, _), x, sure in found]

    def last(self, plan: GaussianPlan, paid: Bought) -> Score:
        """The one without noise, after which nothing is scored.  Theorem: LAST-EXACT-SCORE."""
        receipt, text, repeated = paid
        exact = int(text)
        ends = last_ends(plan, exact, receipt.number)
        made = self._score(_proof(receipt), plan.share(exact), ends, 0, repeated, said="last")
        return replace(made, certificate=self.certificate("LAST-EXACT-SCORE"))

    def choice(self, found: ChosenModel, left: int | None) -> ModelChoice:
        """Of a choice without noise nothing is said beyond what all scores rest on."""
        receipt, _, repeated = found.paid
        theorems = ("CHOICE-AS-SCORES", "EXPONENTIAL-UTILITY") if found.within else ()
        return ModelChoice(
            found.winner,
            found.candidates,
            float_up(found.within * self.facts.unit),
            self.level,
            self.facts.metric.name,
            found.cost,
            left,
            receipt.number,
            _proof(receipt),
            self.certificate(*theorems),
            repeated,
        )

    def _score(
        self,
        link: Proof,
        value: Fraction | None,
        ends: Ends | None,
        left: int | None,
        repeated: bool,
        *,
        said: str = "score",
        slices: dict[str, Slice] | None = None,
    ) -> Score:
        return Score(
            None if value is None else self._shown(value),
            None if ends is None else self._interval(ends),
            left,
            link.number,
            said,
            self.facts.metric.name,
            link,
            self.certificate(),
            repeated,
            slices,
        )

    def comparison(
        self,
        plan: GaussianPlan,
        receipt: Receipt,
        difference: int,
        differing: int,
        left: int | None,
        *,
        repeated: bool,
    ) -> Comparison:
        """Of a difference that is positive if the first is better, in at most so many items.

        Theorem: PAIRED-COMPARISON.
        """
        unit, most = self.facts.unit, Fraction(differing, plan.frame.items)
        ((low, high),) = plan.difference_ends([difference], [receipt.number], differing)
        return Comparison(
            float(min(most, max(-most, plan.share(difference))) * unit),
            Interval(self.level, float_down(max(-most, low) * unit), float_up(min(most, high) * unit)),
            left or 0,
            receipt.number,
            _proof(receipt),
            self.certificate("PAIRED-COMPARISON"),
            repeated,
        )

    def budget(self, count: int, left: int | None, head: str, closed: bool = False) -> HoldoutBudget:
        facts = self.facts
        return HoldoutBudget(
            facts.metric.name,
            facts.method,
            facts.items,
            count,
            left,
            self._guaranteed(),
            self.level,
            head,
            self.certificate(),
            self._expected(),
            closed,
        )

    def _expected(self) -> float | None:
        """What the plan was made for, in the unit of scores."""
        expected = getattr(self.plan, "expected", None)
        return None if expected is None else float(expected * self.facts.unit)

    def certificate(self, *more: str) -> Certificate:
        theorems: tuple[str, ...] = (*self.plan.theorems, *more)
        assumed: tuple[str, ...] = _ASSUMPTIONS
        if isinstance(self.plan, SplitPlan):
            assumed += (_ORDER,)
        if isinstance(self.plan, SlicesPlan):
            assumed += (_GROUPED,)
        if isinstance(self.plan, UniformPlan):
            assumed = _OF_A_CLASS
        if "PAIRED-COMPARISON" in more:
            assumed += (_DISAGREE,)
        if self.facts.balanced:
            theorems = (*theorems, "WEIGHTED-SCORES")
        if self.facts.weights:
            theorems, assumed = (*theorems, "WEIGHTED-SCORES"), (*assumed, _WEIGHED)
        if self.facts.metric.name == "auc" and theorems:
            theorems = (*theorems, "AUC-BY-PAIRS")
        return Certificate(theorems, assumed)

    def _guaranteed(self) -> float | None:
        """How close to the population every score is."""
        plan, unit = self.plan, self.facts.unit
        if isinstance(plan, PricedPlan) or hasattr(plan, "half_width"):
            half = plan.half_width()
            return None if half is None else float_up(Fraction(half) * unit)
        if self.facts.tolerance is None or not plan.theorems:
            return None
        return float(self.facts.tolerance * unit)

    def _sliced(
        self, plan: SlicesPlan, receipt: Receipt, text: str, left: int | None, repeated: bool
    ) -> Score:
        ends, number = plan.slice_ends(text, receipt.number), receipt.number
        found = zip(plan.names, plan.shares(text), ends, plan.sizes, strict=True)
        slices = {name: Slice(self._shown(v), self._interval(sure), size) for name, v, sure, size in found}
        whole = plan.overall_ends(text, number)
        return self._score(_proof(receipt), plan.overall(text), whole, left, repeated, slices=slices)

    def _interval(self, ends: Ends) -> Interval:
        """In the unit of scores, outwards, and clipped to where the truth must be."""
        low, high = (min(Fraction(1), max(Fraction(0), end)) * self.facts.unit for end in ends)
        bottom, top = float_down(low), float_up(high)
        if self._root:
            bottom, top = max(0.0, next_down(math.sqrt(bottom))), next_up(math.sqrt(top))
        return Interval(self.level, bottom, top)

    def _shown(self, value: Fraction) -> float:
        """Clipped to where the truth must be: that can only bring it nearer."""
        found = float(min(Fraction(1), max(Fraction(0), value)) * self.facts.unit)
        return math.sqrt(found) if self._root else found

    @property
    def _root(self) -> bool:
        return self.facts.metric.name == "rmse"


def _proof(receipt: Receipt) -> Proof:
    return Proof(receipt.number, receipt.digest, receipt.previous)
