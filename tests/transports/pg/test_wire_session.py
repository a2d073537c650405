"""What a connection can say, and what it is told: prices, intervals, previews, free tables, roles, repeats, cancel."""

from __future__ import annotations

import datetime
import json
import logging
import struct
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import psycopg
import pytest

import adyton
from adyton.engines.duckdb import DuckDBEngine
from adyton.errors import EngineFailed, InvalidRequest, LedgerCorrupt
from adyton.operations.roles import Action, Role, may
from adyton.service.doctor import examine
from adyton.service.settings import Settings
from adyton.service.tokens import Tokens
from adyton.show import number
from adyton.transports.pg.errors import SqlError, code_of, fields_of_error
from adyton.transports.pg.parameters import filled, literal, place_before
from adyton.transports.pg.settings import SessionSettings, UnknownSetting
from adyton.transports.pg.statements import parameters_in, statements_in
from adyton.transports.pg.values import (
    ARRAYS,
    BOOL,
    DATE,
    FLOAT8,
    INT8,
    NUMERIC,
    TEXT,
    TIMESTAMP,
    BadValue,
    decoded,
    encoded,
)
from adyton.transports.pg.work import Work
from support.servers import COUNT, QUICK, write_study
from support.wire import Wired, wired
from support.worlds import study_text

