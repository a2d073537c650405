"""The secret of a server: without it the stored hash of a token says nothing about the token.

It comes from the environment, or from a file that only its owner can read, which is made when it is missing.
"""

from __future__ import annotations

import hmac
import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path

from adyton.errors import InvalidRequest

VARIABLE = "ADYTON_SECRET"
FILE = "server.secret"
_LEAST = 32  # characters
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def secret_beside(path: Path) -> bytes:
    """The secret for the files in the folder of ``path``."""
    given = os.environ.get(VARIABLE)
    if given is not None:
        if len(given) < _LEAST:
            raise InvalidRequest(f"{VARIABLE} must have at least {_LEAST} characters")
        return given.encode()
    file = path.absolute().parent / FILE
    try:
        return _read(file)
    except FileNotFoundError:
        return _made(file)


def keyed_hash(secret: bytes, purpose: str, text: str) -> str:
    """HMAC-SHA256; what was made for one purpose is no use for another.

    Not by ``hmac.digest``, which lets other threads go first and then waits for them.
    """
    return hmac.new(secret, f"adyton {purpose}\n{text}".encode(), "sha256").hexdigest()


def _read(file: Path) -> bytes:
    if file.stat().st_mode & _OTHERS:
        raise InvalidRequest(f"{file.name} can be read by others: chmod 600 {file.name}")
    content = file.read_bytes().strip()
    if len(content) < _LEAST:
        raise InvalidRequest(f"{file.name} is damaged: it must have at least {_LEAST} characters")
    return content


def _made(file: Path) -> bytes:
    """Of several processes that make it at once, one wins; a half-written one is never seen."""
    draft = file.with_name(f".{file.name}.{secrets.token_hex(8)}")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "w", encoding="ascii") as written:
            written.write(secrets.token_hex(32) + "\n")
            written.flush()
            os.fsync(written.fileno())
        with suppress(FileExistsError):
            os.link(draft, file)
    finally:
        draft.unlink()
    return _read(file)
