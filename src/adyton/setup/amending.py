"""A study that was charged under wrong facts goes on under corrected ones; nothing is given back.

First the old ledger is closed for good, durably, and says which ledger comes after it; then the new one
appears, whole, with a first receipt that carries everything spent.  So at no moment can both be asked.  After
a crash in between neither can: the same command again makes the new one, with the salt that the old one wrote
down.
"""

from __future__ import annotations

import json
import os
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from adyton.errors import InvalidRequest, LedgerCorrupt
from adyton.kernel.ledger import Header, Ledger, Order, Receipt, SqliteLedger
from adyton.kernel.ledger.base import next_receipt, now, same_budget
from adyton.kernel.ledger.links import fresh_secret
from adyton.kernel.ledger.stored.sqlite import make_file
from adyton.kernel.ledger.subjects import ReceiptSubject
from adyton.kernel.ledger.validity import FinalCost
from adyton.ledgers.checkpoint import checkpoint_at
from adyton.ledgers.checkpointed import CheckpointedLedger
from adyton.ledgers.shared_budget import SharedBudget, SharedBudgetLedger
from adyton.ledgers.shared_budget.joining import check_member, entrant_of
from adyton.ledgers.shared_budget.ledger import began_in
from adyton.planning.learned import radius_in_full
from adyton.population.reserve import opening_in, refuse_where_lost
from adyton.study import Study, named_facts

_MAY_CHANGE = ("table.", "columns.", "public.")
_OF_A_COLUMN = ("kind", "values", "low", "high", "step", "missing")  # or a number, for what has no name


@dataclass(frozen=True, slots=True)
class Amended:
    """The first receipt of the new ledger, and the facts that differ: what they were, and are."""

    first: Receipt
    changed: dict[str, tuple[str, str]]


def amend(old: Study, new: Study) -> Amended:
    """Close the ledger of ``old`` and begin that of ``new`` with all that was spent.

    Claim:    all answers before and after keep the privacy budget together, and population intervals hold for
              all answers of the old study at once, and for all of the new one.
    Assumes:  a unit of the old data is one unit of the new data, and the reverse.
    Source:   derived here.  Theorem: AMENDED-STUDY.
    """
    if old.parts > 1:
        raise InvalidRequest("a study that splits its units cannot be amended: its parts would change")
    if old.grid is not None or new.grid is not None:
        raise InvalidRequest(
            "a study that rounds its answers cannot be amended: bits count under the facts that they were "
            "released under"
        )
    changed = _changes(old, new)
    if old.reserve is not None and old.unit.person is None and "table.rows" in changed:
        raise InvalidRequest(
            "table.rows cannot be amended in a study that keeps rows in a reserve: they are told apart by "
            "their position, and queries may have read those that would be in it now"
        )
    place = _place(old, new)
    with closing(_opened(old)) as ledger:
        if not ledger.count():
            raise InvalidRequest("nothing was charged yet: simply change the study file")
        if not same_budget(ledger.header.budget, new.allowed):
            raise InvalidRequest("the budget of the new study is not that of the old one")
        checkpointed = (
            CheckpointedLedger(ledger, checkpoint_at(old.checkpoint)) if old.checkpoint is not None else None
        )
        (checkpointed or ledger).verify()
        if (opened := opening_in(ledger)) is not None:
            raise InvalidRequest(
                f"the reserve of this study was opened (receipt {opened.number}), and an amended one could "
                "open it again: it cannot be amended"
            )
        if old.reserve is not None:
            refuse_where_lost(ledger)
        _check_shared_budgets(checkpointed or ledger, old, new)
        if not ledger.closing():
            _check_free(new)
        reasons = ledger.close_for_good(lambda _: _reason(new, place))
        if checkpointed is not None:
            checkpointed.advance()
        header, first = _beginning(ledger, new, place, reasons[0])
        _begin(new, header, first, made_before=len(reasons) > 1)
        ledger.carried_out(first.digest)
    return Amended(first, changed)


def check_amended(old: Study, new: Study) -> None:
    """LedgerCorrupt unless the new ledger begins with all that the old one, intact and closed, has spent."""
    place = _place(old, new)
    with closing(_opened(old)) as ledger, closing(_opened(new)) as later:
        ledger.verify()
        reasons = ledger.closing()
        first = next(later.receipts(), None)
        if not reasons or first is None or first != _beginning(ledger, new, place, reasons[0])[1]:
            raise LedgerCorrupt("the new ledger does not begin with what the old one has spent")


def _changes(old: Study, new: Study) -> dict[str, tuple[str, str]]:
    """What differs, if all of it may: see AMENDED-STUDY for why nothing else is covered."""
    before, after = named_facts(old), named_facts(new)
    names = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    changed = {name: (before.get(name, "nothing"), after.get(name, "nothing")) for name in names}
    if not changed:
        raise InvalidRequest("both study files say the same: there is nothing to amend")
    for name, (was, is_now) in changed.items():
        if not _may_change(name):
            raise InvalidRequest(
                f"{name} cannot be amended ({was} before, {is_now} now): who is protected, how much may be "
                "learned and what intervals rest on stay as they were; start a new study on other data"
            )
    planned = new.validity is not None and new.validity.tolerance is not None
    if planned and "table.rows" in changed:
        raise InvalidRequest(
            "table.rows cannot be amended in a study that plans its queries (validity.tolerance): its "
            "noise and its widths were planned for the old number"
        )
    return changed


