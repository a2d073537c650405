"""How many different things a class of rules can say about so many points: counted, not estimated."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

from adyton.errors import InvalidRequest
from adyton.kernel.exact import whole

Kind = Literal["thresholds", "boxes", "linear"]
MOST_FEATURES = 1000


@dataclass(frozen=True, slots=True)
class RuleClass:
    """Rules that say yes or no about a point of ``features`` numbers.

    ``thresholds``: one of the numbers is above a cut, or is not.  ``boxes``: every number is between a low
    and a high end of its own.  ``linear``: a weighted sum of the numbers and a constant is above 0.

    >>> RuleClass("linear", 2).growth(3)
    8
    """

    kind: Kind
    features: int

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise InvalidRequest(f"a class of rules is thresholds, boxes or linear, not {self.kind!r}")
        if whole(self.features, "the number of features") > MOST_FEATURES:
            raise InvalidRequest(f"at most {MOST_FEATURES:,} features")

    @classmethod
    def named(cls, text: str) -> RuleClass:
        """From ``linear:3``; without a number there is one feature."""
        kind, _, features = text.partition(":")
        if features and not features.isdecimal():
            raise InvalidRequest(f"a class is written as linear:3, not {text!r}")
        return cls(kind, int(features or 1))  # type: ignore[arg-type]  # which is checked there

    @property
    def name(self) -> str:
        return f"{self.kind}:{self.features}"

    @property
    def dimension(self) -> int:
        """So many points can be told apart in every way, and no more: of Vapnik and Chervonenkis.

        Of thresholds of several numbers what is known is that it is at most this: 2**v is no more than growth
        allows.
        """
        if self.kind == "boxes":
            return 2 * self.features
        if self.kind == "linear":
            return self.features + 1
        most = 2
        while 2 ** (most + 1) <= self._counted(most + 1):
            most += 1
        return most

    def growth(self, points: int) -> int:
        """At most so many of the 2**points sets of points are what some rule says yes to.

        Claim:    for any points, repeated ones among them; attained by points in general position by linear
                  rules, and by thresholds of one feature.
        Assumes:  nothing.
        Source:   Sauer 1972, Shelah 1972 (boxes); Cover 1965 (linear); counted here (thresholds).
        Theorem: GROWTH-OF-CLASSES.
        """
        n = whole(points, "the number of points")
        return min(2**n, self._counted(n)) if n < 64 else self._counted(n)

    def _counted(self, n: int) -> int:
        if self.kind == "thresholds":
            return 2 + self.features * (2 * n - 2)
        if self.kind == "boxes":
            return sum(math.comb(n, i) for i in range(2 * self.features + 1))
        return 2 * sum(math.comb(n - 1, i) for i in range(self.features + 1))
