"""Log in and out: who gets in, for how long, and what a browser may do with it."""

from __future__ import annotations

from playwright.sync_api import Browser

from support.browser import Site, visit


def test_log_in_by_token_and_out(site: Site, browser: Browser) -> None:
    with visit(browser, site.url) as one:
        one.log_in(site.tokens["analyst"])
        assert one.page.get_by_role("heading", level=1).inner_text() == "Your studies"
        one.page.get_by_role("button", name="Log out", exact=True).click()
        assert one.page.url.endswith("/login")
