"""What can be asked of the rows that count: frozen values that check themselves when they are built.

Also how long a query becomes when it is written out for an engine, its weight.  A square is its number
twice, a list of values is a comparison for each: a short text can become a statement that takes an engine
minutes to plan.  What is counted is how often a column or a written number is read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, get_args

from adyton.errors import InvalidRequest
from adyton.kernel.schema import Lattice
from adyton.kernel.terms.expressions import (
    And,
    Case,
    Clip,
    Compare,
    Condition,
    Curved,
    Floor,
    Indicator,
    Negative,
    Not,
    NumberExpression,
    Or,
    Plus,
    Quotient,
    Square,
    Times,
    condition,
    number,
)
from adyton.kernel.terms.leaves import (
    EVERY_ROW,
    Always,
    Constant,
    DatePart,
    Day,
    DayCount,
    DayFrom,
    DayOf,
    IsMissing,
    IsOutside,
    IsTrue,
    Lookup,
    OneOf,
    ValueOf,
)

MOST_POINTS = 1_000
LARGEST_DENOMINATOR = 10_000
_LISTED = 16  # numbers of a list that are as long as one column, about

# To write a node, and to ask whether it has a value, which a clip does.
Pair = tuple[int, int]


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


# Weights ---------------------------------------------------------------------------------------------------


def weight(node: Any) -> int:
    """Of a number, a day or a condition."""
    return _pair(node)[0]


def _pair(node: Any) -> Pair:
    return _PAIRS[type(node)](node)


def _both(node: Any) -> Pair:
    (a, present), (b, also_present) = _pair(node.left), _pair(node.right)
    return a + b, present + also_present


def _compared(node: Compare) -> Pair:
    return _both(node)[0], 0


def _inner(node: Any) -> Pair:
    return _pair(node.inner)


def _square(node: Square) -> Pair:
    once, present = _pair(node.inner)
    return 2 * once, present


def _clip(node: Clip) -> Pair:
    once, present = _pair(node.inner)
    return once + present, present


def _parts(node: Any) -> Pair:
    return sum(map(weight, node.parts)), 0


def _case(node: Case) -> Pair:
    whens = sum(weight(when) for when, _ in node.branches)
    numbers = [then for _, then in node.branches] + ([] if node.otherwise is None else [node.otherwise])
    pairs = [_pair(number) for number in numbers]
    return whens + sum(once for once, _ in pairs), whens + sum(present for _, present in pairs)


def _quotient(node: Quotient) -> Pair:
    (a, present), (b, also_present) = _pair(node.over), _pair(node.under)
    return 2 * a + 3 * b + present + also_present + b, present + also_present + b


def _curved(node: Curved) -> Pair:
    once, present = _pair(node.inner)
    return once + len(node.numbers) // _LISTED, present


def _lookup(node: Lookup) -> Pair:
    listed = 1 + len(node.numbers) // _LISTED
    return listed, listed


_PAIRS: dict[type, Callable[[Any], Pair]] = {
    **dict.fromkeys((ValueOf, DayOf, DayCount), lambda _: (1, 1)),
    **dict.fromkeys((Constant, Day, IsTrue, IsMissing, IsOutside, Always), lambda _: (1, 0)),
    **dict.fromkeys((Plus, Times), _both),
    **dict.fromkeys((DayFrom, Negative, Floor, Not), _inner),
    **dict.fromkeys((And, Or), _parts),
    Case: _case,
    Clip: _clip,
    Compare: _compared,
    Curved: _curved,
    DatePart: lambda node: _pair(node.day),
    Indicator: lambda node: (weight(node.condition), 0),
    Lookup: _lookup,
    OneOf: lambda node: (1 + len(node.values) // _LISTED, 0),
    Quotient: _quotient,
    Square: _square,
}
