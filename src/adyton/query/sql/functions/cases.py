"""Choices between values: CASE, and the functions that are short for one.  A choice is of any kind of value,
and of one kind.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

from sqlglot import exp

from adyton.errors import InvalidRequest
from adyton.kernel.terms.expressions import (
    Case,
    Clip,
    Compare,
    Condition,
    Days,
    Indicator,
    NumberExpression,
    all_of,
)
from adyton.kernel.terms.leaves import Constant
from adyton.query.calendar import day_at, days_since_1970, within
from adyton.query.missing import NEVER, ONE, ZERO, any_of, fails_or_misses, truth_number
from adyton.query.sql.functions.arguments import arguments, several
from adyton.query.sql.functions.comparing import compared
from adyton.query.sql.functions.numbers import ends
from adyton.query.sql.functions.values import (
    Texts,
    Value,
    described,
    is_text,
    missing_value,
    recoded,
    texts_of,
    truth_of,
)
from adyton.query.sql.names import called

if TYPE_CHECKING:
    from adyton.query.sql.expressions import SqlText

_PICK: dict[str, Callable[..., Fraction]] = {"GREATEST": max, "LEAST": min}
# A condition, and what is chosen where it is the first that is true; None is missing.
Branch = tuple[Condition, Value | None]


def read_case(source: SqlText, node: exp.Expr) -> Value:
    """CASE WHEN condition THEN value ... [ELSE value] END; 1 or 0 for one condition is an indicator.

    CASE x WHEN a THEN ... means CASE WHEN x = a THEN ...
    """
    source.check_parts(node, "this", "ifs", "default")
    ifs, subject, default = node.args["ifs"], node.args.get("this"), node.args.get("default")
    for one in ifs:
        source.check_parts(one, "this", "true")
    when = source.condition if subject is None else partial(source.equal, subject)
    whens = [when(one.this) for one in ifs]
    thens = [source.optional(one.args["true"]) for one in ifs]
    otherwise = None if default is None else source.optional(default)
    return choice(list(zip(whens, thens, strict=True)), otherwise)


def choice(branches: Sequence[Branch], otherwise: Value | None) -> Value:
    """What the first branch gives whose condition is true, else ``otherwise``."""
    given, last = _without_null(branches, otherwise)
    values = [value for _, value in given] + ([] if last is None else [last])
    if not values:
        raise InvalidRequest("this is NULL everywhere: there is nothing to ask")
    if all(isinstance(value, NumberExpression) for value in values):
        return _numbers(given, last)
    if any(isinstance(value, Days) for value in values):
        return _days(given, last)
    if all(is_text(value) for value in values):
        return _texts(given, last)
    if all(truth_of(value) is not None for value in values):
        truths = tuple((when, truth_number(_truth(value))) for when, value in given)
        return Compare(Case(truths, None if last is None else truth_number(_truth(last))), "=", ONE)
    first = described(values[0])
    other = next((said for said in map(described, values) if said != first), first)
    raise InvalidRequest(f"values of one kind are needed everywhere, not {first} and {other}")


def _without_null(
    branches: Sequence[Branch], otherwise: Value | None
) -> tuple[list[tuple[Condition, Value]], Value | None]:
    """The same choice where no branch gives NULL: those behind one hold only where its condition does not."""
    closed: list[Condition] = []
    given: list[tuple[Condition, Value]] = []
    for when, value in branches:
        if value is None:
            closed.append(fails_or_misses(when))
        else:
            given.append((all_of(*closed, when), value))
    if closed and otherwise is not None:
        return [*given, (all_of(*closed), otherwise)], None
    return given, otherwise


def _numbers(given: Sequence[tuple[Condition, Value]], last: Value | None) -> NumberExpression:
    branches = tuple((when, value) for when, value in given if isinstance(value, NumberExpression))
    otherwise = last if isinstance(last, NumberExpression) else None
    if len(branches) == 1 and branches[0][1] == ONE and otherwise == ZERO:
        return Indicator(branches[0][0])
    return Case(branches, otherwise)


def _days(given: Sequence[tuple[Condition, Value]], last: Value | None) -> Days:
    branches = tuple((when, _day_number(value)) for when, value in given)
    return day_at(Case(branches, None if last is None else _day_number(last)))


def _day_number(value: Value) -> NumberExpression:
    if not isinstance(value, Days):
        raise InvalidRequest("a CASE gives dates everywhere or nowhere; one is written DATE '2020-01-31'")
    return days_since_1970(value)


def _texts(given: Sequence[tuple[Condition, Value]], last: Value | None) -> Texts:
    """Strings are numbered in the order in which CASE first gives them."""
    read = [(when, texts_of(value)) for when, value in given]  # type: ignore[arg-type]  # each is a string
    otherwise = None if last is None else texts_of(last)  # type: ignore[arg-type]
    listed = [*(texts for _, texts in read), *([] if otherwise is None else [otherwise])]
    labels = tuple(dict.fromkeys(label for texts in listed for label in texts.labels))
    places = {label: place for place, label in enumerate(labels)}

    def code(texts: Texts) -> NumberExpression:
        return recoded(texts.code, [places[label] for label in texts.labels])

    branches = tuple((when, code(texts)) for when, texts in read)
    return Texts(Case(branches, None if otherwise is None else code(otherwise)), labels)


def _truth(value: Value) -> Condition:
    truth = truth_of(value)
    assert truth is not None
    return truth


# Functions that are short for a CASE ------------------------------------------------------------------------


def _coalesce(source: SqlText, node: exp.Expr) -> Value:
    name = called(source, node)
    given = [source.optional(one) for one in several(source, node, f"{name}(value, value, ...)")]
    values = [value for value in given if value is not None]
    if not values:
        raise source.refusal(node, f"{name} of NULL alone is NULL")
    *first, last = values
    for value in reversed(first):
        last = _unless_missing(value, last)
    return last


def _unless_missing(value: Value, otherwise: Value) -> Value:
    absent = missing_value(value)
    return value if absent == NEVER else choice([(absent, otherwise)], value)


def _null_if(source: SqlText, node: exp.Expr) -> Value:
    first, second = arguments(source, node, "NULLIF(value, value)", 2)
    value, other = source.operand(first), source.optional(second)
    if other is None:
        return value
    differs = compared(source, node, value, "<>", other)
    return choice([(any_of(differs, missing_value(other)), value)], None)


def _if(source: SqlText, node: exp.Expr) -> Value:
    name = called(source, node)
    condition, *values = arguments(source, node, f"{name}(condition, value, value)", 2, 3)
    then, *last = [source.optional(value) for value in values]
    return choice([(source.condition(condition), then)], last[0] if last else None)


def _if_present(source: SqlText, node: exp.Expr) -> Value:
    subject, *values = arguments(source, node, "NVL2(value, where it is there, where it is missing)", 3)
    there, absent = [source.optional(value) for value in values]
    return choice([(missing_value(source.operand(subject)), absent)], there)


def _zero_if_missing(source: SqlText, node: exp.Expr) -> Value:
    return _unless_missing(source.number(arguments(source, node, "ZEROIFNULL(number)", 1)[0]), ZERO)


def _decode(source: SqlText, node: exp.Expr) -> Value:
    """Here, as nowhere else, a missing value equals NULL."""
    subject, *rest = several(source, node, "DECODE(value, equals, then, ..., otherwise)", 3)
    branches: list[Branch] = []
    while len(rest) > 1:
        wanted, then, *rest = rest
        if type(source.bare(wanted)) is exp.Null:
            when = missing_value(source.operand(subject))
        else:
            when = source.equal(subject, wanted)
        branches.append((when, source.optional(then)))
    return choice(branches, source.optional(rest[0]) if rest else None)


def _extreme(source: SqlText, node: exp.Expr) -> Value:
    """GREATEST or LEAST; missing where one of them is missing."""
    name = called(source, node)
    values = [source.operand(one) for one in several(source, node, f"{name}(value, value, ...)")]
    if all(isinstance(value, Days) for value in values):
        return day_at(_extreme_number(name, [days_since_1970(v) for v in values if isinstance(v, Days)]))
    wrong = next((value for value in values if not isinstance(value, NumberExpression)), None)
    if wrong is not None:
        raise source.refusal(node, f"{name} takes numbers, or dates, not {described(wrong)}")
    return _extreme_number(name, [value for value in values if isinstance(value, NumberExpression)])


def _extreme_number(name: str, numbers: Sequence[NumberExpression]) -> NumberExpression:
    pick = _PICK[name]
    constants = [number.value for number in numbers if isinstance(number, Constant)]
    others = [number for number in dict.fromkeys(numbers) if not isinstance(number, Constant)]
    if not others:
        return Constant(pick(constants))
    value = others[0] if len(others) == 1 else _of_several(name, others)
    if not constants:
        return value
    low, high = ends(value)
    bound = pick(constants)
    if (bound / value.lattice.step).denominator != 1:
        return _of_several(name, [value, Constant(bound)])
    return Clip(value, bound, high) if name == "GREATEST" else Clip(value, low, bound)


def _of_several(name: str, numbers: Sequence[NumberExpression]) -> NumberExpression:
    """The first that is beaten by none before it and none behind it."""
    beats, ties = (">", ">=") if name == "GREATEST" else ("<", "<=")
    branches = []
    for place, one in enumerate(numbers):
        others = [
            Compare(one, beats if i < place else ties, other)  # type: ignore[arg-type]
            for i, other in enumerate(numbers)
            if i != place
        ]
        branches.append((all_of(*others), one))
    low, high = (_PICK[name](reached) for reached in zip(*map(ends, numbers), strict=True))
    return within(Case(tuple(branches)), low, high)


CASES: dict[str, Callable[[SqlText, exp.Expr], Value]] = {
    **dict.fromkeys(("COALESCE", "IFNULL", "NVL", "ISNULL"), _coalesce),
    **dict.fromkeys(("IF", "IIF", "IFF"), _if),
    **dict.fromkeys(("GREATEST", "LEAST"), _extreme),
    "DECODE": _decode,
    "NULLIF": _null_if,
    "NVL2": _if_present,
    "ZEROIFNULL": _zero_if_missing,
}
