"""Rewritten and original mean the same: DuckDB runs both, on random small tables with missing values.

Each rule has its texts.  DuckDB reads the text as it is, without any of our code, and then the text of the tree
that became of it; the rows must be the same.
"""

from __future__ import annotations

import doctest
import pkgutil
import random
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import duckdb
import pytest
from sqlglot import exp

from adyton.errors import InvalidRequest
from adyton.kernel.schema import (
    Attribute,
    BooleanColumn,
    CategoryColumn,
    Dimension,
    IntegerColumn,
    Table,
)
from adyton.query.sql import rewrite
from adyton.query.sql.expressions import SqlText
from adyton.query.sql.read import known_words, parse_request
from adyton.query.sql.rewrite import RULES, Rule, rewritten
from adyton.query.sql.words import query_tree
from adyton.query.text import query_text
from support.tries import often

KINDS = ("a", "b", "c", "d")
SHOPS = Dimension(
    "shops",
    "kind",
    "kind",
    ("a", "b", "c"),
    (
        Attribute(CategoryColumn("zone", ("cold", "warm")), ("cold", "warm", None)),
        Attribute(IntegerColumn("height", -2, 3), (3, -2, None)),
        Attribute(BooleanColumn("open"), (True, None, False)),
    ),
)
FLOORS = Dimension("floors", "code", "floor", (1, 2), (Attribute(IntegerColumn("height", 5, 7), (5, 7)),))
SALES = Table(
    "sales",
    (
        CategoryColumn("kind", KINDS),
        IntegerColumn("x", -3, 9),
        IntegerColumn("y", 0, 5),
        BooleanColumn("paid"),
    ),
    person="pid",
    dimensions=(SHOPS,),
)
VISITS = Table(
    "visits",
    (IntegerColumn("cost", 0, 9), IntegerColumn("x", 0, 4), CategoryColumn("floor", (1, 2, 3))),
    person="pid",
    dimensions=(FLOORS,),
)
TABLES = (SALES, VISITS)


@pytest.fixture(scope="module")
def databases() -> Iterator[list[Any]]:
    found = [_database(seed) for seed in range(often(4, 8))]
    yield found
    for one in found:
        one.close()


def _database(seed: int) -> Any:
    dice, made = random.Random(seed), duckdb.connect()
    made.execute("SET default_null_order = 'nulls_last'")
    made.execute("CREATE TABLE sales (pid INT, kind VARCHAR, x INT, y INT, paid BOOLEAN)")
    made.execute("CREATE TABLE visits (pid INT, cost INT, x INT, floor INT)")
    made.execute("CREATE TABLE shops (kind VARCHAR, zone VARCHAR, height INT, open BOOLEAN)")
    made.execute("CREATE TABLE floors (code INT, height INT)")
    made.executemany(
        "INSERT INTO sales VALUES (?, ?, ?, ?, ?)",
        [
            (
                dice.randrange(6),
                dice.choice([*KINDS, None]),
                dice.choice([*range(-3, 10), None]),
                dice.choice([*range(6), None]),
                dice.choice([True, False, None]),
            )
            for _ in range(24)
        ],
    )
    made.executemany(
        "INSERT INTO visits VALUES (?, ?, ?, ?)",
        [
            (
                dice.randrange(8),
                dice.choice([*range(10), None]),
                dice.randrange(5),
                dice.choice([1, 2, 3, None]),
            )
            for _ in range(16)
        ],
    )
    made.executemany("INSERT INTO shops VALUES (?, ?, ?, ?)", list(_rows_of(SHOPS)))
    made.executemany("INSERT INTO floors VALUES (?, ?)", list(_rows_of(FLOORS)))
    return made


def _rows_of(public: Dimension) -> Iterator[tuple[Any, ...]]:
    return zip(public.keys, *(attribute.values for attribute in public.attributes), strict=True)


def _tree(text: str) -> exp.Expr:
    _, tree = query_tree(text, known_words(*TABLES))
    return rewritten(SqlText(text, SALES), tree, TABLES)


def _is_one_select(tree: exp.Expr) -> bool:
    return type(tree) is exp.Select and not list(tree.find_all(exp.Subquery, exp.CTE, exp.Exists))


