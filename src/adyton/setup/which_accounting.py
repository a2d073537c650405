"""Which filter leaves less noise for that many queries, from the calculators that price them later.

Geometric noise is narrower than Gaussian noise where the budget is shared by few queries, and wider where
it is shared by many: in a pure study widths grow with the number of queries, elsewhere with its root.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from adyton.arithmetic.search import largest_that_holds
from adyton.errors import InvalidRequest
from adyton.kernel.accounting import AccountingName, accounting_named
from adyton.kernel.accounting.noisy_reading import LEVEL
from adyton.kernel.exact import UNITS_PER_ONE
from adyton.kernel.mechanisms import GaussianNoise, GeometricNoise
from adyton.kernel.privacy import Guarantee, PrivacyUnit
from adyton.kernel.sensitivity import Sensitivity

MOST_QUERIES = 10**6


@dataclass(frozen=True, slots=True)
class AccountingChoice:
    """The accounting under which each of so many counts, at equal prices, has the narrower noise interval."""

    queries: int
    gdp: int  # half-widths
    pure: int
    pure_up_to: int  # so many counts; beyond, gdp is the better one

    @property
    def name(self) -> AccountingName:
        return "pure" if self.queries <= self.pure_up_to else "gdp"

    def __str__(self) -> str:
        counts = "1 count is" if self.queries == 1 else f"{self.queries:,} counts at equal prices are each"
        rest = f"pure is better up to {self.pure_up_to:,}" if self.pure_up_to else "pure is never better"
        return f"{counts} within {self.pure:,} with pure, within {self.gdp:,} with gdp (95 %); {rest}"


def choose_accounting(budget: Guarantee, unit: PrivacyUnit, queries: int) -> AccountingChoice:
    """For ``queries`` counts inside ``budget``; a pure study does not use its delta."""
    if not 1 <= queries <= MOST_QUERIES:
        raise InvalidRequest(f"--queries is a whole number from 1 to {MOST_QUERIES:,}")
    one = Sensitivity(((0, 1),), 1, unit.adjacency, unit.rows)
    allowed = Fraction(accounting_named("gdp").allowed(budget), UNITS_PER_ONE)

    def gdp(n: int) -> int:
        return GaussianNoise.for_cost(one, allowed / n).error(LEVEL)

    def pure(n: int) -> int:
        return GeometricNoise.for_cost(one, budget.epsilon / n).error(LEVEL)

    pure_up_to = largest_that_holds(lambda n: pure(n) <= gdp(n), MOST_QUERIES)
    return AccountingChoice(queries, gdp(queries), pure(queries), pure_up_to)
