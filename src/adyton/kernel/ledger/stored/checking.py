"""What is compared with what was written: since a checkpoint, or all of it; and whose ledger it is.

When a ledger is opened this takes a time that does not grow with its history: the checkpoint is the receipt
that is 256 before the newest.  The receipts after it are replayed.  What lies before it is for ``verify``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from adyton.errors import LedgerCorrupt
from adyton.kernel.ledger.links import Header, Receipt
from adyton.kernel.ledger.replaying import replay
from adyton.kernel.ledger.stored.notes import numbers_with_notes, read_notes
from adyton.kernel.ledger.stored.store import Connection, Store
from adyton.kernel.ledger.stored.tables import (
    CHECKPOINT,
    PAGE,
    find,
    last_of_name,
    page_after,
    read_answer,
    stored_cost,
)
from adyton.kernel.ledger.validity import FinalCost

_MOST_NAMED = 5  # facts that differ


def check_since(connection: Connection, header: Header, seen: Receipt | None, last: Receipt) -> None:
    """Replays what follows the receipt that was seen before, or the checkpoint if that is nearer."""
    base = seen
    if seen is None or last.number - seen.number > CHECKPOINT:
        base = _checkpoint(connection, last)
    before = base.number if base else 0
    receipts = page_after(connection, before, CHECKPOINT)
    known = {receipt.number: receipt for receipt in (*([base] if base else []), *receipts)}
    again = replay(
        header,
        receipts,
        None,
        base,
        final=lambda number: stored_cost(connection, known[number]),
        of_name=lambda by: last_of_name(connection, by, before),
    )
    if again.head != last.digest:
        raise LedgerCorrupt(f"receipts before receipt {last.number} of the ledger are missing")


def _checkpoint(connection: Connection, last: Receipt) -> Receipt | None:
    """None if the ledger is shorter than that: then its header is where the replay begins."""
    number = last.number - CHECKPOINT
    first = find(connection, "true ORDER BY number LIMIT 1")
    if first is None or first.number > number:
        return None
    found = find(connection, "number <= ? ORDER BY number DESC LIMIT 1", number)
    if found is None:
        raise LedgerCorrupt(f"receipt {number} of the ledger is missing")
    return found


# All that was written, a little at a time, so that others can charge meanwhile -----------------------------


def cost_in(store: Store, number: int) -> FinalCost | None:
    with store.read() as connection:
        receipt = _known(connection, number, f"receipt {number} of the ledger is missing")
        return stored_cost(connection, receipt)


def check_answers(store: Store) -> None:
    number = 0
    numbers = "SELECT number FROM answers WHERE number > ? ORDER BY number LIMIT ?"
    while True:
        with store.read() as connection:
            page = [row[0] for row in connection.execute(numbers, (number, PAGE))]
            for number in page:
                lost = f"answer {number} of the ledger has lost its receipt"
                read_answer(connection, _known(connection, number, lost))
        if not page:
            return


def check_notes(store: Store) -> None:
    with store.read() as connection:
        numbers = numbers_with_notes(connection)
    for number in numbers:  # one receipt at a time, so that a long monitor does not hold the lock
        with store.read() as connection:
            lost = f"notes of receipt {number} have lost their receipt"
            read_notes(connection, _known(connection, number, lost), 0)


def _known(connection: Connection, number: int, else_said: str) -> Receipt:
    receipt = find(connection, "number = ?", number)
    if receipt is None:
        raise LedgerCorrupt(else_said)
    return receipt


# What its study says ---------------------------------------------------------------------------------------


def stored_facts(connection: Connection) -> dict[str, str] | None:
    """The public facts that the ledger was made for, by their names; None if it does not know them."""
    row = connection.execute("SELECT text FROM facts").fetchone()
    try:
        facts = json.loads(row[0]) if row else None
    except ValueError:
        return None
    return {str(name): str(value) for name, value in facts.items()} if isinstance(facts, dict) else None


def differing_facts(connection: Connection, ours: Mapping[str, str] | None) -> str:
    """The facts that differ, as far as the ledger knows them."""
    theirs = stored_facts(connection)
    if theirs is None or ours is None:
        return "it does not know which"
    differ = [name for name in {**theirs, **ours} if theirs.get(name) != ours.get(name)]
    said = [
        f"{name}: {theirs.get(name, 'nothing')} in the ledger, {ours.get(name, 'nothing')} here"
        for name in differ[:_MOST_NAMED]
    ]
    if len(differ) > _MOST_NAMED:
        said.append(f"and {len(differ) - _MOST_NAMED} more")
    return "; ".join(said) or "it does not know which"
