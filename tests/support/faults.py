"""Faults that tests plant or watch: a wrong function, a broken line, an error that is reported."""

from __future__ import annotations

import contextlib
import json
import logging
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import pytest

# A line between a client and a real server that breaks where a test says: for tests of what is sent again.

Change = Callable[[bytes], bytes]
Plan = str | bytes | Change
PASS, BEFORE, AFTER, HALF, SLOW = "pass", "before", "after", "half", "slow"


@dataclass
class BrokenLine:
    """``plans``: what happens to the next requests, by the end of their path; all others pass.

    ``before``: it is lost before the server has it.  ``after``: the server has worked, and its reply is lost.
    ``half``: half of the reply arrives.  ``slow``: it arrives too late.  Bytes: these are the reply, and the
    server has nothing.  A function: the reply, changed.
    """

    url: str
    listener: socket.socket
    plans: dict[str, list[Plan]] = field(default_factory=dict)
    seen: list[tuple[str, bytes]] = field(default_factory=list)  # paths and bodies, as they came

    def stop(self) -> None:
        """From now on nobody is here."""
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

    def sent(self, end: str) -> list[dict[str, Any]]:
        """The bodies of the requests to paths that end like this."""
        return [json.loads(body or b"null") for path, body in self.seen if path.endswith(end)]

    def plan(self, path: str) -> Plan:
        waiting = next((plans for end, plans in self.plans.items() if path.endswith(end) and plans), None)
        return waiting.pop(0) if waiting else PASS


def reply(status: int, body: Any, *headers: str) -> bytes:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = [f"HTTP/1.1 {status} Said", f"Content-Length: {len(content)}", "Connection: close", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + content


@contextlib.contextmanager
def broken_line(server: str) -> Iterator[BrokenLine]:
    """In front of a server, on a free port of loopback."""
    listener = socket.create_server(("127.0.0.1", 0))
    line = BrokenLine(f"http://127.0.0.1:{listener.getsockname()[1]}", listener)
    behind = urlsplit(server)

    def accept() -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            threading.Thread(
                target=_serve, args=(client, line, (behind.hostname, behind.port)), daemon=True
            ).start()

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    try:
        yield line
    finally:
        line.stop()
        thread.join(5)


def _serve(client: socket.socket, line: BrokenLine, behind: Any) -> None:
    with client, contextlib.suppress(OSError):
        while (request := _message(client)) is not None:
            path = request.split(b" ", 2)[1].decode().partition("?")[0]
            line.seen.append((path, request.partition(b"\r\n\r\n")[2]))
            plan = line.plan(path)
            if plan == BEFORE:
                return
            if isinstance(plan, bytes):
                client.sendall(plan)
                return
            with socket.create_connection(behind) as server:
                server.sendall(request)
                answer = _message(server) or b""
            if plan == AFTER:
                return
            if plan == SLOW:
                time.sleep(1.5)
                return
            client.sendall(
                plan(answer) if callable(plan) else answer[: len(answer) // 2] if plan == HALF else answer
            )
            if plan == HALF:
                return


def _message(stream: socket.socket) -> bytes | None:
    """One request, or one reply, whole; None at the end."""
    came = b""
    while b"\r\n\r\n" not in came:
        part = stream.recv(65536)
        if not part:
            return None
        came += part
    head, _, body = came.partition(b"\r\n\r\n")
    lower = head.lower()
    length = int(lower.partition(b"content-length:")[2].split()[0]) if b"content-length:" in lower else 0
    while len(body) < length:
        body += stream.recv(65536)
    return head + b"\r\n\r\n" + body


def changed(change: Callable[[Any], Any]) -> Change:
    """The JSON of a reply, changed."""

    def again(answer: bytes) -> bytes:
        head, _, body = answer.partition(b"\r\n\r\n")
        return reply(int(head.split()[1]), change(json.loads(body)))

    return again


# A fake error tracker: it keeps all that hangs on an error, as the real ones do.

CANARY = "canary-8675309"


def tracked(error: BaseException | None) -> str:
    """Everything that an error tracker would send away: texts, arguments, notes, variables, and the whole chain."""
    return "\n".join(_told(error, set()))


def _told(error: BaseException | None, seen: set[int]) -> Iterator[str]:
    if error is None or id(error) in seen:
        return
    seen.add(id(error))
    yield from (
        str(error),
        repr(error),
        repr(error.args),
        repr(getattr(error, "__notes__", ())),
        repr(vars(error)),
    )
    yield "".join(traceback.format_exception(error))
    for frame, _ in traceback.walk_tb(error.__traceback__):
        if "adyton" in frame.f_globals.get("__name__", ""):  # the variables of a test hold the canary anyway
            yield repr(frame.f_locals)
    yield from _told(error.__cause__, seen)
    yield from _told(error.__context__, seen)


class Log(logging.Handler):
    """The operator's log, with all that its records hold."""

    def __init__(self) -> None:
        super().__init__()
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(repr(vars(record)) + record.getMessage())
        if record.exc_info:
            self.said.append(tracked(record.exc_info[1]))


# Bugs planted into a function wherever it was imported, as a wrong line in it would be everywhere at once.


def plant(monkeypatch: pytest.MonkeyPatch, sound: Any, mutant: Any) -> None:
    """Every module of the project that has this function has the mutant in its place."""
    planted = 0
    for name, module in list(sys.modules.items()):
        if name.startswith("adyton.") and vars(module).get(sound.__name__) is sound:
            monkeypatch.setattr(module, sound.__name__, mutant)
            planted += 1
    assert planted, sound


def trust_planning(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mutant: the kernel believes what a reading says of its own sensitivity."""
    from adyton.kernel.sensitivities import check_reading

    plant(monkeypatch, check_reading, lambda reading, unit: None)
