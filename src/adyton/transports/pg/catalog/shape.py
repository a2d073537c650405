"""How large and how deep a statement about catalogs may be, and what may stand in it."""

from __future__ import annotations

from sqlglot import exp

from adyton.service.limits import LIMITS
from adyton.transports.pg.catalog.layout import columns_of
from adyton.transports.pg.catalog.limits import too_much, unsupported
from adyton.transports.pg.catalog.naming import named_by
from adyton.transports.pg.errors import SqlError

# Every function is one that the translation lists; points are only left in names of types.
_ALLOWED = (
    exp.Select, exp.SetOperation, exp.Subquery, exp.From, exp.Join, exp.Where, exp.Group, exp.Having,
    exp.Order, exp.Ordered, exp.Limit, exp.Offset, exp.Fetch, exp.Distinct, exp.With, exp.CTE, exp.Table,
    exp.TableAlias, exp.Lateral, exp.Values, exp.Tuple, exp.Identifier, exp.Column, exp.Star, exp.Alias,
    exp.Literal, exp.Boolean, exp.Null, exp.Paren, exp.Neg, exp.Not, exp.EQ, exp.NEQ, exp.LT, exp.LTE,
    exp.GT, exp.GTE, exp.Is, exp.In, exp.Between, exp.Escape, exp.Like, exp.ILike, exp.RegexpLike,
    exp.RegexpILike, exp.NullSafeEQ, exp.NullSafeNEQ, exp.DataType, exp.DataTypeParam, exp.DPipe, exp.Add,
    exp.Sub, exp.Mul, exp.BitwiseAnd, exp.BitwiseOr, exp.Operator, exp.Bracket, exp.Window, exp.WindowSpec,
    exp.Filter, exp.Var, exp.Func, exp.Any, exp.All, exp.LimitOptions, exp.Dot,
)  # fmt: skip
_AROUND = (exp.From, exp.Join, exp.Subquery, exp.Lateral, exp.Paren, exp.CTE)
_CHAINED = (exp.Connector, exp.DPipe, exp.Add)  # a chain of them is as deep as one
_DEEPEST = 400  # parts inside each other
_MOST_SOURCES = 100
_MOST_STARS = 10_000  # columns that stars stand for, all together


def check_shape(tree: exp.Expr) -> None:
    """SqlError for what the database could not bear."""
    waiting = [(tree, 0)]
    while waiting:
        node, depth = waiting.pop()
        if not isinstance(node, _ALLOWED):
            raise unsupported(node.key.upper())
        if depth > _DEEPEST:
            raise SqlError("54001", "this statement nests too deep")
        for child in node.iter_expressions():
            chained = isinstance(node, _CHAINED) and type(child) is type(node)
            waiting.append((child, depth if chained else depth + 1))
    if sum(1 for _ in tree.find_all(exp.Table, exp.Subquery, exp.Unnest)) > _MOST_SOURCES:
        raise too_much()
    widths = _Widths()
    for select in tree.find_all(exp.Select):
        widths.of(select)


class _Widths:
    """Columns of each SELECT, at most: a star is taken for all columns of all sources."""

    def __init__(self) -> None:
        self._stars, self._known = 0, dict[int, int]()

    def of(self, tree: exp.Expr | None) -> int:
        if tree is None:
            return 0
        if id(tree) not in self._known:
            self._known[id(tree)] = 1  # WITH RECURSIVE may name itself
            self._known[id(tree)] = self._of(tree)
        return self._known[id(tree)]

    def _of(self, tree: exp.Expr) -> int:
        if isinstance(tree, exp.SetOperation):
            return max(self.of(tree.this), self.of(tree.expression))
        if isinstance(tree, exp.Select):
            return self._select(tree)
        if isinstance(tree, exp.Values):
            return max((len(one.expressions) for one in tree.expressions), default=1)
        if isinstance(tree, exp.Table):
            own = columns_of((tree.db, tree.name)) if tree.db else None
            width = self.of(named_by(tree)) if own is None else len(own)
        else:
            width = self.of(tree.this) if isinstance(tree, _AROUND) else 2
        return width + sum(map(self.of, tree.args.get("joins") or ()))

    def _select(self, tree: exp.Select) -> int:
        parts = (tree.args.get("joins"), tree.args.get("laterals"))
        sources = [tree.args.get("from_"), *(one for some in parts for one in some or ())]
        stars = sum(1 for one in tree.expressions if one.is_star)
        widths = stars * sum(map(self.of, sources))
        self._stars += widths
        width = len(tree.expressions) - stars + widths
        if width > LIMITS.wire_columns or self._stars > _MOST_STARS:
            raise SqlError("54011", f"a SELECT has at most {LIMITS.wire_columns} columns")
        return width