def _same(databases: list[Any], text: str) -> bool:
    """Whether the text and what it becomes give the same rows, in the same order if they are ordered."""
    tree = _tree(text)
    assert _is_one_select(tree), tree.sql()
    for term in tree.find_all(exp.Ordered):
        term.set("nulls_first", False)  # what is missing comes last here, and in these databases
    other, ordered = tree.sql(dialect="duckdb"), tree.args.get("order") is not None
    for database in databases:
        one, two = (database.execute(sql).fetchall() for sql in (text, other))
        if (one if ordered else Counter(one)) != (two if ordered else Counter(two)):
            return False
    return True


SUBSELECTS = [
    "SELECT COUNT(*), SUM(x) FROM (SELECT * FROM sales) d",
    "SELECT COUNT(*), SUM(z) FROM (SELECT *, x * 2 - y AS z FROM sales WHERE x > 1) WHERE y < 4 OR paid",
    "SELECT SUM(d.x), SUM(d.y) FROM (SELECT y AS x, x AS y FROM sales) AS d WHERE d.x > 2",
    "SELECT y, COUNT(*) FROM (SELECT x AS y FROM sales) GROUP BY y ORDER BY y",
    "SELECT x AS y, COUNT(*) FROM (SELECT y AS x, x AS y FROM sales) GROUP BY x ORDER BY 1",
    "SELECT SUM(a * b) FROM (SELECT x + 1 AS a, y - 1 AS b FROM sales)",
    "SELECT SUM(-a), SUM(10 - a), SUM(a / 2) FROM (SELECT x - y AS a FROM sales WHERE NOT paid OR x > 3)",
    "SELECT SUM(c) FROM (SELECT b * 2 AS c FROM (SELECT a - 1 AS b FROM (SELECT x - y AS a FROM sales) u) v) w",
    "SELECT COUNT(*) FROM (SELECT * FROM (SELECT * FROM sales WHERE x > 0 OR y > 3) a WHERE paid OR y = 1) b WHERE x < 8",
    "SELECT k, COUNT(*) FROM (SELECT CASE WHEN x > 3 THEN 'high' ELSE 'low' END AS k FROM sales) GROUP BY k",
    "SELECT FLOOR(a / 2) AS x, COUNT(*) FROM (SELECT y AS a FROM sales) GROUP BY x",
    "SELECT COUNT(*) FROM (SELECT x > 3 AS big, paid FROM sales) WHERE NOT big AND paid IS NOT NULL",
    "SELECT COUNT(*) FROM (SELECT x FROM sales ORDER BY y) WHERE x IS NOT NULL",
    "SELECT COUNT(*) FILTER (WHERE a > 2), AVG(a) FROM (SELECT x + 0 AS a FROM sales)",
    "SELECT sales.x, COUNT(*) FROM (SELECT x FROM sales) AS sales GROUP BY sales.x",
    "SELECT COUNT(DISTINCT who) FROM (SELECT pid AS who, x FROM sales) WHERE x > 2",
    "SELECT COUNT(*) FROM (SELECT DISTINCT pid FROM sales WHERE x > 2)",
    "SELECT COUNT(who), COUNT(1), COUNT(DISTINCT who) FROM (SELECT DISTINCT pid AS who FROM sales WHERE paid) d",
    "SELECT ROUND(COUNT(*) / 2) FROM (SELECT DISTINCT s.pid FROM sales s JOIN shops USING (kind) WHERE open)",
    "SELECT kind, SUM(one) FROM (SELECT s.*, 1 AS one FROM sales s) GROUP BY kind ORDER BY kind",
    "SELECT COUNT(*), SUM(o.height) FROM (SELECT * FROM sales JOIN shops USING (kind)) o WHERE o.zone = 'cold'",
    "SELECT kind, COUNT(*) FROM (SELECT * FROM sales JOIN shops USING (kind)) o GROUP BY kind",
    "SELECT x, COUNT(*) AS n FROM (SELECT y AS x FROM sales) GROUP BY x HAVING COUNT(*) > 2 ORDER BY n, x",
    "SELECT COUNT(*) FROM ((SELECT x FROM sales)) d WHERE x BETWEEN 1 AND 4",
]
CTES = [
    "WITH d AS (SELECT * FROM sales WHERE x > 2) SELECT COUNT(*), SUM(y) FROM d",
    "WITH sales AS (SELECT * FROM sales WHERE x > 2) SELECT COUNT(*), SUM(y) FROM sales",
    "WITH a AS (SELECT x + y AS z, kind FROM sales), b AS (SELECT z * 2 AS z, kind FROM a) "
    "SELECT kind, SUM(z) FROM b GROUP BY kind",
    "WITH a AS (SELECT x FROM sales), b AS (SELECT x + 1 AS x FROM a), a2 AS (SELECT x FROM a) SELECT SUM(x) FROM b",
    "WITH d AS (WITH e AS (SELECT x FROM sales WHERE y > 1) SELECT x + 1 AS z FROM e) SELECT SUM(z) FROM d",
    "WITH d AS (SELECT y AS x FROM sales) SELECT SUM(x) FROM (WITH d AS (SELECT x FROM sales) SELECT x FROM d) q",
    "WITH s AS (SELECT pid, x FROM sales WHERE y > 1), v AS (SELECT pid AS who, x, cost FROM visits) "
    "SELECT COUNT(*), SUM(s.x), SUM(v.x), SUM(cost) FROM s JOIN v ON s.pid = v.who WHERE v.x > 0",
    "WITH s AS (SELECT pid, x AS a FROM sales), v AS (SELECT pid, x AS b FROM visits) "
    "SELECT COUNT(*), SUM(a), SUM(b), COUNT(DISTINCT pid) FROM s JOIN v USING (pid)",
    "WITH a AS (SELECT kind, height + 1 AS h FROM shops WHERE open OR height > 0) SELECT COUNT(*) FROM sales "
    "WHERE kind IN (SELECT kind FROM a WHERE h < 3 OR h > 3) OR x IN (SELECT h FROM a WHERE kind <> 'a' OR h > 1)",
    "WITH cold AS (SELECT kind FROM shops WHERE zone = 'cold') SELECT COUNT(*) FROM sales WHERE kind IN (SELECT kind FROM cold)",
]
ANSWERS = [
    "SELECT ARG_MAX(n, kind) AS n FROM (SELECT kind, COUNT(*) AS n FROM sales GROUP BY kind) t",
    "SELECT MIN_BY(n, kind) AS n FROM (SELECT kind, COUNT(*) AS n FROM sales WHERE paid GROUP BY kind) t",
    "SELECT * FROM (SELECT kind, COUNT(*) AS n FROM sales GROUP BY kind) t WHERE n > 3",
    "SELECT * FROM (SELECT kind, COUNT(*) AS n FROM sales GROUP BY kind) t ORDER BY n DESC, kind LIMIT 2",
    "SELECT k AS kind, m FROM (SELECT kind AS k, SUM(x) AS m FROM sales GROUP BY 1 HAVING COUNT(*) > 1) WHERE k <> 'a'",
    "SELECT n * 2 + 1 AS twice, kind FROM (SELECT kind, COUNT(*) AS n FROM sales GROUP BY kind) WHERE n * 2 > 5",
    "SELECT n FROM (SELECT COUNT(*) AS n FROM sales WHERE x > 100) WHERE n = 0",
    "SELECT * FROM (SELECT kind, COUNT(*) AS n FROM sales GROUP BY kind ORDER BY n DESC, kind LIMIT 2)",
    "SELECT y AS kind, kind AS y FROM (SELECT kind, y, COUNT(*) AS n FROM sales GROUP BY kind, y ORDER BY kind, n, y)",
    "SELECT b, a FROM (SELECT y AS a, SUM(x) AS b FROM sales GROUP BY a) WHERE a > 1 OR b < 3 ORDER BY a",
    "WITH c AS (SELECT kind, SUM(x) AS s, COUNT(*) AS n FROM sales GROUP BY kind), d AS (SELECT s / n AS r, kind FROM c) "
    "SELECT r, kind FROM d WHERE r > 1 ORDER BY kind",
    "SELECT kind, n, SUM(n) OVER () AS total FROM (SELECT kind, COUNT(*) AS n FROM sales GROUP BY kind) WHERE n > 2",
    "SELECT f, COUNT(*) FROM (SELECT FLOOR(x / 2) AS f FROM sales) GROUP BY f HAVING f > 0 ORDER BY f",
]
JOINS = [
    "SELECT COUNT(*), SUM(height) FROM sales s, shops h WHERE s.kind = h.kind AND x > 2",
    "SELECT COUNT(*), SUM(cost) FROM sales, visits WHERE sales.pid = visits.pid AND cost > 2",
    "SELECT COUNT(*), SUM(cost) FROM sales CROSS JOIN visits WHERE visits.pid = sales.pid",
    "SELECT zone, COUNT(*) FROM shops JOIN sales ON shops.kind = sales.kind GROUP BY zone",
    "SELECT zone, COUNT(*) FROM shops JOIN sales USING (kind) WHERE x > 1 GROUP BY zone",
    "SELECT zone, COUNT(*) FROM shops RIGHT JOIN sales USING (kind) GROUP BY zone",
    "SELECT zone, COUNT(*) FROM shops h RIGHT OUTER JOIN sales s ON h.kind = s.kind GROUP BY zone",
    "SELECT COUNT(*), SUM(height) FROM sales s JOIN shops h ON s.kind = h.kind AND (h.zone = 'cold' OR x > 3) WHERE paid",
    "SELECT COUNT(*), SUM(height) FROM sales s LEFT JOIN shops h ON s.kind = h.kind AND h.zone = 'cold'",
    "SELECT COUNT(*), SUM(height), COUNT(height) FROM sales s LEFT JOIN shops h ON h.kind = s.kind AND x > 3 AND h.open",
    "SELECT COUNT(*) FROM sales s LEFT JOIN shops h ON s.kind = h.kind WHERE h.height > 0",
    "SELECT COUNT(*), SUM(h.height), SUM(f.height) FROM shops h, sales s, visits v, floors f "
    "WHERE s.kind = h.kind AND v.pid = s.pid AND f.code = v.floor AND s.x < 8",
    "SELECT COUNT(*) FROM sales s JOIN shops h ON TRUE JOIN visits v ON v.pid = s.pid AND h.kind = s.kind",
    "SELECT kind, COUNT(*) FROM sales LEFT JOIN shops USING (kind) GROUP BY kind",
    "SELECT COUNT(*), SUM(z.height) FROM sales LEFT JOIN (SELECT kind, height FROM shops WHERE open) z ON z.kind = sales.kind",
    "SELECT COUNT(*) FROM sales s JOIN (SELECT s.kind FROM shops s WHERE s.height > 0) h ON s.kind = h.kind",
    "SELECT COUNT(*), SUM(w.height) FROM sales s JOIN (SELECT v.pid, f.height FROM visits v JOIN floors f "
    "ON v.floor = f.code WHERE v.cost > 1) w ON w.pid = s.pid",
    "SELECT COUNT(*), SUM(w.height) FROM sales s JOIN (SELECT v.pid, f.height FROM visits v LEFT JOIN floors f "
    "ON v.floor = f.code) w USING (pid)",
    "SELECT COUNT(*) FROM main.sales WHERE main.sales.x > 2",
    "SELECT COUNT(*), SUM(height) FROM (sales JOIN shops USING (kind)) WHERE x > 1",
    "SELECT COUNT(*), SUM(w.cost) FROM ((SELECT * FROM sales WHERE x > 1) s JOIN shops h ON h.kind = s.kind) "
    "JOIN visits w ON w.pid = s.pid",
    "SELECT COUNT(*), SUM(h.height) FROM shops h JOIN (sales s JOIN visits v ON s.pid = v.pid) ON h.kind = s.kind",
    'SELECT COUNT(*) FROM "main"."sales" AS "s" JOIN "main"."shops" ON "s"."kind" = "main"."shops"."kind"',
]
LISTS = [
    "SELECT kind, COUNT(*) FROM sales GROUP BY ALL",
    "SELECT COUNT(*) FROM sales GROUP BY ALL",
    "SELECT kind, paid, COUNT(*), SUM(x) FROM sales GROUP BY ALL ORDER BY ALL",
    "SELECT COUNT(*) AS n, kind FROM sales GROUP BY ALL ORDER BY ALL DESC",
    "SELECT y + 1 AS z, SUM(x) FROM (SELECT y, x FROM sales) GROUP BY ALL ORDER BY z",
    "SELECT COUNT(*) FROM sales WHERE (x, y) IN ((1, 2), (3, 4), (5, 1))",
    "SELECT COUNT(*) FROM sales WHERE (kind, paid) IN (('a', TRUE), ('b', FALSE))",
    "SELECT COUNT(*) FROM sales WHERE x IS NOT NULL AND y IS NOT NULL AND (x, y + 1) NOT IN ((1, 2), (3, 4))",
]
PUBLIC = [
    f"SELECT COUNT(*) FROM sales WHERE {condition}"
    for condition in [
        "kind IN (SELECT kind FROM shops)",
        "kind NOT IN (SELECT kind FROM shops)",
        "kind IN (SELECT kind FROM shops WHERE height > 0)",
        "kind NOT IN (SELECT kind FROM shops WHERE zone = 'cold' OR NOT open)",
        "kind NOT IN (SELECT kind FROM shops WHERE height > 5)",
        "kind IN (SELECT kind FROM shops WHERE height > 5)",
        "x IN (SELECT height FROM shops)",
        "x NOT IN (SELECT height FROM shops)",
        "x NOT IN (SELECT height FROM shops WHERE height IS NOT NULL)",
        "NOT (x IN (SELECT height FROM shops) OR paid)",
        "NOT (x NOT IN (SELECT height FROM shops) AND paid)",
        "x IN (SELECT height + 1 FROM shops WHERE open)",
        "x NOT IN (SELECT height FROM shops WHERE kind = 'c')",
        "x IN (SELECT height FROM shops WHERE kind = 'c')",
        "kind IN (SELECT zone FROM shops)",
        "kind NOT IN (SELECT zone FROM shops WHERE zone IS NOT NULL)",
        "EXISTS (SELECT 1 FROM shops WHERE shops.kind = sales.kind)",
        "NOT EXISTS (SELECT 1 FROM shops WHERE shops.kind = sales.kind)",
        "NOT EXISTS (SELECT * FROM shops h WHERE h.kind = sales.kind AND height > 0)",
        "NOT EXISTS (SELECT * FROM shops h WHERE height = x)",
        "EXISTS (SELECT 1 FROM shops WHERE height > 5)",
        "NOT EXISTS (SELECT 1 FROM shops WHERE height > 5)",
        "EXISTS (SELECT 1 FROM shops h WHERE x = h.height AND h.zone = 'cold') OR y = 1",
        "x > (SELECT MAX(height) FROM shops)",
        "x IN (SELECT MAX(height) FROM shops)",
        "x NOT IN (SELECT COUNT(*) FROM shops WHERE open)",
        "x > (SELECT MIN(height) FROM shops WHERE open)",
        "x > (SELECT AVG(height) FROM shops) + 1",
        "x = (SELECT height FROM shops WHERE kind = 'a')",
        "x >= (SELECT COUNT(*) FROM shops) AND y <> (SELECT COUNT(height) FROM shops)",
        "kind = (SELECT kind FROM shops WHERE height = 3)",
        "x IN (1, (SELECT SUM(height) FROM floors))",
    ]
] + [
    "SELECT SUM(CASE WHEN kind IN (SELECT kind FROM shops WHERE open) THEN x ELSE 0 END) FROM sales",
    "SELECT COUNT(*) FILTER (WHERE x NOT IN (SELECT height FROM shops)) FROM sales",
    "SELECT COUNT(*) FROM (SELECT kind AS k, x FROM sales) d WHERE EXISTS (SELECT 1 FROM shops h WHERE h.kind = d.k)",
]
CONSTANTS = [
    "SELECT COUNT(*) FROM sales WHERE 1 = 1",
    "SELECT COUNT(*) FROM sales WHERE 1 = 1 AND x > 3",
    "SELECT COUNT(*) FROM sales WHERE x > 3 AND (1 = 1) AND '1' = '1' AND y < 4",
    "SELECT COUNT(*) FROM sales WHERE 1 = 0",
    "SELECT COUNT(*) FROM sales WHERE x > 3 AND 1 = 2",
    "SELECT COUNT(*) FROM sales WHERE 'a' <> 'b' AND 2 >= 1.5 AND TRUE",
    "SELECT COUNT(*) FROM sales WHERE (1 = 1 OR x > 3) AND (2 < 1 OR x > 4)",
]
TEXTS = {
    "sub-selects": SUBSELECTS,
    "with": CTES,
    "answers": ANSWERS,
    "joins": JOINS,
    "lists": LISTS,
    "public": PUBLIC,
    "constants": CONSTANTS,
}
ALL = [text for texts in TEXTS.values() for text in texts]


