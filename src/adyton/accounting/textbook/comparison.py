"""The theorems side by side: what the same releases cost by each, and what each allows a release to cost.

The first table is for releases of which only a pure epsilon is known, or that add Laplace noise, or that
are randomized response; the second is for Gaussian noise.  Every number is an upper bound; the spread
between them is what better theorems are worth.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Literal

from adyton.accounting.pld import pairs, pld
from adyton.accounting.textbook import renyi
from adyton.accounting.textbook.composition import advanced, basic, checked_delta, checked_times, same, strong
from adyton.accounting.textbook.concentrated import gdp_epsilon, zcdp_epsilon
from adyton.accounting.textbook.optimal import optimal
from adyton.arithmetic.search import largest_real_within
from adyton.documents import Document
from adyton.errors import InvalidRequest
from adyton.kernel.accounting.rules import LARGEST_EPSILON, LEAST_EPSILON
from adyton.kernel.exact import Number, float_down, float_up, positive, rational
from adyton.kernel.privacy import GaussianCost, PureCost

NoiseName = Literal["laplace", "gaussian"]
Step = Callable[[str], None]

_DIGITS = 15  # as many as survive being printed and read again
_CLOSE = 1e-8
_LEAST_MU, _LARGEST_MU = Fraction(1, 10**9), Fraction(100)


@dataclass(frozen=True, slots=True)
class Theorem:
    """A way to compose ``times`` releases of one price, epsilon0 or mu, into the epsilon at a total delta."""

    name: str
    holds_for: str
    epsilon: Callable[[Fraction, int, Fraction], float]


@dataclass(frozen=True, slots=True)
class Composed(Document):
    theorem: str
    holds_for: str
    epsilon: float

    json_keys = "theorem epsilon holds_for"


@dataclass(frozen=True, slots=True)
class Calibrated(Document):
    """Noise of ``scale`` (b of Laplace, sigma of Gaussian), for which one release costs epsilon0 or mu."""

    theorem: str
    mechanism: NoiseName
    scale: float
    epsilon0: float | None
    mu: float | None


def compose(epsilon: Number, times: int, delta: Number, step: Step = lambda name: None) -> list[Composed]:
    """The epsilon of ``times`` releases of ``epsilon`` each, at a total ``delta``, by every theorem."""
    price = positive(epsilon, "epsilon")
    if not LEAST_EPSILON <= price <= LARGEST_EPSILON:
        raise InvalidRequest(f"epsilon must be from 1e-9 to {LARGEST_EPSILON}, not {float(price):g}")
    return _by_each(PURE, price, times, delta, step)


def compose_gaussian(
    sigma: Number, times: int, delta: Number, step: Step = lambda name: None
) -> list[Composed]:
    """The same for Gaussian noise of standard deviation ``sigma`` on statistics of L2 sensitivity 1."""
    deviation = positive(sigma, "sigma")
    if not 1 / _LARGEST_MU <= deviation <= 1 / _LEAST_MU:
        raise InvalidRequest(f"sigma must be from 0.01 to 1e9, not {float(deviation):g}")
    return _by_each(GAUSSIAN, 1 / deviation, times, delta, step)


def calibrate(
    epsilon: Number, times: int, delta: Number, sensitivity: Number = 1, step: Step = lambda name: None
) -> list[Calibrated]:
    """The least noise with which ``times`` releases stay inside (epsilon, delta), rounded up.

    ``sensitivity`` is the L1 sensitivity of each release for Laplace and the L2 sensitivity for Gaussian
    noise.
    """
    target, moved = positive(epsilon, "epsilon"), positive(sensitivity, "the sensitivity")
    total_delta = checked_delta(rational(delta, "delta"))
    checked_times(times)
    found = []
    for theorem in PURE:
        if theorem.name == "pld_randomized_response":
            continue  # the same as optimal, and not a way to add noise
        step(theorem.name)
        epsilon0 = largest_price(theorem, target, times, total_delta)
        scale = _printed(moved / Fraction(str(epsilon0)), ROUND_CEILING)
        found.append(Calibrated(theorem.name, "laplace", scale, epsilon0, None))
    for theorem in GAUSSIAN:
        step(theorem.name)
        mu = largest_price(theorem, target, times, total_delta)
        scale = _printed(moved / Fraction(str(mu)), ROUND_CEILING)
        found.append(Calibrated(theorem.name, "gaussian", scale, None, mu))
    return found


def largest_price(theorem: Theorem, target: Fraction, times: int, delta: Fraction) -> float:
    """The largest epsilon0 (or mu) with which ``times`` releases stay inside (target, delta); rounded down.

    Claim:    composing it again gives at most ``target``, and for a theorem without jumps at least (1 -
              1e-7) of it. It has 15 digits, so it survives being printed.
    Source:   the theorem itself, evaluated at the number that is returned.
    """
    if not LEAST_EPSILON <= target <= LARGEST_EPSILON:
        raise InvalidRequest(f"epsilon must be from 1e-9 to {LARGEST_EPSILON}, not {float(target):g}")
    if theorem.name == "basic":
        return _printed(target / times, ROUND_FLOOR)
    lowest, highest = (LEAST_EPSILON, LARGEST_EPSILON) if theorem in PURE else (_LEAST_MU, _LARGEST_MU)

    def value(price: float) -> float:
        if price < lowest:
            raise InvalidRequest(f"by {theorem.name} not even 1e-9 for each of {times:,} releases fits")
        return theorem.epsilon(Fraction(price), times, delta) if price <= highest else math.inf

    limit = float_down(target)
    start = limit / (limit + math.sqrt(2 * times * max(1.0, -math.log(delta))))
    found = largest_real_within(value, limit, min(max(start, float(lowest)), float(highest)), _CLOSE)
    return _printed(Fraction(found), ROUND_FLOOR)


def _by_each(
    theorems: tuple[Theorem, ...], price: Fraction, times: int, delta: Number, step: Step
) -> list[Composed]:
    total_delta = checked_delta(rational(delta, "delta"))
    checked_times(times)
    composed = []
    for theorem in theorems:
        step(theorem.name)
        epsilon = theorem.epsilon(price, times, total_delta)
        composed.append(Composed(theorem.name, theorem.holds_for, epsilon))
    return composed


def _printed(value: Fraction, rounding: str) -> float:
    """A float that stands for a decimal number of 15 digits, which is what its repr shows."""
    context = Context(prec=_DIGITS, rounding=rounding)
    return float(context.divide(Decimal(value.numerator), Decimal(value.denominator)))


def _pld(
    pair: type[pairs.LaplacePair] | type[pairs.RandomizedResponsePair],
) -> Callable[[Fraction, int, Fraction], float]:
    """By privacy loss distribution, where it reaches; beyond, and if that is less, the sum."""

    def epsilon(price: Fraction, times: int, delta: Fraction) -> float:
        at_most = float_up(price * times)
        if price > pairs.LARGEST_REACH or delta < pld.LEAST_DELTA:
            return at_most
        return min(at_most, pld.epsilon_up([(pair(price), times)], float_down(delta)))

    return epsilon


def _pld_gaussian(mu: Fraction, times: int, delta: Fraction) -> float:
    at_most = gdp_epsilon([(GaussianCost(mu**2), times)], delta)
    if delta < pld.LEAST_DELTA:
        return at_most
    return min(at_most, pld.epsilon_up([(pairs.GaussianPair(mu), times)], float_down(delta)))


_ANY = "any epsilon0-DP releases"
_LAPLACE = "Laplace noise"
_GAUSSIAN = "Gaussian noise"

PURE: tuple[Theorem, ...] = (
    Theorem("basic", _ANY, lambda e, k, d: basic(same(e, k), d)),
    Theorem("advanced", _ANY, lambda e, k, d: advanced(same(e, k), d)),
    Theorem("strong", _ANY, lambda e, k, d: strong(same(e, k), d)),
    Theorem("optimal", _ANY, lambda e, k, d: optimal(same(e, k), d)),
    Theorem("zcdp", _ANY, lambda e, k, d: zcdp_epsilon([(PureCost(e), k)], d)),
    Theorem("rdp_laplace", _LAPLACE, lambda e, k, d: renyi.epsilon_up([(renyi.LaplaceCurve(e), k)], d)),
    Theorem("pld_laplace", _LAPLACE, _pld(pairs.LaplacePair)),
    Theorem("pld_randomized_response", _ANY, _pld(pairs.RandomizedResponsePair)),
)
GAUSSIAN: tuple[Theorem, ...] = (
    Theorem("gdp", _GAUSSIAN, lambda mu, k, d: gdp_epsilon([(GaussianCost(mu**2), k)], d)),
    Theorem("rdp", _GAUSSIAN, lambda mu, k, d: renyi.epsilon_up([(renyi.GaussianCurve(mu**2), k)], d)),
    Theorem("pld", _GAUSSIAN, _pld_gaussian),
)
THEOREMS: dict[str, Theorem] = {theorem.name: theorem for theorem in PURE + GAUSSIAN}
