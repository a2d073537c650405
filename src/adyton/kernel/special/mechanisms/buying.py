"""What so many units buy: the cost of a noise, or the largest epsilon, that is not above them."""

from __future__ import annotations

from fractions import Fraction

from adyton.errors import InvalidRequest
from adyton.kernel.accounting.rules import Accounting
from adyton.kernel.exact import UNITS_PER_ONE
from adyton.kernel.exact.search import largest_real
from adyton.kernel.privacy import BoundedRangeCost, PureCost

TOO_SMALL = "this price is below the smallest unit that can be charged"


def cost_of_units(accounting: str, units: int) -> Fraction:
    """mu**2 for Gaussian noise, epsilon for geometric noise."""
    if units < 1:
        raise InvalidRequest(TOO_SMALL)
    amount = Fraction(units, UNITS_PER_ONE)
    return 2 * amount if accounting == "zcdp" else amount


def largest_epsilon(
    rule: Accounting, units: int, kind: type[PureCost] | type[BoundedRangeCost] = PureCost
) -> Fraction:
    """The largest epsilon of this kind, rounded down to twelve digits, that costs at most ``units``."""
    if rule.name == "pure":
        return Fraction(units, UNITS_PER_ONE)

    def fits(epsilon: float) -> bool:
        return rule.amount(kind(Fraction(epsilon))) <= units

    return Fraction(largest_real(fits, 1e-12))
