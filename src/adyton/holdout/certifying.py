"""What a holdout says: scores, comparisons and statements, of public facts and released numbers alone."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from adyton.certify import Certificate, Interval, Proof
from adyton.exact import float_down, float_up
from adyton.holdout.baselines import Split
from adyton.holdout.facts import Facts
from adyton.holdout.gaussian import Gaussian
from adyton.holdout.plans import Plan, PricedPlan
from adyton.holdout.score import Comparison, HoldoutStatement, Score, Slice
from adyton.holdout.slices import Slices
from adyton.holdout.stages import Stage
from adyton.ledger import Receipt

_ASSUMPTIONS = (
    "the items are independent draws from the population",
    "nobody has learned anything about the labels but through these scores",
    "what is predicted for an item follows from that item alone, by a rule chosen without looking at the "
    "items, but for earlier scores",
)
_ORDER = "the order of the items says nothing about them"
_GROUPED = (
    "of the mean over all groups: they have the shares in the population that they have among these items"
)
_WEIGHED = "the population is the one in which items count as their weights say"


@dataclass(frozen=True, slots=True)
class Certifier:
    """Puts intervals, theorems and assumptions to what was released."""

    facts: Facts
    plan: Plan | PricedPlan

    @property
    def level(self) -> float:
        return float(self.facts.confidence)

    def staged(self, stage: Stage, left: int | None) -> Score:
        reply = stage.reply
        return Score(
            None if reply.value is None else _shown(reply.value),
            None if reply.value is None else self._interval(reply.value, reply.half_width),
            left,
            stage.link.number,
            reply.said,
            self.facts.metric.name,
            stage.link,
            self.certificate(),
            stage.repeated,
        )

    def priced(self, plan: PricedPlan, receipt: Receipt, text: str, count: int, *, repeated: bool) -> Score:
        """``count`` is how many scores have been charged by now."""
        slices = self._sliced(plan, text) if isinstance(plan, Slices) else None
        if isinstance(plan, Slices):
            value, half = plan.overall(plan.shares(text)), plan.overall_width()
        else:
            value, half = plan.share(int(text)), plan.half_width(receipt.number)
        return Score(
            _shown(value),
            self._interval(value, half),
            plan.scores - count,
            receipt.number,
            "score",
            self.facts.metric.name,
            _proof(receipt),
            self.certificate(),
            repeated,
            slices,
        )

    def comparison(
        self, plan: Gaussian, receipt: Receipt, difference: int, count: int, *, repeated: bool
    ) -> Comparison:
        """Of a difference that is positive if the first is better.  Theorem: PAIRED-COMPARISON."""
        value, half = plan.share(difference), 2 * Fraction(plan.half_width(receipt.number))
        return Comparison(
            float(min(Fraction(1), max(Fraction(-1), value))),
            Interval(self.level, *_ends(value - half, value + half, Fraction(-1))),
            plan.scores - count,
            receipt.number,
            _proof(receipt),
            self.certificate("PAIRED-COMPARISON"),
            repeated,
        )

    def statement(self, count: int, left: int | None, head: str) -> HoldoutStatement:
        facts = self.facts
        return HoldoutStatement(
            facts.metric.name,
            facts.method,
            facts.items,
            count,
            left,
            self._promised(),
            self.level,
            head,
            self.certificate(),
        )

    def certificate(self, *more: str) -> Certificate:
        theorems: tuple[str, ...] = (*self.plan.theorems, *more)
        assumed: tuple[str, ...] = _ASSUMPTIONS
        if isinstance(self.plan, Split):
            assumed += (_ORDER,)
        if isinstance(self.plan, Slices):
            assumed += (_GROUPED,)
        if self.facts.weights:
            theorems, assumed = (*theorems, "WEIGHTED-SCORES"), (*assumed, _WEIGHED)
        if self.facts.metric.name == "auc" and theorems:
            theorems = (*theorems, "AUC-BY-PAIRS")
        return Certificate(theorems, assumed)

    def _promised(self) -> float | None:
        """How near to the population every score is."""
        plan = self.plan
        if isinstance(plan, PricedPlan):
            return plan.half_width(plan.scores)  # no score before the last is wider
        if hasattr(plan, "half_width"):
            return plan.half_width()
        return None if self.facts.tolerance is None or not plan.theorems else float(self.facts.tolerance)

    def _sliced(self, plan: Slices, text: str) -> dict[str, Slice]:
        found = zip(plan.names, plan.shares(text), plan.widths(), plan.sizes, strict=True)
        return {name: Slice(_shown(v), self._interval(v, w), size) for name, v, w, size in found}

    def _interval(self, value: Fraction, half: float | None) -> Interval | None:
        if half is None:
            return None
        return Interval(self.level, *_ends(value - Fraction(half), value + Fraction(half), Fraction(0)))


def _shown(value: Fraction) -> float:
    """Clipped to where the truth must be: that can only bring it nearer."""
    return float(min(Fraction(1), max(Fraction(0), value)))


def _ends(low: Fraction, high: Fraction, least: Fraction) -> tuple[float, float]:
    """Outwards, then clipped to where the truth must be."""
    bottom, top = min(Fraction(1), max(least, low)), min(Fraction(1), max(least, high))
    return float_down(bottom), float_up(top)


def _proof(receipt: Receipt) -> Proof:
    return Proof(receipt.number, receipt.digest, receipt.previous)
