"""HAVING, QUALIFY, ORDER BY, LIMIT and OFFSET, and computed columns: read into the shape of an answer.

They speak of what is released: the names of the answer, aggregates, groups.  A name is always one of the
answer here, whatever columns there are.
"""

from __future__ import annotations

from fractions import Fraction

from sqlglot import exp

from adyton.errors import InvalidRequest
from adyton.query.conditions.possible_cells import number_of_cells
from adyton.query.names import check_names, distinct_names
from adyton.query.nodes import Query
from adyton.query.released.nodes import (
    SIGNS,
    Every,
    Having,
    IsNull,
    Opposite,
    Relation,
    Released,
    ReleasedName,
    Side,
    Sign,
    Some,
    Term,
    has_window,
    is_label,
    names_in,
)
from adyton.query.released.windows import MOST_ROWS as MOST_WINDOW_ROWS
from adyton.query.request import AS_ASKED, Shape
from adyton.query.sql.aggregates import read_computed
from adyton.query.sql.expressions import OPERATORS, SqlText
from adyton.query.sql.groups import shown_names
from adyton.query.sql.released import Reader

CLAUSES = ("having", "qualify", "order", "limit", "offset")
MOST_ROWS = 10**12
_COMPARES = "HAVING compares values and keys of the answer with literals"
ALWAYS, NEVER = Every(()), Some(())
_OPPOSITES: dict[Having, Having] = {ALWAYS: NEVER, NEVER: ALWAYS}


def read_shape(reader: Reader, tree: exp.Expr) -> Shape:
    """What the SELECT list computes, and what the clauses behind GROUP BY say."""
    names, computed = shown_names(reader.source, reader.items), any(item.computed for item in reader.items)
    if not (names or computed or any(tree.args.get(clause) is not None for clause in CLAUSES)):
        return AS_ASKED
    listed = len(reader.measures)
    shown = _shown(reader)
    having = _condition(reader, tree.args.get("having"), windows=False)
    qualify = _condition(reader, tree.args.get("qualify"), windows=True)
    order = _order(reader, tree.args.get("order"))
    if len(reader.measures) == listed and not computed:
        shown = ()
    values = [name for name, _ in shown] or reader.value_names()
    kept = [group.name for group in reader.by if group.name not in dict(names)]
    listed_keys = {reader.grouped(item.node) for item in reader.items if item.groups}
    texts = {name for name, value in shown if is_label(value) and name in names_in(value)} - listed_keys
    kept = [name for name in kept if name not in texts]  # a text takes the place of a key that is not listed
    check_names([*values, *(key for _, key in names)], kept)
    return Shape(
        names=names,
        order=order,
        limit=read_number(reader.source, tree, "limit"),
        offset=read_number(reader.source, tree, "offset") or 0,
        having=having,
        shown=shown,
        qualify=qualify,
    )


def check_windows(query: Query, shape: Shape) -> None:
    """Windows are worked out row by row, so an answer that needs them must not have very many."""
    said = [value for _, value in shape.shown] + [term.value for term in shape.order]
    windows = any(map(has_window, said)) or shape.qualify is not None
    if windows and not query.discovers_groups and number_of_cells(query) > MOST_WINDOW_ROWS:
        what = "values are counted" if shape.folded else "windows are worked out"
        raise InvalidRequest(
            f"{what} over at most {MOST_WINDOW_ROWS:,} rows of an answer; "
            f"this one has {number_of_cells(query):,}: export it without them, or use wider groups"
        )


def _shown(reader: Reader) -> tuple[tuple[str, Released], ...]:
    """The columns beside keys, in the order of SELECT."""
    measures = iter(list(reader.measures))
    values: list[Released] = []
    given: list[str | None] = []
    defaults: list[str] = []
    for place, item in enumerate(reader.items):
        if item.aggregates:
            name = next(measures)[0]
            values.append(ReleasedName(name))
            given.append(item.alias or name)
            defaults.append(name)
        elif item.computed:
            values.append(reader.item(place))
            given.append(item.alias)
            defaults.append(_default(reader.source, item.node))
    taken = [*reader.key_names().values(), *reader.key_names()]
    return tuple(zip(distinct_names(given, defaults, taken), values, strict=True))


def _default(source: SqlText, node: exp.Expr) -> str:
    """What a computed column is called that was given no name: as a measure that it is, the function, or just
    a value.
    """
    if (computed := read_computed(source, node)) is not None:
        return computed.name
    node = node.this if type(node) is exp.Window else node
    return str(node.this).lower() if type(node) is exp.Anonymous else "value"


def read_number(source: SqlText, tree: exp.Expr, clause: str) -> int | None:
    """What LIMIT or OFFSET says."""
    if (said := tree.args.get(clause)) is None:
        return None
    source.check_parts(said, "expression")
    value = source.constant(said.args["expression"])
    if value.denominator != 1 or not 0 <= value <= MOST_ROWS:
        raise source.refusal(said.args["expression"], f"{clause.upper()} is a whole number, not below 0")
    return int(value)


# Order -----------------------------------------------------------------------------------------------------


