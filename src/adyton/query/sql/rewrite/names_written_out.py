"""Names become what they stand for: a column of a sub-select its expression, an alias the item that has it.

A name means a column of FROM first, except in HAVING and ORDER BY, which speak of the answer: there a name of
the SELECT list comes first, as docs/reference/sql.md says.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp

from adyton.query.sql.aggregates import AGGREGATES
from adyton.query.sql.from_clause import no_such_table
from adyton.query.sql.names import calls, starts_in
from adyton.query.sql.rewrite.scopes import (
    Context,
    Scope,
    ScopeTable,
    base_origin,
    clause_parts,
    columns_in,
    in_brackets,
    is_answer,
    is_in_from,
    item_called,
    output_name,
    placed,
    sources,
)

_BEFORE_SELECT = "WHERE is read before SELECT names its columns: write out what it stands for"
_OF_ANSWER = ("having", "order", "qualify")


def write_out_names(context: Context, select: exp.Expr) -> None:
    """In a SELECT of FROM, every name and place is what it stands for, and every column has its table.

    >>> after("SELECT n FROM (SELECT kind AS k, COUNT(*) AS n FROM sales GROUP BY 1 HAVING n > 5) d")
    SELECT COUNT(*) AS n FROM sales GROUP BY sales.kind HAVING COUNT(*) > 5
    """
    if not is_in_from(select) or select.args.get("from_") is None:
        return
    origins = []
    for node, join in sources(select):
        if type(node) is not exp.Table or not context.columns_of(node.name):
            raise context.source.refusal(node, no_such_table(context.tables))
        origins.append(base_origin(context, node, join))
    for origin in origins[1:]:
        origin.shared |= _joined_names(context, origin)
    scope = Scope(context, origins)
    write_conditions(context, scope)
    NamesWrittenOut(context, select, scope, keeps_answer=False).write()
    if not is_answer(select) and select.args.get("limit") is None:
        select.set("order", None)  # rows of a table have no order


def _joined_names(context: Context, origin: ScopeTable) -> set[str]:
    """Names on both sides of a declared inner join, where it makes no difference which column is meant."""
    table, public = context.private(origin.node.name), context.public(origin.node.name)
    if origin.optional:
        return set()
    if public is not None and public[1].key.casefold() == public[1].joins.casefold():
        return {public[1].key.casefold()}
    first = context.tables[0].person
    if table is not None and table.person and first and table.person.casefold() == first.casefold():
        return {table.person.casefold()}
    return set()


@dataclass(frozen=True, slots=True)
class NamesWrittenOut:
    """``keeps_answer``: names and places of the SELECT list stay where they are, as the list does too."""

    context: Context
    select: exp.Expr
    scope: Scope
    keeps_answer: bool

    def write(self) -> None:
        stars = {
            id(one): list(self._columns_of_star(one)) for one in self.select.expressions if _is_star(one)
        }
        listed = [stars.get(id(one), [one]) for one in self.select.expressions]
        self.select.set("expressions", [one for items in listed for one in items])
        done = {id(one) for items in stars.values() for one in items}
        for clause, part in list(clause_parts(self.select)):
            for node in [] if id(part) in done else columns_in(part):
                self._column(clause, node)
        self._places()

    # Columns ---------------------------------------------------------------------------------------------

    def _column(self, clause: str, node: exp.Expr) -> None:
        item = item_called(self.select, node)
        of_answer = item is not None and clause in _OF_ANSWER and not _is_aggregated(node)
        if of_answer and self.keeps_answer:
            return
        if item is not None and (of_answer or (clause == "group" and not self.scope.of(node))):
            new = in_brackets(self.context.copy(item.unalias()))
        else:
            if item is not None and clause == "where" and not self.scope.of(node):
                raise self.context.source.refusal(node, _BEFORE_SELECT)
            table = self.scope.one(node)
            reason = "what is computed inside is missing where LEFT JOIN finds no row: compute it outside"
            new = in_brackets(self._value(table, table.place(node.name), node, reason))
        if not new.find(exp.Column, exp.Anonymous) and _is_place(clause, node):
            raise self.context.source.refusal(node, "this is the same for every row: leave it out")
        if clause == "expressions" and node.parent is self.select:
            new = _called(new, node.name)
        node.replace(new)

    def _value(self, table: ScopeTable, place: int, node: exp.Expr, reason: str) -> exp.Expr:
        """What a column stands for; if that is not written anywhere, it stands where ``node`` does."""
        value = table.value(place)
        if table.optional and table.inner is not None and type(value) is not exp.Column:
            raise self.context.source.refusal(node, reason)
        new = self.context.copy(value)
        return new if starts_in(new) else placed(new, node)

    def _columns_of_star(self, item: exp.Expr) -> Iterator[exp.Expr]:
        qualifier = item.args.get("table") if type(item) is exp.Column else None
        self.context.source.check_parts(item, *(("this", "table") if type(item) is exp.Column else ()))
        chosen = self.scope.tables_called(qualifier)
        if not chosen:
            raise self.scope.no_such_table(item)
        reason = "list the columns that are meant, behind a LEFT JOIN"
        for table in chosen:
            for place, name in enumerate(table.columns):
                if qualifier is not None or name.casefold() not in table.shared:
                    yield _called(self._value(table, place, item, reason), name)

    # Places ----------------------------------------------------------------------------------------------

    def _places(self) -> None:
        """GROUP BY 1 and ORDER BY 1, where the SELECT list is about to change."""
        if self.keeps_answer:
            return
        for clause in ("group", "order"):
            for part in (self.select.args.get(clause) or exp.Group()).expressions:
                node = part.this if type(part) is exp.Ordered else part
                if type(node) is exp.Literal and not node.is_string:
                    node.replace(self.context.copy(self._at(node).unalias()))

    def _at(self, node: exp.Expr) -> exp.Expr:
        items, place = self.select.expressions, str(node.this)
        if not place.isdecimal() or len(place) > 9 or not 1 <= int(place) <= len(items):
            raise self.context.source.refusal(
                node, f"this names a place in the SELECT list: 1 to {len(items)}"
            )
        item: exp.Expr = items[int(place) - 1]
        return item


def _is_star(item: exp.Expr) -> bool:
    return type(item) is exp.Star or (type(item) is exp.Column and type(item.this) is exp.Star)


def _called(item: exp.Expr, name: str) -> exp.Expr:
    """An item of a SELECT list that gives ``name``, if that is one."""
    if name in ("", item.name):
        return item
    return exp.Alias(this=item, alias=exp.Identifier(this=name, quoted=True))


def write_conditions(context: Context, scope: Scope) -> None:
    """ON with every column written out, and USING as ON."""
    for origin in scope.origins:
        on = origin.join.args.get("on") if origin.join is not None else None
        for node in columns_in(on) if on is not None else []:
            table = scope.one(node)
            node.replace(in_brackets(placed(context.copy(table.value(table.place(node.name))), node)))
    if (wrong := scope.write_using()) is not None:
        raise context.source.refusal(wrong, f"USING names {wrong.name!r}, which is not once in both tables")


def check_where(context: Context, select: exp.Expr) -> None:
    """A name of the SELECT list means nothing in WHERE, though some databases take it."""
    clause, named = select.args.get("where"), {output_name(item).casefold() for item in select.expressions}
    columns = {name.casefold() for node, _ in sources(select) for name in context.columns_of(node.name)}
    for node in columns_in(clause) if clause is not None and named - columns else []:
        if node.args.get("table") is None and node.name.casefold() in named - columns:
            raise context.source.refusal(node, _BEFORE_SELECT)


def _is_aggregated(node: exp.Expr) -> bool:
    """Whether an aggregate stands around ``node``: what is inside is about rows, not about the answer."""
    above = node.parent
    while above is not None and type(above) is not exp.Select:
        if calls(above, AGGREGATES):
            return True
        above = above.parent
    return False


def _is_place(clause: str, node: exp.Expr) -> bool:
    """Whether a number in place of ``node`` would be one of the SELECT list's places."""
    return type(node.parent) is exp.Ordered or (clause == "group" and type(node.parent) is exp.Group)