def _check_shared_budgets(ledger: Ledger, old: Study, new: Study) -> None:
    """The corrected study goes on in the shared budget in which all that the old one spent is written."""
    for path in {path.absolute() for path in (old.shared_budget, new.shared_budget) if path is not None}:
        with closing(SharedBudget(path)) as shared_budget:
            check_member(shared_budget, new)
            SharedBudgetLedger(ledger, shared_budget, entrant_of(old)).verify()


def _may_change(name: str) -> bool:
    if name.startswith("private."):  # what a table is called may have any letters: the last word decides
        *_, last = name.split(".")
        return last == "rows" or (".columns." in name and (last in _OF_A_COLUMN or last.isdecimal()))
    return name.startswith(_MAY_CHANGE)


def _place(old: Study, new: Study) -> str:
    """The new ledger as seen from the old one: both may be moved together."""
    if not isinstance(old.ledger, Path) or not isinstance(new.ledger, Path):
        raise InvalidRequest("only a study with a ledger in a file can be amended")
    if old.ledger.absolute() == new.ledger.absolute():
        raise InvalidRequest("give the corrected study file a name of its own: it gets a ledger of its own")
    if old.checkpoint is not None and _whole(old.checkpoint) == _whole(new.checkpoint):
        raise InvalidRequest("give the corrected study a checkpoint of its own: the old one stays in force")
    return os.path.relpath(new.ledger.absolute(), old.ledger.absolute().parent)


def _whole(place: Path | str | None) -> Path | str | None:
    return place.absolute() if isinstance(place, Path) else place


def _opened(study: Study) -> SqliteLedger:
    assert isinstance(study.ledger, Path)
    if not study.ledger.exists():
        raise InvalidRequest(f"there is no ledger {study.ledger.name}: nothing was charged yet")
    return SqliteLedger.open(
        study.ledger,
        study=study.fingerprint,
        accounting=study.accounting,
        budget=study.allowed,
        facts=named_facts(study),
    )


def _reason(new: Study, place: str) -> str:
    drawn = {"salt": fresh_secret(), "secret": fresh_secret()}
    return json.dumps({"study": new.fingerprint, "ledger": place, **drawn, "at": now()})


def _beginning(ledger: SqliteLedger, new: Study, place: str, reason: str) -> tuple[Header, Receipt]:
    """The header and the first receipt of the ledger that comes after a closed one."""
    why, totals = json.loads(reason), ledger.totals()
    if (why["study"], why["ledger"]) != (new.fingerprint, place):
        raise InvalidRequest(
            f"this study was amended before: it goes on in {why['ledger']}, under the facts given then"
        )
    header = Header(new.fingerprint, ledger.header.accounting, ledger.header.budget, why["salt"])
    began = began_in(ledger) if new.shared_budget is not None else None
    carried = ReceiptSubject("carried", receipts=totals.receipts, head=ledger.head(), began=began)
    # In full, not the final ones: what was learned about the old units says nothing about new ones.
    radius = sum(radius_in_full(new, receipt.order) for receipt in ledger.receipts())
    spent = totals.spent
    order = Order(
        f"CARRIED FROM THE LEDGER WITH HEAD {carried.head}",
        json.dumps({"receipts": carried.receipts}),
        spent,
        radius,
        pure=totals.pure,
        unproved=totals.unproved > 0,
        subject=carried,
    )
    known = {"final": FinalCost(0), "last_of_name": None, "secret": why["secret"]}
    first = next_receipt(header, None, order, why["at"], **known)
    return header, first


def _check_free(new: Study) -> None:
    """Before anything is closed: what stands in the way of the new ledger would leave neither of them."""
    assert isinstance(new.ledger, Path)
    taken = [path for path in (new.ledger, new.checkpoint) if isinstance(path, Path) and path.exists()]
    if taken:
        raise InvalidRequest(f"{taken[0].name} exists already: the corrected study must be a new one")
    if not os.access(new.ledger.absolute().parent, os.W_OK):
        raise InvalidRequest("the ledger of the corrected study cannot be written where it should lie")


def _begin(new: Study, header: Header, first: Receipt, *, made_before: bool) -> None:
    assert isinstance(new.ledger, Path)
    path = new.ledger.absolute()
    if not path.exists():
        if made_before:
            raise LedgerCorrupt(f"the ledger {path.name} was made before and is missing: put it back")
        make_file(path, header, named_facts(new), first)
    with closing(_opened(new)) as ledger:
        if next(ledger.receipts(), None) != first:
            raise InvalidRequest(f"{path.name} exists already, and is not the one that follows this study")
        checkpoint = checkpoint_at(new.checkpoint) if new.checkpoint is not None else None
        if checkpoint is not None and checkpoint.read() is None and ledger.count() == first.number:
            ledger.mark(lambda mark, _: checkpoint.write(mark))
