"""How far a ledger is, from its last receipt; and whether it was farther once."""

from __future__ import annotations

from typing import Any

from adyton.kernel.exact import decimal_text
from adyton.kernel.ledger.base import Mark
from adyton.kernel.ledger.links import Header, Receipt


def mark_of(header: Header, last: Receipt | None, answers: int, notes: int, *, closed: bool = False) -> Mark:
    if last is None:
        return Mark(header.digest, 0, header.digest, answers, notes, 0, 0, 0, 0, closed)
    return Mark(
        header.digest,
        last.number,
        last.digest,
        answers,
        notes,
        last.spent,
        last.spent_radius,
        last.spent_pure,
        last.unproved,
        closed,
    )


def mark_told(mark: Mark | None) -> dict[str, Any] | None:
    """As JSON."""
    if mark is None:
        return None
    counts = {"receipts": mark.receipts, "answers": mark.answers, "notes": mark.notes}
    return {**counts, "head": mark.head, "spent": decimal_text(mark.spent)}


def is_behind(mark: Mark, kept: Mark) -> bool:
    """Whether something that a checkpoint has seen is missing, by its number alone."""
    return kept.receipts > mark.receipts or kept.answers > mark.answers or kept.notes > mark.notes
