"""All pages that somebody can go to, in one table: a new page is one line here.

``path`` has ``{name}`` where the page is about one study or holdout.  ``action`` is what one must be allowed
to do there; None: whoever is logged in.  ``help`` is the page of the documentation that its "?" leads to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal
from urllib.parse import quote

from adyton.operations.roles import Action, may
from adyton.service.house import House, Visitor
from adyton.service.studies import ServedStudy

Of = Literal["house", "study", "holdout"]


@dataclass(frozen=True, slots=True)
class PageEntry:
    title: str
    path: str
    of: Of
    action: Action | None
    help: str


ENTRIES: Sequence[PageEntry] = (
    PageEntry("Studies", "/", "house", None, "how-to/a-tour-in-ten-minutes.md"),
    PageEntry("Study", "/studies/{name}", "study", Action.LOOK, "reference/sql.md"),
    PageEntry("Ask", "/studies/{name}/ask", "study", Action.ASK, "reference/sql.md"),
    PageEntry("Budget", "/studies/{name}/budget", "study", Action.BUDGET, "how-to/choose-epsilon.md"),
    PageEntry(
        "Receipts",
        "/studies/{name}/receipts",
        "study",
        Action.OWN_RECEIPTS,
        "how-to/verify-without-trusting-the-server.md",
    ),
    PageEntry("More", "/studies/{name}/do", "study", Action.LOOK, "reference/http.md"),
    PageEntry("Access", "/studies/{name}/access", "study", Action.TOKENS, "how-to/run-a-server.md"),
    PageEntry("Holdout", "/holdouts/{name}", "holdout", Action.LOOK, "how-to/holdout.md"),
    PageEntry(
        "Leaderboard",
        "/holdouts/{name}/board",
        "holdout",
        Action.STANDINGS,
        "how-to/publish-a-leaderboard.md",
    ),
    PageEntry("More", "/holdouts/{name}/do", "holdout", Action.LOOK, "reference/http.md"),
    PageEntry("Access", "/holdouts/{name}/access", "holdout", Action.TOKENS, "how-to/run-a-server.md"),
    PageEntry("Plan", "/plan", "house", None, "how-to/plan-a-study.md"),
    PageEntry("Lab", "/lab", "house", None, "how-to/lab.md"),
)


@dataclass(frozen=True, slots=True)
class PageLink:
    title: str
    path: str
    here: bool


def links(house: House, visitor: Visitor, here: str, name: str | None = None) -> list[PageLink]:
    """Where this visitor can go: of the whole house, or with ``name`` of one study or holdout.

    ``here`` is the title of the page that is shown.
    """
    of = "house" if name is None else _kind(house, name)
    return [
        PageLink(entry.title, entry.path.replace("{name}", quote(name or "", safe="")), entry.title == here)
        for entry in ENTRIES
        if entry.of == of and (entry.action is None or _may(visitor, name or "", entry.action))
    ]


def entry(title: str) -> PageEntry | None:
    return next((entry for entry in ENTRIES if entry.title == title), None)


def _may(visitor: Visitor, name: str, action: Action) -> bool:
    who = visitor.identity(name)
    return who is not None and may(who.role, action)


def _kind(house: House, name: str) -> Of:
    found = next(one for one in house.served if one.name == name)
    return "study" if isinstance(found, ServedStudy) else "holdout"
