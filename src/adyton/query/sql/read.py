"""The SQL that is answered: one SELECT of aggregates over a table, read into a query; or several.

The grammar and the meaning of each construct are in docs/reference/sql.md.  What is not in it is refused with
its place and a reason, before anything is charged.  Text is only ever read here; no engine sees it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache, partial

from sqlglot import exp

from adyton.errors import InvalidRequest
from adyton.kernel.schema import IntegerColumn, Table
from adyton.kernel.terms.buckets import Group
from adyton.kernel.terms.expressions import And, Condition, NumberExpression, all_of
from adyton.kernel.terms.leaves import EVERY_ROW, Always
from adyton.kernel.terms.measures import Cdf, Count, Measure
from adyton.query.doubles import shortest
from adyton.query.groups import Grouped
from adyton.query.names import distinct_names, is_person, names_in
from adyton.query.nodes import Query
from adyton.query.request import AS_ASKED, Asked, Combined, Request, Shape, remarked
from adyton.query.sql.aggregates import AGGREGATES, read_measure, read_value, read_where
from adyton.query.sql.alike import MARK, Pattern, compares_alone, filled, has_all_marks, marked, with_numbers
from adyton.query.sql.expressions import OPERATORS, SqlText
from adyton.query.sql.from_clause import read_from
from adyton.query.sql.functions.calls import ROW_FUNCTIONS
from adyton.query.sql.grammar import CASTS, Options
from adyton.query.sql.groups import Item, read_group, read_groups, read_histogram, read_items
from adyton.query.sql.names import calls
from adyton.query.sql.persons import read_persons, without_unused
from adyton.query.sql.released import RELEASED_FUNCTIONS, Reader
from adyton.query.sql.rewrite import REWRITTEN_FUNCTIONS, SHAPES, rewritten, rewritten_condition
from adyton.query.sql.shape import CLAUSES, check_windows, read_shape
from adyton.query.sql.words import LONGEST_TEXT, KnownNames, query_tree, syntax_tree
from adyton.query.text import group_value_text

MOST_ITEMS = 100
_PATTERNS = 256
_NUMBER = re.compile(
    r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|(?P<number>(?<![\w.])[0-9]+(?:\.[0-9]+)?(?![\w.]))"""
)
_CUT_ELSEWHERE = (
    "Here 7/5 is 1.4. Some databases, such as PostgreSQL, cut a quotient of two whole numbers: 7 // 5 is 1."
)
_MADE_OF_WHOLE = (exp.Identifier, exp.Paren, exp.Neg, exp.Add, exp.Sub, exp.Mul, exp.Mod, exp.IntDiv)
_CUTS = ("CEIL", "CEILING", "FLOOR", "TRUNC", "TRUNCATE")
SETS = (exp.Rollup, exp.Cube, exp.GroupingSets)
SET_CLAUSES = ("rollup", "cube", "grouping_sets")
_BEHIND = ("order", "limit", "offset")
FUNCTIONS = (
    *AGGREGATES,
    *ROW_FUNCTIONS,
    "LABEL",
    "EXTRACT",
    "GROUPING",
    *CASTS,
    *RELEASED_FUNCTIONS,
    *sorted(REWRITTEN_FUNCTIONS.difference(AGGREGATES)),
)


def parse_asked(sql: str, table: Table, *further: Table) -> Asked:
    """What ``sql`` asks about ``table``, or ``further`` tables of the same persons."""
    return _asked(sql, *query_tree(sql, known_words(table, *further)), (table, *further))


