"""SCRAM-SHA-256 as a server speaks it: a password is proved, and never sent or kept.

Source: RFC 5802 and RFC 7677.  What is kept of a token is a verifier, made when the token is.  A proof is
about two nonces, one of which the server draws anew for each attempt, so one that was recorded is worthless.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass

MECHANISM = "SCRAM-SHA-256"
_ITERATIONS = 4096  # what clients accept; no number protects a password of 256 random bits any better
_FIRST = re.compile(r"([ny],(?:a=[^,]*)?,)(n=[^,]*,r=([\x21-\x2b\x2d-\x7e]{8,256}))(?:,.*)?")
_FINAL = re.compile(r"(c=([^,]*),r=([^,]*)(?:,[^p][^,]*)*),p=([A-Za-z0-9+/=]+)")


@dataclass(frozen=True, slots=True)
class ScramVerifier:
    """Enough to check a proof of a password, and not enough to make one."""

    salt: bytes
    stored_key: bytes
    server_key: bytes

    @classmethod
    def of(cls, password: str, salt: bytes) -> ScramVerifier:
        salted = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, _ITERATIONS)
        client_key = _keyed(salted, b"Client Key")
        return cls(salt, hashlib.sha256(client_key).digest(), _keyed(salted, b"Server Key"))

    @classmethod
    def from_text(cls, text: str) -> ScramVerifier:
        return cls(*(bytes.fromhex(part) for part in text.split(":")))

    def to_text(self) -> str:
        return ":".join(part.hex() for part in (self.salt, self.stored_key, self.server_key))


class BrokenExchange(Exception):
    """What came is no message of this exchange."""


class Exchange:
    """One attempt.  ``first`` and ``final`` take what the client says, and return what the server says."""

    def __init__(self, salt: bytes) -> None:
        self._salt = salt
        self._header = self._bare = self._said = self._nonce = ""

    def first(self, message: bytes) -> bytes:
        found = _FIRST.fullmatch(_text(message))
        if found is None:
            raise BrokenExchange
        self._header, self._bare = found[1], found[2]
        self._nonce = found[3] + secrets.token_urlsafe(18)
        salt = base64.b64encode(self._salt).decode()
        self._said = f"r={self._nonce},s={salt},i={_ITERATIONS}"
        return self._said.encode()

    def final(self, message: bytes, known: Sequence[ScramVerifier]) -> tuple[int, bytes] | None:
        """Which of ``known`` the client has proved, and the proof of the server; None if none of them.

        All of them are tried, whichever fits, so that the time says nothing about which it is.
        """
        found = _FINAL.fullmatch(_text(message))
        if found is None or not self._nonce:
            raise BrokenExchange
        nonce, self._nonce = self._nonce, ""  # for one attempt
        same_header = _decoded(found[2]) == self._header.encode()
        proof, signed = _decoded(found[4]), f"{self._bare},{self._said},{found[1]}".encode()
        fits = [place for place, one in enumerate(known) if _proves(one, proof, signed)]
        if not fits or not same_header or not hmac.compare_digest(found[3], nonce):
            return None
        server = base64.b64encode(_keyed(known[fits[0]].server_key, signed))
        return fits[0], b"v=" + server


def _proves(verifier: ScramVerifier, proof: bytes, signed: bytes) -> bool:
    signature = _keyed(verifier.stored_key, signed)
    client_key = bytes(a ^ b for a, b in zip(proof, signature, strict=False))
    return hmac.compare_digest(hashlib.sha256(client_key).digest(), verifier.stored_key)


def _keyed(key: bytes, message: bytes) -> bytes:
    return hmac.digest(key, message, "sha256")


def _text(message: bytes) -> str:
    try:
        return message.decode()
    except UnicodeDecodeError:
        raise BrokenExchange from None


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise BrokenExchange from None
