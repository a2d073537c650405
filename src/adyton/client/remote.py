"""What stands in for an object on a server: each of its operations is one request.

Its methods are the entries of a table, with the signatures that they have in process.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adyton.client.address import path_of
from adyton.client.line import HttpTransport
from adyton.client.wording import words_of
from adyton.operations.operation import Operation

_AGAIN = "send the same again: if it was charged, the answer is kept, and free"


class Remote:
    """``names``: what stands in its address, such as the name of a study and the number of a monitor."""

    def __init__(self, line: HttpTransport, *names: str | int) -> None:
        self._line, self._names = line, names
        self._seen: dict[int, str] = {}  # receipts that came with answers, which the chain must have

    def _path(self, operation: Operation[Any, Any]) -> str:
        names = iter(self._names)
        parts = operation.route.removeprefix("/v1/").split("/")
        return path_of(*(next(names) if part.startswith("{") else part for part in parts))

    def _performed(self, operation: Operation[Any, Any], words: dict[str, Any]) -> Any:
        """Free requests are repeated, and charged ones under an id; others as the entry says."""
        request = words.pop("request", None)
        body = words_of(**{name: self._sent(name, value) for name, value in words.items()})
        path, read = self._path(operation), self._reads(operation, words)
        if operation.get:
            return self._line.get(path, read)
        if operation.spends and operation.takes_request:
            return self._received(self._line.charged(path, body, read, request))
        later = operation.later or (_AGAIN if operation.spends else None)
        made = self._line.post(path, body, read, later, again=operation.again)
        return self._received(made) if operation.spends else made

    def _reads(self, operation: Operation[Any, Any], words: dict[str, Any]) -> Callable[[Any], Any]:
        """What makes a result of its JSON."""
        return operation.reads

    def _sent(self, name: str, value: Any) -> Any:
        """An argument as it is sent."""
        return value

    def _received(self, made: Any) -> Any:
        """Its receipts must be in the chain from now on."""
        for one in made if isinstance(made, list) else [made]:
            self._seen[one.receipt.number] = one.receipt.digest
        return made
