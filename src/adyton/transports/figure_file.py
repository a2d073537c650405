"""Where the figure of a command is written: a picture, a page, or Vega-Lite for other programs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from adyton.errors import InvalidRequest
from adyton.transports.terminal import write_file

if TYPE_CHECKING:
    from adyton.figures.drawing import Figure as Drawn

Figure = Annotated[
    Path | None,
    typer.Option(
        help="Also draw a figure (extra: plot): .svg, .png, .html, or .json for Vega-Lite.",
        metavar="FILE",
    ),
]


def check_figure(path: Path | None) -> None:
    """Before anything is computed for it, or paid for: the name, the folder and the extra."""
    if path is None:
        return
    from adyton.figures.drawing import SUFFIXES, check_extra

    if path.suffix.lower() not in SUFFIXES:
        raise InvalidRequest(f"a figure ends in {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}")
    if not path.parent.is_dir():
        raise InvalidRequest(f"{path} cannot be written: there is no such folder")
    if path.is_dir():
        raise InvalidRequest(f"{path} cannot be written: it is a folder")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise InvalidRequest(f"{path} cannot be written: it is not allowed to whoever runs this")
    check_extra()


def write_figure(drawn: Drawn, path: Path) -> None:
    """In the format that the name of the file ends in."""
    from adyton.figures.drawing import encoded

    write_file(path, encoded(drawn, path.suffix))