GROUPS = "SELECT region, COUNT(*) AS n FROM people GROUP BY region"
PLANNED = "[validity]\nindependent = true\nqueries = 50\ntolerance = 0.2\nconfidence = 0.9\n"
ROWS = 400
EVERY_KIND = study_text(
    {
        "age": {"kind": "integer", "low": 0, "high": 120},
        "cost": {"kind": "real", "low": 0, "high": 1000},
        "ward": {"kind": "category", "values": ["a", "b"]},
        "urgent": {"kind": "boolean"},
        "day": {"kind": "date", "low": datetime.date(2020, 1, 1), "high": datetime.date(2020, 1, 31)},
    },
    name="visits",
    rows=400,
    epsilon=20,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("session")


@pytest.fixture(scope="module")
def house(folder: Path) -> Iterator[Wired]:
    rng = np.random.default_rng(3)
    days = pd.to_datetime("2020-01-01") + pd.to_timedelta(rng.integers(0, 31, ROWS), "D")
    frame = {
        "age": rng.integers(0, 100, ROWS), "cost": rng.uniform(0, 1000, ROWS), "ward": rng.choice(["a", "b"], ROWS),
        "urgent": rng.integers(0, 2, ROWS).astype(bool), "day": days,
    }  # fmt: skip
    pd.DataFrame(frame).to_parquet(folder / "visits.parquet")
    (folder / "visits.toml").write_text(EVERY_KIND, encoding="utf-8")
    planned = write_study(folder, "planned")
    planned.write_text(planned.read_text().replace("[validity]\nindependent = true\n", PLANNED))
    with wired([write_study(folder), folder / "visits.toml", planned]) as made:
        yield made


@pytest.fixture(scope="module")
def token(house: Wired) -> str:
    return house.token("ana")


def asked(connection: psycopg.Connection[Any], text: str) -> tuple[list[tuple[Any, ...]], str]:
    """The rows, and the notice beside them."""
    said: list[str] = []
    connection.add_notice_handler(lambda one: said.append(f"{one.message_primary} {one.message_detail}"))
    rows = connection.execute(text).fetchall()
    return rows, " ".join(said)


def code(connection: psycopg.Connection[Any], text: str) -> str:
    with pytest.raises(psycopg.Error) as refused:
        connection.execute(text)
    return str(refused.value.sqlstate)


# Prices and shapes -----------------------------------------------------------------------------------------


def test_a_price_is_named_in_the_text_by_a_setting_or_by_the_connection(house: Wired, token: str) -> None:
    text = "SELECT COUNT(*) AS n FROM people WHERE income > 31000"
    with house.connect(token) as connection:
        assert code(connection, text) == "22023"
        head = text.replace("SELECT", "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 0.05)", 1)
        connection.execute("SET adyton.within = 500")
        (by_text,), told = asked(connection, head)  # the text is nearer than the setting
        assert "Cost" in told
        connection.execute("SET adyton.epsilon = 0.05")  # the newest price is meant
        assert connection.execute("SHOW adyton.within").fetchone() == ("",)
        (by_setting,), told = asked(connection, text)
        assert (by_setting, "free of charge" in told) == (by_text, True)
        for wrong in (
            "SET adyton.epsilon = 0",
            "SET adyton.share = 2",
            "SET adyton.within = 'x'",
            "SET adyton.intervals = maybe",
        ):
            assert code(connection, wrong) == "22023"
        assert code(connection, "SET adyton.price = 3") == code(connection, "SHOW nothing_known") == "42704"
        connection.execute("RESET adyton.epsilon")
        assert connection.execute("SHOW adyton.epsilon").fetchone() == ("",)


def test_intervals_are_the_columns_of_an_export(house: Wired, token: str, folder: Path) -> None:
    with house.connect(token, within="50", intervals="on") as connection:
        cursor = connection.execute(
            "SELECT COUNT(*) AS n, region, AVG(income) AS m FROM people GROUP BY region LIMIT 0"
        )
        ends = [f"_{kind}_{end}" for kind in ("noise", "population") for end in ("low", "high")]
        cursor = connection.execute("SELECT COUNT(*) AS n, region FROM people GROUP BY region")
        assert cursor.description is not None
        assert [one.name for one in cursor.description] == ["n", *(f"n{end}" for end in ends), "region"]
        rows = cursor.fetchall()
    with adyton.open(folder / "people.toml") as curator:
        frame = curator.ask("SELECT COUNT(*) AS n, region FROM people GROUP BY region", within=50).to_pandas()
    names = ["n", *(f"n{end}" for end in ends), "region"]
    assert rows == [tuple(row) for row in frame[names].itertuples(index=False)]


def test_ends_of_intervals_by_their_names(house: Wired, token: str) -> None:
    """Mutant: what stands in a string is taken for one."""
    with house.connect(token, within="50", intervals="on") as connection:
        (whole,) = connection.execute("SELECT COUNT(*) AS n FROM people WHERE income > 1").fetchall()
        connection.execute("RESET adyton.intervals")
        text = 'SELECT NOISE_LOW(n), COUNT(*) AS n, noise_high("n") AS top, POPULATION_LOW(n) FROM people WHERE income > 1'
        for cursor in (connection.execute(text), connection.cursor(binary=True).execute(text)):
            assert cursor.description is not None
            assert [one.name for one in cursor.description] == ["n_noise_low", "n", "top", "n_population_low"]
            assert cursor.fetchall() == [(whole[1], whole[0], whole[2], whole[3])]
        assert code(connection, "SELECT COUNT(*) AS n, NOISE_LOW(m) FROM people") == "42703"
        assert code(connection, "SELECT NOISE_LOW(COUNT(*)) FROM people") == "42883"
        assert (
            code(connection, "SELECT COUNT(*) AS n FROM people WHERE region = ', NOISE_LOW(n) FROM '")
            == "0A000"
        )
        with pytest.raises(psycopg.Error) as refused:
            connection.execute("SELECT COUNT(*) AS n, NOISE_LOW(n) FROM people WHERE agee > 3")
        assert refused.value.diag.statement_position == "54"


def test_every_type_in_text_and_binary(house: Wired) -> None:
    visitor = house.token("ana", study="visits")
    text = "SELECT day, urgent, ward, FLOOR(age / 50) AS half, COUNT(*) AS n, MEDIAN(day) AS middle FROM visits WHERE day < DATE '2020-01-03' GROUP BY day, urgent, ward, half"
    with house.connect(visitor, "visits", epsilon="5") as connection:
        plain = connection.execute(text).fetchall()
        cursor = connection.cursor(binary=True)
        assert cursor.execute(text).fetchall() == plain
        assert cursor.description is not None
        assert [one.type_code for one in cursor.description] == [DATE, BOOL, TEXT, INT8, FLOAT8, DATE]
        kinds = [datetime.date, bool, str, int, float]
        assert [type(value) for value in plain[0][:5]] == kinds
        day = datetime.date(2020, 1, 2)
        one = connection.execute(
            "SELECT COUNT(*) AS n FROM visits WHERE day = %s AND urgent = %s AND age > %s",
            (day, True, Decimal("3.5")),
        )
        assert len(one.fetchall()) == 1


def test_explain_is_the_preview_and_free(house: Wired, token: str) -> None:
    with house.connect(token, within="50") as connection:
        before = connection.execute("SELECT spent FROM adyton.budget WHERE whose = 'all'").fetchone()
        lines = [
            line
            for (line,) in connection.execute(
                "EXPLAIN SELECT COUNT(*) AS n FROM people WHERE income > 1"
            ).fetchall()
        ]
        assert any(line.startswith("n: ± 50, 95 % noise interval") for line in lines)
        (told,) = connection.execute(
            "EXPLAIN (FORMAT JSON) SELECT COUNT(*) AS n FROM people WHERE income > 1"
        ).fetchone() or ("",)
        assert json.loads(told)["affordable"]
        assert code(connection, "EXPLAIN ANALYZE SELECT COUNT(*) FROM people") == "0A000"
        assert code(connection, "EXPLAIN SELECT income FROM people") == "0A000"
        assert connection.execute("SELECT spent FROM adyton.budget WHERE whose = 'all'").fetchone() == before


def test_free_tables_say_what_http_says(house: Wired) -> None:
    """Mutant: receipts of others are listed."""
    ana, ben = house.token("ana", budget_share="0.5"), house.token("ben")
    with house.connect(ben, within="95") as connection:
        connection.execute("SELECT COUNT(*) FROM people WHERE income > 55")
    with house.connect(ana, within="95") as connection:
        connection.execute("SELECT COUNT(*) FROM people WHERE income > 66")
        queries = [
            q for (q,) in connection.execute('SELECT query FROM adyton.receipts WHERE "by" = current_user')
        ]
        assert "income > 55" not in str(connection.execute("SELECT * FROM adyton.receipts").fetchall())
        assert any("income > 66" in one for one in queries)
        own = connection.execute(
            "SELECT spent, left FROM adyton.budget WHERE whose = %s", ("ana",)
        ).fetchone()
        told = house.client.get(
            "/v1/studies/people/budget", headers={"Authorization": f"Bearer {ana}"}
        ).json()
        assert own == (told["own"]["spent"], told["own"]["left"])
        columns = connection.execute(
            "SELECT column_name, low, high, values FROM adyton.columns ORDER BY 1"
        ).fetchall()
        assert columns == [
            ("income", "0", "200000", None),
            ("region", None, None, ["north", "south", "east", "west"]),
        ]


# Repeats ---------------------------------------------------------------------------------------------------

PLAIN: list[dict[str, Any]] = [{"within": 500}, {"epsilon": "0.02"}, {"share": "0.001"}, {"scale": 300}]
TOTALS: list[dict[str, Any]] = [{"epsilon": "0.5"}, {"share": "0.01"}]
SHAPES: list[tuple[str, list[dict[str, Any]]]] = [
    ("SELECT COUNT(*) AS n FROM people WHERE income > {}", PLAIN),
    (
        "SELECT region, COUNT(*) AS n FROM people WHERE income > {} GROUP BY region ORDER BY n DESC LIMIT 2",
        PLAIN,
    ),
    ("SELECT region, COUNT(*) AS n, AVG(income) AS m FROM people WHERE income > {} GROUP BY region", TOTALS),
    ("SELECT MEDIAN(income), VARIANCE(income) FROM people WHERE income > {}", TOTALS),
    ("SELECT CDF(income, 10000, 50000) FROM people WHERE income > {}", TOTALS),
]


@pytest.mark.parametrize(("shape", "prices"), SHAPES, ids=range(len(SHAPES)))
def test_any_earlier_answer_is_the_repeat_where_no_price_is_named(
    house: Wired, token: str, shape: str, prices: list[dict[str, Any]]
) -> None:
    """Mutants: noise is planned anew; a query that nobody asked is answered."""
    headers = {"Authorization": f"Bearer {token}"}
    with house.connect(token) as connection:
        for number, price in enumerate(prices):
            text = shape.format(1000 + number)
            first = house.ask(headers, text, **price).json()
            last = [list(row["values"].values())[-1] for row in first["answer"]]
            values = [None if "uninformative" in one else one["value"] for one in last]
            rows, told = asked(connection, text)
            assert "free of charge" in told
            assert [row[-1] for row in rows] == values
        assert code(connection, shape.format(999)) == "22023"


def test_a_share_again_is_the_stored_answer_on_every_surface_for_everybody(house: Wired, token: str) -> None:
    """Mutant: a share is of what is left now, whatever it was of when the same was charged."""
    text = "SELECT region, COUNT(*) AS n FROM people WHERE income > 4321 GROUP BY region"
    ana, ben = ({"Authorization": f"Bearer {one}"} for one in (token, house.token("ben", budget_share="0.5")))
    first = house.ask(ana, text, share="0.01").json()
    house.ask(ana, text.replace("4321", "4322"), share="0.01")
    for who in (ana, ben):
        again = house.ask(who, text, share="0.01").json()
        assert (again["repeated"], again["answer"]) == (True, first["answer"])
        preview = house.client.post(
            "/v1/studies/people/preview", headers=who, json={"query": text, "share": "0.01"}
        ).json()
        assert preview["repeated"]
    values = [(row["keys"]["region"], row["values"]["n"]["value"]) for row in first["answer"]]
    with house.connect(token, share="0.01") as connection:
        rows, told = asked(connection, text)
        assert (rows, "free of charge" in told) == (values, True)
        connection.execute("SET adyton.share = 0.011")
        assert "Cost" in asked(connection, text)[1]
        connection.execute("SET adyton.share = 0.01")
        assert asked(connection, text)[0] == values  # the words say which of both is meant


def test_the_notice_says_how_wide_and_what_drowns(house: Wired, token: str) -> None:
    """Mutants: the width of the first row; of one end; a value under its noise is passed over."""
    with house.connect(token, share="0.001") as connection:
        _, told = asked(
            connection, "SELECT region, COUNT(*) AS n FROM people WHERE income > 1 GROUP BY region"
        )
        connection.execute("SET adyton.intervals = on")
        wide = connection.execute(
            "SELECT region, COUNT(*) AS n FROM people WHERE income > 1 GROUP BY region"
        ).fetchall()
        noise = max(row[3] - row[2] for row in wide) / 2
        drowned = sum(row[3] - row[2] > 2 * abs(row[1]) for row in wide)
        assert told.startswith(
            f"Largest half-width of the 95 % noise interval: n ± {number(noise, noise)}, population ± "
        )
        assert (f"NOISE LARGER THAN THE VALUE: n in {drowned} of 4 rows." in told) == (drowned > 0)
        connection.execute("SET adyton.within = 100000")
        _, told = asked(
            connection, "SELECT COUNT(*) AS n, COUNT(*) FILTER (WHERE income > 1) AS m FROM people"
        )
        assert "NOISE LARGER THAN THE VALUE: " in told
        connection.execute("SET adyton.share = 0.1")
        _, told = asked(
            connection,
            "SELECT MEDIAN(income) AS m, "
            + ", ".join(f"COUNT(*) FILTER (WHERE income > {n}) AS c{n}" for n in range(7))
            + " FROM people",
        )
        assert "; and 2 more." in told
        assert "Half-width" not in asked(connection, "SELECT COUNT(*) AS n FROM people WHERE FALSE")[1]


def test_a_named_width_is_asked_for_again(house: Wired, token: str) -> None:
    with house.connect(token, within="400") as connection:
        text = "SELECT COUNT(*) AS n FROM people WHERE income > 41000"
        assert "Cost" in asked(connection, text)[1]
        connection.execute("SET adyton.within = 399")
        assert "Cost" in asked(connection, text)[1]


def test_a_study_that_plans_needs_no_price_and_a_refresh_costs_nothing(house: Wired) -> None:
    """A study that plans needs no price, and a refreshed dashboard costs nothing."""
    visitor = house.token("ana", study="planned")
    with house.connect(visitor, "planned") as connection:
        first, told = asked(connection, GROUPS)
        assert "Cost" in told
        connection.execute("SELECT COUNT(*) AS other FROM people WHERE income > 3")
        again, told = asked(connection, GROUPS)
        assert (again, "free of charge" in told) == (first, True)


# Who may do what -------------------------------------------------------------------------------------------

STATEMENTS = {
    "SELECT 1": Action.LOOK,
    "SELECT table_name FROM information_schema.tables": Action.LOOK,
    "SELECT * FROM adyton.columns": Action.LOOK,
    "SELECT * FROM adyton.budget": Action.BUDGET,
    "SELECT * FROM adyton.receipts": Action.OWN_RECEIPTS,
    "EXPLAIN SELECT COUNT(*) FROM people": Action.PREVIEW,
    "SELECT COUNT(*) FROM people": Action.ASK,
}


@pytest.mark.parametrize("role", list(Role))
def test_every_role_at_every_kind_of_statement(house: Wired, role: Role) -> None:
    visitor = house.token(f"somebody who is {role}", str(role))
    with house.connect(visitor, within="300") as connection:
        for text, action in STATEMENTS.items():
            if may(role, action):
                connection.execute(text)
            else:
                assert code(connection, text) == "42501"


def test_whoever_is_revoked_is_out_at_once(house: Wired) -> None:
    """Mutant: a connection remembers who it is."""
    visitor = house.token("leaver")
    with house.connect(visitor) as connection:
        connection.execute("SELECT 1")
        (served,) = (one for one in house.house.served if one.name == "people")
        served.tokens.revoke("leaver")
        with pytest.raises(psycopg.OperationalError):
            connection.execute("SELECT 2 FROM adyton.columns")
        assert connection.closed
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        house.connect(visitor)


def test_a_token_of_an_older_version_has_no_verifier_until_it_is_made_anew(tmp_path: Path) -> None:
    """Its file is the one of that version: it gains a column, and its tokens stay valid over HTTP."""
    study = write_study(tmp_path)
    with wired([study]) as house:
        old = house.token("old")
        (served,) = house.house.served
        with served.tokens._kept.work() as connection:
            connection.execute("ALTER TABLE tokens DROP COLUMN verifier")
        served.tokens.close()
        with pytest.raises(psycopg.OperationalError, match="make a new one"):
            house.connect(old)
        told = {one.what: one.said for one in examine([study], QUICK).findings}
        assert told["people.toml: tokens of an older version"].startswith(
            "work over HTTP, not through --pg-port: old;"
        )
        assert house.client.get("/v1/studies", headers={"Authorization": f"Bearer {old}"}).status_code == 200
        with house.connect(house.token("new")) as connection:
            assert connection.execute("SELECT current_user").fetchone() == ("new",)
        kept = b"".join(path.read_bytes() for path in tmp_path.iterdir() if ".tokens" in path.name)
        assert old.encode() not in kept
        assert old.removeprefix("adyton_").encode() not in kept
    assert Tokens(study).verifiers()


# What goes wrong -------------------------------------------------------------------------------------------


def test_codes_of_refusals(house: Wired, token: str) -> None:
    with house.connect(token, within="300") as connection:
        table = {
            "SELECT COUNT(*) FROM people WHERE nothing > 3": "42703",
            "SELECT COUNT(*) FROM other": "42P01",
            "SELECT FOO(income) FROM people": "42883",
            "SELECT COUNT(* FROM people": "42601",
            "SELECT COUNT(*) FROM people WHERE region = 'north": "42601",
            "SELECT * FROM people": "0A000",
            "SELECT ARRAY_AGG(income) FROM people": "0A000",
            "COPY people TO STDOUT": "0A000",
            "CREATE TABLE x (a int)": "25006",
            "INSERT INTO people VALUES (1)": "25006",
            "DO $$ BEGIN END $$": "0A000",
            "SELECT pg_read_file('/etc/passwd')": "42883",
            "SELECT * FROM pg_nothing": "42P01",
            "SELECT nothing FROM pg_class": "42703",
            "FETCH 1 FROM nowhere": "34000",
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 400) COUNT(*) FROM people": "53400",
            "SET client_encoding = 'LATIN1'": "22023",
        }
        found = {text: code(connection, text) for text in table}
        assert found == table
        with pytest.raises(psycopg.Error) as refused:
            connection.execute("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 400) COUNT(*) FROM people")
        for fact in ("requested: ", "spent: ", "budget: ", "largest: ", "counted_in: gdp"):
            assert fact in str(refused.value.diag.message_detail)


