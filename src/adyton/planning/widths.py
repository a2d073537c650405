"""Which width is meant for which value: one number is for values of one unit, else each has its own."""

from __future__ import annotations

from collections.abc import Sequence

from adyton.errors import InvalidRequest
from adyton.planning.price import Price
from adyton.query.expressions import Case, Clip, Floor, Negative, NumberExpression, Plus, Square, Times
from adyton.query.leaves import DatePart, Lookup, ValueOf
from adyton.query.measures import Count, CountPersons, Mean, Proportion, Sum, SumOfPersons
from adyton.query.nodes import Question

_MOST_NAMED = 8  # values of a long batch in one message
_Wide = Count | CountPersons | Proportion | Sum | SumOfPersons | Mean
_Leaf = ValueOf | DatePart | Lookup


def check_widths(price: Price, questions: Sequence[Question]) -> None:
    """Refuses one number for values of different units, and names that are missing or unknown.

    Values whose width nobody can promise, such as quantiles, are left to those who refuse them.
    """
    if price.by != "within":
        return
    measures = [named for question in questions for named in question.measures]
    wide = [(name, measure) for name, measure in measures if isinstance(measure, _Wide)]
    if not price.each:
        if len({_unit_of(measure) for _, measure in wide}) > 1:
            raise InvalidRequest(_different(wide))
        return
    named = {name.casefold() for name, _ in price.each}
    known = {name.casefold(): name for name, _ in measures}
    if unknown := [name for name, _ in price.each if name.casefold() not in known]:
        raise InvalidRequest(
            f"within names {unknown[0]!r}, which is not a value of this question; its values are: "
            f"{', '.join(known.values())}"
        )
    if missing := [known[name.casefold()] for name, _ in wide if name.casefold() not in named]:
        missed = ", ".join(dict.fromkeys(missing))
        raise InvalidRequest(f"within says nothing about {missed}: give every value its width")


def _different(wide: Sequence[tuple[str, _Wide]]) -> str:
    examples = {_unit_of(measure): f"{name} is {_unit_text(measure)}" for name, measure in reversed(wide)}
    names = list(dict.fromkeys(name for name, _ in wide))
    more = ",..." if len(names) > _MOST_NAMED else ""
    return (
        f"one width does not suit values of different units ({'; '.join(reversed(examples.values()))}): "
        f"give each its own, as within {','.join(f'{name}=W' for name in names[:_MOST_NAMED])}{more}"
    )


def _unit_of(measure: _Wide) -> tuple[str, frozenset[_Leaf]]:
    """Two values have one unit if they count, or are shares, or are made of the same columns in one way."""
    match measure:
        case Count() | CountPersons():
            return "a count", frozenset()
        case Proportion():
            return "a share", frozenset()
        case Mean(value):
            return "a mean", frozenset(_leaves(value))
        case Sum(value) | SumOfPersons(value):
            return "a sum", frozenset(_leaves(value))


def _unit_text(measure: _Wide) -> str:
    kind, leaves = _unit_of(measure)
    columns = sorted({(leaf.day if isinstance(leaf, DatePart) else leaf).column.name for leaf in leaves})
    return f"{kind} of {' and '.join(columns)}" if columns else kind


def _leaves(value: NumberExpression | None) -> set[_Leaf]:
    """What a number is made of; the columns in its conditions only choose."""
    match value:
        case ValueOf() | DatePart() | Lookup():
            return {value}
        case Plus(left, right) | Times(left, right):
            return _leaves(left) | _leaves(right)
        case Negative(inner) | Square(inner) | Floor(inner) | Clip(inner):
            return _leaves(inner)
        case Case(branches, otherwise):
            return _leaves(otherwise).union(*(_leaves(then) for _, then in branches))
        case _:
            return set()