@pytest.mark.parametrize("text", ALL)
def test_law_what_a_text_becomes_means_the_same(databases: list[Any], text: str) -> None:
    assert _same(databases, text)


# What each rule shows ------------------------------------------------------------------------------------------


def _failures(text: str, rule: Rule) -> int:
    """Of the examples in a text, where ``after`` prints a text after the rules up to this one."""

    def after(sql: str) -> None:
        tree = query_tree(sql, known_words(*TABLES))[1]
        tree = rewritten(SqlText(sql, SALES), tree, TABLES, RULES[: RULES.index(rule) + 1])
        print(tree.sql().replace('"', ""))

    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    runner.run(doctest.DocTestParser().get_doctest(text, {"after": after}, "rule", None, None))
    return runner.summarize(verbose=False).failed


def _name(rule: Rule) -> str:
    return rule.write.__name__


@pytest.mark.parametrize("rule", RULES, ids=_name)
def test_a_rule_shows_a_text_before_and_after_it(rule: Rule) -> None:
    shown = rule.write.__doc__ or ""
    (example,) = doctest.DocTestParser().get_examples(shown)
    assert example.source.removeprefix('after("').rstrip()[:-2] != " ".join(example.want.split())
    assert _failures(shown, rule) == 0


def test_an_example_that_is_wrong_fails() -> None:
    """The mutant of the test above: the same text, and a rule before."""
    joins = next(rule for rule in RULES if _name(rule) == "declared_joins")
    assert _failures(joins.write.__doc__ or "", joins) == 0
    assert _failures(joins.write.__doc__ or "", RULES[0]) == 1


