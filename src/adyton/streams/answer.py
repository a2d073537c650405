"""What a stream says: to one question, and of itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from adyton.certify import Amount, Certificate, Interval, OpeningPreview, Proof
from adyton.show import Sheet, Shown, ends, number


@dataclass(frozen=True, slots=True)
class StreamAnswer(Shown):
    """``above`` is noisy; ``value`` and its noise interval exist only in a numeric stream, if ``above``."""

    question: str
    threshold: float
    above: bool
    value: float | None
    noise_interval: Interval | None
    positives_left: int
    feeds: int
    stream: int
    left_out_rows: str | None = None  # which rows the study never counts

    def to_json(self) -> dict[str, Any]:
        return {
            "question": self.question,
            "threshold": self.threshold,
            "above": self.above,
            "value": self.value,
            "noise_interval": self.noise_interval.to_json() if self.noise_interval else None,
            "positives_left": self.positives_left,
            "feeds": self.feeds,
            "stream": self.stream,
            **({"left_out_rows": self.left_out_rows} if self.left_out_rows else {}),
        }

    def sheet(self, verbose: bool = False) -> Sheet:
        said = "above" if self.above else "not above"
        rows: list[tuple[str, str]] = [("answer", f"{said} {self.threshold:,.15g}")]
        if self.value is not None and self.noise_interval is not None:
            low, high = self.noise_interval.low, self.noise_interval.high
            shown = number(max(0.0, self.value), step=1.0)
            rows += [("value", shown), ("noise interval", ends(max(0.0, low), max(0.0, high), step=1.0))]
        rows += [("positives left", str(self.positives_left)), ("questions so far", str(self.feeds))]
        left_out = (self.left_out_rows,) if self.left_out_rows else ()
        notes = (*left_out, f"Stream {self.stream}; paid for when opened.")
        return Sheet(self.question, ("", ""), tuple(rows), notes)


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamPreview(OpeningPreview):
    """What a stream would cost."""

    stream: str

    def to_json(self) -> dict[str, Any]:
        return {"stream": self.stream, **self.charge_json()}

    def sheet(self, verbose: bool = False) -> Sheet:
        return Sheet(f"Preview: {self.stream}", ("", ""), self.charge_rows(), self.charge_notes())


@dataclass(frozen=True, slots=True)
class StreamStatement(Shown):
    """How far a stream is.  The noise of its threshold is no part of it."""

    stream: str
    positives: int
    positives_left: int
    feeds: int
    head: str  # keep it elsewhere, and give it to Stream.verify later
    cost: Amount
    receipt: Proof
    certificate: Certificate

    @property
    def halted(self) -> bool:
        return self.positives_left < 1

    def to_json(self) -> dict[str, Any]:
        return {
            "stream": self.stream,
            "positives": self.positives,
            "positives_left": self.positives_left,
            "halted": self.halted,
            "feeds": self.feeds,
            "head": self.head,
            "cost": self.cost.to_json(),
            "receipt": self.receipt.to_json(),
            "certificate": self.certificate.to_json(),
        }

    def sheet(self, verbose: bool = False) -> Sheet:
        rows = (
            ("positives", f"{self.positives - self.positives_left} of {self.positives}"),
            ("questions so far", str(self.feeds)),
            ("halted", "yes" if self.halted else "no"),
            ("cost, of the limit", str(self.cost)),
        )
        notes = (
            f"Receipt {self.receipt.number}, {self.receipt.digest[:12]}; head {self.head[:12]}.",
            f"Theorems: {', '.join(self.certificate.theorems)}.",
        )
        return Sheet(self.stream, ("", ""), rows, notes)
