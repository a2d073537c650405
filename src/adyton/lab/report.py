"""A report: numbers that were found beside the numbers that were expected, and a picture of them."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

from adyton.errors import InvalidRequest
from adyton.show import Sheet, Shown


@dataclass(frozen=True, slots=True)
class Topic:
    """What an entry of the lab is about, and the rows of docs/seeds.md that it reproduces."""

    name: str
    seeds: tuple[str, ...]
    title: str


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

    def sheet(self) -> Sheet:
        rows = tuple((f.what, _text(f.found), _text(f.expected), _verdict(f)) for f in self.findings)
        seeds = f"Seeds: {', '.join(self.topic.seeds)}. See docs/seeds.md."
        return Sheet(self.topic.title, ("what", "found", "expected", "agrees"), rows, (*self.notes, seeds))

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.topic.name,
            "title": self.topic.title,
            "seeds": list(self.topic.seeds),
            "findings": [finding.to_json() for finding in self.findings],
            "notes": list(self.notes),
            "agrees": self.agrees,
        }

    def figure(self) -> Any:
        """A plotly figure.  plotly is an extra: pip install 'adyton[plot]'."""
        try:
            plotly = import_module("plotly.graph_objects")  # half a second, and only for who wants to see
        except ImportError:
            raise InvalidRequest("a figure needs plotly: pip install 'adyton[plot]'") from None
        chart = self.chart
        lines = [
            plotly.Scatter(name=line.name, x=list(line.x), y=list(line.y), mode="lines+markers")
            for line in chart.lines
        ]
        figure = plotly.Figure(lines)
        figure.update_layout(title=self.topic.title, xaxis_title=chart.x, yaxis_title=chart.y)
        figure.update_xaxes(type="log" if "x" in chart.log else "linear")
        figure.update_yaxes(type="log" if "y" in chart.log else "linear")
        return figure


def _finite(value: float | None) -> float | str | None:
    """JSON has no infinity."""
    return value if value is None or abs(value) != float("inf") else "infinity"


def _text(value: float | None) -> str:
    return "" if value is None else f"{value:,.10g}" if float(value).is_integer() else f"{value:.6g}"


def _verdict(finding: Finding) -> str:
    return "" if finding.expected is None else "yes" if finding.agrees else "NO"
