"""What goes wrong on the way, as the errors that there are in process.

A body of the server becomes the error of its kind, with the same message and the same facts.  What the
network says is put into words of our own: the words of others may quote the request, and so the token.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator, Mapping
from typing import Any

from adyton import errors
from adyton.errors import CuratorError, Interrupted, Unanswered, Unreachable
from adyton.refusals import refusal_of, refused

KINDS: dict[str, type[CuratorError]] = {
    kind.kind: kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, CuratorError)
}
_MAY_BE_CHARGED = ("engine_failed", "failed", "request_id_used")


def told_error(body: Mapping[str, Any], request: str | None) -> CuratorError:
    """The error that a server told; ``request`` is the id of what may have been charged."""
    told = dict(body["error"])
    kind, message = told.pop("kind"), str(told.pop("message"))
    if request is not None and kind in _MAY_BE_CHARGED:
        message, told = f"{message}; the request id was {request!r}", told | {"request": request}
    error = made(KINDS.get(kind, CuratorError), message, told)
    refusal = refusal_of(error)  # in the words of Python: those of the body are for programs
    return error if refusal is None else refused(refusal)


def made(kind: type[CuratorError], message: str, facts: Mapping[str, Any]) -> CuratorError:
    """Kinds that make their own message get the one that was told."""
    error = kind.__new__(kind, message)
    CuratorError.__init__(error, message, **facts)
    return error


def unanswered(why: str, later: str, request: str | None) -> CuratorError:
    """``later``: what can be done about it."""
    return Unanswered(f"{why}; {later}", **({} if request is None else {"request": request}))


def fetched_by(request: str) -> str:
    """What can be done about an answer that was lost."""
    return f"if it was charged, the answer is kept: ask the same again with request={request!r}"


def unreachable(why: str) -> CuratorError:
    return Unreachable(f"{why}; nothing was charged")


class InterruptedOnTheWay(Interrupted):
    """Ctrl-C while a request was under way: whether it was charged is not known here."""

    def __init__(self, later: str) -> None:
        super().__init__(None)
        self.message = f"interrupted; {later}"
        self.args = (self.message,)


def in_words(error: Exception, host: str) -> str:
    """Why a host was not reached, from the kinds of errors alone."""
    for one in _chain(error):
        match one:
            case ssl.SSLCertVerificationError():
                return (
                    f"the certificate of {host} is not trusted ({one.verify_message}): give ca=FILE with the "
                    "certificate of who signed it, or set SSL_CERT_FILE"
                )
            case ssl.SSLError():
                return f"{host} does not speak TLS as it should: is it an http:// address?"
            case socket.gaierror():
                return f"there is no host {host}"
            case ConnectionRefusedError():
                return f"nothing listens at {host}"
    named = type(error).__name__
    if "Timeout" in named:
        return f"{host} did not answer in time"
    if named == "ProxyError":
        return f"the proxy on the way to {host} failed"
    return f"the connection to {host} broke"


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """An error and those behind it."""
    for _ in range(10):
        if error is None:
            return
        yield error
        error = error.__cause__ or error.__context__
