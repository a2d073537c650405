"""Case A26: hostile SQL through the product: nothing raw comes out, no work without end, no error that nobody caught.

The payloads of tests/support/hostile_sql.py, and those that DuckDB itself would run if it saw them: reading rows, files and
settings, writing, and growing without end.  They go through ``ask`` and through the command line, on a table whose
values can be recognised wherever they turn up.  Work is counted in calls, not in seconds.
"""

from __future__ import annotations

import cProfile
import json
import logging
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from typer.testing import CliRunner

import adyton
from adyton.curator.curator import Curator
from adyton.errors import InvalidRequest
from adyton.kernel.privacy import Guarantee, PrivacyUnit
from adyton.study import Study
from adyton.transports.cli.app import app
from support import strategies
from support.hostile_sql import CLAUSES, HEADS, NESTED, SELECTS, STATEMENTS
from support.worlds import study_text

CANARIES = ("8675309", "8675.309", "canary")
KNOWN = ("age", "income", "region", "smoker", "born")
MOST_CALLS = 200_000  # an ordinary query takes some thousands
RAW = [  # what a locked DuckDB still runs, and what it runs until it is stopped
    "SELECT list(income) FROM people",
    "SELECT string_agg(region, ',') FROM people",
    "SELECT array_agg(age) FROM people",
    "SELECT first(income) FROM people",
    "SELECT any_value(region), COUNT(*) FROM people",
    "SELECT arg_max(region, income) FROM people",
    "SELECT mode(*) FROM people",
    "SELECT approx_quantile(income, 1.0) FROM people",
    "SELECT COUNT(*) FROM people WHERE error(region) IS NULL",
    "SELECT COUNT(*) FROM people WHERE CAST(region AS INT) = 1",
    "SELECT SUM(1 / (age - 8675309)) FROM people",
    "SELECT COUNT(*) FROM people WHERE region = (SELECT region FROM people LIMIT 1)",
    "SELECT COUNT(*) FROM people WHERE EXISTS (SELECT 1 FROM people)",
    "SELECT COUNT(*) FROM read_csv('/etc/passwd')",
    "SELECT COUNT(*) FROM 'people.csv'",
    "SELECT COUNT(*) FROM read_text('/proc/self/environ')",
    "SELECT COUNT(*) FROM duckdb_settings()",
    "SELECT COUNT(*) FROM pragma_storage_info('people')",
    "SELECT COUNT(*) FROM people, people",
    "SELECT COUNT(*) FROM people CROSS JOIN people",
    "SELECT COUNT(*) FROM range(100000000000)",
    "SELECT SUM(LENGTH(REPEAT('x', 2000000000))) FROM people",
    "WITH RECURSIVE t AS (SELECT 1 AS x UNION ALL SELECT x + 1 FROM t) SELECT COUNT(*) FROM t",
    "SELECT COUNT(*) FROM people TABLESAMPLE 1 ROWS",
    "SELECT COUNT(*) FROM people USING SAMPLE 1",
    "SELECT COUNT(*) FROM people AT (VERSION => 1)",
    "SELECT getenv('HOME'), COUNT(*) FROM people",
    "SELECT COUNT(*) FROM people; ATTACH 'x.db'; COPY people TO 'out.csv'",
    "COPY (SELECT * FROM people) TO '/dev/stdout'",
    "INSERT INTO people SELECT * FROM people",
    "PREPARE q AS SELECT * FROM people",
    "SELECT COUNT(*) FROM people WHERE age > 1 /* '; DROP TABLE people; -- */; SELECT * FROM people",
    'SELECT COUNT(*) AS "x"; SELECT * FROM people --',
    "SELECT COUNT(*) FROM people WHERE region = '\\'; SELECT * FROM people; --'",
]
BOMBS = {
    "parentheses": "SELECT COUNT(*) FROM people WHERE " + "(" * 50_000 + "age > 1" + ")" * 50_000,
    "few parentheses": "SELECT COUNT(*) FROM people WHERE " + "(" * 900 + "age > 1" + ")" * 900,
    "not": "SELECT COUNT(*) FROM people WHERE " + "NOT " * 50_000 + "age > 1",
    "and": "SELECT COUNT(*) FROM people WHERE " + " AND ".join(["age > 1"] * 50_000),
    "times": "SELECT SUM(" + " * ".join(["age"] * 200) + ") FROM people",
    "minus": "SELECT SUM(" + "- " * 3_000 + "age) FROM people",
    "case": "SELECT SUM(" + "CASE WHEN age > 1 THEN " * 400 + "1" + " ELSE 0 END" * 400 + ") FROM people",
    "squares": "SELECT SUM(" + "SQUARE(" * 40 + "age" + ")" * 40 + ") FROM people",
    "squares of a truth": "SELECT SUM("
    + "SQUARE(" * 18
    + "CASE WHEN smoker THEN 1 ELSE 0 END"
    + ")" * 18
    + ") FROM people",
    "in": "SELECT COUNT(*) FROM people WHERE age IN (" + ", ".join(map(str, range(100_000))) + ")",
    "digits": "SELECT COUNT(*) FROM people WHERE age > " + "9" * 9_000,
    "exponent": "SELECT COUNT(*) FROM people WHERE income > 1e999999999",
    "text": "SELECT COUNT(*) FROM people WHERE region = '" + "x" * 2_000_000 + "'",
    "comment": "SELECT COUNT(*) FROM people /*" + "x" * 2_000_000 + "*/ WHERE agee > 1",
    "names": "SELECT " + ", ".join(f"COUNT(*) AS n{i}" for i in range(20_000)) + " FROM people",
    "bins": "SELECT HISTOGRAM(income, 0.000000001) FROM people",
    "groups": "SELECT COUNT(*) FROM people GROUP BY " + ", ".join(["region"] * 5_000),
    "zero bytes": "SELECT COUNT(*) FROM people\0 WHERE age > 1",
    "surrogate": "SELECT COUNT(*) FROM people WHERE region = '\ud800'",
}
PAYLOADS = [*STATEMENTS, *SELECTS, *HEADS, *CLAUSES, *NESTED, *RAW]


