"""Figures of pages, drawn by the server as SVG, light or dark: no script and no style comes with them."""

from __future__ import annotations

from dataclasses import replace

from starlette.responses import Response

from adyton.certify import Answer
from adyton.errors import NotFound
from adyton.figures.answers import figure_of
from adyton.figures.budget import burn_down
from adyton.figures.drawing import Figure, svg
from adyton.figures.look import WIDEST, WIDTHS
from adyton.service.identity import Identity
from adyton.service.studies import ServedStudy
from adyton.transports.pages.page import Page

_POINTS = 200  # of a line


def of_answer(answer: Answer) -> Figure | None:
    """None where there is nothing to draw."""
    return figure_of(answer) if len(answer.rows) and answer.rows.values else None


def of_budget(found: ServedStudy, who: Identity) -> Figure | None:
    """None before the first receipt."""
    count = found.count()
    if not count:
        return None
    budget = found.budget(who)
    figure = burn_down(found.course(who, _POINTS), budget)
    left = budget["left"]["share"]
    said = f"What was left of the budget after each of {count:,} receipts; now {100 * left:.3g} per cent."
    return replace(figure, description=said) if count > _POINTS else figure


def drawn(page: Page, figure: Figure | None) -> Response:
    """``?dark=1`` for dark pages, ``?width=320`` for narrow ones.  NotFound where nothing can be drawn."""
    if figure is None:
        raise NotFound
    asked = page.request.query_params
    text = svg(figure, dark=asked.get("dark") == "1", width=_width(asked.get("width", "")))
    return Response(text, media_type="image/svg+xml")


def _width(text: str) -> int:
    """NotFound unless it is one of a few."""
    found = next((width for width in WIDTHS if text == str(width)), None)
    if text and found is None:
        raise NotFound
    return found or WIDEST
