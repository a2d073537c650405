"""The web pages, as somebody sees them who has neither a script nor a mouse: what they show, to whom, and what it costs."""

from __future__ import annotations

import html
import io
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from adyton.engines.duckdb import DuckDBEngine
from adyton.operations.roles import Role, may
from adyton.service.studies import ServedStudy
from adyton.transports.pages.answers import MOST
from adyton.transports.pages.house import planning
from adyton.transports.pages.mount import PAGES
from adyton.transports.pages.rendering import breakable, named
from adyton.transports.pages.writing import FormFields, written
from support.odd_studies import HOSTILE, NAME, PATH, hostile_study
from support.servers import COUNT, Served, served, write_holdout, write_study
from support.web import Browsing, problems, visit_of

GROUPS = "SELECT region, COUNT(*) AS n FROM people GROUP BY region"
STUDY = """
[table]
name = "t"
source = "t.parquet"
rows = 400
[privacy]
unit = "row"
adjacency = "replace-one"
epsilon = 5
delta = 1e-9
[columns]
"""


@pytest.fixture
def house(tmp_path: Path) -> Iterator[Served]:
    with served([write_study(tmp_path), write_holdout(tmp_path)]) as made:
        yield made


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One for tests that charge nothing."""
    folder = tmp_path_factory.mktemp("calm")
    with served([write_study(folder), write_holdout(folder)]) as made:
        yield made


@pytest.fixture
def ana(house: Served) -> Browsing:
    person = Browsing(house)
    person.log_in(house.made("ana"))
    return person


def charged(house: Served) -> int:
    (study,) = (one for one in house.house.served if one.name == "people")
    return study.count()


# Who sees what.


@pytest.mark.parametrize("role", list(Role))
def test_every_page_of_the_table_is_shown_to_those_who_may_and_no_others(calm: Served, role: Role) -> None:
    person, stranger = Browsing(calm), Browsing(calm)
    for study in ("people", "test"):
        if role is not Role.AGENT or study == "people":
            person.log_in(calm.made(f"{role} {study}", str(role), study))
        for entry in PAGES:
            if {"study": "people", "holdout": "test"}.get(entry.of, study) != study:
                continue
            if entry.of == "holdout" and role is Role.AGENT:
                continue  # its scores are paid for at once, so that nobody can have a part of them
            path = entry.path.replace("{name}", study)
            allowed = entry.action is None or may(role, entry.action)
            shown = person.get(path)
            assert shown.status_code == (200 if allowed else 403), (path, shown.text)
            linked = f'href="{path}"' in person.get("/" if entry.of == "house" else f"/studies/{study}").text
            assert linked == allowed or entry.of == "holdout", path
            sent = stranger.get(path, follow_redirects=False)
            assert sent.status_code == 303
            assert sent.headers["location"].startswith("/login")


def test_a_study_that_is_not_yours_looks_like_one_that_does_not_exist(calm: Served) -> None:
    person = Browsing(calm)
    person.log_in(calm.made("ana", study="test"))
    for rest in (
        "",
        "/ask",
        "/budget",
        "/receipts",
        "/receipts.json",
        "/answer",
        "/answer.csv",
        "/budget.svg",
    ):
        there, nowhere = (person.get(f"/studies/{name}{rest}") for name in ("people", "nowhere"))
        assert (there.status_code, nowhere.status_code) == (404, 404)
        assert there.text.replace("people", "nowhere") == nowhere.text


def test_an_auditor_can_neither_ask_nor_try_nor_preview(house: Served) -> None:
    person, ana = Browsing(house), Browsing(house)
    person.log_in(house.made("eve", "auditor"))
    ana.log_in(house.made("ana"))
    form = person.get("/")
    for do in ("ask", "try", "preview", "write"):
        refused = person.post("/studies/people/ask", {"sql": COUNT, "within": "50", "do": do}, form)
        assert refused.status_code == 403
    assert charged(house) == 0
    asked = ana.asked(COUNT, within="50")
    assert person.get(str(asked.url)).status_code == 403
    assert "To begin with" not in person.get("/studies/people").text


# What it costs.


def test_an_answer_is_that_of_the_api_and_paid_once(house: Served, ana: Browsing) -> None:
    asked = ana.asked(GROUPS, within="50")
    assert asked.status_code == 200
    assert asked.url.path == "/studies/people/answer"
    assert charged(house) == 1
    same = house.ask(house.made("bob"), GROUPS, within="50").json()
    assert same["repeated"]
    told = ana.get(str(asked.url).replace("/answer?", "/answer.json?")).json()
    assert told["answer"] == same["answer"]
    for row in same["answer"]:
        assert row["keys"]["region"] in asked.text
        assert f">{row['values']['n']['value']:.0f}<" in asked.text
    table = ana.get(str(asked.url).replace("/answer?", "/answer.csv?"))
    assert table.headers["content-disposition"] == 'attachment; filename="answer.csv"'
    assert pd.read_csv(io.StringIO(table.text))["n"].tolist() == [
        row["values"]["n"]["value"] for row in same["answer"]
    ]
    assert charged(house) == 1


def test_names_of_intervals_are_said_and_never_confidence_interval(ana: Browsing) -> None:
    asked = ana.asked(GROUPS, within="50")
    picture = ana.get(str(asked.url).replace("/answer?", "/answer.svg?"))
    assert picture.headers["content-type"] == "image/svg+xml"
    for text in (
        asked.text,
        picture.text,
        ana.get("/studies/people/ask", params={"sql": GROUPS, "within": "50"}).text,
    ):
        assert "noise interval" in text
        assert "population interval" in text
        assert "confidence interval" not in text.lower()
    assert "style=" not in picture.text
    assert "<script" not in picture.text


def test_one_form_sent_often_is_one_charge_and_one_answer(house: Served, ana: Browsing) -> None:
    form = ana.get("/studies/people/ask")
    with ThreadPoolExecutor(8) as pool:
        came = list(pool.map(lambda _: ana.asked(COUNT, form, within="50"), range(8)))
    assert {one.status_code for one in came} == {200}
    assert len({re.search(r'<td class="number">([\d,]+)</td>', one.text)[1] for one in came}) == 1
    assert charged(house) == 1


def test_the_address_of_an_answer_never_asks(house: Served, ana: Browsing) -> None:
    """Also with words that were never asked, or for somebody who may not pay: nothing is charged by going there."""
    asked = ana.asked(COUNT, within="50")
    for _ in range(3):
        assert ana.get(str(asked.url)).text == asked.text
    for change in (("50", "40"), ("30000", "31000"), ("within=50", "epsilon=0.1"), ("visit=", "visit=0")):
        other = ana.get(str(asked.url).replace(*change))
        assert other.status_code == (200 if change[0] == "visit=" else 404)
    assert charged(house) == 1
    bob = Browsing(house)
    bob.log_in(house.made("bob"))
    repeated = bob.get(str(asked.url))
    assert "Asked before: free of charge" in repeated.text
    assert charged(house) == 1


def test_what_is_changed_and_sent_again_is_another_query(house: Served, ana: Browsing) -> None:
    form = ana.get("/studies/people/ask")
    assert ana.asked(COUNT, form, within="50").status_code == 200
    assert ana.asked(COUNT, form, within="60").status_code == 200
    assert charged(house) == 2
    assert ana.asked(COUNT, form, within="50").status_code == 200
    assert charged(house) == 2


def test_a_query_that_was_asked_says_so_before_you_press(house: Served, ana: Browsing) -> None:
    house.ask(house.made("bob"), COUNT, within="50")
    shown = ana.get("/studies/people/ask", params={"sql": COUNT, "within": "50"})
    assert "Asked before: the stored answer is free of charge." in shown.text
    answer = ana.asked(COUNT, within="50")
    assert "Asked before: free of charge." in answer.text
    assert "SELECT 1" in ana.get("/studies/people/ask", params={"sql": "SELECT 1"}).text
    assert charged(house) == 1


def test_previews_and_made_up_rows_are_free_and_read_nothing(
    house: Served, ana: Browsing, monkeypatch: pytest.MonkeyPatch
) -> None:
    (study,) = (one for one in house.house.served if one.name == "people")
    reads: list[str] = []
    monkeypatch.setattr("adyton.service.studies.reads", lambda: reads.append("read"))
    form = ana.get("/studies/people/ask")
    for do in ("preview", "try", "write"):
        shown = ana.asked(GROUPS, form, within="50", do=do)
        assert shown.status_code == 200
        assert ("These numbers are made up" in shown.text) == (do == "try")
    preview = study.previews(study_identity(house), [GROUPS], {"within": "50"})[0]
    assert f"Costs {preview.cost} of the budget" in ana.asked(GROUPS, form, within="50", do="preview").text
    assert charged(house) == 0
    assert not reads


def study_identity(house: Served) -> Any:
    from adyton.service.identity import Identity

    return Identity("ana", Role.ANALYST)


def test_a_preview_says_price_share_of_what_is_left_both_widths_and_rows(house: Served) -> None:
    person = Browsing(house)
    person.log_in(house.made("ana", budget_share="0.5"))
    shown = person.get(
        "/studies/people/ask", params={"sql": "SELECT AVG(income) AS m FROM people", "within": "2000"}
    )
    text = html.unescape(shown.text)
    told = house.client.post(
        "/v1/studies/people/preview",
        headers=house.made("ana", budget_share="0.5"),
        json={"query": "SELECT AVG(income) AS m FROM people", "within": "2000"},
    ).json()
    share = 2 * told["cost"]["share"]  # half of the budget is the own share, and nothing is spent
    found = re.search(r"Costs ([\d.]+) % of the budget, ([\d.]+) % of what is left to you", text)
    assert found is not None
    assert float(found[1]) / 100 == pytest.approx(told["cost"]["share"], rel=0.02)
    assert float(found[2]) / 100 == pytest.approx(share, rel=0.02)
    assert "± 2,000 if 1,000 rows match" in text
    assert text.count("rows match") >= 3


# What goes wrong.


@pytest.mark.parametrize(
    ("fields", "place", "says"),
    [
        ({"sql": "SELECT AVG(incom) FROM people", "within": "50"}, "sql", "did you mean 'income'"),
        ({"sql": "SELECT * FROM people", "within": "50"}, "sql", "(line 1, column 8: *)"),
        ({"sql": "", "within": "50"}, "sql", "asks nothing"),
        ({"sql": COUNT}, "within", "say how accurate"),
        ({"sql": COUNT, "within": "5", "epsilon": "1"}, "within", "2 prices were named"),
        ({"sql": COUNT, "within": "-5"}, "within", "within"),
        ({"sql": COUNT, "within": "many"}, "within", "within"),
        ({"sql": COUNT, "epsilon": "100"}, "epsilon", "epsilon 10 would fit now"),
        ({"sql": COUNT, "within": "50", "expected_rows": "1.5"}, "expected_rows", "a whole number"),
        ({"sql": COUNT, "within": "50", "expected_rows": "0"}, "expected_rows", "at least 1"),
        ({"do": "write", "measure": "mean"}, "column", "choose the column"),
        ({"do": "write", "measure": "mean", "column": "income", "low": "x"}, "low", "write a number"),
        ({"do": "write", "filter_column": "region"}, "filter_value", "write the value"),
        ({"do": "write", "measure": "share"}, "filter_column", "choose a filter"),
        ({"do": "write", "group": "nothing"}, "group", "no such column"),
    ],
)
def test_what_is_wrong_is_said_beside_its_field_and_what_was_typed_stays(
    calm: Served, fields: dict[str, str], place: str, says: str
) -> None:
    ana = Browsing(calm)
    ana.log_in(calm.made("ana"))
    shown = ana.asked(
        fields.get("sql", ""), **{name: value for name, value in fields.items() if name != "sql"}
    )
    assert shown.status_code in (409, 422)
    assert problems(shown) == [f"{place}-problem"]
    text = html.unescape(shown.text)
    said = re.search(rf'id="{place}-problem" role="alert">(.*?)</p>', text, re.DOTALL)
    assert said is not None
    assert says.lower() in said[1].lower()
    control = re.search(rf'<(?:input|textarea|select) id="{place}"[^>]*>', text)
    assert control is not None
    assert 'aria-invalid="true"' in control[0]
    assert f"{place}-problem" in control[0]
    for name in ("within", "epsilon", "expected_rows", "low", "filter_value"):
        if fields.get(name):
            assert (
                f'name="{name}" value="{fields[name]}"' in text
                or f'name="{name}" type="text" value="{fields[name]}"' in text
            )
    assert fields.get("sql", "") in text
    assert charged(calm) == 0


def test_a_failure_of_the_engine_is_said_and_the_same_form_is_free_then(
    house: Served, ana: Browsing, monkeypatch: pytest.MonkeyPatch
) -> None:
    form = ana.get("/studies/people/ask")
    with monkeypatch.context() as broken:
        broken.setattr(DuckDBEngine, "exact", lambda *_, **__: 1 / 0)
        failed = ana.asked(COUNT, form, within="50")
    assert failed.status_code == 502
    assert "The engine failed" in failed.text
    assert COUNT in html.unescape(failed.text)
    assert ana.asked(COUNT, form, within="50").status_code == 200
    assert charged(house) == 1


def test_a_long_query_is_answered_without_an_address(house: Served, ana: Browsing) -> None:
    long = COUNT.replace(" WHERE", " " * 7000 + "WHERE")
    assert len(long) > 6000
    shown = ana.asked(long, within="50")
    assert shown.status_code == 200
    assert shown.url.path == "/studies/people/ask"
    assert "Paid:" in shown.text
    assert charged(house) == 1


def test_too_many_requests_are_refused_in_a_page(tmp_path: Path) -> None:
    from adyton.service.settings import Settings

    with served([write_study(tmp_path)], Settings(tick=0, rate_by_token=3)) as house:
        person = Browsing(house)
        person.log_in(house.made("ana"))
        statuses = [person.get("/studies/people").status_code for _ in range(4)]
        last = person.get("/studies/people")
        assert statuses[0] == 200
        assert last.status_code == 429
        assert int(last.headers["retry-after"]) > 0
        assert "Too many requests" in last.text


# What others wrote.


def test_names_that_others_wrote_are_shown_as_text(tmp_path: Path) -> None:
    """Of a study, a column, a category, a token, and what was typed: also in the SQL that the form writes."""
    with served([hostile_study(tmp_path)]) as house:
        person, quoted = Browsing(house), PATH
        person.log_in(house.made(HOSTILE.replace("\u202e", ""), "owner", study=NAME))
        form = person.get(f"/studies/{quoted}/ask")
        written_by_form = person.post(
            f"/studies/{quoted}/ask",
            {
                "do": "write",
                "group": HOSTILE,
                "filter_column": HOSTILE,
                "filter_value": HOSTILE,
                "epsilon": "1",
                "visit": visit_of(form),
            },
            form,
        )
        assert written_by_form.status_code == 200, written_by_form.text
        sql = html.unescape(re.search(r"<textarea[^>]*>(.*?)</textarea>", written_by_form.text, re.DOTALL)[1])
        asked = person.post(
            f"/studies/{quoted}/ask", {"do": "ask", "sql": sql, "epsilon": "1", "visit": visit_of(form)}, form
        )
        assert asked.status_code == 200, asked.text
        pages = [person.get(f"/studies/{quoted}{rest}") for rest in ("", "/budget", "/receipts", "/ask")]
        bad = person.post(f"/studies/{quoted}/ask", {"do": "ask", "sql": HOSTILE, "epsilon": HOSTILE}, form)
        for shown in (person.get("/"), form, written_by_form, asked, *pages, bad):
            assert shown.status_code in (200, 422)
            assert "<script>alert" not in shown.text
            assert "<img src=x" not in shown.text
            assert "{{7*7}}" in shown.text or "7*7" not in shown.text
            assert "49" not in re.findall(r"\{\{.*?\}\}", shown.text)
        leads = {link for shown in pages for link in re.findall(r'href="(/studies/[^"]*)"', shown.text)}
        assert len(leads) > 6
        for link in leads:
            assert person.get(html.unescape(link)).status_code == 200, link
        picture = person.get(str(asked.url).replace("/answer?", "/answer.svg?"))
        assert "<script>" not in picture.text


def test_a_name_of_ten_thousand_characters_is_shown_as_text(ana: Browsing) -> None:
    shown = ana.asked("SELECT " + "x" * 10_000 + " FROM people", within="5")
    assert shown.status_code == 422
    assert len(shown.text) < 60_000
    assert ana.get("/studies/people/answer", params={"sql": "x" * 10_000}).status_code == 422


# Large ones.


def test_of_many_groups_the_first_are_shown_and_all_are_downloaded(tmp_path: Path) -> None:
    pd.DataFrame({"v": [i % 1000 for i in range(2000)]}).to_parquet(tmp_path / "t.parquet")
    text = STUDY.replace("400", "2000") + "v = {kind = 'integer', low = 0, high = 999}\n"
    (tmp_path / "people.toml").write_text(text, encoding="utf-8")
    with served([tmp_path / "people.toml"]) as house:
        person = Browsing(house)
        person.log_in(house.made("ana"))
        asked = person.asked("SELECT v, COUNT(*) AS n FROM t GROUP BY v", epsilon="1")
        assert asked.text.count('<th scope="row"') == MOST == 200
        assert "The first 200 of 1,000 groups." in asked.text
        assert len(person.get(str(asked.url).replace("/answer?", "/answer.csv?")).text.splitlines()) == 1001


def test_groups_that_were_suppressed_are_said(tmp_path: Path) -> None:
    """Keys that nobody declared are shown if enough units have them; of the others only about how many."""
    words = ["common"] * 3000 + [f"rare {i}" for i in range(200)]
    pd.DataFrame({"word": words}).to_parquet(tmp_path / "t.parquet")
    text = """
