"""The canonical text of a question: one spelling for one meaning, so that a repeated question is recognised.

The text reads as the SQL that would ask it.  Order, spacing, capital letters, repeated conditions and the
direction of a comparison do not survive; nothing in it comes from the data.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import assert_never

from adyton.query.nodes import (
    EVERY_ROW,
    Always,
    And,
    Comparable,
    Compare,
    Condition,
    Constant,
    Count,
    Day,
    DayOf,
    Indicator,
    IsMissing,
    IsTrue,
    Mean,
    Measure,
    Negative,
    Not,
    OneOf,
    Or,
    Plus,
    Proportion,
    Question,
    Sum,
    Times,
    ValueOf,
)
from adyton.schema import day_of

_PLAIN_NAME = re.compile(r"[a-z_][a-z0-9_]*")
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "<>": "<>"}


def question_text(question: Question) -> str:
    keys = [name_text(column.name) for column in question.by]
    values = [f"{measure_text(measure)} AS {name_text(name)}" for name, measure in question.measures]
    text = f"SELECT {', '.join(keys + values)} FROM {name_text(question.table.name)}"
    if question.where != EVERY_ROW:
        text += f" WHERE {condition_text(question.where)}"
    return text + (f" GROUP BY {', '.join(keys)}" if keys else "")


def measure_text(measure: Measure) -> str:
    match measure:
        case Count(where):
            text = "COUNT(*)"
        case Sum(value, where):
            text = f"SUM({number_text(value)})"
        case Mean(value, where):
            text = f"AVG({number_text(value)})"
        case Proportion(condition, where):
            text = f"PROPORTION({condition_text(condition)})"
        case _:
            assert_never(measure)
    return text if where == EVERY_ROW else f"{text} FILTER (WHERE {condition_text(where)})"


def number_text(number: Comparable) -> str:
    match number:
        case ValueOf(column) | DayOf(column):
            return name_text(column.name)
        case Constant(value):
            return fraction_text(value)
        case Day(day):
            return f"DATE '{day_of(day).isoformat()}'"
        case Plus(left, right):
            return f"({' + '.join(sorted((number_text(left), number_text(right))))})"
        case Times(left, right):
            return f"({' * '.join(sorted((number_text(left), number_text(right))))})"
        case Negative(inner):
            return f"(- {number_text(inner)})"
        case Indicator(condition):
            return f"CASE WHEN {condition_text(condition)} THEN 1 ELSE 0 END"
        case _:
            assert_never(number)


def condition_text(condition: Condition) -> str:
    match condition:
        case Compare(left, operator, right):
            a, b = number_text(left), number_text(right)
            mirrored = isinstance(left, Constant | Day) or (
                operator in (">", ">=") and not _is_constant(right)
            )
            return f"({b} {_MIRRORED[operator]} {a})" if mirrored else f"({a} {operator} {b})"
        case OneOf(column, values):
            listed = ", ".join(value_text(v) for v in column.values if v in values)
            return f"({name_text(column.name)} IN ({listed}))"
        case IsTrue(column):
            return name_text(column.name)
        case IsMissing(column):
            return f"({name_text(column.name)} IS NULL)"
        case Always(truth):
            return "TRUE" if truth else "FALSE"
        case Not(inner):
            return f"(NOT {condition_text(inner)})"
        case And(parts):
            return _joined(" AND ", parts, And)
        case Or(parts):
            return _joined(" OR ", parts, Or)
        case _:
            assert_never(condition)


def _joined(word: str, parts: tuple[Condition, ...], kind: type[And] | type[Or]) -> str:
    texts = sorted({condition_text(part) for part in _flat(parts, kind)})
    return texts[0] if len(texts) == 1 else f"({word.join(texts)})"


def _flat(parts: tuple[Condition, ...], kind: type[And] | type[Or]) -> list[Condition]:
    flat: list[Condition] = []
    for part in parts:
        flat += _flat(part.parts, kind) if isinstance(part, kind) else [part]
    return flat


def _is_constant(node: Comparable) -> bool:
    return isinstance(node, Constant | Day)


def name_text(name: str) -> str:
    """A name as SQL writes it, quoted unless it is plain."""
    return name if _PLAIN_NAME.fullmatch(name) else '"' + name.replace('"', '""') + '"'


def value_text(value: str | int) -> str:
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)


def fraction_text(value: Fraction) -> str:
    """A decimal where one exists, else a quotient; exact in both cases."""
    denominator = value.denominator
    for prime in (2, 5):
        while denominator % prime == 0:
            denominator //= prime
    if denominator > 1:
        return f"({value.numerator} / {value.denominator})"
    digits = 0
    while (value * 10**digits).denominator > 1:
        digits += 1
    whole = str(abs(int(value * 10**digits))).rjust(digits + 1, "0")
    sign = "-" if value < 0 else ""
    return sign + (f"{whole[:-digits]}.{whole[-digits:]}" if digits else whole)
