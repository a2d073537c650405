"""Queries in the words of other databases mean here what they mean there, or are refused."""

from __future__ import annotations

import json
from datetime import date
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from test_unions import PEOPLE, rows
from typer.testing import CliRunner

from adyton.errors import InvalidRequest
from adyton.kernel.privacy import Guarantee, PrivacyUnit
from adyton.kernel.schema import DateColumn, Table
from adyton.query.request import Request, asked_of
from adyton.query.sql.several.dialects import DIALECTS, translated
from adyton.study import Study, read_study
from adyton.transports.cli.app import app
from support.curators import open_kept, plain_database
from support.worlds import study_text

# In its words, and in plain DuckDB as a reader of that database's manual would write it.
SAID = {
    "bigquery": {
        "SELECT `region`, COUNTIF(smoker) AS n FROM `people` GROUP BY `region`": "SELECT region, COUNT(*) FILTER (WHERE smoker) FROM people GROUP BY 1",
        'SELECT SAFE_DIVIDE(SUM(income), SUM(age)) AS q FROM people WHERE region = "north"': "SELECT SUM(income) / SUM(age) FROM people WHERE region = 'north'",
        "SELECT SUM(IF(smoker, age, 0)) AS s FROM people": "SELECT SUM(CASE WHEN smoker THEN age ELSE 0 END) FROM people",
        "SELECT kind, SUM(IFNULL(age, 0)) AS s FROM people GROUP BY ROLLUP(kind)": "SELECT kind, SUM(age) FROM people GROUP BY ROLLUP(kind)",
        "SELECT GREATEST(COUNT(*), 5) AS s FROM `project.data.people`": "SELECT COUNT(*) FROM people",
        "SELECT kind, SUM(age) AS s FROM people GROUP BY kind ORDER BY s DESC NULLS LAST": "SELECT kind, SUM(age) FROM people GROUP BY kind",
        "SELECT SAFE_DIVIDE(SAFE_DIVIDE(SUM(income), 2), SUM(age)) AS q FROM people": "SELECT SUM(income) / 2 / SUM(age) FROM people",
    },
    "snowflake": {
        "SELECT SUM(IFF(smoker, age, 0)) AS s, ZEROIFNULL(SUM(income)) AS t FROM PEOPLE": "SELECT SUM(CASE WHEN smoker THEN age ELSE 0 END), SUM(income) FROM people",
        "SELECT COUNT(*) AS n FROM people WHERE region ILIKE 'NO%'": "SELECT COUNT(*) FROM people WHERE region = 'north'",
        "SELECT kind, COUNT(*) AS n FROM people GROUP BY kind QUALIFY RANK() OVER (ORDER BY COUNT(*) DESC) = 1": "SELECT kind, COUNT(*) FROM people GROUP BY kind QUALIFY RANK() OVER (ORDER BY COUNT(*) DESC) = 1",
        "SELECT SUM(NVL(age, 0)) AS s FROM people": "SELECT SUM(age) FROM people",
    },
    "postgres": {
        "SELECT SUM(age) FILTER (WHERE smoker) AS s FROM people WHERE age::int > 30": "SELECT SUM(age) FROM people WHERE smoker AND age > 30",
        "SELECT kind, COUNT(*) AS n FROM people GROUP BY kind FETCH FIRST 1 ROWS ONLY": "SELECT 'a', COUNT(*) FROM people WHERE kind = 'a'",
        "SELECT COUNT(*) AS n FROM people WHERE region ~~ 'n%'": "SELECT COUNT(*) FROM people WHERE region = 'north'",
        "SELECT SUM(CAST(age / 7 AS INT)) AS n FROM people": "SELECT SUM(TRUNC(age / 7)) FROM people",
    },
    "mysql": {
        'SELECT `kind`, SUM(`age`) AS s FROM `people` WHERE region = "south" OR smoker GROUP BY `kind`': "SELECT kind, SUM(age) FROM people WHERE region = 'south' OR smoker GROUP BY 1",
        "SELECT kind, COUNT(*) AS n FROM people GROUP BY kind ORDER BY kind LIMIT 1, 1": "SELECT 'b', COUNT(*) FROM people WHERE kind = 'b'",
        "SELECT SUM(IF(age > 50, 1, 0)) AS s FROM people WHERE smoker || age > 100": "SELECT SUM(CASE WHEN age > 50 THEN 1 ELSE 0 END) FROM people WHERE smoker OR age > 100",
        "SELECT kind, COUNT(*) AS n FROM people GROUP BY kind WITH ROLLUP": "SELECT kind, COUNT(*) FROM people GROUP BY ROLLUP(kind)",
        "SELECT SUM(age / 12) AS s, SUM(CAST(age / 7 AS SIGNED)) AS n FROM people": "SELECT SUM(age / 12), SUM(ROUND(age / 7)) FROM people",
    },
    "tsql": {
        "SELECT TOP 1 [kind], COUNT(*) AS n FROM [people] GROUP BY [kind] ORDER BY [kind] DESC": "SELECT 'b', COUNT(*) FROM people WHERE kind = 'b'",
        "SELECT SUM(IIF(age > 50, age, 0)) AS s, COUNT_BIG(*) AS n FROM people": "SELECT SUM(CASE WHEN age > 50 THEN age ELSE 0 END), COUNT(*) FROM people",
        "SELECT SUM(ISNULL(age, 0)) AS s FROM people": "SELECT SUM(age) FROM people",
        "SELECT SUM(CAST((age - 60) / 7.0 AS INT)) AS s, SUM(CONVERT(INT, income / 3)) AS t FROM people": "SELECT SUM(TRUNC((age - 60) / 7)), SUM(TRUNC(income / 3)) FROM people",
        "SELECT CAST(AVG(income) AS INT) AS s FROM people": "SELECT TRUNC(AVG(income)) FROM people",
        "SELECT kind, COUNT(*) AS n FROM people GROUP BY kind ORDER BY kind OFFSET 1 ROWS FETCH NEXT 1 ROWS ONLY": "SELECT 'b', COUNT(*) FROM people WHERE kind = 'b'",
    },
    "spark": {
        "SELECT SUM(IF(smoker, age, 0)) AS s, COUNT_IF(age > 20) AS n FROM people": "SELECT SUM(CASE WHEN smoker THEN age ELSE 0 END), COUNT(*) FILTER (WHERE age > 20) FROM people",
        "SELECT `kind`, SUM(NVL(age, 0)) AS s FROM people GROUP BY `kind`": "SELECT kind, SUM(age) FROM people GROUP BY 1",
        "SELECT SUM(INT(age / 7)) AS s, SUM(CAST(0.5 * income AS BIGINT)) AS t FROM people": "SELECT SUM(TRUNC(age / 7)), SUM(TRUNC(income / 2)) FROM people",
        "SELECT SUM(CAST(smoker AS INT)) AS s, SUM(CAST(age > 30 AS INT)) AS t, CAST(COUNT(*) AS INT) AS n FROM people": "SELECT COUNT(*) FILTER (WHERE smoker), COUNT(*) FILTER (WHERE age > 30), COUNT(*) FROM people",
    },
    "duckdb": {
        "SELECT kind, COUNT(*) AS n FROM people GROUP BY ALL": "SELECT kind, COUNT(*) FROM people GROUP BY 1",
        "SELECT COUNT(*) AS n FROM people WHERE age // 10 = 3": "SELECT COUNT(*) FROM people WHERE age BETWEEN 30 AND 39",
    },
    "redshift": {
        "SELECT SUM(NVL(age, 0)) AS s FROM people WHERE region LIKE 'n%'": "SELECT SUM(age) FROM people WHERE region = 'north'",
        "SELECT kind, COUNT(1) AS n FROM people GROUP BY 1": "SELECT kind, COUNT(*) FROM people GROUP BY 1",
    },
    "sqlite": {
        "SELECT SUM(IIF(age == 50, 1, 2)) AS s FROM people": "SELECT SUM(CASE WHEN age = 50 THEN 1 ELSE 2 END) FROM people",
        "SELECT SUM(CAST(age / 7.0 AS INTEGER)) AS s FROM people": "SELECT SUM(TRUNC(age / 7)) FROM people",
        "SELECT SUM(CAST(x AS INTEGER)) AS s FROM (SELECT income / 3 AS x FROM people)": "SELECT SUM(TRUNC(income / 3)) FROM people",
        "SELECT kind, SUM(IFNULL(age, 0)) AS s FROM people GROUP BY kind LIMIT 5 OFFSET 1": "SELECT 'b', SUM(age) FROM people WHERE kind = 'b'",
    },
}
PAIRS = [(dialect, sql) for dialect, texts in SAID.items() for sql in texts]