[table]
name = "t"
source = "t.parquet"
[privacy]
unit = "row"
adjacency = "add-remove"
epsilon = 5
delta = 1e-9
discovery_delta = 1e-10
[columns]
word = {kind = "text", longest = 20}
"""
    (tmp_path / "people.toml").write_text(text, encoding="utf-8")
    with served([tmp_path / "people.toml"]) as house:
        person = Browsing(house)
        person.log_in(house.made("ana"))
        asked = person.asked("SELECT word, COUNT(*) AS n FROM t GROUP BY word", epsilon="1")
        told = person.get(str(asked.url).replace("/answer?", "/answer.json?")).json()["discovered_groups"]
        assert ">common</bdi></th>" in asked.text
        assert "rare 1" not in asked.text
        assert told["shown"] == 1
        assert "were too rare" in asked.text
        assert str(round(told["suppressed"])) in asked.text.replace(",", "")


# The form that writes SQL.


@pytest.mark.parametrize(
    ("chosen", "sql"),
    [
        (FormFields(), "SELECT COUNT(*) AS n FROM people"),
        (
            FormFields(measure="mean", column="income", group="region"),
            "SELECT region, AVG(income) AS mean FROM people GROUP BY region",
        ),
        (
            FormFields(
                measure="sum",
                column="income",
                low="0",
                high="1e5",
                filter_column="region",
                filter_value="o'hara",
            ),
            "SELECT SUM(CLAMP(income, 0, 1e5)) AS sum FROM people WHERE region = 'o''hara'",
        ),
        (
            FormFields(measure="share", filter_column="income", comparison=">=", filter_value="30000"),
            "SELECT PROPORTION(income >= 30000) AS share FROM people",
        ),
        (FormFields(measure="median", column="income"), "SELECT MEDIAN(income) AS median FROM people"),
        (FormFields(measure="stddev", column="income"), "SELECT STDDEV(income) AS stddev FROM people"),
    ],
)
def test_the_form_writes_sql_that_is_answered(calm: Served, chosen: FormFields, sql: str) -> None:
    (study,) = (one for one in calm.house.served if one.name == "people")
    assert written(chosen, study.facts()) == sql
    if "hara" not in sql:
        (preview,) = study.previews(study_identity(calm), [sql], {"epsilon": "1"})
        assert preview.affordable


# Budget and receipts.


def test_an_analyst_sees_the_own_part_and_the_total_and_an_owner_all_names(house: Served) -> None:
    ana, owner = Browsing(house), Browsing(house)
    ana.log_in(house.made("ana", budget_share="0.25"))
    owner.log_in(house.made("boss", "owner"))
    house.ask(house.made("ana", budget_share="0.25"), COUNT, within="20")
    house.ask(house.made("bob"), GROUPS, within="20")
    own, all_of_them = ana.get("/studies/people/budget").text, owner.get("/studies/people/budget").text
    assert "Your budget share is 25 % of the budget" in own
    assert "bob" not in own
    assert "By name" not in own
    assert re.search(
        r'<th scope="row"><bdi class="name">bob</bdi></th><td class="number">[\d.]+ %</td>', all_of_them
    )
    assert re.search(
        r'<th scope="row"><bdi class="name">ana</bdi></th><td class="number">[\d.]+ %</td><td class="number">25 %</td>',
        all_of_them,
    )
    mine = house.made("ana", budget_share="0.25")
    budget = house.client.get("/v1/studies/people/budget", headers=mine).json()
    assert f"<strong>{budget['more']:,}</strong>" in own
    picture = ana.get("/studies/people/budget.svg")
    assert picture.headers["content-type"] == "image/svg+xml"
    assert ana.get("/studies/people/budget.svg?dark=1").text != picture.text


def test_receipts_come_page_by_page_and_others_queries_are_sealed(house: Served) -> None:
    ana, owner, headers = Browsing(house), Browsing(house), house.made("bob")
    ana.log_in(house.made("ana"))
    owner.log_in(house.made("boss", "owner"))
    for place in range(60):
        assert (
            house.ask(
                headers, f"SELECT COUNT(*) FROM people WHERE income > {place}", epsilon="0.01"
            ).status_code
            == 200
        )
    ana.asked(GROUPS, epsilon="0.01")
    newest, first = ana.get("/studies/people/receipts").text, ana.get("/studies/people/receipts?after=0").text
    assert newest.count("<tr id=") == first.count("<tr id=") == 50
    assert "Receipts 12 to 61 of 61" in newest
    assert "Earlier</a>" in newest
    assert "Later</a>" in first
    assert GROUPS.replace(" AS n", " AS count") in newest  # names are no part of a query
    assert "income >" not in html.unescape(newest)
    assert "income &gt; 40" in owner.get("/studies/people/receipts").text
    (study,) = (one for one in house.house.served if one.name == "people")
    for most in (1, 7, 60, 61, 100):
        numbers = [link["number"] for link in study.course(study_identity(house), most)["links"]]
        assert numbers == sorted(set(numbers))
        assert len(numbers) == min(most, 61)
        assert numbers[-1] == 61
    for bad in ("x", "-1", "9" * 30, "1.5"):
        assert ana.get(f"/studies/people/receipts?after={bad}").status_code == 422
    replayed = owner.post("/studies/people/receipts", {"head": ""}, owner.get("/studies/people/receipts"))
    assert "61 receipts follow from each other" in replayed.text
    wrong = owner.post("/studies/people/receipts", {"head": "0" * 64}, owner.get("/studies/people/receipts"))
    assert wrong.status_code == 503
    assert "rolled back or exchanged" in wrong.text
    assert ana.post("/studies/people/receipts", {"head": ""}, ana.get("/")).status_code == 403


def test_the_chain_for_the_script_is_the_object_of_the_api(house: Served, ana: Browsing) -> None:
    ana.asked(COUNT, within="50")
    api = house.client.get("/v1/studies/people/receipts", headers=house.made("ana")).json()
    assert ana.get("/studies/people/receipts.json").json() == api


def test_a_page_that_fails_is_a_page(
    house: Served, ana: Browsing, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Mutants: a browser gets the body for programs; where the page of the failure fails too, nobody gets anything."""

    def failing(*_: object, **__: object) -> Any:
        raise ZeroDivisionError("canary 77123")

    browser = {"Accept": "text/html,*/*"}
    monkeypatch.setattr(ServedStudy, "facts", failing)
    page = ana.get("/studies/people", headers=browser)
    assert page.status_code == 500
    assert page.headers["content-type"].startswith("text/html")
    (reference,) = re.findall(r"Something went wrong \(reference ([0-9a-f]{12})\)", page.text)
    assert reference in caplog.text
    assert "Log out" in page.text  # and where else to go
    assert "77123" not in page.text + caplog.text
    assert ana.get("/studies/people").headers["content-type"] == "application/json"
    monkeypatch.setattr(house.client.app.state, "error_page", failing)
    assert ana.get("/studies/people", headers=browser).json()["error"]["kind"] == "failed"


