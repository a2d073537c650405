"""One text that asks for more numbers than there is memory is refused, and before it is charged (A26).

What is not refused needs little for each number.  Work is counted and memory is limited: nothing here is timed.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from adyton.certify import Value, rows
from adyton.curator import Curator
from adyton.curator.mock import mock_of
from adyton.errors import InvalidRequest
from adyton.kernel.privacy import Guarantee, PrivacyUnit
from adyton.kernel.schema import IntegerColumn, Table
from adyton.planning.known import MOST_INTEGERS, MOST_VALUES
from adyton.study import Study

TABLE = Table("t", (IntegerColumn("a", 0, 999), IntegerColumn("b", 0, 999), IntegerColumn("wide", 0, 10**6)))


@pytest.fixture
def curator() -> Iterator[Curator]:
    study = Study(TABLE, PrivacyUnit("add-remove"), Guarantee(Fraction(50), Fraction(1, 10**9)))
    with mock_of(study, 3) as opened:
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
        f"SELECT {_listed('MEDIAN(wide)', 50)} FROM t GROUP BY a, FLOOR(b / 60)",
    ],
    ids=["values", "two", "points", "more points", "bins", "comparisons"],
)
def test_an_answer_that_is_too_large_is_refused_free_of_charge(curator: Curator, sql: str) -> None:
    """Mutants: no limit on values, on noisy numbers, on bins; the check after the charge."""
    for attempt in (curator.ask, curator.preview):
        with pytest.raises(InvalidRequest, match="at once"):
            attempt(sql, epsilon=1)
    assert curator.budget().queries == 0


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


def test_no_object_is_made_for_a_cell(curator: Curator, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor when the answer comes again, is shaped, or is exported as columns.

    Mutants: rows made when the answer is; shaping and exports through rows.
    """
    made = []

    def counted(*words: Any) -> Value:
        made.append(words)
        return Value(*words)

    monkeypatch.setattr(rows, "Value", counted)
    sql = "SELECT AVG(b) AS m, COUNT(*) AS n, MEDIAN(wide) AS w FROM t GROUP BY a, FLOOR(b / 20) HAVING n > 1 ORDER BY m"
    for _ in range(2):
        answer = curator.ask(sql, epsilon=1)
        assert 10_000 < len(answer.rows) < 50_000
        assert len(answer.to_pandas()) == answer.to_arrow().num_rows == len(answer.rows)
        assert made == []
    assert answer.rows[7].values["m"].value == answer.to_pandas()["m"][7]
    assert len(made) == 3


_AT_THE_LIMIT = """
import resource, sys
from fractions import Fraction
from adyton.curator.mock import mock_of
from adyton.kernel.privacy import Guarantee, PrivacyUnit
from adyton.kernel.schema import IntegerColumn, Table
from adyton.study import Study

table = Table("t", (IntegerColumn("a", 0, 999), IntegerColumn("b", 0, 999)))
study = Study(table, PrivacyUnit("add-remove"), Guarantee(Fraction(50), Fraction(1, 10**9)))
with mock_of(study, 1000) as curator:
    curator.ask("SELECT STDDEV(b), MEDIAN(a) FROM t", epsilon=1)
    status = dict(line.split(":", 1) for line in open("/proc/self/status"))
    used = int(status["VmData"].split()[0]) * 1024
    resource.setrlimit(resource.RLIMIT_DATA, (used + int(sys.argv[1]), resource.RLIM_INFINITY))
    for _ in range(2):
        print(len(curator.ask("SELECT STDDEV(b) FROM t GROUP BY a, b", epsilon=1).rows))
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads how much memory it uses from /proc")
def test_the_largest_answer_needs_bounded_memory() -> None:
    """A million values of four noisy numbers each, in 640 MB: the arrays of an answer, not an object a cell.

    Mutant: rows made when the answer is.
    """
    command = [sys.executable, "-c", _AT_THE_LIMIT, str(640 * 2**20)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["1000000"] * 2, done.stderr[-500:]
