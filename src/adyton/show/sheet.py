"""Tables for people: one sheet, drawn in a terminal, as plain text or in a notebook.

Numbers have the digits that matter, and intervals are never shown narrower than they are.
"""

from __future__ import annotations

import io
import math
import shutil
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.table import Table

MOST_ROWS = 60  # that are shown; exports have all
_PAPER = 110  # columns where nobody says how wide the terminal is
_WIDEST_NAME = 20  # a longer name is folded before a table counts as too wide
_FOLDED_NAME = 8  # narrower than this no name is folded; then numbers are, too, so that no digit is lost
_LONG = 1e15  # from here on nobody reads all digits
_FINEST = -12
_MOST_DIGITS = 400  # more than any float has before its point
_LOPSIDED = 20  # a side of an interval may be a twentieth longer than the other to count as alike


@dataclass(frozen=True, slots=True)
class Sheet:
    """A title, a table of texts and notes below it.

    ``details`` are notes for those who want to know more.  ``most`` rows are shown: the first ones, or of a
    history the last ones, which are the ``newest``.  ``hidden`` rows are not even made.  ``blocks`` give
    neighboring columns after the first ones a heading: its name, and theirs.  ``narrower`` says the same in
    less space; it takes the place of a table that is wider than the terminal.
    """

    title: str
    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()
    left_aligned: int = 1  # the first columns, which hold names
    details: tuple[str, ...] = ()
    hidden: int = 0
    blocks: tuple[tuple[str, tuple[str, ...]], ...] = ()
    narrower: Sheet | None = None
    most: int = MOST_ROWS
    newest: bool = False

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from rich.text import Text  # imported late: 0.03 s, needed only to look

        sheet = self.fitting(options.max_width)
        yield Text(sheet.title, style="bold")
        if sheet.rows:
            yield sheet._table(options.max_width)
        for note in sheet.all_notes():
            yield Text(note, style="dim")

    def text(self, width: int | None = None) -> str:
        from rich.console import Console

        paper = io.StringIO()
        width = width or shutil.get_terminal_size((_PAPER, 24)).columns
        Console(file=paper, width=width, no_color=True, highlight=False).print(self)
        return paper.getvalue().rstrip()

    def html(self) -> str:
        from adyton.show.notebook import page_of

        return page_of(self)

    def fitting(self, width: int) -> Sheet:
        """The widest of the layouts that fits; the narrowest where none does."""
        return self if self.narrower is None or self._width() <= width else self.narrower.fitting(width)

    def detailed(self) -> Sheet:
        """The same with its details among the notes."""
        narrower = None if self.narrower is None else self.narrower.detailed()
        return replace(self, notes=self.notes + self.details, details=(), narrower=narrower)

    def noted(self, *first: str) -> Sheet:
        """The same with more notes, before the others."""
        narrower = None if self.narrower is None else self.narrower.noted(*first)
        return replace(self, notes=first + self.notes, narrower=narrower)

    def shown(self) -> tuple[tuple[str, ...], ...]:
        return self.rows[-self.most :] if self.newest else self.rows[: self.most]

    def all_notes(self) -> tuple[str, ...]:
        hidden = self.hidden + max(0, len(self.rows) - self.most)
        rows = f"{hidden:,} {'earlier' if self.newest else 'more'} row{'' if hidden == 1 else 's'}"
        more = f"{rows} {'is' if hidden == 1 else 'are'} not shown." if self.newest else f"... and {rows}"
        return ((more,) if hidden else ()) + self.notes

    def _table(self, width: int) -> Table:
        from rich.table import Table
        from rich.text import Text

        table, roomy = Table(show_header=any(self.headers)), self._width(_FOLDED_NAME) <= width
        for i, header in enumerate(self.headers):
            named = i < self.left_aligned
            justify: Literal["left", "right"] = "left" if named else "right"
            table.add_column(Text(header), justify=justify, overflow="fold", no_wrap=roomy and not named)
        for row in self.shown():
            table.add_row(*(Text(cell) for cell in row))
        return table

    def _width(self, name: int = _WIDEST_NAME) -> int:
        from rich.cells import cell_len

        columns = zip(self.headers, *self.shown(), strict=True)
        widths = [max(map(cell_len, column)) for column in columns]
        names = (min(width, name) for width in widths[: self.left_aligned])
        return sum(names) + sum(widths[self.left_aligned :]) + 3 * len(widths) + 1


class Shown(ABC):
    """What has a sheet prints itself, in a terminal, as text and in a notebook."""

    __slots__ = ()

    @abstractmethod
    def sheet(self, *, verbose: bool = False) -> Sheet:
        """The table; ``verbose`` if somebody asked for more than most people want to see."""

    def __rich__(self) -> Sheet:
        return self.sheet()

    def __str__(self) -> str:
        return self.sheet().text()

    def _repr_html_(self) -> str:
        return self.sheet().html()

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, object]:
        """For a notebook: the table with its figure; empty if there is none, so that it takes the table."""
        from adyton.show.notebook import with_figure

        return with_figure(self)


# Digits ----------------------------------------------------------------------------------------------------


def number(value: float, precision: float = 0.0, *, step: float = 0.0) -> str:
    """``value`` with the digits that matter where ``precision`` is how far off it may be.

    ``step``: values are multiples of it, so no finer digit is shown.
    """
    return _written(value, _place(value, precision, step), ROUND_HALF_EVEN)


def ends(low: float, high: float, precision: float = 0.0, *, step: float = 0.0) -> str:
    """Both ends of an interval with the digits that matter, rounded outwards."""
    first = _written(low, _place(low, precision, step), ROUND_FLOOR)
    return f"{first} .. {_written(high, _place(high, precision, step), ROUND_CEILING)}"


def half_width(value: float, low: float, high: float, *, step: float = 0.0) -> str | None:
    """How far the ends are from ``value`` as it is shown, rounded up; None if the sides differ too much.

    What is shown as value and half-width contains the interval.
    """
    precision = (high - low) / 2
    if not all(map(math.isfinite, (value, low, high))):
        return None
    place = _place(value, precision, step)
    middle = _rounded(value, place, ROUND_HALF_EVEN)
    below, above = middle - _rounded(low, place, ROUND_FLOOR), _rounded(high, place, ROUND_CEILING) - middle
    half, lopsided = max(below, above), abs(above - below)
    if lopsided > Decimal(1).scaleb(place) and lopsided * _LOPSIDED > half:
        return None
    return _text(half, place)


def _place(value: float, precision: float, step: float) -> int:
    """The power of ten of the last digit that is shown."""
    scale = precision if precision > 0 and math.isfinite(precision) else abs(value)
    if not scale or not math.isfinite(value):
        return 0
    last = math.floor(math.log10(scale)) - 1
    if abs(value) >= _LONG:
        return last if precision > 0 else last - 4
    finest = math.floor(math.log10(step)) if step > 0 else _FINEST
    return min(0, max(_FINEST, finest, last))


def _written(value: float, place: int, rounding: str) -> str:
    return _text(_rounded(value, place, rounding), place) if math.isfinite(value) else str(value)


def _rounded(value: float, place: int, rounding: str) -> Decimal:
    exact = Decimal(repr(round(value, 9 - place) + 0.0))  # what comes after are roundings of floats
    shown = exact.quantize(Decimal(1).scaleb(place), rounding, Context(prec=_MOST_DIGITS))
    return shown if shown else abs(shown)  # not minus zero


def _text(shown: Decimal, place: int) -> str:
    if abs(shown) < Decimal(_LONG):
        return f"{shown:,f}"
    return f"{shown:.{max(0, shown.adjusted() - place)}e}".replace("e+", "e")
