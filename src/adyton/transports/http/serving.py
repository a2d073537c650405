"""From files to a server that listens: load, verify, then open the door."""

from __future__ import annotations

import errno
import ipaddress
import json
import logging
import os
import socket
import ssl
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from adyton.errors import InvalidRequest
from adyton.service.beside import OWNER_FILE
from adyton.service.house import House
from adyton.service.settings import Settings, read_settings
from adyton.transports.http.crowd import Crowd, fitted
from adyton.transports.pg.door import WireDoor

_VARIABLE = "ADYTON_SERVE"
_BACKLOG = 512  # connections that the system has made and nobody has taken yet
_METRICS = "PROMETHEUS_MULTIPROC_DIR"
_FACTORY = "adyton.transports.http.serving:app_of_environment"


@dataclass(frozen=True, slots=True)
class Door:
    """Where a server listens, and how."""

    host: str = "127.0.0.1"
    port: int = 8000
    processes: int = 1
    tls_cert: str | None = None
    tls_key: str | None = None
    behind_proxy: bool = False
    metrics_port: int | None = None
    pg_port: int | None = None
    mcp: bool = False  # agents are let in too

    def __post_init__(self) -> None:
        if (self.tls_cert is None) != (self.tls_key is None):
            raise InvalidRequest("TLS needs both: --tls-cert and --tls-key")
        if self.processes < 1:
            raise InvalidRequest("--processes is at least 1")
        if not self.tls_cert and not self.behind_proxy and not _is_loopback(self.host):
            raise InvalidRequest(
                f"{self.host} can be reached from elsewhere, and tokens would travel in the open: give "
                "--tls-cert and --tls-key, or --behind-proxy if something in front of it speaks TLS"
            )

    def check(self) -> None:
        """What would only be found when all is loaded and the owner's token is made: ports, and TLS files."""
        if self.tls_cert is not None:
            try:
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                context.load_cert_chain(self.tls_cert, self.tls_key, password=lambda: "")
            except (OSError, ValueError):
                raise InvalidRequest(
                    "--tls-cert and --tls-key cannot be read or do not belong together: both are PEM files, "
                    "and the key has no password"
                ) from None
        _check_free(self.host, self.port, "--port")
        others = [port for port in (self.port, self.pg_port, self.metrics_port) if port is not None]
        if len(set(others)) < len(others):
            raise InvalidRequest("--port, --pg-port and --metrics-port are different ports")
        if self.pg_port is not None:
            _check_free(self.host, self.pg_port, "--pg-port")
        if self.metrics_port is not None:
            _check_free("127.0.0.1", self.metrics_port, "--metrics-port")

    @property
    def secure(self) -> bool:
        """Whether browsers come by TLS, though it may end before this process."""
        return self.tls_cert is not None or self.behind_proxy

    @property
    def wire(self) -> WireDoor | None:
        """The door for clients of PostgreSQL; several processes share its port."""
        if self.pg_port is None:
            return None
        return WireDoor(self.host, self.pg_port, _path_text(self.tls_cert), _path_text(self.tls_key))

    @property
    def url(self) -> str:
        scheme = "https" if self.tls_cert else "http"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{scheme}://{host}:{self.port}"


def serve(
    files: Sequence[Path], settings_file: Path | None, door: Door, say: Callable[[str], None], *, seen: bool
) -> None:
    """Serves until it is stopped.  ``say`` gets what the operator has to know; ``seen``: on a terminal."""
    import uvicorn

    paths = [str(path.absolute()) for path in files]
    settings = fitted(read_settings(settings_file), wire=door.pg_port is not None)
    door.check()
    house = House.of_files(paths, settings)
    try:
        house.load()
        _give_owner_token(house, files[0].with_suffix(OWNER_FILE), say, seen=seen)
    except BaseException:
        house.close()
        raise
    _say_doors(house, door, say)
    _log_lines()
    config = _config(door, settings)
    if door.processes == 1:
        app = app_of(house, door.wire, secure=door.secure, mcp=door.mcp)
        with _metrics_shown(door.metrics_port, app.state.metrics.registry):
            uvicorn.run(app, **config)
        return
    house.close()
    with _metrics_of_many(door), tempfile.TemporaryDirectory(prefix="adyton-wire-") as folder:
        told = {
            "files": paths,
            "settings": _path_text(settings_file),
            "secure": door.secure,
            "wire": None if door.wire is None else {**asdict(door.wire), "folder": folder},
            "mcp": door.mcp,
        }
        os.environ[_VARIABLE] = json.dumps(told)
        uvicorn.run(_FACTORY, factory=True, workers=door.processes, **config)


