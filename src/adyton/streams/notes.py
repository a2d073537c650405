"""The notes of a stream: its secret noise and its answers as text, in the order in which they happened.

Note 0 is the noise of the first threshold.  Note k is the answer to the k-th question, together with the next
noise where a positive draws it anew: one note, so that no crash can come between the two.
"""

from __future__ import annotations

import hashlib
import json
import sys
from dataclasses import dataclass, field
from fractions import Fraction

from adyton.errors import LedgerCorrupt
from adyton.mechanisms import SparseState


@dataclass(frozen=True, slots=True)
class StreamEntry:
    """One question of a stream and its answer; ``offset`` is the noise of the thresholds from here on."""

    question: str
    threshold: Fraction
    above: bool
    value: int | None
    left: int
    offset: int = field(repr=False)


def start_text(watch: SparseState) -> str:
    return json.dumps({"left": watch.left, "offset": str(watch.offset)})


def start_from(text: str) -> SparseState:
    try:
        note = json.loads(text)
        return SparseState(int(note["left"]), int(note["offset"]))
    except (ValueError, TypeError, KeyError, ArithmeticError, RecursionError):
        raise _unreadable() from None


def fed_text(fed: StreamEntry) -> str:
    """Digits as text, because other readers of JSON know no large integers."""
    return json.dumps(
        {
            "question": fed.question,
            "threshold": str(fed.threshold),
            "above": fed.above,
            "value": None if fed.value is None else str(fed.value),
            "left": fed.left,
            "offset": str(fed.offset),
        },
        ensure_ascii=False,
    )


def fed_from(text: str) -> StreamEntry:
    try:
        note = json.loads(text)
        value = None if note["value"] is None else int(note["value"])
        threshold, above = Fraction(note["threshold"]), note["above"] is True
        return StreamEntry(note["question"], threshold, above, value, int(note["left"]), int(note["offset"]))
    except (ValueError, TypeError, KeyError, ArithmeticError, RecursionError):
        raise _unreadable() from None


def following(watch: SparseState, fed: StreamEntry) -> SparseState:
    """What to keep after an answer; a note that gives a positive back, or takes two, is none of ours."""
    if fed.left != watch.left - fed.above or fed.left < 0:
        raise _unreadable()
    return SparseState(fed.left, fed.offset)


def nearest_float(threshold: Fraction) -> float:
    """For show.  A ledger of an older version may hold a threshold beyond all floats."""
    largest = sys.float_info.max
    return float(max(-Fraction(largest), min(threshold, Fraction(largest))))


def chained(head: str, fed: StreamEntry) -> str:
    """The digest of an answer and of all before it.

    The secret noise is not in it: it is a small number, and its digest would give it away.
    """
    said = [head, fed.question, str(fed.threshold), fed.above, None if fed.value is None else str(fed.value)]
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()


def _unreadable() -> LedgerCorrupt:
    return LedgerCorrupt("a note of a stream cannot be read back")  # without its text, which is secret
