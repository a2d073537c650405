"""What a shared budget says, once: the budget for all studies together, who is protected, whose rows."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal, get_args

from adyton.errors import InvalidRequest, LedgerCorrupt
from adyton.kernel.accounting import accounting_named
from adyton.kernel.exact import Number, keep_exactly
from adyton.kernel.ledger.links import ACCOUNTING_NAMES
from adyton.kernel.privacy import ADJACENCIES, Adjacency, Guarantee

Unit = Literal["person", "row"]
Rows = Literal["same", "related", "unrelated"]
_SAID = (
    "epsilon",
    "delta",
    "accounting",
    "unit",
    "adjacency",
    "rows",
    "discovery_delta",
    "confidence",
    "stability",
)
_KIND = "shared_budget"


@dataclass(frozen=True, slots=True)
class SharedBudgetFacts:
    """The facts of a shared budget; its fingerprint is that of all of them.

    ``rows`` is the owner's word on what the studies read.  "same": the same rows, or the same persons.
    "related": data of the same persons, who need not be the same in each.  "unrelated": what is released
    about the rows of one study says nothing about the rows of another.
    """

    budget: Guarantee
    accounting: str = "gdp"
    unit: Unit = "person"
    adjacency: Adjacency = "replace-one"
    rows: Rows = "related"
    discovery_delta: Fraction = Fraction(0)
    confidence: Fraction | None = None
    stability: Fraction | None = None

    if TYPE_CHECKING:

        def __init__(
            self,
            budget: Guarantee,
            accounting: str = "gdp",
            unit: Unit = "person",
            adjacency: Adjacency = "replace-one",
            rows: Rows = "related",
            discovery_delta: Number = 0,
            confidence: Number | None = None,
            stability: Number | None = None,
        ) -> None: ...

    def __post_init__(self) -> None:
        keep_exactly(self, "discovery_delta", "confidence", "stability")
        for value, what, known in (
            (self.accounting, "accounting", ACCOUNTING_NAMES),
            (self.unit, "unit", get_args(Unit)),
            (self.adjacency, "adjacency", ADJACENCIES),
            (self.rows, "rows", get_args(Rows)),
        ):
            if value not in known:
                raise InvalidRequest(f"{what} of a shared budget is one of {', '.join(known)}, not {value!r}")
        if not 0 <= self.discovery_delta <= self.budget.delta:
            raise InvalidRequest(
                "discovery_delta of a shared budget is a part of its delta: at least 0, at most delta"
            )
        if self.confidence is not None and not 0 < self.confidence < 1:
            raise InvalidRequest("confidence of a shared budget must be above 0 and below 1, e.g. 0.95")
        if self.confidence is not None and self.rows != "same":
            raise InvalidRequest(
                "confidence is fixed by a shared budget of the same rows; others leave it to studies"
            )
        if self.stability is not None and (
            not accounting_named(self.accounting).capped or self.confidence is None
        ):
            raise InvalidRequest(
                "stability goes with a shared budget of the same rows, pure accounting and a confidence"
            )
        if self.allowed < 1:
            raise InvalidRequest("epsilon of a shared budget is too small: nothing could ever be asked")

    @property
    def allowed(self) -> int:
        """All that may ever be spent by all studies together, in whole units of the accounting."""
        noise = Guarantee(self.budget.epsilon, self.budget.delta - self.discovery_delta)
        return accounting_named(self.accounting).allowed(noise)

    @property
    def counts(self) -> bool:
        """Whether validity counts what all studies of the shared budget released."""
        return self.rows != "unrelated"

    @property
    def fingerprint(self) -> str:
        """A digest of all that gives the shared budget its meaning."""
        return hashlib.sha256(json.dumps([_KIND, 1, self.named]).encode()).hexdigest()

    @property
    def named(self) -> dict[str, str]:
        """Each fact as text, by its name."""
        budget = self.budget
        values = (budget.epsilon, budget.delta, self.accounting, self.unit, self.adjacency, self.rows)
        more = (self.discovery_delta, self.confidence, self.stability)
        return {name: str(value) for name, value in zip(_SAID, (*values, *more), strict=True)}

    @classmethod
    def of(cls, named: Mapping[str, str] | None, name: str) -> SharedBudgetFacts:
        """From the facts that lie in the file ``name``; nothing there is believed before it was compared."""
        if named is None or set(named) != set(_SAID):
            raise InvalidRequest(
                f"{name} is the ledger of a study or of a holdout, not a shared budget; make a shared "
                "budget with: adyton shared-budget create"
            )
        try:
            return cls(
                Guarantee(Fraction(named["epsilon"]), Fraction(named["delta"])),
                named["accounting"],
                named["unit"],  # type: ignore[arg-type]  # checked by the class, as the next two
                named["adjacency"],  # type: ignore[arg-type]
                named["rows"],  # type: ignore[arg-type]
                Fraction(named["discovery_delta"]),
                *(None if named[key] == "None" else Fraction(named[key]) for key in _SAID[-2:]),
            )
        except (ValueError, ZeroDivisionError, InvalidRequest):
            raise LedgerCorrupt(f"the facts of the shared budget {name} are damaged") from None
