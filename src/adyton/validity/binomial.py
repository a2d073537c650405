"""Yes or no, counted exactly: intervals for a share of which nothing is lost in an inequality."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from adyton.errors import InvalidRequest
from adyton.exact import Number
from adyton.special import special
from adyton.validity.intervals import Ends
from adyton.validity.outward import float_down, probability, whole

Floats = np.ndarray[Any, np.dtype[np.float64]]
Counts = np.ndarray[Any, np.dtype[np.signedinteger[Any]]]
_MARGIN = 1e-9  # of a tail, relatively: scipy's incomplete beta function is better than 1e-11 in the tests
_MOST_TRIALS = 10**6


def exact_interval(successes: int, trials: int, failure: Number) -> Ends:
    """The interval of Clopper and Pearson for the probability of success, rounded outwards.

    Claim:    contains the true probability with probability at least 1 - failure, whatever it is.
    Assumes:  independent trials; scipy's incomplete beta function is right to nine digits.
    Source:   Clopper, Pearson 1934.  Theorem: EXACT-BINOMIAL.
    """
    x, n = whole(successes, "the number of successes", least=0), whole(trials, "the number of trials")
    if x > n:
        raise InvalidRequest(f"{x} successes are more than {n} trials")
    low, high = _ends(np.array([x]), n, probability(failure, "the failure probability"))
    return Ends(float(low[0]), float(high[0]))


def exact_width(trials: int, failure: Number) -> float:
    """The half-width that holds for every share of successes: the longest arm of all exact intervals."""
    n, share = whole(trials, "the number of trials"), probability(failure, "the failure probability")
    if n > _MOST_TRIALS:
        raise InvalidRequest(f"at most {_MOST_TRIALS:,} trials, not {n:,}")
    counts = np.arange(n + 1)
    low, high = _ends(counts, n, share)
    return float(max(np.max(counts / n - low), np.max(high - counts / n))) * (1 + 1e-12)


def _ends(x: Counts, n: int, failure: Fraction) -> tuple[Floats, Floats]:
    """The p at which "at least x" and "at most x" have half the failure each, a hair outside."""
    tail = float_down(failure / 2) * (1 - _MARGIN)
    inverse = special().betaincinv
    with np.errstate(all="ignore"):  # the first and the last count have one end only
        low = np.where(x > 0, inverse(np.maximum(x, 1), n - x + 1, tail), 0.0)
        high = np.where(x < n, 1 - inverse(np.maximum(n - x, 1), x + 1, tail), 1.0)
    return _outside(low, -1), _outside(high, 1)


def _outside(end: Floats, side: int) -> Floats:
    """A billionth farther from the middle: more than the error of an inverse with nine digits."""
    moved: Floats = np.clip(end + side * _MARGIN * np.minimum(end, 1 - end), 0.0, 1.0)
    return moved
