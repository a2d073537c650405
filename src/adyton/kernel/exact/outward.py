"""Numbers rounded to the safe side, and what roundings may cost: the one set of margins.

A width may be too large, never too small.  Floats choose the parameters of a bound, because every choice is
valid; the bound itself is evaluated with fractions, with mpmath (``digits``), or with floats and a margin.

What is charged is rounded up, what is allowed is rounded down, and the function's name says which.  Amounts
of privacy are integers counted in units of 10**-18, so a ledger is an exact sum of integers.  A number that
a person wrote is exactly that.
"""

from __future__ import annotations

import math
import re
import threading
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from typing import Any

from adyton.errors import InvalidRequest

UNIT_ROUNDOFF = 2.0**-53
"""u: a sum, product, quotient or root of floats is within u of the truth, relatively (IEEE 754, to nearest).
n of them on the way to a positive number, without cancellation, are within n u / (1 - n u) of it."""

UNITS_PER_ONE = 10**18
_LONGEST_NUMBER = 60  # characters; keeps "1e999999999" from filling the memory
_LARGEST_EXPONENT = 40
_LN2_DOWN = Fraction(6931471805599453, 10**16)
_LARGEST = 10 ** (_LONGEST_NUMBER + _LARGEST_EXPONENT)  # what a text can say; floats reach much farther
_LONGEST_DENOMINATOR = 2**12_000  # Python writes no whole number of more than 4300 digits
_FINITE = "a finite number such as 25, 0.5 or 1e-9"

Number = int | float | str | Decimal | Fraction

FEW = 8 * UNIT_ROUNDOFF
"""2**-50: up to seven such operations on floats that were exact before, or on integers below 2**53."""

CANCELLED = 32 * UNIT_ROUNDOFF
"""2**-48, of the sum of the absolute terms of a sum that may cancel: up to thirty operations on them."""

SEVERAL = 1e-13
"""900 u: one function of the C library that is trusted to 64 u, after a subtraction that multiplies its error
by at most nine; or a short series without cancellation."""

MANY = 1e-12
"""9007 u: some hundred operations, and functions of the C library and of scipy that are trusted to 64 u each
(exp, log, tanh, erfc, ndtr, ndtri), where nothing is lost to cancellation or it is bounded by the terms."""

STEEP = 1e-10
"""900,000 u: a few such functions where an exponent or a cancellation multiplies errors by at most 1,500
each: whoever uses it derives the factor."""

COARSE = 1e-9
"""What iterates until it is content: inverses of scipy (betaincinv, which a test holds against fifty digits)
and eigensystems."""

MPMATH = Fraction(1, 2**150)
"""mpmath with 200 bits: its exp and log are trusted but for the last 50 of them."""

UP = 1 + FEW
SAFE = 1 + MANY
"""Factors for what may be too large, never too small."""

_MOST_DIGITS = 400
_threads = threading.local()


# Floats and numbers of mpmath ------------------------------------------------------------------------------


def next_up(value: float) -> float:
    """The least float above ``value``."""
    return math.nextafter(value, math.inf)


def next_down(value: float) -> float:
    """The greatest float below ``value``."""
    return math.nextafter(value, -math.inf)


def float_up(value: Fraction) -> float:
    """The least float that is not below ``value``."""
    if type(value) is Fraction:
        return ratio_up(value.numerator, value.denominator)  # the same, without a second fraction
    near = float(value)
    return near if Fraction(near) >= value else next_up(near)


def floats_up(values: Iterable[Fraction]) -> tuple[float, ...]:
    """``float_up`` of each."""
    return tuple(map(float_up, values))


def printed_up(value: Fraction) -> float:
    """The float that prints as ``value``, or else the next whose printed decimal is not below it."""
    near = float(value)
    return near if Fraction(repr(near)) >= value else next_up(near)


def float_down(value: Fraction) -> float:
    """The greatest float that is not above ``value``."""
    if type(value) is Fraction:
        return ratio_down(value.numerator, value.denominator)
    return 0.0 - float_up(-value)  # not minus zero


def ratio_up(numerator: int, denominator: int) -> float:
    """``float_up`` of a quotient of whole numbers, fast enough for every cell of a long table."""
    near = numerator / denominator  # of two integers Python rounds correctly
    n, d = near.as_integer_ratio()
    return near if n * denominator >= numerator * d else next_up(near)


def ratio_down(numerator: int, denominator: int) -> float:
    """``float_down`` of a quotient of whole numbers."""
    return 0.0 - ratio_up(-numerator, denominator)  # not minus zero


def digits(count: int) -> Any:
    """This thread's mpmath with ``count`` decimal digits: anybody may change the shared one at any time."""
    if not hasattr(_threads, "mp"):
        from mpmath import mp  # imported late: 0.1 s, needed only for widths

        own = mp.clone()
        own.dps = _MOST_DIGITS  # pi and ln 2 are kept for all threads; made this long now, they do not change
        own.log(own.pi)
        _threads.mp = own
    context = _threads.mp
    context.dps = min(count, _MOST_DIGITS)
    return context


def up(value: Any) -> float:
    """The least float that is not below a number of mpmath's."""
    near = float(value)
    return near if near >= value else next_up(near)


