"""FROM in other words: the private table first, one declared equality behind each JOIN, the rest in WHERE.

An inner join with a condition means all combinations of rows with that condition in WHERE, so commas, CROSS
JOIN and conditions beyond the key come to the same, in any order of the tables.  A LEFT JOIN of a public
table finds at most one row, so with a further condition its values are missing where that is not true.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlglot import exp

from adyton.kernel.schema import IntegerColumn, RealColumn
from adyton.query.sql.rewrite.scopes import (
    Context,
    Scope,
    ScopeTable,
    all_of,
    base_origin,
    column_of,
    columns_of_clauses,
    conjuncts,
    in_brackets,
    set_where,
    sources,
)

_Side = tuple[str, str]  # table and column, in small letters


def declared_joins(context: Context, select: exp.Expr) -> None:
    """Each JOIN with the equality that the study declares, if it can be found in ON or WHERE.

    >>> after("SELECT SUM(height) FROM sales s, shops h WHERE s.kind = h.kind AND x > 2")
    SELECT SUM(height) FROM sales AS s JOIN shops AS h ON s.kind = h.kind WHERE x > 2
    """
    nodes = sources(select)
    names = [node.name.casefold() for node, _ in nodes]
    known = all(type(node) is exp.Table and context.columns_of(node.name) for node, _ in nodes)
    if len(nodes) < 2 or not known or len(set(names)) < len(names):
        return  # nothing to join, or what the reader refuses
    _Joins(context, select, [base_origin(context, node, join) for node, join in nodes]).write()


@dataclass(slots=True)
class _Joins:
    context: Context
    select: exp.Expr
    origins: list[ScopeTable]
    pool: list[exp.Expr] = field(default_factory=list)  # conditions that may stand anywhere
    rest: dict[str, list[exp.Expr]] = field(default_factory=dict)  # of LEFT JOIN: what ON says beyond the key

    def write(self) -> None:
        self._put_private_first()
        self.pool = conjuncts(self.select.args.get("where"))
        for origin in self.origins:
            if origin.join is not None and not origin.optional:
                said = conjuncts(origin.join.args.get("on"))
                self.pool += [one for one in said if one != exp.Boolean(this=True)]
        joined = [self.origins[0]]
        for origin in self.origins[1:]:
            self._join(origin, joined)
            joined.append(origin)
        self.select.set("joins", [origin.join for origin in joined[1:]])
        self._write_where()
        self._write_missing()
        self._settle_shared()

    # Order -----------------------------------------------------------------------------------------------

    def _put_private_first(self) -> None:
        """Public tables behind the private ones, which they belong to."""
        private = [origin for origin in self.origins if self.context.private(origin.node.name) is not None]
        public = [origin for origin in self.origins if origin not in private]
        if private and self.origins[0] in public:
            self._begin_with(private[0], private)
        self.origins = [*private, *public]

    def _begin_with(self, first: ScopeTable, private: list[ScopeTable]) -> None:
        for origin in private:
            if origin.optional:
                reason = (
                    "LEFT JOIN from a public table keeps keys that no row has; groups of declared values are "
                    "shown without it: put the private table first"
                )
                raise self.context.source.refusal(origin.join or origin.node, reason)
        Scope(self.context, self.origins).write_using()  # the reader says what is wrong with others
        before = self.origins[0]
        on = first.join.args.get("on") if first.join is not None else None
        self.select.args["from_"].set("this", first.node)
        before.join, first.join = exp.Join(this=before.node, on=on), None

    # The equality of each join ---------------------------------------------------------------------------

    def _join(self, origin: ScopeTable, before: list[ScopeTable]) -> None:
        assert origin.join is not None
        if origin.join.args.get("using"):
            return
        wanted = self._declared(origin, before)
        own = conjuncts(origin.join.args.get("on"))
        found = next((one for one in own if self._sides(one) in wanted), None)
        if origin.optional:
            if found is not None:
                if len(own) > 1:
                    self.rest[origin.called] = [one for one in own if one is not found]
                origin.join.set("on", self._equality(found))
            return
        found = found or next((one for one in self.pool if self._sides(one) in wanted), None)
        if found is None:
            self.pool = [one for one in self.pool if not any(one is mine for mine in own)]
            return  # as it was written: the reader says what is missing
        self.pool = [one for one in self.pool if self._sides(one) not in wanted]
        origin.join.set("on", self._equality(found))
        origin.join.set("kind", None)

    def _declared(self, origin: ScopeTable, before: list[ScopeTable]) -> list[set[_Side]]:
        """The equalities that mean the declared join of ``origin``."""
        table, public = self.context.private(origin.node.name), self.context.public(origin.node.name)
        if table is not None:
            others = [self.context.private(other.node.name) for other in before]
            persons = [(other.name, other.person) for other in others if other is not None]
            own = _folded(table.name, table.person or "")
            return [{_folded(name, person), own} for name, person in persons if person and table.person]
        assert public is not None
        owner, dimension = public
        return [{_folded(owner.name, dimension.joins), _folded(dimension.name, dimension.key)}]

    def _sides(self, node: exp.Expr) -> set[_Side]:
        """Table and column on both sides of an equality; nothing for any other condition."""
        node = node.unnest()
        if type(node) is not exp.EQ:
            return set()
        sides = [node.args[part].unnest() for part in ("this", "expression")]
        pairs = [(table.node.name, side.name) for side in sides if (table := self._meant(side)) is not None]
        return {_folded(*pair) for pair in pairs} if len(pairs) == 2 else set()

    def _meant(self, node: exp.Expr) -> ScopeTable | None:
        if type(node) is not exp.Column or type(node.this) is not exp.Identifier:
            return None
        found = Scope(self.context, self.origins).of(node)
        return found[0] if len(found) == 1 else None

    def _equality(self, node: exp.Expr) -> exp.Expr:
        """With the names of both tables."""
        sides = []
        for side in node.unnest().iter_expressions():
            meant = self._meant(side.unnest())
            assert meant is not None
            sides.append(column_of(meant, side.unnest()))
        return exp.EQ(this=sides[0], expression=sides[1])

    # What is left ----------------------------------------------------------------------------------------

    def _write_where(self) -> None:
        before = conjuncts(self.select.args.get("where"))
        if len(before) == len(self.pool) and all(a is b for a, b in zip(before, self.pool, strict=True)):
            return
        set_where(self.select, self.pool)

    def _write_missing(self) -> None:
        """Values of a LEFT JOIN with a further condition: CASE WHEN condition THEN value END."""
        if not self.rest:
            return
        scope = Scope(self.context, self.origins)
        for node in columns_of_clauses(self.select):
            found = scope.of(node)
            if len(found) == 1 and found[0].called in self.rest:
                self._write_case(node, found[0])

    def _write_case(self, node: exp.Expr, origin: ScopeTable) -> None:
        public = self.context.public(origin.node.name)
        attributes = public[1].attributes if public is not None else ()
        kinds = [one.column for one in attributes if one.column.name.casefold() == node.name.casefold()]
        if not kinds or not isinstance(kinds[0], IntegerColumn | RealColumn):
            reason = (
                "LEFT JOIN with a condition beyond the key is read for numbers of the public table; move the "
                "condition into WHERE, or into a CASE"
            )
            raise self.context.source.refusal(node, reason)
        when = all_of([self.context.copy(one) for one in self.rest[origin.called]])
        branch = exp.If(this=in_brackets(when), true=node.copy())
        node.replace(exp.Case(ifs=[branch]))

    def _settle_shared(self) -> None:
        """A name of USING behind LEFT JOIN is that of the table before."""
        left = [origin for origin in self.origins if origin.optional and origin.shared]
        scope = Scope(self.context, self.origins)
        for node in columns_of_clauses(self.select) if left else []:
            shared = any(node.name.casefold() in origin.shared for origin in left)
            if shared and node.args.get("table") is None and len(found := scope.of(node)) == 1:
                node.replace(column_of(found[0], node))


def _folded(table: str, name: str) -> _Side:
    return table.casefold(), name.casefold()
