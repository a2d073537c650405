"""A synthetic table beside what it was made from: a panel for each measured marginal of one column."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from adyton.errors import InvalidRequest
from adyton.figures.look import BAR, INK, POINT, layout
from adyton.synthesis.result import Marginal, Synthesis

_BESIDE = 2
_MOST_PANELS = 24
_LONG = 14  # letters of a label


def figure(made: Synthesis) -> Any:
    """A plotly figure.  plotly is an extra: pip install 'adyton[plot]'."""
    try:
        plotly, subplots = import_module("plotly.graph_objects"), import_module("plotly.subplots")
    except ImportError:
        raise InvalidRequest("a figure needs plotly: pip install 'adyton[plot]'") from None
    panels = newest_of_each(made)[:_MOST_PANELS]
    lines = -(-len(panels) // _BESIDE)
    titles = [f"{' x '.join(one.columns)}, distance {one.distance:.3f}" for one in panels]
    drawn = subplots.make_subplots(
        lines,
        _BESIDE,
        subplot_titles=titles,
        vertical_spacing=min(0.3, 0.36 / lines),
        horizontal_spacing=0.09,
    )
    for place, one in enumerate(panels):
        where = {"row": place // _BESIDE + 1, "col": place % _BESIDE + 1}
        _panel(plotly, drawn, one, made.rows, where, first=place == 0)
    heading = f"{made.rows:,} synthetic rows beside what was measured"
    drawn.update_layout(**layout(heading, lines))
    return drawn


def newest_of_each(made: Synthesis) -> list[Marginal]:
    """The quietest measurement of each marginal, those of one column first."""
    found: dict[tuple[str, ...], Marginal] = {}
    for one in made.marginals:
        known = found.get(one.columns)
        if known is None or one.half_width < known.half_width:
            found[one.columns] = one
    return sorted(found.values(), key=lambda one: len(one.columns))


def _panel(plotly: Any, drawn: Any, one: Marginal, rows: int, where: dict[str, int], *, first: bool) -> None:
    """Bars and intervals where cells have names, else one point for each cell."""
    released = one.released.astype(float)
    share = released.sum() or 1.0
    measured, half, synthetic = (
        100 * released / share,
        100 * one.half_width / share,
        100 * one.synthetic / rows,
    )
    if len(one.columns) == 1:
        names = [name if len(name) <= _LONG else f"{name.split(' .. ')[0]} .." for name in one.labels[0]]
        bars = plotly.Bar(
            x=names,
            y=measured,
            name="measured, with its 95 % noise interval",
            marker_color=BAR,
            error_y={"type": "constant", "value": half, "color": INK, "thickness": 1.2, "width": 3},
            showlegend=first,
        )
        points = plotly.Scatter(
            x=names, y=synthetic, mode="markers", name="synthetic", marker=POINT, showlegend=first
        )
        drawn.add_trace(bars, **where)
        drawn.add_trace(points, **where)
        drawn.update_yaxes(title_text="% of rows", **where)
        return
    top = float(max(measured.max(), synthetic.max(), 0.0))
    line = plotly.Scatter(
        x=[0, top], y=[0, top], mode="lines", line={"color": INK, "width": 1}, showlegend=False
    )
    cells = plotly.Scatter(
        x=measured, y=synthetic, mode="markers", marker={**POINT, "size": 5}, showlegend=False
    )
    drawn.add_trace(line, **where)
    drawn.add_trace(cells, **where)
    low = float(min(np.min(measured), 0.0))
    drawn.update_xaxes(
        title_text=f"measured, % of rows (±{half:.2g})", range=[low * 1.05, top * 1.05], **where
    )
    drawn.update_yaxes(title_text="synthetic, % of rows", **where)
