"""Groups: what GROUP BY may name, and how the SELECT list repeats it.

A group is a column with declared values, a text column, or a number with few possible values: a whole number,
a bin, a part of a date.  GROUP BY writes it out, or names its alias or its place in the SELECT list.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from sqlglot import exp

from adyton.errors import InvalidRequest
from adyton.query.expressions import Case, Condition, Not
from adyton.query.groups import Grouped, bins, grouped
from adyton.query.leaves import Constant
from adyton.query.names import columns_in, distinct_names
from adyton.query.nodes import Group
from adyton.query.sql.aggregates import filtered, is_aggregate
from adyton.query.sql.expressions import Source, is_condition
from adyton.query.sql.functions import whens
from adyton.query.sql.names import called, shortened


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


def read_items(source: Source, tree: exp.Expr) -> list[Item]:
    """The SELECT list."""
    items = [_item(source, source.bare(node)) for node in tree.args.get("expressions") or []]
    values = {item.alias.casefold() for item in items if item.alias is not None and not item.groups}
    return [replace(item, computed=True) if _speaks_of(source, item, values) else item for item in items]


def read_groups(source: Source, items: Sequence[Item], clause: exp.Expr | None) -> tuple[Group, ...]:
    """The groups of GROUP BY, under the names that the SELECT list gives them."""
    written = _written(source, clause)
    groups: dict[str, Grouped] = {}
    for node in written:
        group = _resolved(source, node, items)
        if group.text in groups:
            raise source.refusal(node, "GROUP BY names this group twice")
        groups[group.text] = group
    given = _given_names(source, items, groups)
    defaults = [group.default for group in groups.values()]
    names = distinct_names(given, defaults, _aliases_of_values(items))
    return tuple(group.named(name) for group, name in zip(groups.values(), names, strict=True))


def shown_names(source: Source, items: Sequence[Item]) -> tuple[tuple[str, str], ...]:
    """The columns that are shown under another name than their own, which a question keeps."""
    named = [(read_group(source, item.node), item.alias) for item in items if item.groups]
    return tuple(
        (group.default, alias)
        for group, alias in named
        if alias not in (None, group.default) and not group.renamed
    )


def read_histogram(source: Source, items: Sequence[Item]) -> tuple[Group, Condition, str | None] | None:
    """The bins and the rows of a HISTOGRAM, if that is what the SELECT list asks for, and its name."""
    asked = [item for item in items if item.aggregates]
    if len(asked) != 1:
        return None
    node, where = filtered(source, asked[0].node)
    if called(source, node) != "HISTOGRAM":
        return None
    if len(node.expressions) not in (1, 2):
        raise source.refusal(node, "write HISTOGRAM(column), or HISTOGRAM(number, width)")
    group = read_group(source, node.expressions[0]) if len(node.expressions) == 1 else _bins(source, node)
    return group.named(group.default), where, asked[0].alias


def read_group(source: Source, node: exp.Expr) -> Grouped:
    """A group that is written out."""
    node = source.bare(node)
    if type(node) is exp.Star:
        raise source.refusal(node, "single rows are never answered; ask for aggregates, such as COUNT(*)")
    if type(node) is exp.Anonymous and called(source, node) == "LABEL":
        return _labelled(source, node)
    if type(node) is exp.Case and _names_texts(source, node):
        return _labelled_case(source, node)
    if type(node) is exp.Column:
        return grouped(source.column(node))
    value = _truth(source, node) if is_condition(node) else grouped(source.number(node))
    if not any(True for _ in columns_in(value.value)):
        raise source.refusal(node, "a group is made of columns; this is the same for every row")
    return value


def _speaks_of(source: Source, item: Item, values: set[str]) -> bool:
    """Whether it is computed from values by the names that other items give them."""
    names = [source.plain_name(part) for part in item.node.find_all(exp.Column)] if item.groups else []
    return any(name and not source.has_column(name) and name.casefold() in values for name in names)


def _item(source: Source, node: exp.Expr) -> Item:
    alias = None
    if type(node) is exp.Alias:
        source.check_parts(node, "this", "alias")
        node, alias = source.bare(node.this), source.name(node.args["alias"])
    if is_aggregate(node):
        return Item(node, alias, aggregates=True)
    inside = list(node.walk())
    released = any(is_aggregate(part) or type(part) is exp.Window for part in inside)
    columns = any(type(part) in (exp.Column, exp.Star) for part in inside)
    return Item(node, alias, computed=released or not columns)


def _written(source: Source, clause: exp.Expr | None) -> list[exp.Expr]:
    if clause is None:
        return []
    source.check_parts(clause, "expressions")
    listed = clause.args.get("expressions") or []
    if not listed:
        raise InvalidRequest("GROUP BY needs at least one group")
    return list(listed)


def _resolved(source: Source, node: exp.Expr, items: Sequence[Item]) -> Grouped:
    """What GROUP BY means by ``node``: a place in the SELECT list, a column, an alias, or the group."""
    if type(node) is exp.Literal and not node.args["is_string"]:
        return read_group(source, _at_place(source, node, items).node)
    alias = source.plain_name(node)
    if alias is not None and not source.has_column(alias):
        for item in items:
            if item.alias is not None and item.alias.casefold() == alias.casefold() and item.groups:
                return read_group(source, item.node)
    return read_group(source, node)


def _at_place(source: Source, node: exp.Expr, items: Sequence[Item]) -> Item:
    place = source.constant(node)
    if place.denominator != 1 or not 1 <= place <= len(items):
        raise source.refusal(node, f"GROUP BY names a place in the SELECT list: 1 to {len(items)}")
    item = items[int(place) - 1]
    if not item.groups:
        raise source.refusal(node, "GROUP BY names the place of an aggregate; groups are not aggregated")
    return item


def _given_names(source: Source, items: Sequence[Item], groups: Mapping[str, Grouped]) -> list[str | None]:
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


def _listed(source: Source, item: Item, groups: Mapping[str, Grouped]) -> Grouped:
    group = read_group(source, item.node)
    if group.text not in groups:
        reason = f"add GROUP BY {shortened(group.text)}, or ask for an aggregate such as COUNT or AVG"
        raise source.refusal(item.node, f"{group.default!r} is neither grouped nor aggregated: {reason}")
    return group


def _aliases_of_values(items: Sequence[Item]) -> list[str]:
    return [item.alias for item in items if item.alias is not None and item.aggregates]


def _labelled(source: Source, node: exp.Expr) -> Grouped:
    if len(node.expressions) < 2:
        raise source.refusal(node, "write LABEL(number, 'name of 0', 'name of 1', ...)")
    value = source.number(node.expressions[0])
    if value.lattice.grain != 1:
        raise source.refusal(node, "LABEL names the whole numbers 0, 1, 2 and so on")
    labels = tuple(_label(source, label) for label in node.expressions[1:])
    if len({type(label) for label in labels}) > 1:
        raise source.refusal(node, "labels are all strings, all whole numbers, or all TRUE or FALSE")
    return grouped(value, labels)


def _truth(source: Source, node: exp.Expr) -> Grouped:
    """Where a condition is false, and where it is true; a row for which it is neither is in no group."""
    condition = source.condition(node)
    one, zero = Constant(Fraction(1)), Constant(Fraction(0))
    return grouped(Case(((condition, one), (Not(condition), zero))), (False, True))


def _names_texts(source: Source, node: exp.Expr) -> bool:
    """Whether a CASE gives texts, where a number is usual."""
    return any(
        type(source.bare(branch.args["true"])) is exp.Literal and source.bare(branch.args["true"]).is_string
        for branch in node.args["ifs"]
    )


def _labelled_case(source: Source, node: exp.Expr) -> Grouped:
    """Texts are numbered in the order in which CASE first gives them."""
    default = node.args.get("default")
    otherwise = None if default is None else _text(source, default)
    branches = [(when, _text(source, then)) for when, then in whens(source, node)]
    given = [text for _, text in branches] + ([] if otherwise is None else [otherwise])
    labels = tuple(dict.fromkeys(given))
    codes = {label: Constant(Fraction(code)) for code, label in enumerate(labels)}
    numbered = tuple((condition, codes[text]) for condition, text in branches)
    return grouped(Case(numbered, None if otherwise is None else codes[otherwise]), labels)


def _text(source: Source, node: exp.Expr) -> str:
    text = source.operand(node)
    if not isinstance(text, str):
        raise source.refusal(node, "a CASE gives strings everywhere or nowhere")
    return text


def _label(source: Source, node: exp.Expr) -> str | int | bool:
    label = source.operand(node)
    if isinstance(label, Constant) and label.value.denominator == 1:
        return int(label.value)
    if not isinstance(label, str | bool):
        raise source.refusal(node, "a label is a string, a whole number, TRUE or FALSE")
    return label


def _bins(source: Source, node: exp.Expr) -> Grouped:
    return bins(source.number(node.expressions[0]), source.constant(node.expressions[1]))
