"""A SELECT that gives one row for each person, inside of the one that is asked: read into a table of persons.

SELECT AVG(visits) FROM (SELECT person, COUNT(*) AS visits FROM rows GROUP BY person) WHERE visits > 3

Inside, each aggregate becomes a column.  What is computed from them inside is written where its name stands
outside, and HAVING inside is a WHERE outside: both look at one row of a person.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from adyton.kernel.schema import CategoryColumn, DateColumn, Table
from adyton.kernel.terms.expressions import Compare, Condition, Not, NumberExpression, all_of
from adyton.kernel.terms.leaves import EVERY_ROW, Constant, DayOf, IsMissing, ValueOf
from adyton.kernel.terms.measures import Count, Extreme, Mean, Sum, SumOfPersons
from adyton.kernel.terms.names import columns_in
from adyton.kernel.terms.persons import PersonNumber, TableOfPersons, table_of_persons
from adyton.query.names import default_name, distinct_names
from adyton.query.nodes import Query
from adyton.query.sql.aggregates import filtered, is_aggregate, read_measure, read_where
from adyton.query.sql.expressions import SqlText
from adyton.query.sql.from_clause import read_from
from adyton.query.sql.functions.numbers import ends
from adyton.query.sql.groups import Item, read_items
from adyton.query.sql.names import Why, called, calls
from adyton.query.sql.rewrite.public_values import as_written

MOST_AVERAGED = 12  # rows of a person: the average of more has too fine a step
_NO_NAME = "the inner SELECT"  # has a space, and is no name that a text could mean by chance
_INSIDE = "COUNT, SUM, AVG, MIN, MAX and COUNT(DISTINCT category)"


@dataclass(frozen=True, slots=True)
class OfPersons:
    """What stands outside, about a table of persons, which persons count, and how the table is called."""

    tree: exp.Expr
    table: Table
    kept: Condition
    aliases: dict[str, str]


def read_persons(source: SqlText, tree: exp.Expr, tables: Sequence[Table]) -> OfPersons:
    """The query outside, which is asked of a SELECT that groups."""
    node = tree.args["from_"].this
    inner, name = node.this, source.alias(node)
    if tree.args.get("joins"):
        raise source.refusal(tree.args["joins"][0], "a table of persons is asked alone, without JOIN")
    reader = _InnerSelect.of(source, inner, tables)
    listed = reader.listed()
    kept, table = reader.kept(inner.args.get("having")), reader.table
    called_as = {(name or _NO_NAME).casefold(): table.name}
    own = replace(source, table=table, aliases=called_as)
    outside = _Outer(own, listed, name).written(tree)
    return OfPersons(outside, table, EVERY_ROW if kept is None else own.condition(kept), called_as)


def without_unused(query: Query) -> Query:
    """Numbers of persons that nobody asks about are no part of the query."""
    table = query.table
    assert isinstance(table, TableOfPersons)
    used = {column.name for column in columns_in(query.by, query.where, query.measures)}
    numbers = tuple((name, number) for name, number in table.numbers if name in used)
    return replace(query, table=table_of_persons(table.of, table.given, numbers))


# Inside ----------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _InnerSelect:
    """Gives each aggregate that stands inside a name, and each only one."""

    source: SqlText
    where: Condition
    items: list[Item]
    numbers: dict[str, PersonNumber] = field(default_factory=dict)

    @classmethod
    def of(cls, source: SqlText, tree: exp.Expr, tables: Sequence[Table]) -> _InnerSelect:
        source.check_parts(tree, "expressions", "from_", "joins", "where", "group", "having")
        table, aliases = read_from(source, tree, tables)
        source = replace(source, table=table, aliases=aliases)
        if table.join is not None:
            reason = "numbers of each person are made of one private table, without JOIN"
            raise source.refusal(tree.args["joins"][0], reason)
        items = read_items(source, tree)
        _check_grouped(source, tree.args["group"], items)
        return cls(source, read_where(source, tree.args.get("where")), items)

    @property
    def table(self) -> Table:
        return table_of_persons(self.source.table, self.where, tuple(sorted(self.numbers.items())))

    def listed(self) -> dict[str, exp.Expr]:
        """What each name of the inner SELECT list stands for."""
        found: dict[str, exp.Expr] = {}
        person = self.source.table.person or ""
        written: exp.Expr
        for item in self.items:
            name = item.alias
            if self.source.is_person(item.node):
                name, written = name or person, exp.column(person, quoted=True)
            elif name is None:
                continue  # nothing outside can mean it
            elif name.casefold() == person.casefold():
                why = Why(f"{name!r} identifies persons; name this apart with AS", "no_such_column")
                raise self.source.refusal(item.node, why)
            else:
                written = self._written(item.node, name)
            if name.casefold() in found:
                raise self.source.refusal(
                    item.node, f"two values are called {name!r}; name them apart with AS"
                )
            found[name.casefold()] = written
        return found

    def kept(self, having: exp.Expr | None) -> exp.Expr | None:
        """A condition on what is known of a person."""
        if having is None:
            return None
        self.source.check_parts(having, "this")
        return self._written(having.this, None)

    def _written(self, node: exp.Expr, name: str | None) -> exp.Expr:
        """``node`` with a column in place of each aggregate."""
        node = self.source.bare(node)
        if is_aggregate(node):
            return self._number(node, name)
        return node.transform(self._beside_aggregates)

    def _beside_aggregates(self, node: exp.Expr) -> exp.Expr:
        if is_aggregate(node):
            return self._number(node, None)
        if type(node) is exp.Column:
            reason = f"of each person's rows one number is needed, by an aggregate: {_INSIDE}"
            raise self.source.refusal(node, reason)
        return node

    def _number(self, node: exp.Expr, name: str | None) -> exp.Expr:
        """What stands for an aggregate outside: a column, or what is computed from some."""
        special = self._of_category_or_day(node)
        if special is not None:
            return self._named(special, name, special.kind)
        default, measure = read_measure(self.source, node)
        match measure:
            case Count(where):
                return self._named(PersonNumber("rows", None, where), name, default)
            case Sum(value, where):
                return self._named(PersonNumber("sum", value, where), name, default)
            case Extreme(value, which, where):
                return self._named(PersonNumber(which, value, where), name, default)
            case SumOfPersons(value, low, high, where):
                counts = isinstance(value, Constant)
                own = PersonNumber("rows", None, where) if counts else PersonNumber("sum", value, where)
                return _call("CLAMP", self._named(own, None, default), as_written(low), as_written(high))
            case Mean(value, where):
                return self._average(node, value, where)
        raise self.source.refusal(node, f"of the rows of one person, {_INSIDE} are taken")

    def _of_category_or_day(self, node: exp.Expr) -> PersonNumber | None:
        """How many values of a category, the first or the last day."""
        call, where = filtered(self.source, node)
        if not calls(call, ("COUNT", "MIN", "MAX")):
            return None
        arguments, said = call.expressions, called(self.source, call)
        only = self.source.bare(arguments[0]) if len(arguments) == 1 else None
        if said == "COUNT" and type(only) is exp.Distinct and len(only.expressions) == 1:
            counted = self.source.bare(only.expressions[0])
            if self.source.is_person(counted):
                raise self.source.refusal(node, "inside there is one person; count persons outside")
            column = self.source.column(counted)
            if isinstance(column, CategoryColumn):
                return PersonNumber("distinct", column, where)
            raise self.source.refusal(node, "distinct values of a person are counted for categories only")
        if said in ("MIN", "MAX") and type(only) is exp.Column:
            column = self.source.column(only)
            if isinstance(column, DateColumn):
                return PersonNumber("least" if said == "MIN" else "greatest", DayOf(column), where)
        return None

    def _average(self, node: exp.Expr, value: NumberExpression, where: Condition) -> exp.Expr:
        """A sum divided by each number of rows that there can be: all of it is exact."""
        most = self.source.table.most_rows or 0
        if most > MOST_AVERAGED:
            raise self.source.refusal(
                node,
                f"the average of up to {most} rows of a person is not exact, of up to {MOST_AVERAGED} it is; "
                "take SUM(...) and COUNT(...) inside, and divide their sums outside",
            )
        present = Not(IsMissing(value.column)) if isinstance(value, ValueOf) else _is_there(value)
        total = self._named(PersonNumber("sum", value, where), None, default_name("sum", value))
        rows = self._named(
            PersonNumber("rows", None, all_of(present, where)), None, default_name("count", value)
        )
        cases = [
            exp.If(this=rows.eq(n), true=total.copy() if n == 1 else total.div(n)) for n in range(1, most + 1)
        ]
        return _call("CLAMP", exp.Case(ifs=cases), *map(as_written, ends(value)))

    def _named(self, number: PersonNumber, name: str | None, default: str) -> exp.Expr:
        known = next((known for known, own in self.numbers.items() if own == number), None)
        if known is None:
            person = self.source.table.person or ""
            taken = [*self.numbers, *(item.alias for item in self.items if item.alias), person]
            (known,) = distinct_names([name], [default], taken)
            self.numbers[known] = number
            table_of_persons(self.source.table, EVERY_ROW, ((known, number),))  # refuses what has no bounds
        return exp.column(known, quoted=True)


def _check_grouped(source: SqlText, group: exp.Expr, items: Sequence[Item]) -> None:
    source.check_parts(group, "expressions")
    written = [source.bare(node) for node in group.args.get("expressions") or []]
    places = [str(place) for place, item in enumerate(items, 1) if source.is_person(item.node)]
    said = [node.this in places if type(node) is exp.Literal else source.is_person(node) for node in written]
    if said != [True]:
        raise source.refusal(
            group, f"inside, rows are grouped by the person alone: GROUP BY {source.table.person}"
        )


def _is_there(value: NumberExpression) -> Condition:
    """True where there is a number, because it is never below its least."""
    return Compare(value, ">=", Constant(ends(value)[0]))


# Outside ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Outer:
    """Writes what a name stands for in place of it; ``alias`` is the name of the inner SELECT."""

    source: SqlText
    listed: dict[str, exp.Expr]
    alias: str | None

    def written(self, tree: exp.Expr) -> exp.Expr:
        tree = tree.copy()
        tree.set("from_", None)
        items = [self._item(node) for node in tree.args.get("expressions") or []]
        tree.set("expressions", items)
        own = frozenset(node.alias.casefold() for node in items if type(node) is exp.Alias)
        self._rewrite(tree, "where", frozenset())
        self._rewrite(tree, "group", own - self.listed.keys())
        for part in ("having", "qualify", "order"):  # there a name of the answer comes first
            self._rewrite(tree, part, own)
        return tree

    def _rewrite(self, tree: exp.Expr, part: str, answered: frozenset[str]) -> None:
        """Names that are ``answered`` are those of the answer."""
        if tree.args.get(part) is not None:
            tree.set(part, tree.args[part].transform(lambda node: self._meant(node, answered)))

    def _item(self, node: exp.Expr) -> exp.Expr:
        """A name that stands for more than a column stays the name of the item."""
        written = node.transform(lambda one: self._meant(one, frozenset()))
        if type(node) is exp.Column and written.name.casefold() != node.name.casefold():
            return exp.Alias(this=written, alias=exp.Identifier(this=node.name, quoted=True))
        return written

    def _meant(self, node: exp.Expr, answered: frozenset[str]) -> exp.Expr:
        if type(node) is not exp.Column or type(node.this) is not exp.Identifier:
            return node
        table, said = node.args.get("table"), node.name.casefold()
        elsewhere = table is not None and self.source.name(table).casefold() != (self.alias or "").casefold()
        if elsewhere or said in answered:
            return node
        if said not in self.listed:
            names = ", ".join(self.listed) or "nothing"
            reason = f"the inner SELECT does not list {node.name!r} by a name; it lists {names}"
            raise self.source.refusal(node, reason)
        meant = self.listed[said]
        if type(meant) is exp.Column:
            return node if meant.name == node.name else meant.copy()
        return exp.Paren(this=meant.copy())


def _call(name: str, *arguments: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this=name, expressions=list(arguments))
