"""What can be asked of the rows that count: frozen values that check themselves when they are built."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, get_args

from adyton.errors import InvalidRequest
from adyton.kernel.schema import Lattice
from adyton.kernel.terms.expressions import (
    Condition,
    NumberExpression,
    Plus,
    Square,
    Times,
    condition,
    number,
)
from adyton.kernel.terms.leaves import EVERY_ROW, Constant

MOST_POINTS = 1_000
LARGEST_DENOMINATOR = 10_000


@dataclass(frozen=True, slots=True)
class Count:
    """How many rows."""

    where: Condition = EVERY_ROW

    def __post_init__(self) -> None:
        condition(self.where)


@dataclass(frozen=True, slots=True)
class CountPersons:
    """How many persons have such a row.  SQL: COUNT(DISTINCT person)."""

    where: Condition = EVERY_ROW

    def __post_init__(self) -> None:
        condition(self.where)


@dataclass(frozen=True, slots=True)
class Sum:
    """The sum of ``value`` over rows where it is present."""

    value: NumberExpression
    where: Condition = EVERY_ROW

    def __post_init__(self) -> None:
        condition(self.where)
        _check_sum(self.value)


@dataclass(frozen=True, slots=True)
class SumOfPersons:
    """Each person's own sum of ``value``, clipped to ``low..high``, added up over all persons.

    Within groups a person's sum is taken in each group.  SQL: SUM(value, contribution_bounds_per_group =>
    (low, high)).
    """

    value: NumberExpression
    low: Fraction
    high: Fraction
    where: Condition = EVERY_ROW

    def __post_init__(self) -> None:
        condition(self.where)
        step = number(self.value).lattice.step
        if any((bound / step).denominator != 1 for bound in (self.low, self.high)):
            raise InvalidRequest(f"the bounds of a person's sum must be whole multiples of its step {step}")
        if not self.low < self.high:
            raise InvalidRequest("the bounds of a person's sum need low < high")
        Lattice(step, *self.steps)  # refuses what 64 bits cannot hold
        _check_sum(self.value)

    @property
    def steps(self) -> tuple[int, int]:
        """The bounds in steps of the value's step."""
        step = self.value.lattice.step
        return int(self.low / step), int(self.high / step)


@dataclass(frozen=True, slots=True)
class Mean:
    """The average of ``value`` over rows where it is present."""

    value: NumberExpression
    where: Condition = EVERY_ROW

    def __post_init__(self) -> None:
        condition(self.where)
        _check_varies(self.value, "mean")


@dataclass(frozen=True, slots=True)
class Proportion:
    """The fraction of rows for which ``condition`` is true (a missing truth counts as not true)."""

    condition: Condition
    where: Condition = EVERY_ROW

    def __post_init__(self) -> None:
        condition(self.condition)
        condition(self.where)


@dataclass(frozen=True, slots=True)
class Variance:
    """The mean squared distance of ``value`` from its mean, or the ``root`` of it: the standard deviation."""

    value: NumberExpression
    root: bool = False
    where: Condition = EVERY_ROW

    def __post_init__(self) -> None:
        condition(self.where)
        _check_varies(self.value, "variance")
        middle_of_square(self.value)


Which = Literal["covariance", "correlation", "r2", "slope", "intercept"]


@dataclass(frozen=True, slots=True)
class Moments:
    """How ``y`` goes with ``x``, over rows where both are present: the mean product of their distances from
    their means, the correlation or its square, or the slope or the intercept of the straight line that
    fits best, y = intercept + slope * x.
    """

    y: NumberExpression
    x: NumberExpression
    which: Which
    where: Condition = EVERY_ROW

    def __post_init__(self) -> None:
        condition(self.where)
        for value in (self.y, self.x):
            _check_varies(value, self.which)
            middle_of_square(value)
        if self.which not in get_args(Which):
            raise InvalidRequest(f"unknown {self.which!r}; known are {', '.join(get_args(Which))}")
        middle_of_product(self.x, self.y)


@dataclass(frozen=True, slots=True)
class Quantile:
    """The least number that at least this ``fraction`` of the values do not exceed."""

    value: NumberExpression
    fraction: Fraction
    where: Condition = EVERY_ROW

    def __post_init__(self) -> None:
        condition(self.where)
        _check_varies(self.value, "quantile")
        if not 0 < self.fraction < 1 or self.fraction.denominator > LARGEST_DENOMINATOR:
            raise InvalidRequest(
                "a quantile is asked for by a fraction above 0 and below 1, with at most four decimals"
            )


@dataclass(frozen=True, slots=True)
class Extreme:
    """About the least or the greatest value: as far in from the end as the noise makes necessary."""

    value: NumberExpression
    which: Literal["least", "greatest"]
    where: Condition = EVERY_ROW

    def __post_init__(self) -> None:
        condition(self.where)
        _check_varies(self.value, "extreme")


@dataclass(frozen=True, slots=True)
class Cdf:
    """For each of ``points``, which rise, the fraction of values that do not exceed it."""

    value: NumberExpression
    points: tuple[Fraction, ...]
    where: Condition = EVERY_ROW

    def __post_init__(self) -> None:
        condition(self.where)
        _check_varies(self.value, "distribution")
        if not 1 <= len(self.points) <= MOST_POINTS:
            raise InvalidRequest(f"a distribution is asked for at 1 to {MOST_POINTS} points")
        if any(a >= b for a, b in zip(self.points, self.points[1:], strict=False)):
            raise InvalidRequest("the points of a distribution must rise")


Measure = (
    Count
    | CountPersons
    | Sum
    | SumOfPersons
    | Mean
    | Proportion
    | Variance
    | Moments
    | Quantile
    | Extreme
    | Cdf
)


def middle_of_square(value: NumberExpression) -> NumberExpression:
    """The squared distance from the middle of the bounds, on which a variance rests."""
    return Square(_from_middle(value))


def middle_of_product(x: NumberExpression, y: NumberExpression) -> NumberExpression:
    """The product of the distances from the middles, on which a covariance rests."""
    return Times(_from_middle(x), _from_middle(y))


def _from_middle(value: NumberExpression) -> NumberExpression:
    lattice = value.lattice
    middle = (lattice.low + lattice.high) * lattice.step / 2
    return value if not middle else Plus(value, Constant(-middle))


def _check_sum(value: NumberExpression) -> None:
    if not any((number(value).lattice.low, value.lattice.high)):
        raise InvalidRequest("the sum of zeros is zero: there is nothing to ask")


def _check_varies(value: NumberExpression, what: str) -> None:
    if number(value).lattice.low == value.lattice.high:
        raise InvalidRequest(f"the {what} of a constant is known: there is nothing to ask")
