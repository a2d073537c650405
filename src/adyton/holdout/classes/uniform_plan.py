"""A holdout of one class: exact scores, any number of them, with one width."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from adyton.holdout.classes.hypotheses import HypothesisClass
from adyton.holdout.methods.base import Ends, HoldoutSize
from adyton.validity.classes.growth import RuleClass
from adyton.validity.classes.uniform import UniformShares, uniform_shares, uniform_width

_ANY_NUMBER = 10**12


@dataclass(frozen=True, slots=True)
class UniformPlan:
    """Exact scores of rules of one class.

    Claim:    with probability 1 - failure the intervals of all rules of the class hold at once, so those of
              all scores do, however many there are and however the rules were found.
    Assumes:  items are independent draws from one population; the class and ``ghosts`` were fixed in advance;
              what is scored is a rule of the class, because the holdout applies it itself.
    Source:   derived here.  Theorem: UNIFORM-CLASSES.
    """

    frame: HoldoutSize
    rules: RuleClass
    ghosts: int
    name: ClassVar[str] = "uniform"
    accounting: ClassVar[str] = "pure"
    scores: ClassVar[int] = _ANY_NUMBER  # that a ledger is made for; nobody comes to an end of them
    theorems: ClassVar[tuple[str, ...]] = ("UNIFORM-CLASSES", "GROWTH-OF-CLASSES")

    @property
    def shares(self) -> UniformShares:
        return UniformShares(self.rules, self.frame.items, self.frame.failure, self.ghosts)

    def share(self, released: int) -> Fraction:
        return Fraction(released, self.frame.whole)

    def half_width(self) -> float:
        return uniform_width(self.shares)

    def ends(self, released: Sequence[int], numbers: Sequence[int]) -> list[Ends]:
        """Where a rule is right is a set like those that it says yes to: labels turn some items around."""
        right = np.array([sum_of // self.frame.steps for sum_of in released])
        low, high = self.shares.least(right), self.shares.greatest(right)
        return [(Fraction(float(a)), Fraction(float(b))) for a, b in zip(low, high, strict=True)]

    def settings(self) -> dict[str, str | int]:
        return {"rules": self.rules.name, "ghosts": self.ghosts}


def plan_uniform(frame: HoldoutSize, kind: HypothesisClass, features: int) -> UniformPlan:
    """What so many items certify for all rules of the class; its width may say nothing."""
    rules = RuleClass(kind.kind, features)
    return UniformPlan(frame, rules, uniform_shares(rules, frame.items, frame.failure).ghosts)


def restored_uniform(frame: HoldoutSize, settings: dict[str, str | int]) -> UniformPlan:
    ghosts = settings["ghosts"]
    if type(ghosts) is not int or ghosts < 1:
        raise ValueError
    return UniformPlan(frame, RuleClass.named(str(settings["rules"])), ghosts)
