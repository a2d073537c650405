"""Names as sqlglot understands them: its ``qualify_columns`` agrees with ours, and why it does not take its place.

sqlglot says which SELECT a name of WITH means (``rewrite/with_clause.py``).  Stars, USING and the tables of columns
are found by ``Scope`` in ``rewrite/scopes.py``; here sqlglot finds them first, and the same must be asked.  The other
tests show what sqlglot does otherwise.  If one of them fails with a new version, ours may be replaced.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import duckdb
import pytest
from sqlglot import exp, parse_one
from sqlglot.errors import OptimizeError
from sqlglot.executor import execute
from sqlglot.optimizer.merge_subqueries import merge_subqueries
from sqlglot.optimizer.qualify_columns import qualify_columns
from sqlglot.optimizer.simplify import simplify
from sqlglot.schema import MappingSchema
from test_rewrites import ALL, SALES, TABLES

from adyton.errors import InvalidRequest
from adyton.query.sql import read
from adyton.query.sql.expressions import SqlText
from adyton.query.sql.read import known_words, parse_request
from adyton.query.sql.rewrite import RULES, Rule, rewritten
from adyton.query.sql.rewrite.scopes import Context
from adyton.query.sql.words import query_tree
from adyton.query.text import query_text

COLUMNS = {
    "sales": ("pid", "kind", "x", "y", "paid"),
    "visits": ("pid", "cost", "x", "floor"),
    "shops": ("kind", "zone", "height", "open"),
    "floors": ("code", "height"),
}
SCHEMA = MappingSchema({table: dict.fromkeys(columns, "int") for table, columns in COLUMNS.items()})


def tree_of(text: str) -> exp.Expr:
    return query_tree(text, known_words(*TABLES))[1]


def qualified(text: str, **options: Any) -> str:
    """As sqlglot writes it, without quotes."""
    return qualify_columns(tree_of(text), SCHEMA, **options).sql().replace('"', "")


def by_the_library(_: Context, tree: exp.Expr) -> None:
    """sqlglot's names, as far as they can be used: without names that nobody gave, and without COALESCE."""
    unnamed = [
        node
        for node in tree.find_all(exp.Subquery)
        if isinstance(node.parent, exp.From | exp.Join) and not node.alias
    ]
    for number, node in enumerate(unnamed):
        node.set("alias", exp.TableAlias(this=exp.to_identifier(f"inside_{number}", quoted=True)))
    given = {id(one) for select in tree.find_all(exp.Select) for one in select.expressions if one.alias}
    qualify_columns(tree, SCHEMA, expand_alias_refs=False, allow_partial_qualification=True)
    for shared in list(tree.find_all(exp.Coalesce)):
        shared.replace(shared.this)
    for select in tree.find_all(exp.Select):
        listed = [
            one.this if type(one) is exp.Alias and id(one) not in given else one for one in select.expressions
        ]
        select.set("expressions", listed)


def asked(text: str) -> Any:
    try:
        request = parse_request(text, *TABLES)
    except InvalidRequest:
        return "refused"
    return query_text(request.query), request.shape, request.listed


