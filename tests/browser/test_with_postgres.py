"""The same path with the ledger in Postgres and two processes: a session, an answer and the chain hold in both."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from support.browser import visit
from support.postgres import NoServer, postgres_server
from support.servers import server, write_study

LEDGER = '[ledger]\naddress = "{}"\n'


def test_from_the_log_in_to_a_verified_receipt(tmp_path: Path, browser: Browser) -> None:
    try:
        with postgres_server(durable=True) as address:
            study = write_study(tmp_path, more=LEDGER.format(address + "/people"))
            with (
                server([study], "--processes", "2") as running,
                visit(browser, running.url, own=True) as one,
            ):
                page = one.page
                one.log_in(running.owner["Authorization"].removeprefix("Bearer "), "/studies/people/ask")
                page.get_by_label("Query, in SQL").fill("SELECT COUNT(*) AS n FROM people")
                page.get_by_label("Accuracy").fill("50")
                expect(page.locator("#preview .big")).to_be_visible()
                page.get_by_role("button", name="Ask", exact=True).click()
                expect(page.get_by_role("heading", level=1)).to_have_text("Answer")
                value = page.locator("tbody td").first.inner_text()
                for _ in range(6):  # whichever process it meets
                    page.reload()
                    assert page.locator("tbody td").first.inner_text() == value
                one.open("/studies/people/receipts")
                page.get_by_role("button", name="Verify in this browser").click()
                expect(page.locator("#verified .good")).to_contain_text("1 receipts follow from each other")
    except NoServer as missing:
        pytest.skip(str(missing))
