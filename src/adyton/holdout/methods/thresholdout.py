"""Thresholdout: the training score is confirmed for nothing; only where it overfits does the holdout speak.

    T^ = T + gamma, gamma ~ Lap(2 s)
    for each query:  "no answer" if the budget of overfits is spent
        eta ~ Lap(4 s), fresh
        if |holdout - training| > T^ + eta:  holdout + xi, xi ~ Lap(s); one overfit less; gamma is drawn anew
        otherwise:                           training

Here all of it happens on whole steps of the sum, with two-sided geometric noise in place of Laplace's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

from adyton.arithmetic.search import largest_near, minimise
from adyton.errors import InvalidRequest
from adyton.holdout.methods.base import HoldoutSize, Reply, State, UsedUp
from adyton.kernel.exact import float_up, whole
from adyton.kernel.exact.outward import SAFE
from adyton.kernel.special.mechanisms.sparse.numeric_sparse import NumericSparse
from adyton.kernel.special.mechanisms.sparse.sparse import Sparse
from adyton.kernel.special.scores import GuessedScores
from adyton.validity.hinge.pairs import MOST_RELEASES, RandomizedResponses, stability_width_of
from adyton.validity.hinge.stability import LARGEST_MU, stability_width

_MOST_QUERIES = 10**12
_STEPS = 20
_AROUND = (0.85, 0.93, 1.0, 1.08)
_FEW = 32  # with more overfits than these the quick search for a scale is exact enough
_GROWTH = 3.3  # as a fourth root, and logarithms grow too
_HALF = 0.5


@dataclass(frozen=True, slots=True)
class ThresholdoutPlan:
    """``threshold`` and ``scale`` (the s above) are in steps of the sum; one item moves it by ``steps``.

    Claim:    epsilon-DP with epsilon = 2 overfits steps / scale for the items, whatever is asked.
    Assumes:  training scores do not depend on the items of the holdout but through earlier answers; the words
              of ``bits`` are uniform and independent of everything the analyst has seen.
    Source:   Dwork, Feldman, Hardt, Pitassi, Reingold, Roth 2015.  Theorem: THRESHOLDOUT-PRIVACY.
              What it says of the population: ``half_width``.  Theorem: THRESHOLDOUT-VALIDITY.
    """

    frame: HoldoutSize
    overfits: int
    queries: int
    threshold: int
    scale: float
    name: ClassVar[str] = "thresholdout"
    accounting: ClassVar[str] = "pure"
    needs_guess: ClassVar[bool] = True

    def __post_init__(self) -> None:
        whole(self.overfits, "the number of overfits")
        whole(self.queries, "the number of queries")
        whole(self.threshold, "the threshold in steps", least=0)
        if not (self.scale > 0 and math.isfinite(self.scale)):
            raise InvalidRequest("the scale of the noise must be finite and above 0")

    @property
    def theorems(self) -> tuple[str, ...]:
        certified = ("THRESHOLDOUT-VALIDITY", "HINGE-OF-A-PAIR") if self.half_width() is not None else ()
        return ("THRESHOLDOUT-PRIVACY", *certified)

    @property
    def measurement(self) -> GuessedScores:
        """Noise of 2 s on the threshold, drawn anew after each overfit, of 4 s on each query, s on values."""
        scale = Fraction(self.scale)
        sparse = Sparse(self.overfits, 2 * scale, 4 * scale, self.frame.steps, refresh=True)
        return GuessedScores(NumericSparse(sparse, scale), self.threshold)

    def half_width(self) -> float | None:
        """Simultaneous for all answers; None where it would say nothing."""
        width = width_of(self.frame, self.overfits, self.queries, self.threshold, self.scale)
        return width if width < _HALF else None

    def start(self) -> State:
        return {"left": self.overfits, "asked": 0}

    def left(self, state: State) -> int | None:
        return min(int(state["left"]), self.queries - int(state["asked"]))

    def used_up(self, state: State) -> UsedUp | None:
        if state["left"] < 1:
            return UsedUp("overfits", self.overfits)
        if state["asked"] >= self.queries:
            return UsedUp("queries", self.queries)
        return None

    def question(self, state: State, guess: Fraction | None) -> int:
        """The training score as a sum."""
        assert guess is not None
        return self.frame.lattice(guess)

    def answered(self, state: State, guess: Fraction | None, value: int | None) -> tuple[Reply, State]:
        after = {"left": state["left"] - (value is not None), "asked": state["asked"] + 1}
        if value is None:
            return Reply("training", guess, self.half_width()), after
        return Reply("holdout", Fraction(value, self.frame.whole), self.half_width()), after

    def settings(self) -> dict[str, str | int]:
        facts: dict[str, str | int] = {"overfits": self.overfits, "queries": self.queries}
        return {**facts, "threshold": self.threshold, "scale": repr(self.scale)}


@lru_cache(maxsize=4096)
def width_of(frame: HoldoutSize, overfits: int, queries: int, threshold: int, scale: float) -> float:
    """Half-width of all answers, against the population, rounded up; infinite if nothing is certified.

    Claim:    Pr[some |a_j - q_j(P)| > width] <= failure over ``queries`` adaptive queries.
    Assumes:  as Thresholdout, and that the items are independent draws from the population.
    Source:   derived here.  Theorem: THRESHOLDOUT-VALIDITY.
    """
    if 2 * overfits > MOST_RELEASES or frame.steps % 2:
        return math.inf
    reach = float_up(Fraction(frame.steps, 2) / Fraction(scale))
    if reach * math.sqrt(2 * overfits) > 2:
        return math.inf
    stability = stability_width_of(RandomizedResponses(2 * overfits, reach), frame.failure)
    noise = noise_part(overfits, queries, threshold, scale, float(frame.failure)) / frame.whole
    margin = float_up(Fraction(1, 2 * frame.whole) + frame.rounding)
    return (noise + stability + margin) * SAFE


def noise_part(overfits: int, queries: int, threshold: int, scale: float, failure: float) -> float:
    """a + E(max_j |a_j - q_j(S)| - a)_+ / failure at a good a = T + v1 + v2, in steps, rounded up.

    gamma counts once for each of B rounds, eta once for each query, xi once for each overfit.  The gamma
    that is met at a query is no fresh one: rounds with a large gamma last longer, hence the maximum.
    """
    v1 = math.ceil(max(0.0, 2 * scale * math.log(overfits / (2 * failure))))
    v2 = math.ceil(max(0.0, 4 * scale * math.log(queries / (2 * failure))))
    a = threshold + v1 + v2
    hinge = overfits * scale * math.exp(-v1 / (2 * scale))
    hinge += 2 * scale * queries * math.exp(-v2 / (4 * scale))
    hinge += overfits * scale * math.exp(-a / scale)
    return (a + hinge / failure) * SAFE


def plan_thresholdout(
    frame: HoldoutSize,
    tolerance: Fraction,
    queries: int,
    threshold: Fraction | None = None,
    overfits: int | None = None,
) -> ThresholdoutPlan | None:
    """About the most overfits that are certified within ``tolerance`` for that many queries; None: not one.

    ``threshold`` is half the tolerance unless given.  If it is given how many overfits there may be, noise is
    calculated for these; None if they are not certified.
    """
    whole(queries, "the number of queries")
    if queries > _MOST_QUERIES:
        raise InvalidRequest(f"at most {_MOST_QUERIES:,} queries")
    t = tolerance / 2 if threshold is None else threshold
    steps = math.floor(t * frame.whole)

    def width(overfits: int) -> float:
        return width_of(frame, overfits, queries, steps, best(overfits))

    def best(overfits: int) -> float:
        near = _near_scale(frame, overfits, queries)
        if overfits > _FEW:
            return near
        return min(
            (near * factor for factor in _AROUND),
            key=lambda s: width_of(frame, overfits, queries, steps, s),
        )

    most = min(queries, MOST_RELEASES // 2)
    if overfits is not None:
        fits = whole(overfits, "the number of overfits") <= most and width(overfits) <= tolerance
        return ThresholdoutPlan(frame, overfits, queries, steps, best(overfits)) if fits else None
    found = largest_near(lambda overfits: width(overfits) <= tolerance, _guess(width(1), t, tolerance), most)
    return ThresholdoutPlan(frame, found, queries, steps, best(found)) if found else None


def _guess(width: float, threshold: Fraction, tolerance: Fraction) -> int:
    """About how many overfits fit if one has this ``width``: what exceeds the threshold grows slowly."""
    room, one = float(tolerance - threshold), width - float(threshold)
    if room <= 0 or not 0 < one < math.inf:
        return 1
    return max(1, int(min(math.pow(room / one, _GROWTH), _MOST_QUERIES)))


def _near_scale(frame: HoldoutSize, overfits: int, queries: int) -> float:
    """About the best scale: searched with the Gaussian pair, which is quick; the true one is near it."""
    beta = float(frame.failure)
    slope = noise_part(overfits, queries, 0, 1e6, beta) / 1e6  # the noise part is this times the scale
    middle = math.sqrt(frame.whole * frame.steps * math.sqrt(2 * overfits) / slope)

    def width(scale: float) -> float:
        mu = min(frame.steps / (2 * scale) * math.sqrt(2 * overfits), LARGEST_MU)
        return slope * scale / frame.whole + stability_width(mu, frame.failure)

    return minimise(width, middle / 8, middle * 8, _STEPS)
