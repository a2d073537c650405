"""Where clients of PostgreSQL are let in."""

from __future__ import annotations

import ssl
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WireDoor:
    """Where PostgreSQL's protocol is spoken, and with which certificate."""

    host: str
    port: int
    tls_cert: str | None = None
    tls_key: str | None = None
    folder: str | None = None  # where processes that share the port reach each other

    def context(self) -> ssl.SSLContext | None:
        if self.tls_cert is None:
            return None
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.load_cert_chain(self.tls_cert, self.tls_key)
        return context
