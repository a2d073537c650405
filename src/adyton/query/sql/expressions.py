"""From syntax tree to numbers and conditions: what is not named here is refused."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

from sqlglot import exp

from adyton.errors import InvalidRequest
from adyton.kernel.exact import rational
from adyton.kernel.schema import BooleanColumn, CategoryColumn, DateColumn, TextColumn, day_number
from adyton.kernel.terms.expressions import (
    And,
    Condition,
    Days,
    Negative,
    Not,
    NumberExpression,
    Operator,
    Or,
    Plus,
    Times,
)
from adyton.kernel.terms.leaves import Always, Constant, Day, DayOf, IsMissing, IsTrue, OneOf, ValueOf
from adyton.query.length import MOST_WEIGHT, weight
from adyton.query.missing import holds
from adyton.query.sql.functions.calls import CONDITION_FUNCTIONS, read_call
from adyton.query.sql.functions.cases import read_case
from adyton.query.sql.functions.casts import read_cast
from adyton.query.sql.functions.comparing import compared, same_or_missing
from adyton.query.sql.functions.dates import added, read_extract, read_interval
from adyton.query.sql.functions.numbers import read_div, read_mod
from adyton.query.sql.functions.texts import read_joined, read_like
from adyton.query.sql.functions.values import Texts, TimeSpan, Value, described, missing_value, truth_of
from adyton.query.sql.names import Names, calls, title
from adyton.query.sql.reasons import reason_against

MOST_VALUES = 10_000

_NUMBER = re.compile(r"(?a:\d+\.?\d*|\.\d+)([eE][+-]?(?a:\d+))?")
_DAY = re.compile(r"(?a:\d{4}-\d{2}-\d{2})")
OPERATORS: dict[type[exp.Expr], Operator] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}
_DIVISION = "only division by a literal other than 0 is supported; or write CLAMP(a / b, low, high)"
_Read = TypeVar("_Read", bound=Value)
_WRITTEN = Constant | Day | str | bool


@dataclass(frozen=True, slots=True)
class SqlText(Names):
    """The text that is read, and how its numbers and conditions are read."""

    # Numbers ---------------------------------------------------------------------------------------------

    def number(self, node: exp.Expr) -> NumberExpression:
        node = self.bare(node)
        found = self._read(node, _NUMBERS, "a number")
        if not isinstance(found, NumberExpression):
            raise self.refusal(node, f"a number is needed here, not {described(found)}")
        return self._short(node, found)

    def _read(self, node: exp.Expr, readers: _Readers, needed: str) -> Value:
        """What ``node`` is, by the reader of its kind; without one it is refused, as ``needed`` says."""
        read = readers.get(type(node))
        if read is None:
            reason = reason_against(title(node), self.table)
            why = f"{self.title(node)} is not supported: {reason}"
            raise self.refusal(node, why if reason else f"{needed} is needed here, not {self.title(node)}")
        try:
            return read(self, node)
        except InvalidRequest as wrong:
            raise self.placed(node, wrong) from None

    def constant(self, node: exp.Expr) -> Fraction:
        """A number that is written out, such as 12, -0.5 or (1 / 3)."""
        value = self.number(node)
        if not isinstance(value, Constant):
            raise self.refusal(node, "a literal is needed here, such as 12 or 0.5")
        return value.value

    def _value_of(self, node: exp.Expr) -> NumberExpression:
        return ValueOf(self.column(node))  # type: ignore[arg-type]  # the node checks its column

    def _negative(self, node: exp.Expr) -> NumberExpression:
        self.check_parts(node, "this")
        return _negated(self.number(node.this))

    def _constant(self, node: exp.Expr) -> Constant:
        self.check_parts(node, "this", "is_string")
        if node.args["is_string"]:
            raise self.refusal(node, "a number is needed here, not a string")
        if not _NUMBER.fullmatch(node.this):
            raise self.refusal(node, "this is not a number in decimal digits")
        return Constant(rational(node.this, "a number"))

    def _sum(self, node: exp.Expr) -> Value:
        """Of numbers; or of a day and a length of time, or the days between two."""
        first, rest = self.chain(node, (exp.Add, exp.Sub))
        terms = [(1, self._term(first))]
        terms += [(1 if kind is exp.Add else -1, self._term(term)) for kind, term in rest]
        numbers = [
            value if sign > 0 else _negated(value)
            for sign, value in terms
            if isinstance(value, NumberExpression)
        ]
        if len(numbers) == len(terms):
            return _balanced(Plus, numbers)
        (_, total), *others = terms
        for sign, value in others:
            total = added(self, node, total, sign, value)
        return total

    def _term(self, node: exp.Expr) -> Value:
        value = self.operand(node)
        return value if isinstance(value, NumberExpression | Days | TimeSpan) else self.number(node)

    def _product(self, node: exp.Expr) -> NumberExpression:
        first, rest = self.chain(node, (exp.Mul, exp.Div))
        factors = [self.number(first)]
        for kind, factor in rest:
            value = self.number(factor)
            if kind is exp.Mul:
                factors.append(value)
            elif not isinstance(value, Constant) or not value.value:
                raise self.refusal(factor, _DIVISION)
            elif len(factors) == 1 and isinstance(factors[0], Constant):
                factors = [Constant(factors[0].value / value.value)]
            else:
                factors.append(Constant(1 / value.value))
        return _balanced(Times, factors)

    # Conditions ------------------------------------------------------------------------------------------

    def condition(self, node: exp.Expr) -> Condition:
        node = self.bare(node)
        found = self._read(node, _CONDITIONS, "a condition")
        truth = found if isinstance(found, Condition) else truth_of(found)
        if truth is None:
            raise self.refusal(node, f"a condition is needed here, not {self.title(node)}")
        return self._short(node, truth)

    def _is_true(self, node: exp.Expr) -> Condition:
        return IsTrue(self.column(node))  # type: ignore[arg-type]  # the node checks its column

    def _not(self, node: exp.Expr) -> Condition:
        self.check_parts(node, "this")
        return Not(self.condition(node.this))

    def _joined(self, node: exp.Expr) -> Condition:
        parts = tuple(map(self.condition, self.operands(node)))
        return And(parts) if type(node) is exp.And else Or(parts)

    def _is(self, node: exp.Expr) -> Condition:
        inner, said = self.sides(node)
        inner = self.bare(inner)
        if type(said) not in (exp.Null, exp.Boolean):
            raise self.refusal(node, "IS is followed by NULL, TRUE or FALSE, or by NOT and one of them")
        if type(inner) is exp.Column:
            column = self.column(inner)
            if type(said) is exp.Null:
                return IsMissing(column)
            truth = IsTrue(column)  # type: ignore[arg-type]  # the node checks its column
            return And((Not(IsMissing(column)), truth if said.this else Not(truth)))
        if type(said) is exp.Null:
            return missing_value(self.operand(inner))
        condition = self.condition(inner)
        return holds(condition if said.this else Not(condition))

    def _in(self, node: exp.Expr) -> Condition:
        listed = self.listed(node)
        left, values = self.operand(node.this), [self.operand(value) for value in listed]
        if not all(isinstance(value, _WRITTEN) for value in values):
            raise self.refusal(node.this, "IN needs a list of literals")
        parts = tuple(dict.fromkeys(compared(self, node, left, "=", value) for value in values))
        listed_values = [part for part in parts if isinstance(part, OneOf)]
        if len(listed_values) == len(parts):  # of a category, or of a function of one
            chosen = dict.fromkeys(value for part in listed_values for value in part.values)
            return OneOf(listed_values[0].column, tuple(chosen))
        return parts[0] if len(parts) == 1 else Or(parts)

    def listed(self, node: exp.Expr) -> list[exp.Expr]:
        """What stands in the brackets of IN."""
        self.check_parts(node, "this", "expressions")
        if not 1 <= len(node.expressions) <= MOST_VALUES:
            raise self.refusal(node.this, f"IN needs a list of 1 to {MOST_VALUES} literals")
        return node.expressions

    def equal(self, left: exp.Expr, right: exp.Expr) -> Condition:
        """``left`` = ``right``, a written value."""
        value = self.operand(right)
        if not isinstance(value, _WRITTEN):
            raise self.refusal(right, "CASE x WHEN needs literals; or write CASE WHEN condition")
        return compared(self, right, self.operand(left), "=", value)

    def _between(self, node: exp.Expr) -> Condition:
        self.check_parts(node, "this", "low", "high")
        value, low, high = (self.operand(node.args[part]) for part in ("this", "low", "high"))
        return And((compared(self, node, value, ">=", low), compared(self, node, value, "<=", high)))

    # Comparisons -----------------------------------------------------------------------------------------

    def operand(self, node: exp.Expr) -> Value:
        """What ``node`` is, before it is known what it is compared with."""
        node = self.bare(node)
        if type(node) in _OPERANDS:
            return self._short(node, self._read(node, _OPERANDS, "a value"))
        if type(node) is exp.Null:
            raise self.refusal(node, "nothing equals NULL; write IS NULL or IS NOT NULL")
        return self.condition(node) if is_condition(node) else self.number(node)

    def _short(self, node: exp.Expr, value: _Read) -> _Read:
        """``value``, unless it is much longer than its text: functions of functions repeat what is inside."""
        part = value.code if isinstance(value, Texts) else value
        grows = type(node) in _GROW and isinstance(part, NumberExpression | Days | Condition)
        if grows and weight(part) > MOST_WEIGHT:
            raise self.refusal(node, "this is too long when it is written out: nest fewer functions")
        return value

    def optional(self, node: exp.Expr) -> Value | None:
        """What ``node`` is; None where it is NULL."""
        return None if type(self.bare(node)) is exp.Null else self.operand(node)

    def _truth(self, node: exp.Expr) -> bool:
        self.check_parts(node, "this")
        return bool(node.this)

    def _literal(self, node: exp.Expr) -> Value:
        self.check_parts(node, "this", "is_string")
        return str(node.this) if node.args["is_string"] else self._constant(node)

    def _column_operand(self, node: exp.Expr) -> Value:
        column = self.column(node)
        if isinstance(column, CategoryColumn | BooleanColumn):
            return column
        if isinstance(column, TextColumn):
            reason = f"{column.name!r} is a text column: it can only be grouped by, or tested with IS NULL"
            raise self.refusal(node, f"{reason}; a column with declared values is a category")
        return DayOf(column) if isinstance(column, DateColumn) else ValueOf(column)

    def written_day(self, node: exp.Expr) -> Day:
        value = read_cast(self, node)
        if not isinstance(value, Day):
            raise self.refusal(node, "a written date is needed here, such as DATE '2020-01-31'")
        return value

    def day(self, node: exp.Expr, text: str) -> Day:
        try:
            day = datetime.date.fromisoformat(text) if _DAY.fullmatch(text) else None
        except ValueError:
            day = None
        if day is None:
            raise self.refusal(node, "a date is written as '2020-01-31'")
        return Day(day_number(day))

    def _comparison(self, node: exp.Expr) -> Condition:
        left, right = map(self.operand, self.sides(node))
        return compared(self, node, left, OPERATORS[type(node)], right)

    def _apart(self, node: exp.Expr) -> Condition:
        """IS [NOT] DISTINCT FROM."""
        left, right = map(self.optional, self.sides(node))
        if left is None or right is None:
            known = left if right is None else right
            same = Always(True) if known is None else missing_value(known)
        else:
            same = same_or_missing(self, node, left, right)
        return same if type(node) is exp.NullSafeEQ else Not(same)


# Every kind of node that has a meaning, and how it is read.
_Readers = dict[type[exp.Expr], Callable[[SqlText, exp.Expr], Value]]
_NUMBERS: _Readers = {
    exp.Literal: SqlText._constant,
    exp.Column: SqlText._value_of,
    exp.Neg: SqlText._negative,
    exp.Add: SqlText._sum,
    exp.Sub: SqlText._sum,
    exp.Mul: SqlText._product,
    exp.Div: SqlText._product,
    exp.Mod: read_mod,
    exp.IntDiv: read_div,
    exp.Case: read_case,
    exp.Cast: read_cast,
    exp.TryCast: read_cast,
    exp.Anonymous: read_call,
    exp.Extract: read_extract,
}
_CONDITIONS: _Readers = {
    exp.Column: SqlText._is_true,
    exp.Boolean: SqlText._truth,
    exp.And: SqlText._joined,
    exp.Or: SqlText._joined,
    exp.Not: SqlText._not,
    exp.Is: SqlText._is,
    exp.In: SqlText._in,
    exp.Between: SqlText._between,
    exp.NullSafeEQ: SqlText._apart,
    exp.NullSafeNEQ: SqlText._apart,
    exp.Like: read_like,
    exp.ILike: read_like,
    exp.Escape: read_like,
    exp.Anonymous: read_call,
    exp.Case: read_case,
    exp.Cast: read_cast,
    exp.TryCast: read_cast,
    **dict.fromkeys(OPERATORS, SqlText._comparison),
}
_OPERANDS: _Readers = {
    exp.Boolean: SqlText._truth,
    exp.Literal: SqlText._literal,
    exp.Column: SqlText._column_operand,
    exp.Interval: read_interval,
    exp.DPipe: read_joined,
    **{kind: _NUMBERS[kind] for kind in (exp.Add, exp.Sub, exp.Case, exp.Cast, exp.TryCast, exp.Anonymous)},
}
# What can write its parts more than once.
_GROW = (
    *(exp.Anonymous, exp.Case, exp.Cast, exp.TryCast, exp.Mod, exp.IntDiv, exp.Extract, exp.Is, exp.In),
    *(exp.NullSafeEQ, exp.NullSafeNEQ, exp.Between, exp.Add, exp.Sub, *OPERATORS),
)
# What is a condition in some calls and something else in others.
_OF_ANY_KIND = (exp.Column, exp.Anonymous, exp.Case, exp.Cast, exp.TryCast)


def is_condition(node: exp.Expr) -> bool:
    """Whether ``node`` can only be read as a condition."""
    only = type(node) in _CONDITIONS and type(node) not in _OF_ANY_KIND
    return only or calls(node, CONDITION_FUNCTIONS)


def _negated(number: NumberExpression) -> NumberExpression:
    return Constant(-number.value) if isinstance(number, Constant) else Negative(number)


def _balanced(
    node: Callable[[NumberExpression, NumberExpression], NumberExpression], parts: Sequence[NumberExpression]
) -> NumberExpression:
    """The parts joined in a tree of least depth; order and brackets of a sum or product mean nothing."""
    if len(parts) == 1:
        return parts[0]
    middle = len(parts) // 2
    return node(_balanced(node, parts[:middle]), _balanced(node, parts[middle:]))
