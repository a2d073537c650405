"""From the description of a figure to a picture: SVG, PNG, a page, or Vega-Lite for other programs.

Every function of ``adyton.figures`` that describes a figure returns a ``Figure``.  Nothing is imported and
nothing drawn before somebody looks: Altair writes the description as Vega-Lite, vl-convert draws it, both in
the extra ``plot``.  The same description is drawn once and kept (``rendering.pool``), in whatever thread.
"""

from __future__ import annotations

import html as escaping
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from adyton.errors import InvalidRequest
from adyton.figures.look import WIDEST, Theme, config, theme_of
from adyton.figures.rendering import pool
from adyton.figures.wording import visible

VEGA_LITE = "application/vnd.vegalite.v6+json"
EXTRA = "a figure needs Altair and vl-convert: pip install 'adyton[plot]'"
SUFFIXES = (".svg", ".png", ".html", ".json")
Draw = Callable[[Any, Theme], dict[str, Any]]  # (the module altair, the look) -> Vega-Lite without its data


@dataclass(frozen=True, slots=True)
class Figure:
    """What a figure shows, in words (``title``, ``description``), as a table, and how it is drawn.

    It shows itself in a notebook, and ``save("file.svg")`` writes it; also .png, .html and .json (Vega-Lite).
    ``chart()`` is the Altair chart, for whoever wants to change something.
    """

    title: str
    description: str
    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    data: Mapping[
        str, Sequence[Mapping[str, Any]]
    ]  # that the chart names; Altair would copy them again and again
    draw: Draw

    def chart(self, dark: bool = False) -> Any:
        """An altair.Chart, or several together."""
        return _altair().Chart.from_dict(self.vega_lite(dark))

    def vega_lite(self, dark: bool = False, width: int = WIDEST) -> dict[str, Any]:
        """The description for other programs that draw Vega-Lite; it holds its data.

        ``width`` is one of ``look.WIDTHS``: narrower pictures are drawn for narrower screens.
        """
        theme, altair = theme_of(dark, width), _altair()
        return {
            "$schema": altair.SCHEMA_URL,
            "description": visible(self.description),
            **self.draw(altair, theme),
            "datasets": dict(self.data),
            "config": config(theme),
        }

    def save(self, path: str | Path, dark: bool = False) -> None:
        """Write a file, in the format that its name ends in."""
        path = Path(path)
        content = encoded(self, path.suffix, dark)
        try:
            path.write_bytes(content)
        except OSError as fault:
            raise InvalidRequest(f"{path} cannot be written: {fault.strerror}") from None

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        try:
            return {VEGA_LITE: self.vega_lite(), "image/svg+xml": svg(self), "text/plain": self.description}
        except InvalidRequest as refused:  # without the extra its words can still be read
            return {"text/plain": f"{self.description}\n({refused})"}


def svg(figure: Figure, dark: bool = False, width: int = WIDEST) -> str:
    """An SVG that names itself (<title>, <desc>), without scripts and without style attributes."""
    drawn = pool.PICTURES.picture("svg", _text(figure.vega_lite(dark, width))).decode()
    start, end, rest = drawn.partition(">")
    words = f"<title>{_escaped(figure.title)}</title><desc>{_escaped(figure.description)}</desc>"
    return f'{start} role="img"{end}{words}{rest}'


def png(figure: Figure, dark: bool = False) -> bytes:
    """Two pixels for each unit of the drawing."""
    return pool.PICTURES.picture("png", _text(figure.vega_lite(dark)))


def html(figure: Figure, dark: bool = False) -> str:
    """A page that needs nothing else, offline too: 0.9 MB of Vega are in it, for values under the pointer.

    Without JavaScript it shows the SVG.  Its policy lets it load nothing from anywhere.
    """
    script = pool.PICTURES.picture("script", "").decode()
    return _PAGE.format(
        title=_escaped(figure.title),
        description=_escaped(figure.description),
        picture=svg(figure, dark),
        table=_table(figure),
        spec=_text(figure.vega_lite(dark)).replace("<", "\\u003c"),  # no text can end the element early
        script=script.replace("</script", "<\\/script"),
        paper=theme_of(dark).paper,
        ink=theme_of(dark).ink,
    )


