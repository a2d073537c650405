"""A ledger with a checkpoint: what the checkpoint has seen must still be there, or nothing is answered.

The checkpoint follows each addition, so after a crash the ledger may be ahead of it, never behind.  A chain
that was cut off, a copy that was restored, and answers and notes that were forgotten are behind.  It has also
seen whatever is given out: what a crash left ahead of it is caught up with first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from adyton.errors import LedgerCorrupt
from adyton.kernel.ledger.base import Charged, First, InFront, Ledger, Mark, Verification, check_first
from adyton.kernel.ledger.links import Order, Receipt
from adyton.ledgers.checkpoint import WAY_OUT, Checkpoint

LookUp = Callable[[int], Receipt | None]
Found = TypeVar("Found")


class CheckpointedLedger(InFront):
    """The contract of ``Ledger`` over another one, with a checkpoint that never moves backwards."""

    def __init__(self, ledger: Ledger, checkpoint: Checkpoint) -> None:
        super().__init__(ledger)
        self._checkpoint = checkpoint
        self._check()

    def charge(self, order: Order, first: First | None = None) -> Charged:
        if self._ledger.count() == 0:
            check_first(self.header, order)  # what is refused leaves no file either
            self.advance()
        charged = self._ledger.charge(order, first)
        self.advance()
        return charged

    def remember(self, number: int, answer: str, radius: int | None = None, level: int = 0) -> str:
        stored = self._ledger.remember(number, answer, radius, level)
        self.advance()
        return stored

    def recall(self, number: int) -> str | None:
        return self._seen(self._ledger.recall(number))

    def annotate(self, number: int, index: int, text: str) -> bool:
        added = self._ledger.annotate(number, index, text)
        self.advance()
        return added

    def notes(self, number: int, first: int = 0) -> list[str]:
        return self._seen(self._ledger.notes(number, first))

    def repeated(self, query: str, detail: str, amount: int) -> tuple[Receipt, str] | None:
        return self._seen(self._ledger.repeated(query, detail, amount))

    def verify(self, head: str | None = None) -> Verification:
        found = self._ledger.verify(head)
        self._check()
        return found

    def _check(self) -> None:
        kept = self._checkpoint.read()
        if self._ledger.count() == 0:
            if kept is not None and kept.receipts:
                raise _behind(self._checkpoint, kept, "the ledger is empty or missing")
        elif kept is None:
            name = self._checkpoint.name
            raise LedgerCorrupt(
                f"the checkpoint {name} is missing, and the ledger has receipts: {WAY_OUT}; "
                "nothing was answered"
            )
        else:
            compare(self._checkpoint, kept, self._ledger.mark(), self._ledger.receipt)

    def _seen(self, found: Found) -> Found:
        """An answer that the checkpoint does not count could be shown, taken back with a copy, and drawn
        anew.
        """
        if found and self._checkpoint.read() != self._ledger.mark():
            self.advance()
        return found

    def advance(self) -> None:
        """Nobody else can write to the ledger meanwhile, so of two processes the later one writes last."""

        def keep(mark: Mark, look_up: LookUp) -> None:
            kept = self._checkpoint.read()
            if kept is None and mark.receipts:
                raise LedgerCorrupt(
                    f"the checkpoint {self._checkpoint.name} was removed: {WAY_OUT}; nothing was answered"
                )
            if kept is not None and kept.receipts:
                compare(self._checkpoint, kept, mark, look_up)
            if kept != mark:
                self._checkpoint.write(mark)

        self._ledger.mark(keep)


class Link(Protocol):
    """What a checkpoint knows of a receipt."""

    @property
    def digest(self) -> str: ...

    @property
    def spent(self) -> int: ...

    @property
    def spent_radius(self) -> int: ...


def compare(checkpoint: Checkpoint, kept: Mark, mark: Mark, look_up: Callable[[int], Link | None]) -> None:
    """LedgerCorrupt unless all that the checkpoint has seen is still there."""
    if kept.ledger != mark.ledger:
        raise _behind(checkpoint, kept, "this is another ledger")
    if kept.receipts > mark.receipts:
        raise _behind(checkpoint, kept, f"this one has {mark.receipts}")
    then = look_up(kept.receipts) if kept.receipts else None
    there = then and (then.digest, then.spent, then.spent_radius)
    if kept.receipts and there != (kept.head, kept.spent, kept.spent_radius):
        raise _behind(checkpoint, kept, "this one has other receipts")
    for what, had, has in (("answers", kept.answers, mark.answers), ("notes", kept.notes, mark.notes)):
        if had > has:
            raise _behind(checkpoint, kept, f"there were {had} {what}, of which this one has {has}")
    if kept.closed and not mark.closed:
        raise _behind(checkpoint, kept, "it was closed then, and this one is open")


def _behind(checkpoint: Checkpoint, kept: Mark, how: str) -> LedgerCorrupt:
    return LedgerCorrupt(
        f"the ledger was cut, rolled back or exchanged: its checkpoint {checkpoint.name} has seen "
        f"{kept.receipts} receipts, and {how}; {WAY_OUT}; nothing was answered"
    )
