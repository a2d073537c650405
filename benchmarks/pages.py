"""The web pages, beside what they show: templates, previews, answers, and the chain verified in a browser.

Server and client are in one process, on loopback: both sides of a ratio go the same way.  The browser is
Chromium.  Where it is missing, the row of the browser is left out.
"""

from __future__ import annotations

import re
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pandas as pd
import uvicorn
from ledger import HISTORY, fill
from starlette.responses import Response

from adyton.curator import open_study
from adyton.kernel.ledger import Header, SqliteLedger
from adyton.operations.roles import Role
from adyton.service.house import House
from adyton.service.identity import Identity
from adyton.service.settings import Settings
from adyton.transports.http.app import make_app
from adyton.transports.pages.rendering import ASSETS, asset_path, environment
from engines import row

TESTS = Path(__file__).parent.parent / "tests"
FREE = Settings(tick=0, rate_by_token=10**9, rate_by_address=10**9)
TRIES = 60
GROUPS = 3_650
COUNT = "SELECT COUNT(*) AS n FROM people WHERE income > {}"
DAYS = "SELECT day, COUNT(*) AS n FROM days GROUP BY day"
DAYS_STUDY = """
[table]
name = "days"
source = "days.parquet"
rows = 10000
[privacy]
unit = "row"
adjacency = "replace-one"
epsilon = 100
delta = 1e-9
[validity]
independent = true
[columns.day]
kind = "integer"
low = 1
high = 3650
"""


class Site:
    """A server in this process, and somebody who is logged in."""

    def __init__(self, house: House, url: str) -> None:
        self.house, self.client = house, httpx2.Client(base_url=url, timeout=120)
        served = house.served[0]
        self.token = served.tokens.make(Identity("ana", Role.ANALYST))[0]
        self.owner = served.tokens.make(Identity("boss", Role.OWNER))[0]
        form = {"form_value": self._form_value("/login"), "token": self.token}
        assert self.client.post("/login", data=form).status_code == 303

    def _form_value(self, path: str) -> str:
        found = re.search(r'name="form_value" value="(\w+)"', self.client.get(path).text)
        assert found is not None
        return found[1]

    def get(self, path: str, **words: Any) -> httpx2.Response:
        answer = self.client.get(path, **words)
        assert answer.status_code == 200, answer.text[:500]
        return answer

    def post(self, path: str, **words: Any) -> httpx2.Response:
        answer = self.client.post(path, **words)
        assert answer.status_code in (200, 303), answer.text[:500]
        return answer


@contextmanager
def site(path: Path) -> Iterator[Site]:
    house = House.of_files([path], FREE)
    house.load()
    app = make_app(house)
    bare = environment().from_string("<!doctype html><title>{{ title }}</title>")

    async def bare_page() -> Response:
        return Response(bare.render(title="bare"), media_type="text/html")

    app.add_api_route("/bare", bare_page, include_in_schema=False)
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning", access_log=False))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    (listening,) = server.servers[0].sockets
    try:
        yield Site(house, f"http://127.0.0.1:{listening.getsockname()[1]}")
    finally:
        server.should_exit = True
        thread.join()


def beside(*works: Callable[[int], object], tries: int = TRIES) -> list[float]:
    """Milliseconds of each, the median; they take turns, so that a noisy moment meets all."""
    times: list[list[float]] = [[] for _ in works]
    for place in range(tries + 3):
        for own, work in zip(times, works, strict=True):
            began = time.perf_counter()
            work(place)
            own.append(1000 * (time.perf_counter() - began))
    return [statistics.median(own[3:]) for own in times]


def run() -> list[dict[str, object]]:
    sys.path.insert(0, str(TESTS))
    with tempfile.TemporaryDirectory() as folder:
        return [*_small(Path(folder)), *_large(Path(folder)), *_browser(Path(folder))]


