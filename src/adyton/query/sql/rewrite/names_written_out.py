"""Names become what they stand for: a column of a sub-select its expression, an alias the item that has it.

A name means a column of FROM first, except in HAVING and ORDER BY, which speak of the answer: there a name of
the SELECT list comes first, as docs/reference/sql.md says.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from adyton.query.sql.from_clause import no_such_table
from adyton.query.sql.names import starts_in
from adyton.query.sql.rewrite.scopes import (
    OF_STAR,
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
    speaks_of_answer,
)

_BEFORE_SELECT = "WHERE is read before SELECT names its columns: write out what it stands for"


def write_out_names(context: Context, select: exp.Expr) -> None:
    """In a SELECT of FROM, every alias and place of its list is what it stands for.

    >>> after("SELECT * FROM (SELECT kind AS k, COUNT(*) AS n FROM sales GROUP BY k HAVING n > 5) WHERE k <> 'a'")
    TMP
    """
    if not is_in_from(select) or select.args.get("from_") is None:
        return
    origins = []
    for node, join in sources(select):
        if type(node) is not exp.Table or not context.columns_of(node.name):
            raise context.source.refusal(node, no_such_table(context.tables))
        origins.append(base_origin(context, node, join))
    scope = Scope(context, origins)
    write_conditions(context, scope)
    NamesWrittenOut(context, select, scope, keeps_answer=False).write()
    if not is_answer(select) and select.args.get("limit") is None:
        select.set("order", None)  # rows of a table have no order


@dataclass(frozen=True, slots=True)
class NamesWrittenOut:
    """``keeps_answer``: names and places of the SELECT list stay where they are, as the list does too."""

    context: Context
    select: exp.Expr
    scope: Scope
    keeps_answer: bool

    def write(self) -> None:
        for clause, part in list(clause_parts(self.select)):
            for node in columns_in(part):
                self._column(clause, node)
        self._places()

    # Columns ---------------------------------------------------------------------------------------------

    def _column(self, clause: str, node: exp.Expr) -> None:
        item = None if OF_STAR in node.meta else item_called(self.select, node)
        of_answer = item is not None and speaks_of_answer(clause, node)
        if of_answer and self.keeps_answer:
            return
        if item is not None and (of_answer or (clause == "group" and not self.scope.of(node))):
            new = in_brackets(self.context.copy(item.unalias()))
        else:
            if item is not None and clause == "where" and not self.scope.of(node):
                raise self.context.source.refusal(node, _BEFORE_SELECT)
            new = self._value(node)
        if not new.find(exp.Column, exp.Anonymous) and _is_place(clause, node):
            raise self.context.source.refusal(node, "this is the same for every row: leave it out")
        if clause == "expressions" and node.parent is self.select and node.name not in ("", new.name):
            new = exp.Alias(this=new, alias=exp.Identifier(this=node.name, quoted=True))
        if new is not node:
            node.replace(new)

    def _value(self, node: exp.Expr) -> exp.Expr:
        """What a column stands for: itself, or an expression of a sub-select."""
        origin = self.scope.one(node)
        if origin.inner is None:
            node.meta.pop(OF_STAR, None)
            return node
        value = value_of(origin, origin.inner, node)
        if origin.optional and type(value) is not exp.Column:
            reason = "what is computed inside is missing where LEFT JOIN finds no row: compute it outside"
            raise self.context.source.refusal(node, reason)
        new = self.context.copy(value)  # if it is not written anywhere, it stands where the column does
        return in_brackets(new if starts_in(new) else placed(new, node))

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


def value_of(origin: ScopeTable, inner: exp.Expr, node: exp.Expr) -> exp.Expr:
    """The item of a sub-select that a column names."""
    if OF_STAR in node.meta:
        place = node.meta[OF_STAR][1]
    else:
        place = [name.casefold() for name in origin.columns].index(node.name.casefold())
    item: exp.Expr = inner.expressions[place].unalias()
    return item


def write_conditions(context: Context, scope: Scope) -> None:
    """ON with every column written out, and USING as ON."""
    if (wrong := scope.write_using()) is not None:
        raise context.source.refusal(wrong, f"USING names {wrong.name!r}, which is not once in both tables")
    for origin in scope.origins:
        on = origin.join.args.get("on") if origin.join is not None else None
        for node in columns_in(on) if on is not None else []:
            table = scope.one(node)
            if table.inner is not None:
                value = context.copy(value_of(table, table.inner, node))
                for part in value.walk():
                    part.meta.clear()
                node.replace(in_brackets(placed(value, node)))


def check_where(context: Context, select: exp.Expr) -> None:
    """A name of the SELECT list means nothing in WHERE, though some databases take it."""
    clause, named = select.args.get("where"), {output_name(item).casefold() for item in select.expressions}
    columns = {name.casefold() for node, _ in sources(select) for name in context.columns_of(node.name)}
    for node in columns_in(clause) if clause is not None and named - columns else []:
        if node.args.get("table") is None and node.name.casefold() in named - columns:
            raise context.source.refusal(node, _BEFORE_SELECT)


def _is_place(clause: str, node: exp.Expr) -> bool:
    """Whether a number in place of ``node`` would be one of the SELECT list's places."""
    return type(node.parent) is exp.Ordered or (clause == "group" and type(node.parent) is exp.Group)
