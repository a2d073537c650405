"""What comes in before it is a request: heads without end, lines without end, headers behind the body."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import pytest
import uvicorn

from adyton.service.limits import LIMITS
from adyton.transports.http import patience
from adyton.transports.http.patience import PatientProtocol

SECONDS, PATIENCE = 0.3, 30.0
GET = b"GET /a HTTP/1.1\r\nHost: x\r\n"
LAST = b"GET /last HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
SLOW = b"GET /slow HTTP/1.1\r\nHost: x\r\n\r\n"
GO = b"GET /go HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
CHUNKED = b"POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
NONSENSE = b"nonsense\r\n\r\n"


class Echo:
    """Tells what it was asked; what is slow waits for somebody who says go."""

    asked: ClassVar[list[str]] = []

    def __init__(self) -> None:
        self.waiting: list[asyncio.Event] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.asked.append(scope["path"])
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message.get("body", b""), message.get("more_body", False)
        if scope["path"] == "/slow":
            self.waiting.append(asyncio.Event())
            await self.waiting[-1].wait()
        while scope["path"] == "/go" and self.waiting:
            self.waiting.pop().set()
        names = [name.decode() for name, _ in scope["headers"]]
        told = json.dumps({"path": scope["path"], "headers": names, "body": body.decode()}).encode()
        headers = [(b"content-length", str(len(told)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": told})


@contextmanager
def listening(seconds: float) -> Iterator[int]:
    """The port of a server that waits so long for a request, and never ends a connection for another reason."""
    protocol: Any = partial(PatientProtocol, seconds=seconds)
    idle = 2 * int(PATIENCE)
    server = uvicorn.Server(
        uvicorn.Config(
            Echo(),
            port=0,
            http=protocol,
            ws="none",
            lifespan="off",
            log_level="critical",
            timeout_keep_alive=idle,
            timeout_graceful_shutdown=1,
        )
    )
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        thread.join()


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with listening(PATIENCE) as port:
        yield port


@pytest.fixture(scope="module")
def hasty() -> Iterator[int]:
    with listening(SECONDS) as port:
        yield port


def told(port: int, *pieces: bytes) -> bytes:
    """All that is said until the server closes the connection."""
    said = b""
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as client, suppress(ConnectionError):
        for piece in pieces:  # it may be closed before all was sent
            client.sendall(piece)
            time.sleep(0.02)
        while part := client.recv(65536):
            said += part
    return said


def told_slowly(port: int, *pieces: bytes) -> bytes:
    """The same, and what is slow is answered after longer than a hasty server waits for a request."""
    with ThreadPoolExecutor(1) as pool:
        saying = pool.submit(told, port, *pieces)
        while wait([saying], timeout=2 * SECONDS).not_done:
            told(port, GO)
        return saying.result()


def bodies(said: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in said.split(b"\r\n\r\n")[1:] for line in line.split(b"HTTP/1.1")[:1]]


def test_requests_of_one_connection_are_answered_in_their_order(port: int) -> None:
    first, second = GET + b"\r\n", b"POST /b HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc"
    for pieces in (
        (first, second, LAST),
        (first + second + LAST,),
        (first[:9], first[9:] + second[:-2], b"bc" + LAST),
    ):
        found = bodies(told(port, *pieces))
        assert [one["path"] for one in found] == ["/a", "/b", "/last"]
        assert [one["body"] for one in found] == ["", "abc", ""]


def test_a_head_is_not_longer_than_so_much(port: int) -> None:
    """In one header without an end, and in many of them.  Mutants: it is not counted; it is counted and not refused;
    it is counted on from one request to the next; what is sent first after a request is not counted.
    """
    endless = told(port, GET + b"X: ", *[b"x" * 2_500] * 7)
    assert endless.startswith(b"HTTP/1.1 400 ")
    assert b"has at most 16384 bytes" in endless
    many = told(port, GET, *[b"X: y\r\n" * 500] * 6)  # each has 3,000 bytes
    assert many.startswith(b"HTTP/1.1 400 ")
    at_once = told(port, GET.replace(b"/a", b"/long") + b"X: " + b"x" * 70_000 + b"\r\n\r\n")
    assert b"has at most 16384 bytes" in at_once
    assert at_once.count(b"HTTP/1.1 ") == 1
    assert "/long" not in Echo.asked
    second = told(port, GET + b"\r\n", GET + b"X: " + b"x" * 2_000, *[b"x" * 2_500] * 6)
    assert b"HTTP/1.1 400 " in second
    long = GET + b"X: " + b"x" * 10_000 + b"\r\n\r\n"
    assert [one["path"] for one in bodies(told(port, long, long, LAST))] == ["/a", "/a", "/last"]


def test_a_body_may_be_longer_than_a_head(port: int) -> None:
    """Mutant: the body is counted too."""
    head = b"POST /b HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 200000\r\n\r\n"
    assert len(bodies(told(port, head, *[b"y" * 50_000] * 4))[0]["body"]) == 200_000


def test_what_follows_a_body_is_no_header(port: int) -> None:
    """Whoever stands in front may vouch for the headers.  Mutant: they are taken for such."""
    behind = b"3\r\nabc\r\n0\r\nX-Forwarded-For: 1.2.3.4\r\nAuthorization: Bearer me\r\n\r\n"
    for pieces in ((CHUNKED + behind + LAST,), (CHUNKED, behind, LAST)):
        found = bodies(told(port, *pieces))
        assert [one["path"] for one in found] == ["/a", "/last"]
        assert found[0]["headers"] == ["host", "transfer-encoding"]
        assert found[0]["body"] == "abc"


@pytest.mark.parametrize(
    "sent",
    [
        GET + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        GET + b"Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
        GET + b"Content-Length: +3\r\n\r\nabc",
        GET + b"Content-Length : 3\r\n\r\nabc",
        GET + b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
        GET + b"A: b\r\n folded\r\n\r\n",
        GET + b"A\x00: b\r\n\r\n",
        GET + b"A: b\x00\r\n\r\n",
        GET + b"A: b\rC: d\r\n\r\n",
        CHUNKED + b"0x3\r\nabc\r\n0\r\n\r\n",
        CHUNKED + b"3\r\nabcd\r\n0\r\n\r\n",
        b"GET /a\r\n\r\n",
        b"GET /a HTTP/1.1\r\n\r\n",
        GET + b"Host: y\r\n\r\n",
        b"GET /a HTTP/9.9\r\n\r\n",
        b"CONNECT a:80 HTTP/1.1\r\nHost: x\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"\x16\x03\x01\x02\x00",  # TLS
    ],
)
def test_what_two_could_read_in_two_ways_is_no_request(port: int, sent: bytes) -> None:
    said = told(port, sent)
    head, _, body = said.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 ")
    assert b"Connection: close" in head
    assert f"Content-Length: {len(body)}".encode() in head
    error = json.loads(body)["error"]
    assert (error["kind"], "HTTP/1.1" in error["message"]) == ("invalid_request", True)


@pytest.mark.parametrize(
    "pieces",
    [(SLOW, NONSENSE), (SLOW + NONSENSE,), (SLOW, GET + b"X: " + b"x" * 70_000)],
)
def test_a_refusal_is_not_taken_for_the_answer_to_what_came_before(hasty: int, pieces: tuple[bytes]) -> None:
    """Somebody would believe that nothing was charged.  Mutants: it is sent at once; the connection stays, or is cut."""
    said = told_slowly(hasty, *pieces)
    assert {one["path"] for one in bodies(said)} == {"/slow"}
    assert said.count(b"connection: close") == 1


@pytest.mark.parametrize("half", [GET, GET + b"Content-Length: 500\r\n\r\n{"])
def test_half_a_request_behind_an_answered_one_has_its_time_afterwards(hasty: int, half: bytes) -> None:
    """Mutants: the answer is cut off; nobody ends the other one."""
    assert [one["path"] for one in bodies(told_slowly(hasty, SLOW + half))] == ["/slow"]


def test_empty_lines_keep_no_connection(hasty: int) -> None:
    """Mutant: only what begins a request starts the time that it has."""
    with socket.create_connection(("127.0.0.1", hasty), timeout=PATIENCE) as client:
        client.sendall(GET + b"\r\n")
        assert client.recv(65536).startswith(b"HTTP/1.1 200 ")
        end, closed = time.monotonic() + PATIENCE, False
        while not closed and time.monotonic() < end:
            try:
                client.sendall(b"\r\n")
                time.sleep(0.05)
            except ConnectionError:
                closed = True
        assert closed


def test_who_waits_for_an_answer_is_not_sent_away_for_an_empty_line(hasty: int) -> None:
    """Mutant: everything that comes starts the time that a request has."""
    slow = SLOW[:-2] + b"Connection: close\r\n\r\n"
    assert [one["path"] for one in bodies(told_slowly(hasty, slow, b"\r\n"))] == ["/slow"]


def test_who_would_speak_something_else_is_answered_and_let_go(port: int) -> None:
    """Mutants: the connection stays, and what comes next is refused; a body is taken for something else."""
    for other in (b"websocket", b"h2c"):
        head = GET.replace(b"GET", b"POST") + b"Connection: Upgrade\r\nUpgrade: " + other + b"\r\n"
        counted = head + b"Content-Length: 5\r\n\r\n"
        parts = head + b"Transfer-Encoding: chunked\r\n\r\n"
        for pieces, body in (
            ((head + b"\r\n",), ""),
            ((counted + b"abcde",), "abcde"),
            ((counted, b"abc", b"de"), "abcde"),
            ((parts + b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n",), "abcde"),
        ):
            said = told(port, *pieces)
            assert [(one["path"], one["body"]) for one in bodies(said)] == [("/a", body)]
            assert b"connection: close" in said


@pytest.mark.parametrize(
    "lengths",
    [b"Content-Length: 5\r\n\r\nabcde", b"Transfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n0\r\n\r\n"],
)
def test_what_follows_the_body_of_another_protocol_is_part_of_nothing(port: int, lengths: bytes) -> None:
    """Mutants: the next request is read as part of the body; it is answered, though the connection ends."""
    head = b"POST /a HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n"
    other = b"POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc"
    for pieces in (
        (head + lengths + other,),
        (head + lengths[:-2], lengths[-2:] + other),
        (head + lengths, other),
    ):
        said = told(port, *pieces)
        assert [(one["path"], one["body"]) for one in bodies(said)] == [("/a", "abcde")]
        assert said.count(b"connection: close") == 1


def test_a_head_has_less_time_than_a_body(monkeypatch: pytest.MonkeyPatch) -> None:
    """Letter by letter.  Mutants: a head has the time of a whole request; a body has that of a head."""
    monkeypatch.setattr(patience, "LIMITS", replace(LIMITS, head_seconds=SECONDS))
    with listening(PATIENCE) as port, socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as body:
        body.sendall(b"POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nab")
        assert told(port, b"G", b"E", b"T") == b""
        time.sleep(2 * SECONDS)
        body.sendall(b"cde")
        assert body.recv(65536).startswith(b"HTTP/1.1 200 ")


def test_an_answer_that_nobody_reads_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mutant: it is kept as long as the connection, which nobody closes."""
    monkeypatch.setattr(patience, "LIMITS", replace(LIMITS, send_seconds=SECONDS))
    with listening(PATIENCE) as port, socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.settimeout(PATIENCE)
        client.connect(("127.0.0.1", port))
        sent = 20_000_000
        client.sendall(b"POST /b HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % sent + b"y" * sent)
        time.sleep(4 * SECONDS)
        came = 0
        with suppress(ConnectionError):
            while part := client.recv(65536):
                came += len(part)
        assert came < sent