def test_every_dialect_has_its_laws() -> None:
    assert tuple(sorted(SAID)) == DIALECTS


@pytest.mark.parametrize(("dialect", "sql"), PAIRS)
def test_law_a_translated_query_means_what_it_means_there(
    dialect: str, sql: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Mutant: the text is read as it stands, whatever the dialect."""
    monkeypatch.setattr("adyton.kernel.mechanisms.gaussian.with_noise", lambda exact, *_: list(exact))
    people = rows(7)
    study = Study(PEOPLE, PrivacyUnit("replace-one"), Guarantee(Fraction(400), Fraction(1, 10**6)))
    with open_kept(study, data=people) as asker:
        answer = asker.ask(sql, epsilon=100, dialect=dialect)
        assert asker.preview(sql, epsilon=100, dialect=dialect).repeated
        assert asker.ask_many([sql], epsilon=100, dialect=dialect)[0].repeated
    names = [*answer.rows.keys.columns, *answer.rows.values]
    found = {tuple(_plain(record[name]) for name in names) for record in answer.records()}
    with plain_database() as plain:
        plain.register("people", people)
        wanted = {tuple(map(_plain, row)) for row in plain.execute(SAID[dialect][sql]).fetchall()}
    assert {row for row in found if any(row[-1:]) and "west" not in row} == wanted


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, str | bool) else round(float(value), 6)


def test_the_head_stays() -> None:
    said = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 0.5) COUNTIF(smoker) AS n FROM `people`"
    asked = asked_of(said, PEOPLE, dialect="bigquery")
    assert isinstance(asked, Request)
    assert asked.epsilon == Fraction(1, 2)


BORN = Table("people", (DateColumn("born", date(2000, 1, 1), date(2020, 12, 31)),))
SAME_DAYS = {
    ("postgres", "EXTRACT(DOW FROM born)"): "DOW(born)",
    ("postgres", "date_part('dow', born)"): "DOW(born)",
    ("redshift", "DATE_PART(dow, born)"): "DOW(born)",
    ("postgres", "born + INTERVAL '1 month'"): "born + INTERVAL 1 MONTH",
    ("postgres", "to_char(born, 'YYYY-MM')"): "STRFTIME(born, '%Y-%m')",
    ("snowflake", "TO_CHAR(born, 'YYYY-MM')"): "STRFTIME(born, '%Y-%m')",
    ("mysql", "DATE_FORMAT(born, '%Y-%m')"): "STRFTIME(born, '%Y-%m')",
    ("mysql", "DATE_FORMAT(born, '%W')"): "DAYNAME(born)",
    ("spark", "date_format(born, 'yyyy-MM')"): "STRFTIME(born, '%Y-%m')",
    ("snowflake", "born - TO_DATE('2010-01-31', 'YYYY-MM-DD')"): "born - DATE '2010-01-31'",
    ("redshift", "born - TO_DATE('2010-01-31', 'YYYY-MM-DD')"): "born - DATE '2010-01-31'",
    ("spark", "trunc(born, 'MM')"): "DATE_TRUNC('month', born)",
    ("spark", "date_sub(born, 3)"): "born - 3",
    ("spark", "date_add(born, 3)"): "born + 3",
    ("bigquery", "DATE_TRUNC(born, ISOWEEK)"): "DATE_TRUNC('week', born)",
    ("mysql", "TIMESTAMPDIFF(DAY, born, DATE '2021-01-01')"): "DATE_DIFF('day', born, DATE '2021-01-01')",
    ("tsql", "DATEDIFF(month, born, '2021-01-01')"): "DATE_DIFF('month', born, DATE '2021-01-01')",
}


@pytest.mark.parametrize(("dialect", "group"), SAME_DAYS)
def test_law_days_are_the_same_in_other_words(dialect: str, group: str) -> None:
    """The same groups, whose names say how they were written."""
    asked = [
        asked_of(f"SELECT {said} AS g, COUNT(*) AS n FROM people GROUP BY 1", BORN, dialect=words)
        for said, words in ((group, dialect), (SAME_DAYS[dialect, group], None))
    ]
    assert asked[0] == asked[1]


REFUSED = {
    (
        "mysql",
        "SELECT AVG(TIMESTAMPDIFF(MONTH, a, b)) FROM people",
    ): "MONTHS between two days are not translated",
    ("spark", "SELECT AVG(datediff(YEAR, a, b)) FROM people"): "YEARS between two days are not translated",
    ("redshift", "SELECT AVG(YEAR(ADD_MONTHS(a, 1))) FROM people"): "the last days of months",
    ("postgres", "SELECT percentile_disc(0.1) WITHIN GROUP (ORDER BY age DESC) FROM people"): "write 1 - p",
    ("oracle", "SELECT COUNT(*) FROM people"): "known are bigquery, duckdb, mysql",
    ("", "SELECT COUNT(*) FROM people"): "there is no dialect",
    ("bigquery", "SELECT COUNT(*) FROM people; SELECT 1"): "one SELECT",
    ("bigquery", "DROP TABLE people"): "one SELECT",
    ("mysql", "SELECT COUNT(*) FROM `people"): "cannot be read as SQL of mysql",
    ("bigquery", "SELECT DATE_TRUNC(born, WEEK), COUNT(*) FROM people GROUP BY 1"): "do not agree on weeks",
    ("mysql", "SELECT COUNT(*) FROM people FORCE INDEX (secret)"): "'secret' is lost",
    ("mysql", "SELECT COUNT(*) FROM `people` WHERE `agee` = 1"): "did you mean 'age'",
    ("snowflake", "SELECT * FROM people"): "such as COUNT(*) (line 1, column 8: *)",
    (
        "snowflake",
        "SELECT IFF(smoker, 1, 0) FROM people",
    ): "this is neither grouped nor aggregated",
    ("bigquery", "(" * 900 + "SELECT 1" + ")" * 900): "",
    ("tsql", "SELECT " * 1400): "",
    ("spark", "x" * 20_000): "20000 characters",
}


@pytest.mark.parametrize(("dialect", "sql"), REFUSED)
def test_what_cannot_be_translated_is_refused(dialect: str, sql: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        asked_of(sql, PEOPLE, dialect=dialect)
    assert REFUSED[dialect, sql] in str(refused.value)


@pytest.mark.parametrize("dialect", [["mysql"], 7, "Sybase"])
def test_what_is_no_dialect_is_refused_free_of_charge(dialect: Any) -> None:
    study = Study(PEOPLE, PrivacyUnit("replace-one"), Guarantee(Fraction(1), Fraction(1, 10**6)))
    with open_kept(study, data=rows(0)) as asker:
        for ask in (asker.ask, asker.preview):
            with pytest.raises(InvalidRequest, match="there is no dialect"):
                ask("SELECT COUNT(*) FROM people", epsilon="0.1", dialect=dialect)
        assert asker.budget().queries == 0


def test_a_name_another_dialect_drops_is_not_lost_in_silence() -> None:
    """A name that the parser of another dialect drops is not lost in silence."""
    with pytest.raises(InvalidRequest, match="lost"):
        translated("SELECT COUNT(*) FROM people USE INDEX (hidden)", "mysql")


people_file = partial(
    study_text, {"age": {"kind": "integer", "low": 0, "high": 120}}, source="people.csv", rows=3, epsilon=10
)


def test_a_study_file_and_the_command_line_name_the_dialect(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    pd.DataFrame({"age": [1, 2, 3]}).to_csv("people.csv", index=False)
    file = Path("people.toml")
    file.write_text(people_file(dialect="mysql"))
    plain = Path("plain.toml")
    plain.write_text(people_file())
    assert read_study(file).dialect == "mysql"
    assert read_study(file).fingerprint == read_study(plain).fingerprint

    def run(*words: str) -> dict[str, Any]:
        done = CliRunner().invoke(app, [*words, "--epsilon", "1", "--json"])
        assert done.exit_code == 0, done.output
        return json.loads(done.stdout)  # type: ignore[no-any-return]

    assert run("ask", "people.toml", "SELECT COUNT(*) AS n FROM `people`")["query"].endswith("FROM people")
    run("preview", "people.toml", "SELECT COUNT(*) AS n FROM [people]", "--dialect", "tsql")
    run("ask", "plain.toml", "SELECT COUNT(*) AS n FROM `people`", "--dialect", "bigquery")
    Path("asked.sql").write_text("SELECT COUNT(*) AS n FROM `people`; SELECT SUM(`age`) AS s FROM `people`")
    done = CliRunner().invoke(app, ["ask", "people.toml", "--file", "asked.sql", "--epsilon", "1"])
    assert done.exit_code == 0, done.output
    file.write_text(people_file(dialect="sybase"))
    with pytest.raises(InvalidRequest, match="there is no dialect 'sybase'; known are bigquery"):
        read_study(file)
