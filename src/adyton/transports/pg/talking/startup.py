"""How a connection begins: TLS if there is a certificate, then whose it is, proved without being sent.

Whether a database exists, whether it is for this token, and whether the token is right: whoever fails learns
one thing, after one time.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from dataclasses import dataclass

from adyton.errors import TooMany
from adyton.service.house import House
from adyton.service.limits import LIMITS
from adyton.service.proofs.scram import MECHANISM, BrokenExchange, Exchange
from adyton.transports.pg.errors import SqlError
from adyton.transports.pg.settings import OFF
from adyton.transports.pg.talking.messages import (
    CANCEL,
    GSS,
    PROTOCOL,
    TLS,
    BrokenMessage,
    Content,
    authentication,
    negotiate,
    read_message,
    read_start,
)

_REFUSED_AFTER = 0.1  # seconds after the proof came, whatever was wrong with it
_ASK, _GO_ON, _FINAL, _OK = 10, 11, 12, 0
_FAILED = (
    "password authentication failed: the password is a token of the study that the database is called after"
)
_RENEW = (
    "Make one with: adyton token create STUDY.toml --role analyst --name NAME. A token that was made by a "
    "version without --pg-port, or before its study file was renamed, works over HTTP alone: make a new one."
)


@dataclass(frozen=True, slots=True)
class Cancel:
    """The first message of a connection that only wants to stop what another one does."""

    key: bytes


@dataclass(frozen=True, slots=True)
class Start:
    """What a client wants: a database, as whom, and settings."""

    user: str
    database: str
    settings: dict[str, str]


async def greet(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    context: ssl.SSLContext | None,
    knock: Callable[[], None],
) -> Start | Cancel:
    """Up to the message that says what is wanted, through TLS if there is a certificate.

    Whoever sends a first message is counted by ``knock``, whatever it wants.  Whoever comes too often is told
    so where clients read it, but gets no handshake and cancels nothing.
    """
    secure, refused = False, None
    for turn in range(3):  # once about TLS, once about another encryption, once what is wanted
        code, content = await read_start(reader)
        if turn == 0:
            refused = _refusal(knock)
        wants_tls = code == TLS and context is not None and not secure
        if refused is not None and (wants_tls or code not in (TLS, GSS)):
            raise refused
        if code == TLS and context is not None and not secure:
            if reader._buffer:  # type: ignore[attr-defined]  # sent in the open, it would be taken for secret
                raise ConnectionAbortedError
            writer.write(b"S")
            await writer.drain()
            await writer.start_tls(context)
            secure = True
        elif code in (TLS, GSS):
            writer.write(b"N")
            await writer.drain()
        elif code == CANCEL:
            return Cancel(content)
        elif code >> 16 == PROTOCOL >> 16:
            if context is not None and not secure:
                raise SqlError("28000", "this server speaks TLS only", "Connect with sslmode=require.")
            return _start(code, content, writer)
        else:
            raise SqlError("0A000", "only version 3 of the protocol is spoken")
    raise BrokenMessage


def _refusal(knock: Callable[[], None]) -> TooMany | None:
    try:
        knock()
    except TooMany as error:
        return error
    return None


def _start(code: int, content: bytes, writer: asyncio.StreamWriter) -> Start:
    read, found = Content(content), dict[str, str]()
    while name := read.text():
        found[name] = read.text()
    read.end()
    unknown = [name for name in found if name.startswith("_pq_.")]
    if code != PROTOCOL or unknown:
        writer.write(negotiate(unknown))
    user = found.pop("user", "")
    database = found.pop("database", "") or user
    if found.pop("replication", "false").lower() not in OFF:
        raise SqlError("0A000", "nothing is replicated from here")
    return Start(user, database, {name: said for name, said in found.items() if name not in unknown})


async def authenticate(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, house: House, database: str
) -> str:
    """The hash of the token that was proved to be known; SqlError if none was."""
    exchange = Exchange(house.salt_of(database))
    writer.write(authentication(_ASK, MECHANISM.encode() + b"\0\0"))
    try:
        said = Content(await _answer(reader, writer))
        if said.text() != MECHANISM:
            raise BrokenExchange
        first = exchange.first(said.value() or b"")
        said.end()
        writer.write(authentication(_GO_ON, first))
        proof = await _answer(reader, writer)
        refused_at = asyncio.get_running_loop().time() + _REFUSED_AFTER
        known = house.verifiers(database)
        proved = exchange.final(proof, [verifier for verifier, _ in known])
    except BrokenExchange:
        raise BrokenMessage from None
    if proved is None:
        await asyncio.sleep(refused_at - asyncio.get_running_loop().time())
        raise SqlError("28P01", _FAILED, _RENEW)
    place, server = proved
    writer.write(authentication(_FINAL, server) + authentication(_OK))
    return known[place][1]


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
    await writer.drain()
    kind, content = await read_message(reader, LIMITS.wire_login_bytes)
    if kind != b"p":
        raise BrokenMessage
    return content
