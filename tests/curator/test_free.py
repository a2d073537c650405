"""What is answered from public facts: free of charge, without data, and it says so."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from adyton.curator.curator import Curator
from adyton.errors import InvalidRequest
from adyton.kernel.ledger import MemoryLedger
from adyton.kernel.privacy import Guarantee, PrivacyUnit
from adyton.kernel.schema import BooleanColumn, CategoryColumn, IntegerColumn, Table, TextColumn
from adyton.query.request import Free, asked_of
from adyton.query.sql.read import parse_request
from adyton.study import Study
from adyton.transports.cli.app import app

PEOPLE = Table(
    "people",
    (
        IntegerColumn("age", 18, 21),
        CategoryColumn("region", ("north", "south", "east")),
        BooleanColumn("smoker"),
        TextColumn("city"),
    ),
    rows=50,
)


class NoEngine:
    """Whoever reads it fails the test."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"the engine was asked to {name}")


def curator() -> Curator:
    study = Study(PEOPLE, PrivacyUnit("replace-one"), Guarantee(Fraction(1), Fraction(1, 10**9)))
    return Curator(study, NoEngine(), MemoryLedger.of(study))  # type: ignore[arg-type]


ASKED: dict[str, tuple[tuple[str, ...], list[tuple[Any, ...]]]] = {
    "SELECT region, AVG(age) AS m FROM people GROUP BY region LIMIT 0": (("region", "m"), []),
    "SELECT region AS r, COUNT(*) FROM people WHERE FALSE GROUP BY region": (("r", "count"), []),
    "SELECT COUNT(*) AS n, AVG(age) AS m FROM people WHERE smoker AND FALSE LIMIT 3": (
        ("n", "m"),
        [(0, None)],
    ),
    "SELECT region, COUNT(*) AS n FROM people WHERE 1 = 0 GROUP BY 1": (("region", "n"), []),
    "SELECT * FROM people LIMIT 0": (("age", "region", "smoker", "city"), []),
    "SELECT region AS r, city FROM people WHERE 1 = 0": (("r", "city"), []),
    "SELECT COUNT(*) / 2 AS h FROM people LIMIT 0": (("h",), []),
    "SELECT region, COUNT(*) AS n FROM people GROUP BY ROLLUP(region) LIMIT 0": (("region", "n"), []),
    "SELECT region, COUNT(*) AS n FROM people WHERE FALSE GROUP BY 1 UNION ALL "
    "SELECT region, SUM(age) FROM people WHERE FALSE GROUP BY region": (("region", "n"), []),
    "WITH x AS (SELECT COUNT(*) AS n FROM people UNION ALL SELECT SUM(age) FROM people) SELECT * FROM x LIMIT 0": (
        ("n",),
        [],
    ),
    "SELECT COUNT(*) AS n FROM people UNION ALL SELECT SUM(age) FROM people LIMIT 0": (("n",), []),
    "SELECT DISTINCT region FROM people": (("region",), [("north",), ("south",), ("east",)]),
    "SELECT DISTINCT smoker, region AS r FROM people ORDER BY r DESC, 1 LIMIT 3": (
        ("smoker", "r"),
        [(False, "south"), (True, "south"), (False, "north")],
    ),
    "SELECT DISTINCT age FROM people WHERE age > 19 ORDER BY age DESC": (("age",), [(21,), (20,)]),
    "SELECT DISTINCT age >= 20 AS adult FROM people": (("adult",), [(False,), (True,)]),
    "SELECT 1": (("column",), [(1,)]),
    "SELECT 1 AS ok, 'a' AS name, -0.5, TRUE, NULL": (
        ("ok", "name", "column", "column_2", "column_3"),
        [(1, "a", -0.5, True, None)],
    ),
}


