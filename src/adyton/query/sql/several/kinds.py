"""Which type a database gives each part of a text: whole numbers divide and round differently from others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal

from adyton.kernel.schema import BooleanColumn, CategoryColumn, DateColumn, IntegerColumn, RealColumn, Table

if TYPE_CHECKING:  # the parser costs more than all other imports
    from sqlglot import exp

Kind = Literal["whole", "numeric", "double", "date", "truth", "text", "null", "other"]
_NUMBERS: tuple[Kind, ...] = ("whole", "numeric", "double")  # a sum of two is of the later kind
_EXACT = ("postgres", "redshift")  # a sum of BIGINT, and a mean of whole numbers, is NUMERIC
_KEEP_WHOLE = ("tsql", "sqlite", "redshift")  # FLOOR of a whole number is one


class Kinds:
    """Of the parts of one tree, while nothing in it has changed."""

    def __init__(self, dialect: str, tables: Sequence[Table]) -> None:
        self._dialect = dialect
        self._columns = {table.name.casefold(): _columns_of(table) for table in tables}
        self._found: dict[int, Kind] = {}
        self._released: dict[int, bool] = {}
        self._items: dict[int, dict[str, exp.Expr]] = {}  # of each SELECT, by their names

    def of(self, node: exp.Expr | None) -> Kind:
        if node is None:
            return "null"
        if id(node) not in self._found:
            self._found[id(node)] = "other"  # while it is looked for: a name may be defined by itself
            self._found[id(node)] = self._of(node)
        return self._found[id(node)]

    def _of(self, node: exp.Expr) -> Kind:
        from sqlglot import exp

        match node:
            case exp.Literal():
                return "text" if node.is_string else "whole" if node.name.isdecimal() else "numeric"
            case exp.Null():
                return "null"
            case exp.Column():
                defined = self._definition(node)
                return self.of(defined) if isinstance(defined, exp.Expr) else defined
            case exp.Cast():
                return _kind_named(node.to)
            case exp.Convert():
                return _kind_named(node.this)
            case exp.Add() | exp.Sub() | exp.Mul() | exp.Mod() | exp.Div():
                return self._of_sign(node, self.of(node.this), self.of(node.expression))
            case exp.Case():
                chosen = [one.args["true"] for one in node.args["ifs"]]
                return self._wider([*chosen, node.args.get("default")])
            case exp.If():
                return self._wider([node.args["true"], node.args.get("false")])
            case exp.Coalesce() | exp.Greatest() | exp.Least():
                return self._wider([node.this, *node.expressions])
            case exp.Anonymous() if node.name.upper() in ("CLAMP", "GREATEST", "LEAST"):
                return self._wider(node.expressions)
            case exp.Anonymous() | exp.Interval():
                return "other"
            case exp.Subquery() | exp.Select():
                items = _first(node).expressions
                return self.of(items[0]) if items else "other"
            case exp.Extract():
                return "numeric" if self._dialect == "postgres" else "whole"
        return self._of_function(node)

    def _of_function(self, node: exp.Expr) -> Kind:
        from sqlglot import exp

        if isinstance(node, _whole()):
            return "whole"
        if isinstance(node, exp.Predicate | exp.Connector | exp.Not | exp.Boolean):
            return "truth"
        if isinstance(node, _texts()):
            return "text"
        inner = self.of(node.this) if isinstance(node.this, exp.Expr) else "other"
        match node:
            case exp.Sum() | exp.Avg() if inner == "whole":
                mean = isinstance(node, exp.Avg) and self._dialect != "tsql"
                return "numeric" if mean or self._dialect in _EXACT else "whole"
            case exp.Floor() | exp.Ceil() | exp.Sign() | exp.Round() | exp.Trunc() if inner == "whole":
                keeps = self._dialect == "tsql" or not isinstance(node, exp.Round | exp.Trunc)
                return "whole" if keeps and self._dialect in _KEEP_WHOLE else "double"
            case exp.Date() | exp.CurrentDate() | exp.DateTrunc() | exp.TimestampTrunc() | exp.TsOrDsToDate():
                return "date"
        return inner if isinstance(node, _same()) else "other"

    def _of_sign(self, node: exp.Expr, left: Kind, right: Kind) -> Kind:
        from sqlglot import exp

        if "date" in (left, right):
            between = isinstance(node, exp.Sub) and left == right
            return "whole" if between else "date" if "whole" in (left, right) else "other"
        wider = _widest([left, right])
        if isinstance(node, exp.Div) and wider == "whole" and not node.args.get("typed"):
            return "double"
        return wider

    def _wider(self, nodes: Sequence[exp.Expr | None]) -> Kind:
        return _widest([self.of(one) for one in nodes])

    # What is released ------------------------------------------------------------------------------------

    def is_released(self, node: exp.Expr) -> bool:
        """Whether a number is made of values of an answer, which have noise, and not of those of a row."""
        from sqlglot import exp

        if id(node) not in self._released:
            self._released[id(node)] = False
            if isinstance(node, exp.Column):
                found = self._is_of_answer(node)
            elif isinstance(node, exp.Query):
                found = False
            else:
                found = isinstance(node, exp.AggFunc | exp.Window)
                found = found or any(self.is_released(part) for part in node.iter_expressions())
            self._released[id(node)] = found
        return self._released[id(node)]

    def _is_of_answer(self, column: exp.Column) -> bool:
        """Whether it is an aggregate of this SELECT; or of one inside it, where this one only shows it."""
        from sqlglot import exp

        select, defined = column.find_ancestor(exp.Select), self._definition(column)
        if not isinstance(defined, exp.Expr) or not self.is_released(defined):
            return False
        return defined.find_ancestor(exp.Select) is select or not _aggregates(select)

    # Names -----------------------------------------------------------------------------------------------

    def _definition(self, column: exp.Column) -> exp.Expr | Kind:
        """What a name stands for: a column of a table, by its kind, or what another SELECT calls so."""
        from sqlglot import exp

        name, table = column.name.casefold(), column.table.casefold()
        select = column.find_ancestor(exp.Select)
        while select is not None:
            for source in _sources(select):
                if not table or source.alias_or_name.casefold() == table:
                    found = self._in_source(source, name)
                    if found is not None:
                        return found
            item = self._named(select).get(name)
            if isinstance(item, exp.Alias) and not _is_in(column, item):
                return item.unalias()
            select = select.find_ancestor(exp.Select)
        return "other"

    def _in_source(self, source: exp.Expr, name: str) -> exp.Expr | Kind | None:
        from sqlglot import exp

        query = source.this if isinstance(source, exp.Subquery) else None
        renamed = source.args.get("alias")
        if isinstance(source, exp.Table):
            common = _common(source)
            if common is None:
                return self._columns.get(source.name.casefold(), {}).get(name)
            own = isinstance(renamed, exp.TableAlias) and renamed.columns
            query, renamed = common.this, renamed if own else common.args.get("alias")
        if query is None:
            return None
        first = _first(query)
        columns = renamed.columns if isinstance(renamed, exp.TableAlias) else []
        named = [
            one for new, one in zip(columns, first.expressions, strict=False) if new.name.casefold() == name
        ]
        item: exp.Expr | None = named[0] if named else self._named(first).get(name)
        if item is not None:
            return item.unalias()
        if any(isinstance(one, exp.Star) for one in first.expressions):
            return next(filter(None, (self._in_source(inner, name) for inner in _sources(first))), None)
        return None

    def _named(self, select: exp.Expr) -> dict[str, exp.Expr]:
        if id(select) not in self._items:
            items = reversed(select.expressions)  # the first of a name is meant
            self._items[id(select)] = {item.alias_or_name.casefold(): item for item in items}
        return self._items[id(select)]


def _columns_of(table: Table) -> dict[str, Kind]:
    kinds: list[tuple[type, Kind]] = [
        *((IntegerColumn, "whole"), (RealColumn, "double"), (DateColumn, "date"), (BooleanColumn, "truth")),
    ]
    found: dict[str, Kind] = {}
    for column in table.columns:
        kind: Kind = next((kind for of, kind in kinds if isinstance(column, of)), "text")
        if isinstance(column, CategoryColumn) and all(isinstance(one, int) for one in column.values):
            kind = "whole"
        found[column.name.casefold()] = kind
    return found


def _kind_named(kind: exp.DataType) -> Kind:
    from sqlglot import exp

    if kind.is_type(*exp.DataType.INTEGER_TYPES):
        return "whole"
    if kind.is_type(exp.DType.DOUBLE, exp.DType.FLOAT):
        return "double"
    if kind.is_type(*exp.DataType.NUMERIC_TYPES):
        return "numeric"
    if kind.is_type(*exp.DataType.TEXT_TYPES):
        return "text"
    return "date" if kind.is_type(exp.DType.DATE) else "truth" if kind.is_type("boolean") else "other"


def _widest(kinds: Sequence[Kind]) -> Kind:
    """Of what is one of several; what is NULL is of any kind."""
    known = [kind for kind in kinds if kind != "null"]
    if known and all(kind in _NUMBERS for kind in known):
        return max(known, key=_NUMBERS.index)
    return known[0] if len(set(known)) == 1 else "other"


def _aggregates(select: exp.Expr | None) -> bool:
    """Whether its rows are groups."""
    from sqlglot import exp

    if select is None:
        return False
    behind = (select.args.get(clause) for clause in ("having", "qualify", "order"))
    parts = [*select.expressions, *(one for one in behind if one is not None)]
    found = (one for part in parts for one in part.walk(prune=lambda node: isinstance(node, exp.Query)))
    return select.args.get("group") is not None or any(isinstance(one, exp.AggFunc) for one in found)


def _sources(select: exp.Expr) -> Iterator[exp.Expr]:
    """Tables and sub-selects of FROM."""
    from sqlglot import exp

    first = select.args.get("from_")
    for one in (first, *(select.args.get("joins") or ())):
        source = one.this if one is not None else None
        while isinstance(source, exp.Paren):
            source = source.this
        if source is not None:
            yield source
            yield from (joined.this for joined in source.args.get("joins") or ())


def _first(query: exp.Expr) -> exp.Expr:
    """The first SELECT of a union says what its columns are called."""
    from sqlglot import exp

    while isinstance(query, exp.SetOperation | exp.Subquery):
        query = query.this
    return query


def _common(table: exp.Table) -> exp.CTE | None:
    """What WITH calls so, where this is no table of the study; within it, the name means what it meant."""
    from sqlglot import exp

    above = table.parent
    while above is not None:
        for one in above.ctes if isinstance(above, exp.Query) else ():
            if one.alias.casefold() == table.name.casefold() and not _is_in(table, one):
                assert isinstance(one, exp.CTE)
                return one
        above = above.parent
    return None


def _is_in(node: exp.Expr, above: exp.Expr) -> bool:
    inside: exp.Expr | None = node
    while inside is not None and inside is not above:
        inside = inside.parent
    return inside is above


def _whole() -> tuple[type, ...]:
    from sqlglot import exp

    counts = (exp.Count, exp.CountIf, exp.ApproxDistinct, exp.RowNumber, exp.Rank, exp.DenseRank)
    lengths = (exp.Length, exp.StrPosition, exp.DateDiff, exp.TimestampDiff, exp.WidthBucket, exp.IntDiv)
    return (*counts, *lengths, exp.Year, exp.Month, exp.Day, exp.Quarter, exp.Week, exp.DayOfWeek)


def _same() -> tuple[type, ...]:
    """What has the kind of the first thing in it."""
    from sqlglot import exp

    signs = (exp.Paren, exp.Neg, exp.Alias, exp.Abs, exp.Floor, exp.Ceil, exp.Round, exp.Trunc, exp.Nullif)
    chosen = (exp.Distinct, exp.Min, exp.Max, exp.Sum, exp.Avg, exp.Filter, exp.Window, exp.WithinGroup)
    return (*signs, *chosen, exp.Sign)


def _texts() -> tuple[type, ...]:
    from sqlglot import exp

    parts = (exp.Substring, exp.Left, exp.Right, exp.Trim, exp.Upper, exp.Lower, exp.Concat, exp.DPipe)
    return (*parts, exp.TimeToStr, exp.Replace)
