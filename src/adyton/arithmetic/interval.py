"""Real numbers between two rationals: what a formula gives, rounded up or down, with nothing left to hope.

mpmath's interval arithmetic works with 200 bits and rounds every step outwards.  Sums, products, quotients
and roots are exact in that sense; for exp and log we allow mpmath an error of 2**-150, relatively, and
widen by it.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import Any

from adyton.errors import InvalidRequest
from adyton.kernel.exact.outward import MPMATH

_BITS = 200

RealInterval = Any  # of mpmath, which has no types


@cache
def arithmetic() -> Any:
    """A context of our own: nobody else can change its precision."""
    from mpmath.ctx_iv import MPIntervalContext  # imported late: 0.1 s, for bounds

    context = MPIntervalContext()
    context.prec = _BITS
    return context


def interval(value: Fraction | float) -> RealInterval:
    """The rational number itself, or the narrowest interval around it."""
    exact = Fraction(value)
    return arithmetic().mpf(exact.numerator) / arithmetic().mpf(exact.denominator)


def exp(x: RealInterval) -> RealInterval:
    return arithmetic().exp(x)


def log(x: RealInterval) -> RealInterval:
    return arithmetic().log(x)


def sqrt(x: RealInterval) -> RealInterval:
    return arithmetic().sqrt(x)


def tanh_half(x: RealInterval) -> RealInterval:
    """tanh(x / 2) = (e**x - 1) / (e**x + 1); an eighth of the bits is lost at x = 2**-25."""
    grown = exp(x)
    return (grown - 1) / (grown + 1)


def upper(x: RealInterval) -> Fraction:
    """A rational number not below the true one."""
    return _outward(_rational(x._mpi_[1]), 1)


def lower(x: RealInterval) -> Fraction:
    """A rational number not above the true one."""
    return _outward(_rational(x._mpi_[0]), -1)


def _outward(end: Fraction, direction: int) -> Fraction:
    return end + direction * abs(end) * MPMATH


def _rational(end: tuple[int, int, int, int]) -> Fraction:
    sign, mantissa, exponent, _ = end
    if exponent and not mantissa:  # how mpmath writes infinity and NaN
        raise InvalidRequest("these numbers are too small or too large for 200 bits")
    value = Fraction(int(mantissa)) * Fraction(2) ** exponent
    return -value if sign else value
