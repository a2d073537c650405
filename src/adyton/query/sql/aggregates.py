"""Aggregates: what SELECT may ask for, and the measure that each of them is."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from sqlglot import exp

from adyton.kernel.schema import BooleanColumn, CategoryColumn, DateColumn
from adyton.kernel.terms.expressions import (
    Case,
    Clip,
    Condition,
    Indicator,
    Not,
    NumberExpression,
    Or,
    all_of,
)
from adyton.kernel.terms.leaves import EVERY_ROW, Constant, DayCount, DayOf, IsMissing, IsTrue
from adyton.kernel.terms.measures import (
    Cdf,
    Count,
    CountPersons,
    Extreme,
    Mean,
    Measure,
    Proportion,
    Quantile,
    Sum,
    SumOfPersons,
    Variance,
    Which,
)
from adyton.query.measures import COMPUTED_MEASURES
from adyton.query.measures.computed import Computed
from adyton.query.missing import NEVER, present, truth_number
from adyton.query.names import default_name
from adyton.query.sql.expressions import SqlText
from adyton.query.sql.functions.arguments import several
from adyton.query.sql.functions.values import Texts, missing_value
from adyton.query.sql.names import called, calls
from adyton.query.text import from_text, moments_of, name_text

_PER_GROUP, _PER_ROW = "contribution_bounds_per_group", "contribution_bounds_per_row"
DISTINCT = ("APPROX_COUNT_DISTINCT", "APPROX_DISTINCT", "NDV")
COMMON = ("MODE", "APPROX_TOP_COUNT", "APPROX_TOP_K", "TOPK")
Bounds = tuple[Fraction, Fraction]
# A measure, and what it is called if it is given no name.
Named = tuple[str, Measure]


def is_aggregate(node: exp.Expr) -> bool:
    """Whether ``node`` is one of the aggregates, perhaps with WITHIN GROUP and FILTER."""
    node = node.this if type(node) is exp.Filter else node
    node = node.this if type(node) is exp.WithinGroup else node
    return calls(node, AGGREGATES)


def is_computed(node: exp.Expr) -> bool:
    """Whether ``node`` is one that is computed from others, perhaps with FILTER."""
    return calls(node.this if type(node) is exp.Filter else node, _COMPUTED)


def read_measure(source: SqlText, node: exp.Expr) -> Named:
    """The measure that ``node``, an aggregate, asks for."""
    node, where = filtered(source, node)
    with source.at(node):
        if type(node) is exp.WithinGroup:
            return _within_group(source, node, where)
        return AGGREGATES[called(source, node)](source, node, where)


def read_computed(source: SqlText, node: exp.Expr) -> Computed | None:
    """What is read for ``node``, if it is a measure that is computed from others."""
    if not is_computed(node):
        return None
    node, where = filtered(source, node)
    name = called(source, node)
    measure = _COMPUTED[name]
    with source.at(node):
        bounds = (_PER_ROW,) if measure.numbers == 1 else ()
        written, named = _arguments(source, node, measure.form(name), measure.numbers, bounds=bounds)
        read = [read_value(source, one) for one in written]
        values = [Clip(value, *named[_PER_ROW]) if named else value for value, _ in read]
        return measure.of(values, all_of(*(present for _, present in read), where))


def filtered(source: SqlText, node: exp.Expr) -> tuple[exp.Expr, Condition]:
    """An aggregate without its FILTER, and the rows that the FILTER leaves."""
    if type(node) is not exp.Filter:
        return node, EVERY_ROW
    inner, clause = source.sides(node)
    return inner, read_where(source, clause)


def read_where(source: SqlText, clause: exp.Expr | None) -> Condition:
    if clause is None:
        return EVERY_ROW
    source.check_parts(clause, "this")
    return source.condition(clause.this)


def read_value(source: SqlText, node: exp.Expr) -> tuple[NumberExpression, Condition]:
    """What SUM and AVG take: a number, or a truth as 1 or 0; and where it is present."""
    node = source.bare(node)
    if type(node) is exp.Column:
        column = source.column(node)
        if isinstance(column, BooleanColumn):
            return Indicator(IsTrue(column)), Not(IsMissing(column))
    value = source.operand(node) if type(node) not in (exp.Column, exp.Literal, exp.Boolean) else None
    return truth_number(value) if isinstance(value, Condition) else source.number(node), EVERY_ROW


def read_ordered(source: SqlText, node: exp.Expr) -> NumberExpression:
    """What has a place in an order: a number, or a date column as days."""
    day = read_day(source, node)
    return source.number(node) if day is None else day


def read_day(source: SqlText, node: exp.Expr) -> DayCount | None:
    """The days of a date column, whose aggregates are shown as dates."""
    node = source.bare(node)
    if type(node) is not exp.Column or source.is_person(node):
        return None
    column = source.column(node)
    return DayCount(DayOf(column)) if isinstance(column, DateColumn) else None


# Counts and proportions ------------------------------------------------------------------------------------


def _count(source: SqlText, node: exp.Expr, where: Condition) -> Named:
    (counted,), bounds = _arguments(source, node, "COUNT(*), COUNT(column) or COUNT(DISTINCT person)", 1)
    if type(counted) is exp.Distinct:
        source.check_parts(counted, "expressions")
        if bounds:
            raise source.refusal(counted, "a person counts once; leave out the bounds")
        return _persons(source, counted, where)
    name, present = _counted(source, node, source.bare(counted))
    where = all_of(present, where)
    if _PER_ROW in bounds:
        raise source.refusal(node, f"a row counts once; {_PER_ROW} is for SUM")
    if _PER_GROUP in bounds:
        _person(source, node)
        return name, SumOfPersons(Constant(Fraction(1)), *bounds[_PER_GROUP], where)
    return name, Count(where)


def _counted(source: SqlText, node: exp.Expr, counted: exp.Expr) -> tuple[str, Condition]:
    """What a count is called, and which rows it counts."""
    if type(counted) is exp.Star:
        source.check_parts(counted)
        return "count", EVERY_ROW
    if type(counted) is exp.Column:
        column = source.column(counted)
        return f"count_{column.name}", Not(IsMissing(column))
    if type(counted) is exp.Literal:  # COUNT(1)
        source.constant(counted)
        return "count", EVERY_ROW
    value = source.operand(counted)
    code = value.code if isinstance(value, Texts) else value
    if isinstance(code, Case) and code.otherwise is None and _are_written(code):
        whens = tuple(when for when, _ in code.branches)
        return "count", whens[0] if len(whens) == 1 else Or(whens)
    absent = missing_value(value)
    if absent == NEVER:
        raise source.refusal(node, "this is there in every row: write COUNT(*); COUNT_IF takes a condition")
    return "count", Not(absent)


def _are_written(value: Case) -> bool:
    return all(isinstance(then, Constant) for _, then in value.branches)


def _approximate_persons(source: SqlText, node: exp.Expr, where: Condition) -> Named:
    _arguments(source, node, f"{called(source, node)}(person)", 1, bounds=())
    return _persons(source, node, where)


def _persons(source: SqlText, node: exp.Expr, where: Condition) -> Named:
    """``node`` lists what is counted without repeats, which can be the person only."""
    listed = [source.bare(one) for one in node.expressions]
    if len(listed) == 1 and type(listed[0]) is exp.Column and not source.is_person(listed[0]):
        column = source.column(listed[0])
        if isinstance(column, CategoryColumn | BooleanColumn):
            raise source.refusal(node, _which_occur(source, column))
    person = _person(source, node)
    if len(listed) != 1 or not source.is_person(listed[0]):
        raise source.refusal(
            node, f"distinct values cannot be counted, only persons: COUNT(DISTINCT {person})"
        )
    return "count_persons", CountPersons(where)


def _which_occur(source: SqlText, column: CategoryColumn | BooleanColumn) -> str:
    """How many declared values occur is no sum over rows, and has no place beside other aggregates."""
    name, table = name_text(column.name), from_text(source.table)
    return f"how many values occur is asked alone: SELECT COUNT(DISTINCT {name}) FROM {table}"


def _most_common(source: SqlText, node: exp.Expr, where: Condition) -> Named:
    name = called(source, node)
    raise source.refusal(node, f"{name} is an item of SELECT by itself, and the only aggregate there")


def _person(source: SqlText, node: exp.Expr) -> str:
    if source.table.person is None:
        reason = "the unit of this study is a row, so persons are not known"
        raise source.refusal(node, f"{reason}; ask about rows, with COUNT(*) or SUM(number)")
    return source.table.person


def _count_if(source: SqlText, node: exp.Expr, where: Condition) -> Named:
    (condition,), _ = _arguments(source, node, "COUNT_IF(condition)", 1, bounds=())
    counted = source.condition(condition)
    return default_name("count_if", counted), Count(all_of(counted, where))


def _proportion(source: SqlText, node: exp.Expr, where: Condition) -> Named:
    (written,), _ = _arguments(source, node, "PROPORTION(condition), with one condition", 1, bounds=())
    condition = source.condition(written)
    return default_name("proportion", condition), Proportion(condition, where)


# Sums, means and spreads -----------------------------------------------------------------------------------


def _sum(source: SqlText, node: exp.Expr, where: Condition) -> Named:
    (written,), bounds = _arguments(
        source, node, f"SUM(number) or SUM(number, {_PER_GROUP} => (low, high))", 1
    )
    value, present = read_value(source, written)
    name, where = default_name("sum", value), all_of(present, where)
    if _PER_ROW in bounds:
        value = Clip(value, *bounds[_PER_ROW])
    if _PER_GROUP in bounds:
        _person(source, node)
        return name, SumOfPersons(value, *bounds[_PER_GROUP], where)
    return name, Sum(value, where)


def _mean(source: SqlText, node: exp.Expr, where: Condition) -> Named:
    """Also of a date column, as days."""
    if len(node.expressions) == 1 and type(node.expressions[0]) is exp.Column:
        value = read_day(source, node.expressions[0])
        if value is not None:
            return default_name("avg", value), Mean(value, where)
    return _spread(Mean, "avg")(source, node, where)


def _spread(kind: Callable[[NumberExpression, Condition], Measure], stem: str) -> Callable[..., Named]:
    def read(source: SqlText, node: exp.Expr, where: Condition) -> Named:
        name = called(source, node)
        form = f"{name}(number) or {name}(number, {_PER_ROW} => (low, high))"
        (written,), bounds = _arguments(source, node, form, 1, bounds=(_PER_ROW,))
        value, present = read_value(source, written)
        bounded = Clip(value, *bounds[_PER_ROW]) if bounds else value
        return default_name(stem, value), kind(bounded, all_of(present, where))

    return read


# Two numbers together --------------------------------------------------------------------------------------


def _pair(
    source: SqlText, node: exp.Expr, where: Condition
) -> tuple[str, NumberExpression, NumberExpression, Condition]:
    """What the two are called, y and x, and the rows where both are present but for what they say."""
    name = called(source, node)
    both, _ = _arguments(source, node, f"{name}(y, x), with two numbers", 2, bounds=())
    (y, with_y), (x, with_x) = (read_value(source, one) for one in both)
    names = default_name("", y) + default_name("", x)
    return f"{name.lower()}{names}", y, x, all_of(with_y, with_x, where)


def _moments(which: Which) -> Callable[..., Named]:
    def read(source: SqlText, node: exp.Expr, where: Condition) -> Named:
        name, y, x, both = _pair(source, node, where)
        return name, moments_of(y, x, which, both)

    return read


def _count_pairs(source: SqlText, node: exp.Expr, where: Condition) -> Named:
    name, y, x, both = _pair(source, node, where)
    return name, Count(all_of(present(y), present(x), both))


def _mean_of_pairs(source: SqlText, node: exp.Expr, where: Condition) -> Named:
    name, y, x, both = _pair(source, node, where)
    value, other = (x, y) if called(source, node) == "REGR_AVGX" else (y, x)
    return name, Mean(value, all_of(present(other), both))


# Places in the order of values -----------------------------------------------------------------------------


def _extreme(source: SqlText, node: exp.Expr, where: Condition) -> Named:
    name = called(source, node)
    (written,), _ = _arguments(source, node, f"{name}(number)", 1, bounds=())
    value = read_ordered(source, written)
    return default_name(name.lower(), value), Extreme(value, "least" if name == "MIN" else "greatest", where)


def _median(source: SqlText, node: exp.Expr, where: Condition) -> Named:
    (written,), _ = _arguments(source, node, "MEDIAN(number)", 1, bounds=())
    value = read_ordered(source, written)
    return default_name("median", value), Quantile(value, Fraction(1, 2), where)


def _quantile(source: SqlText, node: exp.Expr, where: Condition) -> Named:
    name = called(source, node)
    form = f"{name}(number, fraction), such as {name}(x, 0.9)"
    (written, fraction), bounds = _arguments(source, node, form, 2, bounds=(_PER_ROW,))
    value = read_ordered(source, written)
    bounded = Clip(value, *bounds[_PER_ROW]) if bounds else value
    return default_name("quantile", value), Quantile(bounded, source.constant(fraction), where)


def _within_group(source: SqlText, node: exp.Expr, where: Condition) -> Named:
    """PERCENTILE_CONT(p) WITHIN GROUP (ORDER BY x): from the other end where the order falls."""
    call, order = source.sides(node)
    form = "PERCENTILE_CONT(fraction) WITHIN GROUP (ORDER BY number)"
    if called(source, call) not in _ORDERED or type(order) is not exp.Order:
        raise source.refusal(node, f"WITHIN GROUP has one form: {form}")
    (fraction,), _ = _arguments(source, call, form, 1, bounds=())
    source.check_parts(order, "expressions")
    if len(order.expressions) != 1:
        raise source.refusal(node, f"write {form}")
    (ordered,) = order.expressions
    source.check_parts(ordered, "this", "desc", "nulls_first")  # what is missing has no place in the order
    value, share = read_ordered(source, ordered.this), source.constant(fraction)
    share = 1 - share if ordered.args.get("desc") else share
    return default_name("quantile", value), Quantile(value, share, where)


def _cdf(source: SqlText, node: exp.Expr, where: Condition) -> Named:
    written, *points = several(source, node, "CDF(number, point, point, ...)")
    value = source.number(written)
    return default_name("cdf", value), Cdf(value, tuple(source.constant(point) for point in points), where)


def _histogram(source: SqlText, node: exp.Expr, where: Condition) -> Named:
    raise source.refusal(node, "HISTOGRAM is the only value of its SELECT, beside groups")


def _computed(source: SqlText, node: exp.Expr, where: Condition) -> Named:
    """Where a measure of the kernel is needed."""
    name = called(source, node)
    raise source.refusal(node, f"{name} is computed from what is released: it has no place here")


def _arguments(
    source: SqlText, node: exp.Expr, form: str, number: int, bounds: tuple[str, ...] = (_PER_GROUP, _PER_ROW)
) -> tuple[list[exp.Expr], dict[str, Bounds]]:
    """The arguments of an aggregate, and the bounds that it names behind them."""
    plain = [one for one in node.expressions if type(one) is not exp.Kwarg]
    named = node.expressions[len(plain) :]
    if len(plain) != number or any(type(one) is not exp.Kwarg for one in named):
        raise source.refusal(node, f"write {form}")
    read: dict[str, Bounds] = {}
    for one in named:
        name = str(one.this.this).lower()
        if name not in bounds or name in read:
            raise source.refusal(node, f"write {form}; {name} does not belong here")
        read[name] = _bounds(source, one)
    return plain, read


def _bounds(source: SqlText, node: exp.Expr) -> Bounds:
    _, pair = source.sides(node)
    if type(pair) is not exp.Tuple or len(pair.expressions) != 2:
        raise source.refusal(node, "bounds are written as (low, high)")
    source.check_parts(pair, "expressions")
    low, high = map(source.constant, pair.expressions)
    return low, high


_ORDERED = ("PERCENTILE_CONT", "PERCENTILE_DISC")
_VARIANCE = _spread(lambda value, where: Variance(value, False, where), "variance")
_DEVIATION = _spread(lambda value, where: Variance(value, True, where), "stddev")
_COMPUTED = {name: measure for measure in COMPUTED_MEASURES for name in measure.names}
AGGREGATES: dict[str, Callable[[SqlText, exp.Expr, Condition], Named]] = {
    "COUNT": _count,
    **dict.fromkeys(("COUNT_IF", "COUNTIF"), _count_if),
    **dict.fromkeys(DISTINCT, _approximate_persons),
    **dict.fromkeys(COMMON, _most_common),
    "SUM": _sum,
    **dict.fromkeys(("AVG", "MEAN"), _mean),
    "PROPORTION": _proportion,
    **dict.fromkeys(("VARIANCE", "VAR_POP", "VAR_SAMP"), _VARIANCE),
    **dict.fromkeys(("VAR", "VARP", "VARIANCE_POP", "VARIANCE_SAMP"), _VARIANCE),
    **dict.fromkeys(("STDDEV", "STDDEV_POP", "STDDEV_SAMP", "STD", "STDEV", "STDEVP"), _DEVIATION),
    **dict.fromkeys(("COVAR_POP", "COVAR_SAMP"), _moments("covariance")),
    "CORR": _moments("correlation"),
    "REGR_R2": _moments("r2"),
    "REGR_SLOPE": _moments("slope"),
    "REGR_INTERCEPT": _moments("intercept"),
    "REGR_COUNT": _count_pairs,
    **dict.fromkeys(("REGR_AVGX", "REGR_AVGY"), _mean_of_pairs),
    **dict.fromkeys(("MIN", "MAX"), _extreme),
    "MEDIAN": _median,
    **dict.fromkeys(("QUANTILE", "QUANTILE_CONT", "QUANTILE_DISC", "APPROX_QUANTILE"), _quantile),
    **dict.fromkeys((*_ORDERED, "PERCENTILE", "APPROX_PERCENTILE", "PERCENTILE_APPROX"), _quantile),
    "CDF": _cdf,
    "HISTOGRAM": _histogram,
    **dict.fromkeys(_COMPUTED, _computed),
}
