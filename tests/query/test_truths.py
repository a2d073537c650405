"""BOOL_OR and BOOL_AND: the counts that decide mean the same to a plain database, and the noise may not tell."""

from __future__ import annotations

import random
from fractions import Fraction

import pandas as pd
import pytest
from sqlglot import exp

from adyton.kernel.privacy import Guarantee, PrivacyUnit
from adyton.kernel.schema import BooleanColumn, IntegerColumn, Table
from adyton.query.sql.expressions import SqlText
from adyton.query.sql.read import known_words
from adyton.query.sql.rewrite import rewritten
from adyton.query.sql.words import query_tree
from adyton.study import Study
from support.curators import plain_database, seeded

TABLE = Table("t", (IntegerColumn("x", 0, 9), BooleanColumn("b")), rows=500)
TEXTS = {
    "SELECT x, BOOL_OR(b) AS s FROM t GROUP BY x": "SELECT x, COALESCE(BOOL_OR(b), FALSE) FROM t GROUP BY x",
    "SELECT EVERY(b OR x > 5) AS s FROM t": "SELECT COALESCE(BOOL_AND(b OR x > 5), TRUE) FROM t",
    "SELECT LOGICAL_AND(b) FILTER (WHERE x > 2) AS s FROM t": (
        "SELECT COALESCE(BOOL_AND(b) FILTER (WHERE x > 2), TRUE) FROM t"
    ),
    "SELECT x, COUNT(*) AS n FROM t GROUP BY x HAVING BOOL_OR(b) AND NOT BOOL_AND(b)": (
        "SELECT x, COUNT(*) FROM t GROUP BY x HAVING COALESCE(BOOL_OR(b), FALSE) AND NOT COALESCE(BOOL_AND(b), TRUE)"
    ),
}


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("seed", range(12))
def test_rewritten_and_original_mean_the_same(text: str, seed: int) -> None:
    _, tree = query_tree(text, known_words(TABLE))
    written: exp.Expr = rewritten(SqlText(text, TABLE), tree, (TABLE,))
    dice = random.Random(seed)
    with plain_database() as plain:
        plain.execute("CREATE TEMP TABLE t (x INT, b BOOLEAN)")
        rows = [(dice.choice([1, 3, 6]), dice.choice([True, True, False, None])) for _ in range(seed)]
        plain.executemany("INSERT INTO t VALUES (?, ?)", [*rows, (9, None)])
        found, truth = (sorted(plain.execute(sql).fetchall()) for sql in (written.sql("duckdb"), TEXTS[text]))
    assert found == truth  # 1 is TRUE


def test_a_truth_is_told_where_the_noise_allows_it() -> None:
    study = Study(TABLE, PrivacyUnit("replace-one"), Guarantee(Fraction(50), Fraction(1, 10**6)), "gdp")
    data = pd.DataFrame({"x": [i % 9 for i in range(500)], "b": [i < 3 for i in range(500)]})
    asked = "SELECT BOOL_OR(b) AS few, BOOL_OR(x > 2) AS many, BOOL_AND(x > 2) AS every_one FROM t"
    (record,) = seeded(study, data, 4).ask(asked, epsilon="0.4").records()
    assert (record["few"], record["few_noise_low"], record["few_noise_high"]) == (None, 0, 1)
    assert (record["many"], record["many_noise_low"]) == (1, 1)
    assert (record["every_one"], record["every_one_noise_high"]) == (0, 0)
