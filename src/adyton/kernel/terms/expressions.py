"""Numbers and conditions on one row, as frozen values; those without others inside them are ``leaves``.

A node checks its parts when it is built and knows the public lattice of its value, so an ill-typed
expression, or one whose bounds are unknown, cannot exist.
Missing values follow SQL: a comparison with a missing value is neither true nor false, and a row
contributes only where the condition is true and the value is present.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce
from math import floor
from typing import Literal, get_args

from adyton.errors import InvalidRequest
from adyton.kernel.exact.curves import Curve, curve_steps
from adyton.kernel.schema import Lattice, common_step, times_finer
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
    set_lattice,
)

MOST_STEPS = 10_000  # of a number, where each has its place in a list
MOST_DECIMALS = 9

# Numbers -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Plus:
    left: NumberExpression
    right: NumberExpression
    lattice: Lattice = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        a, b = aligned(self.left, self.right)
        set_lattice(self, Lattice(a.step, a.low + b.low, a.high + b.high))


@dataclass(frozen=True, slots=True)
class Times:
    left: NumberExpression
    right: NumberExpression
    lattice: Lattice = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        a, b = number(self.left).lattice, number(self.right).lattice
        corners = (a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high)
        set_lattice(self, Lattice(a.step * b.step, min(corners), max(corners)))


@dataclass(frozen=True, slots=True)
class Negative:
    inner: NumberExpression
    lattice: Lattice = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        a = number(self.inner).lattice
        set_lattice(self, Lattice(a.step, -a.high, -a.low))


@dataclass(frozen=True, slots=True)
class Square:
    """``inner * inner``, which is never negative: a product of two numbers would not know."""

    inner: NumberExpression
    lattice: Lattice = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        a = number(self.inner).lattice
        ends = (a.low**2, a.high**2)
        least = 0 if a.low <= 0 <= a.high else min(ends)
        set_lattice(self, Lattice(a.step**2, least, max(ends)))


@dataclass(frozen=True, slots=True)
class Clip:
    """``inner``, or the nearer of two bounds where it lies beyond them.  SQL: CLAMP(inner, low, high)."""

    inner: NumberExpression
    low: Fraction
    high: Fraction
    lattice: Lattice = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        a = number(self.inner).lattice
        steps = (self.low / a.step, self.high / a.step)
        if any(step.denominator != 1 for step in steps):
            raise InvalidRequest(f"the bounds of CLAMP must be whole multiples of the step {a.step}")
        low, high = (min(max(int(step), a.low), a.high) for step in steps)
        if not self.low < self.high or not low < high:
            raise InvalidRequest("the bounds of CLAMP leave no two values: give low < high, within the range")
        set_lattice(self, Lattice(a.step, low, high))


@dataclass(frozen=True, slots=True)
class Floor:
    """The greatest whole number that is at most ``inner / step``.  SQL: FLOOR(inner / step)."""

    inner: NumberExpression
    step: Fraction
    lattice: Lattice = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.step <= 0:
            raise InvalidRequest("bins need a width above 0")
        a = number(self.inner).lattice
        ratio = a.step / self.step
        Lattice(Fraction(1), a.low * ratio.numerator, a.high * ratio.numerator)  # is computed on the way
        Lattice(Fraction(1), 0, ratio.denominator)
        set_lattice(self, Lattice(Fraction(1), floor(a.low * ratio), floor(a.high * ratio)))


@dataclass(frozen=True, slots=True)
class Curved:
    """A root, a logarithm or a power of e, rounded half away from zero to ``decimals``.

    It is a public list over all that ``inner`` can be, so that no engine computes it.
    SQL: ROUND(SQRT(inner), decimals), and LN, LOG10 and EXP.
    """

    curve: Curve
    inner: NumberExpression
    decimals: int
    numbers: tuple[int, ...] = field(init=False, repr=False, compare=False)
    lattice: Lattice = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        a = number(self.inner).lattice
        if self.curve not in get_args(Curve) or not 0 <= self.decimals <= MOST_DECIMALS:
            raise InvalidRequest(f"SQRT, LN, LOG10 and EXP are rounded to 0 to {MOST_DECIMALS} decimals")
        if a.high - a.low >= MOST_STEPS:
            raise InvalidRequest(
                f"{self.curve.upper()} needs a number with at most {MOST_STEPS} possible values, not "
                f"{a.high - a.low + 1}: make it coarser first, as in FLOOR(x / 100) * 100"
            )
        steps = curve_steps(self.curve, a.step, a.low, a.high, self.decimals)
        object.__setattr__(self, "numbers", steps)
        set_lattice(self, Lattice(Fraction(1, 10**self.decimals), min(steps), max(steps)))


@dataclass(frozen=True, slots=True)
class Quotient:
    """``over / under``, rounded half away from zero to ``decimals``, or the nearer of two bounds if it lies
    beyond them; missing where ``under`` is 0.  SQL: CLAMP(ROUND(over / under, decimals), low, high).
    """

    over: NumberExpression
    under: NumberExpression
    low: Fraction
    high: Fraction
    decimals: int
    lattice: Lattice = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        a, b, steps = number(self.over).lattice, number(self.under).lattice, 10**self.decimals
        ends = (self.low * steps, self.high * steps)
        if not 0 <= self.decimals <= MOST_DECIMALS or any(end.denominator != 1 for end in ends):
            raise InvalidRequest(f"the bounds of a quotient have at most {self.decimals} decimals")
        if not self.low < self.high:
            raise InvalidRequest("the bounds of CLAMP leave no two values: give low < high")
        top, bottom = self.factors
        sizes = [max(abs(lattice.low), abs(lattice.high), 1) for lattice in (a, b)]
        Lattice(Fraction(1), 0, sizes[0] * top + sizes[1] * bottom)  # is computed on the way
        set_lattice(self, Lattice(Fraction(1, steps), int(ends[0]), int(ends[1])))

    @property
    def factors(self) -> tuple[int, int]:
        """What turns the steps of both into twice the steps of the result, and twice the halves of them."""
        ratio = self.over.lattice.step / self.under.lattice.step * 10**self.decimals
        return 2 * ratio.numerator, ratio.denominator


@dataclass(frozen=True, slots=True)
class Indicator:
    """1 where ``condition`` is true, else 0; never missing.  SQL: CASE WHEN condition THEN 1 ELSE 0 END."""

    condition: Condition
    lattice: Lattice = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        condition(self.condition)
        set_lattice(self, Lattice(Fraction(1), 0, 1))


@dataclass(frozen=True, slots=True)
class Case:
    """The number behind the first condition that is true, else ``otherwise``; missing where that is None."""

    branches: tuple[tuple[Condition, NumberExpression], ...]
    otherwise: NumberExpression | None = None
    lattice: Lattice = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.branches:
            raise InvalidRequest("CASE needs at least one WHEN")
        for when, _ in self.branches:
            condition(when)
        numbers = [number(then) for _, then in self.branches]
        numbers += [number(self.otherwise)] if self.otherwise is not None else []
        step = reduce(common_step, (one.lattice.step for one in numbers))
        scaled = [one.lattice.scaled(int(one.lattice.step / step)) for one in numbers]
        set_lattice(self, Lattice(step, min(s.low for s in scaled), max(s.high for s in scaled)))


NumberExpression = (
    ValueOf
    | Constant
    | Plus
    | Times
    | Negative
    | Square
    | Clip
    | Floor
    | Curved
    | Quotient
    | Indicator
    | Case
    | Lookup
    | DatePart
    | DayCount
)

Days = DayOf | Day | DayFrom
Comparable = NumberExpression | Days


# Conditions ----------------------------------------------------------------------------------------------

Operator = Literal["<", "<=", "=", "<>", ">=", ">"]
_OPERATORS = get_args(Operator)
MIRRORED: dict[Operator, Operator] = {"<": ">", "<=": ">=", "=": "=", "<>": "<>", ">=": "<=", ">": "<"}


@dataclass(frozen=True, slots=True)
class Compare:
    left: Comparable
    operator: Operator
    right: Comparable

    def __post_init__(self) -> None:
        if self.operator not in _OPERATORS:
            raise InvalidRequest(f"unknown comparison {self.operator!r}")
        if isinstance(self.left, Days) != isinstance(self.right, Days):
            raise InvalidRequest("a date can be compared only with a date")
        if not isinstance(self.left, Days):
            aligned(self.left, self.right)  # type: ignore[arg-type]  # both are numbers, by the line above


@dataclass(frozen=True, slots=True)
class Not:
    inner: Condition

    def __post_init__(self) -> None:
        condition(self.inner)


@dataclass(frozen=True, slots=True)
class And:
    parts: tuple[Condition, ...]

    def __post_init__(self) -> None:
        _check_parts(self.parts)


@dataclass(frozen=True, slots=True)
class Or:
    parts: tuple[Condition, ...]

    def __post_init__(self) -> None:
        _check_parts(self.parts)


Condition = Compare | OneOf | IsTrue | IsMissing | IsOutside | Always | Not | And | Or


# Checks -------------------------------------------------------------------------------------------------


def number(node: NumberExpression) -> NumberExpression:
    """``node``, if it is a number."""
    if not isinstance(node, NumberExpression):
        raise InvalidRequest(f"a number is needed here, not {_describe(node)}")
    return node


def condition(node: Condition) -> Condition:
    """``node``, if it is a condition."""
    if not isinstance(node, Condition):
        raise InvalidRequest(f"a condition is needed here, not {_describe(node)}")
    return node


def aligned(left: NumberExpression, right: NumberExpression) -> tuple[Lattice, Lattice]:
    """The lattices of both on their common step."""
    a, b = number(left).lattice, number(right).lattice
    step = common_step(a.step, b.step)
    return a.scaled(times_finer(a.step, step)), b.scaled(times_finer(b.step, step))


def constant_of(node: Comparable) -> Fraction | None:
    """The number or day that was written, with any number of signs before it; None of all other nodes."""
    match node:
        case Constant(value):
            return value
        case Negative(inner):
            found = constant_of(inner)
            return None if found is None else -found
        case Day(day):
            return Fraction(day)
        case _:
            return None


def all_of(*parts: Condition) -> Condition:
    """The conjunction, without the parts that say nothing."""
    said = tuple(part for part in parts if part != EVERY_ROW)
    return said[0] if len(said) == 1 else And(said) if said else EVERY_ROW


def _describe(node: object) -> str:
    names = {DayOf: "a date", Day: "a date", DayFrom: "a date", str: "a string"}
    if isinstance(node, Condition):
        return "a condition"
    if isinstance(node, NumberExpression):
        return "a number"
    return names.get(type(node), f"a {type(node).__name__}")


def _check_parts(parts: tuple[Condition, ...]) -> None:
    if not parts:
        raise InvalidRequest("AND and OR need at least one condition")
    for part in parts:
        condition(part)
