"""How far any guarantee for planned Gaussian noise can be from here: the strongest attack known to us.

The analyst asks m random queries with values 0 and 1, lets the answers vote, each with its distance from
1/2 as weight, and then asks for the rows that the vote favours, k - m times.  On a large universe the vote
overfits by Phi(z) - 1/2, z = sqrt(m) / (2 n sqrt(sigma**2 + 1/(4n))).  This is a computation in floats, not
a guarantee: a better attack may exist, and then the true limit is lower.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from adyton.arithmetic.search import edge, geometric, minimise
from adyton.kernel.exact import Number, positive, probability, whole
from adyton.kernel.exact.cells import Floats
from adyton.kernel.exact.special import special
from adyton.validity.plans.noise_plan import MOST

_TURNS = 144  # places at which the attack may turn, or the noise change
_HALVINGS = 16
_STEPS = 18  # golden sections: a thousandth of the noise, and its chance is flat there
_SHARES = 1 - np.geomspace(0.002, 0.5, 48)  # of the queries that are spent on the vote


def overfit(rows: int, votes: Floats, scale: float) -> Floats:
    """How far the vote's average over the rows is above its population value of 1/2, in expectation."""
    z = np.sqrt(votes) / (2 * rows * math.sqrt(scale * scale + 1 / (4 * rows)))
    above: Floats = special().ndtr(z) - 0.5
    return above


def success(rows: int, queries: int, scale: float, tolerance: float) -> float:
    """The chance that some answer is off by more than ``tolerance``, for the best number of votes."""
    votes = np.floor(queries * _SHARES)
    ndtr = special().ndtr
    gap = overfit(rows, votes, scale)
    nodes, weights = _normal()
    spread = np.sqrt(np.maximum(0.25 - gap * gap, 0) / rows)
    realised = gap[:, None] + spread[:, None] * nodes[None, :]
    above = ndtr(-(tolerance - realised) / scale) + ndtr(-(tolerance + realised) / scale)
    copies = (queries - votes)[:, None]
    return float(np.max((-np.expm1(copies * np.log1p(-np.minimum(above, 1 - 1e-16)))) @ weights))


def attack_limit(rows: int, tolerance: Number, failure: Number) -> int | None:
    """The number of queries with which the attack beats every noise level: it succeeds more often than
    ``failure``, whatever sigma is.  None if 10**15 queries do not do it.
    """
    n, within = whole(rows, "the number of rows"), float(positive(tolerance, "the tolerance"))
    share = float(probability(failure, "the failure probability"))

    def breaks(k: int) -> bool:
        middle = math.sqrt(math.sqrt(k) / n)  # near the best noise, up to a logarithm
        scale = minimise(lambda s: success(n, k, s, within), middle / 30, middle * 10, _STEPS)
        return success(n, k, scale, within) > share

    broken = min(max(2.0, 0.1 * (n * within * within) ** 2), float(MOST))  # it is about there
    while not breaks(int(broken)):
        if broken == MOST:
            return None
        broken = min(2 * broken, float(MOST))
    safe = broken / 2
    while safe >= 2 and breaks(int(safe)):
        safe, broken = safe / 2, safe
    return math.ceil(edge(lambda k: breaks(int(k)), broken, safe, close=0.0005, middle=geometric))


def decreasing_attack_limit(rows: int, tolerance: Number, failure: Number) -> int | None:
    """The same for plans whose noise decreases as the vote gains: each answer after it would miss as often.

    Of such plans the longest that the attack does not break is found, by how often one answer misses; the
    attack may turn from votes to the favoured rows at any time.  None if it is longer than 10**15 queries.
    """
    n, within = whole(rows, "the number of rows"), float(positive(tolerance, "the tolerance"))
    share = float(probability(failure, "the failure probability"))
    often = 0.5  # standard deviations that the noise stays away from the tolerance
    rare = edge(lambda away: _falling(n, within, away)[1] <= share, 40.0, often, halvings=_HALVINGS)
    queries = _falling(n, within, rare)[0]
    return math.ceil(queries) if queries < MOST else None


def _falling(rows: int, tolerance: float, away: float) -> tuple[float, float]:
    """How many queries such a plan has, and how often the attack breaks it if it turns at the best time."""
    gap = np.linspace(0, min(tolerance, 0.4999), _TURNS, endpoint=False)
    spread = (0.25 - gap * gap) / rows
    noise = np.square((tolerance - gap) / away) - spread
    gap, spread, noise = gap[noise > 0], spread[noise > 0], noise[noise > 0]
    if not gap.size:
        return 0.0, 0.0
    gained = np.square(special().ndtri(0.5 + gap))
    asked = np.diff(gained, append=gained[-1]) * 4 * rows**2 * (noise + 1 / (4 * rows))
    nodes, weights = _normal(24)
    turns = slice(None, None, _TURNS // 24)
    vote = gap[turns, None] + np.sqrt(spread[turns, None]) * nodes[None, :]
    above = special().ndtr(-(tolerance - vote[:, :, None]) / np.sqrt(noise))
    kept = np.log1p(-np.minimum(above, 1 - 1e-16)) * asked
    later = np.arange(gap.size)[None, None, :] >= np.arange(gap.size)[turns, None, None]
    broken = -np.expm1(np.sum(kept * later, axis=2))
    return float(asked.sum()), float(np.max(broken @ weights))


@cache
def _normal(points: int = 64) -> tuple[Floats, Floats]:
    """Points and weights for the expectation of a function of a standard normal."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(points)
    return nodes, weights / weights.sum()