def test_an_engine_that_fails_is_told_by_its_reference(
    house: Wired, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: Any, **__: Any) -> Any:
        raise RuntimeError("canary 8675309")

    monkeypatch.setattr(DuckDBEngine, "exact", failing)
    with house.connect(token, within="333") as connection, pytest.raises(psycopg.Error) as failed:
        connection.execute("SELECT COUNT(*) AS n FROM people WHERE income > 51000")
    assert failed.value.sqlstate == "XX000"
    assert str(failed.value.diag.message_detail).startswith("reference: ")
    assert "8675309" not in str(failed.value)


def test_what_is_wrong_with_a_width_is_the_message_and_the_remedy_the_hint(house: Wired, token: str) -> None:
    """Mutant: a list of what is wrong has the sign that ends it."""
    with house.connect(token, within="333") as connection, pytest.raises(psycopg.Error) as refused:
        connection.execute("SELECT COUNT(*) AS n, AVG(income) AS mean FROM people")
    told = refused.value.diag
    assert str(told.message_primary).endswith("(n is a count, mean is a mean of income)")
    assert told.message_hint == "Give each its own, as within n=W,mean=W"


def test_unexpected_faults_are_told_by_kind_alone(caplog: pytest.LogCaptureFixture) -> None:
    told = fields_of_error(RuntimeError("canary 8675309"))
    assert told["C"] == "XX000"
    assert "8675309" not in str(told) + caplog.text
    assert "RuntimeError" in caplog.text
    codes = [
        code_of(one) for one in (EngineFailed("r"), LedgerCorrupt("x"), SqlError("57014", "x"), KeyError("x"))
    ]
    assert codes == ["XX000", "XX001", "57014", "XX000"]


