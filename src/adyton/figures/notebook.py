"""What a notebook shows of an answer or a synthetic table: the table as before, and its figure.

A front end that draws Vega-Lite may do so; the others show the table with the figure as SVG below it.
Without the extra ``plot``, in a terminal, and where drawing fails, nothing is added to the table.
"""

from __future__ import annotations

import sys
from typing import Any

from adyton.errors import InvalidRequest
from adyton.figures import drawing
from adyton.figures.drawing import VEGA_LITE, Figure
from adyton.show import Shown

_STYLE = "<style>.adyton-figure svg{max-width:100%;height:auto}</style>"


def bundle(shown: Shown) -> dict[str, Any]:
    """Contents by their types; empty if there is no figure of it, or nobody to see one."""
    if not _sees_pictures():
        return {}
    try:
        drawing.check_extra()
        figure = _figure_of(shown)
        if figure is None:
            return {}
        picture = drawing.svg(figure)
        spec = figure.vega_lite()
    except InvalidRequest:
        return {}
    table = shown._repr_html_()
    return {
        VEGA_LITE: spec,
        "text/html": f"{table}{_fitting(picture)}",
        "image/svg+xml": picture,
        "text/plain": str(shown),
    }


def _fitting(picture: str) -> str:
    """No wider than where it is shown."""
    return f'<div class="adyton-figure">{_STYLE}{picture}</div>'


def _figure_of(shown: Shown) -> Figure | None:
    from adyton.certify import Answer
    from adyton.figures.report import LabReport
    from adyton.synthesis.result import Synthesis

    match shown:
        case Answer():
            from adyton.figures.answers import figure_of

            return figure_of(shown) if len(shown) and shown.rows.values else None
        case LabReport():
            return shown.figure()
        case Synthesis():
            from adyton.figures.synthesis import figure

            return figure(shown)
    return None


def _sees_pictures() -> bool:
    """IPython in a terminal asks for everything and shows text."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    types = getattr(getattr(shell, "display_formatter", None), "active_types", None)
    return types != ["text/plain"]
