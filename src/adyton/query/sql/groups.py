"""Groups: what GROUP BY may name, and how the SELECT list repeats it.

A group is a column with declared values, a text column, or a number with few possible values: a whole number,
a bin, a part of a date.  GROUP BY writes it out, or names its alias or its place in the SELECT list.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from adyton.errors import InvalidRequest
from adyton.kernel.schema import BooleanColumn, CategoryColumn
from adyton.kernel.terms.buckets import Group
from adyton.kernel.terms.expressions import Case, Condition, Not, NumberExpression
from adyton.kernel.terms.leaves import Constant, DayFrom, DayOf, Lookup
from adyton.kernel.terms.names import columns_in
from adyton.query.groups import Grouped, bins, grouped
from adyton.query.missing import ONE, ZERO
from adyton.query.names import distinct_names
from adyton.query.sql.aggregates import filtered, is_aggregate, is_computed
from adyton.query.sql.expressions import OPERATORS, SqlText
from adyton.query.sql.functions.arguments import arguments, several
from adyton.query.sql.functions.labels import LABELS, NOT_GROUPED, NOT_IN_SET
from adyton.query.sql.functions.values import Texts, Value, is_text, texts_of
from adyton.query.sql.names import called, calls, shortened

_NAMELESS = ("CLAMP", "CLIPPED", "GREATEST", "LEAST", "LOOKUP", "SQUARE", "UNDECLARED", "DATE_FROM_UNIX_DATE")

# What is computed from keys alone; not what asks whether they are missing.
_OF_KEYS = (
    *LABELS,
    NOT_IN_SET,
    NOT_GROUPED,
    "ABS",
    "SIGN",
    "FLOOR",
    "CEIL",
    "CEILING",
    "ROUND",
    "TRUNC",
    "MOD",
    "GREATEST",
    "LEAST",
)
_OF_MISSING = ("COALESCE", "IFNULL", "NVL")
_OPERATIONS = {
    *(exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.Neg, exp.Paren, exp.DPipe, exp.Cast, exp.Case, exp.If),
    *(exp.And, exp.Or, exp.Not, exp.Between, exp.In, *OPERATORS),
}


@dataclass(frozen=True, slots=True)
class Item:
    """One item of the SELECT list: what it asks for, its place, and the name that it is given, if any."""

    node: exp.Expr
    alias: str | None
    aggregates: bool = False  # it is an aggregate
    computed: bool = False  # it has an aggregate inside it, or no column at all

    @property
    def groups(self) -> bool:
        return not self.aggregates and not self.computed


def read_items(source: SqlText, tree: exp.Expr) -> list[Item]:
    """The SELECT list."""
    items = [_item(source, node) for node in tree.expressions]
    values = {item.alias.casefold() for item in items if item.alias is not None and not item.groups}
    return [replace(item, computed=True) if _speaks_of(source, item, values) else item for item in items]


def read_groups(
    source: SqlText, items: Sequence[Item], clause: exp.Expr | None
) -> tuple[tuple[Group, ...], list[Item]]:
    """The groups of GROUP BY, under the names that the SELECT list gives them; and the items, of which those
    are computed that are made of groups.
    """
    written = _written(source, clause)
    groups: dict[str, Grouped] = {}
    for node in written:
        group = _resolved(source, node, items)
        if group.text in groups:
            raise source.refusal(node, "GROUP BY names this group twice")
        groups[group.text] = group
    items = [_computed(source, item, groups) if item.groups else item for item in items]
    given = _given_names(source, items, groups)
    defaults = [group.default for group in groups.values()]
    taken = [item.alias for item in items if item.alias is not None and item.aggregates]
    names = distinct_names(given, defaults, taken)
    by = tuple(group.named(name) for group, name in zip(groups.values(), names, strict=True))
    return by, items


def shown_names(source: SqlText, items: Sequence[Item]) -> tuple[tuple[str, str], ...]:
    """The columns that are shown under another name than their own, which a query keeps."""
    named = [(read_group(source, item.node), item.alias) for item in items if item.groups]
    return tuple(
        (group.default, alias)
        for group, alias in named
        if alias not in (None, group.default) and not group.renamed
    )


def read_histogram(source: SqlText, items: Sequence[Item]) -> tuple[Group, Condition, str | None] | None:
    """The bins and the rows of a HISTOGRAM, if that is what the SELECT list asks for, and its name."""
    asked = [item for item in items if item.aggregates]
    if len(asked) != 1:
        return None
    node, where = filtered(source, asked[0].node)
    if type(node) is exp.WithinGroup or called(source, node) != "HISTOGRAM":
        return None
    form = "HISTOGRAM(column), or HISTOGRAM(number, width)"
    value, *width = arguments(source, node, form, 1, 2)
    group = bins(source.number(value), source.constant(width[0])) if width else read_group(source, value)
    return group.named(group.default), where, asked[0].alias


def read_group(source: SqlText, node: exp.Expr) -> Grouped:
    """A group that is written out."""
    node = source.bare(node)
    if type(node) is exp.Star:
        raise source.refusal(node, "single rows are never answered; ask for aggregates, such as COUNT(*)")
    if calls(node, ("LABEL",)):
        return _labelled(source, node)
    if type(node) is exp.Column:
        return grouped(source.column(node))
    with source.at(node):
        group = _of_value(source.operand(node), _default(source, node))
    if not any(True for _ in columns_in(group.value)):
        raise source.refusal(node, "a group is made of columns; this is the same for every row")
    return group


def _of_value(value: Value, default: str) -> Grouped:
    """What rows with the same value are called: a string by itself, a truth, a day, or a number."""
    match value:
        case Texts(code, labels):
            if isinstance(code, Lookup) and is_text(code.column) and texts_of(code.column) == value:
                return grouped(code.column)
            return Grouped(code, labels, default)
        case CategoryColumn() | BooleanColumn():
            return grouped(value)
    if isinstance(value, Condition):
        return grouped(Case(((value, ONE), (Not(value), ZERO))), (False, True))
    if isinstance(value, DayOf | DayFrom):
        return Grouped(value, None, value.column.name if isinstance(value, DayOf) else default)
    if not isinstance(value, NumberExpression):
        raise InvalidRequest("a group is made of columns; this is the same for every row")
    group = grouped(value)
    return Grouped(value, None, default) if group.default == "group" else group


def _default(source: SqlText, node: exp.Expr) -> str:
    """A function of one column is called after both, if it is not older than that rule."""
    columns = {str(part.name) for part in node.find_all(exp.Column) if source.has_column(str(part.name))}
    if len(columns) != 1:
        return "group"
    (column,) = columns
    if type(node) is exp.Anonymous and called(source, node) not in _NAMELESS:
        return f"{called(source, node).lower()}_{column}"
    if type(node) is exp.Extract:
        return f"{str(node.this.this).lower()}_{column}"
    return column if type(node) in (exp.Cast, exp.TryCast) else "group"


def _speaks_of(source: SqlText, item: Item, values: set[str]) -> bool:
    """Whether it is computed from values by the names that other items give them."""
    names = [source.plain_name(part) for part in item.node.find_all(exp.Column)] if item.groups else []
    return any(name and not source.has_column(name) and name.casefold() in values for name in names)


def _item(source: SqlText, node: exp.Expr) -> Item:
    node, alias = source.item(node)
    if is_aggregate(node) and not is_computed(node):
        return Item(node, alias, aggregates=True)
    inside = list(node.walk())
    released = any(is_aggregate(part) or type(part) is exp.Window for part in inside)
    columns = any(type(part) in (exp.Column, exp.Star) for part in inside)
    return Item(node, alias, computed=released or not columns)


def _written(source: SqlText, clause: exp.Expr | None) -> list[exp.Expr]:
    if clause is None:
        return []
    source.check_parts(clause, "expressions")
    listed = clause.args.get("expressions") or []
    if not listed:
        raise InvalidRequest("GROUP BY needs at least one group")
    return list(listed)


def _resolved(source: SqlText, node: exp.Expr, items: Sequence[Item]) -> Grouped:
    """What GROUP BY means by ``node``: a place in the SELECT list, a column, an alias, or the group."""
    if type(node) is exp.Literal and not node.args["is_string"]:
        return read_group(source, _at_place(source, node, items).node)
    alias = source.plain_name(node)
    if alias is not None and not source.has_column(alias):
        for item in items:
            if item.alias is not None and item.alias.casefold() == alias.casefold() and item.groups:
                return read_group(source, item.node)
    return read_group(source, node)


def _at_place(source: SqlText, node: exp.Expr, items: Sequence[Item]) -> Item:
    place = source.constant(node)
    if place.denominator != 1 or not 1 <= place <= len(items):
        raise source.refusal(node, f"GROUP BY names a place in the SELECT list: 1 to {len(items)}")
    item = items[int(place) - 1]
    if not item.groups:
        raise source.refusal(node, "GROUP BY names the place of an aggregate; groups are not aggregated")
    return item


def _given_names(source: SqlText, items: Sequence[Item], groups: Mapping[str, Grouped]) -> list[str | None]:
    """The alias of each group in the SELECT list; an item that is no group is refused."""
    given: dict[str, str | None] = {}
    for item in items:
        if not item.groups:
            continue
        group = _listed(source, item, groups)
        if group.text in given:
            raise source.refusal(item.node, "SELECT names this group twice")
        given[group.text] = item.alias if group.renamed else None
    return [given.get(text) for text in groups]


def _computed(source: SqlText, item: Item, groups: Mapping[str, Grouped]) -> Item:
    """An item that is no group, and made of groups, is computed from the keys of an answer."""
    if not groups or type(item.node) is exp.Column or _may_mean_another(item, groups):
        return item
    own, made = _group_text(source, item.node) in groups, _is_made_of(source, item.node, groups)
    return item if own or not made else replace(item, computed=True)


def _may_mean_another(item: Item, groups: Mapping[str, Grouped]) -> bool:
    """Whether databases disagree on what GROUP BY means: a column, or the item that is called so."""
    alias = (item.alias or "").casefold()
    of_sets = any(calls(part, (NOT_IN_SET, NOT_GROUPED)) for part in item.node.walk())
    return not of_sets and any(group.default.casefold() == alias for group in groups.values())


def _is_made_of(source: SqlText, node: exp.Expr, groups: Mapping[str, Grouped]) -> bool:
    """Where rows whose group is missing are in none, what asks for missing keys would speak of nothing."""
    if node.find(exp.Column) is None or _group_text(source, node) in groups:
        return True
    if type(node) is exp.Is or calls(node, _OF_MISSING):
        asked = node.this if type(node) is exp.Is else node.expressions[0] if node.expressions else None
        group = groups.get(_group_text(source, asked) or "") if asked is not None else None
        known = group is not None and group.null
    else:
        known = calls(node, _OF_KEYS) or type(node) in _OPERATIONS
    return known and all(_is_made_of(source, part, groups) for part in node.iter_expressions())


def _group_text(source: SqlText, node: exp.Expr) -> str | None:
    try:
        return read_group(source, node).text
    except InvalidRequest:  # whatever it is, it is no group
        return None


def _listed(source: SqlText, item: Item, groups: Mapping[str, Grouped]) -> Grouped:
    group = read_group(source, item.node)
    if group.text not in groups:
        said, add = "this", "it to GROUP BY"
        if type(item.node) is exp.Column:
            said, add = repr(group.default), f"GROUP BY {shortened(group.text)}"
        reason = f"add {add}, or ask for an aggregate such as COUNT or AVG"
        raise source.refusal(item.node, f"{said} is neither grouped nor aggregated: {reason}")
    return group


def _labelled(source: SqlText, node: exp.Expr) -> Grouped:
    number, *named = several(source, node, "LABEL(number, 'name of 0', 'name of 1', ...)")
    value = source.number(number)
    if value.lattice.step != 1:
        raise source.refusal(node, "LABEL names the whole numbers 0, 1, 2 and so on")
    labels = tuple(_label(source, label) for label in named)
    if len({type(label) for label in labels}) > 1:
        raise source.refusal(node, "labels are all strings, all whole numbers, or all TRUE or FALSE")
    return grouped(value, labels)


def _label(source: SqlText, node: exp.Expr) -> str | int | bool:
    label = source.operand(node)
    if isinstance(label, Constant) and label.value.denominator == 1:
        return int(label.value)
    if not isinstance(label, str | bool):
        raise source.refusal(node, "a label is a string, a whole number, TRUE or FALSE")
    return label
