"""What can be asked of a server itself."""

from __future__ import annotations

from typing import Any, Protocol

from adyton.operations.facts import API
from adyton.operations.operation import Operation, OperationPlace, OperationTable
from adyton.operations.results import JsonResult


class Listing(Protocol):
    """What is there for one token."""

    def studies(self) -> list[dict[str, Any]]: ...
    def holdouts(self) -> list[dict[str, Any]]: ...


def studies(listing: Listing) -> Any:
    """The studies that this token is for."""
    known = [{"name": one["name"], "budget": one["budget"]} for one in listing.studies()]
    return JsonResult({"api": API, "studies": known})


def holdouts(listing: Listing) -> Any:
    """The holdouts that this token is for."""
    return JsonResult({"holdouts": listing.holdouts()})


class ServerOperations(OperationTable):
    """Whoever holds a token may ask."""

    place = OperationPlace("server", "/v1", "server")
    studies = Operation(
        lambda: studies, None, "The studies that this token is for", get=True, tool="list_studies", page="/"
    )
    holdouts = Operation(
        lambda: holdouts, None, "The holdouts that this token is for", get=True, tool="list_studies", page="/"
    )