class TextReader:
    """Reads texts about the same tables, and those that differ in numbers alone once."""

    def __init__(self, *tables: Table) -> None:
        self._tables, self._known = tables, known_words(*tables)
        self._pattern = lru_cache(maxsize=_PATTERNS)(Pattern)

    def asked(self, sql: str) -> Asked:
        """As ``parse_asked``."""
        if len(sql) > LONGEST_TEXT or MARK in sql:
            return self._read(sql)
        numbers: list[str] = []
        pattern = self._pattern(_NUMBER.sub(partial(_taken, numbers), sql))
        pattern.asked += 1
        with suppress(InvalidRequest, RecursionError):  # said below, with the place in this very text
            if pattern.request is not None:
                request = with_numbers(pattern.request, numbers)
                check_windows(request.query, request.shape)  # which groups there are is up to WHERE
                return request
            if pattern.tree is not None:
                return _asked(sql, Options(), filled(pattern.tree, numbers), self._tables)
        asked = self._read(sql)
        if pattern.asked == 2:  # not before it was answered: nobody reads a bomb twice
            self._read_once(pattern, len(numbers))
        return asked

    def _read(self, sql: str) -> Asked:
        return _asked(sql, *query_tree(sql, self._known), self._tables)

    def _read_once(self, pattern: Pattern, numbers: int) -> None:
        with suppress(InvalidRequest):
            text = marked(pattern.text)
            options, tree = query_tree(text, self._known)
            if options == Options() and has_all_marks(tree, text, numbers):
                pattern.tree = tree.copy()
                asked = _asked(text, options, tree, self._tables)
                if isinstance(asked, Request) and compares_alone(pattern.tree, asked, numbers):
                    pattern.request = asked


def _taken(numbers: list[str], found: re.Match[str]) -> str:
    if found.lastgroup is None:  # a string, a quoted name or a comment
        return found.group()
    numbers.append(shortest(found.group()))
    return MARK


def _asked(sql: str, options: Options, tree: exp.Expr, tables: tuple[Table, ...]) -> Asked:
    source = SqlText(sql, tables[0])
    tree, remarks = _inner(source, tree), _remarks(tree, tables)
    with source.at(tree):
        if type(tree) is exp.Select and not _is_unusual(tree):
            asked = read_select(source, options, tree, tables)
            if not is_empty(asked) and not is_row_of_nothing(asked):
                return remarked(asked, remarks)
        return remarked(_unusual(source, options, tree, tables), remarks)


def _remarks(tree: exp.Expr, tables: Sequence[Table]) -> tuple[str, ...]:
    """Where the text means something else in other databases."""
    columns = [column for table in tables for column in table.columns]
    whole = {column.name.casefold() for column in columns if isinstance(column, IntegerColumn)}
    for quotient in tree.find_all(exp.Div):
        above = quotient.parent
        while type(above) is exp.Paren:
            above = above.parent
        cuts = type(above) is exp.Anonymous and above.name.upper() in _CUTS
        if not cuts and all(_is_whole(part, whole) for part in quotient.walk() if part is not quotient):
            return (_CUT_ELSEWHERE,)
    return ()


def _is_whole(part: exp.Expr, columns: Collection[str]) -> bool:
    """Whether a part of a number is surely one of whole numbers."""
    if type(part) is exp.Literal:
        return not part.is_string and part.name.isdecimal()
    return part.name.casefold() in columns if type(part) is exp.Column else type(part) in _MADE_OF_WHOLE


def parse(sql: str, table: Table, *further: Table) -> Query:
    """The query that ``sql`` asks about ``table``; it names no price, and nothing about how to show it."""
    return parse_request(sql, table, *further).alone


def parse_request(sql: str, table: Table, *further: Table) -> Request:
    """All that ``sql`` says: the query about ``table``, or ``further`` tables of the same persons, how to
    show the answer, and perhaps a price.
    """
    options, tree = query_tree(sql, known_words(table, *further))
    source = SqlText(sql, table)
    with source.at(tree):
        return read_select(source, options, tree, (table, *further))


def read_select(source: SqlText, options: Options, tree: exp.Expr, tables: Sequence[Table]) -> Request:
    """What one SELECT asks."""
    if any(map(_may_be_rewritten, tree.walk())):
        tree = rewritten(source, tree, tables)
    if type(tree) is not exp.Select:
        raise source.refusal(tree, "a query is one SELECT")
    persons = read_persons(source, tree, tables) if _asks_a_group(tree) else None
    tree = tree if persons is None else persons.tree
    source.check_parts(tree, "expressions", "from_", "joins", "where", "group", *CLAUSES)
    table, aliases = read_from(source, tree, tables) if persons is None else (persons.table, persons.aliases)
    source = replace(source, table=table, aliases=aliases)
    items = read_items(source, tree)
    if len(items) > MOST_ITEMS:
        raise InvalidRequest(f"SELECT lists {len(items)} values; at most {MOST_ITEMS} are answered at once")
    by, items = read_groups(source, items, tree.args.get("group"))
    measures, by = _measures(source, items, by)
    kept = EVERY_ROW if persons is None else persons.kept
    where = all_of(kept, read_where(source, tree.args.get("where")))
    reader = Reader(source, items, by, list(measures))
    shape = read_shape(reader, tree)
    query = Query(table, tuple(reader.measures), where, by, _most_groups(options, table))
    query = query if persons is None else without_unused(query)
    check_windows(query, shape)
    listed = _listed_names(source, items, query, shape)
    return Request(query, shape, options.epsilon, options.delta, listed)


