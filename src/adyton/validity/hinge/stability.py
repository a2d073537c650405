"""The stability part of the centred hinge theorem: how far the transcript can be from the population.

X_T is the total variation between the law of one row given everything released and the population.  It bounds
the error of every query at once, asked or not, through the posterior.  The width t2 keeps X_T below it
with probability 1 - failure; it depends on what has been spent (mu0) alone, not on the number of rows.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Any

from adyton.arithmetic.search import minimise
from adyton.errors import InvalidRequest
from adyton.kernel.exact import Number, float_down, float_up, probability, rational
from adyton.kernel.exact.outward import digits, up
from adyton.validity.hinge.opening import open_at

LARGEST_MU = 2.0
"""Beyond it the width is far above 1, which holds without any theorem."""
_LEAST_MU = 1e-30
_STEPS = 26  # golden sections: 1e-5 of the bracket, and the minimum is flat


def stability_width(mu0: float, failure: Number, delta: Number = 0) -> float:
    """t2: with probability 1 - ``failure`` no function into [0, 1] is off by more than this, rounded up.

    ``delta`` is what may go wrong, for one row, with releases that noise protects only but for that: they
    add 3 delta / failure.  Theorem: HINGE-WITH-DELTA.

    Claim:    Pr[sup over phi of |E[phi(row) | T] - E phi| > t2] <= failure.
    Assumes:  rows are independent draws; mu0**2 is a cap, fixed in advance, of the sum over all releases of
              (radius / (rows * sigma))**2, radius 1/2 for a mean of values in [0, 1]; queries, noise levels
              and their number may depend on all earlier answers; nobody has looked at the rows otherwise.
    Source:   derived here.  Theorem: CENTRED-HINGE.
    """
    if not mu0 >= 0:
        raise InvalidRequest(f"mu0 must be at least 0, not {mu0}")
    share, leak = probability(failure, "the failure probability"), rational(delta, "delta")
    if not 0 <= leak < 1:
        raise InvalidRequest(f"delta must be at least 0 and below 1, not {delta}")
    if mu0 > LARGEST_MU:
        return math.inf
    width = 0.0 if mu0 == 0 else _width(max(mu0, _LEAST_MU), share)
    return float_up(Fraction(width) + 3 * leak / share) if leak else width


def balanced_mu(factor: float, failure: Fraction) -> float:
    """The mu0 with about the least factor / mu0 + t2(mu0), noise and stability; any other is valid too."""
    middle = min(math.sqrt(factor), LARGEST_MU / 2)
    return minimise(
        lambda mu: factor / mu + stability_width(mu, failure),
        middle / 30,
        min(4 * middle, LARGEST_MU),
        _STEPS,
    )


@lru_cache(maxsize=65536)
def _width(mu0: float, failure: Fraction) -> float:
    c, s = open_at(mu0, float_down(failure))
    mp = digits(40 - 2 * math.floor(math.log10(c)))
    hinge = gaussian_hinge(mp, mu0, c, s)
    return up(s + hinge * failure.denominator / failure.numerator * (1 + mp.mpf(10) ** -20))


def gaussian_hinge(mp: Any, mu: float, c: float, s: float) -> Any:
    """E h(exp(mu N - mu**2 / 2)) in closed form, h(r) = (c/4 + (r - 1)**2 / (4c) - s r)_+.

    Terms of size 1/c cancel down to c / 100, which takes away twice as many digits as c has zeros.
    """
    mu, c, s = mp.mpf(mu), mp.mpf(c), mp.mpf(s)
    discriminant = s / c + s * s - mp.mpf(1) / 4
    if discriminant <= 0:  # the quadratic is nowhere negative
        return c / 4 - s + mp.expm1(mu * mu) / (4 * c)
    root = mp.sqrt(discriminant)
    total = _tail(mp, mu, c, s, 1 + 2 * c * (s + root), 1)
    lower = 1 + 2 * c * (s - root)
    if lower > 0:
        total += _tail(mp, mu, c, s, lower, -1)
    return total


def _tail(mp: Any, mu: Any, c: Any, s: Any, edge: Any, side: int) -> Any:
    """E of the quadratic beyond ``edge``: E[r**j; r > edge] = exp(j (j-1) mu**2 / 2) P(N > x - j mu)."""
    x = (mp.log(edge) + mu * mu / 2) / mu
    beyond = [mp.erfc(side * (x - j * mu) / mp.sqrt(2)) / 2 for j in (0, 1, 2)]
    return ((1 + c * c) * beyond[0] - 2 * (1 + 2 * c * s) * beyond[1] + mp.exp(mu * mu) * beyond[2]) / (4 * c)
