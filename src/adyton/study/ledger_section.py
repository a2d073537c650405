"""The section ``[ledger]``, and where a book lies that is shared.  No part of what the ledger means."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from adyton.errors import InvalidRequest
from adyton.study.notes import Notes, text_at

SCHEMES = ("postgresql://", "postgres://")


def ledger_files(raw: dict[str, Any], path: Path, notes: Notes) -> tuple[Path | str, Path | str | None]:
    """The ledger and its anchor, as seen from the study file; the ledger lies beside it unless it says so."""
    beside = path.with_suffix(".ledger")
    if "ledger" not in raw:
        return beside, None
    section = notes.section(raw, "ledger", ("address", "anchor"))
    anchor = _place(section, "anchor", path.parent)
    ledger = _place(section, "address", path.parent) or beside
    if anchor is not None and _whole(anchor) == _whole(ledger):
        raise InvalidRequest("ledger.anchor has a place of its own, best on another disk than the ledger")
    return ledger, anchor


def book_file(privacy: dict[str, Any], path: Path) -> Path | None:
    """The book that this study shares with others, as seen from the study file."""
    return _file(privacy, "book", path.parent, "privacy")


def _place(section: dict[str, Any], key: str, folder: Path) -> Path | str | None:
    """The path of a file, or the address of a schema in a database."""
    text = section.get(key)
    if isinstance(text, str) and text.startswith(SCHEMES):
        return text
    return _file(section, key, folder)


def _whole(place: Path | str) -> str:
    return str(place.absolute()) if isinstance(place, Path) else place


def _file(section: dict[str, Any], key: str, folder: Path, of: str = "ledger") -> Path | None:
    if key not in section:
        return None
    text = text_at(section, of, key, "the path of a file")
    if "://" in text:
        scheme = text.partition("://")[0]
        or_address = ", or an address postgresql://USER@HOST/DATABASE/NAME" if of == "ledger" else ""
        raise InvalidRequest(f"{of}.{key} is the path of a file{or_address}; {scheme}:// is not supported")
    return folder / text
