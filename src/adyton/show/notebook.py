"""A sheet as HTML for a notebook: it takes colours and fonts from the page, light or dark."""

from __future__ import annotations

import html
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from adyton.show.sheet import Sheet, Shown

_STYLE = (
    "<style>"
    ".adyton{color:inherit;overflow-wrap:break-word}"
    ".adyton .wide{overflow-x:auto}"  # with a bar that can be seen: some systems hide theirs
    ".adyton .wide::-webkit-scrollbar{height:.6em}"
    ".adyton .wide::-webkit-scrollbar-thumb{background:rgba(128,128,128,.6);border-radius:.3em}"
    ".adyton .wide:focus-visible{outline:2px solid currentColor}"
    ".adyton table{border-collapse:collapse;margin:.4em 0;font-variant-numeric:tabular-nums}"
    ".adyton th,.adyton td{padding:.15em .8em;border:0;background:none;white-space:nowrap}"
    ".adyton thead tr:last-child th{border-bottom:1px solid currentColor}"
    ".adyton tbody tr+tr>*{border-top:1px solid rgba(128,128,128,.25)}"
    ".adyton .block{border-left:1px solid rgba(128,128,128,.5)}"
    ".adyton .name{font-weight:normal;white-space:normal;max-width:24em;overflow-wrap:break-word}"
    ".adyton small,.adyton summary{opacity:.75}"
    "</style>"
)
_LEFT, _RIGHT, _CENTRE = (f'style="text-align:{side}"' for side in ("left", "right", "center"))
_LONGEST_LABEL = 200  # letters of a name that is read aloud
_BLOCK = ' class="block"'


def with_figure(shown: Shown) -> dict[str, object]:
    """What the room of figures adds.  It is above this one, so it is looked up by its name, and only when a
    notebook asks: nothing that is shown here depends on it."""
    found: dict[str, object] = import_module("adyton.figures.notebook").bundle(shown)
    return found


def page_of(sheet: Sheet) -> str:
    """The widest layout: a notebook scrolls.  Every text is escaped."""
    title = f"<div><strong>{html.escape(sheet.title)}</strong></div>"
    notes = "".join(_note(note) for note in sheet.all_notes())
    details = "".join(_note(detail) for detail in sheet.details)
    folded = f"<details><summary><small>details</small></summary>{details}</details>" if details else ""
    return f'<div class="adyton">{_STYLE}{title}{_table(sheet)}{notes}{folded}</div>'


def _note(text: str) -> str:
    return f"<div><small>{html.escape(text)}</small></div>"


def _table(sheet: Sheet) -> str:
    if not sheet.rows:
        return ""
    starts = _starts(sheet)
    body = "".join(f"<tr>{_cells(row, sheet.left_aligned, starts)}</tr>" for row in sheet.shown())
    label = html.escape(sheet.title[:_LONGEST_LABEL])
    table = f"<table>{_head(sheet)}<tbody>{body}</tbody></table>"
    return f'<div class="wide" tabindex="0" role="region" aria-label="{label}">{table}</div>'


def _starts(sheet: Sheet) -> set[int]:
    """The columns with which a block begins, if there are several blocks."""
    starts, place = set(), sheet.left_aligned
    for _, headers in sheet.blocks:
        starts.add(place)
        place += len(headers)
    return starts if len(starts) > 1 else set()


def _head(sheet: Sheet) -> str:
    if not any(sheet.headers):
        return ""
    names, others = sheet.headers[: sheet.left_aligned], sheet.headers[sheet.left_aligned :]
    if not sheet.blocks:
        left = "".join(f"<th {_LEFT}>{html.escape(name)}</th>" for name in names)
        right = "".join(f"<th {_RIGHT}>{html.escape(header)}</th>" for header in others)
        return f"<thead><tr>{left}{right}</tr></thead>"
    line = _BLOCK if len(sheet.blocks) > 1 else ""
    above = "".join(f'<th rowspan="2" {_LEFT}>{html.escape(name)}</th>' for name in names)
    above += "".join(
        f'<th{line} colspan="{len(headers)}" {_CENTRE}>{html.escape(name)}</th>'
        for name, headers in sheet.blocks
    )
    below = "".join(
        f"<th{line if i == 0 else ''} {_RIGHT}>{html.escape(header)}</th>"
        for _, headers in sheet.blocks
        for i, header in enumerate(headers)
    )
    return f"<thead><tr>{above}</tr><tr>{below}</tr></thead>"


def _cells(row: tuple[str, ...], names: int, starts: set[int]) -> str:
    shown = (f'<th class="name" scope="row" {_LEFT}>{html.escape(cell)}</th>' for cell in row[:names])
    numbers = (
        f"<td{_BLOCK if place in starts else ''} {_RIGHT}>{html.escape(cell)}</td>"
        for place, cell in enumerate(row[names:], start=names)
    )
    return "".join((*shown, *numbers))
