"""An identity provider on another site, in a real browser: cookies for this site alone do not come back from there."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

import uvicorn
from playwright.sync_api import Browser, expect

from adyton.service.house import House
from adyton.service.settings import Settings
from adyton.transports.http.app import make_app
from support.browser import visit
from support.servers import QUICK, free_port, write_study

sys.path.insert(0, str(Path(__file__).parents[1] / "service"))

from test_oidc import Issuer
from test_page_provider import Desk, code_section


@contextmanager
def listening(folder: Path, issuer: Issuer, provider: Desk) -> Iterator[str]:
    """On a port that is known before: the provider has to know it."""
    url = f"http://127.0.0.1:{(port := free_port())}"
    told = code_section(issuer, provider, f"{url}/login/back", host="localhost")
    house = House.of_files([write_study(folder)], Settings(**{**asdict(QUICK), "oidc": told}))
    house.load()
    server = uvicorn.Server(uvicorn.Config(make_app(house), port=port, log_level="warning"))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            time.sleep(0.01)
        yield url
    finally:
        server.should_exit = True
        thread.join()


def test_log_in_with_an_identity_provider_on_another_site(tmp_path: Path, browser: Browser) -> None:
    issuer = Issuer()
    provider = Desk(issuer)
    try:
        with (
            listening(tmp_path, issuer, provider) as url,
            visit(browser, url, silent=False, own=True) as one,  # the provider has no icon
        ):
            one.open("/studies/people/budget")
            one.page.get_by_role("link", name="Log in with your identity provider").click()
            one.page.get_by_role("link", name="I am ana").click()  # as people do, on the page of the provider
            expect(one.page.get_by_role("heading", level=1)).to_have_text("Budget of people")
            expect(one.page.locator("footer")).to_contain_text("oidc ana, analyst of people")
            kept = {cookie["name"]: cookie for cookie in one.context.cookies()}
            (session,) = (
                cookie for name, cookie in kept.items() if name not in ("adyton_visit", "adyton_way")
            )
            assert session["sameSite"] == "Strict"
            assert session["httpOnly"]
    finally:
        provider.close()
        issuer.server.shutdown()
        issuer.server.server_close()
        issuer.thread.join()