def encoded(figure: Figure, suffix: str, dark: bool = False) -> bytes:
    """The bytes of a file that ends in ``suffix``."""
    match suffix.lower():
        case ".svg":
            return svg(figure, dark).encode()
        case ".png":
            return png(figure, dark)
        case ".html":
            return html(figure, dark).encode()
        case ".json":
            return json.dumps(figure.vega_lite(dark), indent=1, ensure_ascii=False).encode()
    raise InvalidRequest(f"a figure ends in {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}")


def channels(altair: Any, described: Mapping[str, Any]) -> dict[str, Any]:
    """Channels by their names, as Altair's own classes, which it makes of dicts four times as slowly."""
    found: dict[str, Any] = {}
    for name, told in described.items():
        kind = name[0].upper() + name[1:]
        if "value" in told or "datum" in told:
            (how, what), *_ = told.items()
            found[name] = getattr(altair, f"{kind}{how.capitalize()}")(what)
            continue
        made = {word: _guide(altair, word, own) for word, own in told.items()}
        found[name] = getattr(altair, kind)(**made)
    return found


def told_apart_by(
    field: str,
    names: Sequence[str],
    ranges: Mapping[str, Sequence[Any]],
    legend: Mapping[str, Any] | None,
    **scale: Any,
) -> dict[str, Any]:
    """Channels by which names are told apart, each by a range of its own; a short one begins again."""
    same = {"field": field, "type": "nominal", "sort": None, "legend": legend}
    scale["domain"] = list(names)
    each = {channel: list(islice(cycle(own), len(names))) for channel, own in ranges.items()}
    return {channel: {**same, "scale": {**scale, "range": own}} for channel, own in each.items()}


def pointed_at(altair: Any, *fields: str) -> list[Any]:
    """What a page shows under the pointer."""
    return [altair.Tooltip(field) for field in fields]


def _guide(altair: Any, word: str, told: Any) -> Any:
    if word in ("scale", "axis", "legend") and isinstance(told, Mapping):
        return getattr(altair, word.capitalize())(**told)
    return told


def part(chart: Any) -> dict[str, Any]:
    """A chart of Altair as a part of a larger one.

    Altair's own ``layer`` and ``concat`` copy all parts deeply, several times.  Nor is a figure checked
    against the schema again: tests do that.
    """
    spec: dict[str, Any] = chart.to_dict(validate=False)
    return {key: value for key, value in spec.items() if key not in ("$schema", "config", "datasets")}


def check_extra() -> None:
    """Before anything is computed or paid for: whether a figure can be drawn here at all."""
    if find_spec("altair") is None or find_spec("vl_convert") is None:
        raise InvalidRequest(EXTRA)


def _altair() -> Any:
    try:
        altair = import_module("altair")  # half a second, and only for who wants to see
        import_module("vl_convert")
    except ImportError:
        raise InvalidRequest(EXTRA) from None
    return altair


def _text(spec: dict[str, Any]) -> str:
    return json.dumps(spec, ensure_ascii=True, allow_nan=False, separators=(",", ":"))


def _escaped(text: str) -> str:
    return escaping.escape(visible(text))


def _table(figure: Figure) -> str:
    head = "".join(f'<th scope="col">{_escaped(one)}</th>' for one in figure.headers)
    body = "".join(f"<tr>{''.join(f'<td>{_escaped(one)}</td>' for one in row)}</tr>" for row in figure.rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; \
script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; img-src data:">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>
body {{ background: {paper}; color: {ink}; font: 15px/1.5 Arial, Helvetica, sans-serif; margin: 1.5em; }}
td, th {{ padding: .1em 1em .1em 0; text-align: right; font-variant-numeric: tabular-nums; }}
td:first-child, th:first-child {{ text-align: left; }}
</style>
</head>
<body>
<div id="figure">{picture}</div>
<p>{description}</p>
<details><summary>The numbers</summary>{table}</details>
<script type="application/json" id="description">{spec}</script>
<script type="module">{script}</script>
</body>
</html>
"""
