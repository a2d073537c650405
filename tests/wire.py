"""A study that clients of PostgreSQL can reach, for tests: a real port, in this process."""

from __future__ import annotations

import contextlib
import socket
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from fastapi.testclient import TestClient

from adyton.service.house import House
from adyton.service.settings import Settings
from adyton.transports.http.app import make_app
from adyton.transports.pg.door import WireDoor
from served import QUICK, Served, free_port

HOST = "127.0.0.1"


@dataclass
class Wired(Served):
    """As over HTTP, and a port."""

    port: int = 0

    def token(self, name: str = "ana", role: str = "analyst", **words: Any) -> str:
        return self.made(name, role, **words)["Authorization"].removeprefix("Bearer ")

    def words(self, token: str, study: str = "people", **settings: str) -> dict[str, Any]:
        """As psycopg takes them."""
        options = " ".join(f"-c adyton.{name}={value}" for name, value in settings.items())
        return {
            "host": HOST, "port": self.port, "user": "anybody", "password": token, "dbname": study, "options": options,
            "connect_timeout": 20,
        }  # fmt: skip

    def connect(self, token: str, study: str = "people", **settings: str) -> psycopg.Connection[Any]:
        return psycopg.connect(**self.words(token, study, **settings), autocommit=True)

    def url(self, token: str, driver: str = "postgresql+psycopg") -> str:
        return f"{driver}://anybody:{token}@{HOST}:{self.port}/people"


@contextlib.contextmanager
def wired(
    paths: Sequence[Path], settings: Settings = QUICK, cert: tuple[str, str] | None = None
) -> Iterator[Wired]:
    house = House.of_files(paths, settings)
    house.load()
    door = WireDoor(HOST, free_port(), *(cert or (None, None)))
    with TestClient(make_app(house, wire=door), raise_server_exceptions=False) as client:
        yield Wired(house, client, port=door.port)


def message(kind: bytes, content: bytes = b"") -> bytes:
    return kind + struct.pack("!i", len(content) + 4) + content


def start(**parameters: str) -> bytes:
    told = b"".join(name.encode() + b"\0" + said.encode() + b"\0" for name, said in parameters.items())
    return struct.pack("!ii", len(told) + 9, 196_608) + told + b"\0"


class Raw:
    """A bare socket that speaks whatever it is told."""

    def __init__(self, port: int, patience: float = 20.0) -> None:
        self.socket = socket.create_connection((HOST, port), timeout=patience)

    def send(self, content: bytes) -> None:
        self.socket.sendall(content)

    def read(self) -> tuple[bytes, bytes]:
        """The next message."""
        head = self._exactly(5)
        kind, length = struct.unpack("!ci", head)
        return kind, self._exactly(length - 4)

    def until(self, kind: bytes) -> list[tuple[bytes, bytes]]:
        found = [self.read()]
        while found[-1][0] != kind:
            found.append(self.read())
        return found

    def is_closed(self) -> bool:
        """Whether the other side ends the connection, whatever it says before."""
        try:
            while self.socket.recv(65536):
                pass
        except ConnectionError:
            return True
        except TimeoutError:
            return False
        return True

    def _exactly(self, number: int) -> bytes:
        came = b""
        while len(came) < number:
            part = self.socket.recv(number - len(came))
            if not part:
                raise ConnectionError("closed")
            came += part
        return came

    def close(self) -> None:
        self.socket.close()

    def __enter__(self) -> Raw:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def fields(content: bytes) -> dict[str, str]:
    """Of an error or a notice."""
    return {part[:1].decode(): part[1:].decode() for part in content.split(b"\0") if part}
