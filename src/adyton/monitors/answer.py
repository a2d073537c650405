"""What a monitor says: to one query, to several, and of itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from adyton.certify import Amount, Certificate, Interval, OpeningPreview, Proof
from adyton.documents import Document
from adyton.monitors.compared import ComparedAs
from adyton.show import Sheet, Shown, ends, number

_EXCESS = "Excess: the sum of what each row has above the threshold; the mean has it divided by their number."
_LAST = "This was the last positive that the price paid for: the monitor has halted and answers no more."
PREVIEWED = 100  # queries, for which a preview says how far from a threshold answers are right


@dataclass(frozen=True, slots=True)
class MonitorAnswer(Shown, Document):
    """``above`` is noisy; ``value`` and its noise interval exist only in a numeric monitor, if ``above``.

    Of a mean the value is the excess: the sum of what each row has above the threshold.
    """

    query: str
    threshold: float
    above: bool
    value: float | None
    noise_interval: Interval | None
    positives_left: int
    feeds: int
    monitor: int
    left_out_rows: str | None = None  # which rows the study never counts
    compared_as: ComparedAs = "count"

    json_keys = (
        "query compared_as threshold above value noise_interval positives_left feeds monitor left_out_rows?"
    )

    @property
    def said(self) -> str:
        return f"{'above' if self.above else 'not above'} {self.threshold:,.15g}"

    @property
    def shown_value(self) -> tuple[str, str]:
        """The value and its interval, for people: no count below 0."""
        if self.value is None or self.noise_interval is None:
            return "-", "-"
        low, high = self.noise_interval.low, self.noise_interval.high
        if self.compared_as == "count":
            shown = number(max(0.0, self.value), step=1.0)
            return shown, ends(max(0.0, low), max(0.0, high), step=1.0)
        half = (high - low) / 2
        return number(self.value, half), ends(low, high, half)

    def notes(self) -> tuple[str, ...]:
        left_out = (self.left_out_rows,) if self.left_out_rows else ()
        excess = (_EXCESS,) if self.value is not None and self.compared_as == "mean" else ()
        halted = (_LAST,) if self.above and not self.positives_left else ()
        return *left_out, *excess, *halted, f"Monitor {self.monitor}; paid for when opened."

    def sheet(self, verbose: bool = False) -> Sheet:
        rows: list[tuple[str, str]] = [("answer", self.said)]
        if self.value is not None:
            shown, reach = self.shown_value
            rows += [("excess" if self.compared_as == "mean" else "value", shown), ("noise interval", reach)]
        rows += [("positives left", str(self.positives_left)), ("queries so far", str(self.feeds))]
        return Sheet(self.query, ("", ""), tuple(rows), self.notes())


@dataclass(frozen=True, slots=True)
class MonitorAnswers(Shown, Document):
    """Several answers of one monitor, in their order; ``not_asked``: how many queries it halted before."""

    answers: Sequence[MonitorAnswer]
    budget: MonitorBudget
    not_asked: int = 0

    json_keys = (
        "answers not_asked positives_left=budget.positives_left halted=budget.halted closed=budget.closed "
        "feeds=budget.feeds head=budget.head monitor=budget.number"
    )

    def sheet(self, verbose: bool = False) -> Sheet:
        numeric = any(answer.value is not None for answer in self.answers)
        rows = [
            (str(one.feeds), one.query, one.said, *(one.shown_value if numeric else ()))
            for one in self.answers
        ]
        headers = ("", "query", "answer", *(("value", "noise interval") if numeric else ()))
        excess = numeric and any(one.compared_as == "mean" and one.above for one in self.answers)
        left_out = {one.left_out_rows: None for one in self.answers if one.left_out_rows}
        notes = [*left_out, *([_EXCESS] if excess else []), self.budget.state]
        if self.not_asked:
            many, them = ("query was", "it") if self.not_asked == 1 else ("queries were", "them")
            notes.append(f"{self.not_asked} {many} not asked: nothing was read for {them}.")
        title = f"Monitor {self.budget.number}: {self.budget.monitor}"
        return Sheet(title, headers, tuple(rows), tuple(notes), left_aligned=2, newest=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class MonitorPreview(OpeningPreview):
    """What a monitor would cost.

    ``right_beyond``: with probability 95 % a hundred answers are all right for numbers that are farther from
    their thresholds than so many units can move them.
    """

    monitor: str
    right_beyond: float

    json_keys = "monitor right_beyond " + OpeningPreview.json_keys

    def sheet(self, verbose: bool = False) -> Sheet:
        rows = (("right beyond, in units", number(self.right_beyond, step=1.0)), *self.charge_rows())
        beyond = (
            f"{PREVIEWED} answers are all right, with probability 95 %, for numbers farther from their "
            "thresholds than so many units can move them.",
        )
        return Sheet(f"Preview: {self.monitor}", ("", ""), rows, beyond + self.charge_notes())


@dataclass(frozen=True, slots=True)
class MonitorBudget(Shown, Document):
    """How far a monitor is.  The noise of its threshold is no part of it."""

    monitor: str
    number: int
    kind: str
    positives: int
    positives_left: int
    feeds: int
    closed: bool
    head: str  # keep it elsewhere, and give it to OpenMonitor.verify later
    cost: Amount
    receipt: Proof
    certificate: Certificate

    json_keys = (
        "monitor number kind positives positives_left halted closed feeds head cost receipt certificate"
    )

    @property
    def halted(self) -> bool:
        return self.positives_left < 1

    @property
    def short_state(self) -> str:
        return "halted" if self.halted else "closed" if self.closed else "running"

    @property
    def state(self) -> str:
        """Whether it still answers, and if not, why."""
        found = self.positives - self.positives_left
        if self.halted:
            return (
                f"Halted: it was paid for {self.positives} answers above their threshold, and gave them. "
                "It answers no more; its cost stays spent. For further queries open another monitor."
            )
        if self.closed:
            return (
                f"Closed, after {found} of {self.positives} answers above their threshold: it answers no "
                "more, and its cost stays spent."
            )
        return (
            f"Running: after {self.positives_left} more of its answers above their threshold it halts. "
            "Answers that are not above are free, however many there are."
        )

    def sheet(self, verbose: bool = False) -> Sheet:
        rows = (
            ("number", str(self.number)),
            ("positives", f"{self.positives - self.positives_left} of {self.positives}"),
            ("queries so far", str(self.feeds)),
            ("halted", "yes" if self.halted else "no"),
            *([("closed", "yes")] if self.closed else []),
            ("cost, of the budget", str(self.cost)),
        )
        notes = (
            self.state,
            f"Receipt {self.receipt.number}, {self.receipt.digest[:12]}; head {self.head[:12]}.",
            f"Theorems: {', '.join(self.certificate.theorems)}.",
        )
        return Sheet(self.monitor, ("", ""), rows, notes)


@dataclass(frozen=True, slots=True)
class MonitorList(Shown, Document):
    """Every monitor of a study, oldest first."""

    monitors: Sequence[MonitorBudget]

    def sheet(self, verbose: bool = False) -> Sheet:
        rows = tuple(
            (
                str(one.number),
                one.kind + (", with values" if " WITH VALUES " in one.monitor else ""),
                one.short_state,
                f"{one.positives - one.positives_left} of {one.positives}",
                str(one.feeds),
                str(one.cost),
            )
            for one in self.monitors
        )
        headers = ("number", "of", "state", "positives", "queries", "cost, of the budget")
        notes = () if rows else ("No monitor was opened yet: adyton monitor open.",)
        return Sheet("Monitors", headers, rows, notes, left_aligned=3, newest=True)
