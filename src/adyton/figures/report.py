"""A report: numbers that were found beside the numbers that were expected, and a picture of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from adyton.documents import Document
from adyton.figures.curves import ChartAxis, ChartLine, curves_figure
from adyton.figures.drawing import Figure
from adyton.figures.sources import Citation
from adyton.show import Sheet, Shown

__all__ = ["Chart", "ChartLine", "LabFinding", "LabReport", "Topic"]
_EQUAL = 1e-9  # roundings of floats, and no more


@dataclass(frozen=True, slots=True)
class Topic(Document):
    """What an entry of the lab is about, and the notes and papers that it reproduces something of.

    ``story`` is one sentence: who does what to whom, before any number.
    """

    name: str
    notes: tuple[Citation, ...]
    title: str
    published: tuple[str, ...] = ()  # papers, where the lecture notes tell of them
    story: str = ""

    json_keys = "name title story sources"

    @property
    def sources(self) -> tuple[str, ...]:
        return (*self.published, *map(str, self.notes))


@dataclass(frozen=True, slots=True)
class LabFinding(Document):
    """One number; ``expected`` is what theory or the source says, None where there is nothing to agree with.

    ``share``: it is a part of a whole, or a probability, and shown in per cent.
    """

    what: str
    found: float
    expected: float | None = None
    tolerance: float = 1e-9
    share: bool = False

    json_keys = "what found=shown_found expected=shown_expected tolerance=allowed unit agrees"

    @property
    def agrees(self) -> bool:
        return (
            self.expected is None
            or self.found == self.expected
            or abs(self.found - self.expected) <= self.tolerance
        )

    @property
    def unit(self) -> Literal["share"] | None:
        return "share" if self.share else None

    @property
    def allowed(self) -> float | None:
        return None if self.expected is None else self.tolerance

    @property
    def shown_found(self) -> float | str | None:
        return _finite(self.found)

    @property
    def shown_expected(self) -> float | str | None:
        return _finite(self.expected)


@dataclass(frozen=True, slots=True)
class Chart:
    """The data of a figure; nothing is drawn before somebody looks."""

    x: str
    y: str
    lines: tuple[ChartLine, ...]
    log: tuple[str, ...] = ()  # "x", "y": the axes with a logarithmic scale
    percent: tuple[str, ...] = ()  # "x", "y": the axes of shares


@dataclass(frozen=True, slots=True)
class LabReport(Shown, Document):
    """What an entry of the lab found."""

    topic: Topic
    findings: tuple[LabFinding, ...]
    notes: tuple[str, ...]
    chart: Chart

    json_keys = (
        "name=topic.name title=topic.title story=topic.story sources=topic.sources findings notes agrees"
    )

    @property
    def agrees(self) -> bool:
        return all(finding.agrees for finding in self.findings)

    def sheet(self, verbose: bool = False) -> Sheet:
        rows = tuple(
            (f.what, _text(f, f.found), _text(f, f.expected), _tolerance(f), _verdict(f))
            for f in self.findings
        )
        sources = f"Source: {'; '.join(self.topic.sources)}; see docs/seeds.md."
        headers = ("what", "found", "expected", "tolerance", "agrees")
        return Sheet(
            self.topic.title, headers, rows, tuple(filter(None, (self.topic.story, *self.notes, sources)))
        )

    def figure(self) -> Figure:
        """Drawn with the extra ``plot``: pip install 'adyton[plot]'."""
        chart = self.chart
        return curves_figure(
            self.topic.title,
            ChartAxis(chart.x, "x" in chart.log, "x" in chart.percent),
            ChartAxis(chart.y, "y" in chart.log, "y" in chart.percent),
            chart.lines,
            "; ".join(self.topic.sources),
        )


def _finite(value: float | None) -> float | str | None:
    """JSON has no infinity."""
    return value if value is None or abs(value) != float("inf") else "infinity"


def _text(finding: LabFinding, value: float | None) -> str:
    if value is None:
        return ""
    if finding.share:
        return f"{100 * value:.4g} %"
    return f"{value:,.10g}" if float(value).is_integer() else f"{value:.6g}"


def _tolerance(finding: LabFinding) -> str:
    """What is called equal is equal but for the last digits of floats."""
    if finding.expected is None:
        return ""
    if finding.tolerance <= _EQUAL:
        return "equal"
    return f"± {100 * finding.tolerance:.2g} points" if finding.share else f"± {finding.tolerance:.2g}"


def _verdict(finding: LabFinding) -> str:
    return "" if finding.expected is None else "yes" if finding.agrees else "NO"
