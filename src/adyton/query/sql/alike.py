"""Texts that differ in their numbers alone are parsed once, and if they can be, read once.

What the parser does with digits does not depend on them: a tree is kept with a mark in place of each number.
A number that WHERE compares with a column stands in the query as it is written, and nothing else depends
on it: then the query is kept as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from sqlglot import exp

from adyton.kernel.exact import rational
from adyton.kernel.terms.expressions import And, Compare, Condition, Not, Or
from adyton.kernel.terms.leaves import Constant
from adyton.query.request import Request
from adyton.query.sql.expressions import OPERATORS

MARK = "\0"  # which no text may hold
_FIRST = 987_654_000
_COMPARED = (*OPERATORS, exp.Between)
_AROUND = (exp.And, exp.Or, exp.Not, exp.Paren)


@dataclass(slots=True)
class Pattern:
    """A text with marks in place of numbers, how often it was asked, and what was made of it."""

    text: str
    asked: int = 0
    tree: exp.Expr | None = None
    request: Request | None = None


def marked(pattern: str) -> str:
    """``pattern`` with a number of its own at each mark."""
    first, *rest = pattern.split(MARK)
    return first + "".join(mark + part for mark, part in zip(_marks(len(rest)), rest, strict=True))


def has_all_marks(tree: exp.Expr, text: str, numbers: int) -> bool:
    """Whether each number of a marked text stands in its tree, once."""
    found = [node.this for node in tree.find_all(exp.Literal)]
    return all(found.count(mark) == text.count(mark) == 1 for mark in _marks(numbers))


def filled(tree: exp.Expr, numbers: Sequence[str]) -> exp.Expr:
    """A copy of a marked tree with these numbers, without places in a text."""
    copy: exp.Expr = _filled(tree, dict(zip(_marks(len(numbers)), numbers, strict=True)))
    return copy


def compares_alone(tree: exp.Expr, request: Request, numbers: int) -> bool:
    """Whether all that the numbers of a marked text do is to be compared with columns in WHERE."""
    marks = _marks(numbers)
    values = [Fraction(mark) for mark in marks]
    written = [node for node in tree.find_all(exp.Literal) if node.this in marks]
    found = sorted(value for value in _compared(request.query.where) if value in values)
    return found == values and all(map(_is_compared, written))


def with_numbers(request: Request, numbers: Sequence[str]) -> Request:
    """What is asked by the marked text with these numbers."""
    written = [rational(number, "a number") for number in numbers]
    query, of_mark = request.query, dict(enumerate(written, _FIRST))
    return replace(request, query=replace(query, where=_with(query.where, of_mark)))


def _marks(numbers: int) -> list[str]:
    return [str(_FIRST + place) for place in range(numbers)]


def _filled(part: Any, numbers: Mapping[str, str]) -> Any:
    if isinstance(part, list):
        return [_filled(one, numbers) for one in part]
    if not isinstance(part, exp.Expr):
        return part
    args = {name: _filled(value, numbers) for name, value in part.args.items()}
    if type(part) is exp.Literal:
        args["this"] = numbers.get(part.this, part.this)
    return type(part)(**args)


def _is_compared(node: exp.Expr) -> bool:
    """Whether it is compared with a column, in a condition of the outermost WHERE."""
    sign = node.parent
    if sign is None or type(sign) not in _COMPARED or type(sign.this) is not exp.Column:
        return False
    above = sign.parent
    while above is not None and type(above) in _AROUND:
        above = above.parent
    return isinstance(above, exp.Where) and isinstance(above.parent, exp.Select) and not above.parent.parent


def _compared(condition: Condition) -> Iterator[Fraction]:
    """The numbers that something is compared with in ``condition``, as far as ``_with`` looks."""
    match condition:
        case And(parts) | Or(parts):
            for part in parts:
                yield from _compared(part)
        case Not(inner):
            yield from _compared(inner)
        case Compare(_, _, Constant(value)):
            yield value


def _with(condition: Condition, numbers: Mapping[int, Fraction]) -> Condition:
    match condition:
        case And(parts) | Or(parts):
            return type(condition)(tuple(_with(part, numbers) for part in parts))
        case Not(inner):
            return Not(_with(inner, numbers))
        case Compare(left, operator, Constant(value)) if value.denominator == 1 and int(value) in numbers:
            return Compare(left, operator, Constant(numbers[int(value)]))
    return condition
