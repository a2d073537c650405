"""The notes of a stream: its secret noise and its answers as text, in the order in which they happened.

Note 0 is the noise of the first threshold.  Note k is the answer to the k-th question, together with the next
noise where a positive draws it anew: one note, so that no crash can come between the two.  If a stream was
closed, the last note says so.
"""

from __future__ import annotations

import hashlib
import json
import sys
from dataclasses import dataclass, field
from fractions import Fraction

from adyton.errors import LedgerCorrupt
from adyton.mechanisms import SparseState
from adyton.streams.compared import COMPARED, ComparedAs

CLOSED = '{"closed": true}'


@dataclass(frozen=True, slots=True)
class StreamEntry:
    """One question of a stream and its answer; ``offset`` is the noise of the thresholds from here on.

    ``step``: what 1 of the value means; 1 in a stream of counts, where nothing is scaled.
    """

    question: str
    threshold: Fraction
    above: bool
    value: int | None
    left: int
    offset: int = field(repr=False)
    step: Fraction = Fraction(1)
    compared_as: ComparedAs = "count"


@dataclass(frozen=True, slots=True)
class Progress:
    """What to keep for the next question, how many came before it, and whether no other may follow."""

    watch: SparseState
    feeds: int = 0
    closed: bool = False

    def then(self, note: StreamEntry | None) -> Progress:
        """After one more note; one that gives a positive back, or takes two, is none of ours."""
        if self.closed:
            raise _unreadable()
        if note is None:
            return Progress(self.watch, self.feeds, closed=True)
        if note.left != self.watch.left - note.above or note.left < 0:
            raise _unreadable()
        return Progress(SparseState(note.left, note.offset), self.feeds + 1)


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
    scaled = {} if _as_it_is(fed) else {"as": fed.compared_as, "step": str(fed.step)}
    return json.dumps(
        {
            "question": fed.question,
            "threshold": str(fed.threshold),
            "above": fed.above,
            "value": None if fed.value is None else str(fed.value),
            "left": fed.left,
            "offset": str(fed.offset),
            **scaled,
        },
        ensure_ascii=False,
    )


def note_from(text: str) -> StreamEntry | None:
    """An answer, or None where the stream was closed."""
    if text == CLOSED:
        return None
    try:
        note = json.loads(text)
        value = None if note["value"] is None else int(note["value"])
        threshold, above = Fraction(note["threshold"]), note["above"] is True
        fed = (note["question"], threshold, above, value, int(note["left"]), int(note["offset"]))
        if "step" not in note:
            return StreamEntry(*fed)
        step, (compared_as,) = Fraction(note["step"]), [one for one in COMPARED if one == note["as"]]
        return StreamEntry(*fed, step, compared_as)
    except (ValueError, TypeError, KeyError, ArithmeticError, RecursionError):
        raise _unreadable() from None


def nearest_float(threshold: Fraction) -> float:
    """For show.  A note that somebody else wrote may hold a threshold beyond all floats."""
    largest = sys.float_info.max
    return float(max(-Fraction(largest), min(threshold, Fraction(largest))))


def chained(head: str, fed: StreamEntry) -> str:
    """The digest of an answer and of all before it.

    The secret noise is not in it: it is a small number, and its digest would give it away.
    """
    said = [head, fed.question, str(fed.threshold), fed.above, None if fed.value is None else str(fed.value)]
    said += [] if _as_it_is(fed) else [fed.compared_as, str(fed.step)]
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()


def closed_after(head: str) -> str:
    """The digest of a stream that was closed at ``head``."""
    return hashlib.sha256(json.dumps([head, CLOSED]).encode()).hexdigest()


def _as_it_is(fed: StreamEntry) -> bool:
    return fed.step == 1 and fed.compared_as == "count"


def _unreadable() -> LedgerCorrupt:
    return LedgerCorrupt("a note of a stream cannot be read back")  # without its text, which is secret
