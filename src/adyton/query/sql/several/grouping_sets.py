"""GROUP BY ROLLUP, CUBE and GROUPING SETS: a query for each set of groups, and one table of all.

Each set is the query that the same SELECT asks when it is grouped by that set alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from math import prod

from sqlglot import exp

from adyton.kernel.schema import Table
from adyton.query.names import distinct_names, names_in
from adyton.query.released.nodes import (
    Apply,
    ComputedLabel,
    Every,
    Having,
    IsNull,
    Opposite,
    Relation,
    Released,
    ReleasedName,
    Some,
    Term,
    When,
    has_window,
)
from adyton.query.request import Combined, Part, Request, Shape
from adyton.query.sql.expressions import SqlText
from adyton.query.sql.functions.labels import NOT_GROUPED, NOT_IN_SET
from adyton.query.sql.grammar import Options
from adyton.query.sql.names import Why, called, calls
from adyton.query.sql.read import SET_CLAUSES, SETS, read_select
from adyton.query.sql.several.columns import shown_columns, without_items

MOST_SETS = 100
_GROUPING = ("GROUPING",)
_INSTEAD = ("COALESCE", "IFNULL", "NVL")
_Set = tuple[exp.Expr, ...]


def read_sets(source: SqlText, options: Options, tree: exp.Expr, tables: Sequence[Table]) -> Combined:
    """The queries, the largest set first where ROLLUP or CUBE lists them."""
    names = {name.casefold() for table in tables for name in names_in(table)}
    sets = _Sets(source, tree, names)
    whole = read_select(source, replace(options, epsilon=None), sets.plain(), tables)
    sets.check(whole.shape)
    sets.keys = [group.name for group in whole.query.by]
    keys, values = shown_columns(whole)
    marks = sets.mark_names([*keys, *values])
    parts = tuple(sets.part(whole, chosen, marks) for chosen in sets.chosen)
    listed = sets.listed(whole.listed, marks)
    return Combined(
        parts,
        (*keys, *(name for name in marks if name in listed)),
        values,
        sets.shape(whole.shape, marks),
        options.epsilon,
        listed,
    )


class _Sets:
    """The sets of one SELECT: ``groups`` that are in any of them, and for each set the places of its own."""

    def __init__(self, source: SqlText, tree: exp.Expr, columns: set[str]) -> None:
        self.source, self.tree, self.columns = source, tree, columns
        self.items = list(map(source.item, tree.expressions))
        self.groups: list[exp.Expr] = []
        self.keys: list[str] = []  # the names of the groups in the query
        self.chosen = [tuple(sorted({self._place(node) for node in one})) for one in self._sets()]
        if len(set(self.chosen)) < len(self.chosen):
            raise source.refusal(tree.args["group"], "GROUP BY lists one set of groups twice")
        self.grouping = [place for place, (node, _) in enumerate(self.items) if calls(node, _GROUPING)]
        ordered = tree.args.get("order") or exp.Order()
        self.ordered = [(node, self._meant(node.this)) for node in ordered.expressions]
        # What GROUPING is asked of: items first, then what only ORDER BY names.
        self.asked = [self.items[place][0] for place in self.grouping]
        self.asked += [n for _, n in self.ordered if calls(n, _GROUPING) and n not in self.asked]

    # The sets --------------------------------------------------------------------------------------------

    def _sets(self) -> list[_Set]:
        group = self.tree.args["group"]
        listed = list(group.args.get("expressions") or [])
        behind = [node for name in SET_CLAUSES for node in group.args.get(name) or []]
        if behind:  # GROUP BY a, b WITH ROLLUP
            if len(behind) > 1 or any(type(node) in SETS for node in listed):
                why = Why("WITH ROLLUP and WITH CUBE stand behind plain groups", "syntax")
                raise self.source.refusal(group, why)
            listed = [type(behind[0])(expressions=listed)]
        each = [self._sets_of(node) for node in listed]
        self._check_number(*map(len, each))
        return [tuple(node for one in chosen for node in one) for chosen in product(*each)]

    def _sets_of(self, node: exp.Expr) -> list[_Set]:
        if type(node) is exp.GroupingSets:
            self.source.check_parts(node, "expressions")
            return [one for inner in node.expressions for one in self._sets_of(inner)]
        if type(node) not in SETS:
            return [tuple(_members(node))]
        self.source.check_parts(node, "expressions")
        listed = [tuple(_members(inner)) for inner in node.expressions]
        if type(node) is exp.Rollup:
            return [sum(listed[:size], ()) for size in range(len(listed), -1, -1)]
        self._check_number(*[2] * len(listed))
        taken = product((True, False), repeat=len(listed))
        return [sum((one for one, take in zip(listed, takes, strict=True) if take), ()) for takes in taken]

    def _check_number(self, *sizes: int) -> None:
        if prod(sizes) > MOST_SETS:
            raise self.source.refusal(
                self.tree.args["group"],
                f"GROUP BY lists more than {MOST_SETS} sets of groups, each of which is a query",
            )

    def _place(self, node: exp.Expr) -> int:
        """The number of a group among all that are named."""
        meant = self._meant(node)
        if meant not in self.groups:
            self.groups.append(meant)
        return self.groups.index(meant)

    def _meant(self, node: exp.Expr) -> exp.Expr:
        """The item that a place or an alias means, or ``node`` itself."""
        node = self.source.bare(node)
        if type(node) is exp.Literal and not node.is_string:
            place = self.source.constant(node)
            if place.denominator != 1 or not 1 <= place <= len(self.items):
                raise self.source.refusal(
                    node, f"a place in the SELECT list is meant here: 1 to {len(self.items)}"
                )
            return self.items[int(place) - 1][0]
        name = self.source.plain_name(node)
        if name is not None and name.casefold() not in self.columns:
            aliases = [(item, alias) for item, alias in self.items if alias is not None]
            return next((item for item, alias in aliases if alias.casefold() == name.casefold()), node)
        return node

    # One query that is grouped by all, and those of the sets ------------------------------------------

    def plain(self) -> exp.Expr:
        """The SELECT, grouped by all groups of all sets, without GROUPING."""
        tree = self.tree.copy()
        kept = [node.copy() for node, meant in self.ordered if not calls(meant, _GROUPING)]
        tree.set("order", exp.Order(expressions=kept) if kept else None)
        tree.set("group", None)
        tree = without_items(self.source, tree, self.grouping)
        for node in list(tree.walk()):
            if (said := self._of_set(node)) is not None:
                node.replace(said)
        groups = [node.copy() for node in self.groups]
        tree.set("group", exp.Group(expressions=groups) if groups else None)
        return tree

    def part(self, whole: Request, chosen: Sequence[int], marks: Sequence[str]) -> Part:
        """The query of one set; ``marks`` are the names of what GROUPING says of it."""
        by = whole.query.by
        kept = tuple(g for place, g in enumerate(by) if place in chosen or place >= len(self.groups))
        query = replace(whole.query, by=kept)
        gone = {group.name for group in by} - {group.name for group in kept}
        names = tuple(pair for pair in whole.shape.names if pair[0] not in gone)
        having = None if whole.shape.having is None else _without(whole.shape.having, gone)
        computed = tuple((name, _less(value, gone)) for name, value in whole.shape.shown)
        shape = Shape(having=having, names=names, shown=computed)
        said = tuple(zip(marks, self.marks(chosen), strict=True))
        return Part(Request(query, shape, None, whole.delta), constants=said)

    def shape(self, shape: Shape, marks: Sequence[str]) -> Shape:
        """What orders and cuts the whole table, by the names of its columns."""
        others = iter(shape.order)
        order = []
        for node, meant in self.ordered:
            if calls(meant, _GROUPING):
                order.append(Term(marks[self.asked.index(meant)], bool(node.args.get("desc"))))
            else:
                term = next(others)
                order.append(Term(self._column(node, term, shape), term.descending))
        return Shape(tuple(order), shape.limit, shape.offset)

    def _column(self, node: exp.Expr, term: Term, shape: Shape) -> str:
        """The column of the table that a term of ORDER BY means."""
        if isinstance(term.name, str) and (term.name in self.keys or not shape.shown):
            return dict(shape.names).get(term.name, term.name)
        found = [name for name, value in shape.shown if value == term.value]
        if not found:
            raise self.source.refusal(node, "behind sets of groups ORDER BY names columns of the SELECT list")
        return found[0]

    def check(self, shape: Shape) -> None:
        """Windows would look at the rows of all sets."""
        said = [value for _, value in shape.shown] + [one for one in (shape.having, shape.qualify) if one]
        if shape.qualify is not None or any(map(has_window, [*said, *shape.order])):
            raise self.source.refusal(
                self.tree, "windows and QUALIFY do not go with sets of groups: ask for one"
            )

    # GROUPING --------------------------------------------------------------------------------------------

    def _of_set(self, node: exp.Expr) -> exp.Expr | None:
        """What is said inside an expression of keys that some sets do not have: GROUPING(x), x IS NULL, and
        COALESCE(x, 'all').  A key is NULL there; and in the group of NULL, where GROUPING says 0.
        """
        if calls(node, _GROUPING) and len(node.expressions) == 1:
            key = self.groups[self._asked_group(node.expressions[0])]
            return exp.Anonymous(this=NOT_GROUPED, expressions=[key.copy()])
        if type(node) is exp.Is and type(node.args["expression"]) is exp.Null and node.this in self.groups:
            return exp.Paren(this=exp.EQ(this=_not_in_set(node.this), expression=exp.Literal.number(1)))
        if calls(node, _INSTEAD) and len(node.expressions) == 2:
            value, other = node.expressions
            key = value.this if type(value) is exp.Cast else value
            if key in self.groups and not other.find(exp.Column):
                missing = exp.EQ(this=_not_in_set(key), expression=exp.Literal.number(1))
                return exp.Case(ifs=[exp.If(this=missing, true=other.copy())], default=value.copy())
        return None

    def mark_names(self, taken: Sequence[str]) -> list[str]:
        given = [self.items[place][1] for place in self.grouping]
        given += [None] * (len(self.asked) - len(given))
        return distinct_names(given, ["grouping"] * len(given), taken=taken)

    def marks(self, chosen: Sequence[int]) -> Iterator[int]:
        """For each GROUPING what it says of this set: a bit for each group, 1 where it is not in the set."""
        for node in self.asked:
            if not called(self.source, node) or not node.expressions:
                raise self.source.refusal(node, "write GROUPING(group), with a group of GROUP BY")
            places = [self._asked_group(inner) for inner in node.expressions]
            yield sum((place not in chosen) << bit for bit, place in enumerate(reversed(places)))

    def _asked_group(self, node: exp.Expr) -> int:
        meant = self._meant(node)
        if meant not in self.groups:
            raise self.source.refusal(node, "GROUPING names a group of GROUP BY")
        return self.groups.index(meant)

    def listed(self, others: Sequence[str], marks: Sequence[str]) -> tuple[str, ...]:
        """The names of the SELECT list."""
        rest = iter(others)
        places = dict(zip(self.grouping, marks, strict=False))
        return tuple(places[p] if p in places else next(rest) for p in range(len(self.items)))


def _not_in_set(key: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this=NOT_IN_SET, expressions=[key.copy()])


def _members(node: exp.Expr) -> Sequence[exp.Expr]:
    """The groups of (a, b), (a), () or a."""
    if type(node) is exp.Tuple:
        return node.expressions
    return [node.this] if type(node) is exp.Paren else [node]


def _without(having: Having, gone: set[str]) -> Having:
    """With NULL for the keys that rows do not have."""
    match having:
        case Relation(left, sign, right):
            sides = _less(left, gone), _less(right, gone)
            return Relation(None, "=", None) if None in sides else Relation(sides[0], sign, sides[1])
        case Every(parts) | Some(parts):
            return type(having)(tuple(_without(part, gone) for part in parts))
        case Opposite(inner):
            return Opposite(_without(inner, gone))
        case IsNull(inner):
            return IsNull(_less(inner, gone))


def _less(node: Released, gone: set[str]) -> Released:
    match node:
        case ReleasedName(name):
            return None if name in gone else node
        case Apply(function, inner) | ComputedLabel(function, inner):
            return type(node)(function, tuple(_less(part, gone) for part in inner))
        case When(branches, otherwise):
            chosen = tuple((_without(condition, gone), _less(then, gone)) for condition, then in branches)
            return When(chosen, _less(otherwise, gone))
    return node
