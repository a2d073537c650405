"""Privacy as data: who is protected, what was guaranteed, and what one release costs."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Literal, Protocol, get_args

from adyton.errors import InvalidRequest
from adyton.kernel.exact import Number, float_up, keep_exactly
from adyton.kernel.exact.special import special

Adjacency = Literal["replace-one", "add-remove"]
ADJACENCIES: tuple[Adjacency, ...] = get_args(Adjacency)


@dataclass(frozen=True, slots=True)
class Reserve:
    """About this ``share`` of the units is read by no query: they are kept for tests of the owner.

    Where it is ``opened``, they are read, and no others.
    """

    share: Fraction
    opened: bool = False

    def __post_init__(self) -> None:
        if not 0 < self.share < 1:
            raise InvalidRequest("a reserve is a share of the units, above 0 and below 1")


@dataclass(frozen=True, slots=True)
class PrivacyUnit:
    """Who is protected: one row, or all rows of one ``person`` (a column), at most ``rows`` of them.

    ``replace-one``: two tables are neighbors if one unit was exchanged for another; their size is public.
    ``add-remove``: if one unit is missing from one of them; their size is private.
    ``rows_in``: of a table that is joined from several, the most rows in each of them.
    ``parts``: into how many disjoint parts the units are split, each of which one query reads.
    ``reserve``: units that are kept back; None: there are none.

    >>> adyton.PrivacyUnit("replace-one", person="person_id").rows
    1
    """

    adjacency: Adjacency
    person: str | None = None
    rows: int = 1
    rows_in: tuple[int, ...] = ()
    parts: int = 1
    reserve: Reserve | None = None

    def __post_init__(self) -> None:
        if self.adjacency not in ADJACENCIES:
            raise InvalidRequest(f"adjacency must be 'replace-one' or 'add-remove', not {self.adjacency!r}")
        if self.rows < 1:
            raise InvalidRequest(f"a unit has at least 1 row, not {self.rows}")
        if self.rows > 1 and self.person is None:
            raise InvalidRequest("a unit of several rows is a person: say which column identifies one")
        if self.rows_in and math.prod(self.rows_in) != self.rows:
            raise InvalidRequest("the rows of a person in a joined table are the product of those in each")

    def with_rows(self, person: str | None, rows_in: tuple[int, ...]) -> PrivacyUnit:
        """Of the same units: who they are, and how many rows they have, in a table joined of such ones."""
        joined = rows_in if len(rows_in) > 1 else ()
        return replace(self, person=person, rows=math.prod(rows_in), rows_in=joined)

    @property
    def word(self) -> Literal["row", "person"]:
        """What one is called."""
        return "row" if self.person is None else "person"

    @property
    def may_change_parts(self) -> bool:
        """Whether a unit that is exchanged may leave one part and enter another: parts go by who it is."""
        return self.parts > 1 and self.person is not None and self.adjacency == "replace-one"


@dataclass(frozen=True, slots=True)
class Guarantee:
    """(epsilon, delta)-differential privacy.  Numbers are taken as they are written: 1e-9 is a billionth.

    >>> adyton.Guarantee(epsilon=1, delta=1e-9)
    Guarantee(epsilon=Fraction(1, 1), delta=Fraction(1, 1000000000))
    """

    epsilon: Fraction
    delta: Fraction

    if TYPE_CHECKING:

        def __init__(self, epsilon: Number, delta: Number) -> None: ...

    def __post_init__(self) -> None:
        keep_exactly(self, "epsilon", "delta")
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
    """A pure guarantee: no output is more than exp(epsilon) times likelier on a neighbor.

    Claim:    epsilon-DP, hence (epsilon * tanh(epsilon / 2))-zCDP, and mu-GDP with
              mu = 2 * quantile(1 / (1 + exp(-epsilon))) of the standard normal; neither can be improved.
    Source:   Bun, Steinke 2016, Proposition 1.4; Dong, Roth, Su 2022.  Theorem: PURE-IMPLIES-ZCDP.
              Theorem: PURE-IMPLIES-GDP.
    """

    epsilon: Fraction

    def __post_init__(self) -> None:
        _check_positive(self.epsilon)

    @property
    def pure(self) -> Fraction:
        return self.epsilon

    @property
    def zcdp(self) -> Fraction:
        """Not below epsilon * tanh(epsilon / 2), and at most 2**-48 above it, relatively."""
        return self.epsilon * min(self.epsilon / 2, _tanh_up(self.epsilon / 2))

    @property
    def gdp(self) -> Fraction:
        """Not below mu**2, and at most 1e-9 above it, relatively, for epsilon up to 700."""
        epsilon = self.epsilon
        if epsilon <= _SMALL_EPSILON:
            return _HALF_PI_UP * epsilon**2
        if epsilon > _LARGE_EPSILON:
            return 8 * epsilon
        return (2 * _quantile_up(float_up(epsilon))) ** 2


@dataclass(frozen=True, slots=True)
class BoundedRangeCost:
    """Bounded range: between two neighbors no two outputs change their odds by more than exp(epsilon).

    Claim:    epsilon-DP; (epsilon**2 / 8)-zCDP; and mu-GDP with the mu of (epsilon / 2)-DP, which cannot be
              improved: mu = 2 * quantile(1 / (1 + exp(-epsilon / 2))) of the standard normal.
    Source:   Durfee, Rogers 2019 and Dong, Durfee, Rogers 2020 for bounded range and zCDP; the proofs, and
              GDP, on the theorem's page.  Theorem: BOUNDED-RANGE.
    """

    epsilon: Fraction

    def __post_init__(self) -> None:
        _check_positive(self.epsilon)

    @property
    def pure(self) -> Fraction:
        return self.epsilon

    @property
    def zcdp(self) -> Fraction:
        return min(self.epsilon**2 / 8, PureCost(self.epsilon).zcdp)

    @property
    def gdp(self) -> Fraction:
        return PureCost(self.epsilon / 2).gdp


_HALF_PI_UP = Fraction(1_570_796_326_794_896_620, 10**18)
_SMALL_EPSILON = Fraction(1, 10_000)  # up to here mu <= epsilon * sqrt(pi / 2) is exact to 1.8e-10
_LARGE_EPSILON = Fraction(700)  # beyond, floats near exp(-epsilon) lose their digits


def _tanh_up(x: Fraction) -> Fraction:
    """Assumes that tanh of the C library is within 8 u of the truth, relatively, u = 2**-53."""
    return min(Fraction(1), Fraction(math.tanh(float_up(x))) * (1 + Fraction(1, 2**49)))


def _quantile_up(epsilon: float) -> Fraction:
    """Not below the z with P(N > z) = 1 / (1 + exp(epsilon)), for 1e-4 < epsilon <= 700.

    Assumes that exp of the C library is within 8 u of the truth and ndtri of scipy within 64 u, relatively,
    u = 2**-53.  Then the probability is within 10 u, which moves z by at most 13 u, because Mills' ratio is
    below 1.26.  The margin is more than twice as much: 32 u for this and 512 u of z for ndtri.
    """
    z = -float(special().ndtri(1 / (1 + math.exp(epsilon))))
    return Fraction(z) * (1 + Fraction(1, 2**44)) + Fraction(1, 2**48)


def _check_positive(loss: Fraction) -> None:
    if loss <= 0:
        raise InvalidRequest("a cost is positive: a release never gives budget back")
