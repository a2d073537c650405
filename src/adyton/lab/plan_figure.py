"""The headline picture: how many adaptive questions each method certifies, against the number of rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from importlib import import_module
from typing import Any

from adyton.errors import InvalidRequest
from adyton.validity.joint import MOST
from adyton.validity.planner import plan

_POINTS = 7  # two a decade
_NAMES = {
    "hinge": "adyton (centred hinge)",
    "split": "sample splitting",
    "rounding": "rounded answers",
    "laplace": "Laplace + 6 epsilon",
    "jlnrss": "Jung et al. 2020",
    "rrsstw": "Rogers et al. 2020",
}


_COLOURS = {
    "hinge": "#c0392b",
    "split": "#2980b9",
    "rounding": "#f39c12",
    "laplace": "#16a085",
    "jlnrss": "#8e44ad",
    "rrsstw": "#7f8c8d",
}


@dataclass(frozen=True, slots=True)
class Curves:
    """For every method, and for the strongest attack known, the questions at each number of rows."""

    rows: tuple[int, ...]
    certified: dict[str, tuple[int, ...]]
    attack: tuple[int | None, ...]


def rows_around(rows: int) -> tuple[int, ...]:
    """Three decades, from the one before that of ``rows`` on."""
    first = min(max(len(str(rows)) - 2, 0), len(str(MOST)) - 1 - _POINTS // 2)
    return tuple(round(10 ** (first + i / 2)) for i in range(_POINTS))


def curves(
    tolerance: Fraction,
    confidence: Fraction,
    rows: tuple[int, ...],
    on_step: Callable[[], None] = lambda: None,
) -> Curves:
    plans = []
    for n in rows:
        plans.append(plan(rows=n, tolerance=tolerance, confidence=confidence))
        on_step()
    names = [option.method for option in plans[0].options]
    certified = {name: tuple(_questions(p.options[i].value) for p in plans) for i, name in enumerate(names)}
    return Curves(rows, certified, tuple(p.attack_limit() for p in plans))


def figure(found: Curves, tolerance: Fraction, confidence: Fraction) -> Any:
    """A plotly figure.  plotly is an extra: pip install 'adyton[plot]'."""
    try:
        plotly = import_module("plotly.graph_objects")
    except ImportError:
        raise InvalidRequest("a figure needs plotly: pip install 'adyton[plot]'") from None
    drawn = plotly.Figure()
    for name, questions in found.certified.items():
        drawn.add_trace(
            plotly.Scatter(
                name=_NAMES.get(name, name),
                x=list(found.rows),
                y=[q or None for q in questions],
                mode="lines+markers",
                line={"width": 4 if name == "hinge" else 1.5, "color": _COLOURS.get(name)},
            )
        )
    drawn.add_trace(
        plotly.Scatter(
            name="an attack succeeds from here on",
            x=list(found.rows),
            y=list(found.attack),
            mode="lines",
            line={"dash": "dot", "color": "#555555"},
        )
    )
    promise = f"within ±{float(tolerance):g}, all at once with {float(100 * confidence):.12g} % confidence"
    drawn.update_layout(
        title=f"Adaptive questions certified {promise}",
        template="plotly_white",
        legend={"x": 0.02, "y": 0.98},
    )
    drawn.update_xaxes(type="log", title="rows", exponentformat="power", dtick=1)
    drawn.update_yaxes(type="log", title="questions", exponentformat="power", dtick=1)
    return drawn


def _questions(value: int | float | None) -> int:
    return int(value) if value else 0
