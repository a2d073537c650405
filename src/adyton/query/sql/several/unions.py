"""UNION ALL: queries whose answers stand in one table, one below the other.

Columns agree by their places, in number and in kind, and are called as the first SELECT calls them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from adyton.kernel.schema import Table, TextColumn
from adyton.kernel.terms.buckets import Group
from adyton.query.labels import KeyLabel, group_values
from adyton.query.names import distinct_names
from adyton.query.released.nodes import ComputedLabel, Released, Term, When, is_label
from adyton.query.request import Combined, Free, Part, Shape
from adyton.query.sql.expressions import SqlText
from adyton.query.sql.grammar import Options
from adyton.query.sql.names import Why
from adyton.query.sql.read import has_sets, is_empty, read_select
from adyton.query.sql.several.columns import is_written, label_of, without_items
from adyton.query.sql.several.free import nothing_asked
from adyton.query.sql.several.grouping_sets import read_sets
from adyton.query.sql.shape import read_number

MOST_PARTS = 100
_SHAPE = ("order", "limit", "offset")
_VALUE, _NULL = "an aggregate", "NULL"


def read_union(source: SqlText, options: Options, tree: exp.Expr, tables: Sequence[Table]) -> Combined | Free:
    """The queries of all SELECTs, and the table that they make."""
    source.check_parts(tree, "this", "expression", "distinct", "with_", *_SHAPE)
    selects = _selects(source, tree)
    if len(selects) > MOST_PARTS:
        raise source.refusal(tree, f"UNION ALL joins {len(selects)} SELECTs; at most {MOST_PARTS} are asked")
    each = [_Selected.of(source, replace(options, epsilon=None), one, tables) for one in selects]
    for one in each[1:]:
        _check_alike(source, each[0], one)
        if one.parts[0].request.query.table != each[0].parts[0].request.query.table:
            raise source.refusal(
                one.node, "the SELECTs of a union are about one table, or one join of tables"
            )
    names = distinct_names(
        [column.name if column.given else None for column in each[0].columns],
        [column.name for column in each[0].columns],
        taken=[],
    )
    if len({name.casefold() for name in names}) < len(names):
        raise source.refusal(selects[0], "two columns have one name")
    parts = [part for one in each for part in one.parts_of_table(names)]
    keys = [name for name, column in zip(names, each[0].columns, strict=True) if column.kind != _VALUE]
    keys += dict.fromkeys(name for one in each for name in one.unlisted)
    values = tuple(name for name in names if name not in keys)
    if len({*keys, *values}) < len(keys) + len(values):
        raise source.refusal(tree, "a key that SELECT does not list is called like a column: list it")
    table = Combined(
        tuple(parts), tuple(keys), values, _shape(source, tree, names), options.epsilon, tuple(names)
    )
    empty = table.shape.limit == 0 or all(one.is_empty for one in each)
    return nothing_asked(source, table) if empty else table


def _selects(source: SqlText, tree: exp.Expr) -> list[exp.Expr]:
    """From the left; WITH in front is for all of them."""
    found: list[exp.Expr] = []
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if type(node) is exp.Subquery:
            source.check_parts(node, "this")
            node = node.this
            if type(node) is exp.Union:
                source.check_parts(node, "this", "expression", "distinct")
        if type(node) is exp.Union:
            if node.args.get("distinct"):
                raise source.refusal(node, "write UNION ALL: rows of answers are never compared")
            waiting += [node.args["expression"], node.this]
        elif type(node) is exp.Subquery:
            waiting.append(node)
        elif type(node) is not exp.Select or not node.args.get("from_") or node.args.get("distinct"):
            raise source.refusal(node, "UNION ALL joins SELECTs of aggregates FROM a table")
        else:
            found.append(node)
    if (ahead := tree.args.get("with_")) is not None:
        for node in found:
            node.set("with_", ahead.copy())
    return found


@dataclass(frozen=True, slots=True)
class _Column:
    """A column of one SELECT: its name in the answer or in the text, what it holds, and a written value."""

    name: str
    kind: str
    given: bool = True
    label: KeyLabel = None
    written: bool = False


@dataclass(frozen=True, slots=True)
class _Selected:
    """One SELECT of a union: its parts, its columns, and the keys that it does not list."""

    node: exp.Expr
    parts: tuple[Part, ...]
    columns: tuple[_Column, ...]
    unlisted: tuple[str, ...]
    is_empty: bool

    @classmethod
    def of(cls, source: SqlText, options: Options, node: exp.Expr, tables: Sequence[Table]) -> _Selected:
        items = list(map(source.item, node.expressions))
        written: dict[int, _Column] = {}
        for place, (item, name) in enumerate(items):
            if is_written(item):
                label = label_of(source, item)
                written[place] = _Column(name or "column", _kind(label), name is not None, label, True)
        if len(written) == len(items):
            raise source.refusal(node, "UNION ALL joins SELECTs of aggregates")
        plain = without_items(source, node, list(written)) if written else node
        read = read_sets if has_sets(plain) else read_select
        asked = read(source, options, plain, tables)
        parts = asked.parts if isinstance(asked, Combined) else (Part(asked),)
        if isinstance(asked, Combined) and asked.shape != Shape():
            raise source.refusal(node, Why("ORDER BY and LIMIT stand behind the last SELECT", "syntax"))
        kinds = {name: kind for part in reversed(parts) for name, kind in _kinds(part).items()}
        listed = iter(asked.listed)
        columns = tuple(
            written[place] if place in written else _Column(name := next(listed), kinds.get(name, _VALUE))
            for place in range(len(items))
        )
        return cls(node, parts, columns, tuple(n for n in kinds if n not in asked.listed), is_empty(asked))

    def parts_of_table(self, names: Sequence[str]) -> list[Part]:
        """Its parts, with the columns called by ``names``."""
        if self.is_empty:
            return []
        pairs = list(zip(self.columns, names, strict=True))
        called = {column.name: name for column, name in pairs if not column.written}
        written = tuple((name, column.label) for column, name in pairs if column.written)
        return [
            Part(
                part.request,
                tuple((own, name) for own, name in called.items() if own != name),
                (*((called.get(own, own), label) for own, label in part.constants), *written),
            )
            for part in self.parts
        ]


def _kinds(part: Part) -> dict[str, str]:
    """What the keys of a part hold, by the names that they are shown as."""
    query, shown = part.request.query, dict(part.request.shape.names)
    kept = [group for group in query.by if group.name not in part.request.shape.unshown]
    kinds = {shown.get(group.name, group.name): _kind_of(group) for group in kept}
    labels = {name: _label_of(value) for name, value in part.request.shape.shown if is_label(value)}
    return kinds | {name: _kind(label) for name, label in [*labels.items(), *part.constants]}


def _label_of(value: Released) -> KeyLabel:
    """One of the labels of a computed column."""
    if isinstance(value, When):
        return _label_of(value.otherwise)
    if isinstance(value, ComputedLabel):
        return 0 if value.function == "NUMBER" else ""
    return value if isinstance(value, str | bool) else 0


def _kind_of(group: Group) -> str:
    return "a string" if isinstance(group, TextColumn) else _kind(group_values(group)[0])


def _kind(label: KeyLabel) -> str:
    if label is None:
        return _NULL
    return "a boolean" if isinstance(label, bool) else "a string" if isinstance(label, str) else "a number"


def _check_alike(source: SqlText, first: _Selected, other: _Selected) -> None:
    if len(first.columns) != len(other.columns):
        raise source.refusal(
            other.node,
            f"the first SELECT lists {len(first.columns)} columns, and this one {len(other.columns)}",
        )
    for place, (one, two) in enumerate(zip(first.columns, other.columns, strict=True), start=1):
        if one.kind != two.kind and (_NULL not in (one.kind, two.kind) or _VALUE in (one.kind, two.kind)):
            raise source.refusal(
                other.node,
                f"column {place} is {one.kind} in the first SELECT of the union, and {two.kind} here",
            )


def _shape(source: SqlText, tree: exp.Expr, names: Sequence[str]) -> Shape:
    """What stands behind the last SELECT: of the whole table."""
    order = []
    for node in (tree.args.get("order") or exp.Order()).expressions:
        source.check_parts(node, "this", "desc", "nulls_first")
        order.append(Term(_ordered_by(source, source.bare(node.this), names), bool(node.args.get("desc"))))
    limit, offset = (read_number(source, tree, clause) for clause in ("limit", "offset"))
    return Shape(tuple(order), limit, offset or 0)


def _ordered_by(source: SqlText, node: exp.Expr, names: Sequence[str]) -> str:
    if type(node) is exp.Literal and not node.is_string:
        place = source.constant(node)
        if place.denominator == 1 and 1 <= place <= len(names):
            return names[int(place) - 1]
    named = source.plain_name(node)
    found = [name for name in names if named is not None and name.casefold() == named.casefold()]
    if not found:
        reason = (
            f"behind a union, ORDER BY names a column of the first SELECT or its place: {', '.join(names)}"
        )
        raise source.refusal(node, reason)
    return found[0]