@pytest.mark.parametrize("sql", ASKED)
def test_public_facts_are_free_and_read_nothing(sql: str) -> None:
    names, rows = ASKED[sql]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(NoEngine, "close", lambda self: None, raising=False)
        with curator() as asker:
            answer, preview = asker.ask(sql, epsilon="0.1"), asker.preview(sql)
            assert asker.budget().queries == 0
            assert asker.ask(sql).to_json() == answer.to_json()  # a price is not needed
    told = [*answer.rows.keys.columns, *answer.rows.values]
    assert sorted(told) == sorted(names)
    assert [tuple(record[name] for name in names) for record in answer.records()] == rows
    assert answer.free
    assert answer.receipt.number == 0
    assert answer.cost.units == preview.cost.units == 0
    assert preview.affordable
    assert preview.free == answer.free
    told_json = answer.to_json()
    assert told_json["receipt"] is None
    assert (told_json["free"], preview.to_json()["free"]) == (answer.free, answer.free)
    json.dumps([told_json, preview.to_json()], allow_nan=False)
    assert "Free of charge" in str(answer)
    assert "free of charge" in str(preview)
    assert all(name in str(answer) for name in names)
    assert answer.to_csv().splitlines()[0].startswith(told[0])
    assert list(answer.to_pandas())[: len(told)][0] == told[0]


def test_declared_values_say_that_they_are_declared() -> None:
    asked = asked_of("SELECT DISTINCT region FROM people", PEOPLE)
    assert isinstance(asked, Free)
    assert "declares, whether they occur or not" in asked.why


REFUSED = {
    "SELECT DISTINCT city FROM people": "nobody declared the values of 'city'",
    "SELECT DISTINCT region, COUNT(*) FROM people GROUP BY region": "leave out DISTINCT",
    "SELECT DISTINCT region FROM people GROUP BY region": "leave out DISTINCT",
    "SELECT DISTINCT region FROM people HAVING region = 'north'": "behind WHERE",
    "SELECT DISTINCT region FROM people ORDER BY COUNT(*)": "ordered by themselves",
    "SELECT DISTINCT * FROM people": "single rows",
    "SELECT *": "FROM",
    "SELECT age": "FROM",
    "SELECT COUNT(*)": "FROM",
    "SELECT 1 WHERE TRUE": "WHERE",
    "SELECT 1 + 'a'": "number",
}


@pytest.mark.parametrize("sql", REFUSED)
def test_what_is_not_public_is_refused(sql: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        asked_of(sql, PEOPLE)
    assert REFUSED[sql] in str(refused.value)


LIMITS = {
    "SELECT TOP 2 region, COUNT(*) AS n FROM people GROUP BY region ORDER BY n": "ORDER BY n LIMIT 2",
    "SELECT TOP (2) region, COUNT(*) AS n FROM people GROUP BY region;": "LIMIT 2",
    "SELECT region, COUNT(*) AS n FROM people GROUP BY region FETCH FIRST 2 ROWS ONLY": "LIMIT 2",
    "SELECT region, COUNT(*) AS n FROM people GROUP BY region FETCH NEXT ROW ONLY": "LIMIT 1",
    "SELECT region, COUNT(*) AS n FROM people GROUP BY region OFFSET 1 ROW FETCH NEXT 2 ROWS ONLY": "LIMIT 2 OFFSET 1",
    "SELECT region, COUNT(*) AS n FROM people GROUP BY region LIMIT 1, 2": "LIMIT 2 OFFSET 1",
    "SELECT region, COUNT(*) AS n FROM people GROUP BY region OFFSET 1 ROWS": "OFFSET 1",
}


@pytest.mark.parametrize("sql", LIMITS)
def test_other_words_for_limit_mean_limit(sql: str) -> None:
    plain = f"SELECT region, COUNT(*) AS n FROM people GROUP BY region {LIMITS[sql]}"
    assert parse_request(sql, PEOPLE) == parse_request(plain, PEOPLE)


def test_the_command_line_says_what_is_free(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "people.toml").write_text(
        '[table]\nname = "people"\nsource = "nowhere.csv"\nrows = 120\n[privacy]\nunit = "row"\n'
        'adjacency = "replace-one"\nepsilon = 10\ndelta = 1e-9\n'
        '[columns.region]\nkind = "category"\nvalues = ["north", "south"]\n'
    )
    monkeypatch.chdir(tmp_path)
    for command in ("ask", "preview"):
        done = CliRunner().invoke(app, [command, "people.toml", "SELECT DISTINCT region FROM people"])
        assert done.exit_code == 0, done.output
        assert "free of charge" in done.output.lower()
    done = CliRunner().invoke(app, ["ask", "people.toml", "SELECT DISTINCT region FROM people", "--csv"])
    assert done.stdout == "region\nnorth\nsouth\n"
    assert [path.name for path in tmp_path.iterdir()] == ["people.toml"]
