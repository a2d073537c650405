"""The tables of the schema adyton: what is spent, by which queries, and what may be asked about.  Free."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from adyton.errors import Forbidden
from adyton.kernel.exact import float_down, float_up
from adyton.operations.roles import Action, may
from adyton.service.identity import Identity
from adyton.service.studies import ServedStudy
from adyton.transports.pg.catalog.facts import rows_of_columns

_MOST = 10_000  # receipts in one answer: the newest ones


Check = Callable[[], None]  # raises once a statement has taken too long


def _budget(found: ServedStudy, who: Identity, _: Check) -> list[dict[str, Any]]:
    """One row for all together, one for whoever asks, and others for those who may see them."""
    _check_role(who, Action.BUDGET)
    told, budget = found.budget(who), found.budget_told()
    spent, left = told["spent"], told["left"]
    whole = {
        "whose": "all",
        "counted_in": spent["accounting"],
        "spent": spent["amount"],
        "spent_share": spent["share"],
        "budget": budget,
        "left": left["amount"],
        "left_share": left["share"],
        "queries": told["queries"],
        **told["guarantee"],
    }
    parts = {told["own"]["by"]: told["own"], **told.get("by_name", {})}
    return [
        whole,
        *(
            {
                "whose": name,
                "counted_in": spent["accounting"],
                "spent": part["spent"],
                "spent_share": float_up(_of(part["spent"], budget)),
                "budget": part["budget_share"],
                "left": part["left"],
                "left_share": None if part["left"] is None else float_down(_of(part["left"], budget)),
            }
            for name, part in parts.items()
        ),
    ]


def _of(amount: str, budget: str) -> Fraction:
    return Fraction(amount) / Fraction(budget)


def _receipts(found: ServedStudy, who: Identity, check: Check) -> list[dict[str, Any]]:
    _check_role(who, Action.OWN_RECEIPTS)
    rows: list[dict[str, Any]] = []
    after: int | None = 0
    while after is not None:
        check()
        page = found.receipts(who, after)
        rows += page["receipts"]
        rows, after = rows[-_MOST:], page["next"]
    return rows


def _check_role(who: Identity, action: Action) -> None:
    if not may(who.role, action):
        raise Forbidden(f"whoever is {who.role} may not {action}; nothing was charged")


OWN: dict[str, Callable[[ServedStudy, Identity, Check], list[dict[str, Any]]]] = {
    "budget": _budget,
    "receipts": _receipts,
    "columns": lambda found, *_: rows_of_columns(found.study),
}
