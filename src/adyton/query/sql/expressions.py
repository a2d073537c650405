"""From syntax tree to numbers and conditions: what is not named here is refused."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from sqlglot import exp

from adyton.errors import InvalidRequest
from adyton.exact import rational
from adyton.query.expressions import (
    And,
    Compare,
    Condition,
    Negative,
    Not,
    NumberExpression,
    Operator,
    Or,
    Plus,
    Times,
)
from adyton.query.leaves import Always, Constant, Day, DayOf, IsMissing, IsTrue, OneOf, ValueOf
from adyton.query.sql.functions import CONDITION_FUNCTIONS, read_call, read_case, read_extract, read_test
from adyton.query.sql.names import Names, title
from adyton.query.sql.reasons import reason_against
from adyton.schema import BooleanColumn, CategoryColumn, DateColumn, TextColumn, day_number

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
# What can stand beside a comparison sign: a number, a day, a string, a boolean, or a column of these.
Operand = NumberExpression | DayOf | Day | str | bool | CategoryColumn | BooleanColumn
_WRITTEN = Constant | Day | str | bool


@dataclass(frozen=True, slots=True)
class Source(Names):
    """The text that is read, and how its numbers and conditions are read."""

    # Numbers ---------------------------------------------------------------------------------------------

    def number(self, node: exp.Expr) -> NumberExpression:
        node = self.bare(node)
        read = _NUMBERS.get(type(node))
        if read is None:
            raise self.refusal(node, self.why_not(node, "a number"))
        try:
            return read(self, node)
        except InvalidRequest as wrong:
            raise self.placed(node, wrong) from None

    def why_not(self, node: exp.Expr, needed: str) -> str:
        """Why ``node`` is not supported, or that something else is needed in its place."""
        reason = reason_against(title(node), self.table)
        return (
            f"{title(node)} is not supported: {reason}"
            if reason
            else f"{needed} is needed here, not {title(node)}"
        )

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

    def _sum(self, node: exp.Expr) -> NumberExpression:
        first, rest = self.chain(node, (exp.Add, exp.Sub))
        terms = [self.number(first)]
        for kind, term in rest:
            value = self.number(term)
            terms.append(value if kind is exp.Add else _negated(value))
        return _balanced(Plus, terms)

    def _product(self, node: exp.Expr) -> NumberExpression:
        first, rest = self.chain(node, (exp.Mul, exp.Div))
        factors = [self.number(first)]
        for kind, factor in rest:
            value = self.number(factor)
            if kind is exp.Mul:
                factors.append(value)
            elif not isinstance(value, Constant) or not value.value:
                raise self.refusal(factor, "only division by a literal other than 0 is supported")
            elif len(factors) == 1 and isinstance(factors[0], Constant):
                factors = [Constant(factors[0].value / value.value)]
            else:
                factors.append(Constant(1 / value.value))
        return _balanced(Times, factors)

    # Conditions ------------------------------------------------------------------------------------------

    def condition(self, node: exp.Expr) -> Condition:
        node = self.bare(node)
        read = _CONDITIONS.get(type(node))
        if read is None:
            raise self.refusal(node, self.why_not(node, "a condition"))
        try:
            return read(self, node)
        except InvalidRequest as wrong:
            raise self.placed(node, wrong) from None

    def _is_true(self, node: exp.Expr) -> Condition:
        return IsTrue(self.column(node))  # type: ignore[arg-type]  # the node checks its column

    def _always(self, node: exp.Expr) -> Condition:
        return Always(self._truth(node))

    def _not(self, node: exp.Expr) -> Condition:
        self.check_parts(node, "this")
        return Not(self.condition(node.this))

    def _joined(self, node: exp.Expr) -> Condition:
        first, rest = self.chain(node, (type(node),))
        parts = tuple(self.condition(part) for part in (first, *(part for _, part in rest)))
        return And(parts) if type(node) is exp.And else Or(parts)

    def _is(self, node: exp.Expr) -> Condition:
        self.check_parts(node, "this", "expression")
        column, said = self.column(self.bare(node.this)), node.args["expression"]
        if type(said) is exp.Null:
            return IsMissing(column)
        if type(said) is not exp.Boolean:
            raise self.refusal(node, "IS is followed by NULL, TRUE or FALSE, or by NOT and one of them")
        truth = IsTrue(column)  # type: ignore[arg-type]  # the node checks its column
        return And((Not(IsMissing(column)), truth if said.this else Not(truth)))

    def _in(self, node: exp.Expr) -> Condition:
        self.check_parts(node, "this", "expressions")
        listed = node.args.get("expressions") or []
        if not 1 <= len(listed) <= MOST_VALUES:
            raise self.refusal(node.this, f"IN needs a list of 1 to {MOST_VALUES} literals")
        left, values = self.operand(node.this), [self.operand(value) for value in listed]
        if not all(isinstance(value, _WRITTEN) for value in values):
            raise self.refusal(node.this, "IN needs a list of literals")
        parts = tuple(dict.fromkeys(self._compared(node, left, "=", value) for value in values))
        if isinstance(left, CategoryColumn):
            return OneOf(left, tuple(part.values[0] for part in parts if isinstance(part, OneOf)))
        return parts[0] if len(parts) == 1 else Or(parts)

    def equal(self, left: exp.Expr, right: exp.Expr) -> Condition:
        """``left`` = ``right``, a written value."""
        value = self.operand(right)
        if not isinstance(value, _WRITTEN):
            raise self.refusal(right, "CASE x WHEN needs literals; or write CASE WHEN condition")
        return self._compared(right, self.operand(left), "=", value)

    def _between(self, node: exp.Expr) -> Condition:
        self.check_parts(node, "this", "low", "high")
        value, low, high = (self.operand(node.args[part]) for part in ("this", "low", "high"))
        return And((self._compared(node, value, ">=", low), self._compared(node, value, "<=", high)))

    # Comparisons -----------------------------------------------------------------------------------------

    def operand(self, node: exp.Expr) -> Operand:
        """What ``node`` is, before it is known what it is compared with."""
        node = self.bare(node)
        read = _OPERANDS.get(type(node))
        if read is not None:
            try:
                return read(self, node)
            except InvalidRequest as wrong:
                raise self.placed(node, wrong) from None
        if type(node) is exp.Null:
            raise self.refusal(node, "nothing equals NULL; write IS NULL or IS NOT NULL")
        if is_condition(node):
            raise self.refusal(node, "a condition cannot be compared; join conditions with AND, OR, NOT")
        return self.number(node)

    def _truth(self, node: exp.Expr) -> bool:
        self.check_parts(node, "this")
        return bool(node.this)

    def _literal(self, node: exp.Expr) -> Operand:
        self.check_parts(node, "this", "is_string")
        return str(node.this) if node.args["is_string"] else self._constant(node)

    def _column_operand(self, node: exp.Expr) -> Operand:
        column = self.column(node)
        if isinstance(column, CategoryColumn | BooleanColumn):
            return column
        if isinstance(column, TextColumn):
            reason = f"{column.name!r} is a text column: it can only be grouped by, or tested with IS NULL"
            raise self.refusal(node, f"{reason}; a column with declared values is a category")
        return DayOf(column) if isinstance(column, DateColumn) else ValueOf(column)

    def written_day(self, node: exp.Expr) -> Day:
        self.check_parts(node, "this", "to")
        kind, value = node.args["to"], node.this
        self.check_parts(kind, "this")
        if kind.this is not exp.DType.DATE or type(value) is not exp.Literal or not value.args["is_string"]:
            raise self.refusal(node, "columns have declared kinds and are never converted")
        return self.day(node, value.this)

    def day(self, node: exp.Expr, text: str) -> Day:
        try:
            day = datetime.date.fromisoformat(text) if _DAY.fullmatch(text) else None
        except ValueError:
            day = None
        if day is None:
            raise self.refusal(node, "a date is written as '2020-01-31'")
        return Day(day_number(day))

    def _comparison(self, node: exp.Expr) -> Condition:
        self.check_parts(node, "this", "expression")
        left, right = self.operand(node.this), self.operand(node.args["expression"])
        return self._compared(node, left, OPERATORS[type(node)], right)

    def _compared(self, node: exp.Expr, left: Operand, operator: Operator, right: Operand) -> Condition:
        columns = CategoryColumn | BooleanColumn | DayOf
        if isinstance(right, columns) and not isinstance(left, columns):
            mirrored: dict[Operator, Operator] = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
            left, operator, right = right, mirrored.get(operator, operator), left
        match left, right:
            case (CategoryColumn(), str() | Constant()):
                return self._category(node, left, operator, right)
            case (BooleanColumn(), bool()) if operator in ("=", "<>"):
                return IsTrue(left) if right == (operator == "=") else Not(IsTrue(left))
            case (DayOf(), str()):
                return Compare(left, operator, self.day(node, right))
            case (DayOf() | Day(), DayOf() | Day()):
                return Compare(left, operator, right)
        if isinstance(left, NumberExpression) and isinstance(right, NumberExpression):
            return Compare(left, operator, right)
        raise self.refusal(
            node, f"{_described(left)} cannot be compared by {operator} with {_described(right)}"
        )

    def _category(
        self, node: exp.Expr, column: CategoryColumn, operator: Operator, written: str | Constant
    ) -> Condition:
        if operator not in ("=", "<>"):
            raise self.refusal(node, f"the category {column.name!r} has no order; use =, <> or IN")
        if isinstance(written, str) != isinstance(column.values[0], str):
            kinds = (
                ("strings", "a number") if isinstance(written, Constant) else ("whole numbers", "a string")
            )
            raise self.refusal(node, f"the category {column.name!r} holds {kinds[0]}, not {kinds[1]}")
        chosen = OneOf(column, (written if isinstance(written, str) else _whole(written.value),))
        return chosen if operator == "=" else Not(chosen)


# Every kind of node that has a meaning, and how it is read.
_NUMBERS: dict[type[exp.Expr], Callable[[Source, exp.Expr], NumberExpression]] = {
    exp.Literal: Source._constant,
    exp.Column: Source._value_of,
    exp.Neg: Source._negative,
    exp.Add: Source._sum,
    exp.Sub: Source._sum,
    exp.Mul: Source._product,
    exp.Div: Source._product,
    exp.Case: read_case,
    exp.Anonymous: read_call,
    exp.Extract: read_extract,
}
_CONDITIONS: dict[type[exp.Expr], Callable[[Source, exp.Expr], Condition]] = {
    exp.Column: Source._is_true,
    exp.Boolean: Source._always,
    exp.And: Source._joined,
    exp.Or: Source._joined,
    exp.Not: Source._not,
    exp.Is: Source._is,
    exp.In: Source._in,
    exp.Between: Source._between,
    exp.Anonymous: read_test,
    **dict.fromkeys(OPERATORS, Source._comparison),
}
_OPERANDS: dict[type[exp.Expr], Callable[[Source, exp.Expr], Operand]] = {
    exp.Boolean: Source._truth,
    exp.Literal: Source._literal,
    exp.Cast: Source.written_day,
    exp.Column: Source._column_operand,
}


def is_condition(node: exp.Expr) -> bool:
    """Whether ``node`` can only be read as a condition."""
    if type(node) is exp.Anonymous:
        return str(node.this).upper() in CONDITION_FUNCTIONS
    return type(node) in _CONDITIONS and type(node) is not exp.Column


def _whole(value: Fraction) -> int:
    if value.denominator != 1:
        raise InvalidRequest(f"a category of whole numbers never equals {float(value)}")
    return int(value)


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


def _described(operand: Operand) -> str:
    match operand:
        case str():
            return f"the string {operand[:40]!r}"
        case bool():
            return str(operand).upper()
        case CategoryColumn() | BooleanColumn():
            return f"the {operand.kind} column {operand.name!r}"
        case DayOf() | Day():
            return "a date"
    return "a number"
