"""A report: numbers that were found beside the numbers that were expected, and a picture of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from adyton.figures.look import Axis, Curve, figure
from adyton.figures.sources import Notes
from adyton.show import Sheet, Shown


@dataclass(frozen=True, slots=True)
class Topic:
    """What an entry of the lab is about, and the notes and papers that it reproduces something of."""

    name: str
    notes: tuple[Notes, ...]
    title: str
    published: tuple[str, ...] = ()  # papers, where the lecture notes tell of them

    @property
    def sources(self) -> tuple[str, ...]:
        return (*self.published, *map(str, self.notes))


@dataclass(frozen=True, slots=True)
class Finding:
    """One number; ``expected`` is what theory or the source says, None where chance decides."""

    what: str
    found: float
    expected: float | None = None
    tolerance: float = 1e-9

    @property
    def agrees(self) -> bool:
        return (
            self.expected is None
            or self.found == self.expected
            or abs(self.found - self.expected) <= self.tolerance
        )

    def to_json(self) -> dict[str, object]:
        return {
            "what": self.what,
            "found": _finite(self.found),
            "expected": _finite(self.expected),
            "tolerance": self.tolerance,
            "agrees": self.agrees,
        }


@dataclass(frozen=True, slots=True)
class Line:
    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Chart:
    """The data of a figure; nothing is drawn before somebody looks."""

    x: str
    y: str
    lines: tuple[Line, ...]
    log: tuple[str, ...] = ()  # "x", "y": the axes with a logarithmic scale


@dataclass(frozen=True, slots=True)
class Report(Shown):
    """What an entry of the lab found."""

    topic: Topic
    findings: tuple[Finding, ...]
    notes: tuple[str, ...]
    chart: Chart

    @property
    def agrees(self) -> bool:
        return all(finding.agrees for finding in self.findings)

    def sheet(self, verbose: bool = False) -> Sheet:
        rows = tuple((f.what, _text(f.found), _text(f.expected), _verdict(f)) for f in self.findings)
        sources = f"Source: {'; '.join(self.topic.sources)}; see docs/seeds.md."
        return Sheet(self.topic.title, ("what", "found", "expected", "agrees"), rows, (*self.notes, sources))

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.topic.name,
            "title": self.topic.title,
            "sources": list(self.topic.sources),
            "findings": [finding.to_json() for finding in self.findings],
            "notes": list(self.notes),
            "agrees": self.agrees,
        }

    def figure(self) -> Any:
        """A plotly figure.  plotly is an extra: pip install 'adyton[plot]'."""
        chart = self.chart
        return figure(
            self.topic.title,
            Axis(chart.x, "x" in chart.log),
            Axis(chart.y, "y" in chart.log),
            [Curve(line.name, line.x, line.y) for line in chart.lines],
            "; ".join(self.topic.sources),
        )


def _finite(value: float | None) -> float | str | None:
    """JSON has no infinity."""
    return value if value is None or abs(value) != float("inf") else "infinity"


def _text(value: float | None) -> str:
    return "" if value is None else f"{value:,.10g}" if float(value).is_integer() else f"{value:.6g}"


def _verdict(finding: Finding) -> str:
    return "" if finding.expected is None else "yes" if finding.agrees else "NO"
