"""Texts made of what is released, and what is computed from keys: columns without intervals."""

from __future__ import annotations

from fractions import Fraction

import pandas as pd
import pytest

from adyton.curator.curator import Curator
from adyton.errors import InvalidRequest
from adyton.kernel.privacy import Guarantee, PrivacyUnit
from adyton.kernel.schema import IntegerColumn, Table
from adyton.query.request import request_of
from adyton.query.text import query_text
from adyton.study import Study
from support import strategies
from support.curators import seeded

PEOPLE = strategies.PEOPLE


def curator_of(regions: list[str], seed: int) -> Curator:
    frame = pd.DataFrame({column.name: [None] * len(regions) for column in PEOPLE.columns})
    frame["region"], frame["income"] = regions, [100.0] * len(regions)
    study = Study(PEOPLE, PrivacyUnit("add-remove"), Guarantee(Fraction(100), Fraction(1, 10**9)))
    return seeded(study, frame, seed)


def test_a_text_says_what_is_released_and_nothing_where_that_says_nothing() -> None:
    """Mutant: labels are made of values as the noise put them, without ``_said``."""
    text = "SELECT region, region || ': ' || {} AS said, {} AS value FROM people GROUP BY region"
    with curator_of(["north"] * 4000, seed=2) as curator:
        counts = curator.ask(text.format("COUNT(*)", "COUNT(*)"), epsilon=1)
        for row, value in zip(counts.rows, counts["value"].value, strict=True):
            assert row.keys["said"] == f"{row.keys['region']}: {int(value)}"
        quotient = "SUM(income) / COUNT(age)"  # nobody has an age
        nothing = curator.ask(text.format(quotient, quotient), epsilon=1)
        told = [(record["said"], record["value"]) for record in nothing.records()]
        assert [said is None for said, _ in told] == [value is None for _, value in told]
        assert None in [said for said, _ in told]


def test_a_text_may_have_the_name_of_a_key_that_is_called_otherwise() -> None:
    """Mutant: keys are renamed after texts are put beside them."""
    with curator_of(["north"] * 10, seed=3) as curator:
        answer = curator.ask(
            "SELECT region AS r, 'x' AS region, COUNT(*) FROM people GROUP BY region", epsilon=1
        )
        assert [row.keys for row in answer.rows][:2] == [
            {"r": "north", "region": "x"},
            {"r": "south", "region": "x"},
        ]


def test_sets_without_a_key_call_it_as_they_like() -> None:
    query = "SELECT {} AS region, COUNT(*) AS n FROM people GROUP BY ROLLUP(region)"
    named = [
        "COALESCE(region, 'all')",
        "CASE WHEN GROUPING(region) = 1 THEN 'all' ELSE region END",
        "CASE WHEN region IS NULL THEN 'all' ELSE region END",
    ]
    with curator_of(["north"] * 10, seed=4) as curator:
        for item in named:
            answer = curator.ask(query.format(item), epsilon=1)
            assert [row.keys["region"] for row in answer.rows] == [*_regions(), "all"]
            assert list(answer.rows.keys.columns) == ["region"]
        last = curator.ask(
            "SELECT GROUPING(region) * 10 AS g, COUNT(*) FROM people GROUP BY CUBE(region)", epsilon=1
        )
        assert [row.keys["g"] for row in last.rows] == [0] * len(_regions()) + [10]


def _regions() -> list[str]:
    column = next(c for c in PEOPLE.columns if c.name == "region")
    return list(column.values)  # type: ignore[union-attr]


def test_what_is_computed_from_keys_is_no_part_of_the_query() -> None:
    table = Table("t", (IntegerColumn("year", 2000, 2009),))
    request = request_of(
        "SELECT year + 1 AS y, COUNT(*) AS n FROM t GROUP BY year ORDER BY y DESC LIMIT 2", table
    )
    assert query_text(request.query) == "SELECT year, COUNT(*) AS n FROM t GROUP BY year"
    rows = [({"year": year}, {"n": 1.0}) for year in range(2000, 2010)]
    assert request.shape.applied(rows) == (9, 8)


@pytest.mark.parametrize(
    ("item", "said"),
    [
        ("COALESCE(region, 'none') AS r", "neither grouped"),
        ("CASE WHEN region IS NULL THEN 'none' ELSE region END AS r", "neither grouped"),
        ("UPPER(region) AS region", "neither grouped"),
        ("region || age AS r", "neither grouped"),
    ],
)
def test_what_would_leave_out_rows_or_mean_two_things_is_refused(item: str, said: str) -> None:
    with pytest.raises(InvalidRequest, match=said):
        request_of(f"SELECT {item}, COUNT(*) FROM people GROUP BY region", PEOPLE)
