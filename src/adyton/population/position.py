"""Where an answer stands in its study, and a count of all units that was released there."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from adyton.kernel.exact import UNITS_PER_ONE
from adyton.kernel.ledger import Receipt, Totals


@dataclass(frozen=True, slots=True)
class Position:
    """Where an answer stands in the study: its number, what was released before it and by it, and how many
    values it has.  Radii are squared, in units of the noise, or bits where answers are rounded; ``pure`` is
    an epsilon.
    """

    query: int
    before: Fraction
    own: Fraction
    values: int
    pure: Fraction = Fraction(0)
    unproved: bool = False  # it, or something before it, is not covered by the theorem
    elsewhere: bool = False  # asked of another table than the one that is a sample

    @classmethod
    def of(cls, receipt: Receipt) -> Position:
        """Where an answer stands that was paid for."""
        own, pure = receipt.order.radius, receipt.spent_pure - receipt.order.pure
        before = receipt.spent_radius - own
        return cls(receipt.number, _one(before), _one(own), 1, _one(pure), receipt.unproved > 0)

    @classmethod
    def after(cls, totals: Totals, radius: int = 0) -> Position:
        """Where the next query would stand, if it has this radius."""
        before, own, pure = _one(totals.radius), _one(radius), _one(totals.pure)
        return cls(totals.receipts + 1, before, own, 1, pure, totals.unproved > 0)

    @property
    def spent(self) -> Fraction:
        return self.before + self.own


@dataclass(frozen=True, slots=True)
class Counted:
    """A noisy count of all units, and the number of the query that asked for it."""

    released: int
    scale: float
    query: int


@lru_cache(maxsize=64)
def _one(units: int) -> Fraction:
    return Fraction(units, UNITS_PER_ONE)
