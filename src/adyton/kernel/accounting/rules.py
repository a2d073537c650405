"""Privacy filters: what may be spent, what a release costs, and what a budget that is spent guarantees.

A study chooses one accounting when it is created.  Its ledger adds whole units of 10**-18, and a release is
admitted if the total, the candidate included, is not above ``allowed``.  Queries and prices may both depend
on every earlier answer; the theorem named in each says why the total may be read as if they did not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal, Protocol, get_args

from adyton.errors import InvalidRequest
from adyton.kernel.accounting import gaussian, zcdp
from adyton.kernel.exact import UNITS_PER_ONE, float_down, float_up, units_down, units_up
from adyton.kernel.exact.outward import square_root_up
from adyton.kernel.privacy import Cost, Guarantee

AccountingName = Literal["gdp", "zcdp", "pure"]
ACCOUNTING_NAMES: tuple[AccountingName, ...] = get_args(AccountingName)

LEAST_EPSILON = Fraction(1, 10**9)
"""Below it epsilon**2 is less than one unit, and a study with a tiny delta could never answer anything."""
LARGEST_EPSILON = Fraction(500)
"""exp(500) is far below the largest float, and a likelihood ratio above it protects nobody."""
LEAST_DELTA = Fraction(1, 10**300)
"""The conversions are certified down to here; floats end at about 10**-308."""


class Accounting(Protocol):
    def __hash__(self) -> int: ...

    @property
    def name(self) -> AccountingName: ...

    @property
    def theorems(self) -> tuple[str, ...]:
        """Ids of the theorems that license the total."""
        ...

    def allowed(self, guarantee: Guarantee) -> int:
        """Units that fit inside ``guarantee``, rounded down."""
        ...

    def amount(self, cost: Cost) -> int:
        """Units that one release costs, rounded up, at least 1."""
        ...

    def epsilon(self, spent: int, delta: Fraction) -> float:
        """The epsilon, rounded up, that a budget of ``spent`` units guarantees at ``delta``.

        Of a budget that was fixed in advance: where ``spent`` is what happens to be spent at a moment that
        was chosen by the answers, only the pure accounting's is a guarantee.  See ``odometer``.
        """
        ...


@dataclass(frozen=True, slots=True)
class GdpAccounting:
    """Spends mu**2.

    Claim:    if the amounts of all releases sum to at most mu**2, all releases together are mu-GDP.
    Assumes:  each release is mu_i-GDP given everything released before it; the noise is fresh.
    Source:   Smith, Thakurta 2022; Koskela, Tobaben, Honkela 2022.  Theorem: GDP-FILTER.
    """

    name: ClassVar[AccountingName] = "gdp"
    theorems: ClassVar[tuple[str, ...]] = ("GDP-FILTER", "GDP-TO-APPROX")

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
class ZcdpAccounting:
    """Spends rho.

    Claim:    if the amounts of all releases sum to at most rho, all releases together are rho-zCDP.
    Assumes:  each release is rho_i-zCDP given everything released before it; the noise is fresh.
    Source:   Feldman, Zrnic 2021; Whitehouse, Ramdas, Rogers, Wu 2023.  Theorem: ZCDP-FILTER.
    """

    name: ClassVar[AccountingName] = "zcdp"
    theorems: ClassVar[tuple[str, ...]] = ("ZCDP-FILTER", "ZCDP-TO-APPROX")

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
class PureAccounting:
    """Spends epsilon.

    Claim:    if the amounts of all releases sum to at most epsilon, all releases together are epsilon-DP.
    Assumes:  each release is epsilon_i-DP given everything released before it; the noise is fresh.
    Source:   Rogers, Roth, Ullman, Vadhan 2016.  Theorem: PURE-FILTER.
    """

    name: ClassVar[AccountingName] = "pure"
    theorems: ClassVar[tuple[str, ...]] = ("PURE-FILTER",)

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
