"""Figures of pages, drawn by the server as SVG, light or dark: no script and no style comes with them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from starlette.responses import Response

from adyton.certify import Answer
from adyton.errors import NotFound
from adyton.figures.answers import MOST_GROUPS, answer_figure
from adyton.figures.budget import burn_down
from adyton.figures.drawing import Figure, svg
from adyton.service.identity import Identity
from adyton.service.studies import ServedStudy
from adyton.transports.pages.page import Page

_POINTS = 200  # of a line


def of_answer(answer: Answer) -> Figure | None:
    """Of the first groups; None where there is nothing to draw."""
    if not len(answer.rows) or not answer.rows.values:
        return None
    first = answer.rows.at(np.arange(min(len(answer.rows), MOST_GROUPS)))
    figure = answer_figure(replace(answer, rows=first).to_json())
    left_out = len(answer.rows) - len(first)
    more = f" {left_out:,} more groups are not drawn." if left_out else ""
    return replace(figure, description=figure.description + more)


def of_budget(found: ServedStudy, who: Identity) -> Figure | None:
    """None before the first receipt."""
    count = found.count()
    if not count:
        return None
    statement = found.statement(who)
    figure = burn_down(found.course(who, _POINTS), statement)
    left = statement["left"]["share"]
    said = f"What was left of the limit after each of {count:,} receipts; now {100 * left:.3g} per cent."
    return replace(figure, description=said) if count > _POINTS else figure


def drawn(page: Page, figure: Figure | None) -> Response:
    """``?dark=1`` for dark pages.  NotFound where there is nothing to draw."""
    if figure is None:
        raise NotFound
    text = svg(figure, dark=page.request.query_params.get("dark") == "1")
    return Response(text, media_type="image/svg+xml")