@pytest.mark.parametrize("simple", [True, False])
def test_a_fault_of_ours_is_told_when_it_is_no_longer_handled(
    house: Wired, token: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, simple: bool
) -> None:
    """Mutant: it is logged while it is handled, where whoever watches the log can look at it."""
    handled = list[object]()

    async def failing(*_: Any) -> Any:
        raise RuntimeError("canary 8675309")

    def watched(_: logging.LogRecord) -> bool:
        handled.append(sys.exc_info()[1])
        return True

    operators = logging.getLogger("adyton.operator")
    with house.connect(token, within="333") as connection:
        monkeypatch.setattr(Work, "run", failing)
        operators.addFilter(watched)
        try:
            text = b"SELECT COUNT(*) AS n FROM people"
            told = connection.pgconn.exec_(text) if simple else connection.pgconn.exec_params(text, None)
        finally:
            operators.removeFilter(watched)
            monkeypatch.undo()
        assert connection.execute("SELECT 1").fetchall() == [(1,)]
    assert b"something went wrong (reference " in told.error_message
    assert handled == [None]
    assert "a statement failed with RuntimeError" in caplog.text
    assert "8675309" not in caplog.text + told.error_message.decode()


def test_cancel_ends_the_waiting_and_the_answer_is_kept(
    house: Wired, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Mutant: a place is given back while the query is still worked on."""
    going, held = threading.Event(), threading.Event()
    exact = DuckDBEngine.exact

    def slow(*arguments: Any, **words: Any) -> Any:
        held.set()
        assert going.wait(20)
        return exact(*arguments, **words)

    monkeypatch.setattr(DuckDBEngine, "exact", slow)
    text = "SELECT COUNT(*) AS n FROM people WHERE income > 61000"
    places = house.client.app.state.desk._places  # type: ignore[attr-defined]
    with house.connect(token, within="350") as connection:
        timer = threading.Thread(target=lambda: (held.wait(20), connection.cancel_safe()))
        timer.start()
        assert code(connection, text) == "57014"
        timer.join()
        connection.execute("SELECT 1")
        assert places.taken == 1
        going.set()
        end = time.monotonic() + 20
        while places.taken and time.monotonic() < end:
            time.sleep(0.01)
        rows, told = asked(connection, text)
        assert (len(rows), "free of charge" in told) == (1, True)
        connection.cancel_safe()  # nothing is asked now, so nothing happens
        assert connection.execute("SELECT 1").fetchone() == (1,)


# Parts -----------------------------------------------------------------------------------------------------


def test_statements_are_split_outside_strings_names_and_comments() -> None:
    text = "SELECT ';' AS \";\" -- ;\n; /* ; */ SET x = 1; SELECT E'\\';' ; DO $a$ ; $a$;"
    assert [one.words[0] for one in statements_in(text)] == ["SELECT", "SET", "SELECT", "DO"]
    assert [text[one.start :].startswith(one.text) for one in statements_in(text)] == [True] * 4
    assert statements_in("-- a\nSET x = '--1' /* b */ -- c")[0].bare.split() == ["SET", "x", "=", "'--1'"]
    assert [
        number for number, _, _ in parameters_in("$1 '$2' \"$3\" -- $4\n /* $5 */ a$6 $$ $7 $$ ($8)")
    ] == [1, 8]


def test_places_are_those_in_the_text_that_was_sent() -> None:
    text, values = "SELECT $1, x, $2, yy", {1: "a'b", 2: -5}
    written = filled(text, values)
    assert written == "SELECT 'a''b', x, (-5), yy"
    for name in ("x", "yy"):
        assert place_before(text, values, written.index(name) + 1) == text.index(name) + 1
    assert place_before(text, values, written.index("-5") + 1) == text.index("$2") + 1


def test_literals() -> None:
    table = {None: "NULL", True: "TRUE", 5: "5", -5: "(-5)", Decimal("1E-7"): "0.0000001", "it's": "'it''s'"}
    assert {value: literal(value) for value in table} == table
    assert literal(datetime.date(2020, 1, 2)) == "DATE '2020-01-02'"
    assert literal(["a", None, Decimal("1.5"), True]) == "ARRAY['a', NULL, 1.5, TRUE]"
    assert literal([]) == "ARRAY[]"
    with pytest.raises(BadValue, match="a list of lists"):
        literal([[1]])


@pytest.mark.parametrize(
    ("oid", "value"),
    [
        (BOOL, True), (INT8, -(2**40)), (FLOAT8, Decimal("0.1")), (TEXT, "ä'\\"), (DATE, datetime.date(1969, 12, 31)),
        (NUMERIC, Decimal("-12345.00678")), (NUMERIC, Decimal("0.0001")), (NUMERIC, Decimal(100000000)),
        (ARRAYS[TEXT], ["a", 'b "c"', "", "NULL", None, "\\"]), (ARRAYS[INT8], [1, None, 3]), (ARRAYS[TEXT], []),
    ],
)  # fmt: skip
def test_values_come_back_as_they_went(oid: int, value: Any) -> None:
    for form in (0, 1):
        sent = float(value) if oid == FLOAT8 else value
        assert decoded(encoded(sent, oid, form), oid, form) == value


LISTS: list[tuple[str, str, int, list[Any]]] = [  # as node-postgres writes them, and what else can be sent
    ("urgent", "{true,false}", ARRAYS[BOOL], [True, False]),
    (
        "day",
        '{"2020-01-02",2020-01-03}',
        ARRAYS[DATE],
        [datetime.date(2020, 1, 2), datetime.date(2020, 1, 3)],
    ),
    ("ward", '{"a", "b" ,NULL}', ARRAYS[TEXT], ["a", "b", None]),
    ("cost", "{1.5,2}", ARRAYS[NUMERIC], [Decimal("1.5"), Decimal(2)]),
    ("cost", "{0.1,2e1}", ARRAYS[FLOAT8], [0.1, 20.0]),
    ("age", "{1,2,NULL}", ARRAYS[INT8], [1, 2, None]),
    ("age", "{}", ARRAYS[INT8], []),
]


@pytest.mark.parametrize(("column", "written", "oid", "values"), LISTS, ids=range(len(LISTS)))
def test_lists_of_every_type_in_text_and_binary(
    house: Wired, column: str, written: str, oid: int, values: list[Any]
) -> None:
    """Mutants: a list is no literal; its type is that of the column; NULL is one of its values."""
    visitor = house.token("lister", study="visits")
    known = [
        literal(Decimal(str(one)) if isinstance(one, float) else one) for one in values if one is not None
    ]
    plain = f"{column} IN ({', '.join(known)})" if known else "FALSE"
    with house.connect(visitor, "visits", within="40") as connection:
        pg = connection.pgconn
        wanted = connection.execute(f"SELECT COUNT(*) AS n FROM visits WHERE {plain}").fetchone()
        sent = [(written.encode(), 0, 0), (written.encode(), oid, 0), (encoded(values, oid, 1), oid, 1)]
        for content, kind, form in sent:
            for sign in ("= ANY($1)", "= SOME ($1)"):
                text = f"SELECT COUNT(*) AS n FROM visits WHERE {column} {sign}".encode()
                found = pg.exec_params(text, [content], [kind], [form])
                assert found.status == psycopg.pq.ExecStatus.TUPLES_OK, found.error_message
                assert float(found.get_value(0, 0) or "x") == (wanted or ("x",))[0]
        for wrong in (b"{{1},{2}}", b"{1", b"1", b'{"1}', b"{1,}", b"[0:1]={1,2}", b"{a\\}"):
            found = pg.exec_params(text, [wrong])
            assert found.status == psycopg.pq.ExecStatus.FATAL_ERROR
            assert found.error_field(psycopg.pq.DiagnosticField.SQLSTATE) == b"22P02"
        nested = (
            struct.pack("!iiIii", 1, 0, ARRAYS[INT8], 1, 1)
            + struct.pack("!i", 12)
            + struct.pack("!iiI", 0, 0, INT8)
        )
        for hostile in (
            nested,
            struct.pack("!iiIii", 2, 0, INT8, 1, 1),
            struct.pack("!iiIii", 1, 0, INT8, 2**31 - 1, 1),
        ):
            assert pg.exec_params(text, [hostile], [oid], [1]).status == psycopg.pq.ExecStatus.FATAL_ERROR
        assert connection.execute("SELECT 1").fetchone() == (1,)


@pytest.mark.parametrize("failing", ["place_before", "fields_of_error"])
def test_an_error_that_cannot_be_told_ends_no_connection(
    house: Wired, token: str, failing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Mutant: what goes wrong while an error is told is not caught."""

    def fails(*_: Any, **__: Any) -> Any:
        raise ValueError("canary")

    with house.connect(token, within="300") as connection:
        with monkeypatch.context() as patch:
            patch.setattr(f"adyton.transports.pg.talking.session.{failing}", fails)
            for _ in range(2):
                with pytest.raises(psycopg.Error) as refused:
                    connection.execute("SELECT COUNT(*) FROM people WHERE agee > %s", (3,))
                assert "canary" not in str(refused.value)
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_numbers_and_moments_that_are_no_literals() -> None:
    for content, oid in (
        (b"NaN", FLOAT8),
        (b"Infinity", NUMERIC),
        (b"1e9999", NUMERIC),
        (b"x", INT8),
        (b"2020-01-01 01:00", TIMESTAMP),
    ):
        with pytest.raises(BadValue):
            decoded(content, oid, 0)
    assert encoded(None, INT8, 1) is None


def test_settings_of_a_connection() -> None:
    session = SessionSettings("ana")
    session.begin(
        {"options": r"-c adyton.within=5 --adyton.intervals=on -c application_name=a\ b", "TimeZone": "UTC"}
    )
    assert (session.price, session.intervals, session.shown("application_name")) == (
        {"within": "5"},
        True,
        "a b",
    )
    session.set("adyton.share", "0.5")
    session.set("adyton.dialect", "Postgres")
    assert (session.price, session.words, session.dialect) == ({"share": "0.5"}, {}, "postgres")
    session.reset()
    assert session.price == {"within": "5"}
    with pytest.raises(UnknownSetting):
        session.set("adyton.limit", "9")
    with pytest.raises(InvalidRequest):
        session.begin({"options": "adyton.within=5"})


def test_answers_leave_on_the_grid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Mutant: work that is not done at the desk leaves when it is done."""
    ticking = Settings(**{**asdict(QUICK), "tick": 0.5})
    with wired([write_study(tmp_path)], ticking) as house:
        waited: list[float] = []
        monkeypatch.setattr("adyton.service.grid.time.sleep", lambda seconds: waited.append(seconds))
        with house.connect(house.token("ana"), within="300") as connection:
            connection.execute(COUNT)
            fresh = max(waited)
            waited.clear()
            connection.execute(COUNT)
            connection.execute(f"EXPLAIN {COUNT}")
            connection.execute("SELECT * FROM adyton.budget")
    assert fresh > 0
    assert max(waited, default=0) == 0
