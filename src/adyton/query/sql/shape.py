"""HAVING, ORDER BY, LIMIT and OFFSET: read into the shape of an answer.

They speak of what is released: the names of the answer, an aggregate that SELECT lists, a group.  A name is
always one of the answer here, whatever columns there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from sqlglot import exp

from adyton.errors import InvalidRequest
from adyton.query.leaves import DayOf
from adyton.query.measures import Cdf
from adyton.query.names import check_names
from adyton.query.nodes import POINTS, Bucket, Group, Question
from adyton.query.request import (
    Every,
    Having,
    Opposite,
    Relation,
    ReleasedName,
    Shape,
    Side,
    Sign,
    Some,
    Term,
)
from adyton.query.sql.aggregates import is_aggregate, read_measure
from adyton.query.sql.expressions import OPERATORS, Source
from adyton.query.sql.groups import Item, read_group, shown_names
from adyton.query.text import group_value_text, measure_text
from adyton.schema import BooleanColumn, CategoryColumn, day_of

MOST_VALUES = 10_000
MOST_ROWS = 10**12


@dataclass(frozen=True, slots=True)
class Answered:
    """The names that an answer will have, and the items of the SELECT list that gave them."""

    source: Source
    question: Question
    items: Sequence[Item]

    def shape(self, tree: exp.Expr) -> Shape:
        """What the clauses behind GROUP BY say."""
        names = shown_names(self.source, self.items)
        kept = [group.name for group in self.question.by if group.name not in dict(names)]
        check_names([*self._values(), *(shown for _, shown in names)], kept)
        return Shape(
            names=names,
            order=self._order(tree.args.get("order")),
            limit=self._number(tree.args.get("limit"), "LIMIT"),
            offset=self._number(tree.args.get("offset"), "OFFSET") or 0,
            having=self._having_clause(tree.args.get("having")),
        )

    def _number(self, clause: exp.Expr | None, name: str) -> int | None:
        if clause is None:
            return None
        self.source.check_parts(clause, "expression")
        value = self.source.constant(clause.args["expression"])
        if value.denominator != 1 or not 0 <= value <= MOST_ROWS:
            raise self.source.refusal(clause.args["expression"], f"{name} is a whole number, not below 0")
        return int(value)

    # Order -----------------------------------------------------------------------------------------------

    def _order(self, clause: exp.Expr | None) -> tuple[Term, ...]:
        if clause is None:
            return ()
        self.source.check_parts(clause, "expressions")
        terms = []
        for node in clause.expressions:
            self.source.check_parts(node, "this", "desc", "nulls_first")  # nothing is missing in an answer
            terms.append(Term(self._ordered_by(node.this), bool(node.args.get("desc"))))
        return tuple(terms)

    def _ordered_by(self, node: exp.Expr) -> str:
        node = self.source.bare(node)
        if type(node) is exp.Literal and not node.args["is_string"]:
            place = self.source.constant(node)
            if place.denominator != 1 or not 1 <= place <= len(self.items):
                raise self.source.refusal(
                    node, f"ORDER BY names a place in the SELECT list: 1 to {len(self.items)}"
                )
            before, item = self.items[: int(place) - 1], self.items[int(place) - 1]
            if item.aggregates:  # two may ask for the same, each with noise of its own
                return self.question.measures[sum(one.aggregates for one in before)][0]
            node = item.node
        return self._released(node).name

    # Having ----------------------------------------------------------------------------------------------

    def _having_clause(self, clause: exp.Expr | None) -> Having | None:
        if clause is None:
            return None
        self.source.check_parts(clause, "this")
        return self._having(clause.this)

    def _having(self, node: exp.Expr) -> Having:
        node = self.source.bare(node)
        if type(node) in (exp.And, exp.Or):
            first, rest = self.source.chain(node, (type(node),))
            parts = tuple(self._having(part) for part in (first, *(part for _, part in rest)))
            return Every(parts) if type(node) is exp.And else Some(parts)
        if type(node) is exp.Not:
            self.source.check_parts(node, "this")
            return Opposite(self._having(node.this))
        if type(node) is exp.Between:
            self.source.check_parts(node, "this", "low", "high")
            value, low, high = (self._side(node.args[part]) for part in ("this", "low", "high"))
            return Every((self._relation(node, value, ">=", low), self._relation(node, value, "<=", high)))
        if type(node) is exp.In:
            return self._in(node)
        if type(node) in OPERATORS:
            self.source.check_parts(node, "this", "expression")
            left, right = self._side(node.this), self._side(node.args["expression"])
            return self._relation(node, left, OPERATORS[type(node)], right)
        if type(node) is exp.Column and self._kind(self._released(node)) is bool:
            return Relation(self._released(node), "=", True)
        raise self.source.refusal(node, "HAVING compares values and keys of the answer with literals")

    def _in(self, node: exp.Expr) -> Having:
        self.source.check_parts(node, "this", "expressions")
        listed = node.args.get("expressions") or []
        if not 1 <= len(listed) <= MOST_VALUES:
            raise self.source.refusal(node.this, f"IN needs a list of 1 to {MOST_VALUES} literals")
        left, values = self._side(node.this), [self._side(value) for value in listed]
        if any(isinstance(value, ReleasedName) for value in values):
            raise self.source.refusal(node.this, "IN needs a list of literals")
        return Some(tuple(self._relation(node, left, "=", value) for value in values))

    def _relation(self, node: exp.Expr, left: Side, sign: Sign, right: Side) -> Relation:
        if not isinstance(left, ReleasedName) and not isinstance(right, ReleasedName):
            raise self.source.refusal(node, "HAVING compares values and keys of the answer with literals")
        for side, other in ((left, right), (right, left)):
            if isinstance(side, str) and isinstance(other, ReleasedName) and self._is_day(other):
                self.source.day(node, side)  # must be one, written as keys are
        if self._kind(left) is not self._kind(right):
            raise self.source.refusal(
                node, "a number, a string and a boolean cannot be compared with one another"
            )
        if self._kind(left) is bool and sign not in ("=", "<>"):
            raise self.source.refusal(node, "TRUE and FALSE have no order; use = or <>")
        return Relation(left, sign, right)

    def _side(self, node: exp.Expr) -> Side:
        node = self.source.bare(node)
        if type(node) is exp.Boolean:
            self.source.check_parts(node, "this")
            return bool(node.this)
        if type(node) is exp.Literal and node.args["is_string"]:
            return str(node.this)
        if type(node) is exp.Cast:
            return day_of(self.source.written_day(node).number).isoformat()
        if not any(type(part) in (exp.Column, exp.Star) for part in node.walk()):
            return self.source.constant(node)
        return self._released(node)

    def _kind(self, side: Side) -> type[Fraction] | type[str] | type[bool]:
        """What can be compared with ``side``: numbers, strings or booleans."""
        if not isinstance(side, ReleasedName):
            return type(side)
        group = next((group for group in self.question.by if group.name == side.name), None)
        return Fraction if group is None else _kind_of(group)

    def _is_day(self, released: ReleasedName) -> bool:
        groups = (group for group in self.question.by if group.name == released.name)
        return any(isinstance(group, Bucket) and isinstance(group.value, DayOf) for group in groups)

    # Names -----------------------------------------------------------------------------------------------

    def _released(self, node: exp.Expr) -> ReleasedName:
        """What of the answer ``node`` means: by its name, or by what it asks for."""
        name = self.source.plain_name(node)
        keys = {shown: own for own, shown in self._keys.items()}
        known = [*self._values(), *keys, *self._keys]
        for one in known:
            if name is not None and one.casefold() == name.casefold():
                return ReleasedName(keys.get(one, one))
        found = self._measured(node) if is_aggregate(node) else self._grouped(node)
        if found is None:
            listed = ", ".join(list(dict.fromkeys(known))[:10])
            reason = f"ORDER BY and HAVING speak of what SELECT lists: {listed}"
            raise self.source.refusal(node, reason)
        return ReleasedName(found)

    @property
    def _keys(self) -> dict[str, str]:
        """The names of groups, and what they are shown as."""
        shown = dict(shown_names(self.source, self.items))
        return {group.name: shown.get(group.name, group.name) for group in self.question.by}

    def _values(self) -> list[str]:
        """The names of values, and of the points of a distribution, which are numbers as well."""
        points = [POINTS for _, measure in self.question.measures if isinstance(measure, Cdf)]
        return [name for name, _ in self.question.measures] + points

    def _measured(self, node: exp.Expr) -> str | None:
        wanted = measure_text(read_measure(self.source, node)[1])
        return next((name for name, one in self.question.measures if measure_text(one) == wanted), None)

    def _grouped(self, node: exp.Expr) -> str | None:
        try:
            wanted = read_group(self.source, node).text
        except InvalidRequest:  # whatever it is, it is not what was grouped by
            return None
        return next((group.name for group in self.question.by if group_value_text(group) == wanted), None)


def _kind_of(group: Group) -> type[Fraction] | type[str] | type[bool]:
    if isinstance(group, BooleanColumn):
        return bool
    if isinstance(group, Bucket) and group.labels is None:
        return str if isinstance(group.value, DayOf) else Fraction
    labels = (
        group.labels
        if isinstance(group, Bucket)
        else group.values
        if isinstance(group, CategoryColumn)
        else ()
    )
    first = labels[0] if labels else ""
    return bool if isinstance(first, bool) else Fraction if isinstance(first, int) else str