def _small(folder: Path) -> list[dict[str, object]]:
    from support.servers import write_study

    path = write_study(folder)
    with site(path) as here:
        log_in, bare = beside(lambda _: here.get("/login"), lambda _: here.get("/bare"))
        page, bare_again = beside(lambda _: here.get("/studies/people/ask"), lambda _: here.get("/bare"))
        form = {"form_value": here._form_value("/studies/people/ask"), "within": "50", "visit": "a"}
        part = {"X-Adyton-Part": "1"}
        with open_study(path) as curator:
            typed, previewed = beside(
                lambda i: here.post(
                    "/studies/people/ask", data={**form, "sql": COUNT.format(i)}, headers=part
                ),
                lambda i: curator.preview(COUNT.format(i), within="50"),
            )
        ask = here.get("/studies/people/ask")
        size = len(ask.content) + sum(len(here.get(asset_path(name)).content) for name in ASSETS)
    bare_template = "a bare template response of the same server"
    return [
        row("a page without data: log in", log_in, bare, "ms, median", bare_template),
        row("a page without data: ask, with its session", page, bare_again, "ms, median", bare_template),
        row("a preview by typing, 1,000 rows", typed, previewed, "ms, median", "Curator.preview"),
        row("a preview by typing, less 10 ms", max(0.0, typed - 10), previewed, "ms", "Curator.preview"),
        row("bytes of the ask page, everything included", size, 120_000, "bytes", "120 KB"),
    ]


def _large(folder: Path) -> list[dict[str, object]]:
    pd.DataFrame({"day": [i % GROUPS + 1 for i in range(10_000)]}).to_parquet(folder / "days.parquet")
    (folder / "days.toml").write_text(DAYS_STUDY, encoding="utf-8")
    with site(folder / "days.toml") as here:
        form = {"form_value": here._form_value("/studies/days/ask"), "visit": "a", "do": "ask"}
        went = here.post("/studies/days/ask", data={**form, "sql": DAYS, "epsilon": "1"})
        address, headers = went.headers["location"], {"Authorization": f"Bearer {here.token}"}
        body = {"query": DAYS, "epsilon": "1"}
        page, told = beside(
            lambda _: here.get(address),
            lambda _: here.post("/v1/studies/days/ask", json=body, headers=headers),
        )
    return [
        row(f"an answer page, {GROUPS:,} groups", page, told, "ms, median", "the JSON of the same answer")
    ]


def _browser(folder: Path) -> list[dict[str, object]]:
    from support.browser import MISSING, chromium, visit

    if MISSING:
        return []
    from support.servers import STUDY

    path = folder / "many.toml"
    path.write_text(STUDY.replace("epsilon = 10", "epsilon = 500"), encoding="utf-8")
    with open_study(path) as curator:
        study = curator.study
    ledger = SqliteLedger.create(
        path.with_suffix(".ledger"), Header.fresh(study.fingerprint, study.accounting, study.allowed)
    )
    fill(ledger, HISTORY)
    ledger.close()
    with open_study(path) as curator:
        began = time.perf_counter()
        verified = curator.verify()
        replayed = time.perf_counter() - began
    assert verified.receipts == HISTORY
    with (
        site(path) as here,
        chromium() as browser,
        visit(browser, str(here.client.base_url).rstrip("/")) as one,
    ):
        one.context.set_default_timeout(300_000)
        one.log_in(here.owner, "/studies/many/receipts")
        began = time.perf_counter()
        one.page.get_by_role("button", name="Verify in this browser").click()
        one.page.locator("#verified .good").wait_for()
        seconds = time.perf_counter() - began
        assert f"{HISTORY} receipts" in one.page.locator("#verified").inner_text()
    return [row(f"verifying {HISTORY:,} receipts in the browser", seconds, replayed, "s", "Curator.verify")]


if __name__ == "__main__":
    for made in run():
        print(
            f"{made['name']:50s} {made['ours']:10.4g} {made['unit']:12s} {made['ratio']:8.3g} x",
            made["against"],
        )
