"""Privacy filters: what may be spent, what a release costs, and what a budget that is spent guarantees.

A study chooses one accounting when it is created, and with it the noise and the theorem on populations.  All
that differs between the three is a fact or a method of their classes: nothing else asks for their names.

Its ledger adds whole units of 10**-18, and a release is admitted if the total, the candidate included, is not
above ``allowed``.  Queries and prices may both depend on every earlier answer; the theorem named in each says
why the total may be read as if they did not.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal, get_args

from adyton.errors import InvalidRequest
from adyton.kernel.accounting import gaussian, zcdp
from adyton.kernel.exact import UNITS_PER_ONE, float_down, float_up, units_down, units_up
from adyton.kernel.exact.outward import square_root_up
from adyton.kernel.exact.search import largest_real
from adyton.kernel.mechanisms import GaussianNoise, GeometricNoise, QueryNoise
from adyton.kernel.privacy import BoundedRangeCost, Cost, Guarantee, PureCost

AccountingName = Literal["gdp", "zcdp", "pure"]
NoiseKind = type[QueryNoise]
ChoiceCost = type[PureCost] | type[BoundedRangeCost]
ACCOUNTING_NAMES: tuple[AccountingName, ...] = get_args(AccountingName)

LEAST_EPSILON = Fraction(1, 10**9)
"""Below it epsilon**2 is less than one unit, and a study with a tiny delta could never answer anything."""
NO_RADIUS = "no radius is proved for this mechanism"
TOO_SMALL = "this price is below the smallest unit that can be charged"
LARGEST_EPSILON = Fraction(500)
"""exp(500) is far below the largest float, and a likelihood ratio above it protects nobody."""
LEAST_DELTA = Fraction(1, 10**300)
"""The conversions are certified down to here; floats end at about 10**-308."""


class Accounting(ABC):
    """One choice of noise, accounting and theorem on populations.  Costs and amounts are in whole units."""

    __slots__ = ()
    name: ClassVar[AccountingName]
    theorems: ClassVar[tuple[str, ...]]  # ids of those that license the total
    of_pure: ClassVar[tuple[str, ...]]  # ids of those that license what an epsilon costs
    noise: ClassVar[NoiseKind]  # what is added to numbers; normal, unless ``capped``
    choice: ClassVar[ChoiceCost]  # what a private choice costs: by its range, unless only its epsilon counts
    per_rho: ClassVar[int | None]  # how many of its units are one of rho; None where epsilons are added up
    capped: ClassVar[bool]  # whether validity pays for everything from one cap that was fixed in advance

    @abstractmethod
    def allowed(self, guarantee: Guarantee) -> int:
        """Units that fit inside ``guarantee``, rounded down."""

    @abstractmethod
    def amount(self, cost: Cost) -> int:
        """Units that one release costs, rounded up, at least 1."""

    @abstractmethod
    def epsilon(self, spent: int, delta: Fraction) -> float:
        """The epsilon, rounded up, that a budget of ``spent`` units guarantees at ``delta``.

        Of a budget that was fixed in advance: where ``spent`` is what happens to be spent at a moment that
        was chosen by the answers, only the pure accounting's is a guarantee.  See ``odometer``.
        """

    def noise_cost(self, units: int) -> Fraction:
        """What so many units buy of the noise: mu**2 of Gaussian noise, epsilon of geometric noise."""
        if units < 1:
            raise InvalidRequest(TOO_SMALL)
        return Fraction(units, UNITS_PER_ONE) * (Fraction(2, self.per_rho) if self.per_rho else 1)

    def largest_epsilon(self, units: int, kind: ChoiceCost) -> Fraction:
        """The largest epsilon of this kind, rounded down to twelve digits, that costs at most ``units``."""
        if self.per_rho is None:
            return Fraction(units, UNITS_PER_ONE)

        def fits(epsilon: float) -> bool:
            return self.amount(kind(Fraction(epsilon))) <= units

        return Fraction(largest_real(fits, 1e-12))

    def validity(self, chosen: Cost, numbers: Cost) -> tuple[int, int]:
        """What validity pays for a choice and for the numbers beside it: a radius, and an epsilon apart.

        ``chosen``: its cost if a unit is exchanged for another; ``numbers``: their radius together.  The
        theorem of a cap counts everything by its radius; the one on what was released adds both apart.
        """
        if chosen.pure is None or chosen.gdp is None or numbers.gdp is None:
            raise InvalidRequest(NO_RADIUS)
        if self.capped:
            return units_up(chosen.gdp + numbers.gdp), 0
        return units_up(numbers.gdp), units_up(chosen.pure)


@dataclass(frozen=True, slots=True)
class GdpAccounting(Accounting):
    """Spends mu**2.

    Claim:    if the amounts of all releases sum to at most mu**2, all releases together are mu-GDP.
    Assumes:  each release is mu_i-GDP given everything released before it; the noise is fresh.
    Source:   Smith, Thakurta 2022; Koskela, Tobaben, Honkela 2022.  Theorem: GDP-FILTER.
    """

    name: ClassVar[AccountingName] = "gdp"
    theorems: ClassVar[tuple[str, ...]] = ("GDP-FILTER", "GDP-TO-APPROX")
    of_pure: ClassVar[tuple[str, ...]] = ("PURE-IMPLIES-GDP",)
    noise: ClassVar[NoiseKind] = GaussianNoise
    choice: ClassVar[ChoiceCost] = BoundedRangeCost
    capped: ClassVar[bool] = False
    per_rho: ClassVar[int] = 2  # mu-GDP is (mu**2 / 2)-zCDP

    def allowed(self, guarantee: Guarantee) -> int:
        limit, delta = _limit(guarantee), _delta_down(guarantee.delta)
        units = units_down(Fraction(gaussian.mu_down(float_down(limit), delta)) ** 2)
        return _fitting(units, lambda spent: self.epsilon(spent, guarantee.delta) <= limit)

    def amount(self, cost: Cost) -> int:
        return _amount(cost.gdp, "a gdp study spends mu², and this mechanism has no proved mu")

    def epsilon(self, spent: int, delta: Fraction) -> float:
        """Theorem: GDP-TO-APPROX."""
        return gaussian.epsilon_up(square_root_up(Fraction(spent, UNITS_PER_ONE)), _delta_down(delta))


@dataclass(frozen=True, slots=True)
class ZcdpAccounting(Accounting):
    """Spends rho.

    Claim:    if the amounts of all releases sum to at most rho, all releases together are rho-zCDP.
    Assumes:  each release is rho_i-zCDP given everything released before it; the noise is fresh.
    Source:   Feldman, Zrnic 2021; Whitehouse, Ramdas, Rogers, Wu 2023.  Theorem: ZCDP-FILTER.
    """

    name: ClassVar[AccountingName] = "zcdp"
    theorems: ClassVar[tuple[str, ...]] = ("ZCDP-FILTER", "ZCDP-TO-APPROX")
    of_pure: ClassVar[tuple[str, ...]] = ("PURE-IMPLIES-ZCDP",)
    noise: ClassVar[NoiseKind] = GaussianNoise
    choice: ClassVar[ChoiceCost] = BoundedRangeCost
    capped: ClassVar[bool] = False
    per_rho: ClassVar[int] = 1

    def allowed(self, guarantee: Guarantee) -> int:
        limit, delta = _limit(guarantee), _delta_down(guarantee.delta)
        units = units_down(Fraction(zcdp.rho_down(float_down(limit), delta)))
        return _fitting(units, lambda spent: self.epsilon(spent, guarantee.delta) <= limit)

    def amount(self, cost: Cost) -> int:
        return _amount(cost.zcdp, "a zcdp study spends rho, and this mechanism has no proved rho")

    def epsilon(self, spent: int, delta: Fraction) -> float:
        """Theorem: ZCDP-TO-APPROX."""
        return zcdp.epsilon_up(float_up(Fraction(spent, UNITS_PER_ONE)), _delta_down(delta))


@dataclass(frozen=True, slots=True)
class PureAccounting(Accounting):
    """Spends epsilon.

    Claim:    if the amounts of all releases sum to at most epsilon, all releases together are epsilon-DP.
    Assumes:  each release is epsilon_i-DP given everything released before it; the noise is fresh.
    Source:   Rogers, Roth, Ullman, Vadhan 2016.  Theorem: PURE-FILTER.
    """

    name: ClassVar[AccountingName] = "pure"
    theorems: ClassVar[tuple[str, ...]] = ("PURE-FILTER",)
    noise: ClassVar[NoiseKind] = GeometricNoise
    choice: ClassVar[ChoiceCost] = PureCost
    of_pure: ClassVar[tuple[str, ...]] = ()
    per_rho: ClassVar[None] = None
    capped: ClassVar[bool] = True

    def allowed(self, guarantee: Guarantee) -> int:
        if guarantee.delta != 0:
            raise InvalidRequest(f"a pure study has delta = 0, not {float(guarantee.delta):g}")
        return units_down(_limit(guarantee))

    def amount(self, cost: Cost) -> int:
        return _amount(cost.pure, "a pure study spends epsilon, and this mechanism has no pure epsilon")

    def epsilon(self, spent: int, delta: Fraction) -> float:
        return float_up(Fraction(spent, UNITS_PER_ONE))


def accounting_named(name: str) -> Accounting:
    rules: tuple[Accounting, ...] = (GdpAccounting(), ZcdpAccounting(), PureAccounting())
    for rule in rules:
        if rule.name == name:
            return rule
    raise InvalidRequest(f"unknown accounting {name!r}; known: {', '.join(ACCOUNTING_NAMES)}")


def _amount(view: Fraction | None, unpriced: str) -> int:
    if view is None:
        raise InvalidRequest(unpriced)
    return max(1, units_up(view))


def _limit(guarantee: Guarantee) -> Fraction:
    epsilon = guarantee.epsilon
    if epsilon < LEAST_EPSILON:
        raise InvalidRequest(f"epsilon = {float(epsilon):g} is below the minimum of 1e-9")
    if epsilon > LARGEST_EPSILON:
        raise InvalidRequest(f"epsilon = {float(epsilon):g} is above the maximum of {LARGEST_EPSILON}")
    return epsilon


def _delta_down(delta: Fraction) -> float:
    if delta <= 0:
        raise InvalidRequest("a gdp or zcdp study has delta > 0; for delta = 0 choose the pure filter")
    if delta < LEAST_DELTA:
        raise InvalidRequest("delta is below the minimum of 1e-300")
    return float_down(delta)


def _fitting(units: int, fits: Callable[[int], bool]) -> int:
    """``units``, or a hair less where the roundings of two conversions would break the budget."""
    while units and not fits(units):
        units -= 1 + units // 10**12
    return units
