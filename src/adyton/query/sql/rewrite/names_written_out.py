"""Names become what they stand for: a column of a sub-select its expression, an alias the item that has it.

A name means a column of FROM first, except in HAVING and ORDER BY, which speak of the answer: there a name of
the SELECT list comes first, as docs/reference/sql.md says.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from adyton.query.sql.aggregates import AGGREGATES
from adyton.query.sql.names import calls, starts_in
from adyton.query.sql.rewrite.scopes import (
    Context,
    Scope,
    ScopeTable,
    clause_parts,
    columns_in,
    in_brackets,
    placed,
    sources,
)

_BEFORE_SELECT = "WHERE is read before SELECT names its columns: write out what it stands for"
_OF_ANSWER = ("having", "order", "qualify")


def output_name(item: exp.Expr) -> str:
    """How a sub-select calls what ``item`` gives; empty where it has no name."""
    return str(item.alias) if type(item) is exp.Alias else item.name if type(item) is exp.Column else ""


@dataclass(frozen=True, slots=True)
class NamesWrittenOut:
    """``keeps_answer``: names and places of the SELECT list stay where they are, as the list does too."""

    context: Context
    select: exp.Expr
    scope: Scope
    keeps_answer: bool

    def write(self) -> None:
        done = self._expand_stars()
        for clause, part in list(clause_parts(self.select)):
            for node in [] if id(part) in done else columns_in(part):
                self._column(clause, node)
        self._places()

    # Columns ---------------------------------------------------------------------------------------------

    def _column(self, clause: str, node: exp.Expr) -> None:
        item = self._item_called(node)
        of_answer = clause in _OF_ANSWER and item is not None and not _is_aggregated(node)
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
        if clause == "expressions" and node.parent is self.select and new.name != node.name:
            new = exp.Alias(this=new, alias=exp.Identifier(this=node.name, quoted=True))
        node.replace(new)

    def _value(self, node: exp.Expr) -> exp.Expr:
        origin, value = self.scope.one(node)
        if origin.optional and origin.inner is not None and type(value) is not exp.Column:
            reason = "what is computed inside is missing where LEFT JOIN finds no row: compute it outside"
            raise self.context.source.refusal(node, reason)
        return in_brackets(self._copied(value, node))

    def _copied(self, value: exp.Expr, node: exp.Expr) -> exp.Expr:
        """What ``node`` stands for; if it is not written anywhere, it stands where ``node`` does."""
        new = self.context.copy(value)
        return new if starts_in(new) else placed(new, node)

    def _item_called(self, node: exp.Expr) -> exp.Expr | None:
        if node.args.get("table") is not None:
            return None
        named = (
            item for item in self.select.expressions if output_name(item).casefold() == node.name.casefold()
        )
        return next(named, None)

    # The SELECT list -------------------------------------------------------------------------------------

    def _expand_stars(self) -> set[int]:
        """Writes the columns in place of stars; these are written out already."""
        items: list[exp.Expr] = []
        done: set[int] = set()
        for item in self.select.expressions:
            listed = self._columns_of_star(item) if _is_plain_star(item) else []
            done |= {id(one) for one in listed}
            items += listed if _is_plain_star(item) else [item]
        self.select.set("expressions", items)
        return done

    def _columns_of_star(self, item: exp.Expr) -> list[exp.Expr]:
        qualifier = item.args.get("table") if type(item) is exp.Column else None
        self.context.source.check_parts(item, *(("this", "table") if type(item) is exp.Column else ()))
        chosen = [
            origin
            for origin in self.scope.origins
            if qualifier is None or origin.called.casefold() == qualifier.name.casefold()
        ]
        if not chosen:
            called = ", ".join(repr(origin.called) for origin in self.scope.origins)
            raise self.context.source.refusal(item, f"the tables here are {called}")
        return [
            self._listed(item, origin, name, value)
            for origin in chosen
            for name, value in origin.columns
            if qualifier is not None or name.casefold() not in origin.shared
        ]

    def _listed(self, item: exp.Expr, origin: ScopeTable, name: str, value: exp.Expr) -> exp.Expr:
        new = self._copied(value, item)
        if origin.optional and origin.inner is not None and type(value) is not exp.Column:
            raise self.context.source.refusal(item, "list the columns that are meant, behind a LEFT JOIN")
        if not name or name == new.name:
            return new
        return exp.Alias(this=new, alias=exp.Identifier(this=name, quoted=True))

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


def check_where(context: Context, select: exp.Expr) -> None:
    """A name of the SELECT list means nothing in WHERE, though some databases take it."""
    clause, named = select.args.get("where"), {output_name(item).casefold() for item in select.expressions}
    columns = {name.casefold() for node, _ in sources(select) for name in context.columns_of(node.name)}
    for node in columns_in(clause) if clause is not None and named - columns else []:
        if node.args.get("table") is None and node.name.casefold() in named - columns:
            raise context.source.refusal(node, _BEFORE_SELECT)


def _is_plain_star(item: exp.Expr) -> bool:
    return type(item) is exp.Star or (type(item) is exp.Column and type(item.this) is exp.Star)


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
