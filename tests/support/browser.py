"""A real browser for tests: Debian's Chromium, driven by playwright; and what it has to say against a page."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx2
from playwright.sync_api import (
    APIResponse,
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    WebError,
    sync_playwright,
)

from support.servers import Server

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
MISSING = (
    "" if CHROMIUM else "needs Chromium: apt-get install chromium, as make servers does as root on Debian"
)
ROLES = ("owner", "analyst", "auditor", "agent")
# Chromium refuses its sandbox to root, who runs the tests in containers.
_ARGUMENTS = [
    "--disable-gpu",
    "--disable-dev-shm-usage",
    *(["--no-sandbox"] if os.geteuid() == 0 else []),
]
_TELL_VIOLATIONS = """
addEventListener("securitypolicyviolation", e => console.error("policy violated: " + e.violatedDirective + " " + e.blockedURI));
"""
_WIDE = {"width": 1280, "height": 720}  # as a new window is
_STILL = "/assets/adyton.css"  # of the same site, and runs nothing
_left: list[BrowserContext] = []  # windows of visits that are over


@contextlib.contextmanager
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=_ARGUMENTS)
        try:
            yield browser
        finally:
            _left.clear()
            browser.close()


@dataclass
class Visit:
    """One person before one browser.  ``said`` collects console messages, errors and violations: a page that is
    as it should be says nothing."""

    url: str
    context: BrowserContext
    page: Page
    said: list[str] = field(default_factory=list)

    def open(self, path: str) -> None:
        self.page.goto(self.url + path)

    def get(self, path: str) -> APIResponse:
        """What the page's own address would give, outside of it; again where an idle connection was just closed."""
        return self.context.request.get(self.url + path, max_retries=2)

    def log_in(self, token: str, path: str = "/") -> None:
        self.open(path)
        self.page.get_by_label("Token").fill(token)
        with self.page.expect_navigation():  # a key pressed before the page is there would be lost
            self.page.get_by_role("button", name="Log in").click()


@contextlib.contextmanager
def visit(
    browser: Browser, url: str, *, silent: bool = True, own: bool = False, **words: Any
) -> Iterator[Visit]:
    """``words`` as new_context takes them: viewport, color_scheme, java_script_enabled.  At the end nothing may
    have been said, unless ``silent`` is False.

    A window that an earlier visit left is used again, without its cookies: a new one takes a process of its own,
    for several times as long as its pages.  ``own``: a new one in any case, for whoever changes the window itself.
    """
    own = own or bool(words.keys() - {"viewport"})
    context = _left.pop() if _left and not own else _new_window(browser, words)
    page = context.pages[0]
    if not own:
        page.set_viewport_size(words.get("viewport", _WIDE))
    made = Visit(url, context, page)

    def say(message: ConsoleMessage) -> None:
        if message.page is not None and message.page.url.endswith(_STILL):
            return  # where an earlier visit ended: the browser looks for an icon of it, and may be told late
        made.said.append(f"{message.page.url if message.page else url}: {message.text}")

    def fail(error: WebError) -> None:
        made.said.append(f"{error.page.url if error.page else url}: {error.error}")

    context.on("console", say)
    context.on("weberror", fail)
    left = False
    try:
        yield made
        assert not silent or not made.said, made.said
        left = not own and context.pages == [page]
    finally:
        if left:
            page.goto(url + _STILL)  # whatever the last page still does ends here, not in the next visit
            context.remove_listener("console", say)
            context.remove_listener("weberror", fail)
            context.clear_cookies()
            _left.append(context)
        else:
            context.close()


def _new_window(browser: Browser, words: dict[str, Any]) -> BrowserContext:
    context = browser.new_context(**words)
    context.set_default_timeout(60_000)
    context.add_init_script(_TELL_VIOLATIONS)
    context.new_page()
    return context


@dataclass
class Site:
    """A real server, and a token for each role."""

    server: Server
    tokens: dict[str, str]

    @property
    def url(self) -> str:
        return self.server.url

    def headers(self, role: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.tokens[role]}"}

    def token(self, name: str, role: str = "analyst", study: str = "people", **words: object) -> str:
        """A new one, made by the owner."""
        body = {"name": name, "role": role, **words}
        if role == "agent":
            body |= {"budget_share": "0.5", "price_share": "0.5", "rate": 10**6, "expires": "1d"}
        made = httpx2.post(f"{self.url}/v1/tokens/{study}", headers=self.server.owner, json=body)
        assert made.status_code == 200, made.text
        return str(made.json()["token"])