def _give_owner_token(house: House, file: Path, say: Callable[[str], None], *, seen: bool) -> None:
    """A log would keep it for everybody who reads logs."""
    if not seen:
        if house.write_owner_token(file):
            say(f"Owner token written to {file.name}, for this user alone: take it and delete the file")
    elif (token := house.owner_token()) is not None:
        say(f"Owner token, shown once and never again: {token}")


def _config(door: Door, settings: Settings) -> dict[str, Any]:
    """For uvicorn."""
    from adyton.transports.http.patience import PatientProtocol

    most = settings.http_connections
    crowd = Crowd(most, most if door.behind_proxy else max(1, most // 2))
    return {
        "host": door.host,
        "port": door.port,
        "ssl_certfile": door.tls_cert,
        "ssl_keyfile": door.tls_key,
        "proxy_headers": door.behind_proxy,
        "server_header": False,
        "access_log": False,
        "log_level": "warning",
        "timeout_graceful_shutdown": int(settings.grace),
        "http": partial(PatientProtocol, seconds=settings.request_seconds, crowd=crowd),
        "backlog": _BACKLOG,
        "ws": "none",
    }


def _say_doors(house: House, door: Door, say: Callable[[str], None]) -> None:
    say(f"Serving {', '.join(one.name for one in house.served)} on {door.url}")
    if door.mcp:
        names = ("127.0.0.1", "localhost", *house.settings.names)
        say(f"Agents: {door.url}/mcp, under the names {', '.join(names)}")
    if door.pg_port is not None:
        say(f"PostgreSQL's protocol on {door.host}:{door.pg_port}: database = study, password = token")


def app_of(house: House, wire: WireDoor | None, *, secure: bool, mcp: bool) -> Any:
    from adyton.transports.http.app import make_app

    return make_app(house, wire=wire, secure=secure, mcp=mcp)


def app_of_environment() -> Any:
    """In each of several processes: what the first one was told to serve, loaded once more."""
    known = json.loads(os.environ[_VARIABLE])
    _log_lines()
    wire = WireDoor(**known["wire"]) if known["wire"] else None
    house = House.of_files(known["files"], fitted(read_settings(known["settings"]), wire=wire is not None))
    house.load()
    return app_of(house, wire, secure=known["secure"], mcp=known["mcp"])


@contextmanager
def _metrics_of_many(door: Door) -> Iterator[None]:
    """Processes write their counts into files of a folder, and the first process adds them up."""
    with tempfile.TemporaryDirectory(prefix="adyton-metrics-") as folder:
        os.environ[_METRICS] = folder
        from prometheus_client import CollectorRegistry
        from prometheus_client.multiprocess import MultiProcessCollector

        registry = CollectorRegistry()
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        with _metrics_shown(door.metrics_port, registry):
            yield


@contextmanager
def _metrics_shown(port: int | None, registry: Any) -> Iterator[None]:
    if port is None:
        yield
        return
    from prometheus_client import start_http_server

    server, thread = start_http_server(port, "127.0.0.1", registry)
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _log_lines() -> None:
    """Requests as lines of JSON, and what the operator has to look into, on standard error.

    Neither says which line of which thread wrote it, so nobody has to find out.
    """
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    logging._srcfile = None  # as the documentation of logging has it
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Line())
    for name in ("adyton.requests", "adyton.operator"):
        log = logging.getLogger(name)
        log.handlers, log.propagate = [handler], False
        log.setLevel(logging.INFO)
    parser = logging.getLogger("sqlglot")  # it would quote what was typed
    parser.handlers, parser.propagate = [logging.NullHandler()], False


class _Line(logging.Formatter):
    """One JSON object; the message of a request is one already."""

    def format(self, record: logging.LogRecord) -> str:
        said = record.getMessage()
        rest = said if record.name == "adyton.requests" else json.dumps({"message": said})
        return f'{{"time": "{self.formatTime(record)}", "log": "{record.name}", {rest[1:]}'


def _path_text(path: Path | str | None) -> str | None:
    return None if path is None else str(Path(path).absolute())


def _check_free(host: str, port: int, option: str) -> None:
    why = None
    try:
        family, kind, *_, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind) as tried:
            tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            tried.bind(place)
    except OSError as error:
        taken = error.errno == errno.EADDRINUSE
        why = "something else listens there, choose another" if taken else f"{host} cannot be used"
    if why:
        raise InvalidRequest(f"{option} {port}: {why}")


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
