"""A stranger's path, from the log-in to a verified receipt: by keyboard alone, on a phone, without a script."""

from __future__ import annotations

import re

import httpx2
import pytest
from playwright.sync_api import Browser, Page, expect

from support.browser import Site, visit

PHONE = {"width": 360, "height": 640}


def count(site: Site) -> int:
    told = httpx2.get(f"{site.url}/v1/studies/people/budget", headers=site.headers("auditor"))
    return int(told.json()["queries"])


def tab_to(page: Page, name: str, role: str) -> None:
    """Presses Tab until the control of this name has the focus."""
    wanted = page.get_by_role(role, name=name, exact=True).first.element_handle()  # type: ignore[arg-type]
    for _ in range(80):
        page.keyboard.press("Tab")
        if wanted.evaluate("one => one === document.activeElement"):
            return
    raise AssertionError(f"Tab never leads to the {role} {name!r}")


@pytest.mark.parametrize("words", [{}, {"viewport": PHONE}], ids=["wide", "360 wide"])
def test_by_keyboard_alone_from_the_log_in_to_a_verified_receipt(
    site: Site, browser: Browser, words: dict[str, object]
) -> None:
    before = count(site)
    within = "41" if words else "42"
    with visit(browser, site.url, **words) as one:
        page = one.page
        one.open("/")
        tab_to(page, "Token", "textbox")
        page.keyboard.insert_text(site.tokens["analyst"])  # pasted, as people do
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", level=1)).to_have_text("Your studies")
        tab_to(page, "people", "link")
        with page.expect_navigation():
            page.keyboard.press("Enter")
        tab_to(page, "Ask", "link")
        with page.expect_navigation():
            page.keyboard.press("Enter")
        tab_to(page, "For each", "combobox")
        page.keyboard.type("region")
        expect(page.get_by_label("Query, in SQL")).to_have_value(
            "SELECT region, COUNT(*) AS n FROM people GROUP BY region"
        )
        tab_to(page, "Accuracy: half-width of each noise interval", "textbox")
        page.keyboard.type(within)
        expect(page.locator("#preview")).to_contain_text("of what is left to you")
        assert count(site) == before
        tab_to(page, "Ask", "button")
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", level=1)).to_have_text("Answer")
        assert count(site) == before + 1
        expect(page.locator("tbody tr")).to_have_count(4)
        picture = page.locator("figure img")
        assert picture.evaluate("async one => { await one.decode(); return one.naturalWidth > 100 }")
        digest = re.search(r"[0-9a-f]{64}", page.get_by_text("Receipt ").last.inner_text())
        assert digest is not None
        tab_to(page, "Receipts", "link")
        with page.expect_navigation():
            page.keyboard.press("Enter")
        tab_to(page, "A digest that you kept", "textbox")
        page.keyboard.insert_text(digest[0])
        page.keyboard.press("Enter")
        expect(page.locator("#verified .good")).to_contain_text("Verified in this browser")
        expect(page.locator("#verified")).to_contain_text(
            f"The digest that you gave is that of receipt {before + 1}."
        )
        assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]


def test_without_a_script_preview_and_writing_are_buttons(site: Site, browser: Browser) -> None:
    before = count(site)
    with visit(browser, site.url, java_script_enabled=False, viewport=PHONE) as one:
        page = one.page
        one.log_in(site.tokens["analyst"], "/studies/people/ask")
        page.get_by_label("Measure").select_option("mean")
        page.get_by_label("Column").select_option("income")
        page.get_by_role("button", name="Write the SQL").click()
        assert page.get_by_label("Query, in SQL").input_value() == "SELECT AVG(income) AS mean FROM people"
        page.get_by_label("Accuracy").fill("4000")
        page.get_by_label("Accuracy").press("Enter")  # previews, and never asks
        expect(page.locator("#preview .big")).to_contain_text("of the budget")
        page.get_by_role("button", name="Try it on made-up rows").click()
        expect(page.get_by_text("These numbers are made up")).to_be_visible()
        assert count(site) == before
        page.get_by_role("button", name="Ask", exact=True).click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Answer")
        page.go_back()
        page.go_forward()
        page.reload()
        assert count(site) == before + 1
        page.get_by_role("link", name=re.compile(r"^receipt \d")).click()
        expect(page.get_by_text("To verify in this browser, allow scripts")).to_be_visible()
        assert not page.get_by_role("button", name="Verify in this browser").is_visible()


def test_a_double_click_two_tabs_and_the_back_button_are_one_charge(site: Site, browser: Browser) -> None:
    before = count(site)
    with visit(browser, site.url) as one:
        page = one.page
        one.log_in(site.tokens["analyst"], "/studies/people/ask")
        page.get_by_label("Query, in SQL").fill("SELECT COUNT(*) AS n FROM people WHERE income > 12345")
        page.get_by_label("Accuracy").fill("43")
        expect(page.locator("#preview .big")).to_be_visible()
        form = page.locator("#ask").evaluate("form => new URLSearchParams(new FormData(form)).toString()")
        page.get_by_role("button", name="Ask", exact=True).dblclick()
        page.wait_for_url("**/answer?**")
        value = page.locator("tbody td").first.inner_text()
        assert count(site) == before + 1
        again = one.context.request.post(  # the same form, as a second tab that was duplicated would send it
            f"{site.url}/studies/people/ask",
            headers={"Content-Type": "application/x-www-form-urlencoded"},
            data=form + "&do=ask",
        )
        assert f">{value}<" in again.text()
        page.go_back()
        expect(page.get_by_role("button", name="Ask", exact=True)).to_be_enabled()
        page.go_forward()
        assert page.locator("tbody td").first.inner_text() == value
        page.reload()
        assert count(site) == before + 1


def test_a_session_that_ended_keeps_what_was_typed_and_leads_back(site: Site, browser: Browser) -> None:
    with visit(browser, site.url) as one:
        page = one.page
        one.log_in(site.tokens["analyst"], "/studies/people/ask")
        page.get_by_label("Query, in SQL").fill("SELECT COUNT(*) AS n FROM people")
        one.context.clear_cookies()
        page.get_by_label("Accuracy").fill("50")
        expect(page.locator("#preview")).to_contain_text("Your session has ended")
        assert page.get_by_label("Query, in SQL").input_value() == "SELECT COUNT(*) AS n FROM people"
        one.open("/studies/people/budget")
        page.get_by_label("Token").fill(site.tokens["analyst"])
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", level=1)).to_have_text("Budget of people")


def test_the_slider_moves_the_accuracy_and_the_preview_follows(site: Site, browser: Browser) -> None:
    with visit(browser, site.url) as one:
        page = one.page
        one.log_in(
            site.tokens["analyst"],
            "/studies/people/ask?sql=SELECT+COUNT(*)+AS+n+FROM+people+WHERE+income+>+9&within=100",
        )
        wide = page.locator("#preview .big").inner_text()
        page.get_by_label("Coarser to finer").fill("10")
        assert page.get_by_label("Accuracy").input_value() == "10"
        expect(page.locator("#preview .big")).not_to_have_text(wide)
        expect(page.locator("#preview")).to_contain_text("± 10")
        page.get_by_label("Accuracy").fill("0.001")
        expect(page.locator("#preview .problem")).to_contain_text("does not fit")
        page.get_by_label("Query, in SQL").fill("SELECT AVG(incom) FROM people")
        expect(page.locator("#preview .problem")).to_contain_text("did you mean 'income'?")
