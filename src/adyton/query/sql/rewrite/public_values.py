"""The rows of a public table that a sub-select chooses, and what it gives for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from sqlglot import exp

from adyton.kernel.schema import Attribute, BooleanColumn, CategoryColumn, Dimension, Table
from adyton.query.conditions.possible import Known, KnownRows, Truths, is_understood
from adyton.query.sql.expressions import SqlText
from adyton.query.sql.rewrite.scopes import Context, sources

Value = Fraction | str | bool | None

_PRIVATE = (
    "a sub-select in an expression is about public tables only: what private rows give there would be known"
)
_SHARE = "; the share of each group is 1.0 * COUNT(*) / SUM(COUNT(*)) OVER ()"
_TOTALS: dict[str, Callable[[list[Any]], Any]] = {
    "MAX": max,
    "MIN": min,
    "SUM": sum,
    "AVG": lambda values: Fraction(sum(values)) / len(values),
}


@dataclass(frozen=True, slots=True)
class PublicRows:
    """A sub-select over one public table."""

    source: SqlText
    select: exp.Expr
    called: str
    dimension: Dimension
    rows: KnownRows

    @staticmethod
    def of(context: Context, select: exp.Expr) -> PublicRows:
        nodes = sources(select)
        for node, _ in nodes:
            if type(node) is not exp.Table or context.public(node.name) is None:
                counts = select.find_ancestor(exp.Where) is None and "COUNT(" in select.sql().upper()
                raise context.source.refusal(select, _PRIVATE + _SHARE * counts)
        if len(nodes) != 1:
            raise context.source.refusal(select, "a sub-select in a condition is about one public table")
        if select.args.get("order") is not None and select.args.get("limit") is None:
            select.set("order", None)
        context.source.check_parts(select, "expressions", "from_", "where", "distinct")
        found = context.public(nodes[0][0].name)
        assert found is not None
        table, rows = _rows(found[1])
        called = nodes[0][0].alias_or_name
        names = {called.casefold(): table.name}
        return PublicRows(replace(context.source, table=table, aliases=names), select, called, found[1], rows)

    # Names -----------------------------------------------------------------------------------------------

    def has(self, node: exp.Expr) -> bool:
        qualifier = node.args.get("table")
        if qualifier is not None:
            return str(qualifier.name).casefold() == self.called.casefold()
        return self.source.has_column(node.name)

    def is_key(self, node: exp.Expr) -> bool:
        """Whether ``node`` is the key, of which all values are known that a private row can have."""
        named = type(node) is exp.Column and self.has(node)
        return named and node.name.casefold() == self.dimension.key.casefold()

    def check_all_rows(self, node: exp.Expr) -> None:
        """What rows say whose key is not declared is not kept."""
        if self.dimension.rows_left_out:
            raise self.source.refusal(
                node,
                f"{self.dimension.rows_left_out} rows of {self.dimension.name!r} have keys that "
                f"{self.dimension.joins!r} does not declare; only its key can be listed here",
            )

    # Values ----------------------------------------------------------------------------------------------

    def chosen(self) -> Truths:
        """Where WHERE is true."""
        clause = self.select.args.get("where")
        if clause is None:
            return np.full(self.rows.number_of_rows, True)
        condition = self.source.condition(clause.this)
        if not is_understood(condition):
            raise self.source.refusal(clause.this, "this condition is not evaluated for a public table")
        return self.rows.condition(condition)[0]

    @property
    def item(self) -> exp.Expr:
        if len(self.select.expressions) != 1:
            raise self.source.refusal(self.select, "a sub-select beside IN or = gives one column")
        item: exp.Expr = self.select.expressions[0].unalias()
        return item

    def values(self, node: exp.Expr | None = None) -> list[Value]:
        """What ``node``, or else the one item, gives for each of the chosen rows."""
        node = self.item if node is None else node
        return [value for value, kept in zip(self._all(node), self.chosen(), strict=True) if kept]

    def value(self, node: exp.Expr) -> Value:
        """The one value that is given."""
        self.check_all_rows(node)
        item = self.item
        name = str(item.this).upper() if type(item) is exp.Anonymous else ""
        counted = item.expressions[0] if name == "COUNT" and len(item.expressions) == 1 else None
        if type(counted) is exp.Column:
            return Fraction(sum(value is not None for value in self.values(counted)))
        if type(counted) in (exp.Star, exp.Literal):
            return Fraction(int(self.chosen().sum()))
        if name in _TOTALS and len(item.expressions) == 1:
            numbers = [value for value in self.values(item.expressions[0]) if value is not None]
            if any(not isinstance(value, Fraction) for value in numbers):
                raise self.source.refusal(item, f"{name} of a public table takes a number")
            found: list[Value] = [_TOTALS[name](numbers)] if numbers else []
        else:
            found = self.values()
        if len(found) != 1 or found[0] is None:
            raise self.source.refusal(node, f"one value is needed here; the public table gives {len(found)}")
        return found[0]

    def _all(self, node: exp.Expr) -> list[Value]:
        node = self.source.bare(node)
        if type(node) is exp.Column:
            read = self.source.column(node)
            codes, there = self.rows.columns[read.name]
            if isinstance(read, CategoryColumn | BooleanColumn):
                listed: Sequence[Any] = read.values if isinstance(read, CategoryColumn) else (False, True)
                plain = [listed[code] for code in codes]
                exact = [Fraction(one) if type(one) is int else one for one in plain]
                return [one if known else None for one, known in zip(exact, there, strict=True)]
        number = self.source.number(node)
        known = self.rows.number(number)
        if known is None:
            raise self.source.refusal(node, "this is not evaluated for a public table")
        step = number.lattice.step
        return [int(one) * step if there else None for one, there in zip(*known, strict=True)]


def _rows(dimension: Dimension) -> tuple[Table, KnownRows]:
    key = Attribute(CategoryColumn(dimension.key, dimension.keys), dimension.keys)
    attributes = (key, *dimension.attributes)
    table = Table(dimension.name, tuple(one.column for one in attributes))
    return table, KnownRows({one.column.name: _known(one) for one in attributes}, len(dimension.keys))


def _known(attribute: Attribute) -> Known:
    """Numbers are counted in steps; other values are their places among those that are declared."""
    there = np.array([value is not None for value in attribute.values])
    numbers: list[Any] = [0 if value is None else value for value in attribute.values]
    if isinstance(attribute.column, CategoryColumn):
        places = {value: place for place, value in enumerate(attribute.column.values)}
        numbers = [places.get(value, 0) for value in numbers]
    return np.array(numbers, np.int64), there


def as_written(value: Value) -> exp.Expr:
    """A value as it is written in SQL."""
    if isinstance(value, bool):
        return exp.Boolean(this=value)
    if isinstance(value, str):
        return exp.Literal.string(value)
    if value is None:
        return exp.Null()
    if value < 0:
        return exp.Paren(this=exp.Neg(this=as_written(-value)))
    top, bottom = (exp.Literal.number(part) for part in value.as_integer_ratio())
    return top if value == int(value) else exp.Paren(this=exp.Div(this=top, expression=bottom))
