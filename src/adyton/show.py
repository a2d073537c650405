"""Tables for people: one sheet, drawn in a terminal, as plain text or in a notebook."""

from __future__ import annotations

import html
import io
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from rich.console import Group

_MOST_ROWS = 60
_EXACT = 1e12  # up to here the digits that are shown are those of the number


@dataclass(frozen=True, slots=True)
class Sheet:
    """A title, a table of texts and notes below it."""

    title: str
    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()
    left_aligned: int = 1  # the first columns, which hold names

    def rich(self) -> Group:
        from rich.console import Group  # 0.03 s: only who looks pays for it
        from rich.table import Table
        from rich.text import Text

        table = Table(
            title=Text(self.title), title_justify="left", title_style="bold", show_header=any(self.headers)
        )
        for i, header in enumerate(self.headers):
            named = i < self.left_aligned
            justify: Literal["left", "right"] = "left" if named else "right"
            table.add_column(Text(header), justify=justify, overflow="fold" if named else "ellipsis")
        for row in self._shown():
            table.add_row(*(Text(cell) for cell in row))
        return Group(table, *(Text(note, style="dim") for note in self._all_notes()))

    def text(self) -> str:
        from rich.console import Console

        paper = io.StringIO()
        Console(file=paper, width=110, no_color=True, highlight=False).print(self.rich())
        return paper.getvalue().rstrip()

    def html(self) -> str:
        head = "".join(f"<th>{html.escape(h)}</th>" for h in self.headers)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>"
            for row in self._shown()
        )
        notes = "".join(f"<div><small>{html.escape(note)}</small></div>" for note in self._all_notes())
        title = f"<div><strong>{html.escape(self.title)}</strong></div>"
        return f"<div>{title}<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{notes}</div>"

    def _shown(self) -> tuple[tuple[str, ...], ...]:
        return self.rows[:_MOST_ROWS]

    def _all_notes(self) -> tuple[str, ...]:
        hidden = len(self.rows) - _MOST_ROWS
        return (f"... and {hidden} more rows", *self.notes) if hidden > 0 else self.notes


class Shown(ABC):
    """What has a sheet prints itself, in a terminal, as text and in a notebook."""

    __slots__ = ()

    @abstractmethod
    def sheet(self) -> Sheet: ...

    def __rich__(self) -> Group:
        return self.sheet().rich()

    def __str__(self) -> str:
        return self.sheet().text()

    def _repr_html_(self) -> str:
        return self.sheet().html()


def number(value: float, precision: float = 0.0) -> str:
    """``value`` with the digits that matter where ``precision`` is how far off it may be."""
    return f"{value:,.{_digits(value, precision)}f}" if math.isfinite(value) else str(value)


def ends(low: float, high: float, precision: float = 0.0) -> str:
    """Both ends of an interval with the digits that matter, rounded outwards."""
    return f"{_rounded(low, precision, ROUND_FLOOR)} .. {_rounded(high, precision, ROUND_CEILING)}"


def _rounded(value: float, precision: float, rounding: str) -> str:
    if not abs(value) < _EXACT:
        return number(value, precision)
    digits = _digits(value, precision)
    written = Decimal(repr(round(value, digits + 9) + 0.0))  # what comes after are roundings of floats
    return f"{written.quantize(Decimal(1).scaleb(-digits), rounding):,f}"


def _digits(value: float, precision: float) -> int:
    scale = precision if precision > 0 and math.isfinite(precision) else abs(value)
    return min(12, max(0, 1 - math.floor(math.log10(scale)))) if scale else 0
