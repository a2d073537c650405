"""What a piece of SQL can be: a number, a day, a truth, or a string whose possible values are public."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from adyton.errors import InvalidRequest
from adyton.kernel.schema import BooleanColumn, CategoryColumn
from adyton.kernel.terms.expressions import (
    MOST_STEPS,
    Case,
    Compare,
    Condition,
    Days,
    NumberExpression,
    Operator,
    Plus,
    Times,
)
from adyton.kernel.terms.leaves import Always, Constant, IsMissing, IsTrue, Lookup, OneOf
from adyton.query.missing import NEVER, ONE, missing, undecided
from adyton.query.released.nodes import SIGNS


@dataclass(frozen=True, slots=True)
class Texts:
    """A string of a row: ``labels[i]`` where the whole number ``code`` is i."""

    code: NumberExpression
    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TimeSpan:
    """A written length of time."""

    months: int
    days: int


# What can stand beside a comparison sign, or in a function.
Value = NumberExpression | Days | str | bool | CategoryColumn | BooleanColumn | Texts | TimeSpan | Condition
Textual = str | CategoryColumn | Texts


def described(value: Value) -> str:
    match value:
        case str():
            return f"the string {value[:40]!r}"
        case bool():
            return str(value).upper()
        case CategoryColumn() | BooleanColumn():
            return f"the {value.kind} column {value.name!r}"
        case Texts():
            return "a string"
        case TimeSpan():
            return "a length of time"
    if isinstance(value, Days):
        return "a date"
    return "a condition" if isinstance(value, Condition) else "a number"


def is_text(value: Value | None) -> bool:
    """Whether it is a string; a category of whole numbers is none."""
    if isinstance(value, CategoryColumn):
        return isinstance(value.values[0], str)
    return isinstance(value, str | Texts)


def truth_of(value: Value | None) -> Condition | None:
    """The condition that a boolean is; None for what is none."""
    match value:
        case bool():
            return Always(value)
        case BooleanColumn():
            return IsTrue(value)
    return value if isinstance(value, Condition) else None


def missing_value(value: Value) -> Condition:
    """Where any value is missing; never missing itself."""
    match value:
        case str() | bool() | TimeSpan():
            return NEVER
        case CategoryColumn() | BooleanColumn():
            return IsMissing(value)
        case Texts(code):
            return missing(code)
    return undecided(value) if isinstance(value, Condition) else missing(value)


# Strings -------------------------------------------------------------------------------------------------


def texts_of(value: Textual) -> Texts:
    match value:
        case str():
            return Texts(Constant(Fraction(0)), (value,))
        case CategoryColumn():
            if not isinstance(value.values[0], str):
                raise InvalidRequest(
                    f"{value.name!r} holds whole numbers; CAST({value.name} AS VARCHAR) gives their digits"
                )
            return Texts(Lookup(value, tuple(range(len(value.values)))), tuple(map(str, value.values)))
    return value


def relabelled(texts: Texts, new: Callable[[str], str]) -> Texts:
    """Another string for each; where two become the same they are one."""
    return merged(texts.code, [new(label) for label in texts.labels])


def merged(code: NumberExpression, given: Sequence[str]) -> Texts:
    labels = tuple(dict.fromkeys(given))
    if len(labels) == len(given):
        return Texts(code, labels)
    places = {label: place for place, label in enumerate(labels)}
    return Texts(recoded(code, [places[label] for label in given]), labels)


def recoded(code: NumberExpression, numbers: Sequence[int]) -> NumberExpression:
    """``numbers[i]`` where ``code`` is i."""
    match code:
        case Constant(value):
            return Constant(Fraction(numbers[int(value)]))
        case Lookup(column, codes, step) if step == 1:
            return Lookup(column, tuple(None if one is None else numbers[one] for one in codes))
        case Case(branches, otherwise):
            last = None if otherwise is None else recoded(otherwise, numbers)
            return Case(tuple((when, recoded(then, numbers)) for when, then in branches), last)
    low, high = code.lattice.low, code.lattice.high
    ends = [i for i in range(low, high + 1) if i == high or numbers[i] != numbers[i + 1]]
    steps = [(Compare(code, "<=", Constant(Fraction(end))), Constant(Fraction(numbers[end]))) for end in ends]
    return Case(tuple(steps))


def joined(first: Texts, second: Texts) -> Texts:
    """Each string of the one before each of the other; missing where one is."""
    if len(second.labels) == 1 and isinstance(second.code, Constant):
        return relabelled(first, lambda label: label + second.labels[0])
    if len(first.labels) == 1 and isinstance(first.code, Constant):
        return relabelled(second, lambda label: first.labels[0] + label)
    number = len(first.labels) * len(second.labels)
    if number > MOST_STEPS:
        raise InvalidRequest(
            f"joined, these strings can be {number} others, and at most {MOST_STEPS} are listed: group by "
            "both, side by side"
        )
    width = Constant(Fraction(len(second.labels)))
    code = Plus(Times(first.code, width), second.code)
    return merged(code, [a + b for a in first.labels for b in second.labels])


def chosen(texts: Texts, wanted: Callable[[str], bool], said: str) -> Condition:
    """Where the string is one that is ``wanted``; missing where it is missing."""
    truths = [wanted(label) for label in texts.labels]
    if not any(truths):
        listed = ", ".join(map(repr, texts.labels[:10])) + (", ..." if len(texts.labels) > 10 else "")
        raise InvalidRequest(f"no possible value {said} (possible: {listed})")
    code = texts.code
    if isinstance(code, Lookup) and None not in code.numbers and code.step == 1:
        column, codes = code.column, code.numbers
        values = [column.values[i] for i, one in enumerate(codes) if one is not None and truths[one]]
        return OneOf(column, tuple(values))
    if sum(truths) == 1:
        return Compare(code, "=", Constant(Fraction(truths.index(True))))
    return Compare(recoded(code, [int(truth) for truth in truths]), "=", ONE)


def compared_texts(left: Textual, operator: Operator, right: Textual) -> Condition:
    """Strings are compared by the codes of their characters, as SQL's binary order does."""
    one, other = texts_of(left), texts_of(right)
    if isinstance(right, str):
        return chosen(one, lambda label: SIGNS[operator](label, right), f"is {operator} {right[:40]!r}")
    places = {label: place for place, label in enumerate(sorted({*one.labels, *other.labels}))}
    sides = (recoded(side.code, [places[label] for label in side.labels]) for side in (one, other))
    return Compare(next(sides), operator, next(sides))
