"""What an engine is told about one row: never much longer than what was asked."""

from __future__ import annotations

import operator

import pytest

from adyton.engines.loading.sources import DuckDBDialect
from adyton.engines.spelling.rows import RowSql, _edge
from adyton.kernel.schema import IntegerColumn, Table
from adyton.query.sql.read import parse
from adyton.query.sql.words import DEEPEST_NESTING

SIGNS = {
    "<": operator.lt,
    "<=": operator.le,
    "=": operator.eq,
    "<>": operator.ne,
    ">=": operator.ge,
    ">": operator.gt,
}
AGE = IntegerColumn("age", 0, 120)
PEOPLE = Table("people", (AGE,))


def emitted(expression: str) -> str:
    query = parse(f"SELECT SUM({expression}) AS s FROM people", PEOPLE)
    value = query.measures[0][1].value  # type: ignore[union-attr]
    return RowSql({"age": "c0"}, DuckDBDialect()).number(value)


@pytest.mark.parametrize(
    ("form", "levels"),
    [
        ("CLAMP({} + 1, 1, {})", DEEPEST_NESTING - 1),
        ("FLOOR(CLAMP({} - 1, -9, {}) / 2)", DEEPEST_NESTING // 3),
        ("CLAMP(CASE WHEN {} > 3 THEN age END, 1, {})", DEEPEST_NESTING // 3),
        ("CLAMP(CASE WHEN age > 3 THEN {} ELSE 7 END, 1, {})", DEEPEST_NESTING // 3),
    ],
)
def test_a_clip_inside_a_clip_does_not_double_the_statement(form: str, levels: int) -> None:
    """With twenty levels, a statement that doubles at each would fill the memory of the engine."""
    expression = "age"
    for level in range(levels):
        expression = form.format(expression, 100 - level)
    assert len(emitted(expression)) < 100 * len(expression)


def test_law_a_constant_of_a_finer_step_is_brought_to_the_step_of_the_rows() -> None:
    for times in range(1, 6):
        for value in range(-12, 13):
            for sign, compare in SIGNS.items():
                edge = _edge(sign, value, times)
                if edge is None:
                    assert sign in ("=", "<>")
                    assert value % times
                else:
                    assert all(compare(n * times, value) == compare(n, edge) for n in range(-15, 16))