def down(value: Any) -> float:
    """The greatest float that is not above a number of mpmath's."""
    near = float(value)
    return near if near <= value else next_down(near)


def square_root_up(value: Fraction) -> float:
    """The least float, or the one after it, whose square is not below ``value``."""
    near = math.sqrt(float_up(value))
    return near if Fraction(near) ** 2 >= value else next_up(near)


# Integers and rationals ------------------------------------------------------------------------------------


def log_up(value: Fraction) -> float:
    """ln of a rational of any size, rounded up.  Two logarithms may cancel: the margin is of both."""
    if value.numerator.bit_length() < 900 and value.denominator.bit_length() < 900:
        logs = [math.log(float_up(value))]
    else:
        logs = [math.log(value.numerator), -math.log(value.denominator)]
    return next_up(sum(logs) + sum(map(abs, logs)) * 100 * UNIT_ROUNDOFF)


def bits_of(answers: int) -> Fraction:
    """log2 of how many answers are possible, rounded up.  Theorem: ROUNDING-STUDY."""
    return Fraction(log_up(Fraction(whole(answers, "the number of answers")))) / _LN2_DOWN


def nats_up(bits: int) -> int:
    """So many bits, in units of any size, in nats of the same size, rounded up."""
    return math.ceil(bits * (_LN2_DOWN + Fraction(1, 10**16)))


def rational(value: object, what: str) -> Fraction:
    """The exact value of a number that a person wrote; a float counts as the decimal it prints as."""
    match value:
        case bool():
            raise InvalidRequest(f"{what} must be a number, not {value}")
        case int() | Fraction():
            if abs(value) > _LARGEST:
                raise InvalidRequest(f"{what} must be {_FINITE}, not one of hundreds of digits")
            return Fraction(value)
        case Decimal() | float() | str():
            return _from_text(str(value), what)
        case _:
            raise InvalidRequest(f"{what} must be a number, not a {type(value).__name__}")


def keep_exactly(frozen: object, *names: str) -> None:
    """Makes rationals of fields of a frozen dataclass: what a person wrote, whatever its type."""
    for name in names:
        value = getattr(frozen, name)
        if value is not None and not isinstance(value, Fraction):
            object.__setattr__(frozen, name, rational(value, name))


def _from_text(text: str, what: str) -> Fraction:
    shown = text if len(text) <= _LONGEST_NUMBER else text[:_LONGEST_NUMBER] + "..."
    _, _, exponent = text.lower().partition("e")
    try:
        sensible = len(text) <= _LONGEST_NUMBER and (not exponent or abs(int(exponent)) <= _LARGEST_EXPONENT)
        number = Fraction(text) if sensible else None
    except (ValueError, ZeroDivisionError):
        number = None
    if number is None:
        raise InvalidRequest(f"{what} must be {_FINITE}, not {shown!r}")
    return number


def positive(value: object, what: str) -> Fraction:
    number = rational(value, what)
    if number.denominator > _LONGEST_DENOMINATOR:
        raise InvalidRequest(f"{what} must be {_FINITE}, not one of thousands of digits")
    if number <= 0:
        raise InvalidRequest(f"{what} must be above 0, not {value}")
    return number


def units_up(amount: Fraction) -> int:
    """The least whole number of units that is not below ``amount``: for what is charged."""
    return math.ceil(amount * UNITS_PER_ONE)


def units_down(amount: Fraction) -> int:
    """The greatest whole number of units that is not above ``amount``: for what is allowed."""
    return math.floor(amount * UNITS_PER_ONE)


def decimal_text(units: int) -> str:
    """Units as the decimal number that they are, with every digit: 1500000000000000000 -> '1.5'."""
    sign = "-" if units < 0 else ""
    whole, part = divmod(abs(units), UNITS_PER_ONE)
    return sign + f"{whole}.{part:018d}".rstrip("0").rstrip(".")


def decimal_units(text: str) -> int:
    """The units that ``decimal_text`` wrote down: '1.5' -> 1500000000000000000."""
    found = re.fullmatch(r"(-?)([0-9]{1,120})(?:\.([0-9]{1,18}))?", text)
    if found is None:
        raise InvalidRequest("an amount is a decimal number with at most 18 digits after the point")
    sign, whole, part = found.groups(default="")
    units = int(whole) * UNITS_PER_ONE + int(part.ljust(18, "0"))
    return -units if sign else units


def probability(value: object, what: str) -> Fraction:
    """A number strictly between 0 and 1, exactly as written."""
    number = rational(value, what)
    if not 0 < number < 1:
        raise InvalidRequest(f"{what} must be above 0 and below 1, not {value}")
    return number


def failure_of(confidence: object) -> Fraction:
    """1 - confidence, without rounding: 0.95 leaves exactly 1/20."""
    return 1 - probability(confidence, "confidence")


def each_of(confidence: object, times: int) -> Fraction:
    """The confidence of each of ``times`` claims that makes all of them hold with ``confidence``."""
    return 1 - failure_of(confidence) / times


def whole(value: object, what: str, least: int = 1) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise InvalidRequest(f"{what} must be a whole number of at least {least}, not {value!r}")
    return value


def not_negative(value: float, what: str) -> float:
    if not value >= 0:  # NaN fails this test too
        raise InvalidRequest(f"{what} must be at least 0, not {value}")
    return value
