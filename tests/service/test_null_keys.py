"""The group NULL, and the remark on rows in no group, at every door of a server."""

from __future__ import annotations

import html
from pathlib import Path
from typing import Any

import psycopg
import pytest

from adyton.certify import Answer
from adyton.client.facts import tables_of
from adyton.kernel.schema import CategoryColumn
from adyton.transports.mcp.words import answer_said
from support.servers import served, write_study
from support.web import Browsing
from support.wire import wired

GROUPS = "SELECT region, COUNT(*) AS n FROM people GROUP BY region"
REMARK = "Rows whose region is missing or not declared are in no group."
REGIONS = ["north", "south", "east", "west"]


@pytest.fixture(params=[True, False], ids=["declared", "plain"])
def declared(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture
def study(tmp_path: Path, declared: bool) -> Path:
    return write_study(tmp_path, more="missing = true\n" if declared else "")


def test_http_agents_and_tables_show_null_or_say_who_is_in_no_group(study: Path, declared: bool) -> None:
    with served([study]) as house:
        headers = house.made("ana")
        told: dict[str, Any] = house.ask(headers, GROUPS, within=100).json()
        previewed = house.client.post(
            "/v1/studies/people/preview", headers=headers, json={"query": GROUPS, "within": 100}
        ).json()
        facts = house.client.get("/v1/studies/people", headers=headers).json()
        csv = house.ask({**headers, "Accept": "text/csv"}, GROUPS, within=100).text.splitlines()
    wanted = [*REGIONS, *([None] if declared else [])]
    for one in (told, previewed):
        assert [row["keys"]["region"] for row in one["answer"]] == wanted
        assert one.get("remarks", []) == ([] if declared else [REMARK])
    assert [line.split(",")[0] for line in csv[1:]] == [key or "" for key in wanted]
    (column,) = (one for one in tables_of(facts)[0].columns if isinstance(one, CategoryColumn))
    assert column.missing == declared
    said = answer_said(told, Answer.from_json(told), None)
    assert ("region = NULL: " in said) == declared
    assert (REMARK in said) != declared


def test_the_wire_sends_null_and_a_notice(study: Path, declared: bool) -> None:
    with wired([study]) as house:
        token, notices = house.token(), list[str]()
        with house.connect(token, within="100") as connection:
            connection.add_notice_handler(lambda told: notices.append(f"{told.message_detail}"))
            rows = connection.execute(GROUPS).fetchall()
            comment = "SELECT col_description('people'::regclass, 2)"
            (described,) = connection.execute(comment).fetchone() or ("",)
            assert isinstance(connection, psycopg.Connection)
    assert [row[0] for row in rows] == [*REGIONS, *([None] if declared else [])]
    assert any(REMARK in one for one in notices) != declared
    assert described.endswith("or NULL") == declared


def test_a_page_shows_null_and_says_who_is_in_no_group(study: Path, declared: bool) -> None:
    with served([study]) as house:
        person = Browsing(house)
        person.log_in(house.made("ana"))
        page = html.unescape(person.asked(GROUPS, within="100").text)
        described = person.get("/studies/people").text
    assert (">NULL<" in page.replace("\n", "")) == declared
    assert (REMARK in page) != declared
    assert ("west, NULL" in described) == declared
