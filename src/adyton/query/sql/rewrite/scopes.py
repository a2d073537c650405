"""What the names in one SELECT stand for: the tables and sub-selects of its FROM, and their columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from adyton.kernel.schema import Dimension, Table
from adyton.query.sql.aggregates import AGGREGATES
from adyton.query.sql.expressions import SqlText
from adyton.query.sql.from_clause import private_table, public_table
from adyton.query.sql.grammar import DEEPEST_NESTING
from adyton.query.sql.names import calls, starts_in
from adyton.query.sql.words import MOST_TREE_NODES

_STANDS_ALONE = (exp.Column, exp.Literal, exp.Anonymous, exp.Case, exp.Paren, exp.Boolean, exp.Null)
_NESTS = (exp.Paren, exp.Case, exp.Anonymous, exp.Not, exp.Neg, exp.Tuple)
_CLAUSES_OF_CONDITIONS = (exp.Where, exp.Having, exp.Qualify)
CLAUSES = ("expressions", "where", "group", "having", "qualify", "order")


@dataclass(slots=True)
class Context:
    """The text that is read, the tables of the study, and how many nodes were copied so far."""

    source: SqlText
    tables: tuple[Table, ...]
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
    """A table of FROM, or a sub-select there: how it is called, and what each of its columns is."""

    called: str
    node: exp.Expr
    columns: Sequence[tuple[str, exp.Expr]]
    inner: exp.Expr | None = None  # the SELECT of a sub-select
    join: exp.Expr | None = None  # None for the first
    shared: set[str] = field(init=False)  # names of USING, which belong to a table before

    def __post_init__(self) -> None:
        using = self.join.args.get("using") if self.join is not None else None
        self.shared = {one.name.casefold() for one in using or []}

    @property
    def optional(self) -> bool:
        """Whether its values are missing where a LEFT JOIN finds nothing."""
        return self.join is not None and str(self.join.args.get("side") or "").upper() == "LEFT"

    def expressions(self, name: str) -> list[exp.Expr]:
        return [value for own, value in self.columns if own.casefold() == name.casefold()]


@dataclass(frozen=True, slots=True)
class Scope:
    """All that FROM names."""

    context: Context
    origins: Sequence[ScopeTable]

    def of(self, node: exp.Expr) -> list[tuple[ScopeTable, exp.Expr]]:
        """What a column can mean: nothing, one column of one table, or more."""
        name, qualifier = node.name, node.args.get("table")
        if node.args.get("db") is not None:
            return []  # a schema stands before tables of the study only, where it was taken away
        found = []
        for origin in self.origins:
            if qualifier is None and name.casefold() in origin.shared:
                continue
            if qualifier is None or origin.called.casefold() == qualifier.name.casefold():
                found += [(origin, value) for value in origin.expressions(name)]
        return found

    def one(self, node: exp.Expr) -> tuple[ScopeTable, exp.Expr]:
        """The one thing that a column means; otherwise it is refused."""
        found = self.of(node)
        if len(found) == 1:
            return found[0]
        refusal, name = self.context.source.refusal, node.name
        if found:
            raise refusal(
                node, f"{name!r} is in more than one table; write the table before it, as in a.{name}"
            )
        qualifier = node.args.get("table")
        called = [origin.called for origin in self.origins]
        if qualifier is not None and qualifier.name.casefold() not in [one.casefold() for one in called]:
            raise refusal(node, f"the tables here are {', '.join(map(repr, called))}")
        known = [own for origin in self.origins for own, _ in origin.columns if own]
        raise refusal(node, f"there is no column {name!r} here; known are {', '.join(known[:10]) or 'none'}")


def sources(select: exp.Expr) -> list[tuple[exp.Expr, exp.Expr | None]]:
    """The tables and sub-selects of FROM, each with its JOIN."""
    clause = select.args.get("from_")
    first = [] if clause is None else [(clause.this, None)]
    return [*first, *((join.this, join) for join in select.args.get("joins") or [])]


def base_origin(context: Context, node: exp.Expr, join: exp.Expr | None) -> ScopeTable:
    """A table of the study, or one that is not known, which has no columns."""
    called = node.alias_or_name
    columns = [(name, exp.column(name, called, quoted=True)) for name in context.columns_of(node.name)]
    return ScopeTable(called, node, columns, join=join)


def placed(node: exp.Expr, like: exp.Expr) -> exp.Expr:
    """``node``, which stands in the text where ``like`` does."""
    if starts := starts_in(like):
        node.meta["start"] = min(starts)
    return node


def columns_in(node: exp.Expr) -> list[exp.Expr]:
    """The columns that are named in ``node``, not those of sub-selects in it."""
    return [
        part
        for part in node.walk(prune=lambda part: type(part) is exp.Subquery)
        if type(part) is exp.Column and type(part.this) is exp.Identifier
    ]


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


def write_using(context: Context, origins: Sequence[ScopeTable]) -> exp.Expr | None:
    """USING (k) as ON: k of the first table before that has it equals k of this one.

    Stops at a name that is not once in both tables, and says which.
    """
    for place, origin in enumerate(origins):
        names: list[exp.Expr] = origin.join.args.get("using") or [] if origin.join is not None else []
        equal = []
        for one in names:
            left = next((o.expressions(one.name) for o in origins[:place] if o.expressions(one.name)), [])
            right = origin.expressions(one.name)
            if len(left) != 1 or len(right) != 1:
                return one
            equal.append(exp.EQ(this=context.copy(left[0]), expression=context.copy(right[0])))
        if equal and origin.join is not None:
            origin.join.set("using", None)
            origin.join.set("on", all_of(equal))
    return None


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


def is_window(node: exp.Expr) -> bool:
    """Whether an aggregate is taken OVER the rows of an answer."""
    parent = node.parent
    return type(parent) is exp.Window and parent.this is node
