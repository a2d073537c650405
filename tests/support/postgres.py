"""A private Postgres server for the tests: on loopback, in a temporary directory, stopped by its own pid."""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

PATIENCE = 30.0
INSTALL = "apt-get install postgresql"
# Small tables that nobody needs to tidy up.
SMALL = ("-c", "autovacuum=off", "-c", "shared_buffers=16MB")


class NoServer(Exception):
    """Why there is none; the reason of a skipped test."""


def binaries() -> Path:
    """The newest installation: Debian keeps one folder a version, others put them on the path."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda p: float(p.parts[-3]))
    if found:
        return found[-1].parent
    on_path = shutil.which("initdb")
    if on_path is None:
        raise NoServer(f"no Postgres server is installed ({INSTALL})")
    return Path(on_path).resolve().parent


def _account() -> dict[str, int]:
    """Postgres refuses to run as root; then it runs as the user whom the package made, or as nobody."""
    if os.getuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            known = pwd.getpwnam(name)
            return {"user": known.pw_uid, "group": known.pw_gid}
    raise NoServer("root may not run Postgres, and there is no user to run it as")


@functools.cache
def _filled() -> Path:
    """A folder as initdb makes it, of which every server of this process gets a copy."""
    home, account = Path(tempfile.mkdtemp(prefix="adyton-initdb-")), _account()
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    if account:
        os.chown(home, account["user"], account["group"])
    made = subprocess.run(
        [binaries() / "initdb", "-D", home / "data", "-U", "owner", "--auth=trust", "-E", "UTF8", "--locale=C.UTF-8", "-N"],
        capture_output=True, text=True, cwd=home, **account,
    )  # fmt: skip
    if made.returncode != 0:
        raise NoServer(f"initdb failed: {made.stderr.strip()[-200:]}")
    return home / "data"


@contextlib.contextmanager
def postgres_server(*, durable: bool = False) -> Iterator[str]:
    """The address of a fresh server with an empty database; unless ``durable`` it never waits for a disk."""
    programs, account = binaries(), _account()
    with tempfile.TemporaryDirectory(prefix="adyton-postgres-") as folder:
        home = Path(folder)
        if account:
            os.chown(home, account["user"], account["group"])
        data, port = home / "data", _free_port()
        subprocess.run(["cp", "-a", _filled(), data], check=True, cwd=home, **account)
        with (home / "log").open("wb") as log:
            server = subprocess.Popen(
                [programs / "postgres", "-D", data, "-p", str(port), "-h", "127.0.0.1", "-k", home, *SMALL, *([] if durable else ["-F"])],
                stdout=log, stderr=log, cwd=home, **account,
            )  # fmt: skip
        try:
            _await(server, port, home / "log")
            yield f"postgresql://owner@127.0.0.1:{port}/postgres"
        finally:
            server.send_signal(2)  # SIGINT: close all sessions and stop
            server.wait(PATIENCE)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _await(server: subprocess.Popen[bytes], port: int, log: Path) -> None:
    import psycopg

    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if server.poll() is not None:
            raise NoServer(f"the server did not start: {log.read_text()[-200:]}")
        with contextlib.suppress(psycopg.Error):
            psycopg.connect(f"postgresql://owner@127.0.0.1:{port}/postgres", connect_timeout=2).close()
            return
        time.sleep(0.02)
    raise NoServer("the server did not answer in time")
