"""Plan, lab, holdouts, access, documentation: what they show is what the commands say, to whoever may see it."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path

import httpx2
import numpy as np
import pytest
from playwright.sync_api import Browser, Page

from adyton.transports.all_methods import AllMethods
from adyton.transports.pages.house.documentation import _known, _shown
from adyton.validity.planner import plan
from support.browser import ROLES, Site, visit

DRAWN = "image => image.decode().then(() => image.naturalWidth > 300)"
SCRIPT = '<script>alert("1")</script>'


def test_a_plan_is_compared_drawn_and_copied(site: Site, browser: Browser) -> None:
    """Mutants: another confidence; the section of another method; the picture of other numbers."""
    with visit(browser, site.url) as one:
        one.log_in(site.tokens["analyst"], "/plan")
        one.page.get_by_label("Rows or persons").fill("100,000")
        one.page.get_by_label("Tolerance").fill("0.1")
        one.page.get_by_role("button", name="Compare all methods").click()
        told = AllMethods(plan(rows=100_000, tolerance="0.1", confidence="0.95"))
        assert one.page.locator(".big").inner_text() == "Recommended: subset, decreasing."
        shown = one.page.locator("tbody tr")
        assert shown.count() == len(told.sheet().rows)
        assert shown.nth(0).inner_text().split("\t")[0] == told.sheet().rows[0][0]
        assert one.page.locator("#section").inner_text() == told.section
        assert one.page.locator(".figure img").evaluate(DRAWN)
        numbers = one.get("/plan.json?rows=100000&tolerance=0.1")
        assert numbers.json() == json.loads(json.dumps(told.to_json()))


def test_only_what_stands_beside_something_stays_in_sight(site: Site, browser: Browser) -> None:
    """Mutant: every card stays, so that those of a list slide over each other."""
    with visit(browser, site.url) as one:
        one.log_in(site.tokens["analyst"], "/lab")
        cards = one.page.locator(".card")
        assert cards.count() > 20
        one.page.evaluate("window.scrollTo(0, document.body.scrollHeight)")
        tops = [cards.nth(i).bounding_box() for i in range(cards.count())]
        ends = [box["y"] + box["height"] for box in tops if box]
        assert all(end < after["y"] for end, after in zip(ends, tops[1:], strict=False) if after)
        position = "e => getComputedStyle(e).position"
        one.open("/studies/people/ask")
        assert one.page.locator(".two > .card").first.evaluate(position) == "sticky"
    with visit(browser, site.url) as one:  # two forms side by side, one below the other where it is narrow
        one.log_in(site.token("zoe", study="test"), "/holdouts/test")
        assert [card.evaluate(position) for card in one.page.locator(".two > .card").all()] == ["static"] * 2


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("rows=many&tolerance=0.1", "Rows is a whole number, such as 100,000"),
        ("rows=1000", "two of"),
        ("rows=&tolerance=&queries=&confidence=0.95", "two of"),
        ("rows=1000&tolerance=" + "9" * 50, "at most 40 characters"),
        (f"rows=1000&tolerance={SCRIPT}", "olerance"),
    ],
)
def test_a_plan_that_cannot_be_made_says_why_and_keeps_what_was_typed(
    site: Site, browser: Browser, address: str, said: str
) -> None:
    with visit(browser, site.url, silent=False) as one:
        one.log_in(site.tokens["analyst"], f"/plan?{address}")
        assert said in one.page.get_by_role("alert").inner_text()
        typed = dict(part.split("=", 1) for part in address.split("&"))
        assert one.page.get_by_label("Rows or persons").input_value() == typed["rows"]
        assert one.page.get_by_label("Tolerance").input_value() == typed.get("tolerance", "")


def test_the_section_of_a_plan_is_taken_by_a_study_of_its_rows(tmp_path: Path) -> None:
    """Mutant: the planner's own number of queries, which a study refuses."""
    from adyton.study import read_study
    from support.servers import write_study

    for given in (
        {"rows": 100_000, "tolerance": "0.05"},
        {"rows": 100_000, "queries": 1000},
        {"rows": 20_000, "queries": 50, "expect_share": "0.05"},
    ):
        told = AllMethods(plan(**given))  # type: ignore[arg-type]
        assert told.section is not None
        path = write_study(tmp_path)
        text = path.read_text(encoding="utf-8").replace("rows = 1000", f"rows = {given['rows']}")
        path.write_text(
            text.replace("[validity]\nindependent = true\n", told.section + "\n"), encoding="utf-8"
        )
        assert read_study(path).validity is not None


