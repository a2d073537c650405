"""How far any guarantee for equal Gaussian noise can be from here: the strongest attack known to us.

The analyst asks m random questions with values 0 and 1, lets the answers vote, each with its distance from
1/2 as weight, and then asks for the rows that the vote favours, k - m times.  On a large universe the vote
overfits by Phi(z) - 1/2, z = sqrt(m) / (2 n sqrt(sigma**2 + 1/(4n))).  This is a computation in floats, not
a promise: a better attack may exist, and then the true limit is lower.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from adyton.exact import Number, positive
from adyton.special import special
from adyton.validity.joint import MOST
from adyton.validity.outward import probability, whole
from adyton.validity.search import least

Floats = np.ndarray[Any, np.dtype[np.float64]]
_STEPS = 18  # golden sections: a thousandth of the noise, and its chance is flat there
_SHARES = 1 - np.geomspace(0.002, 0.5, 48)  # of the questions that are spent on the vote


def overfit(rows: int, votes: float, scale: float) -> float:
    """How far the vote's average over the rows is above its population value of 1/2, in expectation."""
    z = math.sqrt(votes) / (2 * rows * math.sqrt(scale * scale + 1 / (4 * rows)))
    return float(special().ndtr(z)) - 0.5


def success(rows: int, questions: int, scale: float, tolerance: float) -> float:
    """The chance that some answer is off by more than ``tolerance``, for the best number of votes."""
    votes = np.floor(questions * _SHARES)
    ndtr = special().ndtr
    gap = ndtr(np.sqrt(votes) / (2 * rows * math.sqrt(scale * scale + 1 / (4 * rows)))) - 0.5
    nodes, weights = _normal()
    spread = np.sqrt(np.maximum(0.25 - gap * gap, 0) / rows)
    realised = gap[:, None] + spread[:, None] * nodes[None, :]
    above = ndtr(-(tolerance - realised) / scale) + ndtr(-(tolerance + realised) / scale)
    copies = (questions - votes)[:, None]
    return float(np.max((-np.expm1(copies * np.log1p(-np.minimum(above, 1 - 1e-16)))) @ weights))


def attack_limit(rows: int, tolerance: Number, failure: Number) -> int | None:
    """The number of questions with which the attack beats every noise level: it succeeds more often than
    ``failure``, whatever sigma is.  None if 10**15 questions do not do it.
    """
    n, within = whole(rows, "the number of rows"), float(positive(tolerance, "the tolerance"))
    share = float(probability(failure, "the failure probability"))

    def breaks(k: int) -> bool:
        middle = math.sqrt(math.sqrt(k) / n)  # near the best noise, up to a logarithm
        scale = least(lambda s: success(n, k, s, within), middle / 30, middle * 10, _STEPS)
        return success(n, k, scale, within) > share

    broken = min(max(2.0, 0.1 * (n * within * within) ** 2), float(MOST))  # it is about there
    while not breaks(int(broken)):
        if broken == MOST:
            return None
        broken = min(2 * broken, float(MOST))
    safe = broken / 2
    while safe >= 2 and breaks(int(safe)):
        safe, broken = safe / 2, safe
    while broken / safe > 1.0005 and broken - safe > 1:
        between = math.sqrt(safe * broken)
        safe, broken = (safe, between) if breaks(int(between)) else (between, broken)
    return math.ceil(broken)


@cache
def _normal() -> tuple[Floats, Floats]:
    """Points and weights for the expectation of a function of a standard normal."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(64)
    return nodes, weights / weights.sum()
