"""What a study has spent, and what is left."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from adyton.certify.answer import Amount, Odometer, RoundedGuarantee
from adyton.certify.later import in_bits
from adyton.kernel.exact import decimal_text, decimal_units
from adyton.show import Sheet, Shown

_ODOMETER = (
    "The odometer holds at whatever moment somebody stops, by whatever rule ({}). "
    "It may be above the guarantee; then the guarantee is the better bound."
)


@dataclass(frozen=True, slots=True)
class SharedBudgetTotals:
    """What all studies of a shared budget have spent, of what; ``rows``: as its owner declared them."""

    name: str
    guarantee: RoundedGuarantee
    spent: Amount
    left: Amount
    charges: int
    rows: str

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "guarantee": self.guarantee.to_json(),
            "spent": self.spent.to_json(),
            "left": self.left.to_json(),
            "charges": self.charges,
            "rows": self.rows,
        }

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> SharedBudgetTotals:
        guarantee, spent = RoundedGuarantee.from_json(told["guarantee"]), Amount.from_json(told["spent"])
        left = Amount.from_json(told["left"], is_left=True)
        return cls(told["name"], guarantee, spent, left, told["charges"], told["rows"])

    def lines(self, verbose: bool) -> list[tuple[str, str]]:
        return [
            (f"shared budget {self.name}, for all studies", str(self.guarantee)),
            ("spent of the shared budget, by all studies", self.spent.shown(verbose)),
            ("left of the shared budget", self.left.shown(verbose)),
        ]


@dataclass(frozen=True, slots=True)
class NamedPart:
    """What one name has spent, of its share of the budget, in units; None: it has no share of its own."""

    by: str
    spent: int
    budget_share: int | None

    @property
    def left(self) -> int | None:
        return None if self.budget_share is None else max(0, self.budget_share - self.spent)

    def to_json(self) -> dict[str, Any]:
        spent, share, left = (
            None if units is None else decimal_text(units)
            for units in (self.spent, self.budget_share, self.left)
        )
        return {"spent": spent, "budget_share": share, "left": left}

    @classmethod
    def from_json(cls, by: str, told: Mapping[str, Any]) -> NamedPart:
        share = told["budget_share"]
        return cls(by, decimal_units(told["spent"]), None if share is None else decimal_units(share))


@dataclass(frozen=True, slots=True)
class Budget(Shown):
    """What a study has spent, of what; where it declares validity, also the stability, as mu0 squared.

    ``more``: how many charges like the last one would still fit; None before the first.  Stability is in
    units of 10**-18.  ``certified_queries`` is None if the stability alone decides how many.

    >>> budget = curator.budget()
    >>> budget.queries, budget.spent.share, budget.left.share
    (0, 0.0, 1.0)
    """

    spent: Amount
    left: Amount
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
    by_name: tuple[NamedPart, ...] | None = None

    @property
    def beyond(self) -> bool:
        """Whether the newest answer is already beyond what population intervals are certified for."""
        if self.stability is None or self.stability_cap is None:
            return False  # with Gaussian noise answers beyond a plan have intervals as well
        most = self.queries if self.certified_queries is None else self.certified_queries
        return self.queries > most or self.stability > self.stability_cap

    def to_json(self) -> dict[str, Any]:
        """The documented JSON object, as plain Python values."""
        shown: dict[str, Any] = {
            "spent": self.spent.to_json(),
            "left": self.left.to_json(),
            "guarantee": self.guarantee.to_json(),
            "queries": self.queries,
            "more": self.more,
            "odometer": self.odometer.to_json(),
            **({"reserve": self.reserve} if self.reserve is not None else {}),
        }
        if self.bits is not None:
            shown["transcript"] = {"bits": decimal_text(self.bits)}
        if self.shared_budget is not None:
            shown["shared_budget"] = self.shared_budget.to_json()
        if self.own is not None:
            shown["own"] = {"by": self.own.by, **self.own.to_json()}
        if self.by_name is not None:
            shown["by_name"] = {part.by: part.to_json() for part in self.by_name}
        if self.stability is None or self.stability_cap is None:
            return shown
        validity = {
            "spent": decimal_text(self.stability),
            "cap": decimal_text(self.stability_cap),
            "queries": self.certified_queries,
            "beyond": self.beyond,
        }
        return {**shown, "validity": validity}

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> Budget:
        """The budget that ``to_json`` wrote down, or that a server told."""
        validity, own, by_name = told.get("validity"), told.get("own"), told.get("by_name")
        return cls(
            spent=Amount.from_json(told["spent"]),
            left=Amount.from_json(told["left"], is_left=True),
            guarantee=RoundedGuarantee.from_json(told["guarantee"]),
            queries=told["queries"],
            more=told["more"],
            odometer=Odometer.from_json(told["odometer"]),
            stability=decimal_units(validity["spent"]) if validity else None,
            stability_cap=decimal_units(validity["cap"]) if validity else None,
            certified_queries=validity["queries"] if validity else None,
            bits=decimal_units(told["transcript"]["bits"]) if "transcript" in told else None,
            reserve=told.get("reserve"),
            shared_budget=SharedBudgetTotals.from_json(told["shared_budget"])
            if "shared_budget" in told
            else None,
            own=None if own is None else NamedPart.from_json(own["by"], own),
            by_name=None if by_name is None else tuple(NamedPart.from_json(*one) for one in by_name.items()),
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
        parts = [*([self.own] if self.own else []), *(self.by_name or ())]
        each = {part.by: part for part in parts}
        return [(f"spent by {by}", _said_of(part, self.spent, verbose)) for by, part in each.items()]


def _said_of(part: NamedPart, whole: Amount, verbose: bool) -> str:
    """Both as shares of the budget of the study."""
    spent = Amount(whole.accounting, part.spent, whole.of).shown(verbose)
    if part.budget_share is None:
        return spent
    return f"{spent}; its share is {Amount(whole.accounting, part.budget_share, whole.of).shown(verbose)}"
