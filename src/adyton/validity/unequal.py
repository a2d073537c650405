"""Noise of any size, chosen as one goes: the centred hinge theorem with the failure divided in two.

One share of the failure probability pays for the stability part (``hinge``), the other is divided among the
questions.  Both the noise of a question and its share may depend on the answers before it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

from adyton.errors import InvalidRequest
from adyton.exact import Number, positive
from adyton.validity.hinge import LARGEST_MU, stability_width
from adyton.validity.joint import MOST, Width
from adyton.validity.noise_part import gaussian_multiplier, noise_width
from adyton.validity.outward import float_up, probability, square_root_up, whole
from adyton.validity.search import largest, least

NOISE_SHARE = Fraction(3, 10)
"""Of the failure, for the noise: about the best for hundreds to millions of questions."""


def unequal_widths(
    rows: int, scales: Sequence[float], failure: Number, *, noise_share: Number = NOISE_SHARE
) -> list[float]:
    """Half-widths for questions with these standard deviations, all right at once, rounded up.

    Claim:    Pr[some |a_j - q_j(P)| > w_j] <= failure, w_j = z sigma_j + t2.
    Assumes:  as ``stability_width``, with mu0**2 = sum of 1/(2 n sigma_j)**2; the number of questions and
              that sum were fixed in advance; which question gets which scale may be adaptive.
    Source:   derived here.  Theorem: CENTRED-HINGE-SPLIT.
    """
    noise, stable = _divide(failure, noise_share)
    n = whole(rows, "the number of rows")
    if not scales or not all(math.isfinite(s) and s > 0 for s in scales):
        raise InvalidRequest("every question needs a scale that is finite and above 0")
    spent = sum((1 / (2 * n * Fraction(s)) ** 2 for s in scales), Fraction(0))
    t2 = stability_width(square_root_up(spent), stable)
    z = Fraction(gaussian_multiplier(noise, len(scales)))
    return [math.inf if math.isinf(t2) else float_up(z * Fraction(s) + Fraction(t2)) for s in scales]


def split_width(rows: int, questions: int, failure: Number, *, noise_share: Number = NOISE_SHARE) -> Width:
    """The same for equal noise of the best size.  Never better than ``joint_width``."""
    n, k = whole(rows, "the number of rows"), whole(questions, "the number of questions")
    noise, stable = _divide(failure, noise_share)
    sigma = _best_scale(n, k, noise, stable)
    mu0 = square_root_up(Fraction(k) / (2 * n * Fraction(sigma)) ** 2)
    t1, t2 = noise_width(sigma, k, noise), stability_width(mu0, stable)
    return Width(float_up(Fraction(t1) + Fraction(t2)), sigma, t1, t2, mu0)


def split_questions(
    rows: int, tolerance: Number, failure: Number, *, noise_share: Number = NOISE_SHARE
) -> tuple[int, float | None]:
    """The most questions that ``split_width`` certifies within ``tolerance``, and the noise for them."""
    within = positive(tolerance, "the tolerance")

    def holds(k: int) -> bool:
        return split_width(rows, k, failure, noise_share=noise_share).tolerance <= within

    found = largest(holds, MOST)
    scale = split_width(rows, found, failure, noise_share=noise_share).scale if found else None
    return found, scale


@lru_cache(maxsize=4096)
def _best_scale(rows: int, questions: int, noise: Fraction, stable: Fraction) -> float:
    root = math.sqrt(questions)
    factor = gaussian_multiplier(noise, questions) * root / (2 * rows)
    middle = min(math.sqrt(factor), LARGEST_MU / 2)
    mu0 = least(
        lambda mu: factor / mu + stability_width(mu, stable), middle / 30, min(4 * middle, LARGEST_MU), 26
    )
    return root / (2 * rows * mu0)


def _divide(failure: Number, noise_share: Number) -> tuple[Fraction, Fraction]:
    total = probability(failure, "the failure probability")
    share = probability(noise_share, "the share of the noise")
    return total * share, total * (1 - share)
