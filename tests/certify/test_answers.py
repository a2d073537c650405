"""How an answer is used in Python: by value, by name, by row, and as a table of another library."""

from __future__ import annotations

import math
from fractions import Fraction

import pandas as pd
import pytest

from adyton.certify import Absent, Values
from adyton.certify.values import Value
from adyton.curator.curator import Curator
from adyton.errors import InvalidRequest
from adyton.kernel.privacy import Guarantee, PrivacyUnit
from adyton.kernel.schema import CategoryColumn, IntegerColumn, Table
from adyton.study import Study, Validity
from support.curators import seeded

ROWS = 400
TABLE = Table("people", (IntegerColumn("age", 0, 120), CategoryColumn("region", ("north", "south"))), ROWS)


@pytest.fixture
def curator() -> Curator:
    budget = Guarantee(Fraction(50), Fraction(1, 10**6))
    study = Study(TABLE, PrivacyUnit("replace-one"), budget, "gdp", validity=Validity(Fraction(95, 100)))
    return seeded(study, pd.DataFrame({"age": [30, 50] * 200, "region": ["north"] * ROWS}), 1)


def test_a_single_value_stands_for_its_answer(curator: Curator) -> None:
    """Mutants: the two intervals exchanged; ``_only`` takes the first of several."""
    answer = curator.ask("SELECT COUNT(*) AS n FROM people WHERE age > 40", epsilon=5)
    (only,) = answer.rows[0].values.values()
    assert answer.value == only.value
    assert answer.noise_interval == only.noise_interval
    assert answer.population_interval == only.population_interval
    assert not isinstance(answer.population_interval, Absent)
    assert answer.population_interval.low < answer.noise_interval.low
    assert answer["n"] == only


def test_several_values_have_names_and_rows(curator: Curator) -> None:
    """Mutants: ``__getitem__`` always gives the first value; ``__len__`` counts values; no ``__bool__``."""
    answer = curator.ask("SELECT region, COUNT(*) AS n, AVG(age) AS m FROM people GROUP BY region", epsilon=9)
    for wrong in ("value", "noise_interval", "population_interval"):
        with pytest.raises(InvalidRequest, match="this answer has 4 values"):
            getattr(answer, wrong)
    column = answer["m"]
    assert isinstance(column, Values)
    assert [row.values["m"] for row in answer] == list(column)
    assert len(answer) == 2
    assert answer[1] == answer.rows[1]
    assert [row.keys["region"] for row in answer[:1]] == ["north"]
    with pytest.raises(InvalidRequest, match="no value called 'x'; it has n, m"):
        answer["x"]
    one = curator.ask("SELECT COUNT(*) AS n, AVG(age) AS m FROM people", epsilon=9)
    assert isinstance(one["m"], Value)
    assert one["m"].value == one.rows[0].values["m"].value
    none = curator.ask("SELECT COUNT(*) AS n FROM people GROUP BY region HAVING n > 1000", epsilon=1)
    assert len(none) == 0
    assert none
    assert len(list(none["n"])) == 0  # type: ignore[arg-type]


def test_exports_say_the_same_and_nothing_where_nothing_is_known(curator: Curator) -> None:
    """Mutant: no ``fill_nan``."""
    answer = curator.ask("SELECT region, COUNT(*) AS n, AVG(age) AS m FROM people GROUP BY region", epsilon=9)
    records = answer.records()
    assert answer.to_polars().to_dicts() == records
    assert answer.to_arrow().to_pylist() == records
    frame = answer.to_pandas()
    assert list(frame.columns) == list(records[0])
    assert frame["n"].tolist() == [record["n"] for record in records]
    assert records[1]["m"] is None
    assert math.isnan(frame["m"][1])
