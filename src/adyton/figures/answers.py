"""An answer as a picture: each value with its noise interval and its population interval as two bars.

The bars have names, stand beside each other and never in each other, and differ by more than colour: that of
the noise is full, that of the population hollow.  A diamond is the value.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from adyton.certify import Answer
from adyton.certify.values import key_text
from adyton.figures.answer_data import Panel, panels_of
from adyton.figures.drawing import Figure, channels, part, pointed_at, told_apart_by
from adyton.figures.look import Size, Theme, few_ticks, legend_of
from adyton.figures.wording import lines, shortened, told_apart, visible
from adyton.show import in_short

MOST_GROUPS = 40  # that are drawn; the subtitle says how many there are
MOST_LINES, LEAST_GROUPS = 80, 10  # of all panels together; groups that are drawn in any case
MOST_VALUES = 6  # panels, one for each value of a row
_SAID = 12  # groups in the description, which is read aloud
_TALL, _UPRIGHT = 30, 300  # height of a group; of a panel whose groups stand side by side
_ABOVE = 16  # height of a name that stands above its bars
_NUMBER = 95  # width of the number at the end of such a line
_NARROW, _WIDE = 14, 60  # width of such a group
_SLANTED = -40  # labels below more groups than have room for them
_LETTER = 8  # width of one, about
_LONGEST_TITLE = 60  # letters beside an axis


@dataclass(frozen=True, slots=True)
class _Layout:
    """``upright``: groups are side by side, as the bins of a histogram.  ``above``: names of groups
    are above their bars, because there is no room beside them."""

    keys: tuple[str, ...]
    groups: tuple[str, ...]
    kinds: tuple[str, ...]  # the names of the intervals that are there
    upright: bool
    above: bool = False

    @property
    def along(self) -> str:
        return ", ".join(self.keys)

    def fitting(self, size: Size) -> _Layout:
        """In a narrow picture groups stand side by side only if all of them have room."""
        if not size.narrow:
            return self
        upright = self.upright and len(self.groups) * _NARROW <= size.beside_axis
        return replace(self, upright=upright, above=not upright)

    def step(self, size: Size) -> int:
        """The width of a group that stands beside others."""
        return max(_NARROW, min(_WIDE, size.beside_axis // max(1, len(self.groups))))


def answer_figure(answer: Mapping[str, Any], groups: int | None = None) -> Figure:
    """The figure of an answer, from the JSON object that ``adyton ask --json`` prints (``Answer.to_json()``).

    Groups lie below each other; those by a number or a day stand side by side, as in a histogram.  At most
    ``MOST_GROUPS`` groups and ``MOST_VALUES`` values of each are drawn, the first ones, and the subtitle says
    so; ``groups`` is how many there are, where ``answer`` has the first ones alone.  Numbers are those that
    were released, as in JSON.
    """
    rows: Sequence[Mapping[str, Any]] = answer["answer"]
    names, keys = (list(rows[0][part_of]) if rows else [] for part_of in ("values", "keys"))
    shown = rows[:MOST_GROUPS]
    upright = (
        len(keys) == 1
        and len(shown) > 1
        and all(map(_is_ordered, _present(row["keys"][keys[0]] for row in shown)))
    )
    shown = shown if upright else shown[: _most_lines(len(names))]
    labels = [" · ".join(_label(row["keys"].get(key)) for key in keys) for row in shown]
    named = told_apart(labels) if keys else [""] * len(shown)
    panels = panels_of(shown, named, names[:MOST_VALUES])
    kinds = tuple(dict.fromkeys(kind for panel in panels for kind in panel.kinds))
    layout = _Layout(tuple(map(visible, keys)), tuple(named), kinds, upright)
    title = _title(names, keys, len(rows))
    notes = _notes(panels, len(shown), groups or len(rows), len(names))

    def draw(altair: Any, theme: Theme) -> dict[str, Any]:
        size, fits = theme.size, layout.fitting(theme.size)
        told = (in_short(str(answer["query"])), *notes)
        said = [line for text in told for line in lines(text, size.notes, size.most_lines)]
        described = [_drawn(altair, theme, panel, fits, place) for place, panel in enumerate(panels)]
        apart = {"scale": dict.fromkeys(("fill", "stroke", "shape"), "independent")}
        nothing = [{"data": {"values": []}, "mark": "point"}]
        return {
            "title": {"text": lines(title, size.heading, size.most_lines), "subtitle": said},
            "vconcat": described or nothing,
            "resolve": apart,
        }

    data = {
        f"{kind} {place}": own for place, panel in enumerate(panels) for kind, own in panel.data().items()
    }
    return Figure(title, _description(title, panels, notes), *_table(panels, layout), data, draw)


def _most_lines(values: int) -> int:
    """Fewer groups where each has many values: so a picture is no longer than the table."""
    panels = min(max(values, 1), MOST_VALUES)
    return max(LEAST_GROUPS, min(MOST_GROUPS, MOST_LINES // panels))


def figure_of(answer: Answer) -> Figure:
    """The same of an ``Answer``: it may have a million rows, and only those that are drawn are looked at."""
    told = replace(answer, rows=answer.rows.at(slice(MOST_GROUPS))).to_json()
    return answer_figure(told, groups=len(answer))


# Drawing ---------------------------------------------------------------------------------------------------


def _drawn(altair: Any, theme: Theme, panel: Panel, layout: _Layout, place: int) -> dict[str, Any]:
    """The axes are called as if groups lay below each other; upright ones change places."""
    across, band, offset = ("y", "x", "xOffset") if layout.upright else ("x", "y", "yOffset")
    kinds = _kinds(theme, layout, named=place == 0)
    lanes = [*([""] if layout.above else []), *panel.kinds]
    lane = {"field": "kind", "type": "nominal", "scale": {"domain": lanes}, "sort": None}
    ends = {across: _numbers(theme, panel, layout, "low"), f"{across}2": {"field": "high"}, offset: lane}
    groups = _groups(theme, layout)
    middle = {"bandPosition": (len(lanes) + 1) / (2 * len(lanes))} if layout.above else {}
    here = {band: groups | middle, across: _numbers(theme, panel, layout, "value")}
    bars = altair.Chart(altair.NamedData(f"bars {place}")).mark_bar(strokeWidth=1.6)
    own = {band: groups, **ends, "fill": kinds["fill"], "stroke": kinds["stroke"]}
    bars = bars.encode(
        **channels(altair, own), tooltip=pointed_at(altair, "group:N", "kind:N", "from:N", "to:N")
    )
    points = altair.Chart(altair.NamedData(f"values {place}"))
    diamonds = points.mark_point(size=70, strokeWidth=1.2, opacity=1)
    diamonds = diamonds.encode(
        **channels(altair, here | kinds), tooltip=pointed_at(altair, "group:N", "shown:N")
    )
    layers = [part(bars), part(diamonds)]
    if layout.upright:
        step = {"step": layout.step(theme.size), "for": "position"}
        return {
            "layer": [*_from_zero(altair, theme, points, here, panel), *layers],
            "width": step,
            "height": _UPRIGHT,
        }
    layers += _written(altair, theme, points, groups, layout, len(lanes))
    step = {"step": _TALL + (_ABOVE if layout.above else 0), "for": "position"}
    return {"layer": layers, "width": theme.size.plot, "height": step}


def _written(
    altair: Any, theme: Theme, points: Any, groups: dict[str, Any], layout: _Layout, lanes: int
) -> list[dict[str, Any]]:
    """The value of each group at the end of its line, and its name where no axis has it."""
    plot = theme.size.plot
    line = groups | ({"bandPosition": 1 / (2 * lanes)} if layout.above else {})

    def text(field: str, x: int, **mark: Any) -> dict[str, Any]:
        told = {"y": line, "x": {"value": x}, "text": {"field": field, "type": "nominal"}}
        return part(points.mark_text(**mark).encode(**channels(altair, told)))

    if not layout.above:
        return [text("shown", plot, align="left", dx=8)]
    named = text("group", 0, align="left", limit=plot - _NUMBER)
    return [named, text("shown", plot, align="right")]


def _from_zero(
    altair: Any, theme: Theme, points: Any, here: dict[str, Any], panel: Panel
) -> list[dict[str, Any]]:
    """Columns behind the intervals, as in a histogram, where 0 is on the axis."""
    low, high = panel.span()
    if panel.days or not low <= 0 <= high:
        return []
    columns = points.mark_bar(fill=theme.grid).encode(**channels(altair, {**here, "y2": {"datum": 0}}))
    return [part(columns)]


def _groups(theme: Theme, layout: _Layout) -> dict[str, Any]:
    scale = {"domain": list(layout.groups), "paddingInner": 0.3, "paddingOuter": 0.15}
    described = {"field": "group", "type": "nominal", "sort": None, "scale": scale}
    if layout.above:
        return {**described, "axis": None}
    axis: dict[str, Any] = {"title": shortened(layout.along, _LONGEST_TITLE) or None, "grid": False}
    axis |= dict.fromkeys(("ticks", "domain"), bool(layout.keys))
    if layout.upright:
        crowded = max(map(len, layout.groups)) * _LETTER > layout.step(theme.size)
        axis |= {"labelAngle": _SLANTED if crowded else 0, "labelOverlap": False}
    return {**described, "axis": axis}


def _numbers(theme: Theme, panel: Panel, layout: _Layout, field: str) -> dict[str, Any]:
    scale: dict[str, Any] = {"domain": list(panel.span()), "nice": False, "zero": False}
    if panel.days:
        scale["type"] = "utc"
    kind = "temporal" if panel.days else "quantitative"
    ticks = {} if layout.upright else few_ticks(theme)
    most = min(_LONGEST_TITLE, theme.size.names)
    return {
        "field": field,
        "type": kind,
        "scale": scale,
        "axis": {"title": shortened(panel.name, most), "tickCount": 6} | ticks,
    }


def _kinds(theme: Theme, layout: _Layout, *, named: bool) -> dict[str, Any]:
    """Full for the noise, hollow for the population, a diamond for the value; one legend for all of it."""
    domain = [*layout.kinds, "value"]
    hollow = len(layout.kinds) > 1
    ranges = {
        "fill": [theme.noise, *([theme.paper] if hollow else []), theme.ink],
        "stroke": [theme.noise, *([theme.population] if hollow else []), theme.paper],
        "shape": ["square", *(["square"] if hollow else []), "diamond"],
    }
    legend = legend_of(theme, domain, 1, alone=layout.above) | {"symbolStrokeWidth": 1.6} if named else None
    return told_apart_by("kind", domain, ranges, legend)


# Words -----------------------------------------------------------------------------------------------------


def _label(key: Any) -> str:
    if isinstance(key, bool):
        return "true" if key else "false"
    return f"{key:.12g}" if isinstance(key, float) else key_text(key)


def _is_ordered(key: Any) -> bool:
    """Numbers, and days as they are written: 2024-01-31."""
    if isinstance(key, str):
        return len(key) == 10 and key[4] == key[7] == "-" and key.replace("-", "").isdecimal()
    return isinstance(key, int | float) and not isinstance(key, bool)


def _present(keys: Iterable[Any]) -> list[Any]:
    """NULL stands behind all others, wherever they are."""
    return [key for key in keys if key is not None]


def _title(names: Sequence[str], keys: Sequence[str], rows: int) -> str:
    if not names:
        return "No values" if rows else "No rows"
    by = f" by {', '.join(keys)}" if keys else ""
    return f"{', '.join(names)}{by}"


def _notes(panels: Sequence[Panel], drawn: int, groups: int, values: int) -> list[str]:
    """What the picture does not show."""
    notes = []
    if groups > drawn:
        notes.append(f"Drawn are the first {drawn} of {groups:,} groups.")
    if values > MOST_VALUES:
        notes.append(f"Drawn are the first {MOST_VALUES} of {values:,} values.")
    silent = sum(bar.noise is None for panel in panels for bar in panel.bars)
    if silent:
        notes.append(f"Not drawn, because the noise leaves nothing to see: {silent:,}.")
    if any(bar.is_open for panel in panels for bar in panel.bars):
        notes.append("An interval without an end goes on beyond the edge.")
    return [*notes, *(f"{panel.name}: {panel.missing}" for panel in panels if panel.missing)]


def _description(title: str, panels: Sequence[Panel], notes: Sequence[str]) -> str:
    said = [f"{title}."]
    for panel in panels:
        for bar in panel.bars[:_SAID]:
            where = f", {bar.group}" if bar.group else ""
            ends = "".join(f"; {kind} {text}" for kind, text in panel.ends(bar))
            said.append(f"{panel.name}{where}: {bar.shown}{ends}.")
        if len(panel.bars) > _SAID:
            said.append(f"And {len(panel.bars) - _SAID} more groups in the picture.")
    return " ".join([*said, *notes])


def _table(panels: Sequence[Panel], layout: _Layout) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    headers = [layout.along] if layout.keys else []
    columns: list[list[str]] = [list(layout.groups)] if layout.keys else []
    for panel in panels:
        headers += [panel.name, *(f"{panel.name}: {kind}" for kind in panel.kinds)]
        columns.append([bar.shown for bar in panel.bars])
        told = [dict(panel.ends(bar)) for bar in panel.bars]
        columns += [[own.get(kind, "-") for own in told] for kind in panel.kinds]
    return tuple(headers), tuple(zip(*columns, strict=True))
