"""One server and one browser for all tests of the web pages in a process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from support.browser import MISSING, ROLES, Site, chromium
from support.odd_studies import hostile_study, wide_study
from support.servers import server, write_holdout, write_study

SETTINGS = (
    "[server]\nrate_by_token = 1000000\nrate_by_address = 1000000\ntick = 0.01\n"
    'public_boards = ["test", "people"]\n'
)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    if MISSING:
        pytest.skip(MISSING)
    with chromium() as made:
        yield made


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder: Path = tmp_path_factory.mktemp("site")
    settings = folder / "server.toml"
    settings.write_text(SETTINGS, encoding="utf-8")
    files = [write_study(folder), write_holdout(folder), hostile_study(folder), wide_study(folder)]
    with server(files, "--settings", str(settings)) as running:
        made = Site(running, {"owner": running.owner["Authorization"].removeprefix("Bearer ")})
        for role in ROLES[1:]:
            made.tokens[role] = made.token(role, role)
        yield made
