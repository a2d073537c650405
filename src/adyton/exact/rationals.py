"""Integers and rationals, rounded away from danger; numbers that a person wrote, as exactly that.

What is charged is rounded up, what is allowed is rounded down, and the function's name says which.
Amounts of privacy are integers counted in units of 10**-18, so a ledger is an exact sum of integers.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

from adyton.errors import InvalidRequest

UNITS_PER_ONE = 10**18
_LONGEST_NUMBER = 60  # characters; keeps "1e999999999" from filling the memory
_LARGEST_EXPONENT = 40
_LARGEST = 10 ** (_LONGEST_NUMBER + _LARGEST_EXPONENT)  # what a text can say; floats reach much farther
_LONGEST_DENOMINATOR = 2**12_000  # Python writes no whole number of more than 4300 digits
_FINITE = "a finite number such as 25, 0.5 or 1e-9"

Number = int | float | str | Decimal | Fraction


def rational(value: object, what: str) -> Fraction:
    """The exact value of a number that a person wrote; a float counts as the decimal it prints as."""
    match value:
        case bool():
            raise InvalidRequest(f"{what} must be a number, not {value}")
        case int() | Fraction():
            return _not_too_long(Fraction(value), what)
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


def _not_too_long(number: Fraction, what: str) -> Fraction:
    if abs(number) > _LARGEST:
        raise InvalidRequest(f"{what} must be {_FINITE}, not one of hundreds of digits")
    return number


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
