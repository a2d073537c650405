"""What a study has spent, and what is left."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from adyton.certify.answer import Amount, AmountLeft, Odometer, RoundedGuarantee
from adyton.certify.later import in_bits
from adyton.documents import Document, Units, read_fields
from adyton.show import Sheet, Shown

_ODOMETER = (
    "The odometer holds at whatever moment somebody stops, by whatever rule ({}). "
    "It may be above the guarantee; then the guarantee is the better bound."
)


@dataclass(frozen=True, slots=True)
class SharedBudgetTotals(Document):
    """What all studies of a shared budget have spent, of what; ``rows``: as its owner declared them."""

    name: str
    guarantee: RoundedGuarantee
    spent: Amount
    left: AmountLeft
    charges: int
    rows: str

    def lines(self, verbose: bool) -> list[tuple[str, str]]:
        return [
            (f"shared budget {self.name}, for all studies", str(self.guarantee)),
            ("spent of the shared budget, by all studies", self.spent.shown(verbose)),
            ("left of the shared budget", self.left.shown(verbose)),
        ]


@dataclass(frozen=True, slots=True)
class SharePart(Document):
    """What one name has spent, of its share of the budget; None: it has no share of its own."""

    spent: Units
    budget_share: Units | None

    json_keys = "spent budget_share left"

    @property
    def left(self) -> Units | None:
        return None if self.budget_share is None else max(0, self.budget_share - self.spent)


@dataclass(frozen=True, slots=True)
class SessionLeft(Document):
    """What is left of one session of an agent, and when it ends."""

    left: Units | None
    queries_left: int | None
    ends_at: int


@dataclass(frozen=True, slots=True)
class NamedPart(SharePart):
    """The same of ``by``; where its sessions are capped, also of this one."""

    by: str
    session: SessionLeft | None = None

    json_keys = "by spent budget_share left session?"


@dataclass(frozen=True, slots=True)
class TranscriptBits(Document):
    """Of all answers so far, where they are rounded."""

    bits: Units


@dataclass(frozen=True, slots=True)
class ValiditySpent(Document):
    """Of the stability for which population intervals are certified, and of the number of queries."""

    spent: Units
    cap: Units
    queries: int | None
    beyond: bool


@dataclass(frozen=True, slots=True)
class Budget(Shown, Document):
    """What a study has spent, of what; where it declares validity, also the stability, as mu0 squared.

    ``more``: how many charges like the last one would still fit; None before the first.  Stability is in
    units of 10**-18.  ``certified_queries`` is None if the stability alone decides how many.

    >>> budget = curator.budget()
    >>> budget.queries, budget.spent.share, budget.left.share
    (0, 0.0, 1.0)
    """

    spent: Amount
    left: AmountLeft
    guarantee: RoundedGuarantee
    queries: int
    more: int | None
    odometer: Odometer
    stability: int | None = None
    stability_cap: int | None = None
    certified_queries: int | None = None
    bits: int | None = None  # of all answers so far, in units of 10**-18, where they are rounded
    reserve: str | None = None  # where units are kept from all queries: how many, and whether it was opened
    shared_budget: SharedBudgetTotals | None = None
    own: NamedPart | None = None  # of whoever asks a server, and for overseers those of all names
    by_name: Mapping[str, SharePart] | None = None

    json_keys = (
        "spent left guarantee queries more odometer reserve? transcript=_transcript? shared_budget? "
        "validity=_validity? own? by_name?"
    )

    @property
    def _transcript(self) -> TranscriptBits | None:
        return None if self.bits is None else TranscriptBits(self.bits)

    @property
    def _validity(self) -> ValiditySpent | None:
        if self.stability is None or self.stability_cap is None:
            return None
        return ValiditySpent(self.stability, self.stability_cap, self.certified_queries, self.beyond)

    @property
    def beyond(self) -> bool:
        """Whether the newest answer is already beyond what population intervals are certified for."""
        if self.stability is None or self.stability_cap is None:
            return False  # with Gaussian noise answers beyond a plan have intervals as well
        most = self.queries if self.certified_queries is None else self.certified_queries
        return self.queries > most or self.stability > self.stability_cap

    @classmethod
    def _from_shape(cls, shape: Any, **known: Any) -> Budget:
        told, transcript = shape._validity or None, shape._transcript or None
        return cls(
            **read_fields(cls, shape),
            stability=told and int(told.spent),
            stability_cap=told and int(told.cap),
            certified_queries=told and told.queries,
            bits=transcript and int(transcript.bits),
        )

    def sheet(self, verbose: bool = False, *, odometer: bool = False) -> Sheet:
        """The budget as a table; ``odometer`` adds the running epsilon."""
        rows: list[tuple[str, str]] = [
            ("the guarantee, whatever is asked", str(self.guarantee)),
            ("queries charged", f"{self.queries:,}"),
            ("spent of the budget", self.spent.shown(verbose)),
            ("left of the budget", self.left.shown(verbose)),
        ]
        rows += self.shared_budget.lines(verbose) if self.shared_budget is not None else []
        rows += self._lines_of_names(verbose)
        rows += [("would fit, like the last one", f"{self.more:,} more")] if self.more is not None else []
        rows += [("odometer", str(self.odometer))] if odometer else []
        rows += [("reserve", self.reserve)] if self.reserve is not None else []
        if self.stability is not None and self.stability_cap is not None:
            most = self.certified_queries
            stable = Amount("mu0²", self.stability, self.stability_cap)
            rows += [
                ("stability spent, of what is certified", stable.shown(verbose)),
                ("queries certified", "any number" if most is None else f"{most:,}"),
            ]
        rows += [("bits of all answers so far", in_bits(self.bits))] if self.bits is not None else []
        beyond = "The newest answers have no population interval: they are beyond what is certified."
        notes = [_ODOMETER.format(self.odometer.theorem)] if odometer else []
        return Sheet("Budget", ("", ""), tuple(rows), (*notes, *([beyond] if self.beyond else [])))

    def _lines_of_names(self, verbose: bool) -> list[tuple[str, str]]:
        """Of names, where a server told them; one's own is not told twice."""
        each = {**({self.own.by: self.own} if self.own else {}), **(self.by_name or {})}
        return [(f"spent by {by}", _said_of(part, self.spent, verbose)) for by, part in each.items()]


def _said_of(part: SharePart, whole: Amount, verbose: bool) -> str:
    """Both as shares of the budget of the study."""
    spent = Amount(whole.accounting, part.spent, whole.of).shown(verbose)
    if part.budget_share is None:
        return spent
    return f"{spent}; its share is {Amount(whole.accounting, part.budget_share, whole.of).shown(verbose)}"
