"""What a stream says: to one question, and of itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from adyton.certify import Amount, Certificate, Interval, Proof
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
        }

    def sheet(self) -> Sheet:
        said = "above" if self.above else "not above"
        rows: list[tuple[str, str]] = [("answer", f"{said} {self.threshold:,.15g}")]
        if self.value is not None and self.noise_interval is not None:
            low, high = self.noise_interval.low, self.noise_interval.high
            rows += [("value", number(self.value)), ("noise interval", ends(low, high))]
        rows += [("positives left", str(self.positives_left)), ("questions so far", str(self.feeds))]
        return Sheet(self.question, ("", ""), tuple(rows), (f"Stream {self.stream}; paid for when opened.",))


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

    def sheet(self) -> Sheet:
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
