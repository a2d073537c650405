"""Population intervals for what is derived from answers: quantiles, ratios and sums of them.

They hold where both parts hold: the noise of every answer (``noise``: E[Z_j | T] within t1) and the
stability of every function at once (``stability``: t2).  That is the event of CENTRED-HINGE-SPLIT and
PEELING.  The joint theorem bounds only the sum of the two; use its tolerance as ``noise`` and 0 as
``stability`` where noises are added, as ``linear_width`` and ``ratio_interval`` do.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from adyton.errors import InvalidRequest
from adyton.validity.outward import SAFE


class Ends(NamedTuple):
    low: float
    high: float


def ratio_interval(top: float, bottom: float, noise: tuple[float, float], stability: float) -> Ends:
    """For theta = E f / E g with 0 <= f <= g <= 1, from their answers ``top`` and ``bottom``.

    Claim:    contains theta whenever both noises and the stability are within their widths; the stability
              enters once, because f - theta g takes its values in an interval of length 1.
    Assumes:  E g > 0; f and g were both asked.
    Source:   derived here, after Fieller 1954.  Theorem: RATIO-OF-MEANS.
    """
    of_top, of_bottom = (_width(w) for w in noise)
    error = (of_top + _width(stability)) * SAFE
    least, most = bottom - of_bottom * SAFE, bottom + of_bottom * SAFE
    low = (top - error) / most if most > 0 else 0.0
    high = (top + error) / least if least > 0 else 1.0
    low, high = max(0.0, low / SAFE if low > 0 else 0.0), min(1.0, high * SAFE)
    return Ends(low, high) if low <= high else Ends(0.0, 1.0)  # the widths did not hold: say nothing


def quantile_interval(
    thresholds: Sequence[float], answers: Sequence[float], level: float, width: float
) -> Ends:
    """For the ``level``-quantile, from answers to "what share of rows is at most v?" at any thresholds.

    Claim:    contains the least x with P(X <= x) >= level, whenever all answers are within ``width``;
              thresholds may have been chosen one after the other.
    Assumes:  nothing more.
    Source:   derived here.  Theorem: QUANTILE-FROM-SHARES.
    """
    if len(thresholds) != len(answers):
        raise InvalidRequest("every threshold needs its answer")
    if not 0 < level < 1:
        raise InvalidRequest(f"the level of a quantile must be above 0 and below 1, not {level}")
    reach = _width(width) * SAFE
    asked = list(zip(thresholds, answers, strict=True))
    low = max((v for v, a in asked if _up(a + reach) < level), default=-math.inf)
    high = min((v for v, a in asked if _down(a - reach) >= level), default=math.inf)
    return Ends(low, high) if low <= high else Ends(-math.inf, math.inf)


def cdf_band(thresholds: Sequence[float], answers: Sequence[float], width: float) -> list[tuple[float, Ends]]:
    """For P(X <= v) at every threshold, made monotone: a share cannot fall where v grows.

    Theorem: QUANTILE-FROM-SHARES.
    """
    if len(thresholds) != len(answers):
        raise InvalidRequest("every threshold needs its answer")
    reach = _width(width) * SAFE
    asked = sorted(zip(thresholds, answers, strict=True))
    lows, highs, low, high = [], [], 0.0, 1.0
    for _, a in asked:
        low = max(low, min(1.0, _down(a - reach)))
        lows.append(low)
    for _, a in reversed(asked):
        high = min(high, max(0.0, _up(a + reach)))
        highs.append(high)
    return [
        (v, Ends(lo, hi) if lo <= hi else Ends(0.0, 1.0))  # else the width did not hold: say nothing
        for (v, _), lo, hi in zip(asked, lows, reversed(highs), strict=True)
    ]


def linear_width(
    weights: Sequence[float], noises: Sequence[float], reach: tuple[float, float], stability: float
) -> float:
    """Half-width of sum of w_j a_j for the mean of phi = sum of w_j q_j + const, with phi in ``reach``.

    Claim:    |sum of w_j a_j + const - E phi| <= (length of reach) t2 + sum of |w_j| t1_j.
    Assumes:  every q_j was asked: the mean of an unasked function over the rows is not certified.
    Source:   derived here.  Theorem: LINEAR-IN-ANSWERS.
    """
    if len(weights) != len(noises) or not reach[0] <= reach[1]:
        raise InvalidRequest("every weight needs its noise, and the reach of the sum a low and a high end")
    noise = math.fsum(abs(w) * _width(t) for w, t in zip(weights, noises, strict=True))
    return (noise + (reach[1] - reach[0]) * _width(stability)) * SAFE


def _down(value: float) -> float:
    """Below what was rounded to ``value``."""
    return math.nextafter(value, -math.inf)


def _up(value: float) -> float:
    return math.nextafter(value, math.inf)


def _width(value: float) -> float:
    if not value >= 0:
        raise InvalidRequest(f"a width must be at least 0, not {value}")
    return value
