"""How every figure looks: colours for light and dark paper, fonts, axes in words.

Every colour that means something has a contrast of at least 4.5 to the paper, and none means anything alone:
lines differ by dashes and points too, the two intervals of an answer by being full and hollow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from adyton.errors import InvalidRequest

# Liberation Sans comes with vl-convert, and is as wide as Arial, which a browser has or replaces.
FONT = "Liberation Sans, Arial, Helvetica, sans-serif"
HEIGHT = 360  # units of the plot, without what stands around it


@dataclass(frozen=True, slots=True)
class Size:
    """How much fits into a picture that is ``width`` units wide.

    ``plot`` is the width of a plot alone, ``beside_axis`` that of one with numbers at its left.  The other
    numbers are letters of a line, also in a font that is a little wider than ours.  A narrow picture is drawn
    differently, not scaled down: its letters are as large as those of a wide one.
    """

    width: int
    plot: int
    beside_axis: int
    heading: int
    notes: int
    source: int
    names: int  # in a legend, or beside an axis
    most_lines: int = 3
    narrow: bool = True


SIZES = {  # a phone, a tablet or half of a screen, a screen
    320: Size(320, 284, 200, heading=30, notes=42, source=46, names=30, most_lines=6),
    560: Size(560, 520, 448, heading=54, notes=74, source=80, names=60, most_lines=4),
    780: Size(780, 640, 640, heading=90, notes=90, source=115, names=90, narrow=False),
}
_HALF = 400  # a narrower picture has room for a few numbers along an axis alone
_LETTER, _BESIDE_NAME = 7, 48  # units of a letter in a legend, about, and of what stands around a name
WIDTHS = tuple(SIZES)
WIDEST = WIDTHS[-1]


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
    size: Size = SIZES[WIDEST]


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


def theme_of(dark: bool, width: int = WIDEST) -> Theme:
    """``width`` is one of ``WIDTHS``: nobody can have the same picture drawn in a thousand sizes."""
    if width not in SIZES:
        raise InvalidRequest(f"a figure is {', '.join(map(str, WIDTHS[:-1]))} or {WIDEST} units wide")
    return replace(DARK if dark else LIGHT, size=SIZES[width])


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
            "fontSize": 14 if theme.size.narrow else 16,
            "subtitleFontSize": 12,
            "anchor": "start",
            "frame": "bounds" if theme.size.narrow else "group",
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


def few_ticks(theme: Theme) -> dict[str, Any]:
    """Of an axis across a narrow picture."""
    return {"tickCount": 4 if theme.size.width < _HALF else 6} if theme.size.narrow else {}


def legend_of(theme: Theme, names: Sequence[str], most: int, alone: bool = False) -> dict[str, Any]:
    """As many columns as a narrow picture has room for, and long names over several lines.

    ``alone``: no axis takes room at its left.
    """
    if not theme.size.narrow:
        return {"columns": most}
    letters = theme.size.notes if alone else theme.size.names
    longest = min(letters, max(map(len, names), default=0))
    columns = max(1, min(most, theme.size.width // (_LETTER * longest + _BESIDE_NAME)))
    return {"columns": columns, **broken(letters)}


def broken(letters: int) -> dict[str, Any]:
    """Labels over several lines: between words, else after a mark that joins them, else anywhere."""
    most = letters - 1
    lines = f"(.{{1,{letters}}}(?= |$)|.{{1,{most}}}[-_/.]|.{{1,{letters}}}) ?"
    return {"labelExpr": f"split(trim(replace(datum.label, regexp('{lines}', 'gu'), '$1\\n')), '\\n')"}
