"""A synthetic table beside what it was made from: a panel for each measured marginal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from adyton.figures.drawing import Figure, channels, part, told_apart_by
from adyton.figures.look import Theme, legend_of
from adyton.figures.wording import lines, shortened, told_apart
from adyton.synthesis.result import Marginal, Synthesis

MOST_PANELS = 24
MOST_CLASSES = 40  # of a column, and points where a marginal has several
_BESIDE, _WIDTH, _HEIGHT = 2, 330, 190
_LONG = 14  # letters of a label
_MEASURED = "measured, with its 95 % noise interval"
_SYNTHETIC = "synthetic"
_KINDS = (_MEASURED, _SYNTHETIC)


@dataclass(frozen=True, slots=True)
class _Cell:
    """One cell of a marginal, in per cent of the rows."""

    name: str
    measured: float
    half: float
    synthetic: float

    def data(self, kind: str) -> dict[str, Any]:
        ends = {"low": self.measured - self.half, "high": self.measured + self.half}
        here = {"cell": self.name, "kind": kind, "measured": self.measured, "synthetic": self.synthetic}
        return {**here, **ends}


@dataclass(frozen=True, slots=True)
class _Panel:
    title: str
    cells: tuple[_Cell, ...]
    several: bool  # columns: then cells are points, measured against synthetic


def figure(made: Synthesis) -> Figure:
    """Bars and intervals where cells have names, else one point for each cell.

    At most ``MOST_PANELS`` marginals, and ``MOST_CLASSES`` cells of each column, are drawn; it says so.
    """
    newest = newest_of_each(made)
    panels = [_panel(one, made.rows) for one in newest[:MOST_PANELS]]
    title = f"{made.rows:,} synthetic rows beside what was measured"
    notes = _notes(newest)

    def draw(altair: Any, theme: Theme) -> dict[str, Any]:
        drawn = [
            (_points if panel.several else _bars)(altair, theme, panel, place)
            for place, panel in enumerate(panels)
        ]
        size = theme.size
        heading = {"text": lines(title, size.heading, size.most_lines)}
        beside = 1 if size.narrow else _BESIDE
        return {"title": heading | ({"subtitle": notes} if notes else {}), "concat": drawn, "columns": beside}

    data = {
        f"{kind} {place}": [cell.data(kind) for cell in panel.cells]
        for place, panel in enumerate(panels)
        for kind in (_KINDS[1:] if panel.several else _KINDS)
    }
    data |= {f"alike {i}": _diagonal(_top(panel)) for i, panel in enumerate(panels) if panel.several}
    headers = ("marginal", "cell", "measured, % of rows", "noise interval: ±", "synthetic, % of rows")
    return Figure(title, _description(title, panels, notes), headers, _rows(panels), data, draw)


def newest_of_each(made: Synthesis) -> list[Marginal]:
    """The quietest measurement of each marginal, those of one column first."""
    found: dict[tuple[str, ...], Marginal] = {}
    for one in made.marginals:
        known = found.get(one.columns)
        if known is None or one.half_width < known.half_width:
            found[one.columns] = one
    return sorted(found.values(), key=lambda one: len(one.columns))


def _panel(one: Marginal, rows: int) -> _Panel:
    released = one.released.astype(float)
    share = released.sum() or 1.0
    several = len(one.columns) > 1
    names = [""] * len(released) if several else told_apart([_label(name) for name in one.labels[0]])
    found = zip(names, released / share, one.synthetic / rows, strict=True)
    cells = tuple(_Cell(n, 100 * float(m), 100 * one.half_width / share, 100 * float(s)) for n, m, s in found)
    title = f"{shortened(' x '.join(one.columns), _LONG * 3)}, distance {one.distance:.3f}"
    return _Panel(title, cells if several else cells[:MOST_CLASSES], several)


def _label(name: str) -> str:
    return name if len(name) <= _LONG else f"{name.split(' .. ')[0]} .." if " .. " in name else name


def _bars(altair: Any, theme: Theme, panel: _Panel, place: int) -> dict[str, Any]:
    names = [cell.name for cell in panel.cells]
    axis = {"title": None, "grid": False, "labelAngle": -40 if len(names) > 4 else 0, "labelLimit": 90}
    across = {"field": "cell", "type": "nominal", "sort": None, "axis": axis, "scale": {"domain": names}}
    base = altair.Chart(altair.NamedData(f"{_MEASURED} {place}"))
    synthetic = altair.Chart(altair.NamedData(f"{_SYNTHETIC} {place}"))

    def up(field: str) -> dict[str, Any]:
        return {"field": field, "type": "quantitative", "axis": {"title": "% of rows", "tickCount": 5}}

    kinds = _kinds(theme)
    hollow = {"fill": kinds["fill"], "stroke": kinds["stroke"]}
    cap = base.mark_tick(color=theme.ink, thickness=1.4, size=12, orient="horizontal")
    rule = base.mark_rule(color=theme.ink, strokeWidth=1.4)
    point = synthetic.mark_point(size=36, opacity=1, strokeWidth=0.8)
    described = [
        (base.mark_bar(strokeWidth=1), {"y": up("measured"), **hollow}),
        (rule, {"y": up("low"), "y2": {"field": "high"}}),
        *((cap, {"y": up(end)}) for end in ("low", "high")),
        (point, {"y": up("synthetic"), **kinds}),
    ]
    drawn = [part(mark.encode(**channels(altair, {"x": across, **own}))) for mark, own in described]
    return {"title": _small(panel.title), "layer": drawn, "width": _width(theme), "height": _HEIGHT}


def _points(altair: Any, theme: Theme, panel: _Panel, place: int) -> dict[str, Any]:
    half = panel.cells[0].half if panel.cells else 0.0
    top = _top(panel)
    low = min((cell.measured for cell in panel.cells), default=0.0)

    def on(field: str, title: str, first: float) -> dict[str, Any]:
        scale = {"domain": [min(0.0, first) * 1.05, max(top, 0.0) * 1.05], "nice": False, "zero": False}
        axis = {"title": title, "tickCount": 5}
        return {"field": field, "type": "quantitative", "scale": scale, "axis": axis}

    across = on("measured", f"measured, % of rows (±{half:.2g})", low)
    up = on("synthetic", "synthetic, % of rows", 0.0)
    base = altair.Chart(altair.NamedData(f"{_SYNTHETIC} {place}"))
    points = base.mark_point(size=28, opacity=1, filled=True, shape="diamond", color=theme.population)
    alike = altair.Chart(altair.NamedData(f"alike {place}")).mark_line(color=theme.pale, strokeDash=[4, 3])
    drawn = [part(one.encode(**channels(altair, {"x": across, "y": up}))) for one in (alike, points)]
    return {"title": _small(panel.title), "layer": drawn, "width": _width(theme), "height": _HEIGHT}


def _width(theme: Theme) -> int:
    return min(_WIDTH, theme.size.beside_axis)


def _diagonal(top: float) -> list[dict[str, Any]]:
    return [{"measured": end, "synthetic": end} for end in (0.0, top)]


def _top(panel: _Panel) -> float:
    return max((max(cell.measured, cell.synthetic) for cell in panel.cells), default=1.0) or 1.0


def _small(title: str) -> dict[str, Any]:
    return {"text": title, "fontSize": 13, "fontWeight": "normal", "offset": 8}


def _kinds(theme: Theme) -> dict[str, Any]:
    legend = legend_of(theme, _KINDS, 2)
    ranges = {
        "fill": [theme.grid, theme.population],
        "stroke": [theme.noise, theme.paper],
        "shape": ["square", "diamond"],
    }
    return told_apart_by("kind", _KINDS, ranges, legend, type="ordinal")


def _notes(newest: Sequence[Marginal]) -> list[str]:
    notes = []
    if len(newest) > MOST_PANELS:
        notes.append(f"Drawn are {MOST_PANELS} of {len(newest):,} marginals.")
    if any(len(one.columns) == 1 and len(one.released) > MOST_CLASSES for one in newest[:MOST_PANELS]):
        notes.append(f"Drawn are the first {MOST_CLASSES} cells of a column.")
    return notes


def _description(title: str, panels: Sequence[_Panel], notes: Sequence[str]) -> str:
    return " ".join([f"{title}.", *(f"{panel.title}." for panel in panels), *notes])


def _rows(panels: Sequence[_Panel]) -> tuple[tuple[str, ...], ...]:
    return tuple(
        (panel.title, cell.name, f"{cell.measured:.4g}", f"{cell.half:.4g}", f"{cell.synthetic:.4g}")
        for panel in panels
        for cell in panel.cells[:MOST_CLASSES]
    )