def _may_be_rewritten(node: exp.Expr) -> bool:
    if calls(node, REWRITTEN_FUNCTIONS):
        return True
    if type(node) in OPERATORS:
        return type(node.this) is type(node.args["expression"]) is exp.Literal  # 1 = 1
    return type(node) in SHAPES or node.args.get("db") is not None


def _asks_a_group(tree: exp.Expr) -> bool:
    """Whether a SELECT with GROUP BY stands in FROM."""
    clause = tree.args.get("from_")
    inner = clause.this.this if clause is not None and type(clause.this) is exp.Subquery else None
    return type(inner) is exp.Select and inner.args.get("group") is not None


def parse_condition(text: str, table: Table) -> Condition:
    """The condition on a row of ``table`` that ``text`` writes."""
    source = SqlText(text, table)
    return source.condition(rewritten_condition(source, syntax_tree(text, known_words(table)), (table,)))


def parse_number(text: str, table: Table) -> NumberExpression:
    """The number in a row of ``table`` that ``text`` writes."""
    source = SqlText(text, table)
    return source.number(syntax_tree(text, known_words(table)))


def parse_group(text: str, table: Table) -> Grouped:
    """What rows of ``table`` are grouped by: a column, or a number with few values."""
    source, tree = SqlText(text, table), syntax_tree(text, known_words(table))
    with source.at(tree):
        return read_group(source, tree)


def parse_value(text: str, table: Table) -> tuple[NumberExpression, Condition]:
    """What SUM and AVG take: a number, or a true-or-false column as 1 or 0; and where it is present."""
    return read_value(SqlText(text, table), syntax_tree(text, known_words(table)))


@lru_cache(maxsize=16)
def known_words(*tables: Table) -> KnownNames:
    """What a text about these tables may use."""
    names = frozenset(name.casefold() for table in tables for name in names_in(table))
    return KnownNames(names, tables[0], FUNCTIONS)


def _most_groups(options: Options, table: Table) -> int | None:
    """The groups of a person that count; who a person is must be what the study says."""
    named = options.privacy_unit_column
    if named is not None and not is_person(table, named):
        known = f"it is {table.person!r}" if table.person else "the unit is a row"
        raise InvalidRequest(f"privacy_unit_column cannot be chosen: in this study {known}")
    if options.max_groups_contributed is not None and table.person is None:
        raise InvalidRequest("max_groups_contributed is about persons; the unit of this study is a row")
    return options.max_groups_contributed


def _measures(
    source: SqlText, items: Sequence[Item], by: tuple[Group, ...]
) -> tuple[tuple[tuple[str, Measure], ...], tuple[Group, ...]]:
    """The aggregates of the SELECT list, and the groups; a histogram adds its bins to them."""
    histogram = read_histogram(source, items)
    if histogram is not None:
        bins, where, given = histogram
        names = distinct_names([given], ["count"], taken=[group.name for group in (*by, bins)])
        return ((names[0], Count(where)),), (*by, bins)
    asked = [item for item in items if item.aggregates]
    read = [read_measure(source, item.node) for item in asked]
    names = distinct_names(
        [item.alias for item in asked], [default for default, _ in read], taken=[group.name for group in by]
    )
    return tuple(zip(names, [measure for _, measure in read], strict=True)), by


def _listed_names(source: SqlText, items: Sequence[Item], query: Query, shape: Shape) -> tuple[str, ...]:
    """The names of the SELECT list, in its order."""
    keys = {group_value_text(group): group.name for group in query.by}
    values, shown = iter([name for name, _ in shape.shown or query.measures]), dict(shape.names)
    names = []
    for item in items:
        if item.groups:
            name = keys[read_group(source, item.node).text]
            names.append(shown.get(name, name))
        else:
            names.append(next(values))
    return tuple(names)


