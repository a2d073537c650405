"""A copy of a ledger that was put back, and goes on: nothing that was spent since is given back.

What the checkpoint has seen and the copy has lost becomes one receipt.  Its amount is the difference of the
totals, and its number comes after all that were lost, so shares of delta and levels that went by those
numbers are not used again.  What was charged before and has no answer in the copy may have been answered: it
gets no second answer.  Monitors and PMW of before are over, because the copy has forgotten some of their
answers.
"""

from __future__ import annotations

import json

from adyton.errors import Forbidden, InvalidRequest
from adyton.kernel.ledger.base import Mark, Totals
from adyton.kernel.ledger.links import Header, Order
from adyton.kernel.ledger.marks import is_behind
from adyton.kernel.ledger.stored.store import Connection
from adyton.kernel.ledger.subjects import ReceiptSubject


def restoring_order(header: Header, kept: Mark, mark: Mark, totals: Totals) -> Order:
    """What stands for all that the checkpoint has seen and this ledger has not.

    Claim:    the ledger goes on with at least all that was spent when the checkpoint was written: of privacy,
    and
              of the radius, the pure part and the unproved that validity pays for.
    Assumes:  the copy is one of the same ledger, as it once was, and the checkpoint is the newest.
    Source:   derived here.  Theorem: RESTORED-LEDGER.
    """
    if kept.ledger != header.digest:
        raise InvalidRequest("the checkpoint is that of another ledger: nothing can be accepted")
    if kept.closed:
        raise InvalidRequest(
            "the ledger was closed for good when its checkpoint was written, and another one goes on with "
            "all that was spent: this copy cannot go on beside it"
        )
    if not is_behind(mark, kept):
        raise InvalidRequest("the ledger is not behind its checkpoint: there is nothing to accept")
    lost = ReceiptSubject("restored", receipts=max(kept.receipts, mark.receipts), head=kept.head)
    return Order(
        f"RESTORED; LOST WAS WHAT CAME UP TO THE HEAD {kept.head}",
        json.dumps({"receipts": lost.receipts}),
        max(1, kept.spent - totals.spent),
        max(0, kept.spent_radius - totals.radius),
        pure=max(0, kept.spent_pure - totals.pure),
        unproved=kept.unproved > totals.unproved,
        subject=lost,
    )


def restored_at(connection: Connection) -> int:
    """The number of the newest such receipt, 0 if there is none."""
    return _of_restored(connection, "MAX(number)")


def skipped_numbers(connection: Connection) -> int:
    """How many numbers no receipt has."""
    return _of_restored(connection, "SUM(skipped)")


def _of_restored(connection: Connection, what: str) -> int:
    return int(connection.execute(f"SELECT COALESCE({what}, 0) FROM restored").fetchone()[0])


def refuse_if_restored(connection: Connection, number: int) -> None:
    """What was open when a copy was put back is over."""
    if number < restored_at(connection):
        raise Forbidden(
            f"receipt {number} was charged before a copy of the ledger was put back, and may have been "
            "answered then: nothing more is answered under it; ask again"
        )