@pytest.mark.parametrize("text", [text for text in ALL if "(SELECT" in text])
def test_law_sqlglot_finds_the_same_names(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Mutant: a name of USING means the second table behind a LEFT JOIN."""
    ours = asked(text)
    place = [rule.write.__name__ for rule in RULES].index("write_out_ctes") + 1
    rules = (*RULES[:place], Rule(by_the_library, (exp.Select,)), *RULES[place:])
    monkeypatch.setattr(read, "rewritten", lambda *given: rewritten(*given, rules))
    assert asked(text) == ours


# Why it does not take the place of ours ------------------------------------------------------------------------


def test_using_becomes_an_expression_that_is_no_column() -> None:
    """A group, or a person that is counted, must be a column."""
    text = "SELECT kind, COUNT(DISTINCT pid) FROM sales JOIN shops USING (kind) GROUP BY kind"
    assert "GROUP BY COALESCE(sales.kind, shops.kind)" in qualified(text)


def test_every_item_gets_a_name_that_nobody_gave() -> None:
    assert qualified("SELECT COUNT(*) FROM sales") == "SELECT COUNT(*) AS _col_0 FROM sales"


def test_a_name_inside_an_aggregate_is_that_of_the_answer() -> None:
    """Calls have no meaning before they are read, so it cannot know which of them are aggregates."""
    text = "SELECT kind, SUM(x) AS x FROM sales GROUP BY kind HAVING SUM(x) > 3"
    assert "HAVING SUM(SUM(sales.x)) > 3" in qualified(text)
    plain = "SELECT kind, SUM(x) AS total FROM sales GROUP BY kind HAVING SUM(x) > 3"
    assert query_text(parse_request(text, *TABLES).query).replace("AS x", "AS total") == query_text(
        parse_request(plain, *TABLES).query
    )


def test_where_takes_names_that_the_select_list_gives_later() -> None:
    """DuckDB takes them too, PostgreSQL does not; here they are refused with a place."""
    text = "SELECT x + 1 AS z, COUNT(*) FROM sales WHERE z > 2 GROUP BY z"
    assert "WHERE (sales.x + 1) > 2" in qualified(text)
    with pytest.raises(InvalidRequest, match=r"WHERE is read before SELECT .*column 46: z"):
        parse_request(text, *TABLES)


def test_the_person_of_a_declared_join_is_in_two_tables() -> None:
    text = (
        "SELECT COUNT(DISTINCT pid) FROM (SELECT pid, cost FROM sales JOIN visits ON sales.pid = visits.pid)"
    )
    assert "SELECT pid AS pid, visits.cost" in qualified(text, allow_partial_qualification=True)
    assert parse_request(text, *TABLES)


def test_capitals_are_another_name() -> None:
    text = 'SELECT SUM(d."X") FROM (SELECT "X" FROM sales) d'
    with pytest.raises(OptimizeError):
        qualified('SELECT SUM(d."Z") FROM (SELECT x AS z FROM sales) d')
    assert query_text(parse_request(text, *TABLES).query) == query_text(
        parse_request("SELECT SUM(x) FROM sales", *TABLES).query
    )


@pytest.mark.parametrize(
    ("text", "library", "ours"),
    [
        (
            "SELECT SUM(d.q) FROM (SELECT x FROM sales) d",
            "Unknown column: q",
            "there is no column 'q' here; known are x (line 1, column 12: d.q)",
        ),
        (
            "SELECT SUM(x) FROM (SELECT e.* FROM sales) d",
            "Unknown table: e",
            "the tables here are 'sales' (line 1, column 28: e.*)",
        ),
        (
            "SELECT COUNT(*) FROM (SELECT x FROM sales) d JOIN visits USING (cost)",
            "Cannot automatically join: cost",
            "USING names 'cost', which is not once in both tables (line 1, column 65: cost)",
        ),
    ],
)
def test_its_errors_say_neither_where_nor_what_to_write(text: str, library: str, ours: str) -> None:
    with pytest.raises(OptimizeError) as theirs:
        qualified(text)
    assert str(theirs.value) == library
    with pytest.raises(InvalidRequest) as refused:
        parse_request(text, *TABLES)
    assert refused.value.message == ours


def test_merging_a_constant_behind_a_left_join_is_wrong() -> None:
    """The constant is missing where the join finds no row; here it is refused."""
    text = "SELECT SUM(h.g) FROM sales LEFT JOIN (SELECT kind, 1 AS g FROM shops) h ON h.kind = sales.kind"
    merged = merge_subqueries(qualify_columns(tree_of(text), SCHEMA)).sql(dialect="duckdb")
    with duckdb.connect() as database:
        database.execute("CREATE TABLE sales AS SELECT 'd' AS kind")
        database.execute("CREATE TABLE shops AS SELECT 'a' AS kind")
        before, after = (database.execute(sql).fetchall() for sql in (text, merged))
    assert (before, after) == ([(None,)], [(1,)])
    with pytest.raises(InvalidRequest, match="compute it outside"):
        rewritten(SqlText(text, SALES), tree_of(text), TABLES)


def test_simplified_conditions_are_other_texts() -> None:
    """A receipt holds what was asked, and its length counts for population intervals."""
    texts = ("x > 1 AND x > 3", "x + 1 > 3", "NOT x > 3", "x BETWEEN 1 AND 3")
    written = [simplify(parse_one(text)).sql() for text in texts]
    assert written == ["x > 3", "x > 2", "x <= 3", "x <= 3 AND x >= 1"]


def test_the_executor_computes_with_floating_point_numbers() -> None:
    """The mean of three heights is compared with whole numbers, exactly."""
    rows = [{"height": 1}, {"height": 1}, {"height": 2}]
    (mean,) = execute("SELECT AVG(height) AS mean FROM shops", tables={"shops": rows}).rows
    assert isinstance(mean[0], float)
    assert Fraction(mean[0]) != Fraction(4, 3)
