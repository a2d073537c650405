"""Where a visitor can go from a page.  All pages are in the table ``PAGES`` of mount.py."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal
from urllib.parse import quote

from fastapi import APIRouter

from adyton.operations.roles import Action, may
from adyton.service.house import House, Visitor
from adyton.service.studies import ServedStudy

Of = Literal["house", "study", "holdout"]


@dataclass(frozen=True, slots=True)
class PageEntry:
    """``path`` has ``{name}`` where the page is about one study or holdout.  ``action`` is what one must be
    allowed to do there; None: whoever is logged in.  ``help`` is the page of the documentation that its "?"
    leads to.  ``routes`` answer it, and may be those of several pages.
    """

    title: str
    path: str
    of: Of
    action: Action | None
    help: str
    routes: APIRouter


@dataclass(frozen=True, slots=True)
class PageLink:
    title: str
    path: str
    here: bool


def links(
    pages: Sequence[PageEntry], house: House, visitor: Visitor, here: str, name: str | None = None
) -> list[PageLink]:
    """Where this visitor can go: of the whole house, or with ``name`` of one study or holdout.

    ``here`` is the title of the page that is shown.
    """
    of = "house" if name is None else _kind(house, name)
    return [
        PageLink(entry.title, entry.path.replace("{name}", quote(name or "", safe="")), entry.title == here)
        for entry in pages
        if entry.of == of and (entry.action is None or _may(visitor, name or "", entry.action))
    ]


def _may(visitor: Visitor, name: str, action: Action) -> bool:
    who = visitor.identity(name)
    return who is not None and may(who.role, action)


def _kind(house: House, name: str) -> Of:
    found = next(one for one in house.served if one.name == name)
    return "study" if isinstance(found, ServedStudy) else "holdout"
