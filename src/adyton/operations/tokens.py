"""Who may come in: tokens of a study or a holdout, for its owner.  Nothing here raises a budget."""

from __future__ import annotations

from typing import Annotated, Any, Protocol

from adyton.operations.operation import Operation, OperationPlace, OperationTable
from adyton.operations.results import JsonResult
from adyton.operations.roles import Action
from adyton.operations.words import Number, Word


class TokenStore(Protocol):
    """Where tokens are kept."""

    def create(self, **given: Any) -> dict[str, Any]: ...
    def listed(self) -> list[dict[str, Any]]: ...
    def ended(self, token: str) -> list[str]: ...


def tokens(store: TokenStore) -> JsonResult:
    """All tokens: everything but themselves.  None of them can be seen again."""
    return JsonResult({"tokens": store.listed()})


def make_token(
    store: TokenStore,
    *,
    name: str,
    role: Annotated[str, "owner, analyst, auditor or agent"],
    budget_share: Annotated[Number | None, "the share of the budget that this name may spend"] = None,
    price_share: Annotated[Number | None, "the largest share that one query may cost"] = None,
    rate: Annotated[int | None, "requests a minute"] = None,
    expires: Annotated[str | None, "after 90d, 12h, 30m or 2w"] = None,
) -> JsonResult:
    """A new token.  It is shown once, and kept only as a keyed hash."""
    given = {"budget_share": budget_share, "price_share": price_share, "rate": rate, "expires": expires}
    return JsonResult(store.create(name=name, role=role, **given))


def revoke_token(
    store: TokenStore, token: Annotated[str, "the id of a token, or a name: all of its tokens"]
) -> JsonResult:
    """End a token, or all of a name, at once."""
    return JsonResult({"revoked": store.ended(token)})


RECEIPTS = "The chain: the open part of all links, and the own receipts whole"
_NAME = Word("name", str, "who it is for: receipts say it", "NAME", short=True)


class TokenOperations(OperationTable):
    """Of studies and holdouts alike."""

    place = OperationPlace("token", "/v1/tokens/{name}", "any")
    tokens = Operation(
        lambda: tokens,
        Action.TOKENS,
        "All tokens, none of which can be seen again",
        get=True,
        path="",
        command="token list",
        page="access",
    )
    make_token = Operation(
        lambda: make_token,
        Action.TOKENS,
        "A new token, shown once",
        again=False,
        path="",
        command="token create",
        page="access",
        later="whether it was made is not known: tokens() shows it",
        own={"name": _NAME},
    )
    revoke_token = Operation(
        lambda: revoke_token,
        Action.TOKENS,
        "End a token, or all of a name, at once",
        final=True,
        path="revoke",
        command="token revoke",
        page="access",
    )
