"""From counts to bounds: what k of n says about a probability, and what two probabilities say about a claim.

A finalist is an event and a direction: it is held to be likelier on one input than on the other.  Each needs
two bounds, one from below and one from above; all of these share the failure probability equally.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from adyton.arithmetic.search import edge
from adyton.documents import Document
from adyton.kernel.exact.special import special
from adyton.validity.binomial import greatest_probability, least_probability

FINALISTS = 5
_FARTHEST = 50.0  # above the claim: a larger loss is not looked for
POWER = 0.95


def epsilon_of(likely: Any, unlikely: Any, delta: float) -> Any:
    """ln((likely - delta) / unlikely): the least epsilon that allows an event of these two probabilities."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(likely > delta, np.log(np.maximum(likely - delta, 0)) - np.log(unlikely), -np.inf)


def mu_of(likely: Any, unlikely: Any) -> Any:
    """The mu that a test of these two error probabilities needs at least: its point on the curve G_mu."""
    return special().ndtri(likely) - special().ndtri(unlikely)


def share(confidence: float, finalists: int = FINALISTS) -> float:
    """The failure probability of each single bound."""
    return (1 - confidence) / (2 * finalists)


@dataclass(frozen=True, slots=True)
class Judged(Document):
    """An event as it was counted on the half of the samples that did not choose it."""

    event: str
    numerator: int  # 0 or 1: the input on which the event is likelier
    counts: tuple[int, int]  # on the numerator, on the other
    trials: int
    likely: float  # bound from below
    unlikely: float  # bound from above
    bound: float

    json_keys = (
        "description=event likelier_on counts trials probability_at_least=likely probability_at_most=unlikely"
    )

    @property
    def likelier_on(self) -> Literal["first", "second"]:
        return "second" if self.numerator else "first"


def judge(
    event: str,
    numerator: int,
    counts: tuple[int, int],
    trials: int,
    failure: float,
    loss: Callable[[Any, Any], Any],
) -> Judged:
    """The least loss that explains the counts, where ``loss`` grows with the first and falls with the second.

    Claim:    at most the loss at the true probabilities, but with probability at most 2 * failure.
    Assumes:  the event was fixed before these samples were drawn, and the samples are independent.
    Source:   the two bounds, and a union bound.  Theorem: AUDIT-LOWER-BOUND.
    """
    likely = float(least_probability(counts[0], trials, failure))
    unlikely = float(greatest_probability(counts[1], trials, failure))
    return Judged(event, numerator, counts, trials, likely, unlikely, float(loss(likely, unlikely)))


def detectable(
    true_probabilities: Callable[[float], tuple[float, float]],
    claimed: float,
    trials: int,
    failure: float,
    loss: Callable[[Any, Any], Any],
) -> float | None:
    """The least true loss that would have been found with probability 0.95 or more, to three digits.

    ``true_probabilities(x)`` are those of an event of a mechanism whose true loss is x; they move apart as x
    grows.  Theorem: AUDIT-POWER.
    """

    def found(true: float) -> bool:
        return _would_find(true_probabilities, true, claimed, trials, failure, loss)

    halvings = math.ceil(math.log2(_FARTHEST / (5e-4 * max(1.0, claimed))))
    farthest = claimed + _FARTHEST
    return edge(found, farthest, claimed, halvings=halvings) if found(farthest) else None


def _would_find(
    true_probabilities: Callable[[float], tuple[float, float]],
    true: float,
    claimed: float,
    trials: int,
    failure: float,
    loss: Callable[[Any, Any], Any],
) -> bool:
    """Whether even unlucky counts, each worse with probability 0.025 at most, would refute the claim."""
    likely, unlikely = true_probabilities(true)
    few = _quantile((1 - POWER) / 2, trials, likely)
    many = trials - _quantile((1 - POWER) / 2, trials, 1 - unlikely)
    judged = judge("", 0, (few, many), trials, failure, loss)
    return judged.bound > claimed


def _quantile(level: float, trials: int, probability: float) -> int:
    """A count that a binomial variable falls below with probability at most ``level``."""
    if probability <= 0:
        return 0
    spread = math.sqrt(trials * probability * (1 - probability))
    guess = max(0, math.floor(trials * probability - 1.97 * spread) - 2)
    while guess > 0 and special().bdtr(guess - 1, trials, probability) > level:
        guess -= 1
    while guess < trials and special().bdtr(guess, trials, probability) <= level:
        guess += 1
    return guess


def randomized_response(delta: float) -> Callable[[float], tuple[float, float]]:
    """The event that is easiest to find among all (epsilon, delta)-private ones: a bit, openly with delta."""

    def probabilities(epsilon: float) -> tuple[float, float]:
        honest = 1 / (1 + math.exp(-epsilon))
        return delta + (1 - delta) * honest, (1 - delta) * (1 - honest)

    return probabilities


def as_rare_as(unlikely: float, delta: float) -> Callable[[float], tuple[float, float]]:
    """An event as rare as one that was found."""
    return lambda epsilon: (min(1.0, delta + math.exp(min(epsilon, 700.0)) * unlikely), unlikely)