def rows() -> pd.DataFrame:
    """Every value of every column can be recognised."""
    return pd.DataFrame(
        {
            "age": [8675309] * 30,
            "income": [8675.309] * 30,
            "region": ["canary"] * 30,
            "smoker": [True] * 30,
            "born": pd.to_datetime(["1986-07-05"] * 30),
        }
        | {column.name: [None] * 30 for column in strategies.PEOPLE.columns if column.name not in KNOWN}
    )


@pytest.fixture
def curator() -> Iterator[Curator]:
    known = Study(strategies.PEOPLE, PrivacyUnit("add-remove"), Guarantee(Fraction(10), Fraction(1, 10**9)))
    with adyton.open(known, data=rows()) as made:
        made.ask(
            "SELECT COUNT(*) FROM people", epsilon="0.01"
        )  # the table is loaded, and can be answered about
        yield made


def said(error: BaseException) -> str:
    """Everything that an exception carries with it, its causes and contexts too."""
    chain, found = [error], []
    while chain:
        one = chain.pop()
        found += [str(one), repr(one), repr(one.args), repr(vars(one)), *getattr(one, "__notes__", ())]
        chain += [cause for cause in (one.__cause__, one.__context__) if cause is not None]
    return "\n".join(found)


def raw_values_in(text: str, payload: str) -> list[str]:
    return [canary for canary in CANARIES if canary in text.replace(payload, "") and canary not in payload]


def calls_of(action: Callable[[], Any]) -> int:
    """How many functions were called, of Python and of C."""
    counted = cProfile.Profile(subcalls=False)
    counted.enable()
    try:
        action()
    finally:
        counted.disable()
    return sum(one.callcount for one in counted.getstats())


def test_A26_no_payload_is_answered_and_nothing_raw_comes_out(
    curator: Curator, caplog: pytest.LogCaptureFixture
) -> None:
    """Mutant: ``MOST_ITEMS`` out of reach: a payload is answered, and charged for."""
    spent = curator.budget().spent
    with caplog.at_level(logging.DEBUG):
        for payload in [*PAYLOADS, *BOMBS.values()]:
            with pytest.raises(InvalidRequest) as refused:
                curator.ask(payload, epsilon="0.01")
            assert raw_values_in(said(refused.value), payload) == []
            assert len(refused.value.message) < 2_000
    assert raw_values_in(caplog.text, "") == []
    assert curator.budget().queries == 1
    assert curator.budget().spent == spent


@pytest.mark.parametrize("bomb", [*BOMBS, "all payloads"])
def test_A26_the_work_for_a_payload_is_bounded(curator: Curator, bomb: str) -> None:
    """Mutants: ``LONGEST_TEXT`` or ``MOST_WEIGHT`` out of reach."""

    def ask(payload: str) -> None:
        with pytest.raises(InvalidRequest):
            curator.ask(payload, epsilon="0.01")

    for payload in PAYLOADS if bomb == "all payloads" else [BOMBS[bomb]]:
        ask(payload)  # what is loaded late is loaded now
        assert calls_of(lambda payload=payload: ask(payload)) < MOST_CALLS, payload[:80]  # type: ignore[misc]


STUDY = study_text(
    {
        "age": {"kind": "integer", "low": 0, "high": 120},
        "income": {"kind": "real", "low": 0, "high": 1000, "step": 1},
        "region": {"kind": "category", "values": ["north", "south"]},
        "smoker": {"kind": "boolean"},
    },
    adjacency="add-remove",
)


def test_A26_the_command_line_refuses_each_payload_in_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit code 2 and one object for programs; mutant: ``terminal.run`` does not catch CuratorError."""
    rows().to_parquet(tmp_path / "people.parquet")
    (tmp_path / "people.toml").write_text(STUDY)
    monkeypatch.chdir(tmp_path)
    bombs = [
        bomb for name, bomb in BOMBS.items() if len(bomb) < 2**16 and name not in ("zero bytes", "surrogate")
    ]
    for payload in [*RAW, *STATEMENTS, *bombs]:
        result = CliRunner().invoke(app, ["ask", "people.toml", "--json", "--epsilon", "0.01", "--", payload])
        assert result.exit_code == 2, (payload[:80], result.output)
        assert result.exception is None or isinstance(result.exception, SystemExit)
        assert raw_values_in(result.output, payload) == []
        if result.stdout:
            assert "error" in json.loads(result.stdout)
    assert not (tmp_path / "people.ledger").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["people.parquet", "people.toml"]