def test_the_lab_shows_every_entry_its_numbers_and_its_figure(site: Site, browser: Browser) -> None:
    from adyton.lab import EXPERIMENTS

    with visit(browser, site.url) as one:
        one.log_in(site.tokens["auditor"], "/lab")
        titles = one.page.locator(".gallery h2").all_inner_texts()
        assert titles == [topic.title for topic in EXPERIMENTS]
        one.page.get_by_role("link", name=titles[0], exact=True).click()
        assert one.page.get_by_role("heading", level=1).inner_text() == titles[0]
        name = one.page.url.rpartition("/")[2]
        told = one.get(f"/lab/{name}/report.json").json()
        shown = one.page.locator("tbody tr")
        assert [row.split("\t")[0] for row in shown.all_inner_texts()] == [
            f["what"] for f in told["findings"]
        ]
        assert one.page.get_by_text("All numbers are as expected.").is_visible() == told["agrees"]
        assert one.page.locator(".figure img").evaluate(DRAWN)
        taken = one.get(f"/lab/{name}/figure.html")
        assert taken.headers["content-disposition"].startswith("attachment")
        assert one.get("/lab/nothing").status == 404


def _sent(page: Page, tmp_path: Path, field: str, values: list[int], name: str = "sent.csv") -> None:
    path = tmp_path / name
    path.write_text("guess\n" + "\n".join(map(str, values)) + "\n", encoding="utf-8")
    page.get_by_label(field, exact=True).set_input_files(path)


def test_predictions_are_scored_compared_and_listed(site: Site, browser: Browser, tmp_path: Path) -> None:
    """Mutants: a second click is charged; the worse model is called better; the board shows nobody."""
    truth = np.random.default_rng(2).integers(0, 2, 2000)
    wrong = np.where(np.arange(2000) % 2, truth, 1 - truth)
    entrant = f"ann {SCRIPT}"  # a name is text on the board, too
    token = site.token(entrant, study="test")
    with visit(browser, site.url) as one:
        one.log_in(token, "/holdouts/test")
        _sent(one.page, tmp_path, "Predictions", list(truth))
        one.page.get_by_label("Model", exact=True).fill("<b>forest</b>")  # so is that of a model
        one.page.get_by_role("button", name="Score", exact=True).click()
        table = one.page.locator("table").inner_text()
        assert "population interval" in table
        left = int(re.search(r"scores left\s+([\d,]+)", table)[1].replace(",", ""))  # type: ignore[index]
        one.page.go_back()
        _sent(one.page, tmp_path, "Predictions", list(truth))
        one.page.get_by_role("button", name="Score", exact=True).click()
        assert "Free of charge" in one.page.locator("main").inner_text()
        one.page.goto(one.url + "/holdouts/test")
        _sent(one.page, tmp_path, "Predictions of the first", list(wrong), "first.csv")
        _sent(one.page, tmp_path, "Predictions of the second", list(truth), "second.csv")
        one.page.get_by_role("button", name="Compare", exact=True).click()
        assert one.page.locator(".big").inner_text() == "The first is worse than the second."
        now = httpx2.get(one.url + "/v1/holdouts/test/budget", headers={"Authorization": f"Bearer {token}"})
        assert now.json()["scores_left"] == left - 1
        one.page.goto(one.url + "/holdouts/test/board")
        assert entrant in one.page.locator("tbody").inner_text()
        one.page.goto(one.url + "/boards/test")
        assert entrant in one.page.locator("tbody").inner_text()
        assert "<b>forest</b>" in one.page.locator("tbody").inner_text()


