"""MODE(x), the k most common values of x, and COUNT(DISTINCT x): by the noisy counts of all values of x.

They are made of the answer that is grouped by x as well.  The most common values are its first rows by their
counts, with their RANK, whose interval says who else may stand there.  COUNT(DISTINCT x) counts its rows,
those whose count shows that there is a row: ``OCCURRING``, which no text can name.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from adyton.kernel.schema import TextColumn, declares_missing
from adyton.query.released.windows import MOST_ROWS, OCCURRING
from adyton.query.sql.aggregates import COMMON, DISTINCT
from adyton.query.sql.functions.arguments import arguments
from adyton.query.sql.rewrite.scopes import Context, has_aggregate, is_window, placed


@dataclass(frozen=True, slots=True)
class _ValuesCall:
    """A call: ``number`` most common values of ``value``, or how many there are if it is None."""

    item: exp.Expr  # with its FILTER
    value: exp.Expr
    number: int | None

    @property
    def name(self) -> str:
        return "COUNT(DISTINCT ...)" if self.number is None else "MODE"


def count_values(context: Context, tree: exp.Expr) -> None:
    """The SELECT that is grouped by the values, if its list asks for them.

    >>> after("SELECT MODE(kind) AS common FROM sales")
    SELECT kind AS common, COUNT(*), RANK() OVER (ORDER BY COUNT(*) DESC) FROM sales GROUP BY kind
    QUALIFY ROW_NUMBER() OVER (ORDER BY COUNT(*) DESC) <= 1 ORDER BY COUNT(*) DESC
    """
    items = [_bare(item) for item in tree.expressions]
    asked = [(place, one) for place, item in enumerate(items) if (one := _asked(context, item)) is not None]
    if not asked:
        return
    place, one = asked[0]
    _check_alone(context, tree, [other for other in items if other is not one.item], one)
    _pass_over_missing(context, tree, one.value)
    groups = _groups(tree, items)
    counted: exp.Expr = exp.Anonymous(this="COUNT", expressions=[exp.Star()])
    if type(one.item) is exp.Filter:
        counted = exp.Filter(this=counted, expression=context.copy(one.item.args["expression"]))
    counted = placed(counted, one.item)
    shown = tree.expressions[place]
    if one.number is None:
        _write_number(tree, shown, one, groups, counted)
    else:
        _write_common(tree, shown, one, groups, counted)
    listed = tree.args["group"].expressions if groups else []
    tree.set("group", exp.Group(expressions=[*listed, one.value.copy()]))


def _pass_over_missing(context: Context, tree: exp.Expr, value: exp.Expr) -> None:
    """As aggregates do: where NULL would be a group, rows without a value are left out."""
    own = [column for table in context.tables for column in table.columns if declares_missing(column)]
    public = [
        attribute.column
        for table in context.tables
        for one in table.dimensions
        if declares_missing(table.column(one.joins))
        for attribute in one.attributes
    ]
    named = {column.name.casefold() for column in (*own, *public)}
    if not any(column.name.casefold() in named for column in value.find_all(exp.Column)):
        return
    there = exp.Not(this=exp.Is(this=exp.Paren(this=value.copy()), expression=exp.Null()))
    clause = tree.args.get("where")
    said = there if clause is None else exp.And(this=exp.Paren(this=clause.this), expression=there)
    tree.set("where", exp.Where(this=said))


def _write_common(
    tree: exp.Expr, shown: exp.Expr, one: _ValuesCall, groups: list[exp.Expr], counted: exp.Expr
) -> None:
    """The value in the place of MODE, its count and its rank at the end; the first ``number`` rows."""
    value = one.value.copy()
    item = value if type(shown) is not exp.Alias else exp.Alias(this=value, alias=shown.args["alias"])
    rank = _window(exp.Anonymous(this="RANK", expressions=[]), groups, counted, falling=True)
    others = [own if own is not shown else item for own in tree.expressions]
    tree.set("expressions", [*others, counted.copy(), rank])
    _keep(tree, groups, counted, falling=True, number=one.number or 1)
    if tree.args.get("order") is None and not groups:
        order = exp.Ordered(this=counted.copy(), desc=True, nulls_first=False)
        tree.set("order", exp.Order(expressions=[order]))


def _write_number(
    tree: exp.Expr, shown: exp.Expr, one: _ValuesCall, groups: list[exp.Expr], counted: exp.Expr
) -> None:
    """How many occur in the place of COUNT(DISTINCT x), in one of the rows of all values."""
    occurring = exp.Anonymous(this=OCCURRING, expressions=[counted, one.value.copy()])
    number = exp.Window(this=occurring, partition_by=[group.copy() for group in groups], over="OVER")
    if (order := tree.args.get("order")) is not None:
        for node in [node for node in order.walk() if node == one.item]:
            node.replace(number.copy())
    alias = shown.args["alias"] if type(shown) is exp.Alias else _default(one.value)
    item = exp.Alias(this=placed(number, one.item), alias=alias)
    tree.set("expressions", [own if own is not shown else item for own in tree.expressions])
    _keep(tree, groups, one.value, falling=False, number=1)


def _default(value: exp.Expr) -> exp.Expr:
    name = f"count_distinct_{value.name}" if type(value) is exp.Column else "count_distinct"
    return exp.Identifier(this=name, quoted=True)


def _keep(tree: exp.Expr, groups: list[exp.Expr], by: exp.Expr, *, falling: bool, number: int) -> None:
    """Of each group the first rows."""
    row = _window(exp.Anonymous(this="ROW_NUMBER", expressions=[]), groups, by, falling=falling)
    first = exp.LTE(this=row, expression=exp.Literal.number(number))
    tree.set("qualify", exp.Qualify(this=first))


def _window(function: exp.Expr, groups: list[exp.Expr], by: exp.Expr, *, falling: bool) -> exp.Expr:
    order = exp.Order(expressions=[exp.Ordered(this=by.copy(), desc=falling, nulls_first=False)])
    partition = [group.copy() for group in groups]
    return exp.Window(this=function, partition_by=partition, order=order, over="OVER")


# What is asked ---------------------------------------------------------------------------------------------


def _asked(context: Context, item: exp.Expr) -> _ValuesCall | None:
    call = item.this if type(item) is exp.Filter else item
    ordered = call.args["expression"] if type(call) is exp.WithinGroup else None
    call = call.this if ordered is not None else call
    name = str(call.this).upper() if type(call) is exp.Anonymous else ""
    if name in COMMON:
        value, number = _common(context, call, name, ordered)
    elif name in DISTINCT and len(call.expressions) == 1:
        value, number = call.expressions[0], None
    elif name == "COUNT" and len(call.expressions) == 1 and type(call.expressions[0]) is exp.Distinct:
        listed = call.expressions[0].args.get("expressions") or []
        if len(listed) != 1:
            return None
        value, number = listed[0], None
    else:
        return None
    if number is None and not _is_of_values(context, value):
        return None
    _check_declared(context, value)
    return _ValuesCall(item, value, number)


def _common(
    context: Context, call: exp.Expr, name: str, ordered: exp.Expr | None
) -> tuple[exp.Expr, int | None]:
    """The value, and how many of the most common are asked for."""
    source = context.source
    if ordered is not None:
        terms = ordered.args.get("expressions") or []
        if name != "MODE" or call.expressions or len(terms) != 1:
            raise source.refusal(call, "write MODE() WITHIN GROUP (ORDER BY value), or MODE(value)")
        return terms[0].this, 1
    if name == "MODE":
        (value,) = arguments(source, call, "MODE(value), with one value", 1)
        return value, 1
    value, most = arguments(source, call, f"{name}(value, number)", 2)
    number = source.constant(most)
    if number.denominator != 1 or not 1 <= number <= MOST_ROWS:
        raise source.refusal(most, f"a whole number is needed here, 1 to {MOST_ROWS:,}")
    return value, int(number)


def _is_of_values(context: Context, value: exp.Expr) -> bool:
    """Whether it depends on columns, and on no person."""
    columns = list(value.find_all(exp.Column))
    persons = {table.person.casefold() for table in context.tables if table.person is not None}
    return bool(columns) and not any(column.name.casefold() in persons for column in columns)


def _check_declared(context: Context, value: exp.Expr) -> None:
    texts = {
        column.name.casefold(): column.name
        for table in context.tables
        for column in table.columns
        if isinstance(column, TextColumn)
    }
    for column in value.find_all(exp.Column):
        if (name := texts.get(column.name.casefold())) is not None:
            reason = (
                f"nobody declared which values {name} has; SELECT {name}, COUNT(*) AS n FROM "
                f"{context.tables[0].name} GROUP BY {name} ORDER BY n DESC finds those that are common"
            )
            raise context.source.refusal(column, reason)


def _check_alone(context: Context, tree: exp.Expr, others: list[exp.Expr], one: _ValuesCall) -> None:
    """Its rows are not those of other aggregates."""
    reason = (
        f"{one.name} is the only aggregate of its SELECT, beside groups: it is made of the counts of all "
        "values; ask for the others in a query of their own"
    )
    for other in others:
        if has_aggregate(other) or any(is_window(part) for part in other.walk()):
            raise context.source.refusal(other, reason)
    for clause in ("having", "qualify"):
        if tree.args.get(clause) is not None:
            raise context.source.refusal(one.item, f"{reason}, without {clause.upper()}")


def _groups(tree: exp.Expr, items: list[exp.Expr]) -> list[exp.Expr]:
    """What GROUP BY lists, with items for their places."""
    clause = tree.args.get("group")
    listed = clause.args.get("expressions") or [] if clause is not None else []
    return [_at_place(node, items) for node in listed]


def _at_place(node: exp.Expr, items: list[exp.Expr]) -> exp.Expr:
    if type(node) is exp.Literal and not node.is_string and str(node.this).isdigit():
        place = int(node.this)
        return items[place - 1] if 1 <= place <= len(items) else node
    return node


def _bare(item: exp.Expr) -> exp.Expr:
    while type(item) in (exp.Alias, exp.Paren):
        item = item.this
    return item
