"""``adyton.connect``: a server, and what this token may see there."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from adyton.client.access import Access
from adyton.client.address import path_of
from adyton.client.holdouts import RemoteHoldout, RemoteLeaderboard
from adyton.client.line import HttpTransport, Manner
from adyton.client.remote import Remote
from adyton.client.studies import RemoteStudy
from adyton.errors import InvalidRequest, Unreachable
from adyton.operations.server import ServerOperations
from adyton.show import Sheet, Shown

API = "1"  # of what is spoken here


class ServerConnection(ServerOperations, Remote, Shown):
    """A server and a token.  Made by ``adyton.connect``; threads may share it."""

    @property
    def url(self) -> str:
        """The address of the server."""
        return self._line.url

    def studies(self) -> list[str]:
        """The names of the studies that this token is for."""
        return self._line.get(self._path(ServerOperations.studies), partial(_names, "studies"))

    def holdouts(self) -> list[str]:
        """The names of the holdouts that this token is for."""
        return self._line.get(self._path(ServerOperations.holdouts), partial(_names, "holdouts"))

    def study(self, name: str) -> RemoteStudy:
        """A study by its name, with the methods of ``adyton.Curator``."""
        return RemoteStudy(self._line, name, self._line.get(path_of("studies", name), dict))

    def holdout(self, name: str) -> RemoteHoldout:
        """A holdout by its name, with the methods of ``adyton.Holdout``."""
        again = partial(connect, self.url, **asdict(self._line.manner))
        return RemoteHoldout(self._line, name, self._line.get(path_of("holdouts", name), dict), again)

    def leaderboard(self, name: str) -> RemoteLeaderboard:
        """The leaderboard of a holdout: who is ahead, and who only seems to be."""
        return RemoteLeaderboard(self.holdout(name))

    def sheet(self, verbose: bool = False) -> Sheet:
        """What this token may see."""
        rows = [("study", name) for name in self.studies()] + [("holdout", name) for name in self.holdouts()]
        return Sheet(f"Server {self.url}", ("", "name"), tuple(rows), left_aligned=2)

    def close(self) -> None:
        """Lets go of the connection."""
        self._line.close()

    def __enter__(self) -> ServerConnection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Connection to {self.url}, with {self._line.access!r}>"


def connect(
    url: str,
    token: str | None = None,
    *,
    token_file: str | Path | None = None,
    timeout: float = 90.0,
    retries: int = 5,
    ca: str | Path | None = None,
    plain_http: bool = False,
) -> ServerConnection:
    """A server of studies and holdouts, for whoever holds a token.

    The token is ``token``, or in ``token_file``, a file of mode 600, or in the environment: ADYTON_TOKEN, or
    ADYTON_TOKEN_FILE with the name of such a file.  ``timeout``: seconds for one reply.  ``retries``: how
    often something is sent again that was lost or that the server had no place for.  ``ca``: certificates
    to trust, in place of those of this machine.

    >>> adyton.connect("http://127.0.0.1:9", token="made-up").study("people")
    Traceback (most recent call last):
    adyton.errors.Unreachable: ...
    """
    access = Access.found(token, token_file)
    del token  # no traceback shows it
    if not (isinstance(timeout, int | float) and timeout > 0):
        raise InvalidRequest("timeout is a number of seconds, above 0")
    if type(retries) is not int or retries < 0:
        raise InvalidRequest("retries is a whole number, at least 0")
    manner = Manner(float(timeout), retries, None if ca is None else str(ca), plain_http)
    line = HttpTransport(url, access, manner)
    try:
        _check_api(line)
        line.get("/v1/studies", dict)  # a token that is not valid is said now
    except BaseException:
        line.close()
        raise
    return ServerConnection(line)


def _hint(url: str) -> str:
    """On the command line an address ends with the name of the study; here it does not."""
    path = urlsplit(url).path.strip("/")
    return f"; the address ends before the name of a study: .study({path!r}) opens it" if path else ""


def _check_api(line: HttpTransport) -> None:
    """A server that speaks another language is refused before anything is asked."""
    spoken = line.first_contact()
    if spoken is None:
        raise Unreachable(
            f"{line.host} answers, but does not say which version it speaks: it is no server of adyton, or "
            f"an older one; this client speaks version {API}{_hint(line.url)}"
        )
    if spoken != API:
        raise Unreachable(
            f"the server at {line.host} speaks version {str(spoken)[:20]}, this client version {API}: "
            "install the version of adyton that fits the server"
        )


def _names(what: str, told: Any) -> list[str]:
    return [one["name"] for one in told[what]]