def test_what_is_wrong_with_predictions_is_said_beside_the_field(
    site: Site, browser: Browser, tmp_path: Path
) -> None:
    with visit(browser, site.url, silent=False) as one:
        one.log_in(site.token("bob", study="test"), "/holdouts/test")
        for name, values, said in (
            ("sent.txt", [1, 2], "predictions are read from"),
            ("sent.csv", [], "no values"),
            ("short.csv", [1, 0, 1], "2,000"),
        ):
            _sent(one.page, tmp_path, "Predictions", values, name)
            one.page.get_by_role("button", name="Score", exact=True).click()
            assert said.lower() in one.page.get_by_role("alert").first.inner_text().lower()


def test_a_board_is_public_only_if_the_owner_says_so(site: Site, browser: Browser) -> None:
    """Mutant: any holdout has a public board."""
    assert httpx2.get(site.url + "/boards/test", headers={"Accept": "text/html"}).status_code == 200
    for name in ("people", "closed", "nothing"):
        assert httpx2.get(site.url + f"/boards/{name}", headers={"Accept": "text/html"}).status_code == 404
    with visit(browser, site.url) as one:
        one.open("/boards/test")
        assert one.page.get_by_role("heading", level=1).inner_text() == "Leaderboard of test"
        assert one.page.get_by_role("button").count() == 0


def test_an_owner_makes_and_revokes_tokens_and_nobody_else(site: Site, browser: Browser) -> None:
    """Mutants: the token is in the list; revoked is not; an analyst sees the page."""
    with visit(browser, site.url) as one:
        one.log_in(site.tokens["owner"], "/studies/people/access")
        limits = one.page.locator("details table").first.text_content() or ""
        assert "engine_memorynot set" in limits
        assert "None" not in limits
        one.page.get_by_label("Name").fill(SCRIPT)
        one.page.get_by_label("Budget share").fill("0.25")
        one.page.get_by_label("Ends after").fill("90d")
        one.page.get_by_role("button", name="Make the token").click()
        token = one.page.locator("#token").inner_text()
        assert (
            httpx2.get(one.url + "/v1/studies", headers={"Authorization": f"Bearer {token}"}).status_code
            == 200
        )
        one.page.get_by_role("link", name="Back to access").click()
        assert token not in one.page.content()
        assert html.escape(SCRIPT, quote=False) in one.page.content().replace("&quot;", '"')
        row = one.page.locator("tbody tr", has_text=SCRIPT)
        assert "25 %" in row.inner_text()
        row.get_by_role("button").click()
        assert "revoked" in one.page.locator("tbody tr", has_text=SCRIPT).inner_text()
        assert (
            httpx2.get(one.url + "/v1/studies", headers={"Authorization": f"Bearer {token}"}).status_code
            == 401
        )
    for role in ROLES[1:]:
        with visit(browser, site.url, silent=False) as one:
            one.log_in(site.tokens[role], "/studies/people/access")
            assert "may not make, list and revoke tokens" in one.page.locator("main").inner_text()


def test_what_is_wrong_with_a_new_token_is_said_and_kept(site: Site, browser: Browser) -> None:
    with visit(browser, site.url, silent=False) as one:
        one.log_in(site.tokens["owner"], "/studies/people/access")
        one.page.get_by_label("Name").fill("carla")
        one.page.get_by_label("Requests a minute").fill("often")
        one.page.get_by_role("button", name="Make the token").click()
        assert "whole number of requests" in one.page.get_by_role("alert").inner_text()
        assert one.page.get_by_label("Name").input_value() == "carla"


def test_every_document_of_the_package_reads_and_its_links_lead_somewhere(
    site: Site, browser: Browser
) -> None:
    """Mutants: raw HTML of a document is kept; a link out of the package is made."""
    for path in _known():
        if path.endswith(".md"):
            title, text = _shown(path)
            assert title
            assert "<script" not in text
            for target in re.findall(r'href="([^"]*)"', text):
                assert not re.match(r"[a-z]+:|//", target), (path, target)
    with visit(browser, site.url) as one:
        one.open("/help")
        one.page.get_by_role("link", name="The guarantee").first.click()
        assert one.page.get_by_role("heading", level=1).inner_text()
        assert one.page.locator("article table, article p").count() > 3
    for path in ("../pyproject.toml", "%2e%2e/pyproject.toml", "bless.py", "theorems/NOTHING.md"):
        assert httpx2.get(f"{site.url}/help/{path}", headers={"Accept": "text/html"}).status_code == 404
