"""An answer leaves in one piece, and everything that is written leaves, in its order."""

from __future__ import annotations

import asyncio
import socket
from typing import Any, cast

import pytest

from adyton.transports.http.one_piece import InOnePiece
from support import processes


class Sent(asyncio.Protocol):
    """A connection whose calls of the system are counted."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        write = self.transport.write

        def counted(piece: bytes) -> None:
            self.pieces.append(piece)
            write(piece)

        self.transport.write = counted  # type: ignore[assignment,method-assign]


async def sent(*turns: tuple[bytes, ...], close: bool = False) -> tuple[list[bytes], bytes]:
    """What is written in turns of the loop: the pieces that are sent, and what comes out at the other end."""
    loop, (here, there) = asyncio.get_running_loop(), socket.socketpair()
    with there:
        _, connection = await loop.connect_accepted_socket(Sent, here)
        transport: Any = InOnePiece(connection.transport, loop)
        assert not transport.is_closing()  # all else is the transport's own
        for pieces in turns:
            for piece in pieces:
                transport.write(piece)
            if not close:
                await asyncio.sleep(0)
        transport.close()
        await asyncio.sleep(0)
        there.setblocking(True)
        came = b""
        while part := await loop.run_in_executor(None, there.recv, 65536):
            came += part
        return connection.pieces, came


@pytest.mark.parametrize(
    ("turns", "close", "pieces"),
    [
        ([(b"head ", b"body", b"")], False, [b"head body"]),
        ([(b"head ",), (b"body",)], False, [b"head ", b"body"]),  # a body that takes longer
        ([(b"head ", b"1 ", b"2 ", b"3 ")], False, [b"head 1 ", b"2 3 "]),
        ([(b"head ", b"body "), (b"head ", b"body ")], False, [b"head body ", b"head body "]),
        ([(b"only",)], True, [b"only"]),
        ([()], True, []),
    ],
)
def test_what_is_written_leaves_in_few_pieces_and_whole(
    turns: list[tuple[bytes, ...]], close: bool, pieces: list[bytes]
) -> None:
    """Mutants: the head alone; nothing without a body; what is held is lost by closing; the body before the head."""
    found, came = processes.run(sent(*turns, close=close))
    assert found == pieces
    assert came == b"".join(piece for turn in turns for piece in turn)