def test_every_rule_has_a_file_of_its_own_and_nothing_else_stands_there() -> None:
    files = [rule.write.__module__.rpartition(".")[2] for rule in RULES]
    assert len(set(files)) == len(RULES)
    others = {module.name for module in pkgutil.iter_modules(rewrite.__path__)} - set(files)
    assert others == {"scopes", "public_values"}


# Random sub-selects in one another ------------------------------------------------------------------------------


class _Writer:
    """Writes a SELECT over random sub-selects of sales, with names that get in one another's way."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)

    def query(self) -> str:
        table, columns = self.rows(self.dice.randrange(1, 4))
        asked = self.dice.sample(columns, 2) if len(columns) > 1 else columns * 2
        where = self.where(columns)
        if self.dice.random() < 0.5:
            key = self.dice.choice(columns)
            return f"SELECT {key} AS {self.name()}, COUNT(*) AS k, SUM({asked[0]}) FROM {table}{where} GROUP BY {key}"
        return f"SELECT COUNT(*) AS k, SUM({asked[0]} - {asked[1]}), MIN({asked[1]}) FROM {table}{where}"

    def rows(self, depth: int) -> tuple[str, list[str]]:
        if not depth:
            return "sales", ["x", "y"]
        inner, columns = self.rows(depth - 1)
        made = [f"{self.number(columns)} AS {name}" for name in self.dice.sample(["x", "y", "z", "kind"], 2)]
        names = [one.rpartition(" ")[2] for one in made]
        alias = self.dice.choice(["sales", "d", "x", "visits"])
        if (
            inner.startswith("(")
            and self.dice.random() < 0.3
            and not {"x", "y", "z", "kind"} & set(columns) & set(names)
        ):
            made, names = ["*", *made], [*columns, *names]
        return f"(SELECT {', '.join(made)} FROM {inner}{self.where(columns)}) AS {alias}", names

    def where(self, columns: list[str]) -> str:
        parts = [
            f"{self.number(columns)} {self.dice.choice(['<', '>=', '<>'])} {self.dice.randrange(6)}"
            for _ in range(2)
        ]
        return self.dice.choice(["", f" WHERE {parts[0]}", f" WHERE {parts[0]} OR NOT {parts[1]}"])

    def number(self, columns: list[str]) -> str:
        one, other = self.dice.choice(columns), self.dice.choice(columns)
        return self.dice.choice(
            [
                one,
                one,
                f"{one} - {other}",
                f"-{one}",
                f"{one} * 2 + {other}",
                f"CASE WHEN {one} > 2 THEN {other} END",
            ]
        )

    def name(self) -> str:
        return self.dice.choice(["x", "y", "z", "kind", "w"])


@pytest.mark.parametrize("seed", range(often(75, 150)))
def test_law_random_sub_selects_mean_the_same(databases: list[Any], seed: int) -> None:
    text = _Writer(seed).query()
    assert _same(databases, text), text


# The query that is asked ---------------------------------------------------------------------------------------

BY_HAND = [
    (
        "SELECT ARG_MAX(kind, n) AS k FROM (SELECT kind, COUNT(*) AS n FROM sales GROUP BY kind) t",
        "SELECT kind AS k FROM sales GROUP BY kind ORDER BY COUNT(*) DESC LIMIT 1",
    ),
    (
        "WITH c AS (SELECT kind, SUM(x) AS n FROM sales WHERE paid GROUP BY kind) SELECT MIN_BY(kind, n) FROM c",
        "SELECT kind FROM sales WHERE paid GROUP BY kind ORDER BY SUM(x) LIMIT 1",
    ),
    (
        "SELECT kind, COUNT(*) AS a, COUNT(*) AS b FROM (SELECT * FROM sales) GROUP BY kind HAVING b > 3 ORDER BY b",
        "SELECT kind, COUNT(*) AS a, COUNT(*) AS b FROM sales GROUP BY kind HAVING b > 3 ORDER BY b",
    ),
    (
        "SELECT kind, AVG(z) AS m FROM (SELECT kind, x * 2 AS z FROM sales WHERE y > 1) WHERE z < 5 GROUP BY kind",
        "SELECT kind, AVG(x * 2) AS m FROM sales WHERE y > 1 AND x * 2 < 5 GROUP BY kind",
    ),
    (
        "WITH d AS (SELECT * FROM sales), e AS (SELECT d.*, paid AS p FROM d) SELECT COUNT(*) FROM e WHERE p",
        "SELECT COUNT(*) FROM sales WHERE paid",
    ),
    (
        "SELECT k, n FROM (SELECT kind AS k, COUNT(*) AS n, SUM(x) FROM sales GROUP BY 1) WHERE n > 5 ORDER BY k LIMIT 2",
        "SELECT kind AS k, COUNT(*) AS n FROM sales GROUP BY kind HAVING n > 5 ORDER BY k LIMIT 2",
    ),
    (
        "SELECT zone, COUNT(*) FROM shops, main.sales s WHERE s.kind = shops.kind AND height > 0 GROUP BY ALL",
        "SELECT zone, COUNT(*) FROM sales JOIN shops USING (kind) WHERE height > 0 GROUP BY zone",
    ),
    (
        "SELECT COUNT(*) FROM sales WHERE 1 = 1 AND kind IN (SELECT kind FROM shops WHERE zone IN ('cold', 'warm'))",
        "SELECT COUNT(*) FROM sales WHERE kind IN ('a', 'b')",
    ),
    (
        "SELECT COUNT(*) FROM sales WHERE x > (SELECT MAX(height) FROM shops)",
        "SELECT COUNT(*) FROM sales WHERE x > 3",
    ),
]


@pytest.mark.parametrize(("text", "by_hand"), BY_HAND)
def test_what_is_asked_is_what_one_would_write_by_hand(text: str, by_hand: str) -> None:
    """The same query costs the same, and a repetition of either is free."""
    one, two = (parse_request(sql, *TABLES) for sql in (text, by_hand))
    assert query_text(one.query) == query_text(two.query)
    assert one.shape == two.shape


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "SELECT SUM(g) FROM sales LEFT JOIN (SELECT kind, 1 AS g FROM shops) h ON h.kind = sales.kind",
            "column 12: g",
        ),
        (
            "SELECT COUNT(*) FROM sales LEFT JOIN shops h ON h.kind = sales.kind AND open GROUP BY zone",
            "column 87: zone",
        ),
        (
            "SELECT COUNT(*) FROM sales s JOIN shops h USING (kind) WHERE height > 0 AND (SELECT x FROM visits) > 0",
            "public",
        ),
        ("SELECT COUNT(*) FROM sales WHERE x = (SELECT height FROM shops)", "gives 3"),
        (
            "SELECT COUNT(*) FROM (SELECT x AS pid, pid FROM sales) d JOIN visits USING (pid)",
            "'pid', which is not once in both tables (line 1, column 77: pid)",
        ),
        (
            "SELECT COUNT(*) FROM sales WHERE height IN (SELECT kind FROM shops WHERE height > 5)",
            "no column 'height'",
        ),
        ("SELECT COUNT(*) FROM sales WHERE * NOT IN (SELECT height FROM shops)", "a value of a row"),
        ("SELECT COUNT(*) FROM sales WHERE COUNT(*) NOT IN (SELECT height FROM shops)", "a value of a row"),
        ("SELECT COUNT(*) FROM sales WHERE EXISTS (SELECT v FROM shops)", "no column 'v'"),
        ("SELECT COUNT(*) FROM sales WHERE EXISTS (SELECT FROM shops)", "lists nothing"),
        (
            "SELECT COUNT(*) FROM sales WHERE EXISTS (SELECT MAX(height) FROM shops WHERE height > 5)",
            "always gives a row",
        ),
        (
            "SELECT COUNT(*) FROM sales WHERE x = (SELECT height FROM shops WHERE kind = 'c')",
            "one value is needed",
        ),
        (
            "SELECT COUNT(*) FROM sales WHERE EXISTS (SELECT 1 FROM shops WHERE height > x)",
            "public.key = t.key",
        ),
        (
            "SELECT x IN (SELECT height FROM shops) AS a, COUNT(*) FROM sales GROUP BY 1",
            "neither true nor false",
        ),
        (
            "SELECT COUNT(*) FROM sales WHERE NOT EXISTS (SELECT 1 FROM shops WHERE height = x + 1)",
            "compares a column",
        ),
    ],
)
def test_what_cannot_be_said_exactly_is_refused_with_its_place(text: str, says: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        parse_request(text, *TABLES)
    assert says in refused.value.message


def test_what_a_column_cannot_be_is_left_out_of_a_list() -> None:
    asked = parse_request(
        "SELECT COUNT(*) FROM sales WHERE kind NOT IN (SELECT zone FROM shops WHERE zone IN ('cold', 'warm'))",
        *TABLES,
    )
    assert "IS NULL" in query_text(asked.query)


def test_rows_of_a_public_table_that_are_not_kept_are_not_guessed() -> None:
    """A key that no private row has was left out; its other values are not known any more."""
    public = replace(SHOPS, rows_left_out=2)
    tables = (replace(SALES, dimensions=(public,)), VISITS)
    known = "kind IN (SELECT kind FROM shops WHERE height > 0)"
    assert parse_request(f"SELECT COUNT(*) FROM sales WHERE {known}", *tables)
    assert parse_request("SELECT COUNT(*) FROM sales WHERE EXISTS (SELECT 1 FROM shops WHERE open)", *tables)
    for condition in [
        "x IN (SELECT height FROM shops)",
        "x > (SELECT MAX(height) FROM shops)",
        "x > (SELECT COUNT(*) FROM shops)",
        "kind IN (SELECT zone FROM shops)",
        "EXISTS (SELECT 1 FROM shops WHERE height > 5)",
        "EXISTS (SELECT 1 FROM shops h WHERE h.height = x)",
    ]:
        with pytest.raises(InvalidRequest, match="declare"):
            parse_request(f"SELECT COUNT(*) FROM sales WHERE {condition}", *tables)


def _doubled(levels: int, expression: str) -> str:
    steps = [
        f"t{i} AS (SELECT {expression} AS x FROM {f't{i - 1}' if i else 'sales'})" for i in range(levels)
    ]
    return f"WITH {', '.join(steps)} SELECT AVG(x) FROM t{levels - 1}"


@pytest.mark.parametrize(
    "text",
    [
        _doubled(30, "x + x"),
        _doubled(150, "x + 1"),
        "WITH t0 AS (SELECT x FROM sales), "
        + ", ".join(f"t{i} AS (SELECT a.x FROM t{i - 1} a, t{i - 1} b)" for i in range(1, 25))
        + " SELECT COUNT(*) FROM t24",
        "SELECT COUNT(*) FROM "
        + "(SELECT * FROM " * 15
        + "sales"
        + ")" * 15
        + ", ".join(["", *["sales"] * 200]),
        "WITH a AS (SELECT "
        + ", ".join(f"x AS c{i}" for i in range(300))
        + " FROM sales) SELECT COUNT(*) FROM "
        + " CROSS JOIN ".join(f"a AS b{i}" for i in range(60)),
    ],
)
def test_what_grows_too_long_is_refused_in_time(text: str) -> None:
    start = time.process_time()
    with pytest.raises(InvalidRequest) as refused:
        parse_request(text, *TABLES)
    assert time.process_time() - start < 2
    assert len(refused.value.message) < 400


def test_deep_sub_selects_are_read() -> None:
    text = "SELECT COUNT(*) FROM " + "(SELECT * FROM " * 19 + "sales" + ")" * 19
    assert query_text(parse_request(text, *TABLES).query) == "SELECT COUNT(*) AS count FROM sales"
    assert parse_request(_doubled(8, "x + 1"), *TABLES)
