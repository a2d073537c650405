"""Yes or no, counted exactly: intervals for a share of which nothing is lost in an inequality."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from adyton.errors import InvalidRequest
from adyton.kernel.exact import Number, float_down, float_up, probability, whole
from adyton.kernel.exact.cells import Floats
from adyton.kernel.exact.outward import COARSE, FEW, SAFE
from adyton.kernel.exact.special import special
from adyton.validity.plans.expected import Expected
from adyton.validity.plans.misses import deviations

Counts = np.ndarray[Any, np.dtype[np.signedinteger[Any]]]
_MOST_TRIALS = 20_000  # beyond, the inequality is off by less than a third of a per cent
_STRETCHES, _PIECES, _FINENESS = 500, 8, 1e-4


def least_probability(successes: int | Counts, trials: int, failure: float) -> Floats:
    """A number that is at most the true probability, but with probability at most ``failure``.

    Claim:    for X binomial(trials, p): P(least_probability(X) > p) <= failure, for every p.
    Assumes:  independent trials of one probability; scipy's incomplete beta function is right to nine digits.
    Source:   Clopper, Pearson 1934.  Theorem: EXACT-BINOMIAL.
    """
    x, tail = np.asarray(successes), failure * (1 - COARSE)
    found = special().betaincinv(np.maximum(x, 1), trials - x + 1, tail)
    return _outside(np.where(x > 0, found, 0.0), -1)


def greatest_probability(successes: int | Counts, trials: int, failure: float) -> Floats:
    """The same from above.  Theorem: EXACT-BINOMIAL."""
    x, tail = np.asarray(successes), failure * (1 - COARSE)
    found = special().betainccinv(x + 1, np.maximum(trials - x, 1), tail)
    return _outside(np.where(x < trials, found, 1.0), 1)


def exact_interval(successes: int, trials: int, failure: Number) -> tuple[float, float]:
    """The interval of Clopper and Pearson for the probability of success, rounded outwards.

    Claim:    contains the true probability with probability at least 1 - failure, whatever it is.
    Assumes:  independent trials; scipy's incomplete beta function is right to nine digits.
    Source:   Clopper, Pearson 1934.  Theorem: EXACT-BINOMIAL.
    """
    x, n = whole(successes, "the number of successes", least=0), whole(trials, "the number of trials")
    if x > n:
        raise InvalidRequest(f"{x} successes are more than {n} trials")
    low, high = _ends(np.array([x]), n, probability(failure, "the failure probability"))
    return float(low[0]), float(high[0])


def exact_width(trials: int, failure: Number, share: Number | None = None) -> float:
    """The half-width that holds for every share of successes: the longest arm of all exact intervals.

    Claim:    the share of successes is within it of its probability, with probability 1 - failure.
    Assumes:  as ``exact_interval``; where ``share`` is given, that successes or failures are as rare as that;
              for more than 20,000 trials the inequality of the source.
    Source:   Clopper, Pearson 1934; Zubkov, Serov 2013.  Theorem: EXACT-BINOMIAL.
    """
    n, chance = whole(trials, "the number of trials"), probability(failure, "the failure probability")
    rarest = None if share is None else probability(share, "the share")
    if n > _MOST_TRIALS:
        return _normal_width(n, chance, rarest)
    most = 1.0 if rarest is None else float_up(min(rarest, 1 - rarest))

    def lower_arm(first: Counts, last: Counts) -> Floats:
        low, _ = _ends(first, n, chance)
        return np.where(low <= most, last / n - low, 0.0)

    def upper_arm(first: Counts, last: Counts) -> Floats:
        _, high = _ends(last, n, chance)
        return np.minimum(high, most) - first / n

    arms = (lower_arm,) if rarest is None else (lower_arm, upper_arm)  # else one mirrors the other
    return max(longest_arm(arm, n) for arm in arms) * SAFE


def longest_arm(arm: Callable[[Counts, Counts], Floats], trials: int) -> float:
    """The longest arm of all counts, or a little more.

    ``arm`` bounds those of all counts from a first to a last one; stretches that may matter are divided.
    """
    counts = np.unique(np.linspace(0, trials, min(trials, _STRETCHES) + 1).astype(np.int64))
    longest, (first, last) = float(np.max(arm(counts, counts))), (counts[:-1], counts[1:])
    while True:
        matters = (last - first > 1) & (arm(first, last) > longest * (1 + _FINENESS))
        if not matters.any():
            return longest * (1 + _FINENESS) if trials > _STRETCHES else longest
        first, last = _divided(first[matters], last[matters])
        longest = max(longest, float(np.max(arm(last, last))))


def _divided(first: Counts, last: Counts) -> tuple[Counts, Counts]:
    cuts = first[:, None] + (last - first)[:, None] * np.arange(_PIECES + 1) // _PIECES
    starts, stops = cuts[:, :-1].ravel(), cuts[:, 1:].ravel()
    return starts[starts < stops], stops[starts < stops]


def _normal_width(n: int, failure: Fraction, share: Fraction | None) -> float:
    """P(X / n >= p + t) <= P(N > sqrt(2 n kl(p + t - 1/n, p))), and kl lies above all s u - log moment(s)."""
    tail = -float(special().ndtri(float_down(failure / 2) * (1 - COARSE))) * (1 + COARSE)
    table = deviations(Expected.of(share=share if share is not None else Fraction(1, 2)))
    return float(table.beyond(np.array(tail * tail / (2 * n)))) * (1 + COARSE) + 1 / n


def _ends(x: Counts, n: int, failure: Fraction) -> tuple[Floats, Floats]:
    """The p at which "at least x" and "at most x" have half the failure each, a hair outside."""
    tail = float_down(failure / 2)
    return least_probability(x, n, tail), greatest_probability(x, n, tail)


def _outside(end: Floats, side: int) -> Floats:
    """Farther out by more than the error of an inverse with nine digits, and by a few steps of a float."""
    moved: Floats = np.clip(end + side * (COARSE * np.minimum(end, 1 - end) + 2 * FEW * end), 0.0, 1.0)
    return moved
