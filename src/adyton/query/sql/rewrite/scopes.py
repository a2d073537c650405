"""What the names in one SELECT stand for: the tables and sub-selects of its FROM, and their columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from sqlglot import exp
from sqlglot.optimizer.scope import find_all_in_scope

from adyton.errors import InvalidRequest
from adyton.kernel.schema import Dimension, Table
from adyton.query.sql.aggregates import AGGREGATES
from adyton.query.sql.expressions import SqlText
from adyton.query.sql.from_clause import no_such_table, private_table, public_table
from adyton.query.sql.grammar import DEEPEST_NESTING
from adyton.query.sql.names import calls, starts_in
from adyton.query.sql.words import MOST_TREE_NODES

_STANDS_ALONE = (exp.Column, exp.Literal, exp.Anonymous, exp.Case, exp.Paren, exp.Boolean, exp.Null)
_NESTS = (exp.Paren, exp.Case, exp.Anonymous, exp.Not, exp.Neg, exp.Tuple)
_CLAUSES_OF_CONDITIONS = (exp.Where, exp.Having, exp.Qualify)
CLAUSES = ("expressions", "where", "group", "having", "qualify", "order")


@dataclass(slots=True)
class Context:
    """The text that is read, the tables of the study, the whole tree, and how many nodes were copied."""

    source: SqlText
    tables: tuple[Table, ...]
    root: exp.Expr
    copied: int = 0

    def copy(self, node: exp.Expr) -> exp.Expr:
        """A copy; many copies of copies would otherwise grow without end."""
        self.copied += sum(1 for _ in node.walk())
        if self.copied > MOST_TREE_NODES:
            raise self.source.refusal(node, "written out as one SELECT this becomes too long")
        return node.copy()

    def private(self, name: str) -> Table | None:
        return private_table(self.tables, name)

    def public(self, name: str) -> tuple[Table, Dimension] | None:
        """A public table, and the private one that it is joined to."""
        return public_table(self.tables, name)

    def columns_of(self, name: str) -> tuple[str, ...]:
        """The names of the columns of a table of the study; none where there is no such table."""
        table, public = self.private(name), self.public(name)
        if table is not None:
            return (*([table.person] if table.person else []), *(column.name for column in table.columns))
        if public is None:
            return ()
        listed = (attribute.column.name for attribute in public[1].attributes)
        return (public[1].key, *listed, *(name for name, _ in public[1].unusable))


@dataclass(slots=True)
class ScopeTable:
    """A table of FROM, or a sub-select there: how it is called, and the names of its columns."""

    called: str
    node: exp.Expr
    columns: Sequence[str]
    join: exp.Expr | None = None  # None for the first
    inner: exp.Expr | None = None  # the SELECT of a sub-select
    shared: set[str] = field(init=False)  # names of USING, which belong to a table before

    def __post_init__(self) -> None:
        using = self.join.args.get("using") if self.join is not None else None
        self.shared = {one.name.casefold() for one in using or []}

    @property
    def optional(self) -> bool:
        """Whether its values are missing where a LEFT JOIN finds nothing."""
        return self.join is not None and str(self.join.args.get("side") or "").upper() == "LEFT"

    def count(self, name: str) -> int:
        """How many of its columns are called so."""
        return sum(own.casefold() == name.casefold() for own in self.columns)

    def place(self, name: str) -> int:
        """Where the first of them is."""
        return next(i for i, own in enumerate(self.columns) if own.casefold() == name.casefold())

    def value(self, place: int) -> exp.Expr:
        """What the column at a place is: one of the table, or an item of the SELECT inside."""
        if self.inner is None:
            return exp.column(self.columns[place], self.called, quoted=True)
        item: exp.Expr = self.inner.expressions[place].unalias()
        return item


@dataclass(frozen=True, slots=True)
class Scope:
    """All that FROM names."""

    context: Context
    origins: Sequence[ScopeTable]

    def tables_called(self, qualifier: exp.Expr | None) -> list[ScopeTable]:
        """Those that a name before a dot means; without one all of them."""
        wanted = None if qualifier is None else qualifier.name.casefold()
        return [origin for origin in self.origins if wanted is None or origin.called.casefold() == wanted]

    def of(self, node: exp.Expr) -> list[ScopeTable]:
        """The tables with such a column: none, one or more; a table twice if two columns are called so."""
        qualifier, name = node.args.get("table"), node.name
        if node.args.get("db") is not None:
            return []  # a schema stands before tables of the study only, where it was taken away
        chosen = self.tables_called(qualifier)
        if qualifier is None:
            chosen = [origin for origin in chosen if name.casefold() not in origin.shared]
        return [origin for origin in chosen for _ in range(origin.count(name))]

    def one(self, node: exp.Expr) -> ScopeTable:
        """The one table that has the column; otherwise it is refused."""
        found = self.of(node)
        if len(found) == 1:
            return found[0]
        refusal, name = self.context.source.refusal, node.name
        if found:
            raise refusal(
                node, f"{name!r} is in more than one table; write the table before it, as in a.{name}"
            )
        if not self.tables_called(node.args.get("table")):
            raise self.no_such_table(node)
        known = [own for origin in self.origins for own in origin.columns if own]
        raise refusal(node, f"there is no column {name!r} here; known are {', '.join(known[:10]) or 'none'}")

    def no_such_table(self, node: exp.Expr) -> InvalidRequest:
        called = ", ".join(repr(origin.called) for origin in self.origins)
        return self.context.source.refusal(node, f"the tables here are {called}")

    def write_using(self) -> exp.Expr | None:
        """USING (k) as ON: k of the first table before that has it equals k of this one.

        Stops at a name that is not once in both tables, and says which.
        """
        for place, origin in enumerate(self.origins):
            names: list[exp.Expr] = origin.join.args.get("using") or [] if origin.join is not None else []
            equal = []
            for one in names:
                before = next((table for table in self.origins[:place] if table.count(one.name)), None)
                if before is None or before.count(one.name) != 1 or origin.count(one.name) != 1:
                    return one
                left, right = (
                    self.context.copy(table.value(table.place(one.name))) for table in (before, origin)
                )
                equal.append(exp.EQ(this=left, expression=right))
            if equal and origin.join is not None:
                origin.join.set("using", None)
                origin.join.set("on", all_of(equal))
        return None


def column_of(table: ScopeTable, node: exp.Expr) -> exp.Expr:
    """A column of a table with the name of ``node``, which stands in the text where that does."""
    return placed(exp.column(node.name, table.called, quoted=True), node)


def sources(select: exp.Expr) -> list[tuple[exp.Expr, exp.Expr | None]]:
    """The tables and sub-selects of FROM, each with its JOIN."""
    clause = select.args.get("from_")
    first = [] if clause is None else [(clause.this, None)]
    return [*first, *((join.this, join) for join in select.args.get("joins") or [])]


def base_origin(context: Context, node: exp.Expr, join: exp.Expr | None) -> ScopeTable:
    """A table of the study, or one that is not known, which has no columns."""
    return ScopeTable(node.alias_or_name, node, context.columns_of(node.name), join)


def origins_of(context: Context, select: exp.Expr) -> list[ScopeTable]:
    """The tables and sub-selects of FROM; none if there are no sub-selects."""
    nodes = sources(select)
    if not any(type(node) is exp.Subquery for node, _ in nodes):
        return []
    return [_origin(context, node, join) for node, join in nodes]


def _origin(context: Context, node: exp.Expr, join: exp.Expr | None) -> ScopeTable:
    if type(node) is exp.Table:
        if not context.columns_of(node.name):
            raise context.source.refusal(node, no_such_table(context.tables))
        return base_origin(context, node, join)
    if type(node) is not exp.Subquery:
        raise context.source.refusal(node, "FROM needs the name of the table")
    called, inner = context.source.alias(node) or "", node.this
    while type(inner) is exp.Subquery:
        context.source.check_parts(inner, "this")
        inner = inner.this
    if type(inner) is not exp.Select:
        raise context.source.refusal(node, "a sub-select is one SELECT")
    if inner.args.get("from_") is None:
        raise context.source.refusal(node, f"a sub-select names its table: FROM {context.tables[0].name}")
    return ScopeTable(called, node, list(map(output_name, inner.expressions)), join, inner)


def is_in_from(select: exp.Expr) -> bool:
    """Whether a SELECT is a table of another one."""
    around = select.parent
    return type(around) is exp.Subquery and isinstance(around.unwrap().parent, exp.From | exp.Join)


def output_name(item: exp.Expr) -> str:
    """How a sub-select calls what ``item`` gives; empty where it has no name."""
    return str(item.alias) if type(item) is exp.Alias else item.name if type(item) is exp.Column else ""


def item_called(select: exp.Expr, node: exp.Expr) -> exp.Expr | None:
    """The item of the SELECT list that a name without a table can mean."""
    if node.args.get("table") is not None:
        return None
    wanted = node.name.casefold()
    return next((item for item in select.expressions if output_name(item).casefold() == wanted), None)


def placed(node: exp.Expr, like: exp.Expr) -> exp.Expr:
    """``node``, which stands in the text where ``like`` does."""
    if starts := starts_in(like):
        node.meta["start"] = min(starts)
    return node


def columns_in(node: exp.Expr) -> list[exp.Expr]:
    """The columns that are named in ``node``, not those of sub-selects in it."""
    return [part for part in find_all_in_scope(node, exp.Column) if type(part.this) is exp.Identifier]


def clause_parts(select: exp.Expr) -> Iterator[tuple[str, exp.Expr]]:
    """Each clause of a SELECT behind and before its FROM, one item at a time."""
    for name in CLAUSES:
        value = select.args.get(name)
        for part in value if isinstance(value, list) else [value]:
            if part is not None:
                yield name, part


def columns_of_clauses(select: exp.Expr) -> list[exp.Expr]:
    """The columns that the clauses of a SELECT name."""
    return [node for _, part in clause_parts(select) for node in columns_in(part)]


def in_brackets(node: exp.Expr) -> exp.Expr:
    """``node`` as it can stand inside any expression."""
    return node if isinstance(node, _STANDS_ALONE) else exp.Paren(this=node)


def conjuncts(node: exp.Expr | None) -> list[exp.Expr]:
    """The conditions that AND joins in an expression or a clause, also inside brackets, from the left."""
    node = node.this if isinstance(node, _CLAUSES_OF_CONDITIONS) else node
    found, waiting = [], [] if node is None else [node]
    while waiting:
        one = waiting.pop()
        bare = one.unnest()
        if type(bare) is exp.And:
            waiting += [bare.args["expression"], bare.this]
        else:
            found.append(one)
    return found


def all_of(parts: Sequence[exp.Expr]) -> exp.Expr:
    """The conditions joined by AND."""
    return exp.and_(*parts, copy=False)


def set_where(select: exp.Expr, conditions: Sequence[exp.Expr]) -> None:
    """WHERE with all of the conditions, or without any no WHERE."""
    select.set("where", exp.Where(this=all_of(conditions)) if conditions else None)


def check_items(context: Context, selects: Sequence[exp.Expr]) -> None:
    """The parser takes a SELECT without anything behind it, and a star with a name or brackets around it."""
    for select in selects:
        if not select.expressions:
            raise context.source.refusal(select, "SELECT lists nothing")
        for item in select.expressions:
            inner = item
            while isinstance(inner, exp.Paren | exp.Alias):
                inner = inner.this
            if inner is not item and inner.is_star:
                raise context.source.refusal(item, "a star stands alone, without a name or brackets")


def check_nesting(context: Context, tree: exp.Expr) -> None:
    """What is written out may nest no deeper than what is written."""
    if not context.copied:
        return
    waiting: list[tuple[exp.Expr, int]] = [(tree, 0)]
    while waiting:
        node, depth = waiting.pop()
        depth += isinstance(node, _NESTS)
        if depth > DEEPEST_NESTING:
            reason = f"written out as one SELECT this nests deeper than {DEEPEST_NESTING} levels"
            raise context.source.refusal(node, reason)
        waiting += [(part, depth) for part in node.iter_expressions()]


def has_aggregate(node: exp.Expr) -> bool:
    """Whether an aggregate over the rows of the table is asked for in ``node``, not one over the answer's."""
    return any(calls(part, AGGREGATES) and not is_window(part) for part in node.walk())


def is_answer(select: exp.Expr) -> bool:
    """Whether a SELECT gives aggregates or groups, and not rows of its tables."""
    grouped = any(select.args.get(name) is not None for name in ("group", "having"))
    return grouped or any(has_aggregate(item) for item in select.expressions)


def is_window(node: exp.Expr) -> bool:
    """Whether an aggregate is taken OVER the rows of an answer."""
    parent = node.parent
    return type(parent) is exp.Window and parent.this is node
