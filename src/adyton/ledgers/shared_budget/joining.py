"""Whether a study may share a budget, and the ledger that it then has."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any, Protocol

from adyton.errors import InvalidRequest
from adyton.kernel.accounting import accounting_named
from adyton.kernel.ledger.base import Ledger, Mark
from adyton.kernel.privacy import Guarantee, PrivacyUnit
from adyton.ledgers.shared_budget.facts import SharedBudgetFacts
from adyton.ledgers.shared_budget.file import Entrant, SharedBudget
from adyton.ledgers.shared_budget.ledger import SharedBudgetLedger

_LONGEST = 100  # of the name of a table, within the name of its study in the shared budget


class DeclaredValidity(Protocol):
    """What a study says of its population intervals."""

    @property
    def confidence(self) -> Fraction: ...
    @property
    def stability(self) -> Fraction | None: ...
    @property
    def queries(self) -> int | None: ...
    @property
    def method(self) -> str | None: ...
    @property
    def reserve(self) -> Fraction | None: ...


class Member(Protocol):
    """What a shared budget has to know of a study; a ``Study`` is one."""

    @property
    def fingerprint(self) -> str: ...
    @property
    def accounting(self) -> str: ...
    @property
    def unit(self) -> PrivacyUnit: ...
    @property
    def budget(self) -> Guarantee: ...
    @property
    def discovery_delta(self) -> Fraction: ...
    @property
    def table(self) -> Any: ...
    @property
    def validity(self) -> DeclaredValidity | None: ...


def joined(ledger: Ledger, study: Member, path: str | Path) -> SharedBudgetLedger:
    """The ledger of ``study`` with its shared budget; InvalidRequest if they do not go together."""
    shared_budget = SharedBudget(path)
    try:
        check_member(shared_budget, study)
        return SharedBudgetLedger(ledger, shared_budget, entrant_of(study))
    except BaseException:
        shared_budget.close()
        raise


def check_shared_budget(study: Member, path: str | Path) -> None:
    """Refuses what ``joined`` would refuse, for whoever charges nothing."""
    with SharedBudget(path) as shared_budget:
        check_member(shared_budget, study)


def check_lost(study: Member, path: str | Path, copy: Ledger, kept: Mark) -> None:
    """Refuses to go on with a copy of a ledger if the shared budget does not have what the copy has lost."""
    has = copy.totals()
    with SharedBudget(path) as shared_budget:
        lost = range(has.receipts + 1, kept.receipts + 1)
        shared_budget.refuse_lost(copy.header, entrant_of(study), lost, kept.spent - has.spent)


def entrant_of(study: Member) -> Entrant:
    public = study.unit.adjacency == "replace-one"
    name = f"{study.table.name[:_LONGEST]} {study.fingerprint[:12]}"
    return Entrant(name, study.fingerprint, study.table.rows if public else None)


def check_member(shared_budget: SharedBudget, study: Member) -> None:
    """Refuses a study whose charges could not be added to those of others in this shared budget."""
    reason = _differs(shared_budget.facts, study) or _no_validity(shared_budget.facts, study)
    if reason is not None:
        raise InvalidRequest(f"this study cannot share the budget {shared_budget.name}: {reason}")
    shared_budget.refuse_other_rows(entrant_of(study))


def _differs(facts: SharedBudgetFacts, study: Member) -> str | None:
    for what, theirs, ours, why in (
        ("accounting", facts.accounting, study.accounting, "amounts under two accountings have no sum"),
        ("unit", facts.unit, study.unit.word, "a sum of losses is about one unit, and these are two"),
        (
            "adjacency",
            facts.adjacency,
            study.unit.adjacency,
            "a loss against a missing unit and one against an exchanged unit have no sum",
        ),
    ):
        if theirs != ours:
            return f"privacy.{what} is {ours} here and {theirs} in the shared budget; {why}"
    if study.discovery_delta > facts.discovery_delta:
        return (
            "privacy.discovery_delta is more than the discovery_delta of the shared budget, which is for "
            "all studies together"
        )
    rows = study.table.rows
    if rows is not None and facts.budget.delta * rows >= 1:
        return f"the delta of the shared budget must be below 1/rows = 1/{rows}"
    return None


def _no_validity(facts: SharedBudgetFacts, study: Member) -> str | None:
    """Where the budget counts for validity, levels and totals are its own: a plan of one study is none."""
    validity = study.validity
    if validity is None or not facts.counts:
        return None
    if validity.queries is not None:
        return (
            "validity.queries plans, or splits, what one study releases, and others release about these "
            "units too; remove it, or declare the rows of the shared budget unrelated if they are"
        )
    if validity.method == "rounding":
        return (
            "validity.method = 'rounding' counts the bits of its answers, which have no sum with what others "
            "pay; choose another method, or declare the rows of the shared budget unrelated if they are"
        )
    if validity.reserve is not None:
        return (
            "validity.reserve keeps units from the queries of this study, and other studies of the shared "
            "budget may read them; remove it, or declare the rows of the shared budget unrelated if they are"
        )
    if accounting_named(facts.accounting).capped and study.discovery_delta != facts.discovery_delta:
        return (
            "privacy.discovery_delta must be that of the shared budget where its studies say something of a "
            "population"
        )
    if facts.rows == "same":
        for what in ("confidence", "stability"):
            theirs, ours = getattr(facts, what), getattr(validity, what)
            if theirs != ours:
                return (
                    f"validity.{what} is {_text(ours)} here and {_text(theirs)} in the shared budget; where "
                    "all studies read the same rows it is one for all of them, fixed when the shared budget "
                    "is created"
                )
    return None


def _text(value: Fraction | None) -> str:
    return "not declared" if value is None else f"{float(value):g}"
