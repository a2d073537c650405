"""Where the figure of a command is written: a page, or a picture that a browser on this machine draws."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from adyton.errors import InvalidRequest
from adyton.transports.terminal import write_file

Figure = Annotated[
    Path | None,
    typer.Option(
        help="Also draw a figure (extra: plot): .html, or with Chromium or Chrome .png or .svg.",
        metavar="FILE",
    ),
]
_PICTURES = (".png", ".svg")
_SIZE = {"width": 900, "height": 560}  # a page is as wide as its window, a picture is not


def check_figure(path: Path | None) -> None:
    """Before anything is computed for it: the name and the folder."""
    if path is None:
        return
    if path.suffix.lower() not in (".html", *_PICTURES):
        raise InvalidRequest("a figure ends in .html, .png or .svg")
    if not path.parent.is_dir():
        raise InvalidRequest(f"{path} cannot be written: there is no such folder")


def write_figure(drawn: Any, path: Path) -> None:
    """``drawn`` is a plotly figure.  Its page holds all that it needs and loads nothing from elsewhere."""
    kind = path.suffix.lower()
    content = _picture(drawn, kind) if kind in _PICTURES else drawn.to_html().encode()
    write_file(path, content)


def _picture(drawn: Any, kind: str) -> bytes:
    try:
        own = {side: getattr(drawn.layout, side) or usual for side, usual in _SIZE.items()}
        return bytes(drawn.to_image(format=kind.removeprefix("."), **own))
    except Exception as fault:  # kaleido, the browser, its timeouts: each has errors of its own
        raise InvalidRequest(
            f"a {kind} needs kaleido (pip install 'adyton[plot]') and Chromium or Chrome, installed on this "
            f"machine or named in BROWSER_PATH; none is downloaded. A figure that ends in .html needs "
            f"neither ({type(fault).__name__})"
        ) from None