# Names.


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("region", "region"),
        ("2024-01-31 12:00:00", "2024-01-31 12:00:00"),
        ("-1,234,567,890.25", "-1,234,567,890.25"),
        ("customer_segment", "customer_<wbr>segment"),
        ("customer_id_of_the_year", "customer_id_<wbr>of_the_year"),
        ("averageCustomerIncome", "average<wbr>Customer<wbr>Income"),
        ("Nordrhein-Westfalen", "Nordrhein-<wbr>Westfalen"),
        ("name.of@example.org/path", "name.of@<wbr>example.org/<wbr>path"),
        ("x" * 30, "x" * 30),
        ("__________________", "__________________"),
        ("<script>alert_of_me()", "&lt;script&gt;alert_<wbr>of_me()"),
        ("&amp_lt_gt_quot_wbr", "&amp;amp_lt_gt_<wbr>quot_wbr"),
    ],
)
def test_a_long_name_may_break_where_its_parts_are_joined(name: str, shown: str) -> None:
    """Mutants: escaped before it is cut, so that half of an entity is shown; numbers and dates that break."""
    assert breakable(name) == shown
    assert named(name) == f'<bdi class="name">{shown}</bdi>'


def test_a_plan_that_is_asked_for_in_several_widths_is_computed_once() -> None:
    """Mutant: without the lock, each waits for a computation of its own."""
    before = planning._planned.cache_info()
    given = {"rows": 150, "tolerance": "0.43", "confidence": "0.95"}
    with ThreadPoolExecutor(3) as pool:
        made = list(pool.map(lambda _: planning._figure(**given), range(3)))
    after = planning._planned.cache_info()
    assert made[0] is made[1] is made[2]
    assert (after.misses - before.misses, after.hits - before.hits) == (1, 2)