def _order(reader: Reader, clause: exp.Expr | None) -> tuple[Term, ...]:
    if clause is None:
        return ()
    reader.source.check_parts(clause, "expressions")
    reader.windows = True
    terms: list[Term] = []
    for node in clause.expressions:
        place = _place(reader, reader.source.bare(node.this))
        if place is None:
            terms += reader.terms(exp.Order(expressions=[node]))
        else:
            reader.source.check_parts(node, "this", "desc", "nulls_first")
            terms += _term(place, bool(node.args.get("desc")))
    return tuple(terms)


def _term(value: Released, descending: bool) -> list[Term]:
    """A literal is the same for every row, and orders nothing."""
    if isinstance(value, Fraction | str | bool) or value is None:
        return []
    return [Term(value.name if isinstance(value, ReleasedName) else value, descending)]


def _place(reader: Reader, node: exp.Expr) -> Released:
    """What stands at a place of the SELECT list, if ``node`` is a number."""
    if type(node) is not exp.Literal or node.args["is_string"]:
        return None
    place, items = reader.source.constant(node), reader.items
    if place.denominator != 1 or not 1 <= place <= len(items):
        raise reader.source.refusal(node, f"ORDER BY names a place in the SELECT list: 1 to {len(items)}")
    before, item = items[: int(place) - 1], items[int(place) - 1]
    if item.aggregates:  # two may ask for the same, each with noise of its own
        return ReleasedName(reader.measures[sum(one.aggregates for one in before)][0])
    if item.computed:
        return reader.item(int(place) - 1)
    return reader.value(item.node)


# Conditions ------------------------------------------------------------------------------------------------


def _condition(reader: Reader, clause: exp.Expr | None, *, windows: bool) -> Having | None:
    if clause is None:
        return None
    reader.source.check_parts(clause, "this")
    reader.windows = windows
    condition = read_condition(reader, clause.this)
    if condition == NEVER:
        raise reader.source.refusal(clause.this, "this is never true: all rows would be paid for, none shown")
    return None if condition == ALWAYS else condition


def read_condition(reader: Reader, node: exp.Expr, *, behind: bool = True) -> Having:
    """A condition on what is released."""
    source = reader.source
    node = source.bare(node)
    if type(node) in (exp.And, exp.Or):
        parts = tuple(read_condition(reader, part, behind=behind) for part in source.operands(node))
        return _joined(Every, parts, NEVER) if type(node) is exp.And else _joined(Some, parts, ALWAYS)
    if type(node) is exp.Not:
        source.check_parts(node, "this")
        inner = read_condition(reader, node.this, behind=behind)
        return _OPPOSITES.get(inner) or Opposite(inner)
    if type(node) is exp.Boolean:
        return ALWAYS if node.this else NEVER
    if type(node) is exp.Is and type(source.bare(node.args["expression"])) is exp.Null:
        source.check_parts(node, "this", "expression")
        return IsNull(reader.value(node.this, behind=behind))
    if type(node) is exp.Between:
        source.check_parts(node, "this", "low", "high")
        value, low, high = (reader.value(node.args[part], behind=behind) for part in ("this", "low", "high"))
        sides = (_relation(reader, node, value, ">=", low), _relation(reader, node, value, "<=", high))
        return _joined(Every, sides, NEVER)
    if type(node) is exp.In:
        return _in(reader, node, behind)
    if type(node) in OPERATORS:
        left, right = (reader.value(side, behind=behind) for side in source.sides(node))
        return _relation(reader, node, left, OPERATORS[type(node)], right)
    if type(node) is exp.Column:
        value = reader.value(node, behind=behind)
        if reader.kind(value) is bool:
            return Relation(value, "=", True)
    raise source.refusal(node, _COMPARES)


def _in(reader: Reader, node: exp.Expr, behind: bool) -> Having:
    listed = reader.source.listed(node)
    left, values = reader.value(node.this, behind=behind), [reader.value(value) for value in listed]
    if not all(isinstance(value, Fraction | str | bool) for value in values):
        raise reader.source.refusal(node.this, "IN needs a list of literals")
    return _joined(Some, tuple(_relation(reader, node, left, "=", value) for value in values), ALWAYS)


def _joined(kind: type[Every] | type[Some], parts: tuple[Having, ...], settled: Having) -> Having:
    """AND or OR, which one part can settle; what is written out says no more."""
    left = tuple(part for part in parts if part != kind(()))
    if settled in left:
        return settled
    return left[0] if len(left) == 1 < len(parts) else kind(left)


def _relation(reader: Reader, node: exp.Expr, left: Side, sign: Sign, right: Side) -> Having:
    """A comparison; of two literals whether it is true."""
    if left is None or right is None:
        raise reader.source.refusal(node, "nothing equals NULL: write IS NULL or IS NOT NULL")
    for side, other in ((left, right), (right, left)):
        if isinstance(side, str) and reader.is_day(other):
            reader.source.day(node, side)  # must be one, written as keys are
    if reader.kind(left) is not reader.kind(right):
        raise reader.source.refusal(
            node, "a number, a string and a boolean cannot be compared with one another"
        )
    if reader.kind(left) is bool and sign not in ("=", "<>"):
        raise reader.source.refusal(node, "TRUE and FALSE have no order; use = or <>")
    written = Fraction | str | bool
    if isinstance(left, written) and isinstance(right, written):
        if isinstance(left, str) and sign not in ("=", "<>"):
            raise reader.source.refusal(node, "both sides are literals: nothing of the answer is compared")
        return ALWAYS if SIGNS[sign](left, right) else NEVER
    return Relation(left, sign, right)
