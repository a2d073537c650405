"""A short text that becomes a long statement is refused, and before it is charged."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest

from adyton.curator.mock import mock_of
from adyton.engines.loading.sources import DuckDBDialect
from adyton.engines.spelling.rows import RowSql
from adyton.errors import InvalidRequest
from adyton.kernel.privacy import Guarantee, PrivacyUnit
from adyton.kernel.schema import Attribute, BooleanColumn, CategoryColumn, Dimension, IntegerColumn, Table
from adyton.kernel.terms.expressions import (
    And,
    Case,
    Clip,
    Compare,
    Floor,
    Indicator,
    Negative,
    Not,
    NumberExpression,
    Or,
    Plus,
    Square,
    Times,
)
from adyton.kernel.terms.leaves import Always, Constant, IsTrue, Lookup, ValueOf
from adyton.query.length import weight
from adyton.study import Study

BIT, TRUTH = IntegerColumn("bit", 0, 1), BooleanColumn("truth")
PLACE = CategoryColumn("place", tuple(f"p{i}" for i in range(5000)))
HEIGHT = Attribute(IntegerColumn("height", 0, 4999), tuple(range(5000)))
TABLE = Table(
    "t", (BIT, TRUTH, PLACE), dimensions=(Dimension("places", "place", "place", PLACE.values, (HEIGHT,)),)
)
STUDY = Study(TABLE, PrivacyUnit("add-remove"), Guarantee(Fraction(50), Fraction(1, 10**9)))
ROW = RowSql({"bit": "c0", "truth": "c1", "place": "c2"}, DuckDBDialect())
ZERO, ONE = Constant(Fraction(0)), Constant(Fraction(1))


def _squares(depth: int) -> str:
    return "SQUARE(" * depth + "bit" + ")" * depth


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT SUM({_squares(18)}) FROM t",
        f"SELECT COUNT(*) FROM t WHERE {_squares(13)} > 0 OR {_squares(13)} > 1",
        f"SELECT COUNT(*) FROM t WHERE {_squares(8)} IN ({', '.join(map(str, range(1000)))})",
        f"SELECT COUNT(*) FROM t GROUP BY {_squares(15)}",
        f"SELECT VARIANCE({_squares(12)}) FROM t",
        f"SELECT CDF({_squares(6)}, {', '.join(map(str, range(900)))}) FROM t",
        f"SELECT {', '.join(['SUM(bit) FILTER (WHERE truth)'] * 90)} FROM t WHERE {' OR '.join(['bit < 1'] * 600)}",
        "SELECT COUNT(*) FROM t JOIN places USING (place) WHERE "
        + " OR ".join(f"height > {i}" for i in range(300)),
    ],
    ids=["squares", "filters", "lists", "groups", "variance", "points", "one filter for all", "public lists"],
)
def test_a_query_that_grows_is_refused_free_of_charge(sql: str) -> None:
    with mock_of(STUDY, 3) as curator:
        with pytest.raises(InvalidRequest, match="too long when it is written out"):
            curator.ask(sql, epsilon=1)
        assert curator.budget().queries == 0
        curator.ask(f"SELECT SUM({_squares(5)}) FROM t WHERE bit IN (0, 1)", epsilon=1)


TOWERS: dict[str, Callable[[NumberExpression], NumberExpression]] = {
    "square": Square,
    "negative": lambda x: Negative(Negative(x)),
    "plus": lambda x: Clip(Plus(x, ValueOf(BIT)), Fraction(0), Fraction(1)),
    "times": lambda x: Times(x, ONE),
    "floor": lambda x: Floor(x, Fraction(1)),
    "indicator": lambda x: Indicator(Not(Compare(x, ">", ZERO))),
    "case": lambda x: Case(((Compare(x, ">", ZERO), ONE), (IsTrue(TRUTH), ZERO))),
    "clamped case": lambda x: Clip(
        Case(((And((Compare(x, ">", ZERO), IsTrue(TRUTH))), ONE),), Plus(ValueOf(BIT), ValueOf(BIT))),
        Fraction(0),
        Fraction(1),
    ),
    "clamped choice": lambda x: Clip(
        Case(((Or((IsTrue(TRUTH), Always(False))), Plus(x, ValueOf(BIT))),)), Fraction(0), Fraction(1)
    ),
    "list": lambda x: Times(x, Clip(Lookup(PLACE, tuple(range(5000))), Fraction(0), Fraction(1))),
}


@pytest.mark.parametrize("tower", TOWERS)
def test_law_no_statement_is_much_longer_than_the_weight_of_its_query(tower: str) -> None:
    number: NumberExpression = ValueOf(BIT)
    for _ in range(9):
        number = TOWERS[tower](number)
        assert len(ROW.number(number)) <= 150 * weight(number)
