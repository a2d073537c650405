"""The cost of several releases together, each view added up by itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from adyton.kernel.privacy import Cost


@dataclass(frozen=True, slots=True)
class ComposedCost:
    """``parts`` are costs and how often each is incurred; later releases may depend on earlier ones.

    Claim:    epsilon, rho and mu**2 add up; a view that one part lacks is lacking.
    Assumes:  every release is fresh, and the number of each is fixed in advance.
    Source:   the filters of the same currencies.  Theorem: PURE-FILTER.  Theorem: ZCDP-FILTER.
              Theorem: GDP-FILTER.
    """

    parts: tuple[tuple[Cost, int], ...]

    @property
    def pure(self) -> Fraction | None:
        return self._sum(lambda cost: cost.pure)

    @property
    def zcdp(self) -> Fraction | None:
        return self._sum(lambda cost: cost.zcdp)

    @property
    def gdp(self) -> Fraction | None:
        return self._sum(lambda cost: cost.gdp)

    def _sum(self, view: Callable[[Cost], Fraction | None]) -> Fraction | None:
        total = Fraction(0)
        for cost, times in self.parts:
            one = view(cost)
            if one is None:
                return None
            total += times * one
        return total
