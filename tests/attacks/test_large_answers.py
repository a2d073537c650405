"""One text that asks for more numbers than there is memory is refused, and before it is charged."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import pytest

from adyton.curator import Curator
from adyton.curator.dummy import dummy_of
from adyton.curator.size import MOST_INTEGERS, MOST_VALUES
from adyton.errors import InvalidRequest
from adyton.privacy import Guarantee, PrivacyUnit
from adyton.schema import IntegerColumn, Table
from adyton.study import Study

TABLE = Table("t", (IntegerColumn("a", 0, 999), IntegerColumn("b", 0, 999), IntegerColumn("wide", 0, 10**6)))


@pytest.fixture
def curator() -> Iterator[Curator]:
    study = Study(TABLE, PrivacyUnit("add-or-remove"), Guarantee(Fraction(50), Fraction(1, 10**9)))
    with dummy_of(study, 3) as opened:
        yield opened


def _listed(measure: str, times: int) -> str:
    return ", ".join(f"{measure} AS v{i}" for i in range(times))


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT {_listed('COUNT(*)', 100)} FROM t GROUP BY a, b",
        f"SELECT {_listed('COUNT(*)', 2)} FROM t GROUP BY a, b LIMIT 1",
        f"SELECT CDF(wide, {', '.join(map(str, range(1000)))}) FROM t GROUP BY a, FLOOR(b / 100)",
        f"SELECT CDF(wide, {', '.join(map(str, range(1000)))}) FROM t GROUP BY a, b",
        f"SELECT {_listed('MEDIAN(wide)', 100)} FROM t GROUP BY a",
    ],
    ids=["values", "two", "points", "more points", "bins"],
)
def test_an_answer_that_is_too_large_is_refused_free_of_charge(curator: Curator, sql: str) -> None:
    for attempt in (curator.ask, curator.preview):
        with pytest.raises(InvalidRequest, match="at once"):
            attempt(sql, epsilon=1)
    assert curator.statement().questions == 0


def test_so_is_a_batch_of_answers_that_are_too_large_together(curator: Curator) -> None:
    for one, times in (("SELECT COUNT(*) FROM t GROUP BY a", 1001), ("SELECT MEDIAN(wide) FROM t", 1100)):
        with pytest.raises(InvalidRequest, match="at once"):
            curator.preview_many([one] * times, epsilon=1)


def test_what_just_fits_is_answered(curator: Curator) -> None:
    assert MOST_VALUES == 1000 * 1000
    curator.preview("SELECT COUNT(*) FROM t GROUP BY a, b", epsilon=1)
    searches = MOST_INTEGERS // 2**16
    curator.preview_many(["SELECT MEDIAN(wide) FROM t"] * min(searches, 50), epsilon=1)
    assert len(curator.ask("SELECT COUNT(*), AVG(b), MEDIAN(wide) FROM t GROUP BY a", epsilon=1).rows) == 1000
