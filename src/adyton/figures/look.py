"""How every figure looks: one set of colours and fonts, axes in words, and the source below.

plotly is an extra: pip install 'adyton[plot]'.
"""

from __future__ import annotations

import html
import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from adyton.errors import InvalidRequest

# Okabe and Ito's colours, which people with any kind of colour vision tell apart; then the same with dashes.
_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#000000")
_STRONG = "#D55E00"
_DASHES = ("solid", "dash", "dot", "dashdot")
_LIMITS = ("dot", "dashdot")  # for two that stand beside each other
_INK, _PALE, _GRID = "#222222", "#666666", "#E5E5E5"
INK, BAR = _INK, "#9CC8E3"  # for bars that points are drawn on
POINT = {"color": _STRONG, "size": 8}
_PANEL = 300  # pixels, of one in a row of several
_FONT = "'Source Sans 3', 'Source Sans Pro', 'Helvetica Neue', Helvetica, Arial, 'DejaVu Sans', sans-serif"
_TITLE, _SOURCE = 90, 130  # letters, before a text goes on in a second line
_LONG = 26  # letters of a name: longer ones leave room for two beside each other, not three
_LEGEND = 22  # pixels, for a line of names
_MANY = 20  # points: more of them are a curve, and marks would hide it
_DECADE = 10.0


@dataclass(frozen=True, slots=True)
class Axis:
    title: str
    log: bool = False
    percent: bool = False  # shares, written in per cent


@dataclass(frozen=True, slots=True)
class Curve:
    """A line of a figure.  ``strong`` is what the figure is about, ``limit`` what it is held against."""

    name: str
    x: Sequence[float]
    y: Sequence[float | None]
    strong: bool = False
    limit: bool = False


def figure(title: str, x: Axis, y: Axis, curves: Sequence[Curve], source: str = "") -> Any:
    """A plotly figure."""
    try:
        plotly = import_module("plotly.graph_objects")  # half a second, and only for who wants to see
    except ImportError:
        raise InvalidRequest("a figure needs plotly: pip install 'adyton[plot]'") from None
    drawn = plotly.Figure([plotly.Scatter(**_trace(curve, place)) for place, curve in enumerate(curves)])
    drawn.update_layout(**_layout(title, source, [curve.name for curve in curves]))
    drawn.update_xaxes(**_axis(x, [value for curve in curves for value in curve.x]))
    drawn.update_yaxes(**_axis(y, [value for curve in curves for value in curve.y if value is not None]))
    return drawn


def _trace(curve: Curve, place: int) -> dict[str, Any]:
    own = _STRONG if curve.strong else _COLOURS[place % len(_COLOURS)]
    colour = _PALE if curve.limit else own
    dash = _LIMITS[place % 2] if curve.limit else _DASHES[place // len(_COLOURS) % len(_DASHES)]
    few = len(curve.x) <= _MANY and not curve.limit
    return {
        "name": curve.name,
        "x": list(curve.x),
        "y": list(curve.y),
        "mode": "lines+markers" if few else "lines",
        "line": {"width": 4 if curve.strong else 2, "color": colour, "dash": dash},
        "marker": {"size": 6},
    }


def _layout(title: str, source: str, names: list[str]) -> dict[str, Any]:
    """The names stand above the curves: beside them they would take the room away."""
    beside = 2 if max(map(len, names), default=0) > _LONG else 3
    above = _LEGEND * math.ceil(len(names) / beside) if len(names) > 1 else 0
    heading = _wrapped(title, _TITLE)
    return {
        "template": "plotly_white",
        "font": {"family": _FONT, "size": 14, "color": _INK},
        "title": {"text": heading, "font": {"size": 18}, "x": 0.02, "y": 0.97, "yanchor": "top"},
        "margin": {"l": 80, "r": 30, "t": 60 + 22 * heading.count("<br>") + above, "b": 110},
        "showlegend": len(names) > 1,
        "legend": {
            "orientation": "h",
            "x": 0,
            "y": 1.01,
            "yanchor": "bottom",
            "entrywidth": 0.98 / beside,
            "entrywidthmode": "fraction",
            "font": {"size": 13},
        },
        "hovermode": "x unified",  # several lines may lie on top of each other
        "annotations": [_below(source)] if source else [],
    }


def layout(title: str, lines: int) -> dict[str, Any]:
    """Of a figure of several panels, in so many lines."""
    return {
        "template": "plotly_white",
        "font": {"family": _FONT, "size": 13, "color": _INK},
        "title": {
            "text": _wrapped(title, _TITLE),
            "font": {"size": 18},
            "x": 0.02,
            "y": 0.99,
            "yanchor": "top",
        },
        "margin": {"l": 70, "r": 30, "t": 120, "b": 60},
        "height": 140 + _PANEL * lines,
        "width": 1000,
        "legend": {"orientation": "h", "x": 0, "y": 1 + 60 / (_PANEL * lines), "yanchor": "bottom"},
    }


def _below(source: str) -> dict[str, Any]:
    return {
        "text": _wrapped(f"Source: {source}", _SOURCE),
        "xref": "paper",
        "yref": "paper",
        "x": 0,
        "y": 0,
        "yshift": -68,
        "xanchor": "left",
        "yanchor": "top",
        "align": "left",
        "showarrow": False,
        "font": {"size": 11, "color": _PALE},
    }


def _wrapped(text: str, letters: int) -> str:
    return "<br>".join(html.escape(line) for line in textwrap.wrap(text, letters))


def _axis(axis: Axis, values: Sequence[float]) -> dict[str, Any]:
    common = {
        "title": {"text": axis.title, "standoff": 12},
        "showline": True,
        "linecolor": _PALE,
        "ticks": "outside",
        "tickfont": {"size": 13},
        "gridcolor": _GRID,
        "zeroline": False,
        "exponentformat": "power",
        "type": "log" if axis.log else "linear",
    }
    if axis.percent:
        common["tickformat"] = ".3~%"
    positive = [value for value in values if value > 0]
    if axis.log and positive and max(positive) / min(positive) >= _DECADE:
        return {**common, "dtick": 1}  # a mark for each power of ten
    return {**common, "separatethousands": True}
