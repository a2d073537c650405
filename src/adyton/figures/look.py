"""How every figure looks: colours for light and dark paper, fonts, axes in words.

Every colour that means something has a contrast of at least 4.5 to the paper, and none means anything alone:
lines differ by dashes and points too, the two intervals of an answer by being full and hollow.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

# Liberation Sans comes with vl-convert, and is as wide as Arial, which a browser has or replaces.
FONT = "Liberation Sans, Arial, Helvetica, sans-serif"
WIDTH, HEIGHT = 640, 360  # units of the plot, without what stands around it


@dataclass(frozen=True, slots=True)
class Theme:
    """``grid`` alone may be faint: it only guides the eye."""

    paper: str
    ink: str
    pale: str
    grid: str
    noise: str
    population: str
    strong: str
    colours: tuple[str, ...]


# Near Okabe and Ito's colours, which people with any kind of colour vision tell apart; darker, and lighter.
LIGHT = Theme(
    paper="#ffffff",
    ink="#1f2328",
    pale="#59636e",
    grid="#e4e7eb",
    noise="#00609c",
    population="#a83c00",
    strong="#b34400",
    colours=("#00609c", "#8a6000", "#00704f", "#9a3d78", "#3a6f9c", "#1f2328"),
)
DARK = Theme(
    paper="#14181d",
    ink="#f0f3f6",
    pale="#a9b4c0",
    grid="#333b45",
    noise="#6cb6ff",
    population="#ff9e5e",
    strong="#ff8f45",
    colours=("#6cb6ff", "#e8b93c", "#3fc99a", "#e59bcb", "#8fd3ff", "#f0f3f6"),
)


def config(theme: Theme) -> dict[str, Any]:
    """What all figures have in common, as Vega-Lite's ``config``."""
    text = {"labelColor": theme.ink, "titleColor": theme.ink, "labelFontSize": 12, "titleFontSize": 13}
    return {
        "aria": False,  # a picture has one name and one description; screen readers get its table
        "background": theme.paper,
        "font": FONT,
        "padding": 12,
        "view": {"stroke": None},
        "title": {
            "color": theme.ink,
            "subtitleColor": theme.pale,
            "fontSize": 16,
            "subtitleFontSize": 12,
            "anchor": "start",
            "frame": "group",
            "offset": 14,
            "subtitlePadding": 5,
        },
        "axis": {
            **text,
            "titleFontWeight": "normal",
            "titlePadding": 10,
            "domainColor": theme.pale,
            "tickColor": theme.pale,
            "gridColor": theme.grid,
            "labelLimit": 0,
            "titleLimit": 0,
            "labelFlush": False,
        },
        "legend": {
            **text,
            "orient": "top",
            "title": None,
            "labelLimit": 0,
            "symbolSize": 110,
            "rowPadding": 4,
            "columnPadding": 18,
            "offset": 10,
        },
        "text": {"color": theme.ink, "fontSize": 12},
    }
