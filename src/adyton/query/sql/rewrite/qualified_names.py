"""Names say what they mean: WITH is written out, a star is its columns, USING is ON, a column has its table.

Which name means which table is up to sqlglot's scopes.  The rest is ours, for the reasons in
tests/laws/test_library_names.py.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp
from sqlglot.optimizer.scope import Scope as Names
from sqlglot.optimizer.scope import traverse_scope

from adyton.query.sql.rewrite.scopes import (
    OF_STAR,
    Context,
    Scope,
    ScopeTable,
    clause_parts,
    column_of,
    columns_in,
    item_called,
    output_names,
    sources,
    speaks_of_answer,
)

_NO_NAME = "inner select"  # has a space, and is no name that a text could mean by chance


def say_tables(context: Context, tree: exp.Expr) -> None:
    """In every SELECT, those inside of it first.

    >>> after("WITH d AS (SELECT *, x * 2 AS z FROM visits) SELECT SUM(z) FROM sales s JOIN d USING (pid)")
    SELECT SUM(d.z) FROM sales AS s JOIN (SELECT visits.pid, visits.cost, visits.x, visits.floor, visits.x * 2 AS z FROM visits) AS d ON s.pid = d.pid
    """
    _check_named(context, tree)
    _name_sources(tree)
    for names in traverse_scope(tree):
        if type(names.expression) is exp.Select:
            _Qualifier(context, names, names.expression).write()
    for select in tree.find_all(exp.Select):
        select.set("with_", None)


def _check_named(context: Context, tree: exp.Expr) -> None:
    """What WITH names are SELECTs, with names of their own."""
    for clause in tree.find_all(exp.With):
        context.source.check_parts(clause, "expressions")  # and not RECURSIVE
        named: set[str] = set()
        for one in clause.expressions:
            name = (context.source.alias(one) or "").casefold()
            if name in named:
                raise context.source.refusal(one.args["alias"], f"WITH names {name!r} twice")
            if type(one.this) is not exp.Select:
                raise context.source.refusal(one, "WITH names a SELECT")
            named.add(name)


def _name_sources(tree: exp.Expr) -> None:
    """Names of tables are in small letters, and no two sub-selects in FROM are without one."""
    unnamed = 0
    for node in tree.find_all(exp.Table, exp.Subquery, exp.TableAlias):
        if type(node) is exp.Subquery:
            if isinstance(node.parent, exp.From | exp.Join) and not node.alias:
                unnamed += 1
                if unnamed > 1:
                    name = exp.to_identifier(f"{_NO_NAME} {unnamed}", quoted=True)
                    node.set("alias", exp.TableAlias(this=name))
        elif type(node.this) is exp.Identifier:
            node.this.set("this", node.name.casefold())


@dataclass(frozen=True, slots=True)
class _Qualifier:
    """One SELECT, with what sqlglot knows of its names."""

    context: Context
    names: Names
    select: exp.Expr

    def write(self) -> None:
        scope = self._scope(self.names)
        if scope is None:
            return  # the reader knows what the tables are called
        if any(one.inner is not None for one in scope.origins):
            self._write_out_selects(scope)
        if _is_written_out(self.names, scope):
            listed = [self._listed(item, scope) for item in self.select.expressions]
            self.select.set("expressions", [one for items in listed for one in items])
        joins = [("on", join.args["on"]) for _, join in sources(self.select) if join and join.args.get("on")]
        for clause, part in [*joins, *clause_parts(self.select)]:
            for node in columns_in(part):
                if (
                    node.args.get("table") is None
                    and OF_STAR not in node.meta
                    and not self._means_item(clause, node)
                ):
                    self._say_table(node, scope)

    def _scope(self, names: Names) -> Scope | None:
        """The tables that a SELECT may name; None if one of them is not known."""
        origins: list[ScopeTable] = []
        for node, join in sources(names.expression):
            called = node.alias_or_name
            known, inner = names.sources.get(called), None
            if isinstance(known, Names):
                inner = known.expression
            columns = self.context.columns_of(node.name) if inner is None else output_names(inner)
            without_table = inner is not None and inner.args.get("from_") is None
            if not columns or without_table or (inner is None and type(node) is not exp.Table):
                return None
            if any(one.called == called and (inner or one.inner) for one in origins):
                raise self.context.source.refusal(
                    node, f"{called!r} is named twice; name tables apart with AS"
                )
            origins.append(ScopeTable(called, node, columns, join, inner))
        if all(one.inner is None for one in origins):
            for origin in origins[1:]:
                origin.shared |= _joined_names(self.context, origin)
        return Scope(self.context, origins)

    def _write_out_selects(self, scope: Scope) -> None:
        """Every use of a name of WITH is the sub-select itself."""
        for origin in scope.origins:
            body = origin.inner
            if body is not None and type(origin.node) is exp.Table:
                self.context.source.alias(origin.node)  # and nothing else is said about it
                inner = self.context.copy(body) if type(body.parent) is exp.Subquery else body
                alias = exp.TableAlias(this=exp.to_identifier(origin.called, quoted=True))
                origin.node.replace(exp.Subquery(this=inner, alias=alias))

    # Stars -----------------------------------------------------------------------------------------------

    def _listed(self, item: exp.Expr, scope: Scope) -> list[exp.Expr]:
        """The columns in place of a star; any other item as it is."""
        if not (type(item) is exp.Star or (type(item) is exp.Column and type(item.this) is exp.Star)):
            return [item]
        qualifier = item.args.get("table") if type(item) is exp.Column else None
        self.context.source.check_parts(item, *(("this", "table") if type(item) is exp.Column else ()))
        wanted = None if qualifier is None else qualifier.name.casefold()
        chosen = [one for one in scope.origins if wanted is None or one.called.casefold() == wanted]
        if not chosen:
            called = ", ".join(repr(origin.called) for origin in scope.origins)
            raise self.context.source.refusal(item, f"the tables here are {called}")
        found = []
        for origin in chosen:
            for place, name in enumerate(origin.columns):
                if qualifier is not None or name.casefold() not in origin.shared:
                    found.append(self.context.counted(column_of(item, origin, name)))
                    found[-1].meta[OF_STAR] = origin.called, place
        return found

    # Columns ---------------------------------------------------------------------------------------------

    def _means_item(self, clause: str, node: exp.Expr) -> bool:
        return speaks_of_answer(clause, node) and item_called(self.select, node) is not None

    def _say_table(self, node: exp.Expr, scope: Scope | None) -> None:
        """The table of a column, here or around: of one that none has, or more, rules say what is wrong."""
        names: Names | None = self.names
        while names is not None and scope is not None:
            if found := scope.of(node):
                if len(found) == 1 and found[0].called and _is_written_out(names, scope):
                    node.set("table", exp.to_identifier(found[0].called, quoted=True))
                return
            names = names.parent if names.is_subquery else None
            scope = self._scope(names) if names is not None else None


def _is_written_out(names: Names, scope: Scope) -> bool:
    """Whether a SELECT and another one become one; of others the reader knows what each name means."""
    return names.is_derived_table or names.is_cte or any(one.inner is not None for one in scope.origins)


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