# What is not one query ----------------------------------------------------------------------------------


def _inner(source: SqlText, tree: exp.Expr) -> exp.Expr:
    """Without brackets around it, and a union without SELECT * FROM around it."""
    while type(tree) is exp.Subquery:
        source.check_parts(tree, "this")
        tree = tree.this
    args = {name: value for name, value in tree.args.items() if value}
    if type(tree) is not exp.Select or args.keys() - {"with_", "expressions", "from_", *_BEHIND}:
        return tree
    named, ahead = args["from_"].this if "from_" in args else None, args.get("with_")
    inner = named.this if type(named) is exp.Subquery else None
    if ahead is not None and type(named) is exp.Table and len(ahead.expressions) == 1:
        cte = ahead.expressions[0]
        inner = cte.this if cte.alias.casefold() == named.name.casefold() else None
    if type(inner) is not exp.Union or [type(item) for item in tree.expressions] != [exp.Star]:
        return tree
    if any(inner.args.get(name) for name in _BEHIND):
        return tree
    for name in _BEHIND:
        inner.set(name, tree.args.get(name))
    return inner


def _unusual(source: SqlText, options: Options, tree: exp.Expr, tables: Sequence[Table]) -> Asked:
    """What is not one query: it is read in files that plain queries do not need."""
    from adyton.query.sql.several.free import (
        columns_asked,
        constants_asked,
        declared_asked,
        nothing_asked,
        row_of_nothing,
    )
    from adyton.query.sql.several.grouping_sets import read_sets
    from adyton.query.sql.several.unions import read_union

    if type(tree) is exp.Union:
        return read_union(source, options, tree, tables)
    if tree.args.get("from_") is None:
        return constants_asked(source, tree)
    if tree.args.get("distinct") is not None:
        return declared_asked(source, options, tree, tables)
    if (columns := columns_asked(source, tree, tables)) is not None:
        return columns
    read = read_sets if has_sets(tree) else read_select
    asked = read(source, options, tree, tables)
    if isinstance(asked, Request) and is_row_of_nothing(asked):
        return row_of_nothing(source, asked)
    return nothing_asked(source, asked) if is_empty(asked) else asked


def _is_unusual(tree: exp.Expr) -> bool:
    args = tree.args
    plain = args.get("from_") is not None and args.get("distinct") is None and not has_sets(tree)
    return not plain or leaves_nothing(tree)


def leaves_nothing(tree: exp.Expr) -> bool:
    """Whether LIMIT 0 or WHERE FALSE is written, whatever is selected."""
    limit, where = tree.args.get("limit"), tree.args.get("where")
    said = limit.args.get("expression") if limit is not None else None
    if type(said) is exp.Literal and said.this == "0":
        return True
    condition = where.this if where is not None else None
    if type(condition) is exp.EQ:
        sides = (condition.this, condition.expression)
        return all(type(side) is exp.Literal for side in sides) and sides[0].this != sides[1].this
    return type(condition) is exp.Boolean and not condition.this


def has_sets(tree: exp.Expr) -> bool:
    """Whether GROUP BY lists sets of groups."""
    group = tree.args.get("group")
    if group is None:
        return False
    listed = group.args.get("expressions") or []
    return any(type(node) in SETS for node in listed) or any(group.args.get(name) for name in SET_CLAUSES)


def is_empty(asked: Request | Combined) -> bool:
    """Whether LIMIT 0 or WHERE FALSE leaves no row, whatever the data are.

    Without groups a database has one row all the same, of 0 and NULL.
    """
    requests = [asked] if isinstance(asked, Request) else [part.request for part in asked.parts]
    grouped = all(request.query.by for request in requests)
    return asked.shape.limit == 0 or (grouped and _never(requests[0].query.where))


def is_row_of_nothing(asked: Request | Combined) -> bool:
    """Whether it is that one row."""
    if isinstance(asked, Combined) or asked.query.by:
        return False
    if replace(asked.shape, order=(), limit=None) != AS_ASKED:
        return False
    return _never(asked.query.where) and not any(isinstance(m, Cdf) for _, m in asked.query.measures)


def _never(where: Condition) -> bool:
    if isinstance(where, And):
        return any(map(_never, where.parts))
    return where == Always(False)
