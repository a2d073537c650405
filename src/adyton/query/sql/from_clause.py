"""FROM and JOIN: which tables a query is about, and how it calls them.

Private tables are joined on the person, public ones on their declared key.  The study says on which columns;
ON or USING must repeat it, so that a query never means another join than the one that is bounded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from adyton.errors import InvalidRequest
from adyton.kernel.schema import Dimension, PublicJoin, Table
from adyton.kernel.terms.names import joined
from adyton.query.sql.expressions import SqlText
from adyton.query.sql.names import Why
from adyton.query.sql.reasons import NO_ON

MOST_PRIVATE_TABLES = 3

_Side = tuple[str, str]  # table and column


def read_from(source: SqlText, tree: exp.Expr, tables: Sequence[Table]) -> tuple[Table, dict[str, str]]:
    """The table that the query is about, and the tables behind the names that it uses."""
    clause = tree.args.get("from_")
    if clause is None:
        raise InvalidRequest(f"say which table is asked: SELECT ... FROM {tables[0].name}")
    source.check_parts(clause, "this")
    reader = _FromReader(source, tables)
    reader.first(clause.this)
    for join in tree.args.get("joins") or []:
        reader.join(join)
    chosen = tuple(table for table in tables if table.name in reader.private)
    order = [dimension.name for table in tables for dimension in table.dimensions]
    links = tuple(sorted(reader.links, key=lambda link: order.index(link.dimension.name)))
    return joined(chosen, links), reader.known_as


@dataclass(slots=True)
class _FromReader:
    source: SqlText
    tables: Sequence[Table]
    private: dict[str, Table] = field(default_factory=dict)
    links: list[PublicJoin] = field(default_factory=list)
    known_as: dict[str, str] = field(default_factory=dict)

    def first(self, node: exp.Expr) -> None:
        name, alias = self._named(node)
        table = private_table(self.tables, name)
        if table is None:
            if (public := public_table(self.tables, name)) is not None:
                raise self.source.refusal(node, _private_first(*public))
            raise self.source.refusal(node, no_such_table(self.tables))
        self._add(node, alias or table.name, table.name)
        self.private[table.name] = table

    def join(self, node: exp.Expr) -> None:
        self.source.check_parts(node, "this", "side", "kind", "on", "using")
        left = self._is_left(node)
        name, alias = self._named(node.this)
        table, link = private_table(self.tables, name), public_table(self.tables, name)
        if table is not None:
            self._join_private(node, table, alias, left=left)
        elif link is not None:
            self._join_public(node, *link, alias, left=left)
        else:
            raise self.source.refusal(node.this, no_such_table(self.tables))

    def _join_private(self, node: exp.Expr, table: Table, alias: str | None, *, left: bool) -> None:
        if left:
            raise self.source.refusal(
                node,
                "private tables are joined by JOIN, which keeps persons with rows in both, not LEFT JOIN",
            )
        if len(self.private) == MOST_PRIVATE_TABLES:
            raise self.source.refusal(node, f"at most {MOST_PRIVATE_TABLES} private tables are joined")
        self._add(node, alias or table.name, table.name)
        wanted = [
            ((other.name, other.person), (table.name, table.person))
            for other in self.private.values()
            if other.person is not None and table.person is not None
        ]
        self.private[table.name] = table
        self._check_on(node, wanted, "private tables are joined on the person")

    def _join_public(
        self, node: exp.Expr, table: Table, dimension: Dimension, alias: str | None, *, left: bool
    ) -> None:
        if table.name not in self.private:
            raise self.source.refusal(
                node, f"{dimension.name!r} is joined to {table.name!r}: name that one before"
            )
        self._add(node, alias or dimension.name, dimension.name)
        self.links.append(PublicJoin(table.name, dimension, left))
        wanted = [((table.name, dimension.joins), (dimension.name, dimension.key))]
        self._check_on(node, wanted, f"{dimension.name!r} is joined on its key")

    # The condition ----------------------------------------------------------------------------------------

    def _check_on(self, node: exp.Expr, wanted: list[tuple[_Side, _Side]], reason: str) -> None:
        """``wanted`` are the pairs of columns that mean the declared join."""
        on, using = node.args.get("on"), node.args.get("using") or []
        if using:
            names = [self.source.name(one).casefold() for one in using]
            fits = any(names == [a.casefold()] == [b.casefold()] for (_, a), (_, b) in wanted)
        else:
            sides = self._sides(on)
            fits = any(sides == {_folded(a), _folded(b)} for a, b in wanted)
        if not fits:
            listed = " or ".join(f"ON {a}.{b} = {c}.{d}" for (a, b), (c, d) in wanted)
            raise self.source.refusal(node, f"{reason}: write {listed}")

    def _sides(self, on: exp.Expr | None) -> set[_Side]:
        """Table and column on both sides of ``a.x = b.y``; nothing for any other condition."""
        node = self.source.bare(on) if on is not None else None
        if type(node) is not exp.EQ:
            return set()
        return {self._side(self.source.bare(side)) for side in self.source.sides(node)}

    def _side(self, node: exp.Expr) -> _Side:
        if type(node) is not exp.Column:
            return "", ""
        self.source.check_parts(node, "this", "table")
        table, column = node.args.get("table"), self.source.name(node.this)
        if table is None:
            raise self.source.refusal(node, "write the names of both tables in ON, such as a.key = b.key")
        return _folded((self.known_as.get(self.source.name(table).casefold(), ""), column))

    # Names ------------------------------------------------------------------------------------------------

    def _is_left(self, node: exp.Expr) -> bool:
        side, kind = (str(node.args.get(part) or "").upper() for part in ("side", "kind"))
        if not (node.args.get("on") or node.args.get("using")):
            raise self.source.refusal(node, NO_ON)
        if (side, kind) not in (("", ""), ("", "INNER"), ("LEFT", ""), ("LEFT", "OUTER")):
            raise self.source.refusal(node, "only JOIN and LEFT JOIN are supported")
        return side == "LEFT"

    def _named(self, node: exp.Expr) -> tuple[str, str | None]:
        """The name of a table, and its alias."""
        if type(node) is not exp.Table:
            raise self.source.refusal(node, "FROM needs the name of the table")
        if node.args.get("db") is not None:
            raise self.source.refusal(node, no_such_table(self.tables))  # else it was written without
        alias = self.source.alias(node)
        return self.source.name(node.this), alias

    def _add(self, node: exp.Expr, called: str, name: str) -> None:
        if name in self.known_as.values() or called.casefold() in self.known_as:
            twice = name if name in self.known_as.values() else called
            raise self.source.refusal(node, f"{twice!r} is named twice; a table is joined once")
        self.known_as[called.casefold()] = name


def private_table(tables: Sequence[Table], name: str) -> Table | None:
    """The private table that is called so."""
    return next((table for table in tables if table.name.casefold() == name.casefold()), None)


def public_table(tables: Sequence[Table], name: str) -> tuple[Table, Dimension] | None:
    """The public table that is called so, behind the private one that it is joined to."""
    pairs = ((table, dimension) for table in tables for dimension in table.dimensions)
    return next((pair for pair in pairs if pair[1].name.casefold() == name.casefold()), None)


def no_such_table(tables: Sequence[Table]) -> Why:
    names = [table.name for table in tables]
    names += [dimension.name for table in tables for dimension in table.dimensions]
    if len(names) == 1:
        return Why(f"the table here is called {names[0]!r}", "no_such_table")
    return Why(f"the tables here are called {', '.join(map(repr, names))}", "no_such_table")


def _private_first(table: Table, dimension: Dimension) -> str:
    on = f"{table.name}.{dimension.joins} = {dimension.name}.{dimension.key}"
    return (
        f"{dimension.name!r} is public; put the private table first: FROM {table.name} JOIN {dimension.name} "
        f"ON {on}; what {dimension.name!r} alone says costs nothing, and is not asked here"
    )


def _folded(side: _Side) -> _Side:
    return side[0].casefold(), side[1].casefold()
