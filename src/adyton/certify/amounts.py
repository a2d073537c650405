"""What is promised, what it cost and what is left: shares of a limit that was fixed in advance.

The promise of a study is its limit.  An epsilon that is worked out from what happens to be spent is no
promise, because whoever stops or names prices by the answers can make it false; where a running epsilon is
wanted, it is the reading of an odometer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context
from fractions import Fraction

from adyton.certify.values import Certificate
from adyton.exact import UNITS_PER_ONE, decimal_text, float_down, float_up

_LEAST_PERCENT = Fraction(1, 10_000)  # below it, and as near to 100, digits would only confuse


@dataclass(frozen=True, slots=True)
class Amount:
    """A cost, what is spent or what is left, as the study's filter counts it and as a share of its limit.

    A share is rounded up, but that of what is left down.
    """

    filter_name: str
    units: int
    limit: int
    is_left: bool = False

    @property
    def share(self) -> float:
        exact = Fraction(self.units, self.limit)
        return float_down(exact) if self.is_left else float_up(exact)

    def to_json(self) -> dict[str, object]:
        return {"filter": self.filter_name, "amount": decimal_text(self.units), "share": self.share}

    def __str__(self) -> str:
        """Per cent of the limit; programs read ``to_json``."""
        return percent(Fraction(self.units, self.limit), up=not self.is_left)

    @property
    def in_units(self) -> str:
        """Six digits and the filter, for people who ask for more."""
        return f"{self.units / UNITS_PER_ONE:.6g} {self.filter_name}"


@dataclass(frozen=True, slots=True)
class Promise:
    """(epsilon, delta): what a study, or a mechanism, promises at most, fixed in advance."""

    epsilon: float
    delta: float

    def to_json(self) -> dict[str, float]:
        return {"epsilon": self.epsilon, "delta": self.delta}

    def __str__(self) -> str:
        return f"epsilon {digits_up(self.epsilon)}, delta {digits_up(self.delta)}"


@dataclass(frozen=True, slots=True)
class Odometer:
    """A running epsilon that holds whenever somebody stops, by whatever rule, with a delta of its own.

    It may be above the limit's epsilon; then the limit is the better promise.
    """

    epsilon: float
    delta: float
    theorem: str

    def to_json(self) -> dict[str, object]:
        return {"epsilon": self.epsilon, "delta": self.delta, "theorem": self.theorem}

    def __str__(self) -> str:
        return f"epsilon {digits_up(self.epsilon)}, delta {digits_up(self.delta)}"


def percent(share: Fraction, *, up: bool) -> str:
    """A share in per cent with the digits that matter: what is not 0 is not shown as 0, nor 99.99 as 100."""
    hundredths = 100 * share
    if hundredths in (0, 100):
        return f"{int(hundredths)} %"
    if hundredths > 100:
        return f"{math.ceil(hundredths):,} %"
    room = min(hundredths, 100 - hundredths)
    if room < _LEAST_PERCENT:
        return "under 0.0001 %" if hundredths < 50 else "over 99.9999 %"
    digits = max(1, 1 - math.floor(math.log10(room)))
    steps = hundredths * 10**digits
    written = f"{(math.ceil(steps) if up else math.floor(steps)) / 10**digits:.{digits}f}"
    return written.rstrip("0").rstrip(".") + " %"


def cost_notes(
    cost: Amount, spent: Amount, left: Amount, limit: Promise, more: int | None, *, batch_size: int = 1
) -> tuple[str, ...]:
    """What an answer says about money; ``more`` is None where a stored answer was returned."""
    batch = f" for {batch_size} questions together" if batch_size > 1 else ""
    asked = f"Cost {cost} of the limit{batch}" if more is not None else "Asked before: free of charge"
    like = f": {more:,} more of this cost would fit" if more else ": no more of this cost would fit"
    return (
        f"{asked}. Spent {spent}, left {left}{like if more is not None else ''}.",
        f"The promise: {limit}, whatever is asked.",
    )


def verbose_notes(certificate: Certificate, cost: Amount, spent: Amount, left: Amount) -> tuple[str, ...]:
    """What is said only to those who ask for it."""
    amounts = f"Cost {cost.in_units}, spent {spent.in_units}, left {left.in_units}."
    return amounts, f"Theorems: {', '.join(certificate.theorems)}."


def digits_up(value: float) -> str:
    """Six digits, rounded up: 1e-9, 0.25, 1.00001e-9."""
    written = Context(prec=6, rounding=ROUND_CEILING).create_decimal(repr(value))
    mantissa, _, exponent = f"{float(written):g}".partition("e")
    return mantissa if not exponent else f"{mantissa}e{int(exponent)}"
