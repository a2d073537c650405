"""What private multiplicative weights (PMW) answer to one query, and what they say of a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from adyton.certify import Amount, Certificate, Interval, OpeningPreview, Proof
from adyton.documents import Document
from adyton.show import Sheet, Shown, ends, number

NO_GUARANTEE = "PMW has halted: this is its guess, which nobody compared with the data."


@dataclass(frozen=True, slots=True)
class PmwAnswer(Shown, Document):
    """A count: ``measured``, with noise, where the guess was found wrong; guessed otherwise.

    ``noise_interval``: at 95 %, for what was measured each by itself, for what was guessed all together; None
    where the run had halted, and the guess was not ``checked``.
    """

    query: str
    value: float
    share: float  # of all units
    measured: bool
    checked: bool
    noise_interval: Interval | None
    updates_left: int
    feeds: int
    pmw: int
    left_out_rows: str | None = None  # which rows the study never counts

    json_keys = "query value share measured checked noise_interval updates_left feeds pmw left_out_rows?"

    @property
    def how(self) -> str:
        return "measured" if self.measured else "guessed" if self.checked else "guessed, not compared"

    @property
    def shown(self) -> tuple[str, str]:
        """The value and its interval, for people: no count below 0."""
        value = number(max(0.0, self.value), step=1.0)
        if self.noise_interval is None:
            return value, "-"
        low, high = self.noise_interval.low, self.noise_interval.high
        return value, ends(max(0.0, low), max(0.0, high), step=1.0)

    def sheet(self, verbose: bool = False) -> Sheet:
        value, reach = self.shown
        rows: list[tuple[str, str]] = [("value", f"{value}, {'measured' if self.measured else 'guessed'}")]
        if self.noise_interval is not None:
            rows.append(("noise interval", reach))
        rows += [("updates left", str(self.updates_left)), ("queries so far", str(self.feeds))]
        notes = [self.left_out_rows] if self.left_out_rows else []
        notes += [] if self.checked else [NO_GUARANTEE]
        return Sheet(self.query, ("", ""), tuple(rows), (*notes, f"PMW {self.pmw}; paid for when opened."))


@dataclass(frozen=True, slots=True)
class PmwAnswers(Shown, Document):
    """Several answers of the same run, in their order."""

    answers: Sequence[PmwAnswer]
    budget: PmwBudget

    json_keys = (
        "answers updates_left=budget.updates_left halted=budget.halted feeds=budget.feeds head=budget.head "
        "pmw=budget.receipt.number"
    )

    def sheet(self, verbose: bool = False) -> Sheet:
        rows = tuple((str(one.feeds), one.query, one.how, *one.shown) for one in self.answers)
        left_out = {one.left_out_rows: None for one in self.answers if one.left_out_rows}
        unchecked = () if all(one.checked for one in self.answers) else (NO_GUARANTEE,)
        title = f"PMW {self.budget.receipt.number}: {self.budget.pmw}"
        headers = ("", "query", "how", "value", "noise interval")
        return Sheet(
            title, headers, rows, (*left_out, *unchecked, self.budget.state), left_aligned=3, newest=True
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PmwPreview(OpeningPreview):
    """What PMW would cost, and how well it would answer.

    ``error`` and ``independent``: about how far answers would be from the truth, as shares of all units, from
    PMW and with noise of its own for each answer or cell at the same price.  ``farthest``: a guess
    that is wrong by this share is found out, but for noise.  ``against``: why it would be refused.
    """

    pmw: str
    cells: int
    updates: int
    farthest: float
    error: float
    independent: float
    against: str | None

    json_keys = "pmw cells updates farthest error independent against " + OpeningPreview.json_keys

    def sheet(self, verbose: bool = False) -> Sheet:
        rows = (
            ("expected error, of all units", f"{self.error:.2g}"),
            ("with noise of its own for each", f"{self.independent:.2g}"),
            ("corrected where wrong by", f"{self.farthest:.2g}"),
            *self.charge_rows(),
        )
        refused = [f"Would be refused: {self.against}."] if self.against else []
        return Sheet(f"Preview: {self.pmw}", ("", ""), rows, (*refused, *self.charge_notes()))


@dataclass(frozen=True, slots=True)
class PmwBudget(Shown, Document):
    """How far a PMW run is.  The noise of its threshold is no part of it."""

    pmw: str
    queries: int
    updates: int
    updates_left: int
    feeds: int
    total: int  # units: public, or released with noise when it was opened
    head: str  # keep it elsewhere, and give it to OpenPmw.verify later
    cost: Amount
    receipt: Proof
    certificate: Certificate

    json_keys = "pmw queries updates updates_left halted feeds total head cost receipt certificate"

    @property
    def halted(self) -> bool:
        return self.updates_left < 1 or self.feeds >= self.queries

    @property
    def state(self) -> str:
        """Whether guesses are still compared with the data."""
        if self.halted:
            return "Halted: the guess still answers, free, and nothing is read for it; its cost stays spent."
        left = self.queries - self.feeds
        return f"Running; updates left: {self.updates_left:,}, queries left: {left:,}."

    def sheet(self, verbose: bool = False) -> Sheet:
        rows = (
            ("updates", f"{self.updates - self.updates_left} of {self.updates}"),
            ("queries so far", f"{self.feeds} of {self.queries}"),
            ("halted", "yes; the guess still answers, free" if self.halted else "no"),
            ("units", f"{self.total:,}"),
            ("cost, of the budget", str(self.cost)),
        )
        notes = (
            f"Receipt {self.receipt.number}, {self.receipt.digest[:12]}; head {self.head[:12]}.",
            f"Theorems: {', '.join(self.certificate.theorems)}.",
        )
        return Sheet(self.pmw, ("", ""), rows, notes)


@dataclass(frozen=True, slots=True)
class PmwList(Shown, Document):
    """Every PMW run of a study, oldest first."""

    pmw: Sequence[PmwBudget]

    def sheet(self, verbose: bool = False) -> Sheet:
        rows = tuple(
            (
                str(one.receipt.number),
                "halted" if one.halted else "running",
                f"{one.updates - one.updates_left} of {one.updates}",
                f"{one.feeds} of {one.queries}",
                str(one.cost),
            )
            for one in self.pmw
        )
        headers = ("number", "state", "updates", "queries", "cost, of the budget")
        notes = () if rows else ("No PMW run was opened yet: adyton pmw open.",)
        return Sheet("PMW", headers, rows, notes, left_aligned=2, newest=True)
