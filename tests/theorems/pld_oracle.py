"""True values of delta(epsilon) for compositions small enough to be summed or integrated, to 30 digits."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction

import mpmath
from mpmath import mpf

mpmath.mp.dps = 40


def real(number: Fraction | float | int) -> mpf:
    exact = Fraction(number)
    return mpf(exact.numerator) / exact.denominator


def randomized_response(epsilon0: Fraction, times: int, epsilon: float) -> mpf:
    """``times`` equal randomized responses: a sum over the number of lies."""
    e0, e = real(epsilon0), real(epsilon)
    total = mpf(0)
    for lies in range(times + 1):
        loss = (times - 2 * lies) * e0
        if loss <= e:
            break
        total += mpmath.binomial(times, lies) * mpmath.exp((times - lies) * e0) * -mpmath.expm1(e - loss)
    return total / (1 + mpmath.exp(e0)) ** times


def binary(epsilons: Sequence[Fraction], epsilon: float) -> mpf:
    """Different randomized responses: a sum over all outcomes."""
    e0 = [real(x) for x in epsilons]
    scale = mpmath.fprod(1 + mpmath.exp(-x) for x in e0)
    total = mpf(0)
    for signs in itertools.product((1, -1), repeat=len(e0)):
        loss = mpmath.fsum(s * x for s, x in zip(signs, e0, strict=True))
        if loss > epsilon:
            mass = mpmath.exp(-mpmath.fsum(x for s, x in zip(signs, e0, strict=True) if s < 0))
            total += mass * -mpmath.expm1(real(epsilon) - loss)
    return total / scale


def gaussian(mu: Fraction | float, epsilon: mpf) -> mpf:
    m = real(mu)
    return mpmath.ncdf(-epsilon / m + m / 2) - mpmath.exp(epsilon) * mpmath.ncdf(-epsilon / m - m / 2)


def randomized_response_and_gaussian(e0: Fraction, times: int, mu: Fraction, epsilon: float) -> mpf:
    """The lattice summed, the Gaussian in closed form."""
    x = real(e0)
    return mpmath.fsum(
        mpmath.binomial(times, j)
        * mpmath.exp((times - j) * x)
        / (1 + mpmath.exp(x)) ** times
        * gaussian(mu, real(epsilon) - (times - 2 * j) * x)
        for j in range(times + 1)
    )


def laplace_once(e0: mpf, epsilon: mpf) -> mpf:
    if epsilon >= e0:
        return mpf(0)
    return -mpmath.expm1(epsilon) if epsilon <= -e0 else -mpmath.expm1((epsilon - e0) / 2)


def laplace_twice(first: Fraction, second: Fraction, epsilon: float) -> mpf:
    """The loss of the first in three pieces (two atoms, one density), the second in closed form."""
    a, b, e = real(first), real(second), real(epsilon)
    corners = sorted({-a, a, *(c for c in (e - b, e + b) if -a < c < a)})
    density = mpmath.quad(lambda x: mpmath.exp((x - a) / 2) / 4 * laplace_once(b, e - x), corners)
    return laplace_once(b, e - a) / 2 + mpmath.exp(-a) / 2 * laplace_once(b, e + a) + density


def finite(pairs: Sequence[tuple[Sequence[Fraction], Sequence[Fraction]]], epsilon: float) -> mpf:
    """Any finite pairs, one direction: the sum over all outcomes of max(0, P - exp(epsilon) Q)."""
    factor = mpmath.exp(real(epsilon))
    total = mpf(0)
    for outcome in itertools.product(*(range(len(p)) for p, _ in pairs)):
        p = q = Fraction(1)
        for (first, second), i in zip(pairs, outcome, strict=True):
            p, q = p * first[i], q * second[i]
        total += max(mpf(0), real(p) - factor * real(q))
    return total
