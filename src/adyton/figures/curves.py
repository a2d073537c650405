"""Figures made of curves: lines with names over two axes, and where they come from below them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from adyton.figures.drawing import Figure, channels, part, pointed_at, told_apart_by
from adyton.figures.look import HEIGHT, Theme, few_ticks, legend_of
from adyton.figures.wording import lines, visible

_DASHES = ((1, 0), (8, 4), (2, 3), (9, 3, 2, 3))
_LIMITS = ((2, 3), (9, 3, 2, 3))  # for two that stand beside each other
_SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
_MANY = 20  # points: more of them are a curve, and marks would hide it
_LONG = 26  # letters of a name: longer ones leave room for two beside each other, not three
_DECADES = 100.0
_LEAST_WRITTEN, _MOST_WRITTEN = 1e-3, 1e7  # powers of ten beyond are written as 1e8
_TICKS = 8  # about
_GAPS = "break-paths-show-domains"  # where a curve has no value


@dataclass(frozen=True, slots=True)
class ChartAxis:
    title: str
    log: bool = False
    percent: bool = False  # shares, written in per cent


@dataclass(frozen=True, slots=True)
class ChartLine:
    """A line of a figure.  ``strong`` is what the figure is about, ``limit`` what it is held against."""

    name: str
    x: Sequence[float]
    y: Sequence[float | None]
    strong: bool = False
    limit: bool = False

    @property
    def points(self) -> list[tuple[float, float | None]]:
        return list(zip(self.x, self.y, strict=True))


def curves_figure(
    title: str, x: ChartAxis, y: ChartAxis, curves: Sequence[ChartLine], source: str = ""
) -> Figure:
    """Lines, each with its name, dash and points."""

    def draw(altair: Any, theme: Theme) -> dict[str, Any]:
        return _drawn(altair, theme, title, x, y, curves, source)

    data = {few: _points(own, x, y) for few, own in _parts(curves).items()}
    return Figure(title, _description(title, x, y, curves), *_table(x, curves), data, draw)


def _parts(curves: Sequence[ChartLine]) -> dict[str, list[ChartLine]]:
    """Those with points and those without, under the names of their data."""
    parts = {"pointed": [c for c in curves if _few(c)], "plain": [c for c in curves if not _few(c)]}
    return {name: own for name, own in parts.items() if own}


def _points(curves: Sequence[ChartLine], x: ChartAxis, y: ChartAxis) -> list[dict[str, Any]]:
    """Where an axis has no place for a number, 0 on a logarithmic one, the curve has a gap."""
    return [
        {"curve": visible(curve.name), "x": a, "y": b if b is not None and (b > 0 or not y.log) else None}
        for curve in curves
        for a, b in curve.points
        if a > 0 or not x.log
    ]


def _drawn(
    altair: Any,
    theme: Theme,
    title: str,
    x: ChartAxis,
    y: ChartAxis,
    curves: Sequence[ChartLine],
    source: str,
) -> dict[str, Any]:
    places, size = _axes(altair, theme, x, y, curves), theme.size
    looks = {id(curve): _look(theme, place, curve) for place, curve in enumerate(curves)}
    layers = [
        {"layer": _layer(altair, name, own, [looks[id(c)] for c in own], places, legend)}
        for (name, own), legend in zip(_parts(curves).items(), _legends(theme, curves), strict=True)
    ]
    below = {
        "text": lines(f"Source: {source}", size.source, size.most_lines),
        "orient": "bottom",
        "fontSize": 11,
        "fontWeight": "normal",
        "color": theme.pale,
        "offset": 14,
    }
    apart = {"scale": dict.fromkeys(("color", "shape", "strokeDash", "strokeWidth"), "independent")}
    panel = {"layer": layers, "resolve": apart, "width": size.beside_axis, "height": HEIGHT}
    heading = lines(title, size.heading, size.most_lines)
    return {"title": heading, "vconcat": [panel | ({"title": below} if source else {})]}


def _legends(theme: Theme, curves: Sequence[ChartLine]) -> list[dict[str, Any] | None]:
    """Of each part: above the curves, and of a second part below them.  A curve alone needs no name."""
    found: list[dict[str, Any] | None] = []
    for name, own in _parts(curves).items():
        beside = 2 if max(len(curve.name) for curve in own) > _LONG else 3
        symbols: dict[str, Any] = {} if name == "pointed" else {"symbolType": "stroke", "symbolSize": 500}
        where = {"orient": "bottom"} if found else {}
        columns = legend_of(theme, [curve.name for curve in own], beside)
        found.append({**columns, **symbols, **where} if len(curves) > 1 else None)
    return found


def _few(curve: ChartLine) -> bool:
    return len(curve.x) <= _MANY and not curve.limit


@dataclass(frozen=True, slots=True)
class _Look:
    colour: str
    dash: tuple[int, ...]
    width: int
    shape: str


def _look(theme: Theme, place: int, curve: ChartLine) -> _Look:
    """No two of a dozen have the same colour and shape or, without points, the same colour and dash."""
    turn, place_of_colour = divmod(place, len(theme.colours))
    own = theme.strong if curve.strong else theme.colours[place_of_colour]
    colour, width = theme.pale if curve.limit else own, 4 if curve.strong else 2
    if curve.limit:
        dash = _LIMITS[place % len(_LIMITS)]
    else:
        dash = _DASHES[0 if curve.strong else (turn if _few(curve) else place) % len(_DASHES)]
    return _Look(colour, dash, width, _SHAPES[(place + turn) % len(_SHAPES)])


def _layer(
    altair: Any,
    data: str,
    curves: list[ChartLine],
    looks: list[_Look],
    places: dict[str, Any],
    legend: dict[str, Any] | None,
) -> list[dict[str, Any]]:
    """Curves with points are named by colour and shape, those without by colour and dash."""
    names, few = [visible(curve.name) for curve in curves], _few(curves[0])

    def over(**ranges: list[Any]) -> dict[str, Any]:
        return channels(altair, told_apart_by("curve", names, ranges, legend, type="ordinal"))

    pointed = pointed_at(altair, "curve:N", "x:Q", "y:Q")
    colours = over(color=[look.colour for look in looks])
    base = altair.Chart(altair.NamedData(data)).encode(**places, **colours, tooltip=pointed)
    if few:
        points = base.mark_point(filled=True, size=50, opacity=1, invalid="filter")
        points = points.encode(**over(shape=[look.shape for look in looks]))
        return [*_lines(base, names, looks), part(points)]
    dashes, widths = [look.dash for look in looks], [look.width for look in looks]
    return [part(base.mark_line(invalid=_GAPS).encode(**over(strokeDash=dashes, strokeWidth=widths)))]


def _lines(base: Any, names: list[str], looks: list[_Look]) -> list[dict[str, Any]]:
    """A layer for each dash and width: as scales they would also change the symbols beside the names."""
    alike: dict[tuple[tuple[int, ...], int], list[str]] = {}
    for name, look in zip(names, looks, strict=True):
        alike.setdefault((look.dash, look.width), []).append(name)
    return [
        part(base.mark_line(invalid=_GAPS, strokeDash=list(dash), strokeWidth=width))
        | {"transform": [{"filter": {"field": "curve", "oneOf": own}}]}
        for (dash, width), own in alike.items()
    ]


def _axes(
    altair: Any, theme: Theme, x: ChartAxis, y: ChartAxis, curves: Sequence[ChartLine]
) -> dict[str, Any]:
    across = [value for curve in curves for value in curve.x]
    up = [value for curve in curves for value in curve.y if value is not None]
    return {
        "x": altair.X("x:Q", **_axis(altair, theme, x, across, few_ticks(theme))),
        "y": altair.Y("y:Q", **_axis(altair, theme, y, up, {})),
    }


def _axis(
    altair: Any, theme: Theme, axis: ChartAxis, values: list[float], ticks: dict[str, Any]
) -> dict[str, Any]:
    size, title = theme.size, visible(axis.title)
    said: dict[str, Any] = (
        {"title": lines(title, size.names, size.most_lines) if size.narrow else title}
        | ({} if axis.log else {"tickCount": _TICKS})
        | ticks
    )
    decades = _decades(values) if axis.log else []
    if axis.percent:
        said["format"] = "~%"
    elif decades and (decades[0] < _LEAST_WRITTEN or decades[-1] > _MOST_WRITTEN):
        said |= {"format": ".0e", "labelExpr": "replace(datum.label, 'e+', 'e')"}
    if decades:
        said["values"] = decades  # powers of ten alone: between them there is no room for labels
    scale = altair.Scale(type="log", nice=False) if axis.log else altair.Scale(zero=False, nice=True)
    return {"axis": altair.Axis(**said), "scale": scale}


def _decades(values: list[float]) -> list[float]:
    """The powers of ten among positive values that span at least two of them."""
    positive = [value for value in values if value > 0]
    if not positive or max(positive) / min(positive) < _DECADES:
        return []
    first, last = math.ceil(math.log10(min(positive))), math.floor(math.log10(max(positive)))
    step = 1 + (last - first) // 12
    return [10.0**power for power in range(first, last + 1, step)]


def _description(title: str, x: ChartAxis, y: ChartAxis, curves: Sequence[ChartLine]) -> str:
    said = [f"{title}. Across: {x.title}. Upwards: {y.title}."]
    for curve in curves:
        known = [(a, b) for a, b in curve.points if b is not None]
        if known:
            (first, low), (last, high) = known[0], known[-1]
            said.append(f"{curve.name}: {low:.4g} at {first:.4g}, {high:.4g} at {last:.4g}.")
    return " ".join(said)


def _table(x: ChartAxis, curves: Sequence[ChartLine]) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    places = sorted({value for curve in curves for value in curve.x})
    columns = [dict(curve.points) for curve in curves]
    rows = tuple((f"{a:.6g}", *(_number(column.get(a)) for column in columns)) for a in places)
    return (x.title, *(curve.name for curve in curves)), rows


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.6g}"
