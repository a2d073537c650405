"""Reads an SVG back: where its marks are, on the axes that it shows, and every text in it."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from dataclasses import dataclass
from xml.etree.ElementTree import Element

_MOVE = re.compile(r"translate\(([^,)]+),([^)]+)\)")
_BOX = re.compile(r"^M([-\d.e]+),([-\d.e]+)h([-\d.e]+)v([-\d.e]+)h[-\d.e]+Z$")
_PAIR = re.compile(r"[ML]?(-?[\d.e-]+),(-?[\d.e-]+)")


@dataclass(frozen=True)
class Mark:
    """One shape: its place, its size if it is a box, and its colours."""

    kind: str  # rect, symbol, line, text
    x: float
    y: float
    width: float
    height: float
    fill: str | None
    stroke: str | None
    text: str
    path: str


@dataclass(frozen=True)
class Scale:
    """From places to numbers, as the labels of an axis say."""

    places: tuple[float, ...]
    numbers: tuple[float, ...]
    log: bool = False

    def number(self, place: float) -> float:
        first, last = self.places[0], self.places[-1]
        a, b = (math.log(n) if self.log else n for n in (self.numbers[0], self.numbers[-1]))
        found = a + (place - first) / (last - first) * (b - a)
        return math.exp(found) if self.log else found

    @property
    def pixel(self) -> float:
        """How much one unit of the drawing is worth, on a linear axis."""
        return abs(self.number(1.0) - self.number(0.0))


class Drawn:
    """An SVG as it would be seen."""

    def __init__(self, svg: str) -> None:
        self.root = ElementTree.fromstring(svg)
        self.parents = {child: parent for parent in self.root.iter() for child in parent}

    def elements(self) -> Iterator[Element]:
        return self.root.iter()

    def texts(self) -> list[str]:
        return ["".join(one.itertext()) for one in self.root.iter() if _tag(one) == "text"]

    def words(self, tag: str) -> list[str]:
        return ["".join(one.itertext()) for one in self.root if _tag(one) == tag]

    def marks(self, kind: str) -> list[Mark]:
        """The marks of the data, without axes, legends and titles."""
        return [
            self._mark(kind, one)
            for group in self._groups(f"mark-{kind} role-mark")
            for one in group
            if _tag(one) in ("path", "text", "line")
        ]

    def scale(self, side: str, panel: int = 0, log: bool = False) -> Scale:
        """``x`` or ``y``: from the labels of the numbered axis and their places."""
        found = []
        for axis in self._groups("mark-text role-axis-label"):
            labels = [(self._place(one), _number("".join(one.itertext()))) for one in axis]
            if len(labels) > 1 and all(number is not None for _, number in labels):
                (x0, y0), (x1, y1) = labels[0][0], labels[-1][0]
                if (side == "x") == (abs(x1 - x0) > abs(y1 - y0)):
                    found.append((axis, labels))
        axis, labels = found[panel]
        ticks = next(g for g in self.parents[axis] if "role-axis-tick" in g.get("class", ""))
        places = [self._place(tick)[0 if side == "x" else 1] for tick in ticks]
        return Scale(tuple(places), tuple(float(n) for _, n in labels if n is not None), log)

    def _groups(self, name: str) -> list[Element]:
        return [one for one in self.root.iter() if name in one.get("class", "")]

    def _place(self, element: Element) -> tuple[float, float]:
        x = y = 0.0
        at: Element | None = element
        while at is not None:
            moved = _MOVE.match(at.get("transform", ""))
            if moved:
                x, y = x + float(moved[1]), y + float(moved[2])
            at = self.parents.get(at)
        return x, y

    def _mark(self, kind: str, one: Element) -> Mark:
        x, y = self._place(one)
        width = height = 0.0
        path = one.get("d", "")
        if kind == "rect":
            box = _BOX.match(path)
            assert box is not None, path
            x, y, width, height = x + float(box[1]), y + float(box[2]), float(box[3]), float(box[4])
        return Mark(
            kind, x, y, width, height, one.get("fill"), one.get("stroke"), "".join(one.itertext()), path
        )

    def vertices(self, line: Mark) -> list[tuple[float, float]]:
        return [(line.x + float(a), line.y + float(b)) for a, b in _PAIR.findall(line.path)]


def _tag(element: Element) -> str:
    return element.tag.rpartition("}")[2]


def _number(text: str) -> float | None:
    plain = text.replace(",", "").replace("−", "-").rstrip("%")
    try:
        return float(plain) / (100 if text.endswith("%") else 1)
    except ValueError:
        return None
