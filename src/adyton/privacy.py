"""The currency: who is protected, what was promised, and what one release costs."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, Protocol, get_args

from adyton.errors import InvalidRequest

Neighbours = Literal["replace", "add-or-remove"]
NEIGHBOURS: tuple[Neighbours, ...] = get_args(Neighbours)


@dataclass(frozen=True, slots=True)
class PrivacyUnit:
    """Who is protected: one row, or all rows of one ``person`` (a column), at most ``rows`` of them.

    ``replace``: two tables are neighbours if one unit was exchanged for another; their size is public.
    ``add-or-remove``: if one unit is missing from one of them; their size is private.
    """

    neighbours: Neighbours
    person: str | None = None
    rows: int = 1

    def __post_init__(self) -> None:
        if self.neighbours not in NEIGHBOURS:
            raise InvalidRequest(f"neighbours must be 'replace' or 'add-or-remove', not {self.neighbours!r}")
        if self.rows < 1:
            raise InvalidRequest(f"a unit has at least 1 row, not {self.rows}")
        if self.rows > 1:
            raise InvalidRequest(
                f"more than one row per unit is not supported yet, and {self.rows} were declared: "
                "make a table with one row per person and set rows_per_person = 1"
            )


@dataclass(frozen=True, slots=True)
class Guarantee:
    """(epsilon, delta)-differential privacy."""

    epsilon: Fraction
    delta: Fraction

    def __post_init__(self) -> None:
        if self.epsilon <= 0:
            raise InvalidRequest(f"epsilon must be above 0, not {float(self.epsilon):g}")
        if not 0 <= self.delta < 1:
            raise InvalidRequest(f"delta must be at least 0 and below 1, not {float(self.delta):g}")


class Cost(Protocol):
    """The privacy loss of one release, as data.  Ask for the view you need; ``None`` means not proved."""

    @property
    def pure(self) -> Fraction | None:
        """epsilon of pure differential privacy."""
        ...

    @property
    def zcdp(self) -> Fraction | None:
        """rho of zero-concentrated differential privacy."""
        ...

    @property
    def gdp(self) -> Fraction | None:
        """mu**2 of Gaussian differential privacy: the square is what adds up."""
        ...


@dataclass(frozen=True, slots=True)
class GaussianCost:
    """Gaussian noise: mu**2 is the squared L2 sensitivity over the variance.

    Claim:    mu-GDP, hence (mu**2 / 2)-zCDP; no pure epsilon exists.
    Source:   Dong, Roth, Su 2022 (Gaussian differential privacy); Bun, Steinke 2016, Proposition 1.6.
    Theorem: GAUSSIAN-IS-GDP.
    """

    mu_squared: Fraction

    def __post_init__(self) -> None:
        _check_positive(self.mu_squared)

    @property
    def pure(self) -> None:
        return None

    @property
    def zcdp(self) -> Fraction:
        return self.mu_squared / 2

    @property
    def gdp(self) -> Fraction:
        return self.mu_squared


@dataclass(frozen=True, slots=True)
class PureCost:
    """A pure guarantee: no output is more than exp(epsilon) times likelier on a neighbour.

    Claim:    epsilon-DP, hence (epsilon**2 / 2)-zCDP.
    Source:   Bun, Steinke 2016, Proposition 1.4.  Theorem: PURE-IMPLIES-ZCDP.
    """

    epsilon: Fraction

    def __post_init__(self) -> None:
        _check_positive(self.epsilon)

    @property
    def pure(self) -> Fraction:
        return self.epsilon

    @property
    def zcdp(self) -> Fraction:
        return self.epsilon**2 / 2

    @property
    def gdp(self) -> None:
        return None


def _check_positive(loss: Fraction) -> None:
    if loss <= 0:
        raise InvalidRequest("a cost is positive: a release never gives budget back")
