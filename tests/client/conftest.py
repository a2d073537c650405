"""One server that the tests of clients share: it takes longer to start than most of them take."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.faults import BrokenLine, broken_line
from support.servers import Server, server, write_holdout, write_study

SETTINGS = "[server]\ntick = 0\nrate_by_token = 1000000\nrate_by_address = 1000000\nrequest_bytes = 100000\n"


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With a study, a holdout, and a pure study that refuses what goes beyond its plan."""
    folder = tmp_path_factory.mktemp("client")
    (folder / "server.toml").write_text(SETTINGS, encoding="utf-8")
    write_holdout(folder)
    pure = write_study(folder, "capped")
    plain = (
        write_study(folder)
        .read_text(encoding="utf-8")
        .replace("delta = 1e-9", 'delta = 0\naccounting = "pure"')
    )
    capped = plain.replace(
        "independent = true", 'independent = true\nstability = 0.01\nbeyond_plan = "refuse"'
    )
    pure.write_text(capped, encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def running(folder: Path) -> Iterator[Server]:
    files = [folder / f"{name}.toml" for name in ("people", "test", "capped")]
    with server(files, "--settings", str(folder / "server.toml")) as made:
        yield made


@pytest.fixture
def line(running: Server) -> Iterator[BrokenLine]:
    with broken_line(running.url) as made:
        yield made
