"""What is public of the notes of a monitor: its answers, in the order in which they happened."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from adyton.errors import LedgerCorrupt
from adyton.kernel.special.comparing import CLOSED
from adyton.monitors.compared import COMPARED, ComparedAs


@dataclass(frozen=True, slots=True)
class MonitorEntry:
    """One query of a monitor and its answer.

    ``step``: what 1 of the value means; 1 in a monitor of counts, where nothing is scaled.
    """

    query: str
    threshold: Fraction
    above: bool
    value: int | None
    left: int
    step: Fraction = Fraction(1)
    compared_as: ComparedAs = "count"


@dataclass(frozen=True, slots=True)
class Progress:
    """How many positives are left, how many queries there were, and whether no other may follow."""

    left: int
    feeds: int = 0
    closed: bool = False

    def then(self, note: MonitorEntry | None) -> Progress:
        """After one more note; one that gives a positive back, or takes two, is none of ours."""
        if self.closed:
            raise _unreadable()
        if note is None:
            return Progress(self.left, self.feeds, closed=True)
        if note.left != self.left - note.above or note.left < 0:
            raise _unreadable()
        return Progress(note.left, self.feeds + 1)


def asked_json(query: str, threshold: Fraction, step: Fraction, compared_as: ComparedAs) -> dict[str, str]:
    """What a note says of a query; digits as text, because other readers of JSON know no large ones."""
    scaled = {} if _is_plain(step, compared_as) else {"as": compared_as, "step": str(step)}
    return {"query": query, "threshold": str(threshold), **scaled}


def entry_of(note: Mapping[str, Any] | None) -> MonitorEntry | None:
    """An answer, or None where the monitor was closed."""
    if note is None:
        return None
    try:
        value = None if note["value"] is None else int(note["value"])
        fed = (note["query"], Fraction(note["threshold"]), note["above"] is True, value, int(note["left"]))
        if "step" not in note:
            return MonitorEntry(*fed)
        step, (compared_as,) = Fraction(note["step"]), [one for one in COMPARED if one == note["as"]]
        return MonitorEntry(*fed, step, compared_as)
    except (ValueError, TypeError, KeyError, ArithmeticError):
        raise _unreadable() from None


def nearest_float(threshold: Fraction) -> float:
    """For show.  A note that somebody else wrote may hold a threshold beyond all floats."""
    largest = sys.float_info.max
    return float(max(-Fraction(largest), min(threshold, Fraction(largest))))


def chained(head: str, fed: MonitorEntry) -> str:
    """The digest of an answer and of all before it.

    The secret noise is not in it: it is a small number, and its digest would give it away.
    """
    said = [head, fed.query, str(fed.threshold), fed.above, None if fed.value is None else str(fed.value)]
    said += [] if _is_plain(fed.step, fed.compared_as) else [fed.compared_as, str(fed.step)]
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()


def closed_after(head: str) -> str:
    """The digest of a monitor that was closed at ``head``."""
    return hashlib.sha256(json.dumps([head, CLOSED]).encode()).hexdigest()


def _is_plain(step: Fraction, compared_as: ComparedAs) -> bool:
    """Whether nothing is scaled."""
    return step == 1 and compared_as == "count"


def _unreadable() -> LedgerCorrupt:
    return LedgerCorrupt("a note of a monitor cannot be read back")  # without its text, which is secret
